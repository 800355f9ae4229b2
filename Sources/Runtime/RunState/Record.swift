/// How records become JSON objects and come back.
///
/// A record is an object whose members are known by name. Absent optional members are left out; instants are RFC 3339
/// texts, lengths of time are CEL's duration texts. Reading is strict: a missing member, one of the wrong kind and one
/// that is not known are faults, because a state that is half understood would be half lost at the next snapshot.
package import Basics

/// Something that the state keeps as JSON.
package protocol Recordable: Sendable {
  /// The value that JSON holds for it.
  func encoded() -> Value
  /// Writes the text of what `encoded` makes; whoever is written often does without the value in between.
  func write(to text: inout RecordText)
  /// Reads what `encoded` made.
  init(reading value: Value) throws(RecordError)
}

extension Recordable {
  package func write(to text: inout RecordText) { text.write(encoded()) }
}

/// Why a value is not the record it should be.
package struct RecordError: Error, Sendable {
  package var message: String
  /// Whether it comes of a decision on what is no longer so.
  package var isOutrun = false

  package init(_ message: String, isOutrun: Bool = false) {
    self.message = message
    self.isOutrun = isOutrun
  }
}

/// An object whose members are known by name.
package protocol Record: Recordable {
  /// Names every member that is there.
  func write(to record: inout RecordWriter)
  /// Takes every member it knows, best in the order in which they are written.
  init(from record: inout RecordReader) throws(RecordError)
}

extension Record {
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
    guard let map = value.map else { throw RecordError("an object is wanted, not \(value.kindName)") }
    var reader = RecordReader(map)
    try self.init(from: &reader)
    try reader.finish()
  }
}

/// The JSON text of records, as it is written.
package struct RecordText: ~Copyable {
  package var json: JSONWriter
  /// Why some value could not be written, if one could not.
  package private(set) var failure: JSONError?

  package init(_ style: JSON.Style = .compact) { json = JSONWriter(style) }

  package mutating func write(_ value: Value) {
    do throws(JSONError) { try json.write(value) } catch { failure = failure ?? error }
  }
}

/// Collects a record's members, each of which is set once: as a map or, to spare the journal that map, as text.
package struct RecordWriter: ~Copyable {
  package private(set) var map = ValueMap()
  private var text = RecordText()
  private let isText: Bool

  package init() {
    isText = false
    map.reserveCapacity(12)
  }

  /// Goes on with a text, in which an object has begun.
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
    if members.isEmpty { return }
    if isText {
      text.json.beginMember(name)
      text.json.begin("[")
      for member in members {
        text.json.beginItem()
        member.write(to: &text)
      }
      text.json.end("]")
    } else {
      map.append(.list(members.map { $0.encoded() }), asNew: name)
    }
  }

  /// Members by names of their own, sorted, so that the same record is always the same text.
  package mutating func set(_ name: String, _ members: [String: some Recordable]) {
    set(name, keys: Array(members.keys)) { members[$0] }
  }

  /// Members by names of their own, found by their keys, and sorted likewise.
  mutating func set(_ name: String, keys: [String], _ member: (String) -> (some Recordable)?) {
    if keys.isEmpty { return }
    let keys = keys.sorted { $0.precedesByScalars($1) }
    if isText {
      text.json.beginMember(name)
      text.json.begin("{")
      for key in keys { set(key, member(key)) }
      text.json.end("}")
    } else {
      var named = RecordWriter()
      for key in keys { named.set(key, member(key)) }
      map.append(.map(named.map), asNew: name)
    }
  }
}

/// Hands out a record's members and knows whether any is left over.
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

  package mutating func readAll<Member: Recordable>(_ name: String) throws(RecordError) -> [Member] {
    guard let value = value(name) else { return [] }
    guard let list = value.list else { throw RecordError("'\(name)' has to be a list, not \(value.kindName)") }
    var members: [Member] = []
    members.reserveCapacity(list.count)
    for item in list { members.append(try Member(reading: item)) }
    return members
  }

  package mutating func takeNamed<Member: Recordable>(_ name: String) throws(RecordError) -> [String: Member] {
    guard let value = value(name) else { return [:] }
    guard let map = value.map else { throw RecordError("'\(name)' has to be an object, not \(value.kindName)") }
    var members: [String: Member] = [:]
    members.reserveCapacity(map.count)
    for member in map.members {
      guard let key = member.name else { throw RecordError("'\(name)' has a name that is \(member.key.kindName)") }
      do { members[key] = try Member(reading: member.value) } catch {
        throw RecordError("in '\(name)', '\(key)': \(error.message)")
      }
    }
    return members
  }

  private mutating func value(_ name: String) -> Value? {
    // Records are read in the order in which they were written, unless somebody sorted the keys.
    for index in next..<map.count {
      let member = map.members[index]
      guard let found = member.name, found.hasSameScalars(as: name) else { continue }
      if index == next { next += 1 } else { taken.append(name) }
      return member.value
    }
    return nil
  }

  /// Throws if the record has members that nobody took.
  package func finish() throws(RecordError) {
    if next + taken.count == map.count { return }
    for member in map.members.dropFirst(next) where !taken.contains(where: { $0.hasSameScalars(as: member.name ?? "") })
    {
      throw RecordError("'\(member.name ?? "a key that is no text")' is not known")
    }
  }
}

// MARK: - What members are made of

extension String: Recordable {
  package func encoded() -> Value { .string(self) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string else { throw RecordError("a string is wanted, not \(value.kindName)") }
    self = text
  }
}

extension Int: Recordable {
  package func encoded() -> Value { .int(self) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let number = value.int else { throw RecordError("an int is wanted, not \(value.kindName)") }
    self = number
  }
}

extension Bool: Recordable {
  package func encoded() -> Value { .bool(self) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let flag = value.bool else { throw RecordError("a bool is wanted, not \(value.kindName)") }
    self = flag
  }
}

extension Timestamp: Recordable {
  package func encoded() -> Value { .string(description) }
  package func write(to text: inout RecordText) { text.json.write(self) }
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string, let instant = Timestamp(text) else {
      throw RecordError("an instant such as \"2026-11-20T09:30:00Z\" is wanted")
    }
    self = instant
  }
}

extension TimeSpan: Recordable {
  package func encoded() -> Value { .string(description) }
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string, let span = TimeSpan(text, units: .expression) else {
      throw RecordError("a length of time such as \"1.5s\" is wanted")
    }
    self = span
  }
}

/// Enumerations are kept by their names.
extension Recordable where Self: RawRepresentable<String> {
  package func encoded() -> Value { .string(rawValue) }
  package func write(to text: inout RecordText) { text.json.write(rawValue) }
  package init(reading value: Value) throws(RecordError) {
    let name = try String(reading: value)
    guard let member = Self(rawValue: name) else { throw RecordError("'\(name)' is not a name that is known here") }
    self = member
  }
}
