import Basics
import RunTestKit
import Testing

@testable import RunState

/// The data of finished runs, which is erased after some time or with its run.
@Suite struct ErasingTests {
  private static let folder = "/state"

  /// A run with something to erase in each member that has it.
  private static func events(_ run: String, at seconds: Int, _ blob: BlobReference) -> [StateEvent] {
    var created = Example.created(run, at: seconds)
    if case .runCreated(var event) = created {
      event.inputs = .object(["pupil": .string("Ann of \(run)")])
      event.group = RunGroup(name: "Ann", limit: 1, onLimit: "queue")
      event.overrides = ["connections.a.url": .string("Ann")]
      created = .runCreated(event)
    }
    let error = RunError(.server, "Ann is not there", detail: "Ann", step: "a", attempt: 1)
    return [
      created,
      .stepBegan(
        StepBegan(
          run: run, at: instant(seconds), step: "a", now: instant(seconds), attempt: 1,
          baseline: .inline(.string("Ann")), key: "Ann", items: .inline(.list([.string("Ann")])))),
      .attemptEnded(
        AttemptEnded(
          run: run, at: instant(seconds), step: "a", number: 1, error: error, retryAt: instant(seconds + 1),
          exchanges: [.object(["url": .string("http://a/Ann")])])),
      .attemptBegan(AttemptBegan(run: run, at: instant(seconds + 1), step: "a", number: 2)),
      .stepEnded(
        StepEnded(run: run, at: instant(seconds + 2), step: "a", status: .succeeded, output: .blob(blob), error: nil)),
      .runEnded(
        RunEnded(
          run: run, at: instant(seconds + 3), status: .failed, outputs: .inline(.object(["who": .string("Ann")])),
          error: error)),
    ]
  }

  private static func open(
    _ disk: FaultyFileSystem, at seconds: Int, keeping days: Int? = nil
  ) async throws -> FileStateStore {
    try await FileStateStore.open(
      folder, program: "test", fileSystem: disk,
      keeping: Retention(dataFor: days.map { .seconds($0 * 86_400) }), time: ManualClock(instant(seconds)))
  }

  private static func texts(_ disk: FaultyFileSystem, of run: String) -> [String] {
    disk.paths.filter { path in
      String(decoding: (try? disk.read(path)) ?? [], as: UTF8.self).contains("Ann of \(run)")
    }
  }

  @Test func `a deleted run leaves nothing in the state's files, and others stay whole`() async throws {
    let disk = FaultyFileSystem()
    let store = try await ErasingTests.open(disk, at: 0)
    let own = try await store.putBlob(Array("only of r1".utf8))
    let shared = try await store.putBlob(Array("of both".utf8))
    try await store.append(ErasingTests.events("r1", at: 0, own))
    try await store.append(ErasingTests.events("r2", at: 10, shared))
    try await store.append(ErasingTests.events("r3", at: 20, shared))
    try await store.close()
    #expect(!ErasingTests.texts(disk, of: "r1").isEmpty)

    // Another process wrote the blobs.
    let other = try await ErasingTests.open(disk, at: 100)
    let left = try await other.finishedRun("r3")
    #expect(try await other.deleteRun("r1"))
    #expect(try await other.deleteRun("r2"))
    #expect(try await !other.deleteRun("r2"))
    #expect(ErasingTests.texts(disk, of: "r1") == [] && ErasingTests.texts(disk, of: "r2") == [])
    #expect(try await other.finishedRun("r1") == nil)
    #expect(try await other.finishedRuns(HistoryQuery()).map(\.id) == ["r3"])
    #expect(try await other.finishedRun("r3") == left)
    await #expect(throws: StateError.self) { try await other.blob(own) }
    #expect(try await other.blob(shared) == Array("of both".utf8))
    // Events after a deletion are kept.
    try await other.append(ErasingTests.events("r4", at: 30, shared))
    try await other.close()
    let last = try await ErasingTests.open(disk, at: 200)
    #expect(try await last.finishedRuns(HistoryQuery()).map(\.id) == ["r4", "r3"])
    try await last.close()
  }

