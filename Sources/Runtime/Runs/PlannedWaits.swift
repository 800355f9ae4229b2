// How a plan walks waits and questions, and its clock.
import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  // MARK: Waits

  func value(of wait: Wait, _ step: Step, in environment: Environment, at path: StepPath)
    throws(StepInterruption) -> Value
  {
    switch wait {
    case .span(let span): pass(span, at: path)
    case .duration(let expression):
      switch try known(expression, in: environment, at: path) {
      case .unknown(let unknown):
        note(.pause("would wait for a time that is \(unknown.reason)"), at: path)
        lost = lost ?? unknown
      case .known(let value):
        guard let span = value.duration else {
          throw failure("'wait' takes a duration, but this is \(value.kindName)", at: path)
        }
        pass(span, at: path)
      }
    case .until(let expression):
      switch try known(expression, in: environment, at: path) {
      case .unknown(let unknown):
        note(.pause("would wait until an instant that is \(unknown.reason)"), at: path)
        lost = lost ?? unknown
      case .known(let value):
        guard let due = value.timestamp else {
          throw failure("'wait' takes an instant, but this is \(value.kindName)", at: path)
        }
        note(.pause("would wait until \(due.inSeconds)"), at: path)
        if lost == nil, due > latest { ahead = due.span(since: start) ?? ahead }
      }
    case .event(let name, _, _, let onTimeout):
      note(.pause("would wait for the event '\(name)'"), at: path)
      let later = Unknown("known after '\(self.name(of: step, path))'", mayBeAbsent: onTimeout == .continue)
      lost = lost ?? later
      return .object(["event": later.value])
    }
    return .map(ValueMap())
  }

  func pass(_ span: TimeSpan, at path: StepPath) {
    note(.pause("would wait \(span.written)"), at: path)
    if lost == nil, let due = latest.advanced(by: span) { ahead = due.span(since: start) ?? ahead }
  }

  func value(
    of approval: Approval, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    let question = approval.question
    let prompt = try text(question.prompt, in: environment.environment, at: path)
    let whom = question.by.isEmpty ? "" : " \(question.by.joined(separator: ", "))"
    note(.pause("would ask\(whom): \(prompt) (assumed approved)"), at: path)
    try await tell(of: question, prompt, in: environment, at: path)
    let later = Unknown("known after '\(self.name(of: step, path))'", mayBeAbsent: question.onTimeout == .continue)
    lost = lost ?? later
    let value = Value.object([
      "approved": .bool(true), "by": later.value, "at": later.value, "via": later.value,
      "comment": Unknown(later.reason, mayBeAbsent: true).value,
    ])
    guard approval.onReject == .continue || question.onTimeout == .continue, var other = value.map else {
      return PlannedValue(value)
    }
    other["approved"] = Unknown("\(Planner.whether)'\(path.withoutIndexes)' is rejected").value
    return PlannedValue(value, otherwise: .map(other))
  }

  func value(
    of ask: Ask, _ step: Step, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    let question = ask.question
    let prompt = try text(question.prompt, in: environment.environment, at: path)
    let whom = question.by.isEmpty ? "" : " \(question.by.joined(separator: ", "))"
    note(
      .pause("would ask\(whom) for \(ask.fields.map(\.name).joined(separator: ", ")): \(prompt) (assumed answered)"),
      at: path)
    try await tell(of: question, prompt, in: environment, at: path)
    let later = Unknown("known after '\(self.name(of: step, path))'")
    lost = lost ?? later
    let open = Unknown("\(Planner.whether)'\(path.withoutIndexes)' is answered", mayBeAbsent: true)
    return PlannedValue(later.value(of: ask.type), otherwise: question.onTimeout == .continue ? open.value : nil)
  }

  /// Plans the steps that tell people of a question; its links are known when the run asks.
  func tell(
    of question: QuestionSettings, _ prompt: String, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) {
    guard let block = question.tell else { return }
    let link = Unknown("known when the run asks").value
    let links = (question.by.isEmpty ? [""] : question.by).map { Value.object(["name": .string($0), "link": link]) }
    var inner = environment
    inner.bind(
      .object([
        "prompt": .string(prompt), "by": .list(question.by.map { .string($0) }), "links": .list(links), "link": link,
        "url": link, "until": Unknown("known when the run asks", mayBeAbsent: true).value,
      ]))
    try await run(block, in: &inner, prefix: path.tellPrefix)
  }

  /// The value of `now` in the next step's expressions.
  func now() -> Value {
    if let lost { return lost.value }
    latest = max(latest, start.advanced(by: ahead) ?? .latest)
    return .timestamp(latest)
  }
}
