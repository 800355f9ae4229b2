import Basics
import Foundation
import RunState
import RunTestKit
import SharedState
import Testing

/// A random history in a database whose connections break.
///
/// `ERRAND_HISTORIES=10000 swift test --filter FaultTests` plays as many.
@Suite struct FaultTests {
  private static let parts: UInt64 = 4

  @Test(arguments: 0..<parts)
  func `What is acknowledged is there once, and what isn't is there as a whole or not at all`(part: UInt64) async {
    for seed in stride(from: part, to: HistoryTests.count, by: UInt64.Stride(FaultTests.parts)) {
      let faults = await FaultTests.play(seed)
      #expect(faults == [], "history \(seed)")
      if !faults.isEmpty { return }
    }
  }

  private static func play(_ seed: UInt64) async -> [String] {
    await Stage.play(seed) { clock in
      do throws(StateError) { return try await tell(seed, clock) } catch { return ["\(error)"] }
    }
  }

  private static func tell(_ seed: UInt64, _ clock: ManualClock) async throws(StateError) -> [String] {
    var maker = HistoryMaker(using: SeededGenerator(seed: seed &* 17 &+ 5))
    let database = SimulatedDatabase()
    let injection = FaultInjection(database, seed: seed)
    let store = SharedStateStore(
      SimulatedConnection(database), time: clock, holder: 1, newReceipt: Stage.receipts(1))
    let reader = SharedStateStore(SimulatedConnection(database), time: clock)
    // The expected content of the database.
    let model = MemoryStateStore()
    var logs: [String: [StateEvent]] = [:]
    for step in 0..<36 {
      let batch = maker.next()
      injection.chance = [0, 25, 60, 100, 25, 25][maker.number(0..<6)]
      var failure: StateError?
      do throws(StateError) { try await store.append(batch.events) } catch { failure = error }
      injection.chance = 0
      var isKept = failure == nil
      if failure?.kind == .unavailable, batch.refusal == nil {
        // A delayed write may arrive at once, or with the next one.
        database.settle()
        if let run = batch.events.lazy.compactMap(\.changedRun).first {
          isKept = Audit.events(ofRun: run, in: database).count > logs[run]?.count ?? 0
        } else {
          isKept = try await maker.answers(of: reader) != maker.answers(of: model)
        }
      } else if failure.map({ $0.kind == .unavailable || $0.isConflict == batch.refusal?.isConflict })
        ?? (batch.refusal == nil) != true
      {
        return ["step \(step): \(failure?.message ?? "accepted"), not \(batch.refusal?.message ?? "accepted")"]
      }
      guard isKept else { continue }
      try await model.append(batch.events)
      maker.accept(batch)
      for event in batch.events { if let run = event.changedRun { logs[run, default: []].append(event) } }
      if failure == nil { continue }
      let (wanted, found) = (try await maker.answers(of: model), try await maker.answers(of: reader))
      if wanted != found {
        let difference = Set(wanted).symmetricDifference(found).sorted()
        return ["step \(step) \(failure?.message ?? "accepted"): " + difference.joined(separator: "\n")]
      }
    }
    var (wanted, found) = (try await maker.answers(of: model), try await maker.answers(of: reader))
    if wanted != found { return ["at the end: \(Set(wanted).symmetricDifference(found).sorted())"] }
    for (run, events) in logs.sorted(by: { $0.key < $1.key }) {
      let faults = Audit.faults(inLogOf: run, of: database)
      if !faults.isEmpty { return faults }
      (wanted, found) = (
        try events.map { event throws(StateError) in try event.storedText }, Audit.events(ofRun: run, in: database)
      )
      if wanted != found { return ["the log of \(run) is another"] + found + ["not"] + wanted }
    }
    // A run that is held catches up with the next append, at the latest.
    for run in maker.state.openRuns where store.run(run.id) != nil {
      let change = StateEvent.runStatusChanged(RunStatusChanged(run: run.id, at: maker.now, status: .running))
      try await store.append(change)
      try await model.append(change)
      if try store.run(run.id)?.storedText != model.run(run.id)?.storedText { return ["\(run.id) is held otherwise"] }
    }
    return []
  }
}

/// The rules that every log must follow.
enum Audit {
  static func events(ofRun run: String, in database: SimulatedDatabase) -> [String] {
    database.log(of: run).flatMap { entry in (try? [StateEvent](text: entry.events)) ?? [] }
      .map { (try? $0.storedText) ?? "" }
  }

  /// Whether the numbers of a log have no gap, its sums hold, and the rows match it.
  static func faults(inLogOf run: String, of database: SimulatedDatabase) -> [String] {
    let entries = database.log(of: run)
    // A finished run may have been deleted with its log.
    if entries.isEmpty { return database.row(of: run) == nil ? [] : ["the open run \(run) has no log"] }
    if entries.map(\.number) != Array(1...entries.count) { return ["the log of \(run) has a gap"] }
    do throws(StateError) {
      let record = try LoggedRun(run, folded: nil, entries: entries).record
      let row = record.status.isEnded ? nil : OpenRunRow(record)
      return database.row(of: run) == row ? [] : ["the row of \(run) doesn't say what its log says"]
    } catch {
      return [error.message]
    }
  }
}
