/// The part of `errand doctor` that examines a state in PostgreSQL, without changing anything.
///
/// Each server is asked separately: whether it takes writes, its timeline, and whether its settings keep acknowledged
/// writes. The state itself is examined on the server that takes writes: whether this program can use its tables,
/// whether each open run's log is undamaged, and whether some worker can claim each due run.
package import Basics
package import PostgresClient
package import RunState

package struct PostgresExamination: Sendable {
  /// A server as it was found.
  package struct Server: Sendable, Equatable {
    /// Where it is: `db1:5432`.
    package var name: String
    /// Whether it is a standby, which takes no writes.
    package var isStandby: Bool
    package var timeline: Int
    package var version: String
    /// The version of TLS; nil for a connection that isn't encrypted.
    package var encryption: String?
    /// How many standbys follow it.
    package var standbys: Int
    /// How far this machine's clock is ahead of the server's.
    package var clockOffset: TimeSpan
    /// How far that may be from the truth: half the time that the answer took.
    package var clockDoubt: TimeSpan
    package var settings: [String: String]
  }

  package var servers: [Server] = []
  package var state = StateExamination()

  /// The farthest that clocks may be apart for schedules to be decided by them.
  static let farthestClock = TimeSpan.seconds(2)
}

extension PostgresDatabase {
  /// Examines the servers, and the state on the one that takes writes.
  ///
  /// - Parameter secrets: The secrets that nothing in the state may hold.
  package static func examine(
    _ hosts: [PostgresSettings], secrets: SecretRegistry = SecretRegistry(), time: any TimeSource = SystemTime()
  ) async -> PostgresExamination {
    typealias Looked = (index: Int, result: Result<(PostgresExamination.Server, PostgresConnection), PostgresError>)
    var found: [Looked] = []
    await withTaskGroup(of: Looked.self) { group in
      for (index, host) in hosts.enumerated() {
        group.addTask {
          do throws(PostgresError) { return (index, .success(try await look(at: host, time))) } catch {
            return (index, .failure(error))
          }
        }
      }
      for await looked in group { found.append(looked) }
    }
    var result = PostgresExamination()
    var connections: [PostgresConnection] = []
    var writing: PostgresConnection?
    var unreachable: [String] = []
    for looked in found.sorted(by: { $0.index < $1.index }) {
      switch looked.result {
      case .success(let (server, connection)):
        result.servers.append(server)
        connections.append(connection)
        if !server.isStandby { writing = connection }
      case .failure(let error): unreachable.append(error.message)
      }
    }
    // One that doesn't answer costs nothing while another does.
    result.state.findings += unreachable.map { .init(result.servers.isEmpty ? .fault : .warning, $0) }
    result.state.findings += PostgresExamination.findings(on: result.servers)
    if let writing, result.servers.filter({ !$0.isStandby }).count == 1 {
      do throws(PostgresError) { try await examine(writing, secrets.finder, &result.state) } catch {
        result.state.findings.append(.init(.fault, error.message))
      }
    }
    for connection in connections { connection.close() }
    return result
  }

  private static let settingNames = [
    "fsync", "full_page_writes", "log_min_duration_sample", "log_min_duration_statement", "log_parameter_max_length",
    "log_parameter_max_length_on_error", "log_statement", "synchronous_commit", "synchronous_standby_names",
  ]

