import ActionKit

enum MarkbookList: Action {
  static let name = "markbookList"
  static let summary = "Lists the markbooks of the school."
  static let effect = Effect.read
  static let examples = [Example("All markbooks", "{}")]

  struct Input: FieldSet {}

  static func run(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> MarkbookListResponse {
    try await markbook.markbookList()
  }
}
