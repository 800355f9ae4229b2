import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// Programs that all believe to lead, and decide on the slots of the same schedule.
@Suite struct ScheduleFenceTests {
  /// A program that decides on a schedule like a scheduler: from the schedule as it first read it and its own decisions
  /// since.
  private struct Decider: Sendable {
    let store: SharedStateStore
    let database: any SharedDatabase
    let worker: WorkerIdentity
    let newRun: @Sendable () -> String
    let clock: any TimeSource

    /// Takes the lead if it is free, and decides on slots as long as it isn't refused; true if slots are left.
    ///
    /// - Parameter isLeading: Whether it believes to lead; otherwise it decides on one slot, as a command does.
    func decide(until last: Int, isLeading: Bool = true, lease: TimeSpan = .zero) async throws -> Bool {
      // A lease that is soon over, so that all come to lead.
      if isLeading { _ = try? await database.lead(worker, lease: lease, clock: clock.now(), isWilling: true) }
      guard var term = await store.term(), let known = await store.schedule("tick") else { return false }
      // As one that doesn't know that it was fenced.
      term.isLeading = isLeading
      var next = ScheduleFenceTests.number(known.processedUntil) + 1
      while next <= last {
        do throws(StateError) {
          term = try await store.append(ScheduleFenceTests.started(next, by: newRun(), at: clock.now()), in: term)
        } catch {
          if error.isConflict || error.kind == .unavailable { return true }
          throw error
        }
        next += 1
        if !isLeading { return true }
      }
      return false
    }
  }

  private static let begin = ManualClock.start

  private static func slot(_ number: Int) -> Timestamp { begin.advanced(by: .seconds(60 * number)) ?? .latest }
  private static func number(_ slot: Timestamp) -> Int { (slot.seconds - begin.seconds) / 60 }

  private static func started(_ number: Int, by run: String, at now: Timestamp) -> [StateEvent] {
    let cause = RunCause(.slot, schedule: "tick", slot: slot(number))
    return [
      .slotDecided(
        SlotRecord(schedule: "tick", slot: slot(number), outcome: .started, at: now, cause: cause, run: run)),
      .runCreated(
        RunCreated(
          run: run, at: now, recipe: "tick", file: "tick.yaml", texts: .inline(.object([:])), inputs: .object([:]),
          program: "test", cause: cause)),
    ]
  }

  private static func set(at now: Timestamp) -> StateEvent {
    .scheduleSet(
      ScheduleSet(at: now, schedule: "tick", recipe: "tick", file: "tick.yaml", spec: "s", processedUntil: begin))
  }

  /// The faults of the ledger: each slot must be in it once, with its one run.
  private static func faults(_ slots: [SlotRecord], _ runs: [RunRecord], wanting count: Int) -> [String] {
    var faults: [String] = []
    let rows = Dictionary(grouping: slots.filter { $0.outcome == .started }) { number($0.slot) }
    for number in 1...count {
      if rows[number]?.count != 1 { faults.append("slot \(number) is decided \(rows[number]?.count ?? 0) times") }
    }
    let started = Dictionary(grouping: runs) { $0.origin.cause.slot.map(number) ?? 0 }
    for number in 1...count {
      if started[number]?.count != 1 { faults.append("slot \(number) has \(started[number]?.count ?? 0) runs") }
    }
    return faults
  }

  /// Four programs on a simulated database, which sometimes decide without leading, as commands do.
  private static func play(_ seed: UInt64, _ flaw: SimulatedDatabase.Flaw? = nil) async -> [String] {
    await Stage.play(seed) { clock in
      let database = SimulatedDatabase(flaw, time: clock)
      let injection = FaultInjection(database, seed: seed)
      let count = 12
      var random = SeededGenerator(seed: seed)
      let ids = (0..<400).map { _ in UUID7(at: begin, using: &random).description }
      let taken = Stage.Counter()
      var programs: [Decider] = []
      for place in 0..<4 {
        let connection = SimulatedConnection(database)
        guard let worker = try? await connection.register(WorkerTerms(name: "w\(place)"), lease: .seconds(100_000))
        else { return ["a worker can't register"] }
        programs.append(
          Decider(
            store: SharedStateStore(
              connection, time: clock, holder: worker.id, newReceipt: Stage.receipts(place)), database: connection,
            worker: worker, newRun: { ids[taken.next() % ids.count] }, clock: clock))
      }
      do {
        try await programs[0].store.append(set(at: clock.now()))
        injection.chance = [0, 15][Int(seed % 2)]
        let faultsOfPrograms = await withTaskGroup(of: String?.self) { group in
          for (place, program) in programs.enumerated() {
            group.addTask {
              var random = SeededGenerator(seed: seed &* 31 &+ UInt64(place))
              do {
                while try await program.decide(
                  until: count, isLeading: Int.random(in: 0..<4, using: &random) > 0)
                {
                  try await clock.sleep(for: .milliseconds(Int.random(in: 1...40, using: &random)))
                }
                return nil
              } catch { return "\(error)" }
            }
          }
          return await group.reduce(into: [String]()) { if let fault = $1 { $0.append(fault) } }
        }
        if !faultsOfPrograms.isEmpty { return faultsOfPrograms }
        injection.chance = 0
        database.settle()
        // The last program may have given up after a lost answer.
        while try await programs[0].decide(until: count) {}
        let slots = try await programs[0].store.slots(SlotQuery(limit: .max))
        return faults(slots, await programs[0].store.openRuns(OpenRunQuery()), wanting: count)
      } catch { return ["\(error)"] }
    }
  }

