package import Basics
package import RunState
import Synchronization

/// What a program learns of the state that it shares.
package enum SharedNews: Sendable {
  /// Runs that it has taken up and is to carry on.
  case claimed([RunRecord])
  /// There may be something new that a run it holds waits for, or others wrote to it.
  case told(String)
  /// Another program took a run over: nothing more may be done for it here.
  case deposed(String)
  /// The lease is over, and others may have everything that was held here.
  case lost
  /// There is a lease again.
  case back
  /// Workers whose lease was over, and whose runs can be taken up.
  case reaped([String])
}

/// Takes up runs that nobody holds, for as long as its lease lasts.
///
/// The lease is that of the database's clock, and renewed long before its end. The program's own deadline counts from
/// before each renewal was sent, so that it is never later than the database's: after it nothing of a run is sent any
/// more, because others may have taken it over.
///
/// What is due is asked for when a hint comes, when the next run is due, and every few seconds in any case, because hints
/// get lost.
package actor SharedWorker {
  package nonisolated let terms: WorkerTerms
  private let database: any SharedDatabase
  private let held: HeldRuns
  private let time: any TimeSource
  private let chance: @Sendable () -> Double
  private let tell: @Sendable (SharedNews) -> Void
  private var identity: WorkerIdentity?
  /// Until when, by the program's own clock, nobody else takes over what is held here.
  private var deadline: TimeSpan
  private var isDraining = false
  private var isWanted = true
  private var tasks: [Task<Void, Never>] = []
  private var sleeping: Task<Void, Never>?

  /// How long a lease lasts, and when it is renewed.
  package static let lease = TimeSpan.seconds(15)
  private static let renewal = TimeSpan.seconds(3)
  /// What the deadline is earlier, for what is under way then.
  private static let margin = TimeSpan.seconds(1)
  /// The longest that nothing is asked.
  private static let patience = TimeSpan.seconds(5)
  /// How many runs are taken up at once.
  private static let batch = 16

  init(
    _ terms: WorkerTerms, _ database: any SharedDatabase, _ held: HeldRuns, time: any TimeSource,
    chance: @escaping @Sendable () -> Double, tell: @escaping @Sendable (SharedNews) -> Void
  ) {
    self.terms = terms
    self.database = database
    self.held = held
    self.time = time
    self.chance = chance
    self.tell = tell
    deadline = time.elapsed()
  }

  /// Registers, and takes runs up from now on, until `stop`.
  func start() async throws(DatabaseError) {
    try await register()
    tasks = [
      Task { await self.keepLease() }, Task { await self.keepClaiming() },
      Task { [hints = database.hints] in for await _ in hints { self.look() } },
    ]
  }

  /// Takes nothing more up.
  package func drain() { isDraining = true }

  /// Gives up what is held, and the lease.
  func stop() async {
    isDraining = true
    isWanted = false
    for task in tasks { task.cancel() }
    sleeping?.cancel()
    for task in tasks { await task.value }
    guard let identity else { return }
    self.identity = nil
    // A lease that can't be given back ends by itself.
    try? await database.leave(identity)
  }

  /// Whether what is held here may be acted on, and until when by the program's own clock.
  package var isSure: Bool { identity != nil && time.elapsed() < deadline }

  /// Gives a run up that waits, or that only a person has go on.
  func release(_ run: String) async {
    guard held[run] != nil, let identity else { return }
    held.letGo(run)
    // A run that can't be given up now is when the lease is.
    try? await database.release([run], of: identity)
    look()
  }

  /// Looks at once whether something is due.
  package func look() {
    isWanted = true
    sleeping?.cancel()
  }

  // MARK: The lease

  private func register() async throws(DatabaseError) {
    let start = time.elapsed()
    let identity = try await database.register(terms, lease: SharedWorker.lease)
    deadline = start + SharedWorker.lease - SharedWorker.margin
    self.identity = identity
    held.join(identity.id)
  }

  private func keepLease() async {
    while !Task.isCancelled {
      do { try await time.sleep(for: SharedWorker.renewal) } catch { return }
      await renew()
    }
  }

  private func renew() async {
    let start = time.elapsed()
    do throws(DatabaseError) {
      if let identity {
        if try await database.renew(identity, lease: SharedWorker.lease) {
          deadline = start + SharedWorker.lease - SharedWorker.margin
        } else {
          lose()
        }
      }
      if identity == nil, !isDraining {
        try await register()
        tell(.back)
        look()
      }
      let dead = try await database.reap()
      if !dead.isEmpty { tell(.reaped(dead)) }
    } catch {
      if time.elapsed() >= deadline { lose() }
    }
  }

  /// Lets everything go.
  private func lose() {
    guard identity != nil else { return }
    identity = nil
    held.leave()
    tell(.lost)
  }

  // MARK: Claims

  private func keepClaiming() async {
    while !Task.isCancelled {
      isWanted = false
      await claim()
      if isWanted || Task.isCancelled { continue }
      let span = await untilNext()
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
    guard !isDraining, let span = try? await database.untilDue(terms), held.count < terms.capacity else {
      return patience
    }
    return min(max(span, .milliseconds(10)), patience)
  }

  private func claim() async {
    guard let identity else { return }
    do throws(DatabaseError) {
      for id in try await database.takeNews(of: identity) { tell(.told(id)) }
      while !isDraining, isSure, self.identity == identity {
        let room = min(terms.capacity - held.count, SharedWorker.batch)
        if room <= 0 { return }
        let claimed = try await database.claim(identity, terms, most: room, at: time.now())
        // Nothing of it counts if the lease ended meanwhile: another claim refuses what is written.
        for run in claimed {
          held.take(HeldRuns.Run(run.log, epoch: run.epoch), by: identity.id)
        }
        if !claimed.isEmpty { tell(.claimed(claimed.map(\.log.record))) }
        if claimed.count < room { return }
      }
    } catch {
      // Another claimed the same, or the database is away: the next look tells.
    }
  }
}
