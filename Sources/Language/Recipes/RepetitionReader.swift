import ActionKit
import Basics
import Expressions

/// Reads `repeat`: `{until, carry, next, collect, every, factor, maxEvery, jitter, timeout, maxRounds}`.
///
/// The mapping is read in two parts, before and after the step's own keys: the step sees the carried names, and the
/// rest sees `result`, which is the step's value.
struct RepetitionReader {
  let findings: Findings
  let compiler: ExpressionCompiler

  // MARK: Carried values

  /// Reads `carry`, and declares its names; the first values see the step's scope without these names.
  func carried(in value: Value, scope: inout Scope) -> [CarriedValue] {
    guard let carry = value["carry"] else { return [] }
    guard let map = carry.map, !map.isEmpty else {
      let name = (carry.list?.first ?? carry).string.flatMap { Names.fault(in: $0) == nil ? $0 : nil } ?? "page"
      findings.error(
        "'carry' takes a mapping from names to first values, such as { \(name): 1 }, but found \(carry.displayed)",
        at: carry)
      return []
    }
    var carried: [CarriedValue] = []
    let outer = scope
    for member in map.members {
      let value = self.carried(member, in: outer)
      let type = value?.valueType ?? .dyn
      guard let name = findings.name(member.key, of: "the name") else {
        scope.excuse(member.key)
        continue
      }
      if ["rounds", "collected"].contains(name) {
        findings.error(
          "a carried value can't be called '\(name)', which the step's value has already; choose another name",
          at: member.key)
      }
      scope.declare(name, type, at: member.key, findings)
      if let value { carried.append(value) }
    }
    return carried
  }

  private func carried(_ member: ValueMap.Member, in scope: Scope) -> CarriedValue? {
    let name = member.key.plainText
    let keys = member.value.map?.members.map(\.key.plainText) ?? []
    let isDeclared = keys.allSatisfy { ["type", "first"].contains($0) } || isType(member.value["type"])
    if let text = member.value.string, isType(member.value) {
      let isOptional = text.trimmed.hasSuffix("?")
      let form = "{ type: \(JSON.quoted(text))\(isOptional ? "" : ", first: …") }"
      findings.error(
        MessageText(
          "'\(text)' is a text here; for a type write \(form)", isOptional ? [.verbatim(form)] : []), at: member.value)
      return nil
    }
    guard !keys.isEmpty, isDeclared else { return inferred(name, member.value, in: scope) }
    guard let fields = Fields(member.value, of: "'\(name)'", .carried, findings, others: .carried)
    else { return nil }
    guard let written = fields["type"] else { return fields["first"].flatMap { inferred(name, $0, in: scope) } }
    var typeText = written
    var isOptional = false
    if let text = written.string?.trimmed, text.hasSuffix("?") {
      isOptional = true
      typeText = Value(.string(String(text.dropLast())), at: written.place)
    }
    var types = TypeReader(findings: findings)
    if isOptional { types.absence = "one '?' is enough" }
    let type = types.read(typeText, of: "the type of '\(name)'")
    guard let first = fields["first"] else {
      if isOptional || !fields.strays.isEmpty {
        return type.map { CarriedValue(name: name, first: .absent($0), isOptional: isOptional, type: $0) }
      }
      let form = JSON.quoted((written.string ?? "string") + "?")
      findings.error(
        "'\(name)' has no first value; add 'first', or write a type that ends in '?', such as \(form)", at: member.key)
      return nil
    }
    guard let type else {
      _ = compiler.template(first, of: "'first'", in: scope)
      return nil
    }
    // A faulty first value is one error; the type is known nevertheless.
    let template = template(first, name, type, isOptional: isOptional, as: "carry", in: scope)
    return CarriedValue(name: name, first: template ?? .absent(type), isOptional: isOptional, type: type)
  }

  /// Whether a value is a type; a mapping with such a `type` is read as a declaration.
  private func isType(_ value: Value?) -> Bool {
    guard var value else { return false }
    if let text = value.string?.trimmed, text.hasSuffix("?") {
      value = Value(.string(String(text.dropLast())), at: value.place)
    }
    let count = findings.list.count
    let type = TypeReader(findings: findings).read(value, of: "the type")
    return !findings.forgiveErrors(after: count) && type != nil
  }

