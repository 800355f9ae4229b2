// Connects the host to a state that several programs share.
//
// A run that this program has claimed is resumed as after a start. A run that waits, or that only a person can resume,
// is released, so that it takes none of this program's places; but not while a client follows it here. A person's
// request for a run that another program holds is recorded in the state first, and that program acts on it then.
import Basics
import RunState
import Runs

extension RunHost {
  /// How often to try to claim a run that another program is releasing, and the pause between tries.
  static let mostTakings = 25
  private static let untilTaking = TimeSpan.milliseconds(200)

  /// Whether no more runs are begun here.
  package var isEnding: Bool { isStopping || failure != nil }

  /// The runs with a lifecycle to remember.
  private var idsInOrder: [String] { lives.keys.sorted { $0.precedesByScalars($1) } }

  func heed(_ news: SharedNews) async {
    guard !isStopping else { return }
    switch news {
    case .claimed(let runs):
      // These end when the runs have begun or were released; nothing that they begin outlives the host's `stop`.
      let suspects = runs.filter { $0.claims.last?.isSuspect == true }
      if !suspects.isEmpty { Task { await adopt(suspects: suspects) } }
      for run in runs where run.claims.last?.isSuspect != true { Task { await adopt(run) } }
    case .told(let id): await told(id)
    case .fenced(let id): lose(id)
    case .lost:
      keeper.tell(.shared(news))
      if !ownsAll { interrupted.formUnion(idsInOrder.filter(isWalked)) }
      for id in idsInOrder { lose(id) }
    case .back:
      keeper.tell(.shared(news))
      // These end when the runs have begun or others have them.
      for id in interrupted { Task { await takeBack(id) } }
    case .missing(let id, _):
      keeper.tell(.shared(news))
      lose(id)
    case .expired, .tookOver, .cut, .barred: keeper.tell(.shared(news))
    case .draining(let isDraining):
      self.isDraining = isDraining
      keeper.tell(.shared(news))
      // Runs with followers here go, too; their followers are then told what the state says.
      if isDraining { for id in idsInOrder where store.run(id)?.rests == true { await giveUp(id) } }
    }
  }

  /// Resumes a run that this program has claimed.
  private func adopt(_ run: RunRecord) async {
    switch run.status {
    case .paused where run.pendingCancel == nil, .uncertain: await giveUp(run.id)
    default: try? await continueRun(run.id)
    }
  }

  /// Resumes runs that may have crashed the program that held them before.
  private func adopt(suspects: [RunRecord]) async {
    // If the notes can't be recorded, the runs are resumed all the same: the next crash is noted.
    try? await keeper.append(suspects.blame(at: time.now()))
    for run in suspects { await adopt(store.run(run.id) ?? run) }
  }

  /// Something came for a run, or others wrote to it.
  private func told(_ id: String) async {
    if givingUp[id] != nil { givingUp[id] = true }
    guard let run = store.run(id) else {
      await store.sharing?.passOn(id)
      return
    }
    if run.pendingCancel != nil {
      if lives[id]?.forcing.isEmpty != false { await end(run) }
    } else if run.status == .paused, isWalked(id) {
      await halt(run)
    } else {
      await wake(id)
    }
  }

  /// Stops work on a run that another program holds, or may hold.
  private func lose(_ id: String) {
    guard let walk = lives[id]?.walk else { return release(id) }
    walk.engine.stop()
    // Ends at once; what is in flight is cancelled, and its end can't be kept.
    Task { await walk.engine.force(after: .zero) }
  }

  /// Claims a run again that a command lost with its lease, because a command claims no other runs.
  func takeBack(_ id: String) async {
    for _ in 0..<RunHost.mostTakings {
      try? await time.sleep(for: RunHost.untilTaking)
      // The walk from before may still be ending.
      if isWalked(id) { continue }
      guard interrupted.contains(id) else { return }
      // A run that waits for a person by now stays so.
      guard let run = await store.openRun(id), !run.isParked else { return _ = interrupted.remove(id) }
      // A run that another program holds is followed there. Without a lease, the next one triggers another try.
      guard let isHere = try? await take(id) else { return }
      interrupted.remove(id)
      if isHere { try? await continueRun(id) }
      return
    }
  }

