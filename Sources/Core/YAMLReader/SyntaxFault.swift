import Basics

/// An error of libyaml, in words for people who know their recipe and not YAML's grammar.
///
/// libyaml names the rule that was broken and the place where it noticed. Most of the time the cause is one of three:
/// an expression or text that needs quotes, an indentation that doesn't match any line above, or something that isn't
/// closed. The line itself tells them apart, because libyaml often notices the error before it has returned the events
/// before it.
struct SyntaxFault {
  private let error: ScannerError
  private let source: Source
  private let quoting: QuoteAdvice
  /// The value of the line where libyaml stopped.
  private let value: QuoteAdvice.LineValue

  init(_ error: ScannerError, _ source: Source, _ quoting: QuoteAdvice) {
    self.error = error
    self.source = source
    self.quoting = quoting
    value = quoting.lineValue(at: error.offset)
  }

  var diagnostic: Diagnostic {
    switch error.problem {
    case "mapping values are not allowed in this context":
      return misplacedColon
    case "block sequence entries are not allowed in this context":
      return fault(
        "a list cannot begin on the line of its key; put each `- ` on a line of its own, or \(valueAdvice.tentative)", 1
      )
    case "mapping keys are not allowed in this context":
      return fault("`? ` isn't allowed here; \(valueAdvice)", 1)
    case "found character that cannot start any token":
      return isTab ? tab : leftover
    case "found a tab character that violates indentation",
      "found a tab character where an indentation space is expected":
      return tab
    case "did not find expected key", "did not find expected '-' indicator", "did not find expected <document start>":
      return isFirstOnLine ? misplacedLine : leftover
    case "did not find expected ',' or ']'":
      return unfinishedBrackets("[", "]")
    case "did not find expected ',' or '}'":
      return unfinishedBrackets("{", "}")
    case "did not find expected node content":
      return missingValue
    case "could not find expected ':'":
      if source.bytes[error.contextOffset...].first == ASCII.minus {
        return fault(
          MessageText("a space is missing after this `-`", [space(after: error.contextOffset)]),
          error.contextOffset..<error.contextOffset + 1)
      }
      let line = error.contextOffset..<source.lineEnd(after: error.contextOffset)
      return fault(
        "a `:` is missing after this key; write `key: value`, or indent the line to continue the text above", line)
    case "found unexpected end of stream":
      return fault(
        MessageText("this quote is never closed", closing(error.contextOffset)),
        error.contextOffset..<min(error.contextOffset + 1, source.bytes.count))
    case "found unexpected document indicator":
      return fault("this line ends the document inside a quoted text; indent it", 3)
    case "found unknown escape character":
      let doubled = Diagnostic.Edit(error.offset..<error.offset, "\\")
      // Others beside it may be meant as backslashes, too, and are read as escapes.
      let line = source.bytes[error.offset..<source.lineEnd(after: error.offset)]
      let isAlone =
        source.bytes[source.lineStart(before: error.offset)..<error.offset].last { $0 == ASCII.backslash } == nil
        && line.dropFirst().first { $0 == ASCII.backslash } == nil
      return fault(
        MessageText(
          "no escape begins like this in double quotes; write `\\\\` for a backslash, or use single quotes",
          [Suggestion("write `\\\\`", .edits([doubled]), isTentative: !isAlone)]), 2)
    case "did not find expected hexdecimal number":
      return fault("hexadecimal digits are missing here: `\\x` takes 2, `\\u` 4, `\\U` 8", 0)
    case ScannerError.loneHalf:
      return fault(
        "this is one half of a character that is written in two, such as \\ud83e\\udd80; the other is missing", 6)
    case "found invalid Unicode character escape code":
      return fault("this code isn't a character; characters above FFFF are written with `\\U` and 8 digits", 0)
    case "found unexpected ':'":
      return fault("a space is missing after this `:`, or the text needs quotes", 1)
    case "found an indentation indicator equal to 0":
      return fault("the indentation of a block is 1 to 9", 1)
    case "out of memory":
      return fault("there is no memory left to read this", 0)
    default:
      break
    }
    if error.context.contains("directive") || error.problem.contains("YAML d") || error.problem.contains("%") {
      return directive(at: error.contextOffset)
    }
    if error.context.hasPrefix("while scanning a") || error.context.hasPrefix("while parsing a") { return leftover }
    return fault("YAML stumbles here (\(error.problem)); \(quoting.generalAdvice) if this is a text", 0)
  }
}

// MARK: Causes

