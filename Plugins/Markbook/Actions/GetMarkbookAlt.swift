import ActionKit

enum GetMarkbookAlt: MarkbookReading {
  static let name = "getMarkbookAlt"
  static let summary = "Reads a markbook, with the results in one list beside the students."

  static func run(
    _ input: MarkbookKey, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> MarkbookAltResponse {
    try await markbook.getMarkbookAlt(key: input.markbookKey)
  }
}
