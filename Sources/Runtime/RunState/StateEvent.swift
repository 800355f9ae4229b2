/// The events that change the state. Each kind holds the values that must be remembered.
///
/// The journal holds these as objects: `{"event": "stepBegan", "run": …, …}`. An unknown kind or member is an error,
/// because a newer version wrote it and it must not be lost. Every event carries the instant of its writing, so that
/// folding the same events always gives the same state.
package import Basics

/// One change of the state.
///
/// Indirect, because events are passed on several times, and the largest kind has many members.
package indirect enum StateEvent: Sendable, Equatable {
  case runCreated(RunCreated)
  case runClaimed(RunClaimed)
  case runStatusChanged(RunStatusChanged)
  case cancelRequested(CancelRequested)
  case stepBegan(StepBegan)
  case attemptBegan(AttemptBegan)
  case attemptEnded(AttemptEnded)
  case stepEnded(StepEnded)
  case runEnded(RunEnded)
  case runNoted(RunNoted)
  case runPlaced(RunPlaced)
  case valueSet(ValueSet)
  case valueRemoved(ValueRemoved)
  case stepWaits(StepWaits)
  case decisionGiven(DecisionGiven)
  case answerGiven(DecisionGiven)
  case linkMade(LinkMade)
  case linksEnded(LinksEnded)
  case eventReceived(EventRecord)
  case eventConsumed(EventConsumed)
  case eventsForgotten(EventsForgotten)
  case eventGathered(EventGathered)
  case failureDismissed(FailureDismissed)
  case filesSeen(FilesSeen)
  case scheduleSet(ScheduleSet)
  case scheduleRemoved(ScheduleRemoved)
  case schedulePaused(SchedulePaused)
  case scheduleReset(ScheduleReset)
  case slotDecided(SlotRecord)
  case connectionUsed(ConnectionUsed)
  case tokenIssued(TokenIssued)
  case tokenRevoked(TokenRevoked)
  case sessionBegan(SessionBegan)
  case sessionEnded(SessionEnded)
  case accessUsed(AccessUsed)

  /// Whether it ends a run.
  package var endsRun: Bool { if case .runEnded = self { true } else { false } }

  /// Whether it changes the records of its run's steps, and nothing else.
  var isOfStep: Bool {
    switch self {
    case .stepBegan, .attemptBegan, .attemptEnded, .stepEnded: true
    case .stepWaits(let event): event.wait.question?.links.isEmpty ?? true
    default: false
    }
  }

  /// The name of each kind in the journal.
  package enum Kind: String, CaseIterable {
    case runCreated, runClaimed, runStatusChanged, cancelRequested, stepBegan, attemptBegan, attemptEnded, stepEnded,
      runEnded
    case runNoted, runPlaced, valueSet, valueRemoved, stepWaits, answerGiven, decisionGiven, linkMade, linksEnded
    case eventReceived, eventConsumed
    case eventsForgotten, eventGathered, failureDismissed, filesSeen, scheduleSet, scheduleRemoved, schedulePaused,
      scheduleReset,
      slotDecided
    case connectionUsed, tokenIssued, tokenRevoked, sessionBegan, sessionEnded, accessUsed
  }
}

