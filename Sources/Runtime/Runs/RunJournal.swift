import Basics
import Recipes
import RunState
import Synchronization

/// One run's records, and its only way to write to the store.
///
/// Events that must be on disk before something happens are committed; events that may wait (the end of a step, a
/// skipped step) are held back until the next commit, so that the end of one step and the start of the next share one
/// sync. No attempt begins before earlier ends are committed, and a step commits before it waits, so that an end is
/// held back no longer than it takes to reach the next step.
///
/// Reading and noting take a lock instead of an actor, because every step does so several times, each for a moment.
final class RunJournal: Sendable {
  private struct Content {
    var record: RunRecord
    var held: [StateEvent] = []
    /// The first failure.
    ///
    /// Nothing is written after it, because later events may build on lost ones.
    var failure: StateError?
    /// Whether the run is being paused, so that no event may say that it runs or waits.
    var isPausing = false
    /// Why steps could not get a kept value.
    var refusals: [StepPath: StateError] = [:]
    /// The steps that have ended, and whose records aren't shared with the store yet.
    var unshared: [StepPath] = []

    mutating func hold(_ events: [StateEvent]) {
      for event in events {
        // The store folds the same events and refuses what doesn't fit.
        try? record.apply(event)
        held.append(event)
      }
    }
  }

  let id: String
  let store: any StateStore
  let time: any TimeSource
  private let content: Mutex<Content>
  private let order = Order()
  private let instants: (@Sendable (StepPath) -> Timestamp?)?
  private let notingInstants: (@Sendable (StepPath, Timestamp) -> Void)?
  /// Ends when the state refuses more events, so that nothing more begins or waits.
  private let scope: CancelScope?
  let turns: ValueTurns
  /// The number of the claim that holds the run for this program, in a shared state; acts under an earlier claim are
  /// void.
  private let claim: Int

  /// - Parameters:
  ///   - instants: The recorded `now` of each step in a replay.
  ///   - notingInstants: Receives the `now` of each step, of each round (`path/#round~2`), and of outputs.
  ///   - scope: Ended when the state refuses more events, so that nothing more begins or waits.
  ///   - turns: Shared by all runs that may change the same stored values.
  init(
    _ record: RunRecord, store: any StateStore, time: any TimeSource, turns: ValueTurns = ValueTurns(),
    instants: (@Sendable (StepPath) -> Timestamp?)? = nil,
    notingInstants: (@Sendable (StepPath, Timestamp) -> Void)? = nil, ending scope: CancelScope? = nil
  ) {
    id = record.id
    claim = store.sharing?.claim(of: record.id) ?? 0
    self.instants = instants
    self.notingInstants = notingInstants
    self.scope = scope
    self.turns = turns
    self.store = store
    self.time = time
    content = Mutex(Content(record: record))
  }

  // MARK: Looking

  var current: RunRecord { content.withLock { $0.record } }

  /// The machine and folder that the run stays at.
  var home: String? { content.withLock { $0.record.home } }

  func step(_ path: StepPath) -> StepRecord? { content.withLock { $0.record.steps[path] } }

  /// A part of a step's record, without a copy of the record.
  func look<Part: Sendable>(at path: StepPath, _ part: (UnsafePointer<StepRecord>) -> Part) -> Part? {
    content.withLock { $0.record.steps.look(at: path, part) }
  }

  /// The status of a step that has a record.
  func status(of path: StepPath) -> StepStatus? { content.withLock { $0.record.steps.status(of: path) } }

  func hasEnded(_ path: StepPath) -> Bool { status(of: path)?.isEnded ?? false }

  /// The record of a step that is reached, and the instant that its expressions call `now`.
  func reached(_ path: StepPath) -> (known: StepRecord?, now: Timestamp) {
    if let known = step(path) { return (known, known.now) }
    return (nil, instant(of: path))
  }

  /// The `now` of something that is reached for the first time.
  func instant(of path: StepPath) -> Timestamp {
    let played = instants?(path)
    let now = played ?? instant()
    if played != nil { content.withLock { $0.record.now = now } }
    notingInstants?(path, now)
    return now
  }

