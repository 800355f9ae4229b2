import Basics

/// Instants with what is due at each, the earliest first: a binary heap of sixteen bytes an item.
///
/// Nothing is removed from the middle. The caller checks that the first item is still valid.
struct DueQueue {
  struct Item {
    fileprivate var seconds: Int
    fileprivate var nanoseconds: Int32
    /// Which schedule.
    var index: Int32

    var due: Timestamp { Timestamp(seconds: seconds, nanoseconds: Int(nanoseconds)) ?? .latest }

    init(_ due: Timestamp, _ index: Int32) {
      seconds = due.seconds
      nanoseconds = due.nanoseconds
      self.index = index
    }

    /// Schedules that are due together come in the order in which they were set.
    @inline(__always)
    fileprivate func precedes(_ other: Item) -> Bool {
      if seconds != other.seconds { return seconds < other.seconds }
      if nanoseconds != other.nanoseconds { return nanoseconds < other.nanoseconds }
      return index < other.index
    }
  }

  private var items: [Item] = []

  var first: Item? { items.first }
  var count: Int { items.count }

  mutating func reserveCapacity(_ capacity: Int) { items.reserveCapacity(capacity) }

  mutating func insert(_ item: Item) {
    items.append(item)
    var child = items.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard item.precedes(items[parent]) else { break }
      items[child] = items[parent]
      child = parent
    }
    items[child] = item
  }

  mutating func removeFirst() {
    guard let last = items.popLast(), !items.isEmpty else { return }
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < items.count else { break }
      if child + 1 < items.count, items[child + 1].precedes(items[child]) { child += 1 }
      guard items[child].precedes(last) else { break }
      items[parent] = items[child]
      parent = child
    }
    items[parent] = last
  }

  /// Keeps only items that are still valid.
  mutating func removeAll(where isStale: (Item) -> Bool) {
    let kept = items.filter { !isStale($0) }
    items.removeAll(keepingCapacity: true)
    for item in kept { insert(item) }
  }
}
