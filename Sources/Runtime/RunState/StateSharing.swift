/// News for a program about a state that it shares with others.
package enum SharedNews: Sendable {
  /// Runs that this program has claimed and must run.
  case claimed([RunRecord])
  /// There may be something new that a run it holds waits for, or others wrote to it.
  case told(String)
  /// Another program took a run over: nothing more may be done for it here.
  case fenced(String)
  /// The lease is over, and others may have everything that was held here; with the database's last message.
  case lost(String?)
  /// There is no lease any more, for a permanent reason: the state was moved, or can't be used.
  case barred(String)
  /// There is a lease again.
  case back
  /// Workers whose lease was over, and whose runs can be claimed.
  case expired([String])
  /// Another server has taken over, and it was checked whether it has everything that was written here.
  case tookOver
  /// Entries of a run are gone that were written here, because the server that took over was behind; it waits for a
  /// person.
  case cut(String, reason: String)
  /// Nothing is left of a run that was written here, because the server that took over was behind.
  case missing(String, of: String)
  /// Whether a person told this program to claim no more runs.
  case draining(Bool)
}

/// The part of a shared state that a host uses, where several programs share it.
///
/// Each open run is held by at most one program, which runs it. A run that waits, or that only a person can resume, is
/// released; a program that can run it claims it again when it is due or something came for it. If people ask something
/// of a run that isn't held here, the request is written to the run's log; the program that holds or next claims the
/// run sees it.
package protocol StateSharing: Sendable {
  /// The machine and folder of runs that work with files there, and stay there; nil if others have the same files.
  var home: String? { get }
  /// News for this program about the state; ends with the store. For one reader.
  var news: AsyncStream<SharedNews> { get }
  /// Lets this program hold the runs that it creates from now on, and, if `claiming`, claim due runs.
  ///
  /// If it holds runs already, the only effect is that it may begin to claim runs.
  func join(claiming: Bool) async throws(StateError)
  /// Marks the runs that a program of this folder held when it crashed, for the worker that claims them next
  /// (`RunClaimed.isSuspect`). To be called before `join`.
  func noteCrash() async throws(StateError)
  /// Waits until the database answers.
  ///
  /// - Throws: If it doesn't for several seconds.
  func reach() async throws(StateError)
  /// Claims no more runs.
  func drain() async
  /// The number of this program's claim of a run; nil if it doesn't hold the run.
  func claim(of run: String) -> Int?
  /// Records events of a run as `StateStore.append`, if that claim still holds it; refused as fenced otherwise, even if
  /// this program has lost the run meanwhile and claimed it again.
  func append(_ events: [StateEvent], of run: String, inClaim claim: Int) async throws(StateError)
  /// Claims an open run that no program holds, whether it is due or not.
  ///
  /// - Parameter anyway: Whether to claim it even if this program lacks a need of it, in order to end it.
  func take(_ run: String, anyway: Bool) async throws(StateError) -> RunHolder
  /// Releases a run that rests (`RunRecord.rests`); returns false and keeps it if something came for it meanwhile.
  func release(_ run: String) async -> Bool
  /// Releases a run that this program can't run now, whatever its state, as soon as that is possible.
  func abandon(_ run: String) async
  /// Tells the program that holds a run, or claims it next, to check for events and requests.
  func passOn(_ run: String) async
  /// Gives a run its place in a group, if the limit leaves one or it has one already; runs created before it come
  /// first.
  func enter(_ run: RunRecord, in group: RunGroup) async throws(StateError) -> Bool
  /// Makes workers check the oldest queued runs of groups that have free places.
  func wakeQueued() async
  /// Queues a call on a connection behind all calls that run or wait anywhere, unless it is queued already.
  ///
  /// - Parameter call: A text that identifies only this call.
  /// - Returns: How many came before it and haven't ended.
  func queue(_ call: String, on connection: String) async throws(StateError) -> Int
  /// Notes that a call that was queued is over, at once or when the database is back.
  func endCall(_ call: String) async
  /// Where an open run is, for people; nil if it isn't open.
  func place(of run: String) async throws(StateError) -> RunPlace?
  /// The places of the due runs that no worker holds or can claim, among some open runs.
  func unclaimable(among runs: [String]) async throws(StateError) -> [String: RunPlace]
  /// A text that changes whenever a run begins, waits, is parked or ends anywhere.
  func pulse() async throws(StateError) -> String
  /// The programs that claim runs, in the order of their names.
  func workers() async throws(StateError) -> [WorkerRecord]
  /// Makes a worker stop claiming runs, or claim due runs again; false if there is no such worker.
  func setDraining(_ isDraining: Bool, worker: Int) async throws(StateError) -> Bool
  /// Ends a worker's lease, so that others take over what it holds. If the worker lives, it notices with its next
  /// renewal.
  func evict(worker: Int) async throws(StateError)
  /// Whether what is done for a run may go out: it is held here, and the lease lasts.
  func isSure(of run: String) -> Bool
}

/// Where an open run is among the programs that share a state.
package struct RunPlace: Record, Equatable {
  /// The worker that runs it; nil if none does.
  package var worker: String?
  /// The needs of the run that no worker offers.
  package var missing: [String]
  /// The machine and folder whose files it needs, if no worker is there.
  package var home: String?
  /// Its queue, if no worker takes from it.
  package var queue: String?
  /// Whether there are workers at all.
  package var hasWorkers: Bool
  /// Whether a worker can claim it.
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

/// Which program holds a run.
package enum RunHolder: Sendable, Equatable {
  /// This program.
  case here
  /// The worker of that name.
  case elsewhere(String)
  /// No program; this one doesn't offer the run's needs.
  case nobody(missing: [String])
  /// The run isn't open.
  case over
}

extension RunRecord {
  /// Whether nothing is to be done for the run before it is due, an event comes or a person acts.
  package var rests: Bool {
    switch status {
    case .waiting: pendingCancel == nil && !hasUnseenDecision
    case .paused, .queued: pendingCancel == nil
    case .uncertain: true
    case .running, .succeeded, .failed, .cancelled, .timedOut, .rejected, .skipped: false
    }
  }

  /// Whether a decision came that no walk has seen: one that was seen waits only for the rest of its `tell`.
  package var hasUnseenDecision: Bool {
    let decided = steps.filter { $0.status == .waiting && $0.decision != nil }.map(\.path.tellPrefix)
    return decided.contains { prefix in
      !steps.contains { !$0.status.isEnded && $0.path.utf8.starts(with: prefix.utf8) }
    }
  }
}
