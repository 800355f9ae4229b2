package import Basics

/// Infers the type of every part of an expression, finds all faults, and builds the nodes that run it, in one walk.
///
/// Presence is tracked as facts: the paths known to be present at the part being checked. `has(a.b)` adds a fact for
/// the parts that are evaluated only if it is true: the rest of an `&&`, the branch of a `?:`, the value of a filtered
/// loop. Its negation adds the fact for the rest of an `||` and the other branch. Items of a list that is filtered by
/// `has(x.f)` have a type with `f` present, so the fact stays with the list wherever it is used.
///
/// A value computed from a secret is secret too, including the result of a comparison and a size, since they would
/// reveal the secret bit by bit. The presence of a field that holds a secret isn't secret.
///
/// A faulty part gets the type `dyn`, so that one mistake isn't reported twice.
struct Checker {
  struct Result {
    var node: any Node
    var type: ValueType
    var whenTrue: Facts = []
    var whenFalse: Facts = []
    /// Whether only data can make an optional empty, for example an item of a list.
    var isLookup = false
    /// The types of the items of a list literal.
    var items: [ValueType]?

    init(_ node: any Node, _ type: ValueType) {
      self.node = node
      self.type = type
    }
  }

  struct Local {
    let name: String
    let slot: Int
    let type: ValueType
    /// The value, if the variable is one of `cel.bind`, which computes it when it is first read.
    let value: (any Node)?
  }

  let text: [UInt8]
  /// The whole expression.
  let range: Range<Int>
  let scope: ExpressionScope
  var inference: Inference
  var faults: [ExpressionFault] = []
  /// The part that was last reported because it may be absent.
  var absent: Range<Int>?
  /// The longest chain of fields and items around the part being checked: `a.b[0].c` around `a.b`.
  var chain: Range<Int>?
  /// Whether this checks a suggestion of another checker, and makes no suggestions itself.
  var isTrial = false
  /// Records the parts as they are checked, for editors.
  var inspector: Inspector?
  var locals: [Local] = []
  var facts: Facts
  var slotCount: Int
  var references: [CompiledExpression.Reference] = []

  var isSound: Bool { scope.rules == .sound }
  var isChecked: Bool { scope.rules != .unchecked }

  init(_ text: [UInt8], _ range: Range<Int>, _ scope: ExpressionScope) {
    self.text = text
    self.range = range
    self.scope = scope
    inference = Inference(isSound: scope.rules == .sound)
    facts = scope.facts
    slotCount = scope.slotCount
  }

  /// The compiled expression, with its type unless the faults leave that in doubt.
  mutating func program(
    _ syntax: Syntax, expecting: ValueType?, takesOptional: Bool = true, leavesOutAbsent: Bool = false
  ) -> (CompiledExpression, ValueType?) {
    var result = check(syntax)
    result.type = inference.resolved(result.type)
    if let expecting {
      if leavesOutAbsent, let held = inference.applied(result.type).heldIfPresent {
        var inner = Result(result.node, held)
        expect(expecting, &inner, syntax)
      } else {
        expect(expecting, &result, syntax)
      }
    }
    if !takesOptional, !leavesOutAbsent, case .optional = unsealed(result.type).type {
      fault(
        "a value is needed here, but this is \(show(result.type))"
          + suggestion("\(enclosed(syntax)).orValue(…)", for: syntax), syntax.range)
    }
    let type = inference.finished(result.type)
    let isLocal = { (path: Path) in path.local != nil }
    let program = CompiledExpression(
      type: type, root: result.node, slotCount: slotCount, references: references,
      factsWhenTrue: result.whenTrue.filter { !isLocal($0) }, factsWhenFalse: result.whenFalse.filter { !isLocal($0) },
      range: range)
    return (program, type == .dyn && !faults.isEmpty ? nil : type)
  }

  // MARK: Faults

  mutating func fault(_ message: MessageText, _ range: Range<Int>) {
    faults.append(ExpressionFault(message, at: range))
  }

