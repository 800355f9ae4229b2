// The values in a secret that is YAML or lines of KEY=VALUE.
//
// Such files are written for many programs, which read the same line differently: `#` begins a comment or doesn't, `\n`
// in double quotes is a line end or two characters. So each value is read in every way that one of them reads it, and
// what can't be read is taken as it is:
//
//     token: first-key # prod            with and without the comment; ` ;` begins one in INI files
//     "a b" : 'it''s'                    quotes within quotes: doubled (YAML), `'\''` (shells)
//     export KEY="a\tb\$"                the escapes of YAML and JSON, the escapes of shells, and none
//     - { key: first, keys: [second] }   the values of maps and lists in brackets, also across lines, as in JSON
//     KEY="first line                    a value in quotes that continues on another line
//     a = { key = "first" }              the values of TOML's tables, and its texts in three quotes
//     ? key                              a value of YAML in the line after its key
//     : value
//     //host/:_authToken=value           the keys of npm
//
// A comment of a whole line is left out. Every byte is read a bounded number of times: a value in quotes or brackets is
// read to its end, and the next line is the one after that; when quotes or brackets of a kind don't end, later ones of
// that kind are only looked for in their line.

import Basics

struct SecretLines {
  /// Calls a function with each value, and whether it is a text even if it consists of digits.
  static func read(_ text: String, _ found: (_ value: String, _ isQuoted: Bool) -> Void) {
    var lines = SecretLines(bytes: Array(text.utf8))
    while lines.index < lines.bytes.count { lines.readLine(found) }
  }

  private let bytes: [UInt8]
  private var index = 0
  /// Quotes and brackets that have no end in the rest of the text.
  private var unclosed: Set<UInt8> = []

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private typealias Found = (_ value: String, _ isQuoted: Bool) -> Void

  /// The next byte; zero at the end.
  private func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

  private func isSpace(_ index: Int) -> Bool { byte(index) == ASCII.space || byte(index) == ASCII.tab }

  private func endOfLine(from start: Int) -> Int {
    bytes[start...].firstIndex(where: Needle.isLineEnd) ?? bytes.count
  }

