import ActionKit

enum Delete: PreviewingAction {
  static let name = "delete"
  static let summary = "Removes a stored value; succeeds if there is none."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("Remove a counter", "name: streak")]

  struct Input: FieldSet {
    @Field("Name of the value.", .notEmpty, .maxLength(200)) var name: String
  }

  struct Output: FieldSet {
    @Field("Whether there was such a value.") var existed: Bool
  }

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    let outcome = try await context.storedValues.change(input.name) { $0 == nil ? .keep : .remove }
    return try Output { $0.existed = outcome.isChanged }
  }

  static func preview(_ input: Input, on service: Void, in context: ActionContext) async throws -> [Change] {
    let value = try await context.storedValues.value(of: input.name)
    return value.map { [Change(subject(input.name), from: displayed($0), to: nil)] } ?? []
  }
}
