import Basics
import Glibc
import RunTestKit
import Testing

@testable import RunState

/// Acknowledged events survive a machine that stops before, during or after any operation.
@Suite struct CrashTests {
  /// The acknowledgements before the machine stopped.
  private struct Told {
    var acknowledged: [StateEvent] = []
    /// Unacknowledged events, which may be there or not.
    var open: [StateEvent] = []
    var blobs: [BlobReference] = []
  }

  private static let folder = "/state"
  private static let rule = CompactionRule(smallest: 900, timesSnapshot: 0)

  /// Two starts of a program that uses all parts of the store, until the disk stops it.
  private static func work(on disk: FaultyFileSystem) async -> Told {
    var told = Told()
    func keep(_ store: FileStateStore, _ events: [StateEvent]) async throws {
      told.open = events
      try await store.append(events)
      told.acknowledged += events
      told.open = []
    }
    do {
      for start in 0..<2 {
        let store = try await FileStateStore.open(
          folder, program: "errand 0.1", fileSystem: disk, compaction: rule, time: Tomorrow())
        for number in 0..<2 {
          let run = "run-\(start)-\(number)"
          try await keep(store, [Example.created(run), Example.began(run, "book")])
          try await keep(store, [Example.attempted(run, "book")])
          let blob = try await store.putBlob(Array("a large output of \(run)".utf8))
          try await keep(
            store,
            [
              .stepEnded(StepEnded(run: run, at: instant(1), step: "book", status: .succeeded, output: .blob(blob))),
              Example.set("last", .string(run)),
            ])
          told.blobs.append(blob)
          if number == 0 {
            try await keep(
              store,
              [
                .scheduleSet(
                  ScheduleSet(at: instant(start), schedule: "weekly", recipe: "r", file: "r.yaml", spec: "s")),
                .slotDecided(
                  SlotRecord(
                    schedule: "weekly", slot: instant(start), outcome: .started, at: instant(start),
                    cause: RunCause(.slot), run: run)),
                Example.over(run, at: start * 40 * 86_400),
              ])
          }
        }
        // Only unreferenced blobs are removed; on the second start there are some.
        _ = try await store.maintain()
        if start == 0 { _ = try await store.putBlob(Array("named by nothing".utf8)) }
        if start == 0 { try await store.close() }
      }
    } catch {
      // The disk stopped.
    }
    return told
  }

