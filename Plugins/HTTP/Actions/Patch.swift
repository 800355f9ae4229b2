import ActionKit

enum Patch: AddressedAction, KeyedAction, DoingAction {
  static let name = "patch"
  static let summary = "Sends an HTTP PATCH request, which changes a part of a resource."
  // RFC 5789: neither safe nor idempotent.
  static let effect = Effect.write
  static let examples = [
    Example("One member of a value (RFC 7396)", "url: /items/1\njson: { price: 3 }")
  ]

  static func preview(
    _ input: SendingFields, on service: WebClient, in context: ActionContext
  ) async throws -> [Change] {
    try await input.preview("PATCH", on: service, in: context)
  }

  static func run(
    _ input: SendingFields, on service: WebClient, in context: ActionContext
  ) async throws -> AnswerFields {
    try await service.change("PATCH", input, in: context)
  }
}
