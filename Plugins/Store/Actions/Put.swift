import ActionKit

enum Put: PreviewingAction {
  static let name = "put"
  static let summary = "Stores a value under a name, replacing an earlier one."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example("A text", "name: lastReport\nvalue: 2026-W47"),
    Example("More than one thing", "name: train/last\nvalue: { platform: '7', delay: 3 }"),
  ]

  struct Input: FieldSet {
    @Field("Name of the value.", .notEmpty, .maxLength(200)) var name: String
    @Field("The value to store.", .notNull("use store.delete to remove a value")) var value: Value
  }

  struct Output: FieldSet {
    @Field("Whether the value differs from the one before.") var isChanged: Bool
  }

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    let outcome = try await context.storedValues.change(input.name) { $0 == input.value ? .keep : .set(input.value) }
    return try Output { $0.isChanged = outcome.isChanged }
  }

  static func preview(_ input: Input, on service: Void, in context: ActionContext) async throws -> [Change] {
    let value = try await context.storedValues.value(of: input.name)
    return value == input.value
      ? [] : [Change(subject(input.name), from: value.map(displayed), to: displayed(input.value))]
  }
}