  /// An instant for something new in a step, never earlier than one that the run has seen.
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
    /// Something in it waits, and nothing else is running.
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
      for record in content.record.steps where !record.status.isEnded {
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

  /// The stored value, read from its blob if it is one; null for none.
  ///
  /// - Parameter what: The value within a sentence.
  func value(_ stored: StoredValue?, as what: @autoclosure () -> String) async throws(StepInterruption) -> Value {
    guard let stored else { return .null }
    do throws(StateError) { return try await store.restored(stored, as: what()) } catch {
      // A person has to fix this; the run itself is sound.
      if error.kind == .secret { throw .halted(error) }
      fail(error)
      throw .stateFailed(error)
    }
  }

  /// The idempotency key that was kept.
  func key(_ kept: String, of step: StepPath) async throws(StepInterruption) -> String {
    do throws(StateError) { return try await store.secrets.restored(text: kept, as: "the key of '\(step)'") } catch {
      throw .halted(error)
    }
  }

  /// An idempotency key as it may be kept.
  func kept(_ key: String, of step: StepPath) throws(StepInterruption) -> String {
    do throws(StateError) { return try store.secrets.masked(text: key) } catch {
      throw .failed(RunError(.validation, error.message, step: step, effect: RunError.Effect.none))
    }
  }

  /// Notes that a step could not get a value, because a secret in it has changed.
  func refuse(_ path: StepPath, because error: StateError) { content.withLock { $0.refusals[path] = error } }

  /// Why a step could not get a value; given once.
  func takeRefusal(of path: StepPath) -> StateError? { content.withLock { $0.refusals.removeValue(forKey: path) } }

  // MARK: Keeping

  /// Adds events that need not be on disk yet; they are written with the next commit.
  func hold(_ events: [StateEvent]) { content.withLock { $0.hold(events) } }

  /// Writes events, with all that were held back; they are on disk when this returns.
  func commit(_ events: [StateEvent] = []) async throws(StepInterruption) { try await order.commit(events, of: self) }

  /// Hands batches to the store in order: the actor isn't left between taking a batch and the store's own first wait.
  private actor Order {
    /// Returns when no other call is between the two.
    func settle() {}

    func commit(_ events: [StateEvent], of journal: RunJournal) async throws(StepInterruption) {
      // At once, so that no other call writes these events while this one waits.
      let batch = try journal.content.withLock { content throws(StepInterruption) in
        content.hold(events)
        if let failure = content.failure { throw .stateFailed(failure) }
        var batch: [StateEvent] = []
        swap(&batch, &content.held)
        if content.isPausing { batch.removeAll { $0.proceeds } }
        return batch
      }
      if batch.isEmpty { return }
      do throws(StateError) { try await journal.append(batch) } catch {
        journal.fail(error)
        throw .stateFailed(error)
      }
      journal.shareSteps(endedBy: batch)
      guard journal.maySend || batch.contains(where: \.endsRun) else {
        let error = StateError(.fenced, "another program may carry the run \(journal.id) on by now")
        journal.fail(error)
        throw .stateFailed(error)
      }
    }
  }

  private func append(_ events: [StateEvent]) async throws(StateError) {
    guard let sharing = store.sharing else { return try await store.append(events) }
    try await sharing.append(events, of: id, inClaim: claim)
  }

  /// Whether what is done for the run may go out: in a state that several programs share, while this one holds it by
  /// the same claim.
  var maySend: Bool {
    guard let sharing = store.sharing else { return true }
    return sharing.claim(of: id) == claim && sharing.isSure(of: id)
  }

  /// Shares the records of steps that have ended with the store, some at a time, because a run may have very many.
  private func shareSteps(endedBy batch: [StateEvent]) {
    let paths = content.withLock { content in
      for case .stepEnded(let event) in batch { content.unshared.append(event.step) }
      var paths: [StepPath] = []
      if content.unshared.count >= RunJournal.sharedAtOnce { swap(&paths, &content.unshared) }
      return paths
    }
    guard !paths.isEmpty, let kept = store.run(id)?.steps else { return }
    content.withLock { content in
      for path in paths { content.record.steps.share(path, of: kept) }
    }
  }

  /// How many steps have ended before their records are shared.
  private static let sharedAtOnce = 64

  /// From now on, no event says that the run runs or waits.
  func pause() { content.withLock { $0.isPausing = true } }

  /// Returns when every batch taken so far has been handed to the store.
  func settle() async { await order.settle() }

  /// Events that other parts of the program write for this run: an event that it may consume, a person's decision.
  func events(named name: String) async -> [EventRecord] {
    let created = current.createdAt
    // Another machine's clock may have dated the event.
    let since = store.sharing == nil ? created : created.advanced(by: .zero - CorrectedTime.mostApart)
    return await store.events(EventQuery(name: name, isUnconsumed: true, run: id, since: since ?? created))
  }

  /// A person's decision about a step, which is on disk already.
  func decision(about path: StepPath) -> DecisionRecord? {
    guard let decision = store.run(id)?.steps[path]?.decision else { return nil }
    content.withLock { content in
      // The step is in the record, because it asked.
      try? content.record.apply(.decisionGiven(DecisionGiven(run: id, step: path, decision: decision)))
    }
    return decision
  }

  /// The rejection that ends the run.
  var rejection: RunError? {
    content.withLock { content in
      content.record.steps.first(where: \.isRejected)?.error
    }
  }

  /// Consumes an event together with its effect; false if another run consumed it first.
  func consume(_ event: String, _ following: StateEvent) async throws(StepInterruption) -> Bool {
    // Events that were held back are written first, so that they aren't refused together with this one.
    try await commit()
    let consumed = StateEvent.eventConsumed(EventConsumed(at: time.now(), id: event, by: id))
    do throws(StateError) { try await store.append([consumed, following]) } catch {
      if error.kind == .invalid { return false }
      fail(error)
      throw .stateFailed(error)
    }
    content.withLock { content in
      // The store has accepted it.
      try? content.record.apply(following)
    }
    return true
  }

  /// An event's stored value: inline, or a reference to its blob if it is large.
  func stored(_ value: Value, of step: StepPath? = nil) async throws(StepInterruption) -> StoredValue {
    do throws(StateError) { return try await store.keep(value) } catch {
      // A value that can't be kept is the step's fault, not the state's.
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
  /// Whether it says that a run runs or waits.
  fileprivate var proceeds: Bool {
    if case .runStatusChanged(let change) = self {
      change.status == .running || change.status == .waiting
    } else {
      false
    }
  }
}
