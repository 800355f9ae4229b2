// The state's database in PostgreSQL.
package import Basics
package import PostgresClient
package import RunState
import Synchronization

/// A program's connections to the state in PostgreSQL: one for entries, one for transactions, and one for reading.
///
/// The next statement replaces a lost connection. If there are several hosts, all are asked at once, and the one that
/// takes writes is used. Two may take writes, if one doesn't know yet that the other was promoted: then the one with
/// the highest timeline is used. A server with a lower timeline than was seen before is never used again.
package final class PostgresDatabase: SharedDatabase {
  private let servers: PostgresTimeline
  private let appending: PostgresSource
  private let transacting: PostgresSource
  private let reading: PostgresSource
  package let hints: AsyncStream<Void>
  private let hinting: AsyncStream<Void>.Continuation
  package let scheduleHints: AsyncStream<ScheduleHint>
  private let scheduleHinting: AsyncStream<ScheduleHint>.Continuation
  /// The connection for appending, and the runs whose complete logs are known to be on its server.
  private let known = Mutex<(connection: ObjectIdentifier?, runs: Set<String>)>((nil, []))
  private static let mostKnown = 10_000
  /// How often a worker asked to lead.
  private let leads = Mutex((worker: 0, count: 0))
  /// The worker whose hints are passed on.
  private let listening = Mutex<Int?>(nil)
  private let watching = Mutex<[Task<Void, Never>]>([])

  package var timeline: Int { servers.seen }

  package func clock() async throws(DatabaseError) -> Timestamp {
    try await reading.ask { connection throws(PostgresError) in
      // From a table, so that a missing state is noticed as well as an unreachable server.
      guard let row = try await connection.run("select clock_timestamp(), (select count(*) from leader)").first else {
        throw PostgresError(.protocolError, "the server says no time")
      }
      return try row.timestamp(0)
    }
  }

  private init(_ timeline: PostgresTimeline) {
    servers = timeline
    appending = PostgresSource(timeline)
    transacting = PostgresSource(timeline)
    (hints, hinting) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    (scheduleHints, scheduleHinting) = AsyncStream.makeStream(
      of: ScheduleHint.self, bufferingPolicy: .bufferingNewest(64))
    reading = PostgresSource(timeline)
  }

  /// Listens on this connection and its successors, and passes on hints that concern this program.
  private func hear() async {
    await reading.listen(to: "errand") { [weak self] payload in
      guard let self else { return }
      if payload == "schedules" { return _ = scheduleHinting.yield(.changed) }
      if payload == "lead" { return _ = scheduleHinting.yield(.vacant) }
      guard payload == "due" || listening.withLock({ $0 }).map({ "\($0)" }) == payload else { return }
      hinting.yield()
    }
  }

  /// Connects to the state.
  ///
  /// - Parameter hosts: The servers; one of them takes writes.
  package static func open(_ hosts: [PostgresSettings]) async throws(DatabaseError) -> PostgresDatabase {
    let database = PostgresDatabase(PostgresTimeline(hosts))
    do throws(DatabaseError) {
      let version = try await database.reading.ask { connection throws(PostgresError) in
        try await PostgresSchemaVersion.read { statement throws(PostgresError) in try await connection.run(statement) }
      }
      if let refusal = version.refusal(knowing: PostgresSchemaVersion.current.steps) { throw .unusable(refusal) }
    } catch {
      await database.close()
      throw error
    }
    await database.hear()
    if hosts.count > 1 { database.watch(hosts.count) }
    return database
  }

  /// Makes connections with other settings from now on, as with another password.
  package func use(_ hosts: [PostgresSettings]) { servers.hosts = hosts }

  /// Checks whether another server has taken over, because open connections don't show it.
  private func watch(_ count: Int) {
    // Cancelled by `close`.
    let tasks = (0..<count).map { index in Task { [servers] in await servers.watch(index, SystemTime()) } }
    watching.withLock { $0 = tasks }
  }

  package func close() async {
    for task in watching.withLock({ $0 }) { task.cancel() }
    await appending.close()
    await transacting.close()
    await reading.close()
    hinting.finish()
    scheduleHinting.finish()
  }

  // MARK: Logs

  package func append(
    _ entries: [LogEntry], changing rows: [OpenRunRow]
  ) async throws(DatabaseError) -> Set<String> {
    var values = SQL.columns(entries)
    if !rows.isEmpty {
      values += [
        .uuids(rows.map(\.id)), .texts(rows.map(\.status)), .timestamps(rows.map { $0.wakeAt ?? .latest }),
        .texts(rows.map(\.waitsForText)), .int32s(rows.map { $0.needsPerson ? 1 : 0 }),
        .texts(rows.map { $0.home ?? "" }), .texts(rows.map(\.needsText)),
      ]
    }
    return try await appending.ask { [self, values] connection throws(PostgresError) in
      // Another connection may be one to a server that was behind.
      let isKnown = known.withLock { known in
        if known.connection != ObjectIdentifier(connection) || known.runs.count > PostgresDatabase.mostKnown {
          known = (ObjectIdentifier(connection), [])
        }
        return entries.allSatisfy { known.runs.contains($0.run) }
      }
      var statement = PostgresStatement(
        isKnown
          ? rows.isEmpty ? SQL.append : SQL.appendChanging
          : rows.isEmpty ? SQL.appendNext : SQL.appendNextChanging)
      statement.values = values
      var kept: Set<String> = []
      for result in try await connection.run([statement]) {
        for row in result.rows { kept.insert(try row.uuid(0)) }
      }
      if !isKnown {
        known.withLock { [kept] known in
          if known.connection == ObjectIdentifier(connection) { known.runs.formUnion(kept) }
        }
      }
      return kept
    }
  }

  package func entries(of run: String, after number: Int, isSure: Bool) async throws(DatabaseError) -> [LogEntry]? {
    guard run.isUUID else { return nil }
    return try await reading.ask { connection throws(PostgresError) in
      var statements = [
        PostgresStatement("select 1::int4 from run where id = $1", .uuid(run)),
        PostgresStatement(
          "select run, number, epoch, sum, events from entry where run = $1 and number > $2 order by number",
          .uuid(run), .int64(number)),
      ]
      // The insert is acknowledged only once the entries before it are, too.
      if isSure { statements.append(PostgresStatement("insert into receipt (id) values (gen_random_uuid()::text)")) }
      let found = try await connection.run(statements)
      guard found.count >= 2, !found[0].isEmpty else { return nil }
      return try found[1].rows.map { row throws(PostgresError) in try SQL.entry(row) }
    }
  }

  package func fold(_ logs: [(run: String, log: FoldedLog)]) async throws(DatabaseError) {
    let statements = logs.map { run, log in
      PostgresStatement(
        "update run set fold = $2, fold_number = $3, fold_sum = $4 where id = $1 and fold_number < $3", .uuid(run),
        .text(log.text), .int64(log.number), .int64(Int(truncatingIfNeeded: log.sum)))
    }
    try await reading.ask { connection throws(PostgresError) in _ = try await connection.run(statements) }
  }

  package func transact<Outcome: Sendable>(
    _ body: @Sendable (any DatabaseTransaction) async throws(DatabaseError) -> Outcome
  ) async throws(DatabaseError) -> Outcome {
    try await transacting.transact(throwing: DatabaseError.self) { transaction throws(DatabaseError) in
      try await body(PostgresStateTransaction(transaction))
    }
  }

  // MARK: Workers

  package func sinceTakeover() async throws(DatabaseError) -> TimeSpan? {
    try await reading.ask { connection throws(PostgresError) in
      guard let row = try await connection.run(SQL.sinceTakeover).first, try !row.isNull(0) else { return nil }
      return max(.zero, .milliseconds(try row.int64(0) / 1000))
    }
  }

  package func register(
    _ terms: WorkerTerms, lease: TimeSpan, isAgain: Bool
  ) async throws(DatabaseError) -> WorkerIdentity {
    let id = try await reading.ask { connection throws(PostgresError) in
      if !isAgain {
        _ = try await connection.run(
          "delete from meta where key = 'draining ' || $1 || ' ' || $2", .text(terms.name), .text(terms.home))
      }
      return try await connection.run(
        """
        insert into worker (name, host, pid, program, offers, queues, capacity, home, lease_until, is_draining)
        select $1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 microsecond',
          exists (select 1 from meta where key = 'draining ' || $1 || ' ' || $8)
        where not exists (select 1 from meta where key = 'moved') returning id
        """, .text(terms.name), .text(terms.host), .int32(Int32(clamping: terms.pid)), .text(terms.program),
        .texts(Array(terms.offers)), .texts(Array(terms.queues)), .int32(Int32(clamping: terms.capacity)),
        .text(terms.home), .int64(lease.nanoseconds / 1000)
      ).first?.int64(0)
    }
    guard let id else { throw .unusable("the state was moved elsewhere") }
    listening.withLock { $0 = id }
    return WorkerIdentity(id: id)
  }

  package func change(_ worker: WorkerIdentity, to terms: WorkerTerms) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        "update worker set name = $2, offers = $3, queues = $4, capacity = $5 where id = $1", .int64(worker.id),
        .text(terms.name), .texts(Array(terms.offers)), .texts(Array(terms.queues)),
        .int32(Int32(clamping: terms.capacity)))
    }
  }

  package func renew(_ worker: WorkerIdentity, lease: TimeSpan) async throws(DatabaseError) -> LeaseRenewal {
    // Not behind queries, which may take as long as a lease.
    try await appending.ask { connection throws(PostgresError) in
      let row = try await connection.run(SQL.renew, .int64(worker.id), .int64(lease.nanoseconds / 1000)).first
      guard let row else { return .over }
      return .renewed(isDraining: try row.bool(0), hasDead: try row.bool(1), holding: try row.int64(2))
    }
  }

  package func removeExpired(lease: TimeSpan) async throws(DatabaseError) -> [String] {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(SQL.shortened, .int64(lease.nanoseconds / 1000))
      let results = try await connection.run([
        PostgresStatement(
          """
          with dead as (delete from worker where id in (
              select id from worker where lease_until < clock_timestamp() for update skip locked) returning name),
            told as (select pg_notify('errand', 'due') from dead limit 1)
          select name from dead where (select count(*) from told) >= 0 order by name
          """),
        // After that, so that it sees what was claimed until then.
        PostgresStatement(SQL.freed),
      ])
      return try results[0].rows.map { row throws(PostgresError) in try row.text(0) }
    }
  }

  package func leave(_ worker: WorkerIdentity) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run([
        // First, because it waits for claims that are under way.
        PostgresStatement("delete from worker where id = $1", .int64(worker.id)),
        PostgresStatement("update run set owner = null, has_news = true where owner = $1", .int64(worker.id)),
        PostgresStatement("select pg_notify('errand', 'due')"),
      ])
    }
  }

  package func claim(
    _ worker: WorkerIdentity, _ terms: WorkerTerms, most: Int, at instant: Timestamp
  ) async throws(DatabaseError) -> [ClaimedRun] {
    try await transacting.transact { transaction throws(PostgresError) in
      // Only a worker with a lease may claim runs; the lock keeps other programs from ending the lease meanwhile.
      let found = try await transaction.run([
        SQL.lease(of: worker),
        PostgresStatement(
          SQL.due, .texts(Array(terms.queues)), .texts(Array(terms.offers)), .text(terms.home), .int64(most),
          .timestamp(instant)),
      ])
      guard found.count == 2, let lease = found[0].first, try !lease.bool(0), !found[1].isEmpty else { return [] }
      return try await PostgresDatabase.claim(found[1], worker, terms, at: instant, in: transaction)
    }
  }

  /// Claims runs whose rows are locked.
  private static func claim(
    _ found: PostgresResult, _ worker: WorkerIdentity, _ terms: WorkerTerms, at instant: Timestamp,
    in transaction: PostgresTransaction
  ) async throws(PostgresError) -> [ClaimedRun] {
    var epochs: [String: Int] = [:]
    var suspects: Set<String> = []
    for row in found.rows {
      // One that can't be is as bad as a log that can't be read.
      let (epoch, isOver) = try row.int64(8).addingReportingOverflow(1)
      if epoch > 0, !isOver { epochs[try row.uuid(0)] = epoch }
      if try row.bool(9) { suspects.insert(try row.uuid(0)) }
    }
    var claimed: [ClaimedRun] = []
    var entries: [LogEntry] = []
    let read = try SQL.logs(found)
    let logs = read.filter { $0.damage == nil && epochs[$0.record.id] != nil }
    let damaged = Set(read.map(\.record.id)).subtracting(logs.map(\.record.id))
    if !damaged.isEmpty { try await transaction.run(SQL.park, .uuids(Array(damaged))) }
    for log in logs {
      guard let epoch = epochs[log.record.id] else { continue }
      do throws(StateError) {
        let (run, entry) = try log.claim(
          epoch, by: terms.name, at: instant, isSuspect: suspects.contains(log.record.id))
        claimed.append(ClaimedRun(log: run, epoch: epoch))
        entries.append(entry)
      } catch {
        throw PostgresError(.protocolError, error.message)
      }
    }
    var write = PostgresStatement(SQL.insert)
    write.values = SQL.columns(entries)
    _ = try await transaction.run([
      write,
      PostgresStatement(
        "update run set owner = $1, epoch = epoch + 1, has_news = false, is_suspect = false where id = any($2)",
        .int64(worker.id), .uuids(entries.map(\.run))),
    ])
    return claimed
  }

  package func claim(
    _ run: String, _ worker: WorkerIdentity, _ terms: WorkerTerms, anyway: Bool, at instant: Timestamp
  ) async throws(DatabaseError) -> RunClaim {
    guard run.isUUID else { return .over }
    return try await transacting.transact { transaction throws(PostgresError) in
      let lease = try await transaction.run([SQL.lease(of: worker)]).first?.first
      guard let lease else { throw PostgresError(.unreachable, "the lease on runs is over") }
      if try lease.bool(0) { return .draining }
      let found = try await transaction.run(SQL.locked, .uuid(run))
      guard let row = found.first else { return .over }
      if let owner = try row.isNull(0) ? nil : row.int64(0) { return .held(by: try row.text(1), id: owner) }
      let missing = try row.texts(2).filter { !terms.offers.contains($0) }
      let home = try row.isNull(3) ? nil : row.text(3)
      let isElsewhere = home != nil && home != terms.home
      if !anyway, !missing.isEmpty || isElsewhere {
        return .missing(missing + (isElsewhere ? [RunNeed.home(home ?? "")] : []))
      }
      let log = try await transaction.run(SQL.log, .uuid(run))
      if let damage = try SQL.logs(log).first?.damage { throw PostgresError(.protocolError, damage) }
      let claimed = try await PostgresDatabase.claim(log, worker, terms, at: instant, in: transaction)
      return claimed.first.map { .claimed($0) } ?? .over
    }
  }

  package func release(_ run: String, at number: Int, of worker: WorkerIdentity) async throws(DatabaseError) -> Bool {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        update run set owner = null where id = $1 and owner = $2 and not has_news
          and not exists (select 1 from entry where entry.run = run.id and number > $3) returning id
        """, .uuid(run), .int64(worker.id), .int64(number)
      ).isEmpty == false
    }
  }

  package func abandon(_ claims: [String: Int], of worker: WorkerIdentity) async throws(DatabaseError) {
    let claims = Array(claims)
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        """
        with freed as (update run set owner = null, has_news = true where owner = $3
            and (id, epoch) in (select * from unnest($1::uuid[], $2::int8[])) returning id)
        select pg_notify('errand', 'due') from freed limit 1
        """, .uuids(claims.map(\.key)), .int64s(claims.map(\.value)), .int64(worker.id))
    }
  }

  package func enter(_ run: String, in group: String, limit: Int) async throws(DatabaseError) -> Bool {
    guard run.isUUID else { return true }
    return try await transacting.transact { transaction throws(PostgresError) in
      // With a statement of its own, so that the next one sees what was done under the lock before.
      try await transaction.run("select pg_advisory_xact_lock(hashtextextended($1, 0))", .text("group \(group)"))
      return try await transaction.run(SQL.enter, .uuid(run), .text(group), .int64(limit)).isEmpty == false
    }
  }

  package func wakeQueued() async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in _ = try await connection.run(SQL.wakeQueued) }
  }

  package func queue(
    _ call: String, on connection: String, of worker: WorkerIdentity
  ) async throws(DatabaseError) -> Int {
    try await reading.transact { transaction throws(PostgresError) in
      // In turn, so that their numbers are in the order of the commits; with statements of their own, as above.
      let results = try await transaction.run([
        PostgresStatement("select pg_advisory_xact_lock(hashtextextended($1, 0))", .text("call \(connection)")),
        PostgresStatement(
          """
          insert into connection_call (id, connection, worker) select $1, $2, id from worker where id = $3
          on conflict do nothing
          """, .text(call), .text(connection), .int64(worker.id)),
        PostgresStatement(
          """
          select (select count(*) from connection_call o where o.connection = c.connection and o.number < c.number)
          from connection_call c where id = $1
          """, .text(call)),
      ])
      guard let row = results.last?.first else { throw PostgresError(.unreachable, "the lease on runs is over") }
      return try row.int64(0)
    }
  }

  package func endCalls(_ calls: [String]) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run("delete from connection_call where id = any($1)", .texts(calls))
    }
  }

  package func places(of runs: [String], onlyParked: Bool) async throws(DatabaseError) -> [String: RunPlace] {
    let ids = runs.filter(\.isUUID)
    return try await reading.ask { connection throws(PostgresError) in
      var places: [String: RunPlace] = [:]
      for row in try await connection.run(SQL.places, .uuids(ids), .bool(onlyParked)).rows {
        places[try row.uuid(6)] = RunPlace(
          worker: try row.isNull(0) ? nil : try row.text(0), missing: try row.texts(1),
          home: try row.isNull(3) ? nil : row.text(3), queue: try row.isNull(4) ? nil : row.text(4),
          hasWorkers: try row.bool(5), hasWorker: try row.bool(2))
      }
      return places
    }
  }

  package func pulse() async throws(DatabaseError) -> String {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(SQL.pulse).first?.text(0) ?? ""
    }
  }

  package func size() async throws(DatabaseError) -> Int {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        select coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8
        from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'errand' and c.relkind = 'r'
        """
      ).first?.int64(0) ?? 0
    }
  }

  package func version() async throws(DatabaseError) -> String? {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(SQL.version).first?.text(0)
    }
  }

  package func tell(_ run: String) async throws(DatabaseError) {
    guard run.isUUID else { return }
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        """
        with told as (update run set has_news = true where id = $1 returning owner)
        select pg_notify('errand', coalesce(owner::text, 'due')) from told
        """, .uuid(run))
    }
  }

  package func takeNews(of worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int] {
    try await claims("update run set has_news = false where owner = $1 and has_news returning id, epoch", worker)
  }

  package func untilDue(_ terms: WorkerTerms, at instant: Timestamp) async throws(DatabaseError) -> TimeSpan? {
    let microseconds = try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        select (extract(epoch from greatest(min(due_at), least(clock_timestamp(), $4)) - least(clock_timestamp(), $4))
          * 1000000)::int8
        from run where owner is null and queue = any($1) and needs <@ $2 and (home is null or home = $3)
          and due_at < '9999-01-01Z' having count(*) > 0
        """, .texts(Array(terms.queues)), .texts(Array(terms.offers)), .text(terms.home), .timestamp(instant)
      ).first?.int64(0)
    }
    return microseconds.map { $0 <= 0 ? .zero : .milliseconds($0 / 1000 + 1) }
  }

  // MARK: Looking at workers and steering them

  package func gone(among runs: [String]) async throws(DatabaseError) -> Set<String> {
    try await reading.ask { connection throws(PostgresError) in
      var gone: Set<String> = []
      let statement = "select id from unnest($1::uuid[]) as id where not exists (select 1 from entry where run = id)"
      for row in try await connection.run(statement, .uuids(runs.filter(\.isUUID))).rows {
        gone.insert(try row.uuid(0))
      }
      return gone
    }
  }

  package func held(by worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int] {
    try await claims("select id, epoch from run where owner = $1", worker)
  }

  /// The runs of a worker that a statement returns, with the epochs of their claims.
  private func claims(_ statement: String, _ worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int] {
    try await reading.ask { connection throws(PostgresError) in
      var claims: [String: Int] = [:]
      for row in try await connection.run(statement, .int64(worker.id)).rows {
        claims[try row.uuid(0)] = try row.int64(1)
      }
      return claims
    }
  }

  package func suspect(_ workers: [WorkerIdentity]) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        "update run set is_suspect = true where owner = any($1)", .int64s(workers.map(\.id)))
    }
  }

  package func workers() async throws(DatabaseError) -> [WorkerRecord] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(SQL.workers).rows.map { row throws(PostgresError) in try SQL.worker(row) }
    }
  }

  package func setDraining(_ isDraining: Bool, _ worker: WorkerIdentity) async throws(DatabaseError) -> Bool {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(SQL.setDraining, .int64(worker.id), .bool(isDraining)).isEmpty == false
    }
  }

  // MARK: The leader of the schedules

  package func lead(
    _ worker: WorkerIdentity, lease: TimeSpan, clock: Timestamp, isWilling: Bool
  ) async throws(DatabaseError) -> Int? {
    // The clock's offset, which people see, may be as old as a lease.
    let isNoting = leads.withLock { leads in
      if leads.worker != worker.id { leads = (worker.id, 0) }
      leads.count += 1
      return leads.count % 5 == 1
    }
    return try await appending.ask { connection throws(PostgresError) in
      if isNoting { _ = try await connection.run(SQL.noteClock, .int64(worker.id), .timestamp(clock)) }
      guard isWilling else { return nil }
      return try await connection.run(
        SQL.lead, .int64(worker.id), .int64(lease.nanoseconds / 1000), .int64(LeaderRow.mostOffset.nanoseconds / 1000),
        .timestamp(clock)
      ).first?.int64(0)
    }
  }

  package func resign(_ worker: WorkerIdentity) async throws(DatabaseError) {
    try await appending.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        """
        with vacant as (update leader set worker = null, until = '-infinity' where worker = $1 returning name)
        select pg_notify('errand', 'lead') from vacant
        """, .int64(worker.id))
    }
  }

  package func openRuns(among runs: Set<String>) async throws(DatabaseError) -> Set<String> {
    try await reading.ask { connection throws(PostgresError) in
      var open: Set<String> = []
      let ids = runs.filter(\.isUUID)
      for row in try await connection.run("select id from run where id = any($1)", .uuids(Array(ids))).rows {
        open.insert(try row.uuid(0))
      }
      return open
    }
  }

  package func freeEvents() async throws(DatabaseError) -> [FreeEvent] {
    let (held, taken) = LeaderRow.untilLooked
    return try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        select i.name, i.reference from item i where i.kind = 'event' and i.holder is null and not exists (
          select 1 from run r where r.waits_for @> array[i.reference] and r.waits_for <> '{}'
            and i.at > clock_timestamp() - case when r.has_news then $1 else $2 end * interval '1 microsecond')
        order by i.at, i.name
        """, .int64(taken.nanoseconds / 1000), .int64(held.nanoseconds / 1000)
      ).rows.map { row throws(PostgresError) in FreeEvent(try row.text(0), named: try row.text(1)) }
    }
  }

  package func leader() async throws(DatabaseError) -> LeaderRow {
    try await reading.ask { connection throws(PostgresError) in
      let row = try await connection.run(
        """
        select coalesce(l.worker, 0), coalesce(w.name, ''), l.epoch, l.version, l.until > clock_timestamp()
        from leader l left join worker w on w.id = l.worker
        """
      ).first
      guard let row else { throw PostgresError(.protocolError, "the database has no row for the leader") }
      let (worker, name) = (try row.int64(0), try row.text(1))
      return LeaderRow(
        worker: worker == 0 ? nil : worker, name: try row.bool(4) && !name.isEmpty ? name : nil,
        epoch: try row.int64(2), version: try row.int64(3))
    }
  }

  // MARK: Requests for the leader

  package func ask(_ id: String, _ text: String) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run([
        PostgresStatement("delete from request where asked_at < clock_timestamp() - interval '1 hour'"),
        // It may be kept already, and its answer lost.
        PostgresStatement(
          "insert into request (id, recipient, text) values ($1, 'leader', $2) on conflict do nothing", .text(id),
          .text(text)),
        PostgresStatement("select pg_notify('errand', 'schedules')"),
      ])
    }
  }

  package func takeRequests(by worker: WorkerIdentity) async throws(DatabaseError) -> [String] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        with taken as (update request set taken_by = $1 where recipient = 'leader' and taken_by is null
            and exists (select 1 from leader where worker = $1 and until > clock_timestamp()) returning text, asked_at)
        select text from taken order by asked_at
        """, .int64(worker.id)
      ).rows.map { row throws(PostgresError) in try row.text(0) }
    }
  }

  package func answer(_ id: String, _ text: String) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run("update request set answer = $2 where id = $1", .text(id), .text(text))
    }
  }

  package func answer(to id: String) async throws(DatabaseError) -> String? {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run("select answer from request where id = $1 and answer is not null", .text(id)).first?
        .text(0)
    }
  }

  package func forgetRequest(_ id: String) async throws(DatabaseError) -> Bool {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run("delete from request where id = $1 returning taken_by is not null", .text(id)).first?
        .bool(0) ?? true
    }
  }

  package func linkKey() async throws(DatabaseError) -> String? {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run("select value from meta where key = 'linkKey'").first?.text(0)
    }
  }

  package func linkKey(_ new: String, insteadOf old: String?) async throws(DatabaseError) -> String {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        insert into meta values ('linkKey', $1) on conflict (key) do update
          set value = case when meta.value = $2 then excluded.value else meta.value end returning value
        """, .text(new), .text(old ?? "")
      ).first?.text(0) ?? ""
    }
  }

  // MARK: Open state

  package func read(_ needs: StateNeeds) async throws(DatabaseError) -> DatabaseRows {
    try await reading.ask { connection throws(PostgresError) in
      try SQL.rows(of: try await connection.run(SQL.reads(needs)))
    }
  }

  package func openRuns(
    _ query: OpenRunQuery, latest: Int?
  ) async throws(DatabaseError) -> (runs: [LoggedRun], count: Int) {
    guard let conditions = SQL.conditions(query) else { return ([], 0) }
    var found = PostgresStatement(SQL.openRuns)
    found.values = conditions + [.int64(latest)]
    var count = PostgresStatement("select count(*) from run r where \(SQL.matches)")
    count.values = conditions
    return try await reading.ask { [found, count] connection throws(PostgresError) in
      let results = try await connection.run([found, count])
      guard results.count == 2 else { return ([], 0) }
      return (try SQL.logs(results[0]), try results[1].first?.int64(0) ?? 0)
    }
  }

  package func openRunCounts() async throws(DatabaseError) -> [String: Int] {
    try await reading.ask { connection throws(PostgresError) in
      var counts: [String: Int] = [:]
      for row in try await connection.run("select status, count(*) from run group by status").rows {
        counts[try row.text(0)] = try row.int64(1)
      }
      return counts
    }
  }

  package func items(_ query: ItemQuery) async throws(DatabaseError) -> [StoredItem] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run([
        SQL.items(query, "kind, name, text, coalesce(reference, ''), coalesce(holder, ''), false", "order by name")
      ]).flatMap(\.rows).map { row throws(PostgresError) in try SQL.item(row) }
    }
  }

  package func itemNames(_ kind: ItemKind) async throws(DatabaseError) -> [String] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run("select name from item where kind = $1 order by name", .text(kind.rawValue)).rows
        .map { row throws(PostgresError) in try row.text(0) }
    }
  }

  package func itemCount(_ query: ItemQuery) async throws(DatabaseError) -> Int {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run([SQL.items(query, "count(*)")]).first?.first?.int64(0) ?? 0
    }
  }

  // MARK: History

  package func finishedRuns(_ query: HistoryQuery) async throws(DatabaseError) -> [RunSummary] {
    guard let conditions = SQL.conditions(query) else { return [] }
    // Columns hold microseconds, so that rows at the ends of a time may not match after all.
    var found: [RunSummary] = []
    var last: (ended: Timestamp, id: String)?
    while true {
      var statement = PostgresStatement(SQL.finishedRuns)
      statement.values =
        conditions + [.timestamp(last?.ended ?? .latest), .uuid(last?.id ?? SQL.lastID), .int64(query.limit)]
      let page = try await reading.ask { [statement] connection throws(PostgresError) in
        try await connection.run([statement]).flatMap(\.rows).map { row throws(PostgresError) in
          (summary: try SQL.summary(row), ended: try row.timestamp(1), id: try row.uuid(2))
        }
      }
      found += page.map(\.summary).filter(query.matches)
      guard let end = page.last, page.count == query.limit, found.count < query.limit else {
        return Array(found.prefix(query.limit))
      }
      last = (end.ended, end.id)
    }
  }

  package func runSums(_ query: RunSumQuery) async throws(DatabaseError) -> [RunSum] {
    let sums = try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        SQL.runSums, .int32(Int32(clamping: query.firstDay)), .text(query.recipe), .bool(query.isByDay)
      ).rows.map { row throws(PostgresError) in
        RunSum(
          recipe: try row.text(0), status: RunStatus(rawValue: try row.text(1)) ?? .failed,
          day: try row.isNull(2) ? nil : try row.int64(2), count: try row.int64(3), took: try row.int64(4))
      }
    }
    return RunSum.sorted(sums)
  }

  package func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(DatabaseError) -> [String: [RunResult]] {
    let found = try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        SQL.latestResults, .texts(recipes), .timestamp(instant), .int64(RunResult.most)
      ).rows.map { row throws(PostgresError) in RunResult(try SQL.summary(row)) }
    }
    return Dictionary(grouping: found, by: \.recipe)
  }

  package func failures(from instant: Timestamp) async throws(DatabaseError) -> [FailureGroup] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        SQL.failures, .int32(Int32(clamping: RunSum.day(of: instant))), .int64(FailureGroup.most)
      ).rows.map { row throws(PostgresError) in
        FailureGroup(latest: try SQL.summary(row), count: try row.int64(6), hasSucceeded: try row.bool(7))
      }
    }
  }

  package func finishedRun(_ id: String) async throws(DatabaseError) -> String? {
    guard id.isUUID else { return nil }
    return try await reading.ask { connection throws(PostgresError) in
      try await connection.run("select text from finished where id = $1", .uuid(id)).first?.text(0)
    }
  }

  package func removeFinishedRun(_ id: String) async throws(DatabaseError) -> Bool {
    guard id.isUUID else { return false }
    return try await reading.ask { connection throws(PostgresError) in
      let results = try await connection.run([
        PostgresStatement("delete from finished where id = $1 returning coalesce(blobs, '{}')", .uuid(id)),
        PostgresStatement(SQL.emptied, .uuids([id])), PostgresStatement(SQL.silenced, .uuids([id])),
      ])
      guard let row = results.first?.first else { return false }
      try await PostgresDatabase.removeBlobs(try row.texts(0), connection)
      return true
    }
  }

  /// Removes blobs that no record refers to.
  private static func removeBlobs(_ names: [String], _ connection: PostgresConnection) async throws(PostgresError) {
    if names.isEmpty { return }
    let digests = names.compactMap { [UInt8](hexadecimal: $0) }
    _ = try await connection.run(SQL.collectedOf, .int64(digests.count), .byteStrings(digests))
  }

  package func slots(_ query: SlotQuery) async throws(DatabaseError) -> [SlotRecord] {
    var found: [SlotRecord] = []
    var last = Int.max
    while true {
      let page = try await reading.ask { [last] connection throws(PostgresError) in
        try await connection.run(
          SQL.slots, .text(query.schedule), .timestamp(query.from), .timestamp(query.before),
          .timestamp(query.settledUntil), .int64(last), .int64(query.limit)
        ).rows.map { row throws(PostgresError) in (slot: try SQL.slot(row), id: try row.int64(1)) }
      }
      found += page.map(\.slot).filter(query.matches)
      guard let end = page.last, page.count == query.limit, found.count < query.limit else {
        return Array(found.prefix(query.limit))
      }
      last = end.id
    }
  }

  // MARK: Large values

  private static let partSize = 1 << 20

  package func putBlob(_ reference: BlobReference, _ bytes: [UInt8]) async throws(DatabaseError) {
    let digest = [UInt8](hexadecimal: reference.sha256) ?? []
    try await transacting.transact { transaction throws(PostgresError) in
      try await PostgresDatabase.put(bytes, sha256: digest, transaction)
    }
  }

  /// Keeps a blob in parts, one after another, because a statement holds all that it sends.
  static func put(
    _ bytes: [UInt8], sha256 digest: [UInt8], _ transaction: PostgresTransaction
  ) async throws(PostgresError) {
    for (number, start) in stride(from: 0, to: max(bytes.count, 1), by: partSize).enumerated() {
      try await transaction.run(
        "insert into blob values ($1, $2, $3) on conflict (sha256, part) do update set put_at = clock_timestamp()",
        .bytes(digest), .int32(Int32(clamping: number)),
        .bytes(Array(bytes[start..<min(start + partSize, bytes.count)])))
    }
  }

  package func blob(_ reference: BlobReference) async throws(DatabaseError) -> [UInt8]? {
    let digest = [UInt8](hexadecimal: reference.sha256)
    return try await reading.ask { connection throws(PostgresError) in
      let rows = try await connection.run("select bytes from blob where sha256 = $1 order by part", .bytes(digest)).rows
      if rows.isEmpty { return nil }
      var bytes: [UInt8] = []
      for row in rows { bytes += try row.bytes(0) }
      return bytes
    }
  }

  // MARK: Program output

  package func addLines(_ lines: [String], ofRun id: String) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(PostgresDatabase.insertLines, .uuid(id), .texts(lines))
    }
  }

  static let insertLines =
    "insert into line (run, text) select $1, t from unnest($2::text[]) with ordinality as u(t, n) order by n"

  package func lines(ofRun id: String, at point: PrintedPoint) async throws(DatabaseError) -> PrintedChunk {
    guard id.isUUID else { return .nothing(at: .start) }
    return try await reading.ask { connection throws(PostgresError) in
      let start: PrintedPlace
      switch point {
      case .after(let place): start = place
      case .before(let place):
        let rows = try await connection.run(
          "select number, text from line where run = $1 and number <= $2 order by number desc limit 1000", .uuid(id),
          .int64(place.mark)
        ).rows
        var (first, size) = (rows.count, 0)
        var found: [(mark: Int, text: String)] = []
        for row in rows where size < PrintedChunk.size {
          found.append((try row.int64(0), try row.text(1)))
          size += found.last?.text.utf8.count ?? 0
          first -= 1
        }
        found.reverse()
        let lines = found.reduce(0) { $0 + PrintedChunk.lineCount(of: Array($1.text.utf8.prefix(24))[...]) }
        // The first row of a log is after no line, whatever a damaged one says of itself.
        let isFirst = first == 0 && rows.count < 1000
        return PrintedChunk(
          found,
          from: PrintedPlace(
            line: isFirst ? 0 : max(1, place.line - lines), mark: found.first.map { $0.mark - 1 } ?? 0),
          isLast: false)
      case .line(let line):
        // A record of several lines begins with their number.
        let row = try await connection.run(
          """
          select number, before from (select number, lines, (sum(lines) over (order by number) - lines)::int8 as before
            from (select number, coalesce(substring(substr(text, 1, 24) from '^\\{"lines":([0-9]{1,7}),')::int8, 1) as lines
              from line where run = $1) as counted) as summed
          where before <= $2 order by before desc limit 1
          """, .uuid(id), .int64(line)
        ).first
        guard let row else { return .nothing(at: .start) }
        start = PrintedPlace(line: try row.int64(1), mark: try row.int64(0) - 1)
      }
      // The size of all lines before is computed for each line, so that no more than one part is sent.
      let rows = try await connection.run(
        """
        select number, text from (select text, number,
            sum(octet_length(text)) over (order by number) - octet_length(text) as before
          from (select text, number from line where run = $1 and number > $2 order by number limit 1000) as page) as sized
        where before < $3 order by number
        """, .uuid(id), .int64(start.mark), .int64(PrintedChunk.size)
      ).rows
      let found = try rows.map { row throws(PostgresError) in (mark: try row.int64(0), text: try row.text(1)) }
      return PrintedChunk(found, from: start, isLast: found.isEmpty)
    }
  }

  package func removeLines(ofRun id: String) async throws(DatabaseError) {
    guard id.isUUID else { return }
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run("delete from line where run = $1", .uuid(id))
    }
  }

  // MARK: Upkeep

  /// How many rows one statement removes, so that it takes no longer than an answer may.
  private static let mostRemoved = 1000
  private static let mostRemovals = 200
  /// How many sums one statement joins.
  private static let mostSummed = 100_000

  package func tidy(_ retention: Retention) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run("select make_partitions()::text")
      // Removing a worker frees its runs; this frees runs of owners that disappeared in another way.
      _ = try await connection.run(SQL.freed)
      for statement in SQL.expired { _ = try await connection.run(statement) }
      _ = try await connection.run(SQL.summed, .int64(PostgresDatabase.mostSummed))
      for statement in SQL.forgotten(retention, most: PostgresDatabase.mostRemoved) {
        try await PostgresDatabase.removeAll { () throws(PostgresError) in
          try await connection.run([statement]).first?.first?.int64(0) ?? 0
        }
      }
      if let age = retention.dataFor { try await PostgresDatabase.eraseData(olderThan: age, connection) }
      try await PostgresDatabase.removeAll { () throws(PostgresError) in
        try await connection.run(SQL.collected, .int64(PostgresDatabase.mostRemoved)).first?.int64(0) ?? 0
      }
    }
  }

  /// Removes rows until there are less than one statement removes.
  private static func removeAll(
    _ body: () async throws(PostgresError) -> Int
  ) async throws(PostgresError) {
    for _ in 0..<mostRemovals where try await body() == mostRemoved {}
  }

  /// Erases the data of finished runs that ended so long ago.
  private static func eraseData(
    olderThan age: TimeSpan, _ connection: PostgresConnection
  ) async throws(PostgresError) {
    // Each has all that its run was about.
    let most = 50
    // The last one looked at: one that can't be read keeps its data, and must not keep the others'.
    var last = (ended: Timestamp.earliest, id: SQL.firstID)
    for _ in 0..<mostRemovals {
      let rows = try await connection.run(
        SQL.aged, .int64(age.nanoseconds / 1000), .int64(most), .timestamp(last.ended), .uuid(last.id)
      ).rows
      if rows.isEmpty { return }
      var erased: [(row: FinishedRow, ended: Timestamp)] = []
      var blobs: Set<String> = []
      for row in rows {
        let (ended, now) = (try row.timestamp(1), try row.timestamp(3))
        last = (ended, try row.uuid(0))
        guard let run = try? RunRecord(text: try row.text(2)) else { continue }
        let left = run.erasedAt == nil ? run.erased(at: now) : run
        guard let text = try? left.storedText else { continue }
        erased.append((FinishedRow(summary: RunSummary(left), text: text), ended))
        blobs.formUnion(try row.texts(4))
      }
      _ = try await connection.run(SQL.erase(erased))
      try await removeBlobs(Array(blobs), connection)
      if rows.count < most { return }
    }
  }
}

