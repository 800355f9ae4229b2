import Basics
import PostgresClient
import PostgresTestKit
import RunState
import SharedState
import Synchronization
import Testing

/// What is acknowledged while a real server dies and comes back.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed")) struct PostgresLossTests {
  private final class Flag: Sendable {
    let isSet = Atomic(false)
  }

  @Test func `Nothing acknowledged is lost or doubled by a server that is killed and started again`() async throws {
    let server = try await PostgresServer.start(["fsync = on"])
    let settings = server.settings()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(
      try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test"))
    try await store.join(takingUp: true)
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
        while store.run(runs[0])?.steps.count ?? 0 < before + 20 { await Task.yield() }
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
}
