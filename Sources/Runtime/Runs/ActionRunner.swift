// How one action runs, and how an unknown outcome is handled.
//
// An attempt is on disk before it starts. Its outcome is unknown if the program died in it, its answer was lost, or it
// was cancelled by force. Then the action's effect decides:
//
//     pure, read          again
//     consume             again, at most as often as the action declares, then uncertain
//     idempotentWrite     again while repeating still changes nothing, else like a write
//     write               with a key that the service honours: again with it; with `reconcile`: look; else uncertain
//
// "Again" is at once after a crash. After an error it follows the retry policy: the step's, else the action's, else the
// default of its effect. A write that may be repeated but has no attempt left is uncertain too, because it may have
// been done. A write that was done although it failed (its answer made no sense) is looked up if the action can do so,
// and else fails for good. The journal has every attempt with its error and the instant of the next one.
//
// A step's `shape` is the last part of an attempt. An answer of a read that doesn't fit is a failure that did nothing.
// The answer of any other action is on disk before it is checked; if it doesn't fit, the step fails for good, and a
// retry of the run checks the kept answer again.
import ActionKit
import Basics
import Calendars
import Recipes
import RunState

/// Runs the action of one step, or of one item of a loop, and records its attempts and its success.
///
/// The handling of failures isn't inlined, because it would enlarge the frame that every attempt holds.
struct ActionRunner {
  let run: RunContext
  let step: Step
  let call: ActionCall
  /// The record's path.
  let path: StepPath
  let scope: CancelScope
  /// The round of a repeated action: its step, its number from 1, and the event that records its beginning; nil if that
  /// is recorded already.
  var round: (of: StepPath, number: Int, began: StateEvent?)?

  /// The path as people and the action see it.
  private var name: StepPath { round?.of ?? path }
  private var journal: RunJournal { run.journal }
  private var action: ActionDescriptor { call.action }

  /// The values that all attempts share.
  private struct Work {
    var input: Value
    /// The texts of the input that are made with secrets.
    var secrets: [String]
    /// Removes them, beside the secrets themselves.
    var removal: StepRedactor
    var redactor: Redactor { removal.current }
    var key: String
    var now: Timestamp
    var startedAt: Timestamp
  }

  /// One attempt, with the details to judge its outcome.
  private struct Attempt {
    var number: Int
    var startedAt: Timestamp
    var baseline: Value?
    let log: AttemptLog
    /// The requests that the record of an attempt that ended before has.
    var kept: [Value] = []

    var exchanges: [Value] { kept.isEmpty ? log.requests() : kept }
  }

  /// The verdict on an attempt without output.
  private enum Verdict {
    /// The action was done after all.
    case done(Value)
    /// The attempt may be repeated; `isKnown` says that nothing was done.
    case again(isKnown: Bool)
    /// The attempt must not be repeated.
    case over
    /// The outcome is unknown; the text tells a person where to look.
    case uncertain(String?)
  }

  /// The time limits of all attempts together, and of each.
  private var limits: TimeLimits {
    // In `repeat`, a single round has no total limit: the limit is for all rounds together.
    var limits = step.timeout
    if round != nil {
      limits.total = nil
      limits.attempt = limits.attempt ?? action.timeout
      return limits
    }
    if limits.attempt != nil || limits.total != nil { return limits }
    // A pure action waits for nothing outside, and a timer around it would cost more than the work.
    if action.effect == .pure, action.timeout == ActionDescriptor.standardTimeout { return limits }
    // A recipe's own retry policy may mean hours, which the action's own limit doesn't allow for; so may the queue of a
    // connection with limits.
    if step.retry == nil, limiter == nil { limits.total = action.timeout } else { limits.attempt = action.timeout }
    return limits
  }

