// How a recipe's steps are walked.
//
// The walk is a function of the recipe, the inputs and the records: walking again with the records of a run that was
// interrupted reaches the same step with the same values, because every list, output and instant that an expression
// may have seen is recorded, and nothing that is recorded as ended is done again. That is all there is to resuming.
//
// Paths name the records: `book`, `#2` (the second step of a block, if it has no id), `put[3]/write` (inside an item),
// `fan/left/a` (inside a branch), `put~2/write` (inside the second try of a block), `book!/note` (inside `onError`).
import ActionKit
import Basics
import Recipes
import RunState

/// Walks the steps of one block, and of those inside it.
struct StepRunner {
  let run: RunContext
  let scope: CancelScope
  /// What stands before the paths of the block's steps.
  let prefix: String
  let depth: Int

  private var journal: RunJournal { run.journal }

  /// What became of a step, or of one item of a loop.
  enum Outcome: Sendable {
    case succeeded(Value)
    /// It failed, and `onError` took it.
    case caught(RunError)
  }

  /// Runs a block's steps one after another; gives the values of its ids, and leaves its names in the frame.
  @discardableResult
  func run(_ block: Block, in frame: inout Frame) async throws(StepExit) -> ValueMap {
    var own = ValueMap()
    for step in block.steps {
      try scope.check()
      if case .bindings(let names) = step.kind {
        try await bind(names, of: step, in: &frame)
      } else if let value = try await run(step, in: frame), let id = step.id {
        own[id] = value
        frame.setStep(id, value)
      }
    }
    return own
  }

  // MARK: One step

  private func bind(_ names: [NamedTemplate], of step: Step, in frame: inout Frame) async throws(StepExit) {
    let path = prefix + step.element
    let known = await journal.step(path)
    frame.now = if let known { known.now } else { await journal.now() }
    let isSkipped = if let condition = step.condition { try !run.holds(condition, in: frame, step: path) } else { false }
    var inner = frame
    for name in names {
      if isSkipped {
        frame.bind(Value(.optional(nil)))
      } else {
        let value = try run.evaluate(name.template, in: inner, step: path)
        inner.bind(value)
        frame.bind(step.condition == nil ? value : Value(.optional(value)))
      }
    }
    // What was computed from the clock must be the same when the run is walked again.
    if step.readsNow, known == nil {
      await journal.hold([
        .stepEnded(StepEnded(run: run.id, at: run.time.now(), step: path, now: frame.now, status: .succeeded))
      ])
    }
  }

  /// Runs a step, and gives its value, or nil if it was skipped or its error was caught.
  private func run(_ step: Step, in frame: Frame) async throws(StepExit) -> Value? {
    let path = prefix + step.element
    let known = await journal.step(path)
    var frame = frame
    frame.now = if let known { known.now } else { await journal.now() }
    if known?.status == .skipped { return nil }
    // A step that has a record is past its condition.
    if let condition = step.condition, known == nil, try !run.holds(condition, in: frame, step: path) {
      await journal.hold([
        .stepEnded(StepEnded(run: run.id, at: run.time.now(), step: path, now: frame.now, status: .skipped))
      ])
      await reportEnd(of: step, at: path)
      return nil
    }
    let isReplayed = known?.status.isEnded ?? false
    if !isReplayed { run.report(.stepBegan(path: path, title: step.title, depth: depth)) }
    let outcome: Result<Outcome, StepExit>
    do throws(StepExit) {
      if let loop = step.loop {
        outcome = .success(.succeeded(try await self.loop(loop, of: step, in: frame, at: path, known: known)))
      } else {
        outcome = .success(try await once(step, in: frame, at: path, scope: scope))
      }
    } catch {
      outcome = .failure(error)
    }
    await reportEnd(of: step, at: path, isReplayed: isReplayed)
    guard case .succeeded(let value) = try outcome.get() else { return nil }
    return value
  }

  private func reportEnd(of step: Step, at path: StepPath, isReplayed: Bool = false) async {
    guard let record = await journal.step(path), record.status.isEnded || record.status == .uncertain else { return }
    run.report(
      .stepEnded(
        path: path, title: step.title, depth: depth, status: record.status,
        took: record.endedAt?.span(since: record.startedAt) ?? .zero, error: record.error, isReplayed: isReplayed))
  }

