import ActionKit
import Basics
import Expressions

// Reads the kinds of steps. Each reader returns the type of the step's value even if the step is faulty, so that later
// steps are checked as far as possible.

extension StepReader {
  func action(
    _ value: Value, _ fields: Fields, retry: inout RetryPolicy?, scope: Scope
  ) -> (Step.Kind?, ValueType) {
    guard let name = findings.text(value, of: "'uses'", isFree: false), let known = knownAction(name, at: value) else {
      // Faults inside it can be found without the action.
      if let with = fields["with"] { _ = compiler.template(with, of: "'with'", in: scope) }
      if let value = fields["shape"] { _ = TypeReader(findings: findings).read(value, of: "'shape'") }
      return (nil, .dyn)
    }
    let with = inputs(of: known, fields, at: value)
    let action = known.declared(by: with)
    if action.takesEffect, let effect = with["effect"], effect.string?.holdsExpression == true {
      findings.error(
        "'effect' must be written out, because what may be done twice is decided before the run", at: effect)
    }
    warnOfPlainSecrets(in: with, of: action)
    let before = findings.list.count
    let (input, given) = compiler.fields(with, of: action.input, path: "with", in: scope)
    let isFaulty = findings.list[before...].contains { $0.severity == .error }
    let connection = fields["connection"].flatMap { self.connection($0, of: action) } ?? action.plugin
    let hasSettings = requireSettings(of: connection, for: action, with: with, at: fields["connection"] ?? value)
    if !isFaulty, hasSettings, let refusals = environment.refusals?(action, given, connection, findings.source.name) {
      for refusal in refusals {
        // Findings end without a full stop.
        let message = refusal.message.hasSuffix(".") ? String(refusal.message.dropLast()) : refusal.message
        findings.error(MessageText(message), at: refusal.value.place == .none ? with : refusal.value)
      }
    }
    if fields["connection"] == nil, hasSettings { warnOfUnusedConnections(of: action, at: value) }
    var key: ValueTemplate?
    if let member = fields.member("key") {
      if action.acceptsKey {
        key = compiler.text(member.value, of: "'key'", in: scope)
      } else {
        findings.error("'\(action.id)' takes no 'key': its service honours no idempotency key", at: member.key)
      }
    }
    let hasKey = action.acceptsKey && fields["key"] != nil
    if retry == nil, hasKey || action.effect.standardRetry != nil { retry = defaults.retry }
    if let member = fields.member("repeat"), action.effect == .write {
      findings.error(
        "'\(action.id)' must not be repeated: it is a plain write, and each round would do it once more; if that is "
          + "meant, put it into 'steps'", at: member.key)
    }
    let declared = action.outputType(for: with)
    let (shape, output) =
      fields["shape"].map { ShapeReader(findings: findings, action: action.id).read($0, output: declared) }
      ?? (nil, declared)
    let call = input.map {
      Step.Kind.action(ActionCall(action: action, connection: connection, input: $0, key: key, shape: shape))
    }
    return (call, output)
  }

  /// The value of `with`, and inputs that are beside it by mistake.
  private func inputs(of action: ActionDescriptor, _ fields: Fields, at value: Value) -> Value {
    let with = fields["with"] ?? Value(.map(ValueMap()), at: value.place)
    guard var inputs = with.map else { return with }
    for stray in fields.strays where stray.name.flatMap(action.input.field(named:)) != nil {
      _ = inputs.insert(stray)
    }
    return Value(.map(inputs), at: with.place)
  }

  /// Warns of secrets in plain text in an action's input.
  private func warnOfPlainSecrets(in with: Value, of action: ActionDescriptor) {
    findings.warnOfPlainSecrets(in: with, path: "with") { name in
      if action.input.field(named: "secretEnvironment") != nil {
        return "write secretEnvironment: { \(name): \"${{ secrets.\(name) }}\" }"
      }
      if environment.catalog.plugin(action.plugin)?.configuration.field(named: "token") != nil,
        ["AUTHORIZATION", "TOKEN"].contains(where: name.hasSuffix)
      {
        return "give the connection '\(action.plugin)' of errand.yaml token: ${{ secrets.TOKEN }} instead"
      }
      return "write ${{ secrets.\(name) }}"
    }
  }