/// A run was accepted.
package struct RunCreated: Record, Equatable {
  /// The run's id, a UUIDv7 in lower case.
  package var run: String
  package var at: Timestamp
  package var recipe: String
  /// The recipe's file as the user gave it.
  package var file: String
  /// The full path of the folder that `file` starts from; absent if `file` is a full path, or unknown.
  package var folder: String?
  /// The text of the recipe and of those it calls: a map from file to text.
  package var texts: StoredValue
  /// The inputs, checked and with defaults; a secret one only by its name.
  package var inputs: Value
  /// The overrides of `--set`, which apply again when the run is resumed.
  package var overrides: [String: Value]
  package var sandbox: Bool
  /// The version of Errand that accepted it.
  package var program: String
  /// The version of the recipe language whose meaning it keeps.
  package var language: Int
  package var cause: RunCause
  package var group: RunGroup?
  /// From 1; a retry of an ended run has the next number.
  package var attempt: Int
  /// The zone of recipes that name none, as it was in errand.yaml.
  package var zone: String?
  /// The key that its caller chose, so that the same request starts no second run.
  package var key: RunKey?
  /// The URL of the agent's pages when it was accepted, without a slash at its end.
  package var base: String?
  /// The needs that a program must offer to run it, if several programs share the state.
  package var needs: [String] = []
  /// Its queue, if several programs share the state; the standard one if absent.
  package var queue: String?

  package init(
    run: String, at: Timestamp, recipe: String, file: String, folder: String? = nil, texts: StoredValue, inputs: Value,
    overrides: [String: Value] = [:], sandbox: Bool = false, program: String, language: Int = 1,
    cause: RunCause = RunCause(.manual), group: RunGroup? = nil, attempt: Int = 1, key: RunKey? = nil,
    zone: String? = nil
  ) {
    self.key = key
    self.language = language
    self.run = run
    self.at = at
    self.recipe = recipe
    self.file = file
    self.folder = folder
    self.texts = texts
    self.inputs = inputs
    self.overrides = overrides
    self.sandbox = sandbox
    self.program = program
    self.cause = cause
    self.group = group
    self.attempt = attempt
    self.zone = zone
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    recipe = try member("recipe", record?.recipe)
    file = try member("file", record?.file)
    folder = try member("folder", record?.folder)
    texts = try member("texts", record?.texts)
    inputs = try member("inputs", record?.inputs)
    overrides = try member("overrides", record?.overrides, default: [:])
    sandbox = try member("sandbox", record?.sandbox)
    program = try member("program", record?.program)
    language = try member("language", record?.language, default: 1)
    cause = try member("cause", record?.cause, default: RunCause(.manual))
    group = try member("group", record?.group)
    attempt = try member("attempt", record?.attempt, default: 1)
    key = try member("key", record?.key)
    zone = try member("zone", record?.zone)
    base = try member("base", record?.base)
    needs = try member("needs", record?.needs, default: [])
    queue = try member("queue", record?.queue)
  }
}

/// One of several programs that share a state claimed a run, to run it.
package struct RunClaimed: Record, Equatable {
  package var run: String
  package var at: Timestamp
  /// The name of the worker, as `errand workers` shows it.
  package var worker: String
  /// Which claim of the run it is, from 1; its entries have that number.
  package var epoch: Int
  /// Whether the run was under way, so that the program before this one ended or lost its lease.
  package var isTakeover: Bool
  /// Whether it was under way when the program before this one brought itself down.
  package var isSuspect: Bool

  package init(
    run: String, at: Timestamp, worker: String, epoch: Int, isTakeover: Bool = false, isSuspect: Bool = false
  ) {
    self.run = run
    self.at = at
    self.worker = worker
    self.epoch = epoch
    self.isTakeover = isTakeover
    self.isSuspect = isSuspect
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    worker = try member("worker", record?.worker)
    epoch = try member("epoch", record?.epoch)
    isTakeover = try member("isTakeover", record?.isTakeover, default: false)
    isSuspect = try member("isSuspect", record?.isSuspect, default: false)
  }
}

/// A run began, resumed, or stopped without ending.
package struct RunStatusChanged: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var status: RunStatus
  /// Why it is paused, what it waits for, or the decision that a person has to make.
  package var reason: String?
  /// When a waiting run continues even if nothing happens; never if absent.
  package var wakeAt: Timestamp?
  /// Whether a paused run has a missing dependency, and resumes automatically once that is available.
  package var hasMissingDependency = false

  package init(run: String, at: Timestamp, status: RunStatus, reason: String? = nil, wakeAt: Timestamp? = nil) {
    self.run = run
    self.at = at
    self.status = status
    self.reason = reason
    self.wakeAt = wakeAt
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    status = try member("status", record?.status)
    reason = try member("reason", record?.reason)
    wakeAt = try member("wakeAt", record?.wakeAt)
    hasMissingDependency = try member("lacking", record?.hasMissingDependency, default: false)
  }
}

/// Cancellation of a run was requested.
package struct CancelRequested: Record, Equatable {
  package var run: String
  package var at: Timestamp
  /// The reason that was given, if any.
  package var reason: String?
  /// The name of the person who requested it, if one did.
  package var by: String?
  /// The digest of the request's key, to recognise a repeated request.
  package var key: RunKey?

  package init(run: String, at: Timestamp, reason: String? = nil, by person: String? = nil, key: RunKey? = nil) {
    self.run = run
    self.at = at
    self.reason = reason
    by = person
    self.key = key
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    reason = try member("reason", record?.reason)
    by = try member("by", record?.by)
    key = try member("key", record?.key)
  }
}