  private static func look(
    at host: PostgresSettings, _ time: any TimeSource
  ) async throws(PostgresError) -> (PostgresExamination.Server, PostgresConnection) {
    let connection = try await PostgresConnection.open(host)
    do throws(PostgresError) {
      let (start, asked) = (time.elapsed(), time.now())
      let clock = try await connection.run("select clock_timestamp()").first?.timestamp(0)
      let doubt = TimeSpan(nanoseconds: (time.elapsed() - start).nanoseconds / 2)
      let facts = try await connection.run(
        """
        select pg_is_in_recovery(), case when pg_is_in_recovery() then (select timeline_id::int8 from pg_control_checkpoint())
            else ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8 end,
          split_part(current_setting('server_version'), ' ', 1),
          coalesce((select version from pg_stat_ssl where pid = pg_backend_pid() and ssl), ''),
          (select count(*) from pg_stat_replication)
        """
      ).first
      guard let facts, let clock else { throw PostgresError(.protocolError, "\(host) gave no answer") }
      var settings: [String: String] = [:]
      for row in try await connection.run(
        "select name, setting from pg_settings where name = any($1)", .texts(settingNames)
      ).rows {
        settings[try row.text(0)] = try row.text(1)
      }
      let encryption = try facts.text(3)
      // It answered in the middle of the time that it took.
      let offset = (asked.span(since: clock) ?? .zero) + doubt
      let server = PostgresExamination.Server(
        name: host.description, isStandby: try facts.bool(0), timeline: try facts.int64(1), version: try facts.text(2),
        encryption: encryption.isEmpty ? nil : encryption, standbys: try facts.int64(4), clockOffset: offset,
        clockDoubt: doubt, settings: settings)
      return (server, connection)
    } catch {
      connection.close()
      throw error
    }
  }

  // MARK: The state

  private static func examine(
    _ connection: PostgresConnection, _ secrets: SecretFinder, _ result: inout StateExamination
  ) async throws(PostgresError) {
    let version = try await PostgresSchemaVersion.read { statement throws(PostgresError) in
      try await connection.run(statement)
    }
    let known = PostgresSchemaVersion.current.steps
    if let refusal = version.refusal(knowing: known) { return result.findings.append(.init(.fault, refusal)) }
    if version.steps > known {
      result.findings.append(
        .init(
          .note,
          "a newer version of errand changed the tables (\(version.steps) steps, of which this one knows \(known)); it can "
            + "use them"))
    }
    try await connection.run("set search_path to errand")
    for (name, query) in [
      ("open runs", "select count(*) from run"), ("schedules", "select count(*) from item where kind = 'schedule'"),
      ("events", "select count(*) from item where kind = 'event'"), ("finished runs", "select count(*) from finished"),
      ("slots in the ledger", "select count(*) from slot"), ("blobs", "select count(*) from blob where part = 0"),
      ("workers", "select count(*) from worker where lease_until > clock_timestamp()"),
    ] {
      result.counts.append((name, try await connection.run(query).first?.int64(0) ?? 0))
    }
    try await examineLead(connection, &result)
    try await examineClocks(connection, &result)
    try await examineLogs(connection, &result)
    try await examineTexts(connection, secrets, &result)
    try await examineUnclaimable(connection, &result)
    try await examineBlobs(connection, &result)
  }

  /// Finds whether there are schedules and workers, but no worker that leads, so that no schedule starts a run.
  private static func examineLead(
    _ connection: PostgresConnection, _ result: inout StateExamination
  ) async throws(PostgresError) {
    let row = try await connection.run(
      """
      select exists (select 1 from item where kind = 'schedule')
        and exists (select 1 from worker where lease_until > clock_timestamp() - interval '1 minute'
          and since < clock_timestamp() - interval '20 seconds')
        and not exists (select 1 from leader where until > clock_timestamp())
      """
    ).first
    guard try row?.bool(0) == true else { return }
    result.findings.append(
      .init(
        .fault,
        "no machine leads the schedules, so that none of them starts a run; start errand serve on one without "
          + "--no-schedules, or see with errand workers which is draining or has a clock that is off"))
  }

  /// Finds the workers whose clocks are too far off for them to lead.
  private static func examineClocks(
    _ connection: PostgresConnection, _ result: inout StateExamination
  ) async throws(PostgresError) {
    let rows = try await connection.run(
      """
      select name, clock_offset from worker where lease_until > clock_timestamp() and abs(clock_offset) > $1 order by name
      """, .int64(PostgresExamination.farthestClock.nanoseconds / 1000)
    ).rows
    for row in rows {
      let offset = TimeSpan.milliseconds(try row.int64(1) / 1000)
      result.findings.append(
        .init(
          .warning,
          "the clock of the worker '\(try row.text(0).safe)' is \(offset.magnitude.spoken) "
            + "\(offset > .zero ? "ahead of" : "behind") that of the database; set it by NTP, because that worker decides "
            + "on no schedules"))
    }
  }

