import ActionKit

enum FormatTable: Action {
  static let name = "table"
  static let summary = "Writes rows as a table for people."
  static let effect = Effect.pure
  static let examples = [
    Example("In Markdown", "rows:\n  - { student: Ada, mark: 93.5 }\n  - { student: Alan, mark: 88 }"),
    Example(
      "Chosen columns, as plain text",
      "style: plain\nrows:\n  - { student: Ada, mark: 93.5, key: 17 }\ncolumns:\n  - { key: mark, title: Mark }\n  - { key: student }"
    ),
  ]

  struct Input: FieldSet {
    @Field("The rows, as maps by the keys of the columns; a missing value is an empty cell.", .maxLength(100_000))
    var rows: [ValueMap]
    @Field("The columns, in their order; absent means all keys, as they first appear.", .notEmpty)
    var columns: [ColumnFields]?
    @Field("The form of the table; plain text is aligned for a monospaced font.")
    var style = TextStyle.markdown
    @Field("Text shown instead of a table without rows.") var empty: String?
  }

  struct Output: FieldSet {
    @Field("The table, each line with its line break.") var text: String
  }

  static func run(_ input: Input, on service: ReportStyles, in context: ActionContext) throws -> Output {
    let table = TextTable(input.rows, input.columns, style: input.style)
    return try Output { $0.text = input.rows.isEmpty ? input.empty.map { "\($0)\n" } ?? table.text : table.text }
  }
}
