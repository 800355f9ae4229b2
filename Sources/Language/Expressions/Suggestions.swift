import Basics

// The corrections that messages suggest. A suggestion is only made if it checks: the expression is parsed and checked
// again with the suggestion in place of the faulty part, and the suggestion must have no fault there. Other faults
// around it are reported separately.

extension Checker {
  /// Replaces the `…` of a suggestion while it is tried; a value of any type.
  static let hole = "hole__"

  /// Suggestions are tried only for the first faults and in short expressions, because each one parses the whole
  /// expression again.
  private static let mostFaults = 20
  private static let longest = 8192

  /// Values that replace the `…` of a suggestion: one empty value of each type.
  private static let emptyValues = ["''", "0", "0.0", "false", "[]", "{}"]

  /// A clause that suggests code for a part; empty if the suggestion would be faulty too.
  ///
  /// - Parameters:
  ///   - whole: The range that must check with the suggestion in it, if it is more than the part.
  ///   - isCertain: Whether the text can't mean anything else, in any language and for any value.
  func suggestion(
    _ code: String, for part: Range<Int>, _ lead: String = "; write", in whole: Range<Int>? = nil,
    isCertain: Bool = false
  ) -> MessageText {
    let whole = whole ?? part
    // Correct code may still need parentheses at that place.
    guard let code = [code, "(\(code))"].first(where: { isFix($0, for: part, in: whole) }) else { return "" }
    let suggestion = written(code, for: part, in: whole)
    return MessageText("\(lead) `\(code)`", suggestion.map { [$0] } ?? [])
      .tentative(if: !isCertain || holdsLayout(part) || hasDivision)
  }

  func suggestion(
    _ code: String, for part: Syntax, _ lead: String = "; write", in whole: Syntax? = nil, isCertain: Bool = false
  ) -> MessageText {
    suggestion(code, for: part.range, lead, in: whole?.range, isCertain: isCertain)
  }

  /// Whether the expression divides: in other languages that results in decimals, here in an int.
  private var hasDivision: Bool { text[range].contains(ASCII.slash) }

  /// Whether a part contains a comment or a line break, which a replacement would lose.
  private func holdsLayout(_ part: Range<Int>) -> Bool {
    zip(text[part], text[part].dropFirst()).contains { $0 == ASCII.slash && $1 == ASCII.slash }
      || text[part].contains(ASCII.newline)
  }

  /// A question whether other code was meant for a part; suggests the code if it checks there.
  ///
  /// - Parameters:
  ///   - word: The word in the text, if the code is only the nearest name and another may be meant.
  ///   - names: The names that were searched for the nearest.
  ///   - whole: The range that must check with the code in it, if it is more than the part.
  func guess(
    _ code: String, by word: String?, among names: [String] = [], shownAs displayed: String? = nil,
    for part: Range<Int>,
    in whole: Range<Int>? = nil
  ) -> MessageText {
    let isRight = isFix(code, for: part, in: whole ?? part)
    // Languages round halves in different ways.
    let isTentative = word?.isSurelyMeant(as: code, among: names) == false || code == "round" || hasDivision
    return MessageText(
      "; did you mean `\(displayed ?? code)`?",
      isRight ? [Suggestion("write `\(code)`", .code(code, part), isTentative: isTentative)] : [])
  }

  /// A message that ends with a correction; suggests the correction if it checks in place of a part.
  func suggestion(named message: String, for part: Range<Int>) -> MessageText {
    let pieces = message.split(separator: "`", omittingEmptySubsequences: false)
    guard pieces.count > 2, let end = pieces.last, end.isEmpty else { return MessageText(message) }
    let code = String(pieces[pieces.count - 2])
    let isMeant = message.hasSuffix("write `\(code)`") || message.hasSuffix("they are `\(code)`")
    return MessageText(message, isMeant && isFix(code, for: part, in: part) ? [.code(code, for: part)] : [])
  }

  /// A question whether another text was meant in place of a text literal.
  func guess(of text: String, by word: String, among names: [String], for part: Range<Int>) -> MessageText {
    let quote = self.text[part].first == ASCII.quote ? "\"" : "'"
    let isPlain = !text.utf8.contains { $0 == ASCII.apostrophe || $0 == ASCII.quote || $0 == ASCII.backslash }
    return MessageText(
      "; did you mean '\(text)'?",
      isPlain
        ? [
          Suggestion(
            "write '\(text)'", .code("\(quote)\(text)\(quote)", part),
            isTentative: !word.isSurelyMeant(as: text, among: names))
        ] : [])
  }

