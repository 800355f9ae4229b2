/// How records are written as JSON objects and read back.
///
/// A record is an object whose members are identified by name. Absent optional members are left out; instants are RFC
/// 3339 texts, lengths of time are CEL's duration texts. Reading is strict: a missing member, one of the wrong kind and
/// an unknown one are faults, because a state that is half understood would be half lost at the next snapshot.
package import Basics

/// A value that the state keeps as JSON.
package protocol Recordable: Sendable {
  /// The JSON value.
  func encoded() -> Value
  /// Writes the text of the value that `encoded` returns; a type that is written often skips the value in between.
  func write(to text: inout RecordText)
  /// Reads the value that `encoded` returned.
  init(reading value: Value) throws(RecordError)
}

extension Recordable {
  package func write(to text: inout RecordText) { text.write(encoded()) }
}

/// Why a value isn't a valid record.
package struct RecordError: Error, Sendable {
  package var message: String
  /// Whether the event was based on a state that has changed since.
  package var isConflict = false
  /// How long it is until the same may be possible.
  package var wait: TimeSpan?

  package init(_ message: String, isConflict: Bool = false) {
    self.message = message
    self.isConflict = isConflict
  }
}

/// An object whose members are identified by name.
package protocol RecordObject: Recordable {
  /// Writes every present member.
  func write(to record: inout RecordWriter)
  /// Reads every known member, preferably in the order of writing.
  init(from record: inout RecordReader) throws(RecordError)
}

/// An object that declares its members once, for writing and for reading.
package protocol Record: RecordObject {
  /// Passes every member to the coder, by its name and with its value in the record, and takes the value that the coder
  /// returns.
  ///
  /// A reader has no record, and returns what it reads. Every other coder is given the record, does something with each
  /// member, and returns it as it is; the copy that comes of it is of no use. So the compiler checks that no member is
  /// forgotten in either direction. Where a record is written with every step, this is inlined (`@inline(__always)`),
  /// so that the copy is never made.
  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure)
}

/// Visits the members of a record.
package protocol MemberCoder: ~Copyable {
  associatedtype Failure: Error
  /// A required member.
  mutating func callAsFunction<Member: Recordable>(_ name: String, _ member: Member?) throws(Failure) -> Member
  /// A member that is left out if it is nil.
  mutating func callAsFunction<Member: Recordable>(_ name: String, _ member: Member?) throws(Failure) -> Member?
  /// A member that is left out if it is the default, as by older versions that did not know it.
  mutating func callAsFunction<Member: Recordable & Equatable>(
    _ name: String, _ member: Member?, default: @autoclosure () -> Member
  ) throws(Failure) -> Member
}

extension RecordObject {
  package func encoded() -> Value {
    var writer = RecordWriter()
    write(to: &writer)
    return .map(writer.map)
  }

  package func write(to text: inout RecordText) {
    text.json.begin("{")
    var writer = RecordWriter(consume text)
    write(to: &writer)
    text = writer.finish()
    text.json.end("}")
  }

  package init(reading value: Value) throws(RecordError) {
    guard let map = value.map else { throw RecordError("expected an object, not \(value.kindName)") }
    var reader = RecordReader(map)
    try self.init(from: &reader)
    try reader.finish()
  }
}

extension Record {
  @inline(__always)
  package func write(to record: inout RecordWriter) { _ = Self(coding: &record, of: self) }
  package init(from record: inout RecordReader) throws(RecordError) { try self.init(coding: &record, of: nil) }
}

