import ActionKit
import Basics
import Calendars
import Expressions
import YAMLReader

/// Compiles the expressions of one file, with every fault at its place in it.
struct ExpressionCompiler {
  let findings: Findings
  /// The zone of functions of times that are given none.
  let zone: String
  private let secretsRead = SecretsRead()
  private let evaluated: EvaluatedPlaces

  init(findings: Findings, zone: String = "UTC") {
    self.findings = findings
    self.zone = zone
    evaluated = EvaluatedPlaces()
  }

  /// A compiler for a part of the same file, which collects the secrets that this part reads.
  init(ofPartOf whole: ExpressionCompiler) {
    findings = whole.findings
    zone = whole.zone
    evaluated = whole.evaluated
  }

  /// The secrets that the expressions compiled so far read.
  var secrets: [(name: String, location: Diagnostic.Location?)] { secretsRead.list }

  /// Reports each `${{ … }}` of a file that is never evaluated, unless it is part of a faulty value.
  ///
  /// - Parameter spared: The key of values that are compared as they are written.
  func refuseUnevaluated(in root: Value, sparing spared: String? = nil) {
    let faults = findings.list.filter { $0.severity == .error }.compactMap(\.location?.range.lowerBound)
    refuseUnevaluated(in: root, isFaulty: Set(faults), sparing: spared)
  }

  private func refuseUnevaluated(in value: Value, isFaulty: Set<Int>, sparing spared: String?) {
    func isAtFault(_ value: Value) -> Bool {
      findings.location(of: value).map { isFaulty.contains($0.range.lowerBound) } ?? false
    }
    guard value.mayHoldExpression, !isAtFault(value) else { return }
    switch value.content {
    case .string:
      guard let offset = value.place.offset, !evaluated.contains(offset) else { return }
      findings.error("an expression isn't allowed here; write the value out", at: value)
    case .list(let items): for item in items { refuseUnevaluated(in: item, isFaulty: isFaulty, sparing: spared) }
    case .map(let map):
      for member in map.members where !isAtFault(member.key) && (spared == nil || member.name != spared) {
        if member.name?.holdsExpression == true { findings.error("a name can't hold an expression", at: member.key) }
        refuseUnevaluated(in: member.value, isFaulty: isFaulty, sparing: spared)
      }
    default: break
    }
  }

  /// The names of a scope, with the zone of the file.
  fileprivate func expressions(_ scope: Scope) -> ExpressionScope {
    var expressions = scope.expressions
    expressions.zone = zone
    return expressions
  }

  // MARK: Places for expressions

  /// A condition: bare CEL, or one `${{ … }}`, of type bool.
  func condition(_ value: Value, of what: String, in scope: Scope) -> RecipeExpression? {
    if let text = value.string, looksLikeYAML11Bool(text), !scope.has(text) {
      _ = findings.bool(value, of: what)
      return nil
    }
    return expression(value, of: what, in: scope, expecting: .bool)
  }

  /// Bare CEL, or one `${{ … }}`.
  func expression(
    _ value: Value, of what: String, in scope: Scope, expecting: ValueType? = nil
  ) -> RecipeExpression? {
    guard let (text, placing) = text(of: value, what) else { return nil }
    evaluated.insert(value)
    observe(text, placing, isBare: !text.holdsExpression, expecting, in: scope)
    let bare = text.trimmed
    if bare.hasPrefix("{{"), bare.hasSuffix("}}") {
      let inner = String(bare.dropFirst(2).dropLast(2)).trimmed
      let advice = MessageText("write \(inner)", [.code(inner, for: 0..<text.utf8.count)])
      findings.error("\(what) takes an expression without braces; \(advice)", at: value)
      return nil
    }
    let compiled = Template.parseExpression(text).flatMap { $0.compile(in: expressions(scope), expecting: expecting) }
    switch compiled {
    case .failure(let faults):
      report(faults, placing, value)
      return nil
    case .success(let template):
      note(template, placing, scope)
      return template.programs.first.map { RecipeExpression($0, placing) }
    }
  }

