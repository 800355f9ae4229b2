// Adapts a response to its description, for a service that is described by data.
//
// A description that others wrote is seldom complete, and services add fields without notice. So undeclared fields are
// left out, a null counts as an absent field or map member, and a number is converted to the declared kind if nothing
// is lost. Any other mismatch is an error that names the place, because an expression was checked against a type that
// the value doesn't have.
//
// A required field that is null is left out, too. Services are careless about null, as Jupyter is with the content of a
// file that it has just stored, and most recipes never read the field. An expression that reads it fails there.

package import ActionKit
package import Basics

extension FieldType {
  /// Converts a value from outside to this type.
  ///
  /// - Parameter path: The name of the value in messages.
  package func taking(_ value: Value, as path: String) throws(ValueError) -> Value {
    switch (self, value.content) {
    case (.dyn, _): return value
    case (.optional(let wrapped), _): return value.isNull ? value : try wrapped.taking(value, as: path)
    case (.secret(let wrapped), _): return try wrapped.taking(value, as: path)
    case (.int, .double(let number)):
      if let whole = Int(exactly: number) { return .int(whole) }
    case (.uint, .double(let number)):
      if let whole = UInt(exactly: number) { return .uint(whole) }
    case (.list(let element), .list(let items)):
      var taken: [Value] = []
      taken.reserveCapacity(items.count)
      for (index, item) in items.enumerated() { taken.append(try element.taking(item, as: "\(path)[\(index)]")) }
      return .list(taken)
    case (.map(let element), .map(let map)):
      var taken = ValueMap()
      for member in map.members where !member.value.isNull || element.isDynamic {
        taken[member.key] = try element.taking(member.value, as: "\(path).\(member.name ?? member.key.written)")
      }
      return .map(taken)
    case (.object(let schema), .map): return try schema.taking(value, as: path)
    default:
      let restored = restored(value)
      if holds(restored) { return restored }
    }
    // For a long or secret text, only the kind is shown. If a number is expected, a wrong number is shown, because its
    // value is the fault.
    let isShown: Bool =
      switch (self, value.content) {
      case (.string, _): false
      case (_, .string(let text)): text.utf8.count <= 60
      case (.int, .uint), (.uint, .int), (.double, .double): true
      case (.int, .double(let number)), (.uint, .double(let number)): abs(number) >= 0x1p63
      default: false
      }
    let found = isShown ? value.written : value.kindName
    throw ValueError("'\(path)' must be \(wanted), but found \(found)", at: value.place)
  }
}

extension ObjectSchema {
  /// Converts a value from outside to this set; undeclared fields are left out.
  package func taking(_ value: Value, as path: String) throws(ValueError) -> Value {
    guard let map = value.map else {
      throw ValueError("'\(path)' must be a map of fields, but found \(value.kindName)", at: value.place)
    }
    var taken = ValueMap()
    for field in fields {
      let name = path.isEmpty ? field.name : "\(path).\(field.name)"
      if let member = map[field.name] {
        if member.isNull, !field.type.isDynamic { continue }
        taken[field.name] = try field.type.taking(member, as: name)
      } else if !field.isOptional {
        throw ValueError("'\(name)' is missing (\(field.type.name))", at: value.place)
      }
    }
    return .map(taken)
  }
}

extension FieldType {
  /// Whether the type allows anything, null included.
  package var isDynamic: Bool { if case .dyn = self { true } else { false } }
}
