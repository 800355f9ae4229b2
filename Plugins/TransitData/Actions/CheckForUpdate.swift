import ActionKit

enum CheckForUpdate: Action {
  static let name = "checkForUpdate"
  static let summary = "Checks whether a release is newer than what is installed, without downloading it."
  static let effect = Effect.read
  static let examples = [Example("By what GitHub calls the latest", "{}"), Example("By date", "choose: greatest")]

  struct Input: FieldSet {
    @Field("Whether the release that GitHub calls the latest is looked at, or the one with the greatest date.")
    var choose = ChoiceOfRelease.latest
    @Field("Whether the API is asked even if an answer of less than the minimum interval is there.") var force = false
  }

  struct Output: FieldSet {
    @Field("Whether there is something to install.") var isAvailable: Bool
    @Field("Why it should be installed, as the rest of a sentence.") var reason: String?
    @Field("Tag of what is installed; absent if nothing is.") var installedTag: String?
    @Field("Tag of the release that was looked at; absent if none could be.") var tag: String?
    @Field("When GitHub last said so; absent if it did not.", .volatile) var checkedAt: Timestamp?
    @Field("Why it is unknown whether something is newer; absent if it is known.") var trouble: String?
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
