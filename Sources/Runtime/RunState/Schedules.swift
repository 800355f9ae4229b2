/// The records of schedules: how far each has been decided, which slots wait to start, and the outcomes of slots.
///
/// A schedule is one entry of a recipe's `on:`; its id is the recipe's name, and the entry's id after a slash if it has
/// one. A slot is one due instant of a schedule, before jitter. `processedUntil` is the schedule's high-water mark:
/// every slot at or before it has been decided, none after it has, and only a reset moves it back. So the slots to
/// decide are a function of the schedule, the zone's rules, the mark and the clock, and nothing else about the future
/// has to be kept. If the clock was once ahead, the mark is too, and no slot starts before the clock reaches it again;
/// a person may reset it, and the slots after it that have a run by then are kept (`started`), so that none starts
/// twice.
///
/// A decision is one batch: `slotDecided`, with `runCreated` if a run is started. The record of a slot is written once,
/// when it is settled; until then a buffered slot is in its schedule's `buffered`. A long row of slots with the same
/// outcome is one record with its first instant, its last (`until`) and their number.
///
/// Settled slots stay in the state until the next snapshot, which moves them to `slots/2026-11.jsonl`.
package import Basics

/// The record of one schedule.
package struct ScheduleRecord: Record, Equatable {
  /// The recipe's name, and the entry's id after a slash if it has one.
  package var id: String
  package var recipe: String
  /// The recipe's file, as `serve` found it.
  package var file: String
  /// Everything that decides the slots, in one text; another text is another schedule, without a past to catch up on.
  package var spec: String
  /// The recipe's last valid version: a map from file to text.
  package var texts: StoredValue?
  /// The version of the recipe language that it is read in.
  package var language = 1
  package var createdAt: Timestamp
  package var processedUntil: Timestamp
  package var pause: PauseRecord?
  /// How many more slots may start a run; any number if absent.
  package var remainingRuns: Int?
  /// Whether a failed run pauses it, in the same fold that ends the run.
  package var pausesOnFailure: Bool
  /// The recipe whose runs it follows, for `afterRecipe`.
  package var follows: String?
  /// Ends of such runs that have not been decided yet, oldest first.
  package var endsToFollow: [FollowedEnd] = []
  /// Slots that wait for a run to end, oldest first.
  package var buffered: [BufferedSlot] = []
  /// The events or files that it has gathered for one run.
  package var batch: BatchRecord?
  /// The files that it watches, as it has seen them; nil until its first look.
  package var files: SeenFiles?
  /// Its open runs, oldest first.
  package var openRuns: [String] = []
  /// Slots after the mark that have a run, from when the clock was ahead.
  package var started: [Timestamp] = []
  /// The number of slots with each outcome, since it was created.
  package var counts: [String: Int] = [:]
  package var lastRun: String?
  /// The status of the last of its runs to end.
  package var lastStatus: RunStatus?

  package init(
    id: String, recipe: String, file: String, spec: String, texts: StoredValue? = nil, createdAt: Timestamp,
    processedUntil: Timestamp, pause: PauseRecord? = nil, remainingRuns: Int? = nil,
    pausesOnFailure: Bool = false, follows: String? = nil
  ) {
    self.id = id
    self.recipe = recipe
    self.file = file
    self.spec = spec
    self.texts = texts
    self.createdAt = createdAt
    self.processedUntil = processedUntil
    self.pause = pause
    self.remainingRuns = remainingRuns
    self.pausesOnFailure = pausesOnFailure
    self.follows = follows
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    recipe = try member("recipe", record?.recipe)
    file = try member("file", record?.file)
    spec = try member("spec", record?.spec)
    texts = try member("texts", record?.texts)
    language = try member("language", record?.language, default: 1)
    createdAt = try member("createdAt", record?.createdAt)
    processedUntil = try member("processedUntil", record?.processedUntil)
    pause = try member("pause", record?.pause)
    remainingRuns = try member("remainingRuns", record?.remainingRuns)
    pausesOnFailure = try member("pausesOnFailure", record?.pausesOnFailure, default: false)
    follows = try member("follows", record?.follows)
    endsToFollow = try member("endsToFollow", record?.endsToFollow, default: [])
    buffered = try member("buffered", record?.buffered, default: [])
    batch = try member("batch", record?.batch)
    files = try member("files", record?.files)
    openRuns = try member("openRuns", record?.openRuns, default: [])
    started = try member("started", record?.started, default: [])
    counts = try member("counts", record?.counts, default: [:])
    lastRun = try member("lastRun", record?.lastRun)
    lastStatus = try member("lastStatus", record?.lastStatus)
  }
}

