import Basics
import Recipes
import RunState

/// One run's records: what is known of its steps, and the only way to what the store keeps.
///
/// What must be on disk before something happens is committed; what may wait (the end of a step, a skipped step) is
/// held back until the next commit, so that the end of one step and the start of the next share one sync. A finished
/// step whose end was held back when the program died is judged like one in flight, so no action begins before the
/// ends before it are committed.
actor RunJournal {
  let id: String
  private let store: any StateStore
  private let time: any TimeSource
  private var record: RunRecord
  private var held: [StateEvent] = []

  init(_ record: RunRecord, store: any StateStore, time: any TimeSource) {
    id = record.id
    self.record = record
    self.store = store
    self.time = time
  }

  // MARK: Looking

  var current: RunRecord { record }

  func step(_ path: StepPath) -> StepRecord? { record.steps[path] }

  /// Now, but never earlier than a step of this run was told before.
  func now() -> Timestamp {
    let now = max(time.now(), record.now)
    record.now = now
    return now
  }

  /// The value that was stored, read back from its blob if it lies in one; null for none.
  func value(_ stored: StoredValue?) async throws(StepExit) -> Value {
    guard let stored else { return .null }
    do throws(StateError) { return try await store.value(stored) } catch { throw .stateFailed(error) }
  }

  // MARK: Keeping

  /// Notes events that need not be on disk yet; they get there together.
  func hold(_ events: [StateEvent]) {
    for event in events { apply(event) }
    held += events
  }

  /// Keeps events, with all that were held back; they are on disk when this returns.
  func commit(_ events: [StateEvent] = []) async throws(StepExit) {
    for event in events { apply(event) }
    let batch = held + events
    held = []
    guard !batch.isEmpty else { return }
    do throws(StateError) {
      try await store.append(batch)
    } catch {
      throw .stateFailed(error)
    }
  }

  /// What an event holds for a value: itself, or where its blob lies if it is large.
  func stored(_ value: Value) async throws(StepExit) -> StoredValue {
    do throws(StateError) { return try await store.keep(value) } catch { throw .stateFailed(error) }
  }

  private func apply(_ event: StateEvent) {
    // The store folds the same events and refuses what does not fit.
    try? record.apply(event)
  }
}
