import Basics
import Recipes
import RunState
import Synchronization

/// One run's records: what is known of its steps, and the only way to what the store keeps.
///
/// What must be on disk before something happens is committed; what may wait (the end of a step, a skipped step) is
/// held back until the next commit, so that the end of one step and the start of the next share one sync. No attempt
/// begins before the ends before it are committed, and whoever is about to wait for something else commits first, so
/// that an end is held back for no longer than it takes to reach the next step.
///
/// Looking and noting take a lock and no actor, because every step does so several times, each for a moment.
final class RunJournal: Sendable {
  private struct Content {
    var record: RunRecord
    var held: [StateEvent] = []
    /// The first failure.
    ///
    /// Nothing is kept after it, because what came later may build on what was lost.
    var failure: StateError?

    mutating func hold(_ events: [StateEvent]) {
      for event in events {
        // The store folds the same events and refuses what does not fit.
        try? record.apply(event)
      }
      held += events
    }
  }

  let id: String
  private let store: any StateStore
  private let time: any TimeSource
  private let content: Mutex<Content>
  private let order = Order()

  init(_ record: RunRecord, store: any StateStore, time: any TimeSource) {
    id = record.id
    self.store = store
    self.time = time
    content = Mutex(Content(record: record))
  }

  // MARK: Looking

  var current: RunRecord { content.withLock { $0.record } }

  func step(_ path: StepPath) -> StepRecord? { content.withLock { $0.record.steps[path] } }

  func hasEnded(_ path: StepPath) -> Bool { step(path)?.status.isEnded ?? false }

  /// What is known of a step that is reached, and the instant that its expressions call `now`.
  func reached(_ path: StepPath) -> (known: StepRecord?, now: Timestamp) {
    let instant = time.now()
    return content.withLock { content in
      if let known = content.record.steps[path] { return (known, known.now) }
      // Never earlier than a step of this run was told before.
      content.record.now = max(instant, content.record.now)
      return (nil, content.record.now)
    }
  }

  /// Which steps have ended (true), have begun (false), or are new (nil).
  func progress(of paths: [StepPath]) -> [Bool?] {
    content.withLock { content in paths.map { content.record.steps[$0]?.status.isEnded } }
  }

  /// The value that was stored, read back from its blob if it lies in one; null for none.
  func value(_ stored: StoredValue?) async throws(StepExit) -> Value {
    guard let stored else { return .null }
    if case .inline(let value) = stored { return value }
    do throws(StateError) { return try await store.value(stored) } catch { throw .stateFailed(error) }
  }

  // MARK: Keeping

  /// Notes events that need not be on disk yet; they get there together.
  func hold(_ events: [StateEvent]) { content.withLock { $0.hold(events) } }

  /// Keeps events, with all that were held back; they are on disk when this returns.
  func commit(_ events: [StateEvent] = []) async throws(StepExit) { try await order.commit(events, of: self) }

  /// Sees to it that batches reach the store in the order in which they were taken: the actor is not left between the
  /// taking of a batch and the store's own first wait.
  private actor Order {
    func commit(_ events: [StateEvent], of journal: RunJournal) async throws(StepExit) {
      // At once, so that nobody else takes these events with theirs while this one goes on.
      let batch = try journal.content.withLock { content throws(StepExit) in
        content.hold(events)
        if let failure = content.failure { throw .stateFailed(failure) }
        var batch: [StateEvent] = []
        swap(&batch, &content.held)
        return batch
      }
      if batch.isEmpty { return }
      do throws(StateError) { try await journal.store.append(batch) } catch {
        journal.fail(error)
        throw .stateFailed(error)
      }
    }
  }

  /// What an event holds for a value: itself, or where its blob lies if it is large.
  func stored(_ value: Value) async throws(StepExit) -> StoredValue {
    do throws(StateError) { return try await store.keep(value) } catch {
      // A value that cannot be kept is the step's fault, not the state's.
      if error.kind == .invalid { throw .failed(RunError(.validation, error.message, effect: .done)) }
      fail(error)
      throw .stateFailed(error)
    }
  }

  private func fail(_ error: StateError) {
    content.withLock { $0.failure = $0.failure ?? error }
  }
}
