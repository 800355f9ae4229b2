import Synchronization

/// A clock that moves only when a test moves it, so that days pass at once and no test sleeps.
///
/// Sleepers wake in the order of their deadlines. A test waits for the code under test to fall asleep instead of
/// guessing when it does: `await time.advanceToNextSleeper()` moves the clock to the first deadline.
public final class ManualClock: TimeSource {
  private struct Watcher {
    let count: Int
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct Face {
    var now: Timestamp
    var elapsed = TimeSpan.zero
    /// Tests that wait until that many sleep.
    var watchers: [Watcher] = []
  }

  private let queue: SleepQueue<Face>

  /// Creates a clock that shows an instant.
  public init(_ now: Timestamp = ManualClock.start) { queue = SleepQueue(Face(now: now)) }

  /// A Friday morning: 2026-11-20T09:30:00Z.
  public static let start = Timestamp(seconds: 1_795_167_000) ?? .earliest

  /// The wall clock's instant.
  public func now() -> Timestamp { queue.state.withLock { $0.clock.now } }
  /// How far it was moved so far.
  public func elapsed() -> TimeSpan { queue.state.withLock { $0.clock.elapsed } }

  /// Waits until the clock was moved that far.
  public func sleep(for span: TimeSpan) async throws {
    guard span > .zero else { return try Task.checkCancellation() }
    try await queue.sleep(until: { $0.elapsed + span }) { state in
      let count = state.sleepers.count
      for watcher in state.clock.watchers where watcher.count <= count { watcher.continuation.resume() }
      state.clock.watchers.removeAll { $0.count <= count }
      // The clock may have been moved while the task was falling asleep.
      state.wake(at: state.clock.elapsed)
    }
  }

  /// How many sleep now.
  public var sleeperCount: Int { queue.state.withLock { $0.sleepers.count } }

  /// How long it is until the first sleeper wakes; nil if none sleeps.
  package var untilNextSleeper: TimeSpan? {
    queue.state.withLock { state in state.sleepers.first.map { max(.zero, $0.end - state.clock.elapsed) } }
  }

  /// Waits until at least that many sleep.
  public func waitForSleepers(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReady = queue.state.withLock { state in
        guard state.sleepers.count < count else { return true }
        state.clock.watchers.append(Watcher(count: count, continuation: continuation))
        return false
      }
      if isReady { continuation.resume() }
    }
  }

  /// Moves both clocks on and wakes the sleepers that are due, in order.
  public func advance(by span: TimeSpan) {
    queue.change { state in
      state.clock.elapsed = state.clock.elapsed + span
      state.clock.now = state.clock.now.advanced(by: span) ?? .latest
      state.wake(at: state.clock.elapsed)
    }
  }

  /// Waits for a sleeper, moves both clocks to the first deadline and wakes the sleepers that are due; returns how far
  /// it moved.
  @discardableResult public func advanceToNextSleeper() async -> TimeSpan {
    await waitForSleepers()
    let span = untilNextSleeper ?? .zero
    advance(by: span)
    return span
  }

  /// Sets the wall clock, as people and time servers do; no sleeper wakes.
  public func setWallClock(to now: Timestamp) { queue.state.withLock { $0.clock.now = now } }
}
