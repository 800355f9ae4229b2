import Basics
import Synchronization

/// Lets the steps of all runs in this program change a stored value one after another, first come first served.
///
/// A change is refused if the value has changed since it was read, and is then decided again. If many steps changed one
/// value at once, all but one would be refused each time, so the work would grow with the square of their number. Turns
/// are an economy and no lock: programs that share a state have turns of their own, and a step that is cancelled goes
/// without one.
package final class ValueTurns: Sendable {
  /// The steps that wait while another changes their value.
  private struct Line {
    /// In the order they came; steps that are cancelled leave their number behind.
    private var order = Queue<Int>()
    private var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]

    mutating func join(_ number: Int, _ continuation: CheckedContinuation<Bool, Never>) {
      order.add(number)
      waiting[number] = continuation
    }

    mutating func leave(_ number: Int) -> CheckedContinuation<Bool, Never>? { waiting.removeValue(forKey: number) }

    mutating func takeFirst() -> CheckedContinuation<Bool, Never>? {
      while let number = order.next() {
        if let next = waiting.removeValue(forKey: number) { return next }
      }
      return nil
    }
  }

  private struct Content {
    var count = 0
    /// The lines of the values that are being changed.
    var lines: [String: Line] = [:]
  }

  private let content = Mutex(Content())

  package init() {}

  /// Changes a value in turn.
  func take<Outcome, Failure: Error>(
    _ name: String, _ body: () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    let hasTurn = await wait(for: name)
    defer { if hasTurn { pass(name) } }
    return try await body()
  }

  /// Waits for a turn; false for a step that is cancelled.
  private func wait(for name: String) async -> Bool {
    let number = content.withLock { content in
      content.count += 1
      return content.count
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let hasTurn = content.withLock { content -> Bool? in
          if Task.isCancelled { return false }
          guard content.lines[name] != nil else {
            content.lines[name] = Line()
            return true
          }
          content.lines[name]?.join(number, continuation)
          return nil
        }
        if let hasTurn { continuation.resume(returning: hasTurn) }
      }
    } onCancel: {
      content.withLock { $0.lines[name]?.leave(number) }?.resume(returning: false)
    }
  }

  /// Passes the turn to the first that waits.
  private func pass(_ name: String) {
    content.withLock { content -> CheckedContinuation<Bool, Never>? in
      let next = content.lines[name]?.takeFirst()
      if next == nil { content.lines[name] = nil }
      return next
    }?.resume(returning: true)
  }
}
