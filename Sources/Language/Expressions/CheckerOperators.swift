import Basics

// Operators, and suggestions for operands that don't fit.

extension Checker {
  mutating func checkNegate(_ operand: Syntax, _ syntax: Syntax) -> Result {
    let inner = check(operand)
    let (type, isSecret) = unsealed(inner.type)
    let node = NegateNode(inner.node, syntax.range)
    switch type {
    case .int, .double, .dyn, .parameter: break
    case .wrapper(.int) where !isSound, .wrapper(.double) where !isSound: break
    case .uint:
      return faulty(
        "a uint has no negative" + suggestion("-int(\(source(operand)))", for: syntax, isCertain: true), syntax.range)
    case .bool:
      let fix = suggestion("!\(enclosed(operand))", for: syntax)
      return faulty("`-` takes an int or a double, and this is a bool\(fix)", syntax.range)
    default: return faulty("`-` takes an int or a double, and this is \(show(type))", syntax.range)
    }
    return sealed(folded(Result(node, type), of: [inner.node]), if: isSecret)
  }

  mutating func checkBinary(_ symbol: BinaryOperator, _ left: Syntax, _ right: Syntax, _ syntax: Syntax) -> Result {
    var one = check(left)
    var other = check(right)
    let (leftType, leftSecret) = disclosed(one.type)
    let (rightType, rightSecret) = disclosed(other.type)
    var types = (inference.resolved(leftType), inference.resolved(rightType))
    if let wide = widened(one, left, types, other, right, of: symbol) {
      (one, other) = wide
      types = (inference.resolved(disclosed(one.type).type), inference.resolved(disclosed(other.type).type))
    }
    let result: Result
    switch symbol {
    case .add, .subtract, .multiply, .divide, .remainder:
      result = checkArithmetic(symbol, (one.node, left, types.0), (other.node, right, types.1), syntax)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      result = checkOrder(symbol, (one.node, left, types.0), (other.node, right, types.1), syntax)
    case .equal, .notEqual:
      result = checkEquality(symbol, (one.node, left, types.0), (other.node, right, types.1), syntax)
    case .membership:
      result = checkMembership((one.node, left, types.0), (other.node, right, types.1), syntax)
    }
    return sealed(folded(result, of: [one.node, other.node]), if: leftSecret || rightSecret)
  }

  typealias Operand = (node: any Node, syntax: Syntax, type: ValueType)

  /// The type as plain CEL treats it, without wrappers, choices and type parameters.
  private func plain(_ type: ValueType) -> ValueType {
    switch type {
    case .wrapper(let wrapped) where !isSound: inference.resolved(wrapped)
    case .choice: .string
    case .parameter: .dyn
    default: type
    }
  }

  private mutating func checkArithmetic(
    _ symbol: BinaryOperator, _ left: Operand, _ right: Operand, _ syntax: Syntax
  ) -> Result {
    let types = (plain(left.type), plain(right.type))
    if case (.int, .int) = types, case .int = left.type, case .int = right.type {
      if isSound, symbol == .divide || symbol == .remainder, (right.node as? LiteralNode)?.value.int == 0,
        !(left.node is LiteralNode)
      {
        fault("`\(source(left.syntax))` cannot be divided by zero", syntax.range)
      }
      return Result(IntArithmeticNode(symbol, left.node, right.node, syntax.range), .int)
    }
    let node = ArithmeticNode(symbol, left.node, right.node, syntax.range)
    let type: ValueType? =
      switch (symbol, types.0, types.1) {
      case (_, .dyn, .dyn): .dyn
      case (_, .int, .int), (_, .int, .dyn), (_, .dyn, .int): .int
      case (_, .uint, .uint), (_, .uint, .dyn), (_, .dyn, .uint): .uint
      case (.remainder, .double, _), (.remainder, _, .double): nil
      case (_, .double, .double), (_, .double, .dyn), (_, .dyn, .double): .double
      case (.add, .string, .string), (.add, .string, .dyn), (.add, .dyn, .string): .string
      case (.add, .bytes, .bytes), (.add, .bytes, .dyn), (.add, .dyn, .bytes): .bytes
      case (.add, .list(let one), .list(let other)): inference.join(one, other).map { .list($0) }
      case (.add, .list, .dyn): .list(.dyn)
      case (.add, .dyn, .list): .list(.dyn)
      case (.add, .timestamp, .duration), (.add, .duration, .timestamp), (.add, .timestamp, .dyn),
        (.add, .dyn, .timestamp), (.subtract, .timestamp, .duration):
        .timestamp
      case (.add, .duration, .duration), (.subtract, .duration, .duration), (.subtract, .timestamp, .timestamp),
        (.subtract, .dyn, .timestamp), (.subtract, .duration, .dyn):
        .duration
      case (.add, .duration, .dyn), (.add, .dyn, .duration), (.subtract, .dyn, .duration),
        (.subtract, .timestamp, .dyn):
        .dyn
      default: nil
      }
    guard let type else {
      return faulty(arithmeticMessage(symbol, left, right, types, syntax), syntax.range, type: likelyType(types))
    }
    return Result(node, isChecked ? type : .dyn)
  }