  // MARK: Once, as a whole or as an item

  /// Does what a step does, once, and records its end; a record that has ended is given as it is.
  private func once(
    _ step: Step, in frame: Frame, at path: StepPath, scope: CancelScope
  ) async throws(StepExit) -> Outcome {
    let known = await journal.step(path)
    if let known, known.status.isEnded { return try await replayed(known, handled: step.onError != nil) }
    do throws(StepExit) {
      let value = try await tried(step, in: frame, at: path, known: known, scope: scope)
      try await end(path, .succeeded, output: value, now: frame.now)
      return .succeeded(value)
    } catch .failed(let error) {
      if let onError = step.onError, StepExit.failed(error).catchable != nil {
        if case .steps(let block) = onError {
          var inner = frame
          inner.bind(error.value)
          do throws(StepExit) {
            try await inside(path + "!", scope).run(block, in: &inner)
          } catch .failed(let second) {
            try await end(path, .failed, error: second, now: frame.now)
            throw .failed(second)
          }
        }
        try await end(path, .ended(by: error), error: error, now: frame.now)
        return .caught(error)
      }
      try await end(path, .ended(by: error), error: error, now: frame.now)
      throw .failed(error)
    } catch .cancelled {
      try await end(path, .cancelled, now: frame.now)
      throw .cancelled
    }
  }

  /// What a step or an item that had ended before gives.
  private func replayed(_ record: StepRecord, handled: Bool) async throws(StepExit) -> Outcome {
    if record.status == .succeeded { return .succeeded(try await journal.value(record.output)) }
    if record.status == .cancelled { throw .cancelled }
    let error = record.error ?? RunError(.internal, "the record of '\(record.path)' holds no error", step: record.path)
    if handled, StepExit.failed(error).catchable != nil { return .caught(error) }
    throw .failed(error)
  }

  /// Records the end of a step, unless the action recorded it with its last attempt.
  private func end(
    _ path: StepPath, _ status: StepStatus, output: Value? = nil, error: RunError? = nil, now: Timestamp
  ) async throws(StepExit) {
    if let record = await journal.step(path), record.status.isEnded { return }
    let stored = if let output { try await journal.stored(output) } else { StoredValue?.none }
    await journal.hold([
      .stepEnded(
        StepEnded(run: run.id, at: run.time.now(), step: path, now: now, status: status, output: stored, error: error))
    ])
  }

  // MARK: Tries and time limits of what holds steps

  private func tried(
    _ step: Step, in frame: Frame, at path: StepPath, known: StepRecord?, scope: CancelScope
  ) async throws(StepExit) -> Value {
    switch step.kind {
    case .action(let call):
      return try await ActionRunner(run: run, step: step, call: call, path: path, scope: scope).output(in: frame)
    case .failure(let message):
      let text = try run.evaluate(message, in: frame, step: path).plainText
      var error = RunError(.validation, text, step: path)
      run.place(&error, at: step.location)
      throw .failed(error)
    default: break
    }
    if known == nil {
      await journal.hold([
        .stepBegan(StepBegan(run: run.id, at: run.time.now(), step: path, now: frame.now))
      ])
    }
    var number = max(known?.attempts ?? 0, 1)
    if let due = known?.lastAttempt?.retryAt {
      try await run.pause(until: due, in: scope)
      number += 1
    }
    let startedAt = known?.startedAt ?? run.time.now()
    while true {
      // The first try has the step's own path, so that a step without `retry` looks like one that needed none.
      let inner = number == 1 ? path : "\(path)~\(number)"
      if step.retry != nil {
        await journal.hold([
          .attemptBegan(AttemptBegan(run: run.id, at: run.time.now(), step: path, number: number))
        ])
      }
      do throws(StepExit) {
        return try await limited(step, in: frame, at: path, inner: inner, startedAt: startedAt, scope: scope)
      } catch .failed(let error) {
        guard StepExit.failed(error).catchable != nil,
          let delay = run.delay(
            before: step, after: number, error, policy: step.retry?.schedule, frame: frame, startedAt: startedAt)
        else { throw .failed(error) }
        let due = run.time.now().advanced(by: delay) ?? .latest
        try await journal.commit([
          .attemptEnded(
            AttemptEnded(run: run.id, at: run.time.now(), step: path, number: number, error: error, retryAt: due))
        ])
        run.report(.attemptFailed(path: path, attempt: number, error: error, retryIn: delay))
        try await run.pause(until: due, in: scope)
        number += 1
      }
    }
  }

