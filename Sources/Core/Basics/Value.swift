import Glibc

/// One value of the one model that recipes, expressions, actions, services and the state share.
///
/// A value read from a file remembers where it begins there. The place takes no part in equality, and is
/// free of cost: it lies in bytes that alignment would leave empty.
public struct Value: Sendable {
  /// The value itself.
  public var content: Content
  /// Where the value begins in the text it was read from.
  public var place: Place

  /// The kinds of values, as CEL defines them (google/cel-spec, "Values").
  public enum Content: Sendable {
    /// Nothing; a null in an optional field counts as an absent field.
    case null
    /// True or false.
    case bool(Bool)
    /// A signed 64-bit integer.
    case int(Int)
    /// An unsigned 64-bit integer, which only expressions make.
    case uint(UInt)
    /// An IEEE 754 double.
    case double(Double)
    /// Text, compared by Unicode scalars and never by canonical equivalence.
    case string(String)
    /// Octets.
    case bytes([UInt8])
    /// An instant in UTC.
    case timestamp(Timestamp)
    /// A signed length of time.
    case duration(TimeSpan)
    /// Values in order.
    case list([Value])
    /// Keys and values, in the order they were written.
    case map(ValueMap)
    /// CEL's `optional_type`: a value that may not be there. Only expressions make it.
    indirect case optional(Value?)
    /// A type as a value, by its CEL name. Only expressions make it.
    case type(String)
    /// The text that the state keeps in the place of a value that holds a secret. Code that computes never sees it.
    indirect case masked(MaskedText)
  }

  /// Creates a value, with its place if it was read from a file.
  @inlinable public init(_ content: Content, at place: Place = .none) {
    self.content = content
    self.place = place
  }
}

extension Value {
  /// The absent value.
  public static let null = Value(.null)
  /// A truth value.
  @inlinable public static func bool(_ value: Bool) -> Value { Value(.bool(value)) }
  /// A signed integer.
  @inlinable public static func int(_ value: Int) -> Value { Value(.int(value)) }
  /// An unsigned integer.
  @inlinable public static func uint(_ value: UInt) -> Value { Value(.uint(value)) }
  /// A floating-point number.
  @inlinable public static func double(_ value: Double) -> Value { Value(.double(value)) }
  /// A text.
  @inlinable public static func string(_ value: String) -> Value { Value(.string(value)) }
  /// Octets.
  @inlinable public static func bytes(_ value: [UInt8]) -> Value { Value(.bytes(value)) }
  /// An instant.
  @inlinable public static func timestamp(_ value: Timestamp) -> Value { Value(.timestamp(value)) }
  /// A length of time.
  @inlinable public static func duration(_ value: TimeSpan) -> Value { Value(.duration(value)) }
  /// A list.
  @inlinable public static func list(_ value: [Value]) -> Value { Value(.list(value)) }
  /// A map.
  @inlinable public static func map(_ value: ValueMap) -> Value { Value(.map(value)) }

  /// A map from names to values, in the order given; of a name that is given twice the last value counts.
  public static func object(_ members: KeyValuePairs<String, Value>) -> Value {
    var map = ValueMap()
    map.reserveCapacity(members.count)
    for (name, value) in members { map[name] = value }
    return .map(map)
  }
}

extension Value {
  /// Whether the value is null.
  public var isNull: Bool { if case .null = content { true } else { false } }
  /// The truth value, if it is one.
  public var bool: Bool? { if case .bool(let value) = content { value } else { nil } }
  /// The signed integer, if it is one.
  public var int: Int? { if case .int(let value) = content { value } else { nil } }
  /// The unsigned integer, if it is one.
  public var uint: UInt? { if case .uint(let value) = content { value } else { nil } }
  /// The text, if it is one.
  public var string: String? { if case .string(let value) = content { value } else { nil } }
  /// The instant, if it is one.
  public var timestamp: Timestamp? { if case .timestamp(let value) = content { value } else { nil } }
  /// The length of time, if it is one.
  public var duration: TimeSpan? { if case .duration(let value) = content { value } else { nil } }
  /// The items, if it is a list.
  public var list: [Value]? { if case .list(let value) = content { value } else { nil } }
  /// The members, if it is a map.
  public var map: ValueMap? { if case .map(let value) = content { value } else { nil } }
  /// The member of that name, if the value is a map that has one.
  public subscript(name: String) -> Value? { if case .map(let map) = content { map[name] } else { nil } }

  /// The kind of the value, in words for messages: "an int", "a list".
  public var kindName: String {
    switch content {
    case .null: "null"
    case .bool: "a bool"
    case .int: "an int"
    case .uint: "a uint"
    case .double: "a double"
    case .string: "a string"
    case .bytes: "bytes"
    case .timestamp: "a timestamp"
    case .duration: "a duration"
    case .list: "a list"
    case .map: "a map"
    case .optional: "an optional"
    case .type: "a type"
    case .masked: "a value that holds a secret"
    }
  }
}

/// Equal kind and equal content: `1` and `1.0` differ, NaN differs from itself, maps are compared without order.
///
/// CEL's `==`, which compares numbers across kinds, is in `Expressions`.
extension Value: Equatable {
  /// Whether kind and content are equal; places do not count.
  public static func == (left: Value, right: Value) -> Bool {
    switch (left.content, right.content) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.int(let left), .int(let right)): left == right
    case (.uint(let left), .uint(let right)): left == right
    case (.double(let left), .double(let right)): left == right
    case (.string(let left), .string(let right)): left.hasSameScalars(as: right)
    case (.bytes(let left), .bytes(let right)): left == right
    case (.timestamp(let left), .timestamp(let right)): left == right
    case (.duration(let left), .duration(let right)): left == right
    case (.list(let left), .list(let right)): left == right
    case (.map(let left), .map(let right)): left == right
    case (.optional(let left), .optional(let right)): left == right
    case (.type(let left), .type(let right)): left == right
    case (.masked(let left), .masked(let right)): left == right
    default: false
    }
  }
}

extension String {
  /// Whether both texts hold the same Unicode scalars.
  ///
  /// Swift's `==` takes canonically equivalent texts for equal, which CEL, JSON and YAML do not.
  public func hasSameScalars(as other: String) -> Bool {
    let count = utf8.count
    guard count == other.utf8.count else { return false }
    let areSame = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return true }
        return memcmp(left, right, count) == 0
      }
    }
    return (areSame ?? nil) ?? utf8.elementsEqual(other.utf8)
  }

  /// Whether this text comes before the other in the order of Unicode scalars; UTF-8 bytes have the same order.
  public func precedesByScalars(_ other: String) -> Bool {
    let (count, otherCount) = (utf8.count, other.utf8.count)
    let precedes = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in
        guard let left = left.baseAddress, let right = right.baseAddress else { return count < otherCount }
        let order = memcmp(left, right, min(count, otherCount))
        return order == 0 ? count < otherCount : order < 0
      }
    }
    return (precedes ?? nil) ?? utf8.lexicographicallyPrecedes(other.utf8)
  }
}
