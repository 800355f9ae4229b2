import Basics
import Foundation
import PostgresClient
import PostgresTestKit
import Testing

@Suite(.needsPostgres) struct PostgresConnectionTests {
  private static let entryTable = "create table entry (run uuid, n int, events text not null, primary key (run, n))"

  @Test func `the session is set up as the store needs it`() async throws {
    try await connected { connection in
      let names = [
        "default_transaction_isolation", "synchronous_commit", "TimeZone", "client_encoding", "application_name",
      ]
      var found: [String] = []
      for name in names {
        found.append(try #require(try await connection.run("select current_setting($1)", .text(name)).first?.text(0)))
      }
      #expect(found == ["read committed", "on", "UTC", "UTF8", "errand"])
    }
  }

  @Test func `statements in one round trip are done together or not at all`() async throws {
    try await connected { connection in
      try await connection.run("create table t (n int primary key check (n < 100))")
      let insert = "insert into t values ($1)"
      let results = try await connection.run([
        PostgresStatement(insert, .int32(1)), PostgresStatement(insert, .int32(2)),
        PostgresStatement("select count(*) from t"),
      ])
      #expect(results.map(\.affected) == [1, 1, 1])
      #expect(try results[2].first?.int64(0) == 2)

      let error = await failure {
        try await connection.run([
          PostgresStatement(insert, .int32(3)), PostgresStatement(insert, .int32(2)),
          PostgresStatement("select 'never prepared'"),
        ])
      }
      #expect(error?.kind == .refused)
      #expect(error?.isUniqueViolation == true)
      #expect(error?.severity == "ERROR")
      #expect(error?.constraint == "t_pkey")
      #expect(error?.table == "t")
      #expect(error?.detail == "Key (n)=(2) already exists.")
      #expect(
        error?.message == "PostgreSQL refused: duplicate key value violates unique constraint \"t_pkey\" (23505)")
      #expect(try await connection.run("select array_agg(n order by n) from t").first?.int32s(0) == [1, 2])
      // The error kept this statement from being prepared, so it is prepared now.
      #expect(try await connection.run("select 'never prepared'").first?.text(0) == "never prepared")
    }
  }

  @Test func `an error of the commit itself is an error of the statements`() async throws {
    try await connected { connection in
      try await connection.run("create table t (n int unique deferrable initially deferred)")
      let error = await failure { try await connection.run("insert into t values (1), (1)") }
      #expect(error?.kind == .refused)
      #expect(error?.isUniqueViolation == true)
      #expect(try await connection.run("select from t").count == 0)
    }
  }

  @Test func `messages don't repeat values`() async throws {
    try await connected { connection in
      let error = await failure { try await connection.run("select $1::int", .text("hunter2")) }
      #expect(error?.kind == .refused)
      #expect(error?.message == "PostgreSQL refused a value (22P02)")
    }
  }

  @Test func `a thousand entries are one statement, and those that are there are left out`() async throws {
    try await connected { connection in
      try await connection.run(Self.entryTable)
      let runs = (0..<1000).map { "019a9f5c-3c00-7abc-8def-" + String(format: "%012x", $0) }
      let insert = """
        insert into entry select * from unnest($1::uuid[], $2::int[], $3::text[]) on conflict do nothing returning run
        """
      let events = Array(repeating: String(repeating: "é", count: 240), count: 1000)
      func append(_ n: Int32) async throws -> [String] {
        try await connection.run(insert, .uuids(runs), .int32s(Array(repeating: n, count: 1000)), .texts(events)).rows
          .map {
            try $0.uuid(0)
          }
      }
      #expect(try await append(1) == runs)
      #expect(try await append(1) == [])
      try await connection.run("delete from entry where run = $1", .uuid(runs[7]))
      #expect(try await append(1) == [runs[7]])
      #expect(try await append(2).count == 1000)
      #expect(try await connection.run("select count(*), sum(length(events)) from entry").first?.int64(1) == 480_000)
    }
  }

  @Test func `callers at the same time are answered each with their own`() async throws {
    try await connected { connection in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for number in 0..<500 {
          group.addTask {
            let text = String(repeating: "\(number) ", count: number)
            let row = try await connection.run("select $1, $2", .int64(number), .text(text)).first
            return try row?.int64(0) == number && row?.text(1) == text
          }
        }
        for try await isOwn in group { #expect(isOwn) }
      }
    }
  }

