import Basics

/// CEL's library `sets`, as cel-go documents it: lists used as sets, without order and repetition.
let setFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "sets.contains", parameters: [.list(item), .list(item)], result: .bool,
    summary: "Whether the first list holds every item of the second.",
    example: "sets.contains([1, 2, 3], [3, 1])"
  ) { arguments, context throws(EvaluationError) in
    .bool(try ItemSet(arguments.list(0), &context).containsAll(arguments.list(1), &context))
  },
  FunctionDeclaration(
    "sets.equivalent", parameters: [.list(item), .list(item)], result: .bool,
    summary: "Whether each list holds every item of the other.",
    example: "sets.equivalent([1, 2, 2], [2, 1])"
  ) { arguments, context throws(EvaluationError) in
    let left = try arguments.list(0)
    let right = try arguments.list(1)
    guard try ItemSet(left, &context).containsAll(right, &context) else { return .bool(false) }
    return .bool(try ItemSet(right, &context).containsAll(left, &context))
  },
  FunctionDeclaration(
    "sets.intersects", parameters: [.list(item), .list(item)], result: .bool,
    summary: "Whether the lists have an item in common.", example: "sets.intersects([1, 2], [2, 3])"
  ) { arguments, context throws(EvaluationError) in
    let set = try ItemSet(arguments.list(0), &context)
    for value in try arguments.list(1) where try set.contains(value, &context) { return .bool(true) }
    return .bool(false)
  },
]

/// The type parameter of the items.
private let item = ValueType.parameter("T")

/// A set of values with CEL's equality.
///
/// Values that can be keys of a map are looked up in constant time. Doubles that aren't integers, lists and other
/// values are searched one by one, and each comparison is charged.
struct ItemSet {
  private var keys = ValueMap()
  private var others: [Value] = []

  init() {}

  init(_ items: [Value], _ context: inout EvaluationContext) throws(EvaluationError) {
    for item in items { _ = try insert(item, &context) }
  }

  /// Adds a value and returns whether it was new.
  mutating func insert(_ value: Value, _ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    if try contains(value, &context) { return false }
    if ItemSet.isKey(value) {
      try context.charge(bytes: MemoryLayout<ValueMap.Member>.stride)
      _ = keys.insert(.init(key: value, value: .null))
    } else {
      others.append(value)
    }
    return true
  }

  func contains(_ value: Value, _ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    try context.charge()
    if ItemSet.isKey(value) || ItemSet.isNumber(value), keys.index(of: value) != nil { return true }
    // Apart from numbers, a key is equal only to keys.
    if ItemSet.isKey(value), !ItemSet.isNumber(value) { return false }
    for other in others {
      try context.charge()
      if try context.areEqual(other, value) { return true }
    }
    return false
  }

  func containsAll(_ values: [Value], _ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    for value in values where try !contains(value, &context) { return false }
    return true
  }

  private static func isKey(_ value: Value) -> Bool {
    switch value.content {
    case .string, .int, .uint, .bool: true
    default: false
    }
  }

  private static func isNumber(_ value: Value) -> Bool {
    switch value.content {
    case .int, .uint, .double: true
    default: false
    }
  }
}
