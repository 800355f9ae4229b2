import Basics

// Fields and items. After an optional step the rest of the chain is optional too: a field of an empty optional is an
// empty optional, and so is a field that the value inside the optional lacks.

/// `operand.field`.
final class SelectNode: Node {
  let range: Range<Int>
  let operand: any Node
  let name: String
  let key: Value
  let mark: Range<Int>

  init(_ operand: any Node, _ name: String, _ range: Range<Int>, mark: Range<Int>) {
    self.operand = operand
    self.name = name
    key = .string(name)
    self.range = range
    self.mark = mark
  }

  var isRead: Bool { operand.isRead }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try operand.evaluate(&context)
    switch value.content {
    case .map(let map):
      if let index = map.index(of: key) { return map.members[index].value }
      throw noField(name, in: map, mark)
    case .optional(let wrapped):
      guard let wrapped else { return value }
      return Value(.optional(try optionalField(key, of: wrapped, mark)))
    default: throw EvaluationError("\(value.kindName) has no fields, so no `\(name)`", at: mark)
    }
  }
}

@inline(never)
private func noField(_ name: String, in map: ValueMap, _ range: Range<Int>) -> EvaluationError {
  let near = name.nearest(among: map.members.compactMap(\.name)).map { "; did you mean `\($0)`?" } ?? ""
  return EvaluationError("there is no field `\(name)` here\(near)", at: range)
}

/// The field of a map, or nil if the map lacks it.
///
/// If `isNullAbsent`, a null counts as absent.
private func optionalField(
  _ key: Value, of value: Value, _ range: Range<Int>, isNullAbsent: Bool = false
) throws(EvaluationError) -> Value? {
  switch value.content {
  case .map(let map):
    guard let index = map.index(of: key) else { return nil }
    let found = map.members[index].value
    return isNullAbsent && found.isNull ? nil : found
  case .optional(let wrapped):
    guard let wrapped else { return nil }
    return try optionalField(key, of: wrapped, range, isNullAbsent: isNullAbsent)
  default: throw EvaluationError("\(value.kindName) has no fields, so no `\(written(key))`", at: range)
  }
}

/// `operand.?field`, an optional.
final class OptionalSelectNode: Node {
  let range: Range<Int>
  let operand: any Node
  let key: Value
  let mark: Range<Int>
  let isNullAbsent: Bool

  init(_ operand: any Node, _ name: String, isNullAbsent: Bool, _ range: Range<Int>, mark: Range<Int>) {
    self.operand = operand
    key = .string(name)
    self.isNullAbsent = isNullAbsent
    self.range = range
    self.mark = mark
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try operand.evaluate(&context)
    return Value(.optional(try optionalField(key, of: value, mark, isNullAbsent: isNullAbsent)))
  }
}

/// `has(operand.field)`.
final class HasNode: BoolNode {
  let range: Range<Int>
  let operand: any Node
  let key: Value
  /// Whether a null counts as an absent field, as it does for the optional fields of objects.
  let isNullAbsent: Bool

  init(_ operand: any Node, _ name: String, isNullAbsent: Bool, _ range: Range<Int>) {
    self.operand = operand
    key = .string(name)
    self.isNullAbsent = isNullAbsent
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let value = try operand.evaluate(&context)
    return try optionalField(key, of: value, range, isNullAbsent: isNullAbsent) != nil
  }
}

/// `operand[index]` and `operand[?index]`.
final class IndexNode: Node {
  let range: Range<Int>
  let operand: any Node
  let index: any Node
  let isOptional: Bool
  let isNullAbsent: Bool

  init(_ operand: any Node, _ index: any Node, isOptional: Bool, isNullAbsent: Bool, _ range: Range<Int>) {
    self.operand = operand
    self.index = index
    self.isOptional = isOptional
    self.isNullAbsent = isNullAbsent
    self.range = range
  }

