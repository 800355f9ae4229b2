import ActionTestKit
import Basics
import Foundation
import ProcessTestKit
import Recipes
import RunState
import Scheduler
import Testing

@testable import Agent

/// Files that start runs, in a folder on disk.
@Suite(.timeLimit(.minutes(20))) struct FileTriggerTests {
  /// A recipe that watches a pattern, and a folder for its files.
  private struct Inbox {
    private let folder: TemporaryFolder
    private let rest: TemporaryFolder
    let recipes: String
    let root: URL

    init(_ path: String, _ more: String = "", inputs: String = "event.path + ' ' + string(event.bytes)") throws {
      folder = try ScheduleHostTests.folder([
        "hear": """
        inputs: { file: string }
        on:
          - file: { path: "\(path)", settle: 5s }
            inputs: { file: "${{ \(inputs) }}" }
        \(more)

        """ + ComputedInputsTests.done
      ])
      rest = try ScheduleHostTests.folder([:])
      recipes = folder.path
      root = URL(filePath: rest.path)
      try FileManager.default.createDirectory(
        at: root.appending(path: "in/deep"), withIntermediateDirectories: true)
    }

    func write(_ text: String, to path: String) throws {
      try Files.write(Array(text.utf8), to: root.appending(path: path).path)
    }

    func bench(_ store: MemoryStateStore = MemoryStateStore(), time: TestTime = TestTime()) async -> HostBench {
      await HostBench(store, time: time, folder: recipes, watched: .disk(root.path))
    }
  }

  /// The inputs of the runs, in the order of their paths.
  private func started(_ bench: HostBench) async throws -> [String] {
    var found: [String] = []
    for slot in try await bench.store.slots(SlotQuery()) where slot.outcome == .started {
      let run = try #require(slot.run)
      let open: RunRecord? = bench.store.run(run)
      let finished: RunRecord? = try await bench.store.finishedRun(run)
      let inputs = try #require(open ?? finished).origin.inputs
      found.append(inputs["file"]?.string ?? "")
    }
    return found.sorted()
  }

  @Test func `a file that comes starts one run once it is unchanged, over restarts`() async throws {
    let inbox = try Inbox("in/*.csv")
    try inbox.write("old", to: "in/old.csv")
    let (store, time) = (MemoryStateStore(), TestTime())
    var bench = await inbox.bench(store, time: time)
    await bench.serve()
    // A recipe at fault would watch nothing.
    #expect(await bench.schedules.faults.isEmpty)
    await bench.slots(until: "hear passes over 1")
    try inbox.write("h", to: "in/a.csv")
    await bench.schedules.lookForFiles()
    await bench.pass(.seconds(4))
    // Half of it was there.
    try inbox.write("half", to: "in/a.csv")
    await bench.schedules.lookForFiles()
    await bench.pass(.seconds(4))
    await bench.schedules.lookForFiles()
    #expect(try await started(bench) == [])
    await bench.pass(.seconds(1))
    await bench.slots(until: "hear 09:30:09 started")
    #expect(try await started(bench) == ["in/a.csv 4"])
    await bench.schedules.stop()
    await bench.host.stop()
    // A file that came while no agent served, and one that was seen before.
    try inbox.write("b", to: "in/b.csv")
    bench = await inbox.bench(store, time: time)
    await bench.serve()
    await bench.pass(.seconds(5))
    await bench.slots(until: "hear 09:30:14 started")
    #expect(try await started(bench) == ["in/a.csv 4", "in/b.csv 1"])
    #expect(store.state.schedules["hear"]?.files?.versions.keys.sorted() == ["in/a.csv", "in/b.csv", "in/old.csv"])
    try FileManager.default.removeItem(at: inbox.root.appending(path: "in/old.csv"))
    await bench.schedules.lookForFiles()
    #expect(store.state.schedules["hear"]?.files?.versions.keys.sorted() == ["in/a.csv", "in/b.csv"])
    // A folder that is away says nothing about its files.
    try FileManager.default.moveItem(at: inbox.root.appending(path: "in"), to: inbox.root.appending(path: "gone"))
    await bench.schedules.lookForFiles()
    #expect(store.state.schedules["hear"]?.files?.versions.count == 2)
    #expect(await bench.slots(until: "hear: there is no folder 'in'").last == "hear: there is no folder 'in'")
    try FileManager.default.moveItem(at: inbox.root.appending(path: "gone"), to: inbox.root.appending(path: "in"))
    await bench.schedules.lookForFiles()
    #expect(store.state.schedules["hear"]?.files?.versions.count == 2)
    #expect(try await started(bench).count == 2)
    await bench.schedules.stop()
    await bench.host.stop()
  }

  @Test func `files are gathered, over restarts, and start one run when the batch is due`() async throws {
    let inbox = try Inbox("in/*.csv", "    batch: { for: 1m }", inputs: "events.map(e, e.path).join(' ')")
    let (store, time) = (MemoryStateStore(), TestTime())
    var bench = await inbox.bench(store, time: time)
    await bench.serve()
    #expect(await bench.schedules.faults.isEmpty)
    for name in ["a", "b"] {
      try inbox.write(name, to: "in/\(name).csv")
      await bench.schedules.lookForFiles()
      await bench.pass(.seconds(5))
      while store.state.schedules["hear"]?.files?.versions["in/\(name).csv"] == nil { await Task.yield() }
    }
    #expect(store.state.schedules["hear"]?.batch?.counted == "2 files")
    await bench.schedules.stop()
    await bench.host.stop()
    bench = await inbox.bench(store, time: time)
    await bench.serve()
    #expect(await bench.schedules.nextAlarm == store.state.schedules["hear"]?.batch?.due)
    await bench.pass(.seconds(55))
    await bench.slots(until: "hear 09:30:05 started")
    #expect(try await started(bench) == ["in/a.csv in/b.csv"])
    await bench.schedules.stop()
    await bench.host.stop()
  }

  @Test func `a file whose path holds a secret is refused once, without it`() async throws {
    let inbox = try Inbox("in/*.csv")
    let store = MemoryStateStore()
    store.secrets.learn([("TOKEN", "s3cret-4711")])
    let bench = await inbox.bench(store)
    await bench.serve()
    for text in ["1", "22"] {
      try inbox.write(text, to: "in/s3cret-4711.csv")
      await bench.schedules.lookForFiles()
    }
    await bench.slots(until: "hear 09:30:00 refused")
    let rows = try await store.slots(SlotQuery())
    #expect(rows.map(\.cause.path) == ["in/•••.csv"])
    #expect(
      rows.first?.reason
        == "the path 'in/•••.csv' holds a known secret, and paths are kept as they are; rename the file")
    await bench.schedules.stop()
    await bench.host.stop()
  }

  @Test func `a file that no path can name is refused once, with the readable part of its name`() async throws {
    let inbox = try Inbox("in/*.csv")
    let store = MemoryStateStore()
    let bench = await inbox.bench(store)
    await bench.serve()
    for _ in 0..<2 {
      let folder = open(inbox.root.appending(path: "in").path, O_RDONLY | O_DIRECTORY)
      defer { close(folder) }
      let name: [CChar] = [0x4D, CChar(bitPattern: 0xFC)] + Array(".csv".utf8CString)
      close(openat(folder, name, O_WRONLY | O_CREAT, 0o600))
      await bench.schedules.lookForFiles()
    }
    await bench.slots(until: "hear 09:30:00 refused")
    let rows = try await store.slots(SlotQuery())
    #expect(rows.map(\.cause.path) == ["in/M\u{FFFD}.csv"])
    #expect(
      rows.first?.reason
        == "the name 'in/M\u{FFFD}.csv' isn't valid UTF-8, so that no path can name the file; rename it")
    await bench.schedules.stop()
    await bench.host.stop()
  }

  @Test func `a start by hand asks for what a file gives, and the alarm goes with the entry`() async throws {
    let inbox = try Inbox("in/*.csv")
    let bench = await inbox.bench()
    await bench.serve()
    for (given, says) in [
      ("{}", "the inputs of 'hear' are computed from a file, and a start out of turn has none; give them: -i file=…"),
      (#"{"fil":"x"}"#, "recipe 'hear' has no input 'fil'; did you mean 'file'?"),
    ] {
      let answer = try await bench.ask(#"{"ask":"trigger","id":"hear","texts":\#(given)}"#)
      #expect(answer.contains { $0.contains(says) }, "\(answer)")
    }
    try inbox.write("1", to: "in/a.csv")
    await bench.schedules.lookForFiles()
    #expect(await bench.schedules.nextAlarm != nil)
    try FileManager.default.removeItem(atPath: "\(inbox.recipes)/hear.yaml")
    for _ in 0..<2 { _ = await bench.schedules.look() }
    #expect(await bench.schedules.nextAlarm == nil)
    await bench.schedules.stop()
    await bench.host.stop()
  }

  @Test func `only regular files with a matching name count, and none through links`() throws {
    let inbox = try Inbox("in/*.csv")
    for path in ["in/a.csv", "in/b.txt", "in/.c.csv", "in/deep/d.csv", "e.csv", "in/.csv"] {
      try inbox.write("1", to: path)
    }
    try FileManager.default.createDirectory(
      at: inbox.root.appending(path: "in/f.csv"), withIntermediateDirectories: true)
    for (link, target) in [("in/g.csv", "a.csv"), ("out", "in"), ("in/link", "deep")] {
      try FileManager.default.createSymbolicLink(
        atPath: inbox.root.appending(path: link).path, withDestinationPath: target)
    }
    _ = mkfifo(inbox.root.appending(path: "in/h.csv").path, 0o644)
    for (path, found, folders) in [
      ("in/*.csv", "in/a.csv", "in"), ("*.csv", "e.csv", ""), ("out/*.csv", "", ""),
      ("in/*/*.csv", "in/deep/d.csv", "in in/deep in/f.csv"),
      ("in/link/*.csv", "", "in"), ("*/a.csv", "in/a.csv", " in"), ("in/a.csv", "in/a.csv", "in"),
      ("in/.*", "in/.c.csv in/.csv", "in"),
      ("none/*.csv", "", ""), ("in/g.csv", "", "in"), ("in/a*b*", "", "in"), ("in/*", "in/a.csv in/b.txt", "in"),
    ] {
      let listing = FileListing(try FilePattern.read(path).get(), in: inbox.root.path)
      #expect(listing.files.map(\.path).sorted().joined(separator: " ") == found, "\(path)")
      #expect(listing.folders.sorted().joined(separator: " ") == folders, "\(path)")
    }
  }

  @Test(arguments: [
    ("*", "a", true), ("*", ".a", false), (".*", ".a", true), (".*", "..", false), ("*", "", true),
    ("a*c", "abc", true),
    ("a*c", "abcd", false), ("*a*b*", "xxaxxbxx", true), ("*a*b*", "xxbxxa", false), ("a**b", "ab", true),
    ("*.csv", ".csv", false), ("a", "a", true), ("a", "ab", false), ("?", "a", false), ("*é", "né", true),
  ])
  func `a name matches a part`(_ part: String, _ name: String, _ matches: Bool) {
    #expect(FilePattern.part(part, matches: name) == matches)
  }
}