  private func knownAction(_ name: String, at value: Value) -> ActionDescriptor? {
    if let action = environment.catalog.action(name) { return action }
    let pluginName = String(name.prefix { $0 != "." })
    if let fault = environment.catalog.fault(ofPlugin: pluginName) {
      findings.error("'\(name)' can't be used: \(fault)", at: value)
      return nil
    }
    let plugin = environment.catalog.plugin(pluginName)
    let guess =
      (environment.catalog.actionIDs.first { $0.hasSuffix(".\(name)") } ?? environment.catalog.nearestAction(to: name))
      .map {
        $0.hasSuffix(".\(name)")
          ? MessageText.didYouMean($0) : .didYouMean($0, by: name, among: environment.catalog.actionIDs)
      }
      ?? plugin.map { "'\($0.name)' has \($0.actions.map(\.id).joined(separator: ", "))" }
      ?? (name.contains("/") ? "actions of other systems aren't there; 'errand actions' lists ours" : nil)
    findings.error(
      "no action is named '\(name)'; \(guess ?? "\(environment.catalog.faultOfFolder ?? "'errand actions' lists them all")")",
      at: value)
    return nil
  }

  private func connection(_ value: Value, of action: ActionDescriptor) -> String? {
    guard let name = findings.text(value, of: "'connection'", isFree: false) else { return nil }
    guard let known = environment.connections else { return name }
    if let plugin = known[name], !plugin.hasSameScalars(as: action.plugin) {
      findings.error(
        "connection '\(name)' is one of plugin '\(plugin)', but '\(action.id)' is of '\(action.plugin)'", at: value)
    } else if known[name] == nil {
      let fitting = known.filter { $0.value.hasSameScalars(as: action.plugin) }.map(\.key).sorted()
      let guess = MessageText.didYouMean(name, among: fitting)
      let list: MessageText =
        fitting.isEmpty ? "it has none of '\(action.plugin)'" : "it has \(fitting.joined(separator: ", "))"
      findings.error("errand.yaml has no connection '\(name)'; \(guess ?? list)", at: value)
    }
    return name
  }

  /// Warns of a step that would go to the service that a lock names, while all of the plugin's connections have other
  /// names: most likely it is meant for one of these.
  private func warnOfUnusedConnections(of action: ActionDescriptor, at place: Value) {
    guard let known = environment.connections, known[action.plugin] == nil else { return }
    let others = known.filter { $0.value.hasSameScalars(as: action.plugin) }.map(\.key).sorted()
    guard let first = others.first, environment.catalog.plugin(action.plugin)?.isFromOutside == true else { return }
    let list: MessageText =
      others.count == 1
      ? "write connection: \(first)" : "write connection: with one of \(others.joined(separator: ", "))"
    findings.warning(
      "errand.yaml has no connection '\(action.plugin)', so '\(action.id)' is called without settings; \(list)",
      at: place)
  }

  /// Whether a connection has the settings that an action needs, as far as they are known; a missing one is reported
  /// once.
  private func requireSettings(
    of connection: String, for action: ActionDescriptor, with input: Value, at place: Value
  ) -> Bool {
    guard let known = environment.settings, let plugin = environment.catalog.plugin(action.plugin) else { return true }
    // A missing connection is reported where it is named.
    let isNamed = environment.connections?[connection] != nil
    guard isNamed || connection.hasSameScalars(as: action.plugin) else { return false }
    let given = known[connection] ?? []
    let needed = plugin.configuration.fields.filter(\.isRequired).map(\.name) + action.neededSettings(for: input)
    let missing = needed.filter { !given.contains($0) }
    if missing.isEmpty { return true }
    environment.onMissingSettings(connection, plugin.name, missing)
    guard called.faultyConnections.insert(connection).inserted else { return false }
    let list = missing.map { "'\($0)'" }.joined(separator: ", ")
    findings.error(
      isNamed
        ? "connection '\(connection)' of errand.yaml has no \(list), which this '\(action.id)' needs"
        : "errand.yaml has no connection '\(connection)', which needs \(list) here; add it under 'connections'",
      at: place)
    return false
  }

