import ActionKit
import HTTPClient

enum Put: AddressedAction, PreviewingAction {
  static let name = "put"
  static let summary = "Sends an HTTP PUT request, which creates or replaces a resource."
  // RFC 9110, section 9.2.2.
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("A value as JSON", "url: /items/1\njson: { name: Notebook, price: 3 }")]

  static func preview(
    _ input: SendingFields, on service: WebClient, in context: ActionContext
  ) async throws -> [Change] {
    try await input.preview("PUT", on: service, in: context)
  }

  static func run(
    _ input: SendingFields, on service: WebClient, in context: ActionContext
  ) async throws -> AnswerFields {
    let request = try service.request(
      input.call("PUT", body: try await input.body(on: service, in: context), in: context))
    let response = try await service.write(request)
    try service.check(response, to: request, expecting: input.expect, isWrite: true)
    return try AnswerFields(response, to: request, as: input.answer, in: input.encoding, isWrite: true)
  }
}
