import Basics
import PostgresClient
import PostgresTestKit
import Recipes
import RunState
import RunTestKit
import SharedState
import Synchronization
import Testing

@testable import Runs

/// The limits of a connection over programs that share a state.
@Suite struct SharedLimitTests {
  /// The requests that a service receives.
  private final class Seen: Sendable {
    private let content = Mutex((sent: [TimeSpan](), running: 0, most: 0))

    var sent: [TimeSpan] { content.withLock { $0.sent } }
    var most: Int { content.withLock { $0.most } }

    func begin() {
      content.withLock { content in
        content.running += 1
        content.most = max(content.most, content.running)
      }
    }

    func end() { content.withLock { $0.running -= 1 } }
    func send(at instant: TimeSpan) { content.withLock { $0.sent.append(instant) } }
  }

  @Test(arguments: 1...40)
  func `the requests of several programs keep to one limit, whatever fails`(_ seed: Int) async throws {
    let limits = ConnectionLimits(maxParallel: 2, requests: 5, per: .seconds(10))
    let faults = await Stage.play(UInt64(seed)) { clock in
      let database = SimulatedDatabase(time: clock)
      let injection = FaultInjection(database, seed: UInt64(seed))
      var stores: [SharedStateStore] = []
      let seen = Seen()
      for program in 0..<3 {
        let store = SharedStateStore(
          SimulatedConnection(database), terms: WorkerTerms(name: "p\(program)"), time: clock, chance: { 0.5 },
          newReceipt: Stage.receipts(program))
        do { try await store.join(claiming: false) } catch { return ["it can't join: \(error)"] }
        stores.append(store)
      }
      injection.chance = 10
      await withTaskGroup { group in
        for store in stores {
          let limiter = await ServicePool(time: clock).limiters(["shop": limits], keptIn: store)["shop"]
          guard let limiter else { continue }
          for _ in 0..<8 {
            group.addTask {
              let number = limiter.enter()
              while case .woken = await limiter.wait(number) {}
              let permit = CallPermit(limiter)
              while (try? await limiter.mayGo(permit)) != true { try? await clock.sleep(for: ConnectionLimiter.pause) }
              seen.begin()
              _ = permit.takeRequest()
              if let request = try? await limiter.send(of: permit) {
                seen.send(at: clock.elapsed())
                try? await clock.sleep(for: .milliseconds(300))
                limiter.arrived(request)
              }
              seen.end()
              permit.end()
            }
          }
        }
      }
      var faults: [String] = []
      let instants = seen.sent
      if instants.count != 24 { faults.append("\(instants.count) of 24 were sent") }
      for (first, sixth) in zip(instants, instants.dropFirst(5)) where sixth - first < limits.per {
        faults.append("six were sent from \(first) to \(sixth)")
      }
      if seen.most > 2 { faults.append("\(seen.most) calls were under way at once") }
      injection.chance = 0
      for store in stores { try? await store.close() }
      return faults
    }
    #expect(faults == [])
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `calls come in their turn over all programs, and go with the worker that made them`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    func store(_ name: String) async throws -> SharedStateStore {
      let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: name).patient)
      try await store.join(claiming: false)
      return store
    }
    let (first, second) = (try await store("first"), try await store("second"))
    #expect(try await first.queue("a", on: "shop") == 0)
    #expect(try await second.queue("b", on: "shop") == 1)
    #expect(try await first.queue("c", on: "shop") == 2)
    #expect(try await second.queue("d", on: "other") == 0)
    // Asked again, each keeps its turn.
    #expect(try await second.queue("b", on: "shop") == 1)
    await first.endCall("a")
    #expect(try await second.queue("b", on: "shop") == 0)
    #expect(try await first.queue("c", on: "shop") == 1)
    let worker = try #require(try await first.workers().first { $0.name == "second" })
    try await first.evict(worker: worker.id)
    #expect(try await first.queue("c", on: "shop") == 0)
    // A program without a lease gets no turn.
    await #expect(throws: StateError.self) { try await second.queue("e", on: "shop") }
    try await first.close()
    try await second.close()
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `a request is refused while others have sent as many, by the clock of the database`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    // Their own clocks are years off.
    let stores = [
      SharedStateStore(try await PostgresDatabase.open([settings]), time: ManualClock()),
      SharedStateStore(try await PostgresDatabase.open([settings])),
    ]
    func use(of store: SharedStateStore, at instant: Timestamp, limit: Int) async -> StateError? {
      do throws(StateError) {
        try await store.append(
          .connectionUsed(
            ConnectionUsed(at: instant, connection: "shop", requests: 1, per: .seconds(60), limit: limit)))
        return nil
      } catch { return error }
    }
    let instants = [ManualClock.start, SystemTime().now()]
    for index in [0, 1, 0] { #expect(await use(of: stores[index], at: instants[index], limit: 3) == nil) }
    for index in [0, 1] {
      let refusal = try #require(await use(of: stores[index], at: instants[index], limit: 3))
      let wait = try #require(refusal.wait)
      #expect(wait > .seconds(30) && wait <= .seconds(60))
    }
    #expect(await use(of: stores[1], at: instants[1], limit: 4) == nil)
    for store in stores { try await store.close() }
  }
}
