import Basics

/// Our own library `json`.
let jsonFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "json.parse", parameters: [.string], result: .dyn,
    summary: "The value of a JSON text; whole numbers are ints, others doubles.",
    example: "json.parse('{\"a\": [1, 2.5]}').a[0] == 1",
    literalCheck: { constants in
      guard let text = constants[0]?.string else { return nil }
      do throws(EvaluationError) {
        _ = try parse(text)
        return nil
      } catch {
        return LiteralFault(argument: 0, error.message)
      }
    }
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(reading: text.utf8.count)
    // The densest text, a list of digits, has a value in every other byte.
    try context.charge(bytes: text.utf8.count / 2 * MemoryLayout<Value>.stride)
    return try parse(text)
  },
  FunctionDeclaration(
    "json.format", parameters: [.dyn], result: .string,
    summary: "A value as JSON on one line, members in their order.",
    example: "json.format({'a': [1, 2.5]}) == '{\"a\":[1,2.5]}'"
  ) { arguments, context throws(EvaluationError) in try format(arguments[0], .compact, &context) },
  FunctionDeclaration(
    "json.pretty", parameters: [.dyn], result: .string,
    summary: "A value as JSON over several lines, for people.",
    example: "json.pretty({'a': 1}) == '{\\n  \"a\": 1\\n}'"
  ) { arguments, context throws(EvaluationError) in try format(arguments[0], .pretty, &context) },
]

private func parse(_ text: String) throws(EvaluationError) -> Value {
  do throws(JSONError) {
    // Source positions would refer to a text that isn't displayed.
    return try JSON.parse(text).withoutPlaces()
  } catch {
    throw EvaluationError("the text isn't JSON: \(error.description)")
  }
}

private func format(
  _ value: Value, _ style: JSON.Style, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  if let reason = value.oversize { throw .limit("the value is too large to be JSON: \(reason)") }
  let text: String
  do throws(JSONError) {
    text = try JSON.text(value, style)
  } catch {
    throw EvaluationError("the value cannot be JSON: \(error.description)")
  }
  try context.charge(reading: text.utf8.count)
  return try context.made(text)
}

extension Value {
  /// The same value without source positions; the reader's depth limit bounds the recursion.
  fileprivate func withoutPlaces() -> Value {
    switch content {
    case .list(let items): return .list(items.map { $0.withoutPlaces() })
    case .map(let map):
      var result = ValueMap()
      result.reserveCapacity(map.count)
      for member in map.members {
        _ = result.insert(.init(key: Value(member.key.content), value: member.value.withoutPlaces()))
      }
      return .map(result)
    default: return Value(content)
    }
  }
}
