// How one action is done, and what follows when it is not known whether it was.
//
// An attempt is on disk before it starts. When its outcome is not known (the program died in it, its answer was lost, it
// was cancelled by force), the action's effect decides (DESIGN, section 5):
//
//     pure, read          again
//     consume             again, at most as often as the action declares, then uncertain
//     idempotentWrite     again within the time in which repeating changes nothing, else like a write
//     write               with a key that the service honours: again with it; with `reconcile`: look; else uncertain
//
// "Again" after a crash is at once; after an error it is by the retry policy: the step's, else the action's, else that
// of its effect. Every attempt, with its error and the instant of the next one, is in the journal.
import ActionKit
import Basics
import Calendars
import Recipes
import RunState

/// Does the action of one step, or of one item of a loop, and records its attempts and its success.
struct ActionRunner {
  let run: RunContext
  let step: Step
  let call: ActionCall
  let path: StepPath
  let scope: CancelScope

  private var journal: RunJournal { run.journal }
  private var action: ActionDescriptor { call.action }

  /// What all attempts share.
  private struct Work {
    var input: Value
    var service: any Sendable
    var key: String
    var now: Timestamp
    var startedAt: Timestamp
  }

  /// What is known of the world after an attempt without an answer.
  private enum Verdict {
    case done(Value)
    case mayBeDoneAgain
    case uncertain
  }

  /// The output, or how the step ended without one.
  func output(in frame: Frame) async throws(StepExit) -> Value {
    let known = await journal.step(path)
    // The last try failed for good, and the program ended before what follows from that was recorded.
    if let last = known?.lastAttempt, let error = last.error, last.retryAt == nil { throw .failed(error) }
    let work = try await work(in: frame, known: known)
    var number = known?.attempts ?? 0
    if known == nil {
      await journal.hold([
        .stepBegan(StepBegan(run: run.id, at: run.time.now(), step: path, now: frame.now, key: work.key))
      ])
    } else if let last = known?.lastAttempt {
      if let due = last.retryAt {
        try await run.pause(until: due, in: scope)
      } else if last.endedAt == nil {
        let lost = RunError(
          .uncertain, "the program ended while \(action.id) was under way", step: path, attempt: number,
          retryable: true, effect: .unknown)
        if let output = try await settled(lost, work, number, baseline: try await journal.value(last.baseline)) {
          return output
        }
      }
    }
    while true {
      try scope.check()
      number += 1
      let baseline = try await baselineValue(work, number)
      let stored = if let baseline { try await journal.stored(baseline) } else { StoredValue?.none }
      try await journal.commit([
        .attemptBegan(
          AttemptBegan(run: run.id, at: run.time.now(), step: path, number: number, baseline: stored))
      ])
      let requests = RequestLog()
      let error: RunError
      switch await perform(work, number, requests) {
      case .success(let output): return try await succeeded(number, output, requests)
      case .failure(let failure): error = runError(failure, attempt: number)
      }
      if error.effect == .unknown,
        let output = try await settled(error, work, number, baseline: baseline ?? .null, requests)
      {
        return output
      }
      let delay =
        Task.isCancelled
        ? nil
        : run.delay(
          before: step, after: number, error, policy: step.retry?.schedule ?? action.retry ?? action.effect.standardRetry,
          frame: frame, startedAt: work.startedAt)
      guard let delay else {
        await journal.hold([ended(number, error, requests)])
        if Task.isCancelled { throw .cancelled }
        throw .failed(error)
      }
      let due = run.time.now().advanced(by: delay) ?? .latest
      try await journal.commit([ended(number, error, requests, retryAt: due)])
      run.report(.attemptFailed(path: path, attempt: number, error: error, retryIn: delay))
      try await run.pause(until: due, in: scope)
    }
  }

  private func work(in frame: Frame, known: StepRecord?) async throws(StepExit) -> Work {
    let input = try run.evaluate(call.input, in: frame, step: path)
    var key = known?.key ?? "\(run.id)/\(path)"
    if known == nil, let template = call.key { key = try run.evaluate(template, in: frame, step: path).plainText }
    do throws(ActionError) {
      let service = try await run.services.service(named: call.connection, of: action.plugin)
      return Work(
        input: input, service: service, key: key, now: frame.now, startedAt: known?.startedAt ?? run.time.now())
    } catch {
      throw .failed(runError(error, attempt: nil))
    }
  }

  private func context(_ work: Work, _ number: Int) -> ActionContext {
    ActionContext(
      run: run.id, step: path, attempt: number, idempotencyKey: work.key, now: work.now, time: run.time,
      folder: run.folder
    ) { [run, path] progress in run.report(.reported(path: path, text: progress.message)) }
  }

