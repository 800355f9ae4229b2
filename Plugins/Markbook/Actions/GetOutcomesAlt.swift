import ActionKit

enum GetOutcomesAlt: MarkbookReading {
  static let name = "getOutcomesAlt"
  static let summary = "Reads a markbook's outcomes, with the levels in one list beside the students."

  static func run(
    _ input: MarkbookKey, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> OutcomesAltResponse {
    try await markbook.getOutcomesAlt(key: input.markbookKey)
  }
}
