package import Basics

/// Where runs keep their state, so that acknowledged events survive power loss.
///
/// Only the implementation knows how: a folder of files is the default, memory serves tests and temporary runs. Queries
/// find what is open, so that a store shared by several machines can answer them from a database. A query waits until
/// the store can answer it or is closed.
package protocol StateStore: Sendable {
  /// Records events, in order and all or none, and returns once they survive power loss.
  ///
  /// All callers that wait at the same time share one sync. Cancelling the task changes nothing: the events are
  /// recorded.
  func append(_ events: [StateEvent]) async throws(StateError)

  /// A text that changes whenever a part of the state does, as long as the store is open; nil if that isn't known
  /// without reading the part.
  ///
  /// A reader takes it before it reads: then what it read is as new as the version, or newer.
  func version(of part: StatePart) async -> String?

  /// The open run with that id as of the last recorded event, if it is held here.
  ///
  /// A store on one machine holds every run.
  func run(_ id: String) -> RunRecord?
  /// The open run with that id, held here or elsewhere.
  func openRun(_ id: String) async -> RunRecord?
  /// The holder of a caller's key for a recipe at an instant; if it is a run, it may have ended and been deleted.
  func keyed(_ key: RunKey, of recipe: String, at instant: Timestamp) async throws(StateError) -> KeyedRun?
  /// The latest requests that count for the limits of a connection; nil if it has none.
  func connectionUse(of connection: String) async -> ConnectionUse?
  /// The tokens of callers over HTTP, in the order of their names.
  func tokens() async -> [TokenIssued]
  /// The logins of browsers that the state has, also ended ones, in the order of their digests.
  func sessions() async -> [SessionBegan]
  /// The login of a browser, by the SHA-256 of its text.
  func session(_ sha256: String) async -> SessionBegan?
  /// The question that a link leads to, by the SHA-256 of its text; nil if it was ended, or is forgotten.
  func linked(_ sha256: String) async -> LinkedQuestion?
  /// The key of the links, made if there is none; from then on, no record and no answer holds the text of a link.
  ///
  /// - Parameter isRenewed: Whether it becomes another one, with which no link that was made before is valid.
  func linkKey(renewed isRenewed: Bool) async throws(StateError) -> LinkKey
  /// The open runs that match, oldest first.
  func openRuns(_ query: OpenRunQuery) async -> [RunRecord]
  /// The latest of the open runs that match, oldest first, and how many match.
  func latestOpenRuns(_ query: OpenRunQuery, limit: Int) async -> (runs: [RunRecord], count: Int)
  /// How many open runs have each status.
  func openRunCounts() async -> [RunStatus: Int]
  /// The event with that id, unless it is forgotten.
  func event(_ id: String) async -> EventRecord?
  /// The events that match and are not forgotten, in the order they came.
  func events(_ query: EventQuery) async -> [EventRecord]
  func eventCount() async -> Int
  func schedule(_ id: String) async -> ScheduleRecord?
  /// Every schedule, in the order of their ids.
  func schedules() async -> [ScheduleRecord]
  /// A value that outlives runs.
  func value(named name: String) async -> StoredValue?
  /// The names of the values that outlive runs, in the order of their scalars.
  func valueNames() async -> [String]
  func valueCount() async -> Int

  /// The secrets that no record may hold.
  var secrets: SecretRegistry { get }

  /// How a state is shared by several programs; nil for one that belongs to this program alone.
  var sharing: (any StateSharing)? { get }

  /// How the schedules are decided on where several programs share the state; nil where this program alone decides.
  var scheduling: (any ScheduleSharing)? { get }

  /// The finished runs that match, latest end first.
  func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary]
  /// The ended run with that id, if it is still in memory.
  func endedRun(_ id: String) -> RunRecord?
  /// The finished run with exactly that id, if there is one.
  func finishedRun(_ id: String) async throws(StateError) -> RunRecord?

  /// The next piece of the text of a finished run in the history; nil if there is no such run.
  ///
  /// For passing a run on that may be too large to hold in memory.
  func finishedRunText(_ cursor: LogCursor, most: Int) async throws(StateError) -> (bytes: [UInt8], next: LogCursor)?

  /// How many finished runs had each result, in the order of recipes, days and statuses.
  func runSums(_ query: RunSumQuery) async throws(StateError) -> [RunSum]
  /// The latest results of recipes, at most ten each from an instant on, the latest first, by the recipes' names; a
  /// recipe without a result is left out.
  func latestResults(of recipes: [String], from instant: Timestamp) async throws(StateError) -> [String: [RunResult]]
  /// The groups of the failures since an instant, the latest first; they are counted from the beginning of its day.
  func failures(from instant: Timestamp) async throws(StateError) -> [FailureGroup]
  /// The dismissals of failures by people, in the order of the groups' ids.
  func dismissals() async -> [FailureDismissed]

  /// The settled slots that match, latest first.
  func slots(_ query: SlotQuery) async throws(StateError) -> [SlotRecord]

  /// Keeps bytes under their hash, durably, so that an event may name them afterwards.
  func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference
  /// Keeps the text of a value likewise.
  func putBlob(of value: Value) async throws(StateError) -> BlobReference
  /// The bytes of a blob, verified.
  func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8]

  /// Some of the bytes of a blob, for a caller that passes them on and has the receiver verify the whole.
  func blob(_ reference: BlobReference, from offset: Int, most: Int) async throws(StateError) -> [UInt8]

  /// Removes a finished run with its large values and printed lines; false if there is no finished run with that id.
  ///
  /// Afterwards only the ledger of slots and the events may still mention the run.
  func deleteRun(_ id: String) async throws(StateError) -> Bool
  /// Keeps lines that programs of a run printed, in the order of the calls; returns at once.
  ///
  /// Nothing is promised: a crash may lose the last lines, and a full disk costs the log and not the run. An attempt
  /// and a run have limits (`PrintedLine`).
  ///
  /// - Parameter fail: Called once if the run's log can't be written and is given up.
  func keepPrinted(
    _ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void)
  /// A part of the lines that programs of a run printed; `printed(ofRun:_:)` reads the lines in it.
  func printed(ofRun id: String, at point: PrintedPoint) async throws(StateError) -> PrintedChunk
  /// Removes what programs of a run printed, if anything is kept.
  func removeLog(ofRun id: String) async throws(StateError)

  /// How many bytes the state takes on its disk or in its database, as of the last minute; nil if that can't be told.
  func size() async -> Int?

  /// Writes a snapshot, so that the journal starts anew.
  func compact() async throws(StateError)
  /// Records what is pending, writes a last snapshot, and refuses everything after.
  func close() async throws(StateError)
}

