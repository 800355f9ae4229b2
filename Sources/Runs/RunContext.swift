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

  init(
    recipe: Recipe, journal: RunJournal, services: Services, time: any TimeSource, folder: String,
    report: @escaping @Sendable (Progress) -> Void, chance: @escaping @Sendable () -> Double
  ) {
    id = journal.id
    self.recipe = recipe
    self.journal = journal
    self.services = services
    self.time = time
    self.folder = folder
    self.report = report
    self.chance = chance
  }

  // MARK: Expressions

  func evaluate(_ template: ValueTemplate, in frame: Frame, step: StepPath) throws(StepExit) -> Value {
    do throws(ExpressionFailure) { return try template.evaluate(in: frame.slots) } catch { throw failed(error, step) }
  }

  func evaluate(_ expression: RecipeExpression, in frame: Frame, step: StepPath) throws(StepExit) -> Value {
    do throws(ExpressionFailure) { return try expression.evaluate(in: frame.slots) } catch { throw failed(error, step) }
  }

  func holds(_ condition: RecipeExpression, in frame: Frame, step: StepPath) throws(StepExit) -> Bool {
    try evaluate(condition, in: frame, step: step).bool ?? false
  }

  private func failed(_ failure: ExpressionFailure, _ step: StepPath) -> StepExit {
    var error = RunError(.expression, services.redactor.redact(failure.message), step: step)
    place(&error, at: failure.location)
    return .failed(error)
  }

  // MARK: Errors

  func runError(_ error: ActionError, step: StepPath, attempt: Int?) -> RunError {
    RunError(
      RunError.Kind(rawValue: error.kind.rawValue) ?? .plugin, services.redactor.redact(error.message),
      detail: error.detail.map(services.redactor.redact), status: error.status, step: step, attempt: attempt,
      retryable: error.retryable, retryAfter: error.retryAfter,
      effect: RunError.Effect(rawValue: error.effect.rawValue) ?? .unknown)
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
    before step: Step, after number: Int, _ error: RunError, policy: RetrySchedule?, frame: Frame, startedAt: Timestamp
  ) -> TimeSpan? {
    guard let policy, number < policy.maxAttempts, let kind = ErrorKind(rawValue: error.kind.rawValue),
      policy.kinds.contains(kind), step.retry != nil || error.retryable
    else { return nil }
    if let retry = step.retry, let condition = retry.condition {
      var inner = frame
      inner.truncate(to: retry.scopeSize)
      inner.bind(error.value)
      // A condition that fails does not hold.
      guard (try? condition.evaluate(in: inner.slots))?.bool == true else { return nil }
    }
    let delay = error.retryAfter ?? policy.delay(afterAttempt: number, chance: chance())
    if let left = left(of: step.timeout.total, since: startedAt), delay > left { return nil }
    return delay
  }

  /// What is left of a time limit; never nothing, so that a deadline that passed meanwhile gets one last attempt.
  func left(of limit: TimeSpan?, since start: Timestamp) -> TimeSpan? {
    limit.map { max($0 - (time.now().span(since: start) ?? .zero), .milliseconds(1)) }
  }

  /// Waits until an instant; a run that is to end ends the wait at once.
  func pause(until due: Timestamp, in scope: CancelScope) async throws(StepExit) {
    try scope.check()
    while let left = due.span(since: time.now()), left > .zero {
      // In short pieces, because the wall clock may be set and the run may be told to end.
      do { try await time.sleep(for: min(left, .milliseconds(200))) } catch { throw .cancelled }
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