  /// How many logs are read at once.
  private static let logsAtOnce = 64

  /// Reads the log of each open run, which has a sum.
  private static func examineLogs(
    _ connection: PostgresConnection, _ result: inout StateExamination
  ) async throws(PostgresError) {
    var last = SQL.firstID
    while true {
      let ids = try await connection.run(
        "select id from run where id > $1 order by id limit $2", .uuid(last), .int64(logsAtOnce)
      ).rows.map { row throws(PostgresError) in try row.uuid(0) }
      guard let end = ids.last else { return }
      last = end
      if try await damage(in: ids, connection) == nil { continue }
      for id in ids {
        guard let damage = try await damage(in: [id], connection) else { continue }
        result.findings.append(
          .init(
            .fault,
            "the log of the run \(id) isn't what was written: \(damage); restore the database, or cancel the run"))
      }
    }
  }

  /// Describes the first damage in the logs of runs; nil if there is none.
  private static func damage(
    in ids: [String], _ connection: PostgresConnection
  ) async throws(PostgresError) -> String? {
    let rows = try await connection.run([PostgresStatement(SQL.logs(where: "r.id = any($1)"), .uuids(ids))])
    for result in rows { if let damage = try SQL.logs(result).lazy.compactMap(\.damage).first { return damage } }
    return nil
  }

  /// How many records are read at once.
  private static let recordsAtOnce = 256

  /// Texts that the state keeps.
  private struct Place {
    /// The words before a record's name, such as `the slot`.
    var what: String
    /// Selects a number of rows (`$2`) after a key (`$1`): their keys, names and texts, and further columns for `read`.
    var query: String
    /// A key before all others.
    var start = ""
    /// Decodes a row, if it is a record by itself; returns the error.
    var read: (PostgresRow) throws(PostgresError) -> RecordError? = { (_) throws(PostgresError) in nil }
  }

