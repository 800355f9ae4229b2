// How a person resolves a step whose outcome is unknown.
//
// `done` makes the step succeeded, with an output that fits the action's declaration; `retry` starts it again with the
// same idempotency key, its attempts counted from 1; `fail` makes it a failure like any other, which `onError` and
// `onFailure` see. The run continues when it is resumed, and can end only when none of its steps is uncertain.
import ActionKit
package import Basics
package import Recipes
package import RunState

/// How a person resolves an uncertain step.
package enum Resolution: Sendable {
  /// It was done, with this output; nil for an action whose output may be empty.
  case done(Value?)
  /// It wasn't done; run it again.
  case retry
  /// It counts as failed.
  case fail(String?)

  /// The choice as the state holds it.
  package var word: String {
    switch self {
    case .done: "done"
    case .retry: "retry"
    case .fail: "fail"
    }
  }
}

/// Why a step can't be resolved this way.
package struct ResolutionError: Error, Sendable {
  /// The fault and the fix, as a sentence.
  package var message: String

  package init(_ message: String) { self.message = message }
}

extension RunRecord {
  /// The uncertain steps, in the order they began.
  package var uncertainSteps: [StepRecord] { stepsInOrder.filter { $0.status == .uncertain } }

  /// The writes that were under way when the program ended, in words; nil if there were none.
  package var doubts: String? {
    let paths = stepsInOrder.filter(\.isDoubtfulWrite).map { "'\($0.path.displayed)'" }
    return paths.isEmpty ? nil : "\(paths.joined(separator: ", ")) may or may not have been done"
  }

  /// The events that leave those writes to a person, if the run can't be resumed to check them.
  package func doubting(at now: Timestamp) -> [StateEvent] {
    var after = self
    var events: [StateEvent] = []
    for step in stepsInOrder where step.isDoubtfulWrite {
      let error = RunError(
        .uncertain, "it may or may not have been done: the program ended while it was under way", step: step.path,
        attempt: step.attempts, effect: .unknown)
      let ends: [StateEvent] = [
        .attemptEnded(AttemptEnded(run: id, at: now, step: step.path, number: step.attempts, error: error)),
        .stepEnded(StepEnded(run: id, at: now, step: step.path, status: .uncertain, error: error)),
      ]
      // The store refuses what doesn't fit.
      for event in ends { try? after.apply(event) }
      events += ends
    }
    return events.isEmpty ? [] : events + [after.uncertainty(at: now)]
  }

  /// The events that end a cancelled run which can't be resumed; if writes were under way, a person must resolve them
  /// first.
  ///
  /// - Parameter reason: Why its `finally` steps can't run, as the end of a sentence.
  package func givenUp(at now: Timestamp, because reason: String) -> [StateEvent] {
    let doubts = doubting(at: now)
    if !doubts.isEmpty { return doubts }
    let error = RunError(.configuration, "the run was cancelled without its 'finally' steps, \(reason)")
    return [.runEnded(RunEnded(run: id, at: now, status: .cancelled, error: error))]
  }

  /// Resolves an uncertain step, durably; the run continues when it is next resumed.
  ///
  /// The path of a loop, an item or a block means all uncertain steps in it.
  ///
  /// - Parameters:
  ///   - person: The person who resolves it, if known.
  ///   - key: The digest of the key of the request.
  ///   - recipe: The run's recipe, as it was when the run began; nil if it can't be checked any more, so that the given
  ///     output is taken unchecked.
  package func resolve(
    _ path: StepPath, as resolution: Resolution, by person: String? = nil, key: RunKey? = nil, of recipe: Recipe?,
    in store: some StateStore, at now: Timestamp
  ) async throws -> RunRecord {
    guard let run = await store.openRun(id), run.status == .uncertain || run.status == .paused else {
      throw ResolutionError("the run \(id) is not uncertain, so there is nothing to resolve")
    }
    guard !run.uncertainSteps.isEmpty else {
      throw ResolutionError("the run \(id) has no uncertain step, so there is nothing to resolve")
    }
    let steps = run.uncertainSteps.filter { $0.path.hasSameScalars(as: path) || $0.path.isInside(path) }
    guard !steps.isEmpty else {
      let paths = run.uncertainSteps.map(\.path.displayed)
      let guess = path.nearest(among: paths).map { "; did you mean '\($0)'?" }
      throw ResolutionError(
        "no step '\(path)' of the run is uncertain\(guess ?? "; these are: \(paths.joined(separator: ", "))")")
    }
    if case .done(.some) = resolution, steps.count > 1 {
      throw ResolutionError(
        "'\(path)' holds \(steps.count) uncertain steps, and each has an output of its own; resolve them one by one: "
          + steps.map(\.path.displayed).joined(separator: ", "))
    }
    var after = run
    var events: [StateEvent] = []
    for step in steps {
      let event: StateEvent
      var resolved = ResolutionRecord(choice: resolution.word, by: person, at: now, doubt: step.error?.message)
      resolved.key = key
      switch resolution {
      case .done(let output):
        let value = try recipe.map { recipe throws(ResolutionError) in try recipe.output(output, ofStepAt: step.path) }
        let stored = try await store.keep(value ?? output ?? .map(ValueMap()))
        var end = StepEnded(run: id, at: now, step: step.path, status: .succeeded, output: stored)
        end.resolution = resolved
        event = .stepEnded(end)
      case .retry:
        var begin = StepBegan(run: id, at: now, step: step.path, now: step.now, key: run.key(of: step))
        begin.resolution = resolved
        event = .stepBegan(begin)
      case .fail(let reason):
        // It has failed but isn't over, so that its handlers run when the run is resumed.
        var end = StepEnded(
          run: id, at: now, step: step.path, status: .running, error: RunRecord.failure(of: step, reason))
        end.resolution = resolved
        event = .stepEnded(end)
      }
      // The store refuses what doesn't fit.
      try? after.apply(event)
      events.append(event)
    }
    let next =
      after.uncertainSteps.isEmpty
      ? StateEvent.runStatusChanged(
        RunStatusChanged(run: id, at: now, status: .queued, reason: "every uncertain step is resolved"))
      : after.uncertainty(at: now)
    try await store.append(events + [next])
    return await store.openRun(id) ?? after
  }

