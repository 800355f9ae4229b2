// Sends notices about all runs to watchers, which read them at their own pace.
import Basics
package import RunState
import Synchronization

/// A notice to the watchers of all runs.
package struct RunNotice: Record {
  package enum Kind: String, Recordable, CaseIterable {
    /// The first notice: later changes are reported, and the lists of runs have the open ones.
    case watching
    case began, waits
    /// It is paused, uncertain, or queued.
    case parked
    case ended
    /// Notices were left out, because the watcher read too slowly, or because another program that shares the state
    /// worked on runs; the lists of runs are complete.
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
/// A watcher that reads slowly costs no more than `limit` notices: then the older ones are dropped, and it gets a
/// notice.
final class RunWatchers: Sendable {
  /// How many notices wait for a watcher at most.
  static let limit = 500

  private struct Content {
    var lastNumber = 0
    var watchers: [Int: AsyncStream<RunNotice>.Continuation] = [:]
    /// Looks what happens to runs elsewhere, while there are watchers.
    var looking: Task<Void, Never>?
  }

  private let content = Mutex(Content())
  private let sharing: (any StateSharing)?
  private let time: any TimeSource

  /// The pause between looks at runs of other programs.
  private static let pause = TimeSpan.seconds(2)

  init(_ sharing: (any StateSharing)?, time: any TimeSource) { (self.sharing, self.time) = (sharing, time) }

  /// Notices about runs from now on; ends when no more come.
  func watch() -> AsyncStream<RunNotice> {
    let (notices, watcher) = AsyncStream.makeStream(
      of: RunNotice.self, bufferingPolicy: .bufferingNewest(RunWatchers.limit))
    let number = content.withLock { content in
      content.lastNumber += 1
      content.watchers[content.lastNumber] = watcher
      if let sharing, content.looking == nil {
        // Ends when there are no watchers any more.
        content.looking = Task { [weak self, time] in
          var last = try? await sharing.pulse()
          while (try? await time.sleep(for: RunWatchers.pause)) != nil, let self, hasWatchers() {
            guard let pulse = try? await sharing.pulse(), pulse != last else { continue }
            last = pulse
            tellMissed()
          }
        }
      }
      return content.lastNumber
    }
    // A watcher that goes away is forgotten.
    watcher.onTermination = { [weak self] _ in self?.remove(number) }
    watcher.yield(RunNotice(.watching, nil))
    return notices
  }

  private func tellMissed() {
    for watcher in content.withLock({ Array($0.watchers.values) }) { watcher.yield(RunNotice(.missed, nil)) }
  }

  private func hasWatchers() -> Bool {
    content.withLock { content in
      if content.watchers.isEmpty { content.looking = nil }
      return !content.watchers.isEmpty
    }
  }

  private func remove(_ number: Int) { content.withLock { content in content.watchers[number] = nil } }

  func tell(_ news: RunNews) {
    let watchers = content.withLock { Array($0.watchers.values) }
    if watchers.isEmpty { return }
    let notice: RunNotice
    switch news {
    case .began(let run): notice = RunNotice(.began, run)
    case .waits(let run): notice = RunNotice(.waits, run)
    case .parked(let run): notice = RunNotice(.parked, run)
    case .ended(let run): notice = RunNotice(.ended, run)
    case .event, .unreported, .refused, .shared, .failed: return
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
