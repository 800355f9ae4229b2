// Sends updates about runs to their followers.
//
// Progress comes from the walk itself, on any thread and in the order of events. A follower either gets each update at
// once, by a closure that must not wait, or reads from a queue at its own pace. The queue is bounded, so that a slow
// follower costs no more than `RunUpdateQueue.limit` updates with `mostPrinted` bytes of program output, however loud
// the run is. When it is full, the printed lines in its older half are dropped; the run's log has them. If there are
// none, the whole older half is dropped, except for the last `waits` in it. So the latest news that the run waits or
// has left always arrives. The follower gets the number of dropped updates in their place.
import Basics
import RunState
package import Runs
import Synchronization

/// The followers of all runs.
final class RunFollowers: Sendable {
  private struct Follower {
    var report: @Sendable (RunUpdate) -> Void
    /// Wakes a task that reads the updates.
    var wake: @Sendable () -> Void
    var finish: @Sendable () -> Void
  }

  private struct Content {
    var lastNumber = 0
    var followers: [String: [Int: Follower]] = [:]
  }

  private let content = Mutex(Content())

  /// Adds a follower; returns the number to remove it with.
  ///
  /// - Parameters:
  ///   - finish: Called when nothing more comes, but not after a removal.
  ///   - wake: Called after each report, when the lock is let go.
  ///   - report: Must not wait, nor call the followers.
  private func add(
    to id: String, finish: @escaping @Sendable () -> Void, wake: @escaping @Sendable () -> Void = {},
    report: @escaping @Sendable (RunUpdate) -> Void
  ) -> Int {
    content.withLock { content in
      content.lastNumber += 1
      content.followers[id, default: [:]][content.lastNumber] = Follower(report: report, wake: wake, finish: finish)
      return content.lastNumber
    }
  }

  /// A follower that gets all updates at once and waits for the run to leave this program.
  struct Following {
    let number: Int
    fileprivate let ends: AsyncStream<RunRecord>

    /// The run's last state here.
    func end() async -> RunRecord? { await ends.reduce(nil) { $1 } }
  }

  /// Calls a closure at once with every update of a run but the last.
  func follow(_ id: String, _ report: @escaping @Sendable (RunUpdate) -> Void) -> Following {
    let (ends, end) = AsyncStream.makeStream(of: RunRecord.self, bufferingPolicy: .bufferingNewest(1))
    let number = add(to: id, finish: { end.finish() }) { update in
      if case .left(let run) = update { end.yield(run) } else { report(update) }
    }
    return Following(number: number, ends: ends)
  }

  func remove(_ number: Int, of id: String) {
    content.withLock { content in
      content.followers[id]?[number] = nil
      if content.followers[id]?.isEmpty == true { content.followers[id] = nil }
    }
  }

  /// The updates of a run from now on, to be read at any pace.
  ///
  /// - Parameter first: An update to put before them.
  func updates(of id: String, first: RunUpdate? = nil) -> RunUpdates {
    let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let queue = RunUpdateQueue()
    if let first {
      queue.append(first)
      signal.yield()
    }
    let number = add(to: id, finish: { signal.finish() }, wake: { signal.yield() }) { queue.append($0) }
    // A follower that goes away is forgotten.
    signal.onTermination = { [weak self] _ in self?.remove(number, of: id) }
    return RunUpdates(queue: queue, signals: signals)
  }

  func send(_ update: RunUpdate, to id: String) {
    // Under the lock, so that all are told in one order. Tasks are woken after it: a cancellation holds a follower's task
    // while it waits for the lock, and waking needs the task.
    let followers: [Follower] = content.withLock { content in
      guard let numbered = content.followers[id] else { return [] }
      // Mostly there is one.
      let followers =
        numbered.count == 1 ? Array(numbered.values) : numbered.sorted { $0.key < $1.key }.map(\.value)
      for follower in followers { follower.report(update) }
      return followers
    }
    for follower in followers { follower.wake() }
  }