  func bindings(
    _ value: Value, isConditional: Bool, inner: Scope, scope: inout Scope
  ) -> (Step.Kind?, ValueType) {
    let nothing = ValueType.object(ObjectType(fields: []))
    guard let map = value.map, !map.isEmpty else {
      findings.error("'let' takes a mapping from names to values, but found \(value.displayed)", at: value)
      return (nil, nothing)
    }
    var templates: [NamedTemplate] = []
    var inner = inner
    for member in map.members {
      let (template, type) = compiler.typed(member.value, of: "'\(member.key.plainText)'", in: inner)
      guard let name = findings.name(member.key, of: "the name") else {
        scope.excuse(member.key)
        inner.excuse(member.key)
        continue
      }
      inner.declare(name, type, from: member.key)
      scope.declare(name, isConditional ? .optional(type) : type, at: member.key, findings)
      if let template { templates.append(NamedTemplate(name: name, template: template)) }
    }
    return (.bindings(templates), nothing)
  }

  func parallel(
    _ value: Value, scope: Scope, outer: inout Scope, over: OverPaths
  ) -> (Step.Kind?, ValueType) {
    guard let map = value.map, !map.isEmpty else {
      findings.error("'parallel' takes named branches, each a list of steps, but found \(value.displayed)", at: value)
      return (nil, .dyn)
    }
    var scope = scope
    var branches: [Branch] = []
    var fields: [ObjectType.Field] = []
    for member in map.members {
      let name = findings.name(member.key, of: "the branch")
      var inner = scope
      let block = block(
        member.value, of: name.map { "branch '\($0)'" } ?? "the branch", in: &inner,
        over: over.inside("/\(name ?? "")/"))
      outer.hide(stepsOf: block, inside: "a branch")
      scope.hide(stepsOf: block, inside: "a branch")
      if let name { branches.append(Branch(name: name, block: block)) }
      for part in name.map({ [$0] }) ?? Names.parts(of: member.key.plainText) {
        fields.append(ObjectType.Field(part, .object(block.type)))
      }
    }
    return (.parallel(branches), .object(ObjectType("this parallel step", fields: fields)))
  }

  func nested(
    _ value: Value, outputs: Value?, scope: Scope, outer: inout Scope, over: OverPaths
  ) -> (Step.Kind?, ValueType) {
    var inner = scope
    let block = block(value, of: "'steps'", in: &inner, over: over.inside("/"))
    outer.hide(stepsOf: block, inside: "a block")
    guard let outputs else { return (.block(block, outputs: nil), .object(block.type)) }
    let (templates, type) = compiler.outputs(outputs, of: "this block", in: inner)
    return (.block(block, outputs: templates), type)
  }

  func call(_ value: Value, with: Value?, scope: Scope) -> (Step.Kind?, ValueType) {
    guard let path = findings.text(value, of: "'call'"), let recipe = calls.recipe(at: path, for: value, findings)
    else {
      called.areWhole = false
      if let with { _ = compiler.template(with, of: "'with'", in: scope) }
      return (nil, .dyn)
    }
    called.recipes.append(recipe)
    let inputs = compiler.fields(
      with ?? Value(.map(ValueMap()), at: value.place), of: recipe.inputSchema, path: "with", in: scope
    ).template
    return (
      inputs.map { .call(RecipeCall(path: path, recipe: recipe, inputs: $0)) }, recipe.outputType
    )
  }

