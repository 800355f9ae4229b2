import Synchronization

/// Counts an agent's tasks in progress for a test that moves its clock: the next day must not come before everything of
/// this day is done.
///
/// A task is counted before it begins, so that the agent never looks idle: before a task is started, before a message
/// is sent, and at the moment when an alarm is taken out of the clock.
package final class Activity: Sendable {
  private struct Content {
    var count = 0
    var begun = 0
    var lastWaiter = 0
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let content = Mutex(Content())

  package init() {}

  /// The number of tasks begun so far; an observer compares it to see whether an earlier check still holds.
  package var begun: Int { content.withLock { $0.begun } }
  /// Whether no task is in progress now.
  package var isIdle: Bool { content.withLock { $0.count == 0 } }

  func begin(_ count: Int = 1) {
    content.withLock { content in
      content.count += count
      content.begun += count
    }
  }

  func end() {
    let waiters = content.withLock { content -> [CheckedContinuation<Void, Never>] in
      content.count -= 1
      guard content.count == 0 else { return [] }
      defer { content.waiters = [:] }
      return Array(content.waiters.values)
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when no task is in progress, or when the caller is cancelled; true if no task is in progress.
  package func idle() async -> Bool {
    while !isIdle {
      if Task.isCancelled { return false }
      // A task may begin between the end of the last one and the next check.
      await nextEnd()
    }
    return true
  }

  /// Waits until no task is in progress for a moment.
  private func nextEnd() async {
    let number = content.withLock { content in
      content.lastWaiter += 1
      return content.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = content.withLock { content in
          if content.count == 0 || Task.isCancelled { return true }
          content.waiters[number] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      content.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}
