import Basics

// Functions and methods: finding the form that fits, and suggestions if none does.

extension Checker {
  mutating func checkCall(_ name: String, isRooted: Bool, _ arguments: [Syntax], _ syntax: Syntax) -> Result {
    var forms: [FunctionDeclaration] = []
    for candidate in isRooted ? [name] : scope.candidates(name) where forms.isEmpty {
      forms = scope.functions.functions(named: candidate)
    }
    if name == "dyn", isSound {
      fault("dyn() would give up checking, and is not available here; convert the value instead", syntax.mark)
    }
    return resolve(name, forms, receiver: nil, arguments, syntax)
  }

  mutating func checkMethod(_ receiver: Syntax, _ name: String, _ arguments: [Syntax], _ syntax: Syntax) -> Result {
    if let (prefix, isRooted) = qualifiedName(receiver) {
      let full = "\(prefix).\(name)"
      for candidate in isRooted ? [full] : scope.candidates(full) {
        let forms = scope.functions.functions(named: candidate)
        if !forms.isEmpty { return resolve(full, forms, receiver: nil, arguments, syntax) }
      }
      if scope.functions.namespaces.contains(prefix), scope.slot(of: prefix) == nil {
        for argument in arguments { _ = check(argument) }
        return faulty(unknownIn(prefix, name, receiver, syntax), syntax.mark)
      }
    }
    if case .name(let other, _) = receiver.kind, let namespace = namespace(meantBy: other) {
      for argument in arguments { _ = check(argument) }
      let message =
        scope.functions.functions(named: "\(namespace).\(name)").isEmpty
        ? unknownIn(namespace, name, receiver, syntax)
        : "there is no variable `\(other)`\(guess(namespace, by: other, among: Array(scope.functions.namespaces), shownAs: "\(namespace).\(name)(…)", for: receiver.range))"
      return faulty(message, receiver.range)
    }
    return resolve(name, scope.functions.methods(named: name), receiver: receiver, arguments, syntax)
  }

  /// The namespace that is probably meant by a name that isn't a variable's.
  private func namespace(meantBy name: String) -> String? {
    guard isChecked, !locals.contains(where: { $0.name.hasSameScalars(as: name) }), scope.slot(of: name) == nil,
      Checker.typeNames[name] == nil, name.nearest(among: locals.map(\.name) + scope.names) == nil
    else { return nil }
    return name.lowercased().nearest(among: Array(scope.functions.namespaces))
  }

  private func unknownIn(_ prefix: String, _ name: String, _ receiver: Syntax, _ syntax: Syntax) -> MessageText {
    let part = receiver.range.lowerBound..<syntax.mark.upperBound
    let full = "\(prefix).\(name)"
    let names = scope.functions.names(ofMethods: false).filter { $0.hasPrefix("\(prefix).") }
      .map { String($0.dropFirst(prefix.count + 1)) }
    let other = Checker.otherNames[name].flatMap { $0.split(separator: ".").last.map { String($0) } }
    let known = names.first { $0 == other } ?? Checker.otherMath[full]
    let near = (known ?? name.nearest(among: names)).map {
      guess("\(prefix).\($0)", by: nil, for: part, in: syntax.range)
        .tentative(if: known == nil && !name.isSurelyMeant(as: $0, among: names))
    }
    let list = names.sorted { $0.precedesByScalars($1) }.joined(separator: ", ")
    return "there is no function `\(full)`\(near ?? "; `\(prefix)` has \(list)")"
  }

