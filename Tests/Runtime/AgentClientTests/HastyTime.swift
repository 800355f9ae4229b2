import Basics
import Synchronization

/// A clock on which each sleep is over at once, and is counted.
final class HastyTime: TimeSource {
  private let naps = Mutex<[TimeSpan]>([])

  /// The sleeps so far.
  var sleeps: [TimeSpan] { naps.withLock { $0 } }

  func now() -> Timestamp { ManualClock.start }

  func elapsed() -> TimeSpan { .zero }

  func sleep(for span: TimeSpan) async throws {
    naps.withLock { $0.append(span) }
    try Task.checkCancellation()
    await Task.yield()
  }
}
