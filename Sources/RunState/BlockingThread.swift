import Glibc
import Synchronization

/// Hands items to a thread of its own, for calls that block.
///
/// Whoever puts items in never waits for more than a moment; the one thread that takes them sleeps while there is none.
final class WorkQueue<Item: Sendable>: @unchecked Sendable {
  // Unchecked, because items and isClosed are touched only with the mutex held.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let arrived: UnsafeMutablePointer<pthread_cond_t>
  private var items: [Item] = []
  private var isClosed = false

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
    arrived = .allocate(capacity: 1)
    arrived.initialize(to: pthread_cond_t())
    pthread_cond_init(arrived, nil)
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
    pthread_cond_signal(arrived)
    return true
  }

  /// Lets the thread end once it has taken what is there.
  func close() {
    pthread_mutex_lock(mutex)
    isClosed = true
    pthread_cond_signal(arrived)
    pthread_mutex_unlock(mutex)
  }

  /// Waits for items and takes all of them; nil once the queue is closed and empty.
  func takeAll() -> [Item]? {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while items.isEmpty {
      if isClosed { return nil }
      pthread_cond_wait(arrived, mutex)
    }
    var taken: [Item] = []
    swap(&taken, &items)
    return taken
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

/// What the body makes of each item, with the help of as many threads as there are processors.
///
/// The caller's thread works too, and alone if there is but one item or the system has no thread left.
func inParallel<Item: Sendable, Outcome: Sendable>(
  _ items: [Item], _ body: @escaping @Sendable (Item) -> Outcome
) -> [Outcome] {
  let work = SharedWork<Outcome>(items.count)
  @Sendable func run() {
    while true {
      let index = work.next.add(1, ordering: .relaxed).oldValue
      guard index < items.count else { return }
      let outcome = body(items[index])
      work.outcomes.withLock { $0[index] = outcome }
    }
  }
  let ended = WorkQueue<Void>()
  var helpers = 0
  for _ in 1..<max(1, min(items.count, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) {
    // Ends when no item is left.
    let isRunning = startThread {
      run()
      _ = ended.put(())
    }
    if isRunning { helpers += 1 }
  }
  run()
  while helpers > 0, let more = ended.takeAll() { helpers -= more.count }
  return work.outcomes.withLock { $0.compactMap(\.self) }
}

/// Which item is next, and what became of the others.
private final class SharedWork<Outcome: Sendable>: Sendable {
  let next = Atomic(0)
  let outcomes: Mutex<[Outcome?]>

  init(_ count: Int) { outcomes = Mutex(Array(repeating: nil, count: count)) }
}