  @Test func `a deletion that a crash interrupts is finished by the next start`() async throws {
    let template = FaultyFileSystem()
    let filled = try await ErasingTests.open(template, at: 0)
    for (number, run) in ["r1", "r2", "r3"].enumerated() {
      let blob = try await filled.putBlob(Array("only of \(run)".utf8))
      try await filled.append(ErasingTests.events(run, at: number * 10, blob))
    }
    try await filled.close()
    let whole = template.restarted(losing: .nothing)
    let counting = try await ErasingTests.open(whole, at: 100)
    let start = whole.operations
    #expect(try await counting.deleteRun("r3"))
    let end = whole.operations
    try await counting.close()

    for operation in 1...(end - start) {
      let disk = template.restarted(losing: .nothing)
      let store = try await ErasingTests.open(disk, at: 100)
      disk.fail(at: operation, .crash(.before))
      _ = try? await store.deleteRun("r3")
      let again = disk.restarted(losing: .some(seed: UInt64(operation)))
      let next = try await ErasingTests.open(again, at: 200)
      let left = try await next.finishedRuns(HistoryQuery()).map(\.id)
      #expect(left == ["r2", "r1"] || left == ["r3", "r2", "r1"], "stopped at operation \(operation)")
      if left.count == 2 {
        #expect(ErasingTests.texts(again, of: "r3") == [], "stopped at operation \(operation)")
        #expect(!again.paths.contains { $0.contains("/deleting-") })
      }
      try await next.close()
    }
  }

  @Test func `data is erased when it is old enough, and names, instants and statuses stay`() async throws {
    let disk = FaultyFileSystem()
    let day = 86_400
    var store = try await ErasingTests.open(disk, at: 0)
    let blob = try await store.putBlob([1, 2, 3])
    for (run, days) in [("r1", 0), ("r2", 3), ("r3", 9)] {
      try await store.append(ErasingTests.events(run, at: days * day, blob))
    }
    try await store.compact()
    let before = try #require(try await store.finishedRun("r1"))
    try await store.close()

    for (now, gone) in [
      (9, ["r1"]), (10, ["r1", "r2"]), (11, ["r1", "r2"]), (16, ["r1", "r2"]), (17, ["r1", "r2", "r3"]),
    ] {
      store = try await ErasingTests.open(disk, at: now * day + 10, keeping: 7)
      _ = try await store.maintain()
      for run in ["r1", "r2", "r3"] {
        let record = try #require(try await store.finishedRun(run))
        #expect((record.erasedAt != nil) == gone.contains(run), "\(run) on day \(now)")
        #expect(ErasingTests.texts(disk, of: run).filter { $0.contains("/history/") }.isEmpty == gone.contains(run))
      }
      try await store.close()
    }
    store = try await ErasingTests.open(disk, at: 17 * day + 20)
    let after = try #require(try await store.finishedRun("r1"))
    #expect(!JSON.displayed(after.encoded()).contains("Ann"))
    #expect(after.id == before.id && after.status == before.status && after.endedAt == before.endedAt)
    #expect(after.recipe == before.recipe && after.origin.texts == before.origin.texts)
    #expect(after.steps["a"]?.status == .succeeded && after.steps["a"]?.attempts == 2)
    #expect(after.error?.kind == .server && after.error?.step == "a")
    try await store.close()
  }

  @Test func `a clock that is years ahead for a while erases nothing that is younger than two days less`() async throws
  {
    let disk = FaultyFileSystem()
    let day = 86_400
    var store = try await ErasingTests.open(disk, at: 0)
    let blob = try await store.putBlob([1, 2, 3])
    for (run, days) in [("r1", 0), ("r2", 6)] {
      try await store.append(ErasingTests.events(run, at: days * day, blob))
    }
    try await store.close()
    store = try await ErasingTests.open(disk, at: 6 * day + 10, keeping: 7)
    _ = try await store.maintain()
    try await store.close()
    store = try await ErasingTests.open(disk, at: 3000 * day, keeping: 7)
    _ = try await store.maintain()
    #expect(try await store.finishedRun("r1")?.erasedAt != nil)
    #expect(try await store.finishedRun("r2")?.erasedAt == nil)
    try await store.close()
  }
}