  /// The output, or how the step ended without one.
  func output(in environment: Environment, known: StepRecord?) async throws(StepInterruption) -> Value {
    // The last attempt failed for good, and the program ended before it recorded what follows.
    if let last = known?.lastAttempt, let error = last.error, last.retryAt == nil { throw .failed(error) }
    let work = try await work(in: environment, known: known)
    var number = known?.attempts ?? 0
    if known == nil {
      try scope.check()
      // A step begins with its first attempt, in one event; a round begins here, because the one before it has the
      // same path.
      if let round {
        let began = try stepBegan(work, at: work.startedAt)
        journal.hold(round.began.map { [$0, began] } ?? [began])
      }
    } else if let last = known?.lastAttempt {
      var baseline: Value?
      if let kept = last.baseline { baseline = try await journal.value(kept, as: "what was there before '\(name)'") }
      let attempt = Attempt(
        number: number, startedAt: last.startedAt, baseline: baseline, log: log(work), kept: last.exchanges)
      if let due = last.retryAt, let error = last.error {
        if let output = try await paused(until: due, after: error, attempt, work) { return output }
      } else if last.endedAt == nil {
        if let output = try await settled(attempt, lost(number), work) { return output }
      } else if let answer = last.answer {
        return try await shaped(attempt, try await journal.value(answer, as: "the answer of '\(name)'"), work)
      }
    }
    while true {
      do throws(StepInterruption) { try scope.check() } catch .cancelled { return try await givenUp(work) }
      number += 1
      var attempt = Attempt(number: number, startedAt: run.time.now(), log: log(work))
      var error: RunError
      switch try await admittedResult(of: &attempt, work) {
      case .success(let output):
        guard let misfit = misfit(in: output, attempt, work) else { return try await succeeded(attempt, output, work) }
        error = misfit
      case .failure(let failure): error = runError(failure, attempt: number, work)
      }
      if let refusal = journal.takeRefusal(of: path) {
        // Nothing was done; the attempt is repeated when the secret has its former value again.
        error.effect = .none
        journal.hold([ended(attempt, error, retryAt: run.time.now())])
        throw .halted(refusal)
      }
      var isDoubtful = false
      switch try await verdict(error, work, attempt) {
      case .done(let output): return try await succeeded(attempt, output, work)
      case .again(let isKnown):
        if isKnown { error.effect = .none }
        // That this attempt did nothing says nothing about earlier ones.
        isDoubtful = isPlainWrite(work) && (error.effect == .unknown || hasEarlierDoubts)
      case .over: return try await failed(attempt, error.final)
      case .uncertain(let look): return try await uncertain(attempt, error, look)
      }
      let delay =
        Task.isCancelled
        ? nil
        : run.delay(
          before: step, after: number, &error, standard: standardRetry, limits: limits,
          environment: environment, startedAt: work.startedAt)
      guard let delay else {
        return try await isDoubtful ? lookedUp(attempt, error, work) : failed(attempt, error)
      }
      let due = run.time.now().advanced(by: delay) ?? .latest
      try await journal.commit([ended(attempt, error, retryAt: due)])
      run.report(.attemptFailed(path: name, attempt: number, error: error, retryIn: delay))
      if let output = try await paused(until: due, after: error, attempt, work) { return output }
    }
  }

  /// Waits for the next attempt, then asks again whether it may be made: the time during which repeating changes
  /// nothing may be over by then.
  @inline(never)
  private func paused(
    until due: Timestamp, after error: RunError, _ attempt: Attempt, _ work: Work
  ) async throws(StepInterruption) -> Value? {
    do throws(StepInterruption) {
      try await run.pause(until: due, for: "'\(name)' is tried again", in: scope)
    } catch .cancelled {
      return try await givenUp(work)
    }
    return error.effect == .unknown ? try await settled(attempt, error, work) : nil
  }

  /// Ends a step before its next attempt if the step is cancelled, or if an earlier attempt may have done what must not
  /// be done twice.
  @inline(never)
  private func givenUp(_ work: Work) async throws(StepInterruption) -> Value {
    guard isPlainWrite(work), doubts > 0, let last = journal.step(path)?.lastAttempt else { throw .cancelled }
    let attempt = Attempt(number: last.number, startedAt: last.startedAt, log: log(work))
    return try await uncertain(attempt, last.error ?? lost(last.number), nil)
  }

