import Basics
package import PostgresClient
package import RunState

/// How many of the steps of `PostgresSchema` a database has made.
///
/// A program uses a database that has made all steps it knows. One that has made more was brought up to date by a newer
/// program: steps only add, so that older programs use it as well, until one that removes something says how many steps
/// a program has to know at least.
package struct PostgresSchemaVersion: Sendable, Equatable {
  /// 0 where there is no state yet.
  package var steps: Int
  /// The number of steps that a program has to know.
  package var needed: Int
  /// Where the state was moved to, if it was.
  package var moved: MovedState?

  /// The version of a database on which this program has made all its steps.
  package static let current = PostgresSchemaVersion(steps: PostgresSchema.steps.count, needed: PostgresSchema.needed)

  /// Why a program can't use the database that knows so many steps; nil if it can.
  func refusal(knowing known: Int) -> String? {
    if steps == 0 { return "there is no state in the database yet; make one with: errand state init" }
    if steps < known {
      return
        "the tables of the state are those of an older version (\(steps) of \(known) steps); bring them up to date "
        + "with: errand state migrate"
    }
    return newness(knowing: known) ?? movedAway
  }

  fileprivate var movedAway: String? {
    moved.map {
      "the state in the database \($0.told), run in it with psql: delete from errand.meta where key = 'moved'"
    }
  }

  /// Why a program can't even change the database.
  func newness(knowing known: Int) -> String? {
    if needed <= known { return nil }
    return
      "a newer version of errand changed the tables of the state (this one knows \(known) of \(steps) steps, and "
      + "\(needed) are needed); update errand on this machine"
  }
}

extension PostgresDatabase {
  /// The versions before and after a migration.
  package struct Migration: Sendable, Equatable {
    package var before: PostgresSchemaVersion
    package var after: PostgresSchemaVersion
  }

  /// Makes the tables, or migrates tables of an earlier version.
  ///
  /// - Parameters:
  ///   - makesNew: Whether to make the tables in an empty database.
  ///   - worker: A role to be allowed to read and write rows, but not to change tables.
  @discardableResult package static func migrate(
    _ hosts: [PostgresSettings], makesNew: Bool = true, granting worker: String? = nil
  ) async throws(DatabaseError) -> Migration {
    // A step waits for other programs, and may go through all rows.
    let patient = hosts.map { host in
      var host = host
      host.answerWithin = .seconds(3600)
      return host
    }
    // Whether there is a server at all is known sooner.
    let first = PostgresSource(PostgresTimeline(hosts))
    let source = PostgresSource(PostgresTimeline(patient))
    let result: Result<Migration, DatabaseError>
    do throws(DatabaseError) {
      try await first.ask { connection throws(PostgresError) in _ = try await connection.run("select 1") }
      result = .success(
        try await source.transact { transaction throws(PostgresError) in
          try await migrate(transaction, makesNew: makesNew, granting: worker)
        })
    } catch {
      result = .failure(error)
    }
    await first.close()
    await source.close()
    return try result.get()
  }

  private static func migrate(
    _ transaction: PostgresTransaction, makesNew: Bool, granting worker: String?
  ) async throws(PostgresError) -> Migration {
    try await transaction.run("select pg_advisory_xact_lock(hashtextextended('errand.schema', 0))")
    let before = try await PostgresSchemaVersion.read { statement throws(PostgresError) in
      try await transaction.run(statement)
    }
    let current = PostgresSchemaVersion.current
    if let refusal = before.newness(knowing: current.steps) { throw PostgresError(.invalid, refusal) }
    if before.steps == 0 {
      if !makesNew, let refusal = before.refusal(knowing: current.steps) { throw PostgresError(.invalid, refusal) }
      let right = try await transaction.run(
        """
        select has_database_privilege(current_database(), 'create'), quote_ident(current_database()),
          quote_ident(current_user)
        """
      ).first
      if let right, try !right.bool(0) {
        throw PostgresError(
          .invalid,
          "the role \(try right.text(2)) may not make the state; the owner of the database lets it with: grant create on "
            + "database \(try right.text(1)) to \(try right.text(2));")
      }
      try await transaction.run("create schema if not exists errand")
    }
    for step in PostgresSchema.steps.dropFirst(before.steps) {
      for statement in step { try await transaction.run(statement) }
    }
    var after = before.steps < current.steps ? current : before
    after.moved = before.moved
    if after != before {
      for (key, value) in [("schema", after.steps), ("needed", after.needed)] {
        try await transaction.run(
          "insert into meta values ($1, $2) on conflict (key) do update set value = excluded.value", .text(key),
          .text("\(value)"))
      }
    }
    try await transaction.run(
      "insert into meta values ('timeline', \(PostgresTimeline.expression)::text) on conflict do nothing")
    try await transaction.run("select make_partitions()::text")
    if let worker { try await grant(to: worker, transaction) }
    if let refusal = after.movedAway { throw PostgresError(.invalid, refusal) }
    return Migration(before: before, after: after)
  }

  /// Lets a role work on the state: tables that are made later included.
  private static func grant(to name: String, _ transaction: PostgresTransaction) async throws(PostgresError) {
    let quoted = "\"\(name.replacing("\"", with: "\"\""))\""
    if try await transaction.run("select from pg_roles where rolname = $1", .text(name)).isEmpty {
      throw PostgresError(
        .invalid, "there is no role '\(name)'; make it first, as with: create role \(quoted) login password '…'")
    }
    let role = quoted
    let rows = "select, insert, update, delete on tables to \(role)"
    for statement in [
      "grant usage on schema errand to \(role)",
      "grant select, insert, update, delete on all tables in schema errand to \(role)",
      "alter default privileges in schema errand grant \(rows)",
    ] {
      try await transaction.run(statement)
    }
    // What the role may not grant, PostgreSQL only warns of.
    let right = try await transaction.run(
      """
      select has_table_privilege($1, c.oid, 'insert') and has_schema_privilege($1, n.oid, 'usage'),
        pg_get_userbyid(c.relowner)::text
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'errand' and c.relname = 'run'
      """, .text(name)
    ).first
    if let right, try !right.bool(0) {
      throw PostgresError(
        .invalid, "only the role \(try right.text(1)), which owns the state, can let others work on it")
    }
  }
}

extension PostgresSchemaVersion {
  static func read(
    _ run: (String) async throws(PostgresError) -> PostgresResult
  ) async throws(PostgresError) -> PostgresSchemaVersion {
    var found: [String: Int] = [:]
    var moved: MovedState?
    let table = try await run(
      """
      select pg_get_userbyid(c.relowner)::text, current_user::text
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'errand' and c.relname = 'meta'
      """
    ).first
    if let table {
      do throws(PostgresError) {
        for row in try await run("select key, value from errand.meta where key in ('schema', 'needed', 'moved')").rows {
          found[try row.text(0)] = Int(try row.text(1))
          if try row.text(0) == "moved" { moved = try? MovedState(text: row.text(1)) }
        }
      } catch {
        guard error.sqlState == "42501" else { throw error }
        throw PostgresError(
          .invalid,
          "the state belongs to the role \(try table.text(0)), which lets \(try table.text(1)) use it with: errand state "
            + "init --worker \(try table.text(1).shellQuoted)")
      }
    }
    let steps = found["schema"] ?? 0
    return PostgresSchemaVersion(steps: steps, needed: found["needed"] ?? steps, moved: moved)
  }
}