  private static func expect(_ disk: FaultyFileSystem, holds told: Told, _ comment: Comment) async throws {
    let store = try await FileStateStore.open(folder, program: "errand 0.1", fileSystem: disk, compaction: rule)
    let least = try Example.fold(told.acknowledged)
    let most = try Example.fold(told.acknowledged + told.open)
    let state = store.state
    let found = [least, most].first {
      $0.runs == state.runs && $0.values == state.values && $0.schedules == state.schedules
    }
    let expected = try #require(found, comment)
    let finished = try await store.finishedRuns(HistoryQuery(limit: 100))
    let ids = finished.map(\.id)
    #expect(ids == expected.ended.sorted { $0.endedAt ?? $0.now > $1.endedAt ?? $1.now }.map(\.id), comment)
    for run in expected.ended { #expect(try await store.finishedRun(run.id) == run, comment) }
    #expect(try await store.slots(SlotQuery(limit: 100)) == expected.slots.reversed(), comment)
    for blob in told.blobs { #expect(try await store.blob(blob).count == blob.size, comment) }
    // And it can be continued.
    try await store.append(Example.set("after", .bool(true)))
    try await store.close()
    let again = try await FileStateStore.open(folder, program: "errand 0.1", fileSystem: disk, compaction: rule)
    #expect(again.state.values["after"] == .inline(.bool(true)), comment)
    #expect(again.state.runs == expected.runs, comment)
    #expect(again.notices == [], comment)
    #expect(try await again.finishedRuns(HistoryQuery(limit: 100)) == finished, comment)
    #expect(try await again.slots(SlotQuery(limit: 100)) == expected.slots.reversed(), comment)
    try await again.close()
  }

  @Test func `nothing that was acknowledged is lost, whichever operation is the last`() async throws {
    let whole = FaultyFileSystem()
    let all = await CrashTests.work(on: whole)
    #expect(all.acknowledged.count == 26)
    #expect(all.open.isEmpty)
    #expect(whole.operations > 80)
    for operation in 1...whole.operations {
      for phase in FaultyFileSystem.Phase.allCases {
        let disk = FaultyFileSystem()
        disk.fail(at: operation, .crash(phase))
        let told = await CrashTests.work(on: disk)
        let losses: [FaultyFileSystem.Loss] = [.everything, .nothing, .some(seed: UInt64(operation))]
        for loss in losses {
          try await CrashTests.expect(
            disk.restarted(losing: loss), holds: told,
            "stopped at operation \(operation) (\(phase)), losing \(loss)")
        }
      }
    }
  }

  @Test(arguments: [
    (ENOSPC, "no space left on device (ENOSPC)"), (EIO, "input or output error (EIO)"),
  ])
  func `after a failure nothing more is accepted, and nothing acknowledged is lost`(_ code: Int32, _ cause: String)
    async throws
  {
    let whole = FaultyFileSystem()
    _ = await CrashTests.work(on: whole)
    for operation in 1...whole.operations {
      let disk = FaultyFileSystem()
      disk.fail(at: operation, .error(code))
      let told = await CrashTests.work(on: disk)
      try await CrashTests.expect(
        disk.restarted(losing: .nothing), holds: told, "operation \(operation) failed")
    }
  }

  @Test func `what a program wrote after another one failed survives a power failure`() async throws {
    let whole = FaultyFileSystem()
    _ = await CrashTests.work(on: whole)
    for operation in 1...whole.operations {
      let disk = FaultyFileSystem()
      disk.fail(at: operation, .error(EIO))
      var told = await CrashTests.work(on: disk)
      // The machine keeps running, so that the second program sees unsynced data.
      let store = try await FileStateStore.open(
        CrashTests.folder, program: "errand 0.1", fileSystem: disk, compaction: CrashTests.rule)
      let event = Example.set("since", .bool(true))
      try await store.append(event)
      told.acknowledged.append(event)
      try await CrashTests.expect(
        disk.restarted(losing: .everything), holds: told, "operation \(operation) failed before")
    }
  }

  @Test func `a full disk is named, and the store refuses what comes after`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(Example.created("a"))
    disk.fail(at: 1, .error(ENOSPC))
    let message =
      "the state in '/state' can no longer be written: cannot write '/state/journal-1.jsonl': no space left on device (ENOSPC). What was acknowledged before is safe. Fix the cause and start again."
    await #expect(throws: StateError(.fatal, message)) { try await store.append(Example.created("b")) }
    await #expect(throws: StateError(.fatal, message)) { try await store.append(Example.created("c")) }
    await #expect(throws: StateError(.fatal, message)) { try await store.close() }
    #expect(store.state.openRuns.map(\.id) == ["a"])
    let again = try await FileStateStore.open(
      "/state", program: "errand 0.1", fileSystem: disk.restarted(losing: .nothing))
    #expect(again.state.openRuns.map(\.id) == ["a"])
    #expect(again.notices == [])
  }

  /// The number of the operation that fails in a batch, its fault, and the runs found at the next start.
  @Test(arguments: [
    (1, FaultyFileSystem.Fault.error(ENOSPC), ["a"]), (2, .error(ENOSPC), ["a"]), (2, .error(EIO), ["a"]),
    (2, .crash(.before), ["a", "b"]),
  ])
  func `a refused start isn't there afterwards, or the refusal says that it may be`(
    _ operation: Int, _ fault: FaultyFileSystem.Fault, _ runs: [String]
  ) async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(Example.created("a"))
    disk.fail(at: operation, fault)
    let error = await #expect(throws: StateError.self) { try await store.append(Example.created("b")) }
    #expect(error?.message.contains("may have been written anyway") == (runs.count == 2))
    let again = try await FileStateStore.open(
      "/state", program: "errand 0.1", fileSystem: disk.restarted(losing: .nothing))
    #expect(again.state.openRuns.map(\.id).sorted() == runs)
    #expect(again.notices == [])
  }
}
