import Basics
import RunState
import Synchronization

/// Hands what programs print to the database, a statement at a time, so that lines keep their order.
///
/// Nothing is promised: what can't be written is given up, and so is the log of its run.
final class SharedPrinting: Sendable {
  private struct Lines {
    var run: String
    var lines: [PrintedLine]
    var fail: @Sendable (StateError) -> Void
  }

  private struct Content {
    var pending: [Lines] = []
    var isWriting = false
    /// The bytes of the logs that this program writes; `max` for one that takes no more.
    var sizes: [String: Int] = [:]
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let database: any SharedDatabase
  private let content = Mutex(Content())

  init(_ database: any SharedDatabase) { self.database = database }

  func keep(_ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void) {
    let begins = content.withLock { content in
      let fitting = PrintedLine.fitting(lines, after: &content.sizes[id, default: 0])
      if fitting.isEmpty { return false }
      content.pending.append(Lines(run: id, lines: fitting, fail: fail))
      defer { content.isWriting = true }
      return !content.isWriting
    }
    // Ends when nothing is left to write.
    if begins { Task { await write() } }
  }

  /// The bytes of a log as far as this program wrote it, which grow with each line; the most if it takes no more.
  func size(ofRun id: String) -> Int { content.withLock { $0.sizes[id] ?? 0 } }

  /// Returns when what was printed before is written, or given up.
  func settle() async {
    await withCheckedContinuation { waiter in
      let isIdle = content.withLock { content in
        if content.isWriting { content.waiting.append(waiter) }
        return !content.isWriting
      }
      if isIdle { waiter.resume() }
    }
  }

  private func write() async {
    while true {
      let (next, waiting) = content.withLock { content -> ([Lines], [CheckedContinuation<Void, Never>]) in
        defer { content.pending = [] }
        guard content.pending.isEmpty else { return (content.pending, []) }
        content.isWriting = false
        defer { content.waiting = [] }
        return ([], content.waiting)
      }
      for waiter in waiting { waiter.resume() }
      if next.isEmpty { return }
      for piece in next {
        do throws(DatabaseError) {
          try await database.addLines(piece.lines.compactMap { try? $0.storedText }, ofRun: piece.run)
        } catch {
          content.withLock { $0.sizes[piece.run] = .max }
          piece.fail(StateError(error))
        }
      }
    }
  }
}
