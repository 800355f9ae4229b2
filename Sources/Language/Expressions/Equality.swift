import Basics

// CEL's equality and order, where numbers of all three kinds lie on one line.
//
// Int and uint compare exactly. A double against an integer: beyond the integer's range it decides at once, otherwise
// the integer is rounded to a double and compared. Equality is total (values of different kinds are unequal); order
// exists between numbers and within string, bytes, bool, timestamp and duration. NaN equals nothing and has no order.

/// The order of two values.
enum Order {
  case less, equal, greater
  /// NaN is one of them.
  case unordered
}

/// Whether two values are equal in CEL's sense.
///
/// Subtracts the comparisons from the budget and returns without an answer when it is used up. Values share their
/// parts, so a value that is small in memory may contain the same part more often than can be counted.
private func areEqual(_ left: Value, _ right: Value, _ budget: inout Int) -> Bool {
  switch (left.content, right.content) {
  case (.int(let left), .int(let right)): return left == right
  case (.string(let left), .string(let right)):
    budget -= left.utf8.count >> 6
    return left.hasSameScalars(as: right)
  case (.bool(let left), .bool(let right)): return left == right
  case (.double(let left), .double(let right)): return left == right
  case (.null, .null): return true
  case (.bytes(let left), .bytes(let right)):
    budget -= left.count >> 6
    return left == right
  case (.timestamp(let left), .timestamp(let right)): return left == right
  case (.duration(let left), .duration(let right)): return left == right
  case (.type(let left), .type(let right)): return left.hasSameScalars(as: right)
  case (.list(let left), .list(let right)):
    guard left.count == right.count else { return false }
    for index in left.indices {
      budget -= 1
      guard budget >= 0, areEqual(left[index], right[index], &budget) else { return false }
    }
    return true
  case (.map(let left), .map(let right)):
    guard left.count == right.count else { return false }
    for member in left.members {
      budget -= 1
      guard budget >= 0, let index = right.index(of: member.key),
        areEqual(member.value, right.members[index].value, &budget)
      else { return false }
    }
    return true
  case (.optional(let left), .optional(let right)):
    guard let left, let right else { return left == nil && right == nil }
    return areEqual(left, right, &budget)
  default: return order(left, right) == .equal
  }
}

extension EvaluationContext {
  /// Whether two values are equal in CEL's sense; sixteen comparisons within them cost a step.
  mutating func areEqual(_ left: Value, _ right: Value) throws(EvaluationError) -> Bool {
    let all = min(stepsLeft, Int.max >> 5) << 4
    var budget = all
    let result = Expressions.areEqual(left, right, &budget)
    if budget < all { try charge(steps: budget < 0 ? stepsLeft + 1 : (all - budget) >> 4) }
    return result
  }
}

/// The order of two values, or nil if there is none between their kinds.
func order(_ left: Value, _ right: Value) -> Order? {
  switch (left.content, right.content) {
  case (.int(let left), .int(let right)): order(left, right)
  case (.uint(let left), .uint(let right)): order(left, right)
  case (.double(let left), .double(let right)): order(left, right)
  case (.int(let left), .uint(let right)): left < 0 ? .less : order(UInt(left), right)
  case (.uint(let left), .int(let right)): right < 0 ? .greater : order(left, UInt(right))
  case (.int(let left), .double(let right)): order(integer: left, right)
  case (.uint(let left), .double(let right)): order(integer: left, right)
  case (.double(let left), .int(let right)): order(integer: right, left).map(reversed)
  case (.double(let left), .uint(let right)): order(integer: right, left).map(reversed)
  case (.string(let left), .string(let right)):
    left.hasSameScalars(as: right) ? .equal : left.precedesByScalars(right) ? .less : .greater
  case (.bytes(let left), .bytes(let right)):
    left == right ? .equal : left.lexicographicallyPrecedes(right) ? .less : .greater
  case (.bool(let left), .bool(let right)): left == right ? .equal : right ? .less : .greater
  case (.timestamp(let left), .timestamp(let right)): order(left, right)
  case (.duration(let left), .duration(let right)): order(left, right)
  default: nil
  }
}

private func order<Item: Comparable>(_ left: Item, _ right: Item) -> Order {
  left < right ? .less : left == right ? .equal : left > right ? .greater : .unordered
}

private func order<Integer: FixedWidthInteger>(integer left: Integer, _ right: Double) -> Order? {
  if right > Double(Integer.max) { return .less }
  if right < Double(Integer.min) { return .greater }
  return order(Double(left), right)
}

private func reversed(_ order: Order) -> Order {
  switch order {
  case .less: .greater
  case .greater: .less
  case .equal, .unordered: order
  }
}
