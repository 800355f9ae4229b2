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
    /// Whether the run is being paused, so that it must not be said to go on or to wait.
    var isPausing = false
    /// Why the actions of steps were not given a value that is kept.
    var refusals: [StepPath: String] = [:]

    mutating func hold(_ events: [StateEvent]) {
      for event in events {
        // The store folds the same events and refuses what does not fit.
        try? record.apply(event)
      }
      held += events
    }
  }

  let id: String
  let store: any StateStore
  let time: any TimeSource
  private let content: Mutex<Content>
  private let order = Order()
  private let instants: (@Sendable (StepPath) -> Timestamp?)?
  private let notingInstants: (@Sendable (StepPath, Timestamp) -> Void)?
  /// Ends when the state takes nothing more, so that nothing more begins or is waited for.
  private let scope: CancelScope?

  /// - Parameters:
  ///   - instants: What `now` is of steps of a run that is played again.
  ///   - notingInstants: Told what `now` is of each step, of each round (`path/#round~2`), and of outputs.
  ///   - scope: What is ended when the state takes nothing more, so that nothing more begins or is waited for.
  init(
    _ record: RunRecord, store: any StateStore, time: any TimeSource,
    instants: (@Sendable (StepPath) -> Timestamp?)? = nil,
    notingInstants: (@Sendable (StepPath, Timestamp) -> Void)? = nil, ending scope: CancelScope? = nil
  ) {
    id = record.id
    self.instants = instants
    self.notingInstants = notingInstants
    self.scope = scope
    self.store = store
    self.time = time
    content = Mutex(Content(record: record))
  }

  // MARK: Looking

  var current: RunRecord { content.withLock { $0.record } }

  func step(_ path: StepPath) -> StepRecord? { content.withLock { $0.record.steps[path] } }

  func hasEnded(_ path: StepPath) -> Bool { content.withLock { $0.record.steps.status(of: path)?.isEnded ?? false } }

  /// What is known of a step that is reached, and the instant that its expressions call `now`.
  func reached(_ path: StepPath) -> (known: StepRecord?, now: Timestamp) {
    if let known = step(path) { return (known, known.now) }
    return (nil, instant(of: path))
  }

  /// What `now` is of something that is reached for the first time.
  func instant(of path: StepPath) -> Timestamp {
    let played = instants?(path)
    let now = played ?? instant()
    if played != nil { content.withLock { $0.record.now = now } }
    notingInstants?(path, now)
    return now
  }

  /// An instant for something that a step does anew, never earlier than one that the run was told before.
  func instant() -> Timestamp {
    let instant = time.now()
    return content.withLock { content in
      content.record.now = max(instant, content.record.now)
      return content.record.now
    }
  }

  /// How far an item of a loop has come.
  enum ItemProgress {
    case new, ended
    /// An attempt in it was in flight when the program ended, or it was between two steps.
    case underWay
    /// Something in it waits, and nothing else goes on.
    case waiting
  }

  /// How far the items of a loop have come.
  func progress(ofItemsOf path: StepPath, count: Int) -> [ItemProgress] {
    content.withLock { content in
      var progress = (0..<count).map { index -> ItemProgress in
        guard let status = content.record.steps.status(of: "\(path)[\(index)]") else { return .new }
        return status.isEnded ? .ended : .underWay
      }
      let beginning = Array("\(path)[".utf8)
      var waiting: Set<Int> = []
      var busy: Set<Int> = []
      for record in content.record.steps.inOrder where !record.status.isEnded {
        guard record.path.utf8.starts(with: beginning) else { continue }
        let digits = record.path.utf8.dropFirst(beginning.count).prefix { ASCII.digits.contains($0) }
        guard let index = Int(String(digits) ?? ""), index < count else { continue }
        if record.isInFlight || record.status == .uncertain { busy.insert(index) }
        if record.status == .waiting || record.status == .retrying { waiting.insert(index) }
      }
      for index in waiting.subtracting(busy) where progress[index] == .underWay { progress[index] = .waiting }
      return progress
    }
  }

  /// The value that was stored, read back from its blob if it lies in one; null for none.
  ///
  /// - Parameter what: The value within a sentence.
  func value(_ stored: StoredValue?, as what: @autoclosure () -> String) async throws(StepInterruption) -> Value {
    guard let stored else { return .null }
    do throws(StateError) { return try await store.restored(stored, as: what()) } catch {
      // For a person to put right; the run is whole.
      if error.kind == .secret { throw .halted(error.message) }
      fail(error)
      throw .stateFailed(error)
    }
  }

  /// The idempotency key that was kept.
  func key(_ kept: String, of step: StepPath) async throws(StepInterruption) -> String {
    do throws(StateError) { return try await store.secrets.restored(text: kept, as: "the key of '\(step)'") } catch {
      throw .halted(error.message)
    }
  }

  /// An idempotency key as it may be kept.
  func kept(_ key: String, of step: StepPath) throws(StepInterruption) -> String {
    do throws(StateError) { return try store.secrets.masked(text: key) } catch {
      throw .failed(RunError(.validation, error.message, step: step, effect: RunError.Effect.none))
    }
  }

  /// The action of a step was not given a value, because a secret in it is not what it was.
  func refuse(_ path: StepPath, because reason: String) { content.withLock { $0.refusals[path] = reason } }

  /// Why the action of a step was not given a value, told once.
  func takeRefusal(of path: StepPath) -> String? { content.withLock { $0.refusals.removeValue(forKey: path) } }

  // MARK: Keeping

  /// Notes events that need not be on disk yet; they get there together.
  func hold(_ events: [StateEvent]) { content.withLock { $0.hold(events) } }

  /// Keeps events, with all that were held back; they are on disk when this returns.
  func commit(_ events: [StateEvent] = []) async throws(StepInterruption) { try await order.commit(events, of: self) }

  /// Sees to it that batches reach the store in the order in which they were taken: the actor is not left between the
  /// taking of a batch and the store's own first wait.
  private actor Order {
    /// Returns when nobody is between the two.
    func settle() {}

    func commit(_ events: [StateEvent], of journal: RunJournal) async throws(StepInterruption) {
      // At once, so that nobody else takes these events with theirs while this one goes on.
      let batch = try journal.content.withLock { content throws(StepInterruption) in
        content.hold(events)
        if let failure = content.failure { throw .stateFailed(failure) }
        var batch: [StateEvent] = []
        swap(&batch, &content.held)
        if content.isPausing { batch.removeAll { $0.goesOn } }
        return batch
      }
      if batch.isEmpty { return }
      do throws(StateError) { try await journal.store.append(batch) } catch {
        journal.fail(error)
        throw .stateFailed(error)
      }
    }
  }

  /// From now on the run is not said to go on or to wait.
  func pause() { content.withLock { $0.isPausing = true } }

  /// Returns when what was taken to be kept has been handed to the store.
  func settle() async { await order.settle() }

  /// What others keep in the state for this run: an event that it may consume, a person's decision.
  func events(named name: String) -> [EventRecord] {
    let run = content.withLock { ($0.record.id, $0.record.createdAt) }
    return store.state.events.values
      .filter { event in
        event.consumedBy == nil && event.receivedAt >= run.1 && event.name.hasSameScalars(as: name)
          && event.run.map { $0.hasSameScalars(as: run.0) } ?? true
      }
      .sorted { left, right in
        left.receivedAt == right.receivedAt ? left.id.precedesByScalars(right.id) : left.receivedAt < right.receivedAt
      }
  }

  /// What a person decided about a step, which is on disk already.
  func decision(about path: StepPath) -> DecisionRecord? {
    guard let decision = store.run(id)?.steps[path]?.decision else { return nil }
    content.withLock { content in
      // The step is in the record, because it asked.
      try? content.record.apply(.decisionGiven(DecisionGiven(run: id, step: path, decision: decision)))
    }
    return decision
  }

  /// The no of a person that ends the run.
  var rejection: RunError? {
    content.withLock { content in
      content.record.steps.inOrder.first { $0.status == .failed && $0.decision?.isApproved == false }?.error
    }
  }

  /// Consumes an event, and keeps what follows from it in the same batch; false if somebody else was faster.
  func consume(_ event: String, _ following: StateEvent) async throws(StepInterruption) -> Bool {
    // What was held back goes first, so that it is not refused together with this.
    try await commit()
    let consumed = StateEvent.eventConsumed(EventConsumed(at: time.now(), id: event, by: id))
    do throws(StateError) { try await store.append([consumed, following]) } catch {
      if error.kind == .invalid { return false }
      fail(error)
      throw .stateFailed(error)
    }
    content.withLock { content in
      // The store has taken it.
      try? content.record.apply(following)
    }
    return true
  }

  /// What an event holds for a value: itself, or where its blob lies if it is large.
  func stored(_ value: Value, of step: StepPath? = nil) async throws(StepInterruption) -> StoredValue {
    do throws(StateError) { return try await store.keep(value) } catch {
      // A value that cannot be kept is the step's fault, not the state's.
      if error.kind == .invalid { throw .failed(RunError(.validation, error.message, step: step, effect: .done)) }
      fail(error)
      throw .stateFailed(error)
    }
  }

  private func fail(_ error: StateError) {
    content.withLock { $0.failure = $0.failure ?? error }
    scope?.end(.stopped)
  }
}

extension StateEvent {
  /// Whether it says that a run goes on, or waits to.
  fileprivate var goesOn: Bool {
    if case .runStatusChanged(let change) = self {
      change.status == .running || change.status == .waiting
    } else {
      false
    }
  }
}
