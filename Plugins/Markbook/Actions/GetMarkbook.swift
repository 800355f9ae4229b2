import ActionKit

enum GetMarkbook: MarkbookReading {
  static let name = "getMarkbook"
  static let summary = "Reads a markbook: its classes, its tasks, and its students with their results."

  static func run(
    _ input: MarkbookKey, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> MarkbookResponse {
    try await markbook.getMarkbook(key: input.markbookKey)
  }
}