/// A step began; one that had begun before starts again.
package struct StepBegan: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  /// The instant that the step's expressions call `now`.
  package var now: Timestamp
  /// The number of the attempt that is about to be made with it; 0 if its beginning is an event of its own.
  package var attempt: Int
  /// The baseline of that attempt, for `reconcile`.
  @Boxed package var baseline: StoredValue?
  /// Whether that attempt does a second thing if it is made twice.
  package var isPlainWrite = false
  package var status: StepStatus
  /// The idempotency key of an action; left out if it is the standard one of a step that begins with an attempt.
  package var key: String?
  /// The list of a `forEach`.
  @Boxed package var items: StoredValue?
  /// The resolution that made it start again, if there is one.
  @Boxed package var resolution: ResolutionRecord? = nil
  /// The case that a step with several chose.
  @Boxed package var `case`: String? = nil

  package init(
    run: String, at: Timestamp, step: StepPath, now: Timestamp, attempt: Int = 0, baseline: StoredValue? = nil,
    status: StepStatus = .running, key: String? = nil, items: StoredValue? = nil, case: String? = nil
  ) {
    self.run = run
    self.at = at
    self.step = step
    self.now = now
    self.attempt = attempt
    self.baseline = baseline
    self.status = status
    self.key = key
    self.items = items
    self.case = `case`
  }

  @inline(__always)
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    now = try member("now", record?.now)
    attempt = try member("attempt", record?.attempt, default: 0)
    baseline = try member("baseline", record?.baseline)
    isPlainWrite = try member("plainWrite", record?.isPlainWrite, default: false)
    if attempt > 0 {
      status = try member("status", record?.status, default: .running)
      let standard = StepRecord.standardKey(of: step, in: run)
      key = try member("key", record?.key, default: standard)
    } else {
      status = try member("status", record?.status)
      key = try member("key", record?.key)
    }
    items = try member("items", record?.items)
    resolution = try member("resolution", record?.resolution)
    `case` = try member("case", record?.case)
  }
}

/// An attempt is about to be made; written before anything is sent.
package struct AttemptBegan: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  /// From 1.
  package var number: Int
  package var baseline: StoredValue?
  /// Whether it does a second thing if it is made twice.
  package var isPlainWrite = false
  /// The values that the step carries into the round, an object by name; nil if this isn't a round.
  @Boxed package var carried: StoredValue?
  /// The lists that the rounds since the last event gathered; empty if this isn't a round.
  package var collected: [StoredValue]

  package init(
    run: String, at: Timestamp, step: StepPath, number: Int, baseline: StoredValue? = nil,
    carried: StoredValue? = nil, collected: [StoredValue] = []
  ) {
    self.run = run
    self.at = at
    self.step = step
    self.number = number
    self.baseline = baseline
    self.collected = collected
    self.carried = carried
  }

  @inline(__always)
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    number = try member("number", record?.number)
    baseline = try member("baseline", record?.baseline)
    isPlainWrite = try member("plainWrite", record?.isPlainWrite, default: false)
    carried = try member("carried", record?.carried)
    collected = try member("collected", record?.collected, default: [])
  }
}

/// An attempt ended.
package struct AttemptEnded: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  package var number: Int
  package var error: RunError?
  /// When the next attempt is due, if there is one; the step is `retrying` until then.
  package var retryAt: Timestamp?
  package var exchanges: [Value]
  /// The action's answer, of a write whose step has a `shape`: kept before it is looked at.
  @Boxed package var answer: StoredValue?
  /// The action, for observers of commits; it isn't kept.
  package var action: String? = nil

  package init(
    run: String, at: Timestamp, step: StepPath, number: Int, error: RunError? = nil, retryAt: Timestamp? = nil,
    exchanges: [Value] = [], answer: StoredValue? = nil
  ) {
    self.run = run
    self.at = at
    self.step = step
    self.number = number
    self.error = error
    self.retryAt = retryAt
    self.exchanges = exchanges
    self.answer = answer
  }

  @inline(__always)
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    number = try member("number", record?.number)
    error = try member("error", record?.error)
    retryAt = try member("retryAt", record?.retryAt)
    exchanges = try member("exchanges", record?.exchanges, default: [])
    answer = try member("answer", record?.answer)
    action = record?.action
  }
}

