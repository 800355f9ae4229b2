/// What a run that waits leaves in the state, so that nothing else has to be held for it.
///
/// A step that waits is `waiting`, with a `WaitRecord` that says what for; its run is `waiting` with the first instant
/// at which it has something to do (`wakeAt`). Nothing in memory belongs to it: whoever is the agent then walks the run
/// again when that instant is there, when an event comes that it waits for, or when a person decides.
///
/// Events are kept from the moment they are received until a step or a schedule consumes one, which happens in the same
/// batch as what follows from it. An id is never taken in twice. What nobody consumed for seven days is forgotten, and
/// so are the ids of those that were consumed.
package import Basics

/// What a step waits for.
package struct WaitRecord: Record, Equatable {
  package enum Kind: String, Recordable, CaseIterable {
    /// An instant.
    case until
    /// An event by its name.
    case event
    /// A person's decision.
    case approval
    /// The next time that an action is repeated.
    case poll
  }

  package var kind: Kind
  /// When the wait is over by itself: the instant waited for, or the time limit of the others; never if absent.
  package var wakeAt: Timestamp?
  /// The name of the event.
  package var event: String?
  /// What the person is asked.
  package var prompt: String?
  /// Who may decide; anybody if empty.
  package var by: [String]
  /// How often the action was done so far.
  package var rounds: Int?

  package init(
    _ kind: Kind, wakeAt: Timestamp? = nil, event: String? = nil, prompt: String? = nil, by: [String] = [],
    rounds: Int? = nil
  ) {
    self.kind = kind
    self.wakeAt = wakeAt
    self.event = event
    self.prompt = prompt
    self.by = by
    self.rounds = rounds
  }

  package func write(to record: inout RecordWriter) {
    record.set("kind", kind)
    record.set("wakeAt", wakeAt)
    record.set("event", event)
    record.set("prompt", prompt)
    record.set("by", by)
    record.set("rounds", rounds)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    kind = try record.read("kind")
    wakeAt = try record.readIfPresent("wakeAt")
    event = try record.readIfPresent("event")
    prompt = try record.readIfPresent("prompt")
    by = try record.readAll("by")
    rounds = try record.readIfPresent("rounds")
  }
}

/// What a person decided about a step that asked.
package struct DecisionRecord: Record, Equatable {
  package var isApproved: Bool
  /// Who decided, as they call themselves.
  package var by: String
  package var at: Timestamp
  package var comment: String?

  package init(isApproved: Bool, by: String, at: Timestamp, comment: String? = nil) {
    self.isApproved = isApproved
    self.by = by
    self.at = at
    self.comment = comment
  }

  package func write(to record: inout RecordWriter) {
    record.set("isApproved", isApproved)
    record.set("by", by)
    record.set("at", at)
    record.set("comment", comment)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    isApproved = try record.read("isApproved")
    by = try record.read("by")
    at = try record.read("at")
    comment = try record.readIfPresent("comment")
  }
}

/// What a person said of a step of which nobody knew whether it was done.
package struct ResolutionRecord: Record, Equatable {
  /// `done`, `retry` or `fail`.
  package var choice: String
  /// Who said it, if they are known.
  package var by: String?
  package var at: Timestamp
  /// Why nobody knew.
  package var doubt: String?

  package init(choice: String, by: String?, at: Timestamp, doubt: String?) {
    self.choice = choice
    self.by = by
    self.at = at
    self.doubt = doubt
  }

  package func write(to record: inout RecordWriter) {
    record.set("choice", choice)
    record.set("by", by)
    record.set("at", at)
    record.set("doubt", doubt)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    choice = try record.read("choice")
    by = try record.readIfPresent("by")
    at = try record.read("at")
    doubt = try record.readIfPresent("doubt")
  }
}

/// An event that was received, and what became of it.
package struct EventRecord: Record, Equatable {
  /// What nobody gets twice.
  package var id: String
  package var name: String
  package var data: StoredValue?
  /// The only run that may consume it, if it was sent to one.
  package var run: String?
  package var receivedAt: Timestamp
  /// The run or the schedule that consumed it.
  package var consumedBy: String?

  package init(
    id: String, name: String, data: StoredValue? = nil, run: String? = nil, receivedAt: Timestamp,
    consumedBy: String? = nil
  ) {
    self.id = id
    self.name = name
    self.data = data
    self.run = run
    self.receivedAt = receivedAt
    self.consumedBy = consumedBy
  }

  package func write(to record: inout RecordWriter) {
    record.set("id", id)
    record.set("name", name)
    record.set("data", data)
    record.set("run", run)
    record.set("receivedAt", receivedAt)
    record.set("consumedBy", consumedBy)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    id = try record.read("id")
    name = try record.read("name")
    data = try record.readIfPresent("data")
    run = try record.readIfPresent("run")
    receivedAt = try record.read("receivedAt")
    consumedBy = try record.readIfPresent("consumedBy")
  }
}

// MARK: - What happens

/// A step waits from now on, or waits on for something else.
package struct StepWaits: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  /// The instant that the step's expressions call `now`.
  package var now: Timestamp
  package var wait: WaitRecord

  package init(run: String, at: Timestamp, step: StepPath, now: Timestamp, wait: WaitRecord) {
    self.run = run
    self.at = at
    self.step = step
    self.now = now
    self.wait = wait
  }

  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("step", step)
    record.set("now", now)
    record.set("wait", wait)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    run = try record.read("run")
    at = try record.read("at")
    step = try record.read("step")
    now = try record.read("now")
    wait = try record.read("wait")
  }
}

/// A person decided about a step that asks.
package struct DecisionGiven: Record, Equatable {
  package var run: String
  package var step: StepPath
  package var decision: DecisionRecord

  package init(run: String, step: StepPath, decision: DecisionRecord) {
    self.run = run
    self.step = step
    self.decision = decision
  }

  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("step", step)
    record.set("decision", decision)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    run = try record.read("run")
    step = try record.read("step")
    decision = try record.read("decision")
  }
}

/// An event found its consumer: a run, whose step ends in the same batch, or a schedule, whose run is created in it.
package struct EventConsumed: Record, Equatable {
  package var at: Timestamp
  package var id: String
  package var by: String

  package init(at: Timestamp, id: String, by: String) {
    self.at = at
    self.id = id
    self.by = by
  }

  package func write(to record: inout RecordWriter) {
    record.set("at", at)
    record.set("id", id)
    record.set("by", by)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    at = try record.read("at")
    id = try record.read("id")
    by = try record.read("by")
  }
}

/// Events are old enough to be forgotten.
package struct EventsForgotten: Record, Equatable {
  package var at: Timestamp
  package var ids: [String]

  package init(at: Timestamp, ids: [String]) {
    self.at = at
    self.ids = ids
  }

  package func write(to record: inout RecordWriter) {
    record.set("at", at)
    record.set("ids", ids)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    at = try record.read("at")
    ids = try record.readAll("ids")
  }
}
