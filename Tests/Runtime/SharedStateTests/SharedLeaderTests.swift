import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// Which of the programs that share a state leads.
@Suite struct SharedLeaderTests {
  private final class Program: Sendable {
    let store: SharedStateStore
    let clock: ManualClock

    init(_ database: SimulatedDatabase, _ clock: ManualClock, _ name: String, isWilling: Bool = true) async throws {
      self.clock = clock
      store = SharedStateStore(
        SimulatedConnection(database), terms: WorkerTerms(name: name), time: clock, chance: { 0.5 })
      try await store.join(claiming: true)
      await store.seekLead(isWilling: isWilling)
    }

    /// The next news of its lead.
    func news() async -> Bool? {
      for await leads in store.leading { return leads }
      return nil
    }

    /// Lets time pass here, once it sleeps: for the lease of the worker, its claims, and the lead.
    func pass(_ span: TimeSpan) async {
      await clock.waitForSleepers(3)
      clock.advance(by: span)
    }
  }

  @Test func `One leads, and another after its lease; the first is told when it wakes`() async throws {
    let database = SimulatedDatabase(time: ManualClock())
    let databaseClock = try #require(database.time as? ManualClock)
    let first = try await Program(database, ManualClock(), "lab-1")
    #expect(await first.news() == true)
    let second = try await Program(database, ManualClock(), "lab-2")
    // The first one's clock doesn't move, like the clock of a frozen machine.
    for _ in 0..<4 {
      databaseClock.advance(by: .seconds(3))
      await second.pass(.seconds(3))
    }
    #expect(try await second.store.leaderName() == "lab-1")
    databaseClock.advance(by: .seconds(4))
    await second.pass(.seconds(3))
    #expect(await second.news() == true)
    #expect(try await second.store.leaderName() == "lab-2")
    #expect(await second.store.term()?.isLeading == true)
    first.clock.advance(by: .seconds(18))
    #expect(await first.news() == false)
    #expect(await first.store.term()?.isLeading == false)
    for program in [first, second] { try await program.store.close() }
  }

  @Test func `A leader that ends gives the lead back at once`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let first = try await Program(database, clock, "lab-1")
    #expect(await first.news() == true)
    let unwilling = try await Program(database, clock, "lab-2", isWilling: false)
    let second = try await Program(database, clock, "lab-3")
    await clock.waitForSleepers(9)
    let before = await first.store.term()
    try await first.store.close()
    #expect(await first.news() == false)
    #expect(await second.news() == true)
    #expect(try await unwilling.store.leaderName() == "lab-3")
    // With the leader the version of the schedules changes.
    let after = try #require(await second.store.term())
    #expect(after.version == (before?.version ?? 0) + 1)
    for program in [unwilling, second] { try await program.store.close() }
    #expect(await second.news() == false)
    #expect(await unwilling.news() == nil)
  }

  @Test(arguments: [(1999, true), (-1999, true), (2001, false), (-2001, false)])
  func `A program whose clock is off by more than two seconds doesn't lead`(off: Int, leads: Bool) async throws {
    let database = SimulatedDatabase(time: ManualClock())
    let connection = SimulatedConnection(database)
    let worker = try await connection.register(WorkerTerms(name: "lab-1"), lease: .seconds(15))
    let clock = try #require(database.time.now().advanced(by: .milliseconds(off)))
    let epoch = try await connection.lead(worker, lease: .seconds(15), clock: clock, isWilling: true)
    #expect(epoch == (leads ? 1 : nil))
    #expect(try await connection.leader().name == (leads ? "lab-1" : nil))
  }

  @Test func `A leader whose clock goes wrong leads no longer`() async throws {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let program = try await Program(database, ManualClock(), "lab-1")
    #expect(await program.news() == true)
    program.clock.setWallClock(to: try #require(clock.now().advanced(by: .seconds(60))))
    clock.advance(by: .seconds(3))
    await program.pass(.seconds(3))
    #expect(await program.news() == false)
    // It says so before it gives the lead back.
    for _ in 0..<10_000 where try await program.store.leaderName() != nil { await Task.yield() }
    #expect(try await program.store.leaderName() == nil)
    program.clock.setWallClock(to: clock.now())
    clock.advance(by: .seconds(3))
    await program.pass(.seconds(3))
    #expect(await program.news() == true)
    try await program.store.close()
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `On PostgreSQL one leads at a time, with its clock noted`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let database = try await PostgresDatabase.open([settings])
    let first = try await database.register(WorkerTerms(name: "lab-1"), lease: .seconds(60))
    let second = try await database.register(WorkerTerms(name: "lab-2"), lease: .seconds(60))
    let now = { SystemTime().now() }
    #expect(try await database.leader() == LeaderRow(worker: nil, name: nil, epoch: 0, version: 0))
    let early = try #require(now().advanced(by: .seconds(-5)))
    #expect(try await database.lead(first, lease: .seconds(15), clock: early, isWilling: true) == nil)
    #expect(try await database.lead(first, lease: .seconds(15), clock: now(), isWilling: false) == nil)
    #expect(try await database.lead(first, lease: .seconds(15), clock: now(), isWilling: true) == 1)
    #expect(try await database.lead(second, lease: .seconds(15), clock: now(), isWilling: true) == nil)
    // It leads on, with no other version.
    #expect(try await database.lead(first, lease: .milliseconds(0), clock: now(), isWilling: true) == 1)
    #expect(try await database.leader().version == 1)
    #expect(try await database.lead(second, lease: .seconds(15), clock: now(), isWilling: true) == 2)
    #expect(
      try await database.leader() == LeaderRow(worker: second.id, name: "lab-2", epoch: 2, version: 2))
    try await database.resign(first)
    #expect(try await database.leader().name == "lab-2")
    try await database.resign(second)
    #expect(try await database.leader() == LeaderRow(worker: nil, name: nil, epoch: 2, version: 2))
    // A worker without a lease doesn't lead.
    let dead = try await database.register(WorkerTerms(name: "lab-3"), lease: .seconds(-1))
    #expect(try await database.lead(dead, lease: .seconds(15), clock: now(), isWilling: true) == nil)
    let connection = try await PostgresConnection.open(settings)
    let offsets = try await connection.run("select clock_offset from errand.worker order by id").rows.map {
      try $0.int64(0)
    }
    #expect(offsets.allSatisfy { abs($0) < 2_000_000 })
    connection.close()
    await database.close()
  }
}