  func wait(_ value: Value, scope: Scope, timeout: inout TimeLimits?) -> (Step.Kind?, ValueType) {
    let nothing = ValueType.object(ObjectType(fields: []))
    guard value.map != nil else {
      if let text = value.string, text.holdsExpression {
        return (
          compiler.expression(value, of: "'wait'", in: scope, expecting: .duration).map { .wait(.duration($0)) },
          nothing
        )
      }
      if let instant = value.string.flatMap(Timestamp.init(written:)) {
        let form = "{ \(StepReader.until(instant)) }"
        findings.error(
          MessageText("'wait' takes a duration; to wait for an instant, write \(form)", [.verbatim(form)]), at: value)
        return (nil, nothing)
      }
      return (findings.duration(value, of: "'wait'").map { .wait(.span($0)) }, nothing)
    }
    guard
      let fields = Fields(value, of: "'wait'", .wait, findings), let kind = fields.kinds().first
    else { return (nil, .dyn) }
    if kind.name == "until" {
      for key in KeySet.wait.names(with: ["event"]) {
        if let member = fields.member(key) { findings.error("'\(key)' goes with 'event'", at: member.key) }
      }
      if let instant = kind.value.string.flatMap(Timestamp.init(written:)) {
        findings.error(
          MessageText(
            "'until' takes an expression; write \(StepReader.until(instant))", [.text("timestamp('\(instant)')")]),
          at: kind.value)
        return (nil, nothing)
      }
      let instant = compiler.expression(kind.value, of: "'until'", in: scope, expecting: .timestamp)
      return (instant.map { .wait(.until($0)) }, nothing)
    }
    if kind.value.map?["name"] != nil {
      findings.error("'event' of a wait is a name; 'type' and 'match' go beside it", at: kind.value)
      return (nil, .dyn)
    }
    let name = findings.text(kind.value, of: "'event'")
    let (form, match) = compiler.event(fields, in: scope, language: environment.language)
    let onTimeout = limit(fields, &timeout)
    let type = ObjectType(EventForm.waited, fields: [.init("event", form.type, isOptional: onTimeout == .continue)])
    return (name.map { .wait(.event(name: $0, match: match, form: form, onTimeout: onTimeout)) }, .object(type))
  }

  private static func until(_ instant: Timestamp) -> String { "until: \"timestamp('\(instant)')\"" }

  func approval(
    _ value: Value, scope: Scope, over: OverPaths, timeout: inout TimeLimits?
  ) -> (Step.Kind?, ValueType) {
    let form = value.string.map { prompt in
      let form = "{ prompt: \(JSON.quoted(prompt)) }"
      return MessageText("approve: \(form)", [.verbatim(form)])
    }
    guard let fields = Fields(value, of: "'approve'", .approval, findings, form: form) else { return (nil, .dyn) }
    let question = question(fields, scope: scope, over: over, timeout: &timeout)
    let onReject: Approval.OnReject = fields.choice("onReject") ?? .end
    return (
      question.map { .approval(Approval(question: $0, onReject: onReject)) },
      .object(RecipeTypes.approval(mayTimeOut: mayTimeOut(question, fields)))
    )
  }

  /// Reads `timeout` and `onTimeout` of a wait or a question.
  func limit(_ fields: Fields, _ timeout: inout TimeLimits?) -> OnTimeout {
    if let member = fields.member("timeout") {
      if timeout != nil { findings.error("the step has a 'timeout' already; one of the two is enough", at: member.key) }
      timeout = TimeLimits(total: fields.duration("timeout"))
    }
    return fields.choice("onTimeout") ?? .fail
  }
}

extension Timestamp {
  /// Reads an instant as people write one: also a day alone and a time without a zone, both of UTC.
  fileprivate init?(written text: String) {
    let text = text.replacing(" ", with: "T")
    guard let instant = ["", "Z", ":00Z", "T00:00:00Z"].lazy.compactMap({ Timestamp(text + $0) }).first else {
      return nil
    }
    self = instant
  }
}
