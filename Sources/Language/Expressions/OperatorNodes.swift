import Basics

// Operators. Every integer operation reports its overflow instead of trapping on it.

/// `&&` or `||` with any number of operands.
///
/// Both are commutative over errors: one false operand makes `&&` false, and one true operand makes `||` true, even if
/// other operands fail. An exceeded limit is the exception.
final class LogicalNode: BoolNode {
  let range: Range<Int>
  let operands: [any Node]
  /// The operand value that decides the result: false for `&&`, true for `||`.
  let decisive: Bool

  private init(_ operands: [any Node], decisive: Bool, _ range: Range<Int>) {
    self.operands = operands
    self.decisive = decisive
    self.range = range
  }

  static func and(_ operands: [any Node], _ range: Range<Int>) -> LogicalNode {
    LogicalNode(operands, decisive: false, range)
  }

  static func or(_ operands: [any Node], _ range: Range<Int>) -> LogicalNode {
    LogicalNode(operands, decisive: true, range)
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    var failure: EvaluationError?
    for operand in operands {
      do throws(EvaluationError) {
        if try operand.bool(&context) == decisive { return decisive }
      } catch {
        if error.isLimit { throw error }
        failure = .standing(for: failure, and: error)
      }
    }
    if let failure { throw failure }
    return !decisive
  }
}

final class NotNode: BoolNode {
  let range: Range<Int>
  let operand: any Node

  init(_ operand: any Node, _ range: Range<Int>) {
    self.operand = operand
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool { try !operand.bool(&context) }
}

final class ConditionalNode: Node {
  let range: Range<Int>
  let condition: any Node
  let first: any Node
  let second: any Node

  init(_ condition: any Node, _ first: any Node, _ second: any Node, _ range: Range<Int>) {
    self.condition = condition
    self.first = first
    self.second = second
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    try condition.bool(&context) ? try first.evaluate(&context) : try second.evaluate(&context)
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    try condition.bool(&context) ? try first.bool(&context) : try second.bool(&context)
  }

  func int(_ context: inout EvaluationContext) throws(EvaluationError) -> Int {
    try condition.bool(&context) ? try first.int(&context) : try second.int(&context)
  }
}

final class EqualityNode: BoolNode, ComparingNode {
  let range: Range<Int>
  let left: any Node
  let right: any Node
  let isNegated: Bool

  init(_ left: any Node, _ right: any Node, isNegated: Bool, _ range: Range<Int>) {
    self.left = left
    self.right = right
    self.isNegated = isNegated
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let left = try left.evaluate(&context)
    let right = try right.evaluate(&context)
    return try context.areEqual(left, right) != isNegated
  }
}

final class OrderNode: BoolNode, ComparingNode {
  let range: Range<Int>
  let symbol: BinaryOperator
  let left: any Node
  let right: any Node

  init(_ symbol: BinaryOperator, _ left: any Node, _ right: any Node, _ range: Range<Int>) {
    self.symbol = symbol
    self.left = left
    self.right = right
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let left = try left.evaluate(&context)
    let right = try right.evaluate(&context)
    guard let order = order(left, right) else {
      throw EvaluationError(
        "\(left.kindName) and \(right.kindName) have no order, so `\(symbol.rawValue)` cannot compare them", at: range)
    }
    if case .string(let text) = left.content, text.utf8.count > 1024 {
      try context.charge(steps: text.utf8.count >> 10)
    }
    switch symbol {
    case .less: return order == .less
    case .lessOrEqual: return order == .less || order == .equal
    case .greater: return order == .greater
    default: return order == .greater || order == .equal
    }
  }
}

/// A comparison of operands that the checker knows to be ints.
final class IntComparisonNode: BoolNode, ComparingNode {
  let range: Range<Int>
  let symbol: BinaryOperator
  let left: any Node
  let right: any Node

  init(_ symbol: BinaryOperator, _ left: any Node, _ right: any Node, _ range: Range<Int>) {
    self.symbol = symbol
    self.left = left
    self.right = right
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let left = try left.int(&context)
    let right = try right.int(&context)
    switch symbol {
    case .less: return left < right
    case .lessOrEqual: return left <= right
    case .greater: return left > right
    case .greaterOrEqual: return left >= right
    case .equal: return left == right
    default: return left != right
    }
  }
}

/// Arithmetic on operands that the checker knows to be ints.
final class IntArithmeticNode: Node {
  let range: Range<Int>
  let symbol: BinaryOperator
  let left: any Node
  let right: any Node

  init(_ symbol: BinaryOperator, _ left: any Node, _ right: any Node, _ range: Range<Int>) {
    self.symbol = symbol
    self.left = left
    self.right = right
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value { .int(try int(&context)) }

  func int(_ context: inout EvaluationContext) throws(EvaluationError) -> Int {
    let left = try left.int(&context)
    let right = try right.int(&context)
    switch symbol {
    case .add:
      let (result, overflow) = left.addingReportingOverflow(right)
      if !overflow { return result }
    case .subtract:
      let (result, overflow) = left.subtractingReportingOverflow(right)
      if !overflow { return result }
    case .multiply:
      let (result, overflow) = left.multipliedReportingOverflow(by: right)
      if !overflow { return result }
    case .divide:
      let (result, overflow) = left.dividedReportingOverflow(by: right)
      if !overflow { return result }
    default:
      let (result, overflow) = left.remainderReportingOverflow(dividingBy: right)
      if !overflow { return result }
    }
    throw integerFailure(symbol, left, right, range)
  }
}

/// The error of an integer operation: a division by zero, or a result beyond 64 bits.
@inline(never)
private func integerFailure<Integer: FixedWidthInteger>(
  _ symbol: BinaryOperator, _ left: Integer, _ right: Integer, _ range: Range<Int>
) -> EvaluationError {
  if right == 0, symbol == .divide || symbol == .remainder {
    return EvaluationError("\(left) cannot be divided by zero", at: range)
  }
  return EvaluationError(
    "\(left) \(symbol.rawValue) \(right) is outside the range of \(Integer.isSigned ? "an int" : "a uint")", at: range)
}

/// Arithmetic and concatenation of values of any kind.
final class ArithmeticNode: Node {
  let range: Range<Int>
  let symbol: BinaryOperator
  let left: any Node
  let right: any Node

