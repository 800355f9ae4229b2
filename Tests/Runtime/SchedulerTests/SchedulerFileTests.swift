import Basics
import Recipes
import RunState
import Testing

@testable import Scheduler

/// Which files start runs.
@Suite struct SchedulerFileTests {
  private static func entry(
    _ path: String = "in/*", _ existing: Trigger.Existing = .ignore, change: (inout Trigger) -> Void = { _ in }
  ) throws -> ScheduleEntry {
    .of(.file(try FilePattern.read(path).get(), settle: .seconds(2), existing: existing), change: change)
  }

  private static func file(_ path: String, _ bytes: Int = 1, changed at: Double = 0) -> FoundFile {
    FoundFile(path, FileVersion(bytes: bytes, modifiedAt: Bench.at(at)))
  }

  /// Offers files that have all stayed unchanged.
  private func look(
    _ bench: inout Bench, at now: Double, _ files: [FoundFile], gone: [String] = [], for path: String = "in/*"
  ) throws {
    let pattern = try FilePattern.read(path).get()
    try bench.ask {
      $0.looked(FileLook(pattern, present: files, settled: files, gone: gone), for: "backup", at: Bench.at(now))
    }
  }

  @Test(arguments: [Trigger.Existing.ignore, .run], [false, true])
  func `each version starts one run, whenever the agent ends`(_ existing: Trigger.Existing, _ restarts: Bool) throws {
    let entry = try Self.entry("in/*", existing)
    var bench = try Bench([entry])
    func restart(_ at: Double) throws { if restarts { try bench.restart(at: Bench.at(at)) } }
    try look(&bench, at: 1, [Self.file("in/a")])
    try restart(1)
    // Seen already, whether it started a run or was passed over.
    try look(&bench, at: 2, [Self.file("in/a")])
    #expect(bench.ledger == (existing == .run ? ["09:00:01 started r1 (file)"] : []))
    if existing == .run { try bench.end("r1", at: Bench.at(3)) }
    let first = existing == .run ? 2 : 1
    try look(&bench, at: 4, [Self.file("in/a", 2), Self.file("in/b")])
    try restart(4)
    try look(&bench, at: 5, [Self.file("in/a", 2), Self.file("in/b")])
    try bench.end("r\(first)", at: Bench.at(6))
    try restart(6)
    #expect(
      bench.ledger.suffix(3).map { $0.prefix { $0 != "l" } } == [
        "09:00:04 started r\(first) (fi", "09:00:04 buffered (fi", "09:00:04 started r\(first + 1) (fi",
      ])
    // A file that disappears is forgotten, and the same version starts a run when it comes back.
    try look(&bench, at: 7, [Self.file("in/b")], gone: ["in/a"])
    #expect(bench.state.schedules["backup"]?.files?.versions.keys.sorted() == ["in/b"])
    try look(&bench, at: 8, [Self.file("in/a", 2), Self.file("in/b")])
    #expect(bench.ledger.last == "09:00:08 buffered (file)")
  }

  @Test func `a pause consumes what comes, and an edit of the pattern begins with a first look`() throws {
    var bench = try Bench([try Self.entry()])
    try look(&bench, at: 1, [])
    try bench.ask { $0.pause("backup", note: nil, at: Bench.at(2)) }
    try look(&bench, at: 3, [Self.file("in/a")])
    try bench.ask { $0.resume("backup", at: Bench.at(4)) }
    try look(&bench, at: 5, [Self.file("in/a")])
    #expect(bench.ledger == ["09:00:03 paused (file)"])
    try bench.set([try Self.entry("in/*.csv", .run)], at: Bench.at(6))
    // A look at the pattern before decides nothing.
    try look(&bench, at: 7, [Self.file("in/x")])
    #expect(bench.ledger.count == 1)
    // A file that was seen under the previous pattern doesn't start a run again.
    try look(&bench, at: 8, [Self.file("in/a"), Self.file("in/b.csv")], for: "in/*.csv")
    #expect(bench.ledger.last == "09:00:08 started r1 (file)")
    #expect(bench.records.last?.cause.path == "in/b.csv")
    try bench.set([], at: Bench.at(9))
    #expect(bench.state.schedules.isEmpty)
  }

  @Test func `files beyond the queue stay in their folder until there is a place`() throws {
    var bench = try Bench([try Self.entry()])
    try look(&bench, at: 0, [])
    let files = (0..<1500).map { Self.file("in/\($0)") }
    try look(&bench, at: 1, files)
    #expect(bench.state.schedules["backup"]?.buffered.count == Scheduler.mostWaitingFiles)
    #expect(bench.state.schedules["backup"]?.files?.versions.count == 1001)
    try bench.end("r1", at: Bench.at(2))
    try look(&bench, at: 3, files)
    #expect(bench.state.schedules["backup"]?.files?.versions.count == 1002)
    #expect(!bench.ledger.contains { $0.contains("dropped") })
  }

  @Test func `a file counts once it has stayed unchanged`() {
    var settling = SettlingFiles()
    func at(_ seconds: Double, _ files: FoundFile...) -> String {
      let (settled, next) = settling.look(at: files, settling: .seconds(2), now: Bench.at(seconds))
      return (settled.map(\.path) + [next.map { Bench.clock($0) } ?? "none"]).joined(separator: " ")
    }
    #expect(at(0, Self.file("b")) == "09:00:02")
    #expect(at(1, Self.file("b"), Self.file("a")) == "09:00:02")
    #expect(at(2, Self.file("b", 2), Self.file("a")) == "09:00:03")
    #expect(at(3, Self.file("b", 2), Self.file("a")) == "a 09:00:04")
    // Gone for a moment, it is another one; a clock that is set back begins again.
    #expect(at(3.5) == "none")
    #expect(at(4, Self.file("b", 2)) == "09:00:06")
    #expect(at(1, Self.file("b", 2)) == "09:00:03")
    #expect(at(3, Self.file("b", 2, changed: 0), Self.file("a")) == "b 09:00:05")
  }

  @Test(arguments: [false, true])
  func `files are gathered and start one run, whenever the agent ends`(_ restarts: Bool) throws {
    let entry = try ScheduleEntry.reading(
      """
      recipe: backup
      inputs: { paths: { type: list(string) } }
      on:
        - file: in/*
          batch: { for: 60s, max: 3 }
          inputs: { paths: "${{ events.map(e, e.path + ' ' + string(e.bytes)) }}" }
      steps:
        - let: { x: 1 }
      """)
    var bench = try Bench([entry])
    func restart(_ at: Double) throws { if restarts { try bench.restart(at: Bench.at(at)) } }
    func inputs(_ run: String) -> String {
      (bench.state.runs[run] ?? bench.state.ended.first { $0.id == run })?.origin.inputs["paths"]?.list?
        .compactMap(\.string).joined(separator: ", ") ?? ""
    }
    try look(&bench, at: 0, [Self.file("in/old")])
    try look(&bench, at: 1, [Self.file("in/old"), Self.file("in/a")])
    try restart(1)
    let open = try #require(bench.state.schedules["backup"]?.batch)
    #expect(open.due == Bench.at(61))
    #expect(bench.scheduler.nextDue == Bench.at(61))
    // Seen in the write that gathers it; what goes and comes back is in the batch already.
    try look(&bench, at: 2, [Self.file("in/old"), Self.file("in/a")])
    try look(&bench, at: 3, [Self.file("in/old")], gone: ["in/a"])
    try look(&bench, at: 4, [Self.file("in/old"), Self.file("in/a")])
    try restart(5)
    try look(&bench, at: 6, [Self.file("in/old"), Self.file("in/a", 2)])
    try bench.tick(Bench.at(61))
    try restart(62)
    #expect(bench.ledger == ["09:00:01 started r1 (file)"])
    #expect(inputs("r1") == "in/a 1, in/a 2")
    #expect(bench.state.schedules["backup"]?.batch == nil)
    // The last that fits starts a run at once, which waits.
    try look(&bench, at: 70, [Self.file("in/old"), Self.file("in/b"), Self.file("in/c"), Self.file("in/d")])
    try look(&bench, at: 71, [Self.file("in/old")], gone: ["in/a", "in/b"])
    try look(&bench, at: 72, [Self.file("in/old"), Self.file("in/b")])
    try restart(73)
    // A version that comes back opens the next batch, which the start of the one before doesn't end.
    try bench.end("r1", at: Bench.at(80))
    #expect(bench.ledger.suffix(2) == ["09:01:10 buffered (file)", "09:01:10 started r2 (file)"])
    #expect(inputs("r2") == "in/b 1, in/c 1, in/d 1")
    #expect(bench.state.schedules["backup"]?.batch?.at == Bench.at(72))
    try bench.end("r2", at: Bench.at(90))
    try bench.tick(Bench.at(132))
    #expect(inputs("r3") == "in/b 1")
    // A pause keeps the gathered files.
    try look(&bench, at: 140, [Self.file("in/e")])
    try bench.ask { $0.pause("backup", note: nil, at: Bench.at(141)) }
    try look(&bench, at: 142, [Self.file("in/e"), Self.file("in/f")])
    try restart(143)
    try bench.tick(Bench.at(300))
    #expect(bench.ledger.last == "09:02:22 paused (file)")
    try bench.set([], at: Bench.at(310))
    #expect(bench.records.last?.reason == "the schedule was removed; it had gathered 1 file: in/e")
    #expect(bench.records.last?.cause.kind == .file)
  }

  /// A minute of files that come, change and go, with runs of four seconds and at most one death of the program.
  ///
  /// - Returns: The versions that runs were started with, and the number of writes.
  private func minute(
    _ entry: ScheduleEntry, dying death: (write: Int, isAfter: Bool)? = nil
  ) throws -> (started: [String], writes: Int) {
    // Each version stays for longer than two times `settle`, so that it counts even if the wait begins again.
    let changes: [(at: Int, path: String, bytes: Int?)] = [
      (0, "in/there", 1), (2, "in/a", 1), (2, "in/b", 1), (4, "in/brief", 1), (5, "in/brief", nil),
      // Replaced while the run of the version before waits.
      (7, "in/b", 2), (14, "in/a", nil), (15, "in/c", 1), (21, "in/c", 2), (22, "in/a", 1), (30, "in/d", 1),
    ]
    var bench = try Bench([entry])
    bench.death = death
    var (files, settling, ends): ([String: FileVersion], SettlingFiles, [String: Int]) = ([:], SettlingFiles(), [:])
    for second in 0..<60 {
      for change in changes where change.at == second {
        files[change.path] = change.bytes.map { FileVersion(bytes: $0, modifiedAt: Bench.at(Double(second))) }
      }
      let now = Bench.at(Double(second))
      // Once more if the program dies, as it looks when it starts.
      for _ in 0..<2 {
        do {
          try bench.tick(now)
          for run in bench.state.openRuns.map(\.id) where ends[run, default: second + 4] <= second {
            try bench.end(run, at: now)
          }
          for run in bench.state.openRuns.map(\.id) where ends[run] == nil { ends[run] = second + 4 }
          let seen = bench.state.schedules["backup"]?.files?.versions ?? [:]
          let found = files.map { FoundFile($0.key, $0.value) }.sorted { $0.path < $1.path }
          let new = found.filter { seen[$0.path] != $0.version }
          let (settled, _) = settling.look(at: new, settling: .seconds(2), now: now)
          let gone = seen.keys.filter { files[$0] == nil }.sorted()
          let look = FileLook(try FilePattern.read("in/*").get(), present: new, settled: settled, gone: gone)
          try bench.ask { $0.looked(look, for: "backup", at: now) }
          break
        } catch is Bench.Death {
          settling = SettlingFiles()
          bench.death = nil
          try bench.restart(at: now)
        }
      }
    }
    #expect(bench.state.openRuns.isEmpty && bench.state.schedules["backup"]?.buffered.isEmpty == true)
    #expect(bench.state.schedules["backup"]?.batch == nil)
    let inputs = bench.state.ended.compactMap { $0.origin.inputs["files"]?.list }.flatMap { $0.compactMap(\.string) }
    return (inputs.sorted(), bench.writes)
  }

  @Test(arguments: ["", ", existing: run"], [false, true])
  func `each settled version starts one run, around whichever write the program dies`(
    _ existing: String, _ isBatched: Bool
  ) throws {
    let inputs =
      isBatched ? "events.map(e, e.path + ' ' + string(e.bytes))" : "[event.path + ' ' + string(event.bytes)]"
    let entry = try ScheduleEntry.reading(
      """
      recipe: backup
      inputs: { files: { type: list(string) } }
      on:
        - file: { path: in/*\(existing) }
          inputs: { files: "${{ \(inputs) }}" }
      \(isBatched ? "    batch: { for: 9s, max: 3 }" : "")
      steps:
        - let: { x: 1 }
      """)
    let undisturbed = try minute(entry)
    // A version that went and came back as another is another.
    let versions = ["in/a 1", "in/a 1", "in/b 1", "in/b 2", "in/c 1", "in/c 2", "in/d 1"]
    #expect(undisturbed.started == versions + (existing.isEmpty ? [] : ["in/there 1"]))
    for write in 1...undisturbed.writes {
      for isAfter in [false, true] {
        let started = try minute(entry, dying: (write, isAfter)).started
        #expect(started == undisturbed.started, "\(isAfter ? "after" : "before") write \(write)")
      }
    }
  }
}