  private mutating func resolve(
    _ name: String, _ forms: [FunctionDeclaration], receiver: Syntax?, _ arguments: [Syntax], _ syntax: Syntax
  ) -> Result {
    let parts = (receiver.map { [$0] } ?? []) + arguments
    var results: [Result] = []
    results.reserveCapacity(parts.count)
    for part in parts { results.append(check(part)) }
    guard !forms.isEmpty else {
      return faulty(unknownFunction(name, receiver, arguments, syntax), syntax.mark)
    }
    var isSecret = false
    var types: [ValueType] = []
    types.reserveCapacity(parts.count)
    for result in results {
      let (type, holds) = disclosed(result.type)
      if holds { isSecret = true }
      types.append(inference.resolved(type))
    }
    var nodes = handed(results, to: name)
    guard isChecked else {
      if let zoned = forms.first(where: { $0.takesZone && $0.accepts(count: nodes.count) }) {
        return Result(call(of: zoned, nodes, syntax), .dyn)
      }
      return Result(CallNode(name, forms, nodes, isExact: false, syntax.range, mark: syntax.mark), .dyn)
    }

    var (fitting, result) = fitting(forms, types)
    if fitting.isEmpty, widen(&results, &types, parts, to: forms) {
      nodes = handed(results, to: name)
      (fitting, result) = self.fitting(forms, types)
    }
    let isExact = types.allSatisfy(isKnown)
    guard var result, let form = fitting.first else {
      return faulty(
        mismatchMessage(name, forms, receiver, arguments, types, syntax), syntax.range, type: commonResult(forms))
    }
    let constants = nodes.map { ($0 as? LiteralNode)?.value }
    if isSound, let fault = form.typeCheck?(types.map { inference.finished($0) }) {
      return faulty(
        MessageText(fault.message), parts.indices.contains(fault.argument) ? parts[fault.argument].range : syntax.range)
    }
    if isSound, fitting.count == 1, let typed = form.resultType?(types.map { inference.applied($0) }, constants) {
      result = typed
    }
    if isSound, let check = form.literalCheck,
      let fault = choices(constants, results).flatMap({ examples($0, results, types) }).lazy.compactMap(check).first
    {
      self.fault(
        MessageText(fault.message), parts.indices.contains(fault.argument) ? parts[fault.argument].range : syntax.range)
      return Result(FailureNode(fault.message, syntax.range), result)
    }
    let node = node(for: form, name, fitting, nodes, constants, isExact: isExact, syntax)
    var call = Result(node, result)
    if !(node is OptionalElseNode) { call = folded(call, of: nodes) }
    if let receiver, case .optional = form.receiver {
      switch name {
      case "hasValue": call.whenTrue = factsWhereHeld(receiver)
      case "value": requireValue(of: results[0], receiver, in: syntax)
      default: break
      }
    }
    if case .optional = form.result {
      call.isLookup = name == "or" ? results.contains(where: \.isLookup) : name != "optional.none"
    }
    return sealed(call, if: isSecret)
  }

  /// The nodes of a call's arguments, with guards against unknown values.
  private func handed(_ results: [Result], to name: String) -> [any Node] {
    switch name {
    // These functions pass a value through, and its reader has its own guard.
    case "or", "orValue", "dyn": results.map(\.node)
    case "size": results.map { known($0.node, .keys) }
    default: results.map { known($0.node, .whole) }
    }
  }

  /// The forms that accept arguments of these types, and the type of their result.
  private mutating func fitting(
    _ forms: [FunctionDeclaration], _ types: [ValueType]
  ) -> (forms: [FunctionDeclaration], result: ValueType?) {
    let isExact = types.allSatisfy(isKnown)
    var fitting: [FunctionDeclaration] = []
    var result: ValueType?
    for form in forms where form.accepts(count: types.count) {
      guard let found = fit(form, types) else { continue }
      fitting.append(form)
      result = result.map { common($0, found) } ?? found
      if isExact { break }
    }
    return (fitting, result)
  }

  /// The type of a call's result if only evaluation can decide between two forms.
  private mutating func common(_ one: ValueType, _ other: ValueType) -> ValueType {
    if one == other { return one }
    guard isSound, let joined = inference.join(one, other), joined.mixedParts == nil else { return .dyn }
    return joined
  }

  /// The constants in rows, one for each choice of a `?:` between literals.
  private func choices(_ constants: [Value?], _ results: [Result]) -> [[Value?]] {
    var rows = [constants]
    for index in constants.indices where constants[index] == nil {
      guard let literals = alternatives(results[index].node), rows.count * literals.count <= 64 else { continue }
      rows = rows.flatMap { row in
        literals.map { literal in
          var row = row
          row[index] = literal.value
          return row
        }
      }
    }
    return rows
  }

  /// The constants, with example items in the place of a list that isn't constant: items of each kind that the list may
  /// have, so that a format is checked against all of them.
  private func examples(_ constants: [Value?], _ results: [Result], _ types: [ValueType]) -> [[Value?]] {
    guard let index = types.lastIndex(where: { if case .list = $0 { true } else { false } }), constants[index] == nil,
      case .list(let element) = types[index]
    else { return [constants] }
    var choices: [[Value]] = []
    // The length of a list that isn't a literal is known only at evaluation. There are enough items here for any
    // format, because it can't ask for more than it has bytes.
    let asked = constants.compactMap { $0?.string?.utf8.count }.max() ?? 0
    for type in results[index].items ?? Array(repeating: element, count: min(asked, 1000)) {
      guard let values = inference.finished(type).disclosed.examples else { return [constants] }
      choices.append(values)
    }
    return (0..<(choices.map(\.count).max() ?? 1)).map { row in
      var constants = constants
      constants[index] = .list(choices.map { $0[min(row, $0.count - 1)] })
      return constants
    }
  }