  private func endOfSpaces(from start: Int) -> Int {
    bytes[start...].firstIndex { $0 != ASCII.space && $0 != ASCII.tab } ?? bytes.count
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self).trimmed }

  // MARK: Lines

  private static let prefixes = ["export ", "set ", "declare -x ", "$env:"].map { Array($0.utf8) }

  /// Reads a line, or several that are one value.
  private mutating func readLine(_ found: Found) {
    let end = endOfLine(from: index)
    var start = endOfSpaces(from: index)
    defer { index = max(index, end) + 1 }
    // Items of lists, also of lists in lists, and keys that are written with a question mark.
    var isItem = false
    while [ASCII.minus, ASCII.question, ASCII.colon].contains(byte(start)), isSpace(start + 1) {
      isItem = true
      start = endOfSpaces(from: start + 1)
    }
    for prefix in SecretLines.prefixes where bytes[start...].starts(with: prefix) {
      start = endOfSpaces(from: start + prefix.count)
    }
    guard start < end, byte(start) != ASCII.hash else { return }
    if byte(start) == ASCII.openBracket, isSection(start..<end) { return }
    let isBracket = byte(start) == ASCII.openBrace || byte(start) == ASCII.openBracket
    if !isBracket, let value = endOfKey(from: start, to: end) {
      readValue(from: endOfSpaces(from: value), to: end, found)
    } else if isItem || isBracket {
      readValue(from: start, to: end, found)
    }
  }

  /// Whether a line is the heading of a section in INI and TOML; one that is the whole secret is a list.
  private func isSection(_ line: Range<Int>) -> Bool {
    let heading = bytes[line].reversed().drop { ASCII.space == $0 || ASCII.tab == $0 }
    return heading.first == ASCII.closeBracket && line.count < bytes.count
      && !heading.contains { ",:{}'".utf8.contains($0) }
  }

  /// Where the value after a key begins; nil if there is no key.
  ///
  /// A key before an equals sign is one word, because addresses and other texts have equals signs, too.
  private func endOfKey(from start: Int, to end: Int) -> Int? {
    if byte(start) == ASCII.quote || byte(start) == ASCII.apostrophe {
      guard let close = endOfQuotes(from: start, before: end) else { return nil }
      return endOfSeparator(at: endOfSpaces(from: close), isQuoted: true)
    }
    if byte(start) == ASCII.slash, byte(start + 1) == ASCII.slash {
      return bytes[start..<end].firstIndex(of: ASCII.equals).map { $0 + 1 }
    }
    let word = bytes[start..<end].prefix {
      ASCII.isLetter($0) || ASCII.digits.contains($0) || "_-.".utf8.contains($0)
    }
    if word.isEmpty { return nil }
    if let value = endOfSeparator(at: endOfSpaces(from: word.endIndex), isQuoted: false) { return value }
    // A key of YAML ends at a colon before a blank.
    for index in word.endIndex..<end where bytes[index] == ASCII.colon && (isSpace(index + 1) || index + 1 == end) {
      return index + 1
    }
    return nil
  }

  private func endOfSeparator(at index: Int, isQuoted: Bool) -> Int? {
    if byte(index) == ASCII.colon {
      return isQuoted || isSpace(index + 1) || Needle.isLineEnd(byte(index + 1)) ? index + 1 : nil
    }
    guard byte(index) == ASCII.equals, byte(index + 1) != ASCII.equals else { return nil }
    return byte(index + 1) == ASCII.greater ? index + 2 : index + 1
  }

  // MARK: Values

  private mutating func readValue(from first: Int, to end: Int, _ found: Found) {
    var start = first
    // The tag and the anchor of YAML.
    for _ in 0..<2 where start < end && "!&".utf8.contains(bytes[start]) {
      readPlain(start..<end, found)
      start = endOfSpaces(from: bytes[start..<end].firstIndex { $0 == ASCII.space || $0 == ASCII.tab } ?? end)
    }
    guard start < end else { return }
    switch bytes[start] {
    case ASCII.quote, ASCII.apostrophe: readQuoted(from: start, to: end, found)
    case ASCII.openBrace, ASCII.openBracket: readBrackets(from: start, to: end, found)
    default:
      readPlain(start..<end, found)
      // A shell joins quoted and unquoted parts.
      if bytes[start..<end].contains(where: { "'\"\\".utf8.contains($0) }) { readWord(from: start, to: end, found) }
    }
  }

  /// Reads a value without quotes, with and without a comment, and without the brackets that it may be in.
  private func readPlain(_ range: Range<Int>, _ found: Found) {
    var readings = [range]
    var comments: Set<UInt8> = []
    for index in range.dropFirst() where isSpace(index - 1) {
      guard bytes[index] == ASCII.hash || bytes[index] == ASCII.semicolon else { continue }
      if comments.insert(bytes[index]).inserted { readings.append(range.lowerBound..<index) }
    }
    for reading in readings {
      let value = text(reading)
      found(value, false)
      let inside = value.utf8.reversed().prefix { ",}]; ".utf8.contains($0) }.count
      if inside > 0 { found(String(decoding: value.utf8.dropLast(inside), as: UTF8.self), false) }
    }
  }

  /// Reads a value in quotes, which may end in another line.
  private mutating func readQuoted(from start: Int, to end: Int, _ found: Found) {
    let quote = bytes[start]
    if byte(start + 1) == quote, byte(start + 2) == quote { readThreeQuotes(from: start, found) }
    var close = endOfQuotes(from: start, before: end)
    if close == nil, !unclosed.contains(quote) {
      close = endOfQuotes(from: start, before: bytes.count)
      if close == nil { unclosed.insert(quote) }
    }
    guard let close else {
      // Without the quote that doesn't end.
      readPlain(start..<end, found)
      return readPlain(start + 1..<end, found)
    }
    for reading in SecretQuotes.readings(of: bytes[start + 1..<close - 1], in: quote) { found(reading, true) }
    index = max(index, endOfLine(from: close))
    let rest = endOfSpaces(from: close)
    guard rest < index, !"#;,}]".utf8.contains(bytes[rest]) else { return }
    // More follows: the words of a shell, or quotes that mean nothing.
    readWord(from: start, to: index, found)
    readPlain(start..<index, found)
    if index - 1 > close, bytes[index - 1] == quote { found(text(start + 1..<index - 1), true) }
  }

  /// Reads a text of TOML in three quotes, whose first line end counts as nothing.
  ///
  /// In YAML, two of them are a quote, so that its lines are read as others, too.
  private mutating func readThreeQuotes(from start: Int, _ found: Found) {
    let quote = bytes[start]
    // Marked apart from single quotes.
    if unclosed.contains(quote | 0x80) { return }
    var close = start + 3
    while close + 2 < bytes.count, bytes[close] != quote || bytes[close + 1] != quote || bytes[close + 2] != quote {
      close += quote == ASCII.quote && bytes[close] == ASCII.backslash ? 2 : 1
    }
    guard close + 2 < bytes.count else {
      unclosed.insert(quote | 0x80)
      return
    }
    let begin = start + 3 + (byte(start + 3) == ASCII.carriageReturn ? 1 : 0)
    let inside = bytes[min(byte(begin) == ASCII.newline ? begin + 1 : begin, close)..<close]
    for reading in SecretQuotes.readings(of: inside, in: quote) {
      found(reading, true)
      found(reading.trimmed, true)
    }
  }

  /// Where quotes end that begin at an index, after the closing one; nil if they don't end before another index.
  ///
  /// In double quotes, a backslash is followed by a character of the text; in both, a doubled quote is one of the text.
  private func endOfQuotes(from start: Int, before end: Int) -> Int? {
    let quote = bytes[start]
    var index = start + 1
    while index < end {
      if bytes[index] == ASCII.backslash, quote == ASCII.quote {
        index += 2
      } else if bytes[index] != quote {
        index += 1
      } else if index + 1 < end, bytes[index + 1] == quote, index > start + 1 || byte(index + 2) == quote {
        index += 2
      } else {
        return index + 1
      }
    }
    return nil
  }

  /// Reads a word as shells do, with quotes in its middle.
  private func readWord(from start: Int, to end: Int, _ found: Found) {
    var word: [UInt8] = []
    var quote: UInt8?
    var index = start
    while index < end {
      let byte = bytes[index]
      if let open = quote, byte == open {
        quote = nil
      } else if byte == ASCII.backslash, quote != ASCII.apostrophe, index + 1 < end {
        index += 1
        if quote == ASCII.quote, !"\"\\$`".utf8.contains(bytes[index]) { word.append(ASCII.backslash) }
        word.append(bytes[index])
      } else if quote == nil, byte == ASCII.quote || byte == ASCII.apostrophe {
        quote = byte
      } else if quote == nil, byte == ASCII.space || byte == ASCII.tab {
        break
      } else {
        word.append(byte)
      }
      index += 1
    }
    found(String(decoding: word, as: UTF8.self), false)
  }

  // MARK: Brackets

  /// Reads the values of maps and lists in brackets, to the closing bracket.
  private mutating func readBrackets(from start: Int, to end: Int, _ found: Found) {
    let bracket = bytes[start]
    let isLine = unclosed.contains(bracket)
    let last = isLine ? end : bytes.count
    var depth = 0
    var place = start
    // Where the text ended whose value after an equals sign is read, too; once, so that no byte is read often.
    var reread = start
    while place < last {
      switch bytes[place] {
      case ASCII.openBrace, ASCII.openBracket: depth += 1
      case ASCII.closeBrace, ASCII.closeBracket: depth -= 1
      case ASCII.comma, ASCII.colon, ASCII.space, ASCII.tab, ASCII.newline, ASCII.carriageReturn: break
      case ASCII.hash where Needle.isBlank(bytes[place - 1]):
        place = min(last, endOfLine(from: place))
        continue
      case ASCII.quote, ASCII.apostrophe:
        guard let close = endOfQuotes(from: place, before: last) else {
          readPlain(place + 1..<min(last, endOfLine(from: place)), found)
          place = last
          continue
        }
        // A key is followed by a colon.
        if byte(endOfSpaces(from: close)) != ASCII.colon {
          for reading in SecretQuotes.readings(of: bytes[place + 1..<close - 1], in: bytes[place]) {
            found(reading, true)
          }
        }
        place = close
        continue
      default:
        let begin = place
        while place < last, !",{}[]\n\r".utf8.contains(bytes[place]),
          bytes[place] != ASCII.colon || !Needle.isBlank(byte(place + 1))
        { place += 1 }
        if byte(place) != ASCII.colon || place == last { readPlain(begin..<place, found) }
        if place > reread, let sign = bytes[begin..<place].firstIndex(of: ASCII.equals) {
          reread = place
          place = sign + 1
        }
        continue
      }
      place += 1
      if depth == 0 { break }
    }
    if depth > 0, !isLine {
      unclosed.insert(bracket)
    } else {
      index = max(index, endOfLine(from: min(place, bytes.count)))
    }
    // It may be a text that only begins with a bracket.
    if start < end, depth > 0 || place < end { readPlain(start..<end, found) }
  }
}

