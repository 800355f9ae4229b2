// References in a document that others wrote: `{"$ref": "#/components/schemas/Pet"}` (OpenAPI 3.1, "Reference Object").
//
// A reference leads to a place in the document, in a limited number of steps. Its path may contain another reference:
// if `paths` is one, `#/paths/~1pets` still names a path.

package import Basics

/// Resolves references in a document.
package struct References: Sendable {
  /// The whole document.
  package let root: Value
  private static let mostSteps = 24

  package init(_ root: Value) { self.root = root }

  /// The target of a value that is a reference, or else the value itself; nil if the target doesn't exist.
  package func resolved(_ value: Value) -> Value? {
    var left = Self.mostSteps
    return followed(value, &left)
  }

  /// The target of a reference; nil if it doesn't exist.
  package func target(of reference: String) -> Value? {
    var left = Self.mostSteps
    return target(of: reference, &left)
  }

  private func followed(_ value: Value, _ left: inout Int) -> Value? {
    guard let written = value["$ref"] else { return value }
    return written.string.flatMap { target(of: $0, &left) }
  }

  private func target(of reference: String, _ left: inout Int) -> Value? {
    guard left > 0, reference.hasPrefix("#"), let pointer = String(reference.dropFirst()).percentDecoded,
      pointer.isEmpty || pointer.hasPrefix("/")
    else { return nil }
    left -= 1
    var value = root
    for part in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      let name = String(part).ofPointerPart
      // A member beside `$ref` has priority over one of the target.
      guard let next = Self.part(name, of: value) ?? followed(value, &left).flatMap({ Self.part(name, of: $0) })
      else { return nil }
      value = next
    }
    return followed(value, &left)
  }

  private static func part(_ name: String, of value: Value) -> Value? {
    switch value.content {
    // In YAML, the name of a status is a number.
    case .map(let map): map[name] ?? Int(name).flatMap { map[.int($0)] }
    case .list(let items): Int(name).flatMap { items.indices.contains($0) ? items[$0] : nil }
    default: nil
    }
  }
}

extension Value {
  /// The value with references moved into `allOf` if the same schema has other keywords.
  ///
  /// In OpenAPI 3.1, and in JSON Schema since 2019-09, both the reference and the keywords beside it apply.
  package var withWordsBesideReferences: Value {
    switch content {
    case .list(let items): return Value(.list(items.map(\.withWordsBesideReferences)), at: place)
    case .map(let map):
      var map = map.mapValues(\.withWordsBesideReferences)
      let lists = ["required", "allOf", "anyOf", "oneOf"].contains { map[$0]?.list?.isEmpty == false }
      if let reference = map["$ref"], reference.string != nil, lists || map["properties"]?.map != nil {
        map["allOf"] = .list([.object(["$ref": reference])] + (map["allOf"]?.list ?? []))
        map["$ref"] = nil
      }
      return Value(.map(map), at: place)
    default: return self
    }
  }
}