/// A step ended, became uncertain, or was resolved; one that never began (skipped) needs `now` for its record.
package struct StepEnded: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  package var now: Timestamp?
  /// The number of the attempt that ended with it; 0 if its end is an event of its own.
  package var attempt: Int
  package var status: StepStatus
  package var output: StoredValue?
  package var error: RunError?
  /// The HTTP requests of that attempt.
  package var exchanges: [Value]
  /// The person's resolution, if there is one.
  @Boxed package var resolution: ResolutionRecord? = nil
  /// The action that it ran, for observers of commits; it isn't kept.
  package var action: String? = nil

  package init(
    run: String, at: Timestamp, step: StepPath, now: Timestamp? = nil, attempt: Int = 0, status: StepStatus,
    output: StoredValue? = nil, error: RunError? = nil, exchanges: [Value] = []
  ) {
    self.run = run
    self.at = at
    self.step = step
    self.now = now
    self.attempt = attempt
    self.status = status
    self.output = output
    self.error = error
    self.exchanges = exchanges
  }

  @inline(__always)
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    now = try member("now", record?.now)
    attempt = try member("attempt", record?.attempt, default: 0)
    if attempt > 0 {
      status = try member("status", record?.status, default: .succeeded)
    } else {
      status = try member("status", record?.status)
    }
    output = try member("output", record?.output)
    error = try member("error", record?.error)
    exchanges = try member("exchanges", record?.exchanges, default: [])
    resolution = try member("resolution", record?.resolution)
    action = record?.action
  }
}

/// A run ended and moves to the history.
package struct RunEnded: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var status: RunStatus
  package var outputs: StoredValue?
  package var error: RunError?

  package init(run: String, at: Timestamp, status: RunStatus, outputs: StoredValue? = nil, error: RunError? = nil) {
    self.run = run
    self.at = at
    self.status = status
    self.outputs = outputs
    self.error = error
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    status = try member("status", record?.status)
    outputs = try member("outputs", record?.outputs)
    error = try member("error", record?.error)
  }
}

/// An action of a run left a note for later steps.
package struct RunNoted: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var name: String
  package var value: StoredValue
  /// The value that must be there for the event to fit, so that no change overwrites an unseen one.
  package var condition: ValueState

  package init(run: String, at: Timestamp, name: String, value: StoredValue, condition: ValueState) {
    self.run = run
    self.at = at
    self.name = name
    self.value = value
    self.condition = condition
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    name = try member("name", record?.name)
    value = try member("value", record?.value)
    condition = try member("condition", record?.condition)
  }
}

/// A run that several programs may run has new needs.
package struct RunPlaced: Record, Equatable {
  package var run: String
  package var at: Timestamp
  /// The machine and folder whose files it works with from now on.
  package var home: String?
  /// The additional needs that a program must offer to run it.
  package var needs: [String]

  package init(run: String, at: Timestamp, home: String? = nil, needs: [String] = []) {
    self.run = run
    self.at = at
    self.home = home
    self.needs = needs
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    home = try member("home", record?.home)
    needs = try member("needs", record?.needs, default: [])
  }
}

/// A stored value was set.
package struct ValueSet: Record, Equatable {
  package var at: Timestamp
  package var name: String
  package var value: StoredValue
  /// The value that must be there for the event to fit, so that no change overwrites an unseen one.
  package var condition: ValueState?
  package var change: StepReference?

  package init(
    at: Timestamp, name: String, value: StoredValue, condition: ValueState? = nil, change: StepReference? = nil
  ) {
    self.at = at
    self.name = name
    self.value = value
    self.condition = condition
    self.change = change
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    name = try member("name", record?.name)
    value = try member("value", record?.value)
    condition = try member("condition", record?.condition)
    change = try member("change", record?.change)
  }
}

/// A stored value was removed.
package struct ValueRemoved: Record, Equatable {
  package var at: Timestamp
  package var name: String
  package var condition: ValueState?
  package var change: StepReference?

  package init(at: Timestamp, name: String, condition: ValueState? = nil, change: StepReference? = nil) {
    self.at = at
    self.name = name
    self.condition = condition
    self.change = change
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    name = try member("name", record?.name)
    condition = try member("condition", record?.condition)
    change = try member("change", record?.change)
  }
}

/// A stored value, or its absence.
package struct ValueState: Record, Equatable {
  package var value: StoredValue?

  package init(_ value: StoredValue?) { self.value = value }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    value = try member("value", record?.value)
  }
}

/// The step whose action changed a value, and which remembers it until it ends.
package struct StepReference: Record, Equatable {
  package var run: String
  package var step: StepPath

  package init(run: String, step: StepPath) {
    self.run = run
    self.step = step
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    step = try member("step", record?.step)
  }
}