  @Test func `a statement is prepared once for its types`() async throws {
    try await connected { connection in
      for number in 0..<3 { try await connection.run("select $1", .int64(number)) }
      try await connection.run("select $1", .text("x"))
      let texts = try await connection.run("select count(*) from pg_prepared_statements where statement = 'select $1'")
      #expect(try texts.first?.int64(0) == 2)
      // More than are kept.
      for number in 0..<510 { try await connection.run("select \(number)") }
      #expect(try await connection.run("select 509").first?.int32(0) == 509)
      let all = try #require(try await connection.run("select count(*) from pg_prepared_statements").first?.int64(0))
      #expect(all <= 501)
    }
  }

  @Test func `a statement is prepared anew after its table has changed`() async throws {
    try await connected { connection in
      try await connection.run("create table t (n int)")
      try await connection.run("select * from t")
      try await connection.run("alter table t add column m int")
      #expect(await failure { try await connection.run("select * from t") }?.sqlState == "0A000")
      try await connection.run("select * from t")
      try await connection.run("deallocate all")
      #expect(await failure { try await connection.run("select * from t") }?.sqlState == "26000")
      try await connection.run("select * from t")
    }
  }

  @Test func `a transaction has the connection for itself`() async throws {
    try await connected { connection in
      try await connection.run("create table t (n int)")
      let (inside, waiting) = try await connection.transaction { transaction in
        try await transaction.run("insert into t values (1)")
        // Others wait, and see only what was committed.
        let waiting = Task { try await connection.run("select count(*) from t").first?.int64(0) }
        for _ in 0..<20 { try await transaction.run("insert into t values (1)") }
        let count = try await transaction.run("select count(*) from t").first?.int64(0)
        _ = try await transaction.run([
          PostgresStatement("delete from t"), PostgresStatement("insert into t values (2)"),
        ])
        return (count, waiting)
      }
      #expect(inside == 21)
      #expect(try await waiting.value == 1)
      #expect(try await connection.run("select n from t").first?.int32(0) == 2)
    }
  }

  private struct Fault: Error {}

