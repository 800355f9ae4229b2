import ActionKit

enum CheckForUpdate: Action {
  static let name = "checkForUpdate"
  static let summary = "Checks whether a release is newer than the installed data, without downloading it."
  static let effect = Effect.read
  static let examples = [
    Example("The release that GitHub calls the latest", "{}"),
    Example("The release with the greatest date", "choose: greatest"),
  ]

  struct Input: FieldSet {
    @Field("Whether to look at the release that GitHub calls the latest, or at the one with the greatest date.")
    var choose = ChoiceOfRelease.latest
    @Field("Whether to ask the API even if its last answer is younger than the minimum interval.") var force = false
  }

  struct Output: FieldSet {
    @Field("Whether there is an update to install.") var isAvailable: Bool
    @Field("Why it should be installed, as the rest of a sentence.") var reason: String?
    @Field("Tag of the installed data; absent if there are none.") var installedTag: String?
    @Field("Tag of the release that was looked at; absent if none could be read.") var tag: String?
    @Field("When GitHub last gave this answer; absent if it didn't.", .volatile) var checkedAt: Timestamp?
    @Field("Why it is unknown whether a release is newer; absent if it is known.") var trouble: String?
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let check = try await rail.checkForUpdate(input.choose.wanted, isForced: input.force)
    return try Output {
      $0.isAvailable = check.reason != nil
      $0.reason = check.reason
      $0.installedTag = check.installed?.tag
      $0.tag = check.release?.tag
      $0.checkedAt = check.checkedAt
      $0.trouble = check.trouble
    }
  }
}

enum ChoiceOfRelease: String, CaseIterable, Choice {
  case latest, greatest

  var wanted: ReleaseChoice { self == .latest ? .latest : .greatest }
}
