/// The operations that a shared state needs from its database.
///
/// The database stores the log of each run, a row to find each open run by, an item for each other named thing, decided
/// slots, finished runs, blobs, and the output of programs. Only the store knows the meaning of the rows and which
/// changes are allowed. The database stores them, rejects a log number or a name that is already in use, and applies
/// each transaction completely or not at all.
///
/// There are two implementations: PostgreSQL, and a simulated database for tests.
package import Basics
package import RunState

/// Why a database request failed.
package enum DatabaseError: Error, Sendable, Equatable {
  /// Nothing was changed, and the request may be repeated.
  case unavailable(String)
  /// The change may have been made: the connection was lost, or no answer came in time.
  case unknown(String)
  /// Another transaction took the log number, the name or the lock; nothing was changed.
  case conflict(String)
  /// The request can't succeed: a row can't be read, or the database isn't set up as it should be.
  case unusable(String)
}

extension StateError {
  init(_ error: DatabaseError) {
    switch error {
    case .unavailable(let message), .unknown(let message), .conflict(let message): self.init(.unavailable, message)
    case .unusable(let message): self.init(.damaged, message)
    }
  }
}

/// The columns to find an open run by, as of the last entry of its log.
package struct OpenRunRow: Sendable, Equatable {
  package var id: String
  package var recipe: String
  package var status: String
  package var createdAt: Timestamp
  /// When it is due; never if absent.
  package var wakeAt: Timestamp?
  /// The names of the events that its steps wait for, in the order of their scalars.
  package var waitsFor: [String]
  package var group: String?
  /// How many runs of its group may have begun.
  package var groupLimit: Int?
  /// The run that it retries or repeats.
  package var retryOf: String?
  package var needsPerson: Bool
  /// The offers that a worker must have to claim the run.
  package var needs: [String]
  /// The machine and folder where the run has to stay, because it works with files there.
  package var home: String?
  package var queue: String

  /// The queue of the runs that name none.
  package static let standardQueue = "default"

  package init(_ run: RunRecord) {
    id = run.id
    recipe = run.recipe
    status = run.status.rawValue
    createdAt = run.createdAt
    // A run without a holder can be claimed when it is due: at once, unless it waits.
    switch run.status {
    case .waiting: wakeAt = run.wakeAt
    case .paused, .uncertain: wakeAt = nil
    // A run that is queued for its group gets news when there is a place.
    case .queued: wakeAt = run.reason == nil ? run.createdAt : nil
    default: wakeAt = run.createdAt
    }
    waitsFor = Set(run.steps.lazy.filter { $0.status == .waiting }.compactMap { $0.wait?.event })
      .sorted { $0.precedesByScalars($1) }
    group = run.origin.group?.name
    groupLimit = run.origin.group?.limit
    retryOf = run.origin.cause.again
    needsPerson = run.needsPerson
    needs = run.origin.needs + run.needs.filter { !run.origin.needs.contains($0) }
    home = run.home
    queue = run.origin.queue ?? OpenRunRow.standardQueue
  }

  /// The row after events of the run.
  ///
  /// Most events leave the row as it is, and a run may have thousands of steps to examine.
  func following(_ run: RunRecord, by events: [StateEvent]) -> OpenRunRow {
    let mayChange = events.contains { event in
      switch event {
      case .stepBegan, .attemptBegan, .attemptEnded, .stepEnded, .runNoted, .cancelRequested, .valueSet, .valueRemoved:
        false
      default: true
      }
    }
    let isPlaced = home != run.home || !run.needs.allSatisfy(needs.contains)
    return mayChange || isPlaced || !waitsFor.isEmpty || needsPerson ? OpenRunRow(run) : self
  }
}

/// The changes of one transaction.
package struct DatabaseChanges: Sendable {
  /// The next entries of logs.
  package var entries: [LogEntry] = []
  /// The rows of new runs.
  package var created: [OpenRunRow] = []
  /// The rows that changed.
  package var changed: [OpenRunRow] = []
  /// The worker that will hold the created runs, if one will.
  package var holder: Int?
  /// The created runs that `holder` doesn't hold, because it couldn't claim them.
  package var unheld: Set<String> = []
  /// The runs that ended, as they are stored in the history.
  package var ended: [FinishedRow] = []
  package var items: [StoredItem] = []
  package var removed: [ItemName] = []
  package var slots: [SlotRecord] = []
  package var grown: [SlotRecord] = []
  /// The names of events that came: there is news for the runs that wait for one.
  package var came: Set<String> = []
  /// The runs that have news: they were changed by a program that doesn't hold them, or wait for an event that is there.
  package var told: Set<String> = []
  /// Whether it begins another version of the schedules.
  package var isSteering = false
  /// Whether the leader of the schedules is to look.
  package var concernsSchedules = false
  /// Identifies the transaction if its answer is lost.
  package var receipt: String

  package init(receipt: String) { self.receipt = receipt }

  /// The worker that will hold a created run, if one will.
  package func holder(of run: String) -> Int? { unheld.contains(run) ? nil : holder }
}

