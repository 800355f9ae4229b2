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
    // What goes is forgotten, and the same version starts a run when it comes back.
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
    // What was seen under the pattern before starts nothing again.
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
}
