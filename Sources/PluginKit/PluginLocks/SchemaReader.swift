// JSON Schema as types of fields, in the dialects of OpenAPI 2.0, 3.0 and 3.1 and of the tools of MCP servers.
//
// What has a type of ours gets it: objects with their properties, lists, maps, choices, instants, dates, octets. What may
// be null is optional. `allOf` is one object with the properties of all; of `anyOf` and `oneOf` the alternatives that are
// not null must come to one type. All else is `dyn`: unions, schemas without a type, what holds itself, what refers to
// another document, and what is so large that no one could want it written out.
//
// A schema is read for one side. What is given has limits, may hold no field that is read-only and none that is unknown;
// what is got has no limits, because it isn't ours to refuse, and of its fields those are there that must be.
//
// Nothing of a document is trusted: references are followed in bounds, and every text becomes one line.

package import ActionKit
package import Basics

/// Reads the schemas of one document.
package struct SchemaReader {
  /// Who has a value of the type.
  package enum Side: Sendable {
    /// Recipes give it.
    case given
    /// The service gives it.
    case got
  }

  /// What references start from.
  private let document: Value
  private let side: Side
  /// The references that are being followed.
  private var open: [String] = []
  /// How many fields and types one part has so far.
  private var size = 0
  /// The types of references, so that what many actions share is read once; with what each counts.
  private var known: [String: (type: FieldType, isNullable: Bool, size: Int)] = [:]
  /// The objects that have a name in the document, in the order in which they were met.
  package private(set) var named: [(name: String, type: FieldType)] = []
  /// The references that lead to nothing in the document, each once.
  package private(set) var missing: [String] = []

  private static let largest = 4000
  private static let deepest = 24
  private static let mostOptions = 1000
  private static let mostMissing = 100

  /// - Parameter document: What references of the schemas start from.
  package init(_ document: Value, for side: Side) {
    self.document = document
    self.side = side
  }

  /// A field, as one part of an action: what came before doesn't count for its size.
  package mutating func field(
    _ name: String, _ schema: Value, summary: String? = nil, isRequired: Bool
  ) -> FieldSchema {
    size = 0
    return field(name, schema, summary: summary, isRequired: isRequired, depth: 0)
  }

  /// The fields of a schema that is an object; nil if it isn't one with known fields.
  package mutating func fields(_ schema: Value) -> [FieldSchema]? {
    size = 0
    guard case .object(let object) = type(schema, depth: 0).type else { return nil }
    return object.fields
  }

  private mutating func field(
    _ name: String, _ schema: Value, summary: String?, isRequired: Bool, depth: Int
  ) -> FieldSchema {
    let (type, isNullable) = type(schema, depth: depth)
    let resolved = resolved(schema) ?? schema
    var sentences = [summary ?? Self.sentence(schema) ?? Self.sentence(resolved) ?? ""].filter { !$0.isEmpty }
    var isOptional = !isRequired || isNullable
    if case .dyn = type { isOptional = !isRequired }
    var deprecation: String?
    if side == .given {
      if case .int = type, let numbers = resolved.map.flatMap(Self.options)?.compactMap(\.int), !numbers.isEmpty {
        sentences.append("One of \(numbers.prefix(20).map(\.description).joined(separator: ", ")).")
      }
      if let standard = resolved["default"] ?? schema["default"], !standard.isNull {
        sentences.append("Left out: \(JSON.shown(standard).safe.shortened(to: 60)).")
      }
      if (resolved["deprecated"] ?? schema["deprecated"])?.bool == true { deprecation = "the service deprecates it" }
    }
    var secrecy = FieldSecrecy.none
    if side == .given, resolved["format"]?.string == "password" || Self.isText(type) && Self.mayBeSecret(name) {
      secrecy = .possible
    }
    return FieldSchema(
      name, type, sentences.joined(separator: " "), isOptional: isOptional,
      limits: side == .given ? Self.limits(resolved, of: type, self) : [], deprecation: deprecation, secrecy: secrecy)
  }

  // MARK: Types

  /// The type of a schema, and whether null is a value of it.
  private mutating func type(_ schema: Value, depth: Int) -> (type: FieldType, isNullable: Bool) {
    size += 1
    guard depth < Self.deepest, size < Self.largest, let map = schema.map else { return (.dyn, false) }
    if let reference = map["$ref"]?.string { return type(at: reference, depth: depth) }
    if let parts = map["allOf"]?.list, !parts.isEmpty { return merged(schema, parts, depth: depth) }
    for word in ["anyOf", "oneOf"] {
      if let parts = map[word]?.list, !parts.isEmpty {
        // Beside properties of its own, alternatives only say which of them go together.
        if map["properties"]?.map == nil { return united(schema, parts, depth: depth) }
      }
    }
    var isNullable = map["nullable"]?.bool == true || map["x-nullable"]?.bool == true
    if let options = Self.options(map), let choice = Self.choice(options) {
      return (choice, isNullable || options.contains(where: \.isNull))
    }
    var word = map["type"]?.string
    if let words = map["type"]?.list?.compactMap(\.string) {
      isNullable = isNullable || words.contains("null")
      let others = Set(words).subtracting(["null"])
      if others == ["integer", "number"] {
        word = "number"
      } else if others.count == 1 {
        word = others.first
      } else {
        return (.dyn, false)
      }
    }
    if word == nil {
      if map["properties"]?.map != nil || map["additionalProperties"]?.map != nil { word = "object" }
      if map["items"]?.map != nil { word = "array" }
    }
    return (single(word ?? "", map, depth: depth), isNullable)
  }

  private mutating func single(_ word: String, _ map: ValueMap, depth: Int) -> FieldType {
    switch word {
    case "boolean": return .bool
    case "integer": return .int
    case "number": return .double
    case "string": return Self.text(map)
    case "array":
      guard let items = map["items"], items.map != nil else { return .list(.dyn) }
      let (element, isNullable) = type(items, depth: depth + 1)
      if !isNullable { return .list(element) }
      // Expressions know no list of what may be null.
      return .list(side == .given ? .optional(element) : .dyn)
    case "object": return object(map, depth: depth)
    default: return .dyn
    }
  }

  private mutating func object(_ map: ValueMap, depth: Int) -> FieldType {
    let properties = map["properties"]?.map ?? ValueMap()
    if properties.isEmpty {
      guard let others = map["additionalProperties"], others.map.map({ !$0.isEmpty }) ?? false else {
        // That there are no others is said of what has nothing.
        return map["additionalProperties"]?.bool == false ? .object(ObjectSchema(fields: [])) : .map(.dyn)
      }
      // A member that is null is one that isn't there.
      return .map(type(others, depth: depth + 1).type)
    }
    let required = Set((map["required"]?.list ?? []).compactMap(\.string))
    var fields: [FieldSchema] = []
    for member in properties.members {
      guard let name = member.name, Self.isUsable(name), isOnSide(member.value) else { continue }
      fields.append(
        field(name, member.value, summary: nil, isRequired: required.contains(name), depth: depth + 1))
    }
    return .object(ObjectSchema(fields: fields.filter(\.isRequired) + fields.filter { !$0.isRequired }))
  }

  private mutating func type(at reference: String, depth: Int) -> (type: FieldType, isNullable: Bool) {
    if let known = known[reference] {
      size += known.size
      return size < Self.largest ? (known.type, known.isNullable) : (.dyn, false)
    }
    guard !open.contains(reference), open.count < Self.deepest else { return (.dyn, false) }
    guard let schema = target(of: reference) else {
      if missing.count < Self.mostMissing, !missing.contains(reference) { missing.append(reference) }
      return (.dyn, false)
    }
    open.append(reference)
    let before = size
    let found = type(schema, depth: depth + 1)
    open.removeLast()
    // Where it is met inside of another, or of too much, it may be cut, and isn't the same from elsewhere.
    if open.isEmpty, size < Self.largest { known[reference] = (found.type, found.isNullable, size - before) }
    if case .object = found.type { named.append((Self.name(of: reference), found.type)) }
    return found
  }

  /// One object with the properties of all, or the one part that says a type.
  private mutating func merged(
    _ schema: Value, _ parts: [Value], depth: Int
  ) -> (type: FieldType, isNullable: Bool) {
    var rest = schema.map ?? ValueMap()
    rest["allOf"] = nil
    var types: [FieldType] = []
    var isNullable = false
    let own = ["properties", "type", "enum", "items", "additionalProperties"].contains { rest[$0] != nil }
    for part in parts.prefix(100) + (own ? [.map(rest)] : []) {
      // A part that only describes, or only says what is required, has no type.
      guard let map = part.map,
        ["$ref", "allOf", "anyOf", "oneOf", "type", "properties", "enum", "const", "items", "additionalProperties"]
          .contains(where: { map[$0] != nil })
      else { continue }
      let found = type(part, depth: depth + 1)
      if found.isNullable { isNullable = true }
      types.append(found.type)
    }
    let required = Set(
      ((rest["required"]?.list ?? []) + parts.prefix(100).flatMap { $0["required"]?.list ?? [] }).compactMap(\.string))
    var fields: [FieldSchema] = []
    for type in types {
      guard case .object(let object) = type else {
        // An object without known fields adds nothing to one that has some.
        if case .map(.dyn) = type, types.count > 1 { continue }
        return types.count == 1 ? (type, isNullable || rest["nullable"]?.bool == true) : (.dyn, false)
      }
      for var field in object.fields {
        if required.contains(field.name), resolvedIsNullable(field, parts) == false { field.isOptional = false }
        if let index = fields.firstIndex(where: { $0.name.hasSameScalars(as: field.name) }) {
          if fields[index].isOptional { fields[index] = field }
        } else {
          fields.append(field)
        }
      }
    }
    guard !fields.isEmpty || types.contains(where: { if case .object = $0 { true } else { false } }) else {
      return (types.first ?? .dyn, isNullable)
    }
    return (
      .object(ObjectSchema(fields: fields.filter(\.isRequired) + fields.filter { !$0.isRequired })),
      isNullable || rest["nullable"]?.bool == true || rest["x-nullable"]?.bool == true
    )
  }

  /// Whether a property of some parts may be null, so that it stays optional though it is required.
  private func resolvedIsNullable(_ field: FieldSchema, _ parts: [Value]) -> Bool {
    for part in parts.prefix(100) {
      guard let property = (resolved(part) ?? part)["properties"]?[field.name] else { continue }
      let schema = resolved(property) ?? property
      if schema["nullable"]?.bool == true || schema["x-nullable"]?.bool == true { return true }
      if schema["type"]?.list?.contains(.string("null")) == true { return true }
      if ((schema["anyOf"] ?? schema["oneOf"])?.list ?? []).contains(where: Self.isNull) { return true }
    }
    return false
  }

  /// The one type that all alternatives come to, but for null.
  private mutating func united(
    _ schema: Value, _ parts: [Value], depth: Int
  ) -> (type: FieldType, isNullable: Bool) {
    var isNullable = schema["nullable"]?.bool == true || schema["x-nullable"]?.bool == true
    var types: [FieldType] = []
    for part in parts.prefix(100) {
      if Self.isNull(part) {
        isNullable = true
        continue
      }
      let found = type(part, depth: depth + 1)
      if found.isNullable { isNullable = true }
      types.append(found.type)
    }
    guard var all = types.first else { return (.dyn, false) }
    for type in types.dropFirst() {
      guard let joined = Self.joined(all, type) else { return (.dyn, false) }
      all = joined
    }
    return (all, isNullable)
  }

  /// A type that both are of, if it is as good as each.
  private static func joined(_ left: FieldType, _ right: FieldType) -> FieldType? {
    switch (left, right) {
    case (.choice(let left), .choice(let right)):
      return .choice(left + right.filter { option in !left.contains { $0.hasSameScalars(as: option) } })
    case (.choice, .string), (.string, .choice), (.string, .string): return .string
    case (.int, .int): return .int
    case (.int, .double), (.double, .int), (.double, .double): return .double
    case (.bool, .bool): return .bool
    case (.timestamp, .timestamp): return .timestamp
    case (.date, .date): return .date
    case (.bytes, .bytes): return .bytes
    case (.timestamp, .string), (.string, .timestamp), (.date, .string), (.string, .date), (.timestamp, .date),
      (.date, .timestamp):
      return .string
    case (.list(let left), .list(let right)): return joined(left, right).map { .list($0) }
    case (.map(let left), .map(let right)): return joined(left, right).map { .map($0) }
    default: return nil
    }
  }

  // MARK: Parts

  private static func isText(_ type: FieldType) -> Bool { if case .string = type { true } else { false } }

  /// Whether what has that name is mostly a credential, which recipes give as a secret.
  private static func mayBeSecret(_ name: String) -> Bool {
    let name = name.lowercased()
    return ["password", "passwd", "secret", "token", "auth", "apikey", "api_key", "api-key", "credential"]
      .contains { name.contains($0) }
  }

  private static func isNull(_ schema: Value) -> Bool { schema["type"]?.string == "null" }

  private static func text(_ map: ValueMap) -> FieldType {
    if map["contentEncoding"]?.string == "base64" { return .bytes }
    switch map["format"]?.string {
    case "date-time": return .timestamp
    case "date": return .date
    case "byte": return .bytes
    default: return .string
    }
  }

  /// The values of an enumeration, or the only one.
  private static func options(_ map: ValueMap) -> [Value]? { map["enum"]?.list ?? map["const"].map { [$0] } }

  /// The type of an enumeration; nil if its options say less than its `type` does.
  private static func choice(_ options: [Value]) -> FieldType? {
    let values = options.filter { !$0.isNull }
    guard !values.isEmpty else { return nil }
    if values.allSatisfy({ $0.int != nil }) { return .int }
    if values.allSatisfy({ $0.bool != nil }) { return .bool }
    // Docker's sets are maps whose values are all empty.
    if values.allSatisfy({ $0.map?.isEmpty == true }) { return .object(ObjectSchema(fields: [])) }
    var texts: [String] = []
    for value in values {
      guard let text = value.string else { return nil }
      // What a terminal would obey is no option that anyone writes.
      guard text.safe.hasSameScalars(as: text) else { return .string }
      if !texts.contains(where: { $0.hasSameScalars(as: text) }) { texts.append(text) }
      if texts.count > mostOptions { return .string }
    }
    return .choice(texts)
  }

  /// A name that can be a field of ours: short, and nothing that a terminal would obey.
  private static func isUsable(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 200 && name.safe.hasSameScalars(as: name)
  }

  private func isOnSide(_ schema: Value) -> Bool {
    let schema = resolved(schema) ?? schema
    return schema[side == .given ? "readOnly" : "writeOnly"]?.bool != true
  }

  /// What a schema refers to; nil if it refers to nothing that is there.
  package func resolved(_ schema: Value) -> Value? {
    guard let reference = schema["$ref"]?.string else { return nil }
    return target(of: reference)
  }

  private func target(of reference: String) -> Value? {
    var reference = reference
    for _ in 0..<Self.deepest {
      guard reference.hasPrefix("#") else { return nil }
      let pointer = String(reference.dropFirst())
      guard let pointer = pointer.percentDecoded, pointer.isEmpty || pointer.hasPrefix("/"),
        let value = try? document.part(at: pointer, called: "the document")
      else { return nil }
      guard let next = value["$ref"]?.string else { return value }
      reference = next
    }
    return nil
  }

  /// The last part of a reference.
  private static func name(of reference: String) -> String {
    let name = reference.split(separator: "/").last.map(String.init) ?? ""
    return isUsable(name) ? name : ""
  }

  private static func limits(_ schema: Value, of type: FieldType, _ reader: SchemaReader) -> [Limit] {
    var schema = schema
    // What may be null has its limits in the other alternative.
    if let parts = (schema["anyOf"] ?? schema["oneOf"])?.list {
      let others = parts.filter { !isNull($0) }
      guard others.count == 1, let other = others.first else { return [] }
      schema = reader.resolved(other) ?? other
    }
    func length(_ least: String, _ most: String) -> [Limit] {
      let (least, most) = (schema[least]?.int ?? 0, schema[most]?.int ?? Int.max)
      guard least >= 0, most >= least else { return [] }
      return (least > 0 ? [.minLength(least)] : []) + (most < Int.max ? [.maxLength(most)] : [])
    }
    switch type {
    case .int:
      func bound(_ name: String, _ exclusive: String, _ step: Int) -> Int? {
        // In drafts before 6 `exclusiveMinimum` is a bool beside `minimum`.
        if let value = schema[exclusive]?.int { return value.addingReportingOverflow(step).partialValue }
        guard let value = schema[name] else { return nil }
        let whole = value.int ?? value.number.flatMap { Int(exactly: $0) }
        return schema[exclusive]?.bool == true ? whole.map { $0.addingReportingOverflow(step).partialValue } : whole
      }
      let numbers = schema.map.flatMap(options)?.compactMap(\.int) ?? []
      let least = numbers.min() ?? bound("minimum", "exclusiveMinimum", 1)
      let most = numbers.max() ?? bound("maximum", "exclusiveMaximum", -1)
      if let least, let most, least > most { return [] }
      return (least.map { [.atLeast(.int($0))] } ?? []) + (most.map { [.atMost(.int($0))] } ?? [])
    case .double:
      func bound(_ name: String) -> Double? { schema[name]?.number }
      let (least, most) = (bound("minimum"), bound("maximum"))
      if let least, let most, least > most { return [] }
      return (least.map { [.atLeast(.double($0))] } ?? []) + (most.map { [.atMost(.double($0))] } ?? [])
    case .string: return length("minLength", "maxLength")
    case .list: return length("minItems", "maxItems")
    case .map: return length("minProperties", "maxProperties")
    default: return []
    }
  }

  // MARK: Sentences

  /// The first sentence of what a schema says about itself.
  private static func sentence(_ schema: Value) -> String? {
    for name in ["description", "title"] {
      if let text = schema[name]?.string, let sentence = Self.sentence(of: text) { return sentence }
    }
    return nil
  }

  /// The first sentence of a text from outside, on one line, with its full stop; nil if there is none.
  package static func sentence(of text: String) -> String? {
    var words = ""
    for scalar in text.prefix(2000).unicodeScalars {
      // An empty line ends a paragraph.
      if scalar == "\n", words.hasSuffix("\n") { break }
      words.unicodeScalars.append(scalar)
    }
    var line = ""
    for word in words.safe.split(separator: " ") {
      line += (line.isEmpty ? "" : " ") + word
      let isEnd = word.hasSuffix(".") && !["e.g.", "i.e.", "etc.", "vs.", "cf."].contains(word.lowercased())
      if isEnd || line.utf8.count > 240 { break }
    }
    line = line.shortened(to: 240)
    guard let last = line.last else { return nil }
    return ".!?…:".contains(last) ? line : line + "."
  }
}

extension Value {
  /// The number as a double.
  var number: Double? {
    switch content {
    case .int(let number): Double(number)
    case .uint(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