  // MARK: Values with expressions

  /// A value of any type.
  func template(_ value: Value, of what: String, in scope: Scope) -> ValueTemplate? {
    typed(value, of: what, in: scope).template
  }

  /// Compiles a value of any type; as much of its type as is known is returned even if the value is faulty.
  func typed(_ value: Value, of what: String, in scope: Scope) -> (template: ValueTemplate?, type: ValueType) {
    var compilation = Compilation(compiler: self, scope: scope)
    let template = compilation.template(value, expecting: nil)
    return (compilation.isFaulty ? nil : template, template.type)
  }

  /// Compiles a text that can't hold a secret, because it is shown or kept.
  func text(_ value: Value, of what: String, in scope: Scope) -> ValueTemplate? {
    guard value.string != nil else {
      findings.error("\(what) \(value.isNoText(findings.spelling(of: value)))", at: value)
      return nil
    }
    var compilation = Compilation(compiler: self, scope: scope)
    let template = compilation.template(value, expecting: .string)
    return compilation.isFaulty ? nil : template
  }

  /// Named values that are shown and kept, and the type of all of them.
  func outputs(_ value: Value, of what: String, in scope: Scope) -> (templates: [NamedTemplate], type: ValueType) {
    guard let map = value.map else {
      findings.error("'outputs' takes a mapping from names to values, but found \(value.written)", at: value)
      return ([], .dyn)
    }
    var templates: [NamedTemplate] = []
    var fields: [ObjectType.Field] = []
    for member in map.members {
      let name = member.key.plainText
      if !Names.isWellFormed(name) { findings.error("the output '\(name)' \(Names.form)", at: member.key) }
      let (template, type) = typed(member.value, of: name, in: scope)
      if type.holdsSecret {
        findings.error(
          "output '\(name)' holds a secret, which must not be shown or kept; leave it out", at: member.value)
      }
      for part in Names.parts(of: name) { fields.append(ObjectType.Field(part, type)) }
      if let template { templates.append(NamedTemplate(name: name, template: template)) }
    }
    return (templates, .object(ObjectType(what, fields: fields)))
  }

  /// A map of declared fields: literals and constants are checked against the declaration, other expressions against
  /// its types.
  ///
  /// - Parameter warnsOfSecrets: Whether secrets should not be written out here.
  func fields(
    _ value: Value, of schema: ObjectSchema, path: String, in scope: Scope, warnsOfSecrets: Bool = true
  ) -> (template: ValueTemplate?, given: StepInput) {
    let taking = schema.pathsTakingSecrets.map { "'\($0)'" }
    let hint =
      taking.isEmpty
      ? "none of '\(path)' does, because what they are given is shown or kept"
      : "of '\(path)' \(taking.count == 1 ? "this is" : "these are") \(taking.joined(separator: ", "))"
    var compilation = Compilation(compiler: self, scope: scope, secretHint: "; \(hint)")
    let template = compilation.template(value, expecting: schema.inputType)
    let known = value.replacing(compilation.constants)
    let faults = schema.check(known, as: path) { value, _, _ in
      value.string?.holdsExpression ?? false
    } spelling: {
      findings.spelling(of: $0)
    }
    for fault in faults { findings.add(fault) }
    for field in schema.fields {
      for secret in field.secrets(in: value) where secret.string?.holdsExpression == false {
        // A topic is a secret in the place of a token, wherever its server is, and known to everyone if it is a word.
        var isInPlaceOfAnother = false
        if case .unless = field.secrecy { isInPlaceOfAnother = true }
        if !isInPlaceOfAnother || secret.string?.isPlainWord != true { findings.hide(secret) }
        guard warnsOfSecrets || isInPlaceOfAnother else { continue }
        let consequence = isInPlaceOfAnother ? "; in other texts it is hidden, unless it is a plain word" : ""
        findings.warning(
          "'\(path).\(field.name)' is a secret in plain text; put it into the environment or a file of secrets, and write "
            + "${{ secrets.NAME }}\(consequence)", at: secret)
      }
    }
    if case .map(let members, _) = template {
      for (key, given) in members where given.type.mayBeNull {
        guard let name = key.string, let refusal = schema.fields.first(where: { $0.name == name })?.refusalOfNull,
          case .template = given
        else { continue }
        let reason = given.type == .null ? "" : ", and this may be"
        findings.error("'\(path).\(name)' must \(refusal)\(reason)", at: value[name] ?? value)
        compilation.isFaulty = true
      }
    }
    return (
      compilation.isFaulty || faults.contains { $0.severity == .error } ? nil : template,
      StepInput(known.withoutExpressions, computed: compilation.computed)
    )
  }

