import Basics

/// CEL's lexer: cuts the text into tokens on demand and drops blanks and comments.
///
/// Operators of other languages (`=`, `===`, `&`, `|`, `??`) become tokens of their own, so that the parser can suggest
/// CEL's operator and continue.
struct Lexer {
  struct Token {
    var kind: Kind
    var start: Int
    var end: Int

    var range: Range<Int> { start..<end }
  }

  enum Kind: UInt8 {
    case end, invalid
    case identifier, quotedIdentifier, int, uint, double, string, bytes
    case leftParenthesis, rightParenthesis, leftBracket, rightBracket, leftBrace, rightBrace
    case dot, comma, colon, question
    case plus, minus, star, slash, percent, not, and, or
    case less, lessOrEqual, greater, greaterOrEqual, equal, notEqual
    case assign, arrow, strictEqual, strictNotEqual, singleAnd, singleOr, doubleQuestion, power
  }

  let text: [UInt8]
  private(set) var position: Int
  private let end: Int
  private(set) var faults: [ExpressionFault] = []

  init(_ text: [UInt8], range: Range<Int>) {
    self.text = text
    position = range.lowerBound
    end = range.upperBound
  }

  private func byte(_ offset: Int = 0) -> UInt8 {
    position + offset < end ? text[position + offset] : 0
  }

  mutating func next() -> Token {
    skipBlank()
    let start = position
    guard position < end else { return Token(kind: .end, start: end, end: end) }
    let kind = scan()
    return Token(kind: kind, start: start, end: position)
  }

  private mutating func skipBlank() {
    while position < end {
      switch text[position] {
      case ASCII.space, ASCII.tab, ASCII.newline, ASCII.formFeed, ASCII.carriageReturn: position += 1
      case ASCII.slash where byte(1) == ASCII.slash:
        while position < end, text[position] != ASCII.newline { position += 1 }
      default: return
      }
    }
  }

  private mutating func consume(_ count: Int, _ kind: Kind) -> Kind {
    position += count
    return kind
  }

  private mutating func scan() -> Kind {
    switch byte() {
    case UInt8(ascii: "("): return consume(1, .leftParenthesis)
    case UInt8(ascii: ")"): return consume(1, .rightParenthesis)
    case ASCII.openBracket: return consume(1, .leftBracket)
    case ASCII.closeBracket: return consume(1, .rightBracket)
    case ASCII.openBrace: return consume(1, .leftBrace)
    case ASCII.closeBrace: return consume(1, .rightBrace)
    case ASCII.comma: return consume(1, .comma)
    case ASCII.colon: return consume(1, .colon)
    case ASCII.question: return byte(1) == ASCII.question ? consume(2, .doubleQuestion) : consume(1, .question)
    case ASCII.plus: return consume(1, .plus)
    case ASCII.minus: return consume(1, .minus)
    case ASCII.asterisk: return byte(1) == ASCII.asterisk ? consume(2, .power) : consume(1, .star)
    case ASCII.slash: return consume(1, .slash)
    case ASCII.percent: return consume(1, .percent)
    case ASCII.less:
      if byte(1) == ASCII.greater { return consume(2, .strictNotEqual) }
      return byte(1) == ASCII.equals ? consume(2, .lessOrEqual) : consume(1, .less)
    case ASCII.greater: return byte(1) == ASCII.equals ? consume(2, .greaterOrEqual) : consume(1, .greater)
    case ASCII.equals:
      if byte(1) == ASCII.greater { return consume(2, .arrow) }
      if byte(1) != ASCII.equals { return consume(1, .assign) }
      return byte(2) == ASCII.equals ? consume(3, .strictEqual) : consume(2, .equal)
    case UInt8(ascii: "!"):
      if byte(1) != ASCII.equals { return consume(1, .not) }
      return byte(2) == ASCII.equals ? consume(3, .strictNotEqual) : consume(2, .notEqual)
    case ASCII.ampersand: return byte(1) == ASCII.ampersand ? consume(2, .and) : consume(1, .singleAnd)
    case UInt8(ascii: "|"): return byte(1) == UInt8(ascii: "|") ? consume(2, .or) : consume(1, .singleOr)
    case ASCII.dot: return isDigit(byte(1)) ? scanNumber() : consume(1, .dot)
    case ASCII.backtick: return scanQuotedIdentifier()
    case ASCII.apostrophe, ASCII.quote: return scanText(prefix: 0, .string)
    case let first where isDigit(first): return scanNumber()
    case let first where isLetter(first):
      if let literal = scanPrefixedText() { return literal }
      while isLetter(byte()) || isDigit(byte()) { position += 1 }
      return .identifier
    default: return scanUnknown()
    }
  }

