import ActionKit
import Basics
import Expressions

/// Reads steps and checks them in the order in which they run, each in the scope that the ones before it made.
///
/// What is at fault is given the type `dyn`, so that one fault is one error and not one at each use.
struct StepReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  let policies: PolicyReader
  let environment: RecipeEnvironment
  let calls: RecipeCalls
  let defaults: StepDefaults
  let ids: StepIdentifiers
  let called: CalledRecipes

  // MARK: Blocks

  /// Reads a list of steps; `scope` has afterwards what the block declared.
  func block(_ value: Value, of what: String, in scope: inout Scope) -> Block {
    let scopeSize = scope.size
    let outer = Set(scope.steps.map(\.name))
    guard let items = value.list, !items.isEmpty else {
      findings.error(
        value.list == nil
          ? "\(what) takes a list of steps, but found \(value.kindName)" : "\(what) needs at least one step", at: value)
      return Block(steps: [], scopeSize: scopeSize, type: ObjectType(fields: []))
    }
    var steps: [Step] = []
    for (index, item) in items.enumerated() {
      if let step = step(item, number: index + 1, in: &scope) { steps.append(step) }
    }
    let own = scope.steps.filter { !outer.contains($0.name) }
    return Block(steps: steps, scopeSize: scopeSize, type: ObjectType(what, fields: own))
  }

  /// Reads a block whose declarations end with it.
  private func innerBlock(_ value: Value, of what: String, in scope: Scope) -> Block {
    var scope = scope
    return block(value, of: what, in: &scope)
  }

  // MARK: Steps

  private static let kinds = ["uses", "let", "wait", "approve", "parallel", "steps", "call", "fail"]

  private func step(_ value: Value, number: Int, in scope: inout Scope) -> Step? {
    guard var fields = Fields(value, of: "a step", findings) else { return nil }
    let present = fields.keys.filter { key in StepReader.kinds.contains { $0.hasSameScalars(as: key) } }
    guard let word = present.first, let member = fields.member(word) else {
      // The misspelt key, if there is one, is what this error is about; the rest of the step would only add to it.
      let list = StepReader.kinds.joined(separator: ", ")
      let guess = fields.keys.lazy.compactMap { $0.nearest(among: StepReader.kinds) }.first
      findings.error("a step needs one of \(list)\(guess.map { "; did you mean '\($0)'?" } ?? "")", at: value)
      declareFaulty(value, in: &scope)
      return nil
    }
    // What a step of this kind takes is asked for by name below; the rest is unknown and reported at the end.
    let id = fields.member("id").flatMap { self.id($0.value) }
    let name = fields.take("name").flatMap { findings.text($0, of: "'name'") }
    let condition = fields.take("if").flatMap { compiler.condition($0, of: "'if'", in: scope) }
    var inner = scope
    if let condition { inner.assume(condition, is: true) }

    let loopValue = fields.member("forEach")
    let loop = self.loop(loopValue?.value, &fields, scope: &inner)
    let timeoutValue = fields.member("timeout")
    var timeout = timeoutValue.map { policies.timeout($0.value) } ?? TimeLimits()
    let retryValue = fields.member("retry")
    var retry = retryValue.flatMap { policies.retry($0.value, scope: inner) }

    var outcome: (kind: Step.Kind, type: ValueType)?
    var allowed: Set<String> = ["onError"]
    switch word {
    case "uses":
      allowed.formUnion(["forEach", "retry", "timeout"])
      outcome = action(member.value, &fields, retry: &retry, retryKey: retryValue?.key, scope: inner)
      if timeoutValue == nil { timeout = defaults.timeout }
    case "let":
      allowed = []
      outcome = bindings(member.value, isConditional: condition != nil, inner: inner, scope: &scope)
    case "wait":
      allowed.insert("timeout")
      outcome = wait(member.value, scope: inner, timeout: &timeout)
    case "approve":
      allowed.insert("timeout")
      outcome = approval(member.value, scope: inner, timeout: &timeout)
    case "parallel":
      outcome = parallel(member.value, scope: inner)
    case "steps":
      allowed.formUnion(["forEach", "retry", "timeout"])
      outcome = nested(member.value, outputs: fields.take("outputs"), scope: inner)
    case "call":
      allowed.formUnion(["forEach", "retry", "timeout"])
      outcome = call(member, &fields, scope: inner)
    default:
      allowed = []
      outcome = failure(member.value, scope: inner)
    }
    for other in present.dropFirst() {
      if let member = fields.member(other) {
        findings.error("a step does one thing: '\(other)' cannot stand beside '\(word)'; make it a step of its own", at: member.key)
      }
    }
    let onErrorMember = fields.member("onError")
    for member in [loopValue, timeoutValue, retryValue, onErrorMember] {
      if let member, let key = member.name, !allowed.contains(key) {
        findings.error("'\(key)' cannot stand on a '\(word)' step", at: member.key)
      }
    }
    let onError = onErrorMember.flatMap { self.onError($0.value, scope: inner) }
    fields.finish()

    // An item whose error was caught has no output, so the loop gives what became of each.
    var type = outcome?.type ?? ValueType.dyn
    if let loop {
      let givesOutcomes = loop.onItemError == .continue || onError != nil
      type = ValueType.list(givesOutcomes ? ValueType.object(RecipeTypes.outcome(of: type)) : type)
    } else if loopValue != nil {
      type = .dyn
    }
    if let id {
      let mayBeAbsent = condition != nil || (onError != nil && loop == nil)
      scope.add(step: ObjectType.Field(id, type, isOptional: mayBeAbsent))
    }
    guard let outcome else { return nil }
    if case .failure = outcome.kind, let condition, loop == nil { scope.assume(condition, is: false) }
    if let id, case .action(let call) = outcome.kind, loop == nil, condition == nil, onError == nil,
      let repetition = call.repetition
    {
      scope.assume(repetition.until, of: "result", holdsFor: id)
    }
    return Step(
      id: id, name: name, element: id ?? "#\(number)", location: findings.location(of: value), condition: condition,
      loop: loop, onError: onError, retry: retry, timeout: timeout, kind: outcome.kind)
  }

  /// Makes the id and the names of a step that could not be read known, so that their uses are no further errors.
  private func declareFaulty(_ value: Value, in scope: inout Scope) {
    guard let id = value["id"]?.string, Names.fault(in: id) == nil else { return }
    scope.add(step: ObjectType.Field(id, .dyn))
  }

  private func id(_ value: Value) -> String? {
    guard let id = findings.name(value, of: "the id") else { return nil }
    if let first = ids.first(for: id, at: value) {
      findings.error(
        "id '\(id)' is taken; ids are unique in a recipe", at: value,
        notes: [Diagnostic.Note("it is taken here", at: findings.location(of: first))])
      return nil
    }
    return id
  }

  // MARK: Modifiers

  private func loop(
    _ value: Value?, _ fields: inout Fields, scope: inout Scope
  ) -> Loop? {
    let asMember = fields.member("as")
    let indexMember = fields.member("indexAs")
    let whereMember = fields.member("where")
    let parallelMember = fields.member("maxParallel")
    let itemErrorMember = fields.member("onItemError")
    guard let value else {
      for member in [asMember, indexMember, whereMember, parallelMember, itemErrorMember] {
        if let member { findings.error("'\(member.name ?? "")' needs 'forEach' beside it", at: member.key) }
      }
      return nil
    }
    let items = compiler.expression(value, of: "'forEach'", in: scope)
    if let type = items?.program.type, type.holdsSecret {
      findings.error("'forEach' goes through secrets, but its list is kept with the run; name them in 'with'", at: value)
    }
    var element = ValueType.dyn
    switch items?.program.type {
    case .list(let type)?: element = type
    case .dyn?, nil: break
    case .map?:
      findings.error("'forEach' takes a list, but this is a map; go through its keys: m.map(k, k)", at: value)
    case .object?:
      findings.error("'forEach' takes a list, but this is an object", at: value)
    case .some(let type):
      findings.error("'forEach' takes a list, but this is \(type)", at: value)
    }
    let scopeSize = scope.size
    if let asMember {
      if let name = findings.name(asMember.value, of: "'as'") {
        scope.declare(name, element, at: asMember.value, findings)
      }
    } else {
      scope.declare("item", element)
    }
    if let indexMember, let name = findings.name(indexMember.value, of: "'indexAs'") {
      scope.declare(name, .int, at: indexMember.value, findings)
    }
    let condition = whereMember.flatMap { compiler.condition($0.value, of: "'where'", in: scope) }
    if let condition { scope.assume(condition, is: true) }
    let width = parallelMember.flatMap { findings.int($0.value, of: "'maxParallel'", in: 1...1024) }
    let onItemError = itemErrorMember.flatMap { findings.choice($0.value, of: "'onItemError'", Loop.OnItemError.self) }
    guard let items else { return nil }
    return Loop(
      items: items, condition: condition, maxParallel: width ?? 1, onItemError: onItemError ?? .stop,
      scopeSize: scopeSize, hasIndex: indexMember != nil)
  }

  private func onError(_ value: Value, scope: Scope) -> ErrorHandling? {
    if value.string == "continue" { return .goOn }
    guard value.list != nil else {
      findings.error("'onError' takes 'continue', or a list of steps that see 'error'", at: value)
      return nil
    }
    var inner = scope
    inner.declare("error", .object(RecipeTypes.error))
    return .steps(block(value, of: "onError", in: &inner))
  }

  // MARK: What steps do

  private func action(
    _ value: Value, _ fields: inout Fields, retry: inout RetryPolicy?, retryKey: Value?, scope: Scope
  ) -> (Step.Kind, ValueType)? {
    let with = fields.member("with")
    let connectionMember = fields.member("connection")
    let keyMember = fields.member("key")
    let repeatMember = fields.member("repeat")
    guard let name = findings.text(value, of: "'uses'") else { return nil }
    guard let action = environment.catalog.action(name) else {
      let names = environment.catalog.actionIDs
      let guess = name.nearest(among: names).map { "; did you mean '\($0)'?" } ?? "; 'errand actions' lists them all"
      findings.error("no action is named '\(name)'\(guess)", at: value)
      return nil
    }
    let input = compiler.input(with?.value, of: action, at: value, in: scope)
    var connection = action.plugin
    if let connectionMember, let text = findings.text(connectionMember.value, of: "'connection'") {
      connection = text
      if let known = environment.connections {
        if let plugin = known[text], plugin != action.plugin {
          findings.error("connection '\(text)' is one of plugin '\(plugin)', but '\(name)' is of '\(action.plugin)'", at: connectionMember.value)
        } else if known[text] == nil {
          let guess = text.nearest(among: known.filter { $0.value == action.plugin }.map(\.key).sorted())
          findings.error(
            "errand.yaml has no connection '\(text)'\(guess.map { "; did you mean '\($0)'?" } ?? "")", at: connectionMember.value)
        }
      }
    }
    var key: ValueTemplate?
    if let keyMember {
      if action.acceptsKey {
        key = compiler.template(keyMember.value, of: "'key'", in: scope, expecting: .string)
      } else {
        findings.error("'\(name)' takes no 'key': its service honours no idempotency key", at: keyMember.key)
      }
    }
    let isBlindWrite = action.effect == .write && !action.canReconcile && key == nil
    if let retryKey, retry != nil, isBlindWrite {
      findings.error(
        "'\(name)' must not be tried again: it is a plain write, and nothing can tell whether an earlier try was done"
          + (action.acceptsKey ? "; give the step a 'key'" : ""), at: retryKey)
    }
    if retry == nil, !isBlindWrite, action.effect.standardRetry != nil { retry = defaults.retry }
    let output = action.outputType
    let repetition = repeatMember.flatMap { policies.repetition($0.value, output: output, scope: scope) }
    guard let input else { return nil }
    let call = ActionCall(action: action, connection: connection, input: input, key: key, repetition: repetition)
    return (.action(call), output)
  }

  private func bindings(
    _ value: Value, isConditional: Bool, inner: Scope, scope: inout Scope
  ) -> (Step.Kind, ValueType)? {
    guard let map = value.map, !map.isEmpty else {
      findings.error("'let' takes names with their values", at: value)
      return nil
    }
    var templates: [NamedTemplate] = []
    var inner = inner
    for member in map.members {
      guard let name = findings.name(member.key, of: "the name") else { continue }
      let template = compiler.template(member.value, of: "'\(name)'", in: inner)
      let type = template?.type ?? .dyn
      inner.declare(name, type)
      scope.declare(name, isConditional ? .optional(type) : type, at: member.key, findings)
      if let template { templates.append(NamedTemplate(name: name, template: template)) }
    }
    return (.bindings(templates), .object(ObjectType(fields: [])))
  }

  private func parallel(_ value: Value, scope: Scope) -> (Step.Kind, ValueType)? {
    guard let map = value.map, !map.isEmpty else {
      findings.error("'parallel' takes named branches, each a list of steps", at: value)
      return nil
    }
    var branches: [Branch] = []
    var fields: [ObjectType.Field] = []
    for member in map.members {
      guard let name = findings.name(member.key, of: "the branch") else { continue }
      let block = innerBlock(member.value, of: name, in: scope)
      branches.append(Branch(name: name, block: block))
      fields.append(ObjectType.Field(name, .object(block.type)))
    }
    return (.parallel(branches), .object(ObjectType("parallel", fields: fields)))
  }

  private func nested(_ value: Value, outputs: Value?, scope: Scope) -> (Step.Kind, ValueType)? {
    var inner = scope
    let block = block(value, of: "steps", in: &inner)
    guard let outputs else { return (.block(block, outputs: nil), .object(block.type)) }
    let templates = compiler.outputs(outputs, of: "'outputs'", in: inner)
    let fields = templates.map { ObjectType.Field($0.name, $0.template.type) }
    return (.block(block, outputs: templates), .object(ObjectType("outputs", fields: fields)))
  }

  private func call(_ member: ValueMap.Member, _ fields: inout Fields, scope: Scope) -> (Step.Kind, ValueType)? {
    let with = fields.member("with")
    guard let path = findings.text(member.value, of: "'call'"),
      let recipe = calls.recipe(at: path, for: member.value, findings)
    else { return nil }
    called.recipes.append(recipe)
    let type = ObjectType(
      "the inputs of '\(recipe.name)'",
      fields: recipe.inputs.map {
        ObjectType.Field(
          $0.name, $0.isSecret ? .secret($0.type) : $0.type, isOptional: !$0.isRequired, summary: $0.summary)
      })
    let value = with?.value ?? Value(.map(ValueMap()), at: member.value.place)
    guard let inputs = compiler.template(value, of: "'with'", in: scope, expecting: .object(type)) else { return nil }
    return (.call(RecipeCall(path: path, recipe: recipe, inputs: inputs)), .object(recipe.outputType))
  }

  private func failure(_ value: Value, scope: Scope) -> (Step.Kind, ValueType)? {
    compiler.message(value, of: "'fail'", in: scope).map { (.failure($0), .object(ObjectType(fields: []))) }
  }

  private func wait(_ value: Value, scope: Scope, timeout: inout TimeLimits) -> (Step.Kind, ValueType)? {
    let nothing = ValueType.object(ObjectType(fields: []))
    guard value.map != nil else {
      if let text = value.string, !text.contains("${{") {
        return findings.duration(value, of: "'wait'").map { (.wait(.span($0)), nothing) }
      }
      return compiler.expression(value, of: "'wait'", in: scope, expecting: .duration).map {
        (.wait(.duration($0)), nothing)
      }
    }
    guard var fields = Fields(value, of: "'wait'", findings) else { return nil }
    defer { fields.finish() }
    if let until = fields.take("until") {
      return compiler.expression(until, of: "'until'", in: scope, expecting: .timestamp).map {
        (.wait(.until($0)), nothing)
      }
    }
    let event = fields.require("event", "the name of the event, or 'until' an instant").flatMap {
      findings.text($0, of: "'event'")
    }
    var inner = scope
    inner.declare("event", .dyn)
    let match = fields.take("match").flatMap { compiler.condition($0, of: "'match'", in: inner) }
    if let value = fields.take("timeout") { timeout.total = findings.duration(value, of: "'timeout'") }
    let onTimeout = fields.take("onTimeout").flatMap { findings.choice($0, of: "'onTimeout'", OnTimeout.self) } ?? .fail
    guard let event else { return nil }
    let type = ObjectType("wait", fields: [.init("event", .dyn, isOptional: onTimeout == .continue)])
    return (.wait(.event(name: event, match: match, onTimeout: onTimeout)), .object(type))
  }

  private func approval(_ value: Value, scope: Scope, timeout: inout TimeLimits) -> (Step.Kind, ValueType)? {
    guard var fields = Fields(value, of: "'approve'", findings) else { return nil }
    defer { fields.finish() }
    let prompt = fields.require("prompt", "the question that the person is asked").flatMap {
      compiler.message($0, of: "'prompt'", in: scope)
    }
    var by: [String] = []
    if let value = fields.take("by") {
      by = (value.list ?? [value]).compactMap { findings.text($0, of: "'by'") }
    }
    if let value = fields.take("timeout") { timeout.total = findings.duration(value, of: "'timeout'") }
    let onTimeout = fields.take("onTimeout").flatMap { findings.choice($0, of: "'onTimeout'", OnTimeout.self) } ?? .fail
    let onReject = fields.take("onReject").flatMap { findings.choice($0, of: "'onReject'", Approval.OnReject.self) }
    guard let prompt else { return nil }
    let approval = Approval(prompt: prompt, by: by, onTimeout: onTimeout, onReject: onReject ?? .end)
    return (.approval(approval), .object(RecipeTypes.approval))
  }
}

/// What `defaults` says for steps that say nothing.
struct StepDefaults {
  var retry: RetryPolicy?
  var timeout = TimeLimits()
}

/// The recipes that a recipe calls.
final class CalledRecipes {
  var recipes: [Recipe] = []
}

/// The ids that a recipe has given so far, each with where.
final class StepIdentifiers {
  private var places: [String: Value] = [:]

  /// Where an id was given before; gives it otherwise.
  func first(for id: String, at place: Value) -> Value? {
    if let first = places[id] { return first }
    places[id] = place
    return nil
  }
}
