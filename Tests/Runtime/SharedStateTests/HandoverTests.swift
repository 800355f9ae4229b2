import Basics
import Foundation
import RunState
import RunTestKit
import SharedState
import Synchronization
import Testing

/// Workers that lose their leases again and again, because the database is away for them, and take over from each other;
/// and servers that take over from each other without the last that was kept.
///
/// `ERRAND_HANDOVERS=10000 swift test --filter HandoverTests` plays as many stories.
@Suite struct HandoverTests {
  private static let count = ProcessInfo.processInfo.environment["ERRAND_HANDOVERS"].flatMap { UInt64($0) } ?? 16
  private static let parts: UInt64 = 4

  private static let runs = (1...3).map { "0199a3f2-4c00-7abc-8def-10000000000\($0)" }

  /// The steps that began as far as the workers know.
  private final class Kept: Sendable {
    private let content = Mutex([(run: String, step: String)]())

    var all: [(run: String, step: String)] { content.withLock { $0 } }

    func note(_ run: String, _ step: String) { content.withLock { $0.append((run, step)) } }
  }

  @Test(arguments: 0..<parts)
  func `each run has one writer at a time, and whatever was acknowledged is in its log`(part: UInt64) async {
    for seed in stride(from: part, to: HandoverTests.count, by: UInt64.Stride(HandoverTests.parts)) {
      let faults = await HandoverTests.play(seed)
      #expect(faults == [], "story \(seed)")
      if !faults.isEmpty { return }
    }
  }

  @Test(arguments: 0..<parts)
  func `a run of which a server that was behind has lost something waits for a person`(part: UInt64) async {
    for seed in stride(from: part, to: HandoverTests.count, by: UInt64.Stride(HandoverTests.parts)) {
      let faults = await HandoverTests.play(seed, isBehind: true)
      #expect(faults == [], "story \(seed)")
      if !faults.isEmpty { return }
    }
  }

  @Test func `a log with a gap is found where servers take over`() async {
    for seed in 0..<60 as Range<UInt64> {
      let faults = await HandoverTests.play(seed, .takesGaps, isBehind: true)
      if faults.contains(where: { $0.contains("has a gap") }) { return }
    }
    Issue.record("it was not found in 60 stories")
  }

  @Test(arguments: [
    (SimulatedDatabase.Flaw.claimsWithoutEntry, ["goes back"]),
    (.answersAtOnce, ["isn't there", "goes back", "can't be read", "never ends"]),
  ])
  func `a planted error is found where workers take over`(flaw: SimulatedDatabase.Flaw, words: [String]) async {
    for seed in 0..<60 as Range<UInt64> {
      let faults = await HandoverTests.play(seed, flaw)
      if faults.contains(where: { fault in words.contains { fault.contains($0) } }) { return }
    }
    Issue.record("\(flaw) was not found in 60 stories")
  }

  private static func play(
    _ seed: UInt64, _ flaw: SimulatedDatabase.Flaw? = nil, isBehind: Bool = false
  ) async -> [String] {
    await Stage.play(seed) { clock in
      do throws(StateError) { return try await tell(seed, flaw, isBehind, clock) } catch { return [error.message] }
    }
  }

