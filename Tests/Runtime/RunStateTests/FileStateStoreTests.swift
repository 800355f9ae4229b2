import Basics
import Foundation
import RunTestKit
import Testing

@testable import RunState

/// The machine's clocks a day later.
struct Tomorrow: TimeSource {
  private let today = SystemTime()
  func now() -> Timestamp { today.now().advanced(by: .seconds(86_400)) ?? .latest }
  func elapsed() -> TimeSpan { today.elapsed() }
  func sleep(for span: TimeSpan) async throws { try await today.sleep(for: span) }
}

/// The store on a real disk.
@Suite struct FileStateStoreTests {
  private final class Folder: Sendable {
    let path = NSTemporaryDirectory() + "errand-state-" + UUID().uuidString
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private func open(_ folder: Folder, _ rule: CompactionRule = CompactionRule()) async throws -> FileStateStore {
    try await FileStateStore.open(folder.path, program: "errand 0.1", compaction: rule)
  }

  @Test func `64 writers share syncs, keep their order, and compaction disturbs none of them`() async throws {
    let folder = Folder()
    let store = try await open(folder, CompactionRule(smallest: 20_000, timesSnapshot: 0))
    await withTaskGroup { group in
      for writer in 0..<64 {
        group.addTask {
          await #expect(throws: Never.self) {
            try await store.append(Example.created("r\(writer)"))
            for step in 0..<20 {
              try await store.append([Example.began("r\(writer)", "s\(step)"), Example.ended("r\(writer)", "s\(step)")])
              #expect(store.run("r\(writer)")?.steps["s\(step)"]?.status == .succeeded)
            }
            if writer % 2 == 0 { try await store.append(Example.over("r\(writer)", at: writer)) }
          }
        }
      }
    }
    let before = store.state
    try await store.close()
    let again = try await open(folder)
    #expect(again.notices == [])
    #expect(again.state.runs == before.runs)
    #expect(again.state.openRuns.count == 32)
    #expect(again.state.openRuns.allSatisfy { $0.stepsInOrder.map(\.path) == (0..<20).map { "s\($0)" } })
    #expect(try await again.finishedRuns(HistoryQuery(limit: 100)).count == 32)
    try await again.close()
  }

  @Test func `a new state has no files before its first event, and a short journal is left as it is`() async throws {
    let folder = Folder()
    let rule = CompactionRule(smallestAtEnd: 64 << 10)
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    let first = try await open(folder, rule)
    #expect(try files() == [])
    try await first.append([Example.created("r"), Example.over("r", at: 1), Example.set("x", .int(1))])
    try await first.close()
    #expect(try files() == ["journal-1.jsonl", "state.begun"])
    // A state that has lost its only journal isn't a new one.
    let (journal, aside) = ("\(folder.path)/journal-1.jsonl", "\(folder.path)/aside")
    try FileManager.default.moveItem(atPath: journal, toPath: aside)
    await #expect(throws: StateError.self) { _ = try await open(folder, rule) }
    try FileManager.default.moveItem(atPath: aside, toPath: journal)
    let second = try await open(folder, rule)
    #expect(second.notices == [])
    #expect(try await second.finishedRun("r") != nil)
    #expect(second.look(\.values.count) == 1)
    // A snapshot holds the open runs, even if the journal is short.
    try await second.append(Example.created("s"))
    try await second.close()
    #expect(try files().contains("state.json"))
    let third = try await open(folder, rule)
    #expect(third.state.openRuns.map(\.id) == ["s"])
    #expect(try await third.finishedRuns(HistoryQuery()).map(\.id) == ["r"])
    try await third.close()
  }

