// What a person says of a step of which nobody knows whether it was done.
//
// `done` makes the step succeeded with an output that keeps to the action's declaration; `retry` lets it begin anew, with
// the same idempotency key and its attempts counted from 1; `fail` makes it a failure like any other, which `onError`
// and `onFailure` see. The run goes on when it is resumed, and ends only when no step of it is uncertain.
import ActionKit
package import Basics
package import Recipes
package import RunState

/// What became of an uncertain step.
package enum Resolution: Sendable {
  /// It was done, and gave this; nil for an action whose output may be empty.
  case done(Value?)
  /// It was not done, and is to be tried again.
  case retry
  /// It counts as failed.
  case fail(String?)

  /// What the state calls it.
  fileprivate var word: String {
    switch self {
    case .done: "done"
    case .retry: "retry"
    case .fail: "fail"
    }
  }
}

/// Why a step cannot be resolved so.
package struct ResolutionError: Error, Sendable {
  /// What is wrong and what to do, as a sentence.
  package var message: String

  package init(_ message: String) { self.message = message }
}

extension RunRecord {
  /// The steps of which a person has to say what became of them, in the order in which they began.
  package var uncertainSteps: [StepRecord] { stepsInOrder.filter { $0.status == .uncertain } }

  /// Says what became of an uncertain step, durably; the run goes on when it is carried on the next time.
  ///
  /// The path of a loop, an item or a block means all that is uncertain in it.
  ///
  /// - Parameters:
  ///   - person: Who says so, if they are known.
  ///   - recipe: The run's recipe, as it was when the run began.
  package func resolve(
    _ path: StepPath, as resolution: Resolution, by person: String? = nil, of recipe: Recipe,
    in store: some StateStore, at now: Timestamp
  ) async throws -> RunRecord {
    guard let run = store.run(id), run.status == .uncertain || run.status == .paused else {
      throw ResolutionError("the run \(id) is not uncertain, so there is nothing to resolve")
    }
    let steps = run.uncertainSteps.filter { $0.path.hasSameScalars(as: path) || $0.path.isInside(path) }
    guard !steps.isEmpty else {
      let paths = run.uncertainSteps.map(\.path.shown)
      let guess = path.nearest(among: paths).map { "; did you mean '\($0)'?" }
      throw ResolutionError(
        "no step '\(path)' of the run is uncertain\(guess ?? "; these are: \(paths.joined(separator: ", "))")")
    }
    if case .done(.some) = resolution, steps.count > 1 {
      throw ResolutionError(
        "'\(path)' holds \(steps.count) uncertain steps, and each has an output of its own; resolve them one by one: "
          + steps.map(\.path.shown).joined(separator: ", "))
    }
    var after = run
    var events: [StateEvent] = []
    for step in steps {
      let event: StateEvent
      let said = ResolutionRecord(choice: resolution.word, by: person, at: now, doubt: step.error?.message)
      switch resolution {
      case .done(let output):
        let stored = try await store.keep(try recipe.output(output, ofStepAt: step.path))
        var end = StepEnded(run: id, at: now, step: step.path, status: .succeeded, output: stored)
        end.resolution = said
        event = .stepEnded(end)
      case .retry:
        var begin = StepBegan(run: id, at: now, step: step.path, now: step.now, key: step.key)
        begin.resolution = said
        event = .stepBegan(begin)
      case .fail(let reason):
        // It has failed and is not over, so that its handlers run when the run goes on.
        var end = StepEnded(
          run: id, at: now, step: step.path, status: .running, error: RunRecord.failure(of: step, reason))
        end.resolution = said
        event = .stepEnded(end)
      }
      // The store refuses what does not fit.
      try? after.apply(event)
      events.append(event)
    }
    let next =
      after.uncertainSteps.isEmpty
      ? StateEvent.runStatusChanged(
        RunStatusChanged(run: id, at: now, status: .queued, reason: "every uncertain step is resolved"))
      : after.uncertainty(at: now)
    try await store.append(events + [next])
    return store.run(id) ?? after
  }

  private static func failure(of step: StepRecord, _ reason: String?) -> RunError {
    // What kind of failure it was is known unless the program ended in it.
    let cause = step.error?.cause
    let kind = cause.map { $0.kind == .internal || $0.kind == .cancelled ? .plugin : $0.kind } ?? .plugin
    return RunError(
      kind, reason ?? "somebody said that it failed: \(step.error?.message ?? "nothing is known of it")",
      detail: step.error?.detail, step: step.path, attempt: step.error?.attempt, file: step.error?.file,
      line: step.error?.line, column: step.error?.column, effect: .unknown, cause: step.error)
  }

