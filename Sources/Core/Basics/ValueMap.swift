/// Keys and values in the order they were written, with look-up by key in constant time.
///
/// Keys are strings, ints, uints or bools, and in the state texts that are kept by reference. Following CEL, an int and a
/// uint of the same value are one key, and a double that is exactly an integer finds it. Up to eight members are searched
/// one by one; beyond that an open-addressing table of member indexes is kept, whose hash is seeded per process, so that
/// an attacker can't prepare keys that collide.
public struct ValueMap: Sendable {
  /// One key with its value.
  public struct Member: Sendable {
    /// The key, with its own place.
    public var key: Value
    /// The value.
    public var value: Value

    /// Creates a member.
    @inlinable public init(key: Value, value: Value) {
      self.key = key
      self.value = value
    }

    /// The key as a name, if it is a string.
    public var name: String? { key.string }
  }

  /// The members, in order.
  public private(set) var members: [Member] = []
  /// Indexes of members plus one, by hash of the key; empty while the members are few.
  private var table: [UInt32] = []

  private static let searchedOneByOne = 8

  /// Creates an empty map.
  public init() {}

  /// Creates a map of names; if a name is given twice, its last value counts.
  public init(_ members: [(String, Value)]) {
    for (name, value) in members { self[name] = value }
  }

  /// Makes a map of members at once, or tells the index of the first member whose key an earlier one has.
  init(_ members: [Member], duplicate: inout Int?) {
    self.members = members
    rebuild(duplicate: &duplicate)
  }

  /// Adds a member whose name no other has, as the caller knows.
  package mutating func append(_ value: Value, asNew name: String) {
    append(Member(key: .string(name), value: value))
  }

  /// The same keys with other values.
  package func mapValues(_ transform: (Value) -> Value) -> ValueMap {
    var map = self
    for index in members.indices { map.members[index].value = transform(members[index].value) }
    return map
  }

  /// The number of members.
  public var count: Int { members.count }
  /// Whether the map is empty.
  public var isEmpty: Bool { members.isEmpty }

  /// Makes room for that many members.
  public mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

  /// The value of a name; setting nil removes the member.
  public subscript(name: String) -> Value? {
    get { index(of: .string(name)).map { members[$0].value } }
    set { self[.string(name)] = newValue }
  }

  /// The value of a key, found across kinds of numbers; setting nil removes the member.
  public subscript(key: Value) -> Value? {
    get { index(of: key).map { members[$0].value } }
    set {
      guard let newValue else { return remove(key) }
      if let index = index(of: key) {
        members[index].value = newValue
      } else {
        append(Member(key: key, value: newValue))
      }
    }
  }

  /// The index of a key's member, found across kinds of numbers.
  public func index(of key: Value) -> Int? {
    if table.isEmpty {
      return members.firstIndex { ValueMap.isSameKey($0.key, key) }
    }
    let mask = table.count - 1
    var slot = ValueMap.hash(key) & mask
    while table[slot] != 0 {
      let index = Int(table[slot]) - 1
      if ValueMap.isSameKey(members[index].key, key) { return index }
      slot = (slot + 1) & mask
    }
    return nil
  }

  /// Adds a member if its key is new, and gives the index of the member that has the key otherwise.
  public mutating func insert(_ member: Member) -> Int? {
    if let index = index(of: member.key) { return index }
    append(member)
    return nil
  }

  private mutating func append(_ member: Member) {
    members.append(member)
    if members.count <= ValueMap.searchedOneByOne { return }
    if members.count * 2 > table.count {
      rebuild()
    } else {
      enter(members.count - 1)
    }
  }

  private mutating func remove(_ key: Value) {
    guard let index = index(of: key) else { return }
    members.remove(at: index)
    rebuild()
  }

  private mutating func rebuild() {
    var duplicate: Int?
    rebuild(duplicate: &duplicate)
  }

  private mutating func rebuild(duplicate: inout Int?) {
    guard members.count > ValueMap.searchedOneByOne else {
      table = []
      return
    }
    var size = 32
    while size < members.count * 3 { size *= 2 }
    table = [UInt32](repeating: 0, count: size)
    for index in members.indices where !enter(index) && duplicate == nil { duplicate = index }
  }

  /// Enters a member into the table, unless an earlier one has its key.
  @discardableResult private mutating func enter(_ index: Int) -> Bool {
    let mask = table.count - 1
    var slot = ValueMap.hash(members[index].key) & mask
    while table[slot] != 0 {
      if ValueMap.isSameKey(members[Int(table[slot]) - 1].key, members[index].key) { return false }
      slot = (slot + 1) & mask
    }
    table[slot] = UInt32(truncatingIfNeeded: index + 1)
    return true
  }

  private static func isSameKey(_ left: Value, _ right: Value) -> Bool {
    switch (left.content, right.content) {
    case (.string(let left), .string(let right)): left.hasSameScalars(as: right)
    case (.int(let left), .int(let right)): left == right
    case (.uint(let left), .uint(let right)): left == right
    case (.int(let left), .uint(let right)): UInt(exactly: left) == right
    case (.uint(let left), .int(let right)): left == UInt(exactly: right)
    case (.int(let left), .double(let right)): left == Int(exactly: right)
    case (.double(let left), .int(let right)): Int(exactly: left) == right
    case (.uint(let left), .double(let right)): left == UInt(exactly: right)
    case (.double(let left), .uint(let right)): UInt(exactly: left) == right
    case (.bool(let left), .bool(let right)): left == right
    case (.masked(let left), .masked(let right)): left == right
    default: false
    }
  }

  private static func hash(_ key: Value) -> Int {
    var hasher = Hasher()
    switch key.content {
    case .string(let text):
      var text = text
      text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .int(let number): hasher.combine(UInt64(bitPattern: Int64(number)))
    case .uint(let number): hasher.combine(UInt64(number))
    case .double(let number):
      // A double finds the integer that it exactly is.
      if let integer = Int(exactly: number) {
        hasher.combine(UInt64(bitPattern: Int64(integer)))
      } else if let integer = UInt(exactly: number) {
        hasher.combine(UInt64(integer))
      }
    case .bool(let flag): hasher.combine(flag)
    case .masked(let text): hasher.combine(text.displayed)
    default: break
    }
    return hasher.finalize()
  }
}

extension ValueMap: Equatable {
  /// Whether both hold the same keys with equal values, in any order.
  public static func == (left: ValueMap, right: ValueMap) -> Bool {
    left.count == right.count
      && left.members.allSatisfy { member in
        guard let other = right.index(of: member.key) else { return false }
        return right.members[other].value == member.value
      }
  }
}
