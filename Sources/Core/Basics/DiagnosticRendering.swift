// How faults are shown:
//
//     recipes/backup.yaml:7:11: error: 'with' has no field 'tto'; did you mean 'to'?
//           tto: backups/today.zip
//           ^~~
//     recipes/backup.yaml:3:1: note: the step begins here
//
// The line is shown as it was written, indented by two blanks. Below it, tabs are repeated and wide characters count
// twice, so that the caret is under its character in any terminal. Characters that a terminal would obey or reorder
// (control characters, bidirectional marks) are shown as pictures of themselves, bytes that aren't UTF-8 as `�`. A long
// line is cut to the part around the caret, between `…`. `•••` stands for hidden parts: secrets, and passwords in URLs.

extension Diagnostic {
  /// The first line of the output: place, severity and message.
  public var headline: String { heading(severity.rawValue, message, at: location).text(.plain) }

  /// The fault with its line, a caret and its notes, without a line break at the end.
  ///
  /// - Parameter colour: Whether to add the escape sequences for a terminal.
  public func rendered(colour: Bool = false) -> String {
    let palette: Palette = colour ? .terminal(severity) : .plain
    var lines = [heading(severity.rawValue, message, at: location).text(palette)]
    if let location { lines += excerpt(location, palette) }
    lines += notes.map { heading("note", $0.message, at: $0.location).text(colour ? .terminal(nil) : .plain) }
    return lines.joined(separator: "\n")
  }
}

extension Diagnostic: CustomStringConvertible {
  /// The fault as it is shown without colours.
  public var description: String { rendered() }
}

extension Diagnostics: CustomStringConvertible {
  /// The same faults, ordered by source and then by place; sources keep the order in which they first occur.
  public func sorted() -> Diagnostics {
    var order: [ObjectIdentifier: Int] = [:]
    for case let location? in list.map(\.location) {
      let source = ObjectIdentifier(location.source)
      if order[source] == nil { order[source] = order.count }
    }
    let keyed = list.enumerated().map { index, diagnostic in
      let location = diagnostic.location
      let source = location.map { order[ObjectIdentifier($0.source), default: 0] } ?? -1
      return (key: (source, location?.range.lowerBound ?? 0, index), diagnostic: diagnostic)
    }
    return Diagnostics(keyed.sorted { $0.key < $1.key }.map(\.diagnostic))
  }

  /// The number of faults of a severity.
  public func count(of severity: Diagnostic.Severity) -> Int {
    list.reduce(0) { $0 + ($1.severity == severity ? 1 : 0) }
  }

  /// How many there are, in words: `2 errors, 1 warning`; empty if there are none.
  public var tally: String {
    [(count(of: .error), "error"), (count(of: .warning), "warning"), (count(of: .hint), "hint")]
      .filter { $0.0 > 0 }
      .map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
      .joined(separator: ", ")
  }

  /// All faults as they are shown, one below the other.
  public func rendered(colour: Bool = false) -> String {
    list.map { $0.rendered(colour: colour) }.joined(separator: "\n")
  }

  /// All faults as they are shown without colours.
  public var description: String { rendered() }
}

// MARK: - Parts

/// The escape sequences around the parts of a message; all empty for plain text.
private struct Palette {
  var place = ""
  var severity = ""
  var message = ""
  var caret = ""
  var end = ""

  static let plain = Palette()

  /// The colours compilers use; nil stands for a note.
  static func terminal(_ severity: Diagnostic.Severity?) -> Palette {
    let hue =
      switch severity {
      case .error: "\u{1B}[1;31m"
      case .warning: "\u{1B}[1;35m"
      case .hint: "\u{1B}[1;34m"
      case nil: "\u{1B}[1;36m"
      }
    return Palette(
      place: "\u{1B}[1m", severity: hue, message: severity == nil ? "" : "\u{1B}[1m", caret: "\u{1B}[1;32m",
      end: "\u{1B}[0m")
  }
}

private struct Heading {
  var place: String?
  var severity: String
  var message: String

  func text(_ palette: Palette) -> String {
    let place = place.map { "\(palette.place)\($0):\(palette.end) " } ?? ""
    let message = palette.message.isEmpty ? message : palette.message + message + palette.end
    return "\(place)\(palette.severity)\(severity):\(palette.end) \(message)"
  }
}

private func heading(_ severity: String, _ message: String, at location: Diagnostic.Location?) -> Heading {
  let place = location.map {
    let position = $0.source.position(at: $0.range.lowerBound)
    return "\(harmless($0.source.name, keepingBreaks: false)):\(position.line):\(position.column)"
  }
  return Heading(place: place, severity: severity, message: harmless(message, keepingBreaks: true))
}

