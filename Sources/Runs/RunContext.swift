import ActionKit
import Basics
import Recipes
import RunState

/// What all steps of one run share.
final class RunContext: Sendable {
  let id: String
  let recipe: Recipe
  let journal: RunJournal
  let services: Services
  let time: any TimeSource
  /// The folder that relative paths start from.
  let folder: String
  let report: @Sendable (Progress) -> Void
  /// A number from 0 up to 1, for jitter.
  let chance: @Sendable () -> Double
  let redactor: Redactor

  init(
    recipe: Recipe, journal: RunJournal, services: Services, redactor: Redactor, time: any TimeSource, folder: String,
    report: @escaping @Sendable (Progress) -> Void, chance: @escaping @Sendable () -> Double
  ) {
    id = journal.id
    self.recipe = recipe
    self.journal = journal
    self.services = services
    self.redactor = redactor
    self.time = time
    self.folder = folder
    self.report = report
    self.chance = chance
  }

  // MARK: Expressions

  func evaluate(_ template: ValueTemplate, in frame: Frame, step: StepPath) throws(StepExit) -> Value {
    do throws(ExpressionFailure) { return try template.evaluate(in: frame.slots) } catch {
      throw failed(error.message, step, at: error.location)
    }
  }

  func evaluate(_ expression: RecipeExpression, in frame: Frame, step: StepPath) throws(StepExit) -> Value {
    do throws(ExpressionFailure) { return try expression.evaluate(in: frame.slots) } catch {
      throw failed(error.message, step, at: error.location)
    }
  }

  func holds(_ condition: RecipeExpression, in frame: Frame, step: StepPath) throws(StepExit) -> Bool {
    let value = try evaluate(condition, in: frame, step: step)
    guard let holds = value.bool else {
      throw failed("a condition must be a bool, but this is \(value.kindName)", step)
    }
    return holds
  }

  /// The list that a loop goes through.
  func items(of loop: Loop, in frame: Frame, step: StepPath) throws(StepExit) -> Value {
    let value = try evaluate(loop.items, in: frame, step: step)
    guard value.list != nil else {
      throw failed("'forEach' takes a list, but this is \(value.kindName)", step)
    }
    return value
  }

  private func failed(_ message: String, _ step: StepPath, at location: Diagnostic.Location? = nil) -> StepExit {
    var error = RunError(.expression, redactor.redact(message), step: step)
    place(&error, at: location)
    return .failed(error)
  }

  // MARK: Errors

  /// An action's error as the state keeps it, without the secrets that a service may have sent back.
  func runError(_ error: ActionError, step: StepPath, attempt: Int?) -> RunError {
    var causes: [ActionError] = []
    var next = error.cause as? ActionError
    while let cause = next, causes.count < RunContext.mostCauses {
      causes.append(cause)
      next = cause.cause as? ActionError
    }
    var chain: RunError?
    for cause in causes.reversed() { chain = runError(cause, step: nil, attempt: nil, cause: chain) }
    return runError(error, step: step, attempt: attempt, cause: chain)
  }

  private static let mostCauses = 8

  private func runError(_ error: ActionError, step: StepPath?, attempt: Int?, cause: RunError?) -> RunError {
    RunError(
      error.kind, redactor.redact(error.message),
      detail: error.detail.map(redactor.redact), status: error.status, step: step, attempt: attempt,
      retryable: error.retryable, retryAfter: error.retryAfter,
      effect: error.effect, cause: cause)
  }

  /// Says where in the recipe an error belongs.
  func place(_ error: inout RunError, at location: Diagnostic.Location?) {
    guard let location, error.line == nil else { return }
    let position = location.source.position(at: location.range.lowerBound)
    error.file = location.source.name
    error.line = position.line
    error.column = position.column
  }

  // MARK: Trying again, and waiting

  /// How long to wait before the next try of a step, or nil if there is none.
  func delay(
    before step: Step, after number: Int, _ error: RunError, policy: RetrySchedule?, limits: TimeLimits, frame: Frame,
    startedAt: Timestamp
  ) -> TimeSpan? {
    guard let policy, number < policy.maxAttempts, policy.kinds.contains(error.kind),
      step.retry != nil || error.retryable
    else { return nil }
    if let retry = step.retry, let condition = retry.condition {
      var inner = frame
      inner.truncate(to: retry.scopeSize)
      inner.bind(error.value)
      // A condition that fails does not hold.
      guard (try? condition.evaluate(in: inner.slots))?.bool == true else { return nil }
    }
    let delay = error.retryAfter ?? policy.delay(afterAttempt: number, chance: chance())
    if let total = limits.total, delay >= left(of: total, since: startedAt) { return nil }
    return delay
  }

  /// How long the next try may take; a deadline that passed meanwhile still gets one last try of ordinary length.
  func limit(of limits: TimeLimits, since start: Timestamp) -> TimeSpan? {
    guard let total = limits.total else { return limits.attempt }
    let left = left(of: total, since: start)
    return left > .zero ? min(left, limits.attempt ?? left) : limits.attempt ?? total
  }

  private func left(of total: TimeSpan, since start: Timestamp) -> TimeSpan {
    total - (time.now().span(since: start) ?? .zero)
  }

  /// Waits until an instant; a run that is to end ends the wait at once.
  func pause(until due: Timestamp, in scope: CancelScope) async throws(StepExit) {
    try scope.check()
    while let left = due.span(since: time.now()), left > .zero {
      // In pieces, because the wall clock may be set meanwhile.
      await scope.sleep(for: min(left, .seconds(60)), on: time)
      try scope.check()
    }
  }
}

extension RunError {
  /// What `error` is in handlers.
  var value: Value {
    var map = ValueMap()
    map["kind"] = .string(self.kind.rawValue)
    map["message"] = .string(self.message)
    map["detail"] = self.detail.map { .string($0) }
    map["status"] = self.status.map { .int($0) }
    map["step"] = self.step.map { .string($0) }
    map["attempt"] = self.attempt.map { .int($0) }
    map["retryable"] = .bool(self.retryable)
    map["effect"] = .string(self.effect.rawValue)
    return .map(map)
  }
}