/// A finished run in the history.
package struct FinishedRow: Sendable, Equatable {
  package var summary: RunSummary
  /// The record's JSON.
  package var text: String

  package init(summary: RunSummary, text: String) {
    self.summary = summary
    self.text = text
  }
}

/// The capabilities that a program offers to the other programs of a shared state.
package struct WorkerTerms: Sendable, Equatable {
  /// The worker's name, as people see it.
  package var name: String
  /// The machine that it runs on.
  package var host: String
  package var pid: Int
  /// The program and its version.
  package var program: String
  /// The needs of runs that it can meet: plugins, connections, secrets, formats.
  package var offers: Set<String>
  package var queues: Set<String>
  /// The place where the files of its runs are: runs that have touched files elsewhere can't run here.
  package var home: String
  /// Whether other machines see the same files, so that runs that work with files may continue there.
  package var sharesFolder: Bool
  /// The most runs that it holds at once.
  package var capacity: Int
  /// How long the worker holds its runs without renewing its lease.
  ///
  /// Workers of one state should have the same: one that finds a lease with more than twice its own left shortens it to
  /// its own, because the clock of the database may have been set back.
  package var lease = SharedWorker.lease

  package init(
    name: String, host: String = "", pid: Int = 0, program: String = "", offers: Set<String> = [],
    queues: Set<String> = ["default"], home: String = "", sharesFolder: Bool = false, capacity: Int = 64
  ) {
    self.name = name
    self.host = host
    self.pid = pid
    self.program = program
    self.offers = offers
    self.queues = queues
    self.home = home
    self.sharesFolder = sharesFolder
    self.capacity = capacity
  }
}

extension WorkerTerms {
  /// Whether the worker may claim a run.
  package func take(_ row: OpenRunRow) -> Bool {
    queues.contains(row.queue) && offers.isSuperset(of: row.needs) && (row.home ?? home) == home
  }
}

/// A worker as the database knows it.
package struct WorkerIdentity: Sendable, Hashable {
  package var id: Int

  package init(id: Int) { self.id = id }
}

/// The result of renewing a lease.
package enum LeaseRenewal: Sendable, Equatable {
  /// - Parameters:
  ///   - hasDead: Whether there are workers whose lease has expired and that have to be removed.
  ///   - holding: How many runs the worker holds according to the database.
  case renewed(isDraining: Bool, hasDead: Bool = false, holding: Int = 0)
  /// The lease had expired, and other workers may hold the worker's runs.
  case over
}

/// A claimed run.
package struct ClaimedRun: Sendable, Equatable {
  /// With the entry of the claim.
  package var log: LoggedRun
  package var epoch: Int

  package init(log: LoggedRun, epoch: Int) {
    self.log = log
    self.epoch = epoch
  }
}

/// The result of claiming one run.
package enum RunClaim: Sendable {
  case claimed(ClaimedRun)
  /// A worker holds it.
  case held(by: String, id: Int)
  /// The run needs these things, which the worker doesn't offer.
  case missing([String])
  /// It isn't open.
  case over
  /// The worker is draining and claims no more runs.
  case draining
}

/// Who decides on the schedules.
package struct LeaderRow: Sendable, Equatable {
  /// The worker that led last; nil if it gave the lead back.
  package var worker: Int?
  /// The leader's name, as people see it, while it leads.
  package var name: String?
  package var epoch: Int
  package var version: Int

  package init(worker: Int?, name: String?, epoch: Int, version: Int) {
    self.worker = worker
    self.name = name
    self.epoch = epoch
    self.version = version
  }

  /// How long an event is reserved for runs that wait for it: for a run with a holder, and for a run yet to be claimed.
  package static let untilLooked = (held: TimeSpan.seconds(5), taken: TimeSpan.seconds(60))
  /// How far a leader's clock may be from the database's.
  package static let mostOffset = TimeSpan.seconds(2)
}