  init(_ symbol: BinaryOperator, _ left: any Node, _ right: any Node, _ range: Range<Int>) {
    self.symbol = symbol
    self.left = left
    self.right = right
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let left = try left.evaluate(&context)
    let right = try right.evaluate(&context)
    switch (left.content, right.content) {
    case (.int(let left), .int(let right)): return .int(try combine(left, right))
    case (.uint(let left), .uint(let right)): return .uint(try combine(left, right))
    case (.double(let left), .double(let right)):
      switch symbol {
      case .add: return .double(left + right)
      case .subtract: return .double(left - right)
      case .multiply: return .double(left * right)
      case .divide: return .double(left / right)
      default: break
      }
    case (.string(let left), .string(let right)) where symbol == .add:
      try context.charge(bytes: left.utf8.count + right.utf8.count)
      return .string(left + right)
    case (.bytes(let left), .bytes(let right)) where symbol == .add:
      try context.charge(bytes: left.count + right.count)
      return .bytes(left + right)
    case (.list(let left), .list(let right)) where symbol == .add:
      try context.charge(bytes: (left.count + right.count) * MemoryLayout<Value>.stride)
      return .list(left + right)
    case (.timestamp(let instant), .duration(let span)):
      if symbol == .add { return .timestamp(try shifted(instant, by: span)) }
      if symbol == .subtract {
        let (nanoseconds, overflow) = (0).subtractingReportingOverflow(span.nanoseconds)
        guard !overflow else { throw outOfRange("a timestamp") }
        return .timestamp(try shifted(instant, by: TimeSpan(nanoseconds: nanoseconds)))
      }
    case (.duration(let span), .timestamp(let instant)) where symbol == .add:
      return .timestamp(try shifted(instant, by: span))
    case (.timestamp(let left), .timestamp(let right)) where symbol == .subtract:
      guard let span = left.span(since: right) else { throw outOfRange("a duration") }
      return .duration(span)
    case (.duration(let left), .duration(let right)) where symbol == .add || symbol == .subtract:
      let (nanoseconds, overflow) =
        symbol == .add
        ? left.nanoseconds.addingReportingOverflow(right.nanoseconds)
        : left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
      guard !overflow else { throw outOfRange("a duration") }
      return .duration(TimeSpan(nanoseconds: nanoseconds))
    default: break
    }
    throw EvaluationError("`\(symbol.rawValue)` does not take \(left.kindName) and \(right.kindName)", at: range)
  }

  private func combine<Integer: FixedWidthInteger>(
    _ left: Integer, _ right: Integer
  ) throws(EvaluationError) -> Integer {
    let (result, overflow) =
      switch symbol {
      case .add: left.addingReportingOverflow(right)
      case .subtract: left.subtractingReportingOverflow(right)
      case .multiply: left.multipliedReportingOverflow(by: right)
      case .divide: left.dividedReportingOverflow(by: right)
      default: left.remainderReportingOverflow(dividingBy: right)
      }
    if overflow { throw integerFailure(symbol, left, right, range) }
    return result
  }

  private func shifted(_ instant: Timestamp, by span: TimeSpan) throws(EvaluationError) -> Timestamp {
    guard let result = instant.advanced(by: span) else { throw outOfRange("a timestamp") }
    return result
  }

  private func outOfRange(_ what: String) -> EvaluationError {
    EvaluationError("the result is outside the range of \(what)", at: range)
  }
}

final class NegateNode: Node {
  let range: Range<Int>
  let operand: any Node

  init(_ operand: any Node, _ range: Range<Int>) {
    self.operand = operand
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try operand.evaluate(&context)
    switch value.content {
    case .int(let number):
      let (result, overflow) = (0).subtractingReportingOverflow(number)
      if overflow { throw EvaluationError("-(\(number)) is outside the range of an int", at: range) }
      return .int(result)
    case .double(let number): return .double(-number)
    default: throw EvaluationError("`-` does not take \(value.kindName)", at: range)
    }
  }
}

/// `in` a list or the keys of a map.
final class MembershipNode: BoolNode {
  let range: Range<Int>
  let item: any Node
  let container: any Node
  /// Whether a null counts as an absent field, as it does for the optional fields of objects.
  let isNullAbsent: Bool

  init(_ item: any Node, _ container: any Node, isNullAbsent: Bool, _ range: Range<Int>) {
    self.isNullAbsent = isNullAbsent
    self.item = item
    self.container = container
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let item = try item.evaluate(&context)
    let container = try container.evaluate(&context)
    switch container.content {
    case .list(let items):
      for candidate in items where try context.areEqual(candidate, item) { return true }
      try context.charge(steps: items.count >> 4)
      return false
    case .map(let map):
      guard let index = map.index(of: item) else { return false }
      return !isNullAbsent || !map.members[index].value.isNull
    default:
      throw EvaluationError("`in` looks into a list or the keys of a map, and this is \(container.kindName)", at: range)
    }
  }
}

/// A comparison of two values.
protocol ComparingNode {
  var left: any Node { get }
  var right: any Node { get }
}
