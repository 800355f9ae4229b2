import Basics
import RunState
import Runs
import Synchronization

/// Keeps what happens to runs in the state, and tells the observers of all runs.
final class RunKeeper: Sendable {
  private struct Content {
    var failure: StateError?
    var base: String?
    var observers: [@Sendable (RunNews) -> Void] = []
  }

  let store: any StateStore
  let time: any TimeSource
  let watchers: RunWatchers
  private let content = Mutex(Content())

  init(store: any StateStore, time: any TimeSource, base: String?) {
    self.store = store
    self.time = time
    watchers = RunWatchers(store.sharing, time: time)
    content.withLock { $0.base = base }
  }

  /// The first failure of the state; after it nothing more is begun.
  var failure: StateError? { content.withLock { $0.failure } }

  func observe(_ observer: @escaping @Sendable (RunNews) -> Void) { content.withLock { $0.observers.append(observer) } }

  func tell(_ news: RunNews) {
    for observer in content.withLock({ $0.observers }) { observer(news) }
    watchers.tell(news)
  }

  /// Notes that the state takes nothing more.
  func fail(_ error: StateError) {
    let isFirst = content.withLock { content in
      defer { content.failure = content.failure ?? error }
      return content.failure == nil
    }
    if isFirst { tell(.failed(error)) }
  }

  /// Sets the URL of the agent's pages, which runs accepted from now on are recorded with.
  func setBase(_ base: String?) { content.withLock { $0.base = base } }

  /// The event that creates a run, with the URL of the agent's pages, and with the secrets among its needs that its
  /// values refer to.
  func creation(of run: RunCreated) -> StateEvent {
    var run = run
    run.base = run.base ?? content.withLock { $0.base }
    // Only of a state that is shared.
    if !run.needs.isEmpty {
      var values = [run.inputs] + run.overrides.values
      if case .inline(let texts) = run.texts { values.append(texts) }
      // A value that can't be stored is refused with the event.
      let names = (try? store.secrets.referred(in: .list(values))) ?? []
      run.needs = Set(run.needs + names.map(RunNeed.secret)).sorted { $0.precedesByScalars($1) }
    }
    return .runCreated(run)
  }

  /// Whether the state takes nothing more; a shared one may be away for a while.
  func isFailure(_ error: StateError) -> Bool {
    switch error.kind {
    case .invalid, .fenced: false
    // In a shared state it is one run's log that is damaged.
    case .unavailable, .damaged: store.sharing == nil
    case .newer, .secret, .fatal, .closed: true
    }
  }

  func append(_ events: [StateEvent]) async throws(StateError) {
    do throws(StateError) { try await store.append(events) } catch {
      if isFailure(error) { fail(error) }
      throw error
    }
  }

  // MARK: Decisions of the host

  /// Keeps that an open run is paused or queued.
  ///
  /// - Parameter hasMissingDependency: Whether a paused run is resumed automatically once it can be.
  func hold(_ id: String, as status: RunStatus, _ reason: String, hasMissingDependency: Bool = false)
    async throws(StateError)
  {
    var change = RunStatusChanged(run: id, at: time.now(), status: status, reason: reason)
    change.hasMissingDependency = hasMissingDependency
    try await append([.runStatusChanged(change)])
  }

  /// Ends a run that is not walked.
  func end(_ run: RunRecord, as status: RunStatus, _ error: RunError) async {
    try? await append([.runEnded(RunEnded(run: run.id, at: time.now(), status: status, error: error))])
  }

  /// Records why a run can't be resumed, to show people why it is suspended.
  func hold(_ run: RunRecord, because reason: RunRefusedError) async {
    if run.pendingCancel != nil, run.uncertainSteps.isEmpty || run.doubts != nil {
      // It could never be ended otherwise.
      try? await append(run.givenUp(at: time.now(), because: "which cannot run: \(reason.message)"))
    } else if !run.uncertainSteps.isEmpty {
      // A question to a person matters more than the reason why the run can't be resumed.
      if run.status != .uncertain { try? await append([run.uncertainty(at: time.now())]) }
    } else {
      let message = run.doubts.map { "\($0), for the program ended meanwhile; and \(reason.message)" } ?? reason.message
      if run.status != .paused || run.reason != message {
        try? await hold(run.id, as: .paused, message, hasMissingDependency: true)
      }
    }
  }

  /// Keeps a run as uncertain that a pause overtook on its way to the state, so that people see what they have to decide.
  func holdUncertain(_ id: String) async {
    guard let run = store.run(id), run.status == .paused, !run.uncertainSteps.isEmpty else { return }
    try? await append([run.uncertainty(at: time.now())])
  }
}
