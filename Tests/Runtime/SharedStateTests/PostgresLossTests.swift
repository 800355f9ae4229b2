import Basics
import Glibc
import PostgresClient
import PostgresTestKit
import RunState
import SharedState
import Synchronization
import Testing

/// Writes that are acknowledged while a real server dies and comes back.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed")) struct PostgresLossTests {
  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  @Test(.timeLimit(.minutes(20)))
  func `Nothing acknowledged is lost or doubled by a server that is killed and started again`() async throws {
    let server = try await PostgresServer.start(["fsync = on"])
    let settings = server.settings()
    try await PostgresDatabase.migrate([settings])
    // A busy machine may take long to start a server that was killed.
    let store = SharedStateStore(
      try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient, patience: .seconds(900))
    try await store.join(claiming: true)
    let now = SystemTime().now()
    let runs = (0..<4).map { "0199a3f2-4c00-7abc-8def-00000000000\($0)" }
    for run in runs {
      try await store.append([
        .runCreated(
          RunCreated(
            run: run, at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
            program: "test"))
      ])
    }
    let end = Flag()
    let acknowledged = try await withThrowingTaskGroup(of: (run: String, count: Int).self) { group in
      for run in runs {
        group.addTask {
          // Otherwise the test would wait for the other tasks, which can't continue.
          defer { end.isSet.store(true, ordering: .relaxed) }
          var count = 0
          while !end.isSet.load(ordering: .relaxed) {
            // A step, and a value, which needs a transaction of its own.
            let begun = StepBegan(run: run, at: now, step: "s\(count)", now: now)
            let value = ValueSet(
              at: now, name: "\(run)-\(count)", value: .inline(.int(count)), condition: ValueState(nil))
            if count % 5 == 0 {
              try await store.append([.stepBegan(begun), .valueSet(value)])
            } else {
              try await store.append(.stepBegan(begun))
            }
            count += 1
          }
          return (run, count)
        }
      }
      for _ in 0..<3 {
        // For as long as some steps take.
        let before = store.run(runs[0])?.steps.count ?? 0
        while !end.isSet.load(ordering: .relaxed), store.run(runs[0])?.steps.count ?? 0 < before + 20 {
          await Task.yield()
        }
        await server.kill()
        try await server.start()
      }
      end.isSet.store(true, ordering: .relaxed)
      return try await group.reduce(into: [:]) { $0[$1.run] = $1.count }
    }
    let reader = SharedStateStore(try await PostgresDatabase.open([settings]))
    for run in runs {
      let record = try #require(await reader.openRun(run))
      #expect(record.steps.map(\.path) == (0..<(acknowledged[run] ?? 0)).map { "s\($0)" })
      #expect(record == store.run(run))
    }
    let values = acknowledged.flatMap { run, count in stride(from: 0, to: count, by: 5).map { "\(run)-\($0)" } }
    #expect(await reader.valueNames() == values.sorted())
    try await store.close()
    try await reader.close()
    await server.remove()
  }

  @Test(.timeLimit(.minutes(20)), arguments: [false, true])
  func `What a standby may lack isn't taken as kept, however often its commit is cancelled`(
    isTransaction: Bool
  ) async throws {
    let server = try await PostgresServer.start(["fsync = on"])
    let standby = try await server.standby(isSynchronous: true)
    let settings = server.settings()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: false)
    let now = SystemTime().now()
    let run = "0199a3f2-4c00-7abc-8def-000000000000"
    try await store.append([
      .runCreated(
        RunCreated(
          run: run, at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
          program: "test"))
    ])
    let connection = try await PostgresConnection.open(settings)
    standby.pause()
    let isKept = Flag()
    let keeping = Task {
      let begun = StateEvent.stepBegan(StepBegan(run: run, at: now, step: "a", now: now))
      let value = StateEvent.valueSet(ValueSet(at: now, name: "n", value: .inline(.int(1))))
      try await store.append(isTransaction ? [begun, value] : [begun])
      isKept.isSet.store(true, ordering: .relaxed)
    }
    // It is tried again and again, and each time waits for the standby.
    for _ in 0..<4 {
      while try await connection.run(
        "select from (select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep') as cancelled"
      ).isEmpty {}
    }
    let wasKept = isKept.isSet.load(ordering: .relaxed)
    #expect(!wasKept)
    standby.unpause()
    try await keeping.value
    #expect(store.run(run)?.steps.map(\.path) == ["a"])
    connection.close()
    try await store.close()
    await server.kill()
    try await standby.promote()
    let reader = SharedStateStore(try await PostgresDatabase.open([standby.settings()]))
    #expect(await reader.openRun(run)?.steps.map(\.path) == ["a"])
    try await reader.close()
    await standby.remove()
    await server.remove()
  }

  @Test(.timeLimit(.minutes(20))) func `A server that was replaced is left, though it still takes writes`() async throws
  {
    let primary = try await PostgresServer.start()
    let standby = try await primary.standby(isSynchronous: false)
    let hosts = [primary.settings(), standby.settings()]
    try await PostgresDatabase.migrate(hosts)
    let database = try await PostgresDatabase.open(hosts)
    let store = SharedStateStore(database, terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: true)
    let old = try await PostgresConnection.open(primary.settings())
    // The standby has the lease, too.
    while try await old.run("select from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()").isEmpty {}
    try await standby.promote()
    for await news in store.news { if case .tookOver = news { break } }
    #expect(database.timeline == 2)
    try await store.append([.valueSet(ValueSet(at: SystemTime().now(), name: "n", value: .inline(.int(1))))])
    let new = try await PostgresConnection.open(standby.settings())
    let count = "select count(*) from errand.item"
    #expect(try await old.run(count).first?.int64(0) == 0)
    #expect(try await new.run(count).first?.int64(0) == 1)
    for connection in [old, new] { connection.close() }
    try await store.close()
    for server in [primary, standby] { await server.remove() }
  }

  @Test(.timeLimit(.minutes(20))) func `A server that never answers keeps nobody from the one that does`() async throws
  {
    var settings = try await PostgresServer.database()
    settings.answerWithin = .seconds(50)
    try await PostgresDatabase.migrate([settings])
    // The system accepts a connection that no program accepts.
    let silent = try #require(SilentListener())
    var dead = settings
    dead.port = silent.port
    let start = SystemTime().elapsed()
    let database = try await PostgresDatabase.open([dead, settings])
    #expect(try await database.itemCount(ItemQuery(.value)) == 0)
    #expect(SystemTime().elapsed() - start < .seconds(20))
    await database.close()
  }

  enum Way: CaseIterable {
    case plain
    case transaction
    /// The run isn't held when the server fails.
    case letGo
  }

  @Test(.timeLimit(.minutes(20)), arguments: Way.allCases)
  func `A run whose last entries a failover has lost waits for a person, and says so`(_ way: Way) async throws {
    let primary = try await PostgresServer.start()
    let standby = try await primary.standby(isSynchronous: false)
    let hosts = [primary.settings(), standby.settings()]
    try await PostgresDatabase.migrate(hosts)
    let store = SharedStateStore(try await PostgresDatabase.open(hosts), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: false)
    let now = SystemTime().now()
    let run = "0199a3f2-4c00-7abc-8def-000000000001"
    @Sendable func begin(_ step: String) async throws {
      let begun = StateEvent.stepBegan(StepBegan(run: run, at: now, step: step, now: now))
      let value = ValueSet(at: now, name: step, value: .inline(.int(1)), condition: ValueState(nil))
      try await store.append(way == .plain ? [begun] : [begun, .valueSet(value)])
    }
    try await store.append([
      .runCreated(
        RunCreated(
          run: run, at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
          program: "test"))
    ])
    try await begin("a")
    let connection = try await PostgresConnection.open(primary.settings())
    // The standby has every write until now, and none after.
    var isBehind = true
    while isBehind {
      isBehind = try await connection.run(
        "select from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()"
      ).isEmpty
    }
    connection.close()
    await standby.stop()
    for step in ["b", "c"] { try await begin(step) }
    if way == .letGo { await store.abandon(run) }
    await primary.kill()
    try await standby.start()
    try await standby.promote()
    if way == .letGo {
      // It is looked at with the next renewal of the lease.
      var isCut = false
      for await news in store.news {
        if case .cut(run, _) = news { isCut = true }
        // By then this program has given up the runs that the new server lists as its own.
        if case .tookOver = news { break }
      }
      #expect(isCut)
    } else {
      await #expect(throws: StateError(.fenced, "another program has taken the run \(run) over")) {
        try await begin("d")
      }
    }
    #expect(store.run(run) == nil)
    let record = try #require(await store.openRun(run))
    #expect(record.status == .paused)
    #expect(
      record.reason
        == "a database server took over that was behind, and 2 entries of the run that were kept are lost; look what was "
        + "done after 'a' began, then: errand runs resume \(run)")
    #expect(record.steps.map(\.path) == ["a"])
    #expect(try await store.take(run) == .here)
    try await store.close()
    for server in [primary, standby] { await server.remove() }
  }
}

/// A port where the system accepts connections and no program answers.
private final class SilentListener {
  private let descriptor: Int32
  let port: Int

  init?() {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, size) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, pointer, &size) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    if !isListening { return nil }
  }

  deinit { close(descriptor) }
}