  /// A text or bytes literal with `r`, `b` or `br` before its quote.
  private mutating func scanPrefixedText() -> Kind? {
    func isQuote(_ byte: UInt8) -> Bool { byte == ASCII.apostrophe || byte == ASCII.quote }
    switch (byte() | 0x20, byte(1) | 0x20) {
    case (UInt8(ascii: "b"), UInt8(ascii: "r")) where isQuote(byte(2)): return scanText(prefix: 2, .bytes, isRaw: true)
    case (UInt8(ascii: "b"), _) where isQuote(byte(1)): return scanText(prefix: 1, .bytes)
    case (UInt8(ascii: "r"), _) where isQuote(byte(1)): return scanText(prefix: 1, .string, isRaw: true)
    default: return nil
    }
  }

  private mutating func scanText(prefix: Int, _ kind: Kind, isRaw: Bool = false) -> Kind {
    let start = position
    position += prefix
    let quote = byte()
    let isTriple = byte(1) == quote && byte(2) == quote
    position += isTriple ? 3 : 1
    while position < end {
      let next = byte()
      if next == quote, !isTriple || (byte(1) == quote && byte(2) == quote) {
        position += isTriple ? 3 : 1
        return kind
      }
      if !isTriple, next == ASCII.newline || next == ASCII.carriageReturn { break }
      position += next == ASCII.backslash && !isRaw && position + 1 < end ? 2 : 1
    }
    let mark = isTriple ? "three quotes" : String(UnicodeScalar(quote))
    let hint = isTriple || position >= end ? "" : "; a text of several lines needs three quotes"
    faults.append(ExpressionFault("the text that begins here has no closing \(mark)\(hint)", at: start..<position))
    return .invalid
  }

  private mutating func scanQuotedIdentifier() -> Kind {
    let start = position
    position += 1
    while position < end, byte() != ASCII.backtick {
      let next = byte()
      guard isLetter(next) || isDigit(next) || "_.-/ ".utf8.contains(next) else { break }
      position += 1
    }
    guard byte() == ASCII.backtick, position > start + 1 else {
      faults.append(
        ExpressionFault(
          "backticks take a field name of letters, digits, `_ . - /` and blanks; write ['…'] for any other",
          at: start..<max(position, start + 1)))
      return .invalid
    }
    position += 1
    return .quotedIdentifier
  }

  private mutating func scanNumber() -> Kind {
    let start = position
    var kind = Kind.int
    if byte() == ASCII.zero, byte(1) == UInt8(ascii: "x"), isHexDigit(byte(2)) {
      position += 2
      while isHexDigit(byte()) { position += 1 }
    } else {
      while isDigit(byte()) { position += 1 }
      if byte() == ASCII.dot, isDigit(byte(1)) {
        kind = .double
        position += 1
        while isDigit(byte()) { position += 1 }
      }
      if byte() | 0x20 == UInt8(ascii: "e") {
        let sign = byte(1) == ASCII.plus || byte(1) == ASCII.minus ? 1 : 0
        if isDigit(byte(1 + sign)) {
          kind = .double
          position += 1 + sign
          while isDigit(byte()) { position += 1 }
        }
      }
    }
    if kind == .int, byte() | 0x20 == UInt8(ascii: "u") {
      kind = .uint
      position += 1
    }
    guard isLetter(byte()) else { return kind }
    // A number with letters at its end is one fault, not two.
    let digits = string(start..<position)
    while isLetter(byte()) || isDigit(byte()) { position += 1 }
    let word = string(start..<position)
    let unit = word.dropFirst(digits.count)
    func suggestion(_ code: String) -> [Suggestion] { [.code(code, for: start..<position)] }
    let hint: MessageText =
      ["ns", "us", "ms", "s", "m", "h"].contains(unit)
      ? MessageText("; a length of time is written duration('\(word)')", suggestion("duration('\(word)')"))
      : word.contains("_")
        ? MessageText("; write its digits without `_`", suggestion(word.replacing("_", with: "")))
        : (unit == "d" ? "; a length of time is written in hours, duration('24h')" : "")
    faults.append(ExpressionFault("`\(word)` isn't a number\(hint)", at: start..<position))
    return .invalid
  }