  /// The error of an attempt that was under way when the program ended.
  private func lost(_ number: Int) -> RunError {
    RunError(
      .uncertain, "the program ended while \(action.id) was under way", step: name, attempt: number, effect: .unknown)
  }

  /// The output of an attempt that turns out to have been done, or nil if it may be repeated.
  @inline(never)
  private func settled(_ attempt: Attempt, _ error: RunError, _ work: Work) async throws(StepInterruption) -> Value? {
    switch try await verdict(error, work, attempt) {
    case .done(let output): return try await succeeded(attempt, output, work)
    case .again(let isKnown):
      // Recorded first, so that the attempt leaves no doubt when the next one begins.
      if isKnown, journal.look(at: path, { $0.pointee.isInFlight }) == true {
        var error = error
        error.effect = .none
        journal.hold([ended(attempt, error, retryAt: run.time.now())])
      }
      return nil
    case .over: return try await failed(attempt, error.final)
    case .uncertain(let look): return try await uncertain(attempt, error, look)
    }
  }

  // MARK: The limits of the connection

  private var limiter: ConnectionLimiter? {
    action.effect == .pure ? nil : run.services.limiter(of: call.connection)
  }

  /// Makes one attempt, as soon as the limits of the connection allow.
  private func admittedResult(
    of attempt: inout Attempt, _ work: Work
  ) async throws(StepInterruption) -> Result<Value, ActionError> {
    guard let limiter else { return try await result(of: &attempt, work) }
    let permit: CallPermit?
    do throws(StepInterruption) { permit = try await admission(by: limiter, work) } catch .cancelled {
      return .success(try await givenUp(work))
    }
    guard let permit else {
      attempt.startedAt = run.time.now()
      journal.hold([try began(attempt, nil, work)])
      let limit = step.timeout.total.map { " after \($0.rounded)" } ?? ""
      return .failure(
        ActionError(
          .timeout, "\(action.id) timed out\(limit), while it was queued: \(limiter.limitsInWords)",
          effect: ActionError.Effect.none))
    }
    attempt.log.permit = permit
    let result: Result<Value, ActionError>
    do throws(StepInterruption) { result = try await self.result(of: &attempt, work) } catch {
      permit.end()
      throw error
    }
    permit.end()
    if !run.services.isWeb(action.plugin), case .failure(let error) = result, let span = error.retryAfter {
      await limiter.hold(for: span)
    }
    return result
  }

  /// Waits for a place and for the first request of a call; nil if the step's time is over before.
  @inline(never)
  private func admission(by limiter: ConnectionLimiter, _ work: Work) async throws(StepInterruption) -> CallPermit? {
    let number = limiter.enter()
    let watch = ConnectionLimiter.nextWatch()
    scope.watch(as: watch) { limiter.wake(number) }
    defer { scope.unwatch(watch) }
    let (began, now) = (limiter.time.elapsed(), run.time.now())
    // A wait that ends soon isn't worth a write.
    var quiet: TimeSpan? = began + .seconds(1)
    let total = (round == nil ? step.timeout.total : nil).map { total in
      began + total - max(.zero, now.span(since: work.startedAt) ?? .zero)
    }
    let outer = scope.deadline.flatMap { $0.span(since: now) }.map { began + $0 }
    // Once there is a place here, where others share the limits.
    var permit: CallPermit?
    do throws(StepInterruption) {
      while true {
        let alarm = [quiet, total, outer].compactMap { $0 }.min()
        if let permit {
          if try await mayGo(permit) { return permit }
          // Cut short only by the end of the task; a scope that ends is seen after it.
          try? await limiter.time.sleep(for: ConnectionLimiter.pause)
        } else if case .granted = await limiter.wait(number, until: alarm) {
          let granted = CallPermit(limiter)
          try scope.check()
          if !limiter.isShared { return granted }
          permit = granted
          continue
        }
        try scope.check()
        let elapsed = limiter.time.elapsed()
        if scope.isLate(at: run.time.now()) || outer.map({ $0 <= elapsed }) ?? false { throw .cancelled }
        if let total, total <= elapsed {
          limiter.leave(number)
          return nil
        }
        if let alarm = quiet, alarm <= elapsed {
          quiet = nil
          try await tellQueued(limiter.reason(of: number), work)
        }
      }
    } catch {
      limiter.leave(number)
      throw error
    }
  }