/// Texts in quotes, read in each way that programs read them.
enum SecretQuotes {
  /// The texts that the bytes between two quotes may stand for.
  static func readings(of inside: ArraySlice<UInt8>, in quote: UInt8) -> [String] {
    var readings = [Array(inside), undoubled(inside, quote)]
    if inside.contains(ASCII.backslash) { readings += [unescaped(inside), shell(inside)] }
    var texts: [String] = []
    for text in readings.map({ String(decoding: $0, as: UTF8.self) }) {
      if !texts.contains(where: { $0.hasSameScalars(as: text) }) { texts.append(text) }
    }
    return texts
  }

  /// With one quote for two.
  static func undoubled(_ inside: ArraySlice<UInt8>, _ quote: UInt8) -> [UInt8] {
    var text: [UInt8] = []
    var isSecond = false
    for byte in inside {
      isSecond = byte == quote && !isSecond && text.last == quote
      if !isSecond { text.append(byte) }
    }
    return text
  }

  /// With the escapes of shells: a backslash before a quote, a dollar sign and another backslash.
  private static func shell(_ inside: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    var rest = inside
    while let byte = rest.popFirst() {
      if byte == ASCII.backslash, let next = rest.first, "\"\\$`'".utf8.contains(next) {
        text.append(next)
        rest = rest.dropFirst()
      } else {
        text.append(byte)
      }
    }
    return text
  }

