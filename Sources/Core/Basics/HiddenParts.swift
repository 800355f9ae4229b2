// The parts of a text from a person that messages never show: the secrets that its reader finds, which its `Source`
// keeps, and the passwords of URLs. Those are found by their form, so that no message has to consider them.

/// Finds the passwords in URLs.
package enum URLPasswords {
  private static let separator = Array("://".utf8)

  /// The bytes of each password: `p` in `https://me:p@example.org`, and a user alone that HTTP takes for a token.
  ///
  /// A password may hold anything, so it ends at the last `@` before a blank or a quote. An expression isn't one.
  package static func ranges(in bytes: ArraySlice<UInt8>) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var rest = bytes
    while let colon = rest.firstIndex(of: ASCII.colon) {
      guard rest[colon...].starts(with: separator) else {
        rest = rest[(colon + 1)...]
        continue
      }
      let run = rest[(colon + separator.count)...].prefix {
        $0 > ASCII.space && $0 != ASCII.quote && $0 != ASCII.apostrophe && $0 != ASCII.backtick
      }
      if let range = range(in: run, isHTTP: isHTTP(bytes[..<colon])) { found.append(range) }
      rest = bytes[run.endIndex...]
    }
    return found
  }

  private static func range(in run: ArraySlice<UInt8>, isHTTP: Bool) -> Range<Int>? {
    let authority = run.prefix { $0 != ASCII.slash && $0 != ASCII.question && $0 != ASCII.hash }
    let range: Range<Int>
    if let colon = authority.firstIndex(of: ASCII.colon), let at = run.lastIndex(of: ASCII.at), colon < at {
      // `https://example.org:8080/@me` has a port.
      let isPort = at >= authority.endIndex && authority[(colon + 1)...].allSatisfy(ASCII.digits.contains)
      if isPort { return nil }
      range = colon + 1..<at
    } else if isHTTP, let at = authority.lastIndex(of: ASCII.at) {
      range = run.startIndex..<at
    } else {
      return nil
    }
    let isExpression = zip(run[range], run[range].dropFirst()).contains { $0 == ASCII.dollar && $1 == ASCII.openBrace }
    return range.isEmpty || isExpression ? nil : range
  }

  private static func isHTTP(_ text: ArraySlice<UInt8>) -> Bool {
    let scheme = text.reversed().prefix { ASCII.lowercase.contains($0 | 0x20) }.reversed().map { $0 | 0x20 }
    return scheme == Array("http".utf8) || scheme == Array("https".utf8)
  }

  /// A text with a mark in the place of each password.
  package static func masked(_ text: String) -> String {
    guard text.utf8.contains(ASCII.at) else { return text }
    let bytes = Array(text.utf8)
    let ranges = ranges(in: bytes[...])
    return ranges.isEmpty ? text : String(decoding: bytes.masked(ranges), as: UTF8.self)
  }
}

extension RandomAccessCollection<UInt8> where Index == Int {
  /// The bytes with a mark in the place of each of the ranges, which are in ascending order and apart.
  fileprivate func masked(_ ranges: [Range<Int>]) -> [UInt8] {
    var result: [UInt8] = []
    var copied = startIndex
    for range in ranges {
      result += self[copied..<range.lowerBound] + Array(MaskedText.mark.utf8)
      copied = range.upperBound
    }
    return result + self[copied...]
  }
}

extension Source {
  /// The same text with more parts that messages don't show.
  package func hiding(_ ranges: [Range<Int>]) -> Source {
    var apart: [Range<Int>] = []
    for range in (hidden + ranges).sorted(by: { $0.lowerBound < $1.lowerBound })
    where !range.isEmpty && range.lowerBound >= 0 && range.upperBound <= bytes.count {
      if let last = apart.last, range.lowerBound <= last.upperBound {
        apart[apart.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        apart.append(range)
      }
    }
    return Source(name: name, bytes: bytes, hidden: apart)
  }

  /// The bytes of a range as messages show them.
  package func displayed(_ range: Range<Int>) -> [UInt8] { bytes[range].masked(hiddenParts(in: range)) }

  /// The parts within a range that messages don't show, in ascending order and apart.
  package func hiddenParts(in range: Range<Int>) -> [Range<Int>] {
    let known = hidden.filter { $0.overlaps(range) }
    // A URL may have begun before.
    let start = bytes[max(0, range.lowerBound - 4096)..<range.lowerBound].lastIndex(of: ASCII.newline)
    let passwords = URLPasswords.ranges(in: bytes[(start ?? max(0, range.lowerBound - 4096))..<range.upperBound])
      .filter { password in password.overlaps(range) && !known.contains { $0.overlaps(password) } }
    return (known + passwords).map { $0.clamped(to: range) }.sorted { $0.lowerBound < $1.lowerBound }
  }
}
