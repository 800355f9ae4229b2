import ActionKit
import Basics
import Expressions
import YAMLReader

// Reads alternative cases, and the value that a step returns instead of an error. Both decide a step's type, beside its
// kind.

extension StepReader {
  // MARK: Else

  /// Keys that are allowed on the steps inside, or around all of them, but not beside `else` or `switch`.
  static let notBesideCases = ["forEach", "onError", "retry", "timeout", "repeat"]

  /// Reads `steps` and `else` beside an `if`.
  ///
  /// - Parameters:
  ///   - inner: The scope of `steps`.
  ///   - outer: The scope of the step, in which `else` also knows that the condition doesn't hold.
  func alternatives(
    _ value: Value?, _ fields: Fields, _ condition: RecipeExpression?, inner: Scope, outer: inout Scope, over: OverPaths
  ) -> (Step.Kind?, ValueType) {
    guard let value else {
      // 'else' beside something other than 'steps' is an error already; faults inside it are reported too.
      _ = self.case("else", nil, fields["else"] ?? .null, of: "'else'", in: outer, outer: &outer, over: over)
      return (nil, .dyn)
    }
    for name in StepReader.notBesideCases {
      guard let member = fields.member(name), KeySet.step[name].companions.contains("steps") else { continue }
      findings.error(
        "'\(name)' isn't allowed beside 'else'; put it on the steps inside, or on a step with 'steps' around this one",
        at: member.key)
    }
    if fields["if"] == nil, let member = fields.member("else") {
      findings.error("'else' needs 'if' beside it", at: member.key)
    }
    var scope = outer
    if let value = fields["if"] { scope.assume(condition, is: false, readFrom: value) }
    let first = self.case(
      "if", nil, steps: value, outputs: fields["outputs"], of: "'steps'", in: inner, outer: &outer, over: over)
    scope.hide(stepsOf: first.content.block, inside: "the other case")
    let second = self.case("else", nil, fields["else"] ?? .null, of: "'else'", in: scope, outer: &outer, over: over)
    let cases = [first, second]
    let type = joinedType(of: cases)
    guard let condition else { return (nil, type) }
    var list = cases.map(\.content)
    list[0].value = .bool(true)
    list[1].value = .bool(false)
    return (.cases(Cases(subject: condition, list, isSwitch: false, giving: type)), type)
  }

  // MARK: Switch

  /// Reads `switch`, `cases` and `default`.
  func choosing(
    _ value: Value, _ fields: Fields, scope: Scope, outer: inout Scope, over: OverPaths
  ) -> (Step.Kind?, ValueType) {
    if value.map != nil {
      findings.error(
        "'switch' takes the value that chooses, such as switch: inputs.colour; 'cases' and 'default' go beside it",
        at: value)
    }
    let subject = value.map == nil ? compiler.expression(value, of: "'switch'", in: scope) : nil
    let taken = subject.flatMap { self.taken(by: $0, at: value) }
    var scope = scope
    var cases: [ReadCase] = []
    let given =
      fields.strays.isEmpty && value.map == nil
      ? fields.require("cases", "what runs for each value, such as cases: { done: [ … ] }") : fields["cases"]
    if let given, given.map == nil {
      findings.error(
        "'cases' takes a mapping from values to steps, but found \(given.kindName); write cases: { VALUE: [ … ] }",
        at: given)
    }
    var rest = fields["default"]
    for (index, member) in (given?.map?.members ?? []).enumerated() {
      if rest == nil, let word = member.name, StepReader.wordsForAllOthers.contains(word), taken?.has(word) != true {
        findings.error(
          "'\(word)' in 'cases' is a value like the others; for all other values write 'default' beside 'cases'",
          at: member.key)
        rest = member.value
        continue
      }
      let key = literal(member.key, as: taken, beside: cases)
      let read = self.case(
        "case\(index + 1)", key, member.value, of: "case '\(member.key.plainText)'", in: scope, outer: &outer,
        over: over)
      scope.hide(stepsOf: read.content.block, inside: "another case")
      cases.append(read)
    }
    if let rest {
      cases.append(self.case("default", nil, rest, of: "'default'", in: scope, outer: &outer, over: over))
    } else if given?.map != nil {
      requireAll(taken, among: cases, at: value)
    }
    let type = joinedType(of: cases)
    guard let subject, taken != nil else { return (nil, type) }
    return (.cases(Cases(subject: subject, cases.map(\.content), isSwitch: true, giving: type)), type)
  }