  /// The type that the author probably wanted, so that the expression around it is checked too.
  private func likelyType(_ types: (ValueType, ValueType)) -> ValueType {
    switch types {
    case (.double, .int), (.int, .double), (.double, .uint), (.uint, .double): .double
    case (.string, _), (_, .string): .string
    default: .dyn
    }
  }

  private func arithmeticMessage(
    _ symbol: BinaryOperator, _ left: Operand, _ right: Operand, _ types: (ValueType, ValueType), _ syntax: Syntax
  ) -> MessageText {
    let head: MessageText = "`\(symbol.rawValue)` does not take \(show(left.type)) and \(show(right.type))"
    let hint = conversionHint(left.type, left.syntax, right.type, right.syntax, in: syntax, joinedBy: symbol)
    if !hint.isEmpty { return head + hint }
    switch (symbol, types.0, types.1) {
    case (.remainder, .double, _), (.remainder, _, .double):
      func whole(_ type: ValueType, _ syntax: Syntax) -> String {
        if case .int = type { return source(syntax) }
        return "int(\(source(syntax)))"
      }
      // The conversion loses the decimals.
      let fix = suggestion("\(whole(types.0, left.syntax)) % \(whole(types.1, right.syntax))", for: syntax)
      return "`%` takes ints\(fix)"
    case (.remainder, .string, _):
      return head + suggestion("\(enclosed(left.syntax)).format([\(source(right.syntax))])", for: syntax)
    case (.multiply, .duration, _), (.multiply, _, .duration), (.divide, .duration, _):
      return "a duration is not multiplied or divided; write its length out, as in duration('90m')"
    case (.subtract, .string, .string): return "`-` does not take texts; remove a part with replace(part, '')"
    case (.add, .timestamp, .int), (.add, .timestamp, .double), (.subtract, .timestamp, .int),
      (.subtract, .timestamp, .double), (.add, .duration, .int), (.subtract, .duration, .int):
      return head + "; a length of time is written duration('24h')"
    case (.add, .timestamp, .timestamp): return "two timestamps are not added; `-` gives the time between them"
    case (.add, .timestamp, .string) where isLength(right.syntax), (.subtract, .timestamp, .string),
      (.add, .duration, .string), (.subtract, .duration, .string):
      return head
        + suggestion(
          "\(source(left.syntax)) \(symbol.rawValue) duration(\(source(right.syntax)))", for: syntax,
          isCertain: isLength(right.syntax))
    case (.add, .timestamp, .string):
      return head
        + suggestion(
          "string(\(source(left.syntax))) + \(source(right.syntax))", for: syntax,
          isCertain: isSurelyText(right.syntax))
    case (.add, .list, _):
      let fix = suggestion(
        "\(source(left.syntax)) + [\(source(right.syntax))]", for: syntax, "; one item is added as a list:",
        isCertain: true)
      return head + fix
    case (.add, .map, _), (.add, .object, _): return "maps are not added"
    default: break
    }
    return head + unwrapped(left, right, types, in: syntax)
  }

  /// Suggests how to read an optional together with the other operand; if neither or both are optional, explains how
  /// the types differ.
  private func unwrapped(
    _ left: Operand, _ right: Operand, _ types: (ValueType, ValueType), in syntax: Syntax
  ) -> MessageText {
    switch types {
    case (.optional, .optional): difference(types.0, types.1)
    case (.optional, _): suggestion("\(enclosed(left.syntax)).orValue(…)", for: left.syntax, in: syntax)
    case (_, .optional): suggestion("\(enclosed(right.syntax)).orValue(…)", for: right.syntax, in: syntax)
    default: difference(types.0, types.1)
    }
  }