  private func limited(
    _ step: Step, in frame: Frame, at path: StepPath, inner: StepPath, startedAt: Timestamp, scope: CancelScope
  ) async throws(StepExit) -> Value {
    let limit = [step.timeout.attempt, run.left(of: step.timeout.total, since: startedAt)].compactMap { $0 }.min()
    let (result, isTimeout) = await withTimeLimit(limit, time: run.time) { () async throws(StepExit) in
      try await held(step, in: frame, at: inner, scope: scope)
    }
    if isTimeout, case .failure(.cancelled) = result, let limit {
      var error = RunError(.timeout, "'\(step.title)' took longer than \(limit)", step: path, retryable: true)
      run.place(&error, at: step.location)
      throw .failed(error)
    }
    return try result.get()
  }

  private func held(_ step: Step, in frame: Frame, at path: StepPath, scope: CancelScope) async throws(StepExit) -> Value {
    switch step.kind {
    case .block(let block, let outputs):
      var frame = frame
      let own = try await inside(path, scope).run(block, in: &frame)
      guard let outputs else { return .map(own) }
      var values = ValueMap()
      for output in outputs { values[output.name] = try run.evaluate(output.template, in: frame, step: path) }
      return .map(values)
    case .parallel(let branches):
      return try await parallel(branches, in: frame, at: path, scope: scope)
    case .call(let call):
      let inputs = try run.evaluate(call.inputs, in: frame, step: path)
      return try await RecipeRunner(run: run, recipe: call.recipe, scope: scope, prefix: path + "/", depth: depth + 1)
        .outputs(in: frame.forCall(inputs: call.recipe.withDefaults(inputs.map ?? ValueMap())))
    default:
      throw .failed(RunError(.internal, "'\(step.title)' cannot be run yet", step: path))
    }
  }

  private func inside(_ path: StepPath, _ scope: CancelScope) -> StepRunner {
    StepRunner(run: run, scope: scope, prefix: path + "/", depth: depth + 1)
  }

  // MARK: Branches

  private func parallel(
    _ branches: [Branch], in frame: Frame, at path: StepPath, scope: CancelScope
  ) async throws(StepExit) -> Value {
    let branchScope = CancelScope(inside: scope)
    let results = await withTaskGroup(of: (Int, Result<ValueMap, StepExit>).self) { group in
      for (index, branch) in branches.enumerated() {
        group.addTask {
          var frame = frame
          do throws(StepExit) {
            return (index, .success(try await inside("\(path)/\(branch.name)", branchScope).run(branch.block, in: &frame)))
          } catch {
            // The first failure cancels the others: nothing more begins in them, and what is in flight finishes.
            branchScope.end(.cancelled)
            return (index, .failure(error))
          }
        }
      }
      var results = [Result<ValueMap, StepExit>?](repeating: nil, count: branches.count)
      for await (index, result) in group { results[index] = result }
      return results
    }
    try StepExit.throwWorst(of: results.compactMap { $0 })
    var value = ValueMap()
    for (branch, result) in zip(branches, results) {
      if case .success(let own) = result { value[branch.name] = .map(own) }
    }
    return .map(value)
  }

  // MARK: Loops