  /// Words of other languages for the case of all other values.
  private static let wordsForAllOthers: Set = ["default", "else", "otherwise", "other", "others", "_", "*", "any"]

  /// The values that `switch` can have.
  private enum Taken {
    case text, int
    case words([String])

    /// Whether a choice has a word.
    func has(_ word: String) -> Bool { if case .words(let words) = self { words.contains(word) } else { false } }

    /// Whether a text may be the case's value.
    func takes(_ text: String) -> Bool {
      switch self {
      case .text: true
      case .int: false
      case .words(let words): words.contains(text)
      }
    }

    var name: String {
      switch self {
      case .text: "a string"
      case .int: "an int"
      case .words(let words): words.map { "'\($0)'" }.joined(separator: " or ")
      }
    }
  }

  private func taken(by subject: RecipeExpression, at value: Value) -> Taken? {
    let receiver = subject.text.asReceiver
    let fault: MessageText
    switch subject.program.type {
    case .string: return .text
    case .int: return .int
    case .choice(let words): return .words(words)
    case .bool: fault = "a bool; use 'if' with 'else'"
    case .dyn:
      let other = MessageText("int(\(subject.text))", subject.write("int(\(subject.text))").suggestions)
      fault = "of no known type; \(subject.write("string(\(subject.text))")) or \(other)"
    case .double: fault = "a double; compare it under 'if', or write int(\(subject.text))"
    case .optional(.int): fault = "may be absent; \(subject.write("\(receiver).orValue(0)"))"
    case .optional(let wrapped):
      let words: [String] = if case .choice(let words) = wrapped { words } else { [] }
      fault = "may be absent; \(subject.write("\(receiver).orValue('\(words.first ?? "")')"))"
    case let type where type.holdsSecret: fault = "a secret, and the chosen case is recorded"
    case let type: fault = "\(type.withArticle)"
    }
    let verb = fault.text.hasPrefix("may ") ? "" : "is "
    findings.error("'switch' takes a string, an int or a choice, but this \(verb)\(fault)", at: value)
    return nil
  }

  /// The value that the key of a case stands for.
  private func literal(_ key: Value, as taken: Taken?, beside cases: [ReadCase]) -> Value {
    let written = key.written
    switch (taken, key.content) {
    case (.text, .string), (.int, .int): break
    case (.words(let words), .string(let text)):
      if words.contains(where: { $0.hasSameScalars(as: text) }) { break }
      let guess = MessageText.didYouMean(text, among: words).map { "; \($0)" } ?? "" as MessageText
      findings.error("the case '\(text)' never comes: 'switch' gives \(Taken.words(words).name)\(guess)", at: key)
    case (.int, .string(let text)) where Int(text) != nil:
      findings.error(
        MessageText(
          "the case \(written) is a string, but 'switch' gives an int; write \(text) without quotes", [.verbatim(text)]),
        at: key)
    case (.int, _):
      let isRange = key.string.map { $0.contains("..") || "<>=!".contains($0.first ?? " ") } ?? false
      let advice = isRange ? "; a condition goes under 'if', and what else there is under 'else'" : ""
      findings.error("the case \(written) never comes: 'switch' gives an int\(advice)", at: key)
    case (.text, _), (.words, _):
      let spelling = findings.spelling(of: key).flatMap { taken?.takes($0) == true ? "\"\($0)\"" : nil }
      findings.error(
        MessageText(
          "the case \(written) is \(key.kindName), but 'switch' gives \(taken?.name ?? ""); write it in quotes",
          spelling.map { [.verbatim($0)] } ?? []), at: key)
    case (nil, _): break
    }
    if cases.contains(where: { $0.content.value?.isSameChoice(as: key) ?? false }) {
      findings.error("there is a case \(written) already", at: key)
    }
    return key
  }