extension SyntaxFault {
  private var misplacedColon: Diagnostic {
    if value.range.lowerBound < error.offset, value.hasKey || isExpression(value.range.lowerBound) {
      return fault("`: ` isn't allowed in a value without quotes; \(quoting.advice(for: value.range))", 1)
    }
    if holdsOpenExpression(before: error.offset) {
      return fault("`: ` isn't allowed in a value without quotes; \(quoting.generalAdvice)", 1)
    }
    guard let above = lineAbove else { return fault("a key must come before this `:`", 1) }
    let line = firstOnLine(error.offset)
    let indentation = column(line)
    if source.bytes[above].starts(with: "- ".utf8), indentation == column(above.lowerBound) + 2 {
      return fault(
        "no key can follow the item above, which is a text; give it a key: `- key: value`", line..<error.offset)
    }
    if indentation > column(above.lowerBound) {
      return fault(
        "this line is indented more than the one above, so it continues its value; indent both alike",
        line..<error.offset)
    }
    let colon = source.bytes[above].firstIndex(of: ASCII.colon)
    return fault(
      MessageText("a space is missing after the `:` here", colon.map { [space(after: $0)] } ?? []), above)
  }

  private func directive(at offset: Int) -> Diagnostic {
    let end = source.bytes[..<offset].lastIndex { !isBlankOrBreak($0) } ?? 0
    let start = offset < source.bytes.count && !isBlankOrBreak(source.bytes[offset]) ? offset : end
    let line = source.lineStart(before: start)..<source.lineEnd(after: start)
    return fault("a line that begins with `%` is a directive to YAML, and none is needed; remove it", line)
  }

  private var tab: Diagnostic {
    isFirstOnLine
      ? fault(MessageText("a tab cannot indent; use spaces", [untabbed]), 1)
      : fault("a tab isn't allowed here; use a space, or \(valueAdvice)", 1)
  }

  /// Something that does not belong to the value before it, or cannot begin one.
  private var leftover: Diagnostic {
    if error.isInFlow { return leftoverInFlow }
    let start = value.range.lowerBound
    guard start <= error.offset, start < value.range.upperBound else {
      if error.offset < source.bytes.count, source.bytes[error.offset] == ASCII.colon { return missingKey }
      return fault("no key begins with \(quoted(error.offset)); quote the key", 1)
    }
    let advice = quoting.advice(for: value.range)
    if let meaning = meaning(ofSignAt: start) {
      return fault("\(meaning); \(advice.tentative(if: isReference(start)))", value.range)
    }
    switch source.bytes[start] {
    case ASCII.apostrophe, ASCII.quote:
      return innerQuote ?? fault("a value that begins with a quote ends at the next one; \(advice)", value.range)
    case ASCII.openBracket, ASCII.openBrace:
      if error.offset < source.bytes.count, "]}".utf8.contains(source.bytes[error.offset]) { return unopened }
      let closer = source.bytes[start] == ASCII.openBracket ? "]" : "}"
      return fault("a value that begins with \(quoted(start)) ends at its `\(closer)`; \(advice)", value.range)
    default:
      return fault("the value ends before this; \(advice)", 1)
    }
  }

  /// The same inside brackets, where the line does not tell where the value begins, but libyaml does.
  private var leftoverInFlow: Diagnostic {
    let start = error.context.hasPrefix("while scanning a") ? error.contextOffset : error.offset
    let meaning = meaning(ofSignAt: start) ?? "YAML cannot read this inside brackets"
    return fault(
      "\(meaning); \(entryAdvice.tentative(if: isReference(start)))", start..<min(start + 1, source.bytes.count))
  }

  /// Whether the text that begins here may be meant as an anchor, an alias or a tag.
  private func isReference(_ offset: Int) -> Bool {
    offset < source.bytes.count && "&*!".utf8.contains(source.bytes[offset])
  }

  /// The meaning in YAML of a sign that a value cannot begin with unquoted.
  private func meaning(ofSignAt offset: Int) -> String? {
    guard offset < source.bytes.count else { return nil }
    let sign = Character(Unicode.Scalar(source.bytes[offset]))
    switch sign {
    case "!": return "`!` begins a tag in YAML"
    case "&": return "`&` begins an anchor in YAML"
    case "*": return "`*` begins an alias in YAML"
    case "|", ">": return "`\(sign)` begins a block of lines in YAML"
    case "%", "@", "`", ",": return "no value begins with \(quoted(offset))"
    default: return nil
    }
  }