  private mutating func scanUnknown() -> Kind {
    let start = position
    position += 1
    while position < end, text[position] & 0xC0 == 0x80 { position += 1 }
    let symbol = string(start..<position)
    func write(_ code: String) -> MessageText {
      MessageText("write \(code) for `\(symbol)`", [.code(code, for: start..<position)])
    }
    let message: MessageText =
      switch symbol {
      case "“", "”", "„", "‘", "’", "«", "»":
        MessageText("`\(symbol)` is a typographic quote; write texts in ' or \"", requoted(from: start))
      case "$" where byte() == ASCII.openBrace:
        MessageText("an expression holds no other `${{ … }}`; write what is inside it alone", unwrapped(from: start))
      case "$":
        MessageText(
          "`$` is not part of an expression; names are written without it",
          [Suggestion("remove `$`", .code("", start..<position))])
      case ";":
        MessageText("an expression has no `;`", [Suggestion("remove `;`", .code("", start..<position))])
      case "≤", "≥", "≠": write(symbol == "≤" ? "<=" : symbol == "≥" ? ">=" : "!=")
      case "×": write("*")
      case "^": "there is no power operator; write x * x for a square"
      case "#": "`#` means nothing in an expression; a comment begins with `//`"
      case "~": "there is no `~`; write a.matches('…') for a pattern"
      case "@", "\\": "`\(symbol)` means nothing in an expression"
      default: "`\(symbol)` isn't allowed here; names consist of a to z, A to Z, 0 to 9 and _, and texts need quotes"
      }
    faults.append(ExpressionFault(message, at: start..<position))
    return .invalid
  }

  /// A suggestion searches the rest of the text, so only the first faults get one.
  private static let mostSuggestions = 20

  /// Suggests straight quotes for a text in typographic quotes.
  private func requoted(from start: Int) -> [Suggestion] {
    guard faults.count < Lexer.mostSuggestions else { return [] }
    let rest = string(position..<end)
    guard let close = rest.firstIndex(where: { "“”„‘’«»".contains($0) }) else { return [] }
    let inner = rest[..<close]
    guard !inner.utf8.contains(where: { [ASCII.apostrophe, ASCII.backslash, ASCII.newline].contains($0) }) else {
      return []
    }
    let last = position + rest[...close].utf8.count
    return [.code("'\(inner)'", for: start..<last)]
  }

  /// Suggests removing the braces of an expression within another.
  private func unwrapped(from start: Int) -> [Suggestion] {
    guard faults.count < Lexer.mostSuggestions, start + 3 < end, text[start + 2] == ASCII.openBrace,
      let close = (start + 3..<end).first(where: {
        text[$0] == ASCII.closeBrace && $0 + 1 < end && text[$0 + 1] == ASCII.closeBrace
      })
    else { return [] }
    var inner = start + 3..<close
    while let first = inner.first, text[first] == ASCII.space { inner = first + 1..<close }
    while let last = inner.last, text[last] == ASCII.space { inner = inner.lowerBound..<last }
    return [.code(string(inner), for: start..<close + 2)]
  }

  func string(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool { byte &- ASCII.zero < 10 }

@inline(__always)
func isHexDigit(_ byte: UInt8) -> Bool { isDigit(byte) || (byte | 0x20) &- 0x61 < 6 }

@inline(__always)
func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 || byte == ASCII.underscore }
