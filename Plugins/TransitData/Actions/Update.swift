import ActionKit

enum Update: PreviewingAction, TimedAction {
  static let name = "update"
  static let summary = "Installs the newest release if it is newer than what is installed, verified and in one step."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let timeout = TimeSpan.seconds(900)
  static let examples = [
    Example("To what GitHub calls the latest", "{}"),
    Example("To one release, even if a newer one is installed", "tag: '20260215'"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("Whether the release that GitHub calls the latest is wanted, or the one with the greatest date.")
    var choose = ChoiceOfRelease.latest
    @Field("Tag of the release to install, even if it is older than what is installed.", .notEmpty) var tag: String?
    @Field("Whether the API is asked even if an answer of less than the minimum interval is there.") var force = false

    func conflicts() -> [Conflict] {
      tag != nil && choose == .greatest ? [Conflict("names one release, so leave out 'choose'", at: "tag")] : []
    }

    var wanted: ReleaseChoice { tag.map { .tag($0) } ?? choose.wanted }
  }

  static func preview(
    _ input: Input, on rail: TransitDataClient, in context: ActionContext
  ) async throws -> [Change] {
    let check = try await rail.checkForUpdate(input.wanted, isForced: input.force)
    guard check.reason != nil, let release = check.release else { return [] }
    return [Change("The installed station data", from: check.installed?.tag, to: release.tag)]
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> UpdateFields {
    try UpdateFields(await rail.update(input.wanted, isForced: input.force))
  }
}
