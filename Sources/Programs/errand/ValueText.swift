// A value as a person reads it on a terminal. A value that fits on a line is written on one. A list of flat objects is
// a table of at most 20 rows; a text has at most 12 lines, and one long line at most 4; other lists and objects are
// lines with `-` and `name:`, at most 20 of each and four levels deep; bytes are their number. A value has at most 60
// lines. Where something is left out, a line says how much there is and how to see it.
//
//     averages
//     student             average
//     Lachlan Abernethy      80.0
//     … 23 more rows; --json shows all
//     page:
//       status: 200
//       items:
//         - name: pen
//           sizes: [1,2]
//
// Nothing walks through a whole value, which may have a million parts.
import Agent
import Basics
import CommandLineParser
import Recipes

/// Values for people, summarised for a terminal.
struct ValueText {
  /// The columns of the terminal.
  var width: Int
  var colour: Bool
  /// How to see what is left out, such as `--json shows all`.
  var hint: String

  static let mostRows = 20
  static let mostItems = 20
  static let mostTextLines = 12
  static let mostWrappedLines = 4
  static let mostLines = 60
  static let deepest = 4

  /// The lines of a value with a name: `name: value`, or the name above the value's lines.
  func lines(of value: Value, named name: String) -> [String] {
    let heading = Style.bold.applied(to: name, colour)
    if let text = line(of: value, columns: width - name.displayWidth - 2) { return ["\(heading): \(text)"] }
    if let rows = tableLines(of: value, indent: "") { return [heading] + rows }
    var lines = Lines(["\(heading):"])
    add(value, indent: "  ", depth: 1, to: &lines)
    if lines.isCut { lines.all.append("  … not all of it is shown; \(hint)") }
    return lines.all
  }

  /// Lines up to a limit.
  private struct Lines {
    var all: [String]
    var isCut = false

    init(_ all: [String]) { self.all = all }

    var isFull: Bool { all.count > ValueText.mostLines }

    mutating func add(_ line: String) { if isFull { isCut = true } else { all.append(line) } }
  }

  // MARK: Lists and objects

  /// The value on one line, if it fits there.
  private func line(of value: Value, columns: Int) -> String? {
    switch value.content {
    case .bytes(let bytes): return bytes.count.asBytes
    case .string(let text):
      guard text.utf8.count <= columns * 8, !text.utf8.contains(ASCII.newline) else { return nil }
    case .list(let items) where items.isEmpty: return "[]"
    case .list, .map, .optional:
      let most = ValueExtent(parts: 100, bytes: max(0, columns) * 8, depth: ValueText.deepest)
      guard ValueExtent(of: value, upTo: most) != nil, value.tableRows(most: 1) == nil else { return nil }
    default: break
    }
    let text = value.plain
    return text.displayWidth <= columns ? text : nil
  }

  private func add(_ value: Value, indent: String, depth: Int, to lines: inout Lines) {
    switch value.content {
    case .string(let text): for line in textLines(text, indent: indent) { lines.add(line) }
    case .masked(let text): for line in textLines(text.displayed, indent: indent) { lines.add(line) }
    case .optional(let wrapped?): add(wrapped, indent: indent, depth: depth, to: &lines)
    case .list(let items):
      if let rows = tableLines(of: value, indent: indent) {
        for row in rows { lines.add(row) }
        return
      }
      for item in items.prefix(ValueText.mostItems) where !lines.isCut {
        add(item, after: "\(indent)- ", indent: indent, depth: depth, to: &lines)
      }
      let more = items.count - ValueText.mostItems
      if more > 0 { lines.add("\(indent)… \(counted(more, "more item")); \(hint)") }
    case .map(let map):
      for member in map.members.prefix(ValueText.mostItems) where !lines.isCut {
        let name = member.key.plain.shortened(into: max(8, width / 2))
        add(member.value, after: "\(indent)\(name): ", indent: indent, depth: depth, to: &lines)
      }
      let more = map.count - ValueText.mostItems
      if more > 0 { lines.add("\(indent)… \(counted(more, "more member")); \(hint)") }
    default: lines.add(indent + value.plain.clipped(to: width - indent.count))
    }
  }