extension ScheduleRecord {
  /// Until when no slot starts because the clock was once ahead; nil if it wasn't, or only within tolerance.
  package func decidedAhead(of now: Timestamp) -> Timestamp? {
    guard let ahead = processedUntil.span(since: now), ahead > .seconds(60) else { return nil }
    return processedUntil
  }
}

/// Why a schedule is paused.
package struct PauseRecord: Record, Equatable {
  package enum Origin: String, Recordable, CaseIterable {
    /// The recipe's `paused`.
    case recipe
    case person
    /// `pauseOnFailure`.
    case failure
  }

  package var at: Timestamp
  package var origin: Origin
  package var note: String?

  package init(at: Timestamp, origin: Origin, note: String? = nil) {
    self.at = at
    self.origin = origin
    self.note = note
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    origin = try member("origin", record?.origin)
    note = try member("note", record?.note)
  }
}

extension PauseRecord {
  /// The pause after the end of a run, for a schedule with `pauseOnFailure`; none if the run did not fail.
  package init?(onFailureOf run: RunRecord) {
    guard run.status == .failed || run.status == .timedOut else { return nil }
    self.init(at: run.endedAt ?? run.now, origin: .failure, note: "the run \(run.id) ended as \(run.status)")
  }
}

/// A slot that waits for a run to end.
package struct BufferedSlot: Record, Equatable {
  package var slot: Timestamp
  package var at: Timestamp
  /// A due slot, or a person's request.
  package var cause: RunCause
  /// The inputs that were computed when it was decided, or that a person gave.
  package var inputs: Value?
  /// The id that its run will have, if the inputs may hold it or a key belongs to it.
  package var run: String?
  /// The key of the request, which its run will have.
  package var key: RunKey?

  package init(
    slot: Timestamp, at: Timestamp, cause: RunCause, inputs: Value? = nil, run: String? = nil, key: RunKey? = nil
  ) {
    self.key = key
    self.slot = slot
    self.at = at
    self.cause = cause
    self.inputs = inputs
    self.run = run
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    slot = try member("slot", record?.slot)
    at = try member("at", record?.at)
    cause = try member("cause", record?.cause)
    inputs = try member("inputs", record?.inputs)
    run = try member("run", record?.run)
    key = try member("key", record?.key)
  }
}

/// Events or files that are gathered until one run starts with all of them.
///
/// Each was consumed, or seen, in the write that put it here; the slot that is decided for the first of them ends the
/// batch.
package struct BatchRecord: Record, Equatable {
  /// When the first came.
  package var at: Timestamp
  /// When the run starts at the latest.
  package var due: Timestamp
  /// The ids of the events or files, in the order they came.
  package var events: [String] = []
  /// The files by their ids.
  package var files: [String: GatheredFile] = [:]

  package init(at: Timestamp, due: Timestamp) {
    self.at = at
    self.due = due
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    due = try member("due", record?.due)
    events = try member("events", record?.events, default: [])
    files = try member("files", record?.files, default: [:])
  }
}

extension BatchRecord {
  /// A batch with one event more, which opens it if there is none.
  package static func adding(_ event: EventGathered, to open: BatchRecord?) -> BatchRecord {
    var batch = open ?? BatchRecord(at: event.at, due: event.due)
    batch.events.append(event.id)
    batch.files[event.id] = event.file
    return batch
  }

  /// The cause of a run for one of its events.
  package func cause(_ event: String, of schedule: String) -> RunCause {
    RunCause(files[event] == nil ? .event : .file, schedule: schedule, event: event)
  }

