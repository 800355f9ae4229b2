import Basics

// Int literals where only a double fits: `average < 50`, `stats.mean([1, 2.5])`, `flag ? 1 : 2.5`.
//
// Neither CEL nor recipes convert numbers implicitly, but a literal has no fixed type yet. So an int literal (with its
// sign, in a list literal, or in a branch of `?:`) becomes a double if a double is wanted and an int doesn't fit. The
// result of an operation on literals stays an int: `1 / 2` is 0. Plain CEL isn't changed.

extension Checker {
  /// The part with its int literals as doubles; nil if it doesn't have the wanted type then.
  func widened(_ result: Result, _ syntax: Syntax, to wanted: ValueType) -> Result? {
    guard isSound,
      let node = widened(result.node, inference.resolved(result.type), items: result.items, syntax, to: wanted)
    else { return nil }
    var widened = result
    (widened.node, widened.type) = (node, inference.applied(wanted))
    if case .list(let element) = widened.type { widened.items = result.items.map { $0.map { _ in element } } }
    return widened
  }

  private func widened(
    _ node: any Node, _ type: ValueType, items types: [ValueType]? = nil, _ syntax: Syntax, to wanted: ValueType
  ) -> (any Node)? {
    switch (inference.resolved(wanted), syntax.kind) {
    case (.double, _) where type == .double: return node
    case (.double, .literal), (.double, .negate):
      guard let literal = node as? LiteralNode, syntax.isNumber, let number = literal.value.int,
        Int(exactly: Double(number)) == number
      else { return nil }
      return LiteralNode(.double(Double(number)), node.range)
    case (let wanted, .conditional(_, let first, let second)):
      guard let choice = node as? ConditionalNode,
        let one = widened(choice.first, type, first, to: wanted),
        let other = widened(choice.second, type, second, to: wanted)
      else { return nil }
      return ConditionalNode(choice.condition, one, other, node.range)
    case (.list(let element), .list(let elements)):
      let parts: [any Node]
      switch node {
      case let literal as LiteralNode:
        parts = literal.value.list?.enumerated().map { LiteralNode($1, elements[$0].value.range) } ?? []
      case let list as ListNode: parts = list.elements.map(\.node)
      default: return nil
      }
      guard parts.count == elements.count, elements.allSatisfy({ !$0.isOptional }) else { return nil }
      var items: [ListNode.Element] = []
      for (index, part) in parts.enumerated() {
        let type = types.map { inference.resolved($0[index]) } ?? (part as? LiteralNode)?.value.scalarType ?? .dyn
        guard let item = widened(part, type, elements[index].value, to: element) else { return nil }
        items.append(ListNode.Element(node: item, isOptional: false))
      }
      let values = items.compactMap { ($0.node as? LiteralNode)?.value }
      return values.count == items.count ? LiteralNode(.list(values), node.range) : ListNode(items, node.range)
    default: return nil
    }
  }

  /// Two operands, with the int literals of one as doubles if the other has doubles.
  func widened(
    _ one: Result, _ left: Syntax, _ types: (ValueType, ValueType), _ other: Result, _ right: Syntax,
    of symbol: BinaryOperator? = nil
  ) -> (left: Result, right: Result)? {
    guard isSound, symbol != .remainder else { return nil }
    func isOfDoubles(_ type: ValueType) -> Bool {
      switch inference.resolved(type) {
      case .double: true
      case .list(let element): isOfDoubles(element)
      default: false
      }
    }
    if symbol == .membership {
      if isOfDoubles(types.0) { return widened(other, right, to: .list(types.0)).map { (one, $0) } }
      guard case .list(let element) = types.1, isOfDoubles(element) else { return nil }
      return widened(one, left, to: element).map { ($0, other) }
    }
    switch (isOfDoubles(types.0), isOfDoubles(types.1)) {
    case (true, false): return widened(other, right, to: types.0).map { (one, $0) }
    case (false, true): return widened(one, left, to: types.1).map { ($0, other) }
    default: return nil
    }
  }
}

extension Syntax {
  /// Whether it is a number literal, with or without a sign.
  fileprivate var isNumber: Bool {
    switch kind {
    case .literal: true
    case .negate(let operand): operand.isNumber
    default: false
    }
  }
}
