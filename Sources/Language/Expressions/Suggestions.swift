import Basics

// What messages suggest to write instead. A suggestion is made only if it checks: the expression is read once more with it
// in the place of what is at fault, and nothing may be wrong with it there. What else is wrong with the expression, around
// it, is told by itself.

extension Checker {
  /// What stands for the `…` of a suggestion while it is tried, of which any value may be made.
  static let hole = "hole__"

  /// Suggestions are tried for the first faults of an expression that isn't long: each reads the whole of it.
  private static let mostFaults = 20
  private static let longest = 8192

  /// A clause that suggests to write something for a part; empty if that would be at fault as well.
  ///
  /// - Parameter whole: What must check with the suggestion in it, if that is more than the part.
  func suggestion(_ code: String, for part: Range<Int>, _ lead: String = "; write", in whole: Range<Int>? = nil)
    -> String
  {
    isFix(code, for: part, in: whole ?? part) ? "\(lead) `\(code)`" : ""
  }

  func suggestion(_ code: String, for part: Syntax, _ lead: String = "; write", in whole: Syntax? = nil) -> String {
    suggestion(code, for: part.range, lead, in: whole?.range)
  }

  /// The faults of the parser, with the fixes that check.
  func suggesting(_ faults: [ExpressionFault]) -> [ExpressionFault] {
    faults.prefix(Checker.mostFaults).map { fault in
      var fault = fault
      if let fix = fault.fix { fault.message += suggestion(fix.code, for: fix.range) }
      fault.fix = nil
      return fault
    } + faults.dropFirst(Checker.mostFaults)
  }

  private func isFix(_ code: String, for part: Range<Int>, in whole: Range<Int>) -> Bool {
    guard isSound, !isTrial, faults.count < Checker.mostFaults, range.count <= Checker.longest else { return false }
    let code = code.split(separator: "…", omittingEmptySubsequences: false).joined(separator: Checker.hole)
    let fixed = Array(text[range.lowerBound..<part.lowerBound] + code.utf8 + text[part.upperBound..<range.upperBound])
    let (syntax, unreadable) = Parser.parse(fixed, range: 0..<fixed.count)
    guard let syntax else { return false }
    var trial = Checker(fixed, 0..<fixed.count, scope)
    trial.isTrial = true
    _ = trial.check(syntax)
    let start = whole.lowerBound - range.lowerBound
    let end = whole.upperBound - range.lowerBound + code.utf8.count - part.count
    return !(unreadable + trial.faults).contains { $0.range.lowerBound >= start && $0.range.upperBound <= end }
  }
}

extension Checker {
  /// The text of a part as something that a method can follow.
  func receiver(_ syntax: Syntax) -> String { syntax.isOperation ? "(\(source(syntax)))" : source(syntax) }
}

extension String {
  /// The expression as something that a method can follow: in parentheses if it is an operation.
  package var asReceiver: String {
    let bytes = Array(utf8)
    return Parser.parse(bytes, range: 0..<bytes.count).0?.isOperation == true ? "(\(self))" : self
  }
}

extension Syntax {
  /// Whether what follows the text would belong to the last operand alone.
  fileprivate var isOperation: Bool {
    switch kind {
    case .not, .negate, .binary, .and, .or, .conditional: true
    default: false
    }
  }
}
