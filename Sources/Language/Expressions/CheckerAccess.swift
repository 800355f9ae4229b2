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

  /// The declared variable that a name refers to.
  private func declared(_ name: String, isRooted: Bool) -> (name: String, slot: Int)? {
    if scope.container.isEmpty || isRooted { return scope.slot(of: name).map { (name, $0) } }
    for candidate in scope.candidates(name) {
      if let slot = scope.slot(of: candidate) { return (candidate, slot) }
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
    if isTrial, name == Checker.hole { return Result(FailureNode("unwritten", syntax.range), .dyn) }
    return faulty(unknownName(name, syntax.range), syntax.range)
  }

  private mutating func variable(_ name: String, _ slot: Int, _ syntax: Syntax, asOperand: Bool) -> Result {
    if !asOperand { refer(syntax) }
    let type = isChecked ? scope.type(of: name) ?? .dyn : .dyn
    return Result(VariableNode(slot, syntax.range), asOperand ? type : narrowed(type, syntax))
  }

  private func typeName(_ name: String, _ type: ValueType, _ syntax: Syntax) -> Result {
    Result(LiteralNode(Value(.type(name)), syntax.range), isChecked ? .type(type) : .dyn)
  }

  private func unknownName(_ name: String, _ range: Range<Int>) -> MessageText {
    if name == "now" { return "`now` is not available here" }
    if scope.functions.namespaces.contains(name) {
      return "`\(name)` holds functions, as in \(name).…(), and isn't a value"
    }
    if !scope.functions.functions(named: name).isEmpty {
      return "`\(name)` is a function and needs arguments: \(name)(…)"
    }
    if let truth = ["yes": "true", "on": "true", "no": "false", "off": "false", "nul": "null"][name] {
      return "there is no variable `\(name)`" + suggestion(truth, for: range)
    }
    if case .object(let steps)? = scope.type(of: "steps"), steps[name] != nil {
      return "there is no variable `\(name)`" + suggestion("steps.\(name)", for: range, isCertain: true)
    }
    if case .object(let inputs)? = scope.type(of: "inputs"), inputs[name] != nil {
      return "there is no variable `\(name)`" + suggestion("inputs.\(name)", for: range)
    }
    if let why = scope.absences[name] {
      return "there is no variable `\(name)`: \(suggestion(named: why, for: range))"
    }
    let names = locals.map(\.name) + scope.names
    if let near = name.nearest(among: names) {
      return "there is no variable `\(name)`\(guess(near, by: name, among: names, for: range))"
    }
    let known = scope.names.filter { !$0.utf8.contains(ASCII.dot) }.sorted { $0.precedesByScalars($1) }
    let list = known.isEmpty || known.count > 12 ? "" : "; there are \(known.joined(separator: ", "))"
    return "there is no variable `\(name)`; a text needs quotes: '\(name)'\(list)"
  }

  /// The dotted name that a chain of selections forms, unless it starts at a local variable.
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

  /// The type of the value that a part reads, with the fields that the facts say are present.
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

  /// Records that a declared variable is read, and which of its fields, as far as their names are constant.
  private mutating func refer(_ syntax: Syntax, _ last: (name: String, mark: Range<Int>)? = nil) {
    var part = syntax
    var path = path(part)
    // An item at a computed index may be any item, so the whole list or map is recorded.
    while path == nil {
      switch part.kind {
      case .select(let operand, _, isOptional: false), .index(let operand, _, isOptional: false): part = operand
      default: return
      }
      path = self.path(part)
    }
    guard let path, path.local == nil, let slot = scope.slot(of: path.root) else { return }
    var names: [String] = []
    for step in path.steps {
      guard case .field(let name) = step else { break }
      names.append(name)
    }
    if let last, part.range == syntax.range, names.count == path.steps.count { names.append(last.name) }
    let range = syntax.range.lowerBound..<max(syntax.range.upperBound, last?.mark.upperBound ?? 0)
    var reference = CompiledExpression.Reference(slot: slot, name: path.root, path: names, range: range)
    reference.isSecret = scope.hasSecrets && Checker.holdsSecret(scope.type(of: path.root) ?? .dyn, at: names[...])
    references.append(reference)
  }

  /// Whether the value at the end of a chain of names in a value of the type may hold a secret.
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
    let found = field(name, of: type, syntax, isRead: !isOptional)
    let node: any Node =
      isOptional
      ? OptionalSelectNode(base.node, name, isNullAbsent: found.isNullAbsent, syntax.range, mark: syntax.mark)
      : SelectNode(base.node, name, syntax.range, mark: syntax.mark)
    var result = accessed(node, found, base, isOptional: isOptional, syntax, asOperand: asOperand)
    // An object's type already says which fields it has.
    if case .map = inference.resolved(type) { result = folded(result, of: [base.node]) }
    return sealed(result, if: isSecret || hasSecretKeys(type))
  }

  /// Whether the presence of a key reveals secret keys of a map.
  private func hasSecretKeys(_ type: ValueType) -> Bool {
    switch type {
    case .map(let key, _): inference.holdsSecret(key)
    case .optional(let wrapped): hasSecretKeys(inference.resolved(wrapped))
    default: false
    }
  }

  /// A variable or type with dots in its name, which takes precedence over the selection of a field.
  private mutating func checkQualified(_ syntax: Syntax, asOperand: Bool) -> Result? {
    guard scope.hasQualifiedNames || !scope.container.isEmpty || isGoogle(syntax) else { return nil }
    guard let (name, isRooted) = qualifiedName(syntax) else { return nil }
    if let (name, slot) = declared(name, isRooted: isRooted) {
      references.append(CompiledExpression.Reference(slot: slot, name: name, path: [], range: syntax.range))
      return Result(VariableNode(slot, syntax.range), isChecked ? scope.type(of: name) ?? .dyn : .dyn)
    }
    return Checker.typeNames[name].map { typeName(name, $0, syntax) }
  }

  private func isGoogle(_ syntax: Syntax) -> Bool {
    guard case .select(let operand, _, _) = syntax.kind, case .select(let root, "protobuf", _) = operand.kind,
      case .name("google", _) = root.kind
    else { return false }
    return true
  }

  /// The type of a field or item, and when it may be absent.
  private struct Found {
    var type: ValueType
    /// Whether a null in its place counts as absent.
    var isNullAbsent = false
    /// Whether it is read from a value inside an optional, or several nested ones, so that the result is optional too.
    var isInOptional = false
    /// Whether only data can make it absent.
    ///
    /// Which secrets exist, by contrast, is known before a run starts.
    var isLookup = true
  }

  /// The result of reading a field or an item.
  private func accessed(
    _ node: any Node, _ found: Found, _ base: Result, isOptional: Bool, _ syntax: Syntax, asOperand: Bool
  ) -> Result {
    guard isChecked else { return Result(node, .dyn) }
    if isOptional || found.isInOptional {
      var result = Result(node, .optional(found.type))
      result.isLookup = found.isLookup && (!found.isInOptional || base.isLookup)
      return result
    }
    return Result(node, asOperand ? found.type : narrowed(found.type, syntax))
  }

  /// The type of a field.
  ///
  /// Reports a fault if the field can't be read.
  private mutating func field(_ name: String, of type: ValueType, _ syntax: Syntax, isRead: Bool) -> Found {
    switch inference.resolved(type) {
    case .dyn, .parameter: return Found(type: .dyn)
    case .optional(let wrapped):
      var found = field(name, of: wrapped, syntax, isRead: false)
      found.isInOptional = true
      return found
    case .secret(let of):
      var found = field(name, of: of, syntax, isRead: isRead)
      found.type = .secret(found.type)
      return found
    case .object(let object):
      guard let field = object[name] else {
        fault(unknownField(name, in: object, syntax.mark, syntax), syntax.mark)
        return Found(type: .dyn)
      }
      if isRead, field.isOptional, isSound { requirePresence(name, syntax, syntax.mark) }
      return Found(type: field.type, isNullAbsent: isSound && field.isOptional, isLookup: !field.isOptional)
    case .map(let key, let value):
      if isSound, !inference.accepts(key, .string) {
        fault("the keys of this map are \(key)s, so it has no field `\(name)`; write […]", syntax.mark)
      }
      return Found(type: value, isLookup: !inference.holdsSecret(value))
    case .wrapper(let wrapped) where !isSound: return field(name, of: wrapped, syntax, isRead: isRead)
    case let type:
      fault(noFields(name, type, syntax), syntax.mark)
      return Found(type: .dyn)
    }
  }

  /// Reports a part that may be absent, but only once in a chain: fields of an absent value are absent too.
  private mutating func requirePresence(_ name: String, _ syntax: Syntax, _ mark: Range<Int>) {
    guard !isPresent(syntax) else { return }
    let isFollowing =
      absent.map { $0.lowerBound == syntax.range.lowerBound && $0.upperBound < syntax.range.upperBound } ?? false
    absent = syntax.range
    if !isFollowing { fault(mayBeAbsent(name, syntax), mark) }
  }

  private func isPresent(_ syntax: Syntax) -> Bool { path(syntax).map(isPresent) ?? false }

  private func isPresent(_ path: Path) -> Bool { facts.contains(path) || scope.presumed.contains(path.owner) }

  // MARK: Optionals

  /// The path that is present if the optional has a value: `a.b` for `a.?b`.
  private func heldPath(_ syntax: Syntax) -> Path? {
    guard let found = pathThroughOptionals(syntax) else { return nil }
    var path = found.path
    if !found.isOptional { path.steps.append(.held) }
    return path
  }

  /// The path that a part reads, including optional steps, and whether it has any.
  private func pathThroughOptionals(_ syntax: Syntax) -> (path: Path, isOptional: Bool)? {
    let operand: Syntax
    let isOptional: Bool
    let step: Path.Step
    switch syntax.kind {
    case .select(let of, let name, let flag): (operand, isOptional, step) = (of, flag, .field(name))
    case .index(let of, let index, let flag):
      guard case .literal(let value) = index.kind else { return nil }
      switch value.content {
      case .string(let name): (operand, isOptional, step) = (of, flag, .field(name))
      case .int(let position): (operand, isOptional, step) = (of, flag, .index(position))
      default: return nil
      }
    default: return path(syntax).map { ($0, false) }
    }
    guard let before = pathThroughOptionals(operand) else { return nil }
    var path = before.path
    path.steps.append(step)
    return (path, isOptional || before.isOptional)
  }

  /// The facts that are true if an optional has a value.
  func factsWhereHeld(_ syntax: Syntax) -> Facts {
    guard let path = heldPath(syntax) else { return [] }
    var facts: Facts = []
    for count in 1...path.steps.count {
      facts.insert(Path(root: path.root, local: path.local, steps: Array(path.steps.prefix(count))))
    }
    return facts
  }

  /// Reports `value()` of an optional that the recipe itself can leave empty, unless its presence was checked before.
  mutating func requireValue(of optional: Result, _ receiver: Syntax, in syntax: Syntax) {
    guard isSound, !optional.isLookup, !(optional.node is LiteralNode) else { return }
    let path = heldPath(receiver)
    if let path, isPresent(path) { return }
    let text = source(receiver)
    var name = text
    if case .field(let field)? = path?.steps.last { name = field }
    fault(
      "value() fails where `\(name)` is absent; ask first, as in `\(text).hasValue() && …`"
        + suggestion("\(text).orValue(…)", for: syntax, ", or write"), receiver.range)
  }

  /// - Parameter mark: Where the field's name is written; as a quoted text if `syntax` is nil.
  private func unknownField(
    _ name: String, in object: ObjectType, _ mark: Range<Int>, _ syntax: Syntax? = nil
  ) -> MessageText {
    let whole = object.name.isEmpty ? "there is no field `\(name)` here" : "\(object.name) has no field `\(name)`"
    let read = syntax?.range ?? mark
    if let why = scope.absences["\(object.name).\(name)"] { return "\(whole): \(suggestion(named: why, for: read))" }
    if let why = scope.absences["\(object.name).*"] {
      var why = why.replacing("*", with: name)
      if case .select(let operand, _, _)? = syntax?.kind {
        why = why.replacing("`event.", with: "`\(source(operand)).")
      }
      return "\(whole): \(suggestion(named: why, for: read))"
    }
    if ["outputs", "output"].contains(name), case .select(let operand, _, _)? = syntax?.kind,
      case let step = source(operand), step.hasPrefix("steps.")
    {
      return MessageText(
        "\(whole): `\(step)` is the output itself; leave `.\(name)` out",
        [Suggestion("leave `.\(name)` out", .code("", operand.range.upperBound..<mark.upperBound))])
    }
    let fields = object.fields.map(\.name)
    if let near = name.nearest(among: fields) {
      let isWord = near.utf8.allSatisfy { isLetter($0) || isDigit($0) }
      let quote = syntax == nil ? String(decoding: text[mark].prefix(1), as: UTF8.self) : isWord ? "" : "`"
      let hint = guess("\(quote)\(near)\(quote)", by: nil, shownAs: near, for: mark)
      return "\(whole)\(hint.tentative(if: !name.isSurelyMeant(as: near, among: fields)))"
    }
    guard !object.fields.isEmpty else { return "\(whole); it has no fields" }
    let names = object.fields.prefix(12).map(\.name).joined(separator: ", ")
    return "\(whole); it has \(names)\(object.fields.count > 12 ? ", …" : "")"
  }

  private func mayBeAbsent(_ name: String, _ syntax: Syntax) -> MessageText {
    let whole = source(syntax)
    guard case .select(let operand, _, _) = syntax.kind else {
      return "`\(name)` may be absent; ask with `has(…)` first"
    }
    return "`\(name)` may be absent; ask first, as in `has(\(whole)) && …`"
      + other(for: source(operand) + ".?" + name, syntax)
  }

  /// Suggests how to read the whole chain around a part that may be absent.
  ///
  /// `start` is that part's optional form, such as `a.?b`.
  private func other(for start: String, _ syntax: Syntax) -> MessageText {
    let chain = chain ?? syntax.range
    let rest = chain.upperBound > syntax.range.upperBound ? syntax.range.upperBound..<chain.upperBound : nil
    let optional = start + (rest.map { source($0) } ?? "")
    let following = text[chain.upperBound..<range.upperBound]
    let isUnwrapped = [".orValue(", ".or(", ".hasValue(", ".optMap(", ".optFlatMap("].contains {
      following.starts(with: $0.utf8)
    }
    let isAsked = text[range.lowerBound..<chain.lowerBound].reversed().starts(with: "has(".utf8.reversed())
    return suggestion(isUnwrapped || isAsked ? optional : "\(optional).orValue(…)", for: chain, ", or write")
  }

  /// Whether an index certainly counts from the start.
  ///
  /// In other languages, a negative one counts from the end.
  private func isFromStart(_ index: Syntax) -> Bool {
    guard case .literal(let value) = index.kind, let position = value.int else { return false }
    return position >= 0
  }

  /// The number in a string literal.
  private func wholeNumber(_ syntax: Syntax) -> Int? {
    guard case .literal(let value) = syntax.kind else { return nil }
    return value.string.flatMap { Int($0) }
  }

  /// The methods that read the parts of a timestamp or duration, by their names in other languages.
  private static let parts = [
    "year": "getFullYear", "month": "getMonth", "day": "getDate", "date": "getDate", "weekday": "getDayOfWeek",
    "dayOfWeek": "getDayOfWeek", "dayOfYear": "getDayOfYear", "hour": "getHours", "hours": "getHours",
    "minute": "getMinutes", "minutes": "getMinutes", "second": "getSeconds", "seconds": "getSeconds",
    "totalSeconds": "getSeconds", "total_seconds": "getSeconds",
  ]

  private func noFields(_ name: String, _ type: ValueType, _ syntax: Syntax) -> MessageText {
    guard case .select(let operand, _, _) = syntax.kind else { return "\(show(type)) has no fields" }
    let text = enclosed(operand)
    let article = if case .list = type { "a list" } else { show(type) }
    let none: MessageText = "\(article) has no field `\(name)`"
    switch (type, name) {
    case (.list, "length"), (.list, "count"), (.list, "size"), (.string, "length"), (.string, "count"),
      (.string, "size"), (.bytes, "length"), (.bytes, "size"):
      return none + suggestion("size(\(text))", for: syntax, isCertain: true)
    case (.list, "empty"), (.list, "isEmpty"):
      return none + suggestion("size(\(text)) == 0", for: syntax, isCertain: true)
    case (.list, "first"): return none + suggestion("\(text)[0]", for: syntax, isCertain: true)
    case (.list, "last"): return none + suggestion("\(text)[size(\(text)) - 1]", for: syntax, isCertain: true)
    case (.list, _):
      return none + suggestion("\(text)[0].\(name)", for: syntax, "; read one item,")
        + suggestion("\(text).map(x, x.\(name))", for: syntax, ", or all,")
    case (.wrapper, _):
      return "\(show(type)) has no fields; what may be null is compared with null first"
    case (.timestamp, _), (.duration, _):
      guard let method = Checker.parts[name] else {
        let example = if case .timestamp = type { "getFullYear" } else { "getMinutes" }
        return none + "; its parts are read with methods, as in \(text).\(example)()"
      }
      let fix = suggestion("\(text).\(method)()", for: syntax)
      return none + (fix.isEmpty ? "; its parts are read with methods, as in \(text).getSeconds()" : fix)
    default: return "\(show(type)) has no fields, so no `\(name)`"
    }
  }

  mutating func checkHas(_ operand: Syntax, _ name: String, _ syntax: Syntax) -> Result {
    chain = operand.range.lowerBound..<syntax.mark.upperBound
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
    let result = accessed(node, found, base, isOptional: isOptional, syntax, asOperand: asOperand)
    return sealed(folded(result, of: [base.node, key.node]), if: isSecret || isKeySecret || hasSecretKeys(type))
  }

  private mutating func item(
    of type: ValueType, at key: ValueType, _ keyNode: any Node, _ operand: Syntax, _ index: Syntax, _ syntax: Syntax,
    isRead: Bool
  ) -> Found {
    switch inference.resolved(type) {
    case .dyn, .parameter: return Found(type: .dyn)
    case .optional(let wrapped):
      var found = item(of: wrapped, at: key, keyNode, operand, index, syntax, isRead: false)
      found.isInOptional = true
      return found
    case .secret(let of):
      var found = item(of: of, at: key, keyNode, operand, index, syntax, isRead: isRead)
      found.type = .secret(found.type)
      return found
    case .list(let element):
      if !inference.accepts(.int, key) {
        let hint: MessageText =
          switch key {
          // The conversion loses the decimals.
          case .double: suggestion("int(\(source(index)))", for: index).tentative
          case .uint: suggestion("int(\(source(index)))", for: index, isCertain: true)
          case .string where wholeNumber(index) != nil:
            suggestion("\(enclosed(operand))[\(wholeNumber(index) ?? 0)]", for: syntax, isCertain: true)
          case .string, .choice:
            (keyNode as? LiteralNode)?.value.string.map {
              suggestion("\(enclosed(operand)).map(x, x.\($0))", for: syntax, "; one field of every item is")
            } ?? ""
          default: ""
          }
        fault("a list is read at an int, and this is \(show(key))\(hint)", index.range)
      }
      if isSound, let position = (keyNode as? LiteralNode)?.value.int, position < 0 {
        let last = suggestion(
          "\(enclosed(operand))[size(\(source(operand))) - 1]", for: syntax,
          "items are counted from 0; the last one is", isCertain: true)
        fault(last.unless(position != -1), index.range)
      }
      return Found(type: element)
    case .map(let keyType, let value):
      if !inference.accepts(keyType, key) {
        fault("the keys of this map are \(keyType)s, and this is \(show(key))", index.range)
      }
      return Found(type: value, isLookup: !inference.holdsSecret(value))
    case .object(let object):
      if !inference.accepts(.string, key) {
        fault("the fields of an object are read by their names, and this is \(show(key))", index.range)
        return Found(type: .dyn)
      }
      guard let name = (keyNode as? LiteralNode)?.value.string else {
        let type = inference.member(of: object)
        if type.mixedParts != nil {
          fault("the fields of this object have different types, so which one is read must be written out", index.range)
        }
        return Found(type: type, isNullAbsent: isSound)
      }
      guard let field = object[name] else {
        fault(unknownField(name, in: object, index.range), index.range)
        return Found(type: .dyn)
      }
      if isRead, field.isOptional, isSound { requirePresence(name, syntax, index.range) }
      return Found(type: field.type, isNullAbsent: isSound && field.isOptional, isLookup: !field.isOptional)
    case .wrapper(let wrapped) where !isSound:
      return item(of: wrapped, at: key, keyNode, operand, index, syntax, isRead: isRead)
    case .string:
      let fix = suggestion("\(enclosed(operand)).charAt(\(source(index)))", for: syntax, isCertain: isFromStart(index))
      fault("a text has no items\(fix)", syntax.range)
      return Found(type: .dyn)
    case let type:
      fault("\(show(type)) has no items or keys", syntax.range)
      return Found(type: .dyn)
    }
  }
}
