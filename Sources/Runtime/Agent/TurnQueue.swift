import Basics

/// Elements in several queues, taken from each queue in turn.
///
/// So a queue with many elements doesn't hold up one with few.
struct TurnQueue<Element> {
  private var lines: [String: Queue<Element>] = [:]
  /// The queues that have elements, in the order of their turns.
  private var turns = Queue<String>()

  mutating func add(_ element: Element, to queue: String) {
    if lines[queue] == nil { turns.add(queue) }
    lines[queue, default: Queue()].add(element)
  }

  /// The next element of the queue whose turn it is.
  mutating func next() -> Element? {
    guard let queue = turns.next(), let element = lines[queue]?.next() else { return nil }
    if lines[queue]?.isEmpty == false { turns.add(queue) } else { lines[queue] = nil }
    return element
  }
}
