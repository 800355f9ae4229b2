// The JSON form of types and fields in a lock.
//
// A type without parts is a word (`string`, `int`, `uint`, `double`, `bool`, `bytes`, `timestamp`, `duration`, `date`,
// `dyn`). Any other type is a map with one member:
//
//     {"list": T}  {"map": T}  {"optional": T}  {"secret": T}
//     {"choice": ["a", "b"]}  {"fields": {"name": F, …}}  {"named": "Dag"}
//
// `optional` is the type of items that may be null. `named` is a type of the lock's `types`, which holds types that
// several actions share. A choice is a choice in an input. In an output it is read as a string, and the summary lists
// the known values, because services add values without notice. A field F is a map with its `type` and, unless they are
// empty or false, `summary`, `optional`, `default`, `deprecated`, `secret` (it may be computed from secrets) and
// `limits` (`min`, `max`, `minLength`, `maxLength`, and `each` with the limits of items).

package import ActionKit
package import Basics

/// Writes types; a type with a name is written only once.
package struct LockEncoder {
  /// The names of types by their JSON text.
  private var names: [String: String] = [:]
  private var taken: Set<String> = []
  /// The types that were written by name.
  package private(set) var types = ValueMap()
  private static let leastShared = 200

  package init() {}

  /// Names a type, if it is large enough to be shared; the first name of a type is used.
  package mutating func name(_ type: FieldType, _ name: String) {
    guard case .object(let schema) = type, !name.isEmpty else { return }
    let text = JSON.displayed(.object(["fields": fields(schema)]))
    guard text.utf8.count >= Self.leastShared, names[text] == nil else { return }
    names[text] = name.free(among: &taken)
  }

  /// The fields of a set.
  package mutating func fields(_ schema: ObjectSchema) -> Value {
    var map = ValueMap()
    for field in schema.fields { map[field.name] = self.field(field) }
    return .map(map)
  }

  private mutating func field(_ field: FieldSchema) -> Value {
    var map = ValueMap()
    map["type"] = type(field.type)
    if !field.summary.isEmpty { map["summary"] = .string(field.summary) }
    if field.isOptional { map["optional"] = .bool(true) }
    if let fallback = field.fallback { map["default"] = fallback }
    if let deprecation = field.deprecation { map["deprecated"] = .string(deprecation) }
    if field.secrecy == .possible { map["secret"] = .bool(true) }
    if let limits = Self.limits(field.limits) { map["limits"] = limits }
    return .map(map)
  }

  package mutating func type(_ type: FieldType) -> Value {
    switch type {
    case .bool, .int, .uint, .double, .string, .date, .bytes, .timestamp, .duration, .dyn: return .string(type.name)
    case .choice(let options): return .object(["choice": .list(options.map(Value.string))])
    case .list(let element): return .object(["list": self.type(element)])
    case .map(let element): return .object(["map": self.type(element)])
    case .secret(let wrapped): return .object(["secret": self.type(wrapped)])
    case .optional(let wrapped): return .object(["optional": self.type(wrapped)])
    case .object(let schema):
      let written = Value.object(["fields": fields(schema)])
      guard let name = names[JSON.displayed(written)] else { return written }
      types[name] = written
      return .object(["named": .string(name)])
    }
  }

  private static func limits(_ limits: [Limit]) -> Value? {
    var map = ValueMap()
    for limit in limits {
      switch limit {
      case .atLeast(let bound): map["min"] = bound
      case .atMost(let bound): map["max"] = bound
      case .minLength(let length): map["minLength"] = .int(length)
      case .maxLength(let length): map["maxLength"] = .int(length)
      case .each(let limit):
        var each = map["each"]?.map ?? ValueMap()
        for member in Self.limits([limit])?.map?.members ?? [] { each[member.key] = member.value }
        map["each"] = .map(each)
      // Neither OpenAPI documents nor schemas of tools produce these.
      case .pattern, .notNull: continue
      }
    }
    return map.isEmpty ? nil : .map(map)
  }
}

extension String {
  /// The name itself, or the name with the lowest number from 2 on that makes it free; it is then taken.
  package func free(among taken: inout Set<String>) -> String {
    var free = self
    var number = 1
    while !taken.insert(free).inserted {
      number += 1
      free = "\(self)\(number)"
    }
    return free
  }
}

/// Reads types; a type in another form than `LockEncoder` writes is an error with its place in the file.
struct LockDecoder {
  /// The named types.
  private let types: ValueMap
  private let side: SchemaReader.Side
  /// The names that are being read, so that a type that contains itself is an error.
  private var open: [String] = []
  private var known: [String: FieldType] = [:]
  private static let deepest = 64