  private var missingKey: Diagnostic { fault("a key is missing before this `:`", 1) }

  private var unopened: Diagnostic {
    let sign = Character(Unicode.Scalar(source.bytes[error.offset]))
    let removal = Diagnostic.Edit(error.offset..<error.offset + 1, "")
    return fault(
      MessageText("this `\(sign)` closes nothing; remove it", [.edits("remove `\(sign)`", [removal])]), 1)
  }

  /// A quote inside a text in the same quotes, which ends it.
  private var innerQuote: Diagnostic? {
    let bytes = source.bytes
    guard
      let end = bytes[..<error.offset].lastIndex(where: { $0 == ASCII.apostrophe || $0 == ASCII.quote }),
      end > value.range.lowerBound, !value.range.isEmpty, error.offset < bytes.count
    else { return nil }
    let quote = bytes[end]
    let next = bytes[error.offset]
    let isAmidWord = end + 1 == error.offset && (next == quote || next >= 0x80 || isWord(next))
    let isAmidExpression =
      bytes[value.range.lowerBound] == quote && isExpression(value.range.lowerBound + 1)
      && bytes[value.range.upperBound - 1] == quote
    guard isAmidWord || isAmidExpression else { return nil }
    let fix =
      quote == ASCII.apostrophe
      ? "inside single quotes write `''` for one, or put the whole value in double quotes"
      : "inside double quotes write `\\\"` for one, or put the whole value in single quotes"
    return fault(MessageText("this quote ends the text; \(fix)", requoted(from: quote)), end..<end + 1)
  }

  /// A line that doesn't belong to the lines above it.
  private var misplacedLine: Diagnostic {
    let bytes = source.bytes
    guard error.offset < bytes.count else { return directive(at: bytes.count - 1) }
    if "]}".utf8.contains(bytes[error.offset]) { return unopened }
    if let above = lineAbove, bytes[above].elementsEqual("...".utf8) {
      return fault("`...` above ended the document; remove it", rest)
    }
    if bytes[error.offset] == ASCII.colon { return missingKey }
    let isItem = bytes[error.offset...].starts(with: "- ".utf8)
    let isAmongItems = error.context == "while parsing a block collection"
    if column(error.offset) == column(error.contextOffset), isItem != isAmongItems, !error.context.isEmpty {
      return isItem
        ? fault("a list item isn't allowed among keys; indent it below the key it belongs to", 1)
        : fault("a key isn't allowed among list items; put `- ` before it, or indent it below the item above", rest)
    }
    return fault(
      "this line is indented by \(column(error.offset)), which fits no line above; indent it like the line it belongs beside",
      rest)
  }

  private func unfinishedBrackets(_ opener: Unicode.Scalar, _ closer: Unicode.Scalar) -> Diagnostic {
    let bytes = source.bytes
    let isAtEnd = bytes[error.offset...].allSatisfy(isBlankOrBreak)
    let isNextKey = source.lineStart(before: error.offset) > error.contextOffset && value.hasKey
    if isAtEnd || isNextKey {
      let place = error.contextOffset..<min(error.contextOffset + 1, bytes.count)
      var end = isNextKey ? lineAbove?.upperBound ?? error.offset : error.offset
      while end > place.upperBound, isBlankOrBreak(bytes[end - 1]) || bytes[firstOnLine(end - 1)] == ASCII.hash {
        end = isBlankOrBreak(bytes[end - 1]) ? end - 1 : source.lineStart(before: end - 1)
      }
      let addition = Diagnostic.Edit(end..<end, String(closer))
      return fault(
        MessageText(
          "this `\(opener)` is never closed; add `\(closer)`", [.edits("add `\(closer)`", [addition])]), place)
    }
    if bytes[error.offset] == ASCII.openBrace, error.offset > 0, bytes[error.offset - 1] == ASCII.dollar {
      let start = error.offset - 1
      let advice = entryAdvice
      return fault(
        "an expression needs quotes inside \(opener) \(closer); \(advice)", start..<min(start + 3, bytes.count))
    }
    if bytes[error.offset] == ASCII.colon {
      return fault("`: ` isn't allowed in a value without quotes; \(entryAdvice)", 1)
    }
    if let innerQuote { return innerQuote }
    if let first = bytes[entryStart...].first, "'\"[{".utf8.contains(first) {
      return fault(
        "`,` or `\(closer)` is missing before this; if it belongs to the value before it, \(entryAdvice)",
        1)
    }
    return fault(
      "`,` or `\(closer)` is missing before this; if it belongs to the value before it, \(quoting.generalAdvice)", 1)
  }