  private func node(
    for form: FunctionDeclaration, _ name: String, _ fitting: [FunctionDeclaration], _ nodes: [any Node],
    _ constants: [Value?], isExact: Bool, _ syntax: Syntax
  ) -> any Node {
    if case .optional = form.receiver, nodes.count == 2, name == "or" || name == "orValue" {
      return OptionalElseNode(nodes[0], nodes[1], unwraps: name == "orValue", syntax.range)
    }
    if form.takesZone { return call(of: form, nodes, syntax) }
    if name == "matches", nodes.count == 2, let text = constants[1]?.string, let pattern = try? Pattern(text) {
      return MatchesNode(nodes[0], pattern, syntax.range)
    }
    return CallNode(name, fitting, nodes, isExact: isExact, syntax.range, mark: syntax.mark)
  }

  /// A call of a form, with the scope's zone as its last argument.
  private func call(of zoned: FunctionDeclaration, _ nodes: [any Node], _ syntax: Syntax) -> any Node {
    let zone = LiteralNode(.string(scope.zone), syntax.range)
    return CallNode(zoned.name, [zoned], nodes + [zone], isExact: true, syntax.range, mark: syntax.mark)
  }

  private func isKnown(_ type: ValueType) -> Bool {
    switch type {
    case .dyn, .parameter: false
    case .list(let of), .optional(let of): isKnown(inference.resolved(of))
    case .map(let key, let value): isKnown(inference.resolved(key)) && isKnown(inference.resolved(value))
    case .wrapper: false
    default: true
    }
  }

  /// The type of the result if the form takes arguments of these types.
  private mutating func fit(_ form: FunctionDeclaration, _ types: [ValueType]) -> ValueType? {
    var parameters = form.allParameters
    var result = form.result
    if form.isGeneric {
      let instances = inference.instantiate(parameters + [result])
      parameters = Array(instances.dropLast())
      result = instances[parameters.count]
    }
    let mark = inference.mark
    for index in types.indices {
      guard inference.accepts(parameters[min(index, parameters.count - 1)], types[index]) else {
        inference.undo(to: mark)
        return nil
      }
    }
    if form.isGeneric { return inference.applied(result) }
    // CEL itself has no mixtures.
    return !isSound && result.mixedParts != nil ? .dyn : result
  }

  /// Converts int literals to doubles among arguments that no form accepts; false if no form accepts them then either.
  private mutating func widen(
    _ results: inout [Result], _ types: inout [ValueType], _ parts: [Syntax], to forms: [FunctionDeclaration]
  ) -> Bool {
    guard isSound else { return false }
    for form in forms where form.accepts(count: types.count) {
      let mark = inference.mark
      defer { inference.undo(to: mark) }
      let parameters = form.isGeneric ? inference.instantiate(form.allParameters) : form.allParameters
      var wide = results
      let fits = types.indices.allSatisfy { index in
        let parameter = parameters[min(index, parameters.count - 1)]
        if inference.accepts(parameter, types[index]) { return true }
        guard let result = widened(results[index], parts[index], to: inference.applied(parameter)) else { return false }
        wide[index] = result
        return true
      }
      guard fits else { continue }
      results = wide
      types = wide.map { inference.resolved(disclosed($0.type).type) }
      return true
    }
    return false
  }

  /// The type that all forms return, so that the expression around a wrong call is checked too.
  private func commonResult(_ forms: [FunctionDeclaration]) -> ValueType {
    guard let first = forms.first, !first.isGeneric, forms.allSatisfy({ $0.result == first.result }) else {
      return .dyn
    }
    return first.result
  }

  // MARK: Messages