  /// Whether a call may go as far as programs are concerned that share the state; not while that can't be known.
  private func mayGo(_ permit: CallPermit) async throws(StepInterruption) -> Bool {
    do throws(StateError) { return try await permit.limiter.mayGo(permit) } catch {
      if error.kind == .unavailable { return false }
      throw .stateFailed(error)
    }
  }

  /// Records why the step doesn't begin, for `errand runs` and `errand why`.
  private func tellQueued(_ reason: (text: String, due: Timestamp?), _ work: Work) async throws(StepInterruption) {
    let now = run.time.now()
    if journal.status(of: path) == nil { journal.hold([try stepBegan(work, at: now)]) }
    let wait = WaitRecord(.limit, wakeAt: reason.due, limit: reason.text, since: now)
    try await journal.commit([
      .stepWaits(StepWaits(run: run.id, at: now, step: path, now: work.now, wait: wait))
    ])
    run.report(.reported(path: name, text: "queued: \(reason.text)"))
  }

  /// The time limits of one part of an attempt.
  private struct PartLimits {
    var limit: TimeSpan?
    /// A limit that isn't paused while requests wait for the limits of the connection.
    var hard: TimeSpan?
  }

  private func partLimits(_ work: Work) -> PartLimits {
    let limits = limits
    guard limiter != nil else { return PartLimits(limit: run.limit(of: limits, since: work.startedAt)) }
    var total = limits
    total.attempt = nil
    let hard = run.limit(of: total, since: work.startedAt)
    return PartLimits(limit: limits.attempt ?? hard, hard: hard)
  }

  // MARK: One attempt

  private func log(_ work: Work) -> AttemptLog { AttemptLog(run, name, work.removal) }

