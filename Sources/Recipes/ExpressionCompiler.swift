import ActionKit
import Basics
import Calendars
import Expressions
import YAMLReader

/// Compiles the expressions of one file, with every fault at its place in it.
struct ExpressionCompiler {
  let findings: Findings
  private let secretsRead = SecretsRead()

  init(findings: Findings) { self.findings = findings }

  /// The secrets that the expressions compiled so far read.
  var secrets: [(name: String, location: Diagnostic.Location?)] { secretsRead.list }

  // MARK: Places that want an expression

  /// A condition: bare CEL, or one `${{ … }}`, of type bool.
  func condition(_ value: Value, of what: String, in scope: Scope) -> RecipeExpression? {
    expression(value, of: what, in: scope, expecting: .bool)
  }

  /// Bare CEL, or one `${{ … }}`.
  func expression(
    _ value: Value, of what: String, in scope: Scope, expecting: ValueType? = nil
  ) -> RecipeExpression? {
    guard let (text, placing) = text(of: value, what) else { return nil }
    let compiled = Template.parseExpression(text).flatMap { $0.compile(in: scope.expressions, expecting: expecting) }
    switch compiled {
    case .failure(let faults):
      report(faults, placing, value)
      return nil
    case .success(let template):
      note(template, placing)
      return template.programs.first.map { RecipeExpression($0, placing) }
    }
  }

  // MARK: Values in which texts may hold expressions

  /// A value of whatever type, or of the one that is expected; literals are brought to it.
  func template(_ value: Value, of what: String, in scope: Scope, expecting: ValueType? = nil) -> ValueTemplate? {
    var compilation = Compilation(compiler: self, scope: scope, checksLiterals: true)
    let template = compilation.template(value, expecting: expecting, path: what.filter { $0 != "'" })
    return compilation.isFaulty ? nil : template
  }

  /// A text that is shown and kept, so that no secret may be in it.
  func message(_ value: Value, of what: String, in scope: Scope) -> ValueTemplate? {
    guard let template = template(value, of: what, in: scope, expecting: .string) else { return nil }
    return refusingSecrets(template, of: what, at: value)
  }

  /// Named values that are shown and kept.
  func outputs(_ value: Value, of what: String, in scope: Scope) -> [NamedTemplate] {
    guard let map = value.map else {
      findings.error("\(what) takes a mapping from names to values", at: value)
      return []
    }
    return map.members.compactMap { member in
      guard let name = findings.text(member.key, of: "an output") else { return nil }
      let template = template(member.value, of: name, in: scope) ?? .literal(.null, .dyn)
      return refusingSecrets(template, of: "output '\(name)'", at: member.value).map {
        NamedTemplate(name: name, template: $0)
      }
    }
  }

  private func refusingSecrets(_ template: ValueTemplate, of what: String, at value: Value) -> ValueTemplate? {
    guard template.type.holdsSecret else { return template }
    findings.error("\(what) holds a secret, which must not be shown or kept; leave it out", at: value)
    return nil
  }

  /// The input of an action, checked against its declaration.
  func input(_ value: Value?, of action: ActionDescriptor, at name: Value, in scope: Scope) -> ValueTemplate? {
    fields(value ?? Value(.map(ValueMap()), at: name.place), of: action.input, path: "with", in: scope)
  }

  /// A map of declared fields: literals are checked against the declaration, expressions against its types.
  func fields(_ value: Value, of schema: ObjectSchema, path: String, in scope: Scope) -> ValueTemplate? {
    let faults = schema.check(value, as: path) { value, _, _ in
      value.string?.contains("${{") ?? false
    } spelling: { value in
      findings.spelling(of: value)
    }
    for fault in faults {
      // An empty range of a value that stands at its key's place is widened to the key.
      findings.add(fault.diagnostic(in: findings.source) { findings.range(at: $0) })
    }
    var compilation = Compilation(compiler: self, scope: scope, checksLiterals: false)
    let template = compilation.template(value, expecting: schema.inputType, path: path)
    return compilation.isFaulty || faults.contains { $0.severity == .error } ? nil : template
  }