  private func loop(
    _ loop: Loop, of step: Step, in frame: Frame, at path: StepPath, known: StepRecord?
  ) async throws(StepExit) -> Value {
    if let known, known.status.isEnded {
      guard case .succeeded(let value) = try await replayed(known, handled: false) else { return .null }
      return value
    }
    let items: [Value]
    if let known {
      items = try await journal.value(known.items).list ?? []
    } else {
      // The list is recorded when the loop begins, and not computed again.
      let list = try run.evaluate(loop.items, in: frame, step: path)
      items = list.list ?? []
      let stored = try await journal.stored(list)
      await journal.hold([
        .stepBegan(StepBegan(run: run.id, at: run.time.now(), step: path, now: frame.now, items: stored))
      ])
    }
    do throws(StepExit) {
      let results = try await self.items(items, of: loop, step, in: frame, at: path)
      let value = Value.list(loop.givesOutcomes(step) ? results.map(\.value) : results.compactMap(\.output))
      try await end(path, .succeeded, output: value, now: frame.now)
      return value
    } catch .failed(let error) {
      try await end(path, .ended(by: error), error: error, now: frame.now)
      throw .failed(error)
    } catch .cancelled {
      try await end(path, .cancelled, now: frame.now)
      throw .cancelled
    }
  }

  /// What became of one item.
  private struct ItemResult: Sendable {
    var index: Int
    var output: Value?
    var error: RunError?

    /// The item in a loop that gives what became of each.
    var value: Value {
      var map = ValueMap()
      map["index"] = .int(index)
      map["status"] = .string(error.map { StepStatus.ended(by: $0).rawValue } ?? "succeeded")
      map["output"] = output
      map["error"] = error?.value
      return .map(map)
    }
  }

  private func items(
    _ items: [Value], of loop: Loop, _ step: Step, in frame: Frame, at path: StepPath
  ) async throws(StepExit) -> [ItemResult] {
    var chosen: [(index: Int, frame: Frame)] = []
    for (index, item) in items.enumerated() {
      var inner = frame
      inner.bind(item)
      if loop.hasIndex { inner.bind(.int(index)) }
      if let condition = loop.condition, try !run.holds(condition, in: inner, step: "\(path)[\(index)]") { continue }
      chosen.append((index, inner))
    }
    let itemScope = CancelScope(inside: scope)
    let count = chosen.count
    @Sendable func one(_ index: Int, _ frame: Frame) async -> Result<ItemResult, StepExit> {
      do throws(StepExit) {
        try itemScope.check()
        switch try await once(step, in: frame, at: "\(path)[\(index)]", scope: itemScope) {
        case .succeeded(let value): return .success(ItemResult(index: index, output: value))
        case .caught(let error): return .success(ItemResult(index: index, error: error))
        }
      } catch {
        if loop.onItemError == .continue, let error = error.catchable {
          return .success(ItemResult(index: index, error: error))
        }
        // No new item begins; what is in flight finishes.
        itemScope.end(.cancelled)
        return .failure(error)
      }
    }
    let results = await withTaskGroup(of: Result<ItemResult, StepExit>.self) { group in
      var results: [Result<ItemResult, StepExit>] = []
      var next = 0
      while next < count || !group.isEmpty {
        while next < count, next - results.count < loop.maxParallel, itemScope.ending == .none {
          let (index, frame) = chosen[next]
          group.addTask { await one(index, frame) }
          next += 1
        }
        guard let result = await group.next() else { break }
        results.append(result)
        run.report(.loopAdvanced(path: path, done: results.count, count: count))
      }
      return results
    }
    try StepExit.throwWorst(of: results)
    // Told to end before all items began.
    try scope.check()
    return results.compactMap { try? $0.get() }.sorted { $0.index < $1.index }
  }
}

extension Loop {
  /// Whether the loop's value says what became of each item, because some may have no output.
  func givesOutcomes(_ step: Step) -> Bool { onItemError == .continue || step.onError != nil }
}

extension StepStatus {
  /// How a step ended that ended with an error.
  static func ended(by error: RunError) -> StepStatus { error.kind == .timeout ? .timedOut : .failed }
}

extension StepExit {
  /// Throws the exit that weighs most among what ran side by side: what the state needs, then what a person must decide,
  /// then the first failure; a cancellation that a failure brought about comes last.
  static func throwWorst<Success>(of results: [Result<Success, StepExit>]) throws(StepExit) {
    let exits = results.compactMap { result -> StepExit? in
      if case .failure(let exit) = result { exit } else { nil }
    }
    if let worst = exits.max(by: { $0.weight < $1.weight }) { throw worst }
  }

  private var weight: Int {
    switch self {
    case .stateFailed: 4
    case .uncertain: 3
    case .failed: 2
    case .stopped: 1
    case .cancelled: 0
    }
  }
}