  /// Whether a string literal begins like a duration.
  private func isLength(_ syntax: Syntax) -> Bool {
    guard case .literal(let value) = syntax.kind, let first = value.string?.utf8.first else { return false }
    return ASCII.digits.contains(first)
  }

  /// A clause that suggests how to convert one of two values so that they fit, beginning with a semicolon; empty if no
  /// conversion works.
  func conversionHint(
    _ leftType: ValueType, _ left: Syntax, _ rightType: ValueType, _ right: Syntax, in syntax: Syntax,
    joinedBy symbol: BinaryOperator? = nil
  ) -> MessageText {
    func rewrite(_ one: String, _ other: String) -> MessageText {
      // A division of ints has lost the decimals before its result becomes a double.
      let isCertain = one == source(left) ? !isOperation(right) : !isOperation(left)
      if let symbol { return suggestion("\(one) \(symbol.rawValue) \(other)", for: syntax, isCertain: isCertain) }
      return one == source(left)
        ? suggestion(other, for: right, in: syntax, isCertain: isCertain)
        : suggestion(one, for: left, in: syntax, isCertain: isCertain)
    }
    func converted(_ syntax: Syntax, to type: String) -> String {
      if case .literal(let value) = syntax.kind, case .int(let number) = value.content {
        if type == "double" { return "\(number).0" }
        if type == "uint", number >= 0 { return "\(number)u" }
        if type == "string" { return "'\(number)'" }
      }
      if case .literal(let value) = syntax.kind, case .uint(let number) = value.content, type == "int" {
        return "\(number)"
      }
      return "\(type)(\(source(syntax)))"
    }
    switch (plain(inference.resolved(leftType)), plain(inference.resolved(rightType))) {
    case (.int, .double), (.uint, .double):
      return symbol == .remainder ? "" : rewrite(converted(left, to: "double"), source(right))
    case (.double, .int), (.double, .uint):
      return symbol == .remainder ? "" : rewrite(source(left), converted(right, to: "double"))
    case (.int, .uint):
      if case .literal = left.kind { return rewrite(converted(left, to: "uint"), source(right)) }
      return rewrite(source(left), converted(right, to: "int"))
    case (.uint, .int):
      if case .literal = right.kind { return rewrite(source(left), converted(right, to: "uint")) }
      return rewrite(converted(left, to: "int"), source(right))
    case (.string, .int), (.string, .uint), (.string, .double), (.string, .bool):
      // A string that is compared with a number is probably a number that was read as a string.
      if symbol == .add || symbol == nil {
        return rewrite(source(left), converted(right, to: "string"))
          .tentative(if: symbol == nil || !isSurelyText(left))
      }
      return comparisonOfText(left, rightType, source(right), isLeft: true, in: syntax, symbol)
    case (.int, .string), (.uint, .string), (.double, .string), (.bool, .string):
      if symbol == .add || symbol == nil {
        return rewrite(converted(left, to: "string"), source(right))
          .tentative(if: symbol == nil || !isSurelyText(right))
      }
      return comparisonOfText(right, leftType, source(left), isLeft: false, in: syntax, symbol)
    default: return ""
    }
  }

  /// Whether a part is a string that can't be meant as a number or a date, or is joined with one.
  private func isSurelyText(_ syntax: Syntax) -> Bool {
    switch syntax.kind {
    case .literal(let value): value.string.map { $0.unicodeScalars.contains { $0.properties.isAlphabetic } } ?? false
    case .binary(.add, let left, let right): isSurelyText(left) || isSurelyText(right)
    default: false
    }
  }

