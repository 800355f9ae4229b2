/// A queue whose first item is removed without moving the others.
package struct Queue<Item> {
  @usableFromInline var items: [Item?] = []
  @usableFromInline var first = 0

  @inlinable package init() {}

  @inlinable package var isEmpty: Bool { first == items.count }

  @inlinable package mutating func add(_ item: Item) { items.append(item) }

  /// Takes the item that was added first; nil if there is none.
  @inlinable package mutating func next() -> Item? {
    guard first < items.count else { return nil }
    let item = items[first]
    items[first] = nil
    first += 1
    // Seldom enough that each costs the same, however long the queue is.
    if first > 32, first * 2 > items.count {
      items.removeFirst(first)
      first = 0
    }
    return item
  }
}
