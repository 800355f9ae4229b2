import Basics
import Glibc
import RunTestKit
import Synchronization
import Testing

@testable import RunState

@Suite struct BlobCollectionTests {
  private static func open(_ disk: FaultyFileSystem, keeping: Retention? = nil) async throws -> FileStateStore {
    try await FileStateStore.open(
      "/state", program: "errand 0.1", fileSystem: disk, keeping: keeping, time: Frozen(instant(90 * 86_400)))
  }

  private static func blobs(_ disk: FaultyFileSystem) -> Int {
    disk.paths.count { $0.hasPrefix("/state/blobs/") && !$0.hasSuffix("collected") }
  }

  /// A run of October, one of November and one that is open, each with a large output, and a value.
  private static func filled() async throws -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    let store = try await open(disk)
    for (number, ended) in [-40 * 86_400, 0, nil].enumerated() {
      let run = "run-\(number)"
      let blob = try await store.putBlob(Array("output \(number)".utf8))
      try await store.append([
        Example.created(run), Example.began(run, "a"),
        .stepEnded(StepEnded(run: run, at: instant(1), step: "a", status: .succeeded, output: .blob(blob))),
      ])
      if let ended { try await store.append(Example.over(run, at: ended)) }
    }
    try await store.append(
      .valueSet(ValueSet(at: instant(0), name: "x", value: .blob(try await store.putBlob([1, 2, 3])))))
    _ = try await store.putBlob(Array("named by nothing".utf8))
    try await store.close()
    return disk
  }

  @Test func `unreferenced blobs are removed, whichever file could refer to them`() async throws {
    let disk = try await BlobCollectionTests.filled()
    #expect(BlobCollectionTests.blobs(disk) == 5)
    let store = try await BlobCollectionTests.open(disk)
    #expect(try await store.maintain().removedBlobs == 1)
    #expect(BlobCollectionTests.blobs(disk) == 4)
    try await store.append(.valueRemoved(ValueRemoved(at: instant(5), name: "x")))
    // The previous generation and the journals still refer to it.
    try await store.compact()
    #expect(try await store.maintain().removedBlobs == 0)
    try await store.append(Example.set("y", .int(1)))
    try await store.compact()
    try await store.append(Example.set("y", .int(2)))
    try await store.compact()
    #expect(try await store.maintain().removedBlobs == 1)
    try await store.close()
  }

  @Test func `a blob goes with the last run that names it`() async throws {
    let disk = try await BlobCollectionTests.filled()
    let store = try await BlobCollectionTests.open(disk, keeping: Retention(runsFor: .zero))
    let first = try await store.maintain()
    #expect(first.prunedRuns == ["2026-10"])
    // The journal of the previous generation refers to it a little longer.
    #expect(first.removedBlobs == 1)
    for number in 0..<3 {
      try await store.append(Example.set("y", .int(number)))
      try await store.compact()
    }
    // Now or already after one of the snapshots.
    _ = try await store.maintain()
    #expect(BlobCollectionTests.blobs(disk) == 3)
    #expect(try await store.finishedRuns(HistoryQuery()).map(\.id) == ["run-1"])
    let output = try #require(try await store.finishedRun("run-1")?.steps["a"]?.output)
    guard case .blob(let blob) = output else {
      Issue.record("it isn't a blob")
      return
    }
    #expect(try await store.blob(blob) == Array("output 1".utf8))
    try await store.close()
  }

  @Test func `a blob written within the hour stays, though nothing refers to it yet`() async throws {
    let disk = try await BlobCollectionTests.filled()
    let store = try await BlobCollectionTests.open(disk)
    // Old by the disk's clock, but written by this process.
    let blob = try await store.putBlob(Array("young".utf8))
    #expect(try await store.maintain().removedBlobs == 1)
    #expect(try await store.blob(blob).count == 5)
    try await store.close()
    // And young by the disk's clock, written by another process.
    disk.now = instant(90 * 86_400 - 100)
    let other = try await BlobCollectionTests.open(disk)
    let again = try await other.putBlob(Array("younger".utf8))
    try await other.close()
    let last = try await BlobCollectionTests.open(disk)
    #expect(try await last.maintain().removedBlobs == 1)
    #expect(try await last.blob(again).count == 7)
    try await last.close()
  }

  @Test func `once an hour is enough, and it is done after a snapshot`() async throws {
    let disk = try await BlobCollectionTests.filled()
    // The mark has the time of the disk's clock.
    disk.now = instant(90 * 86_400)
    let store = try await BlobCollectionTests.open(disk, keeping: .usual)
    try await store.append(Example.set("y", .int(1)))
    try await store.close()
    #expect(BlobCollectionTests.blobs(disk) == 4)
    #expect(disk["/state/blobs/collected"] == [])
    #expect(store.maintenanceTrouble == nil)
    #expect(disk["/state/maintenance.failed"] == nil)
  }

  @Test func `failed maintenance is reported to the agent and to the doctor, until it succeeds`() async throws {
    var failures = 0
    for operation in 1...60 {
      let disk = try await BlobCollectionTests.filled()
      disk.now = instant(90 * 86_400)
      let store = try await BlobCollectionTests.open(disk, keeping: .usual)
      let told = Mutex<[String]>([])
      store.observeMaintenance { error in told.withLock { $0.append(error.message) } }
      try await store.append(Example.set("y", .int(1)))
      disk.fail(at: operation, .error(EIO))
      try? await store.close()
      guard let trouble = store.maintenanceTrouble else { continue }
      failures += 1
      #expect(told.withLock { $0 } == [trouble.message])
      func warnings() throws -> [String] {
        try StateDoctor("/state", program: "1", now: instant(90 * 86_400), isHeld: false, fileSystem: disk).examine()
          .findings.map(\.message).filter { $0.hasPrefix("maintenance failed at ") }
      }
      #expect(try warnings().count == 1)
      #expect(try warnings().first?.contains(trouble.message) == true)
      let again = try await BlobCollectionTests.open(disk, keeping: .usual)
      try await again.append(Example.set("z", .int(1)))
      try await again.close()
      #expect(try warnings() == [])
    }
    #expect(failures > 0)
  }
}

/// Stopped clocks.
struct Frozen: TimeSource {
  private let instant: Timestamp
  init(_ instant: Timestamp) { self.instant = instant }
  func now() -> Timestamp { instant }
  func elapsed() -> TimeSpan { .zero }
  func sleep(for span: TimeSpan) async throws {}
}