/// The JSON text of records.
package struct RecordText: ~Copyable {
  package var json: JSONWriter
  /// Why a value could not be written, if one could not.
  package private(set) var failure: JSONError?
  /// Takes the text in pieces that end after records, if it may be too large to be held.
  private let take: (([UInt8]) -> Void)?

  package init(_ style: JSON.Style = .compact, inPieces take: (([UInt8]) -> Void)? = nil) {
    json = JSONWriter(style)
    self.take = take
  }

  /// The least bytes of a piece.
  private static let piece = 256 << 10

  /// Hands a piece over, if there is enough; comes after a record.
  mutating func passOn() {
    if json.count > RecordText.piece, let take { take(json.takeBytes()) }
  }

  /// Hands the text on as it is written, in pieces that end anywhere, the last one with `json.finish`.
  init(streaming take: @escaping (UnsafeBufferPointer<UInt8>) -> Void) {
    json = JSONWriter(.compact, inPieces: take)
    self.take = nil
  }

  package mutating func write(_ value: Value) {
    do throws(JSONError) { try json.write(value) } catch { failure = failure ?? error }
  }

  /// Writes members sorted by their names, so that the same record always has the same text.
  mutating func writeObject<Member: Recordable>(_ names: [String], _ member: (String) -> Member?) {
    json.begin("{")
    for name in names.sorted(by: { $0.precedesByScalars($1) }) {
      json.beginMember(name)
      member(name)?.write(to: &self)
    }
    json.end("}")
  }
}

/// Collects a record's members, each set once: as a map or, to save the journal that map, as text.
package struct RecordWriter: ~Copyable {
  package private(set) var map = ValueMap()
  private var text = RecordText()
  private let isText: Bool

  package init() {
    isText = false
    map.reserveCapacity(12)
  }

  /// Continues a text that has begun an object.
  init(_ text: consuming RecordText) {
    isText = true
    self.text = text
  }

  /// The text with the members.
  consuming func finish() -> RecordText { text }

  package mutating func set(_ name: String, _ member: (some Recordable)?) {
    guard let member else { return }
    if isText {
      text.json.beginMember(name)
      member.write(to: &text)
    } else {
      map.append(member.encoded(), asNew: name)
    }
  }

  package mutating func set(_ name: String, _ members: [some Recordable]) {
    set(name, members.isEmpty ? nil : .some(members))
  }

  package mutating func set(_ name: String, _ members: [String: some Recordable]) {
    set(name, members.isEmpty ? nil : .some(members))
  }
}

extension RecordWriter: MemberCoder {
  @inline(__always)
  package mutating func callAsFunction<Member: Recordable>(_ name: String, _ member: Member?) throws(Never) -> Member {
    // Only a reader has no record.
    guard let member else { preconditionFailure("a record is written without its '\(name)'") }
    set(name, member)
    return member
  }

  @inline(__always)
  package mutating func callAsFunction<Member: Recordable>(_ name: String, _ member: Member?) throws(Never) -> Member? {
    set(name, member)
    return member
  }

  @inline(__always)
  package mutating func callAsFunction<Member: Recordable & Equatable>(
    _ name: String, _ member: Member?, default: @autoclosure () -> Member
  ) throws(Never) -> Member {
    let standard = `default`()
    if let member, member != standard { set(name, member) }
    return member ?? standard
  }
}

