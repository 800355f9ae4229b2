import ActionKit
import Basics
import Expressions
import YAMLReader

/// Reads steps and checks them in the order of a run, each in the scope that the steps before it made.
///
/// A faulty step has the type `dyn`, so that one fault is one error and not one at each use.
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

  /// Reads a list of steps; afterwards `scope` has the block's declarations.
  ///
  /// - Parameter over: The paths in the block that aren't walked any more, so that faults there don't count.
  func block(
    _ value: Value, of what: String, in scope: inout Scope, over: OverPaths = .none
  ) -> Block {
    let scopeSize = scope.size
    let outer = scope.steps
    guard let items = value.list, !items.isEmpty else {
      findings.error(
        value.list == nil
          ? "\(what) takes a list of steps, but found \(value.kindName)" : "\(what) needs at least one step", at: value)
      return Block(steps: [], scopeSize: scopeSize, type: ObjectType(fields: []))
    }
    for item in items {
      guard let id = item["id"]?.string else { continue }
      scope.explainAbsence(ofStep: id, "step '\(id)' comes later")
    }
    // Other systems refer to a step by its name.
    for item in items where item["id"] == nil {
      guard let name = item["name"]?.string, Names.fault(in: name) == nil else { continue }
      scope.explainAbsence(ofStep: name, "'name' is for people; give that step id: \(name)")
    }
    var steps: [Step] = []
    for (index, item) in items.enumerated() {
      let found = findings.list.count
      let areWhole = called.areWhole
      if let id = item["id"]?.string {
        scope.explainAbsence(
          ofStep: id, "step '\(id)' is not over here; in 'until' of 'repeat', 'result' is what the round gave")
      }
      let step = step(item, number: index + 1, in: &scope, over: over)
      let element = item["id"]?.string ?? "#\(index + 1)"
      // The names of a `let` are computed again whenever a run is resumed, so it has to be valid in any case.
      if item["let"] == nil, over.contains(element),
        findings.forgiveErrors(after: found) || called.areWhole != areWhole
      {
        called.areWhole = areWhole
        steps.append(past(item, element))
      } else if let step {
        steps.append(step)
      }
    }
    let names = items.flatMap { $0["id"].map { Names.parts(of: $0.plainText) } ?? [] }
    var known: Set<String> = []
    let own = names.filter { outer[$0] == nil && known.insert($0).inserted }.compactMap { scope.steps[$0] }
    return Block(steps: steps, scopeSize: scopeSize, type: ObjectType("this block", fields: own))
  }

  // MARK: Steps

  private static let hint = "a step does one of \(KeySet.step.kinds.joined(separator: ", "))"
  /// Keys that go with some kinds of steps only.
  private static let modifiers = KeySet.step.keys.filter { !$0.companions.isEmpty && $0.companions != loop }
  private static let loop = ["forEach"]
  private static let loopKeys = KeySet.step.names(with: loop)

  /// Advice about an unknown key of a step, if the step itself suggests some.
  private func advice(on member: ValueMap.Member, of step: Value) -> MessageText? {
    let name = member.name ?? ""
    if let id = step["uses"]?.string, environment.catalog.action(id)?.input.field(named: name) != nil {
      let move = step.map.flatMap { findings.document.moving(member, under: "with", of: $0) }
      return MessageText(
        "it is an input of '\(id)': put it under 'with'", move.map { [.edits("put it under 'with'", $0)] } ?? [])
    }
    if OtherNotations.commands.contains(name), environment.catalog.action("shell.run") != nil,
      let words = OtherNotations.step.advice(name, member.value), member.value.string != nil,
      let map = step.map, map["uses"] == nil, map["with"] == nil,
      map.members.count(where: { OtherNotations.commands.contains($0.name ?? "") }) == 1,
      let edits = findings.document.wrapping(
        member, in: "with", after: ["uses: shell.run"], beside: ["effect: write"], as: "script")
    {
      let fix = Suggestion("run it by shell.run", .edits(edits), isTentative: true)
      return MessageText(words, [fix])
    }
    if step["switch"] != nil, step["cases"]?.isNull != false,
      KeySet.step.names.allSatisfy({ name.nearest(among: [$0]) == nil })
    {
      return "the values of 'switch' go under 'cases'"
    }
    return nil
  }

  /// Advice about a key in a step that does nothing.
  private static func advice(onLone key: Key) -> MessageText? {
    switch key.name {
    case "else": "'else' goes into the step before, beside its 'if' and 'steps', and takes no dash"
    case "cases", "default": "'\(key.name)' needs 'switch' beside it, such as switch: inputs.colour"
    case let name where (1...2).contains(key.companions.count) && !key.companions.contains("forEach"):
      "'\(name)' needs \(key.companions.map { "'\($0)'" }.joined(separator: " or ")) beside it"
    default: nil
    }
  }

  private func step(
    _ value: Value, number: Int, in scope: inout Scope, over: OverPaths
  ) -> Step? {
    if let text = value.string, environment.catalog.action(text) != nil {
      findings.error(
        MessageText("a step is a mapping; write uses: \(text)", [.verbatim("uses: \(text)")]), at: value)
      return nil
    }
    guard
      let fields = Fields(
        value, of: "a step", .step, findings, hint: StepReader.hint, others: .step,
        advice: { advice(on: $0, of: value) })
    else {
      return nil
    }
    let kinds = fields.kinds(StepReader.advice(onLone:))
    refuseMisplaced(fields, kinds.compactMap(\.name))
    // The names of a `let` that should be a step of its own aren't unknown names.
    for other in kinds.dropFirst() where other.name == "let" {
      for member in other.value.map?.members ?? [] { scope.excuse(member.key) }
    }
    // A step that is done several times may be over in one pass and not in another.
    let isDoneOnce = fields["forEach"] == nil && fields["retry"] == nil && fields["repeat"] == nil
    let element = value["id"]?.string ?? "#\(number)"
    let overInside = isDoneOnce ? over.inside(element) : .none
    let name = fields.text("name")
    let condition = fields["if"].flatMap { compiler.condition($0, of: "'if'", in: scope) }
    var inner = scope
    if let value = fields["if"] { inner.assume(condition, is: true, readFrom: value) }
    let loop = loop(fields, in: &inner)
    var timeout = fields["timeout"].map(policies.timeout)
    var retry = fields["retry"].flatMap { policies.retry($0, scope: inner) }
    let handler = fields["onError"].flatMap { self.handler($0, scope: inner, over: overInside) }
    let repeating = RepetitionReader(findings: findings, compiler: compiler)
    // An error has said already whether it is allowed here.
    let repeats = fields["repeat"].flatMap { ["uses", "steps", "call"].contains(kinds.first?.name ?? "") ? $0 : nil }
    let carried = repeats.map { repeating.carried(in: $0, scope: &inner) } ?? []

    var (kind, type): (Step.Kind?, ValueType) = (nil, .dyn)
    // Whether the step's value is absent after its time limit.
    var mayTimeOut = false
    if let member = kinds.first {
      switch member.name {
      case "uses":
        (kind, type) = action(member.value, fields, retry: &retry, scope: inner)
        // The time of a repeated step is limited by `repeat`; the default limit of a step applies to each try.
        timeout = timeout ?? (fields["repeat"] == nil ? defaults.timeout : defaults.timeout?.ofEachAttempt)
      case "let":
        (kind, type) = bindings(member.value, isConditional: condition != nil, inner: inner, scope: &scope)
      case "wait": (kind, type) = wait(member.value, scope: inner, timeout: &timeout)
      case "approve": (kind, type) = approval(member.value, scope: inner, over: overInside, timeout: &timeout)
      case "ask": (kind, type, mayTimeOut) = ask(member.value, scope: inner, over: overInside, timeout: &timeout)
      case "parallel": (kind, type) = parallel(member.value, scope: inner, outer: &scope, over: overInside)
      case "steps" where fields["else"] != nil:
        (kind, type) = alternatives(
          member.value, fields, condition, inner: inner, outer: &scope, over: overInside)
      case "switch": (kind, type) = choosing(member.value, fields, scope: inner, outer: &scope, over: overInside)
      case "steps":
        (kind, type) = nested(
          member.value, outputs: fields["outputs"], scope: inner, outer: &scope, over: overInside)
      case "call": (kind, type) = call(member.value, with: fields["with"], scope: inner)
      default:
        kind = compiler.text(member.value, of: "'fail'", in: inner).map { .failure($0) }
        // A guard: the steps after it in the block run only if its condition doesn't hold.
        if let value = fields["if"] { scope.assume(condition, is: false, readFrom: value) }
      }
    }

    var repetition: Repetition?
    let hasMemory = repeats.map { $0["carry"] != nil || $0["collect"] != nil } ?? false
    if let repeats {
      for case .block(let block, nil)? in [kind] {
        for step in block.type.fields {
          inner.explainAbsence(ofStep: step.name, "it is inside the block; write result.\(step.name)")
        }
      }
      (repetition, type) = repeating.repetition(repeats, carried, output: type, scope: inner)
      if repetition == nil { kind = nil }
    }
    let declared = handler?.value.flatMap { _ in
      hasMemory ? ObjectSchema(carried) : kind?.declaredOutput
    }
    let onError = handler.map { ErrorHandling(steps: $0.steps, value: fallback($0, for: type, as: declared)) }
    // Also true for a faulty value, so that reading the step's value isn't a second error.
    let givesValue = handler?.value != nil
    if givesValue, loop?.onItemError == .continue, let member = fields.member("onItemError") {
      findings.error(
        "'onItemError: continue' isn't allowed beside a 'value' of 'onError', with which no item fails; take one of the "
          + "two away", at: member.key)
    }
    if fields["else"] != nil, kinds.first?.name != "steps" {
      _ = alternatives(nil, fields, condition, inner: inner, outer: &scope, over: overInside)
    }
    if fields["forEach"] != nil {
      // An item whose error was caught has no output, so the loop returns the outcome of each item.
      let givesOutcomes = !givesValue && (loop?.onItemError == .continue || onError != nil)
      type = loop == nil ? .dyn : .list(givesOutcomes ? .object(RecipeTypes.outcome(of: type)) : type)
    }
    let isAlternative: Bool = if case .cases(let cases)? = kind { !cases.isSwitch } else { fields["else"] != nil }
    let mayBeAbsent = mayTimeOut || condition != nil && !isAlternative || onError != nil && loop == nil && !givesValue
    let id = fields["id"].flatMap { self.id($0, giving: type, mayBeAbsent: mayBeAbsent, in: &scope) }
    if let id, let word = kinds.first?.name, ["let", "fail"].contains(word) {
      scope.withdraw(step: id, "a '\(word)' step has no value")
    }
    if let id, repeats != nil, !hasMemory, fields["if"] == nil, onError == nil, loop == nil {
      // A step that repeats ends with its `until`.
      scope.assume(repetition?.until, of: "result", holdsFor: id)
    }
    guard let kind else { return nil }
    return Step(
      id: id, name: name, element: id ?? "#\(number)", location: findings.location(of: value),
      condition: isAlternative ? nil : condition, loop: loop, onError: onError, retry: retry,
      timeout: timeout ?? TimeLimits(), repetition: repetition, kind: kind)
  }

  /// A step that is only represented by its record.
  private func past(_ value: Value, _ element: String) -> Step {
    let nothing = Block(steps: [], scopeSize: 0, type: ObjectType(fields: []))
    return Step(
      id: value["id"]?.string, name: value["name"]?.string, element: element, location: findings.location(of: value),
      condition: nil, loop: nil, onError: value["onError"] == nil ? nil : ErrorHandling(), retry: nil,
      timeout: TimeLimits(),
      kind: .block(nothing, outputs: nil))
  }

  private func refuseMisplaced(_ fields: Fields, _ words: [String]) {
    guard !words.isEmpty else { return }
    for key in StepReader.modifiers {
      guard let member = fields.member(key.name), !key.companions.contains(where: words.contains) else { continue }
      if key.name == "else" {
        findings.error("'else' goes with 'if' and 'steps': put '\(words[0])' under 'steps'", at: member.key)
        continue
      }
      if key.name == "default", words[0] == "steps", fields["if"] != nil {
        findings.error(
          MessageText("'default' goes with 'switch'; beside 'if' write 'else'", [.text("else")]), at: member.key)
        continue
      }
      if words[0] == "switch", StepReader.notBesideCases.contains(key.name) {
        findings.error(
          "'\(key.name)' isn't allowed beside 'switch'; put it on the steps inside, or on a step with 'steps' around this "
            + "one", at: member.key)
        continue
      }
      findings.error(
        "'\(key.name)' isn't allowed beside '\(words[0])'; it goes with \(key.companions.joined(separator: ", "))",
        at: member.key)
    }
  }

  /// Reads the id, and makes the step's value known under it.
  private func id(
    _ value: Value, giving type: ValueType, mayBeAbsent: Bool, in scope: inout Scope
  ) -> String? {
    guard let id = findings.name(value, of: "the id") else {
      let parts = Names.parts(of: value.plainText)
      for part in parts { scope.add(step: ObjectType.Field(part, .dyn)) }
      for part in parts.dropFirst() { scope.excuse(.string(part)) }
      return nil
    }
    if let first = ids.first(for: id, at: value) {
      findings.error(
        "id '\(id)' is taken; ids are unique in a recipe", at: value,
        notes: [Diagnostic.Note("it is taken here", at: findings.location(of: first))])
      // Reading either isn't another error.
      scope.merge(step: ObjectType.Field(id, type))
      return nil
    }
    scope.add(step: ObjectType.Field(id, type, isOptional: mayBeAbsent))
    findings.declared(.step, id, type, at: value)
    return id
  }

  // MARK: Modifiers

  private func loop(_ fields: Fields, in scope: inout Scope) -> Loop? {
    guard let value = fields["forEach"] else {
      for key in StepReader.loopKeys {
        if let member = fields.member(key) { findings.error("'\(key)' needs 'forEach' beside it", at: member.key) }
      }
      return nil
    }
    if value.list != nil {
      let list =
        findings.expression(ofPlainList: value).map { items in
          let text = "\"${{ \(items) }}\""
          let range = findings.location(of: value)?.range ?? 0..<0
          // Its lines may have comments, which would go.
          let isLong = findings.source.bytes[range].contains(ASCII.newline)
          return MessageText("; write \(text)", findings.replacement(of: value, with: text)).tentative(if: isLong)
        } ?? "" as MessageText
      findings.error("'forEach' takes an expression that gives a list, but found a list\(list)", at: value)
    }
    let items = value.list == nil ? compiler.expression(value, of: "'forEach'", in: scope) : nil
    let element = element(of: items, at: value)
    let scopeSize = scope.size
    if let name = fields["as"] {
      declare(name, of: "'as'", element, in: &scope)
    } else {
      if scope.has("item") {
        findings.error("the loop around this one calls its item 'item' too; name this one's with 'as'", at: value)
      }
      scope.declare("item", element)
    }
    if let name = fields["indexAs"] { declare(name, of: "'indexAs'", .int, in: &scope) }
    let condition = fields["where"].flatMap { compiler.condition($0, of: "'where'", in: scope) }
    if let value = fields["where"] { scope.assume(condition, is: true, readFrom: value) }
    let width = fields.int("maxParallel") ?? 1
    let onItemError: Loop.OnItemError = fields.choice("onItemError") ?? .stop
    return items.map {
      Loop(
        items: $0, condition: condition, maxParallel: width, onItemError: onItemError,
        scopeSize: scopeSize, itemName: fields["as"]?.string ?? "item", indexName: fields["indexAs"]?.string)
    }
  }

  /// The type of a list's items, or `dyn` with an error.
  private func element(of items: RecipeExpression?, at value: Value) -> ValueType {
    guard let items else { return .dyn }
    let type = items.program.type
    let receiver = items.text.asReceiver
    let fault: MessageText
    switch type {
    case .dyn: return .dyn
    case _ where type.holdsSecret:
      fault = "'forEach' goes through secrets, but its list is kept with the run; name them in 'with'"
    case .list(let element): return element
    case .map:
      fault = MessageText(
        "'forEach' takes a list, but this is a map; go through its keys, as in `\(receiver).map(k, k)`",
        items.write("\(receiver).map(k, k)").suggestions)
    case .optional(.list):
      fault = "'forEach' takes a list, but this may be absent; \(items.write("\(receiver).orValue([])", "`"))"
    default: fault = "'forEach' takes a list, but this is \(type.withArticle)"
    }
    findings.error(fault, at: value)
    return .dyn
  }

  /// Declares a name that a person chose for a value that the language gives.
  private func declare(_ value: Value, of what: String, _ type: ValueType, in scope: inout Scope) {
    if let name = findings.name(value, of: what) {
      scope.declare(name, type, at: value, findings)
    } else {
      scope.excuse(value)
    }
  }
}

/// The settings of `defaults`, for steps without their own.
struct StepDefaults {
  var retry: RetryPolicy?
  var timeout: TimeLimits?
}

/// The recipes that a recipe calls.
final class CalledRecipes {
  var recipes: [Recipe] = []
  /// The connections that were reported for a missing setting.
  var faultyConnections: Set<String> = []
  /// Whether each of them is without errors, which are reported with the file that has them.
  var areWhole = true
}

/// The ids that a recipe has given so far, each with where.
final class StepIdentifiers {
  private var places: [String: Value] = [:]

  /// The place of the id's first use; nil if this is the first, which is recorded.
  func first(for id: String, at place: Value) -> Value? {
    if let first = places[id] { return first }
    places[id] = place
    return nil
  }
}
