/// What a run is doing, or how it ended.
package enum RunStatus: String, Recordable, CaseIterable {
  case queued, running, waiting, paused, uncertain
  case succeeded, failed, timedOut, cancelled, rejected, skipped

  /// Whether the run is over, so that it belongs to the history.
  package var isEnded: Bool {
    switch self {
    case .queued, .running, .waiting, .paused, .uncertain: false
    case .succeeded, .failed, .timedOut, .cancelled, .rejected, .skipped: true
    }
  }
}

/// What a step is doing, or how it ended.
package enum StepStatus: String, Recordable, CaseIterable {
  case pending, queued, running, retrying, waiting
  case succeeded, failed, timedOut, cancelled, skipped, uncertain

  /// Whether the step is over; an uncertain one is not, because a person still has to resolve it.
  package var isEnded: Bool {
    switch self {
    case .pending, .queued, .running, .retrying, .waiting, .uncertain: false
    case .succeeded, .failed, .timedOut, .cancelled, .skipped: true
    }
  }
}
