import ActionKit

enum GetMarkbookAlt: Action {
  static let name = "getMarkbookAlt"
  static let summary = "Reads a markbook, with the results in one list beside the students."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  typealias Input = MarkbookKey

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> MarkbookAltResponse {
    try await markbook.getMarkbookAlt(key: input.markbookKey)
  }
}
