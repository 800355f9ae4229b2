/// A growing buffer whose end can be moved out as an array.
struct Stack<Element>: ~Copyable {
  private var base: UnsafeMutablePointer<Element>
  private var capacity = 64
  private(set) var count = 0

  init() { base = .allocate(capacity: 64) }

  deinit {
    base.deinitialize(count: count)
    base.deallocate()
  }

  subscript(index: Int) -> Element { base[index] }

  @inline(__always) mutating func push(_ element: consuming Element) {
    if count == capacity { grow() }
    (base + count).initialize(to: element)
    count += 1
  }

  private mutating func grow() {
    let wider = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
    wider.moveInitialize(from: base, count: count)
    base.deallocate()
    base = wider
    capacity *= 2
  }

  mutating func removeElements(from first: Int) -> [Element] {
    let taken = count - first
    guard taken > 0 else { return [] }
    count = first
    // Several times faster than `init(unsafeUninitializedCapacity:)`, which looks up its storage's type at run time.
    var array: [Element] = []
    array.reserveCapacity(taken)
    for index in first..<first + taken { array.append((base + index).move()) }
    return array
  }

  mutating func drop(from first: Int) {
    (base + first).deinitialize(count: count - first)
    count = first
  }
}
