import Glibc
import Synchronization

/// Hands items to a thread of its own, for calls that block.
///
/// Whoever puts items in never waits for more than a moment; the one thread that takes them sleeps while there is none.
final class WorkQueue<Item: Sendable>: @unchecked Sendable {
  // Unchecked, because what changes is touched only with the mutex held.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let arrived: UnsafeMutablePointer<pthread_cond_t>
  private var items: [Item] = []
  /// How many items there are, for looking without the mutex.
  private let present = Atomic(0)
  /// How many items the thread waits for.
  private var wanted = 1
  private var isClosed = false

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    arrived = .allocate(capacity: 1)
    arrived.initialize(to: pthread_cond_t())
    // The clock that nobody sets.
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(arrived, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(arrived)
    pthread_mutex_destroy(mutex)
    arrived.deallocate()
    mutex.deallocate()
  }

  /// Adds an item; false if nobody will take it any more.
  func put(_ item: Item) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    if isClosed { return false }
    items.append(item)
    present.store(items.count, ordering: .releasing)
    if items.count >= wanted { pthread_cond_signal(arrived) }
    return true
  }

  /// Lets the thread end once it has taken what is there.
  func close() {
    pthread_mutex_lock(mutex)
    isClosed = true
    pthread_cond_signal(arrived)
    pthread_mutex_unlock(mutex)
  }

  /// How many items wait to be taken.
  var count: Int {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return items.count
  }

  /// Waits for items and takes all of them; nil once the queue is closed and empty.
  ///
  /// Where more are expected to come soon, it waits for them too, but no longer than the patience lasts. For as long it
  /// also stays awake for the first one, because whoever was just answered often asks again at once, and waking a thread
  /// takes longer than that.
  func takeAll(expecting expected: Int = 1, patience: Duration = .zero) -> [Item]? {
    stayAwake(for: patience)
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while items.isEmpty {
      if isClosed { return nil }
      pthread_cond_wait(arrived, mutex)
    }
    if patience > .zero, items.count < expected {
      var deadline = timespec()
      clock_gettime(CLOCK_MONOTONIC, &deadline)
      let end = Duration.seconds(deadline.tv_sec) + .nanoseconds(deadline.tv_nsec) + patience
      deadline.tv_sec = Int(end.components.seconds)
      deadline.tv_nsec = Int(end.components.attoseconds / 1_000_000_000)
      wanted = expected
      while items.count < expected, !isClosed, pthread_cond_timedwait(arrived, mutex, &deadline) == 0 {}
      wanted = 1
    }
    var taken: [Item] = []
    swap(&taken, &items)
    present.store(0, ordering: .releasing)
    return taken
  }

  private func stayAwake(for patience: Duration) {
    guard patience > .zero else { return }
    let clock = ContinuousClock()
    let end = clock.now + patience
    // Whoever else wants the processor gets it.
    while present.load(ordering: .acquiring) == 0, clock.now < end { sched_yield() }
  }
}

/// Runs a body on a thread of its own, which ends with it; false if the system has no thread left.
package func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
  final class Start: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  let start = Unmanaged.passRetained(Start(body))
  var thread = pthread_t()
  let result = pthread_create(
    &thread, nil,
    { argument in
      if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
      return nil
    }, start.toOpaque())
  if result != 0 {
    start.release()
    return false
  }
  pthread_detach(thread)
  return true
}

/// Makes something of each item, with the help of as many threads as there are further processors.
///
/// The helpers begin at once; the caller's thread works too when it asks for the outcomes, and alone if there is but one
/// item or the system has no thread left.
struct ParallelWork<Item: Sendable, Outcome: Sendable>: Sendable {
  /// Which item is next, and what became of the others.
  private final class Progress: Sendable {
    let next = Atomic(0)
    let outcomes: Mutex<[Outcome?]>

    init(_ count: Int) { outcomes = Mutex(Array(repeating: nil, count: count)) }
  }

  private let items: [Item]
  private let body: @Sendable (Item) -> Outcome
  private let progress: Progress
  private let ended = WorkQueue<Void>()
  private var helpers = 0

  init(_ items: [Item], _ body: @escaping @Sendable (Item) -> Outcome) {
    self.items = items
    self.body = body
    progress = Progress(items.count)
    for _ in 1..<max(1, min(items.count, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
      // Ends when no item is left.
      let isRunning = startThread { [self] in
        work()
        _ = ended.put(())
      }
      if isRunning { helpers += 1 }
    }
  }

  private func work() {
    while true {
      let index = progress.next.add(1, ordering: .relaxed).oldValue
      guard index < items.count else { return }
      let outcome = body(items[index])
      progress.outcomes.withLock { $0[index] = outcome }
    }
  }

  /// What was made of each item, in order.
  func outcomes() -> [Outcome] {
    work()
    var helpers = helpers
    while helpers > 0, let more = ended.takeAll() { helpers -= more.count }
    return progress.outcomes.withLock { $0.compactMap(\.self) }
  }
}
