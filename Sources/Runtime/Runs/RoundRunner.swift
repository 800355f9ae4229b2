// How an action is repeated until its result is as wanted.
//
// The step's record counts the rounds as its attempts, and is `waiting` between two of them. The current round has a
// record of its own, `backup/#round`, which starts anew with each round: its own `now`, its own idempotency key, its
// own attempts with their retries. A round begins in one batch with its number in the step's record, so that a crash
// leaves no doubt which round the record is about, and a thousand rounds leave no more behind than one.
//
// No round begins after the time limit, which is an instant. The last one begins at the limit, even if no process was
// running the run then, and the limit never cuts a round short.
import ActionKit
import Basics
import Recipes
import RunState

/// Runs the action of a step that has `repeat`.
struct RoundRunner {
  let run: RunContext
  let step: Step
  let call: ActionCall
  let repetition: Repetition
  let path: StepPath
  let depth: Int
  let scope: CancelScope

  private var journal: RunJournal { run.journal }
  /// The record of the current round.
  private var roundPath: StepPath { "\(path)/#round" }

  /// The output of the round for which `until` holds.
  func output(in environment: Environment, known: StepRecord?) async throws(StepInterruption) -> Value {
    let startedAt = known?.startedAt ?? run.time.now()
    if known == nil {
      try scope.check()
      journal.hold([.stepBegan(StepBegan(run: run.id, at: startedAt, step: path, now: environment.now))])
    }
    let limits = [repetition.timeout, step.timeout.total].compactMap { $0 }
    let deadline = limits.min()?.after(startedAt)
    var number = known?.attempts ?? 0
    var current = known?.status == .waiting || number == 0 ? nil : journal.step(roundPath)
    if known?.status == .waiting, let wait = known?.wait { try await pause(wait, after: number) }
    while true {
      if current == nil {
        try scope.check()
        number += 1
      }
      var inner = environment
      inner.now = current?.now ?? journal.instant(of: "\(roundPath)~\(number)")
      let result = try await round(number, in: inner, known: current)
      current = nil
      inner.bind(result)
      if try run.holds(repetition.until, in: inner, step: path) { return result }
      let now = run.time.now()
      if let deadline, deadline <= now { throw timedOut(limits.min(), after: number, result) }
      let due = repetition.delay(after: number, chance: run.chance()).after(now)
      let wait = WaitRecord(.poll, wakeAt: deadline.map { min($0, due) } ?? due, rounds: number)
      journal.hold([.stepWaits(StepWaits(run: run.id, at: now, step: path, now: environment.now, wait: wait))])
      try await pause(wait, after: number)
    }
  }

  private func pause(_ wait: WaitRecord, after number: Int) async throws(StepInterruption) {
    try await run.pause(
      until: wait.wakeAt ?? .earliest, for: "'\(path)' is done again (round \(number + 1))", in: scope,
      tell: { run.report(.stepWaits(path: path, title: step.title, depth: depth, wait: wait)) })
  }

  private func round(_ number: Int, in environment: Environment, known: StepRecord?) async throws(StepInterruption)
    -> Value
  {
    let began = AttemptBegan(run: run.id, at: run.time.now(), step: path, number: number)
    let runner = ActionRunner(
      run: run, step: step, call: call, path: roundPath, scope: scope, round: (path, number, .attemptBegan(began)))
    if let known {
      if known.status == .succeeded { return try await journal.value(known.output, as: "the output of '\(path)'") }
      // As with any step: until a person resolves it, or when what follows was interrupted.
      if known.status == .uncertain { throw .uncertain(known.error ?? .lost(path)) }
      if known.status == .cancelled { throw .cancelled }
      if let error = known.error { throw .failed(error) }
    }
    do throws(StepInterruption) { return try await runner.output(in: environment, known: known) } catch {
      if let ended = error.ended, !journal.hasEnded(roundPath), journal.step(roundPath) != nil {
        journal.hold([
          .stepEnded(
            StepEnded(run: run.id, at: run.time.now(), step: roundPath, status: ended.status, error: ended.error))
        ])
      }
      throw error
    }
  }

  private func timedOut(_ limit: TimeSpan?, after number: Int, _ result: Value) -> StepInterruption {
    let excerpt = JSON.shown(result).excerpt(200)
    var error = RunError(
      .timeout,
      "'\(step.title)' was not as wanted after \(number == 1 ? "1 round" : "\(number) rounds") in "
        + "\(limit?.spelled ?? "its time"); the last one gave \(excerpt)", step: path)
    run.place(&error, at: step.location)
    return .failed(error)
  }
}

extension Repetition {
  /// The delay after a round.
  ///
  /// - Parameter chance: A random number from 0 up to 1, for jitter.
  func delay(after number: Int, chance: Double) -> TimeSpan {
    let delay = RetrySchedule(
      maxAttempts: .max,
      delays: .growing(initial: every, factor: factor, limit: maxEvery ?? TimeSpan(nanoseconds: .max)),
      jitter: .none
    ).delay(afterAttempt: number, chance: 0)
    return delay + TimeSpan(nanoseconds: Int(Double(jitter.nanoseconds) * (2 * chance - 1)))
  }
}
