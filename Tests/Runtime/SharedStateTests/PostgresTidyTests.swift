import Basics
import PostgresClient
import PostgresTestKit
import RunState
import SharedState
import Testing

/// What a database forgets.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed")) struct PostgresTidyTests {
  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 100_000_000_000))" }

  private static func count(_ query: String, _ connection: PostgresConnection) async throws -> Int {
    try await connection.run(query).first?.int64(0) ?? -1
  }

  @Test func `What is old or too much goes, and what is open stays`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test"))
    try await store.join(takingUp: false)
    let now = SystemTime().now()
    for number in 1...6 {
      var created = RunCreated(
        run: Self.id(number), at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
        program: "test")
      created.key = RunKey("k\(number)", caller: "ana")
      try await store.append(.runCreated(created))
      store.keepPrinted(
        [PrintedLine(step: "s", attempt: 1, stream: .output, at: now, text: "line \(number)")], ofRun: Self.id(number)
      ) { _ in }
      // The last one stays open.
      if number < 6 {
        try await store.append(.runEnded(RunEnded(run: Self.id(number), at: now, status: .succeeded)))
      }
      #expect(try await store.printed(ofRun: Self.id(number), from: 0).lines.count == 1)
    }
    let connection = try await PostgresConnection.open(settings)
    try await connection.run("set search_path to errand")
    // Two ended long ago, and of the tables of two weeks one holds the open run.
    try await connection.run(
      "update finished set ended_at = now() - interval '400 days' where id = any($1)", .uuids([Self.id(1), Self.id(2)]))
    try await connection.run("update item set at = at - interval '9 days' where kind = 'key'")
    try await connection.run("update receipt set at = at - interval '2 days'")
    let first = 0x0199_A3F2_4C00 / 604_800_000
    for week in [first, first - 9] {
      func bound(_ week: Int) -> String {
        let digits = String(week * 604_800_000, radix: 16)
        return String(repeating: "0", count: 12 - digits.count) + digits + String(repeating: "0", count: 20)
      }
      if week == first { try await connection.run("create table kept as select * from entry_other") }
      if week == first { try await connection.run("delete from entry_other") }
      try await connection.run(
        "create table entry_\(week) partition of entry for values from ('\(bound(week))') to ('\(bound(week + 1))')")
    }
    try await connection.run("insert into entry select * from kept")
    await store.tidy(Retention(runs: 2, runsFor: .seconds(365 * 86_400)))

    #expect(try await store.finishedRuns(HistoryQuery()).map(\.id).sorted() == [Self.id(4), Self.id(5)])
    #expect(try await Self.count("select count(*) from line", connection) == 3)
    #expect(try await Self.count("select count(*) from receipt", connection) == 0)
    // The key of an open run stays, however old it is.
    #expect(try await Self.count("select count(*) from item where kind = 'key'", connection) == 1)
    let tables = "select count(*) from pg_class where relname = 'entry_"
    #expect(try await Self.count("\(tables)\(first)'", connection) == 1)
    #expect(try await Self.count("\(tables)\(first - 9)'", connection) == 0)
    try await store.append(.runEnded(RunEnded(run: Self.id(6), at: now, status: .succeeded)))
    await store.tidy(.everything)
    #expect(try await Self.count("\(tables)\(first)'", connection) == 0)
    #expect(try await store.finishedRuns(HistoryQuery()).count == 3)
    connection.close()
    try await store.close()
  }
}
