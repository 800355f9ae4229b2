import ActionKit
import LocalFiles

enum ParseTable: ShapedAction {
  static let name = "parse"
  static let summary = "Reads the rows of a CSV text."
  static let effect = Effect.pure
  static let examples = [
    Example(
      "Typed columns, separated by semicolons",
      "text: \"name;mark\\nAda;93,5\\n\"\nseparator: \";\"\ndecimal: \",\"\ncolumns: { name: string, mark: double }")
  ]

  struct Input: FieldSet {
    @Field("The text.") var text: String
    @Field("The columns to read, with their types; absent means all columns, as text.", .notEmpty)
    var columns: [String: ColumnType]?
    @Field("Names of the columns, for a text without a first line of names.", .notEmpty) var names: [String]?
    @Field("Separator between two fields, unless a first line such as sep=; names one.", .pattern(.separator))
    var separator = ","
    @Field("Decimal sign of doubles.") var decimal = TableReading.DecimalSign.point
    @Field("The most rows to read; if there are more, the step fails.", .range(1...1_000_000)) var limit = 100_000

    func rows() throws(ActionError) -> [ValueMap] {
      try TableReading(separator: separator, names: names, columns: columns, decimal: decimal, limit: limit)
        .rows(of: Array(text.utf8), called: "the text")
    }
  }

  struct Output: FieldSet {
    @Field("The rows, as maps by column name.") var rows: [ValueMap]
  }

  static func output(for input: Value) -> ObjectSchema { TableReading.shaped(Output.schema, for: input) }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let rows = try input.rows()
    return try Output { $0.rows = rows }
  }
}
