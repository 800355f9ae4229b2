/// The status of a run: what it is doing, or how it ended.
package enum RunStatus: String, Recordable, CaseIterable {
  case queued, running, waiting, paused, uncertain
  case succeeded, failed, timedOut, cancelled, rejected, skipped

  /// Whether the run has ended, so that it belongs to the history.
  package var isEnded: Bool {
    switch self {
    case .queued, .running, .waiting, .paused, .uncertain: false
    case .succeeded, .failed, .timedOut, .cancelled, .rejected, .skipped: true
    }
  }
}

/// The status of a step: what it is doing, or how it ended.
package enum StepStatus: String, Recordable, CaseIterable {
  case pending, queued, running, retrying, waiting
  case succeeded, failed, timedOut, cancelled, skipped, uncertain

  /// Whether the step has ended; an uncertain one has not, because a person still has to resolve it.
  package var isEnded: Bool {
    switch self {
    case .pending, .queued, .running, .retrying, .waiting, .uncertain: false
    case .succeeded, .failed, .timedOut, .cancelled, .skipped: true
    }
  }
}
