// Where null means something in a JSON body.
//
// In recipes null is a field that is left out. A service may want to be told null: Airflow's `logical_date` must be given
// and may be null. So the lock has, as JSON pointers in which `*` stands for every item, the places that may be null,
// where a null that a recipe gives is sent; and those of them that must be given, where null is sent for what is left
// out.

import ActionKit
import Basics

struct NullPlaces {
  /// What may be null.
  private(set) var kept: Set<String> = []
  /// What of it must be given.
  private(set) var filled: Set<String> = []
  private let document: OpenAPIDocument
  private var open: Set<String> = []
  /// How many schemas were looked at: what refers to much refers to it many times.
  private var visits = 0
  private static let most = 500
  private static let mostVisits = 5000
  private static let deepest = 12

  init(of schema: Value, in document: OpenAPIDocument) {
    self.document = document
    walk(schema, at: "", depth: 0, required: [])
  }

  private mutating func walk(_ schema: Value, at path: String, depth: Int, required outer: Set<String>) {
    visits += 1
    guard depth < Self.deepest, kept.count < Self.most, visits < Self.mostVisits else { return }
    let reference = schema["$ref"]?.string
    if let reference, !open.insert(reference).inserted { return }
    defer { if let reference { open.remove(reference) } }
    guard let schema = document.resolved(schema) else { return }
    let required = outer.union((schema["required"]?.list ?? []).compactMap(\.string))
    for part in (schema["allOf"]?.list ?? []).prefix(20) { walk(part, at: path, depth: depth + 1, required: required) }
    let others = (schema["anyOf"] ?? schema["oneOf"])?.list?.prefix(20).filter { !Self.isNull($0) } ?? []
    if others.count == 1 { walk(others[0], at: path, depth: depth + 1, required: required) }
    for member in (schema["properties"]?.map?.members ?? []).prefix(Self.most) {
      guard let name = member.name else { continue }
      let place = "\(path)/\(Self.escaped(name))"
      if isNullable(member.value) {
        kept.insert(place)
        if required.contains(name) { filled.insert(place) }
      }
      walk(member.value, at: place, depth: depth + 1, required: [])
    }
    for name in ["items", "additionalProperties"] {
      if let items = schema[name], items.map != nil { walk(items, at: "\(path)/*", depth: depth + 1, required: []) }
    }
  }

  private func isNullable(_ schema: Value) -> Bool {
    for schema in [schema, document.resolved(schema) ?? schema] {
      if schema["nullable"]?.bool == true || schema["x-nullable"]?.bool == true { return true }
      if schema["type"]?.list?.contains(.string("null")) == true { return true }
      if ((schema["anyOf"] ?? schema["oneOf"])?.list ?? []).prefix(20).contains(where: Self.isNull) { return true }
    }
    return false
  }

  private static func isNull(_ schema: Value) -> Bool { schema["type"]?.string == "null" }

  private static func escaped(_ name: String) -> String {
    name.replacing("~", with: "~0").replacing("/", with: "~1")
  }
}

extension OperationCall.Body {
  /// The value as it is sent: without nulls that say nothing, and with those that have to be said.
  func shaped(_ value: Value, as type: FieldType, at path: String = "") -> Value {
    switch (type, value.content) {
    case (.object(let schema), .map(let map)):
      var sent = ValueMap()
      for member in map.members {
        guard let name = member.name, let field = schema.field(named: name) else {
          sent[member.key] = member.value
          continue
        }
        let place = "\(path)/\(Self.escaped(name))"
        if member.value.isNull, !field.isRequired, !kept.contains(place) { continue }
        sent[member.key] = shaped(member.value, as: field.type, at: place)
      }
      for field in schema.fields where sent[field.name] == nil {
        if filled.contains("\(path)/\(Self.escaped(field.name))") { sent[field.name] = .null }
      }
      return .map(sent)
    case (.list(let element), .list(let items)):
      return .list(items.map { shaped($0, as: element, at: "\(path)/*") })
    case (.map(let element), .map(let map)):
      return .map(map.mapValues { shaped($0, as: element, at: "\(path)/*") })
    case (.optional(let wrapped), _): return value.isNull ? value : shaped(value, as: wrapped, at: path)
    default: return value
    }
  }

  private static func escaped(_ name: String) -> String {
    name.replacing("~", with: "~0").replacing("/", with: "~1")
  }
}