  func isFollowed(_ id: String) -> Bool { content.withLock { $0.followers[id] != nil } }

  /// Ends the following of a run.
  func finish(_ id: String) {
    let followers = content.withLock { $0.followers.removeValue(forKey: id) }
    for (_, follower) in (followers ?? [:]).sorted(by: { $0.key < $1.key }) { follower.finish() }
  }

  /// The runs that are followed, in order.
  var followed: [String] {
    content.withLock { $0.followers.keys.sorted { $0.precedesByScalars($1) } }
  }
}

/// The unread updates of a follower of a run, for one reader.
package struct RunUpdates: AsyncSequence {
  let queue: RunUpdateQueue
  /// Says that there is something in the queue; ends when nothing more comes.
  fileprivate let signals: AsyncStream<Void>

  /// No updates, for a run that isn't held here.
  package static var none: RunUpdates {
    let (signals, signal) = AsyncStream.makeStream(of: Void.self)
    signal.finish()
    return RunUpdates(queue: RunUpdateQueue(), signals: signals)
  }

  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let queue: RunUpdateQueue
    fileprivate var signals: AsyncStream<Void>.AsyncIterator

    package mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> RunUpdate? {
      while true {
        if let update = queue.popFirst() { return update }
        if await signals.next(isolation: actor) == nil { return queue.popFirst() }
      }
    }
  }

  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(queue: queue, signals: signals.makeAsyncIterator())
  }
}

/// The updates that a follower has not read yet.
final class RunUpdateQueue: Sendable {
  /// The most updates in the queue, not counting the notice of missed ones.
  static let limit = 1000
  /// How many bytes of printed lines are held, about.
  static let mostPrinted = 1 << 20

  private struct Content {
    var updates: [RunUpdate] = []
    var printedBytes = 0
    var missedCount = 0
  }

  private let content = Mutex(Content())

  func append(_ update: RunUpdate) {
    content.withLock { content in
      if content.updates.count == RunUpdateQueue.limit || content.printedBytes > RunUpdateQueue.mostPrinted {
        let older = content.updates.prefix((content.updates.count + 1) / 2)
        var kept = older.filter { $0.printedBytes == nil }
        if kept.count == older.count { kept = older.last { !$0.isProgress }.map { [$0] } ?? [] }
        content.missedCount += older.reduce(0) { $0 + $1.reports } - kept.reduce(0) { $0 + $1.reports }
        content.printedBytes -= older.reduce(0) { $0 + ($1.printedBytes ?? 0) }
        content.updates.replaceSubrange(..<older.count, with: kept)
      }
      content.printedBytes += update.printedBytes ?? 0
      content.updates.append(update)
    }
  }

  func popFirst() -> RunUpdate? {
    content.withLock { content in
      if content.missedCount > 0 {
        defer { content.missedCount = 0 }
        return .progress(.missed(content.missedCount))
      }
      guard !content.updates.isEmpty else { return nil }
      let update = content.updates.removeFirst()
      content.printedBytes -= update.printedBytes ?? 0
      return update
    }
  }

  var count: Int { content.withLock { $0.updates.count } }
  var printedBytes: Int { content.withLock { $0.printedBytes } }
}

extension Progress {
  /// How many updates a follower has missed.
  package static func missed(_ count: Int) -> Progress {
    .reported(path: "", text: "\(count) reports of progress were missed, because they were read too slowly")
  }
}

extension RunUpdate {
  fileprivate var isProgress: Bool { if case .progress = self { true } else { false } }

  /// How many reports of progress it is, each printed line being one.
  fileprivate var reports: Int {
    guard case .progress(let progress) = self else { return 0 }
    if case .printed(let printed) = progress { return printed.lineCount }
    return 1
  }

  /// The size of a printed line; nil for other updates.
  fileprivate var printedBytes: Int? {
    if case .progress(.printed(let line)) = self { line.text.utf8.count } else { nil }
  }
}