extension StateStore {
  package var sharing: (any StateSharing)? { nil }
  package var scheduling: (any ScheduleSharing)? { nil }
  package func version(of part: StatePart) async -> String? { nil }
  package func size() async -> Int? { nil }

  /// The run with exactly that id, open or finished, if there is one.
  package func keptRun(_ id: String) async throws(StateError) -> RunRecord? {
    if let run = await openRun(id) { return run }
    return try await finishedRun(id)
  }

  /// The key of the links, made if there is none.
  package func linkKey() async throws(StateError) -> LinkKey { try await linkKey(renewed: false) }

  /// The right that the text of a link carries, if it was made with the key that holds now.
  package func right(of link: String) async throws(StateError) -> LinkedQuestion? {
    guard let question = await linked(try LinkKey.digest(of: link)), try await linkKey().makes(link, of: question)
    else { return nil }
    return question
  }

  /// Records one event.
  package func append(_ event: StateEvent) async throws(StateError) { try await append([event]) }

  package func finishedRunText(
    _ cursor: LogCursor, most: Int
  ) async throws(StateError) -> (bytes: [UInt8], next: LogCursor)? {
    try await finishedRun(cursor.id).map { run throws(StateError) in (Array(try run.storedText.utf8), cursor.atEnd) }
  }

  package func blob(_ reference: BlobReference, from offset: Int, most: Int) async throws(StateError) -> [UInt8] {
    Array(try await blob(reference).dropFirst(offset).prefix(most))
  }

  package func putBlob(of value: Value) async throws(StateError) -> BlobReference {
    try await putBlob(try recordedBytes(of: value))
  }

