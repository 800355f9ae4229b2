// How a set's fields are found without naming them twice.
//
// The compiler writes `encode(to:)` and `init(from:)` for a set, which go through its stored properties by name. These
// two coders use that and nothing else: `FieldVisitor` is shown each field, `MemberDecoder` hands each its own member
// of a map. Neither is ever given to anything but a set, and what a set may not hold ends in a thrown fault. Compared
// with `Mirror` it is several times as fast, and reads as well as writes.

/// Collects a set's fields.
///
/// A property is asked to write itself, and is a field if it answers with `visit`. Asking its type instead would search
/// all conformances of the program, for each type of field at every start.
final class FieldVisitor: Encoder {
  private(set) var fields: [(name: String, field: any AnyField)] = []
  /// Properties that are no fields.
  private(set) var strangers: [String] = []
  /// The property that is asked and has not answered.
  private var property: String?

  func visit(_ field: any AnyField) {
    guard let name = property else { return }
    fields.append((name, field))
    property = nil
  }

  /// Visits the fields of a part in place of the property that holds it.
  func include(_ part: some FieldSet) {
    property = nil
    try? part.encode(to: self)
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(VisitingContainer<Key>(visitor: self, isOfSet: property == nil))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { VisitingContainer<FieldKey>(visitor: self) }
  func singleValueContainer() -> any SingleValueEncodingContainer { VisitingContainer<FieldKey>(visitor: self) }

  fileprivate func ask(_ value: some Encodable, called name: String) {
    property = name
    try? value.encode(to: self)
    if property != nil { strangers.append(name) }
    property = nil
  }
}

private struct VisitingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol, UnkeyedEncodingContainer,
  SingleValueEncodingContainer
{
  let visitor: FieldVisitor
  /// Whether the properties are those of the set; what a stranger holds is not looked at.
  var isOfSet = false

  mutating func encode<T: Encodable>(_ value: T, forKey key: Key) {
    if isOfSet { visitor.ask(value, called: key.stringValue) }
  }

  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }
  mutating func encodeNil(forKey key: Key) {}
  mutating func encodeNil() {}
  mutating func encode<T: Encodable>(_ value: T) {}
  mutating func nestedContainer<K: CodingKey>(keyedBy: K.Type, forKey: Key) -> KeyedEncodingContainer<K> {
    KeyedEncodingContainer(VisitingContainer<K>(visitor: visitor))
  }
  mutating func nestedUnkeyedContainer(forKey: Key) -> any UnkeyedEncodingContainer { self }
  mutating func nestedContainer<K: CodingKey>(keyedBy: K.Type) -> KeyedEncodingContainer<K> {
    KeyedEncodingContainer(VisitingContainer<K>(visitor: visitor))
  }
  mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  mutating func superEncoder() -> any Encoder { visitor }
  mutating func superEncoder(forKey: Key) -> any Encoder { visitor }
}

/// Gives a field its own value.
struct FieldDecoder: Decoder {
  let value: Value

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw notAField }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw notAField }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw notAField }
}

/// Gives a set its fields.
final class MemberDecoder: Decoder {
  fileprivate let map: ValueMap
  fileprivate let place: Place
  /// The set's own declarations, asked for only when a field was left out.
  fileprivate lazy var declarations = declare()
  private let declare: () -> [(name: String, field: any AnyField)]

  init(_ map: ValueMap, at place: Place, declare: @escaping () -> [(name: String, field: any AnyField)]) {
    self.map = map
    self.place = place
    self.declare = declare
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(MemberContainer<Key>(decoder: self))
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw notAField }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw notAField }
}

private struct MemberContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: MemberDecoder

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    let name = key.stringValue
    if let value = decoder.map[name], !value.isNull { return try T(from: FieldDecoder(value: value)) }
    // Left out, null, or given by a former name. The declaration is itself a `T`, and holds the default.
    guard let field = decoder.declarations.first(where: { $0.name == name })?.field else {
      // A part that is included reads its own fields from the same map.
      return try T(from: decoder)
    }
    if decoder.map[name] != nil, field.fieldType.takesNull { return try T(from: FieldDecoder(value: .null)) }
    for alias in field.declaration.aliases {
      if let value = decoder.map[alias], !value.isNull { return try T(from: FieldDecoder(value: value)) }
    }
    // A default can itself be a set that lacks something.
    guard try field.encoded() != nil, let declared = field as? T else {
      throw ValueError("'\(name)' is missing", at: decoder.place)
    }
    return declared
  }

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { decoder.map.members.compactMap { $0.name.flatMap(Key.init(stringValue:)) } }
  func contains(_ key: Key) -> Bool { decoder.map[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { throw notAField }
  func nestedContainer<K>(keyedBy: K.Type, forKey: Key) throws -> KeyedDecodingContainer<K> { throw notAField }
  func nestedUnkeyedContainer(forKey: Key) throws -> any UnkeyedDecodingContainer { throw notAField }
  func superDecoder() throws -> any Decoder { throw notAField }
  func superDecoder(forKey: Key) throws -> any Decoder { throw notAField }
}

/// A key for containers that never see one.
private struct FieldKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

private var notAField: ValueError { ValueError("every stored property of a FieldSet is declared with @Field") }
