import Basics
import RunState
import Synchronization

/// The runs that this program holds, as of the last entries of their logs that are known to be kept.
final class HeldRuns: Sendable {
  struct Run: Sendable {
    var log: LoggedRun
    /// Which claim of the run this program has.
    var epoch: Int
    var row: OpenRunRow
  }

  private struct Content {
    var runs: [String: Run] = [:]
    /// The latest runs that ended here, the newest last.
    var ended: [RunRecord] = []
  }

  /// How many of the runs that ended here are kept for those who ask next.
  private static let mostEnded = 64

  private let content = Mutex(Content())

  subscript(id: String) -> Run? { content.withLock { $0.runs[id] } }

  func ended(_ id: String) -> RunRecord? { content.withLock { $0.ended.last { $0.id == id } } }

  func set(_ run: Run) { content.withLock { $0.runs[run.log.record.id] = run } }

  func end(_ run: RunRecord) {
    content.withLock { content in
      content.runs[run.id] = nil
      content.ended.append(run)
      if content.ended.count > HeldRuns.mostEnded { content.ended.removeFirst() }
    }
  }

  func forget(_ id: String) {
    content.withLock { content in
      content.runs[id] = nil
      content.ended.removeAll { $0.id == id }
    }
  }
}
