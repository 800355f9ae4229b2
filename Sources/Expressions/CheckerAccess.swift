import Basics

// Names, fields and items.

extension Checker {
  // MARK: Names

  /// The names of types, which are values.
  static let typeNames: [String: ValueType] = [
    "bool": .bool, "int": .int, "uint": .uint, "double": .double, "string": .string, "bytes": .bytes,
    "list": .list(.dyn), "map": .map(.dyn, .dyn), "null_type": .null, "type": .type(.dyn),
    "optional_type": .optional(.dyn), "google.protobuf.Timestamp": .timestamp,
    "google.protobuf.Duration": .duration,
  ]

  /// The innermost variable of a loop or binding that has the name.
  func local(_ name: String) -> Local? { locals.last { $0.name.hasSameScalars(as: name) } }

  /// The declared variable that a name stands for.
  private func declared(_ name: String, isRooted: Bool) -> (name: String, slot: Int)? {
    if scope.container.isEmpty || isRooted { return scope.slots[name].map { (name, $0) } }
    for candidate in scope.candidates(name) {
      if let slot = scope.slots[candidate] { return (candidate, slot) }
    }
    return nil
  }

  mutating func checkName(_ name: String, isRooted: Bool, _ syntax: Syntax, asOperand: Bool) -> Result {
    if !isRooted, let local = local(name) {
      let node: any Node =
        local.value.map { BoundNode(local.slot, $0, syntax.range) } ?? VariableNode(local.slot, syntax.range)
      return Result(node, asOperand ? local.type : narrowed(local.type, syntax))
    }
    if let (name, slot) = declared(name, isRooted: isRooted) {
      return variable(name, slot, syntax, asOperand: asOperand)
    }
    if let type = Checker.typeNames[name] { return typeName(name, type, syntax) }
    return faulty(unknownName(name), syntax.range)
  }

  private mutating func variable(_ name: String, _ slot: Int, _ syntax: Syntax, asOperand: Bool) -> Result {
    if !asOperand { refer(syntax) }
    let type = isChecked ? scope.types[slot] : .dyn
    return Result(VariableNode(slot, syntax.range), asOperand ? type : narrowed(type, syntax))
  }

  private func typeName(_ name: String, _ type: ValueType, _ syntax: Syntax) -> Result {
    Result(LiteralNode(Value(.type(name)), syntax.range), isChecked ? .type(type) : .dyn)
  }

  private func unknownName(_ name: String) -> String {
    if name == "now" { return "`now` is not available here" }
    if scope.functions.namespaces.contains(name) {
      return "`\(name)` holds functions, as in \(name).…(), and is no value"
    }
    if !scope.functions.functions(named: name).isEmpty {
      return "`\(name)` is a function and wants arguments: \(name)(…)"
    }
    if let truth = ["yes": "true", "on": "true", "no": "false", "off": "false", "nul": "null"][name] {
      return "there is no variable `\(name)`; write `\(truth)`"
    }
    if let near = name.nearest(among: locals.map(\.name) + scope.names) {
      return "there is no variable `\(name)`; did you mean `\(near)`?"
    }
    let known = scope.names.filter { !$0.utf8.contains(UInt8(ascii: ".")) }.sorted { $0.precedesByScalars($1) }
    let list = known.isEmpty || known.count > 12 ? "" : "; there are \(known.joined(separator: ", "))"
    return "there is no variable `\(name)`; a text stands in quotes: '\(name)'\(list)"
  }

  /// The dotted name that a chain of selections spells, unless it starts at a local variable.
  func qualifiedName(_ syntax: Syntax) -> (name: String, isRooted: Bool)? {
    switch syntax.kind {
    case .name(let name, let isRooted): return !isRooted && local(name) != nil ? nil : (name, isRooted)
    case .select(let operand, let name, isOptional: false):
      return qualifiedName(operand).map { ("\($0.name).\(name)", $0.isRooted) }
    default: return nil
    }
  }

  // MARK: Facts

  /// The path that a part reads, if it is a chain of fields and constant indexes from a variable.
  func path(_ syntax: Syntax) -> Path? {
    switch syntax.kind {
    case .name(let name, let isRooted):
      if !isRooted, let local = local(name) { return Path(root: name, local: local.slot, steps: []) }
      return declared(name, isRooted: isRooted).map { Path(root: $0.name, local: nil, steps: []) }
    case .select(let operand, let name, isOptional: false): return path(operand, .field(name))
    case .index(let operand, let index, isOptional: false):
      guard case .literal(let value) = index.kind else { return nil }
      switch value.content {
      case .string(let name): return path(operand, .field(name))
      case .int(let position): return path(operand, .index(position))
      default: return nil
      }
    default: return nil
    }
  }

