import Basics

// Macros over lists and maps.

extension Checker {
  mutating func checkLoop(_ loop: Syntax.Loop, _ syntax: Syntax) -> Result {
    let source = check(loop.range)
    let (type, isSecret) = unsealed(source.type)
    var (key, item) = elements(of: type, loop)
    if isSecret { (key, item) = (.secret(key), .secret(item)) }
    let saved = facts
    let hasTwo = loop.names.count == 2
    let isList = if case .list = type { true } else { false }
    let first = push(loop.names[0], hasTwo ? (isList ? .int : key) : (isList ? item : key))
    let second = hasTwo ? push(loop.names[1], item) : nil
    if hasTwo, loop.names[0].hasSameScalars(as: loop.names[1]) {
      fault("the two variables of \(loop.kind.rawValue)() need different names", syntax.mark)
    }

    var isTainted = isSecret
    let filter = loop.filter.map { filter in
      let result = check(filter)
      if expectBool(result, filter, "the condition of \(loop.kind.rawValue)()") { isTainted = true }
      facts.formUnion(result.whenTrue)
      return result.node
    }
    let body = check(loop.body)
    let result: ValueType
    switch loop.kind {
    case .all, .exists, .existsOne:
      if expectBool(body, loop.body, "the condition of \(loop.kind.rawValue)()") { isTainted = true }
      result = .bool
    case .filter:
      if expectBool(body, loop.body, "the condition of filter()") { isTainted = true }
      let path = Path(root: first.name, local: first.slot, steps: [])
      result = .list(having(body.whenTrue, at: path, first.type))
    case .map, .transformList: result = .list(body.type)
    case .transformMap: result = .map(isList ? .int : key, body.type)
    case .transformMapEntry: result = entries(body, loop.body)
    case .sortBy:
      if unsealed(body.type).isSecret { isTainted = true }
      checkSortKey(body, loop.body)
      result = .list(first.type)
    }
    locals.removeLast(hasTwo ? 2 : 1)
    facts = saved
    let node = LoopNode(
      loop.kind, over: known(source.node, .keys), first: first.slot, second: second?.slot, filter: filter,
      body: body.node, itemName: inference.holdsSecret(item) || inference.holdsSecret(key) ? nil : loop.names.last,
      syntax.range)
    return sealed(Result(node, isChecked ? result : .dyn), if: isTainted)
  }

  /// The types of the keys or indexes, and of the items, that a loop iterates over.
  private mutating func elements(of type: ValueType, _ loop: Syntax.Loop) -> (key: ValueType, item: ValueType) {
    let name = loop.kind.rawValue
    switch type {
    case .list(let element): return (.int, element)
    case .map(let key, let value): return (key, value)
    case .object(let object): return (.string, inference.member(of: object))
    case .dyn, .parameter: return (.dyn, .dyn)
    case .wrapper(let wrapped) where !isSound: return elements(of: inference.resolved(wrapped), loop)
    case .string:
      fault(
        "\(name)() goes through a list or the keys of a map, and this is a string"
          + suggestion("\(enclosed(loop.range)).split(',')", for: loop.range, "; split it first, as in"),
        loop.range.range)
    case .optional:
      fault(
        "\(name)() goes through a list or the keys of a map, and this is \(show(type))"
          + suggestion("\(enclosed(loop.range)).orValue(…)", for: loop.range), loop.range.range)
    default:
      fault("\(name)() goes through a list or the keys of a map, and this is \(show(type))", loop.range.range)
    }
    return (.dyn, .dyn)
  }

  private mutating func entries(_ body: Result, _ syntax: Syntax) -> ValueType {
    switch inference.resolved(body.type) {
    case .map(let key, let value): return .map(key, value)
    case .object(let object): return .map(.string, inference.member(of: object))
    case .dyn, .parameter: return .map(.dyn, .dyn)
    case let type:
      fault("transformMapEntry() makes a map of each entry, as {key: value}, and this is \(show(type))", syntax.range)
      return .map(.dyn, .dyn)
    }
  }

  private mutating func checkSortKey(_ body: Result, _ syntax: Syntax) {
    switch unsealed(body.type).type {
    case .int, .uint, .double, .bool, .string, .choice, .bytes, .timestamp, .duration, .dyn, .parameter: break
    case let type: fault("sortBy() wants a key that has an order, and this is \(show(type))", syntax.range)
    }
  }
}