  /// A carried value that has the type of its first value.
  private func inferred(_ name: String, _ value: Value, in scope: Scope) -> CarriedValue? {
    let (template, type) = compiler.typed(value, of: "'\(name)'", in: scope)
    guard let template else { return nil }
    if type.holdsSecret {
      refuseSecret("carry.\(name)", at: value)
      return nil
    }
    var isOptional = false
    var wrapped = type
    if case .optional(let inner) = type { (isOptional, wrapped) = (true, inner) }
    let fix: String
    switch template.constant?.content {
    case .list(let items)? where items.isEmpty:
      fix = "an empty list has none: { type: list(string), first: [] }; or gather with 'collect'"
    case .map(let map)? where map.isEmpty:
      fix = "an empty map has none: { type: \"map(string, string)\", first: {} }; or gather with 'collect'"
    case .null?: fix = "null has none: { type: \"string?\" }"
    default:
      if let declared = wrapped.declared {
        return CarriedValue(name: name, first: template, isOptional: isOptional, type: declared)
      }
      fix = "its first value is \(type.withArticle): write { type: …, first: … }"
    }
    findings.error("'\(name)' needs a type, because \(fix)", at: value)
    return nil
  }

  /// A value that has to be of a carried value's type.
  private func template(
    _ value: Value, _ name: String, _ type: FieldType, isOptional: Bool, as key: String, in scope: Scope
  ) -> ValueTemplate? {
    if value.isNull, isOptional { return .absent(type) }
    let schema = ObjectSchema(fields: [FieldSchema(name, type, "", isOptional: isOptional)])
    guard value.holdsExpression else {
      guard let faults = faults(of: value, name, schema, as: key) else {
        return .literal(schema.restored(.object([name: value]))[name] ?? value, type.inputType)
      }
      for fault in faults { findings.add(fault) }
      return nil
    }
    guard value.string != nil else {
      let whole = Value(.map(ValueMap([(name, value)])), at: value.place)
      let template = compiler.fields(whole, of: schema, path: key, in: scope).template
      guard case .map(let members, _)? = template else { return nil }
      return members.first?.value
    }
    let (template, given) = compiler.typed(value, of: "'\(name)'", in: scope)
    guard let template else { return nil }
    if given.holdsSecret {
      refuseSecret("\(key).\(name)", at: value)
      return nil
    }
    let wanted = type.inputType
    var constant = template.constant
    if isOptional, case .optional(let held)? = constant?.content { constant = held }
    if let constant, !constant.isAbsence {
      // A constant may fit even if its type alone doesn't show it, as with a choice.
      guard let faults = faults(of: constant.placed(at: value.place), name, schema, as: key) else {
        return template
      }
      if wanted.accepts(given) {
        for fault in faults { findings.add(fault) }
        return nil
      }
    }
    var found = given
    switch given {
    case .optional(let wrapped) where isOptional: found = wrapped
    case .wrapper(let wrapped) where isOptional: found = wrapped
    case .null where isOptional: return template
    default: break
    }
    if wanted.accepts(found) { return template }
    var fix = ""
    switch given {
    case .optional, .wrapper:
      fix = "; end its type with '?', or write \(value.expressionText.asReceiver).orValue(…)"
    default:
      if case .choice = wanted, case .string = given {
        fix = "; take it from what has these words, such as an input with 'choices', or carry a string"
      }
    }
    findings.error(
      "'\(key).\(name)' must be \(wanted.withArticle), but this is \(given.withArticle)\(fix)",
      at: value)
    return nil
  }

  /// The faults of a known value; nil if it fits.
  private func faults(of value: Value, _ name: String, _ schema: ObjectSchema, as key: String) -> [Fault]? {
    let faults = schema.check(.object([name: value]), as: key, spelling: findings.spelling)
    return faults.contains { $0.severity == .error } ? faults : nil
  }

  private func refuseSecret(_ what: String, at value: Value) {
    findings.error(
      "'\(what)' holds a secret, but what is carried is kept with the run; read the secret where it is used", at: value)
  }

  // MARK: Rounds

