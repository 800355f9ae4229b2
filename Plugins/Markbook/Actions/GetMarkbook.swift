import ActionKit

enum GetMarkbook: Action {
  static let name = "getMarkbook"
  static let summary = "Reads a markbook: its classes, its tasks, and its students with their results."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  typealias Input = MarkbookKey

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> MarkbookResponse {
    try await markbook.getMarkbook(key: input.markbookKey)
  }
}
