import Synchronization

/// The tasks that sleep until instants of one clock, behind one lock together with the clock's own state.
///
/// A task that is cancelled leaves the queue at once. Tasks are woken after the lock is released: a cancellation holds
/// the task while it waits for this lock, and waking needs the task.
final class SleepQueue<Clock: Sendable>: Sendable {
  struct Sleeper: Sendable {
    let end: TimeSpan
    let id: Int
    let continuation: CheckedContinuation<Void, any Error>
  }

  struct State: Sendable {
    var clock: Clock
    /// In the order of their ends, and of their coming where these are equal.
    fileprivate(set) var sleepers: [Sleeper] = []
    fileprivate var woken: [Sleeper] = []
    fileprivate var lastID = 0
    /// Sleepers that were cancelled before they fell asleep.
    fileprivate var cancelled: Set<Int> = []

    /// Where a sleeper is, or belongs.
    fileprivate func place(of end: TimeSpan, _ id: Int) -> Int {
      var (low, high) = (0, sleepers.count)
      while low < high {
        let middle = low + (high - low) / 2
        if (sleepers[middle].end, sleepers[middle].id) < (end, id) { low = middle + 1 } else { high = middle }
      }
      return low
    }

    /// Wakes the sleepers whose instant has come, in order.
    mutating func wake(at now: TimeSpan) {
      let due = sleepers.prefix { $0.end <= now }
      sleepers.removeFirst(due.count)
      woken += due
    }
  }

  let state: Mutex<State>

  init(_ clock: Clock) { state = Mutex(State(clock: clock)) }

  /// Changes the state, and then resumes the tasks that the change woke.
  @discardableResult func change<Output>(_ body: (inout State) -> Output) -> Output {
    let (output, woken) = state.withLock { state -> (Output, [Sleeper]) in
      let output = body(&state)
      defer { state.woken = [] }
      return (output, state.woken)
    }
    for sleeper in woken { sleeper.continuation.resume() }
    return output
  }

  /// Sleeps until an instant.
  ///
  /// - Parameter change: Called under the lock when the task is asleep.
  func sleep(until instant: @Sendable (Clock) -> TimeSpan, then change: @Sendable (inout State) -> Void) async throws {
    let (end, id) = state.withLock { state in
      state.lastID += 1
      return (instant(state.clock), state.lastID)
    }
    defer { state.withLock { _ = $0.cancelled.remove(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isAsleep = self.change { state in
          if state.cancelled.contains(id) { return false }
          state.sleepers.insert(Sleeper(end: end, id: id, continuation: continuation), at: state.place(of: end, id))
          change(&state)
          return true
        }
        if !isAsleep { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        let place = state.place(of: end, id)
        guard place < state.sleepers.count, state.sleepers[place].id == id else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: place)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