  private static func failure(of step: StepRecord, _ reason: String?) -> RunError {
    // The kind of failure is known unless the program ended in the attempt.
    let cause = step.error?.cause
    let kind = cause.map { $0.kind == .internal || $0.kind == .cancelled ? .plugin : $0.kind } ?? .plugin
    return RunError(
      kind, reason ?? "resolved as failed: \(step.error?.message ?? "the cause is unknown")",
      detail: step.error?.detail, step: step.path, attempt: step.error?.attempt, file: step.error?.file,
      line: step.error?.line, column: step.error?.column, effect: .unknown, cause: step.error)
  }

  /// The event that stops the run until its uncertain steps are resolved.
  package func uncertainty(at now: Timestamp) -> StateEvent {
    let reasons = uncertainSteps.map { "'\($0.path.displayed)': \($0.error?.message ?? "its outcome is unknown")" }
    return .runStatusChanged(
      RunStatusChanged(run: id, at: now, status: .uncertain, reason: reasons.joined(separator: "; ")))
  }
}

extension StepPath {
  /// The path as people see it: a round's record counts as its step.
  package var displayed: String { hasSuffix("/#round") ? String(dropLast("/#round".count)) : self }

  /// Whether the step is inside another, or an item of it.
  fileprivate func isInside(_ path: StepPath) -> Bool {
    let rest = utf8.dropFirst(path.utf8.count)
    return utf8.starts(with: path.utf8) && rest.first.map { "[/~!".utf8.contains($0) } ?? false
  }
}

extension Recipe {
  /// The output that a person gives for an action, coerced to the action's output type.
  package func output(_ value: Value?, ofStepAt path: StepPath) throws(ResolutionError) -> Value {
    guard case .action(let call)? = step(at: path)?.kind else {
      throw ResolutionError("the recipe has no action at '\(path)'")
    }
    if value == nil, let template = call.action.outputTemplate {
      throw ResolutionError(
        "\(call.action.id) has an output that later steps may read, so 'done' needs it; fill in: "
          + "--done --output \(template.shellQuoted)")
    }
    let value = value ?? .map(ValueMap())
    let faults = call.action.output.check(value, as: "output").filter { $0.severity == .error }
    if let place = value.placeholder(at: "output") {
      throw ResolutionError("'\(place)' is still to be filled in, with what \(call.action.id) gave")
    }
    guard faults.isEmpty else {
      throw ResolutionError(
        "\(call.action.id) gives a different output: \(faults.map(\.message).joined(separator: "; "))")
    }
    switch call.fitted(call.action.output.restored(value), redacting: { $0 }) {
    case .success(let output): return output
    case .failure(let misfits): throw ResolutionError(misfits.message)
    }
  }

  /// The template of the output that a person gives for an action; nil where none is needed.
  package func outputTemplate(ofStepAt path: StepPath) -> String? {
    guard case .action(let call)? = step(at: path)?.kind else { return nil }
    return call.action.outputTemplate
  }

  /// The step of the recipe that a record's path names.
  package func step(at path: StepPath) -> Step? {
    var place = PathPlace.recipe(self)
    for part in path.split(separator: "/") {
      guard let next = place.inside(part) else { return nil }
      place = next
    }
    return if case .step(let step, _) = place { step } else { nil }
  }
}

extension Value {
  /// Where a text of a template was left as it was.
  fileprivate func placeholder(at path: String) -> String? {
    if case .string("…") = content { return path }
    return map?.members.lazy.compactMap { $0.value.placeholder(at: "\(path).\($0.name ?? "")") }.first
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
  /// A placeholder that shows what to write.
  fileprivate var template: Value {
    switch self {
    // None that would do if they were left.
    case .bool: .string("true|false")
    case .int, .uint: .string("0…")
    case .double: .string("0.0…")
    case .list: .list([])
    case .map: .map(ValueMap())
    case .object(let schema): schema.template
    case .optional(let wrapped), .secret(let wrapped): wrapped.template
    case .choice(let words): .string(words.joined(separator: "|"))
    case .dyn: .null
    case .string, .date, .bytes, .timestamp, .duration: .string("…")
    }
  }
}

/// Where a path leads so far.
private enum PathPlace {
  case recipe(Recipe)
  case block(Block)
  /// A step, or its `onError`.
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
      step.onError?.steps.flatMap { PathPlace.block($0).inside(part) }
    case .step(let step, isHandler: false) where step.repetition != nil && part.hasPrefix("#round"): self
    case .step(let step, isHandler: false):
      switch step.kind {
      case .block(let block, _): PathPlace.block(block).inside(part)
      case .cases(let cases):
        (cases.list.first { $0.element.map { $0 == part } ?? false }).map { .block($0.block) }
          ?? cases["if"].flatMap { PathPlace.block($0.block).inside(part) }
      case .parallel(let branches): branches.first { $0.name == part }.map { .block($0.block) }
      case .call(let call): PathPlace.recipe(call.recipe).inside(part)
      case .approval, .ask: part == "#tell" ? step.question?.tell.map { .block($0) } : nil
      default: nil
      }
    }
  }
}
