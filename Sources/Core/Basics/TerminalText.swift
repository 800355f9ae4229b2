// How a terminal treats text: which scalars it would obey, and how many columns it gives each.

extension String {
  /// How many columns of a terminal the text takes.
  package var displayWidth: Int { unicodeScalars.reduce(0) { $0 + $1.width } }

  /// The text on one line, for text from outside: characters that a terminal would obey are shown as pictures.
  package var safe: String {
    var result = ""
    for scalar in unicodeScalars {
      result.unicodeScalars.append([0x09, 0x0A, 0x0D].contains(scalar.value) ? " " : scalar.displayed)
    }
    return result
  }

  /// The text as `safe` shows it, but with its line ends and tabs: for all that is written to a terminal at once.
  ///
  /// - Parameter keepsStyles: Whether sequences stay that only change how text looks, as errand writes them itself.
  package func safeText(keepsStyles: Bool = false) -> String {
    func isPlain(_ byte: UInt8) -> Bool {
      (ASCII.space..<0x7F).contains(byte) || byte == ASCII.newline || byte == ASCII.tab
    }
    if utf8.allSatisfy(isPlain) { return self }
    var result = ""
    var rest = unicodeScalars[...]
    while let scalar = rest.first {
      if keepsStyles, scalar == "\u{1B}", let end = rest.endOfStyle {
        result.unicodeScalars.append(contentsOf: rest[..<end])
        rest = rest[end...]
        continue
      }
      result.unicodeScalars.append(scalar == "\n" ? scalar : scalar.displayed)
      rest = rest.dropFirst()
    }
    return result
  }

  /// JSON with escapes for the characters that a terminal would obey; readers of JSON find the same text.
  package var safeJSON: String {
    if utf8.allSatisfy({ $0 < 0x7F }) { return self }
    var result = ""
    for scalar in unicodeScalars {
      // All of these have four digits at most.
      if scalar == "\n" || scalar.displayed == scalar {
        result.unicodeScalars.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
      }
    }
    return result
  }

  /// The text as `safe` shows it, but on as many lines as it has, all but the first behind an indent.
  package func safeLines(indent: String) -> String {
    var result = ""
    self[...].safeLines(indent: indent) { result += $0 }
    return result
  }
}

extension Substring {
  /// The text on its lines, as `String.safeLines` gives it, in pieces for one who shows them and keeps none.
  package func safeLines(indent: String, inPieces take: (String) -> Void) {
    var piece = ""
    var rest = unicodeScalars.makeIterator()
    var next = rest.next()
    while let scalar = next {
      next = rest.next()
      switch scalar {
      case "\r" where next == "\n": break
      case "\n": piece += "\n" + indent
      case "\t", "\r": piece += " "
      default: piece.unicodeScalars.append(scalar.displayed)
      }
      if piece.utf8.count >= 64 << 10 {
        take(piece)
        piece = ""
      }
    }
    take(piece)
  }
}

extension Substring.UnicodeScalarView {
  /// The end of the sequence that the text begins with, if all it does is to set a colour, bold or dim, or to end them.
  fileprivate var endOfStyle: Index? {
    let sequence = prefix(12)
    guard sequence.dropFirst().first == "[", let end = sequence.firstIndex(of: "m") else { return nil }
    let codes = String(Substring(sequence[..<end].dropFirst(2))).split(separator: ";", omittingEmptySubsequences: false)
    let isStyle = codes.allSatisfy { code in
      ["0", "1", "2"].contains(code) || Int(code).map((31...36).contains) == true
    }
    return isStyle ? index(after: end) : nil
  }
}

extension Unicode.Scalar {
  /// The scalar, or a picture of it if a terminal would obey it.
  var displayed: Unicode.Scalar {
    switch value {
    case 0x09: self
    case 0x00...0x1F: Unicode.Scalar(0x2400 + value) ?? "\u{FFFD}"
    case 0x7F: "\u{2421}"
    // C1 controls, line separators, and the marks that reorder text.
    case 0x80...0x9F, 0x2028, 0x2029, 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: "\u{FFFD}"
    default: self
    }
  }

  /// The columns that the shown scalar takes, after Unicode's UAX #11.
  var width: Int {
    if value < 0x300 { return value == 0xAD ? 0 : 1 }
    if displayed != self { return 1 }
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch value {
    // Hangul vowels and finals join the initial before them.
    case 0x1160...0x11FF: return 0
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      return 2
    default: return properties.isEmojiPresentation ? 2 : 1
    }
  }
}
