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
    let rows = [try await chain(), try await crowd(), try await claims()]
    await server.remove()
    return rows
  }

  private func store() async throws -> SharedStateStore {
    let store = SharedStateStore(try await PostgresDatabase.open([settings]))
    try await store.work(on: WorkerTerms(name: "benchmark", capacity: 128))
    return store
  }

  private func chain() async throws -> Row {
    let steps = 1000
    let recipe = try Durability.recipe(steps: steps)
    let store = try await store()
    let before = try rowsPerSecond(clients: 1)
    let start = ContinuousClock.now
    try await Durability.run(recipe, in: store)
    let rate = Double(steps) / start.duration(to: .now).seconds
    let floor = (before + (try rowsPerSecond(clients: 1))) / 2
    try await store.close()
    return Row(
      "in PostgreSQL: chain of 1,000 steps", rate / floor, "×", .atLeast(0.6), of: "\(shown(rate)) steps/s",
      beside: "\(shown(floor))/s: pgbench, 1 client")
  }

  private func crowd() async throws -> Row {
    let (runs, steps) = (64, 100)
    let recipe = try Durability.recipe(steps: steps)
    let store = try await store()
    let before = try rowsPerSecond(clients: 1)
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<runs { group.addTask { try await Durability.run(recipe, in: store) } }
      try await group.waitForAll()
    }
    let rate = Double(runs * steps) / start.duration(to: .now).seconds
    let floor = (before + (try rowsPerSecond(clients: 1))) / 2
    try await store.close()
    return Row(
      "in PostgreSQL: 64 runs in one worker", rate / floor, "×", .atLeast(8), of: "\(shown(rate)) steps/s",
      beside: "\(shown(floor))/s: pgbench, 1 client")
  }

  /// Four workers take up runs that are due, 16 at a time.
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
      databases.append((database, try await database.register(terms, lease: .seconds(600))))
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
    if taken != count { throw NotMeasured("of \(count) runs \(taken) were taken up") }
    return Row(
      "in PostgreSQL: runs taken up by 4 workers", rate / floor, "×", .atLeast(1), of: "\(shown(rate))/s",
      beside: "\(shown(floor))/s: pgbench, 4 clients")
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
