// The threads on which runs are walked.
//
// An expression is evaluated, and a value written, without a break: that may take a good part of a second. The pool of
// Swift's concurrency has a thread a processor, so two such runs would stop everything else for as long, schedules and
// answers to commands among it. So walks have threads of their own. There are as many as processors; when a job has
// waited for longer than `patience` while all of them are busy, one more begins, and the system lets all of them take
// turns. A thread that finds nothing to do for a while ends.
//
// Nothing is bound to a thread here: what one walk waits for may be done by any of them.
import Glibc
import RunState

/// Walks runs, on threads beside those of Swift's concurrency.
package final class WalkThreads: TaskExecutor, @unchecked Sendable {
  // Unchecked, because what changes is touched only with the mutex held.

  /// The threads of this process.
  package static let shared = WalkThreads()

  /// How long a job waits while all threads are busy, before another thread begins, in nanoseconds.
  private static let patience = 10_000_000
  /// How long a thread stays that has nothing to do, in nanoseconds.
  private static let stay = 2_000_000_000
  private static let most = 64

  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let arrived: UnsafeMutablePointer<pthread_cond_t>
  /// What the watch waits for, so that it only waits.
  private let never: UnsafeMutablePointer<pthread_cond_t>
  private let ordinary = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
  private var jobs: [UnownedJob] = []
  /// The first job that is still to be done.
  private var first = 0
  private var taken = 0
  private var threads = 0
  private var idle = 0
  private var isWatched = false

  package init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    // The clock that nobody sets.
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    arrived = .allocate(capacity: 1)
    never = .allocate(capacity: 1)
    for condition in [arrived, never] {
      condition.initialize(to: pthread_cond_t())
      pthread_cond_init(condition, &attributes)
    }
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(arrived)
    pthread_cond_destroy(never)
    pthread_mutex_destroy(mutex)
    arrived.deallocate()
    never.deallocate()
    mutex.deallocate()
  }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    pthread_mutex_lock(mutex)
    jobs.append(job)
    if idle > 0 {
      pthread_cond_signal(arrived)
    } else if threads < ordinary {
      begin()
    } else if !isWatched {
      isWatched = startThread { self.watch() }
    }
    // Without any thread, which the system did not give, whoever comes does the work.
    let isAlone = threads == 0
    pthread_mutex_unlock(mutex)
    if isAlone { work(isVisitor: true) }
  }

  private var isEmpty: Bool { first == jobs.count }

  /// Starts a thread; the mutex is held.
  private func begin() {
    threads += 1
    if !startThread({ self.work(isVisitor: false) }) { threads -= 1 }
  }

  private func work(isVisitor: Bool) {
    pthread_mutex_lock(mutex)
    while true {
      if isEmpty {
        if isVisitor { break }
        idle += 1
        let isCalled = wait(for: WalkThreads.stay, on: arrived)
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
      pthread_mutex_unlock(mutex)
      job.runSynchronously(on: asUnownedTaskExecutor())
      pthread_mutex_lock(mutex)
    }
    if !isVisitor { threads -= 1 }
    pthread_mutex_unlock(mutex)
  }

  /// Looks whether jobs wait while nobody takes one, until that has not been so for a while.
  private func watch() {
    pthread_mutex_lock(mutex)
    var calm = 0
    while calm < WalkThreads.stay / WalkThreads.patience {
      let before = taken
      let hadWork = !isEmpty
      _ = wait(for: WalkThreads.patience, on: never)
      if hadWork, !isEmpty, taken == before, idle == 0, threads < WalkThreads.most { begin() }
      calm = isEmpty ? calm + 1 : 0
    }
    isWatched = false
    pthread_mutex_unlock(mutex)
  }

  /// Waits for a condition with the mutex held; false once the time is over.
  private func wait(for nanoseconds: Int, on condition: UnsafeMutablePointer<pthread_cond_t>) -> Bool {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let end = deadline.tv_nsec + nanoseconds
    deadline.tv_sec += end / 1_000_000_000
    deadline.tv_nsec = end % 1_000_000_000
    return pthread_cond_timedwait(condition, mutex, &deadline) == 0
  }
}
