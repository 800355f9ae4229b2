// How a step is repeated until its result is as wanted.
//
// The step's record counts the rounds as its attempts, and is `waiting` between two of them. The current round has a
// record of its own, `backup/#round`, which starts anew with each round: its own `now`, its own idempotency key, its
// own attempts with their retries. The steps inside a round have that record's path with the round's number,
// `poll/#round3/ask`, and their records are removed when the next round begins. A round begins in one batch with its
// number, its given values (`carry`) and the values that the previous round gathered (`collect`), all in the step's
// record. So a crash leaves no doubt which round the records are about, a thousand rounds leave no more behind than
// one, and a gathered value is kept once.
//
// The results of a round (its gathered value, the next values, whether `until` holds) are computed from its output, and
// computed again after a crash.
//
// No round begins after the time limit, which is an instant. The last one begins at the limit, even if no process was
// running the run then, and the limit never cuts a round of an action short.
import ActionKit
import Basics
import Expressions
import Recipes
import RunState

/// Runs a step that has `repeat`.
struct RoundRunner {
  /// Runs the block that the step is in.
  let steps: StepRunner
  let step: Step
  let repetition: Repetition
  let path: StepPath

  private var run: RunContext { steps.run }
  private var scope: CancelScope { steps.scope }
  private var journal: RunJournal { run.journal }
  /// The record of the current round.
  private var roundPath: StepPath { "\(path)/#round" }

  /// The step's value, once `until` holds.
  func output(in environment: Environment, known: StepRecord?) async throws(StepInterruption) -> Value {
    let startedAt = known?.startedAt ?? run.time.now()
    if known == nil {
      try scope.check()
      journal.hold([.stepBegan(StepBegan(run: run.id, at: startedAt, step: path, now: environment.now))])
    }
    let limits = [repetition.timeout, step.timeout.total].compactMap { $0 }
    let deadline = limits.min()?.after(startedAt)
    var number = known?.attempts ?? 0
    var hasBegun = number > 0
    var current = hasBegun ? journal.step(roundPath) : nil
    var carried = hasBegun ? try await restored(known?.carried) : try first(in: environment)
    var piece: Value?
    /// The wait that an earlier walk left; the round before it is over.
    var wait = known?.status == .waiting ? known?.wait : nil
    while true {
      if current == nil, wait == nil { try scope.check() }
      if !hasBegun { number += 1 }
      if wait == nil || repetition.hasMemory {
        var inner = environment
        inner.now = current?.now ?? journal.instant(of: "\(roundPath)~\(number)")
        for value in carried { inner.bind(value) }
        let began = hasBegun ? nil : try await began(number, carried, piece)
        let result = try await round(number, in: inner, known: current, began, since: startedAt)
        inner.bind(result)
        piece = try gathered(in: inner)
        carried = try next(carried, in: inner)
        if wait == nil {
          var after = environment
          after.now = inner.now
          for value in carried { after.bind(value) }
          after.bind(result)
          if try run.holds(repetition.until, in: after, step: path) {
            return try await value(of: result, carried, number, piece)
          }
          let now = run.time.now()
          if let deadline, deadline <= now { throw timedOut(limits.min(), after: number, carried, result) }
          if let most = repetition.maxRounds, number >= most { throw timedOut(nil, after: number, carried, result) }
          if let delay = repetition.delay(after: number, chance: run.chance()) {
            let due = delay.after(now)
            let next = WaitRecord(.poll, wakeAt: deadline.map { min($0, due) } ?? due, rounds: number)
            journal.hold([.stepWaits(StepWaits(run: run.id, at: now, step: path, now: environment.now, wait: next))])
            wait = next
          }
        }
      }
      if let wait { try await pause(wait, after: number) }
      (wait, current, hasBegun) = (nil, nil, false)
    }
  }

  private func pause(_ wait: WaitRecord, after number: Int) async throws(StepInterruption) {
    try await run.pause(
      until: wait.wakeAt ?? .earliest, for: "'\(path)' is done again (round \(number + 1))", in: scope,
      tell: { run.report(.stepWaits(path: path, title: step.title, depth: steps.depth, wait: wait)) })
  }

  // MARK: One round

  /// The event that records a round's beginning.
  private func began(_ number: Int, _ carried: [Value], _ piece: Value?) async throws(StepInterruption) -> StateEvent {
    var values: StoredValue?
    if !carried.isEmpty {
      let named = zip(repetition.carried, carried).map { ($0.name, $1) }
      values = try await journal.stored(.map(ValueMap(named)), of: path)
    }
    let pieces = if let piece { [try await journal.stored(piece, of: path)] } else { [StoredValue]() }
    return .attemptBegan(
      AttemptBegan(
        run: run.id, at: run.time.now(), step: path, number: number, carried: values, collected: pieces))
  }