/// A message to the workers about the schedules.
package enum ScheduleHint: Sendable {
  case changed
  /// The leader gave the lead back.
  case vacant
}

/// Rows that were read.
package struct DatabaseRows: Sendable {
  /// The requested runs that are open.
  package var runs: [LoggedRun] = []
  package var items: [StoredItem] = []
  /// The last slot of each requested ledger.
  package var slots: [SlotRecord] = []
  /// The holders of keys among the items that are open runs.
  package var open: Set<String> = []
  /// The requested event names that have an unconsumed event.
  package var freeEvents: Set<String> = []
  /// The time of the clock that all programs share, if a connection was requested.
  package var now: Timestamp?

  package init() {}
}

/// A transaction that reads, decides and then writes once.
package protocol DatabaseTransaction: Sendable {
  /// Locks and reads what is needed; true if the transaction of that receipt was committed before.
  func read(_ needs: StateNeeds, receipt: String) async throws(DatabaseError) -> (rows: DatabaseRows, isDone: Bool)
  /// Begins the version of the schedules after one, with the commit; false if there is another already.
  func begin(after version: Int) async throws(DatabaseError) -> Bool
  /// Writes and commits.
  func commit(_ changes: DatabaseChanges) async throws(DatabaseError)
}

/// Which items to find; a member that is nil matches every item.
package struct ItemQuery: Sendable {
  package var kind: ItemKind
  package var reference: String?
  package var holder: String?
  package var isFree = false
  package var since: Timestamp?

  package init(_ kind: ItemKind) { self.kind = kind }
}

