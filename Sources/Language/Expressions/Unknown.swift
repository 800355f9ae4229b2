// Values that a plan doesn't know yet.
//
// A plan evaluates a recipe's expressions before anything is written, so some of the values that they read are only
// known after a step has run. Such a value is represented by an unknown. An expression that reads one fails with an
// error of its own kind, so CEL's absorption still decides where it can: `false && x`, `true || x`, and the other
// branch of `?:` don't need `x`. A list or an object that contains unknowns can still be counted, iterated and passed
// on.
//
// Only scopes that ask for it (`ExpressionScope.mayMeetUnknowns`) compile the guards that look for unknowns; runs
// evaluate without them. For the same reason an unknown isn't a kind of value of its own: it is a type value with a
// name that no type can have.
package import Basics

/// Represents a value that is only known later.
package struct Unknown: Hashable, Sendable {
  /// When it will be known: `known after 'make'`.
  package var reason: String
  /// Whether the value may turn out to be absent.
  package var mayBeAbsent: Bool

  package init(_ reason: String, mayBeAbsent: Bool = false) {
    self.reason = reason
    self.mayBeAbsent = mayBeAbsent
  }

  private static let mark = "?"
  private static let absentMark = "?? "
  private static let presentMark = "?! "

  /// The unknown that a value represents, if it does.
  package init?(_ value: Value) {
    guard case .type(let name) = value.content, name.hasPrefix(Unknown.mark) else { return nil }
    self.init(String(name.dropFirst(3)), mayBeAbsent: name.hasPrefix(Unknown.absentMark))
  }

  /// The value that represents the unknown.
  package var value: Value { Value(.type((mayBeAbsent ? Unknown.absentMark : Unknown.presentMark) + reason)) }

  /// An unknown value of a type; for an object, its required fields are present and unknown.
  package func value(of type: ValueType) -> Value {
    guard !mayBeAbsent, case .object(let object) = type else { return value }
    var map = ValueMap()
    for field in object.fields {
      map[field.name] = field.isOptional ? Unknown(reason, mayBeAbsent: true).value : value(of: field.type)
    }
    return .map(map)
  }
}

extension Value {
  /// The first unknown in the value, if there is one.
  ///
  /// - Parameter budget: The number of values to search; the result is nil when it is used up.
  package func firstUnknown(within budget: inout Int) -> Unknown? {
    budget -= 1
    if budget < 0 { return nil }
    switch content {
    case .type: return Unknown(self)
    case .optional(let wrapped?): return wrapped.firstUnknown(within: &budget)
    case .list(let items):
      for item in items { if let found = item.firstUnknown(within: &budget) { return found } }
    case .map(let map):
      for member in map.members { if let found = member.value.firstUnknown(within: &budget) { return found } }
    default: break
    }
    return nil
  }

  /// The value without unknown fields and items.
  package var withoutUnknowns: Value {
    switch content {
    case .list(let items): return .list(items.filter { Unknown($0) == nil }.map(\.withoutUnknowns))
    case .map(let map):
      var known = ValueMap()
      for member in map.members where Unknown(member.value) == nil { known[member.key] = member.value.withoutUnknowns }
      return .map(known)
    case .optional(let wrapped?) where Unknown(wrapped) != nil: return Value(.optional(nil))
    default: return self
    }
  }

  /// The first unknown in the value, if there is one.
  package var firstUnknown: Unknown? {
    var budget = 10_000_000
    return firstUnknown(within: &budget)
  }
}

/// Stops an evaluation at a value that isn't known.
final class KnownNode: Node {
  /// How much of a value must be known.
  enum Extent: Sendable {
    /// Its presence; its contents may be unknown.
    case itself
    /// Its presence and its number of items or its keys.
    case keys
    /// The whole value.
    case whole
  }

  let range: Range<Int>
  let inner: any Node
  let extent: Extent

  init(_ inner: any Node, _ extent: Extent) {
    self.inner = inner
    self.extent = extent
    range = inner.range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try inner.evaluate(&context)
    if let unknown = try unknown(in: value, &context) { throw .unknown(unknown, at: range) }
    return value
  }

  private func unknown(in value: Value, _ context: inout EvaluationContext) throws(EvaluationError) -> Unknown? {
    switch (extent, value.content) {
    case (_, .type): return Unknown(value)
    case (_, .optional(let wrapped?)): return try unknown(in: wrapped, &context)
    case (.keys, .map(let map)):
      return map.members.lazy.compactMap { Unknown($0.value) }.first { $0.mayBeAbsent }
    case (.whole, .list), (.whole, .map):
      // Sixteen values cost a step.
      let all = min(context.stepsLeft, Int.max >> 5) << 4
      var budget = all
      let found = value.firstUnknown(within: &budget)
      try context.charge(steps: budget < 0 ? context.stepsLeft + 1 : (all - budget) >> 4)
      return found
    default: return nil
    }
  }
}

/// Keeps `has` from treating a field as present that may turn out to be absent.
final class DecidedFieldNode: Node {
  let range: Range<Int>
  let inner: any Node
  let field: String

  init(_ inner: any Node, _ field: String) {
    self.inner = inner
    self.field = field
    range = inner.range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try inner.evaluate(&context)
    let holder = if case .optional(let wrapped?) = value.content { wrapped } else { value }
    if let unknown = holder[field].flatMap(Unknown.init), unknown.mayBeAbsent { throw .unknown(unknown, at: range) }
    return value
  }
}
