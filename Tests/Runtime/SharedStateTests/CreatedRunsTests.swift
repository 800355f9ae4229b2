import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// Who holds a run that was just created.
@Suite(.timeLimit(.minutes(20))) struct CreatedRunsTests {
  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 200_000_000_000))" }

  private static func created(
    _ run: String, needs: [String], queue: String? = nil, at instant: Timestamp = SystemTime().now()
  ) -> StateEvent {
    var event = RunCreated(
      run: run, at: instant, recipe: "averages", file: "averages.yaml",
      texts: .inline(.object([:])), inputs: .object([:]), program: "test")
    (event.needs, event.queue) = (needs, queue)
    return .runCreated(event)
  }

  /// Whether a program holds each of the three runs that it creates: one that it can run, one that needs a secret it
  /// doesn't offer, and one of another queue.
  private static func held(on database: any SharedDatabase, claiming: Bool) async throws -> [Bool] {
    let store = SharedStateStore(database, terms: WorkerTerms(name: "lab", offers: ["plugin:desk"]).patient)
    try await store.join(claiming: claiming)
    let ids = (1...3).map { id($0 + (claiming ? 10 : 20)) }
    try await store.append([
      created(ids[0], needs: ["plugin:desk"]), created(ids[1], needs: ["plugin:desk", "secret:KEY"]),
      created(ids[2], needs: [], queue: "nightly"),
    ])
    let held = ids.map { store.run($0) != nil }
    for id in ids { #expect(await store.openRun(id)?.status == .queued) }
    try await store.close()
    return held
  }

  /// The runs that another program claims; it offers everything that they need.
  private static func claimed(on database: any SharedDatabase, count: Int) async throws -> [String] {
    let terms = WorkerTerms(name: "hall", offers: ["plugin:desk", "secret:KEY"], queues: ["default", "nightly"]).patient
    let store = SharedStateStore(database, terms: terms)
    try await store.join(claiming: true)
    var taken: [String] = []
    for await news in store.news {
      if case .claimed(let runs) = news { taken += runs.map(\.id) }
      if taken.count >= count { break }
    }
    try await store.close()
    return taken.sorted()
  }

  @Test func `a program that takes runs up leaves those to others that it couldn't take up`() async throws {
    let database = SimulatedDatabase()
    #expect(try await CreatedRunsTests.held(on: SimulatedConnection(database), claiming: true) == [true, false, false])
    #expect(database.log(of: CreatedRunsTests.id(11)).map(\.epoch) == [1])
    #expect(database.log(of: CreatedRunsTests.id(12)).map(\.epoch) == [0])
    // A program that was asked for a run, as 'errand run', runs it itself.
    #expect(try await CreatedRunsTests.held(on: SimulatedConnection(database), claiming: false) == [true, true, true])
    let taken = try await CreatedRunsTests.claimed(on: SimulatedConnection(database), count: 6)
    #expect(taken == [11, 12, 13, 21, 22, 23].map(CreatedRunsTests.id))
  }

  @Test func `what is left to others isn't held when an answer is lost`() async throws {
    for number in 0..<6 {
      let faults = await Stage.play(UInt64(number)) { clock in
        do { return try await CreatedRunsTests.faults(losing: number, clock) } catch { return ["\(error)"] }
      }
      #expect(faults == [], "answer \(number) is lost")
    }
  }

  /// The faults after an append that lost one answer.
  private static func faults(losing lost: Int, _ clock: ManualClock) async throws -> [String] {
    let database = SimulatedDatabase()
    let store = SharedStateStore(
      SimulatedConnection(database), terms: WorkerTerms(name: "lab", offers: ["plugin:desk"]), time: clock,
      chance: { 0.5 }, newReceipt: Stage.receipts(1))
    try await store.join(claiming: true)
    let (own, other) = (id(1), id(2))
    let count = Stage.Counter()
    database.setFaults { count.next() == lost + 1 ? .unanswered : nil }
    try await store.append([created(own, needs: ["plugin:desk"]), created(other, needs: ["secret:KEY"])])
    var faults: [String] = []
    if store.run(own) == nil { faults.append("its own run isn't held") }
    if store.run(other) != nil { faults.append("the other run is held") }
    if database.log(of: own).map(\.epoch) != [1] { faults.append("its own run was taken up anew") }
    if database.log(of: other).map(\.epoch) != [0] || database.holder(of: other) != nil {
      faults.append("the other run has a holder")
    }
    try await store.close()
    return faults
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `in PostgreSQL, too, a program leaves to others what it couldn't take up`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    func database() async throws -> PostgresDatabase { try await PostgresDatabase.open([settings]) }
    #expect(try await CreatedRunsTests.held(on: database(), claiming: true) == [true, false, false])
    #expect(try await CreatedRunsTests.held(on: database(), claiming: false) == [true, true, true])
    let taken = try await CreatedRunsTests.claimed(on: database(), count: 6)
    #expect(taken == [11, 12, 13, 21, 22, 23].map(CreatedRunsTests.id))
  }

  @Test func `a program holds no more than it has room for of what is created at once, whatever comes first`() async {
    for seed in 0..<128 {
      let faults = await Stage.play(UInt64(seed)) { clock in
        let store = SharedStateStore(
          SimulatedConnection(SimulatedDatabase(time: clock)), terms: WorkerTerms(name: "lab", capacity: 2),
          time: clock, newReceipt: Stage.receipts(1))
        do {
          try await store.join(claiming: true)
          let ids = (1...3).map(Self.id)
          async let created: Void = store.append(ids.map { Self.created($0, needs: [], at: clock.now()) })
          // It looks for runs meanwhile.
          for offer in ["plugin:desk", "plugin:bell"] {
            await store.work(on: WorkerTerms(name: "lab", offers: [offer], capacity: 2))
          }
          try await created
          var counts = [ids.count { store.run($0) != nil }]
          try await clock.sleep(for: .seconds(30))
          counts.append(ids.count { store.run($0) != nil })
          try await store.close()
          return counts == [2, 2] ? [] : ["it holds \(counts)"]
        } catch { return ["\(error)"] }
      }
      #expect(faults == [], "seed \(seed)")
    }
  }

  @Test func `a program without room leaves what it creates to others, and takes it up when there is room again`()
    async throws
  {
    let database = SimulatedDatabase()
    let store = SharedStateStore(SimulatedConnection(database), terms: WorkerTerms(name: "lab", capacity: 1).patient)
    try await store.join(claiming: true)
    let ids = (1...3).map(Self.id)
    for id in ids { try await store.append([Self.created(id, needs: [])]) }
    #expect(ids.map { store.run($0) != nil } == [true, false, false])
    var taken: [String] = []
    var last = ids[0]
    // Each run is claimed when the one before has ended.
    try await store.append([.runEnded(RunEnded(run: last, at: SystemTime().now(), status: .succeeded))])
    for await news in store.news {
      guard case .claimed(let runs) = news else { continue }
      #expect(runs.count == 1)
      last = runs[0].id
      taken.append(last)
      try await store.append([.runEnded(RunEnded(run: last, at: SystemTime().now(), status: .succeeded))])
      if taken.count == 2 { break }
    }
    #expect(taken == Array(ids.dropFirst()))
    try await store.close()
  }

  /// Which of two runs a program claims: it can run one from the start, and the other only after it offers more.
  private static func takenAsOffersGrow(on database: any SharedDatabase, and other: any SharedDatabase) async throws
    -> [String]
  {
    let client = SharedStateStore(other)
    var terms = WorkerTerms(name: "lab", offers: ["plugin:desk"]).patient
    let worker = SharedStateStore(database, terms: terms)
    try await worker.join(claiming: true)
    try await client.append([created(id(1), needs: ["secret:KEY"])])
    try await client.append([created(id(2), needs: ["plugin:desk"])])
    var taken: [String] = []
    for await news in worker.news {
      guard case .claimed(let runs) = news else { continue }
      taken += runs.map(\.id)
      if taken == [id(2)] {
        terms.offers.insert("secret:KEY")
        terms.queues.insert("nightly")
        await worker.work(on: terms)
      }
      if taken.count == 2 { break }
    }
    // The same rules apply to a run that it creates.
    try await worker.append([created(id(3), needs: ["secret:KEY"], queue: "nightly")])
    if worker.run(id(3)) != nil { taken.append(id(3)) }
    for store in [client, worker] { try await store.close() }
    return taken
  }

  @Test func `a program may offer more while it works`() async throws {
    let database = SimulatedDatabase()
    let taken = try await CreatedRunsTests.takenAsOffersGrow(
      on: SimulatedConnection(database), and: SimulatedConnection(database))
    #expect(taken == [2, 1, 3].map(CreatedRunsTests.id))
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `a program may offer more in PostgreSQL while it works`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let taken = try await CreatedRunsTests.takenAsOffersGrow(
      on: PostgresDatabase.open([settings]), and: PostgresDatabase.open([settings]))
    #expect(taken == [2, 1, 3].map(CreatedRunsTests.id))
  }
}
