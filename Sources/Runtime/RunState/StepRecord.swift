package import Basics

/// The place of a step in its run, such as `book`, `put[3]/write`, or `#2` for a step without id.
///
/// The runs create it; the state treats it as an opaque key.
package typealias StepPath = String

extension StepPath {
  /// Whether it is the path of the record of a step's current round.
  package var isRound: Bool { utf8.suffix(7).elementsEqual("/#round".utf8) }

  /// The beginning of the paths of the steps of a question's `tell`.
  package var tellPrefix: String { self + StepPath.tell }
  static let tell = "/#tell/"
  /// Whether it is the path of a step of a `tell`, also of one around it.
  package var isInTell: Bool { contains(StepPath.tell) }
}

/// The record of one step of a run.
package struct StepRecord: Sendable, Equatable {
  package var path: StepPath
  /// How many steps of the run began before this one, for showing them in order.
  package var ordinal: Int
  package var status: StepStatus
  /// The instant that the step's expressions call `now`.
  package var now: Timestamp
  package var startedAt: Timestamp
  package var endedAt: Timestamp?
  /// Whether it is an action's, which has an idempotency key, stable over retries and crashes.
  package private(set) var isAction: Bool
  /// The key, unless it is the standard one (`RunRecord.key`).
  package private(set) var key: String?
  /// The list of a `forEach`, as it was when the loop began.
  @Boxed package var items: StoredValue?
  /// The case that it chose, of a step with several.
  @Boxed package var `case`: String? = nil
  /// The values that a repeated step carries into the current round, an object by name.
  @Boxed package var carried: StoredValue? = nil
  /// The lists that the rounds of a repeated step gathered, until it succeeds with all of them.
  package var collected = CollectedPieces()
  /// How many attempts the step had.
  package var attempts: Int
  /// How many of the earlier attempts may have had an effect, or ended with the program.
  package var doubts: Int
  /// The last attempt.
  package var lastAttempt: AttemptRecord?
  /// The attempts before the last one, also before a person had the step start again; only the latest if there are
  /// many.
  package private(set) var earlierAttempts: [AttemptRecord] = []
  package var output: StoredValue?
  package var error: RunError?
  /// The action's change of a stored value, until the step ends: so it is made once, crash or not.
  @Boxed package var change: ValueState? = nil
  /// The current or last wait of the step.
  @Boxed package var wait: WaitRecord?
  /// The person's decision or answer, if it asked for one.
  @Boxed package var decision: DecisionRecord?
  /// The last resolution by a person; earlier ones are in the journal alone.
  @Boxed package var resolution: ResolutionRecord? = nil

  package init(
    path: StepPath, ordinal: Int, status: StepStatus, now: Timestamp, startedAt: Timestamp, endedAt: Timestamp? = nil,
    isAction: Bool = false, key: String? = nil, items: StoredValue? = nil, attempts: Int = 0, doubts: Int = 0,
    lastAttempt: AttemptRecord? = nil, output: StoredValue? = nil, error: RunError? = nil, wait: WaitRecord? = nil,
    decision: DecisionRecord? = nil
  ) {
    self.path = path
    self.ordinal = ordinal
    self.status = status
    self.now = now
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.isAction = isAction || key != nil
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

extension RunRecord {
  /// The idempotency key of a step's action, if it is one.
  package func key(of step: StepRecord) -> String? {
    step.key ?? (step.isAction ? StepRecord.standardKey(of: step.path, in: id) : nil)
  }
}

extension StepRecord {
  /// Whether a person rejected it, which nothing catches; not if it failed otherwise, as in its `tell`.
  package var isRejected: Bool {
    status == .failed && decision?.isApproved == false && (error?.kind ?? .cancelled) == .cancelled
  }
  /// Whether it waits for a person's decision or answer.
  package var asksPerson: Bool { status == .waiting && wait?.kind.isQuestion == true && decision == nil }

  /// The step without its values, questions and messages.
  var erased: StepRecord {
    var step = self
    step.key = nil
    step.items = nil
    step.carried = nil
    step.collected = CollectedPieces()
    step.output = nil
    step.change = nil
    step.error = error?.erased
    step.lastAttempt = lastAttempt?.erased
    step.earlierAttempts = earlierAttempts.map(\.erased)
    step.wait?.prompt = nil
    step.wait?.event = nil
    step.wait?.by = []
    step.wait?.url = nil
    step.wait?.fields = nil
    step.wait?.question = wait?.question?.erased
    // It stays known that it was an answer.
    if step.decision?.fields != nil { step.decision?.fields = .map(ValueMap()) }
    step.decision?.comment = nil
    step.resolution?.doubt = nil
    return step
  }

  /// The idempotency key of an action if neither the recipe nor a round chose one.
  package static func standardKey(of step: StepPath, in run: String) -> String { "\(run)/\(step)" }

  /// How many of the earlier attempts are kept.
  private static let mostEarlierAttempts = 100

  /// Keeps the attempts of a record that is being replaced.
  mutating func keepAttempts(of before: StepRecord) {
    guard var last = before.lastAttempt else { return }
    // Only the last attempt needs it.
    last.baseline = nil
    last.answer = nil
    earlierAttempts = Array((before.earlierAttempts + [last]).suffix(StepRecord.mostEarlierAttempts))
  }

  /// Whether an attempt of an action began and its end is unknown.
  package var isInFlight: Bool {
    // A block has no attempts of its own; only its steps do.
    isAction && !status.isEnded && lastAttempt.map { $0.endedAt == nil } ?? false
  }

  /// Whether it was writing what must not be written twice when the program ended, and hasn't been looked at since.
  package var isDoubtfulWrite: Bool { isInFlight && status != .uncertain && lastAttempt?.isPlainWrite == true }
}

/// One attempt of a step.
package struct AttemptRecord: Sendable, Equatable {
  /// From 1.
  package var number: Int
  package var startedAt: Timestamp
  /// Absent while the attempt is in flight, and for ever if the machine died during it.
  package var endedAt: Timestamp?
  /// The baseline of a write, for `reconcile`.
  @Boxed package var baseline: StoredValue?
  /// Whether it did a second thing if it were made again, by the plugins of when it was made.
  package var isPlainWrite = false
  package var error: RunError?
  /// When the next attempt is due, if this one failed and there is one.
  @Boxed package var retryAt: Timestamp?
  /// The HTTP requests made: method, redacted URL, status, bytes, time; never bodies.
  package var exchanges: [Value]
  /// The answer of a write whose step has a `shape`, unless it fitted.
  @Boxed package var answer: StoredValue? = nil

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

extension AttemptRecord {
  /// The attempt without its data, answer and messages.
  fileprivate var erased: AttemptRecord {
    var attempt = self
    attempt.baseline = nil
    attempt.answer = nil
    attempt.error = error?.erased
    attempt.exchanges = []
    return attempt
  }
}

extension StepRecord: Record {
  @inline(__always)
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    path = try member("path", record?.path)
    ordinal = try member("ordinal", record?.ordinal)
    status = try member("status", record?.status)
    now = try member("now", record?.now)
    startedAt = try member("startedAt", record?.startedAt)
    endedAt = try member("endedAt", record?.endedAt)
    key = try member("key", record?.key)
    let hasStandardKey = try member("action", record.map { $0.isAction && $0.key == nil }, default: false)
    isAction = hasStandardKey || key != nil
    items = try member("items", record?.items)
    carried = try member("carried", record?.carried)
    collected = try member("collected", record?.collected, default: CollectedPieces())
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
    `case` = try member("case", record?.case)
  }
}

extension AttemptRecord: Record {
  @inline(__always)
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    number = try member("number", record?.number)
    startedAt = try member("startedAt", record?.startedAt)
    endedAt = try member("endedAt", record?.endedAt)
    baseline = try member("baseline", record?.baseline)
    isPlainWrite = try member("plainWrite", record?.isPlainWrite, default: false)
    error = try member("error", record?.error)
    retryAt = try member("retryAt", record?.retryAt)
    exchanges = try member("exchanges", record?.exchanges, default: [])
    answer = try member("answer", record?.answer)
  }
}
