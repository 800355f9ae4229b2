import ActionKit
import LocalFiles

/// How rows are written.
struct TableWriting {
  var rows: [ValueMap]
  var columns: [String]?
  var header: Bool
  var separator: String
  var lineBreak: LineBreak
  var byteOrderMark: Bool
  var encoding = WriteEncoding.utf8
  var guardsFormulas = false

  enum LineBreak: String, Choice {
    case lf, crlf
  }

  /// The rows in their encoding.
  func bytes() throws(ActionError) -> [UInt8] {
    guard let separator = CSVReader.separator(separator) else { throw fault(TextPattern.separator.wanted) }
    let names = columns ?? Self.names(of: rows)
    var writer = CSVWriter(separator: separator, endsLinesWithTwo: lineBreak == .crlf)
    if header, !names.isEmpty { writer.append(names) }
    for (index, row) in rows.enumerated() {
      var fields: [String] = []
      for name in names {
        guard let field = (row[name] ?? .null).csvField else {
          throw fault(
            "'\(name)' of row \(index + 1) is \(row[name]?.kindName ?? ""), which no field can hold; write "
              + "json.format(x) for it")
        }
        fields.append(guardsFormulas && row[name]?.string != nil ? Self.guarded(field) : field)
      }
      if !fields.isEmpty { writer.append(fields) }
    }
    return try encoding.bytes(of: writer.bytes, hasMark: byteOrderMark)
  }

  /// A text with an apostrophe before it, by which spreadsheet programs take it for a text, if they would take it for a
  /// formula (OWASP, "CSV injection").
  private static func guarded(_ field: String) -> String {
    guard let first = field.utf8.first, "=+-@\t\r".utf8.contains(first) else { return field }
    return "'\(field)"
  }

  /// The keys of all rows, in the order in which they first appear.
  private static func names(of rows: [ValueMap]) -> [String] {
    var columns = ValueMap()
    for row in rows { for member in row.members { _ = columns.insert(member) } }
    return columns.members.compactMap(\.name)
  }

  private func fault(_ message: String) -> ActionError {
    ActionError(.validation, "\(message).", effect: ActionError.Effect.none)
  }
}