  private func path(_ operand: Syntax, _ step: Path.Step) -> Path? {
    var path = path(operand)
    path?.steps.append(step)
    return path
  }

  /// The type of what a part reads, with the fields present in it that are known to be.
  func narrowed(_ type: ValueType, _ syntax: Syntax) -> ValueType {
    guard !facts.isEmpty, let path = path(syntax) else { return type }
    return having(facts, at: path, type)
  }

  /// The type with the fields present that the facts about the path name.
  func having(_ facts: Facts, at path: Path, _ type: ValueType) -> ValueType {
    var type = type
    for fact in facts
    where fact.local == path.local && fact.steps.count > path.steps.count && fact.root.hasSameScalars(as: path.root)
      && fact.steps.starts(with: path.steps)
    {
      var names: [String] = []
      for step in fact.steps[path.steps.count...] {
        guard case .field(let name) = step else { break }
        names.append(name)
      }
      if names.count == fact.steps.count - path.steps.count { type = type.having(names[...]) }
    }
    return type
  }

  /// Records that a declared variable is read, and which of its fields.
  private mutating func refer(_ syntax: Syntax, _ last: (name: String, mark: Range<Int>)? = nil) {
    guard let path = path(syntax), path.local == nil, let slot = scope.slots[path.root] else { return }
    var names: [String] = []
    for step in path.steps {
      guard case .field(let name) = step else { break }
      names.append(name)
    }
    if let last, names.count == path.steps.count { names.append(last.name) }
    let range = syntax.range.lowerBound..<max(syntax.range.upperBound, last?.mark.upperBound ?? 0)
    var reference = Program.Reference(slot: slot, name: path.root, path: names, range: range)
    reference.isSecret = scope.hasSecrets && Checker.holdsSecret(scope.types[slot], at: names[...])
    references.append(reference)
  }

  /// Whether what a chain of names leads to in a value of the type may hold a secret.
  private static func holdsSecret(_ type: ValueType, at names: ArraySlice<String>) -> Bool {
    guard type.holdsSecret, let name = names.first else { return type.holdsSecret }
    switch type {
    case .object(let object): return object[name].map { holdsSecret($0.type, at: names.dropFirst()) } ?? false
    case .optional(let wrapped), .wrapper(let wrapped): return holdsSecret(wrapped, at: names)
    default: return true
    }
  }

  // MARK: Fields

  mutating func checkSelect(
    _ operand: Syntax, _ name: String, isOptional: Bool, _ syntax: Syntax, asOperand: Bool
  ) -> Result {
    if let result = checkQualified(syntax, asOperand: asOperand) { return result }
    let base = check(operand, asOperand: true)
    if !asOperand || isOptional {
      if isOptional { refer(operand, (name, syntax.mark)) } else { refer(syntax) }
    }
    let (type, isSecret) = unsealed(base.type)
    var result: Result
    if isOptional {
      let found = field(name, of: type, syntax, isRead: false)
      let node = OptionalSelectNode(
        base.node, name, isNullAbsent: found.isNullAbsent, syntax.range, mark: syntax.mark)
      result = Result(node, isChecked ? optional(found.type) : .dyn)
    } else {
      let found = field(name, of: type, syntax, isRead: true)
      let node = SelectNode(base.node, name, syntax.range, mark: syntax.mark)
      result = Result(node, asOperand ? found.type : narrowed(found.type, syntax))
    }
    return sealed(result, if: isSecret || hasSecretKeys(type))
  }

  /// Whether what is found in a value tells of the keys of a map that are secret.
  private func hasSecretKeys(_ type: ValueType) -> Bool {
    switch type {
    case .map(let key, _): inference.holdsSecret(key)
    case .optional(let wrapped): hasSecretKeys(inference.resolved(wrapped))
    default: false
    }
  }

  /// A variable or type with dots in its name, which wins over the selection of a field.
  private mutating func checkQualified(_ syntax: Syntax, asOperand: Bool) -> Result? {
    guard scope.hasQualifiedNames || !scope.container.isEmpty || isGoogle(syntax) else { return nil }
    guard let (name, isRooted) = qualifiedName(syntax) else { return nil }
    if let (name, slot) = declared(name, isRooted: isRooted) {
      references.append(Program.Reference(slot: slot, name: name, path: [], range: syntax.range))
      return Result(VariableNode(slot, syntax.range), isChecked ? scope.types[slot] : .dyn)
    }
    return Checker.typeNames[name].map { typeName(name, $0, syntax) }
  }

  private func isGoogle(_ syntax: Syntax) -> Bool {
    guard case .select(let operand, _, _) = syntax.kind, case .select(let root, "protobuf", _) = operand.kind,
      case .name("google", _) = root.kind
    else { return false }
    return true
  }

