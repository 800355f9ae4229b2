import ActionKit
import LocalFiles

enum WriteTable: PreviewingAction {
  static let name = "write"
  static let summary = "Writes rows as a file in CSV, replacing one that is there."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "For a spreadsheet program",
      "path: reports/marks.csv\nrows:\n  - { name: Ada, mark: 93.5 }\nseparator: \";\"\nlineBreak: crlf\nbyteOrderMark: true"
    )
  ]

  struct Input: ValidatedFieldSet {
    @Field("Path of the file; its folder is made if it is missing.", .notEmpty) var path: String
    @Field("The rows, as maps by the names of the columns; what a row lacks is an empty field.") var rows: [ValueMap]
    @Field("The columns, in their order; absent means all, as they first appear.", .notEmpty) var columns: [String]?
    @Field("Whether the first line has the names of the columns.") var header = true
    @Field("What stands between two fields.", .pattern(.separator)) var separator = ","
    @Field("How lines end: `crlf` is what RFC 4180 says, and what some programs insist on.")
    var lineBreak = TableWriting.LineBreak.lf
    @Field("How its characters are written; utf-16 has a byte order mark, and the low byte first.")
    var encoding = WriteEncoding.utf8
    @Field("Whether a file in UTF-8 begins with a byte order mark, by which some spreadsheet programs know it.")
    var byteOrderMark = false
    @Field(
      "Whether a text that begins with =, +, -, @ or a tab gets an apostrophe before it, so that no spreadsheet program runs it "
        + "as a formula; numbers stay as they are.") var guardFormulas = false

    var writing: TableWriting {
      TableWriting(
        rows: rows, columns: columns, header: header, separator: separator, lineBreak: lineBreak,
        byteOrderMark: byteOrderMark, encoding: encoding, guardsFormulas: guardFormulas)
    }

    func conflicts() -> [Conflict] {
      byteOrderMark && encoding != .utf8 ? [Conflict("goes with utf-8 alone", at: "byteOrderMark")] : []
    }
  }

  struct Output: FieldSet {
    @Field("Full path of the file.") var path: String
    @Field("How many rows it has.") var rows: Int
    @Field("Whether it was written; one that holds the same already is left as it is.") var changed: Bool
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    let bytes = try input.writing.bytes()
    let status = try await file.status()
    if status?.bytes == bytes.count, try await file.read(limit: files.maxBytes) == bytes { return [] }
    return [
      Change(
        "the file '\(file.path)'", from: status.map { "\($0.bytes) bytes" },
        to: "\(input.rows.count) rows, \(bytes.count) bytes")
    ]
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let changed = try await file.write(try input.writing.bytes())
    return try Output {
      $0.path = file.path
      $0.rows = input.rows.count
      $0.changed = changed
    }
  }
}
