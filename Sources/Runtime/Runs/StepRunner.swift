// How a recipe's steps are walked.
//
// The walk is a function of the recipe, the inputs and the records: walking again with the records of an interrupted
// run reaches the same step with the same values, because every list, output, error and instant that an expression may
// have seen is recorded, and nothing that is recorded as ended is done again. Resuming needs nothing else. The walk
// enters what is recorded as begun even when the run is to end, because an attempt with an unknown outcome has to be
// judged; only new steps check whether they may begin.
//
// Paths name the records: `book`, `#2` (the second step of a block, if it has no id), `put[3]/write` (inside an item),
// `fan/left/a` (inside a branch), `put~2/write` (inside the second try of a block), `book!/note` (inside `onError`),
// `price/#else/full` (inside `else`; `price/cut` is inside `steps`), `sort/#case2/write` (inside the second of the
// cases of `switch`, as the recipe lists them), `sort/#default/write`, `ask/#tell/mail` (inside `tell` of a
// question), `poll/#round` (the current round of a repeated step), `poll/#round3/ask` and `poll/#round3~2/ask` (inside
// the third round of a block or a call, and inside the second try of that round), `#finally/note` (inside `finally`),
// `#outputs`.
//
// The number in a round's paths gives each round keys, instants and printed lines of its own; the records of a round
// are removed when the next one begins. For a step with several cases, the record's beginning holds the case that runs
// (`StepBegan.case`), so it is decided once. A step whose `onError` gives a value is `failed`, with its error and that
// value as its output, written together.
import ActionKit
import Basics
import Recipes
import RunState

/// Walks the steps of one block, and of those inside it.
///
/// Rarely needed parts aren't inlined: inlined, they would enlarge the frame that every run in flight holds for as long
/// as its step takes.
struct StepRunner {
  let run: RunContext
  let scope: CancelScope
  /// The prefix of the paths of the block's steps.
  let prefix: String
  let depth: Int

  private var journal: RunJournal { run.journal }

  /// How a step, or one item of a loop, ended.
  enum Outcome: Sendable {
    case succeeded(Value)
    /// It failed, and `onError` caught it, with the value that it gives instead.
    case caught(RunError, instead: Value?)
  }

  /// Runs a block's steps one after another; gives the values of its ids, and leaves its names in the environment.
  @discardableResult
  func run(_ block: Block, in environment: inout Environment) async throws(StepInterruption) -> ValueMap {
    var own = ValueMap()
    for step in block.steps {
      if case .bindings(let names) = step.kind {
        try await bind(names, of: step, in: &environment)
      } else if let value = try await run(step, in: environment), let id = step.id {
        own[id] = value
        environment.setStep(id, value)
      }
    }
    return own
  }

  // MARK: One step

  @inline(never)
  private func bind(_ names: [NamedTemplate], of step: Step, in environment: inout Environment)
    async throws(StepInterruption)
  {
    let path = prefix + step.element
    let (known, now) = journal.reached(path)
    if let error = known?.error { throw .failed(error) }
    var inner = environment
    inner.now = now
    do throws(StepInterruption) {
      let isSkipped =
        if let condition = step.condition { try !run.holds(condition, in: inner, step: path) } else { false }
      for name in names {
        let value = isSkipped ? nil : try run.evaluate(name.template, in: inner, step: path)
        if let value { inner.bind(value) }
        environment.bind(step.condition == nil ? value ?? .null : Value(.optional(value)))
      }
    } catch .failed(let error) {
      try await end(path, .failed, error: error, now: now)
      throw .failed(error)
    }
    // A value that was computed from the clock must be the same when the run is walked again.
    if step.readsNow, known == nil { try await end(path, .succeeded, now: now) }
  }