  @Test func `a transaction whose body throws is rolled back`() async throws {
    try await connected { connection in
      try await connection.run("create table t (n int unique)")
      await #expect(throws: Fault.self) {
        try await connection.transaction { transaction in
          try await transaction.run("insert into t values (1)")
          throw Fault()
        }
      }
      #expect(try await connection.run("select from t").isEmpty)
      // The body keeps the error for itself.
      let error = await failure {
        try await connection.transaction { transaction in
          try await transaction.run("insert into t values (1)")
          _ = try? await transaction.run("insert into t values (1)")
        }
      }
      #expect(error?.kind == .refused)
      #expect(error?.message == "PostgreSQL rolled the transaction back, because one of its statements failed")
      #expect(try await connection.run("select from t").isEmpty)
    }
  }

  @Test func `a transaction that is over takes no more statements`() async throws {
    try await connected { connection in
      let kept = try await connection.transaction { transaction in
        try await transaction.run("select 1")
        return transaction
      }
      #expect(await failure { try await kept.run("select 1") } == PostgresError(.invalid, "the transaction is over"))
      try await connection.transaction { _ in
        #expect(await failure { try await kept.run("select 1") } == PostgresError(.invalid, "the transaction is over"))
      }
    }
  }

  @Test func `a transaction without statements, and one whose first statement fails, leave nothing open`() async throws
  {
    try await connected { connection in
      try await connection.transaction { _ in }
      #expect(
        await failure { try await connection.transaction { try await $0.run("select 1 / 0") } }?.sqlState == "22012")
      #expect(await failure { try await connection.transaction { try await $0.run("no sql") } }?.sqlState == "42601")
      let results = try await connection.transaction { transaction in
        try await transaction.run([PostgresStatement("select 1"), PostgresStatement("select 2")])
      }
      #expect(try results.map { try $0.first?.int32(0) } == [1, 2])
      #expect(try await connection.run("select pg_current_xact_id_if_assigned()::text").first?.isNull(0) == true)
    }
  }

  @Test func `a connection that is let go is closed`() async throws {
    let settings = try await PostgresServer.database()
    try await connected(to: settings) { connection in
      for _ in 0..<20 {
        // It isn't kept.
        let other = try await PostgresConnection.open(settings)
        try await other.run("select 1")
      }
      try await waitUntil(
        connection, "select from pg_stat_activity where datname = current_database() having count(*) = 1")
    }
  }

  @Test func `a statement that begins a transaction ends the connection`() async throws {
    try await connected { connection in
      #expect(await failure { try await connection.run("begin") }?.kind == .protocolError)
      #expect(connection.isClosed)
    }
  }

  @Test func `copy is refused`() async throws {
    try await connected { connection in
      #expect(await failure { try await connection.run("copy pg_class to stdout") }?.kind == .protocolError)
      #expect(connection.isClosed)
    }
  }

  @Test func `a task that is cancelled cancels no statement`() async throws {
    try await connected { connection in
      try await connection.run("create table t (n int)")
      let task = Task { try await connection.run("insert into t select 1 from pg_sleep(0.05)") }
      task.cancel()
      #expect(try await task.value.affected == 1)
    }
  }

  @Test func `deadlocks and other errors are told apart`() async throws {
    let settings = try await PostgresServer.database()
    try await connected(to: settings) { first in
      try await connected(to: settings) { second in
        try await first.run("create table t (n int primary key, m int)")
        try await first.run("insert into t values (1), (2)")
        let update = "update t set m = 1 where n = $1"
        func lock(_ connection: PostgresConnection, _ one: Int32, _ other: Int32) async throws {
          try await connection.transaction { transaction in
            try await transaction.run(update, .int32(one))
            try await transaction.run("select pg_advisory_lock($1)", .int64(Int(one)))
            // Until the other has its row, too.
            while try await transaction.run(
              "select from pg_locks where locktype = 'advisory' and objid = $1 and database = (select oid from pg_database where datname = current_database())",
              .int64(Int(other))
            ).isEmpty {}
            try await transaction.run(update, .int32(other))
          }
        }
        async let a: Void = lock(first, 1, 2)
        async let b: Void = lock(second, 2, 1)
        var errors: [PostgresError] = []
        do { try await a } catch let error as PostgresError { errors.append(error) }
        do { try await b } catch let error as PostgresError { errors.append(error) }
        #expect(errors.map(\.isSerializationFailure) == [true])
        try await first.run("set default_transaction_read_only = on")
        #expect(await failure { try await first.run(update, .int32(1)) }?.isReadOnly == true)
      }
    }
  }

  @Test func `notifications come until the connection ends`() async throws {
    let settings = try await PostgresServer.database()
    try await connected(to: settings) { listener in
      try await connected(to: settings) { speaker in
        try await listener.listen(to: "errand \"due\"")
        try await speaker.run("select pg_notify($1, $2)", .text("errand \"due\""), .text("é 1"))
        try await speaker.run("select pg_notify($1, '')", .text("errand \"due\""))
        var iterator = listener.notifications.makeAsyncIterator()
        #expect(await iterator.next() == PostgresNotification(channel: "errand \"due\"", payload: "é 1"))
        #expect(await iterator.next() == PostgresNotification(channel: "errand \"due\"", payload: ""))
        let own = try #require(try await listener.run("select pg_backend_pid()").first?.int32(0))
        try await speaker.run("select pg_terminate_backend($1)", .int32(own))
        #expect(await iterator.next() == nil)
        let error = await failure { try await listener.run("select 1") }
        #expect(error?.kind == .unreachable)
        #expect(error?.isShutdown == true)
        #expect(
          error?.message
            == "the connection to PostgreSQL at \(settings) is closed: PostgreSQL refused: terminating connection due to administrator command (57P01)"
        )
      }
    }
  }

  @Test func `closing with work under way answers everyone`() async throws {
    try await connected { connection in
      let sent = Task { await failure { try await connection.run("select pg_sleep(60)") } }
      try await connected(to: connection.settings) { other in
        let sleeping = "query = 'select pg_sleep(60)' and state = 'active' and datname = current_database()"
        try await waitUntil(other, "select from pg_stat_activity where \(sleeping)")
      }
      let waiting = Task { await failure { try await connection.run("select 1") } }
      let transaction = Task { await failure { try await connection.transaction { _ in } } }
      connection.close()
      connection.close()
      let error = await sent.value
      #expect(error == PostgresError(.unknown, "the statement may have been carried out: it was closed"))
      let place = "\(connection.settings)"
      let closed = PostgresError(.unreachable, "the connection to PostgreSQL at \(place) is closed: it was closed")
      #expect(await waiting.value == closed)
      #expect(await transaction.value == closed)
      #expect(await failure { try await connection.run("select 1") } == closed)
    }
  }
}
