package import Basics

/// The place of a step in its run, such as `book`, `put[3]/write`, or `#2` for a step without id.
///
/// The runs make it; the state takes it for an opaque key.
package typealias StepPath = String

/// What is known of one step of a run.
package struct StepRecord: Sendable, Equatable {
  package var path: StepPath
  /// How many steps of the run began before this one, for showing them in order.
  package var ordinal: Int
  package var status: StepStatus
  /// The instant that the step's expressions call `now`.
  package var now: Timestamp
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// The idempotency key, stable over retries and crashes.
  package var key: String?
  /// The list of a `forEach`, as it was when the loop began.
  package var items: StoredValue?
  /// How often the step was tried.
  package var attempts: Int
  /// How many of the tries before may have done something, or ended with the program.
  package var doubts: Int
  /// The last try.
  package var lastAttempt: AttemptRecord?
  /// The tries before the last one, also those before a person had the step begin anew; of many, the latest.
  package private(set) var earlierAttempts: [AttemptRecord] = []
  package var output: StoredValue?
  package var error: RunError?
  /// What the action made of a value that outlives runs, until the step ends: so it is done once, crash or not.
  @Apart package var change: ValueState? = nil
  /// What it waits for, or waited for last.
  @Apart package var wait: WaitRecord?
  /// What a person decided, where it asks one.
  @Apart package var decision: DecisionRecord?
  /// What a person said last of what became of it; what was said before is in the journal alone.
  @Apart package var resolution: ResolutionRecord? = nil

  package init(
    path: StepPath, ordinal: Int, status: StepStatus, now: Timestamp, startedAt: Timestamp, endedAt: Timestamp? = nil,
    key: String? = nil, items: StoredValue? = nil, attempts: Int = 0, doubts: Int = 0,
    lastAttempt: AttemptRecord? = nil, output: StoredValue? = nil, error: RunError? = nil, wait: WaitRecord? = nil,
    decision: DecisionRecord? = nil
  ) {
    self.path = path
    self.ordinal = ordinal
    self.status = status
    self.now = now
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.key = key
    self.items = items
    self.attempts = attempts
    self.doubts = doubts
    self.lastAttempt = lastAttempt
    self.output = output
    self.error = error
    self.wait = wait
    self.decision = decision
  }
}

extension StepRecord {
  /// How many of the tries before the last one are kept.
  private static let mostEarlierAttempts = 100

  /// Keeps the tries of a record in whose place, or of a try in whose place, another comes.
  mutating func keepAttempts(of before: StepRecord) {
    guard var last = before.lastAttempt else { return }
    // It is of use to the last try alone.
    last.baseline = nil
    earlierAttempts = Array((before.earlierAttempts + [last]).suffix(StepRecord.mostEarlierAttempts))
  }

  /// Whether an action's try was begun and nothing is known of its end.
  package var isInFlight: Bool {
    // Only actions have keys; the tries of a block are no more than their steps.
    key != nil && !status.isEnded && lastAttempt.map { $0.endedAt == nil } ?? false
  }
}

/// One try of a step.
package struct AttemptRecord: Sendable, Equatable {
  /// From 1.
  package var number: Int
  package var startedAt: Timestamp
  /// Absent while the try is in flight, and for ever if the machine died in it.
  package var endedAt: Timestamp?
  /// What a write looked up before it was sent, for `reconcile`.
  package var baseline: StoredValue?
  package var error: RunError?
  /// When the next try is due, if this one failed and there is one.
  package var retryAt: Timestamp?
  /// The HTTP requests made: method, redacted URL, status, bytes, time; never bodies.
  package var exchanges: [Value]

  package init(
    number: Int, startedAt: Timestamp, endedAt: Timestamp? = nil, baseline: StoredValue? = nil, error: RunError? = nil,
    retryAt: Timestamp? = nil, exchanges: [Value] = []
  ) {
    self.number = number
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.baseline = baseline
    self.error = error
    self.retryAt = retryAt
    self.exchanges = exchanges
  }
}

extension StepRecord: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    path = try member("path", record?.path)
    ordinal = try member("ordinal", record?.ordinal)
    status = try member("status", record?.status)
    now = try member("now", record?.now)
    startedAt = try member("startedAt", record?.startedAt)
    endedAt = try member("endedAt", record?.endedAt)
    key = try member("key", record?.key)
    items = try member("items", record?.items)
    attempts = try member("attempts", record?.attempts)
    doubts = try member("doubts", record?.doubts, default: 0)
    earlierAttempts = try member("earlierAttempts", record?.earlierAttempts, default: [])
    lastAttempt = try member("lastAttempt", record?.lastAttempt)
    output = try member("output", record?.output)
    error = try member("error", record?.error)
    wait = try member("wait", record?.wait)
    decision = try member("decision", record?.decision)
    change = try member("change", record?.change)
    resolution = try member("resolution", record?.resolution)
  }
}

extension AttemptRecord: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    number = try member("number", record?.number)
    startedAt = try member("startedAt", record?.startedAt)
    endedAt = try member("endedAt", record?.endedAt)
    baseline = try member("baseline", record?.baseline)
    error = try member("error", record?.error)
    retryAt = try member("retryAt", record?.retryAt)
    exchanges = try member("exchanges", record?.exchanges, default: [])
  }
}