  private func comparisonOfText(
    _ text: Syntax, _ type: ValueType, _ other: String, isLeft: Bool, in syntax: Syntax,
    _ symbol: BinaryOperator?
  ) -> MessageText {
    guard let symbol else { return "" }
    // A comparison of two strings never fails.
    if symbol == .equal || symbol == .notEqual, isLiteralNumber(other) {
      return suggestion(
        isLeft
          ? "\(source(text)) \(symbol.rawValue) '\(other)'" : "'\(other)' \(symbol.rawValue) \(source(text))",
        for: syntax, isCertain: true)
    }
    var read = "\(inference.finished(type))(\(source(text)))"
    var isRead = true
    if case .literal(let value) = text.kind, let string = value.string {
      guard Double(string) != nil || string == "true" || string == "false" else { return "" }
      (read, isRead) = (string, false)
    }
    // The string may not be a number, or may have decimals.
    return suggestion(
      isLeft ? "\(read) \(symbol.rawValue) \(other)" : "\(other) \(symbol.rawValue) \(read)", for: syntax,
      isCertain: !isRead)
  }

  private func isLiteralNumber(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { ASCII.digits.contains($0) || $0 == ASCII.dot }
  }

  private mutating func checkOrder(
    _ symbol: BinaryOperator, _ left: Operand, _ right: Operand, _ syntax: Syntax
  ) -> Result {
    if case .int = left.type, case .int = right.type {
      return Result(IntComparisonNode(symbol, left.node, right.node, syntax.range), .bool)
    }
    let node = OrderNode(symbol, left.node, right.node, syntax.range)
    switch (plain(left.type), plain(right.type)) {
    case (.int, .int), (.uint, .uint), (.double, .double), (.string, .string), (.bytes, .bytes), (.bool, .bool),
      (.timestamp, .timestamp), (.duration, .duration), (.dyn, .dyn):
      break
    case (.dyn, let type), (let type, .dyn):
      switch type {
      case .int, .uint, .double, .string, .bytes, .bool, .timestamp, .duration: break
      default: return faulty("\(show(type)) has no order", syntax.range, type: .bool)
      }
    case (let one, let other):
      return faulty(comparisonMessage(symbol, left, right, one, other, syntax), syntax.range, type: .bool)
    }
    return Result(node, .bool)
  }

  private func comparisonMessage(
    _ symbol: BinaryOperator, _ left: Operand, _ right: Operand, _ one: ValueType, _ other: ValueType, _ syntax: Syntax
  ) -> MessageText {
    let head: MessageText = "`\(symbol.rawValue)` does not compare \(show(left.type)) with \(show(right.type))"
    let hint = conversionHint(left.type, left.syntax, right.type, right.syntax, in: syntax, joinedBy: symbol)
    if !hint.isEmpty { return head + hint }
    let (first, second) = (source(left.syntax), source(right.syntax))
    func suggest(_ one: String, _ other: String, isCertain: Bool) -> MessageText {
      head + suggestion("\(one) \(symbol.rawValue) \(other)", for: syntax, isCertain: isCertain)
    }
    // Only the author knows the format of a string that isn't a literal.
    func isTime(_ operand: Operand) -> Bool {
      if case .literal = operand.syntax.kind { !isDate(operand.syntax) } else { false }
    }
    switch (one, other) {
    case (.list, .int), (.map, .int):
      return suggest("size(\(first))", second, isCertain: symbol != .equal && symbol != .notEqual)
    case (.bool, _) where symbol != .equal && symbol != .notEqual:
      guard case .binary(let before, let one, let other) = left.syntax.kind else { return head }
      let (low, middle) = (source(one), source(other))
      return "comparisons do not chain"
        + suggestion(
          "\(low) \(before.rawValue) \(middle) && \(middle) \(symbol.rawValue) \(second)", for: syntax,
          isCertain: true)
    case (.timestamp, .string): return suggest(first, timestamp(right.syntax), isCertain: isTime(right))
    case (.string, .timestamp): return suggest(timestamp(left.syntax), second, isCertain: isTime(left))
    case (.duration, .string): return suggest(first, "duration(\(second))", isCertain: isLength(right.syntax))
    case (.duration, .int), (.duration, .double):
      return head + "; a length of time is written duration('90m')"
    case (.int, .type), (.string, .type), (.double, .type), (.bool, .type), (.list, .type), (.map, .type):
      return suggest("type(\(first))", second, isCertain: true)
    case (.type, .string):
      guard case .literal(let value) = right.syntax.kind, let name = value.string else { return head }
      return suggest(first, name, isCertain: true)
    default: return head + unwrapped(left, right, (one, other), in: syntax)
    }
  }

