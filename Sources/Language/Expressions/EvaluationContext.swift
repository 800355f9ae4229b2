import Basics

/// How much an evaluation may do before it ends with an error.
package struct EvaluationLimits: Sendable {
  /// Rounds of loops, calls of functions, and what functions charge for the size of what they go through.
  package var steps: Int
  /// Bytes of the texts, lists and maps that are made on the way, counted when they are made.
  package var bytes: Int

  package init(steps: Int = 1_000_000, bytes: Int = 64 << 20) {
    self.steps = steps
    self.bytes = bytes
  }
}

/// What has become of a binding's value, which is computed when it is first read.
enum BindingState {
  case unread
  case known
  case failed(EvaluationError)
}

/// The state of one evaluation: the variables' values by slot, and what is left of the limits.
///
/// A function takes what it costs from it: `charge(bytes:)` before it makes something whose size the data decides,
/// `charge(steps:)` in proportion to what it goes through.
package struct EvaluationContext {
  /// Declared variables first, then those of loops and bindings.
  var slots: [Value]
  /// Which bindings have been computed, by slot.
  var states: [Int: BindingState] = [:]
  private var patterns: [String: Pattern] = [:]
  private(set) var stepsLeft: Int
  private var bytesLeft: Int
  private let limits: EvaluationLimits

  init(slots: [Value], limits: EvaluationLimits) {
    self.slots = slots
    self.limits = limits
    stepsLeft = limits.steps
    bytesLeft = limits.bytes
  }

  /// Takes steps from the limit.
  @inline(__always)
  package mutating func charge(steps: Int = 1) throws(EvaluationError) {
    stepsLeft &-= steps
    if stepsLeft < 0 { throw tooManySteps() }
  }

  /// Takes bytes from the limit.
  @inline(__always)
  package mutating func charge(bytes: Int) throws(EvaluationError) {
    guard bytes <= bytesLeft else { throw tooManyBytes() }
    bytesLeft &-= bytes
  }

  /// A compiled pattern, kept for the rest of the evaluation.
  package mutating func pattern(_ text: String) throws(EvaluationError) -> Pattern {
    if let known = patterns[text] { return known }
    try charge(bytes: 4096 + 64 * text.utf8.count)
    do throws(PatternError) {
      let pattern = try Pattern(text)
      patterns[text] = pattern
      return pattern
    } catch {
      throw EvaluationError("\(spelled(.string(text))) isn't a pattern: \(error.message)")
    }
  }

  @inline(never)
  private func tooManySteps() -> EvaluationError {
    .limit(
      "the expression takes more than \(limits.steps) steps; go through fewer items, or split it over several steps")
  }

  @inline(never)
  private func tooManyBytes() -> EvaluationError {
    .limit("the expression makes more than \(limits.bytes >> 20) MiB of texts, lists and maps on its way")
  }
}