  @Test func `Of four programs that believe to lead one decides on each slot, and starts one run`() async {
    for seed in 0..<60 as Range<UInt64> {
      let faults = await Self.play(seed)
      #expect(faults.isEmpty, "seed \(seed): \(faults)")
    }
  }

  @Test(arguments: [SimulatedDatabase.Flaw.ignoresVersion, .keepsVersion])
  func `A fence that doesn't hold is found`(flaw: SimulatedDatabase.Flaw) async {
    for seed in 0..<200 as Range<UInt64> {
      if await !Self.play(seed, flaw).isEmpty { return }
    }
    Issue.record("\(flaw) isn't found")
  }

  @Test func `A leader is refused once another program has changed a schedule, and when a run's end pauses one`()
    async throws
  {
    let clock = ManualClock()
    let database = SimulatedDatabase(time: clock)
    let connection = SimulatedConnection(database)
    let worker = try await connection.register(WorkerTerms(name: "lab-1"), lease: .seconds(15))
    #expect(try await connection.lead(worker, lease: .seconds(15), clock: clock.now(), isWilling: true) == 1)
    let leader = SharedStateStore(connection, time: clock, holder: worker.id)
    let other = SharedStateStore(SimulatedConnection(database), time: clock)
    try await leader.append(
      .scheduleSet(
        ScheduleSet(
          at: clock.now(), schedule: "tick", recipe: "tick", file: "tick.yaml", spec: "s", processedUntil: Self.begin,
          pausesOnFailure: true)))
    var term = try #require(await leader.term())
    #expect(term.isLeading)
    let (first, second) = ("0199a3f2-4c00-7abc-8def-000000000001", "0199a3f2-4c00-7abc-8def-000000000002")
    // Its own decision makes the next version, which it knows.
    term = try await leader.append(Self.started(1, by: first, at: clock.now()), in: term)
    #expect(await leader.term() == term)
    // An event that changes no schedule doesn't make a version, and neither does the end of a run.
    try await other.append(.eventReceived(EventRecord(id: "e", name: "n", receivedAt: clock.now())))
    term = try await leader.append(Self.started(2, by: second, at: clock.now()), in: term)
    try await leader.append(.runEnded(RunEnded(run: first, at: clock.now(), status: .succeeded)))
    #expect(await leader.term() == term)
    // The end of a run that pauses its schedule does make one.
    try await leader.append(.runEnded(RunEnded(run: second, at: clock.now(), status: .failed)))
    var conflict = StateError(.invalid, "another program changed the schedules, or decides on them now")
    conflict.isConflict = true
    let third = "0199a3f2-4c00-7abc-8def-000000000003"
    await #expect(throws: conflict) {
      _ = try await leader.append(Self.started(3, by: third, at: clock.now()), in: term)
    }
    let next = try #require(await leader.term())
    #expect(next.version == term.version + 1)
    // One that doesn't lead decides too, if nothing has changed, and the leader reads again.
    let theirs = try #require(await other.term())
    #expect(!theirs.isLeading && theirs.version == next.version)
    let resumed = [StateEvent.schedulePaused(SchedulePaused(schedule: "tick", pause: nil))]
    _ = try await other.append(resumed, in: theirs)
    await #expect(throws: conflict) { _ = try await other.append(resumed, in: theirs) }
    await #expect(throws: conflict) {
      _ = try await leader.append(Self.started(3, by: third, at: clock.now()), in: next)
    }
    #expect(await leader.schedule("tick")?.pause == nil)
    #expect(await leader.openRun(third) == nil)
    try await leader.close()
    try await other.close()
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `Four programs on PostgreSQL that believe to lead decide each slot once`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let clock = SystemTime()
    let count = 200
    var programs: [Decider] = []
    for place in 0..<4 {
      let database = try await PostgresDatabase.open([settings])
      let worker = try await database.register(WorkerTerms(name: "w\(place)"), lease: .seconds(600))
      programs.append(
        Decider(
          store: SharedStateStore(database, holder: worker.id), database: database, worker: worker,
          newRun: {
            var random = SystemRandomNumberGenerator()
            return UUID7(at: clock.now(), using: &random).description
          }, clock: clock))
    }
    try await programs[0].store.append(Self.set(at: clock.now()))
    let refusals = try await withThrowingTaskGroup(of: Int.self) { group in
      for program in programs {
        group.addTask {
          var refusals = 0
          while try await program.decide(until: count, lease: .milliseconds(20)) { refusals += 1 }
          return refusals
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(refusals > 10, "they never were at it together")
    let slots = try await programs[0].store.slots(SlotQuery(limit: .max))
    let runs = await programs[0].store.openRuns(OpenRunQuery())
    #expect(Self.faults(slots, runs, wanting: count) == [])
    #expect(slots.count == count && runs.count == count)
    for program in programs { try await program.store.close() }
  }
}
