// The state's database in PostgreSQL.
package import Basics
package import PostgresClient
package import RunState
import Synchronization

/// A program's way to the state in PostgreSQL: one connection for entries, one for transactions, and one for reading.
///
/// A connection that is lost is made anew with the next statement. Of several hosts all are asked at once, and the one
/// that takes writes counts; if two do, because one of them does not know yet that the other was promoted, that of the
/// highest timeline, and never again one of a lower timeline than was seen before.
package final class PostgresDatabase: SharedDatabase {
  private let appending: PostgresSource
  private let transacting: PostgresSource
  private let reading: PostgresSource
  package let hints: AsyncStream<Void>
  private let hinting: AsyncStream<Void>.Continuation
  /// The worker whose hints are passed on.
  private let listening = Mutex<Int?>(nil)

  private init(_ timeline: PostgresTimeline) {
    appending = PostgresSource(timeline)
    transacting = PostgresSource(timeline)
    (hints, hinting) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    reading = PostgresSource(timeline)
  }

  /// Passes on what is heard from now on that concerns this program, also on connections that are made later.
  private func hear() async {
    await reading.listen(to: "errand") { [weak self] payload in
      guard let self, payload == "due" || listening.withLock({ $0 }).map({ "\($0)" }) == payload else { return }
      hinting.yield()
    }
  }

  /// Connects to the state.
  ///
  /// - Parameter hosts: The servers of which one takes writes.
  package static func open(_ hosts: [PostgresSettings]) async throws(DatabaseError) -> PostgresDatabase {
    let database = PostgresDatabase(PostgresTimeline(hosts))
    let version = try await database.reading.ask { connection throws(PostgresError) in
      try await connection.run("select to_regclass('errand.meta') is not null").first?.bool(0) ?? false
    }
    guard version else {
      throw .unusable("there is no state in the database yet; make one with errand state init")
    }
    await database.hear()
    return database
  }

  /// Makes the tables, or brings those of an earlier version up to date.
  package static func migrate(_ hosts: [PostgresSettings]) async throws(DatabaseError) {
    // A step waits for other programs, and may go through all rows.
    let patient = hosts.map { host in
      var host = host
      host.answerWithin = .seconds(3600)
      return host
    }
    let source = PostgresSource(PostgresTimeline(patient))
    try await source.transact { transaction throws(PostgresError) in
      try await transaction.run("select pg_advisory_xact_lock(hashtextextended('errand.schema', 0))")
      try await transaction.run("create schema if not exists errand")
      let isNew = try await transaction.run("select to_regclass('errand.meta') is null").first?.bool(0) ?? true
      let found = isNew ? nil : try await transaction.run("select value from meta where key = 'schema'").first?.text(0)
      let version = found.flatMap { Int($0) } ?? 0
      for step in PostgresSchema.steps.dropFirst(version) {
        for statement in step { try await transaction.run(statement) }
      }
      try await transaction.run(
        "insert into meta values ('schema', $1) on conflict (key) do update set value = excluded.value",
        .text("\(max(version, PostgresSchema.steps.count))"))
      try await transaction.run("select make_partitions()::text")
    }
    await source.close()
  }

  package func close() async {
    await appending.close()
    await transacting.close()
    await reading.close()
    hinting.finish()
  }

  // MARK: Logs

  package func append(
    _ entries: [LogEntry], changing rows: [OpenRunRow]
  ) async throws(DatabaseError) -> Set<String> {
    var statement = PostgresStatement(rows.isEmpty ? SQL.append : SQL.appendChanging)
    statement.values = SQL.columns(entries)
    if !rows.isEmpty {
      statement.values += [
        .uuids(rows.map(\.id)), .texts(rows.map(\.status)), .timestamps(rows.map { $0.wakeAt ?? .latest }),
        .texts(rows.map(\.waitsForText)), .int32s(rows.map { $0.needsPerson ? 1 : 0 }),
      ]
    }
    return try await appending.ask { [statement] connection throws(PostgresError) in
      var kept: Set<String> = []
      for result in try await connection.run([statement]) {
        for row in result.rows { kept.insert(try row.uuid(0)) }
      }
      return kept
    }
  }

  package func entries(of run: String, after number: Int) async throws(DatabaseError) -> [LogEntry]? {
    guard run.isUUID else { return nil }
    return try await reading.ask { connection throws(PostgresError) in
      let found = try await connection.run([
        PostgresStatement("select 1::int4 from run where id = $1", .uuid(run)),
        PostgresStatement(
          "select run, number, epoch, sum, events from entry where run = $1 and number > $2 order by number",
          .uuid(run), .int64(number)),
      ])
      guard found.count == 2, !found[0].isEmpty else { return nil }
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

  package func register(_ terms: WorkerTerms, lease: TimeSpan) async throws(DatabaseError) -> WorkerIdentity {
    let id = try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        insert into worker (name, host, pid, program, offers, queues, capacity, home, lease_until)
        values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9 * interval '1 microsecond') returning id
        """, .text(terms.name), .text(terms.host), .int32(Int32(clamping: terms.pid)), .text(terms.program),
        .texts(Array(terms.offers)), .texts(Array(terms.queues)), .int32(Int32(clamping: terms.capacity)),
        .text(terms.home), .int64(lease.nanoseconds / 1000)
      ).first?.int64(0)
    }
    guard let id else { throw .unusable("the database gave no id") }
    listening.withLock { $0 = id }
    return WorkerIdentity(id: id)
  }

  package func renew(_ worker: WorkerIdentity, lease: TimeSpan) async throws(DatabaseError) -> Bool {
    // Not behind queries, which may take as long as a lease.
    try await appending.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        update worker set lease_until = clock_timestamp() + $2 * interval '1 microsecond'
        where id = $1 and lease_until > clock_timestamp() returning id
        """, .int64(worker.id), .int64(lease.nanoseconds / 1000)
      ).isEmpty == false
    }
  }

  package func reap() async throws(DatabaseError) -> [String] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        with dead as (delete from worker where id in (
            select id from worker where lease_until < clock_timestamp() for update skip locked) returning id, name),
          freed as (update run set owner = null where owner in (select id from dead)),
          told as (select pg_notify('errand', 'due') from dead limit 1)
        select name from dead where (select count(*) from told) >= 0 order by name
        """
      ).rows.map { row throws(PostgresError) in try row.text(0) }
    }
  }

  package func leave(_ worker: WorkerIdentity) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run([
        PostgresStatement("update run set owner = null where owner = $1", .int64(worker.id)),
        PostgresStatement("delete from worker where id = $1", .int64(worker.id)),
        PostgresStatement("select pg_notify('errand', 'due')"),
      ])
    }
  }

  package func claim(
    _ worker: WorkerIdentity, _ terms: WorkerTerms, most: Int, at instant: Timestamp
  ) async throws(DatabaseError) -> [ClaimedRun] {
    try await transacting.transact { transaction throws(PostgresError) in
      // A worker whose lease is over takes nothing up, and nobody ends the lease meanwhile.
      let found = try await transaction.run([
        PostgresStatement(
          "select id from worker where id = $1 and lease_until > clock_timestamp() for share", .int64(worker.id)),
        PostgresStatement(
          SQL.due, .texts(Array(terms.queues)), .texts(Array(terms.offers)), .text(terms.home), .int64(most)),
      ])
      guard found.count == 2, !found[0].isEmpty, !found[1].isEmpty else { return [] }
      var epochs: [String: Int] = [:]
      for row in found[1].rows { epochs[try row.uuid(0)] = try row.int64(8) + 1 }
      var claimed: [ClaimedRun] = []
      var entries: [LogEntry] = []
      for log in try SQL.logs(found[1]) {
        guard let epoch = epochs[log.record.id] else { continue }
        do throws(StateError) {
          let (run, entry) = try log.claim(epoch, by: terms.name, at: instant)
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
          "update run set owner = $1, epoch = epoch + 1, has_news = false where id = any($2)", .int64(worker.id),
          .uuids(entries.map(\.run))),
      ])
      return claimed
    }
  }

  package func release(_ runs: [String], of worker: WorkerIdentity) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        """
        with freed as (update run set owner = null where id = any($1) and owner = $2 returning due_at)
        select pg_notify('errand', 'due') from freed where due_at <= clock_timestamp() limit 1
        """, .uuids(runs), .int64(worker.id))
    }
  }

  package func takeNews(of worker: WorkerIdentity) async throws(DatabaseError) -> [String] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        "update run set has_news = false where owner = $1 and has_news returning id", .int64(worker.id)
      ).rows.map { row throws(PostgresError) in try row.uuid(0) }
    }
  }

  package func untilDue(_ terms: WorkerTerms) async throws(DatabaseError) -> TimeSpan? {
    let microseconds = try await reading.ask { connection throws(PostgresError) in
      try await connection.run(
        """
        select (extract(epoch from greatest(min(due_at), clock_timestamp()) - clock_timestamp()) * 1000000)::int8
        from run where owner is null and queue = any($1) and needs <@ $2 and (home is null or home = $3)
          and due_at < '9999-01-01Z' having count(*) > 0
        """, .texts(Array(terms.queues)), .texts(Array(terms.offers)), .text(terms.home)
      ).first?.int64(0)
    }
    return microseconds.map { TimeSpan.milliseconds($0 / 1000 + 1) }
  }

  // MARK: What is open

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
      try await connection.run(
        """
        select kind, name, text, coalesce(reference, ''), coalesce(holder, ''), false from item
        where kind = $1 and ($2::text is null or reference = $2) and ($3::text is null or holder = $3)
          and (not $4 or holder is null) and ($5::timestamptz is null or at >= $5) order by name
        """, .text(query.kind.rawValue), .text(query.reference), .text(query.holder), .bool(query.isFree),
        .timestamp(query.since)
      ).rows.map { row throws(PostgresError) in try SQL.item(row) }
    }
  }

  package func itemNames(_ kind: ItemKind) async throws(DatabaseError) -> [String] {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run("select name from item where kind = $1 order by name", .text(kind.rawValue)).rows
        .map { row throws(PostgresError) in try row.text(0) }
    }
  }

  package func itemCount(_ kind: ItemKind) async throws(DatabaseError) -> Int {
    try await reading.ask { connection throws(PostgresError) in
      try await connection.run("select count(*) from item where kind = $1", .text(kind.rawValue)).first?.int64(0) ?? 0
    }
  }

  // MARK: What is over

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
          (text: try row.text(0), ended: try row.timestamp(1), id: try row.uuid(2))
        }
      }
      for row in page {
        do throws(RecordError) {
          let summary = try RunSummary(text: row.text)
          if query.matches(summary) { found.append(summary) }
        } catch {
          throw .unusable("the finished run \(row.id) can't be read: \(error.message)")
        }
      }
      guard let end = page.last, page.count == query.limit, found.count < query.limit else {
        return Array(found.prefix(query.limit))
      }
      last = (end.ended, end.id)
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
        PostgresStatement("delete from finished where id = $1 returning id", .uuid(id)),
        // The numbers stay, so that a program that believes to hold the run adds nothing to them.
        PostgresStatement(
          """
          update entry set events = '[]', sum = 0 where run = $1 and not exists (select 1 from run where id = $1)
          """, .uuid(id)),
        PostgresStatement(
          "delete from line where run = $1 and not exists (select 1 from run where id = $1)", .uuid(id)),
      ])
      return results.first.map { !$0.isEmpty } ?? false
    }
  }

  package func slots(_ query: SlotQuery) async throws(DatabaseError) -> [SlotRecord] {
    var found: [SlotRecord] = []
    var last = Int.max
    while true {
      let page = try await reading.ask { [last] connection throws(PostgresError) in
        try await connection.run(
          SQL.slots, .text(query.schedule), .timestamp(query.from), .timestamp(query.before),
          .timestamp(query.settledUntil), .int64(last), .int64(query.limit)
        ).rows.map { row throws(PostgresError) in (text: try row.text(0), id: try row.int64(1)) }
      }
      for row in page {
        do throws(RecordError) {
          let slot = try SlotRecord(text: row.text)
          if query.matches(slot) { found.append(slot) }
        } catch {
          throw .unusable("a settled slot can't be read: \(error.message)")
        }
      }
      guard let end = page.last, page.count == query.limit, found.count < query.limit else {
        return Array(found.prefix(query.limit))
      }
      last = end.id
    }
  }

  // MARK: Large values

  private static let partSize = 1 << 20

  package func putBlob(_ reference: BlobReference, _ bytes: [UInt8]) async throws(DatabaseError) {
    let parts = stride(from: 0, to: max(bytes.count, 1), by: PostgresDatabase.partSize).map { start in
      Array(bytes[start..<min(start + PostgresDatabase.partSize, bytes.count)])
    }
    // One after another, because a statement holds all that it sends.
    let digest = [UInt8](hexadecimal: reference.sha256)
    try await transacting.transact { transaction throws(PostgresError) in
      for (number, part) in parts.enumerated() {
        try await transaction.run(
          "insert into blob values ($1, $2, $3) on conflict do nothing", .bytes(digest), .int32(Int32(number)),
          .bytes(part))
      }
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

  // MARK: What programs print

  package func addLines(_ lines: [String], ofRun id: String) async throws(DatabaseError) {
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run(
        "insert into line (run, text) select $1, t from unnest($2::text[]) with ordinality as u(t, n) order by n",
        .uuid(id), .texts(lines))
    }
  }

  package func lines(
    ofRun id: String, from position: Int, bytes: Int
  ) async throws(DatabaseError) -> (lines: [String], start: Int, isLast: Bool) {
    guard id.isUUID else { return ([], 0, true) }
    return try await reading.ask { connection throws(PostgresError) in
      let count = try await connection.run("select count(*) from line where run = $1", .uuid(id)).first?.int64(0) ?? 0
      let start = min(position < 0 ? count - min(count, -max(position, -.max)) : position, count)
      // Of each line it is known how much came before it, so that no more than a piece is sent.
      let found = try await connection.run(
        """
        select text from (select text, number, sum(octet_length(text)) over (order by number) - octet_length(text) as before
          from (select text, number from line where run = $1 order by number offset $2 limit 20000) as page) as sized
        where before < $3 order by number
        """, .uuid(id), .int64(start), .int64(bytes))
      let lines = try found.rows.map { row throws(PostgresError) in try row.text(0) }
      return (lines, start, start + lines.count >= count)
    }
  }

  package func removeLines(ofRun id: String) async throws(DatabaseError) {
    guard id.isUUID else { return }
    try await reading.ask { connection throws(PostgresError) in
      _ = try await connection.run("delete from line where run = $1", .uuid(id))
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
      let results = try await transaction.run(
        SQL.locks(needs) + [PostgresStatement("select 1::int4 from receipt where id = $1", .text(receipt))]
          + SQL.reads(needs))
      let reads = results.suffix(SQL.reads(needs).count)
      let isDone = results[results.count - reads.count - 1].isEmpty == false
      return (try SQL.rows(of: Array(reads)), isDone)
    } catch {
      throw DatabaseError(error)
    }
  }

  func commit(_ changes: DatabaseChanges) async throws(DatabaseError) {
    do throws(PostgresError) { _ = try await transaction.run(SQL.writes(changes)) } catch { throw DatabaseError(error) }
  }
}

extension OpenRunRow {
  /// The names of events as a list of JSON.
  fileprivate var waitsForText: String { (try? waitsFor.storedText) ?? "[]" }
}

extension String {
  /// Whether it is a UUID in its usual form.
  fileprivate var isUUID: Bool {
    utf8.count == 36
      && utf8.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == ASCII.minus
          : ASCII.digits.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
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
      } else if error.isShutdown || error.isReadOnly || error.isDiskFull || error.hasTooManyConnections {
        self = .unavailable(error.message)
      } else {
        self = .unusable(error.message)
      }
    }
  }
}

// MARK: - Statements

private enum SQL {
  /// Runs that nobody holds, with their logs.
  static let due = """
    with due as (select id from run where owner is null and queue = any($1) and due_at <= clock_timestamp()
      and needs <@ $2 and (home is null or home = $3) order by due_at limit $4 for update skip locked)
    \(logs(where: "r.id in (select id from due)"))
    """

  static let insert = """
    insert into entry (run, number, epoch, sum, events)
    select * from unnest($1::uuid[], $2::int8[], $3::int8[], $4::int8[], $5::text[])
    """

  static let append = "\(insert) on conflict do nothing returning run"

  /// A run's row changes only with its entry.
  static let appendChanging = """
    with kept as (\(append)), changed as (
      update run r set status = u.status, wake_at = u.wake_at, needs_person = u.needs_person <> 0,
        waits_for = array(select jsonb_array_elements_text(u.waits_for::jsonb))
      from unnest($6::uuid[], $7::text[], $8::timestamptz[], $9::text[], $10::int4[])
        as u(id, status, wake_at, waits_for, needs_person)
      where r.id = u.id and u.id in (select run from kept))
    select run from kept
    """

  static func columns(_ entries: [LogEntry]) -> [PostgresValue] {
    [
      .uuids(entries.map(\.run)), .int64s(entries.map(\.number)), .int64s(entries.map(\.epoch)),
      .int64s(entries.map { Int(truncatingIfNeeded: $0.sum) }), .texts(entries.map(\.events)),
    ]
  }

  static func entry(_ row: PostgresRow) throws(PostgresError) -> LogEntry {
    LogEntry(
      run: try row.uuid(0), number: try row.int64(1), epoch: try row.int64(2),
      sum: UInt64(truncatingIfNeeded: try row.int64(3)), events: try row.text(4))
  }

  // MARK: Logs

  /// The logs of runs from where they were folded; the fold is sent once each.
  private static func logs(where condition: String) -> String {
    """
    select r.id, coalesce(e.number, 0), coalesce(e.epoch, 0), coalesce(e.sum, 0), coalesce(e.events, ''), r.fold_number,
      r.fold_sum, case when row_number() over (partition by r.id order by e.number) = 1 then r.fold end, r.epoch
    from run r left join entry e on e.run = r.id and e.number > r.fold_number where \(condition)
    order by r.id, e.number
    """
  }

  static func logs(_ result: PostgresResult) throws(PostgresError) -> [LoggedRun] {
    var runs: [LoggedRun] = []
    var next: (id: String, folded: FoldedLog?, entries: [LogEntry])?
    func finish() throws(PostgresError) {
      guard let next else { return }
      do throws(StateError) {
        runs.append(try LoggedRun(next.id, folded: next.folded, entries: next.entries))
      } catch {
        throw PostgresError(.protocolError, error.message)
      }
    }
    for row in result.rows {
      let id = try row.uuid(0)
      if next?.id != id {
        try finish()
        var folded: FoldedLog?
        if !(try row.isNull(7)) {
          folded = FoldedLog(
            number: try row.int64(5), sum: UInt64(truncatingIfNeeded: try row.int64(6)), text: try row.text(7))
        }
        next = (id, folded, [])
      }
      if try row.int64(1) > 0 { next?.entries.append(try entry(row)) }
    }
    try finish()
    return runs
  }

  // MARK: Reading what a batch needs

  /// Locks by names, in an order that all programs keep.
  static func locks(_ needs: StateNeeds) -> [PostgresStatement] {
    func sorted(_ names: Set<String>) -> [String] { names.sorted { $0.precedesByScalars($1) } }
    let names =
      sorted(needs.followed).map { "follow \($0)" } + needs.items.sorted().map { "\($0.kind.rawValue) \($0.name)" }
      + sorted(needs.eventNames).map { "came \($0)" }
    var statements: [PostgresStatement] = []
    if !names.isEmpty {
      statements.append(
        PostgresStatement(
          "select pg_advisory_xact_lock(hashtextextended(n, 0)) from unnest($1::text[]) as n", .texts(names)))
    }
    if !needs.followed.isEmpty {
      statements.append(
        PostgresStatement(
          """
          select pg_advisory_xact_lock(hashtextextended('schedule ' || name, 0)) from
            (select name from item where kind = 'schedule' and reference = any($1) order by name) as followers
          """, .texts(sorted(needs.followed))))
    }
    return statements
  }

  /// What was asked for in `rows(of:)`, always the same statements.
  static func reads(_ needs: StateNeeds) -> [PostgresStatement] {
    let items = Array(needs.items)
    return [
      PostgresStatement(logs(where: "r.id = any($1)"), .uuids(needs.runs.filter(\.isUUID))),
      PostgresStatement(
        """
        select i.kind, i.name, i.text, coalesce(i.reference, ''), coalesce(i.holder, ''),
          case when i.kind = 'key' and i.holder is not null
            then exists (select 1 from run where id = i.holder::uuid) else false end
        from item i where (i.kind, i.name) in (select * from unnest($1::text[], $2::text[]))
          or i.kind = 'schedule' and i.reference = any($3)
        """, .texts(items.map(\.kind.rawValue)), .texts(items.map(\.name)), .texts(Array(needs.followed))),
      PostgresStatement(
        "select distinct on (schedule) text from slot where schedule = any($1) order by schedule, id desc",
        .texts(Array(needs.ledgers))),
      PostgresStatement(
        "select distinct reference from item where kind = 'event' and holder is null and reference = any($1)",
        .texts(Array(needs.eventNames))),
    ]
  }

  static func rows(of results: [PostgresResult]) throws(PostgresError) -> DatabaseRows {
    var rows = DatabaseRows()
    guard results.count == 4 else { return rows }
    rows.runs = try logs(results[0])
    for row in results[1].rows {
      let item = try item(row)
      rows.items.append(item)
      if try row.bool(5), let holder = item.holder { rows.open.insert(holder) }
    }
    for row in results[2].rows {
      do throws(RecordError) { rows.slots.append(try SlotRecord(text: try text(row))) } catch {
        throw PostgresError(.protocolError, "a settled slot can't be read: \(error.message)")
      }
    }
    for row in results[3].rows { rows.freeEvents.insert(try row.text(0)) }
    return rows
  }

  private static func text(_ row: PostgresRow) throws(RecordError) -> String {
    do throws(PostgresError) { return try row.text(0) } catch { throw RecordError(error.message) }
  }

  static func item(_ row: PostgresRow) throws(PostgresError) -> StoredItem {
    guard let kind = ItemKind(rawValue: try row.text(0)) else {
      throw PostgresError(.protocolError, "a newer version wrote to the database")
    }
    let (reference, holder) = (try row.text(3), try row.text(4))
    return StoredItem(
      ItemName(kind, try row.text(1)), text: try row.text(2), reference: reference.isEmpty ? nil : reference,
      holder: holder.isEmpty ? nil : holder)
  }

  // MARK: Writing what a batch changed

  static func writes(_ changes: DatabaseChanges) -> [PostgresStatement] {
    var statements = [PostgresStatement("insert into receipt (id) values ($1)", .text(changes.receipt))]
    for row in changes.created {
      statements.append(
        PostgresStatement(
          """
          insert into run (id, recipe, status, created_at, wake_at, waits_for, group_name, retry_of, needs_person, queue,
            needs, owner, epoch)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, (select id from worker where id = $12 for share), $13)
          """, .uuid(row.id), .text(row.recipe), .text(row.status), .timestamp(row.createdAt),
          .timestamp(row.wakeAt ?? .latest), .texts(row.waitsFor), .text(row.group), .text(row.retryOf),
          .bool(row.needsPerson), .text(row.queue), .texts(row.needs), .int64(changes.holder),
          .int64(changes.holder == nil ? 0 : 1)))
    }
    if !changes.created.isEmpty, changes.holder == nil {
      statements.append(PostgresStatement("select pg_notify('errand', 'due')"))
    }
    if !changes.entries.isEmpty {
      var statement = PostgresStatement(insert)
      statement.values = columns(changes.entries)
      statements.append(statement)
    }
    for row in changes.changed {
      statements.append(
        PostgresStatement(
          "update run set status = $2, wake_at = $3, waits_for = $4, needs_person = $5 where id = $1", .uuid(row.id),
          .text(row.status), .timestamp(row.wakeAt ?? .latest), .texts(row.waitsFor), .bool(row.needsPerson)))
    }
    for row in changes.ended {
      let summary = row.summary
      statements.append(PostgresStatement("delete from run where id = $1", .uuid(summary.id)))
      statements.append(
        PostgresStatement(
          "insert into finished values ($1, $2, $3, $4, $5, $6, $7, $8)", .uuid(summary.id), .text(summary.recipe),
          .text(summary.status.rawValue), .timestamp(summary.createdAt), .timestamp(summary.endedAt),
          .text(summary.retryOf), .text((try? summary.storedText) ?? ""), .text(row.text)))
    }
    for item in changes.items {
      statements.append(
        PostgresStatement(
          """
          insert into item values ($1, $2, $3, $4, $5, $6) on conflict (kind, name) do update set text = excluded.text,
            reference = excluded.reference, at = excluded.at, holder = excluded.holder
          """, .text(item.name.kind.rawValue), .text(item.name.name), .text(item.text), .text(item.reference),
          .timestamp(item.at), .text(item.holder)))
    }
    if !changes.removed.isEmpty {
      statements.append(
        PostgresStatement(
          "delete from item where (kind, name) in (select * from unnest($1::text[], $2::text[]))",
          .texts(changes.removed.map(\.kind.rawValue)), .texts(changes.removed.map(\.name))))
    }
    for slot in changes.slots {
      statements.append(
        PostgresStatement(
          "insert into slot (schedule, slot, until, settled_at, text) values ($1, $2, $3, $4, $5)",
          .text(slot.schedule), .timestamp(slot.slot), .timestamp(slot.until ?? slot.slot), .timestamp(slot.at),
          .text((try? slot.storedText) ?? "")))
    }
    for slot in changes.grown {
      statements.append(
        PostgresStatement(
          """
          update slot set until = $2, text = $3
          where schedule = $1 and id = (select max(id) from slot where schedule = $1)
          """, .text(slot.schedule), .timestamp(slot.until ?? slot.slot), .text((try? slot.storedText) ?? "")))
    }
    if !changes.told.isEmpty || !changes.came.isEmpty {
      statements.append(
        PostgresStatement(
          """
          with told as (update run set has_news = true where id = any($1) or waits_for && $2 returning owner)
          select pg_notify('errand', coalesce(owner::text, 'due')) from (select distinct owner from told) as owners
          """, .uuids(Array(changes.told)), .texts(Array(changes.came))))
    }
    return statements
  }

  // MARK: Queries

  static let lastID = "ffffffff-ffff-ffff-ffff-ffffffffffff"

  /// The least and the last id that begins with a text; nil if none can.
  private static func ids(from prefix: String?) -> (first: String?, last: String?)? {
    guard let prefix else { return (nil, nil) }
    let least = "00000000-0000-0000-0000-000000000000"
    let first = prefix + String(decoding: Array(least.utf8.dropFirst(prefix.utf8.count)), as: UTF8.self)
    let last = prefix + String(decoding: Array(lastID.utf8.dropFirst(prefix.utf8.count)), as: UTF8.self)
    return first.isUUID && last.isUUID ? (first, last) : nil
  }

  /// The columns hold microseconds, so that an instant before which something is to be may be that of the row.
  static let matches = """
    ($1::text is null or r.recipe = $1) and (cardinality($2::text[]) = 0 or r.recipe = any($2))
    and ($3::text is null or r.group_name = $3) and (cardinality($4::text[]) = 0 or r.status = any($4))
    and ($5::uuid is null or r.id between $5 and $6) and ($7::text is null or r.id::text like '%' || $7)
    and (cardinality($8::text[]) = 0 or r.retry_of = any($8)) and ($9::text is null or r.waits_for @> array[$9])
    and ($10::timestamptz is null or r.created_at >= $10) and ($11::timestamptz is null or r.created_at < $11)
    and ($12::uuid is null or r.id < $12) and ($13::bool is null or r.needs_person = $13)
    """

  static let openRuns = logs(
    where: "r.id in (select r.id from run r where \(matches) order by r.id desc limit $14)")

  static func conditions(_ query: OpenRunQuery) -> [PostgresValue]? {
    guard let ids = ids(from: query.idPrefix), query.statuses?.isEmpty != true else { return nil }
    if let before = query.idBefore, !before.isUUID { return nil }
    guard let suffix = suffix(query.idSuffix) else { return nil }
    return [
      .text(query.recipe), .texts(query.recipes), .text(query.group), .texts((query.statuses ?? []).map(\.rawValue)),
      .uuid(ids.first), .uuid(ids.last), .text(suffix), .texts(Array(query.retriesOf)), .text(query.event),
      .timestamp(query.createdFrom), .timestamp(query.createdBefore), .uuid(query.idBefore), .bool(query.needsPerson),
    ]
  }

  /// A suffix in which nothing is a pattern; nothing in it if none is asked for.
  private static func suffix(_ suffix: String?) -> String?? {
    guard let suffix else { return .some(nil) }
    let isPlain = suffix.utf8.allSatisfy { byte in
      ASCII.digits.contains(byte) || ASCII.lowercase.contains(byte) || byte == ASCII.minus
    }
    return isPlain ? .some(suffix) : .none
  }

  static let finishedRuns = """
    select summary, ended_at, id from finished
    where ($1::text is null or recipe = $1) and (cardinality($2::text[]) = 0 or status = any($2))
    and ($3::uuid is null or id between $3 and $4) and ($5::text is null or id::text like '%' || $5)
    and ($6::timestamptz is null or created_at >= $6) and ($7::timestamptz is null or created_at <= $7)
    and ($8::timestamptz is null or ended_at >= $8) and ($9::timestamptz is null or ended_at <= $9)
    and (cardinality($10::text[]) = 0 or retry_of = any($10)) and (ended_at, id) < ($11::timestamptz, $12::uuid)
    order by ended_at desc, id desc limit $13
    """

  static func conditions(_ query: HistoryQuery) -> [PostgresValue]? {
    guard let ids = ids(from: query.idPrefix), query.statuses?.isEmpty != true,
      let suffix = suffix(query.idSuffix)
    else { return nil }
    return [
      .text(query.recipe), .texts((query.statuses ?? []).map(\.rawValue)), .uuid(ids.first), .uuid(ids.last),
      .text(suffix), .timestamp(query.createdFrom), .timestamp(query.createdBefore), .timestamp(query.endedFrom),
      .timestamp(query.endedBefore), .texts(Array(query.retriesOf)),
    ]
  }

  static let slots = """
    select text, id from slot where ($1::text is null or schedule = $1)
    and ($2::timestamptz is null or until >= $2) and ($3::timestamptz is null or slot <= $3)
    and ($4::timestamptz is null or settled_at <= $4) and id < $5 order by id desc limit $6
    """
}
