/// Why an expression has no value: what its data did not allow, and which part of the text met it.
///
/// An immutable object rather than a structure, so that throwing one is a single pointer in a register and the
/// evaluator pays nothing for what does not go wrong.
package final class EvaluationError: Error {
  /// What is wrong, naming the value: "index 3 is outside the list of 2 items".
  package let message: String
  /// The part of the text, as UTF-8 offsets; a function leaves it out, and its call puts it in.
  package let range: Range<Int>?

  package init(_ message: String, at range: Range<Int>? = nil) {
    self.message = message
    self.range = range
  }

  /// The same error, placed at the range if it has no place yet.
  func placed(at range: Range<Int>) -> EvaluationError {
    self.range == nil ? EvaluationError(message, at: range) : self
  }
}
