import Basics

/// A loop over the items of a list, or over the keys of a map with their values.
///
/// The first variable of a loop over a list is the item, or its index if there are two variables. Each round costs one
/// step.
final class LoopNode: Node {
  let range: Range<Int>
  let kind: Syntax.Loop.Kind
  let source: any Node
  /// The slot of the only variable, or the slot of the index or key.
  let first: Int
  /// The slot of the item or value, if there are two variables.
  let second: Int?
  let filter: (any Node)?
  let body: any Node
  /// The name of the item in errors; nil if the item may not be shown.
  let itemName: String?

  init(
    _ kind: Syntax.Loop.Kind, over source: any Node, first: Int, second: Int?, filter: (any Node)?, body: any Node,
    itemName: String?, _ range: Range<Int>
  ) {
    self.kind = kind
    self.source = source
    self.first = first
    self.second = second
    self.filter = filter
    self.body = body
    self.itemName = itemName
    self.range = range
  }

  /// Adds the current item to an error.
  private func named(_ error: EvaluationError, _ item: Value) -> EvaluationError {
    itemName.map { error.met(at: $0, item) } ?? error
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    switch kind {
    case .all, .exists, .existsOne: return .bool(try bool(&context))
    case .filter, .map, .transformList: return try makeList(&context)
    case .transformMap, .transformMapEntry: return try makeMap(&context)
    case .sortBy: return try sorted(&context)
    }
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    switch kind {
    case .all: return try settled(at: false, &context)
    case .exists: return try settled(at: true, &context)
    case .existsOne:
      var found = 0
      try forEach(&context) { (context, _, _) throws(EvaluationError) in
        if try body.bool(&context) { found += 1 }
        return true
      }
      return found == 1
    default: throw mismatch(try evaluate(&context), "a bool", range)
    }
  }

  /// `all` and `exists`: the first body that returns the deciding value ends the loop, and earlier errors are dropped.
  private func settled(at decisive: Bool, _ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    var failure: EvaluationError?
    var isSettled = false
    try forEach(&context) { (context, first, second) throws(EvaluationError) in
      do throws(EvaluationError) {
        if try body.bool(&context) == decisive {
          isSettled = true
          return false
        }
      } catch {
        if error.isLimit { throw error }
        failure = .standing(for: failure, and: named(error, self.second == nil ? first : second))
      }
      return true
    }
    if isSettled { return decisive }
    if let failure { throw failure }
    return !decisive
  }

  private func makeList(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    var items: [Value] = []
    try forEach(&context) { (context, item, _) throws(EvaluationError) in
      if kind == .filter {
        guard try body.bool(&context) else { return true }
        try context.charge(bytes: MemoryLayout<Value>.stride)
        items.append(item)
      } else {
        if let filter = filter, try !filter.bool(&context) { return true }
        try context.charge(bytes: MemoryLayout<Value>.stride)
        items.append(try body.evaluate(&context))
      }
      return true
    }
    return .list(items)
  }

  private func makeMap(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    var map = ValueMap()
    try forEach(&context) { (context, key, _) throws(EvaluationError) in
      if let filter = filter, try !filter.bool(&context) { return true }
      let value = try body.evaluate(&context)
      if kind == .transformMap {
        try insert(key, value, into: &map, &context, range)
      } else {
        guard case .map(let entries) = value.content else { throw mismatch(value, "a map", body.range) }
        for entry in entries.members { try insert(entry.key, entry.value, into: &map, &context, body.range) }
      }
      return true
    }
    return .map(map)
  }

  private func sorted(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    var pairs: [(key: Value, item: Value)] = []
    try forEach(&context) { (context, item, _) throws(EvaluationError) in
      try context.charge(bytes: 2 * MemoryLayout<Value>.stride)
      pairs.append((try body.evaluate(&context), item))
      return true
    }
    if let first = pairs.first, let odd = pairs.first(where: { order(first.key, $0.key) == nil }) {
      throw EvaluationError(
        "sortBy() cannot put \(written(first.key)) and \(written(odd.key)) in order", at: body.range)
    }
    try context.charge(steps: pairs.count * (Int.bitWidth - pairs.count.leadingZeroBitCount))
    pairs.sort { order($0.key, $1.key) == .less }
    return .list(pairs.map(\.item))
  }

  /// Sets the variables for each round and calls the closure with the item (or the first variable, if there are two)
  /// until it returns false.
  @inline(__always)
  private func forEach(
    _ context: inout EvaluationContext,
    _ round: (inout EvaluationContext, _ first: Value, _ second: Value) throws(EvaluationError) -> Bool
  ) throws(EvaluationError) {
    let source = try source.evaluate(&context)
    switch source.content {
    case .list(let items):
      for index in items.indices {
        try context.charge()
        let item = items[index]
        if let second {
          let position = Value.int(index)
          context.slots[first] = position
          context.slots[second] = item
          do throws(EvaluationError) { guard try round(&context, position, item) else { return } } catch {
            throw named(error, item)
          }
        } else {
          context.slots[first] = item
          do throws(EvaluationError) { guard try round(&context, item, item) else { return } } catch {
            throw named(error, item)
          }
        }
      }
    case .map(let map):
      for member in map.members {
        try context.charge()
        context.slots[first] = member.key
        if let second { context.slots[second] = member.value }
        do throws(EvaluationError) { guard try round(&context, member.key, member.value) else { return } } catch {
          throw named(error, second == nil ? member.key : member.value)
        }
      }
    default:
      throw EvaluationError(
        "\(kind.rawValue)() goes through a list or a map, and this is \(source.kindName)", at: self.source.range)
    }
  }
}
