// Finds the places in a JSON body where null has a meaning.
//
// In recipes null is a field that is left out, but a service may require a null: Airflow's `logical_date` must be given
// and may be null. So the lock lists two kinds of places, as JSON pointers with `*` for every item. At places that may
// be null, a null that a recipe gives is sent. At places that must also be given, null is sent if the recipe leaves the
// field out.

import ActionKit
import Basics
import PluginLocks

struct NullPlaces {
  /// The places that may be null.
  private(set) var kept: Set<String> = []
  /// The places that may be null and must be given.
  private(set) var filled: Set<String> = []
  private let document: OpenAPIDocument
  /// The number of schemas visited, which is bounded because schemas can refer to each other many times.
  private var visits = 0
  private static let most = 500
  private static let mostVisits = 5000
  private static let deepest = 12

  /// - Parameter type: The schema's type. A place of any type is sent as it is given, and isn't walked.
  init(of schema: Value, as type: FieldType, in document: OpenAPIDocument) {
    self.document = document
    walk(schema, as: type, at: "", depth: 0, required: [])
  }

  private mutating func walk(
    _ schema: Value, as type: FieldType, at path: String, depth: Int, required outer: Set<String>
  ) {
    visits += 1
    guard depth < Self.deepest, kept.count < Self.most, visits < Self.mostVisits, !type.isDynamic else { return }
    guard let schema = document.resolved(schema) else { return }
    let required = outer.union((schema["required"]?.list ?? []).compactMap(\.string))
    for part in (schema["allOf"]?.list ?? []).prefix(20) {
      walk(part, as: type, at: path, depth: depth + 1, required: required)
    }
    let others = (schema["anyOf"] ?? schema["oneOf"])?.list?.prefix(20).filter { !Self.isNull($0) } ?? []
    if others.count == 1 { walk(others[0], as: type, at: path, depth: depth + 1, required: required) }
    for member in (schema["properties"]?.map?.members ?? []).prefix(Self.most) {
      guard let name = member.name, case .object(let object) = type, let field = object.field(named: name) else {
        continue
      }
      let place = "\(path)/\(name.asPointerPart)"
      if isNullable(member.value) {
        kept.insert(place)
        // Only the service writes read-only fields, so it needs no null.
        let isReadOnly = (document.resolved(member.value) ?? member.value)["readOnly"]?.bool == true
        if required.contains(name), !isReadOnly { filled.insert(place) }
      }
      walk(member.value, as: field.type, at: place, depth: depth + 1, required: [])
    }
    for (name, element) in [("items", type.listed), ("additionalProperties", type.mapped)] {
      guard let element, let items = schema[name], items.map != nil else { continue }
      walk(items, as: element, at: "\(path)/*", depth: depth + 1, required: [])
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
}

extension FieldType {
  /// The type of a list's items, without null; nil if it isn't a list.
  fileprivate var listed: FieldType? {
    guard case .list(let element) = self else { return nil }
    return if case .optional(let wrapped) = element { wrapped } else { element }
  }

  /// The type of a map's members; nil if it isn't a map.
  fileprivate var mapped: FieldType? { if case .map(let element) = self { element } else { nil } }
}

extension OperationCall.Body {
  /// The value as it is sent: without nulls that mean nothing, and with nulls that the service requires.
  func shaped(_ value: Value, as type: FieldType, at path: String = "") -> Value {
    switch (type, value.content) {
    case (.object(let schema), .map(let map)):
      var sent = ValueMap()
      for member in map.members {
        guard let name = member.name, let field = schema.field(named: name) else {
          sent[member.key] = member.value
          continue
        }
        let place = "\(path)/\(name.asPointerPart)"
        if member.value.isNull, !field.isRequired, !kept.contains(place) { continue }
        sent[member.key] = shaped(member.value, as: field.type, at: place)
      }
      for field in schema.fields where sent[field.name] == nil {
        if filled.contains("\(path)/\(field.name.asPointerPart)") { sent[field.name] = .null }
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
}
