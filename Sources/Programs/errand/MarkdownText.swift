// A page that is declared as Markdown, as a terminal shows it: without the marks, wrapped, with headings and names in
// bold. The pages are made once (`ActionPages`), for files and for the terminal, so that both say the same.
//
// Only the syntax of those pages is read: headings, paragraphs, lists, tables, fenced code; within a line code, bold
// text and links. A row of a table becomes its first cells on a line and the last one below:
//
//     url  string, required
//         Address, or path from the connection's baseURL on.
import Basics
import CommandLineParser

struct MarkdownText {
  /// The columns that lines are wrapped to; code isn't.
  var width: Int
  var colour: Bool

  /// The page, without a line break at the end.
  func text(_ page: String) -> String {
    var lines: [String] = []
    var isCode = false
    var isHeadOfTable = true
    var isInTable = false
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isCode.toggle()
      } else if isCode {
        lines.append(line.isEmpty ? "" : "    \(line)")
      } else if line.hasPrefix("|") {
        // The headings of a table and the line below them say nothing that a row doesn't.
        if isInTable, !isHeadOfTable { add(row: line, to: &lines) }
        if isInTable { isHeadOfTable = false }
        isInTable = true
        continue
      } else if line.hasPrefix("#") {
        let heading = MarkdownText.plain(line.drop { $0 == "#" }.dropFirst())
        lines += heading.wrapped(to: max(8, width)).map { Style.bold.applied(to: $0, colour) }
      } else if line.hasPrefix("- ") {
        add(line.dropFirst(2), first: "  - ", next: "    ", to: &lines)
      } else {
        add(line, first: "", next: "", to: &lines)
      }
      (isInTable, isHeadOfTable) = (false, true)
    }
    while lines.last?.isEmpty == true { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  /// A line without marks.
  static func plain(_ line: some StringProtocol) -> String {
    parts(of: line).map(\.text).joined()
  }

  // MARK: Lines

  private func add(row: Substring, to lines: inout [String]) {
    var cells: [String] = []
    var cell = ""
    var isEscaped = false
    // Only a bar is escaped in these tables.
    for character in row.dropFirst() {
      if character == "|", !isEscaped {
        cells.append(cell.trimmed)
        cell = ""
      } else {
        if character == "|" { cell.removeLast() }
        cell.append(character)
      }
      isEscaped = character == "\\"
    }
    guard let name = cells.first, let last = cells.last, cells.count > 1 else { return }
    let middle = cells.dropFirst().dropLast().filter { !$0.isEmpty }.map(MarkdownText.plain)
    let head = "  \(styled(Style.bold, name[...]))"
    // Long lists of choices stay beside the name.
    let column = MarkdownText.plain(name).displayWidth + 4
    let facts = middle.joined(separator: ", ").wrapped(to: max(8, width - max(column, 12)))
    let indent = String(repeating: " ", count: min(column, 24))
    for (index, fact) in facts.enumerated() {
      lines.append(index > 0 ? indent + fact : fact.isEmpty ? head : "\(head)  \(fact)")
    }
    if !last.isEmpty { add(last[...], first: "      ", next: "      ", to: &lines) }
  }

  /// Adds a paragraph, wrapped.
  private func add(_ line: Substring, first: String, next: String, to lines: inout [String]) {
    if line.isEmpty {
      // In Markdown, code and tables already have blank lines around them.
      if lines.last?.isEmpty != true { lines.append("") }
      return
    }
    let parts = MarkdownText.parts(of: line)
    let wrapped = parts.map(\.text).joined().wrapped(to: max(8, width - first.count))
    for (index, text) in wrapped.enumerated() {
      // Only the beginning of a line is bold in these pages.
      let bold = index == 0 ? parts.first.flatMap { $0.isBold ? $0.text : nil } ?? "" : ""
      let rest = text.hasPrefix(bold) ? text.dropFirst(bold.count) : text[...]
      let start = bold.isEmpty || rest.count == text.count ? "" : styled(Style.bold, bold[...])
      lines.append((index == 0 ? first : next) + start + (start.isEmpty ? text[...] : rest))
    }
  }

  private func styled(_ style: Style, _ text: Substring) -> String {
    style.applied(to: MarkdownText.plain(text), colour)
  }

  // MARK: In a line

  /// The texts of a line, without the marks of code, bold text and links.
  private static func parts(of line: some StringProtocol) -> [(text: String, isBold: Bool)] {
    var parts: [(text: String, isBold: Bool)] = []
    for piece in MarkdownLine.pieces(of: line) {
      if let last = parts.last, last.isBold == piece.isBold {
        parts[parts.count - 1].text += piece.text
      } else {
        parts.append((piece.text, piece.isBold))
      }
    }
    return parts
  }
}
