import Glibc
import Synchronization

/// For how long a thread at most stays awake for what is about to come: what a fast disk takes for a sync.
///
/// What takes longer is worth a thread's sleep and waking.
let longestAwake = Duration.microseconds(250)

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
  /// Told when there is something again; nobody sleeps for it then.
  private var whenFilled: (@Sendable () -> Void)?

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
    if items.count == 1 { whenFilled?() }
    return true
  }

  /// Has somebody told each time when there is something again after there was nothing.
  func tellWhenFilled(_ tell: @escaping @Sendable () -> Void) {
    pthread_mutex_lock(mutex)
    whenFilled = tell
    pthread_mutex_unlock(mutex)
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
  /// Where more are expected to come soon, it waits for them too, but no longer than the patience lasts. It also stays
  /// awake for the first one, because whoever was just answered often asks again at once, and waking a thread takes
  /// longer than that.
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
    let end = clock.now + min(patience, longestAwake)
    // Whoever else wants the processor gets it.
    while present.load(ordering: .acquiring) == 0, clock.now < end { sched_yield() }
  }
}

/// Who makes the calls that block: a thread for each queue, or a test, one call after another when it says so.
package enum Workers: Sendable {
  case threads
  case hand(ManualExecutor)

  /// Has somebody serve what is put into a queue, until it is closed; false if the system has no thread left.
  func attend<Item>(_ queue: WorkQueue<Item>, _ serve: @escaping @Sendable ([Item]) -> Void) -> Bool {
    switch self {
    case .threads: return startThread { while let items = queue.takeAll() { serve(items) } }
    case .hand(let work):
      queue.tellWhenFilled { work.add { if queue.count > 0, let items = queue.takeAll() { serve(items) } } }
      return true
    }
  }
}

/// What threads of the state would do, for a test to do on a thread of its own.
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
