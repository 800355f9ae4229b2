import ActionKit

enum LatestRelease: Action {
  static let name = "latestRelease"
  static let summary = "Reads the latest release of the data set from GitHub, at most once in the minimum interval."
  static let effect = Effect.read
  static let examples = [Example("The latest release", "{}")]

  struct Input: FieldSet {
    @Field("Whether to ask the API even if its last answer is younger than the minimum interval.") var force = false
  }

  static func run(
    _ input: Input, on rail: TransitDataClient, in context: ActionContext
  ) async throws -> CheckedReleaseFields {
    try CheckedReleaseFields(await rail.latestRelease(isForced: input.force))
  }
}
