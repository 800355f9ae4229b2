// How `wait`, `approve` and `ask` run.
//
// The details of a wait are on disk before the step waits: the instant, evaluated once, the event's name, or the
// question as asked. So the same step, reached again by a later walk, waits for the same. A wait that is over is
// recorded with the instant of its detection, so that `now` is never earlier than that for a later step, whatever
// happens to the clock.
//
// A step takes the oldest event of the right name that was received after the run began, that no run has consumed, that
// was sent to this run or to no particular run, whose data fits `type`, and that `match` accepts. Consuming it and
// ending the step is one batch, which the store refuses if another run consumed the event first: then the step tries
// the next one. If `match` can't be evaluated for an event, the event is of another shape, and doesn't match.
//
// How a question is asked is in `Question`. A person's decision is on disk before it is confirmed. It counts even if it
// is found only after the time limit. A rejection ends the run as rejected, which nothing catches, unless the recipe
// says `onReject: continue`.
//
// An answer is checked before it is recorded, against the fields in the record of the question; the state refuses one
// for a step that isn't asking any more. A question that may stay without an answer succeeds with an absent value.
import ActionKit
package import Basics
package import Recipes
package import RunState

/// Runs one step's wait.
struct WaitRunner {
  let run: RunContext
  let step: Step
  let path: StepPath
  let depth: Int
  let scope: CancelScope

  private var journal: RunJournal { run.journal }

  // MARK: Time and events

  func value(of wait: Wait, in environment: Environment, known: StepRecord?) async throws(StepInterruption) -> Value {
    switch wait {
    case .span(let span):
      return try await passed(known?.wait?.wakeAt ?? span.after(run.time.now()), isDelay: true, environment, known)
    case .duration(let expression):
      if let due = known?.wait?.wakeAt { return try await passed(due, isDelay: true, environment, known) }
      let value = try run.evaluate(expression, in: environment, step: path)
      guard let span = value.duration else { throw mistyped(value, "a duration") }
      return try await passed(span.after(run.time.now()), isDelay: true, environment, known)
    case .until(let expression):
      if let due = known?.wait?.wakeAt { return try await passed(due, isDelay: false, environment, known) }
      let value = try run.evaluate(expression, in: environment, step: path)
      guard let due = value.timestamp else { throw mistyped(value, "an instant") }
      return try await passed(due, isDelay: false, environment, known)
    case .event(let name, let match, let form, let onTimeout):
      return try await event(name, match, form, onTimeout, environment, known)
    }
  }

  private func mistyped(_ value: Value, _ wanted: String) -> StepInterruption {
    var error = RunError(.expression, "'wait' takes \(wanted), but this is \(value.kindName)", step: path)
    run.place(&error, at: step.location)
    return .failed(error)
  }

  private func passed(
    _ due: Timestamp, isDelay: Bool, _ environment: Environment, _ known: StepRecord?
  ) async throws(StepInterruption) -> Value {
    let now = run.time.now()
    if known == nil, path.isInTell, let last = now.advanced(by: QuestionSettings.longestWait), due > last {
      var error = RunError(
        .validation, "a step in 'tell' waits at most \(QuestionSettings.longestWait.written)", step: path)
      run.place(&error, at: step.location)
      throw .failed(error)
    }
    if known != nil || due > now {
      let wait = known?.wait ?? WaitRecord(.until, wakeAt: due)
      begin(wait, environment, known)
      let elapsed = isDelay ? due.span(since: now).map { run.time.elapsed() + $0 } : nil
      let limit = limit(since: known)
      let end = limit.map { min($0, due) } ?? due
      let nothing = { () throws(StepInterruption) -> Never? in nil }
      _ = try await run.wait(
        until: end, elapsed, for: "waits until \(due.inSeconds)", in: scope, tell: { tell(wait) }, nothing)
      // A limit that is no later than the instant times out, unless both passed while no process was looking.
      if let limit, limit < due, due > run.time.now() { throw timedOut("'\(step.title)' took longer than") }
    }
    return try await over(ValueMap())
  }

  private func event(
    _ name: String, _ match: RecipeExpression?, _ form: EventForm, _ onTimeout: OnTimeout, _ environment: Environment,
    _ known: StepRecord?
  ) async throws(StepInterruption) -> Value {
    let limit = limit(since: known)
    let wait = known?.wait ?? WaitRecord(.event, wakeAt: limit, event: name)
    begin(wait, environment, known)
    let reason = "waits for the event '\(name)'"
    let found = try await run.wait(until: limit, for: reason, in: scope, tell: { tell(wait) }) {
      () async throws(StepInterruption) -> Value? in
      for event in await journal.events(named: name) {
        let data = try await journal.value(event.data, as: "the data of the event '\(event.id)'")
        // One whose data doesn't fit is another event.
        guard case .success(let value) = form.value(of: event, data) else { continue }
        if let match {
          var inner = environment
          inner.bind(value)
          guard (try? match.evaluate(in: inner.slots))?.bool == true else { continue }
        }
        let output = Value.object(["event": value])
        if try await journal.consume(event.id, try await ended(.succeeded, output)) { return output }
      }
      return nil
    }
    if let found { return found }
    if onTimeout == .continue { return try await over(ValueMap()) }
    throw timedOut("no event '\(name)' came within")
  }

  // MARK: Questions to people

