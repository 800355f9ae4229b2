// Who is told of all runs, at their own pace.
import Basics
package import RunState
import Synchronization

/// What happened to some run.
package struct RunNotice: Record {
  package enum Kind: String, Recordable, CaseIterable {
    /// The first notice: what happens from now on is told, and what is open is in the lists of runs.
    case watching
    case began, waits
    /// It is paused, uncertain, or queued.
    case stands
    case ended
    /// Notices were left out, because the watcher read too slowly; the lists of runs have what counts.
    case missed
  }

  package var kind: Kind
  /// The run as lists show it; nil for `watching` and `missed`.
  package var run: RunRecord?

  init(_ kind: Kind, _ run: RunRecord?) {
    self.kind = kind
    self.run = run?.listed
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    kind = try member("kind", record?.kind)
    run = try member("run", record?.run)
  }
}

/// The watchers of all runs.
///
/// A watcher that reads slowly costs no more than `limit` notices: then the older ones go, and it is told so.
final class RunWatchers: Sendable {
  /// How many notices wait for a watcher at most.
  static let limit = 500

  private struct Content {
    var lastNumber = 0
    var watchers: [Int: AsyncStream<RunNotice>.Continuation] = [:]
  }

  private let content = Mutex(Content())

  /// What happens to runs from now on; ends when nothing more comes.
  func watch() -> AsyncStream<RunNotice> {
    let (notices, watcher) = AsyncStream.makeStream(
      of: RunNotice.self, bufferingPolicy: .bufferingNewest(RunWatchers.limit))
    let number = content.withLock { content in
      content.lastNumber += 1
      content.watchers[content.lastNumber] = watcher
      return content.lastNumber
    }
    // A watcher that goes away is forgotten.
    watcher.onTermination = { [weak self] _ in self?.remove(number) }
    watcher.yield(RunNotice(.watching, nil))
    return notices
  }

  private func remove(_ number: Int) { content.withLock { content in content.watchers[number] = nil } }

  func tell(_ news: RunNews) {
    let watchers = content.withLock { Array($0.watchers.values) }
    if watchers.isEmpty { return }
    let notice: RunNotice
    switch news {
    case .began(let run): notice = RunNotice(.began, run)
    case .waits(let run): notice = RunNotice(.waits, run)
    case .stands(let run): notice = RunNotice(.stands, run)
    case .ended(let run): notice = RunNotice(.ended, run)
    case .event, .untold, .failed: return
    }
    for watcher in watchers {
      if case .dropped = watcher.yield(notice) { watcher.yield(RunNotice(.missed, nil)) }
    }
  }

  /// Ends all watching.
  func finish() {
    let watchers = content.withLock { Array($0.watchers.values) }
    for watcher in watchers { watcher.finish() }
  }
}
