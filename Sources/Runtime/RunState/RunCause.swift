package import Basics

/// What made a run begin, for `errand why` and for the rules that count only some runs.
package struct RunCause: Record, Equatable {
  package enum Kind: String, Recordable, CaseIterable {
    /// A person or a program asked for it.
    case manual
    /// A slot of a schedule was due.
    case slot
    /// A person started a schedule's run out of turn.
    case trigger
    /// A person made up for slots of a time gone by.
    case backfill
    /// An event came that a schedule listens for.
    case event
    /// A run of another recipe ended.
    case afterRecipe
    /// A person tries a run again that ended badly.
    case retry
  }

  package var kind: Kind
  /// The schedule's id, if one started it; such a run counts as alive for the schedule's overlap policy.
  package var schedule: String?
  /// The slot's nominal instant, before jitter.
  package var slot: Timestamp?
  /// The id of the event.
  package var event: String?
  /// The run that it follows or tries again.
  package var run: String?

  package init(
    _ kind: Kind, schedule: String? = nil, slot: Timestamp? = nil, event: String? = nil, run: String? = nil
  ) {
    self.kind = kind
    self.schedule = schedule
    self.slot = slot
    self.event = event
    self.run = run
  }

  package func write(to record: inout RecordWriter) {
    record.set("kind", kind)
    record.set("schedule", schedule)
    record.set("slot", slot)
    record.set("event", event)
    record.set("run", run)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    kind = try record.read("kind")
    schedule = try record.readIfPresent("schedule")
    slot = try record.readIfPresent("slot")
    event = try record.readIfPresent("event")
    run = try record.readIfPresent("run")
  }
}

/// The group whose limit a run keeps to, as its recipe names it.
package struct RunGroup: Record, Equatable {
  package var name: String
  package var limit: Int
  /// `queue`, `skip` or `cancelOldest`.
  package var onLimit: String

  package init(name: String, limit: Int, onLimit: String) {
    self.name = name
    self.limit = limit
    self.onLimit = onLimit
  }

  package func write(to record: inout RecordWriter) {
    record.set("name", name)
    record.set("limit", limit)
    record.set("onLimit", onLimit)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    name = try record.read("name")
    limit = try record.read("limit")
    onLimit = try record.read("onLimit")
  }
}