  /// A clause that names the field in which two types differ that look alike in messages, beginning with a semicolon;
  /// empty if they don't.
  func difference(_ one: ValueType, _ other: ValueType) -> MessageText {
    let types = (inference.finished(one), inference.finished(other))
    guard show(types.0) == show(types.1), let (path, left, right) = difference(types, at: "") else { return "" }
    return "; they differ in `\(path)`, which is \(left) in one and \(right) in the other"
  }

  private func difference(
    _ types: (ValueType, ValueType), at path: String
  ) -> (path: String, left: String, right: String)? {
    switch types {
    case (.list(let one), .list(let other)), (.optional(let one), .optional(let other)),
      (.wrapper(let one), .wrapper(let other)), (.map(_, let one), .map(_, let other)),
      (.secret(let one), .secret(let other)):
      return difference((one, other), at: path)
    case (.object(let one), .object(let other)):
      for field in one.fields {
        let name = path.isEmpty ? field.name : "\(path).\(field.name)"
        guard let second = other[field.name] else { return (name, show(field.type), "missing") }
        if let found = difference((field.type, second.type), at: name) { return found }
      }
      return other.fields.first { one[$0.name] == nil }.map {
        (path.isEmpty ? $0.name : "\(path).\($0.name)", "missing", show($0.type))
      }
    default:
      return path.isEmpty || types.0 == types.1 ? nil : (path, show(types.0), show(types.1))
    }
  }

  /// The timestamp that a string is meant as; for a date alone, its first second.
  func timestamp(_ syntax: Syntax) -> String {
    if isDate(syntax), case .literal(let value) = syntax.kind { return "timestamp('\(value.string ?? "")T00:00:00Z')" }
    return "timestamp(\(source(syntax)))"
  }

  /// Whether a string literal is a date.
  ///
  /// Only its author knows the time zone that it is meant in.
  func isDate(_ syntax: Syntax) -> Bool {
    guard case .literal(let value) = syntax.kind, let text = value.string else { return false }
    return text.utf8.count == 10 && Timestamp("\(text)T00:00:00Z") != nil
  }

  private mutating func checkEquality(
    _ symbol: BinaryOperator, _ left: Operand, _ right: Operand, _ syntax: Syntax
  ) -> Result {
    checkChoice(left, right)
    checkChoice(right, left)
    if case .int = left.type, case .int = right.type {
      return Result(IntComparisonNode(symbol, left.node, right.node, syntax.range), .bool)
    }
    let node = EqualityNode(
      known(left.node, .whole), known(right.node, .whole), isNegated: symbol == .notEqual, syntax.range)
    if areComparable(left.type, right.type) { return Result(node, .bool) }
    if case .null = left.type { return faulty(neverNull(right, symbol, syntax), syntax.range, type: .bool) }
    if case .null = right.type { return faulty(neverNull(left, symbol, syntax), syntax.range, type: .bool) }
    let message = comparisonMessage(symbol, left, right, plain(left.type), plain(right.type), syntax)
    return faulty(message, syntax.range, type: .bool)
  }

  private mutating func areComparable(_ left: ValueType, _ right: ValueType) -> Bool {
    if inference.accepts(left, right) || inference.accepts(right, left) { return true }
    if left.mixedParts != nil || right.mixedParts != nil { return true }
    switch (left, right) {
    case (.object, .object), (.choice, .choice), (.wrapper, .null), (.null, .wrapper): return true
    case (.wrapper(let wrapped), let other), (let other, .wrapper(let wrapped)):
      return areComparable(inference.resolved(wrapped), other)
    case (.object, .map(let key, _)), (.map(let key, _), .object): return inference.accepts(key, .string)
    case (.list(let one), .list(let other)): return areComparable(inference.resolved(one), inference.resolved(other))
    default: return false
    }
  }

  private func neverNull(_ operand: Operand, _ symbol: BinaryOperator, _ syntax: Syntax) -> MessageText {
    let text = enclosed(operand.syntax)
    let not = symbol == .equal ? "!" : ""
    if case .optional = operand.type {
      return "an optional is not null" + suggestion("\(not)\(text).hasValue()", for: syntax, isCertain: true)
    }
    let head: MessageText = "`\(text)` is \(show(operand.type)) and never null"
    guard case .select(_, _, isOptional: false) = operand.syntax.kind else { return head }
    return head + suggestion("\(not)has(\(text))", for: syntax, "; whether it is there is asked with", isCertain: true)
  }