  private func requireAll(_ taken: Taken?, among cases: [ReadCase], at value: Value) {
    switch taken {
    case .text, .int:
      findings.error(
        "'switch' over \(taken?.name ?? "") needs 'default' for all other values; default: [] does nothing", at: value)
    case .words(let words):
      // A misspelt case counts as the probable right one.
      let given = cases.compactMap { $0.content.value?.string }.map { text in
        words.contains { $0.hasSameScalars(as: text) } ? text : text.nearest(among: words) ?? text
      }
      let missing = words.filter { word in !given.contains { $0.hasSameScalars(as: word) } }
      if missing.isEmpty { return }
      findings.error(
        "'switch' has no case for \(missing.map { "'\($0)'" }.joined(separator: ", ")); add one for each, or 'default' for "
          + "all others", at: value)
    case nil: break
    }
  }

  // MARK: Cases

  /// A case as far as it could be read, with the type of its value.
  private struct ReadCase {
    var content: Case
    var type: ValueType
    var place: Value
  }

  /// Reads a list of steps, or `{steps, outputs}`.
  private func `case`(
    _ name: String, _ key: Value?, _ value: Value, of what: String, in scope: Scope, outer: inout Scope, over: OverPaths
  ) -> ReadCase {
    if value.string != nil {
      findings.error("\(what) takes a list of steps, but found \(value.written); [] does nothing", at: value)
    }
    let list = value.string == nil ? loneStep(value, of: what) ?? value : Value(.list([]), at: value.place)
    guard list.map != nil else {
      return self.case(name, key, steps: list, outputs: nil, of: what, in: scope, outer: &outer, over: over)
    }
    let fields = Fields(value, of: what, .caseOfSteps, findings, hint: "it takes a list of steps, or steps and outputs")
    let steps = fields?["steps"]
    if steps == nil, fields?["outputs"] == nil, fields?.strays.isEmpty ?? false {
      findings.error("\(what) needs 'steps'", at: value)
    }
    return self.case(
      name, key, steps: steps ?? Value(.list([]), at: value.place), outputs: fields?["outputs"], of: what, in: scope,
      outer: &outer, over: over)
  }

  /// Reports a single step in the place of a list of steps, and returns it as a list; nil for other values.
  private func loneStep(_ value: Value, of what: String) -> Value? {
    let names = KeySet.step.kinds.filter { $0 != "steps" } + ["id", "if", "forEach", "with"]
    guard let stray = value.map?.members.first(where: { names.contains($0.key.plainText) }) else { return nil }
    let listed = findings.document.listing(value).map { [Suggestion.edits("make it a list of one step", $0)] } ?? []
    findings.error(
      MessageText(
        "\(what) takes a list of steps; put a dash before '\(stray.key.plainText)', or [{ }] around the step", listed),
      at: stray.key)
    return Value(.list([value]), at: value.place)
  }

  private func `case`(
    _ name: String, _ key: Value?, steps value: Value, outputs: Value?, of what: String, in scope: Scope,
    outer: inout Scope, over: OverPaths
  ) -> ReadCase {
    var inner = scope
    var read = Case(
      name: name, value: key, block: Block(steps: [], scopeSize: inner.size, type: ObjectType(fields: [])))
    if name == "if" || value.list?.isEmpty != true {
      read.block = block(value, of: what, in: &inner, over: over.inside(read.prefix))
    }
    outer.hide(stepsOf: read.block, inside: "a case")
    guard let outputs else { return ReadCase(content: read, type: .object(read.block.type), place: value) }
    let type: ValueType
    (read.outputs, type) = compiler.outputs(outputs, of: "this case", in: inner)
    return ReadCase(content: read, type: type, place: outputs)
  }