  /// Records a fault, or leaves the error to evaluation where nothing is checked.
  mutating func faulty(_ message: MessageText, _ range: Range<Int>, type: ValueType = .dyn) -> Result {
    if isChecked { fault(message, range) }
    return Result(FailureNode(message.text, range), type)
  }

  /// The text of a part, for a message that shows how to write it.
  func source(_ syntax: Syntax) -> String { source(syntax.range) }

  func source(_ range: Range<Int>) -> String {
    let text = String(decoding: text[range], as: UTF8.self)
    return text.utf8.count > 60 ? "…" : text
  }

  /// A type as messages show it.
  func show(_ type: ValueType) -> String {
    switch inference.finished(type) {
    case .null: "null"
    case .wrapper(let wrapped): "\(article(wrapped)) or null"
    case .optional(let wrapped):
      if case .optional = wrapped { "an optional of \(show(wrapped))" } else { "an optional \(wrapped)" }
    case .choice(let options) where options.count > 6: "a choice of \(options.count) texts"
    case .dyn: "anything"
    case .object: "an object"
    case let type where type.mixedParts != nil: (type.mixedParts ?? []).map(show).joined(separator: " or ")
    case .secret(let wrapped): "a secret \(wrapped)"
    case let type: article(type)
    }
  }

  private func article(_ type: ValueType) -> String {
    switch type {
    case .int, .object: "an \(type)"
    case .bytes, .choice: "\(type)"
    default: "a \(type)"
    }
  }

  // MARK: Parts

  /// Checks a part.
  ///
  /// As an operand, the part belongs to the chain around it: only a field or item of it is read, not the part as a
  /// whole.
  mutating func check(_ syntax: Syntax, asOperand: Bool = false) -> Result {
    let outer = chain
    if !asOperand { chain = syntax.range }
    var result = checked(syntax, asOperand: asOperand)
    chain = outer
    switch syntax.kind {
    case .name, .select, .index: result.node = known(result.node)
    default: break
    }
    inspector?.note(syntax, result.type, self)
    return result
  }

  private mutating func checked(_ syntax: Syntax, asOperand: Bool) -> Result {
    switch syntax.kind {
    case .invalid: return Result(FailureNode("unreadable", syntax.range), .dyn)
    case .literal(let value):
      return Result(LiteralNode(value, syntax.range), isChecked ? value.scalarType : .dyn)
    case .name(let name, let isRooted): return checkName(name, isRooted: isRooted, syntax, asOperand: asOperand)
    case .select(let operand, let name, let isOptional):
      return checkSelect(operand, name, isOptional: isOptional, syntax, asOperand: asOperand)
    case .has(let operand, let name): return checkHas(operand, name, syntax)
    case .index(let operand, let index, let isOptional):
      return checkIndex(operand, index, isOptional: isOptional, syntax, asOperand: asOperand)
    case .call(let name, let isRooted, let arguments):
      return checkCall(name, isRooted: isRooted, arguments, syntax)
    case .method(let receiver, let name, let arguments): return checkMethod(receiver, name, arguments, syntax)
    case .not(let operand): return checkNot(operand, syntax)
    case .negate(let operand): return checkNegate(operand, syntax)
    case .binary(let symbol, let left, let right): return checkBinary(symbol, left, right, syntax)
    case .and(let operands): return checkChain(operands, isAnd: true, syntax)
    case .or(let operands): return checkChain(operands, isAnd: false, syntax)
    case .conditional(let condition, let first, let second): return checkConditional(condition, first, second, syntax)
    case .list(let elements): return checkList(elements, syntax)
    case .map(let entries): return checkMap(entries, syntax)
    case .loop(let loop): return checkLoop(loop, syntax)
    case .bind(let name, let value, let body):
      let bound = check(value)
      let local = push(name, bound.type, value: bound.node)
      var result = check(body)
      locals.removeLast()
      result.node = BindNode(local.slot, bound.node, result.node, syntax.range)
      return result
    case .optionalMap(let operand, let name, let body, let isFlat):
      return checkOptionalMap(operand, name, body, isFlat: isFlat, syntax)
    }
  }

