import ActionKit
import LocalFiles

enum FormatJSON: Action {
  static let name = "format"
  static let summary = "Writes a value as a text in JSON."
  static let effect = Effect.pure
  static let examples = [Example("On one line", "value: { name: Ada, marks: [93.5, 88] }\nlayout: compact")]

  struct Input: FieldSet {
    @Field("The value.") var value: Value
    @Field("Whether every item has its own line, or all is on one.") var layout = JSONLayout.pretty
    @Field("Whether the keys of maps are in alphabetical order, and not in that of the value.") var sortKeys = false
  }

  struct Output: FieldSet {
    @Field("The text.") var text: String
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) throws -> Output {
    let text = try input.layout.text(input.value, sortsKeys: input.sortKeys)
    return try Output { $0.text = text }
  }
}
