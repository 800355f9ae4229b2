import Glibc
import Synchronization

/// The longest time that a thread stays awake for something that is about to come: the time that a fast disk needs for
/// a sync.
///
/// For a longer wait, letting a thread sleep and waking it is worth its cost.
package let longestAwake = Duration.microseconds(250)

/// Hands items to a thread of its own, for calls that block.
///
/// Putting an item in never takes more than a moment; the one thread that takes items sleeps while there is none.
package final class WorkQueue<Item: Sendable>: @unchecked Sendable {
  // Unchecked, because what changes is touched only with the monitor held.
  private let monitor = Monitor()
  private var items: [Item] = []
  /// How many items there are, for looking without the monitor.
  private let present = Atomic(0)
  /// How many items the thread waits for.
  private var wanted = 1
  private var isClosed = false
  /// Called when there is something again, in place of a thread that sleeps.
  private var whenFilled: (@Sendable () -> Void)?
  /// Starts the thread with the first item.
  private var start: (@Sendable () -> Bool)?

  package init() {}

  /// Adds an item; false once the queue is closed, or if the system has no thread left.
  package func put(_ item: Item) -> Bool {
    monitor.withLock {
      if isClosed { return false }
      if let start {
        guard start() else { return false }
        self.start = nil
      }
      items.append(item)
      present.store(items.count, ordering: .releasing)
      if items.count >= wanted { monitor.signal() }
      if items.count == 1 { whenFilled?() }
      return true
    }
  }

  /// Calls a function each time when there is something again after there was nothing.
  func tellWhenFilled(_ tell: @escaping @Sendable () -> Void) { monitor.withLock { whenFilled = tell } }

  /// Makes the queue start a thread with the first item.
  func startWhenFilled(_ start: @escaping @Sendable () -> Bool) { monitor.withLock { self.start = start } }

  /// Whether it takes no more items.
  package var isFinished: Bool { monitor.withLock { isClosed } }

  /// Whether there has been an item.
  package var isUsed: Bool { monitor.withLock { start == nil } }

  /// Lets the thread end once it has taken what is there.
  package func close() {
    monitor.withLock {
      isClosed = true
      (start, whenFilled) = (nil, nil)
      monitor.signal()
    }
  }

  /// How many items wait to be taken.
  package var count: Int { present.load(ordering: .acquiring) }

  /// Waits for items and takes all of them; nil once the queue is closed and empty.
  package func takeAll() -> [Item]? { waitForItems() ? takeWaiting() : nil }

  /// Waits for items; false once the queue is closed and empty.
  ///
  /// Where more are expected to come soon, it waits for them too, but no longer than the patience lasts. It also stays
  /// awake for the first one, because a caller that was just answered often asks again at once, and waking a thread takes
  /// longer than that.
  package func waitForItems(expecting expected: Int = 1, patience: Duration = .zero) -> Bool {
    stayAwake(for: patience)
    return monitor.withLock {
      while items.isEmpty {
        if isClosed { return false }
        monitor.wait()
      }
      if patience > .zero, items.count < expected {
        let end = ContinuousClock.now + patience
        wanted = expected
        while items.count < expected, !isClosed, monitor.wait(until: end) {}
        wanted = 1
      }
      return true
    }
  }

  /// Takes all items that are there.
  package func takeWaiting() -> [Item] {
    monitor.withLock {
      var taken: [Item] = []
      swap(&taken, &items)
      present.store(0, ordering: .releasing)
      return taken
    }
  }

  private func stayAwake(for patience: Duration) {
    guard patience > .zero else { return }
    let clock = ContinuousClock()
    let end = clock.now + min(patience, longestAwake)
    // Other threads get the processor meanwhile.
    while present.load(ordering: .acquiring) == 0, clock.now < end { sched_yield() }
  }
}

/// The threads that make blocking calls: one for each queue, or a test, one call after another.
package enum Workers: Sendable {
  case threads
  case hand(ManualExecutor)

  /// Serves what is put into a queue until it is closed, from the first item on.
  package func attend<Item>(_ queue: WorkQueue<Item>, _ serve: @escaping @Sendable ([Item]) -> Void) {
    attend(queue, by: { while let items = queue.takeAll() { serve(items) } }, or: { serve(queue.takeWaiting()) })
  }

  /// Serves a queue from the first item on.
  ///
  /// - Parameters:
  ///   - serve: Serves it until it is closed, on a thread.
  ///   - serveOnce: Serves what waits in it, by hand.
  package func attend<Item>(
    _ queue: WorkQueue<Item>, by serve: @escaping @Sendable () -> Void, or serveOnce: @escaping @Sendable () -> Void
  ) {
    switch self {
    case .threads: queue.startWhenFilled { startThread { serve() } }
    case .hand(let work): queue.tellWhenFilled { work.add { if queue.count > 0 { serveOnce() } } }
    }
  }
}

/// The work of the state's threads, for a test to do on a thread of its own.
package final class ManualExecutor: Sendable {
  private let waiting = Mutex<[@Sendable () -> Void]>([])

  package init() {}

  /// How many queues have something to be done.
  package var count: Int { waiting.withLock { $0.count } }

  fileprivate func add(_ body: @escaping @Sendable () -> Void) { waiting.withLock { $0.append(body) } }

  /// Does what is in one of the queues, counted from the one that has waited longest.
  package func perform(_ index: Int = 0) {
    let body = waiting.withLock { $0.indices.contains(index) ? $0.remove(at: index) : nil }
    body?()
  }
}
