// Converts JSON Schema to field types, in the dialects of OpenAPI 2.0, 3.0 and 3.1 and of MCP servers' tools.
//
// These schemas have a field type: objects with their properties, lists, maps, choices, instants, dates, octets. A
// schema that allows null is optional. `allOf` becomes one object with the properties of all parts. The alternatives of
// `anyOf` and `oneOf`, except null, must have one common type. Everything else is `dyn`: other unions, schemas without
// a type, the inner use of a schema that contains itself, references to other documents, and schemas too large to be
// written out. An object is `dyn`, too, if its alternatives (`anyOf`, `oneOf`, `then`, `dependentSchemas`) have
// properties that it lacks itself, because no set of fields could hold them all.
//
// An invalid schema, or one with an unknown type, is `dyn`, too, and is reported with its place.
//
// The target of a reference is read once, after the targets of its own references. Types that refer to each other are
// read twice: first a short form, with `dyn` for each reference between them, then the full form, with the short forms
// for these references. So a folder has its files with their fields, and a file its folder.
//
// A schema is read for inputs or for outputs. An input has limits, and has neither read-only nor unknown fields; if the
// schema allows unknown members beside its properties, the input is `dyn`. A required member without a property becomes
// a field of type `dyn`. An output has no limits, because we can't refuse a response, and only its required fields are
// certain to be present.
//
// Nothing in a document is trusted: the number of references to follow is limited, and every text is put on one line.

package import ActionKit
package import Basics

