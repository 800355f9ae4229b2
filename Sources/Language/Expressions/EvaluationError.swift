import Basics

/// Why an expression has no value: the problem with its data, and the part of the text where it occurred.
///
/// It is an immutable object rather than a structure, so that throwing it passes a single pointer in a register and
/// evaluation without errors costs nothing extra.
package final class EvaluationError: Error {
  /// The problem, with the value: "index 3 is outside the list of 2 items".
  package let message: String
  /// The part of the text, as UTF-8 offsets.
  ///
  /// A function leaves it nil, and its call sets it.
  package let range: Range<Int>?
  /// The unknown value that the evaluation met; only in plans.
  package let unknown: Unknown?

  /// The current item of the innermost loop when the error occurred.
  package let item: String?

  /// Whether the evaluation exceeded a limit; no operator absorbs such an error.
  package let isLimit: Bool

  package convenience init(_ message: String, at range: Range<Int>? = nil) {
    self.init(message, range, isLimit: false)
  }

  private init(
    _ message: String, _ range: Range<Int>?, isLimit: Bool, unknown: Unknown? = nil, item: String? = nil
  ) {
    self.message = message
    self.range = range
    self.isLimit = isLimit
    self.unknown = unknown
    self.item = item
  }

  static func limit(_ message: String) -> EvaluationError { EvaluationError(message, nil, isLimit: true) }

  static func unknown(_ unknown: Unknown, at range: Range<Int>) -> EvaluationError {
    EvaluationError("the value is \(unknown.reason)", range, isLimit: false, unknown: unknown)
  }

  /// The same error, placed at the range if it has no place yet.
  func placed(at range: Range<Int>) -> EvaluationError {
    self.range == nil ? EvaluationError(message, range, isLimit: isLimit, unknown: unknown, item: item) : self
  }

  /// The same error with the current item of a loop, unless it already names the item of an inner loop.
  func met(at name: String, _ item: Value) -> EvaluationError {
    if unknown != nil || isLimit || self.item != nil { return self }
    return EvaluationError(message, range, isLimit: false, item: "\(name) is \(item.shortened())")
  }

  /// The error to report for two: an unknown, because its value may yet decide the result; otherwise the first.
  static func standing(for first: EvaluationError?, and second: EvaluationError) -> EvaluationError {
    guard let first, first.unknown != nil || second.unknown == nil else { return second }
    return first
  }
}
