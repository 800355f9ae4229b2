import ActionKit
import LocalFiles

enum FormatTable: Action {
  static let name = "format"
  static let summary = "Writes rows as CSV text."
  static let effect = Effect.pure
  static let examples = [
    Example(
      "Two columns", "rows:\n  - { name: Ada, mark: 93.5 }\n  - { name: \"Hopper, Grace\" }\ncolumns: [name, mark]")
  ]

  struct Input: FieldSet {
    @Included var table: TableWriting
    @Field("Whether the text begins with a byte order mark; some spreadsheet programs recognise UTF-8 by it.")
    var byteOrderMark = false
  }

  struct Output: FieldSet {
    @Field("The text.") var text: String
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let bytes = try input.table.bytes(hasMark: input.byteOrderMark)
    return try Output { $0.text = String(decoding: bytes, as: UTF8.self) }
  }
}
