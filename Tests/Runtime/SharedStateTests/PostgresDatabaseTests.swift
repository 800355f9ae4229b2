import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// The state in real PostgreSQL servers.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed")) struct PostgresDatabaseTests {
  /// A store in a new database.
  private static func store() async throws -> SharedStateStore {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(
      try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: true)
    store.observeWaiting { Issue.record("\($0.message)") }
    return store
  }

  @Test func `It does what every store of the state does`() async throws {
    #expect(try await StoreConformance.faults(of: Self.store()) == [])
  }

  @Test func `The key of the links is written once and then only read, and the state has a size`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let stores = [
      SharedStateStore(try await PostgresDatabase.open([settings])),
      SharedStateStore(try await PostgresDatabase.open([settings])),
    ]
    let key = try await stores[0].linkKey()
    let connection = try await PostgresConnection.open(settings)
    // Each write of a row makes another version of it.
    func version() async throws -> String? {
      try await connection.run("select xmin::text from errand.meta where key = 'linkKey'").first?.text(0)
    }
    let before = try #require(try await version())
    for store in stores { #expect(try await store.linkKey() == key) }
    #expect(try await version() == before)
    let renewed = try await stores[1].linkKey(renewed: true)
    #expect(try await stores[0].linkKey() == renewed && renewed != key)
    #expect(try await version() != before)
    #expect(try #require(await stores[0].size()) > 100_000)
    connection.close()
    for store in stores { try await store.close() }
  }

  @Test func `A database without tables is refused with the command that makes them`() async throws {
    let settings = try await PostgresServer.database()
    let error = await #expect(throws: DatabaseError.self) { _ = try await PostgresDatabase.open([settings]) }
    #expect(
      error == .unusable("there is no state in the database yet; make one with: errand state init"))
  }

  @Test func `Tables are made once, also by several at once`() async throws {
    let settings = try await PostgresServer.database()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 { group.addTask { try await PostgresDatabase.migrate([settings]) } }
      try await group.waitForAll()
    }
    let database = try await PostgresDatabase.open([settings])
    #expect(try await database.itemCount(ItemQuery(.value)) == 0)
    await database.close()
  }
}