  private func work(in environment: Environment, known: StepRecord?) async throws(StepInterruption) -> Work {
    let input = try run.evaluate(call.input, in: environment, step: name)
    var key = StepRecord.standardKey(of: name, in: run.id)
    if let kept = known?.key { key = try await journal.key(kept, of: name) }
    // A kept step without one has the standard key.
    if known == nil {
      if let template = call.key {
        key = try run.evaluate(template, in: environment, step: name).plainText
        // Services take an empty key for none, and would do it once more.
        guard !key.trimmed.isEmpty, key.utf8.count <= 255, key.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
          throw .failed(
            RunError(
              .expression, "'key' must be a text of 1 to 255 bytes that isn't blank and has no line breaks", step: name)
          )
        }
      }
      if let round { key += "#\(round.number)" }
    }
    let secrets = call.input.secrets(in: input)
    return Work(
      input: input, secrets: secrets, removal: StepRedactor(run, secrets: secrets), key: key, now: environment.now,
      startedAt: known?.startedAt ?? run.time.now())
  }

  /// Makes one attempt.
  ///
  /// If its preparation fails, the attempt fails with it, and nothing was done.
  private func result(
    of attempt: inout Attempt, _ work: Work
  ) async throws(StepInterruption) -> Result<Value, ActionError> {
    let service: any Sendable
    do throws(ActionError) {
      service = try await connected(for: attempt.log.permit)
      if action.canReconcile {
        // A cancelled attempt needs no baseline.
        try? await journal.commit()
        attempt.baseline = try await baseline(work, attempt, service)
      }
    } catch {
      var error = error
      error.effect = ActionError.Effect.none
      journal.hold([try began(attempt, nil, work)])
      return .failure(error)
    }
    let stored =
      if let baseline = attempt.baseline { try await journal.stored(baseline, of: path) } else { StoredValue?.none }
    attempt.startedAt = run.time.now()
    // Checked at the last moment: since the last attempt was judged, the time may have ended during which repeating
    // changes nothing. If the last attempt did nothing, earlier ones still may have.
    if doubts > 0, !mayRepeat(work) { return .success(try await givenUp(work)) }
    try await journal.commit(placed(work, attempt) + [try began(attempt, stored, work)])
    if let permit = attempt.log.permit, !run.services.isWeb(action.plugin), permit.takeRequest() {
      do throws(StateError) { _ = try await permit.limiter.send(of: permit) } catch { throw .stateFailed(error) }
    }
    let limit = partLimits(work)
    let context = context(work, attempt)
    return await asked(for: .run, work, attempt, limit) { () async throws(ActionError) in
      try await action.run(work.input, on: service, in: context)
    }
  }

  /// The service; if it has to be connected to, the requests for that are part of the call.
  private func connected(for permit: CallPermit?) async throws(ActionError) -> any Sendable {
    guard let permit else { return try await run.services.service(named: call.connection, of: action.plugin) }
    // `withValue` doesn't support typed errors.
    let result: Result<any Sendable, ActionError> = await CallPermit.$current.withValue(permit) {
      do throws(ActionError) {
        return .success(try await run.services.service(named: call.connection, of: action.plugin))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  @inline(never)
  private func baseline(
    _ work: Work, _ attempt: Attempt, _ service: any Sendable
  ) async throws(ActionError) -> Value? {
    let limit = partLimits(work)
    return try await asked(for: .baseline, work, attempt, limit) { () async throws(ActionError) in
      try await action.baseline(work.input, on: service, in: context(work, attempt)) ?? .null
    }.get()
  }

  /// Asks the action for something, or has an interceptor answer.
  ///
  /// A function of its own because inlining it makes the caller's frame large.
  @inline(never)
  private func asked(
    for part: ServiceCall.Part, _ work: Work, _ attempt: Attempt, _ limit: PartLimits,
    _ body: @escaping @Sendable () async throws(ActionError) -> Value
  ) async -> Result<Value, ActionError> {
    await run.services.carried(call, part, work.input) { await limited(attempt, limit, body) }
  }

  /// Runs one part of an attempt within a time limit, and logs its requests.
  private func limited(
    _ attempt: Attempt, _ limits: PartLimits, _ body: @escaping @Sendable () async throws(ActionError) -> Value
  ) async -> Result<Value, ActionError> {
    let limit = limits.limit
    let pace = run.services.pace
    pace?.begin()
    let (result, isTimeout) = await withTimeLimit(
      limit, hard: limits.hard, of: attempt.log.permit, time: run.time
    ) { () async throws(ActionError) in
      try await AttemptLog.recording(attempt.log, body)
    }
    pace?.end()
    attempt.log.finish()
    guard isTimeout, case .failure(let error) = result, let limit else { return result }
    return .failure(
      ActionError(
        .timeout, "\(action.id) timed out after \(limit.rounded)",
        detail: error.message + (error.detail.map { "\n\($0)" } ?? ""), effect: error.effect))
  }

  private func context(_ work: Work, _ attempt: Attempt) -> ActionContext {
    var context = ActionContext(
      run: run.id, step: name, attempt: attempt.number, idempotencyKey: work.key, isKeyNamed: call.key != nil,
      now: work.now, time: run.services.time, folder: run.folder, values: journal.values(of: path),
      notes: journal.notes(of: path)
    ) {
      [run, name, secrets = work.secrets, log = attempt.log, number = attempt.number] in
      switch $0 {
      case .progress(let progress): log.report(progress)
      case .printed(let bytes, let stream):
        log.printer { StepPrinter(run, step: name, attempt: number, secrets: secrets) }.add(bytes, on: stream)
      }
    }
    context.baseline = attempt.baseline
    context.secrets = work.secrets
    context.confinement = run.services.confinement
    context.fileInterceptor = run.services.fileInterceptor(of: action.plugin)
    context.ownFiles = run.services.ownFiles
    context.standIn = run.services.standIn
    return context
  }

  // MARK: After an attempt without output

  /// Whether repeating the last attempt did it twice by the plugins of when it was made, which may have had other
  /// effects.
  private var wasPlainWrite: Bool { journal.look(at: path) { $0.pointee.lastAttempt?.isPlainWrite == true } ?? false }

  /// Whether repeating it would do it twice, as far as the action itself can tell.
  private func isPlainWrite(_ work: Work) -> Bool {
    if wasPlainWrite { return true }
    return switch action.effect {
    case .pure, .read, .consume: false
    case .idempotentWrite(let window): !window.stillHolds(from: work.startedAt, at: run.time.now())
    case .write: true
    }
  }

  /// Whether the service gets a key, so that it recognises a repeated call.
  private var hasKey: Bool { call.key != nil && action.acceptsKey }

  /// Whether repeating it changes nothing more.
  private func mayRepeat(_ work: Work) -> Bool { !isPlainWrite(work) || hasKey }

  /// How failures are tried again unless the step says otherwise.
  private var standardRetry: RetrySchedule? { action.retry ?? (hasKey ? .standard : nil) }

  /// How many attempts, the last one included, may have used something up.
  private var doubts: Int {
    journal.look(at: path) { $0.pointee.doubts + ($0.pointee.isInFlight ? 1 : 0) } ?? 0
  }

  /// Whether an attempt before the current one may have done something.
  private var hasEarlierDoubts: Bool { journal.look(at: path) { $0.pointee.doubts > 0 } ?? false }

  /// Ends a write that may have been done, could be repeated, and has no attempt left.
  @inline(never)
  private func lookedUp(_ attempt: Attempt, _ error: RunError, _ work: Work) async throws(StepInterruption) -> Value {
    switch try await look(error, work, attempt) {
    case .done(let output): return try await succeeded(attempt, output, work)
    case .again:
      var error = error
      error.effect = .none
      return try await failed(attempt, error)
    case .over: return try await failed(attempt, error.final)
    case .uncertain(let look): return try await uncertain(attempt, error, look)
    }
  }

  @inline(never)
  private func verdict(_ error: RunError, _ work: Work, _ attempt: Attempt) async throws(StepInterruption) -> Verdict {
    if error.effect == .none { return .again(isKnown: true) }
    if case .consume(let repeats) = action.effect, doubts > repeats {
      return error.effect == .done ? .over : .uncertain(nil)
    }
    if mayRepeat(work) { return .again(isKnown: false) }
    return try await look(error, work, attempt)
  }

  /// The verdict of the action's own look at an attempt that may have been done.
  private func look(_ error: RunError, _ work: Work, _ attempt: Attempt) async throws(StepInterruption) -> Verdict {
    var look: String?
    if action.canReconcile, let baseline = attempt.baseline {
      switch try await reconciled(work, attempt, baseline) {
      case .done(let output): return .done(output)
      // The service's own word that it was done outweighs a look that doesn't find it, and a look says nothing about
      // attempts before the baseline was taken.
      case .notDone: if error.effect == .unknown, doubts < 2 { return .again(isKnown: true) }
      case .unknown(let text): look = text
      }
    }
    return error.effect == .done ? .over : .uncertain(look)
  }

  /// Looks whether an attempt was done.
  ///
  /// A look that fails is retried like any read; after that the outcome stays unknown.
  private func reconciled(
    _ work: Work, _ attempt: Attempt, _ baseline: Value
  ) async throws(StepInterruption) -> Reconciliation<Value> {
    var number = 0
    while true {
      number += 1
      let failure: RunError
      switch await looked(work, attempt, baseline) {
      case .success(let found):
        if case .unknown(let text) = found { return .unknown(work.redactor.redact(text)) }
        return found
      case .failure(let error): failure = runError(error, attempt: attempt.number, work)
      }
      let schedule = RetrySchedule.standard
      guard failure.retryable, number < schedule.maxAttempts, !Task.isCancelled,
        let due = run.time.now().advanced(by: schedule.delay(afterAttempt: number, chance: run.chance()))
      else { return .unknown("could not check whether it was done: \(failure.message)") }
      do throws(StepInterruption) {
        try await run.pause(until: due, for: "'\(name)' is looked up", in: scope)
      } catch .cancelled {
        return .unknown("could not check whether it was done: \(failure.message)")
      }
    }
  }

  @inline(never)
  private func looked(
    _ work: Work, _ attempt: Attempt, _ baseline: Value
  ) async -> Result<Reconciliation<Value>, ActionError> {
    // A look has the time of an attempt, and at least a moment.
    let own = limits.attempt ?? limits.total ?? action.timeout
    let limit = PartLimits(
      limit: min(action.timeout, Task.isCancelled ? RunEngine.grace : max(own, RunEngine.grace)))
    // Not cancelled with the step, because a forced end must not keep us from learning what happened; the limit ends
    // it.
    return await Task {
      do throws(ActionError) {
        let service = try await run.services.service(named: call.connection, of: action.plugin)
        return await asked(for: .outcome, work, attempt, limit) { () async throws(ActionError) in
          try await action.reconcile(
            work.input, with: baseline, startedAt: attempt.startedAt, on: service, in: context(work, attempt)
          ).value
        }.map { Reconciliation($0) }
      } catch {
        return .failure(error)
      }
    }.value
  }

  // MARK: Records

  private func began(
    _ attempt: Attempt, _ baseline: StoredValue?, _ work: Work
  ) throws(StepInterruption) -> StateEvent {
    if journal.status(of: path) == nil {
      return try stepBegan(work, at: attempt.startedAt, attempt: attempt.number, baseline: baseline)
    }
    var event = AttemptBegan(
      run: run.id, at: attempt.startedAt, step: path, number: attempt.number, baseline: baseline)
    event.isPlainWrite = isPlainWrite(work)
    return .attemptBegan(event)
  }

  /// That the run stays at this machine from now on, if it works with files here and other machines have others.
  private func placed(_ work: Work, _ attempt: Attempt) -> [StateEvent] {
    guard let home = journal.store.sharing?.home, journal.home == nil else { return [] }
    let footprint = run.services.footprint(of: call, work.input, in: context(work, attempt))
    let isHere = (footprint.reads + footprint.changes).contains { $0.isFile }
    return isHere ? [.runPlaced(RunPlaced(run: run.id, at: run.time.now(), home: home))] : []
  }

  private func stepBegan(
    _ work: Work, at instant: Timestamp, attempt: Int = 0, baseline: StoredValue? = nil
  ) throws(StepInterruption) -> StateEvent {
    var event = StepBegan(
      run: run.id, at: instant, step: path, now: work.now, attempt: attempt, baseline: baseline,
      key: try journal.kept(work.key, of: name))
    event.isPlainWrite = attempt > 0 && isPlainWrite(work)
    return .stepBegan(event)
  }

  private func ended(
    _ attempt: Attempt, _ error: RunError?, retryAt: Timestamp? = nil, answer: StoredValue? = nil
  ) -> StateEvent {
    var event = AttemptEnded(
      run: run.id, at: run.time.now(), step: path, number: attempt.number, error: error, retryAt: retryAt,
      exchanges: attempt.exchanges, answer: answer)
    event.action = action.id
    return .attemptEnded(event)
  }

  private func ended(_ status: StepStatus, error: RunError? = nil) -> StateEvent {
    var event = StepEnded(run: run.id, at: run.time.now(), step: path, status: status, error: error)
    event.action = action.id
    return .stepEnded(event)
  }

  /// Records that the action was done, with its output as the step's `shape` has it.
  private func succeeded(_ attempt: Attempt, _ output: Value, _ work: Work) async throws(StepInterruption) -> Value {
    guard call.shape != nil else { return try await succeeded(attempt, output) }
    if !action.effect.onlyReads {
      let answer: StoredValue
      do throws(StepInterruption) { answer = try await journal.stored(output) } catch .failed(let error) {
        return try await failed(attempt, error)
      }
      try await journal.commit([ended(attempt, nil, answer: answer)])
    }
    return try await shaped(attempt, output, work)
  }

  /// Ends the step with an answer that is kept, or that need not be.
  @inline(never)
  private func shaped(_ attempt: Attempt, _ answer: Value, _ work: Work) async throws(StepInterruption) -> Value {
    switch call.fitted(answer, redacting: work.redactor.redact) {
    case .success(let output): return try await succeeded(attempt, output)
    case .failure(let misfits): return try await failed(attempt, runError(misfits, attempt, work, effect: .done))
    }
  }

  /// The error of a read whose answer doesn't fit the step's `shape`.
  @inline(never)
  private func misfit(in answer: Value, _ attempt: Attempt, _ work: Work) -> RunError? {
    guard call.shape != nil, action.effect.onlyReads,
      case .failure(let misfits) = call.fitted(answer, redacting: work.redactor.redact)
    else { return nil }
    return runError(misfits, attempt, work, effect: .none)
  }

  private func runError(
    _ misfits: Shape.Misfits, _ attempt: Attempt, _ work: Work, effect: ActionError.Effect
  ) -> RunError {
    let output = effect == .done ? "\(action.id) was done, but its output" : "the output"
    return runError(
      ActionError(.validation, misfits.message(of: output), effect: effect), attempt: attempt.number, work)
  }

  /// Records a success.
  ///
  /// The attempt and the step end in one event, so that no crash comes between them.
  private func succeeded(_ attempt: Attempt, _ output: Value) async throws(StepInterruption) -> Value {
    let stored: StoredValue
    do throws(StepInterruption) { stored = try await journal.stored(output) } catch .failed(let error) {
      return try await failed(attempt, error)
    }
    var event = StepEnded(
      run: run.id, at: run.time.now(), step: path, attempt: attempt.number, status: .succeeded, output: stored,
      exchanges: attempt.exchanges)
    event.action = action.id
    journal.hold([.stepEnded(event)])
    return output
  }

  /// Records a final failure, or the end of a step that was cancelled by force before it did anything that counts.
  @inline(never)
  private func failed(_ attempt: Attempt, _ error: RunError) async throws(StepInterruption) -> Value {
    if Task.isCancelled {
      journal.hold([ended(attempt, error), ended(.cancelled)])
      throw .cancelled
    }
    journal.hold([ended(attempt, error)])
    throw .failed(error)
  }

  @inline(never)
  private func uncertain(_ attempt: Attempt, _ error: RunError, _ look: String?) async throws(StepInterruption) -> Value
  {
    var uncertain = RunError(
      .uncertain, "\(action.id) may or may not have been done: \(error.message)", detail: look, step: name,
      attempt: attempt.number, effect: .unknown, cause: error.kind == .uncertain ? nil : error)
    run.place(&uncertain, at: step.location)
    try await journal.commit([ended(attempt, uncertain), ended(.uncertain, error: uncertain)])
    throw .uncertain(uncertain)
  }

  private func runError(_ error: ActionError, attempt: Int?, _ work: Work) -> RunError {
    var error = RunError(error, step: name, attempt: attempt, redactedBy: work.redactor)
    run.place(&error, at: step.location)
    return error
  }
}

extension ActionCall {
  /// An output with the values of the step's `shape`.
  func fitted(_ output: Value, redacting redact: @escaping (String) -> String) -> Result<Value, Shape.Misfits> {
    guard let shape else { return .success(output) }
    do throws(Shape.Misfits) { return .success(try shape.fitted(output, redacting: redact)) } catch {
      return .failure(error)
    }
  }
}

extension Effect {
  /// Whether doing it again changes and uses up nothing, so that its answer need not be kept before it is looked at.
  fileprivate var onlyReads: Bool {
    switch self {
    case .pure, .read: true
    case .consume, .idempotentWrite, .write: false
    }
  }
}

extension RunError {
  /// The error of a write that was done and must not be repeated, neither by a block around it nor by its own retry
  /// policy.
  fileprivate var final: RunError {
    var error = self
    error.retryable = false
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

  /// The day in a zone; nil for an unknown zone, so that no two instants count as the same day.
  private static func day(of instant: Timestamp, in zone: String) -> CivilDate? {
    try? TimeZoneDatabase.system.rules(named: zone).localTime(at: instant).time.date
  }
}