  /// Reads the rest.
  ///
  /// - Parameters:
  ///   - output: The type of `result`.
  ///   - scope: With the carried names.
  /// - Returns: The repetition, if it has no fault, and the type of the step's value.
  func repetition(
    _ value: Value, _ carried: [CarriedValue], output: ValueType, scope: Scope
  ) -> (repetition: Repetition?, type: ValueType) {
    let form = value.int.map { "forEach: lists.range(\($0))" as MessageText }
    guard let fields = Fields(value, of: "'repeat'", .repetition, findings, others: .repetition, form: form) else {
      return (nil, .dyn)
    }
    let hasMemory = fields["carry"] != nil || fields["collect"] != nil
    var inner = scope
    inner.declare("result", output)
    let isReversed = fields.strays.contains { $0.name == "while" }
    let until = (isReversed ? nil : fields.require("until", "a condition on 'result', such as result.state == 'ready'"))
      .flatMap {
        condition($0, in: inner)
      }
    let next = self.next(fields, carried, in: inner)
    let (collect, element) = self.collect(fields["collect"], in: inner)
    let every = fields.duration("every")
    if fields["every"] == nil {
      if !hasMemory {
        _ = fields.require("every", "how long to wait before doing it again, such as 10m")
      }
      for key in ["factor", "maxEvery", "jitter"] {
        if let member = fields.member(key) { findings.error("'\(key)' needs 'every' beside it", at: member.key) }
      }
    }
    let factor = fields.number("factor")
    let maxEvery = fields.duration("maxEvery")
    let timeout = fields.duration("timeout")
    let jitter = fields.duration("jitter") ?? .zero
    let maxRounds = fields.int("maxRounds")
    if let every, let value = fields["jitter"], jitter >= min(every, maxEvery ?? every) {
      findings.error("'jitter' (\(jitter.written)) must be shorter than the time between two rounds", at: value)
    }
    var type = output
    if hasMemory {
      var members = carried.map { ObjectType.Field($0.name, $0.type.inputType, isOptional: $0.isOptional) }
      let known = Set(carried.map(\.name))
      for member in fields["carry"]?.map?.members ?? [] {
        for name in Names.parts(of: member.key.plainText) where !known.contains(name) {
          members.append(ObjectType.Field(name, .dyn))
        }
      }
      members.append(ObjectType.Field("rounds", .int))
      if fields["collect"] != nil { members.append(ObjectType.Field("collected", .list(element))) }
      type = .object(ObjectType("this repeated step", fields: members))
    }
    guard let until, every != nil || hasMemory else { return (nil, type) }
    let limit = maxRounds ?? (fields["every"] == nil ? Repetition.mostRounds : nil)
    return (
      Repetition(
        until: until, every: every, factor: factor ?? 1, maxEvery: maxEvery, jitter: jitter,
        timeout: timeout, maxRounds: limit, carried: carried, next: next, collect: collect,
        valueType: type), type
    )
  }

  private func condition(_ value: Value, in scope: Scope) -> RecipeExpression? {
    guard let condition = compiler.condition(value, of: "'until'", in: scope) else { return nil }
    guard condition.constant?.bool == false else { return condition }
    findings.error(
      "'until' is never true, so the rounds would never end; write a condition on 'result' or a carried value",
      at: value)
    return nil
  }

  private func next(_ fields: Fields, _ carried: [CarriedValue], in scope: Scope) -> [NamedTemplate] {
    guard let value = fields["next"] else { return [] }
    let names = (fields["carry"]?.map?.members ?? []).map(\.key.plainText)
    guard let map = value.map, !map.isEmpty else {
      let form = names.first.map { "; write next: { \($0): … }" } ?? ""
      findings.error(
        "'next' takes a mapping from carried names to values, but found \(value.displayed)\(form)", at: value)
      return []
    }
    return map.members.compactMap { member in
      let name = member.key.plainText
      guard names.contains(where: { $0.hasSameScalars(as: name) }) else {
        let guess = name.nearest(among: names).map {
          MessageText.didYouMean($0, by: name, among: names).unless(map[$0] != nil)
        }
        let list: MessageText =
          names.isEmpty ? "add 'carry' with its first value" : "'carry' has \(names.joined(separator: ", "))"
        findings.error("'carry' has no '\(name)'; \(guess ?? list)", at: member.key)
        _ = compiler.template(member.value, of: "'\(name)'", in: scope)
        return nil
      }
      guard let value = carried.first(where: { $0.name.hasSameScalars(as: name) }) else {
        _ = compiler.template(member.value, of: "'\(name)'", in: scope)
        return nil
      }
      if let text = member.value.string, text.mentions(names + ["result"]) {
        let written = "\"${{ \(text) }}\""
        findings.error(
          MessageText("'\(text)' is a text here; an expression is written \(written)", [.text("${{ \(text) }}")]),
          at: member.value)
        return nil
      }
      return template(member.value, name, value.type, isOptional: value.isOptional, as: "next", in: scope).map {
        NamedTemplate(name: name, template: $0)
      }
    }
  }

