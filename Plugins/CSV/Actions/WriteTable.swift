import ActionKit
import LocalFiles

enum WriteTable: PreviewingAction {
  static let name = "write"
  static let summary = "Writes rows to a CSV file, replacing an existing one."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "For a spreadsheet program",
      "path: reports/marks.csv\nrows:\n  - { name: Ada, mark: 93.5 }\nseparator: \";\"\nlineBreak: crlf\nbyteOrderMark: true"
    )
  ]

  struct Input: ValidatedFieldSet {
    @Field("Path of the file; a missing folder is created.", .notEmpty) var path: String
    @Included var table: TableWriting
    @Field("The file's encoding; utf-16 has a byte order mark, and the low byte first.")
    var encoding = WriteEncoding.utf8
    @Field("Whether a file in UTF-8 begins with a byte order mark; some spreadsheet programs recognise UTF-8 by it.")
    var byteOrderMark = false

    func bytes() throws(ActionError) -> [UInt8] { try table.bytes(encoding, hasMark: byteOrderMark) }

    func conflicts() -> [Conflict] {
      byteOrderMark && encoding != .utf8 ? [Conflict("goes with utf-8 alone", at: "byteOrderMark")] : []
    }
  }

  struct Output: FieldSet {
    @Field("Full path of the file.", .isFile) var path: String
    @Field("The number of rows in the file.") var rows: Int
    @Field("Whether the file was written; a file that already holds the same is left as it is.") var changed: Bool
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    return try await file.changes(to: input.bytes(), limit: files.maxBytes) {
      "\(input.table.rows.count) rows, \($0.count) bytes"
    }
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let changed = try await file.write(try input.bytes())
    return try Output {
      $0.path = file.path
      $0.rows = input.table.rows.count
      $0.changed = changed
    }
  }
}
