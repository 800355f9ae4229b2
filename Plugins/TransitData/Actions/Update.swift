import ActionKit

enum Update: PreviewingAction, TimedAction {
  static let name = "update"
  static let summary = "Installs the newest release if it is newer than the installed data, verified and in one step."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let timeout = TimeSpan.seconds(900)
  static let examples = [
    Example("To what GitHub calls the latest", "{}"),
    Example("To one release, even if a newer one is installed", "tag: '20260215'"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("Whether to install the release that GitHub calls the latest, or the one with the greatest date.")
    var choose = ChoiceOfRelease.latest
    @Field("Tag of the release to install, even if it is older than the installed data.", .notEmpty) var tag: String?
    @Field("Whether to ask the API even if its last answer is younger than the minimum interval.") var force = false

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