  private func optional(_ type: ValueType) -> ValueType {
    if case .optional = type { return type }
    return .optional(type)
  }

  /// The type of a field, with what is wrong about reading it.
  private mutating func field(
    _ name: String, of type: ValueType, _ syntax: Syntax, isRead: Bool
  ) -> (type: ValueType, isNullAbsent: Bool) {
    switch inference.resolved(type) {
    case .dyn, .parameter: return (.dyn, false)
    case .optional(let wrapped):
      let found = field(name, of: wrapped, syntax, isRead: false)
      return (optional(found.type), found.isNullAbsent)
    case .secret(let of):
      let found = field(name, of: of, syntax, isRead: isRead)
      return (.secret(found.type), found.isNullAbsent)
    case .object(let object):
      guard let field = object[name] else {
        fault(unknownField(name, in: object), syntax.mark)
        return (.dyn, false)
      }
      if isRead, field.isOptional, isSound { requirePresence(name, syntax, syntax.mark) }
      return (field.type, isSound && field.isOptional)
    case .map(let key, let value):
      if isSound, !inference.accepts(key, .string) {
        fault("the keys of this map are \(key)s, so it has no field `\(name)`; write […]", syntax.mark)
      }
      return (value, false)
    case .wrapper(let wrapped) where !isSound: return field(name, of: wrapped, syntax, isRead: isRead)
    case let type:
      fault(noFields(name, type, syntax), syntax.mark)
      return (.dyn, false)
    }
  }

  /// Faults what may be absent, but once in a chain: what is read from it is not there either.
  private mutating func requirePresence(_ name: String, _ syntax: Syntax, _ mark: Range<Int>) {
    guard !isPresent(syntax) else { return }
    let isFollowing =
      absent.map { $0.lowerBound == syntax.range.lowerBound && $0.upperBound < syntax.range.upperBound } ?? false
    absent = syntax.range
    if !isFollowing { fault(mayBeAbsent(name, syntax), mark) }
  }

  private func isPresent(_ syntax: Syntax) -> Bool {
    guard !facts.isEmpty || !scope.presumed.isEmpty, let path = path(syntax) else { return false }
    return facts.contains(path) || scope.presumed.contains(path.owner)
  }

  private func unknownField(_ name: String, in object: ObjectType) -> String {
    let whole = object.name.isEmpty ? "there is no field `\(name)` here" : "\(object.name) has no field `\(name)`"
    if let why = scope.absences["\(object.name).\(name)"] { return "\(whole): \(why)" }
    if let near = name.nearest(among: object.fields.map(\.name)) { return "\(whole); did you mean `\(near)`?" }
    guard !object.fields.isEmpty else { return "\(whole); it has no fields" }
    let names = object.fields.prefix(12).map(\.name).joined(separator: ", ")
    return "\(whole); it has \(names)\(object.fields.count > 12 ? ", …" : "")"
  }

  private func mayBeAbsent(_ name: String, _ syntax: Syntax) -> String {
    let whole = source(syntax)
    guard case .select(let operand, _, _) = syntax.kind else {
      return "`\(name)` may be absent; ask with `has(…)` first"
    }
    let default_ = source(operand) + ".?" + name + ".orValue(…)"
    return "`\(name)` may be absent; ask first, as in `has(\(whole)) && …`, or write `\(default_)`"
  }

  /// The number that a text is.
  private func wholeNumber(_ syntax: Syntax) -> Int? {
    guard case .literal(let value) = syntax.kind else { return nil }
    return value.string.flatMap { Int($0) }
  }

  private func noFields(_ name: String, _ type: ValueType, _ syntax: Syntax) -> String {
    guard case .select(let operand, _, _) = syntax.kind else { return "\(show(type)) has no fields" }
    let text = source(operand)
    switch (type, name) {
    case (.list, "length"), (.list, "count"), (.list, "size"), (.string, "length"), (.string, "count"),
      (.string, "size"), (.bytes, "length"), (.bytes, "size"):
      return "write `size(\(text))` for `.\(name)`"
    case (.list, "empty"), (.list, "isEmpty"): return "write `size(\(text)) == 0` for `.\(name)`"
    case (.list, "first"), (.list, "last"):
      return "write `\(text)[\(name == "first" ? "0" : "size(\(text)) - 1")]` for `.\(name)`"
    case (.list, _):
      return "a list has no field `\(name)`; read one item, `\(text)[0].\(name)`, or all, `\(text).map(x, x.\(name))`"
    case (.wrapper, _):
      return "\(show(type)) has no fields; what may be null is compared with null first"
    case (.timestamp, _):
      return "a timestamp has no field `\(name)`; its parts are read with methods, as in `\(text).getFullYear()`"
    case (.duration, _):
      return "a duration has no field `\(name)`; its parts are read with methods, as in `\(text).getMinutes()`"
    default: return "\(show(type)) has no fields, so no `\(name)`"
    }
  }