  /// Requires a string that is compared with a choice to be one of its options.
  private mutating func checkChoice(_ choice: Operand, _ literal: Operand) {
    guard case .choice(let options) = choice.type else { return }
    func look(_ value: Value, _ range: Range<Int>) {
      guard let text = value.string, !options.contains(where: { $0.hasSameScalars(as: text) }) else { return }
      let near = text.nearest(among: options).map { guess(of: $0, by: text, among: options, for: range) }
      let list: MessageText = options.count > 8 ? "" : "; it is \(ValueType.choice(options))"
      fault("`\(source(choice.syntax))` is never '\(text)'\(near ?? list)", range)
    }
    switch literal.syntax.kind {
    case .literal(let value): look(value, literal.syntax.range)
    case .list(let elements):
      for element in elements {
        if case .literal(let value) = element.value.kind { look(value, element.value.range) }
      }
    default: break
    }
  }

  private mutating func checkMembership(_ item: Operand, _ container: Operand, _ syntax: Syntax) -> Result {
    checkChoice(item, container)
    if case .list(let element) = container.type {
      checkChoice((container.node, container.syntax, inference.resolved(element)), item)
    }
    let isObject = if case .object = container.type { isSound } else { false }
    let node = MembershipNode(
      known(item.node, .whole), known(container.node, .whole), isNullAbsent: isObject, syntax.range)
    switch plain(container.type) {
    case .dyn: return Result(node, .bool)
    case .list(let element):
      if areComparable(inference.resolved(element), item.type) { return Result(node, .bool) }
      let hint = membershipHint(item, inference.resolved(element), syntax)
      return faulty(
        "`in` looks for \(show(item.type)) in a list of \(inference.finished(element))s\(hint)", syntax.range,
        type: .bool)
    case .map(let key, _):
      if inference.accepts(key, item.type) { return Result(node, .bool) }
      return faulty(
        "`in` looks for \(show(item.type)) among keys that are \(inference.finished(key))s", syntax.range, type: .bool)
    case .object:
      if inference.accepts(.string, item.type) { return Result(node, .bool) }
      return faulty("`in` looks for \(show(item.type)) among the names of fields", syntax.range, type: .bool)
    case .string:
      return faulty(
        "`in` looks into a list or the keys of a map"
          + suggestion("\(enclosed(container.syntax)).contains(\(source(item.syntax)))", for: syntax, isCertain: true),
        syntax.range, type: .bool)
    case .optional:
      return faulty(
        "`in` looks into a list or the keys of a map, and this is \(show(container.type))"
          + suggestion("\(enclosed(container.syntax)).orValue(…)", for: container.syntax, in: syntax),
        container.syntax.range, type: .bool)
    case let type:
      return faulty(
        "`in` looks into a list or the keys of a map, and this is \(show(type))", container.syntax.range, type: .bool)
    }
  }

  private func membershipHint(_ item: Operand, _ element: ValueType, _ syntax: Syntax) -> MessageText {
    let function: String
    switch (item.type, element) {
    case (.int, .string), (.uint, .string), (.double, .string): function = "string"
    case (.string, .int): function = "int"
    case (.int, .double): function = "double"
    default: return ""
    }
    return suggestion(
      "\(function)(\(source(item.syntax)))", for: item.syntax, in: syntax,
      isCertain: function == "string" || function == "double" && !isOperation(item.syntax))
  }

  // MARK: Constants

  /// The result computed now if all operands are constant, so that an operation that always fails is a fault.
  mutating func folded(_ result: Result, of operands: [any Node]) -> Result {
    guard isSound, operands.allSatisfy({ $0 is LiteralNode }), !(result.node is FailureNode) else { return result }
    var context = EvaluationContext(slots: [], limits: EvaluationLimits(steps: 1000, bytes: 4096))
    do throws(EvaluationError) {
      var folded = result
      folded.node = LiteralNode(try result.node.evaluate(&context), result.node.range)
      return folded
    } catch {
      if !error.isLimit { fault(MessageText(error.message), error.range ?? result.node.range) }
      return result
    }
  }
}
