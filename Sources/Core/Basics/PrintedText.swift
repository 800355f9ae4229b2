// How a terminal would show a line that a program printed.
//
// Programs colour their output and redraw a line to show progress, even if there is no terminal. A page shows the final
// text of the line: control sequences (ECMA-48, section 5.4) are dropped, a carriage return goes back to the beginning
// of the line, and the text after it overwrites the text before.

extension String {
  /// The last state of each line of a printed text.
  package var linesAsPrinted: String {
    guard utf8.contains(where: { $0 < 0x20 && $0 != ASCII.tab && $0 != ASCII.newline || $0 == 0x7F || $0 == 0xC2 })
    else {
      return self
    }
    return withPlainLineEnds.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printed }
      .joined(separator: "\n")
  }

  /// The last state of a printed line, without colours and without other control characters.
  package var printed: String {
    // Most lines are nothing but letters.
    guard utf8.contains(where: { $0 < 0x20 && $0 != ASCII.tab || $0 == 0x7F || $0 == 0xC2 }) else { return self }
    var line: [Unicode.Scalar] = []
    line.reserveCapacity(utf8.count)
    var column = 0
    var rest = Substring(self).unicodeScalars
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\r": column = 0
      case "\u{8}": column = max(0, column - 1)
      case "\u{1B}":
        guard let kind = rest.first else { break }
        rest.removeFirst()
        if kind == "[" { line.erase(as: rest.removeSequence(), at: column) } else { rest.removeString(of: kind) }
      case "\u{9B}": line.erase(as: rest.removeSequence(), at: column)
      case "\u{90}", "\u{98}", "\u{9D}"..."\u{9F}": rest.removeString(of: "]")
      case "\t": put(scalar)
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": break
      default: put(scalar)
      }
    }
    func put(_ scalar: Unicode.Scalar) {
      if column < line.count { line[column] = scalar } else { line.append(scalar) }
      column += 1
    }
    return String(String.UnicodeScalarView(line))
  }
}

extension [Unicode.Scalar] {
  /// Does what a control sequence says of a line: `K` erases a part of it.
  fileprivate mutating func erase(as sequence: String?, at column: Int) {
    switch sequence {
    case "K", "0K": removeSubrange(Swift.min(column, count)...)
    case "1K": for index in 0..<Swift.min(column, count) { self[index] = " " }
    case "2K": self = Array(repeating: " ", count: Swift.min(column, count))
    default: break
    }
  }
}

extension Substring.UnicodeScalarView {
  /// Takes a control sequence away whose introducer has been taken: its parameters and its final byte, which are given.
  fileprivate mutating func removeSequence() -> String? {
    var sequence = ""
    while let scalar = first, (0x20...0x3F).contains(scalar.value) {
      removeFirst()
      // Longer ones say nothing of lines.
      if sequence.utf8.count < 8 { sequence.unicodeScalars.append(scalar) }
    }
    guard let last = first, (0x40...0x7E).contains(last.value) else { return nil }
    removeFirst()
    return sequence + String(last)
  }

  /// Takes the rest of another escape sequence away, a control string with its end among them.
  fileprivate mutating func removeString(of kind: Unicode.Scalar) {
    switch kind {
    // Titles, links and the like end with BEL or ST, and at the latest where another sequence begins; what has no end is
    // no string.
    case "]", "P", "X", "^", "_":
      guard let end = firstIndex(where: { ["\u{7}", "\u{1B}"].contains($0) || (0x80...0x9F).contains($0.value) }) else {
        return
      }
      let last = self[end]
      self = self[end...]
      if last == "\u{7}" || last == "\u{9C}" {
        removeFirst()
      } else if last == "\u{1B}", dropFirst().first == "\\" {
        removeFirst(2)
      }
    // Designations of character sets have one more character.
    case "\u{20}"..."\u{2F}": _ = popFirst()
    default: break
    }
  }
}
