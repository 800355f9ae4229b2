// Threads that run tasks.
//
// The program has two sets of them. One replaces Swift's concurrency pool, which is made for machines with many
// processors and much to do: a program that runs one step would start six threads for it, and wait each time that one
// of them hands something to another. Here the main thread works too, and another thread starts only when there is
// something for it to do.
//
// The other runs the steps of an agent's runs. Evaluating an expression or writing a value may last a good part of a
// second without a break, so two such runs would stop everything else for as long, schedules and answers to commands
// included.
//
// There are as many threads in a set as processors; when a job has waited for longer than `patience` while all of them
// are busy, another one starts, and the system lets them take turns. A thread that finds nothing to do for a while
// ends. No work is bound to a thread: any of them may continue a task.
import CTasks
import Glibc

/// Runs tasks, on threads of its own.
package final class TaskThreads: TaskExecutor, @unchecked Sendable {
  // Unchecked, because all mutable state is touched only with the monitor held.

  /// The threads that walk runs.
  package static let walkers = TaskThreads()
  /// The threads in place of Swift's concurrency pool.
  private static let pool = TaskThreads()

  /// How long a job waits while all threads are busy before another thread starts, in nanoseconds.
  private static let patience = 10_000_000
  /// How long a thread may be idle before it ends, in nanoseconds.
  private static let idleLimit = 2_000_000_000
  private static let most = 64

  /// Signals that a job has arrived, and wakes the watch, which only waits.
  private enum Condition: Int { case arrived, never }
  /// How long a thread keeps working.
  private enum Term { case whileBusy, untilIdle, always }
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

  /// Runs a program on this thread, and everything that it leads to on this one and on others like it, in place of the
  /// threads of Swift's concurrency; the program has to end the process.
  package static func run(_ program: @escaping @Sendable () async -> Never) -> Never {
    ctasks_take_over { job in TaskThreads.pool.add(unsafeBitCast(job, to: UnownedJob.self)) }
    // This thread counts as idle until it works, so that no other starts for the first task.
    pool.monitor.withLock { (pool.threads, pool.idle) = (1, 1) }
    // Ends with the process.
    Task.detached { await program() }
    pool.monitor.withLock { pool.idle = 0 }
    pool.work(for: .always)
    fatalError("the program's thread has ended")
  }

  package func enqueue(_ job: consuming ExecutorJob) { add(UnownedJob(job)) }

  private func add(_ job: UnownedJob) {
    monitor.lock()
    jobs.append(job)
    // A thread that was called stays idle until it has woken.
    if jobs.count - first <= idle {
      monitor.signal(Condition.arrived.rawValue)
    } else if threads < ordinary {
      begin()
    } else if !isWatched {
      isWatched = startThread { self.watch() }
    }
    // If the system gave no thread, the caller does the work.
    let isAlone = threads == 0
    monitor.unlock()
    if isAlone { work(for: .whileBusy) }
  }

  private var isEmpty: Bool { first == jobs.count }

  /// Starts a thread; the monitor is held.
  private func begin() {
    threads += 1
    if !startThread({ self.work(for: .untilIdle) }) { threads -= 1 }
  }

  private func work(for term: Term) {
    let isPool = self === TaskThreads.pool
    monitor.lock()
    while true {
      if isEmpty {
        if term == .whileBusy { break }
        idle += 1
        let isCalled = wait(for: .nanoseconds(TaskThreads.idleLimit), on: .arrived)
        idle -= 1
        if !isCalled, isEmpty, term == .untilIdle { break }
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
      if isPool {
        ctasks_run(unsafeBitCast(job, to: UnsafeMutableRawPointer.self))
      } else {
        job.runSynchronously(on: asUnownedTaskExecutor())
      }
      monitor.lock()
    }
    if term == .untilIdle { threads -= 1 }
    monitor.unlock()
  }

  /// Watches for waiting jobs that no thread takes, until there have been none for a while.
  private func watch() {
    monitor.lock()
    var calm = 0
    while calm < TaskThreads.idleLimit / TaskThreads.patience {
      let before = taken
      let hadWork = !isEmpty
      _ = wait(for: .nanoseconds(TaskThreads.patience), on: .never)
      if hadWork, !isEmpty, taken == before, idle == 0, threads < TaskThreads.most { begin() }
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