  /// Warns of texts that look like expressions to people of other languages.
  ///
  /// - Parameter isScript: Whether a shell expands the text: a script, or an argument of one, which it may pass to a
  ///   shell.
  fileprivate func warnOfForeignExpressions(in value: Value, _ scope: Scope, isScript: Bool) {
    switch value.content {
    case .string(let text):
      let bytes = Array(text.utf8)
      for found in scope.foreignExpressions(in: text, isScript: isScript) {
        let written = String(decoding: bytes[found.range], as: UTF8.self)
        findings.add(
          "'\(written)' is sent as it is written; \(found.hint)",
          at: placing(of: value).location(found.range) ?? findings.location(of: value), about: value, severity: .warning
        )
      }
    case .list(let items): for item in items { warnOfForeignExpressions(in: item, scope, isScript: isScript) }
    case .map(let map):
      for member in map.members {
        warnOfForeignExpressions(in: member.value, scope, isScript: isScript || map.givesShell(member.name))
      }
    default: break
    }
  }

  // MARK: Literals of the languages inside recipes

  func pattern(_ value: Value) -> TextPattern? {
    guard let text = findings.text(value, of: "'pattern'") else { return nil }
    do throws(PatternError) {
      // Compile it alone first, so that an error is about the text as written.
      _ = try Pattern(text)
      let pattern = try Pattern("^(?:\(text))$")
      return TextPattern("of the form \(text)", regex: "^(?:\(text))$", accepted: [], refused: []) {
        pattern.matches($0)
      }
    } catch {
      findings.error("the pattern is malformed: \(error.message)", at: value)
      return nil
    }
  }

  func zone(_ value: Value, of what: String) -> TimeZoneRules? {
    guard let name = findings.text(value, of: what, isFree: false) else { return nil }
    do throws(TimeZoneError) {
      return try TimeZoneDatabase.system.rules(named: name)
    } catch {
      findings.error(error.text, at: value)
      return nil
    }
  }

  /// - Parameter moving: The edits that write a zone in its own key, if there is none yet.
  func cron(_ value: Value, moving: (_ zone: String) -> [Diagnostic.Edit]? = { _ in nil }) -> CronExpression? {
    guard let text = findings.text(value, of: "'cron'", isFree: false) else { return nil }
    let placing = placing(of: value)
    let (expression, faults) = CronExpression.parse(text)
    for fault in faults {
      var suggestions = fault.suggestions
      if let zone = fault.zone, zone.removal.upperBound <= text.utf8.count,
        (try? TimeZoneDatabase.system.rules(named: zone.name)) != nil, let added = moving(zone.name),
        let scalar = findings.document.scalar(at: value.place),
        let removed = findings.document.fix(.code("", for: zone.removal), for: scalar, with: value)
      {
        // A value with an anchor may be shared by other entries.
        let start = findings.source.line(at: scalar.range.lowerBound).start
        let isShared = findings.source.bytes[start..<scalar.range.lowerBound].contains(ASCII.ampersand)
        suggestions.append(
          Suggestion("write zone: \(zone.name)", .edits(removed.edits + added), isTentative: isShared))
      }
      findings.add(
        MessageText(fault.message, suggestions),
        at: placing.location(fault.range) ?? findings.location(of: value), about: value, severity: fault.severity)
    }
    return expression
  }

  // MARK: Places

  fileprivate func placing(of value: Value) -> Placing {
    Placing(source: findings.source, scalar: findings.document.scalar(at: value.place))
  }