  /// Decodes the records of finished runs, slots and items, and searches these and the logs for secrets in plain text,
  /// which a program stored that didn't know them.
  private static func examineTexts(
    _ connection: PostgresConnection, _ secrets: SecretFinder, _ result: inout StateExamination
  ) async throws(PostgresError) {
    var found: [String: Set<String>] = [:]
    for place in secrets.isEmpty ? records : records + logs {
      var last = place.start
      while true {
        let rows = try await connection.run(place.query, .text(last), .int64(recordsAtOnce)).rows
        for row in rows {
          last = try row.text(0)
          let name = "\(place.what) \(secrets.redact(try row.text(1)).safe)"
          if let error = try place.read(row) {
            result.findings.append(
              .init(.fault, "\(name) can't be read: \(error.message); restore the database to see it again"))
          }
          let names = secrets.names(in: try row.text(2))
          if !names.isEmpty { found[name, default: []].formUnion(names) }
        }
        if rows.count < recordsAtOnce { break }
      }
    }
    for (place, names) in found.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      let quoted = names.sorted { $0.precedesByScalars($1) }.map { "'\($0)'" }.joined(separator: ", ")
      result.findings.append(
        .init(
          .fault,
          "\(place) holds the secret\(names.count == 1 ? "" : "s") \(quoted), as a program kept it that didn't know it; "
            + "delete it once it isn't needed, and change the secret"))
    }
  }

  private static var records: [Place] {
    [
      Place(
        what: "the finished run",
        query: "select id::text, id::text, text, summary from finished where id > $1::text::uuid order by id limit $2",
        start: SQL.firstID
      ) { row throws(PostgresError) in
        let (text, summary) = (try row.text(2), try row.text(3))
        return fault { () throws(RecordError) in _ = (try RunRecord(text: text), try RunSummary(text: summary)) }
      },
      Place(
        what: "the slot",
        query: """
          select id::text, to_char(slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z of "') || schedule, text from slot
          where id > $1::text::int8 order by id limit $2
          """, start: "0"
      ) { row throws(PostgresError) in
        let text = try row.text(2)
        return fault { () throws(RecordError) in _ = try SlotRecord(text: text) }
      },
      // A name may hold a secret, too.
      Place(
        what: "the",
        query: """
          select kind || ' ' || name, kind || ' ' || quote_literal(name), text || ' ' || name, kind, name, text from item
          where (kind, name) > (split_part($1, ' ', 1), substr($1, length(split_part($1, ' ', 1)) + 2))
          order by kind, name limit $2
          """
      ) { row throws(PostgresError) in
        guard let kind = ItemKind(rawValue: try row.text(3)) else { return RecordError("a newer version wrote it") }
        let item = StoredItem(ItemName(kind, try row.text(4)), text: try row.text(5))
        return fault { () throws(RecordError) in try StateSlice.check(item) }
      },
    ]
  }

  private static func fault(_ read: () throws(RecordError) -> Void) -> RecordError? {
    do throws(RecordError) { try read() } catch { return error }
    return nil
  }

  /// Texts that are only searched for secrets: logs, whose sums are checked elsewhere, and the output of programs.
  private static var logs: [Place] {
    func numbered(_ table: String, _ text: String, _ what: String) -> Place {
      Place(
        what: what,
        query: """
          select run || lpad(number::text, 19, '0'), run::text, \(text) from \(table)
          where (run, number) > (left($1, 36)::uuid, substr($1, 37)::int8) order by run, number limit $2
          """, start: SQL.firstID + "0")
    }
    return [
      numbered("entry", "events", "the run"),
      Place(
        what: "the run",
        query:
          "select id::text, id::text, fold from run where fold is not null and id > $1::text::uuid order by id limit $2",
        start: SQL.firstID),
      numbered("line", "text", "the log of the run"),
    ]
  }

  /// Finds the large values that aren't what was written, or that are gone though something names them.
  private static func examineBlobs(
    _ connection: PostgresConnection, _ result: inout StateExamination
  ) async throws(PostgresError) {
    var last: [UInt8] = []
    while true {
      // One after another, because each may be large.
      let row = try await connection.run(
        """
        select sha256, sha256(string_agg(bytes, ''::bytea order by part)) = sha256, encode(sha256, 'hex') from blob
        where sha256 > $1 group by sha256 order by sha256 limit 1
        """, .bytes(last)
      ).first
      guard let row else { break }
      last = try row.bytes(0)
      if try row.bool(1) { continue }
      result.findings.append(
        .init(.fault, "the blob \(try row.text(2)) isn't what was written; restore the database to see it again"))
    }
    let missing = try await connection.run(
      """
      select distinct name from (select text, unnest(blobs) as name from finished
        union all select text, unnest(blobs) from item union all select fold, unnest(blobs) from run
        union all select e.events, unnest(e.blobs) from entry e join run r on r.id = e.run) as named
      where not exists (select 1 from blob where sha256 = decode(name, 'hex') and part = 0)
        and strpos(text, '{"$blob":{"sha256":"' || name || '"') > 0 order by name
      """
    ).rows
    for row in missing {
      result.findings.append(
        .init(.fault, "the blob \(try row.text(0)) is gone, and something needs it; restore the database"))
    }
  }

  /// Finds runs that have been due for a while without a worker that can claim them.
  private static func examineUnclaimable(
    _ connection: PostgresConnection, _ result: inout StateExamination
  ) async throws(PostgresError) {
    let unclaimable = try await connection.run(
      """
      select count(*), min(id::text) from run r where owner is null and due_at < clock_timestamp() - interval '1 minute'
        and not exists (select from worker w where lease_until > clock_timestamp() and not w.is_draining
          and r.queue = any(w.queues) and r.needs <@ w.offers and (r.home is null or r.home = w.home))
      """
    ).first
    guard let unclaimable, try unclaimable.int64(0) > 0 else { return }
    let count = try unclaimable.int64(0)
    result.findings.append(
      .init(
        .warning,
        "no program that works now can carry on \(count == 1 ? "a run that is" : "\(count) runs that are") due: it takes "
          + "from another queue, or lacks what the run needs; see: errand why \(try unclaimable.text(1))"))
  }
}

