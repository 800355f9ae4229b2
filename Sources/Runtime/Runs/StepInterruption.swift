import Basics
import RunState

/// Why a step, and with it the steps around it, did not come to a normal end.
enum StepInterruption: Error {
  /// The step failed; `onError`, `retry` and `onFailure` look at this one.
  case failed(RunError)
  /// A person, a time limit around it, or the failure of a branch beside it asked for the end.
  case cancelled
  /// A person said no where the recipe asks one; the run ends as rejected, and nothing catches it.
  case rejected(RunError)
  /// The step waits, and so does all that was going on beside it; it goes on when the run is carried on again.
  case waiting
  /// The program ends, or the run stops as uncertain; the run stays open, and the step goes on when it is resumed.
  case stopped
  /// A value of the run cannot be put together again; the run is paused until a person has seen to that.
  case halted(String)
  /// A plain write may have been done; a person has to say.
  case uncertain(RunError)
  /// The state cannot be kept, so nothing more may be done.
  case stateFailed(StateError)
}

extension StepInterruption {
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
    case .failed, .cancelled, .rejected: false
    case .waiting, .stopped, .halted, .uncertain, .stateFailed: true
    }
  }

  /// How the branches beside this one end: for good, or until the run is resumed; when one waits, all do already.
  var endingBeside: CancelScope.Ending {
    if case .waiting = self { .none } else { leavesRunOpen ? .stopped : .cancelled }
  }

  /// How a step ends around or at which this happened, if it is over with it.
  var ended: (status: StepStatus, error: RunError?)? {
    switch self {
    case .failed(let error): (.ended(by: error), error)
    case .cancelled, .rejected: (.cancelled, nil)
    case .waiting, .stopped, .halted, .uncertain, .stateFailed: nil
    }
  }

  /// The exit that counts among those of what ran side by side, in the order in which they came: what the state needs,
  /// then what a person must decide, then what goes on later, then a rejection, then the first failure; a cancellation
  /// that a failure brought about comes last.
  static func mostSevere(of exits: [StepInterruption]) -> StepInterruption? { exits.max { $0.weight < $1.weight } }

  private var weight: Int {
    switch self {
    case .stateFailed: 7
    case .uncertain: 6
    case .halted: 5
    case .stopped: 4
    case .waiting: 3
    case .rejected: 2
    case .failed: 1
    case .cancelled: 0
    }
  }
}