  /// Releases a run that is waiting or parked; one with followers here only if this program is draining.
  func giveUp(_ id: String) async {
    guard ownsAll, !isStopping, let sharing = store.sharing, store.run(id) != nil, !isWalked(id),
      isDraining || !followers.isFollowed(id)
    else { return }
    givingUp[id] = false
    let isReleased = await sharing.release(id)
    // Notify the next holder of news that came meanwhile, because this program can do nothing for the run any more.
    let hasNews = givingUp.removeValue(forKey: id) == true
    if isReleased {
      if hasNews { await sharing.passOn(id) }
      if store.run(id) == nil, !isWalked(id) { release(id) }
    } else if let run = store.run(id), !run.rests {
      await told(id)
    }
  }

  /// Claims an open run, so that it can be resumed here; false if another program resumes it, now or later.
  ///
  /// If another program is just releasing the run, this waits for that.
  package func take(_ id: String) async throws(RunRefusedError) -> Bool {
    guard let sharing = store.sharing else { return true }
    var name = ""
    for _ in 0..<RunHost.mostTakings {
      let holder: RunHolder
      do throws(StateError) { holder = try await sharing.take(id, anyway: false) } catch {
        throw RunRefusedError(error)
      }
      switch holder {
      case .here: return true
      case .over: throw RunRefusedError("there is no open run \(id)")
      case .elsewhere(let holder):
        guard let run = await store.openRun(id), run.status == .paused || run.status == .uncertain else { return false }
        name = holder
        try? await time.sleep(for: RunHost.untilTaking)
      case .nobody(let missing):
        let run = await store.openRun(id)
        if run?.pendingCancel != nil { throw RunRefusedError.cannotFinish(missing, run: id) }
        guard run?.status == .paused else { throw RunRefusedError.lacks(missing, run: id) }
        // The next worker that has what it needs claims it.
        let reason = "waits for a worker with \(missing.map(RunNeed.inWords).joined(separator: ", "))"
        do throws(StateError) { try await keeper.hold(id, as: .queued, reason) } catch {
          throw RunRefusedError(error)
        }
        return false
      }
    }
    throw RunRefusedError("the worker \(name) holds the run \(id); try it once more")
  }
}

extension RunHost {
  /// Ends a run that was asked to cancel and that no program can resume, without its 'finally' steps.
  ///
  /// The cancellation has been in the state since an earlier request.
  func endAbandoned(_ id: String) async throws(StateError) {
    guard let sharing = store.sharing, let run = await store.openRun(id), run.uncertainSteps.isEmpty,
      let place = try await sharing.place(of: id), place.worker == nil, !place.hasWorker
    else { return }
    switch try await sharing.take(id, anyway: false) {
    // This program can.
    case .here: return await sharing.abandon(id)
    case .nobody: break
    case .elsewhere, .over: return
    }
    guard case .here = try await sharing.take(id, anyway: true), let run = store.run(id) else { return }
    try? await keeper.append(
      run.givenUp(at: time.now(), because: "because no machine that works now has all that they need"))
    // If the run can't be ended now, this program releases it, because it does nothing for it.
    if store.run(id) != nil { await sharing.abandon(id) }
  }

  /// Leaves a run to others once it has nothing in flight here, because this program ends.
  func leaveBehind(_ id: String, _ walk: RunWalk?, to sharing: any StateSharing) async {
    await walk?.task.value
    if let run = store.run(id) { followers.send(.left(run), to: id) }
    await sharing.abandon(id)
  }
}

extension RunRefusedError {
  /// No program here can carry out the end of a run that is cancelled.
  static func cannotFinish(_ needs: [String], run: String) -> RunRefusedError {
    var error = RunRefusedError(
      "the run \(run) needs \(needs.map(RunNeed.inWords).joined(separator: ", ")) to end, which this machine lacks; it "
        + "ends when a machine that has it works, or without its 'finally' steps if you cancel it once more")
    error.isAway = true
    return error
  }

  /// The refusal of a run whose needs this program doesn't meet.
  static func lacks(_ needs: [String], run: String) -> RunRefusedError {
    RunRefusedError(
      "the run \(run) needs \(needs.map(RunNeed.inWords).joined(separator: ", ")), which this machine lacks; ask one that "
        + "has it, or start errand serve there"
    )
  }
}
