import Basics

/// Advises to quote a value that YAML doesn't read as written, with the quoted value ready to be pasted.
struct QuoteAdvice {
  /// The part of a line after its indentation, its dashes and its key.
  struct LineValue {
    var range: Range<Int>
    /// Whether a key comes before it.
    var hasKey: Bool
  }

  /// The advice if the value itself can't be determined.
  let generalAdvice: MessageText = "quote the whole value: `\"${{ … }}\"`"

  /// Longer values make messages too long to read.
  private static let longestQuoted = 80

  /// As far as this a line is looked at, so that a text of one long line costs no time.
  private static let farthest = 500

  private static let quotes = ["'", "\"", "`", "“", "”", "„", "‘", "’", "‚", "«", "»", "‹", "›", "´"]

  private let source: Source

  init(_ source: Source) { self.source = source }

  /// The advice for the value that begins at an offset, if it is what its line holds.
  func advice(at offset: Int) -> MessageText {
    let value = lineValue(at: offset)
    return value.range.lowerBound == offset ? advice(for: value.range) : generalAdvice
  }

  /// The advice for a value inside brackets or braces; the value ends at the comma or bracket outside of its own
  /// brackets.
  func advice(inFlowAt offset: Int) -> MessageText {
    var closers: [UInt8] = []
    var end = offset
    let lineEnd = source.lineEnd(after: offset, within: QuoteAdvice.farthest)
    scan: while end < lineEnd {
      switch source.bytes[end] {
      case UInt8(ascii: "("): closers.append(UInt8(ascii: ")"))
      case ASCII.openBracket: closers.append(ASCII.closeBracket)
      case ASCII.openBrace: closers.append(ASCII.closeBrace)
      case let quote where quote == ASCII.apostrophe || quote == ASCII.quote:
        end = source.bytes[end + 1..<lineEnd].firstIndex(of: quote) ?? end
      case let closer where closer == closers.last: closers.removeLast()
      case ASCII.comma, ASCII.closeBracket, ASCII.closeBrace:
        if closers.isEmpty { break scan }
      default: break
      }
      end += 1
    }
    return closers.isEmpty && end < lineEnd ? advice(for: trimmed(offset..<end)) : generalAdvice
  }

  /// The advice to quote just these bytes.
  func advice(for range: Range<Int>) -> MessageText {
    guard !range.isEmpty, range.count < QuoteAdvice.farthest else { return generalAdvice }
    let quoted = QuoteAdvice.quoted(String(decoding: source.bytes[range], as: UTF8.self))
    let text = range.count > QuoteAdvice.longestQuoted ? generalAdvice.text : "quote the whole value: `\(quoted)`"
    // A quote at an end is more likely to be one that lacks its other half than a part of the text.
    let bytes = source.bytes[range]
    let isHalf = QuoteAdvice.quotes.contains {
      bytes.starts(with: $0.utf8) || bytes.reversed().starts(with: $0.utf8.reversed())
    }
    return MessageText(text, [.edits("quote the whole value", [Diagnostic.Edit(range, quoted)])])
      .tentative(if: isHalf)
  }

  /// A one-line text in quotes that need no escapes.
  static func quoted(_ text: String) -> String {
    let needsSingle = text.utf8.contains { $0 == ASCII.quote || $0 == ASCII.backslash }
    return needsSingle ? "'\(text.replacing("'", with: "''"))'" : "\"\(text)\""
  }

  /// The value of a line.
  func lineValue(at offset: Int) -> LineValue {
    let bytes = source.bytes
    let lineEnd = source.lineEnd(after: offset, within: QuoteAdvice.farthest)
    var start = source.lineStart(before: offset)
    func skipBlanks() { while start < lineEnd, isBlank(bytes[start]) { start += 1 } }
    skipBlanks()
    while start + 1 < lineEnd, bytes[start] == ASCII.minus, isBlank(bytes[start + 1]) {
      start += 1
      skipBlanks()
    }
    var hasKey = false
    if let colon = keyEnd(start..<lineEnd) {
      start = colon + 1
      hasKey = true
      skipBlanks()
    }
    return LineValue(range: trimmed(start..<lineEnd), hasKey: hasKey)
  }

  /// Where the colon of a line's key is.
  ///
  /// A key that opens an expression is none, however YAML sees it.
  private func keyEnd(_ line: Range<Int>) -> Int? {
    let bytes = source.bytes
    guard let first = bytes[line].first else { return nil }
    func isKeyEnd(_ index: Int) -> Bool {
      bytes[index] == ASCII.colon && (index + 1 == line.upperBound || isBlank(bytes[index + 1]))
    }
    if first == ASCII.quote || first == ASCII.apostrophe {
      guard let quote = bytes[(line.lowerBound + 1)..<line.upperBound].firstIndex(of: first),
        let colon = bytes[(quote + 1)..<line.upperBound].firstIndex(where: { !isBlank($0) }), isKeyEnd(colon)
      else { return nil }
      return colon
    }
    if "[{!&*#".utf8.contains(first) || bytes[line].starts(with: "${{".utf8) { return nil }
    return line.first(where: isKeyEnd)
  }

  /// Without blanks at the end, and without a comment behind text whose quotes are closed.
  private func trimmed(_ range: Range<Int>) -> Range<Int> {
    let bytes = source.bytes
    var end = range.lowerBound
    var quote: UInt8?
    var isInExpression = false
    var index = range.lowerBound
    scan: while index < range.upperBound {
      let byte = bytes[index]
      switch byte {
      case ASCII.apostrophe, ASCII.quote:
        quote = quote == nil ? byte : quote == byte ? nil : quote
      case ASCII.dollar where bytes[index..<range.upperBound].starts(with: "${{".utf8):
        isInExpression = true
      case ASCII.closeBrace where quote == nil && bytes[index..<range.upperBound].starts(with: "}}".utf8):
        isInExpression = false
      case ASCII.hash
      where quote == nil && !isInExpression && index > range.lowerBound && isBlank(bytes[index - 1]):
        break scan
      default: break
      }
      index += 1
      if !isBlank(byte) { end = index }
    }
    return range.lowerBound..<end
  }
}