  // MARK: Literals of the languages inside recipes

  func pattern(_ text: String, at value: Value) -> InputPattern? {
    do throws(Pattern.Malformed) { return try InputPattern(text) } catch {
      findings.error("the pattern is malformed: \(error.message)", at: value)
      return nil
    }
  }

  func zone(_ value: Value, of what: String) -> String? {
    guard let name = findings.text(value, of: what) else { return nil }
    do throws(TimeZoneError) {
      _ = try TimeZoneDatabase.system.rules(named: name)
      return name
    } catch {
      findings.error(error.message, at: value)
      return nil
    }
  }

  func cron(_ value: Value) -> CronExpression? {
    guard let text = findings.text(value, of: "'cron'") else { return nil }
    let placing = placing(of: value)
    let (expression, faults) = CronExpression.parse(text)
    for fault in faults {
      findings.add(
        Diagnostic(
          fault.message, at: placing.location(fault.range) ?? findings.location(of: value), severity: fault.severity))
    }
    return expression
  }

  // MARK: Places

  fileprivate func placing(of value: Value) -> Placing {
    Placing(source: findings.source, scalar: findings.document.scalar(at: value.place))
  }

  fileprivate func report(_ faults: ExpressionFaults, _ placing: Placing, _ value: Value) {
    for fault in faults.list {
      findings.add(
        Diagnostic(
          fault.message, at: placing.location(fault.range) ?? findings.location(of: value), severity: fault.severity))
    }
  }

  fileprivate func note(_ template: CompiledTemplate, _ placing: Placing) {
    secretsRead.add(template.references("secrets"), placing)
  }

  /// The text of a place that wants an expression; YAML reads `true` and `3` as what they are in CEL too.
  private func text(of value: Value, _ what: String) -> (String, Placing)? {
    switch value.content {
    case .string(let text): return (text, placing(of: value))
    case .bool, .int, .double: return (value.plainText, Placing(source: findings.source, scalar: nil))
    default:
      findings.error(
        "\(what) takes an expression, but found \(value.kindName); put the whole value in quotes", at: value)
      return nil
    }
  }
}

/// The secrets that are read, each with its first place.
private final class SecretsRead {
  var list: [(name: String, location: Diagnostic.Location?)] = []

  func add(_ references: [(path: [String], range: Range<Int>)], _ placing: Placing) {
    for reference in references {
      guard let name = reference.path.first, !list.contains(where: { $0.name == name }) else { continue }
      list.append((name, placing.location(reference.range)))
    }
  }
}

/// One value on its way to a template.
private struct Compilation {
  let compiler: ExpressionCompiler
  let scope: Scope
  /// Whether literals are brought to the expected types; else a declaration has checked them already.
  let checksLiterals: Bool
  var isFaulty = false

  mutating func template(_ value: Value, expecting: ValueType?, path: String) -> ValueTemplate {
    switch value.content {
    case .string(let text) where text.contains("${{"):
      return expression(text, value, expecting: expecting)
    case .list(let items) where value.holdsExpression:
      let element: ValueType? = if case .list(let element)? = expecting?.withoutSecret { element } else { nil }
      mismatch(value, expecting, path)
      let templates = items.enumerated().map { template($1, expecting: element, path: "\(path)[\($0)]") }
      return .list(templates, .list(ValueType.common(templates.map(\.type)) ?? .dyn))
    case .map(let map) where value.holdsExpression:
      mismatch(value, expecting, path)
      return self.map(map, value, expecting: expecting, path: path)
    default:
      return literal(value, expecting: expecting, path: path)
    }
  }