  /// The type of the value of alternative cases: a field is required if all cases return it, else optional.
  ///
  /// A case that always fails returns nothing, so it makes no field optional.
  private func joinedType(of cases: [ReadCase]) -> ValueType {
    let giving = cases.filter { !$0.content.block.steps.contains(where: \.alwaysFails) }
    var fields: [ObjectType.Field] = []
    for read in giving {
      guard case .object(let object) = read.type else { return .dyn }
      for var field in object.fields {
        guard let index = fields.firstIndex(where: { $0.name.hasSameScalars(as: field.name) }) else {
          fields.append(field)
          continue
        }
        let known = fields[index].type
        guard let joined = ValueType.joined([known, field.type]), joined.mixedParts == nil else {
          let (path, here, there) =
            field.type.difference(from: known, at: field.name) ?? (field.name, field.type, known)
          findings.error(
            "'\(path)' is \(here.withArticle) here and \(there.withArticle) in another case; give it one type",
            at: read.place[field.name] ?? read.place)
          fields[index].type = .dyn
          continue
        }
        field.type = joined
        fields[index].type = joined
      }
    }
    for index in fields.indices {
      let isAlwaysThere = giving.allSatisfy { read in
        guard case .object(let object) = read.type else { return false }
        return object[fields[index].name].map { !$0.isOptional } ?? false
      }
      fields[index].isOptional = !isAlwaysThere
    }
    return .object(ObjectType("this step", fields: fields))
  }

  // MARK: A value instead of an error

  /// The parts of `onError`, read before the step's type is known.
  struct Handler {
    var steps: Block?
    /// The scope of `value`.
    var scope: Scope
    var value: Value?
  }

  func handler(_ value: Value, scope: Scope, over: OverPaths) -> Handler? {
    var inner = scope
    inner.declare("error", .object(RecipeTypes.error))
    if value.string == "continue" { return Handler(scope: inner) }
    var steps: Value? = value
    var given: Value?
    if let list = loneStep(value, of: "'onError'") {
      steps = list
    } else if value.map != nil {
      guard
        let fields = Fields(
          value, of: "'onError'", .errorHandling, findings, hint: "what the step gives instead goes under 'value'",
          others: .errorHandling)
      else { return nil }
      (steps, given) = (fields["steps"], fields["value"])
      if steps == nil, given == nil, fields.strays.isEmpty {
        findings.error("'onError' needs 'steps', 'value' or both", at: value)
      }
    } else if value.list == nil {
      findings.error(
        "'onError' takes 'continue', a list of steps that see 'error', or { steps, value }, but found \(value.written)"
          + (["ignore", "skip", "null", "none", "pass"].contains(value.string)
            ? MessageText("; write onError: continue", [.verbatim("continue")]) : ""),
        at: value)
      return nil
    }
    let block = steps.map { self.block($0, of: "onError", in: &inner, over: over.inside("!/")) }
    return Handler(steps: block, scope: inner, value: given)
  }