  /// Whether a slot is the one that ends the batch.
  package func isEnded(by slot: SlotRecord) -> Bool {
    slot.slot == at && [.event, .file].contains(slot.cause.kind) && slot.cause.event == events.first
  }

  /// How many there are, such as `3 files`.
  package var counted: String { RunState.counted(events.count, files.isEmpty ? "event" : "file") }

  /// Its content in words, for the reason that no run starts with it.
  package var words: String {
    let most = 10
    let displayed = events.prefix(most).map { files[$0]?.path ?? $0 }.joined(separator: ", ")
    let rest = events.count > most ? " and \(events.count - most) more" : ""
    return "it had gathered \(counted): \(displayed)\(rest)"
  }
}

/// A version of a file in a batch.
package struct GatheredFile: Record, Equatable {
  package var path: String
  package var bytes: Int
  package var modifiedAt: Timestamp
  /// When it had stayed unchanged for long enough.
  package var at: Timestamp

  package init(path: String, version: FileVersion, at: Timestamp) {
    self.path = path
    bytes = version.bytes
    modifiedAt = version.modifiedAt
    self.at = at
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    path = try member("path", record?.path)
    bytes = try member("bytes", record?.bytes)
    modifiedAt = try member("modifiedAt", record?.modifiedAt)
    at = try member("at", record?.at)
  }
}

/// The end of a run that a schedule may follow.
package struct FollowedEnd: Record, Equatable {
  package var run: String
  package var status: RunStatus
  package var at: Timestamp

  package init(run: String, status: RunStatus, at: Timestamp) {
    self.run = run
    self.status = status
    self.at = at
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    status = try member("status", record?.status)
    at = try member("at", record?.at)
  }
}

/// The outcome of a slot, or of a row of slots.
package enum SlotOutcome: String, Recordable, CaseIterable {
  case started, buffered, skippedOverlap, missedWindow, missedPolicy, superseded, paused, coalesced, dropped, refused
  /// A delivery that 'match' rejected.
  case unmatched
  /// A delivery that was sent as an event to the runs that wait for it.
  case signalled
  /// A delivery that came before, and counts once.
  case duplicate
  /// A person set the mark back, from `until` to `slot`; it isn't a slot.
  case reset
}

/// A slot's line in the ledger.
package struct SlotRecord: Record, Equatable {
  package var schedule: String
  /// The nominal instant; the first one of a row.
  package var slot: Timestamp
  /// The last slot of a row.
  package var until: Timestamp?
  /// How many slots the record covers.
  package var count: Int
  package var outcome: SlotOutcome
  /// When it was settled.
  package var at: Timestamp
  /// The cause of the request; `slot` for a slot that was due.
  package var cause: RunCause
  /// The run that was started, or the run that prevented it; for a slot that waits, the id that its run will have, if
  /// its inputs may hold it.
  package var run: String?
  /// The reason, in a sentence.
  package var reason: String?
  /// How much later than it was due, if more than a second.
  package var lateBy: TimeSpan?
  /// The inputs of a waiting slot, computed when it was decided or given by a person.
  package var inputs: Value?
  /// The key of the request, for a start out of turn that waits or that started nothing.
  package var key: RunKey?

  package init(
    schedule: String, slot: Timestamp, until: Timestamp? = nil, count: Int = 1, outcome: SlotOutcome, at: Timestamp,
    cause: RunCause, run: String? = nil, reason: String? = nil, lateBy: TimeSpan? = nil, inputs: Value? = nil
  ) {
    self.inputs = inputs
    self.schedule = schedule
    self.slot = slot
    self.until = until
    self.count = count
    self.outcome = outcome
    self.at = at
    self.cause = cause
    self.run = run
    self.reason = reason
    self.lateBy = lateBy
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    schedule = try member("schedule", record?.schedule)
    slot = try member("slot", record?.slot)
    until = try member("until", record?.until)
    count = try member("count", record?.count)
    outcome = try member("outcome", record?.outcome)
    at = try member("at", record?.at)
    cause = try member("cause", record?.cause)
    run = try member("run", record?.run)
    reason = try member("reason", record?.reason)
    lateBy = try member("lateBy", record?.lateBy)
    inputs = try member("inputs", record?.inputs)
    key = try member("key", record?.key)
  }
}

