import ActionKit
import Basics
import Expressions
import Recipes
import RunState
import Synchronization

/// The things that all steps of one run share.
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
  private let redacting: Mutex<(redactor: Redactor, version: Int)>
  let waitRegistry: WaitRegistry
  /// Whether this program has walked the run before, so that its followers know what was done.
  let isWalkedAgain: Bool

  init(
    recipe: Recipe, journal: RunJournal, services: Services, redactor: Redactor, waitRegistry: WaitRegistry,
    isWalkedAgain: Bool, time: any TimeSource, folder: String,
    report: @escaping @Sendable (Progress) -> Void, chance: @escaping @Sendable () -> Double
  ) {
    id = journal.id
    self.recipe = recipe
    self.journal = journal
    self.services = services
    redacting = Mutex((redactor, 0))
    self.waitRegistry = waitRegistry
    self.isWalkedAgain = isWalkedAgain
    self.time = time
    self.folder = folder
    self.report = report
    self.chance = chance
  }

  // MARK: Secrets

  /// Masks the secrets that the run knows now.
  var redactor: Redactor { redacting.withLock { $0.redactor } }

  /// The redactor with a number that grows with each that replaces it.
  fileprivate var versionedRedactor: (redactor: Redactor, version: Int) { redacting.withLock { $0 } }

  /// Masks secrets that weren't known when the walk of the run began, from now on.
  func learn(_ redactor: Redactor) {
    redacting.withLock { $0 = (redactor, $0.version &+ 1) }
  }

  // MARK: Expressions

  func evaluate(_ template: ValueTemplate, in environment: Environment, step: StepPath) throws(StepInterruption)
    -> Value
  {
    do throws(LocatedEvaluationError) { return try template.evaluate(in: environment.slots) } catch {
      throw failed(error.message, step, at: error.location, reading: error.detail, environment)
    }
  }

  func evaluate(_ expression: RecipeExpression, in environment: Environment, step: StepPath) throws(StepInterruption)
    -> Value
  {
    do throws(LocatedEvaluationError) { return try expression.evaluate(in: environment.slots) } catch {
      throw failed(error.message, step, at: error.location, reading: error.detail, environment)
    }
  }

  func holds(_ condition: RecipeExpression, in environment: Environment, step: StepPath) throws(StepInterruption)
    -> Bool
  {
    let value = try evaluate(condition, in: environment, step: step)
    guard let holds = value.bool else {
      throw failed("a condition must be a bool, but this is \(value.kindName)", step, at: condition.location)
    }
    return holds
  }

  /// The list that a loop goes through.
  func items(of loop: Loop, in environment: Environment, step: StepPath) throws(StepInterruption) -> Value {
    let value = try evaluate(loop.items, in: environment, step: step)
    guard value.list != nil else {
      throw failed("'forEach' takes a list, but this is \(value.kindName)", step, at: loop.items.location)
    }
    return value
  }

  /// The case that runs.
  func chosen(of cases: Cases, in environment: Environment, step: StepPath) throws(StepInterruption) -> Case {
    let value = try evaluate(cases.subject, in: environment, step: step)
    guard let chosen = cases.chosen(by: value) else {
      throw failed(cases.refusal(of: value), step, at: cases.subject.location)
    }
    return chosen
  }

  /// The value that a step gives instead of an error, which is the last name in the environment.
  func value(of fallback: Fallback, in environment: Environment, at path: StepPath) throws(StepInterruption) -> Value {
    // Not the step's own path, because nothing catches what fails here.
    let place = path + StepPath.fallback
    let value = try evaluate(fallback.template, in: environment, step: place)
    do throws(ValueError) { return try fallback.fitted(value) } catch {
      throw failed("the value of 'onError': \(error)", place, at: fallback.location)
    }
  }

  private func failed(
    _ message: String, _ step: StepPath, at location: Diagnostic.Location? = nil, reading detail: String? = nil,
    _ environment: Environment? = nil
  ) -> StepInterruption {
    // Names the items of the loops around, to say which evaluation failed.
    let items = (environment?.items ?? []).map { "\($0.name) is \($0.value.shortened())" }
    let parts = (detail.map { [$0] } ?? []) + items.filter { detail?.contains($0) != true }
    var error = RunError(
      .expression, redactor.redact(message),
      detail: parts.isEmpty ? nil : redactor.redact(parts.joined(separator: "; ")), step: step)
    place(&error, at: location)
    return .failed(error)
  }

  // MARK: Errors

  /// An action's error as the state keeps it, without the secrets that a service may have sent back.
  func runError(_ error: ActionError, step: StepPath, attempt: Int?) -> RunError {
    RunError(error, step: step, attempt: attempt, redactedBy: redactor)
  }

  /// Adds the place in the recipe to an error.
  func place(_ error: inout RunError, at location: Diagnostic.Location?) { error.place(at: location) }

  // MARK: Trying again, and waiting

  /// The delay before a step's next attempt, or nil if there is none.
  ///
  /// If there is none because the service asks for too long a wait, the error says so from then on.
  func delay(
    before step: Step, after number: Int, _ error: inout RunError, standard: RetrySchedule?, limits: TimeLimits,
    environment: Environment,
    startedAt: Timestamp
  ) -> TimeSpan? {
    guard let policy = step.schedule(after: error, standard: standard), number < policy.maxAttempts else { return nil }
    if let retry = step.retry, let condition = retry.condition {
      var inner = environment
      inner.truncate(to: retry.scopeSize)
      inner.bind(error.value)
      // A condition that fails doesn't hold.
      guard (try? condition.evaluate(in: inner.slots))?.bool == true else { return nil }
    }
    guard let asked = error.retryAfter else {
      let delay = policy.delay(afterAttempt: number, chance: chance())
      return limits.total.map { delay >= left(of: $0, since: startedAt) } == true ? nil : delay
    }
    let longest = limits.total.map { left(of: $0, since: startedAt) } ?? RunContext.longestDelay
    if asked < longest { return asked }
    if error.message.hasSuffix(".") { error.message.removeLast() }
    error.message +=
      "; it isn't tried again, because the service asked to wait \(asked.written), and "
      + (limits.total == nil ? "\(longest.written) is the most" : "the step's time limit leaves less")
    return nil
  }

  /// The longest wait that a service may ask for of a step without a time limit.
  private static let longestDelay = TimeSpan.seconds(30 * 86_400)

  /// How long the next attempt may take.
  ///
  /// After a deadline that passed meanwhile, one last attempt has the ordinary limit.
  func limit(of limits: TimeLimits, since start: Timestamp) -> TimeSpan? {
    guard let total = limits.total else { return limits.attempt }
    let left = left(of: total, since: start)
    return left > .zero ? min(left, limits.attempt ?? left) : limits.attempt ?? total
  }

  /// Never more than the total, even if the clock was set back since the start.
  private func left(of total: TimeSpan, since start: Timestamp) -> TimeSpan {
    total - max(.zero, time.now().span(since: start) ?? .zero)
  }

  /// Waits until the instant that a delay ends; ending the run ends the wait at once.
  ///
  /// The instant is in the records, so that a crash doesn't lengthen the delay, nor does a clock that is set back
  /// during the wait. A clock that is set back while no process is running the run does: then the run waits until the
  /// clock shows the instant again.
  func pause(
    until due: Timestamp, for reason: String, in scope: CancelScope, tell: () -> Void = {}
  ) async throws(StepInterruption) {
    let delay = due.span(since: time.now()).map { time.elapsed() + $0 }
    let nothing = { () throws(StepInterruption) -> Never? in nil }
    _ = try await wait(until: due, delay, for: reason, in: scope, tell: tell, nothing)
  }

  /// Waits until `look` finds something, or until an instant, and then gives nil; what led here is on disk first.
  ///
  /// A wait that is over is over, even if the time limit of a block around it has passed meanwhile.
  func wait<Found>(
    until due: Timestamp?, _ elapsed: TimeSpan? = nil, for reason: String, in scope: CancelScope,
    tell: () -> Void = {}, _ find: () async throws(StepInterruption) -> Found?
  ) async throws(StepInterruption) -> Found? {
    var isTold = false
    while true {
      // Taken before looking, so that a call after the look is noticed.
      let calls = waitRegistry.calls
      try scope.check()
      if let found = try await find() { return found }
      let now = time.now()
      if let due, due <= now { return nil }
      if let elapsed, elapsed <= time.elapsed() { return nil }
      if scope.isLate(at: now) { throw .cancelled }
      try await journal.commit()
      if !isTold { tell() }
      isTold = true
      let next = [due, scope.deadline].compactMap { $0 }.min()
      let alarm = next.map { WaitRegistry.Alarm(at: $0, elapsed: elapsed) }
      try await waitRegistry.park(until: alarm, for: reason, since: calls, in: scope)
    }
  }
}

extension Step {
  /// How a step retries after this error: by its own `retry` if the error is one that it names, or else retryable;
  /// without `retry`, by the action's own schedule.
  func schedule(after error: RunError, standard: RetrySchedule?) -> RetrySchedule? {
    if let retry { return retry.kinds?.contains(error.kind) ?? error.retryable ? retry.schedule : nil }
    guard let standard, standard.kinds.contains(error.kind), error.retryable else { return nil }
    return standard
  }
}

/// Masks the secrets of a run and of one step's input, including secrets that are read again meanwhile.
final class StepRedactor: Sendable {
  private let run: RunContext
  private let secrets: [String]
  /// Making one is slow where the input holds secrets.
  private let made = Mutex<(redactor: Redactor, version: Int)?>(nil)

  init(_ run: RunContext, secrets: [String]) {
    self.run = run
    self.secrets = secrets
  }

  var current: Redactor {
    let (redactor, version) = run.versionedRedactor
    if secrets.isEmpty { return redactor }
    return made.withLock { made in
      if let made, made.version == version { return made.redactor }
      let adding = redactor.adding(secrets)
      made = (adding, version)
      return adding
    }
  }
}