// MARK: Servers

extension PostgresExamination {
  private typealias Finding = StateExamination.Finding

  /// The findings about servers.
  static func findings(on servers: [Server]) -> [StateExamination.Finding] {
    var findings: [Finding] = []
    let writing = servers.filter { !$0.isStandby }
    if writing.isEmpty, !servers.isEmpty {
      findings.append(.init(.fault, "no server takes writes: \(joined(servers.map(\.name))) is a standby"))
    }
    if writing.count > 1 {
      let highest = writing.map(\.timeline).max() ?? 0
      let old = writing.filter { $0.timeline < highest }
      let remedy =
        old.isEmpty
        ? "stop all but one of them, and make the others its standbys"
        : "\(joined(old.map(\.name))) was replaced: stop it, and make it a standby again; what it acknowledged since is lost"
      findings.append(.init(.fault, "several servers take writes: \(joined(writing.map(\.name))); \(remedy)"))
    }
    for server in servers { findings += server.findings }
    return findings
  }

  private static func joined(_ names: [String]) -> String { names.joined(separator: ", ") }
}

extension PostgresExamination.Server {
  fileprivate var findings: [StateExamination.Finding] {
    var findings: [StateExamination.Finding] = []
    func isOff(_ name: String) -> Bool { settings[name] == "off" }
    for (name, effect) in [
      ("fsync", "what was acknowledged is lost when the machine fails"),
      ("full_page_writes", "a failure of the machine damages the tables"),
      ("synchronous_commit", "what was acknowledged last is lost when the server fails"),
    ] where isOff(name) {
      findings.append(.init(.fault, "\(name) is off on \(self.name), so that \(effect); set \(name) = on"))
    }
    if !isStandby { findings += standbyFindings }
    if let log = loggedValues {
      findings.append(
        .init(
          .warning,
          "\(name) writes the values of statements, with what runs handle, into its log (\(log)); set "
            + "log_parameter_max_length = 0 and log_parameter_max_length_on_error = 0"))
    }
    let apart = TimeSpan(nanoseconds: abs(clockOffset.nanoseconds))
    if apart - clockDoubt > PostgresExamination.farthestClock {
      let direction = clockOffset > .zero ? "ahead of" : "behind"
      findings.append(
        .init(
          .warning,
          "the clock of this machine is \(apart.spoken) \(direction) that of \(name); set them by NTP, because schedules "
            + "are decided only by a machine that is off by \(PostgresExamination.farthestClock.spoken) at most"))
    }
    return findings
  }

  private var standbyFindings: [StateExamination.Finding] {
    let names = settings["synchronous_standby_names"] ?? ""
    if standbys > 0, names.isEmpty {
      return [
        .init(
          .warning,
          "the standbys of \(name) are asynchronous: when one of them takes over, what was acknowledged last is lost; "
            + "set synchronous_standby_names, such as 'ANY 1 (*)'")
      ]
    }
    if standbys == 0, !names.isEmpty {
      return [
        .init(
          .warning,
          "no standby follows \(name), and its writes wait for one (synchronous_standby_names = '\(names)')")
      ]
    }
    return []
  }

  /// The settings that make the server log values.
  private var loggedValues: String? {
    var causes: [String] = []
    if settings["log_parameter_max_length"] ?? "-1" != "0" {
      if let kind = settings["log_statement"], kind == "mod" || kind == "all" {
        causes.append("log_statement = \(kind)")
      }
      for name in ["log_min_duration_statement", "log_min_duration_sample"] {
        if let least = settings[name], least != "-1" { causes.append("\(name) = \(least)") }
      }
    }
    if let most = settings["log_parameter_max_length_on_error"], most != "0" {
      causes.append("log_parameter_max_length_on_error = \(most)")
    }
    return causes.isEmpty ? nil : causes.joined(separator: ", ")
  }
}
