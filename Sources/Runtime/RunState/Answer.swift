import Basics
import Glibc
import Synchronization

/// The answer to a request to the journal's thread.
///
/// Waking a sleeping thread takes about as long as a step's own work. So the caller polls for the answer for a small
/// part of a millisecond, and is suspended only if it does not come.
final class Answer: Sendable {
  typealias Outcome = Result<Void, StateError>

  private enum State {
    case none
    case awaited(CheckedContinuation<Outcome, Never>)
    case given(Outcome)
  }

  private let state = Mutex(State.none)
  /// Whether the answer was given, readable without the lock.
  private let isGiven = Atomic(false)

  /// Gives the answer, once.
  func give(_ outcome: Outcome) {
    let asker: CheckedContinuation<Outcome, Never>? = state.withLock { state in
      defer { state = .given(outcome) }
      return if case .awaited(let asker) = state { asker } else { nil }
    }
    isGiven.store(true, ordering: .releasing)
    asker?.resume(returning: outcome)
  }

  /// The answer: polled for during the patience, then awaited.
  func outcome(patience: Duration) async -> Outcome {
    if isGiven(within: patience), case .given(let outcome) = state.withLock({ $0 }) { return outcome }
    return await withCheckedContinuation { asker in
      let outcome: Outcome? = state.withLock { state in
        if case .given(let outcome) = state { return outcome }
        state = .awaited(asker)
        return nil
      }
      if let outcome { asker.resume(returning: outcome) }
    }
  }

  private func isGiven(within patience: Duration) -> Bool {
    if patience > .zero {
      let end = ContinuousClock.now + patience
      // Lets other threads have the processor.
      while !isGiven.load(ordering: .acquiring), ContinuousClock.now < end { sched_yield() }
    }
    return isGiven.load(ordering: .acquiring)
  }
}
