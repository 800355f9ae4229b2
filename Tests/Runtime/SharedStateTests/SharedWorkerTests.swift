import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Synchronization
import Testing

/// Programs that share a state, and claim each other's runs.
@Suite struct SharedWorkerTests {
  /// A program on the simulated database, with a clock of its own that a test moves.
  private final class Program: Sendable {
    let store: SharedStateStore
    let clock: ManualClock

    /// One that holds no run.
    init(_ database: SimulatedDatabase, _ clock: ManualClock) {
      self.clock = clock
      store = SharedStateStore(SimulatedConnection(database), time: clock)
    }

    /// A program that claims due runs.
    init(_ database: SimulatedDatabase, _ clock: ManualClock, _ name: String, offers: Set<String> = []) async throws {
      self.clock = clock
      store = SharedStateStore(
        SimulatedConnection(database), terms: WorkerTerms(name: name, offers: offers), time: clock, chance: { 0.5 })
      try await store.join(claiming: true)
    }
  }

  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 100_000_000_000))" }

  private static func created(_ run: String, at instant: Timestamp, needs: [String] = []) -> StateEvent {
    var event = RunCreated(
      run: run, at: instant, recipe: "averages", file: "averages.yaml", texts: .inline(.object([:])),
      inputs: .object([:]), program: "test")
    event.needs = needs
    return .runCreated(event)
  }

  private static func running(_ run: String, at instant: Timestamp) -> StateEvent {
    .runStatusChanged(RunStatusChanged(run: run, at: instant, status: .running))
  }

  /// The first news of a kind.
  private static func first<Answer>(
    of store: SharedStateStore, _ pick: (SharedNews) -> Answer?
  ) async -> Answer? {
    for await news in store.news { if let answer = pick(news) { return answer } }
    return nil
  }

  private static func claimed(_ news: SharedNews) -> [String]? {
    if case .claimed(let runs) = news { runs.map(\.id) } else { nil }
  }

  @Test func `A program whose lease is over loses its runs to another, and can write nothing more to them`()
    async throws
  {
    let (database, clock) = (SimulatedDatabase(time: ManualClock()), ManualClock())
    let databaseClock = try #require(database.time as? ManualClock)
    // The first one's clock doesn't move, like the clock of a frozen machine.
    let frozen = try await Program(database, ManualClock(), "lab-1")
    let run = Self.id(1)
    try await frozen.store.append([Self.created(run, at: clock.now()), Self.running(run, at: clock.now())])
    #expect(database.holder(of: run) == 1)
    let other = try await Program(database, clock, "lab-2")
    databaseClock.advance(by: .seconds(13))
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(3))
    // The other renews its lease; the first one's lease lasts for another two seconds.
    #expect(database.holder(of: run) == 1)
    databaseClock.advance(by: .seconds(3))
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(3))
    #expect(await Self.first(of: other.store, Self.claimed) == [run])
    #expect(other.store.run(run)?.claims.map(\.worker) == ["lab-2"])
    #expect(other.store.run(run)?.status == .running)
    // It wakes, and believes that the run is still its own.
    await #expect(throws: StateError(.fenced, "another program has taken the run \(run) over")) {
      try await frozen.store.append([Self.running(run, at: clock.now())])
    }
    #expect(frozen.store.run(run) == nil)
    #expect(database.log(of: run).map(\.epoch) == [1, 2])
    try await other.store.append([Self.running(run, at: clock.now())])
    #expect(database.log(of: run).map(\.epoch) == [1, 2, 2])
    try await other.store.close()
    try await frozen.store.close()
  }

  @Test func `A run is taken up by a program that offers what it needs`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let client = Program(database, clock)
    let run = Self.id(1)
    // A run that is created by a program other than a worker isn't held.
    try await client.store.append([Self.created(run, at: clock.now(), needs: ["secret:KEY"])])
    #expect(client.store.run(run) == nil)
    #expect(await client.store.openRun(run)?.status == .queued)
    let poor = try await Program(database, clock, "lab-1")
    let rich = try await Program(database, clock, "lab-2", offers: ["plugin:markbook", "secret:KEY"])
    #expect(await Self.first(of: rich.store, Self.claimed) == [run])
    #expect(poor.store.run(run) == nil)
    for program in [client, poor, rich] { try await program.store.close() }
  }

  @Test func `A run that was given up comes back when its event comes`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let holder = try await Program(database, clock, "lab-1")
    let run = Self.id(1)
    let wait = WaitRecord(.event, event: "handed-in")
    try await holder.store.append([
      Self.created(run, at: clock.now()),
      .stepWaits(StepWaits(run: run, at: clock.now(), step: "w", now: clock.now(), wait: wait)),
      .runStatusChanged(RunStatusChanged(run: run, at: clock.now(), status: .waiting)),
    ])
    #expect(await holder.store.release(run))
    #expect(holder.store.run(run) == nil)
    #expect(database.holder(of: run) == nil)
    let sender = Program(database, clock)
    try await sender.store.append([
      .eventReceived(EventRecord(id: "e1", name: "handed-in", receivedAt: clock.now()))
    ])
    #expect(await Self.first(of: holder.store, Self.claimed) == [run])
    #expect(holder.store.run(run)?.claims.map(\.epoch) == [2])
    for program in [holder, sender] { try await program.store.close() }
  }

  @Test func `What was begun by an earlier claim is refused, though the program holds the run again`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let holder = try await Program(database, clock, "lab-1")
    let run = Self.id(1)
    try await holder.store.append([
      Self.created(run, at: clock.now()),
      .runStatusChanged(RunStatusChanged(run: run, at: clock.now(), status: .paused, reason: "no")),
    ])
    let first = try #require(holder.store.claim(of: run))
    #expect(await holder.store.release(run))
    #expect(try await holder.store.take(run) == .here)
    let second = try #require(holder.store.claim(of: run))
    #expect(second == first + 1)
    let step = StepBegan(run: run, at: clock.now(), step: "s", now: clock.now())
    let value = ValueSet(at: clock.now(), name: "v", value: .inline(.int(1)), condition: ValueState(nil))
    // Alone, and in a transaction.
    for events in [[.stepBegan(step)], [.stepBegan(step), .valueSet(value)]] as [[StateEvent]] {
      await #expect(throws: StateError(.fenced, "another program has taken the run \(run) over")) {
        try await holder.store.append(events, of: run, inClaim: first)
      }
    }
    #expect(holder.store.run(run)?.steps.isEmpty == true)
    try await holder.store.append([.stepBegan(step)], of: run, inClaim: second)
    #expect(holder.store.run(run)?.steps.map(\.path) == ["s"])
    try await holder.store.close()
  }

  @Test func `A run is taken up within seconds where every hint is lost`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    database.loseHints()
    let client = Program(database, clock)
    let worker = try await Program(database, clock, "lab-1")
    // The renewal of the lease, and the next look.
    await clock.waitForSleepers(2)
    let run = Self.id(1)
    try await client.store.append([Self.created(run, at: clock.now())])
    clock.advance(by: .seconds(4))
    #expect(database.holder(of: run) == nil)
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(2))
    #expect(await Self.first(of: worker.store, Self.claimed) == [run])
    for program in [worker, client] { try await program.store.close() }
  }

  @Test func `What others write to a run that is held reaches its holder`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let holder = try await Program(database, clock, "lab-1")
    let run = Self.id(1)
    try await holder.store.append([Self.created(run, at: clock.now()), Self.running(run, at: clock.now())])
    let other = Program(database, clock)
    try await other.store.append([
      .cancelRequested(CancelRequested(run: run, at: clock.now(), reason: "too late"))
    ])
    let told = await Self.first(of: holder.store) { if case .told(let id) = $0 { id } else { nil } }
    #expect(told == run)
    // Its next entry comes after the other's.
    try await holder.store.append([Self.running(run, at: clock.now())])
    #expect(holder.store.run(run)?.pendingCancel?.reason == "too late")
    #expect(database.log(of: run).map(\.epoch) == [1, 0, 1])
    for program in [holder, other] { try await program.store.close() }
  }

  @Test func `What others write reaches a holder that was told of it by an answer that was lost`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    database.loseHints()
    let holder = try await Program(database, clock, "lab-1")
    let run = Self.id(1)
    try await holder.store.append([Self.created(run, at: clock.now()), Self.running(run, at: clock.now())])
    let other = Program(database, clock)
    try await other.store.append([
      .cancelRequested(CancelRequested(run: run, at: clock.now(), reason: "too late"))
    ])
    database.setFaults { .unanswered }
    for _ in 0..<10 where database.hasNews(run) {
      await clock.waitForSleepers(2)
      clock.advance(by: .seconds(1))
      for _ in 0..<100 where database.hasNews(run) { await Task.yield() }
    }
    #expect(!database.hasNews(run))
    database.setFaults { nil }
    async let told = Self.first(of: holder.store) { if case .told(let id) = $0 { id } else { nil } }
    for _ in 0..<10 where holder.store.run(run)?.pendingCancel == nil {
      await clock.waitForSleepers(2)
      clock.advance(by: .seconds(1))
      for _ in 0..<100 where holder.store.run(run)?.pendingCancel == nil { await Task.yield() }
    }
    #expect(holder.store.run(run)?.pendingCancel?.reason == "too late")
    for program in [holder, other] { try await program.store.close() }
    _ = await told
  }

  @Test func `A run of which a failover leaves nothing is told of`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let program = try await Program(database, clock, "lab-1")
    let (kept, lost, over) = (Self.id(1), Self.id(2), Self.id(3))
    try await program.store.append([Self.created(kept, at: clock.now())])
    try await program.store.append([Self.created(over, at: clock.now())])
    try await program.store.append([.runEnded(RunEnded(run: over, at: clock.now(), status: .succeeded))])
    database.holdBack()
    try await program.store.append([Self.created(lost, at: clock.now())])
    database.failOver()
    await clock.waitForSleepers(2)
    clock.advance(by: .seconds(3))
    var told: [String] = []
    for await news in program.store.news {
      if case .missing(let run, of: "averages") = news { told.append(run) }
      if case .tookOver = news { break }
    }
    #expect(told == [lost])
    #expect(program.store.run(kept) != nil)
    #expect(program.store.run(lost) == nil)
    try await program.store.close()
  }

  @Test func `A run that goes on after a loss is not paused for the same loss again`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    func store(_ name: String) async throws -> SharedStateStore {
      let store = SharedStateStore(
        SimulatedConnection(database), terms: WorkerTerms(name: name), time: clock, chance: { 0.5 })
      try await store.join(claiming: false)
      return store
    }
    let (first, second) = (try await store("lab-1"), try await store("lab-2"))
    let run = Self.id(1)
    func losses() -> Int { database.log(of: run).count { $0.events.contains("took over that was behind") } }
    /// Lets both look at the server that took over.
    func renew() async {
      for _ in 0..<4 {
        await clock.waitForSleepers(4)
        clock.advance(by: .seconds(3))
        for _ in 0..<200 { await Task.yield() }
      }
    }
    try await first.append([Self.created(run, at: clock.now()), Self.running(run, at: clock.now())])
    database.holdBack()
    try await first.append([.stepBegan(StepBegan(run: run, at: clock.now(), step: "a", now: clock.now()))])
    await first.abandon(run)
    database.failOver()
    await renew()
    #expect(losses() == 1)
    #expect(try await second.take(run) == .here)
    try await second.append([Self.running(run, at: clock.now())])
    database.holdBack()
    database.failOver()
    await renew()
    #expect(losses() == 1)
    #expect(second.run(run)?.status == .running)
    for store in [first, second] { try await store.close() }
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `A run whose log was changed by somebody waits for a person to cancel it, and holds up no other`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let client = SharedStateStore(try await PostgresDatabase.open([settings]))
    let now = SystemTime().now()
    let runs = (1...4).map(Self.id)
    for run in runs { try await client.append([Self.created(run, at: now)]) }
    for run in runs { try await client.append([Self.running(run, at: now)]) }
    let connection = try await PostgresConnection.open(settings)
    for (run, number) in [(runs[0], 2), (runs[1], 1)] {
      try await connection.run(
        "update errand.entry set events = events || ' ' where run = $1 and number = $2", .uuid(run), .int64(number))
    }
    try await connection.run("update errand.run set epoch = $2 where id = $1", .uuid(runs[3]), .int64(.max))
    connection.close()
    let worker = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "a").patient)
    try await worker.join(claiming: true)
    #expect(await Self.first(of: worker, Self.claimed) == [runs[2]])
    let damaged = try #require(await client.openRun(runs[0]))
    #expect(damaged.status == .paused)
    #expect(damaged.reason?.hasPrefix("the log of the run \(runs[0]) can't be read: ") == true)
    #expect(await client.openRuns(OpenRunQuery()).map(\.id) == runs)
    let unread = try #require(await client.openRun(runs[1]))
    #expect((unread.recipe, unread.createdAt.seconds) == (damaged.recipe, damaged.createdAt.seconds))
    #expect(unread.reason?.hasSuffix("it can only be cancelled: errand runs cancel \(runs[1])") == true)
    for run in runs[0...1] {
      await #expect(throws: StateError.self) { try await worker.take(run) }
      await #expect(throws: StateError.self) { try await client.append([Self.running(run, at: now)]) }
      try await worker.append([.cancelRequested(CancelRequested(run: run, at: now))])
      let ended = try #require(try await client.finishedRun(run))
      #expect(ended.status == .cancelled)
      #expect(ended.error?.message.contains("without 'finally'") == true)
    }
    #expect(await client.openRuns(OpenRunQuery()).map(\.id) == Array(runs[2...]))
    for store in [client, worker] { try await store.close() }
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `Several programs on PostgreSQL take up each run once, and go on with those of one that died`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    @Sendable func store(_ name: String) async throws -> SharedStateStore {
      SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: name).patient)
    }
    let client = try await store("client")
    let runs = (0..<200).map(Self.id)
    let now = SystemTime().now()
    try await client.append(runs.map { Self.created($0, at: now) })
    let (taken, taking) = AsyncStream.makeStream(of: (worker: String, run: String).self)
    let workers = try await withThrowingTaskGroup(of: (String, SharedStateStore).self) { group in
      for name in ["a", "b", "c", "d"] {
        group.addTask {
          let worker = try await store(name)
          Task {
            for await news in worker.news {
              for run in Self.claimed(news) ?? [] { taking.yield((name, run)) }
            }
          }
          try await worker.join(claiming: true)
          return (name, worker)
        }
      }
      return try await group.reduce(into: [(String, SharedStateStore)]()) { $0.append($1) }
    }
    var holders: [String: String] = [:]
    for await (worker, run) in taken {
      #expect(holders.updateValue(worker, forKey: run) == nil, "\(run) is taken up twice")
      if holders.count == runs.count { break }
    }
    // Each holds at most 64, so that all four have some.
    #expect(Set(holders.values).count == 4)
    // Its lease ends at once, as if it had died some time ago; it claims nothing any more.
    for (name, worker) in workers where name == "a" { await worker.drain() }
    let connection = try await PostgresConnection.open(settings)
    try await connection.run("update errand.worker set lease_until = now() - interval '1 second' where name = 'a'")
    let lost = Set(holders.filter { $0.value == "a" }.keys)
    var back: Set<String> = []
    for await (worker, run) in taken where lost.contains(run) && worker != "a" {
      back.insert(run)
      // The others hold 192 of the 200 at most.
      if back.count == lost.count - 8 { break }
    }
    for run in back.sorted().prefix(3) {
      let record = try #require(await client.openRun(run))
      #expect(record.claims.map(\.worker).count == 2 && record.claims.first?.worker == "a")
    }
    connection.close()
    for store in workers.map(\.1) + [client] { try await store.close() }
  }
}