/// The text with the characters that a terminal would obey replaced by pictures of them.
private func harmless(_ text: String, keepingBreaks: Bool) -> String {
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    result.append(keepingBreaks && scalar == "\n" ? scalar : scalar.displayed)
  }
  return String(result)
}

/// One scalar of a line: what is printed for it, and how many columns that takes.
private struct Cell {
  var displayed: Unicode.Scalar
  var width: Int
  var offset: Int
}

/// The widest line that is shown whole, and how much of a wider one is shown before and after the caret.
private let (widest, before, after) = (110, 50, 55)

/// The line of a location and the line with its caret.
private func excerpt(_ location: Diagnostic.Location, _ palette: Palette) -> [String] {
  let bytes = location.source.bytes
  let start = min(max(location.range.lowerBound, 0), bytes.count)
  let isBreak: (UInt8) -> Bool = { $0 == ASCII.newline || $0 == ASCII.carriageReturn }
  // A line is looked at this far, which is more than is shown unless it is a heap of combining characters.
  let reach = 300
  var first = start
  while first > 0, start - first < reach, !isBreak(bytes[first - 1]) { first -= 1 }
  var isCutBefore = first > 0 && !isBreak(bytes[first - 1])
  if isCutBefore { while first < start, bytes[first] & 0xC0 == 0x80 { first += 1 } }
  var last = start
  while last < bytes.count, last - start < reach, !isBreak(bytes[last]) { last += 1 }
  var isCutAfter = last < bytes.count && !isBreak(bytes[last])

  var cells = cells(of: bytes, first..<last).hiding(location.source.hiddenParts(in: first..<last))[...]
  let caret = cells.firstIndex { $0.offset >= start } ?? cells.endIndex
  if isCutBefore || isCutAfter || cells.reduce(0, { $0 + $1.width }) > widest {
    var from = caret
    var room = before
    while from > cells.startIndex, room >= cells[from - 1].width {
      from -= 1
      room -= cells[from].width
    }
    var to = caret
    room = after
    while to < cells.endIndex, room >= cells[to].width {
      room -= cells[to].width
      to += 1
    }
    isCutBefore = isCutBefore || from > cells.startIndex
    isCutAfter = isCutAfter || to < cells.endIndex
    cells = cells[from..<to]
  }

  var line = String.UnicodeScalarView()
  line.append(contentsOf: cells.map(\.displayed))
  var lead = isCutBefore ? " " : ""
  for cell in cells[..<caret] { lead += cell.displayed == "\t" ? "\t" : String(repeating: " ", count: cell.width) }
  let marked = cells[caret...].prefix { $0.offset < location.range.upperBound }.reduce(0) { $0 + max($1.width, 0) }
  let tail = String(repeating: "~", count: max(0, marked - 1))
  let text = (isCutBefore ? "…" : "") + String(line) + (isCutAfter ? "…" : "")
  return ["  " + text, "  \(lead)\(palette.caret)^\(tail)\(palette.end)"]
}

extension [Cell] {
  /// The cells with one mark in place of each hidden range.
  fileprivate func hiding(_ ranges: [Range<Int>]) -> [Cell] {
    guard !ranges.isEmpty else { return self }
    var displayed: [Cell] = []
    var left = ranges[...]
    for cell in self {
      while let range = left.first, range.upperBound <= cell.offset { left.removeFirst() }
      guard let range = left.first, range.contains(cell.offset) else {
        displayed.append(cell)
        continue
      }
      if displayed.last?.offset == range.lowerBound { continue }
      displayed += MaskedText.mark.unicodeScalars.map { Cell(displayed: $0, width: 1, offset: range.lowerBound) }
    }
    return displayed
  }
}

private func cells(of bytes: [UInt8], _ range: Range<Int>) -> [Cell] {
  var cells: [Cell] = []
  var parser = UTF8.ForwardParser()
  var input = bytes[range].makeIterator()
  var offset = range.lowerBound
  while true {
    switch parser.parseScalar(from: &input) {
    case .valid(let encoded):
      let scalar = UTF8.decode(encoded)
      cells.append(Cell(displayed: scalar.displayed, width: scalar.width, offset: offset))
      offset += encoded.count
    case .error(let length):
      cells.append(Cell(displayed: "\u{FFFD}", width: 1, offset: offset))
      offset += length
    case .emptyInput:
      return cells
    }
  }
}
