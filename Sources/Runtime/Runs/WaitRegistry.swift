// How a run waits without holding anything.
//
// A step that has to wait suspends: it says until when, and no longer counts as active. A walk begins with one active
// branch; each parallel branch counts as one more, and hands its count back to its parent when it ends, so that the
// count is never less than the number at work. While a branch is active, a suspended step continues in place when its
// instant comes. When none is, the walk ends: every suspended step ends with `waiting`, the steps around it unwind, and
// the run says when it has something to do. Its host then resumes it in a new walk, which finds in the records what it
// waits for.
//
// A walk whose next instant is less than a minute away (`RunSurroundings.suspendThreshold`) stays, because ending it
// costs more than it saves: the recipe would be checked again, and everything that was done looked up again. A
// suspended step holds a continuation; one sleeper serves the whole run. It sleeps for a minute at a time, so that it
// notices a clock that is set forward meanwhile.
import Basics
import Synchronization

/// Counts a run's active branches and holds its waiting steps.
final class WaitRegistry: Sendable {
  /// The waits of the run when its walk leaves.
  struct Departure: Sendable {
    /// The first instant at which a step continues without a call.
    var wakeAt: Timestamp?
    /// The reasons for waiting, the earliest first.
    var reasons: [String]
    /// The number of calls until then.
    fileprivate var calls: Int
  }

  /// When a parked step wants to look again.
  struct Alarm: Sendable {
    /// On the wall clock.
    var at: Timestamp
    /// On the monotonic clock, which keeps a delay from growing when the wall clock is set back.
    var elapsed: TimeSpan?
  }

  private struct Parked {
    var continuation: CheckedContinuation<Void, Never>
    var alarm: Alarm?
    var reason: String
  }

  private struct State {
    var activeCount = 1
    var calls = 0
    var lastNumber = 0
    var parked: [Int: Parked] = [:]
    /// The steps that were called before they parked.
    var called: Set<Int> = []
    var departure: Departure?
    var isClosed = false
    var sleeper: Task<Void, Never>?
    /// How long the sleeper sleeps at most, and since when.
    var sleepsUntil: TimeSpan?
  }

  private let time: any TimeSource
  /// Lets the time pass that all steps wait for, instead of sleeping.
  private let skip: (@Sendable (TimeSpan) -> Void)?
  private let state = Mutex(State())

  /// A walk that has something to do sooner than that stays, unless its surroundings set another threshold; and the
  /// sleeper sleeps at most that long at once.
  static let suspendThreshold = TimeSpan.seconds(60)

  private let suspendThreshold: TimeSpan

  init(time: any TimeSource, suspendThreshold: TimeSpan, skip: (@Sendable (TimeSpan) -> Void)? = nil) {
    self.time = time
    self.suspendThreshold = suspendThreshold
    self.skip = skip
  }

  // MARK: Walks

  /// Begins a walk.
  func begin() {
    state.withLock { state in
      state.activeCount = 1
      state.departure = nil
    }
  }

  /// The waits of the run when its walk left; nil if it hasn't.
  var departure: Departure? { state.withLock { $0.departure } }

  /// Ends this program's waiting, unless a call came since the walk left, so that it has to be walked again.
  func close() -> Bool {
    state.withLock { state in
      state.isClosed = state.departure?.calls == state.calls
      return state.isClosed
    }
  }

  /// Ends this program's waiting for good.
  func end() { state.withLock { $0.isClosed = true } }

  /// Makes every parked step check again; false if none will, because the run was left or is over.
  @discardableResult func call() -> Bool {
    let (isOpen, woken) = state.withLock { state -> (Bool, [Parked]) in
      if state.isClosed { return (false, []) }
      state.calls += 1
      return (true, wake(&state) { _ in true })
    }
    for parked in woken { parked.continuation.resume() }
    return isOpen
  }

  /// How many calls there were; taken before a look, so that no call between the look and the wait is lost.
  var calls: Int { state.withLock { $0.calls } }

  // MARK: Active branches

  /// Counts a branch that is about to begin beside others.
  func addActive() { state.withLock { $0.activeCount += 1 } }

  /// Stops counting a branch that waits for those beside it; each of them hands over its own count when it ends.
  func removeActive() {
    let woken = state.withLock { state in
      state.activeCount -= 1
      return leaveIfIdle(&state)
    }
    for parked in woken { parked.continuation.resume() }
  }