  var isRead: Bool { operand.isRead }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try operand.evaluate(&context)
    if !isOptional {
      switch value.content {
      case .optional(nil): return value
      case .optional(let wrapped?):
        return Value(.optional(try item(of: wrapped, at: try index.evaluate(&context))))
      default:
        let key = try index.evaluate(&context)
        if let found = try item(of: value, at: key) { return found }
        throw missing(key, in: value)
      }
    }
    if case .optional(let wrapped) = value.content {
      guard let wrapped else { return value }
      return Value(.optional(try item(of: wrapped, at: try index.evaluate(&context))))
    }
    return Value(.optional(try item(of: value, at: try index.evaluate(&context))))
  }

  private func item(of value: Value, at key: Value) throws(EvaluationError) -> Value? {
    switch value.content {
    case .optional(let wrapped): return if let wrapped { try item(of: wrapped, at: key) } else { nil }
    case .list(let items):
      let position: Int?
      switch key.content {
      case .int(let number): position = number
      case .uint(let number): position = Int(exactly: number)
      case .double(let number): position = Int(exactly: number)
      default: throw EvaluationError("a list is read at an int, and this is \(key.kindName)", at: index.range)
      }
      guard let position, items.indices.contains(position) else { return nil }
      return items[position]
    case .map(let map):
      guard let index = map.index(of: key) else { return nil }
      let found = map.members[index].value
      return isNullAbsent && found.isNull ? nil : found
    default: throw EvaluationError("\(value.kindName) has no items or keys", at: range)
    }
  }

  @inline(never)
  private func missing(_ key: Value, in value: Value) -> EvaluationError {
    if case .list(let items) = value.content {
      return EvaluationError(
        "index \(written(key)) is outside the list of \(counted(items.count, "item"))", at: index.range)
    }
    var hint = ""
    if case .string(let name) = key.content, case .map(let map) = value.content,
      let near = name.nearest(among: map.members.compactMap(\.name))
    {
      hint = "; did you mean '\(near)'?"
    }
    return EvaluationError("the map has no key \(written(key))\(hint)", at: index.range)
  }
}

/// `[a, ?b]`.
final class ListNode: Node {
  struct Element: Sendable {
    let node: any Node
    let isOptional: Bool
  }

  let range: Range<Int>
  let elements: [Element]

  init(_ elements: [Element], _ range: Range<Int>) {
    self.elements = elements
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    try context.charge(bytes: elements.count * MemoryLayout<Value>.stride)
    var items: [Value] = []
    items.reserveCapacity(elements.count)
    for element in elements {
      let value = try element.node.evaluate(&context)
      if element.isOptional {
        if let wrapped = try unwrapped(value, element.node.range) { items.append(wrapped) }
      } else {
        items.append(value)
      }
    }
    return .list(items)
  }
}

private func unwrapped(_ value: Value, _ range: Range<Int>) throws(EvaluationError) -> Value? {
  guard case .optional(let wrapped) = value.content else { throw mismatch(value, "an optional", range) }
  return wrapped
}

/// `{key: value, ?key: optional}`.
final class MapNode: Node {
  struct Entry: Sendable {
    let key: any Node
    let value: any Node
    let isOptional: Bool
  }

  let range: Range<Int>
  let entries: [Entry]

  init(_ entries: [Entry], _ range: Range<Int>) {
    self.entries = entries
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    var map = ValueMap()
    map.reserveCapacity(entries.count)
    for entry in entries {
      let key = try entry.key.evaluate(&context)
      var value = try entry.value.evaluate(&context)
      if entry.isOptional {
        guard let wrapped = try unwrapped(value, entry.value.range) else { continue }
        value = wrapped
      }
      try insert(key, value, into: &map, &context, entry.key.range)
    }
    return .map(map)
  }
}

/// Adds an entry to a map that an expression makes: keys have one of four kinds and are unique.
func insert(
  _ key: Value, _ value: Value, into map: inout ValueMap, _ context: inout EvaluationContext, _ range: Range<Int>
) throws(EvaluationError) {
  switch key.content {
  case .string, .int, .uint, .bool: break
  default:
    throw EvaluationError("keys of a map are strings, ints, uints or bools, and this is \(key.kindName)", at: range)
  }
  try context.charge(bytes: MemoryLayout<ValueMap.Member>.stride)
  if map.insert(ValueMap.Member(key: key, value: value)) != nil {
    throw EvaluationError("the key \(written(key)) comes twice", at: range)
  }
}