  /// Reads `collect`, and gives the type of the items that it gathers.
  private func collect(_ value: Value?, in scope: Scope) -> (RecipeExpression?, ValueType) {
    guard let value else { return (nil, .dyn) }
    if value.list != nil || value.map != nil {
      findings.error(
        "'collect' takes an expression that gives a list, but found \(value.kindName); write the whole value in "
          + "quotes, such as \"[result.name]\"", at: value)
      return (nil, .dyn)
    }
    guard let expression = compiler.expression(value, of: "'collect'", in: scope) else { return (nil, .dyn) }
    let type = expression.program.type
    // A value that YAML reads as a number has no text of its own.
    let text = expression.text
    let fault: MessageText
    switch type {
    case .dyn: return (expression, .dyn)
    case _ where type.holdsSecret:
      fault = "'collect' holds a secret, but what is gathered is kept with the run; leave the secret out"
    case .list(let element): return (expression, element)
    case .optional(.list):
      let whole = expression.write("\(expression.text.asReceiver).orValue([])", "`")
      fault = "'collect' takes a list, but this may be absent; \(whole)"
    default:
      let item = text.isEmpty ? value.plainText : text
      fault = MessageText(
        "'collect' takes a list, but this is \(type.withArticle); put it into one: [\(item)]",
        expression.write("[\(item)]").suggestions)
    }
    findings.error(fault, at: value)
    return (nil, .dyn)
  }
}

extension ValueTemplate {
  /// The template of an absent carried value.
  fileprivate static func absent(_ type: FieldType) -> ValueTemplate {
    .literal(Value(.optional(nil)), .optional(type.inputType))
  }

  /// The value, if it depends on nothing.
  fileprivate var constant: Value? {
    switch self {
    case .literal(let value, _): value
    case .template(let located): located.template.constant
    case .list(let items, _): items.isEmpty ? .list([]) : nil
    case .map(let members, _): members.isEmpty ? .map(ValueMap()) : nil
    }
  }
}

extension ValueType {
  /// The type as a declaration; nil if no declaration can express it.
  fileprivate var declared: FieldType? {
    switch self {
    case .bool: return .bool
    case .int: return .int
    case .double: return .double
    case .string: return .string
    case .bytes: return .bytes
    case .timestamp: return .timestamp
    case .duration: return .duration
    case .dyn: return .dyn
    case .choice(let words): return .choice(words)
    case .list(let element): return element.declared.map { .list($0) }
    case .map(.string, let value): return value.declared.map { .map($0) }
    case .object(let object):
      var fields: [FieldSchema] = []
      for field in object.fields {
        guard let type = field.type.declared else { return nil }
        fields.append(FieldSchema(field.name, type, "", isOptional: field.isOptional))
      }
      return .object(ObjectSchema(fields: fields))
    default: return nil
    }
  }
}

extension String {
  /// Whether the text begins with one of some names, followed by a selector or an operator.
  fileprivate func mentions(_ names: [String]) -> Bool {
    let name = prefix { $0.isASCII && ($0.isLetter || $0.isNumber) }
    let rest = dropFirst(name.count).drop { $0 == " " }
    return names.contains(String(name)) && ".[+-*/%?".contains(rest.first ?? " ")
  }
}

extension Value {
  /// Whether it is null or an optional.
  fileprivate var isAbsence: Bool {
    switch content {
    case .null, .optional: true
    default: false
    }
  }

  /// The expression of a text that is one.
  fileprivate var expressionText: String {
    guard let text = string?.trimmed, text.hasPrefix("${{"), text.hasSuffix("}}") else { return "it" }
    return String(text.dropFirst(3).dropLast(2)).trimmed
  }
}
