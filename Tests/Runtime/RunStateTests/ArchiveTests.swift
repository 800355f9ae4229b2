import Basics
import Glibc
import RunTestKit
import Testing

@testable import RunState

@Suite struct ArchiveTests {
  /// A state with open and finished runs, slots, values, and blobs; some only in the journal.
  private static func filled(_ runs: Int) async throws -> (FaultyFileSystem, FileStateStore) {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/old/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(
      .scheduleSet(ScheduleSet(at: instant(0), schedule: "weekly", recipe: "r", file: "r.yaml", spec: "s")))
    for number in 0..<runs {
      let run = "run-\(number)"
      let blob = try await store.putBlob(Array("output \(number % 7)".utf8))
      try await store.append([
        Example.created(run), Example.began(run, "a"),
        .stepEnded(StepEnded(run: run, at: instant(1), step: "a", status: .succeeded, output: .blob(blob))),
        .slotDecided(
          SlotRecord(
            schedule: "weekly", slot: instant(number), outcome: .started, at: instant(number * 9000),
            cause: RunCause(.slot))),
      ])
      if number % 3 != 0 { try await store.append(Example.over(run, at: number * 9000)) }
      if number % 50 == 30 || number == 1 { try await store.compact() }
    }
    return (disk, store)
  }

  private static func exported(_ disk: FaultyFileSystem) throws -> [UInt8] {
    var bytes: [UInt8] = []
    _ = try StateArchive("/old/state", program: "errand 0.1", fileSystem: disk).export(at: instant(0)) { bytes += $0 }
    return bytes
  }

  /// Returns bytes in pieces.
  private final class Source {
    private var rest: ArraySlice<UInt8>
    private let piece: Int

    init(_ bytes: [UInt8], by piece: Int = 1000) {
      rest = bytes[...]
      self.piece = piece
    }

