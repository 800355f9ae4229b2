import Basics
import Synchronization

/// The two clocks of a simulated machine: one that people set, and a monotonic one.
final class SimulatedTime: TimeSource {
  private struct Sleeper {
    var id: Int
    var deadline: TimeSpan
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct Content {
    var now: Timestamp
    var elapsed = TimeSpan.zero
    var lastID = 0
    /// In the order of their deadlines, then of arrival.
    var sleepers: [Sleeper] = []
    /// The sleepers that were cancelled before they slept.
    var cancelled: Set<Int> = []
  }

  private let content: Mutex<Content>

  init(_ now: Timestamp) { content = Mutex(Content(now: now)) }

  func now() -> Timestamp { content.withLock { $0.now } }
  func elapsed() -> TimeSpan { content.withLock { $0.elapsed } }

  func sleep(for span: TimeSpan) async throws {
    guard span > .zero else { return try Task.checkCancellation() }
    let id = content.withLock { content in
      content.lastID += 1
      return content.lastID
    }
    defer { content.withLock { _ = $0.cancelled.remove(id) } }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isAsleep = content.withLock { content in
          if content.cancelled.contains(id) { return false }
          let sleeper = Sleeper(id: id, deadline: content.elapsed + span, continuation: continuation)
          let index = content.sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? content.sleepers.endIndex
          content.sleepers.insert(sleeper, at: index)
          return true
        }
        if !isAsleep { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let sleeper = content.withLock { content -> Sleeper? in
        guard let index = content.sleepers.firstIndex(where: { $0.id == id }) else {
          content.cancelled.insert(id)
          return nil
        }
        return content.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  /// How long it is until a sleeper wakes; nil if there is none.
  var untilNextSleeper: TimeSpan? {
    content.withLock { content in content.sleepers.first.map { max(.zero, $0.deadline - content.elapsed) } }
  }

  /// Lets time pass, and wakes the sleepers that are due.
  func advance(by span: TimeSpan) {
    let due = content.withLock { content in
      content.elapsed = content.elapsed + span
      content.now = content.now.advanced(by: span) ?? .latest
      let due = content.sleepers.prefix { $0.deadline <= content.elapsed }
      content.sleepers.removeFirst(due.count)
      return Array(due)
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Sets the wall clock; no sleeper wakes.
  func set(to now: Timestamp) { content.withLock { $0.now = now } }
}