  /// - Parameter secretHint: Where secrets may be given instead.
  fileprivate func report(
    _ faults: ExpressionError, _ placing: Placing, _ value: Value, secretHint: String = ""
  ) {
    for (fault, location) in zip(faults.list, placing.locations(faults.list.map(\.range))) {
      findings.add(
        MessageText(fault.isAboutSecret ? fault.message + secretHint : fault.message, fault.suggestions),
        at: location ?? findings.location(of: value), about: value, severity: fault.severity)
    }
  }

  /// Passes a text with expressions to the observer, if there is one.
  fileprivate func observe(
    _ text: String, _ placing: Placing, isBare: Bool, _ expected: ValueType?, in scope: Scope
  ) {
    guard let observer = findings.observer, placing.scalar != nil else { return }
    observer.note(
      CheckObserver.Text(
        placing: placing, value: Array(text.utf8), isBare: isBare, scope: scope, names: expressions(scope),
        expected: expected))
  }

  /// Takes down that a text's expressions are evaluated.
  func noteEvaluated(_ value: Value) { evaluated.insert(value) }

  /// Takes down a text in the form of an expression that is read as it is written, with the names that it may hold.
  func noteRead(_ value: Value, in scope: Scope, expecting: ValueType? = nil) {
    noteEvaluated(value)
    if let text = value.string { observe(text, placing(of: value), isBare: false, expecting, in: scope) }
  }

  fileprivate func note(_ template: CompiledTemplate, _ placing: Placing, _ scope: Scope) {
    warnOfOwnNames(ofSteps: template.references("steps"), placing, in: scope)
    for reference in template.references("secrets") {
      let location = placing.location(reference.range)
      if let name = reference.path.first {
        secretsRead.add(name, location)
      } else {
        // Which secrets a run needs is asked before it starts.
        findings.add(Diagnostic("a secret is read by its name, as in secrets.TOKEN", at: location))
      }
    }
  }

  /// The text in the place of an expression; YAML reads `true` and `3` as the same values as CEL.
  private func text(of value: Value, _ what: String) -> (String, Placing)? {
    switch value.content {
    case .string(let text): return (text, placing(of: value))
    case .bool, .int, .uint, .double: return (value.plainText, Placing(source: findings.source, scalar: nil))
    default:
      findings.error(
        "\(what) takes an expression, but found \(value.kindName); write the whole value in quotes", at: value)
      return nil
    }
  }
}

/// The places of texts whose expressions were compiled.
private final class EvaluatedPlaces {
  private var offsets: Set<Int> = []

  func insert(_ value: Value) { if let offset = value.place.offset { offsets.insert(offset) } }

  func contains(_ offset: Int) -> Bool { offsets.contains(offset) }
}

/// The secrets that are read, each with its first place.
private final class SecretsRead {
  var list: [(name: String, location: Diagnostic.Location?)] = []

  func add(_ name: String, _ location: Diagnostic.Location?) {
    if !list.contains(where: { $0.name.hasSameScalars(as: name) }) { list.append((name, location)) }
  }
}

/// One value on its way to a template.
///
/// The types of expressions are checked here; literals are checked by the reader that has their declaration.
private struct Compilation {
  let compiler: ExpressionCompiler
  let scope: Scope
  var secretHint = ""
  var isFaulty = false
  /// The values of constant expressions, by the place of their text; null and absent values are left to the check of
  /// types.
  private(set) var constants: [Int: Value] = [:]
  /// The types of the other expressions, by the place of their text.
  private(set) var computed: [Int: ValueType] = [:]

