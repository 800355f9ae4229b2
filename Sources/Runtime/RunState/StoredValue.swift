/// How any value of a run is written as JSON and read back as exactly the same value.
///
/// Values that JSON has are kept unchanged: null, bool, int, double, string, list, and maps whose keys are strings.
/// Everything else is an object with one member whose name begins with `$`:
///
///     {"$uint": "7"}                       {"$double": "NaN"}         (also Infinity, -Infinity)
///     {"$bytes": "aGVsbG8="}               {"$timestamp": "2026-11-20T09:30:00Z"}
///     {"$duration": "5400s"}               {"$map": [[key, value], …]}
///     {"$optional": [value] or []}         {"$type": "int"}
///     {"$masked": …}  {"$maskedBytes": …}  {"$maskedJSON": …}
///
/// The last three stand for a value that holds a secret; `SecretRegistry` documents their content.
///
/// `$map` also holds a map of one member whose name begins with `$`, so that data from a service can't be mistaken for
/// one of these. Source locations are not kept.
package import Basics

/// A value in the state: inline, or in `blobs/` if it is large.
package enum StoredValue: Sendable, Equatable {
  /// The value itself.
  case inline(Value)
  /// The blob with the value, as the JSON text described above.
  case blob(BlobReference)
}

/// The reference to a blob.
package struct BlobReference: Hashable, Sendable {
  /// SHA-256 of the bytes, in lower-case hexadecimal; the name of the file.
  package var sha256: String
  /// The number of bytes.
  package var size: Int

  package init(sha256: String, size: Int) {
    self.sha256 = sha256
    self.size = size
  }
}

extension BlobReference: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    sha256 = try member("sha256", record?.sha256)
    size = try member("size", record?.size)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    try self.init(coding: &record, of: nil)
    // The name becomes a path.
    guard sha256.utf8.count == 64, sha256.utf8.allSatisfy({ ASCII.digits.contains($0) || (0x61...0x66).contains($0) })
    else { throw RecordError("'\(sha256)' is not a SHA-256 in lower-case hexadecimal") }
  }
}

extension StoredValue: Recordable {
  package func encoded() -> Value {
    switch self {
    case .inline(let value): value.encoded()
    case .blob(let reference): .object(["$blob": reference.encoded()])
    }
  }

  package func write(to text: inout RecordText) {
    if case .inline(let value) = self { value.write(to: &text) } else { text.write(encoded()) }
  }

  package init(reading value: Value) throws(RecordError) {
    if let map = value.map, map.count == 1, let reference = map["$blob"] {
      self = .blob(try BlobReference(reading: reference))
    } else {
      self = .inline(try Value(reading: value))
    }
  }
}

extension Value: Recordable {
  package func encoded() -> Value {
    // Most values need no copy.
    if isWrittenAsItIs { return self }
    switch content {
    case .null, .bool, .int, .string: return self
    case .double(let number):
      return .object(["$double": .string(number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity")])
    case .uint(let number): return .object(["$uint": .string(String(number))])
    case .bytes(let bytes): return .object(["$bytes": .string(bytes.base64)])
    case .timestamp(let instant): return .object(["$timestamp": instant.encoded()])
    case .duration(let span): return .object(["$duration": span.encoded()])
    case .optional(let value): return .object(["$optional": .list(value.map { [$0.encoded()] } ?? [])])
    case .type(let name): return .object(["$type": .string(name)])
    case .masked(let text): return text.encoded()
    case .list(let items): return .list(items.map { $0.encoded() })
    case .map(let map):
      if Value.isPlain(map) {
        return .map(ValueMap(map.members.map { ($0.name ?? "", $0.value.encoded()) }))
      }
      return .object(["$map": .list(map.members.map { .list([$0.key.encoded(), $0.value.encoded()]) })])
    }
  }

  package func write(to text: inout RecordText) {
    if isWrittenAsItIs { return text.write(self) }
    switch content {
    case .bytes(let bytes):
      // Both the bytes and the value around them may be large; a copy in another form would be as large again.
      text.json.begin("{")
      text.json.beginMember("$bytes")
      text.json.write(base64: bytes)
      text.json.end("}")
    case .list(let items): items.write(to: &text)
    case .map(let map) where Value.isPlain(map):
      text.json.begin("{")
      for member in map.members {
        text.json.beginMember(member.name ?? "")
        member.value.write(to: &text)
      }
      text.json.end("}")
    default: text.write(encoded())
    }
  }

  private var isWrittenAsItIs: Bool {
    switch content {
    case .null, .bool, .int, .string: true
    case .double(let number): number.isFinite
    case .uint, .bytes, .timestamp, .duration, .optional, .type, .masked: false
    case .list(let items): items.allSatisfy(\.isWrittenAsItIs)
    case .map(let map): Value.isPlain(map) && map.members.allSatisfy(\.value.isWrittenAsItIs)
    }
  }

  /// Whether a map is its own JSON object, apart from its values.
  private static func isPlain(_ map: ValueMap) -> Bool {
    if map.count == 1, let name = map.members[0].name, name.utf8.first == ASCII.dollar { return false }
    return map.members.allSatisfy { $0.name != nil }
  }

  package init(reading value: Value) throws(RecordError) {
    if value.isWrittenAsItIs {
      self = value
      return
    }
    switch value.content {
    case .list(let items):
      var read: [Value] = []
      read.reserveCapacity(items.count)
      for item in items { read.append(try Value(reading: item)) }
      self = .list(read)
    case .map(let map):
      if map.count == 1, let name = map.members[0].name, name.utf8.first == ASCII.dollar {
        self = try Value.tagged(name, map.members[0].value)
        return
      }
      var read = ValueMap()
      read.reserveCapacity(map.count)
      for member in map.members { read[member.key] = try Value(reading: member.value) }
      self = .map(read)
    default:
      self = Value(value.content)
    }
  }

  private static func tagged(_ tag: String, _ value: Value) throws(RecordError) -> Value {
    switch (tag, value.content) {
    case ("$uint", .string(let text)): if let number = UInt(text) { return .uint(number) }
    case ("$double", .string("NaN")): return .double(.nan)
    case ("$double", .string("Infinity")): return .double(.infinity)
    case ("$double", .string("-Infinity")): return .double(-.infinity)
    case ("$bytes", .string(let text)): if let octets = [UInt8](base64: text) { return .bytes(octets) }
    case ("$timestamp", _): return .timestamp(try Timestamp(reading: value))
    case ("$duration", _): return .duration(try TimeSpan(reading: value))
    case ("$type", .string(let name)): return Value(.type(name))
    case ("$masked", .list(let parts)), ("$maskedBytes", .list(let parts)), ("$maskedJSON", .list(let parts)):
      if let kind = MaskedText.Kind(rawValue: tag), let text = MaskedText(kind, reading: parts) {
        return Value(.masked(text))
      }
    case ("$optional", .list(let items)):
      if items.count <= 1 {
        return Value(.optional(try items.first.map { item throws(RecordError) in try Value(reading: item) }))
      }
    case ("$map", .list(let pairs)):
      var map = ValueMap()
      for pair in pairs {
        guard let pair = pair.list, pair.count == 2 else { throw RecordError("a '$map' needs pairs") }
        let member = ValueMap.Member(key: try Value(reading: pair[0]), value: try Value(reading: pair[1]))
        guard map.insert(member) == nil else { throw RecordError("a '$map' has a key twice") }
      }
      return .map(map)
    default: break
    }
    throw RecordError("'\(tag)' doesn't denote a value here")
  }
}
