import Basics
import PostgresClient
import PostgresTestKit
import RunState
import Testing

@testable import SharedState

/// The doctor's findings about servers, and about the state in them.
@Suite(.timeLimit(.minutes(20))) struct PostgresDoctorTests {
  private static func server(
    _ name: String = "db1:5432", isStandby: Bool = false, timeline: Int = 1, standbys: Int = 0,
    ahead: TimeSpan = .zero, settings: [String: String] = [:]
  ) -> PostgresExamination.Server {
    let usual = [
      "fsync": "on", "full_page_writes": "on", "log_min_duration_sample": "-1", "log_min_duration_statement": "-1",
      "log_parameter_max_length": "-1", "log_parameter_max_length_on_error": "0", "log_statement": "none",
      "synchronous_commit": "on", "synchronous_standby_names": "",
    ]
    return PostgresExamination.Server(
      name: name, isStandby: isStandby, timeline: timeline, version: "15", encryption: "TLSv1.3", standbys: standbys,
      clockOffset: ahead, clockDoubt: .milliseconds(500), settings: usual.merging(settings) { $1 })
  }

  @Test(arguments: [
    ([server()], []),
    ([server(), server("db2:5432", isStandby: true)], []),
    (
      [server(settings: ["fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"])],
      [
        "fault: fsync is off on db1:5432, so that what was acknowledged is lost when the machine fails; set fsync = on",
        "fault: full_page_writes is off on db1:5432, so that a failure of the machine damages the tables; set full_page_writes = on",
        "fault: synchronous_commit is off on db1:5432, so that what was acknowledged last is lost when the server fails; set synchronous_commit = on",
      ]
    ),
    (
      [server(standbys: 2)],
      [
        "warning: the standbys of db1:5432 are asynchronous: when one of them takes over, what was acknowledged last is lost; set synchronous_standby_names, such as 'ANY 1 (*)'"
      ]
    ),
    ([server(standbys: 2, settings: ["synchronous_standby_names": "ANY 1 (*)"])], []),
    (
      [server(settings: ["synchronous_standby_names": "ANY 1 (*)"])],
      [
        "warning: no standby follows db1:5432, and its writes wait for one (synchronous_standby_names = 'ANY 1 (*)')"
      ]
    ),
    (
      [
        server(settings: [
          "log_statement": "all", "log_min_duration_statement": "250", "log_parameter_max_length_on_error": "-1",
        ])
      ],
      [
        "warning: db1:5432 writes the values of statements, with what runs handle, into its log (log_statement = all, log_min_duration_statement = 250, log_parameter_max_length_on_error = -1); set log_parameter_max_length = 0 and log_parameter_max_length_on_error = 0"
      ]
    ),
    ([server(settings: ["log_statement": "all", "log_parameter_max_length": "0"])], []),
    ([server(settings: ["log_statement": "ddl"])], []),
    ([server(ahead: .milliseconds(2400))], []),
    (
      [server(ahead: .milliseconds(2600))],
      [
        "warning: the clock of this machine is 2.6s ahead of that of db1:5432; set them by NTP, because schedules are decided only by a machine that is off by 2.0s at most"
      ]
    ),
    (
      [server(ahead: .seconds(-3600))],
      [
        "warning: the clock of this machine is 1h 0m behind that of db1:5432; set them by NTP, because schedules are decided only by a machine that is off by 2.0s at most"
      ]
    ),
    (
      [server(isStandby: true)], ["fault: no server takes writes: db1:5432 is a standby"]
    ),
    (
      [server(timeline: 3), server("db2:5432", timeline: 4)],
      [
        "fault: several servers take writes: db1:5432, db2:5432; db1:5432 was replaced: stop it, and make it a standby again; what it acknowledged since is lost"
      ]
    ),
    (
      [server(), server("db2:5432")],
      [
        "fault: several servers take writes: db1:5432, db2:5432; stop all but one of them, and make the others its standbys"
      ]
    ),
  ]) func `servers are judged by what they say`(_ servers: [PostgresExamination.Server], _ findings: [String]) {
    let found = PostgresExamination.findings(on: servers).map { "\($0.severity.rawValue): \($0.message)" }
    #expect(found == findings)
  }

  private static func findings(_ hosts: PostgresSettings...) async -> [String] {
    await PostgresDatabase.examine(hosts).state.findings.map { "\($0.severity.rawValue): \($0.message)" }
  }

  private static let isInstalled = PostgresServer.isInstalled

  @Test(.enabled(if: isInstalled)) func `a sound state has no findings, and is counted`() async throws {
    let settings = try await PostgresServer.database()
    #expect(
      await PostgresDoctorTests.findings(settings) == [
        "fault: there is no state in the database yet; make one with: errand state init"
      ])
    try await PostgresDatabase.migrate([settings])
    let examination = await PostgresDatabase.examine([settings])
    #expect(examination.state.findings == [])
    #expect(examination.servers.map(\.name) == [settings.description])
    #expect(examination.servers.map(\.isStandby) == [false])
    #expect(examination.servers.map(\.timeline) == [1])
    #expect(
      examination.state.counts.map { "\($0.name): \($0.count)" } == [
        "open runs: 0", "schedules: 0", "events: 0", "finished runs: 0", "slots in the ledger: 0", "blobs: 0",
        "workers: 0",
      ])
    var gone = settings
    gone.port = 1
    let without = await PostgresDoctorTests.findings(gone)
    #expect(
      without.count == 1 && without[0].hasPrefix("fault: can't connect to PostgreSQL at 127.0.0.1:1: "), "\(without)")
    let besides = await PostgresDoctorTests.findings(gone, settings)
    #expect(besides.map { $0.hasPrefix("warning: can't connect to PostgreSQL at 127.0.0.1:1: ") } == [true])
  }

  @Test(.enabled(if: isInstalled)) func `a log that was changed is named, and so is a run that nobody can take`()
    async throws
  {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]))
    var ids: [String] = []
    for number in 1...3 {
      let id = "01a21500-0000-7000-8000-00000000000\(number)"
      ids.append(id)
      var run = RunCreated(
        run: id, at: try #require(Timestamp("2026-11-20T09:30:00Z")), recipe: "r", file: "r", texts: .inline(.null),
        inputs: .map(ValueMap()), program: "1")
      run.needs = ["plugin:desk"]
      try await store.append(.runCreated(run))
    }
    try await store.close()
    let unclaimable =
      "warning: no program that works now can carry on 3 runs that are due: it takes from another queue, or lacks what the run needs; see: errand why \(ids[0])"
    #expect(await PostgresDoctorTests.findings(settings) == [unclaimable])
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    try await connection.run(
      "update errand.entry set events = replace(events, 'plugin:desk', 'plugin:dusk') where run = $1", .uuid(ids[1]))
    let findings = await PostgresDoctorTests.findings(settings)
    #expect(findings.count == 2 && findings.last == unclaimable)
    #expect(
      findings.first?.hasPrefix("fault: the log of the run \(ids[1]) isn't what was written: ") == true, "\(findings)")
    // A program with the plugin that they need claims the runs.
    let worker = SharedStateStore(
      try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test", offers: ["plugin:desk"]).patient)
    try await worker.join(claiming: false)
    #expect(await PostgresDoctorTests.findings(settings) == findings)
    try await worker.join(claiming: true)
    #expect(await PostgresDoctorTests.findings(settings) == [findings[0]])
    try await worker.close()
  }

  @Test(.enabled(if: isInstalled)) func `what can't be read of finished runs, slots, schedules and blobs is named`()
    async throws
  {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    let digest = [UInt8](repeating: 0x11, count: 32)
    let gone = String(repeating: "22", count: 32)
    try await connection.run(
      "insert into errand.finished values ('01a21500-0000-7000-8000-000000000001', 'r', 'failed', now(), now(), null, '{', '{')"
    )
    try await connection.run(
      "insert into errand.slot (schedule, slot, until, settled_at, text) values ('nightly', '2026-11-20Z', now(), now(), '[')"
    )
    try await connection.run("insert into errand.item values ('schedule', 'nightly', '7')")
    try await connection.run("insert into errand.item values ('riddle', 'x', '7')")
    try await connection.run(
      "insert into errand.item values ('value', 'named', $1)",
      .text(
        """
        {"$blob":{"sha256":"\(gone)","size":3},"other":"\(String(repeating: "33", count: 32))"}
        """))
    try await connection.run("insert into errand.blob values ($1, 0, 'abc')", .bytes(digest))
    try await connection.run(
      """
      insert into errand.worker (name, host, pid, program, offers, queues, capacity, home, lease_until, clock_offset)
      values ('late', 'h', 1, '1', '{}', '{default}', 1, '', now() + interval '1 minute', -3600000000)
      """)
    let findings = await PostgresDoctorTests.findings(settings)
    let starts = [
      "warning: the clock of the worker 'late' is 1h 0m behind that of the database; ",
      "fault: the finished run 01a21500-0000-7000-8000-000000000001 can't be read: ",
      "fault: the slot 2026-11-20T00:00:00Z of nightly can't be read: ",
      "fault: the riddle 'x' can't be read: ", "fault: the schedule 'nightly' can't be read: ",
      "fault: the blob \(String(repeating: "11", count: 32)) isn't what was written; ",
      "fault: the blob \(gone) is gone, and something needs it; ",
    ]
    #expect(findings.count == starts.count, "\(findings)")
    for (finding, start) in zip(findings, starts) { #expect(finding.hasPrefix(start), "\(findings)") }
  }

  @Test(.enabled(if: isInstalled)) func `servers and their standby are told apart`() async throws {
    let server = try await PostgresServer.start(["fsync = off", "log_statement = 'all'"])
    let standby = try await server.standby(isSynchronous: false)
    try await PostgresDatabase.migrate([server.settings()])
    let examination = await PostgresDatabase.examine([standby.settings(), server.settings()])
    #expect(examination.servers.map(\.isStandby) == [true, false])
    #expect(examination.servers.map(\.timeline) == [1, 1])
    #expect(examination.servers.map(\.standbys) == [0, 1])
    #expect(examination.servers.map { $0.settings["fsync"] } == ["off", "off"])
    let faults = examination.state.findings.filter { $0.severity == .fault }.map(\.message)
    #expect(faults.count == 2 && faults.allSatisfy { $0.hasPrefix("fsync is off on ") }, "\(faults)")
    let warnings = examination.state.findings.filter { $0.severity == .warning }.map(\.message)
    #expect(warnings.contains { $0.hasPrefix("the standbys of ") }, "\(warnings)")
    #expect(warnings.count { $0.contains("log_statement = all") } == 2, "\(warnings)")
    try await standby.promote()
    let both = await PostgresDoctorTests.findings(standby.settings(), server.settings())
    #expect(both.contains { $0.contains("several servers take writes") && $0.contains("was replaced") }, "\(both)")
    await standby.remove()
    await server.remove()
  }
}