  private static let letters: [UInt8: UInt32] = [
    UInt8(ascii: "0"): 0x00, UInt8(ascii: "a"): 0x07, UInt8(ascii: "b"): 0x08, UInt8(ascii: "t"): 0x09,
    UInt8(ascii: "n"): 0x0A, UInt8(ascii: "v"): 0x0B, UInt8(ascii: "f"): 0x0C, UInt8(ascii: "r"): 0x0D,
    UInt8(ascii: "e"): 0x1B, UInt8(ascii: "N"): 0x85, UInt8(ascii: "_"): 0xA0, UInt8(ascii: "L"): 0x2028,
    UInt8(ascii: "P"): 0x2029,
  ]

  /// Decodes the escapes of YAML (1.2, section 5.7), JSON and TOML; an unknown escape is its character.
  private static func unescaped(_ inside: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    var rest = inside
    var high: UInt32?
    while let byte = rest.popFirst() {
      guard byte == ASCII.backslash, let letter = rest.popFirst() else {
        text.append(byte)
        continue
      }
      let count = ["x": 2, "u": 4, "U": 8][String(UnicodeScalar(letter))] ?? 0
      if count > 0, var value = UInt32(String(decoding: rest.prefix(count), as: UTF8.self), radix: 16) {
        rest = rest.dropFirst(count)
        if 0xD800...0xDBFF ~= value {
          high = value
          continue
        }
        if let first = high, 0xDC00...0xDFFF ~= value { value = 0x10000 + (first - 0xD800) << 10 + (value - 0xDC00) }
        high = nil
        if let scalar = UnicodeScalar(value) { text += Array(String(scalar).utf8) }
      } else if let value = letters[letter], let scalar = UnicodeScalar(value) {
        text += Array(String(scalar).utf8)
      } else if letter == ASCII.newline || letter == ASCII.carriageReturn {
        // A line that is broken within double quotes.
        rest = rest.drop(while: Needle.isBlank)
      } else {
        text.append(letter)
      }
    }
    return text
  }
}
