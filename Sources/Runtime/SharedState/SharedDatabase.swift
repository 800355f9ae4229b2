/// What a store of several machines asks of its database.
///
/// The rows are those that the store needs and no more: the log of each run, a row by which an open run is found, an item
/// for everything else that has a name, the settled slots, the finished runs, blobs, and what programs printed. What rows
/// mean, and which change is allowed, only the store knows; the database keeps them, refuses a number of a log or a name
/// that is taken, and does what one transaction holds together or not at all.
///
/// Two do it: PostgreSQL, and a simulated database for tests.
package import Basics
package import RunState

/// Why a database did not do what it was asked.
package enum DatabaseError: Error, Sendable, Equatable {
  /// Nothing of it happened, and it may be tried again.
  case unavailable(String)
  /// It may have happened: the connection was lost, or no answer came in time.
  case unknown(String)
  /// A number of a log, a name or a lock that another transaction took; nothing of it happened.
  case conflict(String)
  /// It can't happen: a row can't be read, or the database isn't as it should be.
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

/// What an open run is found by, as of the last entry of its log.
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
  package var retryOf: String?
  package var needsPerson: Bool
  /// What a worker has to offer to carry it on.
  package var needs: [String]
  /// The machine and folder that it stays at, because it works with files there.
  package var home: String?
  package var queue: String

  /// The queue of the runs that name none.
  package static let standardQueue = "default"

  package init(_ run: RunRecord) {
    id = run.id
    recipe = run.recipe
    status = run.status.rawValue
    createdAt = run.createdAt
    // One that no program holds is taken up when it is due: at once, unless it waits.
    switch run.status {
    case .waiting: wakeAt = run.wakeAt
    case .paused, .uncertain: wakeAt = nil
    // One that waits for its group is told when there is a place.
    case .queued: wakeAt = run.reason == nil ? run.createdAt : nil
    default: wakeAt = run.createdAt
    }
    waitsFor = Set(run.steps.lazy.filter { $0.status == .waiting }.compactMap { $0.wait?.event })
      .sorted { $0.precedesByScalars($1) }
    group = run.origin.group?.name
    groupLimit = run.origin.group?.limit
    retryOf = run.retryOf
    needsPerson = run.needsPerson
    needs = run.origin.needs + run.needs.filter { !run.origin.needs.contains($0) }
    home = run.home
    queue = run.origin.queue ?? OpenRunRow.standardQueue
  }

  /// The row after events of the run, most of which change nothing in it: a run may have thousands of steps to look at.
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

/// What one transaction writes.
package struct DatabaseChanges: Sendable {
  /// The next entries of logs.
  package var entries: [LogEntry] = []
  /// The rows of new runs.
  package var created: [OpenRunRow] = []
  /// The rows that changed.
  package var changed: [OpenRunRow] = []
  /// The worker that will hold the created runs, if one will.
  package var holder: Int?
  /// The created runs that it leaves to others, because it couldn't take them up.
  package var unheld: Set<String> = []
  /// The runs that ended, with what is left of them.
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
  /// What the transaction is known by, if its answer is lost.
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

/// What a program offers to those that share the state.
package struct WorkerTerms: Sendable, Equatable {
  /// What people call it.
  package var name: String
  /// The machine that it runs on.
  package var host: String
  package var pid: Int
  /// The program and its version.
  package var program: String
  /// What its runs may need: plugins, connections, secrets, formats.
  package var offers: Set<String>
  package var queues: Set<String>
  /// The place where the files of its runs are: runs that have touched files elsewhere can't run here.
  package var home: String
  /// Whether others have the same files, so that runs which work with them may go on there.
  package var sharesFolder: Bool
  /// The most runs that it holds at once.
  package var capacity: Int
  /// How long others wait for it before they take over what it holds.
  package var lease: TimeSpan

  package init(
    name: String, host: String = "", pid: Int = 0, program: String = "", offers: Set<String> = [],
    queues: Set<String> = ["default"], home: String = "", sharesFolder: Bool = false, capacity: Int = 64,
    lease: TimeSpan = SharedWorker.lease
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
    self.lease = lease
  }
}

extension WorkerTerms {
  /// Whether a run may be taken up.
  package func take(_ row: OpenRunRow) -> Bool {
    queues.contains(row.queue) && offers.isSuperset(of: row.needs) && (row.home ?? home) == home
  }
}

/// A worker as the database knows it.
package struct WorkerIdentity: Sendable, Hashable {
  package var id: Int

  package init(id: Int) { self.id = id }
}

/// What became of a lease that was to be renewed.
package enum LeaseRenewal: Sendable, Equatable {
  /// - Parameters:
  ///   - hasDead: Whether there are workers whose lease is over, to be removed.
  ///   - holding: How many runs the database has the worker hold.
  case renewed(isDraining: Bool, hasDead: Bool = false, holding: Int = 0)
  /// It was over, and others may have the worker's runs.
  case over
}

/// A run that was taken up.
package struct ClaimedRun: Sendable, Equatable {
  /// With the entry of the claim.
  package var log: LoggedRun
  package var epoch: Int

  package init(log: LoggedRun, epoch: Int) {
    self.log = log
    self.epoch = epoch
  }
}

/// What became of a claim of one run.
package enum RunClaim: Sendable {
  case claimed(ClaimedRun)
  /// A worker holds it.
  case held(by: String, id: Int)
  /// It needs what was not offered.
  case missing([String])
  /// It isn't open.
  case over
  /// The worker takes nothing more up.
  case draining
}

/// Who decides on the schedules.
package struct LeaderRow: Sendable, Equatable {
  /// The worker that led last; nil if it gave the lead back.
  package var worker: Int?
  /// What people call it, while it leads.
  package var name: String?
  package var epoch: Int
  package var version: Int

  package init(worker: Int?, name: String?, epoch: Int, version: Int) {
    self.worker = worker
    self.name = name
    self.epoch = epoch
    self.version = version
  }

  /// How long an event that runs wait for is left to them: to one that holds its run, and to one that is to take it up.
  package static let untilLooked = (held: TimeSpan.seconds(5), taken: TimeSpan.seconds(60))
  /// How far a leader's clock may be from the database's.
  package static let mostOffset = TimeSpan.seconds(2)
}

/// What the workers are told of the schedules.
package enum ScheduleHint: Sendable {
  case changed
  /// The leader gave the lead back.
  case vacant
}

/// Rows that were read.
package struct DatabaseRows: Sendable {
  /// The open runs among those that were asked for.
  package var runs: [LoggedRun] = []
  package var items: [StoredItem] = []
  /// The last slot of each ledger that was asked for.
  package var slots: [SlotRecord] = []
  /// The holders of keys among the items that are open runs.
  package var open: Set<String> = []
  /// Of the names of events that were asked for, those with an event that nobody has consumed.
  package var freeEvents: Set<String> = []
  /// The instant by the clock that all programs share, if a connection was asked for.
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
  /// Keeps what logs came to, so that readers need not begin at their beginning.
  func fold(_ logs: [(run: String, log: FoldedLog)]) async throws(DatabaseError)
  /// Has `body` read, decide and commit; what it leaves without a commit never happened.
  func transact<Outcome: Sendable>(
    _ body: @Sendable (any DatabaseTransaction) async throws(DatabaseError) -> Outcome
  ) async throws(DatabaseError) -> Outcome

  // MARK: Workers

  /// How long ago a server took over from another, by when the first program has noted that; nil if none did.
  func sinceTakeover() async throws(DatabaseError) -> TimeSpan?
  /// Makes a worker known, whose lease begins now.
  ///
  /// - Parameter isAgain: Whether it is one that has lost its lease, so that it is draining if it was asked to.
  func register(_ terms: WorkerTerms, lease: TimeSpan, isAgain: Bool) async throws(DatabaseError) -> WorkerIdentity
  /// Changes what a worker offers and takes up; where it is stays as it is.
  func change(_ worker: WorkerIdentity, to terms: WorkerTerms) async throws(DatabaseError)
  func renew(_ worker: WorkerIdentity, lease: TimeSpan) async throws(DatabaseError) -> LeaseRenewal
  /// Gives up everything that workers hold whose lease is over, and forgets them; gives their names.
  ///
  /// There is news for all of it, because the news that they took may not have been heeded.
  ///
  /// - Parameter lease: How long a lease may last from now; one that lasts much longer was given before the clock was put
  ///   back, and is made to end by then.
  func removeExpired(lease: TimeSpan) async throws(DatabaseError) -> [String]
  /// Gives up everything that a worker holds, and forgets it; there is news for all of it.
  func leave(_ worker: WorkerIdentity) async throws(DatabaseError)
  /// Takes up runs that nobody holds, are due and can run here, the one that is due longest first.
  ///
  /// - Parameter instant: The instant of the claims, by the worker's clock, by which the runs have to be due, too:
  ///   otherwise it would give them up at once.
  func claim(
    _ worker: WorkerIdentity, _ terms: WorkerTerms, most: Int, at instant: Timestamp
  ) async throws(DatabaseError) -> [ClaimedRun]
  /// Takes up an open run that nobody holds and that can run here, due or not.
  func claim(
    _ run: String, _ worker: WorkerIdentity, _ terms: WorkerTerms, anyway: Bool, at instant: Timestamp
  ) async throws(DatabaseError) -> RunClaim
  /// Gives up a run, which is taken up again when it is due or there is news for it.
  ///
  /// - Parameter number: The last entry of its log that its holder knows.
  /// - Returns: False if there is another entry, or news, so that it is still held.
  func release(_ run: String, at number: Int, of worker: WorkerIdentity) async throws(DatabaseError) -> Bool
  /// Gives up runs in any case, unless they were claimed again; there is news for each of them, so that it is taken up at
  /// once.
  ///
  /// - Parameter claims: The runs, and by which claims they were held (`ClaimedRun.epoch`).
  func abandon(_ claims: [String: Int], of worker: WorkerIdentity) async throws(DatabaseError)
  /// Gives a run its place in its group, if it has one already or the limit leaves one: those count that have a place, and
  /// those created before it that wait for one and that some worker can run.
  func enter(_ run: String, in group: String, limit: Int) async throws(DatabaseError) -> Bool
  /// Has it that there is news for the oldest runs that wait for a place in their group, as far as there are places.
  func wakeQueued() async throws(DatabaseError)
  /// Puts a call of a worker on a connection behind those that are there, unless it is; it goes with the worker.
  ///
  /// - Returns: How many came before it and are there.
  func queue(_ call: String, on connection: String, of worker: WorkerIdentity) async throws(DatabaseError) -> Int
  /// Takes calls away that are over.
  func endCalls(_ calls: [String]) async throws(DatabaseError)
  /// Where open runs are; only those that are due and that no worker holds or can take up, if that is asked.
  func places(of runs: [String], onlyParked: Bool) async throws(DatabaseError) -> [String: RunPlace]
  /// What changes whenever a run begins, waits, stands or ends.
  func pulse() async throws(DatabaseError) -> String
  /// Has it that there is news for a run.
  func tell(_ run: String) async throws(DatabaseError)
  /// The runs of a worker for which there is news, which is taken away, and by which claims it holds them.
  func takeNews(of worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int]
  /// How long it is until a run is due that nobody holds and that can run here; nil if none is.
  ///
  /// - Parameter instant: The worker's time, by which it has to be due, too.
  func untilDue(_ terms: WorkerTerms, at instant: Timestamp) async throws(DatabaseError) -> TimeSpan?
  /// Told whenever there may be something to take up, or news; a hint, which may be lost. Ends with `close`.
  var hints: AsyncStream<Void> { get }

  // MARK: Looking at workers and steering them

  /// The workers, by their names.
  func workers() async throws(DatabaseError) -> [WorkerRecord]
  /// Those of some runs, open or finished, of which there is no entry.
  func gone(among runs: [String]) async throws(DatabaseError) -> Set<String>
  /// The open runs that the database has a worker hold, and by which claims.
  func held(by worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int]
  /// Has the next claims of what workers hold say that these brought themselves down.
  func suspect(_ workers: [WorkerIdentity]) async throws(DatabaseError)
  /// Has a worker take nothing more up, or take up again what is due; false if there is no such worker.
  func setDraining(_ isDraining: Bool, _ worker: WorkerIdentity) async throws(DatabaseError) -> Bool

  // MARK: Who decides on the schedules

  /// Has a worker lead, or lead on, unless another does, its lease is over, it is draining or its clock is off.
  ///
  /// - Parameters:
  ///   - clock: The worker's instant; how far it is from the database's is noted with the worker now and then.
  ///   - isWilling: Whether it is to lead; otherwise only its clock is noted.
  /// - Returns: Its epoch; nil if it doesn't lead.
  func lead(
    _ worker: WorkerIdentity, lease: TimeSpan, clock: Timestamp, isWilling: Bool
  ) async throws(DatabaseError) -> Int?
  /// Has a worker lead no longer, if it does.
  func resign(_ worker: WorkerIdentity) async throws(DatabaseError)
  func leader() async throws(DatabaseError) -> LeaderRow
  /// Those of some runs that are open.
  func openRuns(among runs: Set<String>) async throws(DatabaseError) -> Set<String>
  /// The events that nobody has consumed, in the order in which they came, but for those that a run may be about to look
  /// at: it waits for the name, and has news or the event has just come.
  func freeEvents() async throws(DatabaseError) -> [FreeEvent]
  /// Told when another transaction than the leader's concerned the schedules, or nobody leads any more; a hint, which may
  /// be lost. Ends with `close`.
  var scheduleHints: AsyncStream<ScheduleHint> { get }

  // MARK: Requests for the leader

  /// Keeps a request, and forgets those that are an hour old.
  func ask(_ id: String, _ text: String) async throws(DatabaseError)
  /// Takes the requests that nobody has taken, for a worker that leads; their texts, in the order in which they came.
  func takeRequests(by worker: WorkerIdentity) async throws(DatabaseError) -> [String]
  func answer(_ id: String, _ text: String) async throws(DatabaseError)
  func answer(to id: String) async throws(DatabaseError) -> String?
  /// Forgets a request; true if somebody has taken it.
  func forgetRequest(_ id: String) async throws(DatabaseError) -> Bool

  // MARK: What is open

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

  // MARK: What is over

  func finishedRuns(_ query: HistoryQuery) async throws(DatabaseError) -> [RunSummary]
  /// The JSON of a finished run.
  func finishedRun(_ id: String) async throws(DatabaseError) -> String?
  /// Removes a finished run with its log and what its programs printed; false if there is none.
  func removeFinishedRun(_ id: String) async throws(DatabaseError) -> Bool
  func slots(_ query: SlotQuery) async throws(DatabaseError) -> [SlotRecord]

  // MARK: Large values

  func putBlob(_ reference: BlobReference, _ bytes: [UInt8]) async throws(DatabaseError)
  func blob(_ reference: BlobReference) async throws(DatabaseError) -> [UInt8]?

  // MARK: What programs print

  func addLines(_ lines: [String], ofRun id: String) async throws(DatabaseError)
  /// Lines from a position on, or as many before the end as a negative one says; and whether there are more.
  func lines(
    ofRun id: String, from position: Int, bytes: Int
  ) async throws(DatabaseError) -> (lines: [String], start: Int, isLast: Bool)
  func removeLines(ofRun id: String) async throws(DatabaseError)

  // MARK: Upkeep

  /// Removes what need be kept no longer, and makes the tables of the weeks and months to come.
  func tidy(_ retention: Retention) async throws(DatabaseError)

  func close() async
}
