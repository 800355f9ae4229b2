import Basics
import Foundation
import RunTestKit
import Testing

@testable import RunState

/// All kinds of damage to the files of a real state are found, and never taken for the result of a crash.
@Suite struct MutationTests {
  private final class Folder: Sendable {
    let path = NSTemporaryDirectory() + "errand-mutation-" + UUID().uuidString
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  private static func open(_ path: String) async throws -> FileStateStore {
    try await FileStateStore.open(path, program: "errand 0.1", compaction: CompactionRule(smallest: .max))
  }

  /// A run of some steps, and a slot that started it.
  private static func work(_ store: FileStateStore, _ runs: Range<Int>) async throws {
    for number in runs {
      let run = "run-\(number)"
      try await store.append([
        Example.created(run, at: number),
        .slotDecided(
          SlotRecord(
            schedule: "weekly", slot: instant(number), outcome: .started, at: instant(number), cause: RunCause(.slot),
            run: run)),
      ])
      for step in 0..<3 {
        try await store.append([
          Example.began(run, "s\(step)", at: number),
          Example.ended(run, "s\(step)", output: .string(String(repeating: "äö \"x\" ", count: number * 7 % 60))),
        ])
      }
      if number % 3 != 0 { try await store.append(Example.over(run, at: number)) }
    }
  }

  /// A folder with two generations, a history and a ledger, and a journal of some pages.
  private static func folder() async throws -> Folder {
    let folder = Folder()
    let store = try await open(folder.path)
    try await store.append(
      .scheduleSet(ScheduleSet(at: instant(0), schedule: "weekly", recipe: "r", file: "r.yaml", spec: "s")))
    try await work(store, 0..<60)
    try await store.compact()
    try await work(store, 60..<90)
    // The index of new records is built when it is first used.
    _ = try await store.finishedRuns(HistoryQuery())
    _ = try await store.slots(SlotQuery())
    return folder
  }

  private static func change(
    _ bytes: inout [UInt8], _ random: inout SeededGenerator, from start: Int
  ) -> (name: String, reachesEnd: Bool) {
    let from = Int.random(in: start..<bytes.count, using: &random)
    let length = [1, 4, 7, 8, 9, 64, 512, 700, 4096].randomElement(using: &random) ?? 8
    let (sector, to) = (from / 512 * 512, min(bytes.count, from + length))
    switch Int.random(in: 0..<9, using: &random) {
    case 0:
      for index in from..<to { bytes[index] = 0 }
      return ("zeros \(from)..<\(to)", to == bytes.count)
    case 1:
      let (from, to) = (max(start, sector), min(bytes.count, sector + 512))
      for index in from..<to { bytes[index] = 0 }
      return ("zero sector \(from)..<\(to)", to == bytes.count)
    case 2:
      for index in from..<to { bytes[index] = UInt8.random(in: 0...255, using: &random) }
      return ("noise \(from)..<\(to)", false)
    case 3:
      for index in from..<to { bytes[index] = 0xFF }
      return ("ones \(from)..<\(to)", false)
    case 4:
      let source = Int.random(in: 0..<max(1, bytes.count - length), using: &random)
      bytes.replaceSubrange(from..<to, with: Array(bytes[source..<min(bytes.count, source + to - from)]))
      return ("a copy of \(source) over \(from)..<\(to)", false)
    case 5:
      let source = Int.random(in: 0..<max(1, bytes.count - length), using: &random)
      bytes.insert(contentsOf: Array(bytes[source..<min(bytes.count, source + length)]), at: from)
      return ("a copy of \(source) put in at \(from), \(length)", false)
    case 6:
      // A cut end can't be distinguished from an unwritten one.
      if to == bytes.count { return ("nothing", false) }
      bytes.removeSubrange(from..<to)
      return ("cut out \(from)..<\(to)", false)
    case 7:
      bytes[from] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      return ("a bit of \(from)", false)
    default:
      let rest = bytes[to...]
      if rest.isEmpty { return ("nothing", false) }
      bytes.removeSubrange(from...)
      bytes += rest + rest.prefix(length)
      return ("cut at \(from), and \(to) added", false)
    }
  }

  @Test func `a changed journal is refused, or holds everything but what a crash may have taken`() async throws {
    let folder = try await MutationTests.folder()
    let disk = DiskFileSystem()
    let path = "\(folder.path)/journal-2.jsonl"
    let good = try #require(try disk.read(path))
    let state = StateFolder(path: folder.path, fileSystem: disk, program: "errand 0.1")
    let whole = try state.read()
    #expect(good.count > 16 * 4096)
    var random = SeededGenerator(seed: 11)
    for round in 0..<600 {
      var bytes = good
      // More often in the last batches, where half a batch may be.
      let (name, reachesEnd) = MutationTests.change(
        &bytes, &random, from: round % 2 == 0 ? 0 : bytes.count - 3000)
      if bytes == good { continue }
      try Data(bytes).write(to: URL(filePath: path))
      do throws(StateError) {
        let opened = try state.read()
        // A crash leaves zeros from the beginning of a sector, or of a batch, to the end.
        let end = opened.tornTail?.end ?? bytes.count
        let zeros = bytes.lastIndex { $0 != 0 }.map { $0 + 1 } ?? 0
        let isCrash = reachesEnd && (zeros == end || zeros % 512 == 0)
        #expect(opened.position == whole.position || isCrash, "round \(round): \(name)")
      } catch {
        #expect([.damaged, .newer].contains(error.kind), "round \(round): \(name): \(error)")
      }
    }
  }

  @Test(arguments: ["history/2026-11", "slots/2026-11"])
  func `a changed log is reported, or shows what it held`(_ log: String) async throws {
    let folder = try await MutationTests.folder()
    let disk = DiskFileSystem()
    func content() async throws -> [String] {
      let store = try await MutationTests.open(folder.path)
      let runs = try await store.finishedRuns(HistoryQuery(limit: 1000)).map(\.id)
      let slots = try await store.slots(SlotQuery(limit: 1000)).map { "\($0)" }
      return runs + slots
    }
    let expected = try await content()
    var random = SeededGenerator(seed: 12)
    var files: [String: [UInt8]] = [:]
    for name in ["history/2026-11", "slots/2026-11"] {
      for suffix in ["jsonl", "index", "blocks"] {
        let path = "\(folder.path)/\(name).\(suffix)"
        if let bytes = try disk.read(path) { files[path] = bytes }
      }
    }
    for round in 0..<160 {
      for (path, bytes) in files { try Data(bytes).write(to: URL(filePath: path)) }
      let path = "\(folder.path)/\(log).\(["jsonl", "jsonl", "index", "blocks"][round % 4])"
      guard let good = files[path] else { continue }
      var bytes = good
      let (name, _) = MutationTests.change(&bytes, &random, from: round % 3 == 0 ? 0 : max(0, bytes.count - 3000))
      if bytes == good { continue }
      try Data(bytes).write(to: URL(filePath: path))
      let doctor = StateDoctor(folder.path, program: "errand 0.1", now: instant(100_000), isHeld: false)
      let before = try doctor.examine().findings
      var displayed: [String] = []
      do { displayed = try await content() } catch { #expect((error as? StateError)?.kind == .damaged, "\(name)") }
      #expect(Set(displayed).isSubset(of: expected), "round \(round): \(path): \(name)")
      if displayed == expected { continue }
      #expect(!before.isEmpty, "round \(round): \(path): \(name)")
      // Opening it in an agent does not hide the damage.
      #expect(try !doctor.examine().findings.isEmpty, "round \(round): \(path): \(name), after an agent")
    }
  }
}