    func read(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(min(piece, count)) }
      return Array(rest.prefix(min(piece, count)))
    }
  }

  @discardableResult
  private static func take(
    _ bytes: [UInt8], into disk: FaultyFileSystem, replacing: Bool = false
  ) throws(StateError) -> StateArchive.Report {
    let source = Source(bytes)
    return try StateArchive("/new/state", program: "errand 0.1", fileSystem: disk).import(
      replacing: replacing, at: instant(5)
    ) { count throws(FileError) in source.read(count) }
  }

  private static func open(_ disk: FaultyFileSystem) async throws -> FileStateStore {
    try await FileStateStore.open("/new/state", program: "errand 0.1", fileSystem: disk)
  }

  private static func expect(
    _ disk: FaultyFileSystem, isLike store: FileStateStore, _ comment: Comment? = nil
  ) async throws {
    let again = try await open(disk)
    #expect(again.notices == [], comment)
    #expect(again.state.runs == store.state.runs, comment)
    #expect(again.state.schedules == store.state.schedules, comment)
    let query = HistoryQuery(limit: 10_000)
    #expect(try await again.finishedRuns(query) == (try await store.finishedRuns(query)), comment)
    let slots = SlotQuery(limit: 10_000)
    #expect(try await again.slots(slots) == (try await store.slots(slots)), comment)
    try await again.close()
  }

  @Test func `a moved state is the same, and can be continued`() async throws {
    let (old, store) = try await ArchiveTests.filled(400)
    let bytes = try ArchiveTests.exported(old)
    let new = FaultyFileSystem()
    let report = try ArchiveTests.take(bytes, into: new)
    #expect((report.openRuns, report.blobs, report.bytes, report.notices) == (134, 7, bytes.count, []))
    let arrived = new.restarted(losing: .nothing)
    let first = StateDoctor("/new/state", program: "x", now: instant(9_000_000), isHeld: false, fileSystem: arrived)
    #expect(try first.examine().findings == [])
    try await ArchiveTests.expect(new, isLike: store)
    let again = try await ArchiveTests.open(new)
    for run in store.state.openRuns.prefix(7) {
      guard case .blob(let blob)? = run.steps["a"]?.output else { continue }
      #expect(try await again.blob(blob) == (try await store.blob(blob)))
    }
    #expect(try await again.finishedRun("run-1") == (try await store.finishedRun("run-1")))
    try await again.append(Example.over("run-0", at: 5))
    try await again.close()
    let doctor = StateDoctor("/new/state", program: "x", now: instant(9_000_000), isHeld: false, fileSystem: new)
    #expect(try doctor.examine().findings == [])
  }

  @Test func `damage anywhere is refused, and nothing is changed`() async throws {
    let (old, _) = try await ArchiveTests.filled(3)
    let bytes = try ArchiveTests.exported(old)
    for place in stride(from: 0, to: bytes.count, by: 3) {
      var damaged = bytes
      damaged[place] ^= 1 << UInt8(place % 8)
      let new = FaultyFileSystem()
      #expect(throws: StateError.self, "byte \(place)") { try ArchiveTests.take(damaged, into: new) }
      #expect(new.paths == [], "byte \(place)")
    }
    for size in stride(from: 0, to: bytes.count, by: 97) {
      let new = FaultyFileSystem()
      #expect(throws: StateError.self, "\(size) bytes") { try ArchiveTests.take(Array(bytes[..<size]), into: new) }
      #expect(new.paths == [], "\(size) bytes")
    }
  }

  @Test(arguments: [
    ("", 0, "the archive is damaged at byte 0: it ends early; nothing was changed"),
    ("{}\n", 3, "the archive is damaged at byte 3: it does not begin as an archive of a state; nothing was changed"),
    (
      #"{"archive":9,"program":"errand 3.0"}"# + "\n", 0,
      "the archive has format 9, which errand 3.0 wrote; this version reads format 1 and older. Use that version, or a newer one."
    ),
  ])
  func `an invalid archive is refused with the reason`(_ text: String, _ place: Int, _ message: String) {
    let error = #expect(throws: StateError.self) { try ArchiveTests.take(Array(text.utf8), into: FaultyFileSystem()) }
    #expect(error?.message == message)
  }

  @Test func `the place of damage is reported`() async throws {
    let (old, _) = try await ArchiveTests.filled(3)
    var bytes = try ArchiveTests.exported(old)
    let text = String(decoding: bytes, as: UTF8.self)
    let place = try #require(text.utf8.firstRange(of: "\"weekly\"".utf8)).lowerBound.utf16Offset(in: text)
    bytes[place + 1] ^= 1
    let error = #expect(throws: StateError.self) { try ArchiveTests.take(bytes, into: FaultyFileSystem()) }
    #expect(error?.message.contains("the sum after 'state.json' is wrong; nothing was changed") == true)
  }

  @Test func `an existing state is replaced only on request, and kept`() async throws {
    let (old, store) = try await ArchiveTests.filled(5)
    let bytes = try ArchiveTests.exported(old)
    let new = FaultyFileSystem()
    let there = try await ArchiveTests.open(new)
    try await there.append(Example.created("mine"))
    try await there.close()
    let before = new.paths.map { new[$0] }
    #expect(
      throws: StateError(
        .invalid,
        "there is a state in '/new/state' already; with --replace it is kept aside and this one put in its place")
    ) { try ArchiveTests.take(bytes, into: new) }
    #expect(new.paths.map { new[$0] } == before)
    let report = try ArchiveTests.take(bytes, into: new, replacing: true)
    let kept = "/new/state.replaced-2026-11-20T09:00:05Z"
    #expect(report.notices == ["the state that was in '/new/state' before is in '\(kept)' now"])
    try await ArchiveTests.expect(new, isLike: store)
    let aside = try await FileStateStore.open(kept, program: "errand 0.1", fileSystem: new)
    #expect(aside.state.openRuns.map(\.id) == ["mine"])
    try await aside.close()
  }

  @Test func `an interrupted import changes nothing, or everything`() async throws {
    let (old, store) = try await ArchiveTests.filled(4)
    let bytes = try ArchiveTests.exported(old)
    let template = FaultyFileSystem()
    let there = try await ArchiveTests.open(template)
    try await there.append(Example.created("mine"))
    try await there.close()
    let whole = template.restarted(losing: .nothing)
    try ArchiveTests.take(bytes, into: whole, replacing: true)
    #expect(whole.operations > 60)
    for operation in 1...whole.operations {
      for phase in FaultyFileSystem.Phase.allCases {
        let disk = template.restarted(losing: .nothing)
        disk.fail(at: operation, .crash(phase))
        #expect(throws: StateError.self) { try ArchiveTests.take(bytes, into: disk, replacing: true) }
        for loss in [FaultyFileSystem.Loss.everything, .nothing, .some(seed: UInt64(operation))] {
          let comment: Comment = "stopped at operation \(operation) (\(phase)), losing \(loss)"
          let again = disk.restarted(losing: loss)
          let opened = try StateFolder(path: "/new/state", fileSystem: again, program: "errand 0.1").read()
          let ids = opened.state.openRuns.map(\.id)
          #expect(ids == ["mine"] || ids == store.state.openRuns.map(\.id), comment)
          // The old state is never lost, and the next import works like the first.
          try ArchiveTests.take(bytes, into: again, replacing: true)
          let states = again.paths.filter { $0.hasSuffix("/state.json") }
          let olds = try states.filter { path in
            try StateFolder(path: String(path.dropLast(11)), fileSystem: again, program: "errand 0.1").read()
              .state.runs["mine"] != nil
          }
          #expect(olds.count == 1, comment)
          #expect(states.contains("/new/state/state.json"), comment)
          #expect(again.paths.allSatisfy { !$0.hasPrefix("/new/state.import/") }, comment)
        }
      }
    }
    // A full disk is reported, and no files are left behind.
    for operation in 1..<whole.operations - 6 {
      let disk = template.restarted(losing: .nothing)
      disk.fail(at: operation, .error(ENOSPC))
      let error = #expect(throws: StateError.self) { try ArchiveTests.take(bytes, into: disk, replacing: true) }
      #expect(error?.message.contains("no space left on device (ENOSPC)") == true)
      #expect(try StateFolder(path: "/new/state", fileSystem: disk, program: "x").read().state.runs["mine"] != nil)
    }
  }

  @Test func `a damaged line prevents an export`() async throws {
    let (old, store) = try await ArchiveTests.filled(3)
    try await store.close()
    old["/old/state/history/2026-11.jsonl"]?[80] ^= 1
    let error = #expect(throws: StateError.self) { try ArchiveTests.exported(old) }
    #expect(
      error?.message
        == "/old/state/history/2026-11.jsonl is damaged at byte 0; run 'errand doctor --repair', which puts that line aside, and try again"
    )
  }
}
