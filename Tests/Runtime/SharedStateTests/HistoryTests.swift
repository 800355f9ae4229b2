import Basics
import Foundation
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// The same random history in memory, in a folder and in a database that programs share.
///
/// `ERRAND_HISTORIES=10000 swift test --filter HistoryTests` plays as many.
@Suite struct HistoryTests {
  static let count = ProcessInfo.processInfo.environment["ERRAND_HISTORIES"].flatMap { UInt64($0) } ?? 60
  private static let parts: UInt64 = 4

  @Test(arguments: 0..<parts)
  func `Memory, a folder and a shared database answer alike after the same history`(part: UInt64) async throws {
    for seed in stride(from: part, to: HistoryTests.count, by: UInt64.Stride(HistoryTests.parts)) {
      let faults = try await HistoryTests.play(seed, in: SimulatedConnection(SimulatedDatabase()))
      if !faults.isEmpty { return try #require(faults == [], "history \(seed)") }
    }
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `PostgreSQL answers like memory and a folder after the same history`() async throws {
    for seed in 0..<max(4, HistoryTests.count / 20) {
      let settings = try await PostgresServer.database()
      try await PostgresDatabase.migrate([settings])
      let faults = try await HistoryTests.play(seed, in: try await PostgresDatabase.open([settings]))
      if !faults.isEmpty { return try #require(faults == [], "history \(seed)") }
    }
  }

  private static func play(_ seed: UInt64, in database: any SharedDatabase) async throws(StateError) -> [String] {
    var maker = HistoryMaker(using: SeededGenerator(seed: seed))
    let memory = MemoryStateStore()
    let disk = FaultyFileSystem()
    var folder = try await FileStateStore.open("state", program: "test", fileSystem: disk)
    let shared = SharedStateStore(database, holder: 1)
    // It holds no run, and so reads every one of them from its log.
    let reader = SharedStateStore(database)
    for step in 0..<48 {
      let batch = maker.next()
      let wanted = batch.refusal.map { Outcome(kind: .invalid, isConflict: $0.isConflict) }
      for (name, store) in [("memory", memory as any StateStore), ("folder", folder), ("shared", shared)] {
        let outcome = await outcome(of: batch, in: store)
        if outcome != wanted {
          return [
            "step \(step): \(name) says \(String(describing: outcome)) of \((try? batch.events.storedText) ?? "")"
          ]
        }
      }
      if wanted == nil { maker.accept(batch) }
      if maker.one(in: 12) { try await folder.compact() }
      if maker.one(in: 16) {
        try await folder.close()
        folder = try await FileStateStore.open("state", program: "test", fileSystem: disk)
      }
      if maker.one(in: 12) { try await fold(database) }
      if maker.one(in: 20), let ended = maker.state.ended.first?.id {
        let isDeleted = try await memory.deleteRun(ended)
        let others = [try await folder.deleteRun(ended), try await shared.deleteRun(ended)]
        if others != [isDeleted, isDeleted] { return ["step \(step): \(ended) was deleted: \(isDeleted), \(others)"] }
      }
      guard step == 47 || maker.one(in: 200) else { continue }
      let told = try await maker.answers(of: memory)
      for store in step == 47 ? [shared, reader] : [reader] {
        let difference = difference(told, try await maker.answers(of: store))
        if !difference.isEmpty { return ["step \(step), \(store === reader ? "reader" : "writer")"] + difference }
      }
      let joined = try await maker.answers(of: memory, isJoining: true)
      let difference = difference(joined, try await maker.answers(of: folder, isJoining: true))
      if !difference.isEmpty { return ["step \(step), folder"] + difference }
      for run in maker.state.openRuns where shared.run(run.id) != memory.run(run.id) {
        return ["step \(step): the record of \(run.id) is held otherwise"]
      }
    }
    try await folder.close()
    await database.close()
    return []
  }

  private struct Outcome: Equatable {
    let kind: StateError.Kind
    let isConflict: Bool
  }

  private static func outcome(of batch: HistoryMaker.Batch, in store: any StateStore) async -> Outcome? {
    do throws(StateError) {
      try await store.append(batch.events)
      return nil
    } catch {
      return Outcome(kind: error.kind, isConflict: error.isConflict)
    }
  }

  /// Folds the logs of all open runs, as an idle program may.
  private static func fold(_ database: any SharedDatabase) async throws(StateError) {
    do throws(DatabaseError) {
      let runs = try await database.openRuns(OpenRunQuery(), latest: nil).runs
      try await database.fold(runs.compactMap { run in (try? run.folded).map { (run.record.id, $0) } })
    } catch {
      throw StateError(.unavailable, "\(error)")
    }
  }

  private static func difference(_ wanted: [String], _ found: [String]) -> [String] {
    if wanted == found { return [] }
    let (missing, extra) = (Set(wanted).subtracting(found), Set(found).subtracting(wanted))
    if missing.isEmpty, extra.isEmpty { return ["another order"] + wanted + ["is"] + found }
    return missing.sorted().map { "missing: \($0)" } + extra.sorted().map { "found: \($0)" }
  }
}
