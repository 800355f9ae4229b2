import Synchronization

/// A clock that stands still until somebody moves it, so that days pass at once and no test sleeps.
///
/// Sleepers wake in the order of their deadlines. A test waits for the code under test to fall asleep instead of
/// guessing when it does: `await time.advanceToNextSleeper()` moves the clock exactly as far as someone waits for.
public final class ManualClock: TimeSource {
  private struct Sleeper {
    let id: Int
    let deadline: TimeSpan
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct Watcher {
    let count: Int
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var now: Timestamp
    var elapsed = TimeSpan.zero
    var nextID = 0
    /// In the order of their deadlines, and of their coming where these are equal.
    var sleepers: [Sleeper] = []
    /// Who was cancelled before falling asleep.
    var cancelled: Set<Int> = []
    /// Tests that wait until that many sleep.
    var watchers: [Watcher] = []
  }

  private let state: Mutex<State>

  /// Creates a clock that shows an instant.
  public init(_ now: Timestamp = ManualClock.start) { state = Mutex(State(now: now)) }

  /// A Friday morning: 2026-11-20T09:30:00Z.
  public static let start = Timestamp(seconds: 1_795_167_000) ?? .earliest

  /// The wall clock's instant.
  public func now() -> Timestamp { state.withLock { $0.now } }
  /// How far it was moved so far.
  public func elapsed() -> TimeSpan { state.withLock { $0.elapsed } }

  /// Waits until the clock was moved that far.
  public func sleep(for span: TimeSpan) async throws {
    guard span > .zero else { return try Task.checkCancellation() }
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let ready = state.withLock { state -> [Watcher]? in
          if state.cancelled.remove(id) != nil { return nil }
          let sleeper = Sleeper(id: id, deadline: state.elapsed + span, continuation: continuation)
          let index = state.sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? state.sleepers.endIndex
          state.sleepers.insert(sleeper, at: index)
          return ManualClock.takeReady(&state)
        }
        guard let ready else { return continuation.resume(throwing: CancellationError()) }
        for watcher in ready { watcher.continuation.resume() }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
          state.cancelled.insert(id)
          return nil
        }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
    state.withLock { _ = $0.cancelled.remove(id) }
  }

  /// How many sleep now.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Waits until at least that many sleep.
  public func waitForSleepers(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        guard state.sleepers.count < count else { return true }
        state.watchers.append(Watcher(count: count, continuation: continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Moves both clocks on and wakes whoever is due, in order.
  public func advance(by span: TimeSpan) {
    let due = state.withLock { state in
      state.elapsed = state.elapsed + span
      state.now = state.now.advanced(by: span) ?? .latest
      let due = state.sleepers.prefix { $0.deadline <= state.elapsed }
      state.sleepers.removeFirst(due.count)
      return due
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Waits until someone sleeps, moves both clocks to the first deadline and wakes who is due; gives how far it was.
  @discardableResult public func advanceToNextSleeper() async -> TimeSpan {
    await waitForSleepers()
    let span = state.withLock { state in state.sleepers.first.map { $0.deadline - state.elapsed } ?? .zero }
    advance(by: span)
    return span
  }

  /// Sets the wall clock, as people and time servers do; nobody wakes.
  public func setWallClock(to now: Timestamp) { state.withLock { $0.now = now } }

  private static func takeReady(_ state: inout State) -> [Watcher] {
    let count = state.sleepers.count
    let ready = state.watchers.filter { $0.count <= count }
    state.watchers.removeAll { $0.count <= count }
    return ready
  }
}