  /// The node with a guard against an unknown value, in a scope that may have unknowns.
  func known(_ node: any Node, _ extent: KnownNode.Extent = .itself) -> any Node {
    scope.mayMeetUnknowns && !(node is LiteralNode) ? KnownNode(node, extent) : node
  }

  /// Gives a variable of a loop or binding a slot of its own.
  mutating func push(_ name: String, _ type: ValueType, value: (any Node)? = nil) -> Local {
    let local = Local(name: name, slot: slotCount, type: type, value: value)
    slotCount += 1
    locals.append(local)
    return local
  }

  /// The type without its secrets, and whether it had any.
  func disclosed(_ type: ValueType) -> (type: ValueType, isSecret: Bool) {
    guard scope.hasSecrets else { return (type, false) }
    let applied = inference.applied(type)
    return applied.holdsSecret ? (applied.disclosed, true) : (type, false)
  }

  /// The type without its outermost secrets, and whether it had any.
  func unsealed(_ type: ValueType) -> (type: ValueType, isSecret: Bool) {
    var type = inference.resolved(type)
    var isSecret = false
    while case .secret(let of) = type {
      type = inference.resolved(of)
      isSecret = true
    }
    return (type, isSecret)
  }

  func sealed(_ result: Result, if isSecret: Bool) -> Result {
    guard isSecret else { return result }
    var result = result
    result.node = SecretNode(result.node)
    if case .secret = result.type {} else { result.type = .secret(result.type) }
    return result
  }

  /// Requires a bool, and suggests how to get one.
  ///
  /// - Parameter isSide: Whether it is a side of `&&` or `||`. In other languages these return one of their sides.
  mutating func expectBool(_ result: Result, _ syntax: Syntax, _ place: String, isSide: Bool = false) -> Bool {
    let (type, isSecret) = unsealed(result.type)
    switch type {
    case .bool, .dyn: break
    case .parameter: _ = inference.accepts(.bool, type)
    case .wrapper(.bool) where !isSound: break
    case .optional(.bool):
      let fix = suggestion("\(enclosed(syntax)).orValue(false)", for: syntax)
      fault("\(place) is a bool, and this is an optional one\(fix)", syntax.range)
    default:
      let text = enclosed(syntax)
      let fix: MessageText =
        switch type {
        case .string: suggestion("\(text) != ''", for: syntax, "; compare it, as in")
        case .choice(let options):
          suggestion("\(text) == '\(options.first ?? "")'", for: syntax, "; compare it, as in")
        case .list, .map: suggestion("size(\(text)) > 0", for: syntax)
        case .int: suggestion("\(text) != 0", for: syntax, "; compare it, as in")
        case .uint: suggestion("\(text) != 0u", for: syntax, "; compare it, as in")
        case .double: suggestion("\(text) != 0.0", for: syntax, "; compare it, as in")
        case .null: "; what may be null is compared with it, as in x == null"
        default: ""
        }
      fault("\(place) is a bool, and this is \(show(type))\(fix)", syntax.range)
    }
    return isSecret
  }

  // MARK: Logic

  private mutating func checkNot(_ operand: Syntax, _ syntax: Syntax) -> Result {
    let inner = check(operand)
    let isSecret = expectBool(inner, operand, "the operand of `!`")
    var result = Result(NotNode(inner.node, syntax.range), .bool)
    (result.whenTrue, result.whenFalse) = (inner.whenFalse, inner.whenTrue)
    return sealed(result, if: isSecret)
  }

