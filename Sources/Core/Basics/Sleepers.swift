import Synchronization
import Threads

/// All tasks of this program that sleep on the machine's clock.
///
/// `Task.sleep` keeps about a kilobyte of a sleep that was cancelled until its end would have come, and most sleeps are
/// time limits that are cancelled: an agent that makes ten requests a second with a limit of an hour would hold 36 MB for
/// them. So sleepers are held here, where one that is cancelled is gone, and one thread wakes them, which starts with the
/// first.
final class Sleepers: @unchecked Sendable {
  // Unchecked, because what changes is touched only with a lock held.

  private struct Watch {
    /// When the thread looks next, if it does on its own.
    var next: TimeSpan?
    var isRunning = false
  }

  private let queue = SleepQueue(Watch())
  private let monitor = Monitor()
  /// Whether the thread has to look anew; for the holder of the monitor.
  private var isCalled = false

  static let all = Sleepers()

  /// How many sleep.
  var count: Int { queue.state.withLock { $0.sleepers.count } }

  func sleep(until end: TimeSpan) async throws { try await queue.sleep(until: { _ in end }, then: plan) }

  /// Makes the thread look at the first sleeper's end.
  @Sendable private func plan(_ state: inout SleepQueue<Watch>.State) {
    guard let first = state.sleepers.first, state.clock.next.map({ first.end < $0 }) ?? true else { return }
    state.clock.next = first.end
    if state.clock.isRunning {
      monitor.withLock {
        isCalled = true
        monitor.signal()
      }
    } else {
      // Where the system has no thread left, the next sleeper tries again.
      state.clock.isRunning = startThread { self.run() }
    }
  }

  /// Wakes sleepers for as long as the program runs.
  private func run() {
    while true {
      let next = queue.change { state in
        state.wake(at: SystemTime().elapsed())
        state.clock.next = state.sleepers.first?.end
        return state.clock.next
      }
      monitor.withLock {
        while !isCalled {
          guard let next else {
            monitor.wait()
            continue
          }
          let left = next - SystemTime().elapsed()
          guard left > .zero else { break }
          _ = monitor.wait(until: .now + .nanoseconds(left.nanoseconds))
        }
        isCalled = false
      }
    }
  }
}
