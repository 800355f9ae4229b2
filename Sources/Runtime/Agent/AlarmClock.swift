/// One timer for everything that is due at an instant: runs that wait, slots of schedules, events that grow old.
///
/// Alarms are kept in a heap, so that a run that waits for days is an entry and nothing else. One task sleeps until the
/// first alarm; if there is none, nothing sleeps. An earlier alarm replaces the task.
///
/// Instants are the wall clock's, and sleeping goes by another clock, so the task sleeps in portions of at most ten
/// seconds and looks at the wall clock after each: a clock that was set, a machine that was suspended or a process that
/// was stopped is noticed that much later at most, at the price of six looks a minute. The last portion is exactly the
/// remaining time, so that an alarm rings within the precision of a sleep. A clock that was set back makes alarms ring
/// later, and none rings twice.
import Basics
import Synchronization

final class AlarmClock<Key: Hashable & Sendable>: Sendable {
  fileprivate struct Entry: Comparable {
    var at: Timestamp
    var key: Key

    static func < (_ one: Entry, _ other: Entry) -> Bool { one.at < other.at }
  }

  fileprivate struct Content {
    /// The first entry in front; one that `due` does not confirm has been replaced or taken back.
    var heap = Heap<Entry>()
    var due: [Key: Timestamp] = [:]
    /// The instant of the alarm that the sleeping task waits for; nil if there is none.
    var planned: Timestamp?
    var sleeper: Task<Void, Never>?
    /// Tells the latest sleeper from one that has been replaced and is about to notice.
    var generation = 0
    var isStopped = false
  }

  private let time: any TimeSource
  private let activity: Activity?
  private let ring: @Sendable (Key) -> Void
  private let content = Mutex(Content())

  private static var portion: TimeSpan { .seconds(10) }

  /// Creates a clock that calls `ring`, which must not wait, once for each alarm.
  ///
  /// - Parameter activity: Counts each alarm that rings; the code that it rings for ends that.
  init(_ time: any TimeSource, countedBy activity: Activity? = nil, ring: @escaping @Sendable (Key) -> Void) {
    self.time = time
    self.activity = activity
    self.ring = ring
  }

  /// Sets or replaces the one alarm of a key; nil removes it.
  func set(_ key: Key, at instant: Timestamp?) {
    content.withLock { content in
      guard !content.isStopped, content.due[key] != instant else { return }
      content.due[key] = instant
      guard let instant else { return }
      content.push(Entry(at: instant, key: key))
      if let planned = content.planned, planned <= instant { return }
      plan(&content)
    }
  }

  /// Rings nothing more.
  func stop() {
    content.withLock { content in
      content.isStopped = true
      content.due = [:]
      content.heap = Heap()
      plan(&content)
    }
  }

  func isSet(_ key: Key) -> Bool { content.withLock { $0.due[key] != nil } }

  /// How many alarms are set.
  var count: Int { content.withLock { $0.due.count } }

  /// Puts a sleeper for the first alarm in the place of the one there is.
  private func plan(_ content: inout Content) {
    content.sleeper?.cancel()
    content.generation += 1
    content.planned = content.first?.at
    let generation = content.generation
    // Ends when no alarm is left, and is cancelled when something earlier is set and by `stop`.
    content.sleeper = content.planned.map { _ in Task { [weak self] in await self?.sleep(generation) } }
  }

  /// When the first alarm is due.
  var next: Timestamp? { content.withLock { $0.first?.at } }

  /// Rings what is due, without waiting for the sleeper to notice; for a test that has just moved the clock.
  func look() { ringDue(at: time.now()) }

  /// Rings what is due, and gives when the next alarm is; neither for a sleeper that has been replaced.
  @discardableResult private func ringDue(at now: Timestamp, for generation: Int? = nil) -> Timestamp? {
    let (keys, next) = content.withLock { content -> ([Key], Timestamp?) in
      if let generation, content.generation != generation { return ([], nil) }
      var keys: [Key] = []
      while let first = content.first, first.at <= now {
        content.due[first.key] = nil
        content.heap.removeFirst()
        keys.append(first.key)
      }
      if generation != nil { content.planned = content.first?.at }
      activity?.begin(keys.count)
      return (keys, content.first?.at)
    }
    for key in keys { ring(key) }
    return next
  }

  private func sleep(_ generation: Int) async {
    while true {
      let now = time.now()
      let next = ringDue(at: now, for: generation)
      guard let next else { return }
      try? await time.sleep(for: min(next.span(since: now) ?? AlarmClock.portion, AlarmClock.portion))
    }
  }
}

extension AlarmClock.Content {
  /// The first alarm that is still set.
  fileprivate var first: AlarmClock.Entry? {
    mutating get {
      while let entry = heap.first, due[entry.key] != entry.at { heap.removeFirst() }
      return heap.first
    }
  }

  fileprivate mutating func push(_ entry: AlarmClock.Entry) {
    // Replaced entries are removed in bulk, so that a key that is set again and again does not fill the heap.
    if heap.count > 2 * due.count + 64 {
      var kept: Set<Key> = [entry.key]
      heap.removeAll { due[$0.key] != $0.at || !kept.insert($0.key).inserted }
    }
    heap.insert(entry)
  }
}