  /// - Parameters:
  ///   - field: The declared field that the value is given for, if it is one's.
  ///   - mayBeLeftOut: Whether it is a member of a map that may do without it.
  ///   - isScript: Whether a shell expands its texts.
  mutating func template(
    _ value: Value, expecting: ValueType?, field: ObjectType.Field? = nil, mayBeLeftOut: Bool = false,
    isScript: Bool = false
  ) -> ValueTemplate {
    guard value.holdsExpression else {
      compiler.warnOfForeignExpressions(in: value, scope, isScript: isScript)
      return .literal(value, expecting ?? value.inferredType)
    }
    switch value.content {
    case .string(let text):
      return expression(
        text, value, expecting: expecting, field: field, mayBeLeftOut: mayBeLeftOut, isScript: isScript)
    case .list(let items):
      let templates = items.map { template($0, expecting: expecting?.element, isScript: isScript) }
      return .list(templates, .list(ValueType.common(templates.map(\.type)) ?? .dyn))
    default: return self.map(value.map ?? ValueMap(), expecting: expecting)
    }
  }

  private mutating func expression(
    _ text: String, _ value: Value, expecting: ValueType?, field: ObjectType.Field?, mayBeLeftOut: Bool, isScript: Bool
  ) -> ValueTemplate {
    let placing = compiler.placing(of: value)
    compiler.noteEvaluated(value)
    compiler.observe(text, placing, isBare: false, expecting, in: scope)
    let takesAnything = field?.type.unsealed == .dyn
    switch Template.parse(text).flatMap({
      $0.compile(
        in: compiler.expressions(scope), expecting: expecting, takesOptional: !takesAnything,
        leavesOutAbsent: mayBeLeftOut
      )
    }) {
    case .failure(let faults):
      compiler.report(faults, placing, value, secretHint: secretHint)
      isFaulty = true
      return .literal(.null, faults.type ?? .dyn)
    case .success(let template):
      compiler.note(template, placing, scope)
      // Most texts have no more than the beginning of one expression.
      if text.utf8.count(where: { $0 == ASCII.dollar || $0 == ASCII.openBrace }) > "${{".utf8.count {
        compiler.warnOfForeignExpressions(in: value, scope, isScript: isScript)
      }
      if let offset = value.place.offset {
        let constant = template.constant
        if let constant, constant.isPlain {
          constants[offset] = constant
        } else {
          computed[offset] = mayBeLeftOut ? template.type.heldIfPresent ?? template.type : template.type
        }
      }
      return .template(
        ValueTemplate.LocatedTemplate(
          template: template, placing: placing, keepsNull: takesAnything && field?.isOptional == false,
          leavesOutAbsent: mayBeLeftOut))
    }
  }

  private mutating func map(_ map: ValueMap, expecting: ValueType?) -> ValueTemplate {
    var members: [(key: Value, value: ValueTemplate)] = []
    var fields: [ObjectType.Field] = []
    for member in map.members {
      let name = member.name ?? member.key.plainText
      let wanted = if case .object(let object)? = expecting { object[name] } else { nil as ObjectType.Field? }
      let template = template(
        member.value, expecting: expecting?.member(name), field: wanted, mayBeLeftOut: wanted?.isOptional ?? true,
        isScript: wanted != nil && map.givesShell(name))
      members.append((member.key, template))
      var field = ObjectType.Field(name, template.type)
      if case .template(let located) = template {
        if located.leavesOutAbsent, located.template.type.heldIfPresent != nil { field.isOptional = true }
        // A null that an expression gives is an absent field.
        switch template.type {
        case .wrapper(let wrapped): (field.type, field.isOptional) = (wrapped, true)
        case .null: field.isOptional = true
        default: break
        }
      }
      fields.append(field)
    }
    return .map(members, expecting ?? .object(ObjectType(fields: fields)))
  }
}

extension ValueMap {
  /// Whether a member is a script of a shell, or the arguments of one.
  fileprivate func givesShell(_ name: String?) -> Bool {
    name == "script" || name == "arguments" && self["script"] != nil
  }
}

extension Value {
  /// The value with null in the place of each text that holds an expression.
  var withoutExpressions: Value {
    switch content {
    case .string(let text): text.holdsExpression ? Value(.null, at: place) : self
    case .list(let items): Value(.list(items.map(\.withoutExpressions)), at: place)
    case .map(let map):
      Value(
        .map(
          map.members.reduce(into: ValueMap()) { known, member in
            known[member.key] = member.value.withoutExpressions
          }), at: place)
    default: self
    }
  }