  @Test func `callers that serve themselves and those that wait keep the order of each`() async throws {
    let folder = Folder()
    let store = try await open(folder)
    // One caller alone, then two at once, again and again: the journal changes hands each time.
    for round in 0..<50 {
      try await store.append(Example.set("alone", .int(round)))
      await withTaskGroup { group in
        for caller in 0..<2 {
          group.addTask {
            await #expect(throws: Never.self) {
              for number in 0..<5 { try await store.append(Example.set("c\(caller)", .int(round * 5 + number))) }
            }
          }
        }
      }
    }
    try await store.close()
    let again = try await open(folder)
    #expect(again.notices == [])
    #expect(again.state.values == ["alone": .inline(.int(49)), "c0": .inline(.int(249)), "c1": .inline(.int(249))])
    try await again.close()
  }

  @Test func `members of a value keep their order in the journal, the snapshot and the history`() async throws {
    let folder = Folder()
    let value = Value.map(ValueMap([("zeta", .map(ValueMap([("b", .int(1)), ("a", .int(2))]))), ("alpha", .int(3))]))
    func keys(_ value: Value?) -> [String] {
      (value?.map?.members ?? []).flatMap { member in [member.name ?? ""] + keys(member.value) }
    }
    let store = try await open(folder)
    try await store.append([Example.created("r1", inputs: value), Example.set("v", value)])
    try await store.close()
    for compacts in [true, false] {
      let store = try await open(folder)
      #expect(keys(store.run("r1")?.origin.inputs) == ["zeta", "b", "a", "alpha"])
      guard case .inline(let kept)? = store.state.values["v"] else { throw StateError(.invalid, "no value") }
      #expect(keys(kept) == ["zeta", "b", "a", "alpha"])
      if compacts { try await store.compact() } else { try await store.append(Example.over("r1", at: 9)) }
      try await store.close()
    }
    let last = try await open(folder)
    #expect(keys(try await last.finishedRun("r1")?.origin.inputs) == ["zeta", "b", "a", "alpha"])
    try await last.close()
  }

  @Test func `a long journal is read by several threads, in order`() async throws {
    let disk = FaultyFileSystem()
    let rule = CompactionRule(smallest: .max)
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk, compaction: rule)
    let filler = String(repeating: "x", count: 10_000)
    for round in 0..<40 {
      try await store.append((0..<10).map { Example.set("v\($0)", .string("\(round) \($0) \(filler)")) })
    }
    #expect(disk["/state/journal-1.jsonl"]?.count ?? 0 > 4_000_000)
    let again = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk, compaction: rule)
    #expect(again.state == store.state)
    #expect(again.notices == [])
  }

  @Test func `an append that does not fit is refused alone`() async throws {
    let folder = Folder()
    let store = try await open(folder)
    let refusal = StateError(.invalid, "the state cannot take the event: the run x is not open")
    await withTaskGroup { group in
      for number in 0..<50 {
        group.addTask {
          await #expect(throws: Never.self) { try await store.append(Example.created("r\(number)")) }
          // The first of the two would fit.
          await #expect(throws: refusal) {
            try await store.append([Example.set("n\(number)", .int(1)), Example.began("x", "a")])
          }
        }
      }
    }
    #expect(store.state.openRuns.count == 50)
    #expect(store.state.values.isEmpty)
    try await store.close()
    let again = try await open(folder)
    #expect(again.state == store.state)
    try await again.close()
  }

  @Test func `a closed store refuses, and its snapshot holds everything`() async throws {
    let folder = Folder()
    let store = try await open(folder)
    try await store.append(Example.created("r"))
    try await store.close()
    await #expect(throws: StateError.closed) { try await store.append(Example.created("s")) }
    await #expect(throws: StateError.closed) { try await store.putBlob([1]) }
    let snapshot = try Snapshot(reading: Files.read("\(folder.path)/state.json"), name: "state.json")
    #expect(snapshot.state == store.state)
  }

  @Test func `large values go to blobs and come back`() async throws {
    let folder = Folder()
    let store = try await open(folder)
    let small: Value = .object(["at": .timestamp(instant(0))])
    #expect(try await store.keep(small) == .inline(small))
    let large: Value = .list((0..<7000).map { .object(["n": .int($0), "at": .timestamp(instant($0))]) })
    let kept = try await store.keep(large)
    guard case .blob(let reference) = kept else {
      Issue.record("it is inline")
      return
    }
    #expect(reference.size > 64 << 10)
    #expect(try await store.value(kept) == large)
    try await store.append([Example.created("r"), .valueSet(ValueSet(at: instant(0), name: "x", value: kept))])

    // Only old unreferenced blobs are collected, and none that this process may be about to name.
    let orphan = try await store.putBlob([1, 2, 3])
    #expect(try await store.maintain().removedBlobs == 0)
    try await store.close()
    let young = try await open(folder)
    #expect(try await young.maintain().removedBlobs == 0)
    try await young.close()
    let tomorrow = try await FileStateStore.open(folder.path, program: "errand 0.1", time: Tomorrow())
    #expect(try await tomorrow.maintain().removedBlobs == 1)
    try await tomorrow.close()
    let again = try await open(folder)
    #expect(try await again.value(kept) == large)
    let missing = "\(folder.path)/blobs/\(orphan.sha256.prefix(2))/\(orphan.sha256)"
    await #expect(
      throws: StateError(
        .damaged, "\(missing) is missing; put it back from a backup, or the runs that need it cannot resume")
    ) {
      try await again.blob(orphan)
    }
    let path = "\(folder.path)/blobs/\(reference.sha256.prefix(2))/\(reference.sha256)"
    var bytes = try Files.read(path)
    bytes[100] ^= 1
    try Files.write(bytes, to: path)
    let message =
      "\(path) is damaged: its content does not match its name; put it back from a backup, or the runs that need it cannot resume"
    await #expect(throws: StateError(.damaged, message)) { try await again.value(kept) }
    try await again.close()
  }

  @Test func `a value that many records hold goes to a blob sooner`() async throws {
    let folder = Folder()
    let store = try await open(folder)
    let value = Value.string(String(repeating: "x", count: 1000))
    #expect(try await store.keep(value, inRecords: 60) == .inline(value))
    #expect(try await store.keep(value, inRecords: 0) == .inline(value))
    guard case .blob = try await store.keep(value, inRecords: 70) else {
      Issue.record("it is inline")
      return
    }
    try await store.close()
  }

  @Test(arguments: [
    Value.string(String(repeating: "a line\n", count: 100_000)), .bytes([UInt8](repeating: 7, count: 300_000)),
    .list((0..<30_000).map { .object(["n": .uint(UInt($0)), "b": .bytes([0])]) }),
  ])
  func `the text of a value is the same blob as its bytes`(_ value: Value) async throws {
    let folder = Folder()
    let store = try await open(folder)
    let reference = try await store.putBlob(of: value)
    #expect(try await store.putBlob(recordedBytes(of: value)) == reference)
    #expect(try await store.value(.blob(reference)) == value)
    try await store.close()
  }

  @Test func `a disk that fails within a blob leaves none`() async throws {
    let value = Value.string(String(repeating: "a line\n", count: 100_000))
    let sound = FaultyFileSystem()
    let whole = try Blobs(folder: "/blobs", fileSystem: sound).put(value)
    #expect(whole.size == 800_002 && sound.operations > 10)
    for operation in 1...sound.operations {
      let disk = FaultyFileSystem()
      let blobs = Blobs(folder: "/blobs", fileSystem: disk)
      disk.fail(at: operation, .error(ENOSPC))
      #expect(throws: StateError.self) { try blobs.put(value) }
      // All of it is there only if the last sync of the folder failed.
      let size = try disk.size(blobs.path(of: whole.sha256))
      #expect(size == nil || size == whole.size && operation == sound.operations)
      #expect(try blobs.get(blobs.put(value)).count == whole.size)
    }
  }

  @Test func `a value that is nested too deep is refused before it is written`() async throws {
    let folder = Folder()
    let store = try await open(folder)
    var value: Value = .null
    for _ in 0..<150 { value = .object(["$deeper": value]) }
    try await store.append(Example.set("deepest", value))
    try await store.compact()
    let tooDeep: Value = .list([value])
    await #expect(
      throws: StateError(.invalid, "a value that is nested deeper than 150 lists and maps cannot be kept in the state")
    ) {
      try await store.append(Example.set("deeper", tooDeep))
    }
    #expect(store.state.values["deepest"] == .inline(value))
    try await store.close()
    let again = try await open(folder)
    #expect(again.state == store.state)
    try await again.close()
  }
}

