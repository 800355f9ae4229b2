import Basics

/// CEL's library `lists`, as cel-go documents it; `sortBy` is a macro.
let listFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "slice", receiver: .list(item), parameters: [.int, .int], result: .list(item),
    summary: "The items from one index up to another, which isn't included.",
    example: "[1, 2, 3, 4].slice(1, 3) == [2, 3]"
  ) { arguments, context throws(EvaluationError) in
    let list = try arguments.list(0)
    let start = try arguments.int(1)
    let end = try arguments.int(2)
    guard start <= end else { throw EvaluationError("slice() from index \(start) cannot end before it, at \(end)") }
    for index in [start, end] where !(0...list.count).contains(index) {
      throw EvaluationError("slice() to index \(index) is outside the list of \(counted(list.count, "item"))")
    }
    return try context.made(Array(list[start..<end]))
  },
  FunctionDeclaration(
    "flatten", receiver: .list(.list(item)), parameters: [], result: .list(item),
    summary: "The items of the lists in a list, one level deep.", example: "[[1], [2, 3], []].flatten() == [1, 2, 3]"
  ) { arguments, context throws(EvaluationError) in try flatten(arguments.list(0), depth: 1, &context) },
  FunctionDeclaration(
    "flatten", receiver: .list(.dyn), parameters: [], result: .list(.dyn),
    summary: "The items of the lists in a list; items that aren't lists stay as they are.",
    resultType: { types, _ in flattened(types[0], depth: 1) }
  ) { arguments, context throws(EvaluationError) in try flatten(arguments.list(0), depth: 1, &context) },
  FunctionDeclaration(
    "flatten", receiver: .list(.dyn), parameters: [.int], result: .list(.dyn),
    summary: "The items of the lists in a list, down to the given number of levels.",
    example: "[1, [2, [3, [4]]]].flatten(2) == [1, 2, 3, [4]]",
    resultType: { types, constants in flattened(types[0], depth: constants[1]?.int) }
  ) { arguments, context throws(EvaluationError) in
    let depth = try arguments.int(1)
    guard depth >= 0 else { throw EvaluationError("flatten() takes a depth of 0 or more, and \(depth) was given") }
    return try flatten(arguments.list(0), depth: depth, &context)
  },
  FunctionDeclaration(
    "lists.range", parameters: [.int], result: .list(.int),
    summary: "The whole numbers from 0 up to a number, which isn't included.", example: "lists.range(3) == [0, 1, 2]"
  ) { arguments, context throws(EvaluationError) in
    let count = try arguments.int(0)
    guard count >= 0 else { throw EvaluationError("lists.range() takes 0 or more, and \(count) was given") }
    try context.charge(steps: count)
    return try context.made((0..<count).map { .int($0) })
  },
  FunctionDeclaration(
    "distinct", receiver: .list(item), parameters: [], result: .list(item),
    summary: "The items without duplicates; the first of equal items stays.",
    example: "[1, 2, 2, 3, 1].distinct() == [1, 2, 3]"
  ) { arguments, context throws(EvaluationError) in
    let list = try arguments.list(0)
    var seen = ItemSet()
    var distinct: [Value] = []
    for value in list where try seen.insert(value, &context) { distinct.append(value) }
    return try context.made(distinct)
  },
  FunctionDeclaration(
    "reverse", receiver: .list(item), parameters: [], result: .list(item),
    summary: "The items in reverse order.", example: "[1, 2, 3].reverse() == [3, 2, 1]"
  ) { arguments, context throws(EvaluationError) in
    let list = try arguments.list(0)
    try context.charge(steps: list.count)
    return try context.made(list.reversed())
  },
  FunctionDeclaration(
    "sort", receiver: .list(item), parameters: [], result: .list(item),
    summary:
      "The items in ascending order; equal items keep their order. All must be of one kind that has an order.",
    example: "['b', 'c', 'a'].sort() == ['a', 'b', 'c']",
    typeCheck: { types in
      guard case .list(let element)? = types.first, let fault = orderFault(element) else { return nil }
      return LiteralFault(
        argument: 0, "sort() wants items \(fault); sort by what has an order, as in items.sortBy(x, x.name)")
    }
  ) { arguments, context throws(EvaluationError) in
    let list = try arguments.list(0)
    return try context.made(sorted(list, &context))
  },
]

/// The type parameter of the items.
private let item = ValueType.parameter("T")

/// Why items of the type can't be sorted, as the end of a sentence; nil if they can.
private func orderFault(_ type: ValueType) -> String? {
  switch type {
  case .bool, .int, .uint, .double, .string, .choice, .bytes, .timestamp, .duration, .dyn: nil
  case .secret(let of): orderFault(of)
  case let type where type.mixedParts != nil:
    "of one type, and these are \((type.mixedParts ?? []).map(\.description).joined(separator: " or "))"
  case .wrapper: "that have an order, and these may be null"
  case .object: "that have an order, and an object has none"
  case let type: "that have an order, and \(type) has none"
  }
}

private func sorted(_ list: [Value], _ context: inout EvaluationContext) throws(EvaluationError) -> [Value] {
  guard list.count > 1 else { return list }
  // A comparison sort compares about n log n pairs.
  try context.charge(steps: list.count * (Int.bitWidth - list.count.leadingZeroBitCount))
  if order(list[0], list[0]) == nil {
    throw EvaluationError("\(list[0].kindName) has no order; sort by what has one, as in items.sortBy(x, x.name)")
  }
  for value in list {
    guard order(list[0], value) != nil, list[0].kindName == value.kindName else {
      throw EvaluationError("sort() needs items of one kind, and these are \(list[0].kindName) and \(value.kindName)")
    }
    guard order(value, value) == .equal else { throw EvaluationError("NaN has no place in an order") }
  }
  // Swift's sort is stable, but its documentation doesn't guarantee that, so the index orders equal items.
  return list.indices.sorted { left, right in
    switch order(list[left], list[right]) {
    case .less: true
    case .greater: false
    default: left < right
    }
  }.map { list[$0] }
}

/// The type of a list flattened by that many levels; if `depth` is nil, only data decides how many.
private func flattened(_ list: ValueType, depth: Int?) -> ValueType? {
  guard case .list(let element) = list else { return nil }
  func opened(_ type: ValueType, _ depth: Int) -> [ValueType] {
    switch type {
    case .list(let element) where depth > 0: opened(element, depth - 1)
    case .wrapper(let wrapped): [.null] + opened(wrapped, depth)
    default: type.mixedParts.map { $0.flatMap { opened($0, depth) } } ?? [type]
    }
  }
  if let depth { return ValueType.joined(opened(element, depth)).map { .list($0) } }
  // An expression can't make deeper lists.
  var types: [ValueType] = []
  for depth in 0...100 {
    let next = opened(element, depth)
    if next.allSatisfy(types.contains) { break }
    types += next
  }
  return ValueType.joined(types).map { .list($0) }
}

private func flatten(
  _ list: [Value], depth: Int, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  // This uses its own stack, because a list may be nested deeper than the thread's stack allows.
  var result: [Value] = []
  var open: [(items: [Value], next: Int)] = [(list, 0)]
  while let (items, next) = open.popLast() {
    guard next < items.count else { continue }
    open.append((items, next + 1))
    try context.charge()
    if case .list(let inner) = items[next].content, open.count <= depth {
      open.append((inner, 0))
    } else {
      result.append(items[next])
    }
  }
  return try context.made(result)
}
