package import Basics
package import Recipes
package import RunState
package import Runs

/// What a run needs to be carried on: its recipe, checked again, and its services.
package struct PreparedRun: Sendable {
  package var recipe: Recipe
  package var secrets: Secrets
  package var services: Services
  /// The folder that relative paths start from.
  package var folder: String
  /// What `now` is of its steps, if it is played again.
  package var instants: (@Sendable (StepPath) -> Timestamp?)?
  /// Told what `now` is of each step, for a recording.
  package var notingInstants: (@Sendable (StepPath, Timestamp) -> Void)?

  package init(recipe: Recipe, secrets: Secrets, services: Services, folder: String) {
    self.recipe = recipe
    self.secrets = secrets
    self.services = services
    self.folder = folder
  }
}

/// Why a run cannot be carried on by this program.
package struct RunRefusedError: Error, Sendable {
  /// What is wrong and what to do, as a sentence.
  package var message: String

  package init(_ message: String) { self.message = message }
}

/// What whoever follows a run is told.
package enum RunUpdate: Sendable {
  case progress(Progress)
  /// The run is held by nothing but the state until an instant, an event or a person; it goes on by itself.
  case waits(RunRecord)
  /// The last update: the run has ended, stands until a person does something, or the program ends.
  case left(RunRecord)
}

/// What becomes of runs, for whoever looks after all of them.
package enum RunNews: Sendable {
  case began(RunRecord)
  case waits(RunRecord)
  /// It is paused, uncertain, or queued behind others of its group.
  case stands(RunRecord)
  case ended(RunRecord)
  /// An event came that no waiting run took.
  case event(String)
  /// The state takes nothing more; the program has to end.
  case failed(StateError)
}

