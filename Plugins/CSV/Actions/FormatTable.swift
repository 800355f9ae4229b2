import ActionKit
import LocalFiles

enum FormatTable: Action {
  static let name = "format"
  static let summary = "Writes rows as a text in CSV."
  static let effect = Effect.pure
  static let examples = [
    Example(
      "Two columns", "rows:\n  - { name: Ada, mark: 93.5 }\n  - { name: \"Hopper, Grace\" }\ncolumns: [name, mark]")
  ]

  struct Input: FieldSet {
    @Field("The rows, as maps by the names of the columns; what a row lacks is an empty field.") var rows: [ValueMap]
    @Field("The columns, in their order; absent means all, as they first appear.", .notEmpty) var columns: [String]?
    @Field("Whether the first line has the names of the columns.") var header = true
    @Field("What stands between two fields.", .pattern(.separator)) var separator = ","
    @Field("How lines end: `crlf` is what RFC 4180 says, and what some programs insist on.")
    var lineBreak = TableWriting.LineBreak.lf
    @Field("Whether the text begins with a byte order mark, by which some spreadsheet programs know UTF-8.")
    var byteOrderMark = false
    @Field(
      "Whether a text that begins with =, +, -, @ or a tab gets an apostrophe before it, so that no spreadsheet program runs it "
        + "as a formula; numbers stay as they are.") var guardFormulas = false
  }

  struct Output: FieldSet {
    @Field("The text.") var text: String
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let bytes = try TableWriting(
      rows: input.rows, columns: input.columns, header: input.header, separator: input.separator,
      lineBreak: input.lineBreak, byteOrderMark: input.byteOrderMark, guardsFormulas: input.guardFormulas
    ).bytes()
    return try Output { $0.text = String(decoding: bytes, as: UTF8.self) }
  }
}