  private var missingValue: Diagnostic {
    guard error.offset < source.bytes.count else { return fault("a value is missing here", 0) }
    switch source.bytes[error.offset] {
    case ASCII.comma where error.context.contains("flow"): return fault("a value is missing before this `,`", 1)
    case ASCII.comma: return leftover
    case ASCII.closeBracket, ASCII.closeBrace: return unopened
    default: return fault("a value is missing here", 0)
    }
  }
}

// MARK: Looking around

extension SyntaxFault {
  private func fault(_ message: MessageText, _ range: Range<Int>) -> Diagnostic {
    Diagnostic(message, at: Diagnostic.Location(source, range))
  }

  private func fault(_ message: MessageText, _ count: Int) -> Diagnostic {
    fault(message, error.offset..<min(error.offset + count, source.bytes.count))
  }

  private var valueAdvice: MessageText { quoting.advice(at: error.offset) }

  private func space(after offset: Int) -> Suggestion {
    .edits("add a space", [Diagnostic.Edit(offset + 1..<offset + 1, " ")])
  }

  /// To close a quote at the end of its line.
  private func closing(_ quote: Int) -> [Suggestion] {
    guard quote < source.bytes.count else { return [] }
    var end = source.lineEnd(after: quote)
    while end > quote + 1, isBlank(source.bytes[end - 1]) { end -= 1 }
    let sign = String(Unicode.Scalar(source.bytes[quote]))
    // A part after a blank or a bracket may be outside of the intended quotes.
    let rest = source.bytes[quote + 1..<max(quote + 1, end)]
    let isAmbiguous = rest.contains { ",]}#".utf8.contains($0) }
    return [
      Suggestion("add the closing quote", .edits([Diagnostic.Edit(end..<end, sign)]), isTentative: isAmbiguous)
    ]
  }

  /// Moves a value from quotes of one kind to the other, if it needs no escapes there.
  private func requoted(from quote: UInt8) -> [Suggestion] {
    let bytes = source.bytes
    let (first, last) = (value.range.lowerBound, value.range.upperBound - 1)
    let other = quote == ASCII.quote ? ASCII.apostrophe : ASCII.quote
    guard first < last, bytes[first] == quote, bytes[last] == quote,
      !bytes[first + 1..<last].contains(where: { $0 == other || $0 == ASCII.backslash })
    else { return [] }
    let sign = String(Unicode.Scalar(other))
    return [
      .edits(
        "put the whole value in \(other == ASCII.quote ? "double" : "single") quotes",
        [Diagnostic.Edit(first..<first + 1, sign), Diagnostic.Edit(last..<last + 1, sign)])
    ]
  }

  /// To indent this line and those after it, as far as they are indented by tabs, with spaces: as many for each tab as
  /// put the first beside the line above, or below it if that ends with a colon.
  private var untabbed: Suggestion {
    let bytes = source.bytes
    var wanted = 2
    var isBelow = lineAbove == nil
    if let above = lineAbove {
      var end = bytes[above].lastIndex { !isBlank($0) } ?? above.lowerBound
      if let comment = source.comment(in: above) { end = bytes[..<comment].lastIndex { !isBlank($0) } ?? end }
      wanted = column(above.lowerBound) + (bytes[above].starts(with: "- ".utf8) ? 2 : 0)
      if bytes[end] == ASCII.colon { (wanted, isBelow) = (wanted + 2, true) }
    }
    let start = source.lineStart(before: error.offset)
    let indentation = bytes[start...].prefix(while: isBlank)
    let tabs = indentation.count { $0 == ASCII.tab }
    let spaces = indentation.count { $0 == ASCII.space }
    wanted -= spaces
    let perTab = tabs > 0 && wanted > 0 && wanted.isMultiple(of: tabs) ? wanted / tabs : 2
    var edits: [Diagnostic.Edit] = []
    var line = source.lineStart(before: error.offset)
    // A line one tab to the right of a dash may belong to the key after the dash, or be its neighbour.
    var dash: Int?
    var isBelowItem = false
    // Tabs within a text of several lines may be meant.
    var isText = false
    while line < bytes.count {
      let text = bytes[line...].firstIndex { !isBlank($0) } ?? bytes.count
      guard let tab = bytes[line..<text].firstIndex(of: ASCII.tab) else { break }
      let width = bytes[tab..<text].reduce(0) { $0 + ($1 == ASCII.tab ? perTab : 1) }
      isBelowItem = isBelowItem || dash.map { tab - line + width <= $0 + 2 && tab - line + width > $0 } ?? false
      if bytes[text...].starts(with: "- ".utf8) { dash = tab - line + width }
      edits.append(Diagnostic.Edit(tab..<text, String(repeating: " ", count: width)))
      guard let end = bytes[text...].firstIndex(of: ASCII.newline) else { break }
      if let last = bytes[text..<end].last(where: { !isBlankOrBreak($0) }), "|>+-".utf8.contains(last) { isText = true }
      line = end + 1
    }
    // Any depth below a line that ends with a colon means the same; else a tab of another width may mean another map.
    let landings = Set([2, 4, 8].map { spaces + tabs * $0 }).intersection(openColumns)
    let isSure = !isBelowItem && !isText && (isBelow || landings == [spaces + tabs * perTab])
    return Suggestion("indent with spaces", .edits(edits), isTentative: !isSure)
  }

