import Basics
import RunState

/// Why a step, and with it the steps around it, did not come to a normal end.
enum StepExit: Error {
  /// The step failed; `onError`, `retry` and `onFailure` look at this one.
  case failed(RunError)
  /// A person, a time limit around it, or the failure of a branch beside it asked for the end.
  case cancelled
  /// The program ends, or the run stops as uncertain; the run stays open, and the step goes on when it is resumed.
  case stopped
  /// A plain write may have been done; a person has to say.
  case uncertain(RunError)
  /// The state cannot be kept, so nothing more may be done.
  case stateFailed(StateError)
}

extension StepExit {
  /// The error that handlers may catch: never what is uncertain, internal or a cancellation.
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
    case .failed, .cancelled: false
    case .stopped, .uncertain, .stateFailed: true
    }
  }

  /// How the branches beside this one end: for good, or until the run is resumed.
  var endingBeside: CancelScope.Ending { leavesRunOpen ? .stopped : .cancelled }

  /// The exit that counts among those of what ran side by side, in the order in which they came: what the state needs,
  /// then what a person must decide, then what goes on later, then the first failure; a cancellation that a failure
  /// brought about comes last.
  static func worst(of exits: [StepExit]) -> StepExit? { exits.max { $0.weight < $1.weight } }

  private var weight: Int {
    switch self {
    case .stateFailed: 4
    case .uncertain: 3
    case .stopped: 2
    case .failed: 1
    case .cancelled: 0
    }
  }
}
