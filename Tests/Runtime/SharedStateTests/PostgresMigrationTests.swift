import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import Testing

@testable import SharedState

/// Making the tables, bringing them up to date, and who may use them.
@Suite struct PostgresMigrationTests {
  @Test(arguments: [
    (0, 0, "there is no state in the database yet; make one with: errand state init"),
    (
      2, 1,
      "the tables of the state are those of an older version (2 of 3 steps); bring them up to date with: errand state migrate"
    ),
    (3, 1, nil), (3, 3, nil), (4, 3, nil),
    (
      5, 4,
      "a newer version of errand changed the tables of the state (this one knows 3 of 5 steps, and 4 are needed); update errand on this machine"
    ),
  ]) func `a program that knows three steps uses tables that have them, unless more are needed`(
    _ steps: Int, _ needed: Int, _ refusal: String?
  ) {
    #expect(PostgresSchemaVersion(steps: steps, needed: needed).refusal(knowing: 3) == refusal)
  }

  private static let isInstalled = PostgresServer.isInstalled

  private static func failure<Outcome>(_ body: () async throws -> Outcome) async -> String {
    do {
      _ = try await body()
      return "nothing"
    } catch {
      guard case DatabaseError.unusable(let message) = error else { return "\(error)" }
      return message
    }
  }

  private static func run(_ statements: String..., on settings: PostgresSettings) async throws {
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    for statement in statements { try await connection.run(statement) }
  }

  @Test(.enabled(if: isInstalled)) func `it says what was done, and does it once`() async throws {
    let settings = try await PostgresServer.database()
    let none = PostgresSchemaVersion(steps: 0, needed: 0)
    let missing = await PostgresMigrationTests.failure {
      try await PostgresDatabase.migrate([settings], makesNew: false)
    }
    #expect(missing == none.refusal(knowing: 1))
    let first = try await PostgresDatabase.migrate([settings])
    #expect(first == PostgresDatabase.Migration(before: none, after: .current))
    let second = try await PostgresDatabase.migrate([settings], makesNew: false)
    #expect(second == PostgresDatabase.Migration(before: .current, after: .current))
  }

  @Test(.enabled(if: isInstalled)) func `tables of a newer version are left alone`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    try await PostgresMigrationTests.run("update errand.meta set value = '7' where key = 'schema'", on: settings)
    // They have what this version needs.
    await (try PostgresDatabase.open([settings])).close()
    let newer = PostgresSchemaVersion(steps: 7, needed: PostgresSchema.needed)
    #expect(
      try await PostgresDatabase.migrate([settings]) == PostgresDatabase.Migration(before: newer, after: newer))
    try await PostgresMigrationTests.run("update errand.meta set value = '6' where key = 'needed'", on: settings)
    let refusal = PostgresSchemaVersion(steps: 7, needed: 6).refusal(knowing: PostgresSchema.steps.count)
    #expect(await PostgresMigrationTests.failure { try await PostgresDatabase.open([settings]) } == refusal)
    #expect(await PostgresMigrationTests.failure { try await PostgresDatabase.migrate([settings]) } == refusal)
  }

  @Test(.enabled(if: isInstalled)) func `runs of an older version are counted, also those that it still adds`()
    async throws
  {
    let settings = try await PostgresServer.database()
    try await PostgresMigrationTests.run("create schema errand", on: settings)
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    try await connection.run("set search_path to errand")
    for statement in PostgresSchema.steps[0] { try await connection.run(statement) }
    try await connection.run("insert into meta values ('schema', '1'), ('needed', '1')")
    /// Adds a finished run as a program does that knows the first step alone.
    func add(_ number: Int, _ status: RunStatus) async throws {
      let id = "0199a3f2-4c00-7abc-8def-00000000000\(number)"
      let ended = try #require(Timestamp("2026-11-20T09:00:00Z"))
      var run = RunRecord(
        RunCreated(
          run: id, at: ended.advanced(by: .seconds(-5)) ?? ended, recipe: "r", file: "r.yaml",
          texts: .inline(.object([:])), inputs: .object([:]), program: "test"))
      (run.status, run.endedAt) = (status, ended)
      try await connection.run(
        "insert into finished values ($1, 'r', $2, $3, $4, null, $5, $6)", .uuid(id), .text(status.rawValue),
        .timestamp(run.createdAt), .timestamp(ended), .text(try RunSummary(run).storedText), .text(try run.storedText))
    }
    try await add(1, .succeeded)
    try await add(2, .failed)
    let before = PostgresSchemaVersion(steps: 1, needed: 1)
    #expect(
      try await PostgresDatabase.migrate([settings], makesNew: false)
        == PostgresDatabase.Migration(before: before, after: .current))
    try await add(3, .failed)
    let store = SharedStateStore(try await PostgresDatabase.open([settings]))
    func sums() async throws -> [String] {
      try await store.runSums(RunSumQuery(firstDay: 0)).map { "\($0.status) \($0.count) \($0.took)" }
    }
    #expect(try await sums() == ["failed 2 10000", "succeeded 1 5000"])
    // They have no group, and are removed like others.
    #expect(try await store.failures(from: .earliest).isEmpty)
    #expect(try await store.deleteRun("0199a3f2-4c00-7abc-8def-000000000002"))
    #expect(try await sums() == ["failed 1 5000", "succeeded 1 5000"])
    try await store.close()
  }

  @Test(.enabled(if: isInstalled)) func `a worker's role can do all but change tables`() async throws {
    let settings = try await PostgresServer.database()
    let name = settings.database
    try await PostgresMigrationTests.run(
      "create role owner_\(name) login", "create role \"Worker \(name)\" login", "create role other_\(name) login",
      "grant create on database \(name) to owner_\(name)", on: settings)
    func role(_ user: String) -> PostgresSettings {
      var role = settings
      role.user = user
      return role
    }
    let (owner, worker) = (role("owner_\(name)"), role("Worker \(name)"))
    let none = await PostgresMigrationTests.failure { try await PostgresDatabase.migrate([owner], granting: "nobody") }
    #expect(none == "there is no role 'nobody'; make it first, as with: create role \"nobody\" login password '…'")
    let unmade = await PostgresMigrationTests.failure { try await PostgresDatabase.open([owner]) }
    #expect(unmade == "there is no state in the database yet; make one with: errand state init")
    try await PostgresDatabase.migrate([owner], granting: worker.user)

    let store = SharedStateStore(try await PostgresDatabase.open([worker]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: true)
    let parts = "select coalesce(max(relname), '') from pg_class where relname ~ '^entry_[0-9]+$'"
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    let last = try #require(try await connection.run(parts).first?.text(0))
    try await connection.run("drop table errand.\(last)")
    #expect(try await connection.run(parts).first?.text(0) != last)
    await store.tidy(.usual)
    #expect(try await connection.run(parts).first?.text(0) == last)
    #expect(try await StoreConformance.faults(of: store) == [])
    try? await store.close()
    for statement in [
      "create table errand.more (a int)", "drop table errand.run", "alter table errand.run add a int",
      "truncate errand.entry",
    ] {
      let error = await #expect(throws: PostgresError.self) {
        try await PostgresMigrationTests.run(statement, on: worker)
      }
      #expect(error?.sqlState == "42501", "\(statement)")
    }
    let other = await PostgresMigrationTests.failure { try await PostgresDatabase.open([role("other_\(name)")]) }
    #expect(
      other
        == "the state belongs to the role owner_\(name), which lets other_\(name) use it with: errand state init --worker "
        + "other_\(name)")
  }
}
