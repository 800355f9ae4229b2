import Glibc
import Synchronization

/// Makes something of each item, with the help of as many threads as there are further processors.
///
/// The helpers begin at once; the caller's thread works too when it asks for the outcomes, and alone if there is but one
/// item or the system has no thread left.
package struct ParallelWork<Item: Sendable, Outcome: Sendable>: Sendable {
  /// The next item's index, and the outcomes of the items that are done.
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

  package init(_ items: [Item], _ body: @escaping @Sendable (Item) -> Outcome) {
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

  /// The outcomes of the items, in order.
  package func outcomes() -> [Outcome] {
    work()
    var helpers = helpers
    while helpers > 0, let more = ended.takeAll() { helpers -= more.count }
    return progress.outcomes.withLock { $0.compactMap(\.self) }
  }
}
