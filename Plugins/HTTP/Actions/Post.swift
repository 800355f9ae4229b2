import ActionKit
import HTTPClient

enum Post: AddressedAction, KeyedAction, DoingAction {
  static let name = "post"
  static let summary = "Sends an HTTP POST request, which creates a resource or starts an operation."
  static let effect = Effect.write
  static let examples = [
    Example("A value as JSON", "url: /items\njson: { name: Notebook, price: 2.5 }"),
    Example("A web form", "url: /items\nform: { name: Pen }"),
    Example(
      "A form with a file",
      "url: /uploads\nmultipart:\n  fields: { title: Marks }\n  files: [{ field: table, path: marks.csv }]"),
  ]

  static func preview(
    _ input: SendingFields, on service: WebClient, in context: ActionContext
  ) async throws -> [Change] {
    try await input.preview("POST", on: service, in: context)
  }

  static func run(
    _ input: SendingFields, on service: WebClient, in context: ActionContext
  ) async throws -> AnswerFields {
    try await service.change("POST", input, in: context)
  }
}
