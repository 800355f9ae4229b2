// Recomputes the values that a step read: the values in its condition, and the input of its action.
//
// Neither is in a step's record. Both follow from the records, as in resuming (`StepRunner`): this walks to the step
// through the records, computes the names that `let` gave it, and calls nothing. If a record lacks something (a blob, a
// secret), the values are unknown, never wrong.
package import ActionKit
package import Basics
package import Recipes
package import RunState

/// The values that the steps of one run read.
package struct StepReplay {
  private let recipe: Recipe
  private let record: RunRecord
  private let output: (StepRecord) -> Value?
  private let items: (StepRecord) -> Value?

  /// - Parameters:
  ///   - output: The step's output, if it is available.
  ///   - items: The list of a loop, if it is available; that in the record if left out.
  package init(
    of recipe: Recipe, _ record: RunRecord, output: @escaping (StepRecord) -> Value?,
    items: @escaping (StepRecord) -> Value? = { if case .inline(let items)? = $0.items { items } else { nil } }
  ) {
    self.recipe = recipe
    self.record = record
    self.output = output
    self.items = items
  }

  package struct Condition: Equatable {
    /// The expression's source.
    package var text: String
    /// The values that it read, by the names it used; empty if unknown.
    package var values: [Read]

    package struct Read: Equatable {
      package var name: String
      /// Nil if the name had no value.
      package var value: Value?
    }
  }

  /// The step of the recipe that a record's path names.
  package func step(at path: StepPath) -> Step? { recipe.step(at: path) }

  /// The work of the recipe's step that a record's path names.
  package func work(ofStepAt path: StepPath) -> String? {
    recipe.step(at: repeated(path))?.work
  }

  /// The name that the recipe gives the step that a record's path names.
  package func name(ofStepAt path: StepPath) -> String? { recipe.step(at: repeated(path))?.name }

  /// Where the recipe has the step that a record's path names.
  package func location(ofStepAt path: StepPath) -> Diagnostic.Location? { recipe.step(at: repeated(path))?.location }

  /// The fields of the output of the action that a record's path names.
  package func output(ofActionAt path: StepPath) -> ObjectSchema? {
    if case .action(let call)? = recipe.step(at: repeated(path))?.kind { call.action.output } else { nil }
  }

  /// The template of the output that a person gives to resolve a step's action as done; nil where none is needed.
  package func outputTemplate(ofStepAt path: StepPath) -> String? { recipe.outputTemplate(ofStepAt: path) }

  /// Whether a step is a write that must not be done twice.
  package func isPlainWrite(stepAt path: StepPath) -> Bool {
    if case .action(let call)? = recipe.step(at: path)?.kind { call.action.effect == .write } else { false }
  }

  /// Why a waiting step doesn't take an event: its data doesn't fit, or `match` can't be computed for it; nil if
  /// neither is so, or if that is unknown.
  package func misfit(ofStepAt path: StepPath, for event: EventRecord, _ data: Value) -> String? {
    guard case .wait(.event(_, let match, let form, onTimeout: _))? = recipe.step(at: path)?.kind else { return nil }
    let value: Value
    switch form.value(of: event, data) {
    case .success(let known): value = known
    case .failure(let misfit): return misfit.message
    }
    // Secrets aren't available here.
    guard let match, !match.text.contains("secrets"), var environment = environment(at: path) else { return nil }
    environment.bind(value)
    do throws(LocatedEvaluationError) {
      _ = try match.evaluate(in: environment.slots)
      return nil
    } catch {
      return "'match' cannot be computed for it: \(error.message)"
    }
  }

  /// The condition of a step that has one.
  package func condition(at path: StepPath) -> Condition? {
    recipe.step(at: path)?.condition.map { condition($0, at: path) }
  }

  /// The label of a case for people, and the condition that chose it.
  package func choice(_ name: String, at path: StepPath) -> (label: String, by: Condition)? {
    guard case .cases(let cases)? = recipe.step(at: path)?.kind, let chosen = cases[name] else { return nil }
    return (chosen.label == "if" ? "steps" : chosen.label, condition(cases.subject, at: path))
  }

  private func condition(_ expression: RecipeExpression, at path: StepPath) -> Condition {
    let reads = environment(at: path).map { environment in
      expression.reads(in: environment.slots).filter { !$0.name.hasPrefix("secrets") }
        .map { Condition.Read(name: $0.name, value: $0.value) }
    }
    return Condition(text: expression.text, values: reads ?? [])
  }

  /// The input that a step passed on.
  package enum Input: Equatable {
    /// The input of an action, or of a called recipe; a mark stands for each part that is made with a secret.
    case value(Value)
    /// A step of that kind has none, or it was skipped, or its items have inputs of their own.
    case none
    /// The step was done by the run that this one retries, with that run's id and instants.
    case kept
    /// The recipe cannot be read as it was, or a value that the input was made from is no longer kept.
    case unknown
  }

  /// The path of the step whose round a record is of; any other path as it is.
  private func repeated(_ path: StepPath) -> StepPath { path.hasSuffix("/#round") ? String(path.dropLast(7)) : path }

  /// The input of a step's action, or of the recipe that it called.
  package func input(at path: StepPath) -> Input {
    let path = repeated(path)
    guard let step = recipe.step(at: path) else { return .unknown }
    let known = record.steps[path]
    if known?.status == .skipped || step.loop != nil && path.utf8.last != ASCII.closeBracket { return .none }
    if record.origin.cause.kind == .retry, known?.lastAttempt.map({ $0.startedAt < record.createdAt }) ?? true {
      return .kept
    }
    let template: ValueTemplate
    switch step.kind {
    case .action(let call): template = call.input
    case .call(let call): template = call.inputs
    default: return .none
    }
    // Each attempt of a round has the round's own instant.
    let round = record.steps["\(path)/#round"]
    guard var environment = environment(at: path, hasSecrets: true), bindCarried(of: step, known, &environment)
    else { return .unknown }
    if let round { environment.now = round.now }
    guard let value = try? template.evaluate(in: environment.slots) else { return .unknown }
    return .value(template.replacingSecrets(in: value) { _ in .string(MaskedText.mark) })
  }

  /// Placeholders for the secrets; a value that is computed with one is a secret too.
  private var placeholders: (secrets: ValueMap, inputs: Value) {
    var secrets = ValueMap()
    for (name, _) in recipe.allSecrets { secrets[name] = .string(MaskedText.mark) }
    var inputs = record.origin.inputs.map ?? ValueMap()
    for input in recipe.inputs where input.isSecret && inputs[input.name] != nil {
      inputs[input.name] = .string(MaskedText.mark)
    }
    return (secrets, .map(inputs))
  }

  /// The environment that a step saw.
  ///
  /// - Parameter hasSecrets: Whether marks stand for the secrets; they have no value otherwise.
  private func environment(at path: StepPath, hasSecrets: Bool = false) -> Environment? {
    var run = ValueMap()
    run["id"] = .string(record.id)
    run["recipe"] = .string(recipe.name)
    run["startedAt"] = .timestamp(record.createdAt)
    run["slot"] = record.origin.cause.slot.map { .timestamp($0) }
    run["attempt"] = .int(record.origin.attempt)
    run["url"] = record.url("runs", record.id).map { .string($0) }
    let known = hasSecrets ? placeholders : (secrets: ValueMap(), inputs: record.origin.inputs)
    var environment = Environment(
      inputs: known.inputs, run: .map(run), secrets: .map(known.secrets), now: record.createdAt)
    var parts = path.split(separator: "/")[...]
    var block = recipe.steps
    var prefix = ""
    if let handler = parts.first, handler == "#onFailure" || handler == "#finally" {
      _ = walk(block, prefix, to: nil, in: &environment)
      environment = environment.forHandlers(names: recipe.topLevelNames)
      let error = record.error?.value
      environment.bind(handler == "#finally" ? Value(.optional(error)) : error ?? .null)
      guard let steps = handler == "#finally" ? recipe.finally : recipe.onFailure else { return nil }
      block = steps
      prefix = "\(handler)/"
      parts = parts.dropFirst()
    }
    while let part = parts.popFirst() {
      let element = part.prefix { !"[~!".contains($0) }
      guard walk(block, prefix, to: element, in: &environment),
        let step = block.steps.first(where: { $0.element == element })
      else { return nil }
      let known = record.steps[prefix + element]
      environment.now = known?.now ?? environment.now
      if parts.isEmpty {
        if part.contains("["), !bindItem(of: step, part, known, &environment) { return nil }
        environment.now = record.steps[prefix + part]?.now ?? environment.now
        return environment
      }
      prefix += "\(part)/"
      guard let inner = enter(step, part, known, &parts, &prefix, &environment) else { return nil }
      block = inner
    }
    return nil
  }

  /// Walks the steps of a block before one, as far as the run reached them; false if some of their values are missing.
  private func walk(_ block: Block, _ prefix: String, to element: Substring?, in environment: inout Environment) -> Bool
  {
    for step in block.steps {
      if let element, step.element == element { return true }
      let known = record.steps[prefix + step.element]
      if case .bindings(let names) = step.kind {
        var inner = environment
        inner.now = known?.now ?? environment.now
        let isSkipped = step.condition.map { (try? $0.evaluate(in: inner.slots))?.bool != true } ?? false
        for name in names {
          let value = isSkipped ? nil : try? name.template.evaluate(in: inner.slots)
          if !isSkipped, value == nil { return false }
          if let value { inner.bind(value) }
          environment.bind(step.condition == nil ? value ?? .null : Value(.optional(value)))
        }
      } else if let id = step.id, let known, known.status == .succeeded || known.status.isEnded && known.output != nil {
        guard let value = output(known) else { return false }
        environment.setStep(id, value)
      }
    }
    return element == nil
  }

  /// Binds the item that a part of a path names: `put[3]`.
  private func bindItem(
    of step: Step, _ part: Substring, _ known: StepRecord?, _ environment: inout Environment
  ) -> Bool {
    guard let loop = step.loop, let bracket = part.firstIndex(of: "["),
      let index = Int(part[part.index(after: bracket)...].prefix { $0 != "]" }),
      let item = known.flatMap(items)?.list?.element(index)
    else { return false }
    environment.bind(item)
    if loop.hasIndex { environment.bind(.int(index)) }
    return true
  }

  /// Binds what the current round of a repeated step was given; false if that is missing.
  private func bindCarried(of step: Step, _ known: StepRecord?, _ environment: inout Environment) -> Bool {
    guard let names = step.repetition?.carried, !names.isEmpty else { return true }
    guard case .inline(let values)? = known?.carried else { return false }
    for name in names { environment.bind(values[name.name] ?? Value(.optional(nil))) }
    return true
  }

  /// The block inside a step that a path continues in.
  private func enter(
    _ step: Step, _ part: Substring, _ known: StepRecord?, _ parts: inout ArraySlice<Substring>, _ prefix: inout String,
    _ environment: inout Environment
  ) -> Block? {
    if part.contains("["), !bindItem(of: step, part, known, &environment) { return nil }
    if part.last == "!" {
      guard let block = step.onError?.steps, let error = record.steps[String(prefix.dropLast(2))]?.error else {
        return nil
      }
      environment.bind(error.value)
      return block
    }
    if step.repetition != nil {
      guard bindCarried(of: step, record.steps[String(prefix.dropLast())], &environment), let round = parts.popFirst()
      else { return nil }
      environment.now = record.steps["\(prefix)#round"]?.now ?? environment.now
      prefix += "\(round)/"
    }
    switch step.kind {
    case .block(let block, _): return block
    case .cases(let cases):
      guard let chosen = cases.list.first(where: { $0.element.map { parts.first == $0[...] } ?? false }) else {
        return cases["if"]?.block
      }
      parts.removeFirst()
      prefix += "\(chosen.element ?? "")/"
      return chosen.block
    case .parallel(let branches):
      guard let name = parts.popFirst() else { return nil }
      prefix += "\(name)/"
      return branches.first { $0.name == name }?.block
    case .call(let call):
      guard let given = try? call.inputs.evaluate(in: environment.slots),
        let inputs = try? call.recipe.inputs(ofCall: given)
      else { return nil }
      environment = environment.forCall(inputs: inputs)
      return call.recipe.steps
    case .approval, .ask:
      guard let wait = known?.wait, let tell = parts.popFirst(), let block = step.question?.tell else { return nil }
      let path = String(prefix.dropLast())
      // The texts of the links aren't known here.
      environment.bind(
        .question(wait, at: path, of: record.id, base: record.origin.base ?? "") { _ in MaskedText.mark })
      prefix += "\(tell)/"
      return block
    default: return nil
    }
  }
}

extension Array {
  fileprivate func element(_ index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
