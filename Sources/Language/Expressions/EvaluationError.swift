import Basics

/// Why an expression has no value: what its data did not allow, and which part of the text met it.
///
/// An immutable object rather than a structure, so that throwing one is a single pointer in a register and the
/// evaluator pays nothing for what does not go wrong.
package final class EvaluationError: Error {
  /// What is wrong, naming the value: "index 3 is outside the list of 2 items".
  package let message: String
  /// The part of the text, as UTF-8 offsets; a function leaves it out, and its call puts it in.
  package let range: Range<Int>?
  /// What was met in the place of a value that is not known yet; only in plans.
  package let unknown: Unknown?

  /// Which item of a loop was looked at, the innermost one.
  package let item: String?

  /// Whether a limit ended the evaluation, which nothing absorbs.
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

  /// The same error, met at an item of a loop, unless one of a loop inside is named already.
  func met(at name: String, _ item: Value) -> EvaluationError {
    if unknown != nil || isLimit || self.item != nil { return self }
    return EvaluationError(message, range, isLimit: false, item: "\(name) is \(item.brief())")
  }

  /// The one of two errors that stands for both: an unknown, because it may turn out to settle the matter; else the
  /// first.
  static func standing(for first: EvaluationError?, and second: EvaluationError) -> EvaluationError {
    guard let first, first.unknown != nil || second.unknown == nil else { return second }
    return first
  }
}
