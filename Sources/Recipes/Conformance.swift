package import Basics

/// Bringing literal values (of YAML, JSON, the command line) to a declared type.
///
/// JSON and YAML have no instants, durations or octets, so texts are read as these where the type wants them, and an
/// int is taken where a double is wanted. Everything else must be of the type already.
package struct Conformance {
  /// What does not fit, with the place of the value it is about.
  package struct Fault: Sendable {
    package var message: String
    package var value: Value
  }

  package private(set) var faults: [Fault] = []

  package init() {}

  /// The value in the type's own form, or nil with at least one fault more.
  package mutating func bring(_ value: Value, to type: ValueType, path: String) -> Value? {
    switch (type, value.content) {
    case (.dyn, _), (.bool, .bool), (.int, .int), (.double, .double), (.string, .string), (.bytes, .bytes),
      (.timestamp, .timestamp), (.duration, .duration), (.null, .null), (.uint, .uint):
      return value
    case (.uint, .int(let number)):
      if let number = UInt(exactly: number) { return Value(.uint(number), at: value.place) }
      return fail("'\(path)' takes a uint, which is never negative", value)
    case (.double, .int(let number)):
      return Value(.double(Double(number)), at: value.place)
    case (.timestamp, .string(let text)):
      if let instant = Timestamp(text) { return Value(.timestamp(instant), at: value.place) }
      return fail("'\(path)' takes an instant such as 2026-11-20T09:30:00Z, but found '\(text)'", value)
    case (.duration, .string(let text)):
      if let span = TimeSpan(text) { return Value(.duration(span), at: value.place) }
      return fail("'\(path)' takes a duration such as 90s, 5m, 1h30m, 2d, but found '\(text)'", value)
    case (.bytes, .string(let text)):
      if let bytes = [UInt8](base64: text) { return Value(.bytes(bytes), at: value.place) }
      return fail("'\(path)' takes bytes as base64", value)
    case (.choice(let options), .string(let text)):
      if options.contains(where: { $0.hasSameScalars(as: text) }) { return value }
      let guess = text.nearest(among: options).map { "; did you mean '\($0)'?" } ?? ""
      return fail("'\(path)' must be \(type), but found '\(text)'\(guess)", value)
    case (.secret(let inner), _):
      return bring(value, to: inner, path: path)
    case (.list(let element), .list(let items)):
      var isWhole = true
      var brought: [Value] = []
      for (index, item) in items.enumerated() {
        if let item = bring(item, to: element, path: "\(path)[\(index)]") { brought.append(item) } else { isWhole = false }
      }
      return isWhole ? Value(.list(brought), at: value.place) : nil
    case (.map(_, let element), .map(let map)):
      var isWhole = true
      var brought = ValueMap()
      for member in map.members {
        let name = member.name ?? "\(member.key)"
        if let item = bring(member.value, to: element, path: "\(path).\(name)") {
          brought[member.key] = item
        } else {
          isWhole = false
        }
      }
      return isWhole ? Value(.map(brought), at: value.place) : nil
    case (.object(let object), .map(let map)):
      return bring(map, of: value, to: object, path: path)
    case (.string, .int), (.string, .double), (.string, .bool):
      return fail("'\(path)' takes a string, but found \(value.kindName); write it in quotes if it is meant as text", value)
    default:
      return fail("'\(path)' takes \(type), but found \(value.kindName)", value)
    }
  }

  private mutating func bring(_ map: ValueMap, of value: Value, to object: ObjectType, path: String) -> Value? {
    var isWhole = true
    var brought = ValueMap()
    for member in map.members {
      let name = member.name ?? "\(member.key)"
      guard let field = object[name] else {
        let guess = name.nearest(among: object.fields.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
        _ = fail("'\(path)' has no field '\(name)'\(guess)", member.key)
        isWhole = false
        continue
      }
      if member.value.isNull, field.isOptional { continue }
      if let item = bring(member.value, to: field.type, path: "\(path).\(name)") {
        brought[name] = item
      } else {
        isWhole = false
      }
    }
    for field in object.fields where !field.isOptional && map[field.name] == nil {
      _ = fail("'\(path)' needs '\(field.name)' (\(field.type))", value)
      isWhole = false
    }
    return isWhole ? Value(.map(brought), at: value.place) : nil
  }

  private mutating func fail(_ message: String, _ value: Value) -> Value? {
    faults.append(Fault(message: message, value: value))
    return nil
  }
}