  /// The run stops, because a person has to say what became of some of its steps.
  package func uncertainty(at now: Timestamp) -> StateEvent {
    let reasons = uncertainSteps.map { "'\($0.path.shown)': \($0.error?.message ?? "nobody knows what became of it")" }
    return .runStatusChanged(
      RunStatusChanged(run: id, at: now, status: .uncertain, reason: reasons.joined(separator: "; ")))
  }
}

extension StepPath {
  /// The path as people see it: a round of a step is the step.
  package var shown: String { hasSuffix("/#round") ? String(dropLast("/#round".count)) : self }

  /// Whether the step is an item of another, or stands in it.
  fileprivate func isInside(_ path: StepPath) -> Bool {
    let rest = utf8.dropFirst(path.utf8.count)
    return utf8.starts(with: path.utf8) && rest.first.map { "[/~!".utf8.contains($0) } ?? false
  }
}

extension Recipe {
  /// The output that a person says an action gave, brought to what it declares.
  fileprivate func output(_ value: Value?, ofStepAt path: StepPath) throws(ResolutionError) -> Value {
    guard case .action(let call)? = step(at: path)?.kind else {
      throw ResolutionError("the recipe has no action at '\(path)'")
    }
    if value == nil, let template = call.action.outputTemplate {
      throw ResolutionError(
        "\(call.action.id) gives what later steps may read, so that '--done' needs it; fill in: "
          + "--done --output \(template.shellQuoted)")
    }
    let value = value ?? .map(ValueMap())
    let faults = call.action.output.check(value, as: "output").filter { $0.severity == .error }
    guard faults.isEmpty else {
      throw ResolutionError("\(call.action.id) gives another output: \(faults.map(\.message).joined(separator: "; "))")
    }
    return call.action.output.restored(value)
  }

  /// What a person has to fill in to say that an action was done; nil where nothing is needed.
  package func outputTemplate(ofStepAt path: StepPath) -> String? {
    guard case .action(let call)? = step(at: path)?.kind else { return nil }
    return call.action.outputTemplate
  }

  /// The step that a path of a run's records is about.
  package func step(at path: StepPath) -> Step? {
    var place = PathPlace.recipe(self)
    for part in path.split(separator: "/") {
      guard let next = place.inside(part) else { return nil }
      place = next
    }
    return if case .step(let step, _) = place { step } else { nil }
  }
}

extension ActionDescriptor {
  /// The required fields of the output as JSON, each with an empty value of its type; nil if there are none.
  fileprivate var outputTemplate: String? {
    let template = output.template
    return template.map?.isEmpty == false ? try? JSON.text(template) : nil
  }
}

extension ObjectSchema {
  fileprivate var template: Value {
    var template = ValueMap()
    for field in fields where field.isRequired { template[field.name] = field.type.template }
    return .map(template)
  }
}

extension FieldType {
  /// A value that shows what goes in its place.
  fileprivate var template: Value {
    switch self {
    case .bool: .bool(false)
    case .int: .int(0)
    case .double: .double(0)
    case .list: .list([])
    case .map: .map(ValueMap())
    case .object(let schema): schema.template
    case .optional(let wrapped), .secret(let wrapped): wrapped.template
    case .choice(let words): .string(words.joined(separator: "|"))
    case .dyn: .null
    case .string, .bytes, .timestamp, .duration: .string("…")
    }
  }
}

/// Where a path has led so far.
private enum PathPlace {
  case recipe(Recipe)
  case block(Block)
  /// A step, or what its `onError` does.
  case step(Step, isHandler: Bool)

  func inside(_ part: Substring) -> PathPlace? {
    switch self {
    case .recipe(let recipe):
      switch part {
      case "#finally": recipe.finally.map { .block($0) }
      case "#onFailure": recipe.onFailure.map { .block($0) }
      default: PathPlace.block(recipe.steps).inside(part)
      }
    case .block(let block):
      block.steps.first { $0.element == part.prefix { !"[~!".contains($0) } }
        .map { .step($0, isHandler: part.last == "!") }
    case .step(let step, isHandler: true):
      if case .steps(let block)? = step.onError { PathPlace.block(block).inside(part) } else { nil }
    case .step(let step, isHandler: false):
      switch step.kind {
      case .block(let block, _): PathPlace.block(block).inside(part)
      case .parallel(let branches): branches.first { $0.name == part }.map { .block($0.block) }
      case .action(let call) where call.repetition != nil && part == "#round": .step(step, isHandler: false)
      case .call(let call): PathPlace.recipe(call.recipe).inside(part)
      default: nil
      }
    }
  }
}
