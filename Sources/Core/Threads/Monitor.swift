import Glibc

/// A mutex and the conditions that threads wait for while they hold it, by the monotonic clock (POSIX threads).
///
/// Waiting here blocks the thread; tasks of Swift's concurrency use `Mutex` instead.
package final class Monitor: @unchecked Sendable {
  // Unchecked, because the pointers never change, and their targets are safe for all threads.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let conditions: UnsafeMutableBufferPointer<pthread_cond_t>

  package init(conditions count: Int = 1) {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    conditions = .allocate(capacity: count)
    conditions.initialize(repeating: pthread_cond_t())
    for index in 0..<count { pthread_cond_init(&conditions[index], &attributes) }
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    for index in conditions.indices { pthread_cond_destroy(&conditions[index]) }
    conditions.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package func lock() { pthread_mutex_lock(mutex) }
  package func unlock() { pthread_mutex_unlock(mutex) }

  package func withLock<Outcome>(_ body: () throws -> Outcome) rethrows -> Outcome {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Wakes one of the threads that wait for a condition.
  package func signal(_ condition: Int = 0) { pthread_cond_signal(&conditions[condition]) }

  /// Waits for a condition, with the mutex held before and after.
  package func wait(_ condition: Int = 0) { pthread_cond_wait(&conditions[condition], mutex) }

  /// Waits for a condition, at most until an instant; false if that came first.
  package func wait(_ condition: Int = 0, until end: ContinuousClock.Instant) -> Bool {
    let left = max(.zero, ContinuousClock.now.duration(to: end)).components
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let nanoseconds = deadline.tv_nsec + Int(left.attoseconds / 1_000_000_000)
    deadline.tv_sec += Int(left.seconds) + nanoseconds / 1_000_000_000
    deadline.tv_nsec = nanoseconds % 1_000_000_000
    return pthread_cond_timedwait(&conditions[condition], mutex, &deadline) == 0
  }
}