  private static func tell(
    _ seed: UInt64, _ flaw: SimulatedDatabase.Flaw?, _ isBehind: Bool, _ clock: ManualClock
  ) async throws(StateError) -> [String] {
    let database = SimulatedDatabase(flaw, time: clock)
    let injection = FaultInjection(database, seed: seed)
    var stores: [SharedStateStore] = []
    for program in 0..<3 {
      let store = SharedStateStore(
        SimulatedConnection(database), terms: WorkerTerms(name: "p\(program)", capacity: 2), time: clock,
        chance: { 0.5 }, newReceipt: Stage.receipts(program))
      try await store.join(claiming: true)
      stores.append(store)
    }
    let client = SharedStateStore(SimulatedConnection(database), time: clock, newReceipt: Stage.receipts(9))
    for run in runs {
      let created = RunCreated(
        run: run, at: clock.now(), recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
        program: "test")
      try await client.append([.runCreated(created)])
    }
    let chance = isBehind ? [0, 10][Int(seed % 2)] : [20, 45, 70][Int(seed % 3)]
    injection.chance = chance
    let (kept, ticks, workers) = (Kept(), Stage.Counter(), stores)
    let unheld = await withTaskGroup(of: [String].self) { group in
      for store in workers {
        group.addTask {
          await withTaskGroup { walks in
            for await news in store.news {
              guard case .claimed(let runs) = news else { continue }
              for run in runs { walks.addTask { await walk(run.id, store, clock, kept, ticks) } }
            }
          }
          return []
        }
      }
      group.addTask {
        if isBehind {
          await failOver(database, injection, chance, seed, clock)
        } else {
          try? await clock.sleep(for: .seconds(100))
        }
        injection.chance = 0
        // Two leases and the longest that nothing is looked at.
        try? await clock.sleep(for: .seconds(45))
        let unheld = runs.filter { database.holder(of: $0) == nil && !isTold(database.log(of: $0)) }
        for store in workers { try? await store.close() }
        return unheld
      }
      var unheld: [String] = []
      for await found in group { unheld += found }
      return unheld
    }
    try? await client.close()
    database.settle()
    return unheld.map { "nobody holds \($0)" } + runs.flatMap { faults(in: database.log(of: $0), kept.all) }
  }

  /// Fails over to standbys that are behind, at once or after all leases have ended.
  private static func failOver(
    _ database: SimulatedDatabase, _ injection: FaultInjection, _ chance: Int, _ seed: UInt64, _ clock: ManualClock
  ) async {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<3 {
      try? await clock.sleep(for: .milliseconds(Int.random(in: 1000..<40_000, using: &random)))
      database.holdBack()
      try? await clock.sleep(for: .milliseconds(Int.random(in: 0..<3000, using: &random)))
      if Bool.random(using: &random) {
        injection.chance = 100
        try? await clock.sleep(for: .milliseconds(Int.random(in: 1000..<30_000, using: &random)))
        injection.chance = chance
      }
      database.failOver()
    }
  }

  /// Whether a run waits for a person because events were lost.
  private static func isTold(_ log: [LogEntry]) -> Bool {
    log.contains { $0.events.contains("took over that was behind") }
  }

  /// Begins steps of a run until another has it.
  private static func walk(
    _ run: String, _ store: SharedStateStore, _ clock: ManualClock, _ kept: Kept, _ ticks: Stage.Counter
  ) async {
    guard let claim = store.claim(of: run) else { return }
    while true {
      let step = "step \(ticks.next())"
      let began = StateEvent.stepBegan(
        StepBegan(run: run, at: clock.now(), step: StepPath(step), now: clock.now(), status: .running))
      do throws(StateError) {
        try await store.append([began], of: run, inClaim: claim)
        kept.note(run, step)
      } catch {
        // Otherwise it isn't known whether it was kept.
        if error.kind != .unavailable { return }
      }
      do { try await clock.sleep(for: .milliseconds(700)) } catch { return }
    }
  }

  private static func faults(in log: [LogEntry], _ kept: [(run: String, step: String)]) -> [String] {
    var faults: [String] = []
    guard let run = log.first?.run else { return ["a run has no log"] }
    var epoch = 0
    for (index, entry) in log.enumerated() {
      if entry.number != index + 1 { faults.append("the log of \(run) has a gap at \(entry.number)") }
      // The program that finds a loss may hold no claim.
      if entry.epoch < epoch, !isTold([entry]) {
        faults.append("entry \(entry.number) of \(run) goes back from claim \(epoch) to \(entry.epoch)")
      }
      if entry.epoch > epoch, !entry.events.contains("runClaimed") {
        faults.append("entry \(entry.number) of \(run) goes back to no claim \(entry.epoch)")
      }
      epoch = max(epoch, entry.epoch)
    }
    let steps = log.map(\.events).joined()
    for (run, step) in kept where run == log.first?.run && !isTold(log) {
      let count = steps.components(separatedBy: "\"\(step)\"").count - 1
      if count == 0 { faults.append("\(step) of \(run) isn't there") }
      if count > 1 { faults.append("\(step) of \(run) is there twice") }
    }
    return faults
  }
}
