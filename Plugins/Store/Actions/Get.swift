import ActionKit

enum Get: Action {
  static let name = "get"
  static let summary = "Reads a stored value."
  static let effect = Effect.read
  static let examples = [Example("How many weeks in a row", "name: streak")]

  struct Input: FieldSet {
    @Field("Name of the value.", .notEmpty, .maxLength(200)) var name: String
  }

  struct Output: FieldSet {
    @Field("Whether there is such a value.") var exists: Bool
    @Field("The value; absent if there is none.") var value: Value?
  }

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    let value = try await context.storedValues.value(of: input.name)
    return try Output {
      $0.exists = value != nil
      $0.value = value
    }
  }
}
