import Basics
import RunState

/// Why a step, and with it the steps around it, didn't end normally.
enum StepInterruption: Error {
  /// The step failed; only `onError`, `retry` and `onFailure` handle this one.
  case failed(RunError)
  /// A person, a time limit around it, or the failure of a branch beside it cancelled the step.
  case cancelled
  /// A person rejected an approval; the run ends as rejected, and nothing catches it.
  case rejected(RunError)
  /// The step waits, and so does everything that ran beside it; it continues when the run is resumed.
  case waiting
  /// The program ends, or the run stops as uncertain; the run stays open, and the step continues when it is resumed.
  case stopped
  /// A value of the run can't be restored; the run goes to another program that can, or is paused until a person fixes
  /// that.
  case halted(StateError)
  /// A plain write may have been done; a person has to resolve it.
  case uncertain(RunError)
  /// The state can't be written, so nothing more may be done.
  case stateFailed(StateError)
}

extension StepInterruption {
  /// The error that handlers may catch: never an uncertain outcome, an internal error or a cancellation.
  var catchable: RunError? {
    if case .failed(let error) = self, error.kind != .internal, error.kind != .uncertain, error.kind != .cancelled {
      error
    } else {
      nil
    }
  }

  /// Whether the run stays open, so that neither handlers nor the steps around may take it for over.
  var leavesRunOpen: Bool {
    switch self {
    case .failed, .cancelled, .rejected: false
    case .waiting, .stopped, .halted, .uncertain, .stateFailed: true
    }
  }

  /// How the branches beside this one end: for good, or until the run is resumed; when one waits, all wait already.
  var endingBeside: CancelScope.Ending {
    if case .waiting = self { .none } else { leavesRunOpen ? .stopped : .cancelled }
  }

  /// The status of a step that ends with this interruption; nil if it stays open.
  var ended: (status: StepStatus, error: RunError?)? {
    switch self {
    case .failed(let error): (.ended(by: error), error)
    case .cancelled, .rejected: (.cancelled, nil)
    case .waiting, .stopped, .halted, .uncertain, .stateFailed: nil
    }
  }

  /// The interruption that counts if parallel branches, in the order they ended, have several.
  ///
  /// First comes a failure of the state, then an uncertain write, which a person must resolve, then an interruption
  /// that lets the run resume later, then a rejection, then the failure of a write that was done, so that a `retry`
  /// around the branches doesn't repeat it, then the first failure; a cancellation that a failure caused comes last.
  static func mostSevere(of exits: [StepInterruption]) -> StepInterruption? { exits.max { $0.weight < $1.weight } }

  private var weight: Int {
    switch self {
    case .stateFailed: 8
    case .uncertain: 7
    case .halted: 6
    case .stopped: 5
    case .waiting: 4
    case .rejected: 3
    case .failed(let error): error.isFinal ? 2 : 1
    case .cancelled: 0
    }
  }
}
