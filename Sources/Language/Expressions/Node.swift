import Basics

/// One operation of a checked expression, ready to run.
///
/// The checker builds nodes with names resolved to slots and overloads to functions. Where it knows that a result is a
/// bool or an int, the caller asks for `bool` or `int`, without an intermediate `Value`. Both still check the value's
/// kind, so data that doesn't have its declared type causes an error and nothing worse.
protocol Node: AnyObject, Sendable {
  /// The part of the text, for errors.
  var range: Range<Int> { get }
  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value
  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool
  func int(_ context: inout EvaluationContext) throws(EvaluationError) -> Int
  /// Whether the value existed before the evaluation, or is part of a value that did.
  var isRead: Bool { get }
}

extension Node {
  var isRead: Bool { false }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let value = try evaluate(&context)
    if case .bool(let result) = value.content { return result }
    throw mismatch(value, "a bool", range)
  }

  func int(_ context: inout EvaluationContext) throws(EvaluationError) -> Int {
    let value = try evaluate(&context)
    if case .int(let result) = value.content { return result }
    throw mismatch(value, "an int", range)
  }
}

@inline(never)
func mismatch(_ value: Value, _ wanted: String, _ range: Range<Int>) -> EvaluationError {
  EvaluationError("\(wanted) is needed here, but this is \(value.kindName)", at: range)
}

/// A node whose result is a bool, computed without a `Value`.
protocol BoolNode: Node {}

extension BoolNode {
  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value { .bool(try bool(&context)) }
}

/// A constant.
final class LiteralNode: Node {
  let range: Range<Int>
  let value: Value

  init(_ value: Value, _ range: Range<Int>) {
    self.value = value
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) -> Value { value }

  var isRead: Bool { true }

  func int(_ context: inout EvaluationContext) throws(EvaluationError) -> Int {
    if case .int(let result) = value.content { return result }
    throw mismatch(value, "an int", range)
  }
}

/// A variable of the caller, a loop or a binding.
final class VariableNode: Node {
  let range: Range<Int>
  let slot: Int

  init(_ slot: Int, _ range: Range<Int>) {
    self.slot = slot
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) -> Value { context.slots[slot] }

  var isRead: Bool { true }

  func int(_ context: inout EvaluationContext) throws(EvaluationError) -> Int {
    if case .int(let result) = context.slots[slot].content { return result }
    throw mismatch(context.slots[slot], "an int", range)
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    if case .bool(let result) = context.slots[slot].content { return result }
    throw mismatch(context.slots[slot], "a bool", range)
  }
}

/// An operation that is known to fail; where nothing is checked, the failure is left to evaluation.
final class FailureNode: Node {
  let range: Range<Int>
  let message: String

  init(_ message: String, _ range: Range<Int>) {
    self.message = message
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    throw EvaluationError(message, at: range)
  }
}

/// Keeps secrets out of error messages.
final class SecretNode: Node {
  let range: Range<Int>
  let inner: any Node

  init(_ inner: any Node) {
    self.inner = inner
    range = inner.range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    do throws(EvaluationError) {
      return try inner.evaluate(&context)
    } catch {
      if error.unknown != nil { throw error }
      throw EvaluationError("this fails on a secret, which is not shown", at: range)
    }
  }
}

/// `cel.bind`: the value is computed when it is first read, so that an unused binding costs nothing and can't fail.
final class BindNode: Node {
  let range: Range<Int>
  let slot: Int
  let value: any Node
  let body: any Node

  init(_ slot: Int, _ value: any Node, _ body: any Node, _ range: Range<Int>) {
    self.slot = slot
    self.value = value
    self.body = body
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    context.states[slot] = .unread
    return try body.evaluate(&context)
  }
}

/// A read of a variable that `cel.bind` declares.
final class BoundNode: Node {
  let range: Range<Int>
  let slot: Int
  let value: any Node

  init(_ slot: Int, _ value: any Node, _ range: Range<Int>) {
    self.slot = slot
    self.value = value
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    switch context.states[slot] ?? .unread {
    case .known: return context.slots[slot]
    case .failed(let error): throw error
    case .unread:
      do throws(EvaluationError) {
        context.slots[slot] = try value.evaluate(&context)
        context.states[slot] = .known
        return context.slots[slot]
      } catch {
        context.states[slot] = .failed(error)
        throw error
      }
    }
  }
}

/// `optMap` and `optFlatMap`.
final class OptionalMapNode: Node {
  let range: Range<Int>
  let operand: any Node
  let slot: Int
  let body: any Node
  let isFlat: Bool

  init(_ operand: any Node, _ slot: Int, _ body: any Node, isFlat: Bool, _ range: Range<Int>) {
    self.operand = operand
    self.slot = slot
    self.body = body
    self.isFlat = isFlat
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try operand.evaluate(&context)
    guard case .optional(let wrapped) = value.content else { throw mismatch(value, "an optional", operand.range) }
    guard let wrapped else { return value }
    context.slots[slot] = wrapped
    let result = try body.evaluate(&context)
    guard isFlat else { return Value(.optional(result)) }
    guard case .optional = result.content else { throw mismatch(result, "an optional", body.range) }
    return result
  }
}