/// A transaction of the state.
private struct PostgresStateTransaction: DatabaseTransaction {
  private let transaction: PostgresTransaction

  init(_ transaction: PostgresTransaction) { self.transaction = transaction }

  func read(
    _ needs: StateNeeds, receipt: String
  ) async throws(DatabaseError) -> (rows: DatabaseRows, isDone: Bool) {
    do throws(PostgresError) {
      let (locks, reads) = (SQL.locks(needs), SQL.reads(needs))
      let known = PostgresStatement("select 1::int4 from receipt where id = $1", .text(receipt))
      let results = try await transaction.run(locks + [known] + reads).dropFirst(locks.count)
      var rows = try SQL.rows(of: Array(results.dropFirst()))
      if needs.items.contains(where: { $0.kind == .connection }) {
        rows.now = try await transaction.run("select clock_timestamp()").first?.timestamp(0)
      }
      return (rows, results.first?.isEmpty == false)
    } catch {
      throw DatabaseError(error)
    }
  }

  func begin(after version: Int) async throws(DatabaseError) -> Bool {
    do throws(PostgresError) {
      return try await !transaction.run(SQL.beginVersion, .int64(version)).isEmpty
    } catch { throw DatabaseError(error) }
  }

  func commit(_ changes: DatabaseChanges) async throws(DatabaseError) {
    let statements = SQL.writes(changes)
    let results: [PostgresResult]
    do throws(PostgresError) { results = try await transaction.run(statements) } catch { throw DatabaseError(error) }
    if let receipt = results.first, receipt.affected == 0 { throw .unusable("the state was moved elsewhere") }
    for (statement, result) in zip(statements, results)
    where statement.text == SQL.insertNext && result.affected < changes.entries.count {
      throw .conflict("the log of a run has fewer entries than were written")
    }
  }
}

extension DatabaseError {
  init(_ error: PostgresError) {
    switch error.kind {
    case .unreachable: self = .unavailable(error.message)
    case .unknown: self = .unknown(error.message)
    case .invalid, .protocolError: self = .unusable(error.message)
    case .refused:
      if error.isUniqueViolation || error.isSerializationFailure {
        self = .conflict(error.message)
      } else if error.isShutdown || error.isReadOnly || error.isInTrouble || error.wasGivenUp {
        self = .unavailable(error.message)
      } else if error.isWithoutTable {
        self = .unusable("there is no whole state in the database (\(error.message)); make one with: errand state init")
      } else {
        self = .unusable(error.message)
      }
    }
  }
}
