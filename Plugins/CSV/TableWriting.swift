import ActionKit
import LocalFiles

/// Rows, and the settings for writing them.
struct TableWriting: FieldSet {
  @Field("The rows, as maps by column name; a missing value is an empty field.") var rows: [ValueMap]
  @Field("The columns, in their order; absent means all, as they first appear.", .notEmpty) var columns: [String]?
  @Field("Whether the first line has the names of the columns.") var header = true
  @Field("Separator between two fields.", .pattern(.separator)) var separator = ","
  @Field("How lines end; RFC 4180 asks for `crlf`, and some programs insist on it.") var lineBreak = LineBreak.lf
  @Field(
    "Whether a text that begins with =, +, -, @ or a tab gets an apostrophe before it, so that no spreadsheet program runs it "
      + "as a formula; numbers stay as they are.") var guardFormulas = false

  enum LineBreak: String, Choice {
    case lf, crlf
  }

  /// The rows in an encoding.
  func bytes(_ encoding: WriteEncoding = .utf8, hasMark: Bool) throws(ActionError) -> [UInt8] {
    guard let separator = CSVReader.separator(separator) else { throw ActionError.table(TextPattern.separator.wanted) }
    let names = columns ?? Self.names(of: rows)
    var writer = CSVWriter(separator: separator, endsLinesWithTwo: lineBreak == .crlf)
    if header, !names.isEmpty { writer.append(names) }
    for (index, row) in rows.enumerated() {
      var fields: [String] = []
      for name in names {
        guard let field = (row[name] ?? .null).csvField else {
          throw Self.misfit("'\(name)' of row \(index + 1)", row[name]?.kindName ?? "")
        }
        fields.append(guardFormulas && row[name]?.string != nil ? Self.guarded(field) : field)
      }
      if !fields.isEmpty { writer.append(fields) }
    }
    return try encoding.bytes(of: writer.bytes, hasMark: hasMark)
  }

  /// A text that spreadsheet programs would read as a formula gets an apostrophe, which makes them read it as text
  /// (OWASP, "CSV injection").
  private static func guarded(_ field: String) -> String {
    guard let first = field.utf8.first, "=+-@\t\r".utf8.contains(first) else { return field }
    return "'\(field)"
  }

  /// The keys of all rows, in order of first appearance.
  private static func names(of rows: [ValueMap]) -> [String] {
    var columns = ValueMap()
    for row in rows { for member in row.members { _ = columns.insert(member) } }
    return columns.members.compactMap(\.name)
  }

  private static func misfit(_ cell: String, _ found: String) -> ActionError {
    .table("\(cell) is \(found), which no field can hold; write json.format(x) for it")
  }

  // MARK: Before anything runs

  /// Errors that are certain before the run: cells of a type that can't be a field, and characters that the encoding
  /// lacks.
  static func refusals(of input: StepInput) -> [Refusal] {
    guard let rows = input["rows"], input["columns"].map(input.isKnown) ?? true else { return [] }
    let columns = input["columns"]?.list.map { $0.compactMap(\.string) }
    if let type = input.type(of: rows) { return misfit(in: type.element, of: columns, "each row", at: rows) }
    let encoding = input["encoding"].map { $0.string.flatMap { WriteEncoding(rawValue: $0) } } ?? .utf8
    let hasHeader = input["header"].map { $0.bool == true } ?? true
    return (rows.list ?? []).enumerated().flatMap { index, row -> [Refusal] in
      let number = "row \(index + 1)"
      if let type = input.type(of: row) { return misfit(in: type, of: columns, number, at: row) }
      return (row.map?.members ?? []).compactMap { cell in
        guard let name = cell.name, columns?.contains(where: { $0.hasSameScalars(as: name) }) ?? true else {
          return nil
        }
        if let found = input.type(of: cell.value)?.csvMisfitKind {
          return Refusal(misfit("'\(name)' of \(number)", found), of: cell.value)
        }
        guard let field = cell.value.csvField else {
          return Refusal(misfit("'\(name)' of \(number)", cell.value.kindName), of: cell.value)
        }
        return encoding?.refusal(of: field).map { Refusal($0, of: cell.value) }
          ?? (hasHeader ? encoding?.refusal(of: name).map { Refusal($0, of: cell.key) } : nil)
      }
    }
  }

  /// The refusal of computed rows if any of their values has a type that can't be a field.
  private static func misfit(in row: ValueType?, of columns: [String]?, _ rows: String, at value: Value) -> [Refusal] {
    let found: (cell: String, misfit: String)? =
      switch row {
      case .map(_, let type)?: type.csvMisfitKind.map { ("a cell", $0) }
      case .object(let object)?:
        object.fields.lazy.compactMap { field in
          guard columns?.contains(where: { $0.hasSameScalars(as: field.name) }) ?? true else { return nil }
          return field.type.csvMisfitKind.map { ("'\(field.name)'", $0) }
        }.first
      default: nil
      }
    return found.map { [Refusal(misfit("\($0.cell) of \(rows)", $0.misfit), of: value)] } ?? []
  }
}

extension ValueType {
  /// The type of a list's items, if it is known.
  fileprivate var element: ValueType? { if case .list(let element) = self { element } else { nil } }
}
