import ActionKit

enum GetOutcomes: MarkbookReading {
  static let name = "getOutcomes"
  static let summary = "Reads a markbook's outcomes, and its students with the levels they reached."

  static func run(
    _ input: MarkbookKey, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> OutcomesResponse {
    try await markbook.getOutcomes(key: input.markbookKey)
  }
}
