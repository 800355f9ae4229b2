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
  package func write(to record: inout RecordWriter) {
    record.set("path", path)
    record.set("ordinal", ordinal)
    record.set("status", status)
    record.set("now", now)
    record.set("startedAt", startedAt)
    record.set("endedAt", endedAt)
    record.set("key", key)
    record.set("items", items)
    record.set("attempts", attempts)
    record.set("doubts", doubts > 0 ? doubts : nil)
    record.set("earlierAttempts", earlierAttempts)
    record.set("lastAttempt", lastAttempt)
    record.set("output", output)
    record.set("error", error)
    record.set("wait", wait)
    record.set("decision", decision)
    record.set("change", change)
    record.set("resolution", resolution)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      path: try record.read("path"), ordinal: try record.read("ordinal"), status: try record.read("status"),
      now: try record.read("now"), startedAt: try record.read("startedAt"),
      endedAt: try record.readIfPresent("endedAt"), key: try record.readIfPresent("key"),
      items: try record.readIfPresent("items"), attempts: try record.read("attempts"),
      doubts: try record.readIfPresent("doubts") ?? 0, lastAttempt: try record.readIfPresent("lastAttempt"),
      output: try record.readIfPresent("output"),
      error: try record.readIfPresent("error"), wait: try record.readIfPresent("wait"),
      decision: try record.readIfPresent("decision"))
    earlierAttempts = try record.readAll("earlierAttempts")
    change = try record.readIfPresent("change")
    resolution = try record.readIfPresent("resolution")
  }
}

extension AttemptRecord: Record {
  package func write(to record: inout RecordWriter) {
    record.set("number", number)
    record.set("startedAt", startedAt)
    record.set("endedAt", endedAt)
    record.set("baseline", baseline)
    record.set("error", error)
    record.set("retryAt", retryAt)
    record.set("exchanges", exchanges)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      number: try record.read("number"), startedAt: try record.read("startedAt"),
      endedAt: try record.readIfPresent("endedAt"), baseline: try record.readIfPresent("baseline"),
      error: try record.readIfPresent("error"), retryAt: try record.readIfPresent("retryAt"),
      exchanges: try record.readAll("exchanges"))
  }
}