  private mutating func checkChain(_ operands: [Syntax], isAnd: Bool, _ syntax: Syntax) -> Result {
    let saved = facts
    var nodes: [any Node] = []
    var isSecret = false
    // `kept` holds the facts that all operands establish together; `decided` holds the facts that are true whichever
    // operand decides the chain. An operand that fails may come before the deciding one, so the operands before it
    // establish nothing.
    var kept: Facts = []
    var decided: Facts?
    for operand in operands {
      let result = check(operand)
      if expectBool(result, operand, "each side of `\(isAnd ? "&&" : "||")`", isSide: true) { isSecret = true }
      nodes.append(result.node)
      let going = isAnd ? result.whenTrue : result.whenFalse
      let deciding = isAnd ? result.whenFalse : result.whenTrue
      decided = decided.map { $0.intersection(deciding) } ?? deciding
      kept.formUnion(going)
      facts.formUnion(going)
    }
    facts = saved
    var result = Result(isAnd ? LogicalNode.and(nodes, syntax.range) : LogicalNode.or(nodes, syntax.range), .bool)
    result.whenTrue = isAnd ? kept : decided ?? []
    result.whenFalse = isAnd ? decided ?? [] : kept
    return sealed(result, if: isSecret)
  }

  private mutating func checkConditional(
    _ condition: Syntax, _ first: Syntax, _ second: Syntax, _ syntax: Syntax
  ) -> Result {
    let test = check(condition)
    let isSecret = expectBool(test, condition, "the condition of `?`")
    let saved = facts
    facts.formUnion(test.whenTrue)
    var one = check(first)
    facts = saved.union(test.whenFalse)
    var other = check(second)
    facts = saved
    if let wide = widened(one, first, (inference.resolved(one.type), inference.resolved(other.type)), other, second) {
      (one, other) = wide
    }
    let node = ConditionalNode(test.node, one.node, other.node, syntax.range)
    guard let type = inference.join(one.type, other.type) else {
      var message: MessageText = "`? :` gives one type, and these are \(show(one.type)) and \(show(other.type))"
      let hint = conversionHint(one.type, first, other.type, second, in: syntax)
      message += hint.isEmpty ? difference(one.type, other.type) : hint
      return isChecked ? faulty(message, syntax.range) : Result(node, .dyn)
    }
    var result = Result(node, type)
    result.isLookup = one.isLookup && other.isLookup
    return sealed(result, if: isSecret)
  }

  // MARK: Collections

  private mutating func checkList(_ elements: [Syntax.Element], _ syntax: Syntax) -> Result {
    var nodes: [ListNode.Element] = []
    var constants: [Value]? = []
    var type: ValueType?
    var types: [ValueType] = []
    for element in elements {
      let result = check(element.value)
      nodes.append(ListNode.Element(node: result.node, isOptional: element.isOptional))
      if let literal = result.node as? LiteralNode, !element.isOptional {
        constants?.append(literal.value)
      } else {
        constants = nil
      }
      let item = element.isOptional ? wrapped(result, element.value) : result.type
      type = type.map { inference.join($0, item) ?? inference.mixed($0, item) } ?? item
      types.append(element.isOptional ? .dyn : item)
    }
    let node: any Node = constants.map { LiteralNode(.list($0), syntax.range) } ?? ListNode(nodes, syntax.range)
    guard isChecked else { return Result(node, .dyn) }
    var result = Result(node, bounded(.list(type ?? inference.variable()), syntax))
    result.items = types
    return result
  }

  /// The type inside an optional; an element or entry with `?` must be one.
  private mutating func wrapped(_ result: Result, _ syntax: Syntax) -> ValueType {
    let type = inference.resolved(result.type)
    if case .optional(let wrapped) = type { return wrapped }
    if type != .dyn { fault("`?` must be followed by an optional, but this is \(show(type))", syntax.range) }
    return .dyn
  }

