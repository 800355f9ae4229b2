import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// A leader's queries, with the same results on the simulated database and on PostgreSQL.
@Suite struct LeaderQueryTests {
  enum Kind: String, CaseIterable { case simulated, real }

  private static func database(_ kind: Kind) async throws -> any SharedDatabase {
    switch kind {
    case .simulated: return SimulatedConnection(SimulatedDatabase())
    case .real:
      let settings = try await PostgresServer.database()
      try await PostgresDatabase.migrate([settings])
      return try await PostgresDatabase.open([settings])
    }
  }

  private static let kinds: [Kind] = PostgresServer.isInstalled ? Kind.allCases : [.simulated]
  private static func now() -> Timestamp { SystemTime().now() }

  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 100_000_000_000))" }

  private static func created(_ run: String) -> StateEvent {
    .runCreated(
      RunCreated(
        run: run, at: now(), recipe: "averages", file: "averages.yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "test"))
  }

  private static func received(_ id: String, _ name: String, before span: TimeSpan = .zero) throws -> StateEvent {
    .eventReceived(EventRecord(id: id, name: name, receivedAt: try #require(now().advanced(by: .zero - span))))
  }

  @Test(arguments: kinds) func `An event is free once the runs that wait for it have had their turn`(
    kind: Kind
  ) async throws {
    let database = try await Self.database(kind)
    let worker = try await database.register(WorkerTerms(name: "lab-1"), lease: .seconds(600))
    let store = SharedStateStore(database, holder: worker.id)
    let run = Self.id(1)
    let wait = WaitRecord(.event, event: "handed-in")
    try await store.append([
      Self.created(run), .stepWaits(StepWaits(run: run, at: Self.now(), step: "w", now: Self.now(), wait: wait)),
      .runStatusChanged(RunStatusChanged(run: run, at: Self.now(), status: .waiting)),
    ])
    #expect(try await database.freeEvents().map(\.id) == [])
    // No run waits for the first event. The run is told of the others, and may be looking at each of them.
    try await store.append(try Self.received("none", "other"))
    // New for as long as the test takes.
    try await store.append(try Self.received("new", "handed-in", before: .zero - .seconds(600)))
    try await store.append(try Self.received("seen", "handed-in", before: .seconds(10)))
    try await store.append(try Self.received("old", "handed-in", before: .seconds(100)))
    #expect(try await database.freeEvents().map(\.id) == ["old", "none"])
    // It has looked.
    #expect(try await database.takeNews(of: worker).keys.elementsEqual([run]))
    #expect(try await database.freeEvents().map(\.id) == ["old", "seen", "none"])
    try await store.append(.eventConsumed(EventConsumed(at: Self.now(), id: "seen", by: run)))
    #expect(try await database.freeEvents().map(\.id) == ["old", "none"])
    try await store.append(.runEnded(RunEnded(run: run, at: Self.now(), status: .succeeded)))
    #expect(try await database.freeEvents().map(\.id) == ["old", "none", "new"])
    try await store.close()
  }

  @Test(arguments: kinds) func `A run is given up only by the claim that it is held by`(kind: Kind) async throws {
    let database = try await Self.database(kind)
    let store = SharedStateStore(database)
    try await store.append(Self.created(Self.id(1)))
    let terms = WorkerTerms(name: "lab-1")
    let worker = try await database.register(terms, lease: .seconds(600))
    #expect(try await database.claim(worker, terms, most: 9, at: Self.now()).map(\.epoch) == [1])
    try await database.abandon([Self.id(1): 1], of: worker)
    #expect(try await database.held(by: worker) == [:])
    #expect(try await database.claim(worker, terms, most: 9, at: Self.now()).map(\.epoch) == [2])
    // A request with an old claim arrives late.
    try await database.abandon([Self.id(1): 1, Self.id(2): 2], of: worker)
    #expect(try await database.held(by: worker) == [Self.id(1): 2])
    try await database.tell(Self.id(1))
    #expect(try await database.takeNews(of: worker) == [Self.id(1): 2])
    try await store.close()
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `Leases from before the clock was put back end as if they had begun now`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let database = try await PostgresDatabase.open([settings])
    let lease = TimeSpan.seconds(15)
    let dead = try await database.register(WorkerTerms(name: "dead"), lease: .seconds(3600))
    let worker = try await database.register(WorkerTerms(name: "lab-1"), lease: lease)
    #expect(try await database.lead(dead, lease: .seconds(3600), clock: Self.now(), isWilling: true) == 1)
    #expect(try await database.lead(worker, lease: lease, clock: Self.now(), isWilling: true) == nil)
    guard case .renewed(_, hasDead: true, _) = try await database.renew(worker, lease: lease) else {
      Issue.record("the lease isn't seen to be too long")
      return
    }
    #expect(try await database.removeExpired(lease: lease) == [])
    let untils = try await database.workers().map { ($0.until.span(since: Self.now()) ?? .zero) <= lease }
    #expect(untils == [true, true])
    // After its lease has ended it doesn't lead, though it was to lead for an hour.
    #expect(try await database.removeExpired(lease: .zero - .seconds(1)) == ["dead", "lab-1"])
    let next = try await database.register(WorkerTerms(name: "lab-2"), lease: lease)
    #expect(try await database.lead(next, lease: lease, clock: Self.now(), isWilling: true) == 2)
    await database.close()
  }

  @Test(arguments: kinds) func `Runs that are open are told from those that are over`(kind: Kind) async throws {
    let database = try await Self.database(kind)
    let store = SharedStateStore(database)
    try await store.append([Self.created(Self.id(1)), Self.created(Self.id(2))])
    try await store.append(.runEnded(RunEnded(run: Self.id(1), at: Self.now(), status: .succeeded)))
    #expect(try await database.openRuns(among: [Self.id(1), Self.id(2), Self.id(3), "r"]) == [Self.id(2)])
    #expect(try await database.openRuns(among: []) == [])
    try await store.close()
  }

  @Test(arguments: kinds) func `A request is taken once, by the one that leads`(kind: Kind) async throws {
    let database = try await Self.database(kind)
    let first = try await database.register(WorkerTerms(name: "lab-1"), lease: .seconds(600))
    let second = try await database.register(WorkerTerms(name: "lab-2"), lease: .seconds(600))
    #expect(try await database.lead(first, lease: .seconds(600), clock: Self.now(), isWilling: true) == 1)
    for _ in 0..<2 { try await database.ask("a", "first") }
    try await database.ask("b", "second")
    #expect(try await database.takeRequests(by: second) == [])
    #expect(try await database.takeRequests(by: first) == ["first", "second"])
    #expect(try await database.takeRequests(by: first) == [])
    #expect(try await database.answer(to: "a") == nil)
    try await database.answer("a", "done")
    #expect(try await database.answer(to: "a") == "done")
    #expect(try await database.forgetRequest("a"))
    #expect(try await database.answer(to: "a") == nil)
    // One that nobody has taken is known not to be done.
    try await database.ask("c", "third")
    #expect(try await !database.forgetRequest("c"))
    #expect(try await database.takeRequests(by: first) == [])
    // The next leader takes what its predecessor didn't.
    try await database.ask("d", "fourth")
    try await database.resign(first)
    #expect(try await database.takeRequests(by: first) == [])
    #expect(try await database.lead(second, lease: .seconds(600), clock: Self.now(), isWilling: true) == 2)
    #expect(try await database.takeRequests(by: second) == ["fourth"])
    await database.close()
  }

  @Test(arguments: kinds) func `A change of the schedules and a lead that is given back are hinted at`(
    kind: Kind
  ) async throws {
    let database = try await Self.database(kind)
    let store = SharedStateStore(database)
    var hints: [ScheduleHint] = []
    func wait(for wanted: ScheduleHint) async {
      for await hint in database.scheduleHints {
        hints.append(hint)
        if hint == wanted { return }
      }
    }
    try await store.append(
      .scheduleSet(ScheduleSet(at: Self.now(), schedule: "tick", recipe: "tick", file: "tick.yaml", spec: "s")))
    await wait(for: .changed)
    let worker = try await database.register(WorkerTerms(name: "lab-1"), lease: .seconds(600))
    _ = try await database.lead(worker, lease: .seconds(600), clock: Self.now(), isWilling: true)
    try await database.resign(worker)
    await wait(for: .vacant)
    // One that doesn't lead gives nothing back.
    try await database.resign(worker)
    try await database.ask("a", "first")
    await wait(for: .changed)
    #expect(hints.last == .changed && hints.count { $0 == .vacant } == 1)
    try await store.close()
  }
}
