// What a condition saw, long after it was evaluated.
//
// A step that a condition skipped leaves a record without the values behind it. They follow from what is recorded, as
// with resuming (`StepRunner`): this walks the way to the step through the records, computes the names that `let` gave
// it, and calls nothing. What a record lacks (an output too large to be at hand, a secret) makes the values unknown,
// never wrong.
package import Basics
package import Recipes
package import RunState

/// The conditions of one run's steps, with the values that they read.
package struct ConditionReplay {
  private let recipe: Recipe
  private let record: RunRecord
  private let output: (StepRecord) -> Value?

  /// - Parameter output: What a step gave, if it is at hand.
  package init(of recipe: Recipe, _ record: RunRecord, output: @escaping (StepRecord) -> Value?) {
    self.recipe = recipe
    self.record = record
    self.output = output
  }

  package struct Condition: Equatable {
    /// The expression as it is written.
    package var text: String
    /// What it read, by the names it used; empty if that cannot be told.
    package var values: [Read]

    package struct Read: Equatable {
      package var name: String
      /// Nil if there was nothing by that name.
      package var value: Value?
    }
  }

  /// The step that a path of the records is about.
  package func step(at path: StepPath) -> Step? { recipe.step(at: path) }

  /// What a person has to fill in to say that the action of a step was done; nil where nothing is needed.
  package func outputTemplate(ofStepAt path: StepPath) -> String? { recipe.outputTemplate(ofStepAt: path) }

  /// Why the `match` of a step that waits cannot be computed for what an event carries; nil if it can be, or if that
  /// cannot be told.
  package func matchFault(ofStepAt path: StepPath, for event: Value) -> String? {
    guard case .wait(.event(name: _, match: let match?, onTimeout: _))? = recipe.step(at: path)?.kind,
      // Secrets are not at hand here.
      !match.text.contains("secrets"), var environment = environment(at: path)
    else { return nil }
    environment.bind(event)
    do throws(LocatedEvaluationError) {
      _ = try match.evaluate(in: environment.slots)
      return nil
    } catch {
      return error.message
    }
  }

  /// The condition of a step that has one.
  package func condition(at path: StepPath) -> Condition? {
    guard let expression = recipe.step(at: path)?.condition else { return nil }
    let reads = environment(at: path).map { environment in
      expression.reads(in: environment.slots).filter { !$0.name.hasPrefix("secrets") }
        .map { Condition.Read(name: $0.name, value: $0.value) }
    }
    return Condition(text: expression.text, values: reads ?? [])
  }

  /// The environment that a step's condition saw.
  private func environment(at path: StepPath) -> Environment? {
    var run = ValueMap()
    run["id"] = .string(record.id)
    run["recipe"] = .string(recipe.name)
    run["startedAt"] = .timestamp(record.createdAt)
    run["slot"] = record.origin.cause.slot.map { .timestamp($0) }
    run["attempt"] = .int(record.origin.attempt)
    var environment = Environment(
      inputs: record.origin.inputs, run: .map(run), secrets: .map(ValueMap()), now: record.createdAt)
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
      if parts.isEmpty { return environment }
      prefix += "\(part)/"
      guard let inner = enter(step, part, known, &parts, &prefix, &environment) else { return nil }
      block = inner
    }
    return nil
  }

  /// Goes through the steps of a block before one, as far as it was reached; false if their values are not all at hand.
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
      } else if let id = step.id, let known, known.status == .succeeded {
        guard let value = output(known) else { return false }
        environment.setStep(id, value)
      }
    }
    return element == nil
  }

  /// The block inside a step that a path goes on in.
  private func enter(
    _ step: Step, _ part: Substring, _ known: StepRecord?, _ parts: inout ArraySlice<Substring>, _ prefix: inout String,
    _ environment: inout Environment
  ) -> Block? {
    if let loop = step.loop, let bracket = part.firstIndex(of: "[") {
      let digits = part[part.index(after: bracket)...].prefix { $0 != "]" }
      guard case .inline(let items)? = known?.items, let index = Int(digits), let item = items.list?.element(index)
      else { return nil }
      environment.bind(item)
      if loop.hasIndex { environment.bind(.int(index)) }
    }
    if part.last == "!" {
      guard case .steps(let block)? = step.onError, let error = record.steps[String(prefix.dropLast(2))]?.error else {
        return nil
      }
      environment.bind(error.value)
      return block
    }
    switch step.kind {
    case .block(let block, _): return block
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
    default: return nil
    }
  }
}

extension Array {
  fileprivate func element(_ index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
