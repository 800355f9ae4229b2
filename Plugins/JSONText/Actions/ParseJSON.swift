import ActionKit
import LocalFiles

enum ParseJSON: Action {
  static let name = "parse"
  static let summary = "Reads a JSON text, or a part of it."
  static let effect = Effect.pure
  static let examples = [Example("A part", "text: '{\"room\": {\"number\": 12}}'\nat: /room/number")]

  struct Input: FieldSet {
    @Field("The text.") var text: String
    @Field("Place of the part to read (RFC 6901); empty for the whole value.", .pattern(.jsonPointer)) var at = ""
  }

  struct Output: FieldSet {
    @Field("The value at that place.") var value: Value
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) throws -> Output {
    let value = try JSONReading.value(of: input.text, at: input.at, called: "the text")
    return try Output { $0.value = value }
  }
}
