import Basics

/// How much an evaluation may do before it ends with an error.
package struct EvaluationLimits: Sendable {
  /// Loop rounds, function calls, and the steps that functions charge for the size of their arguments.
  package var steps: Int
  /// Bytes of the intermediate texts, lists and maps, counted when they are made.
  package var bytes: Int

  package init(steps: Int = 1_000_000, bytes: Int = 64 << 20) {
    self.steps = steps
    self.bytes = bytes
  }
}

/// The state of a binding, whose value is computed when it is first read.
enum BindingState {
  case unread
  case known
  case failed(EvaluationError)
}

/// The state of one evaluation: the variables' values by slot, and the remaining limits.
///
/// A function charges its cost here: `charge(bytes:)` before it makes a value whose size depends on data,
/// `charge(steps:)` in proportion to the data that it processes.
package struct EvaluationContext {
  /// The declared variables, then the variables of loops and bindings.
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

  /// Subtracts steps from the remaining limit.
  @inline(__always)
  package mutating func charge(steps: Int = 1) throws(EvaluationError) {
    stepsLeft &-= steps
    if stepsLeft < 0 { throw tooManySteps() }
  }

  /// Subtracts bytes from the remaining limit.
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
      throw EvaluationError("\(written(.string(text))) isn't a pattern: \(error.message)")
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