/// The runs that this program carries on, and whoever follows them.
///
/// It is the agent's heart: commands in the same process and clients behind the socket are served alike. It carries on
/// what it is handed and nothing else, until `recover` hands it all there is.
///
/// A run that waits leaves the host but for an entry in the alarm clock. It is walked again when that rings, when an
/// event comes that one of its steps waits for, or when a person decides; the walk itself sees what has changed. A run
/// that is being walked when something changes is told to look again, and is walked once more if it has just been left,
/// so that no change is missed.
package actor RunHost {
  struct Active {
    var engine: RunEngine
    var task: Task<Void, Never>
    /// What cancels by force when the grace of a cancellation is over; they go with the walk.
    var forcing: [Task<Void, Never>] = []
  }

  /// What the alarm clock rings for.
  enum Alarm: Hashable, Sendable {
    case run(String)
    /// The oldest event is to be forgotten.
    case events
  }

  nonisolated let store: any StateStore
  nonisolated let time: any TimeSource
  nonisolated let activity: Activity?
  private let prepare: @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  private let chance: @Sendable () -> Double
  private let walkers: (any TaskExecutor)?
  private var clock: AlarmClock<Alarm>?
  private(set) var active: [String: Active] = [:]
  /// The runs that this program has to carry on until they end or stand.
  private(set) var hosted: Set<String> = []
  /// The runs for which something changed after their walk had left them and before this host knew.
  private var changed: Set<String> = []
  /// Whether every open run is this program's to carry on.
  private var ownsAll = false
  /// Why the runs are to be paused that have not come to a halt yet.
  private var pauses: [String: String] = [:]
  /// Those of them that a person wants to go on after all.
  private var resumed: Set<String> = []
  /// What keeps a resolution of a run, which is not walked meanwhile.
  private var resolving: [String: Task<Result<Void, RunRefusedError>, Never>] = [:]
  /// The ended runs that are being tried again.
  var retrying: Set<String> = []
  /// The steps for which a decision is being kept.
  var deciding: Set<String> = []
  /// With how many events the oldest are looked for that may be forgotten.
  var eventsToSweep = RunHost.mostConsumed * 5 / 4
  private var followers: [String: [Int: AsyncStream<RunUpdate>.Continuation]] = [:]
  private var lastFollower = 0
  private var observers: [@Sendable (RunNews) -> Void] = []
  private(set) var isStopping = false
  /// Whether it stopped because another process asked for the folder.
  package private(set) var isHandedOver = false
  /// The first failure of the state; after it nothing more is begun.
  package private(set) var failure: StateError?

  /// - Parameters:
  ///   - activity: Counts what the host is at, for a clock that stands still until somebody moves it. No run stays on
  ///     such a clock to wait for a retry.
  ///   - walkers: Where runs are walked; nil for the threads of Swift's concurrency.
  package init(
    store: any StateStore, time: any TimeSource, activity: Activity? = nil, walkers: (any TaskExecutor)? = nil,
    chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    prepare: @escaping @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  ) {
    self.store = store
    self.time = time
    self.activity = activity
    self.chance = chance
    self.walkers = walkers
    self.prepare = prepare
  }

  /// Has somebody told of what becomes of all runs from now on; `observer` must not wait.
  package func observe(_ observer: @escaping @Sendable (RunNews) -> Void) { observers.append(observer) }

  func tell(_ news: RunNews) { for observer in observers { observer(news) } }

  /// Notes that the state takes nothing more.
  package func fail(_ error: StateError) {
    guard failure == nil else { return }
    failure = error
    tell(.failed(error))
  }

  func append(_ events: [StateEvent]) async throws(StateError) {
    do throws(StateError) { try await store.append(events) } catch {
      if error.kind != .invalid { fail(error) }
      throw error
    }
  }

  // MARK: Alarms

  func setAlarm(_ alarm: Alarm, at instant: Timestamp?) {
    if clock == nil, instant != nil, !isStopping {
      // What it starts ends by itself.
      clock = AlarmClock(time, countedBy: activity) { [weak self, activity] alarm in
        Task {
          await self?.rang(alarm)
          activity?.end()
        }
      }
    }
    clock?.set(alarm, at: instant)
  }

  func hasAlarm(_ alarm: Alarm) -> Bool { clock?.isSet(alarm) ?? false }

  private func rang(_ alarm: Alarm) async {
    switch alarm {
    case .run(let id):
      // What stands since the alarm was set is for a person to carry on.
      if let status = store.run(id)?.status, status == .paused || status == .uncertain { return }
      // A run that cannot go on is paused by that, and its followers are told.
      try? await carryOn(id)
    case .events: await forgetOldEvents()
    }
  }

  /// When something is due next.
  package var nextAlarm: Timestamp? { clock?.next }
  /// Does what is due, because somebody has moved the clock.
  package func lookAtClock() { clock?.look() }

  /// How many runs are held by nothing but an alarm.
  package var alarmCount: Int { clock?.count ?? 0 }

  // MARK: Carrying on

  /// Accepts a run; it is on disk when this returns.
  package func create(_ run: RunCreated) async throws(StateError) {
    try await append([.runCreated(run)])
  }

  /// Takes over every open run: goes on with what was going on, and waits for what waits.
  ///
  /// - Parameter folder: Where an agent that brought itself down left its mark, which is taken away.
  /// - Returns: The runs that stand until a person does something about them.
  package func recover(in folder: String? = nil) async -> [RunRecord] {
    ownsAll = true
    if let folder, CrashMark.isThere(in: folder) {
      // A state that takes nothing more is known by then.
      if (try? await blame()) != nil { CrashMark.remove(in: folder) }
    }
    var left: [RunRecord] = []
    let events = store.state.events.values.filter { $0.consumedBy == nil }
    for id in store.openRuns.map(\.id) where active[id] == nil {
      // As it is now, because people may have asked for something while those before it were prepared.
      guard let run = store.run(id) else { continue }
      switch run.status {
      case .paused where run.standsPaused, .uncertain: left.append(run)
      case .waiting where run.pendingCancel == nil && !run.hasNews(events):
        hosted.insert(run.id)
        setAlarm(.run(run.id), at: run.wakeAt)
      default:
        do throws(RunRefusedError) { try await carryOn(run.id) } catch {
          if let run = store.run(run.id) { left.append(run) }
        }
      }
    }
    planForgetting()
    return left
  }

  /// Carries an open run on, unless it is being carried on already, has to queue, or somebody paused it.
  package func carryOn(_ id: String) async throws(RunRefusedError) { try await carryOn(id, isAsked: false) }

  /// Carries an open run on because a person asks for it, also if it is paused or about to be.
  package func resume(_ id: String) async throws(RunRefusedError) { try await carryOn(id, isAsked: true) }

  private func carryOn(_ id: String, isAsked: Bool) async throws(RunRefusedError) {
    if isAsked, pauses[id] != nil { resumed.insert(id) }
    guard active[id] == nil, !isStopping, failure == nil else { return }
    guard let record = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    let isOverPause = isAsked && record.status == .paused
    hosted.insert(id)
    if isHeld(id) {
      changed.insert(id)
      return
    }
    guard isOverPause || !record.standsPaused else { return await standsOrLeft(id) }
    guard await isAdmitted(record) else { return await standsOrLeft(id) }
    let prepared: PreparedRun
    do throws(RunRefusedError) {
      prepared = try await prepare(record)
    } catch {
      await keepUnprepared(record, because: error)
      await standsOrLeft(id)
      throw error
    }
    // Another caller, or another run of the group, may have been faster while this one was preparing.
    guard active[id] == nil, !isStopping, let record = store.run(id) else { return }
    if isHeld(id) {
      changed.insert(id)
      return
    }
    // It was paused since, which counts.
    guard isOverPause || !record.standsPaused else { return await standsOrLeft(id) }
    guard hasPlace(record) else {
      _ = await isAdmitted(record)
      return await standsOrLeft(id)
    }
    begin(record, prepared)
  }

  /// Whether no walk of a run may begin now, because what becomes of it is being kept: a resolution or a pause.
  private func isHeld(_ id: String) -> Bool { resolving[id] != nil || pauses[id] != nil && active[id] == nil }

  /// Whether a run is this program's to carry on; a command that only asks something is not to begin what it then leaves.
  func isOwn(_ id: String) -> Bool { ownsAll || hosted.contains(id) }

  private func begin(_ record: RunRecord, _ prepared: PreparedRun) {
    let id = record.id
    changed.remove(id)
    setAlarm(.run(id), at: nil)
    let (events, sink) = AsyncStream.makeStream(of: Progress.self)
    var surroundings = RunSurroundings(
      store: store, time: time, folder: prepared.folder, report: { sink.yield($0) }, chance: chance)
    if activity != nil { surroundings.suspendThreshold = .zero }
    surroundings.instants = prepared.instants
    surroundings.notingInstants = prepared.notingInstants
    surroundings.walkers = walkers
    let engine = RunEngine(
      record, of: prepared.recipe, secrets: prepared.secrets, services: prepared.services, in: surroundings)
    activity?.begin()
    // Ends when the run ends or waits, or `stop` is called; nobody cancels it.
    let task = Task {
      defer { activity?.end() }
      async let relayed: Void = relay(events, of: id)
      do throws(StateError) {
        let record = try await engine.run()
        sink.finish()
        await relayed
        await halted(record)
      } catch {
        sink.finish()
        await relayed
        deactivate(id)
        fail(error)
        release(id)
      }
    }
    active[id] = Active(engine: engine, task: task)
    tell(.began(record))
  }

  /// Keeps why a run cannot be carried on with the run, so that whoever looks at it later is told why it stands still.
  private func keepUnprepared(_ record: RunRecord, because reason: RunRefusedError) async {
    let now = time.now()
    if record.pendingCancel != nil, record.uncertainSteps.isEmpty {
      // Nobody could ever end it otherwise.
      let error = RunError(
        .configuration, "the run was cancelled without its 'finally' steps, which cannot run: \(reason.message)")
      try? await append([.runEnded(RunEnded(run: record.id, at: now, status: .cancelled, error: error))])
    } else if record.status != .paused || record.reason != reason.message {
      try? await append([
        .runStatusChanged(RunStatusChanged(run: record.id, at: now, status: .paused, reason: reason.message))
      ])
    }
  }

  private func relay(_ events: AsyncStream<Progress>, of id: String) async {
    for await event in events {
      // How it ended is told when it is known whether it goes on.
      if case .runEnded = event { continue }
      send(.progress(event), to: id)
    }
  }

  private func deactivate(_ id: String) {
    for task in active.removeValue(forKey: id)?.forcing ?? [] { task.cancel() }
  }

  /// A walk of a run is over: it has ended, waits, stands, or the program ends.
  private func halted(_ record: RunRecord) async {
    let id = record.id
    deactivate(id)
    var record = record
    if record.status.isEnded {
      forgetPause(of: id)
      leave(record)
      await admitNext(inGroupOf: record)
      return
    }
    if let pause = pauses[id], record.status != .uncertain {
      if store.run(id)?.pendingCancel == nil, !resumed.contains(id), store.run(id)?.status != .paused {
        try? await append([self.pause(id, pause)])
      }
      record = store.run(id) ?? record
      let isResumed = forgetPause(of: id)
      // Whoever cancels a run that is being paused wants it to end.
      if !isStopping, isResumed || record.pendingCancel != nil {
        try? await carryOn(id, isAsked: isResumed)
        return
      }
    }
    forgetPause(of: id)
    await keepUncertain(id)
    guard record.status == .waiting, !isStopping else { return await standsOrLeft(id) }
    if changed.remove(id) != nil {
      try? await carryOn(id)
    } else {
      setAlarm(.run(id), at: record.wakeAt)
      send(.waits(record), to: id)
      tell(.waits(record))
    }
  }

  /// Reports the state of a suspended run to its followers.
  private func standsOrLeft(_ id: String) async {
    guard let record = store.run(id) else {
      let ended: RunRecord?
      do throws(StateError) { ended = try await store.finishedRun(id) } catch { ended = nil }
      if let ended { leave(ended) } else { release(id) }
      return
    }
    if record.status == .queued, !isStopping {
      send(.waits(record), to: id)
      tell(.stands(record))
    } else {
      leave(record)
    }
  }

  func leave(_ record: RunRecord) {
    if record.status.isEnded { tell(.ended(record)) } else if !isStopping { tell(.stands(record)) }
    send(.left(record), to: record.id)
    release(record.id)
  }

  /// Forgets a run, and ends the following of it.
  private func release(_ id: String) {
    hosted.remove(id)
    setAlarm(.run(id), at: nil)
    for (_, follower) in RunHost.inOrder(followers.removeValue(forKey: id)) { follower.finish() }
  }

  /// Something changed that a run may wait for.
  func wake(_ id: String) async {
    guard isOwn(id) else { return }
    if let engine = active[id]?.engine {
      // An engine that has left the run does not see it any more.
      if !engine.poke() { changed.insert(id) }
    } else if let run = store.run(id), run.status != .paused, run.status != .uncertain {
      // What stands sees it when a person has it go on.
      try? await carryOn(id)
    }
  }

  // MARK: Following

  private func send(_ update: RunUpdate, to id: String) {
    for (_, follower) in RunHost.inOrder(followers[id]) { follower.yield(update) }
  }

  /// Those who follow a run, whoever came first in front.
  private static func inOrder<Follower>(_ followers: [Int: Follower]?) -> [(key: Int, value: Follower)] {
    (followers ?? [:]).sorted { $0.key < $1.key }
  }

  private func follower(of id: String) -> (stream: AsyncStream<RunUpdate>, number: Int) {
    let (stream, continuation) = AsyncStream.makeStream(of: RunUpdate.self)
    lastFollower += 1
    let number = lastFollower
    followers[id, default: [:]][number] = continuation
    // A follower that goes away is forgotten; nothing cancels this, and it ends at once.
    continuation.onTermination = { [weak self] _ in Task { await self?.forget(number, of: id) } }
    return (stream, number)
  }

  private func forget(_ number: Int, of id: String) {
    followers[id]?[number] = nil
    if followers[id]?.isEmpty == true { followers[id] = nil }
  }

  /// What happens to a run from now on; ends at once for a run that this program does not carry on.
  package func follow(_ id: String) -> AsyncStream<RunUpdate> {
    let (stream, number) = follower(of: id)
    if !hosted.contains(id) || isStopping {
      followers[id]?[number]?.finish()
    } else if active[id] == nil, let record = store.run(id) {
      followers[id]?[number]?.yield(.waits(record))
    }
    return stream
  }

  /// Follows a run from before its first step, and gives its record when it is carried on no longer.
  ///
  /// - Parameter isAsked: Whether a person wants it to go on, also if it is paused.
  package func run(
    _ id: String, isAsked: Bool = false, report: @escaping @Sendable (RunUpdate) -> Void
  ) async throws(RunRefusedError) -> RunRecord? {
    let (stream, number) = follower(of: id)
    do throws(RunRefusedError) { try await carryOn(id, isAsked: isAsked) } catch {
      forget(number, of: id)
      throw error
    }
    if isStopping || failure != nil { followers[id]?[number]?.finish() }
    var last: RunRecord?
    for await update in stream {
      if case .left(let record) = update { last = record } else { report(update) }
    }
    return last
  }

  // MARK: Steering

  /// Asks a run to end; true if it is open here.
  ///
  /// - Parameter isHard: What is in flight gets no time to finish.
  package func cancel(_ id: String, reason: String?, isHard: Bool = false) async throws(StateError) -> Bool {
    guard store.run(id) != nil else { return false }
    try await append([.cancelRequested(CancelRequested(run: id, at: time.now(), reason: reason))])
    if let engine = active[id]?.engine {
      // An engine that has left the run cannot end it any more.
      if !engine.end() { changed.insert(id) }
      // Ends when the grace is over, or is cancelled with the end of the walk.
      active[id]?.forcing.append(Task { await engine.force(after: isHard ? .zero : RunEngine.grace) })
    } else if isOwn(id), let status = store.run(id)?.status, status != .uncertain {
      try? await carryOn(id)
    }
    return true
  }

  /// A pause is kept, or not needed; true if somebody wants the run to go on after it.
  @discardableResult private func forgetPause(of id: String) -> Bool {
    pauses[id] = nil
    return resumed.remove(id) != nil
  }

  private func pause(_ id: String, _ reason: String) -> StateEvent {
    .runStatusChanged(RunStatusChanged(run: id, at: time.now(), status: .paused, reason: reason))
  }

  /// Has a run begin nothing more until it is resumed; the pause is on disk when this returns.
  package func pause(_ id: String, reason: String) async throws(RunRefusedError) {
    guard let record = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    guard record.pendingCancel == nil else { throw RunRefusedError("the run \(id) is being cancelled") }
    resumed.remove(id)
    if record.status == .paused, active[id] == nil { return }
    guard record.status != .uncertain else {
      throw RunRefusedError(
        "the run \(id) stands already: it is uncertain, and errand runs resolve says what became of it")
    }
    // A walk that is under way is looked at again when it comes to a halt; until the pause is kept none begins.
    pauses[id] = reason
    await active[id]?.engine.pause()
    do throws(StateError) { try await append([pause(id, reason)]) } catch {
      let isResumed = forgetPause(of: id)
      if changed.remove(id) != nil { try? await carryOn(id, isAsked: isResumed) }
      throw RunRefusedError(error.message)
    }
    if let engine = active[id]?.engine { return await engine.pause() }
    let isResumed = forgetPause(of: id)
    guard let record = store.run(id) else { return }
    let hasChanged = changed.remove(id) != nil
    // Whoever cancels a run that is being paused wants it to end, also where its walk came to a halt just before.
    if record.pendingCancel != nil || hasChanged && isResumed { return try await carryOn(id, isAsked: isResumed) }
    await keepUncertain(id)
    await standsOrLeft(id)
  }

  /// Has a run stand as uncertain that a pause overtook on its way to the state, so that people see what they have to
  /// decide.
  private func keepUncertain(_ id: String) async {
    guard let record = store.run(id), record.status == .paused, !record.uncertainSteps.isEmpty else { return }
    try? await append([record.uncertainty(at: time.now())])
  }

  /// Says what became of an uncertain step, durably; the run goes on when it is carried on the next time.
  ///
  /// Resolutions of a run are kept one after another, and never beside a walk, which knows only what was there when it
  /// began: one that has just begun is waited for, and the next begins when they are kept.
  package func resolve(
    _ id: String, step: StepPath, as resolution: Resolution, by person: String? = nil
  ) async throws(RunRefusedError) {
    while let other = resolving[id] { _ = await other.value }
    // Ends when the resolution is kept; nobody cancels it.
    let task = Task { () -> Result<Void, RunRefusedError> in
      // Here, so that whoever waits for its end does not find it still there.
      defer { resolving[id] = nil }
      do throws(RunRefusedError) { return .success(try await keep(resolution, by: person, of: step, in: id)) } catch {
        return .failure(error)
      }
    }
    resolving[id] = task
    let result = await task.value
    // Who wanted it to be carried on meanwhile has been told that it is.
    if changed.remove(id) != nil { try? await carryOn(id) }
    try result.get()
  }

  private func keep(
    _ resolution: Resolution, by person: String?, of step: StepPath, in id: String
  ) async throws(RunRefusedError) {
    guard let asked = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    // It stays as it was when the run was accepted, whatever becomes of the run meanwhile.
    let recipe = try await recipe(of: asked)
    // What a walk leaves uncertain is on disk a moment before the walk is over.
    while let status = store.run(id)?.status, status == .uncertain || status == .paused, let walk = active[id] {
      await walk.task.value
    }
    guard let record = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    do {
      _ = try await record.resolve(step, as: resolution, by: person, of: recipe, in: store, at: time.now())
    } catch let fault as ResolutionError {
      throw RunRefusedError(fault.message)
    } catch let error as StateError {
      if error.kind != .invalid { fail(error) }
      throw RunRefusedError(error.message)
    } catch {
      throw RunRefusedError("\(error)")
    }
  }

  /// The recipe of a run as it was, checked again.
  func recipe(of record: RunRecord) async throws(RunRefusedError) -> Recipe { try await prepare(record).recipe }

  /// Stops in favour of another process, which asked for the folder.
  package func handOver() async {
    isHandedOver = true
    await stop()
  }

  /// Begins nothing more, and returns when what was in flight has finished.
  package func stop() async {
    isStopping = true
    clock?.stop()
    let running = active.sorted { $0.key.precedesByScalars($1.key) }.map(\.value)
    for run in running { run.engine.stop() }
    for run in running { await run.task.value }
    for id in followers.keys.sorted(by: { $0.precedesByScalars($1) }) {
      if let record = store.run(id) { send(.left(record), to: id) }
      release(id)
    }
  }
}

extension RunRecord {
  /// Whether nothing but a person's wish has it go on.
  fileprivate var standsPaused: Bool { status == .paused && pendingCancel == nil }
}
