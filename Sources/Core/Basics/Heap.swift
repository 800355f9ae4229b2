/// A priority queue: a binary heap with the least item first.
///
/// Items can be removed only from the front, so an item that has lost its meaning stays until it is the first; the owner
/// checks that.
package struct Heap<Item: Comparable> {
  @usableFromInline var items: [Item] = []

  @inlinable package init() {}

  @inlinable package var first: Item? { items.first }
  @inlinable package var count: Int { items.count }

  @inlinable package mutating func reserveCapacity(_ capacity: Int) { items.reserveCapacity(capacity) }

  @inlinable package mutating func insert(_ item: Item) {
    items.append(item)
    var child = items.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard item < items[parent] else { break }
      items[child] = items[parent]
      child = parent
    }
    items[child] = item
  }

  @inlinable package mutating func removeFirst() {
    guard let last = items.popLast(), !items.isEmpty else { return }
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < items.count else { break }
      if child + 1 < items.count, items[child + 1] < items[child] { child += 1 }
      guard items[child] < last else { break }
      items[parent] = items[child]
      parent = child
    }
    items[parent] = last
  }

  @inlinable package mutating func removeAll(where isStale: (Item) -> Bool) {
    let kept = items.filter { !isStale($0) }
    items.removeAll(keepingCapacity: true)
    for item in kept { insert(item) }
  }
}

extension Heap: Sendable where Item: Sendable {}
