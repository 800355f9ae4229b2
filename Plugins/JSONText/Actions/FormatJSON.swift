import ActionKit
import LocalFiles

enum FormatJSON: Action {
  static let name = "format"
  static let summary = "Writes a value as JSON text."
  static let effect = Effect.pure
  static let examples = [Example("On one line", "value: { name: Ada, marks: [93.5, 88] }\nlayout: compact")]

  typealias Input = JSONContent

  struct Output: FieldSet {
    @Field("The text.") var text: String
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) throws -> Output {
    let text = try input.text()
    return try Output { $0.text = text }
  }
}
