import ActionKit
import LocalFiles

enum ReadTable: ShapedAction {
  static let name = "read"
  static let summary = "Reads the rows of a CSV file."
  static let effect = Effect.read
  static let examples = [
    Example("All fields as text", "path: marks.csv"),
    Example("Typed columns", "path: marks.csv\ncolumns: { student: string, mark: double?, born: date }"),
  ]

  struct Input: FieldSet {
    @Field("Path of the file.", .notEmpty) var path: String
    @Field("The columns to read, with their types; absent means all columns, as text.", .notEmpty)
    var columns: [String: ColumnType]?
    @Field("Names of the columns, for a file without a first line of names.", .notEmpty) var names: [String]?
    @Field("The file's encoding; auto follows the byte order mark, and means UTF-8 if there is none.")
    var encoding = ReadEncoding.auto
    @Field("Separator between two fields, unless a first line such as sep=; names one.", .pattern(.separator))
    var separator = ","
    @Field("Decimal sign of doubles.") var decimal = TableReading.DecimalSign.point
    @Field("The most rows to read; if there are more, the step fails.", .range(1...1_000_000)) var limit = 100_000
  }

  struct Output: FieldSet {
    @Field("The rows, as maps by column name.") var rows: [ValueMap]
  }

  static func output(for input: Value) -> ObjectSchema { TableReading.shaped(Output.schema, for: input) }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let text = try await input.encoding.utf8(of: file.read(limit: files.maxBytes), called: "'\(file.path)'")
    let reading = TableReading(
      separator: input.separator, names: input.names, columns: input.columns, decimal: input.decimal, limit: input.limit
    )
    let rows = try reading.rows(of: text, called: "'\(file.path)'")
    return try Output { $0.rows = rows }
  }
}