  /// Runs a step; gives its value, or nil if it was skipped, its error was caught, or its question wasn't answered.
  private func run(_ step: Step, in environment: Environment) async throws(StepInterruption) -> Value? {
    let path = prefix + step.element
    let (known, now) = journal.reached(path)
    if known == nil { try scope.check() }
    if known?.status == .skipped { return nil }
    var environment = environment
    environment.now = now
    let isReplayed = known?.status.isEnded ?? false
    let outcome: Outcome
    do throws(StepInterruption) {
      // A step with a record has passed its condition.
      if known == nil, let condition = step.condition, try !run.holds(condition, in: environment, step: path) {
        try await end(path, .skipped, now: now)
        await reportEnd(of: step, at: path)
        return nil
      }
      if !isReplayed { run.report(.stepBegan(path: path, title: step.title, depth: depth)) }
      outcome =
        if let loop = step.loop {
          .succeeded(try await self.loop(loop, of: step, in: environment, at: path, known: known))
        } else {
          try await once(step, in: environment, at: path, known: known)
        }
    } catch {
      // A failure before the first record (in a condition, the list of a loop) happens the same way again.
      if case .failed(let error) = error { try await end(path, .ended(by: error), error: error, now: now) }
      await reportEnd(of: step, at: path, isReplayed: isReplayed)
      throw error
    }
    await reportEnd(of: step, at: path, isReplayed: isReplayed)
    return switch outcome {
    case .succeeded(let value): if case .optional(nil) = value.content { nil } else { value }
    case .caught(_, let instead): instead
    }
  }

  @inline(never)
  private func reportEnd(of step: Step, at path: StepPath, isReplayed: Bool = false) async {
    if isReplayed, run.isWalkedAgain { return }
    let told = journal.look(at: path) { record -> Progress? in
      let status = record.pointee.status
      guard status.isEnded || status == .uncertain else { return nil }
      return .stepEnded(
        path: path, title: step.title, depth: depth, status: status,
        took: record.pointee.endedAt?.span(since: record.pointee.startedAt) ?? .zero, error: record.pointee.error,
        isReplayed: isReplayed)
    }
    if let told, let end = told { run.report(end) }
  }

  // MARK: Once, as a whole or as an item

  /// Runs a step once, and records its end; if its record has ended, gives that.
  func once(
    _ step: Step, in environment: Environment, at path: StepPath, known: StepRecord?
  ) async throws(StepInterruption) -> Outcome {
    if let known, known.status.isEnded { return try await replayed(known, isHandled: step.onError != nil) }
    // Until a person resolves it.
    if let known, known.status == .uncertain { throw .uncertain(known.error ?? .lost(path)) }
    do throws(StepInterruption) {
      let value: Value
      do throws(StepInterruption) {
        // It failed before, and the handling of the failure was interrupted.
        if let error = known?.error { throw .failed(error) }
        value = try await tried(step, in: environment, at: path, known: known)
      } catch .failed(let error) {
        return .caught(error, instead: try await handle(error, of: step, in: environment, at: path))
      }
      try await end(path, .succeeded, output: value, now: environment.now, of: step)
      return .succeeded(value)
    } catch {
      if let ended = error.ended {
        try await end(path, ended.status, error: ended.error, now: environment.now, of: step)
      }
      throw error
    }
  }

  /// Runs `onError` for an error and gives the value that it has instead, or passes the error on.
  @inline(never)
  private func handle(
    _ error: RunError, of step: Step, in environment: Environment, at path: StepPath
  ) async throws(StepInterruption) -> Value? {
    guard let onError = step.onError, StepInterruption.failed(error).catchable != nil else { throw .failed(error) }
    var inner = environment
    inner.bind(error.value)
    if let block = onError.steps {
      // The failure is recorded before anything follows from it, so that the step isn't tried again after a crash.
      var event = StepEnded(
        run: run.id, at: run.time.now(), step: path, now: environment.now, status: .running, error: error)
      event.action = step.recordedAction
      journal.hold([.stepEnded(event)])
      do throws(StepInterruption) { try await inside(path + "!").run(block, in: &inner) } catch .failed(var second) {
        if second.cause == nil { second.cause = error }
        throw .failed(second)
      }
    }
    var value: Value?
    if let fallback = onError.value {
      do throws(StepInterruption) { value = try run.value(of: fallback, in: inner, at: path) } catch .failed(var second)
      {
        second.cause = error
        throw .failed(second)
      }
    }
    try await end(path, .ended(by: error), output: value, error: error, now: environment.now, of: step)
    return value
  }