  /// Prepares a value for an event, without its secrets: inline, or as a blob if its text is larger than 64 KiB.
  ///
  /// - Parameter count: How many records will hold the value; together they hold no more than one may.
  package func keep(_ value: Value, inRecords count: Int = 1) async throws(StateError) -> StoredValue {
    guard let extent = ValueExtent(of: value) else {
      throw StateError(.invalid, "the value cannot be kept in the state: \(value.oversize ?? "it is too large")")
    }
    if extent.depth > StoredValue.deepest { throw StoredValue.tooDeep }
    let value = try secrets.masked(value)
    if extent.bytes <= StoredValue.largestInline / max(count, 1) { return .inline(value) }
    return .blob(try await putBlob(of: value))
  }

  /// The value that was passed to `keep`, for use in a run.
  ///
  /// - Parameter what: A name for the value in messages.
  package func restored(_ stored: StoredValue, as what: @autoclosure () -> String) async throws(StateError) -> Value {
    try await secrets.restored(try await value(stored), as: what())
  }

  /// The value that `keep` prepared, for display: it has no secrets in it.
  package func value(_ stored: StoredValue) async throws(StateError) -> Value {
    switch stored {
    case .inline(let value): return value
    case .blob(let reference): return try decodedValue(of: try await blob(reference), reference)
    }
  }
}

/// A query of the history.
package struct HistoryQuery: Sendable {
  /// At most that many runs.
  package var limit: Int
  /// Only runs of that recipe.
  package var recipe: String?
  /// Only runs that ended with one of these statuses.
  package var statuses: Set<RunStatus>?
  /// Only runs whose id begins with this.
  package var idPrefix: String?
  /// Only runs whose id ends with this.
  package var idSuffix: String?
  /// Only runs that were created at that instant or later.
  package var createdFrom: Timestamp?
  /// Only runs that were created before that instant.
  package var createdBefore: Timestamp?
  /// Only runs that ended at that instant or later.
  package var endedFrom: Timestamp?
  /// Only runs that ended before that instant, for paging.
  package var endedBefore: Timestamp?
  /// Only retries of these runs, if there are any.
  package var retriesOf: Set<String> = []
  /// Only failures of that group.
  package var failure: String?
  /// Only retries and repeats of that run.
  package var againOf: String?
  package var filter = RunFilter()

  package init(
    limit: Int = 20, recipe: String? = nil, statuses: Set<RunStatus>? = nil, idPrefix: String? = nil,
    idSuffix: String? = nil, endedBefore: Timestamp? = nil, retryOf: String? = nil
  ) {
    self.idSuffix = idSuffix
    self.limit = limit
    self.recipe = recipe
    self.statuses = statuses
    self.idPrefix = idPrefix
    self.endedBefore = endedBefore
    if let retryOf { retriesOf = [retryOf] }
  }

  package func matches(_ run: RunSummary) -> Bool {
    if let recipe, !recipe.hasSameScalars(as: run.recipe) { return false }
    if let statuses, !statuses.contains(run.status) { return false }
    if let idPrefix, !run.id.utf8.starts(with: idPrefix.utf8) { return false }
    if let idSuffix, !run.id.utf8.hasSuffix(idSuffix.utf8) { return false }
    if let createdFrom, run.createdAt < createdFrom { return false }
    if let createdBefore, run.createdAt >= createdBefore { return false }
    if let endedFrom, run.endedAt < endedFrom { return false }
    if let endedBefore, run.endedAt >= endedBefore { return false }
    if !retriesOf.isEmpty, run.retryOf.map(retriesOf.contains) != true { return false }
    if let failure, !FailureGroup.matches(run, group: failure) { return false }
    if let againOf, run.again?.hasSameScalars(as: againOf) != true { return false }
    return filter.matches(run)
  }
}

extension BidirectionalCollection<UInt8> {
  func hasSuffix(_ suffix: some BidirectionalCollection<UInt8>) -> Bool { reversed().starts(with: suffix.reversed()) }
}

