import ActionKit

enum GetOutcomesAlt: Action {
  static let name = "getOutcomesAlt"
  static let summary = "Reads a markbook's outcomes, with the levels in one list beside the students."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  typealias Input = MarkbookKey

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> OutcomesAltResponse {
    try await markbook.getOutcomesAlt(key: input.markbookKey)
  }
}
