import Basics

/// Rows under headings, each column as wide as its widest cell; numbers are aligned to the right.
///
/// On a terminal no row is wider than the screen: columns are cut, with `…` for the rest of a cell; then whole columns go,
/// with one `…` for all of them.
struct Table {
  var headings: [String]
  var rows: [[String]]
  /// The headings of the columns that are cut first, the least important first; if empty, the widest are cut.
  var cutFirst: [String] = []

  /// The least width of a column that is cut, unless it is narrower or its heading is wider.
  private static let leastWidth = 8
  private static let gap = 2

  /// Whether something is cut on a terminal.
  func isCut(to width: Int?) -> Bool {
    let whole = Table(headings: headings, rows: rows).lines(colour: false)
    return width.map { width in whole.contains { $0.displayWidth > width } } ?? false
  }

  /// - Parameter width: The columns of the terminal; nil without a limit.
  func lines(width: Int? = nil, colour: Bool) -> [String] {
    let areNumbers = headings.indices.map { column in
      rows.contains { column < $0.count && !$0[column].isEmpty }
        && rows.allSatisfy { column >= $0.count || $0[column].isEmpty || Double($0[column]) != nil }
    }
    let full = headings.indices.map { column in
      rows.reduce(headings[column].displayWidth) { column < $1.count ? max($0, $1[column].displayWidth) : $0 }
    }
    let widths = width.map { fitted(full, areNumbers, to: max(1, $0)) } ?? full
    let displayed = headings.indices.filter { widths[$0] > 0 || full[$0] == 0 }
    let isWhole = displayed.count == headings.count
    func line(_ cells: [String]) -> String {
      let parts = displayed.map { column in
        let cell = column < cells.count ? cells[column].clipped(to: widths[column]) : ""
        let blanks = String(repeating: " ", count: max(0, widths[column] - cell.displayWidth))
        return areNumbers[column] ? blanks + cell : isWhole && column == displayed.last ? cell : cell + blanks
      }
      return (parts + (isWhole ? [] : ["…"])).joined(separator: String(repeating: " ", count: Table.gap))
    }
    return [Style.bold.applied(to: line(headings), colour)] + rows.map(line)
  }

  /// The widths of the columns on a terminal; 0 for columns that are left out.
  private func fitted(_ full: [Int], _ areNumbers: [Bool], to width: Int) -> [Int] {
    let named = cutFirst.compactMap(headings.firstIndex)
    // A number that is cut is another number.
    let least = full.indices.map { column in
      areNumbers[column] ? full[column] : min(full[column], max(headings[column].displayWidth, Table.leastWidth))
    }
    var leftOut: [Int] = []
    let going = (named + full.indices.reversed().filter { !named.contains($0) }).dropLast()
    while true {
      let displayed = full.indices.filter { !leftOut.contains($0) }
      let marks = leftOut.isEmpty ? 0 : Table.gap + 1
      let room = width - max(0, displayed.count - 1) * Table.gap - marks
      var widths = full.indices.map { displayed.contains($0) ? full[$0] : 0 }
      func isFitting() -> Bool { widths.reduce(0, +) <= room }
      for group in named.isEmpty ? [displayed] : named.filter(displayed.contains).map({ [$0] }) {
        for level in stride(from: width, through: 1, by: -1) where !isFitting() {
          for column in group { widths[column] = max(least[column], min(full[column], level)) }
        }
      }
      if isFitting() { return widths }
      guard leftOut.count < going.count else {
        if let last = displayed.first { widths[last] = max(1, width - marks) }
        return widths
      }
      leftOut.append(going[leftOut.count])
    }
  }
}

extension String {
  /// A line of the program's own making, with styles, cut to a number of columns, with `…` for the rest.
  func styledAndClipped(to columns: Int) -> String {
    var text = ""
    var width = 0
    var isStyled = false
    var rest = self[...]
    while let character = rest.first {
      if character == "\u{1B}", let end = rest.firstIndex(of: "m") {
        text += rest[...end]
        isStyled = !rest[...end].hasSuffix("[0m")
        rest = rest[end...].dropFirst()
        continue
      }
      width += String(character).displayWidth
      // The last column holds the mark if anything follows.
      if width >= columns, width > columns || !rest.dropFirst().isBlankBehindStyles {
        return text + "…" + (isStyled ? "\u{1B}[0m" : "")
      }
      text.append(character)
      rest = rest.dropFirst()
    }
    return text
  }
}

extension Substring {
  /// Whether nothing but the end of a style follows.
  fileprivate var isBlankBehindStyles: Bool { isEmpty || self == "\u{1B}[0m" }
}
