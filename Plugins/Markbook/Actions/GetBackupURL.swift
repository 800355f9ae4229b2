import ActionKit

enum GetBackupURL: RetryingAction {
  static let name = "getBackupURL"
  static let summary = "Gets the address of the backup, whose zip is deleted an hour later."
  // The same address is given while the zip is there, however often it is asked for.
  static let effect = Effect.consume(repeats: 20)
  static let retry = RetrySchedule.atOnce
  static let examples = [Example("The address", "{}")]

  struct Input: FieldSet {}

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> BackupURLResponse {
    try await markbook.getBackupURL()
  }
}

extension RetrySchedule {
  /// Retries for calls that may have started the hour after which the zip is deleted: at once, then at short intervals,
  /// all within the hour.
  static let atOnce = RetrySchedule(
    after: [.zero, .seconds(1), .seconds(5), .seconds(30), .seconds(120), .seconds(600)],
    on: [.timeout, .network, .rateLimited, .server])
}