  mutating func checkHas(_ operand: Syntax, _ name: String, _ syntax: Syntax) -> Result {
    let base = check(operand, asOperand: true)
    refer(operand, (name, syntax.mark))
    let (type, isSecret) = unsealed(base.type)
    let found = field(name, of: type, syntax, isRead: false)
    let holder = scope.mayMeetUnknowns ? DecidedFieldNode(base.node, name) : base.node
    var result = Result(
      HasNode(holder, name, isNullAbsent: found.isNullAbsent, syntax.range), .bool)
    if let path = path(operand, .field(name)) { result.whenTrue = [path] }
    return sealed(result, if: isSecret || hasSecretKeys(type))
  }

  // MARK: Items

  mutating func checkIndex(
    _ operand: Syntax, _ index: Syntax, isOptional: Bool, _ syntax: Syntax, asOperand: Bool
  ) -> Result {
    let base = check(operand, asOperand: true)
    let key = check(index)
    if !asOperand || isOptional { refer(isOptional ? operand : syntax) }
    let (type, isSecret) = unsealed(base.type)
    let (keyType, isKeySecret) = unsealed(key.type)
    let found = item(of: type, at: keyType, key.node, operand, index, syntax, isRead: !isOptional)
    let node = IndexNode(
      base.node, key.node, isOptional: isOptional, isNullAbsent: found.isNullAbsent, syntax.range)
    var result = Result(node, isChecked ? found.type : .dyn)
    if isOptional, isChecked { result.type = optional(result.type) }
    if !asOperand, !isOptional { result.type = narrowed(result.type, syntax) }
    result = folded(result, of: [base.node, key.node])
    return sealed(result, if: isSecret || isKeySecret || hasSecretKeys(type))
  }

  private mutating func item(
    of type: ValueType, at key: ValueType, _ keyNode: any Node, _ operand: Syntax, _ index: Syntax, _ syntax: Syntax,
    isRead: Bool
  ) -> (type: ValueType, isNullAbsent: Bool) {
    switch inference.resolved(type) {
    case .dyn, .parameter: return (.dyn, false)
    case .optional(let wrapped):
      let found = item(of: wrapped, at: key, keyNode, operand, index, syntax, isRead: false)
      return (optional(found.type), found.isNullAbsent)
    case .secret(let of):
      let found = item(of: of, at: key, keyNode, operand, index, syntax, isRead: isRead)
      return (.secret(found.type), found.isNullAbsent)
    case .list(let element):
      if !inference.accepts(.int, key) {
        let hint =
          switch key {
          case .double: "; write `int(\(source(index)))`"
          case .uint: "; write `int(\(source(index)))`"
          case .string where wholeNumber(index) != nil: "; write `\(source(operand))[\(wholeNumber(index) ?? 0)]`"
          case .string, .choice: "; one field of every item is `\(source(operand)).map(x, x.…)`"
          default: ""
          }
        fault("a list is read at an int, and this is \(show(key))\(hint)", index.range)
      }
      if isSound, let position = (keyNode as? LiteralNode)?.value.int, position < 0 {
        fault(
          "items are counted from 0; the last one is `\(source(operand))[size(\(source(operand))) - 1]`", index.range)
      }
      return (element, false)
    case .map(let keyType, let value):
      if !inference.accepts(keyType, key) {
        fault("the keys of this map are \(keyType)s, and this is \(show(key))", index.range)
      }
      return (value, false)
    case .object(let object):
      if !inference.accepts(.string, key) {
        fault("the fields of an object are read by their names, and this is \(show(key))", index.range)
        return (.dyn, false)
      }
      guard let name = (keyNode as? LiteralNode)?.value.string else {
        let type = inference.member(of: object)
        if type.mixedParts != nil {
          fault("the fields of this object have different types, so which one is read must be written out", index.range)
        }
        return (type, isSound)
      }
      guard let field = object[name] else {
        fault(unknownField(name, in: object), index.range)
        return (.dyn, false)
      }
      if isRead, field.isOptional, isSound { requirePresence(name, syntax, index.range) }
      return (field.type, isSound && field.isOptional)
    case .wrapper(let wrapped) where !isSound:
      return item(of: wrapped, at: key, keyNode, operand, index, syntax, isRead: isRead)
    case .string:
      fault("a text has no items; write `\(source(operand)).charAt(\(source(index)))`", syntax.range)
      return (.dyn, false)
    case let type:
      fault("\(show(type)) has no items or keys", syntax.range)
      return (.dyn, false)
    }
  }
}