  private mutating func mismatchMessage(
    _ name: String, _ forms: [FunctionDeclaration], _ receiver: Syntax?, _ arguments: [Syntax], _ types: [ValueType],
    _ syntax: Syntax
  ) -> MessageText {
    let signatures = forms.prefix(4).map(\.signature).joined(separator: ", or ")
    let ofCount = forms.filter { $0.accepts(count: types.count) }
    if ofCount.isEmpty {
      return "\(name)() is called with \(counted(arguments.count, "argument")); it is \(signatures)"
    }
    let parts = (receiver.map { [$0] } ?? []) + arguments
    if name == "contains", parts.count == 2, case .list? = types.first {
      return "contains() belongs to texts"
        + suggestion("\(enclosed(parts[1])) in \(enclosed(parts[0]))", for: syntax, isCertain: true)
    }
    // A form that accepts all arguments but one is probably the one that is meant.
    var wanted: [Int: [ValueType]] = [:]
    for form in ofCount {
      let parameters = inference.instantiate(form.allParameters)
      let wrong = types.indices.filter { !inference.accepts(parameters[min($0, parameters.count - 1)], types[$0]) }
      guard wrong.count == 1, let index = wrong.first else { continue }
      wanted[index, default: []].append(inference.applied(parameters[min(index, parameters.count - 1)]))
    }
    if let (index, choices) = wanted.min(by: { $0.key < $1.key }) {
      let text = source(parts[index])
      let place = receiver != nil && index == 0 ? "\(name)() belongs to" : "\(name)() wants"
      var hint: MessageText = choices.count == 1 ? argumentHint(choices[0], types[index], parts[index], in: syntax) : ""
      if name == "orValue", index == 1, case .optional(.optional(let inner)) = types[0],
        inference.accepts(inner, types[1])
      {
        hint = suggestion("\(enclosed(parts[0])).orValue(optional.none()).orValue(\(text))", for: syntax)
      }
      return "\(place) \(listed(choices)), and `\(text)` is \(show(types[index]))\(hint)"
    }
    let given = arguments.indices.map { show(types[$0 + (receiver == nil ? 0 : 1)]) }.joined(separator: ", ")
    let subject = receiver == nil ? "" : " on \(show(types[0]))"
    return "\(name)() is called\(subject) with \(given.isEmpty ? "nothing" : given); it is \(signatures)"
  }

  /// Types in words: "a string, bytes or a list".
  private func listed(_ types: [ValueType]) -> String {
    var words: [String] = []
    for type in types.flatMap({ $0.mixedParts ?? [$0] }) {
      let word =
        switch type {
        case .list(.parameter): "a list"
        case .map(.parameter, .parameter): "a map"
        case .optional(.parameter): "an optional"
        default: show(type)
        }
      if !words.contains(word) { words.append(word) }
    }
    guard let last = words.popLast(), !words.isEmpty else { return words.first ?? types.first.map(show) ?? "nothing" }
    return "\(words.joined(separator: ", ")) or \(last)"
  }

  /// Suggests how to convert an argument to the wanted type.
  func argumentHint(_ wanted: ValueType, _ given: ValueType, _ syntax: Syntax, in whole: Syntax) -> MessageText {
    let text = source(syntax)
    let isLiteral = if case .literal = syntax.kind { true } else { false }
    func suggest(_ code: String, _ lead: String = "; write", isCertain: Bool = false) -> MessageText {
      suggestion(code, for: syntax, lead, in: whole, isCertain: isCertain)
    }
    switch (inference.resolved(wanted), inference.resolved(given)) {
    case (let wanted, .optional(let wrapped)) where inference.finished(wrapped) == inference.finished(wanted):
      return suggest("\(enclosed(syntax)).orValue(…)")
    case (.double, .int):
      if case .literal(let value) = syntax.kind, let number = value.int {
        return suggest("\(number).0", isCertain: true)
      }
      // A division of ints has already lost the decimals.
      return suggest("double(\(text))", isCertain: !isOperation(syntax))
    case (.double, .uint): return suggest("double(\(text))", isCertain: !isOperation(syntax))
    // A string may not be a number, and decimals would be lost.
    case (.double, .string), (.int, .double), (.int, .string):
      return suggest("\(inference.finished(wanted))(\(text))")
    case (.uint, .int):
      if case .literal(let value) = syntax.kind, let number = value.int, number >= 0 {
        return suggest("\(number)u", isCertain: true)
      }
      return suggest("uint(\(text))", isCertain: !isOperation(syntax))
    case (.int, .uint): return suggest("int(\(text))", isCertain: true)
    case (.string, .int), (.string, .uint), (.string, .double), (.string, .bool), (.string, .timestamp),
      (.string, .duration), (.string, .bytes):
      return suggest("string(\(text))", isCertain: true)
    // A string, such as a date, may not be a timestamp.
    case (.timestamp, .string): return suggest(timestamp(syntax), isCertain: isLiteral && !isDate(syntax))
    case (.duration, .string): return suggest("duration(\(text))", isCertain: isLiteral)
    // This isn't certain: the text of `format` may be written as in another language.
    case (.list(.dyn), let given) where given != .dyn: return suggest("[\(text)]", "; a list of one is")
    case (.list(let element), let given) where inference.finished(element) == inference.finished(given):
      return suggest("[\(text)]", "; a list of one is")
    case (.bool, .int): return suggest("\(enclosed(syntax)) != 0", "; compare it, as in")
    case (.bool, .string): return suggest("\(enclosed(syntax)) == 'yes'", "; compare it, as in")
    default: return ""
    }
  }

