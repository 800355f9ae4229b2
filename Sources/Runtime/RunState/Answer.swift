import Synchronization

/// The answer to a request to the journal's writer.
final class Answer: Sendable {
  typealias Outcome = Result<Void, StateError>

  private enum State {
    case none
    case awaited(CheckedContinuation<Outcome, Never>)
    case given(Outcome)
  }

  private let state = Mutex(State.none)

  /// Gives the answer, once.
  func give(_ outcome: Outcome) {
    let asker: CheckedContinuation<Outcome, Never>? = state.withLock { state in
      defer { state = .given(outcome) }
      return if case .awaited(let asker) = state { asker } else { nil }
    }
    asker?.resume(returning: outcome)
  }

  /// The answer, at once if it was given before.
  var outcome: Outcome {
    get async {
      if case .given(let outcome) = state.withLock({ $0 }) { return outcome }
      return await withCheckedContinuation { asker in
        let outcome: Outcome? = state.withLock { state in
          if case .given(let outcome) = state { return outcome }
          state = .awaited(asker)
          return nil
        }
        if let outcome { asker.resume(returning: outcome) }
      }
    }
  }
}