  /// Reads the value that a step gives instead of an error.
  ///
  /// - Parameters:
  ///   - type: The type of the step's value, or of each item's in a loop.
  ///   - known: The declarations of that value, which hold more than its type.
  func fallback(_ handler: Handler, for type: ValueType, as known: ObjectSchema?) -> Fallback? {
    guard let value = handler.value else { return nil }
    guard case .object(let object) = type else {
      _ = compiler.template(value, of: "'value'", in: handler.scope)
      return nil
    }
    if value.map == nil, value.string?.holdsExpression != true {
      let names = object.fields.prefix(6).map(\.name).joined(separator: ", ")
      findings.error(
        "'value' takes a mapping of what the step gives (\(names)), but found \(value.kindName)", at: value)
      return nil
    }
    var given = value.map?.members.compactMap(\.name)
    if given == nil {
      let (template, type) = compiler.typed(value, of: "'value'", in: handler.scope)
      guard template != nil else { return nil }
      if case .object(let object) = type { given = object.fields.map(\.name) }
    }
    var fields: [FieldSchema] = []
    var missing: [String] = []
    var ungivable: [String] = []
    for field in object.fields {
      let isGiven = given?.contains { $0.hasSameScalars(as: field.name) } ?? true
      let names = object.fields.map(\.name)
      let strays = (given ?? []).filter { !names.contains($0) }
      let isMisspelt = strays.contains { $0.nearest(among: names) == field.name }
      let declaration = known?.field(named: field.name)
      guard let type = field.type.declared(isWhole: true, as: declaration?.type) else {
        if isGiven || !field.isOptional { ungivable.append("'\(field.name)'") }
        fields.append(FieldSchema(field.name, .dyn, "", isOptional: true))
        continue
      }
      let mayBeMissing = field.isOptional || field.type.isOptionalValue
      if !isGiven, !mayBeMissing, !isMisspelt { missing.append("'\(field.name)'") }
      fields.append(
        FieldSchema(
          field.name, type, "", isOptional: mayBeMissing || !isGiven, limits: declaration?.limits ?? []))
    }
    let narrowing = "to give less, put the step into 'steps' and name under 'outputs' what later steps read"
    if !missing.isEmpty {
      let them = missing.count == 1 ? "it" : "them"
      findings.error(
        "'value' needs \(missing.joined(separator: ", ")) too, because the step gives \(them); \(narrowing)", at: value)
    }
    if !ungivable.isEmpty {
      findings.error("'value' can't give \(ungivable.joined(separator: ", ")); \(narrowing)", at: value)
    }
    let schema = ObjectSchema(fields: fields)
    let template = compiler.fields(value, of: schema, path: "value", in: handler.scope, warnsOfSecrets: false).template
    guard let template, missing.isEmpty, ungivable.isEmpty else { return nil }
    return Fallback(
      template: template, location: findings.location(of: value), schema: schema,
      optionals: object.fields.filter(\.type.isOptionalValue).map(\.name))
  }
}

extension ValueType {
  fileprivate var isOptionalValue: Bool { if case .optional = self { true } else { false } }

  /// The type as a declaration, to check values against it; nil if no value of the type can be written.
  ///
  /// - Parameters:
  ///   - isWhole: Whether it is a field's type, and may say that the field may be absent.
  ///   - known: The declaration of the value, which may say that a string is a date.
  fileprivate func declared(isWhole: Bool = false, as known: FieldType? = nil) -> FieldType? {
    switch self {
    case .bool: .bool
    case .int: .int
    case .double: .double
    case .string: if case .date? = known { .date } else { .string }
    case .bytes: .bytes
    case .timestamp: .timestamp
    case .duration: .duration
    case .dyn: .dyn
    case .choice(let words): .choice(words)
    case .list(let element): element.declared(as: known?.element).map { .list($0) }
    case .map(.string, let value): value.declared(as: known?.element).map { .map($0) }
    case .optional(let wrapped): isWhole ? wrapped.declared(as: known) : nil
    case .object(let object): object.declared(as: known?.schema).map { .object($0) }
    default: nil
    }
  }
}

extension ObjectType {
  fileprivate func declared(as known: ObjectSchema?) -> ObjectSchema? {
    var declared: [FieldSchema] = []
    for field in fields {
      let declaration = known?.field(named: field.name)
      if let type = field.type.declared(as: declaration?.type) {
        declared.append(
          FieldSchema(field.name, type, "", isOptional: field.isOptional, limits: declaration?.limits ?? []))
      } else if !field.isOptional {
        return nil
      }
    }
    return ObjectSchema(fields: declared)
  }
}