  /// Functions by their names in other languages.
  private static let otherNames: [String: String] = [
    "length": "size", "len": "size", "count": "size", "str": "string", "toString": "string", "float": "double",
    "number": "double", "parseInt": "int", "parseFloat": "double", "includes": "contains", "has_value": "hasValue",
    "indexof": "indexOf", "toUpperCase": "upperAscii", "upper": "upperAscii", "toUpper": "upperAscii",
    "toLowerCase": "lowerAscii", "lower": "lowerAscii", "toLower": "lowerAscii", "strip": "trim",
    "sum": "stats.sum", "mean": "stats.mean", "avg": "stats.mean", "average": "stats.mean", "median": "stats.median",
    "min": "stats.min", "max": "stats.max", "round": "stats.round", "typeof": "type", "regexMatch": "matches",
    "match": "matches", "test": "matches", "getYear": "getFullYear", "unwrap": "value", "default": "orValue",
    "date": "timestamp", "datetime": "timestamp", "abs": "math.abs", "floor": "math.floor", "ceil": "math.ceil",
    "sqrt": "math.sqrt",
  ]
  /// The names above whose CEL function does the same with every value.
  private static let sameFunctions: Set<String> = [
    "length", "len", "count", "str", "toString", "has_value", "indexof", "strip", "sum", "mean", "avg",
    "average", "median", "min", "max", "default", "abs", "floor", "ceil", "sqrt",
  ]
  private static let otherMath = [
    "math.max": "greatest", "math.min": "least", "json.stringify": "format", "json.dumps": "format",
    "json.loads": "parse",
  ]

  private func unknownFunction(_ name: String, _ receiver: Syntax?, _ arguments: [Syntax], _ syntax: Syntax)
    -> MessageText
  {
    let texts = arguments.map { source($0) }
    let given = texts.joined(separator: ", ")
    if let receiver {
      let text = enclosed(receiver)
      func called(_ name: String, isCertain: Bool) -> MessageText {
        let all = ([source(receiver)] + texts).joined(separator: ", ")
        return suggestion("\(name)(\(all))", for: syntax, isCertain: isCertain)
      }
      if !scope.functions.functions(named: name).isEmpty {
        return "\(name)() isn't a method" + called(name, isCertain: name == "size")
      }
      if name == "has", arguments.count == 1, case .literal(let value) = arguments[0].kind, let field = value.string {
        return "has() isn't a method" + suggestion("has(\(text).\(field))", for: syntax, isCertain: true)
      }
      let none: MessageText = "there is no method `\(name)`"
      if let (other, isCertain) = replacement(forMethod: name, on: text, with: arguments.map { enclosed($0) }) {
        return none + suggestion(other, for: syntax, isCertain: isCertain)
      }
      if let other = Checker.otherNames[name] {
        let isSame = Checker.sameFunctions.contains(name)
        if !scope.functions.methods(named: other).isEmpty, other != "size" {
          return none + orGuess(other, suggestion("\(text).\(other)(\(given))", for: syntax, isCertain: isSame))
        }
        return none + orGuess(other, called(other, isCertain: isSame))
      }
      let macros = Parser.macroForms.keys
      let names = scope.functions.names(ofMethods: true) + macros
      let near =
        name.nearest(among: names).map { guess($0, by: name, among: names, for: syntax.mark, in: syntax.range) } ?? ""
      return "there is no method `\(name)`\(near)"
    }
    if name == "now" {
      return "there is no function `now`; the time is the variable `now`, which stays the same for a step"
    }
    if name == "has" { return "has() is written has(a.b)" }
    if !scope.functions.methods(named: name).isEmpty, let first = arguments.first {
      let rest = arguments.dropFirst().map { source($0) }.joined(separator: ", ")
      return "\(name)() is a method"
        // The order of the arguments is certain only if there is one.
        + suggestion("\(enclosed(first)).\(name)(\(rest))", for: syntax, isCertain: arguments.count == 1)
    }
    let none: MessageText = "there is no function `\(name)`"
    if let other = replacement(forFunction: name) { return "\(none); \(other)" }
    if name == "concat" {
      let parts = arguments.map { enclosed($0) }
      return none + suggestion(parts.joined(separator: " + "), for: syntax, isCertain: true)
    }
    if let form = Parser.macroForms[name] { return "\(name)() is written \(form)" }
    if let other = Checker.otherNames[name] {
      if other == "timestamp", let only = arguments.first, arguments.count == 1 {
        return none + orGuess(other, suggestion(timestamp(only), for: syntax))
      }
      let isSame = Checker.sameFunctions.contains(name)
      let plain = suggestion("\(other)(\(given))", for: syntax, isCertain: isSame)
      return none
        + orGuess(
          other, plain.isEmpty ? suggestion("\(other)([\(given)])", for: syntax) : plain)
    }
    let names = scope.functions.names(ofMethods: false)
    let near =
      name.nearest(among: names).map { guess($0, by: name, among: names, for: syntax.mark, in: syntax.range) } ?? ""
    return "there is no function `\(name)`\(near)"
  }