/// Returns a record's members and tracks which are left over.
package struct RecordReader {
  private let map: ValueMap
  private var taken: [String] = []
  private var next = 0

  package init(_ map: ValueMap) { self.map = map }

  package mutating func read<Member: Recordable>(_ name: String) throws(RecordError) -> Member {
    guard let member: Member = try readIfPresent(name) else { throw RecordError("'\(name)' is missing") }
    return member
  }

  package mutating func readIfPresent<Member: Recordable>(_ name: String) throws(RecordError) -> Member? {
    guard let value = value(name) else { return nil }
    do { return try Member(reading: value) } catch { throw RecordError("in '\(name)': \(error.message)") }
  }

  private mutating func value(_ name: String) -> Value? {
    // Members are usually read in the order they were written, unless the keys were sorted.
    for index in next..<map.count {
      let member = map.members[index]
      guard let found = member.name, found.hasSameScalars(as: name) else { continue }
      if index == next { next += 1 } else { taken.append(name) }
      return member.value
    }
    return nil
  }

  /// Throws if the record has members that were not read.
  package func finish() throws(RecordError) {
    if next + taken.count == map.count { return }
    for member in map.members.dropFirst(next) where !taken.contains(where: { $0.hasSameScalars(as: member.name ?? "") })
    {
      throw RecordError("'\(member.name ?? "a key that isn't a text")' is not known")
    }
  }
}

extension RecordReader: MemberCoder {
  package mutating func callAsFunction<Member: Recordable>(
    _ name: String, _ member: Member?
  ) throws(RecordError) -> Member { try read(name) }

  package mutating func callAsFunction<Member: Recordable>(
    _ name: String, _ member: Member?
  ) throws(RecordError) -> Member? { try readIfPresent(name) }

  package mutating func callAsFunction<Member: Recordable & Equatable>(
    _ name: String, _ member: Member?, default: @autoclosure () -> Member
  ) throws(RecordError) -> Member { try readIfPresent(name) ?? `default`() }
}

// MARK: - Types of members

extension String: Recordable {
  package func encoded() -> Value { .string(self) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string else { throw RecordError("expected a string, not \(value.kindName)") }
    self = text
  }
}

extension Int: Recordable {
  package func encoded() -> Value { .int(self) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let number = value.int else { throw RecordError("expected an int, not \(value.kindName)") }
    self = number
  }
}

extension Bool: Recordable {
  package func encoded() -> Value { .bool(self) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let flag = value.bool else { throw RecordError("expected a bool, not \(value.kindName)") }
    self = flag
  }
}

extension Timestamp: Recordable {
  package func encoded() -> Value { .string(description) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string, let instant = Timestamp(text) else {
      throw RecordError("expected an instant such as \"2026-11-20T09:30:00Z\"")
    }
    self = instant
  }
}

extension TimeSpan: Recordable {
  package func encoded() -> Value { .string(description) }
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string, let span = TimeSpan(text, units: .expression) else {
      throw RecordError("expected a length of time such as \"1.5s\"")
    }
    self = span
  }
}

extension Array: Recordable where Element: Recordable {
  package func encoded() -> Value { .list(map { $0.encoded() }) }
  package func write(to text: inout RecordText) {
    text.json.begin("[")
    for item in self {
      text.json.beginItem()
      item.write(to: &text)
    }
    text.json.end("]")
  }
  package init(reading value: Value) throws(RecordError) {
    guard let list = value.list else { throw RecordError("expected a list, not \(value.kindName)") }
    self = []
    reserveCapacity(list.count)
    for item in list { append(try Element(reading: item)) }
  }
}

extension Dictionary: Recordable where Key == String, Value: Recordable {
  package func encoded() -> Basics.Value {
    var writer = RecordWriter()
    for (key, member) in sorted(by: { $0.key.precedesByScalars($1.key) }) { writer.set(key, member) }
    return .map(writer.map)
  }
  package func write(to text: inout RecordText) { text.writeObject(Array(keys)) { self[$0] } }
  package init(reading value: Basics.Value) throws(RecordError) {
    guard let map = value.map else { throw RecordError("expected an object, not \(value.kindName)") }
    self.init(minimumCapacity: map.count)
    for member in map.members {
      guard let key = member.name else { throw RecordError("expected a name, not \(member.key.kindName)") }
      do { self[key] = try Value(reading: member.value) } catch { throw RecordError("in '\(key)': \(error.message)") }
    }
  }
}

/// Enumerations are kept by their names.
extension Recordable where Self: RawRepresentable<String> {
  package func encoded() -> Value { .string(rawValue) }
  package func write(to text: inout RecordText) { text.json.write(rawValue) }
  package init(reading value: Value) throws(RecordError) {
    let name = try String(reading: value)
    guard let member = Self(rawValue: name) else { throw RecordError("'\(name)' isn't a known name") }
    self = member
  }
}
