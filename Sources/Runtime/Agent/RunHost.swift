package import Basics
package import RunState
import Runs

/// The runs that this program works on.
///
/// This is the centre of the agent: it serves commands in the same process and clients behind the socket alike. It
/// works only on the runs that it is given, until `recover` gives it all open runs.
///
/// A waiting run is only an entry in the alarm clock. It is walked again when its alarm rings, when an event comes that
/// it waits for, or when a person decides; the walk sees the changes. The run's lifecycle decides on the next action,
/// and the host carries it out. A store of one machine answers such a decision without suspending the host.
///
/// In a state that several programs share, it works on the runs that this program holds (`RunHost+Sharing`).
package actor RunHost {
  nonisolated let store: any StateStore
  nonisolated let time: any TimeSource
  nonisolated let activity: Activity?
  nonisolated let keeper: RunKeeper
  package nonisolated let retries: RunRetries
  nonisolated let inbox = EventInbox()
  /// The events from outside that aren't decided yet.
  nonisolated let intake = Intake()
  let followers = RunFollowers()
  private let walker: RunWalker
  let prepare: @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  /// The lifecycle here of each run with anything to remember.
  private(set) var lives: [String: RunLifecycle<RunWalk>] = [:]
  /// How many beginnings of runs have been decided on, which numbers them.
  private var beginnings = 0
  /// The runs that this program created to tell of failures, and has to finish before it ends.
  private(set) var failureRuns: [String] = []
  /// Whether this program works on every open run.
  private(set) var ownsAll = false
  /// The runs that a command was asked for, and lost with its lease.
  var interrupted: Set<String> = []
  /// Whether this program claims no more runs, as a person asked.
  var isDraining = false
  /// The runs that are being released, and whether news came for one meanwhile.
  var givingUp: [String: Bool] = [:]
  /// Handles news of a shared state; ends with the store.
  private var heeding: Task<Void, Never>?
  private(set) var isStopping = false
  /// Whether it stopped because another process asked for the folder.
  package private(set) var isHandedOver = false
  private var handOverWaiters: [CheckedContinuation<Void, Never>] = []
  private(set) lazy var clock = AlarmClock<RunAlarm>(time, countedBy: activity) { [weak self, activity] alarm in
    // Ends when what is due is done.
    Task {
      await self?.rang(alarm)
      activity?.end()
    }
  }

  /// - Parameters:
  ///   - activity: Counts the host's tasks in progress, for a clock that a test moves.
  ///   - walkers: Where runs are walked; nil for the threads of Swift's concurrency.
  ///   - base: The URL of the agent's pages.
  package init(
    store: any StateStore, time: any TimeSource, activity: Activity? = nil, walkers: (any TaskExecutor)? = nil,
    base: String? = nil, chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    prepare: @escaping @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  ) {
    self.store = store
    self.time = time
    self.activity = activity
    self.prepare = prepare
    keeper = RunKeeper(store: store, time: time, base: base)
    retries = RunRetries(keeper, prepare)
    walker = RunWalker(
      store: store, time: time, activity: activity, executor: walkers, chance: chance, followers: followers,
      keeper: keeper)
  }

  /// Notices about all runs from now on; ends when no more come.
  package nonisolated func watch() -> AsyncStream<RunNotice> { keeper.watchers.watch() }

  /// Reports to an observer what becomes of all runs from now on; `observer` must not wait.
  package func observe(_ observer: @escaping @Sendable (RunNews) -> Void) { keeper.observe(observer) }
  /// The first failure of the state; after it nothing more is begun.
  package var failure: StateError? { keeper.failure }
  /// When something is due next.
  package var nextAlarm: Timestamp? { clock.next }
  /// Does what is due, because a test has moved the clock.
  package func lookAtClock() { clock.look() }
  /// How many runs are held by nothing but an alarm.
  package var alarmCount: Int { clock.count }

  /// Whether a step of some run is under way.
  package var isWalking: Bool { lives.values.contains { $0.walk != nil } }

  /// Whether this program works on a run; a command that only asks a question must not begin a run that it then leaves.
  package func isOwn(_ id: String) -> Bool {
    ownsAll ? store.sharing == nil || store.run(id) != nil : lives[id]?.isHosted == true
  }
  func isWalked(_ id: String) -> Bool { lives[id]?.walk != nil }

  /// Tells the lifecycle of a run what happened, and gives what it answers.
  @discardableResult
  func change<Outcome>(_ id: String, _ event: (inout RunLifecycle<RunWalk>) -> Outcome) -> Outcome {
    var life = lives[id] ?? RunLifecycle()
    defer { lives[id] = life.isBlank ? nil : life }
    return event(&life)
  }

  package nonisolated var decisions: RunDecisions { RunDecisions(host: self) }
  package nonisolated var resolutions: RunResolutions { RunResolutions(host: self) }

  private func rang(_ alarm: RunAlarm) async {
    switch alarm {
    case .run(let id): await wake(id)
    case .events: await inbox.forgetOld(for: self)
    }
  }

  // MARK: Resuming

  /// Sets the URL of the agent's pages, which runs created from now on are recorded with.
  package nonisolated func setBase(_ base: String?) { keeper.setBase(base) }

  /// Accepts a run; it is on disk when this returns.
  package func create(_ run: RunCreated) async throws(StateError) {
    // The run is to be held here, so that this program works on it.
    try await share(claiming: false)
    try await keeper.append([keeper.creation(of: run)])
  }

  /// Takes over every open run; returns the runs that only a person can resume.
  ///
  /// - Parameter folder: The folder where an agent that crashed left its mark, which is removed.
  package func recover(in folder: String? = nil) async -> [RunRecord] {
    ownsAll = true
    if let sharing = store.sharing {
      do throws(StateError) {
        if let folder, CrashMark.isThere(in: folder) {
          try await sharing.noteCrash()
          CrashMark.remove(in: folder)
        }
        try await share(claiming: true)
      } catch {
        keeper.fail(error)
      }
      // From now on, programs claim the due runs whose needs they meet.
      return []
    }
    let left = await RunRecovery.recover(in: folder, by: self)
    await planForgetting()
    return left
  }

  /// Sets an alarm for the instant when the oldest event is to be deleted.
  func planForgetting() async { await inbox.planForgetting(for: self) }

  /// Joins a shared state, so that created runs are held here, and handles its news.
  func share(claiming: Bool) async throws(StateError) {
    guard let sharing = store.sharing else { return }
    heeding =
      heeding ?? Task { [weak self] in for await news in sharing.news { await self?.heed(news) } }
    try await sharing.join(claiming: claiming)
  }

  /// Resumes the runs that were paused for a missing dependency which is there now.
  package func continueWithMissingDependencies() async {
    guard ownsAll, store.sharing == nil else { return }
    for run in await store.openRuns(OpenRunQuery(statuses: [.paused]))
    where store.run(run.id)?.hasMissingDependency == true {
      try? await continueRun(run.id, isAsked: true)
    }
  }

  /// Resumes an open run, unless it is being walked already, has to queue, or is paused.
  package func continueRun(_ id: String) async throws(RunRefusedError) { try await continueRun(id, isAsked: false) }

  /// Resumes an open run because a person asks for it, even if it is paused or about to be.
  package func resume(_ id: String) async throws(RunRefusedError) {
    for _ in 0..<RunHost.mostTakings {
      guard try await take(id) else { return }
      try await continueRun(id, isAsked: true)
      // It may have been released at this moment.
      if store.run(id) != nil { return }
      if await store.openRun(id) == nil { return }
    }
  }

  func continueRun(_ id: String, isAsked: Bool) async throws(RunRefusedError) {
    if isAsked { change(id) { $0.resume() } }
    guard !isWalked(id), !isStopping, failure == nil else { return }
    guard let run = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    let isOverPause = isAsked && run.status == .paused
    beginnings += 1
    let beginning = beginnings
    let effect = change(id) { $0.proceed(run, isOverPause: isOverPause, isAsked: isAsked, as: beginning) }
    guard case .walk = effect else { return await attempt(effect, for: id) }
    // Until this has ended, no other caller decides on the run or begins a walk of it.
    let outcome: Result<Void, RunRefusedError>
    do throws(RunRefusedError) {
      outcome = .success(try await begin(run, isOverPause: isOverPause, as: beginning))
    } catch { outcome = .failure(error) }
    await attempt(change(id) { $0.beginningEnded(beginning, isStopping: isEnding) }, for: id)
    try outcome.get()
  }

  /// Begins a walk of a run, or records why none begins.
  private func begin(_ run: RunRecord, isOverPause: Bool, as beginning: Int) async throws(RunRefusedError) {
    let id = run.id
    guard await RunGroups.isAdmitted(run, by: self) else { return await park(id) }
    let prepared: PreparedRun
    do throws(RunRefusedError) { prepared = try await prepare(run) } catch {
      // If it was paused meanwhile, the state keeps that reason, and the caller who resumes the run gets the error.
      guard lives[id]?.beginning == beginning else { throw error }
      if await leave(run, after: error) { throw error }
      await keeper.hold(run, because: error)
      await park(id)
      throw error
    }
    // Much may have happened while the run was prepared.
    guard !isEnding, let run = store.run(id) else { return }
    let effect = change(id) { $0.stillProceeds(run, isOverPause: isOverPause, as: beginning) }
    guard case .walk = effect else { return await attempt(effect, for: id) }
    // In a shared state it has its place there. A store of one machine answers at once, so that nothing changes between
    // this look and the walk; what is recorded instead is recorded while no other walk can begin.
    if store.sharing == nil, await !GroupPlace(of: run, in: self).isFree {
      // There may be a place by the time that this is recorded.
      if await RunGroups.isAdmitted(run, by: self) { return change(id) { $0.missed() } }
      return await park(id)
    }
    clock.set(.run(id), at: nil)
    let walk = walker.walk(run, prepared) { await self.halted(id, $0, failureRun: $1) }
    change(id) { $0.began(walk) }
    keeper.tell(.began(run))
  }

  /// Leaves a run to a program that has the secret which is missing here; false if that can't be.
  private func leave(_ run: RunRecord, after error: RunRefusedError) async -> Bool {
    guard let sharing = store.sharing, let placed = run.placed(missing: error.missing, at: time.now()),
      (try? await keeper.append([placed])) != nil
    else { return false }
    await leave(run.id, to: sharing)
    return true
  }

  /// Releases a run that can't be resumed here now, for others to claim.
  private func leave(_ id: String, to sharing: any StateSharing) async {
    await sharing.abandon(id)
    // If it was released, its news is for the next holder.
    await sharing.passOn(id)
    release(id)
    if ownsAll || isEnding { return }
    interrupted.insert(id)
    // Ends when the run has begun, or others have it; without a lease it is tried again with the next one.
    Task { await takeBack(id) }
  }

  /// Carries out the effect of an event; if the run can't be resumed, it is paused and reported.
  func attempt(_ effect: RunLifecycle<RunWalk>.Effect?, for id: String) async {
    _ = try? await carryOut(effect, for: id)
  }

  /// Carries out the effect of an event of a run.
  private func carryOut(_ effect: RunLifecycle<RunWalk>.Effect?, for id: String) async throws(RunRefusedError) {
    switch effect {
    case nil, .walk: break
    case .continueRun(let isAsked): try await continueRun(id, isAsked: isAsked)
    case .poke(let walk): if !walk.engine.poke() { change(id) { $0.missed() } }
    case .end(let walk): if !walk.engine.end() { change(id) { $0.missed() } }
    case .halt(let walk): await walk.engine.pause()
    case .keepPause(let reason):
      do throws(StateError) { try await keeper.hold(id, as: .paused, reason) } catch {
        return try await carryOut(change(id) { $0.pauseFailed() }, for: id)
      }
      try await carryOut(change(id) { $0.pauseKept(store.run(id), isStopping: isStopping) }, for: id)
    case .settle:
      await keeper.holdUncertain(id)
      try await carryOut(change(id) { $0.settled(store.run(id), isStopping: isStopping) }, for: id)
    case .suspend:
      guard let run = store.run(id) else { break }
      clock.set(.run(id), at: run.wakeAt)
      followers.send(.waits(run), to: id)
      keeper.tell(.waits(run))
      await giveUp(id)
    case .park: await park(id)
    case .leave(let run):
      leave(run)
      await RunGroups.admitNext(after: run, by: self)
    }
  }

  /// A walk of a run is over: the run has ended, waits or is parked, or the program ends.
  ///
  /// - Parameter failureRun: The run that was created with its last event, to report its failure.
  private func halted(_ id: String, _ result: Result<RunRecord, StateError>, failureRun: String?) async {
    if let failureRun {
      if !ownsAll { failureRuns.append(failureRun) }
      try? await continueRun(failureRun)
    }
    for task in change(id, { $0.takeForcing() }) { task.cancel() }
    switch result {
    case .success(let run):
      await attempt(change(id) { $0.walkLeft(run, kept: store.run(id), isStopping: isStopping) }, for: id)
    case .failure(let error):
      change(id) { $0.walkFailed() }
      if let sharing = store.sharing, !keeper.isFailure(error) || store.run(id) == nil {
        // Another program resumes it, now or later; but an event that the state refuses would be refused again.
        if error.kind == .invalid { try? await keeper.hold(id, as: .paused, error.message) }
        await leave(id, to: sharing)
      } else if keeper.isFailure(error) {
        keeper.fail(error)
        release(id)
      } else {
        await refuse(id, because: error)
      }
    }
  }

  /// Pauses a run after the state has refused an event of it, unless it is over; other runs aren't affected.
  private func refuse(_ id: String, because error: StateError) async {
    keeper.tell(.refused(id, reason: error.message))
    guard store.run(id) != nil else { return release(id) }
    // When a person resumes the run, the state shows its attempts in flight, as after a crash.
    try? await keeper.hold(id, as: .paused, error.message)
    await park(id)
  }

  /// Reports the state of a run that is not being walked.
  private func park(_ id: String) async {
    if isWalked(id) { return }
    if let run = store.run(id) {
      guard run.status == .queued, !isStopping else {
        leave(run)
        return await giveUp(id)
      }
      followers.send(.waits(run), to: id)
      keeper.tell(.parked(run))
      await giveUp(id)
    } else if let ended = try? await store.finishedRun(id) {
      leave(ended)
    } else {
      release(id)
    }
  }

  private func leave(_ run: RunRecord) {
    if run.status.isEnded { keeper.tell(.ended(run)) } else if !isStopping { keeper.tell(.parked(run)) }
    followers.send(.left(run), to: run.id)
    release(run.id)
  }

  /// Forgets a run, and ends the following of it.
  func release(_ id: String) {
    change(id) { $0.released() }
    clock.set(.run(id), at: nil)
    followers.finish(id)
  }

  /// The updates of a run from now on; they end at once if this program doesn't work on the run.
  package func follow(_ id: String) -> RunUpdates {
    guard let life = lives[id], life.isHosted, !isStopping else { return .none }
    return followers.updates(of: id, first: life.walk == nil ? store.run(id).map { .waits($0) } : nil)
  }

  /// Follows a run from before its first step, and returns its record when this program's work on it ends.
  ///
  /// - Parameters:
  ///   - isAsked: Whether a person asked to resume it, even if it is paused.
  ///   - report: Called at once with every update; must not wait.
  package func run(
    _ id: String, isAsked: Bool = false, report: @escaping @Sendable (RunUpdate) -> Void
  ) async throws(RunRefusedError) -> RunRecord? {
    let following = followers.follow(id, report)
    defer { followers.remove(following.number, of: id) }
    if isAsked { try await resume(id) } else { try await continueRun(id) }
    return isStopping || failure != nil ? nil : await following.end()
  }

  /// Returns when the runs that tell of failures have ended or wait.
  package func finishFailureRuns(_ report: (String) -> Void) async -> [RunRecord] {
    var left: [RunRecord] = []
    for id in failureRuns {
      report(id)
      for await update in follow(id) {
        if case .progress = update { continue }
        break
      }
      if let run = try? await store.keptRun(id) { left.append(run) }
    }
    failureRuns = []
    return left
  }

  // MARK: Steering

  /// Something changed that a run may wait for.
  func wake(_ id: String) async {
    guard isOwn(id), let run = store.run(id) else { return }
    await attempt(change(id) { $0.changed(run) }, for: id)
  }

  /// Asks a run to end; true if it is open here.
  ///
  /// - Parameters:
  ///   - isHard: Whether attempts in flight get no time to finish.
  ///   - person: Who asks, if a person does.
  ///   - key: The digest of the key of the request.
  package func cancel(
    _ id: String, reason: String?, isHard: Bool = false, by person: String? = nil, key: RunKey? = nil
  ) async throws(StateError) -> Bool {
    guard let before = await store.openRun(id) else { return false }
    try await keeper.append([
      .cancelRequested(CancelRequested(run: id, at: time.now(), reason: reason, by: person, key: key))
    ])
    if isOwn(id), let run = store.run(id) {
      await end(run, isHard: isHard)
    } else if before.pendingCancel != nil {
      try await endAbandoned(id)
    }
    return true
  }

  /// Ends a run whose cancellation is in the state.
  func end(_ run: RunRecord, isHard: Bool = false) async {
    let effect = change(run.id) { $0.cancelled(run) }
    if case .end(let walk) = effect {
      // Ends when the grace is over, or is cancelled with the end of the walk.
      let force = Task { await walk.engine.force(after: isHard ? .zero : RunEngine.grace) }
      change(run.id) { $0.forcing.append(force) }
    }
    await attempt(effect, for: run.id)
  }

  /// Pauses a run: it starts no more steps until it is resumed; the pause is on disk when this returns.
  package func pause(_ id: String, reason: String) async throws(RunRefusedError) {
    guard let run = await store.openRun(id) else { throw RunRefusedError("there is no open run \(id)") }
    guard run.pendingCancel == nil else { throw RunRefusedError("the run \(id) is being cancelled") }
    change(id) { $0.resume(false) }
    // A run that would resume by itself no longer does.
    if run.status == .paused, !run.hasMissingDependency, !isWalked(id) { return }
    guard run.status != .uncertain else {
      throw RunRefusedError(
        "the run \(id) is uncertain and waits for a person already; tell what happened with errand runs resolve")
    }
    let isHeld = store.run(id) != nil
    if isHeld { try await carryOut(change(id) { $0.pause(reason) }, for: id) }
    do throws(StateError) { try await keeper.hold(id, as: .paused, reason) } catch {
      await attempt(change(id) { $0.pauseFailed() }, for: id)
      throw RunRefusedError(error.message)
    }
    // A program that holds it elsewhere sees the pause in the state.
    if isHeld { try await carryOut(change(id) { $0.pauseKept(store.run(id), isStopping: isStopping) }, for: id) }
  }

  /// Halts the walk of a run that another program has paused.
  func halt(_ run: RunRecord) async {
    await attempt(change(run.id) { $0.pause(run.reason ?? "") }, for: run.id)
    await attempt(change(run.id) { $0.pauseKept(store.run(run.id), isStopping: isStopping) }, for: run.id)
  }

  /// Takes an event in, durably; false if it was received before.
  package func receive(_ event: EventRecord) async throws(StateError) -> Bool {
    try await inbox.receive(event, for: self)
  }

  /// Offers an event that is on disk already to the runs that wait for it, and then to the schedules.
  func offer(_ event: EventRecord) async {
    intake.take(event)
    await inbox.planForgetting(for: self)
    await inbox.offer(event, to: self)
    intake.leave(event.id)
  }

  /// Stops in favour of another process, which asked for the folder.
  package func handOver() async {
    isHandedOver = true
    await stop()
  }

  /// Waits until another process asks for the folder, or until this host stops.
  package func awaitHandOver() async {
    if isStopping { return }
    await withCheckedContinuation { handOverWaiters.append($0) }
  }

  /// Begins nothing more, and returns when what was in flight has finished.
  package func stop() async {
    isStopping = true
    for waiter in handOverWaiters { waiter.resume() }
    handOverWaiters = []
    clock.stop()
    let walks = lives.sorted { $0.key.precedesByScalars($1.key) }.compactMap(\.value.walk)
    for walk in walks { walk.engine.stop() }
    if let sharing = store.sharing {
      // Others have each as soon as nothing of it is in flight here.
      await sharing.drain()
      let leaving = lives.map { id, life in Task { await leaveBehind(id, life.walk, to: sharing) } }
      for task in leaving { await task.value }
    }
    for walk in walks { await walk.task.value }
    keeper.watchers.finish()
    for id in followers.followed {
      if let run = store.run(id) { followers.send(.left(run), to: id) }
      release(id)
    }
  }
}