  /// The suggestion, or if there is none, the name that was probably meant.
  private func orGuess(_ name: String, _ suggestion: MessageText) -> MessageText {
    suggestion.isEmpty ? "; did you mean `\(name)`?" : suggestion
  }

  // MARK: Expected types

  /// Checks the result against the type that the place of the expression expects.
  mutating func expect(_ wanted: ValueType, _ result: inout Result, _ syntax: Syntax) {
    let given = inference.resolved(result.type)
    if case .choice(let options) = wanted, let literals = alternatives(result.node),
      literals.allSatisfy({ $0.value.string != nil })
    {
      for literal in literals {
        let text = literal.value.string ?? ""
        guard !options.contains(where: { $0.hasSameScalars(as: text) }) else { continue }
        let near =
          text.nearest(among: options).map { guess(of: $0, by: text, among: options, for: literal.range) } ?? ""
        fault("'\(text)' is not \(wanted)\(near)", literal.range)
      }
      return
    }
    if inference.accepts(wanted, given) { return }
    if let wide = widened(result, syntax, to: wanted) {
      result = wide
      return
    }
    if inference.holdsSecret(given), inference.accepts(wanted, inference.applied(given).disclosed) {
      return faults.append(ExpressionFault(secret: "this", at: syntax.range))
    }
    if case .bool = wanted {
      _ = expectBool(result, syntax, "what is wanted here")
      return
    }
    var message: MessageText = "\(show(wanted)) is expected here, but this is \(show(given))"
    message += argumentHint(wanted, given, syntax, in: syntax)
    if case (.object(let wanted), .object(let given)) = (wanted, given) {
      message = objectMessage(wanted, given) ?? message
    }
    fault(message, syntax.range)
  }

  /// The literals that a node may return, such as `'a'` and `'b'` for `flag ? 'a' : 'b'`; nil if it may return anything
  /// else.
  private func alternatives(_ node: any Node) -> [LiteralNode]? {
    if let literal = node as? LiteralNode { return [literal] }
    guard let choice = node as? ConditionalNode, let first = alternatives(choice.first),
      let second = alternatives(choice.second)
    else { return nil }
    return first + second
  }

  /// Explains which field keeps an object from having the wanted type.
  private mutating func objectMessage(_ wanted: ObjectType, _ given: ObjectType) -> MessageText? {
    for field in given.fields where wanted[field.name] == nil {
      let near = field.name.nearest(among: wanted.fields.map(\.name)).map { "; did you mean `\($0)`?" } ?? ""
      return "the object expected here has no field `\(field.name)`\(near)"
    }
    for field in wanted.fields {
      guard let other = given[field.name] else {
        if field.isOptional { continue }
        return "the object expected here has a field `\(field.name)`, which is missing"
      }
      if other.isOptional, !field.isOptional {
        return "the field `\(field.name)` is expected here, but it may be absent"
      }
      if !inference.accepts(field.type, other.type) {
        return "the field `\(field.name)` is \(show(other.type)), but should be \(show(field.type))"
      }
    }
    return nil
  }
}
