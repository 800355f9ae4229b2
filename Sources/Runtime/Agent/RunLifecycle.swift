// What this program does with one run.
//
// The state holds what is known of a run (`RunRecord`). Beside that, a run is walked or not, and people and events come
// while it is being walked, prepared or kept. The lifecycle decides what follows from each: it is told what happened,
// and answers with what the host has to do next. It waits for nothing and does no I/O.
//
//     away          no walk is under way; the state alone holds the run
//     beginning     it is being decided whether a walk begins, and what is decided is not in the state yet
//     walked        an engine carries the run on
//     pausing       the run is to be paused, and its walk is coming to a halt
//     keepingPause  no walk is under way, and none may begin before the pause is in the state
//
// One caller at a time decides on a beginning: whether the run has a place in its group, whether it can be prepared. If
// two did, one could record that the run is skipped while the other begins a walk of it. A caller that comes meanwhile
// leaves it at that, and has the run decided on once more unless a walk begins.
//
// Beside a resolution no walk begins either, because a walk knows only what was in the state when it began. Something
// that comes for a run which a walk cannot see any more, or that cannot be walked yet, is news: the run is walked once
// more as soon as it can be. A person who resumes a run that is being paused has it go on once the pause is over, and so
// does one who cancels it.
package import RunState

/// The life of one run in this program; `Walk` is what carries it on.
package struct RunLifecycle<Walk> {
  /// A pause that is not over yet.
  package struct Pause: Equatable {
    var reason: String
    /// How many are keeping it: each caller that asked for it, and the host where a walk has written over it.
    var keepers = 1
    /// Whether a person wants the run to go on after all.
    var isResumed = false
  }

  /// A decision on whether a walk begins, which is not in the state yet.
  package struct Beginning: Equatable {
    /// What tells it from an earlier one, which a pause has overtaken.
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

  /// What the host does next.
  package enum Effect {
    /// Find a place for the run and prepare it, ask with `stillGoesOn` whether it may be walked, and begin; then say
    /// `beginningEnded`.
    case walk
    /// Carry the run on, as if that had been asked for anew.
    case carryOn(isAsked: Bool)
    /// Have the walk look at what changed; `missed` if it does not.
    case poke(Walk)
    /// Have the walk begin nothing but `finally`; `missed` if it does not.
    case end(Walk)
    /// Have the walk come to a halt.
    case halt(Walk)
    /// Keep the pause, then say `pauseKept`.
    case keepPause(reason: String)
    /// Keep what is uncertain of the run, then say `settled`.
    case settle
    /// Set the alarm, and report that the run waits.
    case suspend
    /// Report the state of the run, and forget the run unless it is queued.
    case stand
    /// Report the end of the run, and let its group go on.
    case leave(RunRecord)
  }

  package private(set) var phase = Phase.away
  /// Whether this program has to carry the run on until it ends or only a person can have it go on.
  private(set) var isHosted = false
  /// Whether something came for the run that no walk has seen.
  package private(set) var hasNews = false
  /// What keeps the last of the resolutions of the run that are on their way to the state.
  private(set) var resolution: Task<Result<Void, RunRefusedError>, Never>?
  private var resolutionCount = 0
  /// The steps for which a decision is being kept.
  var deciding: Set<StepPath> = []
  /// What ends the walk by force when the grace of a cancellation is over.
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

  // MARK: Going on

  /// This program waits for what the run waits for.
  mutating func host() { isHosted = true }

  /// A person wants a run that is being paused to go on after that, or no longer wants it.
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
  ///   - number: What tells this beginning from every other.
  package mutating func goOn(
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
    guard mayGoOn(run, isOverPause) else { return .stand }
    phase = .beginning(Beginning(number: number))
    // It sees what is in the state now.
    hasNews = false
    return .walk
  }

  /// Whether the run may be walked now that it is prepared; a pause or a resolution that came since counts.
  package mutating func stillGoesOn(_ run: RunRecord, isOverPause: Bool, as number: Int = 0) -> Effect? {
    guard beginning == number else { return nil }
    guard resolution == nil else {
      hasNews = true
      return nil
    }
    return mayGoOn(run, isOverPause) ? .walk : .stand
  }

  private func mayGoOn(_ run: RunRecord, _ isOverPause: Bool) -> Bool {
    isOverPause || run.status != .paused || run.pendingCancel != nil
  }

  /// A decision on a beginning is in the state, or a walk has begun.
  package mutating func beginningEnded(_ number: Int = 0, isStopping: Bool) -> Effect? {
    guard case .beginning(let beginning) = phase, beginning.number == number else { return nil }
    phase = .away
    // What is kept back by a resolution goes on after it.
    guard hasNews, resolution == nil, !isStopping else { return nil }
    hasNews = false
    return .carryOn(isAsked: beginning.isAsked)
  }

  /// A walk of the run has begun.
  package mutating func began(_ walk: Walk) {
    phase = .walked(walk)
    hasNews = false
  }

  /// Something that the run may wait for is in the state.
  package func changed(_ run: RunRecord) -> Effect? {
    if let walk { return .poke(walk) }
    // What only a person has go on sees it then.
    return run.status == .paused || run.status == .uncertain ? nil : .carryOn(isAsked: false)
  }

  /// The cancellation of the run is in the state.
  package func cancelled(_ run: RunRecord) -> Effect? {
    if let walk { return .end(walk) }
    return run.status == .uncertain ? nil : .carryOn(isAsked: false)
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
    // Who asked for it says when it is in the state; nothing may begin before that, or the pause would stop it.
    return pause.keepers > 0 ? nil : pauseIsOver(pause, kept ?? run, isStopping: isStopping)
  }

  /// What was to end the walk by force goes with it.
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
    if run?.status == .running, !isStopping { return .carryOn(isAsked: false) }
    guard run?.status == .waiting, !isStopping else { return .stand }
    guard hasNews else { return .suspend }
    hasNews = false
    return .carryOn(isAsked: false)
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
      return isStopping ? .settle : .carryOn(isAsked: pause.isResumed)
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
        return .carryOn(isAsked: pause.isResumed)
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

  /// Who asked for the resolution has been answered.
  mutating func resolved() -> Effect? {
    // While something else holds the run, the news is for what comes after it.
    guard hasNews, resolution == nil, case .away = phase else { return nil }
    hasNews = false
    return .carryOn(isAsked: false)
  }
}
