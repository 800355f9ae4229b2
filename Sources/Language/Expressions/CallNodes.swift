import Basics

/// A call of a declared function.
///
/// If several forms remain because types are unknown, the first whose parameters match the values' kinds is called.
final class CallNode: Node {
  let range: Range<Int>
  let mark: Range<Int>
  let name: String
  let forms: [FunctionDeclaration]
  let arguments: [any Node]
  /// Whether the checker has verified the kinds of the arguments.
  let isExact: Bool

  init(
    _ name: String, _ forms: [FunctionDeclaration], _ arguments: [any Node], isExact: Bool, _ range: Range<Int>,
    mark: Range<Int>
  ) {
    self.name = name
    self.forms = forms
    self.arguments = arguments
    self.isExact = isExact && forms.count == 1
    self.range = range
    self.mark = mark
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    try context.charge()
    let values: Arguments
    switch arguments.count {
    case 1: values = Arguments(try arguments[0].evaluate(&context))
    case 2: values = Arguments(try arguments[0].evaluate(&context), try arguments[1].evaluate(&context))
    default:
      var all: [Value] = []
      all.reserveCapacity(arguments.count)
      for argument in arguments { all.append(try argument.evaluate(&context)) }
      values = Arguments(all)
    }
    let form: FunctionDeclaration
    if isExact {
      form = forms[0]
    } else if let fitting = forms.first(where: { $0.takes(values) }) {
      form = fitting
    } else {
      let kinds = (0..<values.count).map { values[$0].kindName }.joined(separator: ", ")
      throw EvaluationError("\(name)() does not take \(kinds.isEmpty ? "no arguments" : kinds)", at: mark)
    }
    do throws(EvaluationError) {
      return try form.body(values, &context)
    } catch {
      throw error.placed(at: range)
    }
  }
}

extension FunctionDeclaration {
  /// Whether the values have the kinds of the parameters; only the first item of a list is checked.
  func takes(_ values: Arguments) -> Bool {
    guard accepts(count: values.count) else { return false }
    for index in 0..<values.count where !allParameters[min(index, allParameters.count - 1)].isKind(of: values[index]) {
      return false
    }
    return true
  }
}

extension ValueType {
  /// An example value of each kind that the type allows; nil if it allows any kind.
  var examples: [Value]? {
    switch self {
    case .null: [.null]
    case .bool: [.bool(true)]
    case .int: [.int(1)]
    case .uint: [.uint(1)]
    case .double: [.double(1)]
    case .string, .choice: [.string("a")]
    case .bytes: [.bytes([])]
    case .timestamp: [.timestamp(.earliest)]
    case .duration: [.duration(.zero)]
    case .list: [.list([])]
    case .map, .object: [.map(ValueMap())]
    case .optional: [Value(.optional(nil))]
    case .type: [Value(.type("int"))]
    case .wrapper(let wrapped): wrapped.examples.map { [.null] + $0 }
    case .opaque(ValueType.mixedName, let parts):
      parts.contains { $0.examples == nil } ? nil : parts.flatMap { $0.examples ?? [] }
    default: nil
    }
  }

  /// Whether the value has this type's kind; only the first item of a list is checked.
  func isKind(of value: Value) -> Bool {
    switch (self, value.content) {
    case (.dyn, _), (.parameter, _): true
    case (.list(let element), .list(let items)): items.first.map { element.isKind(of: $0) } ?? true
    case (.null, .null), (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double), (.string, .string),
      (.choice, .string), (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration),
      (.map, .map), (.object, .map), (.optional, .optional), (.type, .type), (.wrapper, .null):
      true
    case (.opaque(ValueType.mixedName, let parts), _): parts.contains { $0.isKind(of: value) }
    case (.wrapper(let wrapped), _), (.secret(let wrapped), _): wrapped.isKind(of: value)
    default: false
    }
  }
}

/// `optional.or(other)` and `optional.orValue(value)`: the argument is evaluated only if the optional is empty.
final class OptionalElseNode: Node {
  let range: Range<Int>
  let operand: any Node
  let other: any Node
  let unwraps: Bool

  init(_ operand: any Node, _ other: any Node, unwraps: Bool, _ range: Range<Int>) {
    self.operand = operand
    self.other = other
    self.unwraps = unwraps
    self.range = range
  }

  func evaluate(_ context: inout EvaluationContext) throws(EvaluationError) -> Value {
    let value = try operand.evaluate(&context)
    guard case .optional(let wrapped) = value.content else {
      throw mismatch(value, "an optional", operand.range)
    }
    guard let wrapped else { return try other.evaluate(&context) }
    return unwraps ? wrapped : value
  }
}

/// `matches` with a constant pattern, compiled once.
final class MatchesNode: BoolNode {
  let range: Range<Int>
  let text: any Node
  let pattern: Pattern

  init(_ text: any Node, _ pattern: Pattern, _ range: Range<Int>) {
    self.text = text
    self.pattern = pattern
    self.range = range
  }

  func bool(_ context: inout EvaluationContext) throws(EvaluationError) -> Bool {
    let value = try text.evaluate(&context)
    guard case .string(let text) = value.content else { throw mismatch(value, "a string", self.text.range) }
    try context.charge(steps: 1 + text.utf8.count >> 6)
    return pattern.matches(text)
  }
}
