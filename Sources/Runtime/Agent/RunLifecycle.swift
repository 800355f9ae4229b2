// Decides on this program's actions for one run.
//
// The state holds the record of a run (`RunRecord`). Besides, a run is walked or not, and requests of people and events
// come while it is being walked, prepared or recorded. The lifecycle decides on the effect of each: a caller reports an
// event, and the answer is the host's next action. It waits for nothing and does no I/O.
//
//     away          no walk is under way; the state alone holds the run
//     beginning     a caller decides whether a walk begins, and the decision is not in the state yet
//     walked        an engine walks the run
//     pausing       the run is to be paused, and its walk is coming to a halt
//     keepingPause  no walk is under way, and none may begin before the pause is in the state
//
// One caller at a time decides on a beginning: whether the run has a place in its group, and whether it can be
// prepared. If two did, one could record that the run is skipped while the other begins a walk of it. A caller that
// comes meanwhile doesn't decide; the decision is made once more for it, unless a walk begins.
//
// No walk begins during a resolution either, because a walk knows only the state from before it began. If something
// comes for a run that its walk can't see any more, or that can't be walked yet, the run has news: it is walked once
// more as soon as possible. If a person resumes or cancels a run that is being paused, it resumes once the pause is
// over.
package import RunState

/// The life of one run in this program; `Walk` is the run's current walk.
package struct RunLifecycle<Walk> {
  /// A pause that is not over yet.
  package struct Pause: Equatable {
    var reason: String
    /// The number of callers that are recording it: each caller that asked for it, and the host if a walk has
    /// overwritten it.
    var keepers = 1
    /// Whether a person has resumed the run meanwhile.
    var isResumed = false
  }

  /// A decision on whether a walk begins, which is not in the state yet.
  package struct Beginning: Equatable {
    /// Distinguishes it from an earlier one, which a pause has interrupted.
    let number: Int
    /// Whether a person has asked for the run meanwhile.
    var isAsked = false
  }

  package enum Phase {
    case away
    case beginning(Beginning)
    case walked(Walk)
    case pausing(Walk, Pause)
    case keepingPause(Pause)
  }

  /// The host's next action.
  package enum Effect {
    /// Find a place for the run and prepare it, ask with `stillProceeds` whether it may be walked, and begin; then say
    /// `beginningEnded`.
    case walk
    /// Resume the run, as for a new request.
    case continueRun(isAsked: Bool)
    /// Make the walk look at changes; report `missed` if it does not.
    case poke(Walk)
    /// Make the walk start nothing but `finally`; report `missed` if it does not.
    case end(Walk)
    /// Make the walk halt.
    case halt(Walk)
    /// Record the pause, then report `pauseKept`.
    case keepPause(reason: String)
    /// Record the uncertain steps of the run, then report `settled`.
    case settle
    /// Set the alarm, and report that the run waits.
    case suspend
    /// Report the state of the run, and forget the run unless it is queued.
    case park
    /// Report the end of the run, and let the next run of its group begin.
    case leave(RunRecord)
  }

  package private(set) var phase = Phase.away
  /// Whether this program has to work on the run until it ends or only a person can resume it.
  private(set) var isHosted = false
  /// Whether something came for the run that no walk has seen.
  package private(set) var hasNews = false
  /// Records the last of the resolutions of the run that are not in the state yet.
  private(set) var resolution: Task<Result<Void, RunRefusedError>, Never>?
  private var resolutionCount = 0
  /// The steps whose decisions are being recorded.
  var deciding: Set<StepPath> = []
  /// The requests that wait until one of these decisions is recorded.
  var decisionWaiters: [CheckedContinuation<Void, Never>] = []
  /// The tasks that end the walk by force when the grace of a cancellation is over.
  var forcing: [Task<Void, Never>] = []

  package init() {}

  package var walk: Walk? {
    switch phase {
    case .walked(let walk), .pausing(let walk, _): walk
    case .away, .beginning, .keepingPause: nil
    }
  }

  /// The number of the beginning that is being decided on.
  package var beginning: Int? { if case .beginning(let beginning) = phase { beginning.number } else { nil } }

  /// Whether there is nothing to remember of the run.
  var isBlank: Bool {
    guard case .away = phase else { return false }
    return !isHosted && resolution == nil && deciding.isEmpty
  }

  // MARK: Resuming

  /// This program waits for the run's next event or instant.
  mutating func host() { isHosted = true }

  /// A person resumes a run that is being paused, or revokes that.
  package mutating func resume(_ isResumed: Bool = true) {
    switch phase {
    case .pausing(let walk, var pause):
      pause.isResumed = isResumed
      phase = .pausing(walk, pause)
    case .keepingPause(var pause):
      pause.isResumed = isResumed
      phase = .keepingPause(pause)
    case .away, .beginning, .walked: break
    }
  }

  /// The run is to be walked.
  ///
  /// - Parameters:
  ///   - isOverPause: Whether a person asked for it when the run was paused.
  ///   - isAsked: Whether a person asked for it.
  ///   - number: Distinguishes this beginning from every other.
  package mutating func proceed(
    _ run: RunRecord, isOverPause: Bool, isAsked: Bool = false, as number: Int = 0
  ) -> Effect? {
    if walk != nil { return nil }
    isHosted = true
    if case .beginning(var beginning) = phase {
      beginning.isAsked = beginning.isAsked || isAsked
      phase = .beginning(beginning)
    }
    guard case .away = phase, resolution == nil else {
      hasNews = true
      return nil
    }
    guard mayProceed(run, isOverPause) else { return .park }
    phase = .beginning(Beginning(number: number))
    // It sees what is in the state now.
    hasNews = false
    return .walk
  }

  /// Whether the run may be walked now that it is prepared; a pause or a resolution that came since counts.
  package mutating func stillProceeds(_ run: RunRecord, isOverPause: Bool, as number: Int = 0) -> Effect? {
    guard beginning == number else { return nil }
    guard resolution == nil else {
      hasNews = true
      return nil
    }
    return mayProceed(run, isOverPause) ? .walk : .park
  }

  private func mayProceed(_ run: RunRecord, _ isOverPause: Bool) -> Bool {
    isOverPause || run.status != .paused || run.pendingCancel != nil
  }

  /// A decision on a beginning is in the state, or a walk has begun.
  package mutating func beginningEnded(_ number: Int = 0, isStopping: Bool) -> Effect? {
    guard case .beginning(let beginning) = phase, beginning.number == number else { return nil }
    phase = .away
    // A run that a resolution holds back resumes after the resolution.
    guard hasNews, resolution == nil, !isStopping else { return nil }
    hasNews = false
    return .continueRun(isAsked: beginning.isAsked)
  }

  /// A walk of the run has begun.
  package mutating func began(_ walk: Walk) {
    phase = .walked(walk)
    hasNews = false
  }

  /// Something that the run may wait for is in the state.
  package func changed(_ run: RunRecord) -> Effect? {
    if let walk { return .poke(walk) }
    // If only a person can resume the run, it sees the change then.
    return run.status == .paused || run.status == .uncertain ? nil : .continueRun(isAsked: false)
  }

  /// The cancellation of the run is in the state.
  package func cancelled(_ run: RunRecord) -> Effect? {
    if let walk { return .end(walk) }
    return run.status == .uncertain ? nil : .continueRun(isAsked: false)
  }

  /// A walk that had left the run already did not see what came.
  mutating func missed() { hasNews = true }

  // MARK: Coming to a halt

  /// A walk of the run is over.
  ///
  /// - Parameters:
  ///   - run: The run as its walk left it.
  ///   - kept: The run as the state has it now; nil if it is over.
  package mutating func walkLeft(_ run: RunRecord, kept: RunRecord?, isStopping: Bool) -> Effect? {
    guard !run.status.isEnded, case .pausing(_, let pause) = phase else {
      phase = .away
      return run.status.isEnded ? .leave(run) : .settle
    }
    phase = .keepingPause(pause)
    // The callers that pause the run report when the pause is in the state; until then no walk may begin, or the pause
    // would stop it.
    return pause.keepers > 0 ? nil : pauseIsOver(pause, kept ?? run, isStopping: isStopping)
  }

  /// The tasks that would end the walk by force are removed with it.
  mutating func takeForcing() -> [Task<Void, Never>] {
    defer { forcing = [] }
    return forcing
  }

  /// A walk of the run failed with the state.
  package mutating func walkFailed() { phase = .away }

  /// A run whose walk is over is in the state as it is to stay; nil if it is over.
  mutating func settled(_ run: RunRecord?, isStopping: Bool) -> Effect? {
    guard case .away = phase else { return nil }
    // It came to a halt for a pause that could not be kept.
    if run?.status == .running, !isStopping { return .continueRun(isAsked: false) }
    guard run?.status == .waiting, !isStopping else { return .park }
    guard hasNews else { return .suspend }
    hasNews = false
    return .continueRun(isAsked: false)
  }

  /// The run is forgotten, until it is to be walked again.
  mutating func released() { isHosted = false }

  // MARK: Pausing

  /// The run is to be paused; a walk begins nothing more, and none begins until the pause is kept.
  package mutating func pause(_ reason: String) -> Effect? {
    switch phase {
    case .walked(let walk):
      phase = .pausing(walk, Pause(reason: reason))
      return .halt(walk)
    case .pausing(let walk, let pause):
      phase = .pausing(walk, Pause(reason: reason, keepers: pause.keepers + 1))
      return .halt(walk)
    case .keepingPause(let pause): phase = .keepingPause(Pause(reason: reason, keepers: pause.keepers + 1))
    case .away, .beginning: phase = .keepingPause(Pause(reason: reason))
    }
    return nil
  }

  /// A caller has recorded the pause, or no longer has to.
  package mutating func pauseKept(_ run: RunRecord?, isStopping: Bool) -> Effect? {
    switch phase {
    case .pausing(let walk, var pause) where pause.keepers > 0:
      pause.keepers -= 1
      phase = .pausing(walk, pause)
      return .halt(walk)
    case .keepingPause(var pause):
      pause.keepers -= 1
      phase = .keepingPause(pause)
      return pause.keepers > 0 ? nil : pauseIsOver(pause, run, isStopping: isStopping)
    // The run has ended, or its walk failed with the state.
    case .away, .beginning, .walked, .pausing: return nil
    }
  }

  /// Decides what follows once no walk is under way and no caller records the pause; nil for a run that is over.
  private mutating func pauseIsOver(_ pause: Pause, _ run: RunRecord?, isStopping: Bool) -> Effect? {
    phase = .away
    guard let run else { return nil }
    if run.status == .uncertain { return .settle }
    if pause.isResumed || run.pendingCancel != nil {
      return isStopping ? .settle : .continueRun(isAsked: pause.isResumed)
    }
    if run.status == .paused { return .settle }
    // Its walk wrote that it waits after the pause was in the state.
    phase = .keepingPause(Pause(reason: pause.reason))
    return .keepPause(reason: pause.reason)
  }

  /// A caller could not record the pause.
  package mutating func pauseFailed() -> Effect? {
    switch phase {
    case .pausing(let walk, var pause) where pause.keepers > 0:
      pause.keepers -= 1
      phase = pause.keepers > 0 ? .pausing(walk, pause) : .walked(walk)
    case .keepingPause(var pause):
      pause.keepers -= 1
      phase = pause.keepers > 0 ? .keepingPause(pause) : .away
      if pause.keepers > 0 { return nil }
      if hasNews || pause.isResumed {
        hasNews = false
        return .continueRun(isAsked: pause.isResumed)
      }
      return isHosted ? .settle : nil
    case .away, .beginning, .walked, .pausing: break
    }
    return nil
  }

  // MARK: Resolving

  /// A resolution of the run is being kept, after those before it.
  mutating func resolving(by task: Task<Result<Void, RunRefusedError>, Never>) {
    resolution = task
    resolutionCount += 1
  }

  /// A resolution is in the state, or refused.
  mutating func resolutionEnded() {
    resolutionCount -= 1
    if resolutionCount == 0 { resolution = nil }
  }

  /// The caller that asked for the resolution has its answer.
  mutating func resolved() -> Effect? {
    // While the run is held by another event, the news is handled after that.
    guard hasNews, resolution == nil, case .away = phase else { return nil }
    hasNews = false
    return .continueRun(isAsked: false)
  }
}