package protocol SharedDatabase: Sendable {
  /// Which of the servers that took over from each other was connected to last; 0 before there was one.
  var timeline: Int { get }
  /// The instant by the clock that all programs share.
  func clock() async throws(DatabaseError) -> Timestamp

  // MARK: Logs

  /// Writes the next entries of several runs, each alone: with each the row of its run, if that changed.
  ///
  /// - Returns: The runs whose entries were written; the numbers of the others are taken.
  func append(_ entries: [LogEntry], changing rows: [OpenRunRow]) async throws(DatabaseError) -> Set<String>
  /// The entries of a run after a number; nil if the run isn't open.
  ///
  /// - Parameter isSure: Whether they have to be where those are that were acknowledged: one whose commit was cancelled
  ///   while it waited for a standby is seen before it is there.
  func entries(of run: String, after number: Int, isSure: Bool) async throws(DatabaseError) -> [LogEntry]?
  /// Stores the folded state of logs, so that readers needn't start at the first entry.
  func fold(_ logs: [(run: String, log: FoldedLog)]) async throws(DatabaseError)
  /// Runs `body`, which reads, decides and commits, in a transaction; without a commit nothing is changed.
  func transact<Outcome: Sendable>(
    _ body: @Sendable (any DatabaseTransaction) async throws(DatabaseError) -> Outcome
  ) async throws(DatabaseError) -> Outcome

  // MARK: Workers

  /// How long ago a server took over from another, as the first program to notice recorded it; nil if none did.
  func sinceTakeover() async throws(DatabaseError) -> TimeSpan?
  /// Makes a worker known, whose lease begins now.
  ///
  /// - Parameter isAgain: Whether the worker had a lease and lost it, so that an earlier request to drain still holds.
  func register(_ terms: WorkerTerms, lease: TimeSpan, isAgain: Bool) async throws(DatabaseError) -> WorkerIdentity
  /// Changes a worker's offers and queues; its location doesn't change.
  func change(_ worker: WorkerIdentity, to terms: WorkerTerms) async throws(DatabaseError)
  func renew(_ worker: WorkerIdentity, lease: TimeSpan) async throws(DatabaseError) -> LeaseRenewal
  /// Removes workers whose lease has expired, releases everything that they hold, and returns their names.
  ///
  /// Each released run gets news, because its last holder may not have handled news that it received.
  ///
  /// - Parameter lease: The longest that a lease may last from now. One that lasts much longer was granted before the
  ///   clock was set back, and is shortened to this.
  func removeExpired(lease: TimeSpan) async throws(DatabaseError) -> [String]
  /// Removes a worker and releases everything that it holds; each released run gets news.
  func leave(_ worker: WorkerIdentity) async throws(DatabaseError)
  /// Claims due runs that no worker holds and that can run here, beginning with the run that is overdue longest.
  ///
  /// - Parameter instant: The time of the claims by the worker's clock. Runs have to be due by this clock as well,
  ///   because the worker would otherwise release them at once.
  func claim(
    _ worker: WorkerIdentity, _ terms: WorkerTerms, most: Int, at instant: Timestamp
  ) async throws(DatabaseError) -> [ClaimedRun]
  /// Claims an open run that no worker holds and that can run here, due or not.
  func claim(
    _ run: String, _ worker: WorkerIdentity, _ terms: WorkerTerms, anyway: Bool, at instant: Timestamp
  ) async throws(DatabaseError) -> RunClaim
  /// Releases a run, which can be claimed again when it is due or gets news.
  ///
  /// - Parameter number: The last log entry that the holder knows.
  /// - Returns: False if there is a later entry, or news; the worker then still holds the run.
  func release(_ run: String, at number: Int, of worker: WorkerIdentity) async throws(DatabaseError) -> Bool
  /// Releases runs in any case, unless they were claimed again; each gets news, so that it is claimed again at once.
  ///
  /// - Parameter claims: The runs, with the epochs of their claims (`ClaimedRun.epoch`).
  func abandon(_ claims: [String: Int], of worker: WorkerIdentity) async throws(DatabaseError)
  /// Gives a run a place in its group, if it has one already or the limit leaves one. The limit counts runs that have a
  /// place, and older runs that wait for one and that some worker can run.
  func enter(_ run: String, in group: String, limit: Int) async throws(DatabaseError) -> Bool
  /// Sends news to the oldest runs that are queued for their groups, as many as there are free places.
  func wakeQueued() async throws(DatabaseError)
  /// Appends a worker's call to the queue of a connection, unless it is in it; the call is removed with the worker.
  ///
  /// - Returns: The number of calls ahead of it.
  func queue(_ call: String, on connection: String, of worker: WorkerIdentity) async throws(DatabaseError) -> Int
  /// Removes finished calls.
  func endCalls(_ calls: [String]) async throws(DatabaseError)
  /// Locates open runs. With `onlyParked`, only due runs that no worker holds or can claim.
  func places(of runs: [String], onlyParked: Bool) async throws(DatabaseError) -> [String: RunPlace]
  /// A text that changes whenever a run starts, waits, is parked or ends.
  func pulse() async throws(DatabaseError) -> String
  /// A text that changes, maybe some seconds later, whenever something is written that `StatePart.everything` covers;
  /// nil if the database doesn't count that.
  func version() async throws(DatabaseError) -> String?
  /// Marks a run as having news.
  func tell(_ run: String) async throws(DatabaseError)
  /// Removes the news of a worker's runs; returns the runs that had news, with the epochs of their claims.
  func takeNews(of worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int]
  /// The time until the next run is due that no worker holds and that can run here; nil if there is none.
  ///
  /// - Parameter instant: The worker's time; the run has to be due by it as well.
  func untilDue(_ terms: WorkerTerms, at instant: Timestamp) async throws(DatabaseError) -> TimeSpan?
  /// Signals that there may be a run to claim, or news. Hints may be lost. Ends with `close`.
  var hints: AsyncStream<Void> { get }

  // MARK: Looking at workers and steering them

  /// The workers, by their names.
  func workers() async throws(DatabaseError) -> [WorkerRecord]
  /// The given runs that have no entry, neither as open nor as finished runs.
  func gone(among runs: [String]) async throws(DatabaseError) -> Set<String>
  /// The open runs that a worker holds according to the database, with the epochs of their claims.
  func held(by worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int]
  /// Marks the runs of crashed workers as suspects, so that their next claims say that the worker before crashed.
  func suspect(_ workers: [WorkerIdentity]) async throws(DatabaseError)
  /// Makes a worker stop claiming runs, or start again; false if there is no such worker.
  func setDraining(_ isDraining: Bool, _ worker: WorkerIdentity) async throws(DatabaseError) -> Bool

  // MARK: The leader of the schedules

  /// Makes a worker the leader, or extends its lead; not if another leads, or the worker's lease has expired, it is
  /// draining or its clock is off.
  ///
  /// - Parameters:
  ///   - clock: The worker's time; its difference from the database's is noted with the worker now and then.
  ///   - isWilling: Whether the worker wants to lead; otherwise only its clock is noted.
  /// - Returns: The leader's epoch; nil if the worker doesn't lead.
  func lead(
    _ worker: WorkerIdentity, lease: TimeSpan, clock: Timestamp, isWilling: Bool
  ) async throws(DatabaseError) -> Int?
  /// Ends a worker's lead, if it leads.
  func resign(_ worker: WorkerIdentity) async throws(DatabaseError)
  func leader() async throws(DatabaseError) -> LeaderRow
  /// The given runs that are open.
  func openRuns(among runs: Set<String>) async throws(DatabaseError) -> Set<String>
  /// The unconsumed events in the order in which they came, without events that a run may be about to look at: it waits
  /// for the name, and has news or the event has just come.
  func freeEvents() async throws(DatabaseError) -> [FreeEvent]
  /// Signals that a transaction other than the leader's concerned the schedules, or that there is no leader. Hints
  /// may be lost. Ends with `close`.
  var scheduleHints: AsyncStream<ScheduleHint> { get }

  // MARK: Requests for the leader

  /// Stores a request, and deletes requests that are an hour old.
  func ask(_ id: String, _ text: String) async throws(DatabaseError)
  /// Takes the pending requests for a worker that leads; returns their texts in the order in which they came.
  func takeRequests(by worker: WorkerIdentity) async throws(DatabaseError) -> [String]
  func answer(_ id: String, _ text: String) async throws(DatabaseError)
  func answer(to id: String) async throws(DatabaseError) -> String?
  /// Deletes a request; true if a leader has taken it.
  func forgetRequest(_ id: String) async throws(DatabaseError) -> Bool

  // MARK: Open state

  /// Reads without locks.
  func read(_ needs: StateNeeds) async throws(DatabaseError) -> DatabaseRows
  /// The open runs that match, oldest first, or the latest of them; and how many match.
  func openRuns(_ query: OpenRunQuery, latest: Int?) async throws(DatabaseError) -> (runs: [LoggedRun], count: Int)
  func openRunCounts() async throws(DatabaseError) -> [String: Int]
  /// The items that match, in the order of their names.
  func items(_ query: ItemQuery) async throws(DatabaseError) -> [StoredItem]
  /// The names of the items of a kind, in the order of their scalars.
  func itemNames(_ kind: ItemKind) async throws(DatabaseError) -> [String]
  /// How many items match.
  func itemCount(_ query: ItemQuery) async throws(DatabaseError) -> Int

  // MARK: History

  func finishedRuns(_ query: HistoryQuery) async throws(DatabaseError) -> [RunSummary]
  /// As `StateStore` has them.
  func runSums(_ query: RunSumQuery) async throws(DatabaseError) -> [RunSum]
  func latestResults(of recipes: [String], from instant: Timestamp) async throws(DatabaseError) -> [String: [RunResult]]
  func failures(from instant: Timestamp) async throws(DatabaseError) -> [FailureGroup]
  /// The JSON of a finished run.
  func finishedRun(_ id: String) async throws(DatabaseError) -> String?
  /// Removes a finished run with its log and the output of its programs; false if there is none.
  func removeFinishedRun(_ id: String) async throws(DatabaseError) -> Bool
  func slots(_ query: SlotQuery) async throws(DatabaseError) -> [SlotRecord]

  // MARK: Links

  /// The text of the key of the links; nil if there is none yet.
  func linkKey() async throws(DatabaseError) -> String?
  /// The text of the key of the links: the one that is there, unless that is `old`; then `new` takes its place.
  func linkKey(_ new: String, insteadOf old: String?) async throws(DatabaseError) -> String

  // MARK: Large values

  func putBlob(_ reference: BlobReference, _ bytes: [UInt8]) async throws(DatabaseError)
  func blob(_ reference: BlobReference) async throws(DatabaseError) -> [UInt8]?

  // MARK: Program output

  func addLines(_ lines: [String], ofRun id: String) async throws(DatabaseError)
  /// A part of the lines of a run, whose places are marked by rows.
  func lines(ofRun id: String, at point: PrintedPoint) async throws(DatabaseError) -> PrintedChunk
  func removeLines(ofRun id: String) async throws(DatabaseError)

  // MARK: Upkeep

  /// How many bytes the tables take, with their indexes.
  func size() async throws(DatabaseError) -> Int
  /// Removes what need be kept no longer, and makes the tables of the weeks and months to come.
  func tidy(_ retention: Retention) async throws(DatabaseError)

  func close() async
}