  /// The value of a step or an item that had ended before.
  @inline(never)
  func replayed(_ record: StepRecord, isHandled: Bool) async throws(StepInterruption) -> Outcome {
    if record.status == .succeeded {
      return .succeeded(try await journal.value(record.output, as: "the output of '\(record.path)'"))
    }
    if record.status == .cancelled { throw journal.rejection.map { .rejected($0) } ?? .cancelled }
    let error = record.error ?? RunError(.internal, "the record of '\(record.path)' holds no error", step: record.path)
    if record.isRejected { throw .rejected(error) }
    if record.isPassed(isHandled: isHandled) {
      guard let output = record.output else { return .caught(error, instead: nil) }
      return .caught(error, instead: try await journal.value(output, as: "the value of '\(record.path)'"))
    }
    throw .failed(error)
  }

  /// Records the end of a step, unless it is recorded already, as with an action's last attempt.
  ///
  /// - Parameter step: The step, if the record belongs to its action.
  @inline(never)
  func end(
    _ path: StepPath, _ status: StepStatus, output: Value? = nil, error: RunError? = nil, now: Timestamp,
    of step: Step? = nil
  ) async throws(StepInterruption) {
    if journal.hasEnded(path) { return }
    let stored = if let output { try await journal.stored(output, of: path) } else { StoredValue?.none }
    var event = StepEnded(
      run: run.id, at: run.time.now(), step: path, now: now, status: status, output: stored, error: error)
    event.action = step?.recordedAction
    journal.hold([.stepEnded(event)])
  }

  // MARK: Tries and time limits of steps that hold steps

  private func tried(
    _ step: Step, in environment: Environment, at path: StepPath, known: StepRecord?
  ) async throws(StepInterruption) -> Value {
    if let repetition = step.repetition {
      return try await repeated(step, repetition, in: environment, at: path, known: known)
    }
    switch step.kind {
    case .action(let call):
      return try await ActionRunner(run: run, step: step, call: call, path: path, scope: scope)
        .output(in: environment, known: known)
    case .failure(let message):
      let text = run.redactor.redact(try run.evaluate(message, in: environment, step: path).plainText)
      var error = RunError(.validation, text, step: path)
      run.place(&error, at: step.location)
      throw .failed(error)
    case .wait(let wait):
      return try await WaitRunner(run: run, step: step, path: path, depth: depth, scope: scope)
        .value(of: wait, in: environment, known: known)
    case .approval(let approval):
      return try await WaitRunner(run: run, step: step, path: path, depth: depth, scope: scope)
        .value(of: approval, in: environment, known: known)
    case .ask(let ask):
      return try await WaitRunner(run: run, step: step, path: path, depth: depth, scope: scope)
        .value(of: ask, in: environment, known: known)
    case .cases(let cases): return try await value(of: cases, in: environment, at: path, known: known)
    case .bindings, .parallel, .block, .call:
      return try await triedWhole(step, in: environment, at: path, known: known)
    }
  }

  /// Runs the one of several cases that the record names, or chooses one.
  @inline(never)
  private func value(
    of cases: Cases, in environment: Environment, at path: StepPath, known: StepRecord?
  ) async throws(StepInterruption) -> Value {
    let chosen: Case
    if let name = known?.case {
      guard let known = cases[name] else {
        throw .failed(RunError(.internal, "the recipe has no case '\(name)' at '\(path)'", step: path))
      }
      chosen = known
    } else {
      chosen = try run.chosen(of: cases, in: environment, step: path)
      journal.hold([
        .stepBegan(
          StepBegan(run: run.id, at: run.time.now(), step: path, now: environment.now, case: chosen.name))
      ])
    }
    var environment = environment
    let inner = chosen.element.map { "\(path)/\($0)" } ?? path
    let own = try await inside(inner).run(chosen.block, in: &environment)
    return .map(try outputs(chosen.outputs, or: own, in: environment, at: path))
  }