  private func round(
    _ number: Int, in environment: Environment, known: StepRecord?, _ began: StateEvent?, since startedAt: Timestamp
  ) async throws(StepInterruption) -> Value {
    if let known {
      if known.status == .succeeded { return try await journal.value(known.output, as: "the output of '\(path)'") }
      // As with any step: until a person resolves it, or when what follows was interrupted.
      if known.status == .uncertain { throw .uncertain(known.error ?? .lost(path)) }
      if known.status == .cancelled { throw journal.rejection.map { .rejected($0) } ?? .cancelled }
      if let error = known.error { throw .failed(error) }
    }
    do throws(StepInterruption) {
      if case .action(let call) = step.kind {
        let runner = ActionRunner(
          run: run, step: step, call: call, path: roundPath, scope: scope, round: (path, number, began))
        return try await runner.output(in: environment, known: known)
      }
      let round = StepRunner.Round(prefix: "\(roundPath)\(number)", began: began, startedAt: startedAt)
      let result = try await steps.triedWhole(step, in: environment, at: roundPath, known: known, round: round)
      try await steps.end(roundPath, .succeeded, output: result, now: environment.now)
      return result
    } catch {
      if let ended = error.ended, !journal.hasEnded(roundPath), journal.step(roundPath) != nil {
        var event = StepEnded(
          run: run.id, at: run.time.now(), step: roundPath, status: ended.status, error: ended.error)
        event.action = step.actionID
        journal.hold([.stepEnded(event)])
      }
      throw error
    }
  }

  // MARK: From one round to the next

  private func first(in environment: Environment) throws(StepInterruption) -> [Value] {
    var carried: [Value] = []
    for value in repetition.carried {
      carried.append(try self.carried(value, try run.evaluate(value.first, in: environment, step: path), "carry"))
    }
    return carried
  }

  /// The values that the current round was given.
  private func restored(_ kept: StoredValue?) async throws(StepInterruption) -> [Value] {
    if repetition.carried.isEmpty { return [] }
    let values = try await journal.value(kept, as: "what '\(path)' carries")
    return repetition.carried.map { values[$0.name] ?? Value(.optional(nil)) }
  }

  /// The values of the next round; what `next` leaves out stays.
  private func next(_ carried: [Value], in environment: Environment) throws(StepInterruption) -> [Value] {
    var values = carried
    for (index, value) in repetition.carried.enumerated() {
      guard let next = repetition.next.first(where: { $0.name == value.name }) else { continue }
      values[index] = try self.carried(value, try run.evaluate(next.template, in: environment, step: path), "next")
    }
    return values
  }

  private func carried(_ carried: CarriedValue, _ value: Value, _ key: String) throws(StepInterruption) -> Value {
    do throws(ValueError) { return try carried.carried(value, as: key) } catch {
      throw failed(RunError(.validation, run.redactor.redact("\(error)"), step: path))
    }
  }

  private func gathered(in environment: Environment) throws(StepInterruption) -> Value? {
    guard let collect = repetition.collect else { return nil }
    let value = try run.evaluate(collect, in: environment, step: path)
    if value.list != nil { return value }
    throw failed(RunError(.expression, "'collect' takes a list, but this is \(value.kindName)", step: path))
  }

  /// The step's value at the end.
  private func value(
    of result: Value, _ carried: [Value], _ number: Int, _ piece: Value?
  ) async throws(StepInterruption) -> Value {
    guard repetition.hasMemory else { return result }
    var value = ValueMap()
    for (name, carried) in zip(repetition.carried.map(\.name), carried) {
      value[name] = carried.ifPresent
    }
    value["rounds"] = .int(number)
    if let piece {
      var items: [Value] = []
      for stored in journal.step(path)?.collected.all ?? [] {
        items += try await journal.value(stored, as: "what '\(path)' gathered").list ?? []
      }
      value["collected"] = .list(items + (piece.list ?? []))
    }
    return .map(value)
  }

  /// - Parameter limit: The time limit; nil for the most rounds.
  private func timedOut(
    _ limit: TimeSpan?, after number: Int, _ carried: [Value], _ result: Value
  ) -> StepInterruption {
    let rounds = number == 1 ? "1 round" : "\(number) rounds"
    let time = limit.map { " in \($0.written)" } ?? ", the most it may have"
    let values = zip(repetition.carried, carried).map { carried, value in
      "; '\(carried.name)' is \(value.ifPresent?.shortened() ?? "absent")"
    }
    let message =
      "'\(step.title)' was not as wanted after \(rounds)\(time); the last one gave "
      + JSON.displayed(result).excerpt(200) + values.joined()
    return failed(RunError(.timeout, run.redactor.redact(message), step: path))
  }

  private func failed(_ error: RunError) -> StepInterruption {
    var error = error
    run.place(&error, at: step.location)
    return .failed(error)
  }
}

extension Value {
  /// The content of an optional, or nil; any other value as it is.
  var ifPresent: Value? { if case .optional(let wrapped) = content { wrapped } else { self } }
}

extension Repetition {
  /// The delay after a round; nil if the next one begins at once.
  ///
  /// - Parameter chance: A random number from 0 up to 1, for jitter.
  func delay(after number: Int, chance: Double) -> TimeSpan? {
    guard let every else { return nil }
    let delay = RetrySchedule(
      maxAttempts: .max,
      delays: .growing(initial: every, factor: factor, limit: maxEvery ?? TimeSpan(nanoseconds: .max)),
      jitter: .none
    ).delay(afterAttempt: number, chance: 0)
    return delay + TimeSpan(nanoseconds: Int(Double(jitter.nanoseconds) * (2 * chance - 1)))
  }
}
