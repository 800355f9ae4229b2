package import Basics
import RunState
import Synchronization

/// Claims runs that have no holder, for as long as its lease lasts.
///
/// The lease is kept by the database's clock, and renewed long before its end. The program's own deadline counts from
/// the moment before each renewal was sent, so that it is never later than the database's. After the deadline nothing
/// about a run is sent any more, because others may have taken it over.
///
/// When another database server takes over, it may be behind. So no runs are claimed for the length of a lease. In that
/// time each program checks that its own writes are still there, and pauses each run that lost entries, for a person to
/// look at.
///
/// The worker asks for due runs when it gets a hint, when the next run is due, and every few seconds in any case,
/// because hints get lost.
package actor SharedWorker {
  private var terms: WorkerTerms
  /// Whether the database has yet to be told the terms.
  private var hasNewTerms = false
  private let database: any SharedDatabase
  private let held: HeldRuns
  private let time: any TimeSource
  /// The program's clock, to be put right by the database's.
  private let clock: CorrectedTime?
  private let chance: @Sendable () -> Double
  private let tell: @Sendable (SharedNews) -> Void
  /// Reads what others wrote to a run that is held here; false if the database didn't say.
  private let refresh: @Sendable (String) async -> Bool
  /// The runs that this worker held at the last renewal according to the database only, with the epochs of their
  /// claims.
  private var strays: [String: Int] = [:]
  /// The number of claims under way.
  ///
  /// According to the database their runs are held here already.
  private var claiming = 0
  /// Checks that written entries are still there.
  private let verify: @Sendable () async throws(StateError) -> Void
  /// The timeline of the server that was last checked by `verify`.
  private var timeline = 0
  /// No runs are claimed until then, because another server took over.
  private var cautiousUntil = TimeSpan.zero
  private var identity: WorkerIdentity?
  /// Why there is no lease, as it was told.
  private var barred: String?
  /// Whether due runs are claimed.
  private var claims = false
  private var isWanted = true
  private var renewals = 0
  private var tasks: [Task<Void, Never>] = []
  private var sleeping: Task<Void, Never>?

  /// How long a lease lasts, and when it is renewed.
  package static let lease = TimeSpan.seconds(15)
  private static let renewal = TimeSpan.seconds(3)
  /// The number of renewals between checks for missed wake-ups and of the clock.
  private static let renewalsPerNet = 5
  /// How much earlier than the lease's end the deadline is, for requests that are under way then.
  private static let margin = TimeSpan.seconds(1)
  /// The longest time between two requests.
  private static let patience = TimeSpan.seconds(5)
  /// The most runs that are claimed at once.
  private static let batch = 16

  init(
    _ terms: WorkerTerms, _ database: any SharedDatabase, _ held: HeldRuns, time: any TimeSource,
    clock: CorrectedTime?, chance: @escaping @Sendable () -> Double, tell: @escaping @Sendable (SharedNews) -> Void,
    refresh: @escaping @Sendable (String) async -> Bool,
    verify: @escaping @Sendable () async throws(StateError) -> Void
  ) {
    self.terms = terms
    self.database = database
    self.held = held
    self.time = time
    self.clock = clock
    self.chance = chance
    self.tell = tell
    self.refresh = refresh
    self.verify = verify
  }

  /// Registers, until `stop`; with `claiming` it claims runs from now on.
  func start(claiming: Bool) async throws(DatabaseError) {
    if tasks.isEmpty {
      try await register()
      tasks = [
        Task { await self.keepLease() }, Task { await self.keepLooking() },
        Task { [hints = database.hints] in for await _ in hints { self.look() } },
        Task { [room = held.room] in for await _ in room { self.look() } },
      ]
    }
    if claiming, !claims {
      claims = true
      held.take(on: terms)
      hasNewTerms = true
      // Without an answer with the next renewal.
      try? await tellTerms()
      look()
    }
  }

  /// Changes the terms; held runs stay.
  func work(on terms: WorkerTerms) async {
    guard terms != self.terms else { return }
    self.terms = terms
    hasNewTerms = true
    if claims { held.take(on: terms) }
    // If it fails now, it is repeated with the next renewal.
    try? await tellTerms()
    look()
  }

  private func tellTerms() async throws(DatabaseError) {
    guard hasNewTerms, let identity else { return }
    let told = told
    try await database.change(identity, to: told)
    hasNewTerms = hasNewTerms && told != self.told
  }

  /// The terms for others to rely on: a worker that claims no runs serves no queue.
  private var told: WorkerTerms {
    var told = terms
    if !claims { told.queues = [] }
    return told
  }

  /// Stops claiming runs.
  package func drain() { claims = false }

  /// Releases all runs and the lease.
  func stop() async {
    claims = false
    isWanted = false
    for task in tasks { task.cancel() }
    sleeping?.cancel()
    for task in tasks { await task.value }
    guard let identity else { return }
    self.identity = nil
    // A lease that can't be given back ends by itself.
    try? await database.leave(identity)
  }

  /// Claims one run, due or not.
  func take(_ run: String, anyway: Bool) async throws(DatabaseError) -> RunHolder {
    if held[run] != nil { return .here }
    guard let identity else { throw .unavailable("the lease on runs is over; there will be another in a moment") }
    claiming += 1
    defer { claiming -= 1 }
    switch try await database.claim(run, identity, terms, anyway: anyway, at: time.now()) {
    case .claimed(let run):
      hold(run, by: identity)
      return .here
    // A claim of this program's own may be under way.
    case .held(let name, let worker): return worker == identity.id && held[run] != nil ? .here : .elsewhere(name)
    case .missing(let needs): return .nobody(missing: needs)
    case .over: return .over
    case .draining:
      let name = terms.name
      throw .unavailable(
        "the worker '\(name.safe)' is draining and claims no run; ask another, or first: "
          + "errand workers drain \(name.shellQuoted) --undo")
    }
  }

  /// Holds a run that was claimed; nothing of that counts if the lease ended meanwhile, because another claim refuses what
  /// is written.
  private func hold(_ run: ClaimedRun, by identity: WorkerIdentity) {
    held.take(HeldRuns.Run(run.log, epoch: run.epoch), by: identity.id)
    if held.mayHaveMissed { look() }
  }

  /// Looks at once whether something is due.
  package func look() {
    isWanted = true
    sleeping?.cancel()
  }

  // MARK: The lease

  private func register() async throws(DatabaseError) {
    let start = time.elapsed()
    let told = told
    let identity = try await database.register(told, lease: terms.lease, isAgain: timeline != 0)
    hasNewTerms = told != self.told
    if timeline == 0 {
      // This program has no writes to check, but others need time to check theirs.
      if let ago = try await database.sinceTakeover(), ago < terms.lease {
        cautiousUntil = time.elapsed() + terms.lease - ago
      }
      timeline = database.timeline
    }
    self.identity = identity
    held.join(identity.id, until: start + terms.lease - SharedWorker.margin)
  }

  private func keepLease() async {
    while !Task.isCancelled {
      do { try await time.sleep(for: SharedWorker.renewal) } catch { return }
      await renew()
    }
  }

  private func renew() async {
    let start = time.elapsed()
    var hasDead = true
    do throws(DatabaseError) {
      if let identity {
        let renewal = try await database.renew(identity, lease: terms.lease)
        if case .renewed(let isDraining, let mayReap, let count) = renewal {
          hasDead = mayReap
          drain(isDraining)
          held.extend(to: start + terms.lease - SharedWorker.margin)
          try await tellTerms()
          let unreleased = held.unreleased
          try await abandon(unreleased, of: identity)
          held.noteReleased(unreleased)
          if count > held.count { try await giveUpStrays(identity) } else { strays = [:] }
          let calls = held.endedCalls
          if !calls.isEmpty {
            try await database.endCalls(Array(calls))
            held.noteTold(calls)
          }
        } else {
          lose(because: nil)
        }
      }
      if identity == nil {
        try await register()
        barred = nil
        tell(.back)
        look()
      }
      await follow()
      // Runs of the lease that this worker had before are reported as lost instead.
      let dead =
        hasDead
        ? try await database.removeExpired(lease: terms.lease).filter { !$0.hasSameScalars(as: terms.name) } : []
      if !dead.isEmpty { tell(.expired(dead)) }
      renewals += 1
      if renewals % SharedWorker.renewalsPerNet == 0 { try? await readClock() }
      if claims, renewals % SharedWorker.renewalsPerNet == 0 { try await database.wakeQueued() }
    } catch {
      if time.elapsed() >= held.deadline { lose(because: StateError(error).message) }
      if identity == nil, case .unusable(let message) = error, message != barred {
        barred = message
        tell(.barred(message))
      }
    }
  }

  /// Gives up what the database has this worker hold since the last renewal at least without its knowing, because the
  /// answer was lost that said so.
  private func giveUpStrays(_ identity: WorkerIdentity) async throws(DatabaseError) {
    let unknown = try await unknown(to: identity)
    try await abandon(unknown.filter { strays[$0.key] == $0.value }, of: identity)
    strays = unknown
  }

  /// The runs that are held here according to the database only; none while a claim is under way.
  private func unknown(to identity: WorkerIdentity) async throws(DatabaseError) -> [String: Int] {
    let claims = try await database.held(by: identity)
    return claiming > 0 ? [:] : claims.filter { held[$0.key] == nil }
  }

  private func abandon(_ claims: [String: Int], of identity: WorkerIdentity) async throws(DatabaseError) {
    if !claims.isEmpty { try await database.abandon(claims, of: identity) }
  }

  /// Whether what is known of the database is so on the server that there is now.
  private var isSettled: Bool { database.timeline == timeline && time.elapsed() >= cautiousUntil }

  /// If another server has taken over, looks whether it has all that was written.
  private func follow() async {
    let now = database.timeline
    guard now != timeline else { return }
    if timeline > 0 {
      cautiousUntil = time.elapsed() + terms.lease
      // If this fails, the next renewal repeats it.
      do {
        try await verify()
        guard let identity else { return }
        // If the new server lost a release, the run is held again.
        try await abandon(try await unknown(to: identity), of: identity)
      } catch {
        return
      }
      tell(.tookOver)
    }
    timeline = now
  }

  /// Asks for the database's time, and puts the program's clock right if that can be.
  func readClock() async throws(DatabaseError) {
    let start = time.elapsed()
    let there = try await database.clock()
    clock?.note(there, took: time.elapsed() - start)
  }

  private func drain(_ isDraining: Bool) {
    guard isDraining != held.isDraining else { return }
    held.drain(isDraining)
    tell(.draining(isDraining))
    if !isDraining { look() }
  }

  /// Lets everything go.
  private func lose(because message: String?) {
    guard identity != nil else { return }
    identity = nil
    held.leave()
    tell(.lost(message))
  }

  // MARK: Claims

  private func keepLooking() async {
    while !Task.isCancelled {
      isWanted = false
      await takeNews()
      var span = await untilNext()
      // Asked for first, because it costs an idle database less than a claim.
      if span <= .zero {
        await claim()
        if isWanted || Task.isCancelled { continue }
        span = max(await untilNext(), .milliseconds(10))
      }
      if isWanted || Task.isCancelled { continue }
      // Cancelled when there may be something to do.
      let task = Task { [time] in _ = try? await time.sleep(for: span) }
      sleeping = task
      if isWanted { task.cancel() }
      await withTaskCancellationHandler {
        await task.value
      } onCancel: {
        task.cancel()
      }
      sleeping = nil
    }
  }

  private func untilNext() async -> TimeSpan {
    // Spread, so that workers don't all ask at once.
    let patience = TimeSpan.milliseconds(Int((0.8 + 0.4 * chance()) * SharedWorker.patience.inSeconds * 1000))
    guard claims, !held.isDraining, held.room(of: terms.capacity) > 0, isSettled,
      let span = try? await database.untilDue(terms, at: time.now())
    else { return patience }
    return min(span, patience)
  }

  private func takeNews() async {
    guard held.count > 0, let identity else { return }
    let told: [String: Int]
    do throws(DatabaseError) { told = try await database.takeNews(of: identity) } catch {
      held.mayHaveMissed = true
      return
    }
    let known = held.mayHaveMissed ? held.ids : told.keys.sorted { $0.precedesByScalars($1) }
    let unknown = told.filter { held[$0.key] == nil }
    // It may be for a run that is being claimed.
    held.mayHaveMissed = !unknown.isEmpty && claiming > 0
    // News for a run that isn't held here is for the worker that claims it.
    if !held.mayHaveMissed { try? await abandon(unknown, of: identity) }
    for id in known where held[id] != nil {
      if await !refresh(id) { held.mayHaveMissed = true }
      tell(.told(id))
    }
  }

  private func claim() async {
    guard let identity else { return }
    claiming += 1
    defer { claiming -= 1 }
    do throws(DatabaseError) {
      while claims, !held.isDraining, time.elapsed() < held.deadline, self.identity == identity, isSettled {
        let room = min(held.room(of: terms.capacity), SharedWorker.batch)
        if room <= 0 { return }
        let claimed = try await database.claim(identity, terms, most: room, at: time.now())
        // None that was claimed on a server that has just taken over, and none beyond the room that what was created
        // meanwhile has left.
        let kept = claimed.prefix(isSettled ? held.room(of: terms.capacity) : 0)
        for run in kept { hold(run, by: identity) }
        if !kept.isEmpty { tell(.claimed(kept.map(\.log.record))) }
        if kept.count < claimed.count {
          let rest = claimed[kept.count...].map { ($0.log.record.id, $0.epoch) }
          return try await abandon(Dictionary(rest) { _, last in last }, of: identity)
        }
        if claimed.count < room { return }
      }
    } catch {
      // Another claimed the same, or the database is away: the next look tells.
    }
  }
}