extension FieldType {
  /// The type of the elements of a list, or of the values of a map.
  fileprivate var element: FieldType? {
    switch self {
    case .list(let element), .map(let element): element
    default: nil
    }
  }

  fileprivate var isDate: Bool { if case .date = self { true } else { false } }

  fileprivate var schema: ObjectSchema? { if case .object(let schema) = self { schema } else { nil } }
}

extension [NamedTemplate] {
  /// The declarations of the values that are only read, not computed.
  fileprivate func declaredOutput(of block: Block, inputs: ObjectSchema? = nil) -> ObjectSchema {
    let steps = FieldType.object(block.declaredOutput)
    return ObjectSchema(
      fields: compactMap { named in
        guard let path = named.template.pathRead, let root = path.first else { return nil }
        let declared = root == "steps" ? steps : root == "inputs" ? inputs.map { .object($0) } : nil
        return declared?.following(path.dropFirst()).map { FieldSchema(named.name, $0, "") }
      })
  }
}

extension ValueTemplate {
  /// The path of names that is all of the value's expression.
  fileprivate var pathRead: [String]? {
    guard case .template(let located) = self else { return nil }
    return located.template.pathRead
  }
}

extension FieldType {
  /// The type at the end of a path of names.
  fileprivate func following(_ path: ArraySlice<String>) -> FieldType? {
    var type = self
    for name in path {
      guard let next = type.schema?.field(named: name)?.type else { return nil }
      type = if case .optional(let wrapped) = next { wrapped } else { next }
    }
    return type
  }
}

extension ObjectSchema {
  /// The fields that several declarations have in common.
  init(common schemas: [ObjectSchema]) {
    self.init(
      fields: (schemas.first?.fields ?? []).filter { field in
        schemas.dropFirst().allSatisfy { $0.field(named: field.name)?.type.isDate == field.type.isDate }
      })
  }

  /// The output of a repeated step that carries values.
  init(_ carried: [CarriedValue]) {
    self.init(fields: carried.map { FieldSchema($0.name, $0.type, "", isOptional: $0.isOptional) })
  }
}

extension Step.Kind {
  /// The declarations of the output, which say for example that a string is a date; an expression that only reads a
  /// value keeps its declaration.
  var declaredOutput: ObjectSchema? {
    switch self {
    case .action(let call): call.shape?.applied(to: call.action.output) ?? call.action.output
    case .block(let block, let outputs): outputs?.declaredOutput(of: block) ?? block.declaredOutput
    case .call(let call): call.recipe.outputs.declaredOutput(of: call.recipe.steps, inputs: call.recipe.inputSchema)
    case .cases(let cases):
      ObjectSchema(
        common: cases.list.filter { !$0.block.steps.contains(where: \.alwaysFails) }.map {
          $0.outputs?.declaredOutput(of: $0.block) ?? $0.block.declaredOutput
        })
    case .parallel(let branches):
      ObjectSchema(fields: branches.map { FieldSchema($0.name, .object($0.block.declaredOutput), "") })
    default: nil
    }
  }
}

extension Block {
  fileprivate var declaredOutput: ObjectSchema {
    var fields: [FieldSchema] = []
    for step in steps {
      guard let id = step.id, let type = step.declaredOutput else { continue }
      fields.append(FieldSchema(id, type, ""))
    }
    return ObjectSchema(fields: fields)
  }
}

extension Step {
  fileprivate var declaredOutput: FieldType? {
    let carried = repetition.flatMap { $0.hasMemory ? ObjectSchema($0.carried) : nil }
    guard let output = carried ?? kind.declaredOutput else { return nil }
    guard let loop else { return .object(output) }
    // If an item's error is caught, the loop returns the outcome of each item.
    let givesItems = onError == nil ? loop.onItemError == .stop : onError?.value != nil
    return givesItems ? .list(.object(output)) : nil
  }
}