  // MARK: Waiting

  /// Waits until it is worth looking again: the alarm, a call, or the end of the scope.
  func park(
    until alarm: Alarm?, for reason: String, since calls: Int, in scope: CancelScope
  ) async throws(StepInterruption) {
    try scope.check()
    let number = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    scope.watch(as: number) { [self] in wake(number) }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let woken = state.withLock { state -> [Parked] in
          let parked = Parked(continuation: continuation, alarm: alarm, reason: reason)
          if state.called.contains(number) || state.calls != calls || state.departure != nil { return [parked] }
          state.parked[number] = parked
          state.activeCount -= 1
          let woken = leaveIfIdle(&state)
          if woken.isEmpty { setSleeper(&state) }
          return woken
        }
        for parked in woken { parked.continuation.resume() }
      }
    } onCancel: {
      wake(number)
    }
    scope.unwatch(number)
    let hasLeft = state.withLock { state in
      state.called.remove(number)
      return state.departure != nil
    }
    try scope.check()
    if hasLeft { throw .waiting }
  }

  private func wake(_ number: Int) {
    let parked = state.withLock { state -> Parked? in
      guard let parked = state.parked.removeValue(forKey: number) else {
        state.called.insert(number)
        return nil
      }
      state.activeCount += 1
      setSleeper(&state)
      return parked
    }
    parked?.continuation.resume()
  }

  /// Removes the steps that continue; each is active again.
  private func wake(_ state: inout State, _ isWoken: (Parked) -> Bool) -> [Parked] {
    let woken = state.parked.filter { isWoken($0.value) }.sorted { $0.key < $1.key }
    for (number, _) in woken { state.parked[number] = nil }
    state.activeCount += woken.count
    setSleeper(&state)
    return woken.map(\.value)
  }

  /// Leaves if no branch is active and nothing is due soon.
  private func leaveIfIdle(_ state: inout State) -> [Parked] {
    guard state.activeCount == 0, state.departure == nil, !state.parked.isEmpty else { return [] }
    if let left = untilNext(state), left < suspendThreshold {
      if let skip {
        // Ends at once.
        Task { [self] in
          skip(left)
          ring()
        }
      }
      return []
    }
    // In an order that is independent of which branch parked first.
    let parked = state.parked.values.sorted {
      ($0.alarm?.at ?? .latest, $0.reason) < ($1.alarm?.at ?? .latest, $1.reason)
    }
    state.departure = Departure(
      wakeAt: parked.compactMap(\.alarm?.at).min(), reasons: parked.map(\.reason), calls: state.calls)
    return wake(&state) { _ in true }
  }

  // MARK: The sleeper

  /// How long it is until a parked step has something to do.
  private func untilNext(_ state: State) -> TimeSpan? {
    let (now, elapsed) = (time.now(), time.elapsed())
    return state.parked.values.compactMap { $0.alarm?.left(at: now, elapsed) }.min()
  }

  private func setSleeper(_ state: inout State) {
    guard let left = untilNext(state) else {
      state.sleeper?.cancel()
      state.sleeper = nil
      return
    }
    let span = min(max(left, .zero), WaitRegistry.suspendThreshold)
    let end = time.elapsed() + span
    if state.sleeper != nil, let until = state.sleepsUntil, until <= end { return }
    state.sleeper?.cancel()
    state.sleepsUntil = end
    // Cancelled when no step is parked any more, or when one has something to do before it wakes.
    state.sleeper = Task { [self] in
      do { try await time.sleep(for: span) } catch { return }
      ring()
    }
  }

  private func ring() {
    let woken = state.withLock { state -> [Parked] in
      state.sleeper = nil
      let (now, elapsed) = (time.now(), time.elapsed())
      return wake(&state) { $0.alarm.map { $0.left(at: now, elapsed) <= .zero } ?? false }
    }
    for parked in woken { parked.continuation.resume() }
  }
}

extension WaitRegistry.Alarm {
  func left(at now: Timestamp, _ elapsed: TimeSpan) -> TimeSpan {
    let left = at.span(since: now) ?? TimeSpan(nanoseconds: at > now ? .max : .min)
    return self.elapsed.map { min(left, $0 - elapsed) } ?? left
  }
}
