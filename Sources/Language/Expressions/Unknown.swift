// What a plan does not know yet.
//
// A plan evaluates a recipe's expressions before anything is written, so some of what they read is only known after a
// step has run. In its place stands an unknown. An expression that reads one ends with an error of its own kind, so that
// CEL's absorption decides what can be decided all the same: `false && x`, `true || x`, and the other branch of `?:` do
// not need `x`. A list or an object may hold unknowns and can still be counted, gone through and handed on.
//
// Only scopes that say so (`ExpressionScope.mayMeetUnknowns`) compile the guards that look for unknowns; evaluations of
// runs are not touched by any of this. For the same reason an unknown has no kind of its own among values: it travels as
// a type value with a name that no type can have.
package import Basics

/// What stands in the place of a value that is only known later.
package struct Unknown: Hashable, Sendable {
  /// When it will be known: `known after 'make'`.
  package var reason: String
  /// Whether it may turn out that there is nothing in this place.
  package var mayBeAbsent: Bool

  package init(_ reason: String, mayBeAbsent: Bool = false) {
    self.reason = reason
    self.mayBeAbsent = mayBeAbsent
  }

  private static let mark = "?"
  private static let absentMark = "?? "
  private static let presentMark = "?! "

  /// What a value stands for, if it is an unknown.
  package init?(_ value: Value) {
    guard case .type(let name) = value.content, name.hasPrefix(Unknown.mark) else { return nil }
    self.init(String(name.dropFirst(3)), mayBeAbsent: name.hasPrefix(Unknown.absentMark))
  }

  /// The unknown in the place of a value.
  package var value: Value { Value(.type((mayBeAbsent ? Unknown.absentMark : Unknown.presentMark) + reason)) }

  /// A value of a type of which nothing is known but its type: an object whose required fields are there and unknown.
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
  /// The first unknown in the value, if there is any.
  ///
  /// - Parameter budget: How many values are looked at; when they are used up, the answer is nil.
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

  /// The value without the fields and items that are not known.
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

  /// The first unknown in the value, if there is any.
  package var firstUnknown: Unknown? {
    var budget = 10_000_000
    return firstUnknown(within: &budget)
  }
}

/// Keeps an expression from going on with a value that is not known.
final class KnownNode: Node {
  /// How much of a value has to be known.
  enum Extent: Sendable {
    /// That it is there; what it holds may be unknown.
    case itself
    /// How many items or which keys it has as well.
    case keys
    /// All of it.
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

/// Keeps `has` from taking a field for present that may turn out to be absent.
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