/// Reads the schemas of one document.
package struct SchemaReader {
  /// The direction of a type's values.
  package enum Side: Sendable {
    /// Recipes give them.
    case given
    /// The service returns them.
    case got
  }

  private let references: References
  private let side: Side
  /// The number of fields and types in the current part so far.
  private var size = 0
  /// The depth of the current part so far.
  private var height = 0
  /// The type of a reference's target.
  private struct Known {
    var type: FieldType
    var isNullable: Bool
    var size: Int
    var height: Int
  }
  /// The types by reference, so that types that many actions share are read once.
  private var known: [String: Known] = [:]
  /// The provisional types of references that refer to each other, while one of them is read; nil means `dyn`.
  private var circle: [String: Known?] = [:]
  /// The depth of nested calls of `readLinks`.
  private var nesting = 0
  /// The objects with names in the document, in order of first appearance.
  package private(set) var named: [(name: String, type: FieldType)] = []
  /// The references whose targets don't exist in the document, each once.
  package private(set) var missing: [String] = []

  /// A schema that was read as `dyn` because it is invalid.
  package struct Unread: Hashable, Sendable {
    /// The reference that first led to it; nil if it is part of the requested schema.
    package var reference: String?
    /// The path of field names to it, with dots.
    package var path: String
    package var reason: String
  }
  private var unread: [Unread] = []
  /// The place of the schema that is being read.
  private var place: (reference: String?, fields: [String]) = (nil, [])

  private static let largest = 4000
  private static let deepest = 24
  private static let mostOptions = 1000
  private static let mostMissing = 100
  private static let types: Set = ["string", "number", "integer", "boolean", "array", "object", "null", "file"]

  /// - Parameter document: The document that the schemas' references lead into.
  package init(_ document: Value, for side: Side) {
    references = References(document)
    self.side = side
  }

  /// Reads a schema as a field of an action; earlier fields don't count towards its size.
  package mutating func field(
    _ name: String, _ schema: Value, summary: String? = nil, isRequired: Bool
  ) -> FieldSchema {
    size = 0
    readLinks(of: schema)
    return field(name, schema, summary: summary, isRequired: isRequired, depth: 0)
  }

  /// Reads a schema as a type of an action.
  package mutating func type(of schema: Value) -> FieldType {
    size = 0
    return type(schema, depth: 0).type
  }

  /// Reads the fields of an object's schema; nil if it isn't an object with known fields.
  package mutating func fields(_ schema: Value) -> [FieldSchema]? {
    size = 0
    readLinks(of: schema)
    guard case .object(let object) = type(schema, depth: 0).type else { return nil }
    return object.fields
  }

  /// Returns the schemas that couldn't be read since the last call.
  package mutating func takeUnread() -> [Unread] {
    defer { unread = [] }
    return unread
  }

  private mutating func note(_ reason: String, _ cost: String? = "is taken as anything") {
    let reason = cost.map { "\(reason), and \($0)" } ?? reason
    let found = Unread(reference: place.reference, path: place.fields.joined(separator: "."), reason: reason)
    if unread.count < Self.mostMissing, !unread.contains(found) { unread.append(found) }
  }

  /// Notes the invalid parts of a schema.
  private mutating func noteUnread(_ schema: Value) {
    guard let map = schema.map else {
      // A bool is a valid schema: it allows anything or nothing.
      if schema.bool == nil, !schema.isNull { note("\(schema.written.safe.shortened(to: 40)) isn't a schema") }
      return
    }
    if let reference = map["$ref"], reference.string == nil {
      note("'$ref' can't be \(reference.written.safe.shortened(to: 40))")
    }
    if let type = map["type"], !type.isNull,
      let other = (type.list ?? [type]).first(where: { !($0.string.map(Self.types.contains) ?? false) })
    {
      note("\(other.written.safe.shortened(to: 40)) isn't a type")
    }
    if let properties = map["properties"], properties.map == nil, !properties.isNull {
      note("'properties' isn't a map")
    }
    for word in ["allOf", "anyOf", "oneOf"] {
      if let parts = map[word], parts.list == nil, !parts.isNull { note("'\(word)' isn't a list") }
    }
  }

  private mutating func field(
    _ name: String, _ schema: Value, summary: String?, isRequired: Bool, depth: Int
  ) -> FieldSchema {
    place.fields.append(name)
    defer { place.fields.removeLast() }
    let (type, isNullable) = type(schema, depth: depth)
    let resolved = resolved(schema) ?? schema
    var sentences = [summary ?? Self.sentence(schema) ?? Self.sentence(resolved) ?? ""].filter { !$0.isEmpty }
    var isOptional = !isRequired || isNullable
    if case .dyn = type { isOptional = !isRequired }
    var deprecation: String?
    if side == .given {
      if case .int = type, let options = resolved.map.flatMap(Self.options)?.filter({ !$0.isNull }), !options.isEmpty,
        case let numbers = options.compactMap(\.int), numbers.count == options.count
      {
        sentences.append("One of \(numbers.prefix(20).map(\.description).joined(separator: ", ")).")
      }
      if let standard = resolved["default"] ?? schema["default"], !standard.isNull {
        sentences.append("Left out: \(JSON.displayed(standard).safe.shortened(to: 60)).")
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

  /// The type of a schema, and whether it allows null.
  private mutating func type(_ schema: Value, depth: Int) -> (type: FieldType, isNullable: Bool) {
    size += 1
    height = max(height, depth)
    guard depth < Self.deepest, size < Self.largest else { return (.dyn, false) }
    noteUnread(schema)
    guard let map = schema.map else { return (.dyn, false) }
    if let reference = map["$ref"]?.string { return type(at: reference, depth: depth) }
    let hasProperties = map["properties"]?.map != nil
    let parts = map["allOf"]?.list ?? []
    // Alternatives beside properties usually say which properties are used together.
    if hasProperties || !parts.isEmpty, alternativesAddProperties(to: schema) { return (.dyn, false) }
    if !parts.isEmpty { return merged(schema, parts, depth: depth) }
    for word in ["anyOf", "oneOf"] where !hasProperties {
      if let parts = map[word]?.list, !parts.isEmpty { return united(schema, parts, depth: depth) }
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
    if let type = word, !Self.types.contains(type) { return (.dyn, false) }
    if word == nil {
      if map["properties"]?.map != nil || map["additionalProperties"]?.map != nil { word = "object" }
      if map["items"]?.map != nil { word = "array" }
    }
    return (single(word ?? "", map, depth: depth), isNullable)
  }

  private mutating func single(_ word: String, _ map: ValueMap, depth: Int) -> FieldType {
    switch word {
    case "boolean": return .bool
    case "integer": return map["format"]?.string == "uint64" ? .uint : .int
    case "number": return .double
    case "string": return Self.text(map)
    case "array":
      guard let items = map["items"], items.map != nil else { return .list(.dyn) }
      let (element, isNullable) = type(items, depth: depth + 1)
      if !isNullable { return .list(element) }
      // Expressions have no type for a list whose items may be null.
      return .list(side == .given ? .optional(element) : .dyn)
    case "object": return object(map, depth: depth)
    default: return .dyn
    }
  }

  private mutating func object(_ map: ValueMap, depth: Int) -> FieldType {
    let properties = map["properties"]?.map ?? ValueMap()
    let hasPatterns = map["patternProperties"]?.map?.isEmpty == false
    if let written = map["properties"], written.map == nil, !written.isNull { return .dyn }
    if properties.isEmpty {
      if hasPatterns { return .map(.dyn) }
      guard let others = map["additionalProperties"], others.map.map({ !$0.isEmpty }) ?? false else {
        // An object without properties and additional properties is always empty.
        return map["additionalProperties"]?.bool == false ? .object(ObjectSchema(fields: [])) : .map(.dyn)
      }
      // A member that is null counts as absent.
      return .map(type(others, depth: depth + 1).type)
    }
    // An input can't have fields with unknown names.
    if side == .given, hasPatterns || Self.isOpen(map) { return .dyn }
    let required = Set((map["required"]?.list ?? []).compactMap(\.string))
    var fields: [FieldSchema] = []
    for member in properties.members {
      guard let name = member.name, Self.isUsable(name) else {
        note("the name \(member.key.written.safe.shortened(to: 40)) can't be written in a recipe", nil)
        continue
      }
      let isRequired = required.contains(name)
      guard takes(member.value, isRequired: isRequired) else { continue }
      fields.append(
        field(
          name, member.value, summary: nil, isRequired: isRequired && isOnSide(member.value), depth: depth + 1))
    }
    if side == .given { fields += Self.fields(for: required) { properties[$0] != nil } }
    return .object(ObjectSchema(fields: fields.filter(\.isRequired) + fields.filter { !$0.isRequired }))
  }

  /// Whether an object may have members beside its properties.
  package static func isOpen(_ map: ValueMap) -> Bool {
    let others = map["additionalProperties"]
    return others?.map != nil || others?.bool == true
  }

  /// Fields for required members that have no schema.
  private static func fields(for required: Set<String>, unless isKnown: (String) -> Bool) -> [FieldSchema] {
    required.filter { isUsable($0) && !isKnown($0) }.sorted { $0.precedesByScalars($1) }.map {
      FieldSchema($0, .dyn, "")
    }
  }

  /// Whether alternatives of an object have properties that it lacks itself.
  package func alternativesAddProperties(to schema: Value) -> Bool {
    guard let map = schema.map else { return false }
    let parts = Self.alternatives(map)
    if parts.isEmpty { return false }
    let own = Set(properties(of: schema).compactMap(\.name))
    return parts.prefix(100).contains { part in
      properties(of: part, withAlternatives: true).contains { $0.name.map(own.contains) == false }
    }
  }

  /// The schemas that apply only to some values of an object.
  private static func alternatives(_ map: ValueMap) -> [Value] {
    ["anyOf", "oneOf"].flatMap { map[$0]?.list ?? [] } + ["then", "else"].compactMap { map[$0] }
      + ["dependentSchemas", "dependencies"].flatMap { map[$0]?.map?.members.map(\.value) ?? [] }
  }

  private mutating func type(at reference: String, depth: Int) -> (type: FieldType, isNullable: Bool) {
    if known[reference] == nil, circle[reference] == nil {
      guard references.target(of: reference) != nil else {
        if missing.count < Self.mostMissing, !missing.contains(reference) { missing.append(reference) }
        return (.dyn, false)
      }
      // Reached for members that only another part of the object requires.
      readLinks(of: .object(["$ref": .string(reference)]))
    }
    guard let found = circle[reference] ?? known[reference], size + found.size < Self.largest,
      depth + 1 + found.height < Self.deepest
    else { return (.dyn, false) }
    size += found.size
    height = max(height, depth + 1 + found.height)
    return (found.type, found.isNullable)
  }

  // MARK: References

  /// Reads the targets of all references in a schema, directly and indirectly, each after the targets of its own
  /// references.
  ///
  /// Tarjan's algorithm finds the types that refer to each other ("Depth-first search and linear graph algorithms",
  /// 1972). It is written without recursion, because documents may be long chains.
  private mutating func readLinks(of schema: Value) {
    guard nesting < Self.deepest else { return }
    nesting += 1
    defer { nesting -= 1 }
    var numbers: [String: Int] = [:]
    var lowest: [String: Int] = [:]
    var open: [String] = []
    var isOpen: Set<String> = []
    var path: [(reference: String, links: [String], next: Int)] = []
    func enter(_ reference: String) {
      numbers[reference] = numbers.count
      lowest[reference] = numbers.count - 1
      open.append(reference)
      isOpen.insert(reference)
      path.append((reference, references.target(of: reference).map { links(of: $0) } ?? [], 0))
    }
    for root in links(of: schema) where numbers[root] == nil {
      enter(root)
      while let (reference, links, next) = path.last {
        if next < links.count {
          path[path.count - 1].next += 1
          let link = links[next]
          if numbers[link] == nil {
            enter(link)
          } else if isOpen.contains(link) {
            lowest[reference] = min(lowest[reference] ?? 0, numbers[link] ?? 0)
          }
          continue
        }
        path.removeLast()
        if let above = path.last?.reference {
          lowest[above] = min(lowest[above] ?? 0, lowest[reference] ?? 0)
        }
        guard lowest[reference] == numbers[reference], let start = open.lastIndex(of: reference) else { continue }
        let group = Array(open[start...])
        open.removeSubrange(start...)
        isOpen.subtract(group)
        read(group, isCircle: group.count > 1 || links.contains(reference))
      }
    }
  }

  /// Reads one reference, or a group of references that refer to each other.
  private mutating func read(_ group: [String], isCircle: Bool) {
    let outer = circle
    defer { circle = outer }
    var short: [String: Known?] = outer
    if isCircle { for reference in group { short[reference] = .some(nil) } }
    if group.count > 1 {
      let cut = short
      for reference in group {
        circle = cut
        short[reference] = .some(read(reference, as: "\(Self.name(of: reference))Short"))
      }
    }
    circle = short
    for reference in group {
      let own = circle[reference]
      if isCircle { circle[reference] = .some(nil) }
      known[reference] = read(reference, as: Self.name(of: reference))
      circle[reference] = own
    }
  }

  private mutating func read(_ reference: String, as name: String) -> Known? {
    guard let schema = references.target(of: reference) else { return nil }
    let outer = (size, height, place)
    (size, height, place) = (0, 0, (reference, []))
    let (type, isNullable) = type(schema, depth: 0)
    let read = Known(type: type, isNullable: isNullable, size: size, height: height)
    (size, height, place) = outer
    if case .object = type { named.append((name, type)) }
    return read
  }

  /// The references in a schema that `type` follows and whose types aren't known yet, each once.
  private func links(of schema: Value) -> [String] {
    var links: [String] = []
    var seen: Set<String> = []
    var parts = [schema]
    while let part = parts.popLast() {
      guard let map = part.map else { continue }
      if let reference = map["$ref"]?.string {
        if known[reference] == nil, circle[reference] == nil, seen.insert(reference).inserted {
          links.append(reference)
        }
        continue
      }
      for word in ["allOf", "anyOf", "oneOf"] { parts += map[word]?.list ?? [] }
      for word in ["items", "additionalProperties"] { if let part = map[word] { parts.append(part) } }
      guard let properties = map["properties"]?.map, !properties.isEmpty else { continue }
      let required = side == .given ? Set((map["required"]?.list ?? []).compactMap(\.string)) : []
      for member in properties.members
      where takes(member.value, isRequired: member.name.map(required.contains) ?? false) {
        parts.append(member.value)
      }
    }
    return links
  }

  /// One object with the properties of all parts, or the type of the only part that has one.
  private mutating func merged(
    _ schema: Value, _ parts: [Value], depth: Int
  ) -> (type: FieldType, isNullable: Bool) {
    var rest = schema.map ?? ValueMap()
    rest["allOf"] = nil
    var types: [FieldType] = []
    var isNullable = false
    let own = ["properties", "type", "enum", "items", "additionalProperties"].contains { rest[$0] != nil }
    for part in parts.prefix(100) + (own ? [.map(rest)] : []) {
      // A part with only a description or a list of required members has no type.
      guard let map = (resolved(part) ?? part).map,
        ["$ref", "allOf", "anyOf", "oneOf", "type", "properties", "enum", "const", "items", "additionalProperties"]
          .contains(where: { map[$0] != nil })
      else { continue }
      let found = type(part, depth: depth + 1)
      if found.isNullable { isNullable = true }
      types.append(found.type)
    }
    let words =
      (rest["required"]?.list ?? []) + parts.prefix(100).flatMap { (resolved($0) ?? $0)["required"]?.list ?? [] }
    let required = Set(words.compactMap(\.string))
    let properties = side == .given && !required.isEmpty ? properties(of: schema) : []
    /// Whether a property is read-only; a required one that is read-only is optional in inputs.
    func onlyServiceWrites(_ name: String) -> Bool {
      properties.contains { $0.name == name && !isOnSide($0.value) }
    }
    var fields: [FieldSchema] = []
    for type in types {
      guard case .object(let object) = type else {
        // An object without known fields adds nothing to one with fields.
        if case .map(.dyn) = type, types.count > 1 { continue }
        return types.count == 1 ? (type, isNullable || rest["nullable"]?.bool == true) : (.dyn, false)
      }
      for var field in object.fields {
        if required.contains(field.name), !resolvedIsNullable(field, parts), !onlyServiceWrites(field.name) {
          field.isOptional = false
        }
        if let index = fields.firstIndex(where: { $0.name.hasSameScalars(as: field.name) }) {
          // One part may only require a member that another part describes.
          let (isKnown, knows) = (!fields[index].type.isDynamic, !field.type.isDynamic)
          if knows == isKnown ? fields[index].isOptional : knows { fields[index] = field }
        } else {
          fields.append(field)
        }
      }
    }
    for property in properties where property.name.map(required.contains) == true && !isOnSide(property.value) {
      // One part has the property, and another part requires it.
      guard let name = property.name, Self.isUsable(name), !fields.contains(where: { $0.name.hasSameScalars(as: name) })
      else { continue }
      fields.append(field(name, property.value, summary: nil, isRequired: false, depth: depth + 1))
    }
    if side == .given, !fields.isEmpty {
      fields += Self.fields(for: required) { name in
        fields.contains { $0.name.hasSameScalars(as: name) } || properties.contains { $0.name == name }
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

  /// Whether a property of some parts may be null, so that it stays optional even if it is required.
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

  /// The common type of all alternatives, except null.
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

  /// A type that accepts the values of both types; nil if only `dyn` does.
  private static func joined(_ left: FieldType, _ right: FieldType) -> FieldType? {
    switch (left, right) {
    case (.choice(let left), .choice(let right)):
      return .choice(left + right.filter { option in !left.contains { $0.hasSameScalars(as: option) } })
    case (.choice, .string), (.string, .choice), (.string, .string): return .string
    case (.int, .int): return .int
    case (.uint, .uint): return .uint
    case (.int, .double), (.uint, .double), (.double, .int), (.double, .uint), (.double, .double): return .double
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

  /// Whether a member of that name is usually a credential, which recipes give as a secret.
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

  /// The values of an enumeration, or the single value of `const`.
  private static func options(_ map: ValueMap) -> [Value]? { map["enum"]?.list ?? map["const"].map { [$0] } }

  /// The type of an enumeration; nil if its values tell less than its `type` does.
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
      // An option with control characters isn't usable in a recipe.
      guard text.safe.hasSameScalars(as: text) else { return .string }
      if !texts.contains(where: { $0.hasSameScalars(as: text) }) { texts.append(text) }
      if texts.count > mostOptions { return .string }
    }
    return .choice(texts)
  }

  /// Whether a name can be a field's: it is short, and contains no control characters.
  private static func isUsable(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 200 && name.safe.hasSameScalars(as: name)
  }

  /// Whether a property belongs to this side only, or to both.
  private func isOnSide(_ schema: Value) -> Bool {
    let schema = resolved(schema) ?? schema
    return schema[side == .given ? "readOnly" : "writeOnly"]?.bool != true
  }

  /// Whether a property is a field on this side.
  ///
  /// A required property may be in an input even if it is read-only, which only says that it should not be sent
  /// (OpenAPI 3.0, "Schema Object").
  private func takes(_ schema: Value, isRequired: Bool) -> Bool {
    isOnSide(schema) || side == .given && isRequired
  }

  /// The target of a schema that is a reference; nil if it isn't one, or if the target doesn't exist.
  package func resolved(_ schema: Value) -> Value? {
    schema["$ref"]?.string.flatMap(references.target)
  }

  /// The properties of an object, including the ones of its `allOf` parts.
  ///
  /// - Parameter withAlternatives: Whether to include properties that only some values have.
  package func properties(of schema: Value, withAlternatives: Bool = false) -> [ValueMap.Member] {
    var properties: [ValueMap.Member] = []
    var parts = [schema]
    var visits = 0
    while let part = parts.popLast(), visits < 100 {
      visits += 1
      guard let schema = references.resolved(part) else { continue }
      properties += schema["properties"]?.map?.members ?? []
      parts += (schema["allOf"]?.list ?? []).prefix(20).reversed()
      if withAlternatives, let map = schema.map { parts += Self.alternatives(map).prefix(20).reversed() }
    }
    return properties
  }

  /// The last part of a reference, without a file name extension.
  private static func name(of reference: String) -> String {
    let last = reference.replacing("~1", with: "/").split(separator: "/").last.map(String.init) ?? ""
    let name =
      [".yaml", ".yml", ".json"].first(where: last.hasSuffix).map { String(last.dropLast($0.utf8.count)) } ?? last
    return isUsable(name) ? name : ""
  }

  private static func limits(_ schema: Value, of type: FieldType, _ reader: SchemaReader) -> [Limit] {
    var schema = schema
    // The limits of a value that may be null are in the other alternative.
    if let parts = (schema["anyOf"] ?? schema["oneOf"])?.list {
      let others = parts.filter { !isNull($0) }
      guard others.count == 1, let other = others.first else { return [] }
      schema = reader.resolved(other) ?? other
    }
    // A limit that doesn't fit the type is ignored: JavaScript writes -9223372036854776000 for the minimum of 64 bits.
    func whole<Number: FixedWidthInteger>(_ name: String, _: Number.Type) -> Number? {
      switch schema[name]?.content {
      case .int(let number): Number(exactly: number)
      case .uint(let number): Number(exactly: number)
      case .double(let number): Number(exactly: number)
      default: nil
      }
    }
    func length(_ least: String, _ most: String) -> [Limit] {
      let (least, most) = (whole(least, Int.self) ?? 0, whole(most, Int.self) ?? Int.max)
      guard least >= 0, most >= least else { return [] }
      return (least > 0 ? [.minLength(least)] : []) + (most < Int.max ? [.maxLength(most)] : [])
    }
    func ofInts<Number: FixedWidthInteger>(_: Number.Type, _ value: (Number) -> Value) -> [Limit] {
      func bound(_ name: String, _ exclusive: String, isLeast: Bool) -> Number? {
        func beyond(_ number: Number) -> Number? {
          let (next, overflow) = isLeast ? number.addingReportingOverflow(1) : number.subtractingReportingOverflow(1)
          return overflow ? nil : next
        }
        // In drafts before 6, `exclusiveMinimum` is a bool beside `minimum`.
        if let number = whole(exclusive, Number.self) { return beyond(number) }
        let number = whole(name, Number.self)
        return schema[exclusive]?.bool == true ? number.flatMap(beyond) : number
      }
      let options = (schema.map.flatMap(options) ?? []).filter { !$0.isNull }
      let numbers = options.compactMap { option -> Number? in
        switch option.content {
        case .int(let number): Number(exactly: number)
        case .uint(let number): Number(exactly: number)
        default: nil
        }
      }
      let isListed = !numbers.isEmpty && numbers.count == options.count
      let least = isListed ? numbers.min() : bound("minimum", "exclusiveMinimum", isLeast: true)
      let most = isListed ? numbers.max() : bound("maximum", "exclusiveMaximum", isLeast: false)
      if let least, let most, least > most { return [] }
      return (least.map { [.atLeast(value($0))] } ?? []) + (most.map { [.atMost(value($0))] } ?? [])
    }
    switch type {
    case .int: return ofInts(Int.self) { .int($0) }
    case .uint: return ofInts(UInt.self) { .uint($0) }
    case .double:
      func bound(_ name: String) -> Double? { schema[name]?.number.flatMap { $0.isFinite ? $0 : nil } }
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

  /// The first sentence of a schema's description or title.
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
