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
  package var printed: String { hasControls ? String(String.UnicodeScalarView(drawn(styles: nil))) : self }

  /// The last state of a printed line, in parts that look different.
  package var printedParts: [PrintedPart] {
    guard hasControls else { return isEmpty ? [] : [PrintedPart(text: self)] }
    var styles: [PrintedStyle] = []
    let line = withUnsafeMutablePointer(to: &styles) { drawn(styles: $0) }
    var parts: [PrintedPart] = []
    var start = 0
    for end in line.indices.map({ $0 + 1 }) where end == line.count || styles[end] != styles[start] {
      parts.append(PrintedPart(text: String(String.UnicodeScalarView(line[start..<end])), style: styles[start]))
      start = end
    }
    return parts
  }

  // Most lines are nothing but letters.
  private var hasControls: Bool {
    utf8.contains { $0 < 0x20 && $0 != ASCII.tab || $0 == 0x7F || $0 == 0xC2 }
  }

  /// Draws the line as a terminal would.
  ///
  /// - Parameter styles: Takes the style of each scalar.
  private func drawn(styles: UnsafeMutablePointer<[PrintedStyle]>?) -> [Unicode.Scalar] {
    var line: [Unicode.Scalar] = []
    line.reserveCapacity(utf8.count)
    var column = 0
    var style = PrintedStyle()
    var rest = Substring(self).unicodeScalars
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\r": column = 0
      case "\u{8}": column = max(0, column - 1)
      case "\u{1B}":
        guard let kind = rest.first else { break }
        rest.removeFirst()
        if kind == "[" { follow(rest.removeSequence()) } else { rest.removeString(of: kind) }
      case "\u{9B}": follow(rest.removeSequence())
      case "\u{90}", "\u{98}", "\u{9D}"..."\u{9F}": rest.removeString(of: "]")
      case "\t": put(scalar)
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}": break
      default: put(scalar)
      }
    }
    func follow(_ sequence: String?) {
      line.erase(as: sequence, at: column)
      guard let styles else { return }
      styles.pointee.removeLast(max(0, styles.pointee.count - line.count))
      if let sequence, sequence.hasSuffix("m") { style.set(sequence.dropLast()) }
    }
    func put(_ scalar: Unicode.Scalar) {
      if column < line.count {
        line[column] = scalar
        styles?.pointee[column] = style
      } else {
        line.append(scalar)
        styles?.pointee.append(style)
      }
      column += 1
    }
    return line
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
      // Longer ones say nothing of lines and colours.
      if sequence.utf8.count < 64 { sequence.unicodeScalars.append(scalar) }
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