  /// The columns where a key may follow the lines above.
  private var openColumns: Set<Int> {
    let bytes = source.bytes
    var columns: Set<Int> = []
    var least = Int.max
    var end = source.lineStart(before: error.offset)
    while end > 0, least > 0 {
      let start = source.lineStart(before: end - 1)
      var first = firstOnLine(start)
      if first < end, !isBlankOrBreak(bytes[first]), bytes[first] != ASCII.hash, first - start < least {
        least = first - start
        let isItem = bytes[first...].starts(with: "- ".utf8)
        if isItem { first += 2 }
        columns.insert(first - start)
      }
      end = start
    }
    return columns
  }

  /// The byte at an offset, as messages show it.
  private func quoted(_ offset: Int) -> String {
    guard offset < source.bytes.count else { return "this" }
    return source.bytes[offset] == ASCII.backtick ? "a backtick" : "`\(Unicode.Scalar(source.bytes[offset]))`"
  }

  private func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.lowercase, ASCII.uppercase,
      ASCII.digits, ASCII.underscore:
      true
    default: false
    }
  }

  private var isTab: Bool { error.offset < source.bytes.count && source.bytes[error.offset] == ASCII.tab }

  private var isFirstOnLine: Bool { firstOnLine(error.offset) >= error.offset }

  /// From where libyaml stopped to the end of the line.
  private var rest: Range<Int> { error.offset..<max(error.offset, value.range.upperBound) }

  private func firstOnLine(_ offset: Int) -> Int {
    let start = source.lineStart(before: offset)
    return source.bytes[start...].firstIndex { $0 != ASCII.space } ?? source.bytes.count
  }

  private func column(_ offset: Int) -> Int { offset - source.lineStart(before: offset) }

  /// The nearest line above that holds something, without its indentation.
  private var lineAbove: Range<Int>? {
    var end = source.lineStart(before: error.offset)
    while end > 0, isBlankOrBreak(source.bytes[end - 1]) { end -= 1 }
    let start = firstOnLine(end)
    return start < end ? start..<end : nil
  }

  private func isExpression(_ offset: Int) -> Bool { source.bytes[offset...].starts(with: "${{".utf8) }

  private func holdsOpenExpression(before offset: Int) -> Bool {
    var index = offset - 1
    while index > 1 {
      if source.bytes[index] == ASCII.closeBrace, source.bytes[index - 1] == ASCII.closeBrace { return false }
      if source.bytes[index] == ASCII.openBrace, isExpression(index - 2) { return true }
      index -= 1
    }
    return false
  }

  /// The advice for the entry inside brackets where libyaml stopped.
  private var entryAdvice: MessageText {
    // A comma or colon in quotes begins no entry.
    let quotes = source.bytes[entryStart..<error.offset].count { $0 == ASCII.apostrophe || $0 == ASCII.quote }
    return quotes.isMultiple(of: 2) ? quoting.advice(inFlowAt: entryStart) : quoting.generalAdvice
  }

  /// The beginning of the entry inside brackets where libyaml stopped.
  private var entryStart: Int {
    let bytes = source.bytes
    var start = error.offset
    while start > 1, !isBreak(bytes[start - 1]) {
      let before = bytes[start - 1]
      if before == ASCII.comma || before == ASCII.openBrace || before == ASCII.openBracket { break }
      if isBlank(before), bytes[start - 2] == ASCII.colon { break }
      start -= 1
    }
    return bytes[start..<error.offset].firstIndex { !isBlank($0) } ?? error.offset
  }
}
