import Basics
import Recipes
import RunState

/// One run's records: what is known of its steps, and the only way to what the store keeps.
///
/// What must be on disk before something happens is committed; what may wait (the end of a step, a skipped step) is
/// held back until the next commit, so that the end of one step and the start of the next share one sync. No attempt
/// begins before the ends before it are committed, and whoever is about to wait for something else commits first, so
/// that an end is held back for no longer than it takes to reach the next step.
actor RunJournal {
  let id: String
  private let store: any StateStore
  private let time: any TimeSource
  private var record: RunRecord
  private var held: [StateEvent] = []
  /// The first failure.
  ///
  /// Nothing is kept after it, because what came later may build on what was lost.
  private var failure: StateError?

  init(_ record: RunRecord, store: any StateStore, time: any TimeSource) {
    id = record.id
    self.record = record
    self.store = store
    self.time = time
  }

  // MARK: Looking

  var current: RunRecord { record }

  func step(_ path: StepPath) -> StepRecord? { record.steps[path] }

  /// What is known of a step that is reached, and the instant that its expressions call `now`.
  func reached(_ path: StepPath) -> (known: StepRecord?, now: Timestamp) {
    if let known = record.steps[path] { return (known, known.now) }
    // Never earlier than a step of this run was told before.
    let now = max(time.now(), record.now)
    record.now = now
    return (nil, now)
  }

  /// Which steps have ended (true), have begun (false), or are new (nil).
  func progress(of paths: [StepPath]) -> [Bool?] { paths.map { record.steps[$0]?.status.isEnded } }

  /// The value that was stored, read back from its blob if it lies in one; null for none.
  func value(_ stored: StoredValue?) async throws(StepExit) -> Value {
    guard let stored else { return .null }
    if case .inline(let value) = stored { return value }
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
    hold(events)
    if let failure { throw .stateFailed(failure) }
    if held.isEmpty { return }
    var batch: [StateEvent] = []
    swap(&batch, &held)
    do throws(StateError) { try await store.append(batch) } catch {
      failure = failure ?? error
      throw .stateFailed(error)
    }
  }

  /// What an event holds for a value: itself, or where its blob lies if it is large.
  func stored(_ value: Value) async throws(StepExit) -> StoredValue {
    do throws(StateError) { return try await store.keep(value) } catch {
      // A value that cannot be kept is the step's fault, not the state's.
      if error.kind == .invalid { throw .failed(RunError(.validation, error.message, effect: .done)) }
      failure = failure ?? error
      throw .stateFailed(error)
    }
  }

  private func apply(_ event: StateEvent) {
    // The store folds the same events and refuses what does not fit.
    try? record.apply(event)
  }
}