  /// The value of a block: the values under `outputs`, or the values of its ids.
  private func outputs(
    _ outputs: [NamedTemplate]?, or own: ValueMap, in environment: Environment, at path: StepPath
  ) throws(StepInterruption) -> ValueMap {
    guard let outputs else { return own }
    var values = ValueMap()
    for output in outputs { values[output.name] = try run.evaluate(output.template, in: environment, step: path) }
    return values
  }

  @inline(never)
  private func repeated(
    _ step: Step, _ repetition: Repetition, in environment: Environment, at path: StepPath, known: StepRecord?
  ) async throws(StepInterruption) -> Value {
    try await RoundRunner(steps: self, step: step, repetition: repetition, path: path)
      .output(in: environment, known: known)
  }

  /// A round of a step that holds steps.
  struct Round {
    /// The beginning of the paths of the steps inside.
    var prefix: StepPath
    /// The event that records its beginning; nil if that is recorded already.
    var began: StateEvent?
    /// When the first round began; the step's total time limit counts from then.
    var startedAt: Timestamp
  }

  /// Runs the steps inside a step, again as often as `retry` says.
  ///
  /// - Parameter round: The round, if the step is repeated; `path` is then the path of the round's record.
  @inline(never)
  func triedWhole(
    _ step: Step, in environment: Environment, at path: StepPath, known: StepRecord?, round: Round? = nil
  ) async throws(StepInterruption) -> Value {
    let beganAt = known?.startedAt ?? run.time.now()
    let startedAt = round?.startedAt ?? beganAt
    if known == nil {
      let began = StateEvent.stepBegan(StepBegan(run: run.id, at: beganAt, step: path, now: environment.now))
      journal.hold(round?.began.map { [$0, began] } ?? [began])
    }
    let prefix = round?.prefix ?? path
    var number = max(known?.attempts ?? 0, 1)
    /// When the current attempt began.
    var triedAt = step.retry == nil ? beganAt : nil
    if let last = known?.lastAttempt {
      if let due = last.retryAt {
        try await run.pause(until: due, for: "'\(path)' is tried again", in: scope)
        number += 1
      } else if last.endedAt == nil {
        triedAt = last.startedAt
      }
    }
    while true {
      let began = triedAt ?? run.time.now()
      if triedAt == nil {
        journal.hold([.attemptBegan(AttemptBegan(run: run.id, at: began, step: path, number: number))])
      }
      do throws(StepInterruption) {
        // The first attempt has the step's own path, so that a step without `retry` looks like one that needed none.
        let inner = number == 1 ? prefix : "\(prefix)~\(number)"
        return try await limited(step, in: environment, at: path, inner: inner, startedAt: startedAt, triedAt: began)
      } catch .failed(var error) {
        guard StepInterruption.failed(error).catchable != nil, !error.isFinal,
          let delay = run.delay(
            before: step, after: number, &error, standard: nil, limits: step.timeout, environment: environment,
            startedAt: startedAt)
        else { throw .failed(error) }
        let due = run.time.now().advanced(by: delay) ?? .latest
        try await journal.commit([
          .attemptEnded(
            AttemptEnded(run: run.id, at: run.time.now(), step: path, number: number, error: error, retryAt: due))
        ])
        run.report(.attemptFailed(path: path, attempt: number, error: error, retryIn: delay))
        try await run.pause(until: due, for: "'\(path)' is tried again", in: scope)
        number += 1
        triedAt = nil
      }
    }
  }

