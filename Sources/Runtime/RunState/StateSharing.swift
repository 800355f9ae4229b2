/// What a program learns of a state that it shares with others.
package enum SharedNews: Sendable {
  /// Runs that it has taken up and is to carry on.
  case claimed([RunRecord])
  /// There may be something new that a run it holds waits for, or others wrote to it.
  case told(String)
  /// Another program took a run over: nothing more may be done for it here.
  case fenced(String)
  /// The lease is over, and others may have everything that was held here; with what the database said last.
  case lost(String?)
  /// There is no lease any more, for a reason that doesn't pass by itself: the state was moved, or can't be used.
  case barred(String)
  /// There is a lease again.
  case back
  /// Workers whose lease was over, and whose runs can be taken up.
  case expired([String])
  /// Another server has taken over, and it was looked whether it has all that was written here.
  case tookOver
  /// Entries of a run are gone that were written here, because the server that took over was behind; it waits for a person.
  case cut(String, reason: String)
  /// Nothing is left of a run that was written here, because the server that took over was behind.
  case missing(String, of: String)
  /// Whether this program is to take nothing more up from now on, as a person asked.
  case draining(Bool)
}

/// What a host has to know of a state that several programs share.
///
/// Each open run is held by at most one of them, which carries it on. A run that waits, or that only a person has go on,
/// is given up, and taken up again by whoever can run it when it is due or something came for it. What people ask of a
/// run that isn't held here is written to its log; whoever holds it, or takes it up, sees it.
package protocol StateSharing: Sendable {
  /// The machine and folder at which runs stay that work with files there; nil if others have the same files.
  var home: String? { get }
  /// What this program learns of the state; ends with the store. For one reader.
  var news: AsyncStream<SharedNews> { get }
  /// Makes this program one that holds runs: those that it creates from now on, and if it is to take up runs, what is due.
  ///
  /// Does nothing if it is one already, but that it may begin to take runs up.
  func join(takingUp: Bool) async throws(StateError)
  /// Marks the runs that a program of this folder held when it crashed, for the worker that takes them up next
  /// (`RunClaimed.isSuspect`). To be called before `join`.
  func noteCrash() async throws(StateError)
  /// Waits until the database answers.
  ///
  /// - Throws: If it doesn't for several seconds.
  func reach() async throws(StateError)
  /// Takes nothing more up.
  func drain() async
  /// Which claim of a run this program has; nil if it doesn't hold it.
  func claim(of run: String) -> Int?
  /// Records events of a run as `StateStore.append`, if it is still held by that claim; refused as fenced otherwise, also
  /// if this program has lost the run meanwhile and taken it up again.
  func append(_ events: [StateEvent], of run: String, inClaim claim: Int) async throws(StateError)
  /// Holds an open run if nobody does, so that it is carried on here, whether it is due or not.
  ///
  /// - Parameter anyway: Whether it is taken up even if this program lacks what it needs, to be ended.
  func take(_ run: String, anyway: Bool) async throws(StateError) -> RunHolder
  /// Gives a run up that rests (`RunRecord.rests`); false if something came for it meanwhile, so that it is still held.
  func release(_ run: String) async -> Bool
  /// Gives a run up that can't be carried on here now, whatever its state, once that is possible.
  func abandon(_ run: String) async
  /// Has whoever holds a run, or takes it up, look what came for it.
  func passOn(_ run: String) async
  /// Gives a run of a group its place, if its limit leaves one or it has one already; those created before it come first.
  func enter(_ run: RunRecord, in group: RunGroup) async throws(StateError) -> Bool
  /// Has the oldest queued runs of groups taken up for which there is a place.
  func wakeQueued() async
  /// Puts a call on a connection behind those that are under way or wait anywhere, unless it is there already.
  ///
  /// - Parameter call: A text that no other call is known by.
  /// - Returns: How many came before it and haven't ended.
  func queue(_ call: String, on connection: String) async throws(StateError) -> Int
  /// Notes that a call that was queued is over, at once or when the database is back.
  func endCall(_ call: String) async
  /// Where an open run is, for people; nil if it isn't open.
  func place(of run: String) async throws(StateError) -> RunPlace?
  /// The places of those of some open runs that are due, and that no worker holds or can take up.
  func parked(among runs: [String]) async throws(StateError) -> [String: RunPlace]
  /// What changes whenever a run begins, waits, stands or ends anywhere.
  func pulse() async throws(StateError) -> String
  /// The programs that take up runs, by their names.
  func workers() async throws(StateError) -> [WorkerRecord]
  /// Has a worker take nothing more up, or take up again what is due; false if there is no such worker.
  func setDraining(_ isDraining: Bool, worker: Int) async throws(StateError) -> Bool
  /// Ends a worker's lease, so that others take over what it holds. If the worker lives, it notices with its next
  /// renewal.
  func evict(worker: Int) async throws(StateError)
  /// Whether what is done for a run may go out: it is held here, and the lease lasts.
  func isSure(of run: String) -> Bool
}

/// Where an open run is among the programs that share a state.
package struct RunPlace: Record, Equatable {
  /// The worker that carries it on; nil if none does.
  package var worker: String?
  /// What it needs that no worker offers.
  package var missing: [String]
  /// The machine and folder whose files it needs, if no worker is there.
  package var home: String?
  /// Its queue, if no worker takes from it.
  package var queue: String?
  /// Whether there are workers at all.
  package var hasWorkers: Bool
  /// Whether there is a worker that can take it up.
  package var hasWorker: Bool

  package init(
    worker: String?, missing: [String], home: String? = nil, queue: String? = nil, hasWorkers: Bool = true,
    hasWorker: Bool
  ) {
    self.worker = worker
    self.missing = missing
    self.home = home
    self.queue = queue
    self.hasWorkers = hasWorkers
    self.hasWorker = hasWorker
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    worker = try member("worker", record?.worker)
    missing = try member("missing", record?.missing, default: [])
    home = try member("home", record?.home)
    queue = try member("queue", record?.queue)
    hasWorkers = try member("hasWorkers", record?.hasWorkers, default: true)
    hasWorker = try member("hasWorker", record?.hasWorker)
  }
}

/// Who carries a run on.
package enum RunHolder: Sendable, Equatable {
  /// This program.
  case here
  /// The worker of that name.
  case elsewhere(String)
  /// Nobody; this program doesn't offer what it needs.
  case nobody(missing: [String])
  /// The run isn't open.
  case over
}

extension RunRecord {
  /// Whether nothing is to be done for the run before it is due, an event comes or a person acts.
  package var rests: Bool {
    switch status {
    case .waiting: pendingCancel == nil && !steps.contains { $0.status == .waiting && $0.decision != nil }
    case .paused, .queued: pendingCancel == nil
    case .uncertain: true
    case .running, .succeeded, .failed, .cancelled, .timedOut, .rejected, .skipped: false
    }
  }
}
