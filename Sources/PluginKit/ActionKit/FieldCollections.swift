/// A type whose arrays can be fields.
///
/// Every `FieldValue` is one; `UInt8` is the exception: its arrays are octets instead of a list.
public protocol FieldElement: Sendable {
  /// The type of an array of these.
  static var listType: FieldType { get }
  /// Reads an array of these.
  static func readList(_ value: Value) throws(ValueError) -> [Self]
  /// The array as recipes see it.
  static func encodedList(_ list: [Self]) throws(ValueError) -> Value
}

extension FieldValue {
  /// A list.
  public static var listType: FieldType { .list(fieldType) }
  /// Reads each item.
  public static func readList(_ value: Value) throws(ValueError) -> [Self] {
    guard let items = value.list else { throw .mismatch([Self].self, value) }
    var list: [Self] = []
    list.reserveCapacity(items.count)
    for item in items { list.append(try Self(reading: item)) }
    return list
  }
  /// Each item as recipes see it.
  public static func encodedList(_ list: [Self]) throws(ValueError) -> Value {
    var items: [Value] = []
    items.reserveCapacity(list.count)
    for item in list { items.append(try item.encoded()) }
    return .list(items)
  }
}

extension UInt8: FieldElement {
  /// `bytes`.
  public static var listType: FieldType { .bytes }
  /// Reads octets, or a text in base64.
  public static func readList(_ value: Value) throws(ValueError) -> [UInt8] {
    if case .bytes(let bytes) = value.content { return bytes }
    guard let bytes = value.string.flatMap({ [UInt8](base64: $0) }) else { throw .mismatch([UInt8].self, value) }
    return bytes
  }
  /// The octets.
  public static func encodedList(_ list: [UInt8]) -> Value { .bytes(list) }
}

extension Array: FieldElement, FieldValue where Element: FieldElement {
  /// A list of the elements' type, or `bytes`.
  public static var fieldType: FieldType { Element.listType }
  /// Reads a list, or octets.
  public init(reading value: Value) throws(ValueError) { self = try Element.readList(value) }
  /// The list, or the octets.
  public func encoded() throws(ValueError) -> Value { try Element.encodedList(self) }
}

extension Dictionary: FieldElement, FieldValue where Key == String, Value: FieldValue {
  /// A map from texts to the values' type.
  public static var fieldType: FieldType { .map(Value.fieldType) }
  /// Reads a map whose keys are texts.
  ///
  /// Swift treats canonically equivalent keys as equal, recipes don't; a map that holds both can't be read.
  public init(reading value: Basics.Value) throws(ValueError) {
    guard let map = value.map else { throw .mismatch(Self.self, value) }
    self.init(minimumCapacity: map.count)
    for member in map.members {
      guard let name = member.name else {
        throw ValueError("every key must be a string, but found \(member.key.kindName)", at: member.key.place)
      }
      guard updateValue(try Value(reading: member.value), forKey: name) == nil else {
        throw ValueError("two keys look the same, '\(name)', and differ in their Unicode scalars", at: member.key.place)
      }
    }
  }
  /// The map, with its keys sorted by Unicode scalars.
  public func encoded() throws(ValueError) -> Basics.Value {
    var map = ValueMap()
    for (key, value) in sorted(by: { $0.key.precedesByScalars($1.key) }) { map[key] = try value.encoded() }
    return .map(map)
  }
}

extension ValueMap: FieldValue {
  /// `map(string, dyn)`.
  public static var fieldType: FieldType { .map(.dyn) }
  /// Takes the map unchanged, in its order, if its keys are texts.
  public init(reading value: Value) throws(ValueError) {
    guard let map = value.map else { throw .mismatch(Self.self, value) }
    for member in map.members where member.name == nil {
      throw ValueError("every key must be a string, but found \(member.key.kindName)", at: member.key.place)
    }
    self = map
  }
  /// The unchanged map.
  public func encoded() -> Value { .map(self) }
}

extension Optional: FieldElement, FieldValue where Wrapped: FieldValue {
  /// Limits apply to the wrapped type.
  public typealias Limited = Wrapped.Limited
  /// The wrapped type, as an optional.
  public static var fieldType: FieldType { .optional(Wrapped.fieldType) }
  /// No value.
  public static var absent: Self? { .some(nil) }
  /// Reads null as no value.
  public init(reading value: Value) throws(ValueError) {
    if value.isNull { self = nil } else { self = try Wrapped(reading: value) }
  }
  /// The value, or null.
  public func encoded() throws(ValueError) -> Value {
    if let self { try self.encoded() } else { .null }
  }
}

/// An enumeration of texts: `enum Colour: String, Choice { case red, green }`.
public protocol Choice: FieldValue, CaseIterable, RawRepresentable<String> {}

extension Choice {
  /// One of the cases' texts.
  public static var fieldType: FieldType { .choice(allCases.map(\.rawValue)) }
  /// Reads a case's text.
  public init(reading value: Value) throws(ValueError) {
    guard let text = value.string, let choice = Self(rawValue: text) else { throw .mismatch(Self.self, value) }
    self = choice
  }
  /// The case's text.
  public func encoded() -> Value { .string(rawValue) }
}
