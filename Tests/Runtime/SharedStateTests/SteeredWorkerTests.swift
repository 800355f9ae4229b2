import Basics
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// Requests to workers, on the simulated database and on PostgreSQL.
@Suite(.timeLimit(.minutes(20))) struct SteeredWorkerTests {
  /// A database with two connections.
  struct Pair: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let open: @Sendable () async throws -> (any SharedDatabase, any SharedDatabase)

    static let simulated = Pair(testDescription: "simulated") {
      let database = SimulatedDatabase()
      return (SimulatedConnection(database), SimulatedConnection(database))
    }

    static let postgres = Pair(testDescription: "PostgreSQL") {
      let settings = try await PostgresServer.database()
      try await PostgresDatabase.migrate([settings])
      return (try await PostgresDatabase.open([settings]), try await PostgresDatabase.open([settings]))
    }

    static let all = [simulated] + (PostgresServer.isInstalled ? [postgres] : [])
  }

  private static let terms = WorkerTerms(
    name: "lab", host: "lab.example", pid: 17, program: "errand 1", offers: ["plugin:http", "format:3"],
    queues: ["night", "day"], home: "lab.example:/srv", capacity: 3)

  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 100_000_000_000))" }

  private static func created(_ run: String, at instant: Timestamp) -> StateEvent {
    .runCreated(
      RunCreated(
        run: run, at: instant, recipe: "averages", file: "averages.yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "test"))
  }

  private static func claimed(_ claim: RunClaim) -> Bool { if case .claimed = claim { true } else { false } }

  private static func isDraining(_ claim: RunClaim) -> Bool { if case .draining = claim { true } else { false } }

  @Test(arguments: Pair.all) func `a worker is listed with what it is, holds and offers`(_ pair: Pair) async throws {
    let (database, other) = try await pair.open()
    #expect(try await other.workers() == [])
    let lease = TimeSpan.seconds(15)
    let worker = try await database.register(Self.terms, lease: lease)
    let gone = try await database.register(WorkerTerms(name: "cellar"), lease: .zero - .seconds(1))
    let now = SystemTime().now()
    #expect(
      try await database.lead(worker, lease: lease, clock: SystemTime().now(), isWilling: true) != nil)
    let writer = SharedStateStore(database, holder: worker.id)
    try await writer.append([Self.created(Self.id(1), at: now)])
    let listed = try await other.workers()
    #expect(listed.map(\.name) == ["cellar", "lab"])
    #expect(listed.map(\.id) == [gone.id, worker.id])
    #expect(listed.map(\.isOver) == [true, false])
    #expect(listed.map(\.isLeading) == [false, true])
    #expect(listed.map(\.runs) == [0, 1])
    let lab = try #require(listed.last)
    #expect((lab.host, lab.pid, lab.program, lab.home) == ("lab.example", 17, "errand 1", "lab.example:/srv"))
    #expect(lab.queues == ["day", "night"] && lab.offers == ["format:3", "plugin:http"] && lab.capacity == 3)
    #expect(!lab.isDraining)
    let offset = try #require(lab.clockOffset)
    #expect(offset < .seconds(2) && offset > .zero - .seconds(2))
    let left = try #require(lab.until.span(since: lab.since))
    #expect(left > .seconds(14) && left < .seconds(16))
    #expect(listed.first?.clockOffset == nil)
    #expect(try WorkerRecord(reading: lab.encoded()) == lab)
    try await writer.close()
    await other.close()
  }

  @Test(arguments: Pair.all)
  func `a worker that drains takes nothing up, leads no more, and counts for no run`(_ pair: Pair) async throws {
    let (database, other) = try await pair.open()
    let lease = TimeSpan.seconds(900)
    let now = SystemTime().now()
    let terms = WorkerTerms(name: "lab")
    let worker = try await database.register(terms, lease: lease)
    #expect(try await database.renew(worker, lease: lease) == .renewed(isDraining: false))
    #expect(try await database.lead(worker, lease: lease, clock: SystemTime().now(), isWilling: true) != nil)
    #expect(try await other.setDraining(true, worker))
    #expect(try await database.renew(worker, lease: lease) == .renewed(isDraining: true))
    #expect(try await database.lead(worker, lease: lease, clock: SystemTime().now(), isWilling: true) == nil)
    let client = SharedStateStore(other)
    let run = Self.id(1)
    try await client.append([Self.created(run, at: now)])
    #expect(try await database.claim(worker, terms, most: 5, at: now) == [])
    #expect(Self.isDraining(try await database.claim(run, worker, terms, at: now)))
    #expect(try await database.places(of: [run], onlyParked: false)[run]?.hasWorker == false)
    #expect(try await other.workers().map(\.isDraining) == [true])
    #expect(try await other.setDraining(false, worker))
    #expect(try await database.renew(worker, lease: lease) == .renewed(isDraining: false))
    #expect(try await database.places(of: [run], onlyParked: false)[run]?.hasWorker == true)
    #expect(try await database.lead(worker, lease: lease, clock: SystemTime().now(), isWilling: true) != nil)
    #expect(Self.claimed(try await database.claim(run, worker, terms, at: now)))
    #expect(try await other.setDraining(true, WorkerIdentity(id: 1_000_000)) == false)
    try await client.close()
    await database.close()
  }

  @Test(arguments: Pair.all)
  func `a worker that is evicted leaves its runs and the lead to others at once`(_ pair: Pair) async throws {
    let (database, other) = try await pair.open()
    let lease = TimeSpan.seconds(900)
    let now = SystemTime().now()
    let terms = WorkerTerms(name: "lab")
    let worker = try await database.register(terms, lease: lease)
    #expect(try await database.lead(worker, lease: lease, clock: SystemTime().now(), isWilling: true) != nil)
    let writer = SharedStateStore(database, holder: worker.id)
    let run = Self.id(1)
    try await writer.append([Self.created(run, at: now)])
    let second = try await other.register(WorkerTerms(name: "desk"), lease: lease)
    #expect(try await other.claim(second, terms, most: 5, at: now) == [])
    let steering = SharedStateStore(other)
    try await steering.evict(worker: worker.id)
    #expect(try await other.workers().map(\.name) == ["desk"])
    #expect(try await other.lead(second, lease: lease, clock: SystemTime().now(), isWilling: true) != nil)
    #expect(try await other.claim(second, WorkerTerms(name: "desk"), most: 5, at: now).map(\.log.record.id) == [run])
    #expect(try await database.renew(worker, lease: lease) == .over)
    #expect(try await database.lead(worker, lease: lease, clock: SystemTime().now(), isWilling: true) == nil)
    #expect(try await database.claim(worker, terms, most: 5, at: now) == [])
    let status = StateEvent.runStatusChanged(RunStatusChanged(run: run, at: now, status: .running))
    await #expect(throws: StateError(.fenced, "another program has taken the run \(run) over")) {
      try await writer.append([status])
    }
    try await writer.close()
    try await steering.close()
  }

  @Test(arguments: Pair.all)
  func `a worker that lost its lease drains if it was asked to, and a new program doesn't`(_ pair: Pair) async throws {
    let (database, other) = try await pair.open()
    let lease = TimeSpan.seconds(900)
    let terms = WorkerTerms(name: "lab", home: "lab:/srv")
    func registered(isAgain: Bool) async throws -> (WorkerIdentity, isDraining: Bool) {
      let worker = try await database.register(terms, lease: lease, isAgain: isAgain)
      guard case .renewed(let isDraining, _, _) = try await database.renew(worker, lease: lease) else {
        Issue.record("the lease is over")
        return (worker, false)
      }
      return (worker, isDraining)
    }
    let (first, _) = try await registered(isAgain: false)
    #expect(try await other.setDraining(true, first))
    try await other.leave(first)
    let (second, isDraining) = try await registered(isAgain: true)
    #expect(isDraining)
    #expect(try await other.setDraining(false, second))
    #expect(try await registered(isAgain: true).isDraining == false)
    #expect(try await other.setDraining(true, second))
    #expect(try await registered(isAgain: true).isDraining)
    #expect(try await registered(isAgain: false).isDraining == false)
    #expect(try await registered(isAgain: true).isDraining == false)
    await database.close()
    await other.close()
  }

  /// The next news of a kind.
  private static func next<Answer>(of store: SharedStateStore, _ pick: (SharedNews) -> Answer?) async -> Answer? {
    for await news in store.news { if let answer = pick(news) { return answer } }
    return nil
  }

  @Test func `a program that drains still does after its lease was over, until that is undone`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let connection = SimulatedConnection(database)
    let store = SharedStateStore(
      SimulatedConnection(database), terms: WorkerTerms(name: "lab"), time: clock, chance: { 0.5 })
    try await store.join(claiming: true)
    func renew() async {
      await clock.waitForSleepers(2)
      clock.advance(by: .seconds(3))
    }
    func isDraining(_ news: SharedNews) -> Bool? {
      if case .draining(let isDraining) = news { isDraining } else { nil }
    }
    let first = try #require(try await connection.workers().first)
    #expect(try await connection.setDraining(true, WorkerIdentity(id: first.id)))
    await renew()
    #expect(await Self.next(of: store, isDraining) == true)
    let client = SharedStateStore(connection, time: clock)
    let run = Self.id(1)
    try await client.append([Self.created(run, at: clock.now())])
    await #expect(
      throws: StateError(
        .unavailable,
        "the worker 'lab' is draining and claims no run; ask another, or first: errand workers drain lab --undo")
    ) { try await store.take(run) }
    // A run that it creates is left to others, too.
    try await store.append([Self.created(Self.id(2), at: clock.now())])
    #expect(store.run(Self.id(2)) == nil)
    try await client.evict(worker: first.id)
    await renew()
    #expect(await Self.next(of: store) { if case .back = $0 { true } else { nil } } == true)
    await renew()
    await clock.waitForSleepers(2)
    let second = try #require(try await connection.workers().first)
    #expect(second.id != first.id && second.isDraining && second.runs == 0)
    #expect(try await connection.setDraining(false, WorkerIdentity(id: second.id)))
    await renew()
    #expect(await Self.next(of: store, isDraining) == false)
    let claimed = await Self.next(of: store) { if case .claimed(let runs) = $0 { runs.map(\.id) } else { nil } }
    #expect(claimed == [run, Self.id(2)])
    try await store.close()
    try await client.close()
  }
}
