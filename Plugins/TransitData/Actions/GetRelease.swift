import ActionKit

enum GetRelease: Action {
  static let name = "getRelease"
  static let summary = "Reads the release of a tag from GitHub."
  static let effect = Effect.read
  static let examples = [Example("One release", "tag: '20260215'")]

  struct Input: FieldSet {
    @Field("The tag, which is a date.", .notEmpty) var tag: String
  }

  static func run(
    _ input: Input, on rail: TransitDataClient, in context: ActionContext
  ) async throws -> CheckedReleaseFields {
    try CheckedReleaseFields(await rail.release(tag: input.tag))
  }
}
