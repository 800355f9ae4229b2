import ActionKit

enum GetBackupURL: RetryingAction {
  static let name = "getBackupURL"
  static let summary = "Asks for the address of the backup, whose zip is deleted an hour later."
  // The same address is given while the zip is there, however often it is asked for.
  static let effect = Effect.consume(repeats: 20)
  static let retry = RetrySchedule.atOnce
  static let examples = [Example("The address", "{}")]

  struct Input: FieldSet {}

  struct Output: FieldSet {
    @Field("Whether the backup is ready, is still to be built, or does not exist.") var state: BackupState
    @Field("Address of the zip; there if the backup is ready.") var url: String?
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.getBackupURL()
    return try Output {
      $0.state = BackupState(answer.state)
      if case .ready(let url) = answer.state { $0.url = url }
    }
  }
}

extension RetrySchedule {
  /// For what may have begun the hour after which a zip is deleted: at once, and soon, while the hour lasts.
  static let atOnce = RetrySchedule(
    after: [.zero, .seconds(1), .seconds(5), .seconds(30), .seconds(120), .seconds(600)],
    on: [.timeout, .network, .rateLimited, .server])
}

/// How far a backup is, as recipes say it.
enum BackupState: String, CaseIterable, Choice {
  case ready, pending, none

  init(_ state: BackupURLResponse.State) {
    switch state {
    case .ready: self = .ready
    case .pending: self = .pending
    case .none: self = .none
    }
  }
}