// MARK: - Events

/// A schedule was added or changed.
package struct ScheduleSet: Record, Equatable {
  package var at: Timestamp
  package var schedule: String
  package var recipe: String
  package var file: String
  package var spec: String
  package var texts: StoredValue?
  /// The version of the recipe language that the texts are read in.
  package var language: Int
  /// The mark that slots are decided from; absent to leave it unchanged.
  package var processedUntil: Timestamp?
  package var remainingRuns: Int?
  package var pausesOnFailure: Bool
  package var follows: String?

  package init(
    at: Timestamp, schedule: String, recipe: String, file: String, spec: String, texts: StoredValue? = nil,
    language: Int = 1, processedUntil: Timestamp? = nil, remainingRuns: Int? = nil, pausesOnFailure: Bool = false,
    follows: String? = nil
  ) {
    self.at = at
    self.language = language
    self.schedule = schedule
    self.recipe = recipe
    self.file = file
    self.spec = spec
    self.texts = texts
    self.processedUntil = processedUntil
    self.remainingRuns = remainingRuns
    self.pausesOnFailure = pausesOnFailure
    self.follows = follows
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    schedule = try member("schedule", record?.schedule)
    recipe = try member("recipe", record?.recipe)
    file = try member("file", record?.file)
    spec = try member("spec", record?.spec)
    texts = try member("texts", record?.texts)
    language = try member("language", record?.language, default: 1)
    processedUntil = try member("processedUntil", record?.processedUntil)
    remainingRuns = try member("remainingRuns", record?.remainingRuns)
    pausesOnFailure = try member("pausesOnFailure", record?.pausesOnFailure, default: false)
    follows = try member("follows", record?.follows)
  }
}

/// A schedule took an event or a file into its batch, which the first opens.
package struct EventGathered: Record, Equatable {
  package var at: Timestamp
  package var schedule: String
  /// The id of the event, or of the version of the file.
  package var id: String
  /// When the batch starts a run at the latest; the first event's counts.
  package var due: Timestamp
  package var file: GatheredFile?

  package init(at: Timestamp, schedule: String, id: String, due: Timestamp, file: GatheredFile? = nil) {
    self.at = at
    self.schedule = schedule
    self.id = id
    self.due = due
    self.file = file
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    schedule = try member("schedule", record?.schedule)
    id = try member("id", record?.id)
    due = try member("due", record?.due)
    file = try member("file", record?.file)
  }
}

/// A schedule was removed; its buffered slots have been settled before.
package struct ScheduleRemoved: Record, Equatable {
  package var at: Timestamp
  package var schedule: String

  package init(at: Timestamp, schedule: String) {
    self.at = at
    self.schedule = schedule
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    schedule = try member("schedule", record?.schedule)
  }
}

/// A schedule was paused, or resumed (no pause).
package struct SchedulePaused: Record, Equatable {
  package var schedule: String
  package var pause: PauseRecord?

  package init(schedule: String, pause: PauseRecord?) {
    self.schedule = schedule
    self.pause = pause
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    schedule = try member("schedule", record?.schedule)
    pause = try member("pause", record?.pause)
  }
}

/// A person set a schedule's mark back, because the clock had been ahead.
package struct ScheduleReset: Record, Equatable {
  package var at: Timestamp
  package var schedule: String
  package var processedUntil: Timestamp
  /// The slots after it that have a run.
  package var started: [Timestamp]

  package init(at: Timestamp, schedule: String, processedUntil: Timestamp, started: [Timestamp]) {
    self.at = at
    self.schedule = schedule
    self.processedUntil = processedUntil
    self.started = started
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    schedule = try member("schedule", record?.schedule)
    processedUntil = try member("processedUntil", record?.processedUntil)
    started = try member("started", record?.started, default: [])
  }
}