  private mutating func expression(_ text: String, _ value: Value, expecting: ValueType?) -> ValueTemplate {
    let placing = compiler.placing(of: value)
    switch Template.parse(text).flatMap({ $0.compile(in: scope.expressions, expecting: expecting) }) {
    case .failure(let faults):
      compiler.report(faults, placing, value)
      isFaulty = true
      return .literal(.null, faults.type ?? .dyn)
    case .success(let template):
      compiler.note(template, placing)
      return .template(ValueTemplate.LocatedTemplate(template: template, placing: placing))
    }
  }

  private mutating func map(_ map: ValueMap, _ value: Value, expecting: ValueType?, path: String) -> ValueTemplate {
    var members: [(key: Value, value: ValueTemplate)] = []
    var fields: [ObjectType.Field] = []
    for member in map.members {
      let name = member.name ?? member.key.plainText
      let expected: ValueType?
      switch expecting?.withoutSecret {
      case .object(let object):
        expected = object[name]?.type
        if checksLiterals, object[name] == nil {
          let guess = name.nearest(among: object.fields.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
          compiler.findings.error("'\(path)' has no field '\(name)'\(guess)", at: member.key)
          isFaulty = true
        }
      case .map(_, let type): expected = type
      default: expected = nil
      }
      let template = template(member.value, expecting: expected, path: "\(path).\(name)")
      members.append((member.key, template))
      fields.append(ObjectType.Field(name, template.type))
    }
    if checksLiterals, case .object(let object)? = expecting?.withoutSecret {
      for field in object.fields where !field.isOptional && map[field.name] == nil {
        compiler.findings.error("'\(path)' needs '\(field.name)' (\(field.type))", at: value)
        isFaulty = true
      }
    }
    return .map(members, expecting ?? .object(ObjectType(fields: fields)))
  }

  /// A list or map with expressions in it, where something else is wanted.
  private mutating func mismatch(_ value: Value, _ expecting: ValueType?, _ path: String) {
    guard checksLiterals, let expecting = expecting?.withoutSecret else { return }
    switch (expecting, value.content) {
    case (.dyn, _), (.list, .list), (.map, .map), (.object, .map): return
    default:
      compiler.findings.error("'\(path)' takes \(expecting), but found \(value.kindName)", at: value)
      isFaulty = true
    }
  }

  private mutating func literal(_ value: Value, expecting: ValueType?, path: String) -> ValueTemplate {
    guard checksLiterals, let expecting else { return .literal(value, expecting ?? value.inferredType) }
    var conformance = Conformance()
    let brought = conformance.bring(value, to: expecting, path: path)
    for fault in conformance.faults {
      compiler.findings.error(fault.message, at: fault.value)
      isFaulty = true
    }
    return .literal(brought ?? value, expecting)
  }
}

extension Value {
  /// Whether any text in the value is, or holds, an expression; its depth is limited where it is read.
  fileprivate var holdsExpression: Bool {
    switch content {
    case .string(let text): text.contains("${{")
    case .list(let items): items.contains(where: \.holdsExpression)
    case .map(let map): map.members.contains { $0.value.holdsExpression }
    default: false
    }
  }

  /// The type of a literal of a recipe.
  fileprivate var inferredType: ValueType {
    switch content {
    case .null: .null
    case .bool: .bool
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .string: .string
    case .bytes: .bytes
    case .timestamp: .timestamp
    case .duration: .duration
    case .list(let items): .list(ValueType.common(items.map(\.inferredType)) ?? .dyn)
    case .map(let map):
      .object(
        ObjectType(
          fields: map.members.map { ObjectType.Field($0.name ?? $0.key.plainText, $0.value.inferredType) }))
    case .optional, .type: .dyn
    }
  }
}

extension ValueType {
  fileprivate var withoutSecret: ValueType { if case .secret(let inner) = self { inner } else { self } }

  /// The one type of several values: the same of all, or `dyn`; nil for no values.
  fileprivate static func common(_ types: [ValueType]) -> ValueType? {
    guard let first = types.first else { return nil }
    return types.allSatisfy { $0 == first } ? first : .dyn
  }
}