  /// The suggestion of code that checks; nil if only the author can complete it.
  private func written(_ code: String, for part: Range<Int>, in whole: Range<Int>) -> Suggestion? {
    // Long parts are shortened in messages, so the message can't be pasted.
    guard code.contains("…") else { return .code(code, for: part) }
    guard code.hasSuffix(".orValue(…)") else { return nil }
    for value in Checker.emptyValues {
      let complete = "\(code.dropLast(2))\(value))"
      if !complete.contains("…"), isFix(complete, for: part, in: whole) {
        return Suggestion(
          "write `\(complete)`, with \(value) where it is absent", .code(complete, part), isTentative: true)
      }
    }
    return nil
  }

  /// The parser's faults, with the fixes that check.
  func suggesting(_ faults: [ExpressionFault]) -> [ExpressionFault] {
    // If the sides aren't bools, another operator may be meant.
    let isDoubtful = self.faults.contains { $0.message.hasPrefix("each side of ") }
    return faults.prefix(Checker.mostFaults).map { fault in
      var fault = fault
      let suggestions = fault.suggestions.filter {
        guard case .code(let code, let part) = $0.content else { return true }
        return isFix(code, for: part, in: part)
      }
      let isLogic = suggestions.contains { $0.title == "write `&&`" || $0.title == "write `||`" }
      fault.text = MessageText(fault.message, suggestions).tentative(if: isDoubtful && isLogic || hasDivision)
      if let fix = fault.fix { fault.text += suggestion(fix.code, for: fix.range, isCertain: !fix.isTentative) }
      fault.fix = nil
      return fault
    }
      + faults.dropFirst(Checker.mostFaults).map { fault in
        var fault = fault
        fault.text = MessageText(fault.message)
        return fault
      }
  }

  private func isFix(_ code: String, for part: Range<Int>, in whole: Range<Int>) -> Bool {
    guard isSound, !isTrial, faults.count < Checker.mostFaults, range.count <= Checker.longest else { return false }
    let code = code.split(separator: "…", omittingEmptySubsequences: false).joined(separator: Checker.hole)
    let fixed = Array(text[range.lowerBound..<part.lowerBound] + code.utf8 + text[part.upperBound..<range.upperBound])
    let (syntax, unreadable) = Parser.parse(fixed, range: 0..<fixed.count)
    guard let syntax else { return false }
    var trial = Checker(fixed, 0..<fixed.count, scope)
    trial.isTrial = true
    let parts = Inspector()
    if code.isOperation { trial.inspector = parts }
    _ = trial.check(syntax)
    let place = part.lowerBound - range.lowerBound
    // An operation must stay one part between the operators around it.
    if code.isOperation, parts.types[place..<place + code.utf8.count] == nil { return false }
    let start = whole.lowerBound - range.lowerBound
    let end = whole.upperBound - range.lowerBound + code.utf8.count - part.count
    return !(unreadable + trial.faults).contains { $0.range.lowerBound >= start && $0.range.upperBound <= end }
  }
}

extension Checker {
  /// The code of a part, in parentheses if it is an operation.
  func enclosed(_ syntax: Syntax) -> String { isOperation(syntax) ? "(\(source(syntax)))" : source(syntax) }

  func isOperation(_ syntax: Syntax) -> Bool { syntax.isOperation(in: text) }
}

extension String {
  /// The expression as a receiver of a method: in parentheses if it is an operation.
  package var asReceiver: String { isOperation ? "(\(self))" : self }

  fileprivate var isOperation: Bool {
    let bytes = Array(utf8)
    return Parser.parse(bytes, range: 0..<bytes.count).syntax?.isOperation(in: bytes) ?? false
  }
}

extension Syntax {
  /// Whether an operator next to this part would bind to only one of its operands: it is an operation without
  /// parentheses.
  fileprivate func isOperation(in text: [UInt8]) -> Bool {
    let first: Syntax
    switch kind {
    case .not, .negate: return text[range.lowerBound] != UInt8(ascii: "(")
    case .binary(_, let left, _): first = left
    case .conditional(let condition, _, _): first = condition
    case .and(let operands), .or(let operands):
      guard let operand = operands.first else { return false }
      first = operand
    default: return false
    }
    // An operation in parentheses begins before its first operand.
    return first.range.lowerBound == range.lowerBound
  }
}
