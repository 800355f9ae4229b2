import Basics
import Glibc

/// Finds plain scalars that YAML silently ends, or continues, where their author did not mean it.
struct CutScalars {
  private let source: Source
  private let quoting: QuoteAdvice

  init(_ source: Source, _ quoting: QuoteAdvice) {
    self.source = source
    self.quoting = quoting
  }

  /// A `${{` that a comment or a key's colon has cut off from its `}}`.
  func openExpression(in event: ScalarEvent, isKey: Bool) -> Diagnostic? {
    guard holds("$", event.text), isExpressionOpen(event.text) else { return nil }
    let end = event.range.upperBound
    let isWhole = expressionEnd(after: end) <= source.lineEnd(after: end)
    let advice = isWhole ? quoting.advice(at: event.range.lowerBound) : quoting.generalAdvice
    if isKey {
      let colon = source.bytes[end...].firstIndex { !isBlank($0) } ?? end
      return fault("`: ` ends a key, even inside `${{`; \(advice)", colon..<min(colon + 1, source.bytes.count))
    }
    guard let comment = source.comment(after: end) else { return nil }
    return fault("` #` begins a comment, even inside `${{`; \(advice)", comment..<comment + 1)
  }

  /// Where the `}}` ends that follows an offset; the end of the text if none does.
  func expressionEnd(after offset: Int) -> Int {
    let bytes = source.bytes
    var index = offset
    while index + 1 < bytes.count {
      if bytes[index] == ASCII.closeBrace, bytes[index + 1] == ASCII.closeBrace { return index + 2 }
      index += 1
    }
    return bytes.count
  }

  /// A `(` in brackets or braces that a comma has cut off from its `)`.
  func openParenthesis(in event: ScalarEvent, ofMap isMap: Bool) -> Diagnostic? {
    guard holds("(", event.text) else { return nil }
    let depth = event.text.reduce(0) {
      $0 + ($1 == UInt8(ascii: "(") ? 1 : $1 == UInt8(ascii: ")") ? -1 : 0)
    }
    guard depth > 0,
      let comma = source.bytes[event.range.upperBound...].firstIndex(where: { !isBlankOrBreak($0) }),
      source.bytes[comma] == ASCII.comma
    else { return nil }
    let advice = quoting.advice(inFlowAt: event.range.lowerBound)
    return fault("`,` ends a value inside \(isMap ? "{ }" : "[ ]"), even in parentheses; \(advice)", comma..<comma + 1)
  }

  /// A list item that is indented too deeply, so that YAML reads it as part of the item above.
  func swallowedItem(in event: ScalarEvent) -> Diagnostic? {
    // A scalar of one line is the same in the text as in its value.
    guard event.range.count != event.text.count else { return nil }
    let bytes = source.bytes[event.range]
    var rest = bytes
    while let lineBreak = rest.firstIndex(where: isBreak) {
      rest = rest[(lineBreak + 1)...]
      guard let first = rest.firstIndex(where: { !isBlankOrBreak($0) }) else { return nil }
      rest = rest[first...]
      if rest.count > 1, rest[first] == ASCII.minus, isBlank(rest[first + 1]) {
        let message = "this isn't a list item: it is indented more than the text above and continues it"
        return Diagnostic(message, at: Diagnostic.Location(source, first..<first + 1), severity: .warning)
      }
    }
    return nil
  }

  private func fault(_ message: MessageText, _ range: Range<Int>) -> Diagnostic {
    Diagnostic(message, at: Diagnostic.Location(source, range))
  }

  private func holds(_ character: Unicode.Scalar, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let start = text.baseAddress else { return false }
    return memchr(start, Int32(character.value), text.count) != nil
  }

  /// Whether the last `${{` of a text has no `}}` behind it.
  private func isExpressionOpen(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    var isOpen = false
    for index in text.indices.dropLast() {
      switch (text[index], text[index + 1]) {
      case (ASCII.closeBrace, ASCII.closeBrace): isOpen = false
      case (ASCII.openBrace, ASCII.openBrace):
        isOpen = isOpen || index > 0 && text[index - 1] == ASCII.dollar
      default: break
      }
    }
    return isOpen
  }
}

extension Source {
  /// Where the comment begins that follows an offset on its line, if one does.
  func comment(after offset: Int) -> Int? {
    guard let next = bytes[offset...].firstIndex(where: { !isBlank($0) }), next > offset,
      bytes[next] == ASCII.hash
    else { return nil }
    return next
  }

  /// Where a comment begins on a line, if one does behind a blank.
  func comment(in line: Range<Int>) -> Int? {
    line.first { bytes[$0] == ASCII.hash && $0 > line.lowerBound && isBlank(bytes[$0 - 1]) }
  }

  /// Where the line begins that holds an offset; a byte order mark is no part of the first.
  func lineStart(before offset: Int) -> Int {
    var start = min(offset, bytes.count)
    while start > 0, !isBreak(bytes[start - 1]) { start -= 1 }
    return start == 0 && bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? min(3, offset) : start
  }

  /// Where the line ends that holds an offset, before its line break, or the end of the bytes to look at.
  func lineEnd(after offset: Int, within count: Int = .max) -> Int {
    let end = count < bytes.count - offset ? offset + count : bytes.count
    return bytes[offset..<end].firstIndex(where: isBreak) ?? end
  }
}