  func value(of approval: Approval, in environment: Environment, known: StepRecord?) async throws(StepInterruption)
    -> Value
  {
    let question = approval.question
    let decision = try await decision(
      .approval, question, goesOnAfterNo: approval.onReject == .continue, in: environment, known)
    var output = ValueMap()
    output["approved"] = .bool(decision?.isApproved ?? false)
    guard let decision else {
      if question.onTimeout == .continue { return try await over(output) }
      throw timedOut("no decision within")
    }
    add(decision, to: &output)
    if decision.isApproved || approval.onReject == .continue { return try await over(output) }
    var error = RunError(
      .cancelled,
      "'\(step.title)' was rejected by \(decision.by)\(decision.way)\(decision.comment.map { ": \($0)" } ?? "")",
      step: path)
    run.place(&error, at: step.location)
    journal.hold([try await ended(.failed, error: error)])
    throw .rejected(error)
  }

  func value(of ask: Ask, in environment: Environment, known: StepRecord?) async throws(StepInterruption) -> Value {
    let fields = known?.wait == nil ? try await fields(of: ask, in: environment) : nil
    guard let answer = try await decision(.ask, ask.question, fields: fields, in: environment, known) else {
      if ask.question.onTimeout == .fail { throw timedOut("no answer within") }
      let absent = Value(.optional(nil))
      journal.hold([try await ended(.succeeded, absent)])
      return absent
    }
    var output = ValueMap()
    output["fields"] = try await journal.value(answer.fields.map { .inline($0) }, as: "the answer to '\(path)'")
    add(answer, to: &output)
    return try await over(output)
  }

  /// The fields as the record of the question keeps them, with computed defaults.
  private func fields(of ask: Ask, in environment: Environment) async throws(StepInterruption) -> Value {
    let asked = try ask.asked { template throws(StepInterruption) in
      try run.evaluate(template, in: environment, step: path)
    }
    let objection: String
    switch Recipe.Input.asked(asked) {
    case .success:
      if try await journal.stored(asked, of: path) == .inline(asked) { return asked }
      objection = "the fields hold a secret, or more than a question may; they are shown and kept"
    case .failure(let faults): objection = faults.list.map(\.message).joined(separator: "; ")
    }
    var error = RunError(.validation, run.redactor.redact(objection), step: path)
    run.place(&error, at: step.location)
    throw .failed(error)
  }

  /// Asks people, and waits for their decision or answer; nil if the time ran out.
  private func decision(
    _ kind: WaitRecord.Kind, _ question: QuestionSettings, fields: Value? = nil, goesOnAfterNo: Bool = false,
    in environment: Environment, _ known: StepRecord?
  ) async throws(StepInterruption) -> DecisionRecord? {
    let limit = limit(since: known)
    let wait = try await asked(
      kind, question, fields: fields, goesOnAfterNo: goesOnAfterNo, until: limit, in: environment, known: known)
    begin(wait, environment, known)
    return try await answer(to: question, asked: wait, until: limit, in: environment)
  }

  private func add(_ decision: DecisionRecord, to output: inout ValueMap) {
    output["by"] = .string(decision.by)
    output["at"] = .timestamp(decision.at)
    // Before 0.7.0 it wasn't recorded.
    output["via"] = .string((decision.via ?? .command).rawValue)
    output["comment"] = decision.comment.map { .string($0) }
  }

  // MARK: Records

  private func begin(_ wait: WaitRecord, _ environment: Environment, _ known: StepRecord?) {
    if known == nil {
      journal.hold([
        .stepWaits(StepWaits(run: run.id, at: run.time.now(), step: path, now: environment.now, wait: wait))
      ])
    }
  }

  /// Reports what the step waits for, if it does.
  func tell(_ wait: WaitRecord) {
    run.report(.stepWaits(path: path, title: step.title, depth: depth, wait: wait))
  }

  /// When the step's own time limit is over.
  private func limit(since known: StepRecord?) -> Timestamp? {
    span?.after(known?.startedAt ?? run.time.now())
  }

  private var span: TimeSpan? { [step.timeout.total, step.timeout.attempt].compactMap { $0 }.min() }

  private func timedOut(_ words: String) -> StepInterruption {
    var error = RunError(.timeout, "\(words) \(span?.written ?? "its time")", step: path)
    run.place(&error, at: step.location)
    return .failed(error)
  }

  private func over(_ output: ValueMap) async throws(StepInterruption) -> Value {
    journal.hold([try await ended(.succeeded, .map(output))])
    return .map(output)
  }

  private func ended(
    _ status: StepStatus, _ output: Value? = nil, error: RunError? = nil
  ) async throws(StepInterruption) -> StateEvent {
    let stored = if let output { try await journal.stored(output, of: path) } else { StoredValue?.none }
    return .stepEnded(
      StepEnded(
        run: run.id, at: run.time.now(), step: path, now: journal.instant(), status: status, output: stored,
        error: error))
  }
}

extension EventForm {
  /// The value for a record and its data, or why the data doesn't fit.
  package func value(of event: EventRecord, _ data: Value?) -> Result<Value, Misfit> {
    value(id: event.id, time: event.receivedAt, name: event.name, data: data ?? .null)
  }
}

extension Timestamp {
  /// The instant without its fraction, as people read it.
  var inSeconds: String { Timestamp(seconds: seconds).map { "\($0)" } ?? "\(self)" }
}
