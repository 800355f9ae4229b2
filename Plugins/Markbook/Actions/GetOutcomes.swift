import ActionKit

enum GetOutcomes: Action {
  static let name = "getOutcomes"
  static let summary = "Reads a markbook's outcomes, and its students with the levels they reached."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  typealias Input = MarkbookKey

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> OutcomesResponse {
    try await markbook.getOutcomes(key: input.markbookKey)
  }
}