  private func perform(_ work: Work, _ number: Int, _ requests: RequestLog) async -> Result<Value, ActionError> {
    let limit = [step.timeout.attempt ?? action.timeout, run.left(of: step.timeout.total, since: work.startedAt)]
      .compactMap { $0 }.min()
    let context = context(work, number)
    let (result, isTimeout) = await withTimeLimit(limit, time: run.time) { () async throws(ActionError) in
      try await RequestLog.recording(requests) { () async throws(ActionError) in
        try await action.run(work.input, on: work.service, in: context)
      }
    }
    guard isTimeout, case .failure(let error) = result, let limit else { return result }
    return .failure(
      ActionError(.timeout, "\(action.id) gave no result within \(limit)", detail: error.message, effect: error.effect))
  }

  private func baselineValue(_ work: Work, _ number: Int) async throws(StepExit) -> Value? {
    guard action.canReconcile else { return nil }
    do throws(ActionError) {
      return try await action.baseline(work.input, on: work.service, in: context(work, number))
    } catch {
      // Nothing was written yet, so this is a failure like any other.
      throw .failed(runError(error, attempt: number))
    }
  }

  // MARK: What is known after an attempt

  /// The output if the attempt turns out to have been done, nil if it may be done again, or the exit as uncertain.
  private func settled(
    _ error: RunError, _ work: Work, _ number: Int, baseline: Value, _ requests: RequestLog? = nil
  ) async throws(StepExit) -> Value? {
    switch await verdict(work, number, baseline: baseline) {
    case .done(let output): return try await succeeded(number, output, requests)
    case .mayBeDoneAgain: return nil
    case .uncertain:
      var uncertain = error
      uncertain.kind = .uncertain
      uncertain.message = "\(action.id) may or may not have been done: \(error.message)"
      uncertain.retryable = false
      try await journal.commit([
        ended(number, uncertain, requests),
        .stepEnded(StepEnded(run: run.id, at: run.time.now(), step: path, status: .uncertain, error: uncertain)),
      ])
      throw .uncertain(uncertain)
    }
  }

  private func verdict(_ work: Work, _ number: Int, baseline: Value) async -> Verdict {
    switch action.effect {
    case .pure, .read: return .mayBeDoneAgain
    case .consume(let repeats): return number <= repeats ? .mayBeDoneAgain : .uncertain
    case .idempotentWrite(let window):
      if window.stillHolds(from: work.startedAt, at: run.time.now()) { return .mayBeDoneAgain }
    case .write: break
    }
    if call.key != nil, action.acceptsKey { return .mayBeDoneAgain }
    guard action.canReconcile, !Task.isCancelled else { return .uncertain }
    let found = try? await action.reconcile(
      work.input, with: baseline, startedAt: work.startedAt, on: work.service, in: context(work, number))
    switch found {
    case .done(let output): return .done(output)
    case .notDone: return .mayBeDoneAgain
    // A look-up that fails tells no more than one that is in doubt.
    case .unknown, nil: return .uncertain
    }
  }

  /// Records a success; the attempt and the step end in one event list, so that no crash comes between them.
  private func succeeded(_ number: Int, _ output: Value, _ requests: RequestLog?) async throws(StepExit) -> Value {
    let stored = try await journal.stored(output)
    await journal.hold([
      ended(number, nil, requests),
      .stepEnded(StepEnded(run: run.id, at: run.time.now(), step: path, status: .succeeded, output: stored)),
    ])
    return output
  }

  private func ended(
    _ number: Int, _ error: RunError?, _ requests: RequestLog?, retryAt: Timestamp? = nil
  ) -> StateEvent {
    .attemptEnded(
      AttemptEnded(
        run: run.id, at: run.time.now(), step: path, number: number, error: error, retryAt: retryAt,
        exchanges: requests?.values ?? []))
  }

  private func runError(_ error: ActionError, attempt: Int?) -> RunError {
    var error = run.runError(error, step: path, attempt: attempt)
    run.place(&error, at: step.location)
    return error
  }
}

extension RepeatWindow {
  /// Whether repeating a write that was first tried at one instant still changes nothing more at another.
  fileprivate func stillHolds(from start: Timestamp, at now: Timestamp) -> Bool {
    switch self {
    case .forever: true
    case .span(let span): now.span(since: start).map { $0 <= span } ?? false
    case .sameDay(let zone):
      RepeatWindow.day(of: start, in: zone).map { $0 == RepeatWindow.day(of: now, in: zone) } ?? false
    }
  }

  /// The day in a zone; a zone that is not known has none, so that nothing is taken for the same day.
  private static func day(of instant: Timestamp, in zone: String) -> CivilDate? {
    try? TimeZoneDatabase.system.rules(named: zone).localTime(at: instant).time.date
  }
}