  private mutating func checkMap(_ entries: [Syntax.Entry], _ syntax: Syntax) -> Result {
    var nodes: [MapNode.Entry] = []
    var fields: [ObjectType.Field]? = isSound && !entries.isEmpty ? [] : nil
    var constants: ValueMap? = ValueMap()
    var keyType: ValueType?
    var valueType: ValueType?
    for entry in entries {
      let key = check(entry.key)
      let value = check(entry.value)
      nodes.append(MapNode.Entry(key: key.node, value: value.node, isOptional: entry.isOptional))
      let type = entry.isOptional ? wrapped(value, entry.value) : value.type
      if isSound { checkKey(key.type, entry.key) }
      let name = (key.node as? LiteralNode)?.value
      if let text = name?.string {
        if fields?.contains(where: { $0.name.hasSameScalars(as: text) }) == true {
          fault("the key '\(text)' comes twice", entry.key.range)
        }
        fields?.append(ObjectType.Field(text, type, isOptional: entry.isOptional))
      } else {
        fields = nil
      }
      if isSound, let name, let constant = (value.node as? LiteralNode)?.value, !entry.isOptional {
        if constants?.insert(ValueMap.Member(key: name, value: constant)) != nil { constants = nil }
      } else {
        constants = nil
      }
      keyType = keyType.map { inference.join($0, key.type) ?? inference.mixed($0, key.type) } ?? key.type
      valueType = valueType.map { inference.join($0, type) ?? inference.mixed($0, type) } ?? type
    }
    let node: any Node = constants.map { LiteralNode(.map($0), syntax.range) } ?? MapNode(nodes, syntax.range)
    guard isChecked else { return Result(node, .dyn) }
    if let fields { return Result(node, bounded(.object(ObjectType(fields: fields)), syntax)) }
    return Result(node, bounded(.map(keyType ?? inference.variable(), valueType ?? inference.variable()), syntax))
  }

  /// Rejects a type that is too large to process.
  private mutating func bounded(_ type: ValueType, _ syntax: Syntax) -> ValueType {
    guard isSound, type.isTooLarge else { return type }
    fault("this has too many parts; make it in several steps", syntax.range)
    return .dyn
  }

  private mutating func checkKey(_ type: ValueType, _ syntax: Syntax) {
    switch unsealed(type).type {
    case .string, .choice, .int, .uint, .bool, .dyn, .parameter: break
    case let type: fault("keys of a map are strings, ints, uints or bools, and this is \(show(type))", syntax.range)
    }
  }

  private mutating func checkOptionalMap(
    _ operand: Syntax, _ name: String, _ body: Syntax, isFlat: Bool, _ syntax: Syntax
  ) -> Result {
    let receiver = check(operand)
    let (type, isSecret) = unsealed(receiver.type)
    let method = isFlat ? "optFlatMap" : "optMap"
    let item: ValueType
    switch type {
    case .optional(let wrapped): item = wrapped
    case .dyn, .parameter: item = .dyn
    default:
      _ = faulty("\(method)() belongs to optionals, as `a.?b` gives them, and this is \(show(type))", operand.range)
      item = .dyn
    }
    let local = push(name, isSecret ? .secret(item) : item)
    let result = check(body)
    locals.removeLast()
    let node = OptionalMapNode(receiver.node, local.slot, result.node, isFlat: isFlat, syntax.range)
    guard isFlat else {
      var mapped = Result(node, isChecked ? .optional(result.type) : .dyn)
      mapped.isLookup = receiver.isLookup
      return sealed(mapped, if: isSecret)
    }
    switch inference.resolved(result.type) {
    case .optional, .dyn, .parameter: break
    case let other:
      fault("optFlatMap() gives an optional, and this is \(show(other)); optMap() makes one of it", body.range)
    }
    var mapped = Result(node, result.type)
    mapped.isLookup = receiver.isLookup && result.isLookup
    return sealed(mapped, if: isSecret)
  }
}

extension ValueType {
  /// The type of the value inside an optional; nil for any other type.
  package var heldIfPresent: ValueType? {
    switch self {
    case .optional(let held): held
    case .secret(let of): of.heldIfPresent.map { .secret($0) }
    default: nil
    }
  }
}

extension Value {
  /// The type of a value that contains no other values; dyn for a list or map.
  package var scalarType: ValueType {
    switch content {
    case .bool: .bool
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .string: .string
    case .bytes: .bytes
    case .timestamp: .timestamp
    case .duration: .duration
    case .null: .null
    default: .dyn
    }
  }
}