  /// The value with texts replaced, by the places of the texts.
  fileprivate func replacing(_ others: [Int: Value]) -> Value {
    if others.isEmpty { return self }
    switch content {
    case .string: return place.offset.flatMap { others[$0] }?.placed(at: place) ?? self
    case .list(let items): return Value(.list(items.map { $0.replacing(others) }), at: place)
    case .map(let map):
      return Value(
        .map(
          map.members.reduce(into: ValueMap()) { replaced, member in
            replaced[member.key] = member.value.replacing(others)
          }), at: place)
    default: return self
    }
  }

  /// The value with a place, which all of its parts have too.
  func placed(at place: Place) -> Value {
    switch content {
    case .list(let items): Value(.list(items.map { $0.placed(at: place) }), at: place)
    case .map(let map):
      Value(
        .map(
          map.members.reduce(into: ValueMap()) { placed, member in
            placed[Value(member.key.content, at: place)] = member.value.placed(at: place)
          }), at: place)
    default: Value(content, at: place)
    }
  }

  /// Whether a computed value could be written out as well; a null couldn't, because it means an absent value.
  fileprivate var isPlain: Bool {
    switch content {
    case .null, .optional, .type, .masked: false
    default: true
    }
  }

  /// Whether any text in the value is, or holds, an expression; its depth is limited where it is read.
  var holdsExpression: Bool {
    switch content {
    case .string(let text): text.holdsExpression
    case .list(let items): items.contains(where: \.holdsExpression)
    case .map(let map): map.members.contains { $0.value.holdsExpression }
    default: false
    }
  }

  /// Whether a text or key in the value holds an expression.
  fileprivate var mayHoldExpression: Bool {
    switch content {
    case .string(let text): text.holdsExpression
    case .list(let items): items.contains(where: \.mayHoldExpression)
    case .map(let map): map.members.contains { $0.name?.holdsExpression == true || $0.value.mayHoldExpression }
    default: false
    }
  }

  /// The type of a literal of a recipe.
  fileprivate var inferredType: ValueType {
    switch content {
    case .list(let items): .list(ValueType.common(items.map(\.inferredType)) ?? .dyn)
    case .map(let map):
      .object(
        ObjectType(
          fields: map.members.map { ObjectType.Field($0.name ?? $0.key.plainText, $0.value.inferredType) }))
    default: scalarType
    }
  }
}

extension String {
  /// Whether `${{` is in the text.
  var holdsExpression: Bool {
    var rest = utf8[...]
    while let dollar = rest.firstIndex(of: ASCII.dollar) {
      rest = rest[rest.index(after: dollar)...]
      if rest.starts(with: [ASCII.openBrace, ASCII.openBrace]) { return true }
    }
    return false
  }
}

extension ValueType {
  /// Whether null is a value of the type.
  fileprivate var mayBeNull: Bool {
    switch self {
    case .null, .wrapper: true
    default: false
    }
  }

  /// The type without its being a secret.
  fileprivate var unsealed: ValueType { if case .secret(let of) = self { of.unsealed } else { self } }

  /// The type that an item must have: in a type that takes secrets it may be a secret, in `dyn` it may not.
  fileprivate var element: ValueType? {
    switch self {
    case .secret(let of): of.element.map { .secret($0) }
    case .list(let element): element
    case .dyn: .dyn
    default: nil
    }
  }

  /// The type that a member of a value of the type must have.
  fileprivate func member(_ name: String) -> ValueType? {
    switch self {
    case .secret(let of): of.member(name).map { .secret($0) }
    case .object(let object): object[name]?.type
    case .map(_, let type): type
    case .dyn: .dyn
    default: nil
    }
  }

  /// The common type of several values; nil if they have none.
  fileprivate static func common(_ types: [ValueType]) -> ValueType? {
    guard let first = types.first else { return nil }
    if types.allSatisfy({ $0 == first }) { return first }
    return types.contains(where: \.holdsSecret) ? .secret(.dyn) : joined(types)
  }
}
