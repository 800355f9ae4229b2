import Basics
import Foundation
import PostgresClient
import PostgresTestKit
import Recipes
import RunState
import SharedState

/// The state in PostgreSQL, beside `pgbench` that inserts a row of the same size on the same server in the same round.
struct SharedStates {
  private let server: PostgresServer
  private let settings: PostgresSettings

  /// Starts a server and makes the tables.
  init() async throws {
    guard PostgresServer.isInstalled else { throw NotMeasured("PostgreSQL isn't installed") }
    server = try await PostgresServer.start(["fsync = on", "max_wal_size = 4GB", "shared_buffers = 256MB"])
    settings = server.settings()
    try await PostgresDatabase.migrate([settings])
    let connection = try await PostgresConnection.open(settings)
    try await connection.run(
      "create table raw (id bigserial primary key, run uuid not null, n int not null, events text not null)")
    connection.close()
  }

  func rows() async throws -> [Row] {
    let rows = try await chain() + crowd() + [claims()]
    await server.remove()
    return rows
  }

  private func store() async throws -> SharedStateStore {
    let store = SharedStateStore(
      try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "benchmark", capacity: 128))
    try await store.join(claiming: true)
    return store
  }

  private func chain() async throws -> [Row] {
    try await rows(
      "1,000 appends, one after another", "chain of 1,000 steps", 1, 1000,
      .atLeast(0.6).missed(
        at: 0.35, because: "an append is one transaction with checks, where pgbench inserts a row without any"))
  }

  private func crowd() async throws -> [Row] {
    try await rows(
      "appends of 64 runs in one worker", "64 runs in one worker", 64, 200,
      .atLeast(8).missed(
        at: 2.2, because: "not explained yet: appends share transactions, but each entry still has its checks"))
  }

  /// The appends of so many runs at once, and the same with Errand's walk.
  private func rows(
    _ appends: String, _ walked: String, _ runs: Int, _ steps: Int, _ bar: Bar
  ) async throws -> [Row] {
    let recipe = try Durability.recipe(steps: steps)
    let store = try await store()
    let ids = try await created(runs, in: store)
    let before = try rowsPerSecond(clients: 1)
    let alone = try await rate(of: runs * steps) {
      try await Self.atOnce(ids) { try await Self.append(steps, to: $0, in: store) }
    }
    // A worker holds so many at once.
    for id in ids { try await store.append(.runEnded(RunEnded(run: id, at: Durability.now, status: .succeeded))) }
    let whole = try await rate(of: runs * steps) {
      try await Self.atOnce(ids) { _ in try await Durability.run(recipe, in: store) }
    }
    let floor = (before + (try rowsPerSecond(clients: 1))) / 2
    try await store.close()
    let baseline = "\(displayed(floor))/s: pgbench, 1 client"
    return [
      Row(
        "in PostgreSQL: \(appends)", alone / floor, "×", bar, of: "\(displayed(alone)) steps/s", beside: baseline),
      Row(
        "in PostgreSQL: \(walked), walked", whole / floor, "×", nil, of: "\(displayed(whole)) steps/s", beside: baseline
      ),
    ]
  }

  private static func atOnce(_ ids: [String], _ body: @escaping @Sendable (String) async throws -> Void) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for id in ids { group.addTask { try await body(id) } }
      try await group.waitForAll()
    }
  }

  private func created(_ count: Int, in store: SharedStateStore) async throws -> [String] {
    let ids = (0..<count).map { _ in Durability.newID() }
    try await store.append(ids.map { .runCreated(Durability.created($0, "chain")) })
    return ids
  }

  private func rate(of count: Int, _ body: () async throws -> Void) async throws -> Double {
    Double(count) / (try await spent(body)).wall
  }

  /// Appends a run's events between two steps, so many times: the end of one and the beginning of the next.
  private static func append(_ steps: Int, to run: String, in store: SharedStateStore) async throws {
    for step in 0..<steps {
      let now = Durability.now
      let ended = StepEnded(
        run: run, at: now, step: "s\(step)", now: now, attempt: 1, status: .succeeded, output: .inline(.int(step)))
      let begun = StepBegan(
        run: run, at: now, step: "s\(step + 1)", now: now, attempt: 1, key: "\(run)/s\(step + 1)")
      try await store.append([.stepEnded(ended), .stepBegan(begun)])
    }
  }

  /// Four workers claim runs that are due, 16 at a time.
  private func claims() async throws -> Row {
    let (count, workers) = (4000, 4)
    let terms = WorkerTerms(name: "benchmark")
    let client = SharedStateStore(try await PostgresDatabase.open([settings]))
    for _ in 0..<(count / 100) {
      try await client.append((0..<100).map { _ in .runCreated(Durability.created(Durability.newID(), "chain")) })
    }
    var databases: [(PostgresDatabase, WorkerIdentity)] = []
    for _ in 0..<workers {
      let database = try await PostgresDatabase.open([settings])
      databases.append((database, try await database.register(terms, lease: .seconds(600), isAgain: false)))
    }
    let before = try rowsPerSecond(clients: workers)
    let start = ContinuousClock.now
    let taken = try await withThrowingTaskGroup(of: Int.self) { group in
      for (database, worker) in databases {
        group.addTask {
          var taken = 0
          while true {
            do throws(DatabaseError) {
              let claimed = try await database.claim(worker, terms, most: 16, at: Durability.now)
              if claimed.isEmpty { return taken }
              taken += claimed.count
            } catch {
              guard case .conflict = error else { throw error }
            }
          }
        }
      }
      return try await group.reduce(0, +)
    }
    let rate = Double(taken) / start.duration(to: .now).seconds
    let floor = (before + (try rowsPerSecond(clients: workers))) / 2
    for (database, _) in databases { await database.close() }
    try await client.close()
    if taken != count { throw NotMeasured("\(taken) of \(count) runs were claimed") }
    return Row(
      "in PostgreSQL: runs claimed by 4 workers", rate / floor, "×",
      .atLeast(1).missed(at: 0.79, because: "a claim locks a run and reads its log, where pgbench inserts a row"),
      of: "\(displayed(rate))/s",
      beside: "\(displayed(floor))/s: pgbench, 4 clients")
  }

  /// How many rows of the size of a step's entry `pgbench` inserts in a second.
  private func rowsPerSecond(clients: Int) throws -> Double {
    let script = FileManager.default.temporaryDirectory.appending(path: "insert-\(getpid()).sql")
    try "insert into raw (run, n, events) values ('0199a3f2-4c00-7abc-8def-000000000001', 1, repeat('x', 480))\n"
      .write(to: script, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: script) }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/pgbench")
    process.arguments = [
      // A count, because its timer needs a signal that is blocked here.
      "-n", "-M", "prepared", "-t", "3000", "-c", "\(clients)", "-j", "\(min(clients, 2))", "-f", script.path, "-h",
      "127.0.0.1", "-p", "\(server.port)", "-U", settings.user, settings.database,
    ]
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, FileHandle.nullDevice)
    try process.run()
    let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    guard let line = output.split(separator: "\n").first(where: { $0.contains("tps = ") }),
      let word = line.split(separator: " ").dropFirst(2).first, let rate = Double(word)
    else { throw NotMeasured("pgbench says: \(output.suffix(300))") }
    return rate
  }
}