  /// Adds an item or a member: after its mark or name, or below it.
  private func add(_ value: Value, after head: String, indent: String, depth: Int, to lines: inout Lines) {
    if let text = line(of: value, columns: width - head.displayWidth) { return lines.add(head + text) }
    let name = String(head.dropLast())
    if depth >= ValueText.deepest, let size = value.sizeInWords {
      return lines.add("\(name) \(size)".clipped(to: width))
    }
    let inner = indent + "  "
    // An object in a list begins behind its dash.
    let isBehind = head.hasSuffix("- ") && value.map != nil
    if !isBehind { lines.add(name) }
    let first = lines.all.count
    add(value, indent: inner, depth: depth + 1, to: &lines)
    if isBehind, first < lines.all.count { lines.all[first] = head + lines.all[first].dropFirst(inner.count) }
  }

  // MARK: Tables and texts

  private func tableLines(of value: Value, indent: String) -> [String]? {
    let most = width
    let rows = value.tableRows(most: ValueText.mostRows) { cell in
      switch cell.content {
      case .bytes(let bytes): bytes.count.asBytes
      // A cell may hold a text of any size.
      case .string(let text): text.shortened(into: most).safe
      default: cell.plain
      }
    }
    guard let rows else { return nil }
    let table = Table(headings: rows.headings, rows: rows.cells)
    var lines = table.lines(width: width - indent.count, colour: colour).map { indent + $0 }
    let more = (value.list?.count ?? 0) - rows.cells.count
    if more > 0 { lines.append("\(indent)… \(counted(more, "more row")); \(hint)") }
    return lines
  }

  private func textLines(_ text: String, indent: String) -> [String] {
    let columns = max(1, width - indent.count)
    let size = text.utf8.count.asBytes
    guard text.utf8.contains(ASCII.newline) else {
      let start = String(text.unicodeScalars.prefix(columns * (ValueText.mostWrappedLines + 1)))
      let lines = start.safe.wrapped(to: columns).map { indent + $0 }
      if lines.count <= ValueText.mostWrappedLines { return lines }
      return lines.prefix(ValueText.mostWrappedLines) + ["\(indent)… cut, \(size) in all; \(hint)"]
    }
    var lines: [String] = []
    var isCut = false
    var rest = text.unicodeScalars[...]
    while lines.count < ValueText.mostTextLines, !rest.isEmpty {
      let end = rest.firstIndex(of: "\n") ?? rest.endIndex
      lines.append(indent + line(rest[..<end], columns, &isCut))
      rest = rest[end...].dropFirst()
    }
    let more = Substring(rest).utf8.count { $0 == ASCII.newline } + (rest.isEmpty || rest.last == "\n" ? 0 : 1)
    if more > 0 {
      lines.append("\(indent)… \(counted(more, "more line")), \(size) in all; \(hint)")
    } else if isCut {
      lines.append("\(indent)… cut, \(size) in all; \(hint)")
    }
    return lines
  }

  private func line(_ scalars: Substring.UnicodeScalarView, _ columns: Int, _ isCut: inout Bool) -> String {
    // A line may be as long as the whole text.
    let text = String(scalars.prefix(columns * 4)).safe
    if text.displayWidth > columns || text.unicodeScalars.count < scalars.count { isCut = true }
    return text.clipped(to: columns)
  }
}

extension Value {
  /// How many items or members a list or an object has, in words.
  fileprivate var sizeInWords: String? {
    if let list { return "[\(counted(list.count, "item"))]" }
    if let map { return "{\(counted(map.count, "member"))}" }
    return nil
  }
}

extension Int {
  /// A number of bytes as people say it: `812 bytes`, `12.3 KB`, `4.5 GB`.
  var asBytes: String {
    var (size, unit) = (Double(self), "")
    for next in ["KB", "MB", "GB", "TB"] where size >= 999.95 { (size, unit) = (size / 1000, next) }
    return unit.isEmpty ? counted(self, "byte") : "\(size.toTenths) \(unit)"
  }
}

extension Double {
  /// A number that isn't negative, with one digit after the point.
  var toTenths: String {
    guard let tenths = Int(exactly: (self * 10).rounded()) else { return "\(self)" }
    return "\(tenths / 10).\(tenths % 10)"
  }
}
