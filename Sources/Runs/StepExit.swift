import RunState

/// Why a step, and with it the steps around it, did not come to a normal end.
enum StepExit: Error {
  /// The step failed; `onError`, `retry` and `onFailure` look at this one.
  case failed(RunError)
  /// A person, or the failure of a branch beside it, asked for the end.
  case cancelled
  /// The program ends; the run stays open and goes on when it is resumed.
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
}
