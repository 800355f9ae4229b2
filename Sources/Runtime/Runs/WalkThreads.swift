// The threads on which runs are walked.
//
// Evaluating an expression or writing a value runs without a break, for up to a good part of a second. Swift's
// concurrency pool has a thread per processor, so two such runs would stop everything else for as long, schedules and
// answers to commands included. So walks have threads of their own. There are as many as processors; when a job has
// waited for longer than `patience` while all of them are busy, another one starts, and the system lets them take
// turns. A thread that finds nothing to do for a while ends.
//
// No work is bound to a thread: any of them may continue a walk.
import Glibc
import Threads

/// Walks runs, on threads beside those of Swift's concurrency.
package final class WalkThreads: TaskExecutor, @unchecked Sendable {
  // Unchecked, because all mutable state is touched only with the monitor held.

  /// The threads of this process.
  package static let shared = WalkThreads()

  /// How long a job waits while all threads are busy before another thread starts, in nanoseconds.
  private static let patience = 10_000_000
  /// How long a thread may be idle before it ends, in nanoseconds.
  private static let idleLimit = 2_000_000_000
  private static let most = 64

  /// Signals that a job has arrived, and wakes the watch, which only waits.
  private enum Condition: Int { case arrived, never }
  private let monitor = Monitor(conditions: 2)
  private let ordinary = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  private var jobs: [UnownedJob] = []
  /// The first job in the queue.
  private var first = 0
  private var taken = 0
  private var threads = 0
  private var idle = 0
  private var isWatched = false

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    monitor.lock()
    jobs.append(job)
    if idle > 0 {
      monitor.signal(Condition.arrived.rawValue)
    } else if threads < ordinary {
      begin()
    } else if !isWatched {
      isWatched = startThread { self.watch() }
    }
    // If the system gave no thread, the caller does the work.
    let isAlone = threads == 0
    monitor.unlock()
    if isAlone { work(isVisitor: true) }
  }

  private var isEmpty: Bool { first == jobs.count }

  /// Starts a thread; the monitor is held.
  private func begin() {
    threads += 1
    if !startThread({ self.work(isVisitor: false) }) { threads -= 1 }
  }

  private func work(isVisitor: Bool) {
    monitor.lock()
    while true {
      if isEmpty {
        if isVisitor { break }
        idle += 1
        let isCalled = wait(for: .nanoseconds(WalkThreads.idleLimit), on: .arrived)
        idle -= 1
        if !isCalled, isEmpty { break }
        continue
      }
      let job = jobs[first]
      first += 1
      taken &+= 1
      if isEmpty {
        jobs.removeAll(keepingCapacity: jobs.capacity <= 1024)
        first = 0
      }
      monitor.unlock()
      job.runSynchronously(on: asUnownedTaskExecutor())
      monitor.lock()
    }
    if !isVisitor { threads -= 1 }
    monitor.unlock()
  }

  /// Watches for waiting jobs that no thread takes, until there have been none for a while.
  private func watch() {
    monitor.lock()
    var calm = 0
    while calm < WalkThreads.idleLimit / WalkThreads.patience {
      let before = taken
      let hadWork = !isEmpty
      _ = wait(for: .nanoseconds(WalkThreads.patience), on: .never)
      if hadWork, !isEmpty, taken == before, idle == 0, threads < WalkThreads.most { begin() }
      calm = isEmpty ? calm + 1 : 0
    }
    isWatched = false
    monitor.unlock()
  }

  /// Waits for a condition with the monitor held; false once the time is over.
  private func wait(for span: Duration, on condition: Condition) -> Bool {
    monitor.wait(condition.rawValue, until: .now + span)
  }
}