  private static let mostKnownValues = 20

  init(types: ValueMap, for side: SchemaReader.Side) {
    self.types = types
    self.side = side
  }

  /// The fields of a set: the required ones first, otherwise in the order of the file.
  mutating func fields(_ value: Value?, depth: Int = 0) throws(ValueError) -> ObjectSchema {
    guard let value else { return ObjectSchema(fields: []) }
    guard let map = value.map else { throw ValueError("fields are \(value.kindName) and not a map", at: value.place) }
    guard depth < Self.deepest else { throw ValueError("types are nested too deeply", at: value.place) }
    var fields: [FieldSchema] = []
    for member in map.members { fields.append(try field(member, depth: depth)) }
    return ObjectSchema(fields: fields.filter(\.isRequired) + fields.filter { !$0.isRequired })
  }

  private mutating func field(_ member: ValueMap.Member, depth: Int) throws(ValueError) -> FieldSchema {
    guard let name = member.name, let written = member.value["type"] else {
      throw ValueError("a field has no type", at: member.key.place)
    }
    let type = try type(written, depth: depth)
    let value = member.value
    let sentences = [value["summary"]?.string, side == .got ? Self.knownValues(of: written) : nil]
    return FieldSchema(
      name, type, sentences.compactMap(\.self).joined(separator: " "), isOptional: value["optional"]?.bool ?? false,
      fallback: value["default"].map(type.restored), limits: Self.limits(value["limits"], of: type),
      deprecation: value["deprecated"]?.string, secrecy: value["secret"]?.bool == true ? .possible : .none)
  }

  mutating func type(_ value: Value, depth: Int) throws(ValueError) -> FieldType {
    if let word = value.string {
      guard let type = Self.words[word] else { throw ValueError("no type is named '\(word)'", at: value.place) }
      return type
    }
    guard depth < Self.deepest else { throw ValueError("types are nested too deeply", at: value.place) }
    guard let map = value.map, map.count == 1, let member = map.members.first, let name = member.name else {
      throw ValueError("a type is \(value.kindName), not a word or a map with one member", at: value.place)
    }
    switch name {
    case "list": return .list(try type(member.value, depth: depth + 1))
    case "map": return .map(try type(member.value, depth: depth + 1))
    case "optional": return .optional(try type(member.value, depth: depth + 1))
    case "secret": return .secret(try type(member.value, depth: depth + 1))
    case "choice": return side == .got ? .string : .choice((member.value.list ?? []).compactMap(\.string))
    case "fields": return .object(try fields(member.value, depth: depth + 1))
    case "named":
      guard let name = member.value.string, let written = types[name] else {
        throw ValueError("no type is named \(member.value.written)", at: member.value.place)
      }
      if let type = known[name] { return type }
      guard !open.contains(name) else { throw ValueError("the type '\(name)' holds itself", at: member.value.place) }
      open.append(name)
      defer { open.removeLast() }
      let type = try type(written, depth: depth + 1)
      known[name] = type
      return type
    default: throw ValueError("a type can't have '\(name)'", at: member.key.place)
    }
  }

  /// The sentence that lists the values of a choice, or of a choice in a list or map.
  private static func knownValues(of written: Value) -> String? {
    guard let values = written["choice"]?.list?.compactMap(\.string), !values.isEmpty else {
      return (written["list"] ?? written["map"] ?? written["optional"]).flatMap(knownValues)
    }
    let more = values.count > mostKnownValues ? ", …" : ""
    return "Known values: \(values.prefix(mostKnownValues).map { "'\($0)'" }.joined(separator: ", "))\(more)."
  }

  private static let words = Dictionary(
    uniqueKeysWithValues: [
      FieldType.bool, .int, .uint, .double, .string, .date, .bytes, .timestamp, .duration, .dyn,
    ].map { ($0.name, $0) })

  private static func limits(_ value: Value?, of type: FieldType) -> [Limit] {
    guard let value, value.map != nil else { return [] }
    var limits: [Limit] = []
    if let bound = value["min"] { limits.append(.atLeast(type.restored(bound))) }
    if let bound = value["max"] { limits.append(.atMost(type.restored(bound))) }
    if let length = value["minLength"]?.int { limits.append(.minLength(length)) }
    if let length = value["maxLength"]?.int { limits.append(.maxLength(length)) }
    let element: FieldType =
      switch type {
      case .list(let element), .map(let element): element
      default: .dyn
      }
    // A lock holds only one level of limits of items, because schemas have no more.
    if let each = value["each"], each["each"] == nil { limits += Self.limits(each, of: element).map { .each($0) } }
    return limits
  }
}