@Suite struct HistoryTests {
  private static let month = 30 * 86_400

  /// A store whose history holds 40 runs over about four months, and one that just ended.
  private func store(on disk: FaultyFileSystem) async throws -> FileStateStore {
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    for number in 0..<41 {
      let run = "run-\(number)"
      try await store.append([
        Example.created(run, recipe: number % 2 == 0 ? "even" : "odd"), Example.began(run, "a"),
        Example.ended(run, "a"),
        Example.over(run, at: number * HistoryTests.month / 10, number % 5 == 0 ? .failed : .succeeded),
      ])
      if number % 8 == 7 { try await store.compact() }
    }
    return store
  }

  @Test func `lists are newest first, across months and what is not in files yet`() async throws {
    let disk = FaultyFileSystem()
    let store = try await store(on: disk)
    let all = try await store.finishedRuns(HistoryQuery(limit: 100))
    #expect(all.map(\.id) == (0..<41).reversed().map { "run-\($0)" })
    #expect(try await store.finishedRuns(HistoryQuery(limit: 3)).map(\.id) == ["run-40", "run-39", "run-38"])
    #expect(
      try await store.finishedRuns(HistoryQuery(limit: 3, recipe: "even", statuses: [.failed])).map(\.id)
        == ["run-40", "run-30", "run-20"])
    let next = try await store.finishedRuns(HistoryQuery(limit: 2, endedBefore: all[20].endedAt))
    #expect(next == Array(all[21...22]))
    #expect(try await store.finishedRuns(HistoryQuery(limit: 100, idPrefix: "run-3")).count == 11)
    #expect(try await store.finishedRuns(HistoryQuery(limit: 0)).isEmpty)
    #expect(try await store.finishedRun("run-1")?.steps["a"]?.status == .succeeded)
    #expect(try await store.finishedRun("run-40")?.status == .failed)
    #expect(try await store.finishedRun("run-") == nil)
    #expect(disk.paths.filter { $0.contains("history") }.count == 10)
  }

  @Test(arguments: ["missing", "flipped", "cut", "zeros"])
  func `a damaged index is rebuilt`(_ damage: String) async throws {
    let disk = FaultyFileSystem()
    let store = try await store(on: disk)
    let all = try await store.finishedRuns(HistoryQuery(limit: 100))
    try await store.close()
    let path = "/state/history/2026-12.index"
    let good = try #require(disk[path])
    for place in stride(from: 0, to: good.count, by: damage == "flipped" ? 37 : 300) {
      var bytes: [UInt8]? = good
      switch damage {
      case "flipped": bytes?[place] ^= 4
      case "cut": bytes?.removeSubrange(place...)
      case "zeros": bytes?.replaceSubrange(place..., with: repeatElement(0, count: good.count - place))
      default: bytes = nil
      }
      disk[path] = bytes
      let again = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
      #expect(try await again.finishedRuns(HistoryQuery(limit: 100)) == all)
      #expect(disk[path] == good)
      try await again.close()
    }
  }

  @Test func `a damaged run is named`() async throws {
    let disk = FaultyFileSystem()
    try await store(on: disk).close()
    let path = "/state/history/2026-12.jsonl"
    disk[path]?[100] ^= 1
    let again = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    let id = try #require(
      try await again.finishedRuns(HistoryQuery(limit: 100)).last {
        $0.endedAt >= Timestamp("2026-12-01T00:00:00Z") ?? .latest
      }?.id)
    await #expect(
      throws: StateError(
        .damaged, "\(path) is damaged at byte 0, where the run \(id) should be; put a backup of that file in its place")
    ) { try await again.finishedRun(id) }
    try await again.close()
  }

  @Test func `memory keeps the same history`() async throws {
    let store = MemoryStateStore()
    for number in 0..<3 {
      try await store.append([Example.created("r\(number)"), Example.over("r\(number)", at: number)])
    }
    #expect(try await store.finishedRuns(HistoryQuery(limit: 2)).map(\.id) == ["r2", "r1"])
    await #expect(throws: StateError(.invalid, "the state cannot take the event: the run r9 is not open")) {
      try await store.append([Example.created("r4"), Example.over("r9")])
    }
    #expect(store.state.openRuns.isEmpty)
    let blob = try await store.putBlob([1, 2])
    #expect(try await store.blob(blob) == [1, 2])
    try await store.close()
    await #expect(throws: StateError.closed) { try await store.append(Example.created("r5")) }
  }
}
