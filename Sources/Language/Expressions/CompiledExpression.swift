package import Basics

/// A checked expression, ready to be evaluated any number of times, from any thread.
package struct CompiledExpression: Sendable {
  /// The type of the value.
  package let type: ValueType
  let root: any Node
  let slotCount: Int
  let references: [Reference]
  let factsWhenTrue: Facts
  let factsWhenFalse: Facts
  /// The range of the whole text.
  package let range: Range<Int>

  /// A place where the expression reads a variable.
  struct Reference: Sendable {
    let slot: Int
    let name: String
    let path: [String]
    let range: Range<Int>
    /// Whether the value that is read may hold a secret.
    var isSecret = false
  }

  /// Reads and checks an expression.
  ///
  /// `expecting` is the type that the place of the expression requires.
  package static func compile(
    _ text: String, in scope: ExpressionScope, expecting: ValueType? = nil
  ) -> Result<CompiledExpression, ExpressionError> {
    let bytes = Array(text.utf8)
    return compile(bytes, 0..<bytes.count, in: scope, expecting: expecting)
  }

  static func compile(
    _ text: [UInt8], _ range: Range<Int>, in scope: ExpressionScope, expecting: ValueType? = nil,
    takesOptional: Bool = true, leavesOutAbsent: Bool = false
  ) -> Result<CompiledExpression, ExpressionError> {
    let (syntax, faults) = Parser.parse(text, range: range)
    var checker = Checker(text, range, scope)
    guard let syntax else { return .failure(ExpressionError(checker.suggesting(faults))) }
    let (program, type) = checker.program(
      syntax, expecting: expecting, takesOptional: takesOptional, leavesOutAbsent: leavesOutAbsent)
    let all = faults.isEmpty ? checker.faults : checker.suggesting(faults) + checker.faults
    return all.isEmpty ? .success(program) : .failure(ExpressionError(all, type: type))
  }

  /// The value of a constant expression, if it is one.
  package var constant: Value? { (root as? LiteralNode)?.value }

  /// The names of the declared variables that the expression reads.
  package var readVariables: Set<String> { Set(references.map(\.name)) }

  /// Each place where the expression reads a variable, with the names that follow it as far as they are constant.
  package var referencedPaths: [(name: String, path: [String])] { references.map { ($0.name, $0.path) } }

  /// The names if the expression only reads a path, the variable's first; nil if it does more.
  var pathRead: [String]? {
    var names: [String] = []
    var node = root
    while let select = node as? SelectNode {
      names.append(select.name)
      node = select.operand
    }
    guard node is VariableNode, references.count == 1 else { return nil }
    return [references[0].name] + names.reversed()
  }

  /// The places where the expression reads a variable: the constant names that follow it, and the range.
  package func references(_ root: String) -> [(path: [String], range: Range<Int>)] {
    references.filter { $0.name.hasSameScalars(as: root) }.map { ($0.path, $0.range) }
  }

  /// The values that the expression reads from the scope's variables: each path once, up to its first computed step.
  ///
  /// A value is nil if its path doesn't exist. Values that may hold a secret are left out.
  package func reads(in variables: [Value]) -> [(name: String, value: Value?)] {
    var reads: [(name: String, value: Value?)] = []
    for reference in references where variables.indices.contains(reference.slot) && !reference.isSecret {
      let name = ([reference.name] + reference.path).joined(separator: ".")
      if reads.contains(where: { $0.name.hasSameScalars(as: name) }) { continue }
      let value = reference.path.reduce(variables[reference.slot]) { value, member -> Value? in value?[member] }
      reads.append((name, value))
    }
    return reads
  }

  /// The values on both sides of the comparison that makes a condition false.
  ///
  /// If several comparisons are joined by `&&`, it is the first false one.
  ///
  /// A side is nil if it is a literal, or if it only reads a variable whose value isn't a list or a map.
  package func sides(_ variables: [Value]) -> (left: Value?, right: Value?) {
    func value(_ node: any Node) -> Value? {
      var slots = variables
      while slots.count < slotCount { slots.append(.null) }
      var context = EvaluationContext(slots: slots, limits: EvaluationLimits())
      return try? node.evaluate(&context)
    }
    var node = root
    while let both = node as? LogicalNode, !both.decisive {
      guard let deciding = both.operands.first(where: { value($0)?.bool == false }) else { return (nil, nil) }
      node = deciding
    }
    guard let comparison = node as? any ComparingNode else { return (nil, nil) }
    func side(_ node: any Node) -> Value? {
      guard !(node is LiteralNode), let value = value(node) else { return nil }
      let isRead = references.contains { $0.range == node.range }
      return isRead && value.list == nil && value.map == nil ? nil : value
    }
    return (side(comparison.left), side(comparison.right))
  }

  /// The value of the expression, given the values of the scope's variables by slot.
  package func evaluate(
    _ variables: [Value], limits: EvaluationLimits = EvaluationLimits()
  ) throws(EvaluationError) -> Value {
    var slots = variables
    if slots.count < slotCount {
      slots.reserveCapacity(slotCount)
      for _ in slots.count..<slotCount { slots.append(.null) }
    }
    var context = EvaluationContext(slots: slots, limits: limits)
    do throws(EvaluationError) {
      let value = try root.evaluate(&context)
      if !root.isRead, let reason = value.oversize { throw .limit("the value is too large: \(reason)") }
      return value
    } catch {
      throw error.placed(at: range)
    }
  }

  /// The value of the expression, asking only for the variables that it reads.
  package func evaluate(
    limits: EvaluationLimits = EvaluationLimits(), _ value: (String) -> Value?
  ) throws(EvaluationError) -> Value {
    var variables = [Value](repeating: .null, count: slotCount)
    var known: Set<Int> = []
    for reference in references where known.insert(reference.slot).inserted {
      guard let value = value(reference.name) else {
        throw EvaluationError("the variable `\(reference.name)` has no value", at: reference.range)
      }
      variables[reference.slot] = value
    }
    return try evaluate(variables, limits: limits)
  }
}