/// A query of the slot ledger.
package struct SlotQuery: Sendable {
  /// At most that many records.
  package var limit: Int
  package var schedule: String?
  /// The recipes whose schedules the caller sees, or none for all; the store leaves it to its callers.
  package var recipes: [String] = []
  /// Only slots at or after that instant.
  package var from: Timestamp?
  /// Only slots before that instant.
  package var before: Timestamp?
  /// Only slots that were settled at that instant or earlier.
  package var settledUntil: Timestamp?
  /// The last slot of the page before, as `SlotRecord.cursor` names it; the store leaves it to its callers.
  package var after: String?
  /// Whether only the first coming slot of each schedule is wanted.
  package var isFirst: Bool

  package init(
    limit: Int = 20, schedule: String? = nil, from: Timestamp? = nil, before: Timestamp? = nil, after: String? = nil,
    isFirst: Bool = false
  ) {
    self.after = after
    self.isFirst = isFirst
    self.limit = limit
    self.schedule = schedule
    self.from = from
    self.before = before
  }

  package func matches(_ slot: SlotRecord) -> Bool {
    if let schedule, !schedule.hasSameScalars(as: slot.schedule) { return false }
    if let from, slot.until ?? slot.slot < from { return false }
    if let before, slot.slot >= before { return false }
    if let settledUntil, slot.at > settledUntil { return false }
    return true
  }
}

/// A finished run in a list.
package struct RunSummary: Record, Equatable {
  package var id: String
  package var recipe: String
  package var status: RunStatus
  package var createdAt: Timestamp
  package var endedAt: Timestamp
  /// The run that it retried.
  package var retryOf: String?
  /// Why it did not succeed, in a line.
  package var reason: String?
  /// Nil for a run that an earlier version kept.
  package var cause: RunCause?
  /// The inputs in short (`Value.inputsInShort`); nil if there are none.
  package var inputs: Value?
  /// The group of its failure, if it failed.
  package var failure: FailureMark?
  /// The schedule that started it.
  package var schedule: String? { cause?.schedule }

  /// The most bytes of a reason, which each list reads.
  private static let longestReason = 160

  /// The run that it retries, or repeats with its inputs.
  package var again: String? { cause?.again ?? retryOf }

  package init(_ run: RunRecord) {
    id = run.id
    recipe = run.recipe
    status = run.status
    createdAt = run.createdAt
    endedAt = run.endedAt ?? run.now
    retryOf = run.retryOf
    reason =
      run.status == .succeeded ? nil : (run.error?.message ?? run.reason)?.shortened(to: RunSummary.longestReason)
    cause = run.origin.cause
    let inputs = run.origin.inputs.inputsInShort
    self.inputs = inputs.map?.isEmpty == false ? inputs : nil
    failure = FailureMark(of: run)
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    recipe = try member("recipe", record?.recipe)
    status = try member("status", record?.status)
    createdAt = try member("createdAt", record?.createdAt)
    endedAt = try member("endedAt", record?.endedAt)
    retryOf = try member("retryOf", record?.retryOf)
    reason = try member("reason", record?.reason)
    cause = try member("cause", record?.cause)
    inputs = try member("inputs", record?.inputs)
    failure = try member("failure", record?.failure)
  }
}

/// Why the state could not be opened, read or changed.
package struct StateError: Error, Sendable, Equatable {
  package enum Kind: Sendable {
    /// The events do not fit the state, or a value cannot be kept; nothing was changed.
    case invalid
    /// The files do not hold what was written to them.
    case damaged
    /// A newer version wrote the files.
    case newer
    /// A value holds a secret that has changed or is missing.
    case secret
    /// The file system refused, before anything was promised.
    case unavailable
    /// Something could not be made durable; the store takes nothing more, and the program has to start again.
    case fatal
    /// The store was closed.
    case closed
    /// Another program took the run over and runs it; this one must do nothing more for it.
    case fenced
  }

  package var kind: Kind
  /// A sentence that names the file and the remedy.
  package var message: String
  /// Whether the events are `invalid` because they depend on something that has changed since it was read.
  ///
  /// The change is in the state when this is thrown, so a caller that reads again sees it, and may decide anew.
  package var isConflict = false
  /// The name of the secret that is missing, if one is.
  package var missing: String?
  /// How long it is until requests on a connection may go that programs which share the state have to wait for.
  package var wait: TimeSpan?
  /// The message for the caller, if the caller sent a secret.
  ///
  /// It doesn't name the secret, so that a caller can't find out its name or its text by guessing.
  package var forCaller: String?

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