  /// Runs the steps inside a step until its deadline.
  ///
  /// The deadline is an instant, so that it doesn't move while the run waits or no process is running it. If it has
  /// passed by then, the actions inside get a last attempt of ordinary length; a wait that isn't over times out.
  private func limited(
    _ step: Step, in environment: Environment, at path: StepPath, inner: StepPath, startedAt: Timestamp,
    triedAt: Timestamp
  ) async throws(StepInterruption) -> Value {
    let ends = [step.timeout.total?.after(startedAt), step.timeout.attempt?.after(triedAt)].compactMap { $0 }
    guard let deadline = ends.min(), let ordinary = step.timeout.attempt ?? step.timeout.total else {
      return try await held(step, in: environment, at: inner)
    }
    // Never longer than the limit, even if the clock was set back since the start.
    let left = min(deadline.span(since: run.time.now()) ?? ordinary, ordinary)
    let runner = StepRunner(
      run: run, scope: CancelScope(inside: scope, until: deadline), prefix: prefix, depth: depth)
    let (result, isTimeout) = await withTimeLimit(left > .zero ? left : ordinary, time: run.time) {
      () async throws(StepInterruption) in
      try await runner.held(step, in: environment, at: inner)
    }
    // If a step inside was cancelled and nothing else is, this limit or an outer one that passed first cancelled it: at
    // once, by a wait, or before a crash.
    let now = run.time.now()
    let isMine = deadline <= now || !scope.isLate(at: now)
    if case .failure(.cancelled) = result, isTimeout || scope.isOpen && isMine {
      var error = RunError(.timeout, "'\(step.title)' took longer than \(ordinary)", step: path, retryable: true)
      run.place(&error, at: step.location)
      throw .failed(error)
    }
    return try result.get()
  }

  private func held(_ step: Step, in environment: Environment, at path: StepPath) async throws(StepInterruption)
    -> Value
  {
    switch step.kind {
    case .block(let block, let outputs):
      var environment = environment
      let own = try await inside(path).run(block, in: &environment)
      return .map(try self.outputs(outputs, or: own, in: environment, at: path))
    case .parallel(let branches):
      return try await parallel(branches, in: environment, at: path)
    case .call(let call):
      let given = try run.evaluate(call.inputs, in: environment, step: path)
      let inputs: ValueMap
      do throws(ValueError) { inputs = try call.recipe.inputs(ofCall: given) } catch {
        var error = RunError(
          .validation, run.redactor.redact("the inputs of '\(call.recipe.name)': \(error)"), step: path)
        run.place(&error, at: step.location)
        throw .failed(error)
      }
      return try await RecipeRunner(run: run, recipe: call.recipe, scope: scope, prefix: path + "/", depth: depth + 1)
        .outputs(in: environment.forCall(inputs: inputs))
    case .action, .bindings, .wait, .approval, .ask, .failure, .cases:
      throw .failed(RunError(.internal, "'\(step.title)' holds no steps", step: path))
    }
  }

  private func inside(_ path: StepPath, _ scope: CancelScope? = nil) -> StepRunner {
    StepRunner(run: run, scope: scope ?? self.scope, prefix: path + "/", depth: depth + 1)
  }

  // MARK: Branches

  private func parallel(
    _ branches: [Branch], in environment: Environment, at path: StepPath
  ) async throws(StepInterruption) -> Value {
    let values = try await run.together(branches.count, in: scope) {
      index, scope async throws(StepInterruption) -> ValueMap in
      var environment = environment
      return try await inside("\(path)/\(branches[index].name)", scope).run(branches[index].block, in: &environment)
    }
    var value = ValueMap()
    for (branch, own) in zip(branches, values) { value[branch.name] = .map(own) }
    return .map(value)
  }
}

extension Step {
  /// The id of its action, if it has one.
  var actionID: String? { if case .action(let call) = kind { call.action.id } else { nil } }
  /// The action that its own record is about; a repeated one has a record for its round.
  fileprivate var recordedAction: String? { repetition == nil ? actionID : nil }
}

extension TimeSpan {
  /// The instant a span later.
  func after(_ start: Timestamp) -> Timestamp { start.advanced(by: self) ?? .latest }
}

extension StepStatus {
  /// The status of a step that ended with an error.
  static func ended(by error: RunError) -> StepStatus { error.kind == .timeout ? .timedOut : .failed }
}

extension RunError {
  /// Whether a write failed although it was done; neither its own `retry` nor one around it repeats it.
  var isFinal: Bool { self.effect == .done && !self.retryable }

  /// The error of an uncertain step whose reason wasn't kept.
  static func lost(_ path: StepPath) -> RunError {
    RunError(.uncertain, "the outcome of '\(path)' is unknown", step: path, effect: .unknown)
  }
}
