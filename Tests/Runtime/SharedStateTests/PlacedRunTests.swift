import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// The machines and workers where bound runs continue.
@Suite struct PlacedRunTests {
  private static let run = "0199a3f2-4c00-7abc-8def-100000000001"

  /// Two workers, each at its own home; only the second has everything that a run needs.
  private static func play(_ database: () async throws -> any SharedDatabase) async throws {
    func store(_ name: String, _ offers: Set<String>) async throws -> SharedStateStore {
      let store = SharedStateStore(
        try await database(), terms: WorkerTerms(name: name, offers: offers, home: "\(name):/srv").patient)
      try await store.join(claiming: false)
      return store
    }
    let first = try await store("lab-1", ["format:1"])
    let second = try await store("lab-2", ["format:1", "secret:KEY"])
    first.secrets.learn([(name: "KEY", text: "s3cret-enough-to-find")])
    let now = SystemTime().now()
    var created = RunCreated(
      run: run, at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
      program: "test")
    created.needs = ["format:1"]
    try await first.append([
      .runCreated(created), .stepBegan(StepBegan(run: run, at: now, step: "a", now: now, status: .running)),
    ])
    // Either worker can claim a run whose needs both of them offer.
    await first.abandon(run)
    #expect(try await second.take(run) == .here)
    await second.abandon(run)
    // Neither worker claims runs unasked.
    #expect(try await second.unclaimable(among: [run])[run]?.queue == "default")
    #expect(try await first.take(run) == .here)

    // A value that refers to a secret binds the run to workers that have the secret.
    try await first.append([
      .stepEnded(
        StepEnded(
          run: run, at: now, step: "a", status: .succeeded,
          output: .inline(try first.secrets.masked(.string("it is s3cret-enough-to-find")))))
    ])
    #expect(first.run(run)?.needs == ["secret:KEY"])
    await first.abandon(run)
    #expect(try await first.take(run) == .nobody(missing: ["secret:KEY"]))
    #expect(try await second.take(run) == .here)
    #expect(second.run(run)?.needs == ["secret:KEY"])

    // And files to the machine that has them.
    try await second.append([.runPlaced(RunPlaced(run: run, at: now, home: "lab-1:/srv"))])
    await second.abandon(run)
    #expect(try await second.take(run) == .nobody(missing: ["home:lab-1:/srv"]))
    var place = try #require(try await second.place(of: run))
    #expect(place == RunPlace(worker: nil, missing: [], home: nil, queue: "default", hasWorker: false))
    let worker = try #require(try await second.workers().first { $0.name == "lab-1" })
    try await second.evict(worker: worker.id)
    place = try #require(try await second.place(of: run))
    #expect(place == RunPlace(worker: nil, missing: [], home: "lab-1:/srv", queue: "default", hasWorker: false))
    #expect(try await second.unclaimable(among: [run]) == [run: place])
    try await first.close()
    try await second.close()
  }

  @Test func `a run goes to a program that has what was missing, once`() throws {
    let now = SystemTime().now()
    var created = RunCreated(
      run: Self.run, at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
      program: "test")
    // Any program may resume it.
    #expect(RunRecord(created).placed(missing: "KEY", at: now) == nil)
    created.needs = ["format:1", "secret:OTHER"]
    var record = RunRecord(created)
    #expect(record.placed(missing: nil, at: now) == nil)
    #expect(record.placed(missing: "OTHER", at: now) == nil)
    func placed(_ needs: [String]) -> StateEvent { .runPlaced(RunPlaced(run: Self.run, at: now, needs: needs)) }
    #expect(record.placed(missing: "KEY", at: now) == placed(["secret:KEY"]))
    // A setting has no name of its own on other machines.
    #expect(record.placed(missing: "connections.desk #2", at: now) == placed(["connection:desk"]))
    record = try record.folding([placed(["secret:KEY", "connection:desk"])])
    #expect(record.placed(missing: "KEY", at: now) == nil)
    #expect(record.placed(missing: "connections.desk #1", at: now) == nil)
    record = try record.folding([.cancelRequested(CancelRequested(run: Self.run, at: now))])
    #expect(record.placed(missing: "ANOTHER", at: now) == nil)
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `of a long log, whoever takes the run up reads the end`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    func store(_ name: String) async throws -> SharedStateStore {
      let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: name).patient)
      try await store.join(claiming: false)
      return store
    }
    let (first, second) = (try await store("first"), try await store("second"))
    let now = SystemTime().now()
    try await first.append([
      .runCreated(
        RunCreated(
          run: Self.run, at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
          program: "test"))
    ])
    for number in 0..<700 {
      let began = StateEvent.stepBegan(
        StepBegan(run: Self.run, at: now, step: "a[\(number)]", now: now, status: .running))
      // Some go by a transaction, as those do that store a value.
      let value = StateEvent.valueSet(ValueSet(at: now, name: "n", value: .inline(.int(number))))
      try await first.append(number % 7 == 0 ? [began, value] : [began])
    }
    let record = try #require(first.run(Self.run))
    // Behind the fold, which is written by the same connection.
    _ = try await first.place(of: Self.run)
    let connection = try await PostgresConnection.open(settings)
    #expect(try await connection.run("select fold_number from errand.run").first?.int64(0) == 501)
    // The entries that it replaces aren't read any more.
    try await connection.run("update errand.entry set events = '[]' where number < 400")
    await first.abandon(Self.run)
    #expect(try await second.take(Self.run) == .here)
    var taken = try #require(second.run(Self.run))
    #expect(taken.claims.count == 1)
    taken.claims = []
    #expect(taken == record)
    connection.close()
    try await first.close()
    try await second.close()
  }

  @Test func `a run stays where its files and its secrets are`() async throws {
    let database = SimulatedDatabase()
    try await Self.play { SimulatedConnection(database) }
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `a run stays where its files and its secrets are, in PostgreSQL`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    try await Self.play { try await PostgresDatabase.open([settings]) }
  }
}
