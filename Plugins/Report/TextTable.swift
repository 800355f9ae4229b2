import ActionKit

// A table from a list of maps. Columns of numbers are aligned to the right. The content of a cell is data: in Markdown,
// all markup characters are escaped; in plain text, control characters are replaced by visible ones; and in both, a
// line break becomes a space.

/// The format of a text.
enum TextStyle: String, Choice {
  case markdown, plain
}

/// One column of a table.
struct ColumnFields: FieldSet {
  @Field("The key of its values in the rows.") var key: String
  @Field("Its heading; absent means the key.") var title: String?
  @Field("The alignment of its values; `auto` aligns numbers to the right.") var align = Alignment.auto
}

enum Alignment: String, Choice {
  case auto, left, right
}

/// A table with its layout.
struct TextTable {
  private struct Column {
    var heading: String
    var cells: [String]
    var isRight: Bool
    var width: Int
  }

  private let columns: [Column]
  private let count: Int
  private let style: TextStyle

  init(_ rows: [ValueMap], _ wanted: [ColumnFields]?, style: TextStyle) {
    self.style = style
    count = rows.count
    let wanted = wanted?.map { ($0.key, $0.title ?? $0.key, $0.align) } ?? Self.keys(of: rows).map { ($0, $0, .auto) }
    columns = wanted.map { key, title, align in
      let values = rows.map { $0[key] ?? .null }
      let cells = values.map { $0.cell(style) }
      let heading = Value.string(title).cell(style)
      let isRight =
        switch align {
        case .left: false
        case .right: true
        case .auto: values.contains { !$0.isNull } && values.allSatisfy { $0.isNull || $0.isNumber }
        }
      // The shortest delimiter row that aligns a column has three characters.
      let width = ([heading] + cells).reduce(style == .markdown ? 3 : 1) { max($0, $1.displayWidth) }
      return Column(heading: heading, cells: cells, isRight: isRight, width: width)
    }
  }

  /// The keys of all rows, in order of first appearance.
  private static func keys(of rows: [ValueMap]) -> [String] {
    var keys = ValueMap()
    for row in rows { for member in row.members { _ = keys.insert(member) } }
    return keys.members.compactMap(\.name)
  }

  /// The table's lines, each with a line break; nothing without columns.
  var text: String {
    guard !columns.isEmpty else { return "" }
    var lines = [line { ($0.heading, $0) }]
    lines.append(
      style == .markdown
        ? "|" + columns.map { " \(String(repeating: "-", count: $0.width - 1))\($0.isRight ? ":" : "-") |" }.joined()
        : columns.map { String(repeating: "-", count: $0.width) }.joined(separator: "  "))
    for index in 0..<count { lines.append(line { ($0.cells[index], $0) }) }
    return lines.map { "\($0)\n" }.joined()
  }

  private func line(_ cell: (Column) -> (String, Column)) -> String {
    let cells = columns.map { column -> String in
      let (text, column) = cell(column)
      let blanks = String(repeating: " ", count: max(0, column.width - text.displayWidth))
      return column.isRight ? blanks + text : text + blanks
    }
    if style == .markdown { return "| \(cells.joined(separator: " | ")) |" }
    var line = cells.joined(separator: "  ")
    while line.hasSuffix(" ") { line.removeLast() }
    return line
  }
}

extension Value {
  fileprivate var isNumber: Bool {
    switch content {
    case .int, .uint, .double: true
    default: false
    }
  }

  /// The value as the text of a cell, on one line.
  fileprivate func cell(_ style: TextStyle) -> String {
    let text = csvField ?? JSON.displayed(self)
    return style == .markdown ? text.onOneLine.escapedForMarkdown : text.safe
  }
}

extension String {
  /// The text with its line breaks as spaces.
  var onOneLine: String { replacing("\r\n", with: " ").replacing("\n", with: " ").replacing("\r", with: " ") }

  /// The text escaped so that Markdown (CommonMark, with GitHub's tables) shows it unchanged inside a line.
  var escapedForMarkdown: String {
    var result = ""
    for scalar in unicodeScalars {
      switch scalar {
      case "\\", "`", "*", "_", "[", "]", "<", ">", "|", "~", "#", "&": result.unicodeScalars.append("\\")
      default: break
      }
      result.unicodeScalars.append(scalar)
    }
    return result
  }
}
