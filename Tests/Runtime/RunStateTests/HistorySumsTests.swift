import Basics
import RunTestKit
import Testing

@testable import RunState

/// The sums of finished runs, month by month, and the groups of failures.
@Suite struct HistorySumsTests {
  private static let folder = "/state/history"

  /// Run number n: 330 in November, the others in December; every fifth failed, with one of three messages.
  private static func run(_ number: Int) throws -> RunRecord {
    let seconds = number * 3000
    var random = SeededGenerator(seed: UInt64(number))
    let id = UUID7(at: instant(seconds - 7), using: &random).description
    let cause =
      number % 11 == 3 ? RunCause(.retry, run: "r\(number)") : number % 2 == 0 ? RunCause(.slot, schedule: "s") : nil
    let message = ["no answer after \(number)s", "status \(500 + number % 4)", "too late"][number % 3]
    let failed = RunError([.network, .server, .timeout][number % 3], message, step: "put[\(number)]/write")
    return try #require(
      try Example.fold(
        (cause?.schedule.map {
          [.scheduleSet(ScheduleSet(at: instant(0), schedule: $0, recipe: "r", file: "r.yaml", spec: "x"))]
        } ?? []) + [
          Example.created(id, at: seconds - 7, recipe: "r\(number % 3)", cause: cause ?? RunCause(.manual)),
          .runEnded(
            RunEnded(
              run: id, at: instant(seconds), status: number % 5 == 4 ? .failed : .succeeded,
              error: number % 5 == 4 ? failed : nil)),
        ]
      ).ended.first)
  }

  private static let runs = (try? (0..<600).map(run)) ?? []

  /// - Parameter mostUnwritten: Few, so that each month has a file of sums.
  private static func log(_ disk: FaultyFileSystem, mostUnwritten: Int = 4000) -> History {
    History(folder: folder, fileSystem: disk, mostUnwritten: mostUnwritten)
  }

  private static func filled() throws -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    let log = log(disk)
    for start in stride(from: 0, to: runs.count, by: 50) {
      try log.add(Array(runs[start..<start + 50]))
      // Counted a little at a time, as pages do.
      _ = try answers(log)
    }
    return disk
  }

  /// The answers of a log, or of a scan of runs.
  private struct Answers: Equatable {
    var sums: [RunSum]
    var latest: [String: [RunResult]]
    var failures: [FailureGroup]

    init(_ parts: [RunSums]) {
      sums = RunSums.sums(RunSumQuery(firstDay: 0, isByDay: true), in: parts)
      latest = RunSums.latest(of: ["r0", "r1", "r2", "r3"], from: .earliest, in: parts)
      failures = RunSums.failures(from: .earliest, in: parts)
    }
  }

  private static func answers(_ log: History, besides recent: [RunRecord] = []) throws -> Answers {
    try log.withSums(from: .earliest, besides: { recent.map { RunSummary($0) } }) { Answers($0) }
  }

  private static func scanned(_ runs: some Sequence<RunRecord>) -> Answers {
    Answers([RunSums(runs.map { RunSummary($0) })])
  }

  @Test func `the sums of a history are those of all its runs`() throws {
    let disk = try HistorySumsTests.filled()
    let expected = HistorySumsTests.scanned(HistorySumsTests.runs)
    #expect(expected.failures.count == 3 && expected.failures.map(\.count).reduce(0, +) == 120)
    #expect(expected.sums.map(\.count).reduce(0, +) == 600 && expected.latest["r1"]?.count == 10)
    #expect(disk.paths.filter { $0.hasSuffix(".sums") }.count == 2)
    for mostUnwritten in [0, 4000, .max] {
      let log = HistorySumsTests.log(disk, mostUnwritten: mostUnwritten)
      #expect(try HistorySumsTests.answers(log) == expected)
      #expect(try HistorySumsTests.answers(log) == expected)
    }
  }

  @Test func `a start reads a file of sums, and of the index only what came since`() throws {
    let disk = try HistorySumsTests.filled()
    _ = try HistorySumsTests.answers(HistorySumsTests.log(disk, mostUnwritten: 0))
    // The blocks, and so the months, are checked before.
    let log = HistorySumsTests.log(disk)
    _ = try log.runs(HistoryQuery(limit: 1))
    let before = disk.bytesRead
    _ = try HistorySumsTests.answers(log)
    let index = disk.paths.filter { $0.hasSuffix(".index") }.compactMap { disk[$0]?.count }.reduce(0, +)
    let sums = disk.paths.filter { $0.hasSuffix(".sums") }.compactMap { disk[$0]?.count }.reduce(0, +)
    #expect(disk.bytesRead - before < sums + index / 2)
  }

  @Test func `only months from an instant on are counted`() throws {
    let log = HistorySumsTests.log(try HistorySumsTests.filled())
    let december = try #require(Timestamp("2026-12-01T00:00:00Z"))
    let found = try log.withSums(from: december, besides: { [] }) { Answers($0) }
    #expect(found == HistorySumsTests.scanned(HistorySumsTests.runs.filter { ($0.endedAt ?? $0.now) >= december }))
  }

  @Test func `runs that are in the history and not yet gone from the state count once`() throws {
    let disk = try HistorySumsTests.filled()
    let expected = HistorySumsTests.scanned(HistorySumsTests.runs)
    // After a crash between both: the log is new, and the state has them still.
    let log = HistorySumsTests.log(disk)
    let recent = Array(HistorySumsTests.runs.suffix(70))
    #expect(try HistorySumsTests.answers(log, besides: recent) == expected)
    let next = try HistorySumsTests.run(700)
    let all = HistorySumsTests.scanned(HistorySumsTests.runs + [next])
    #expect(try HistorySumsTests.answers(log, besides: recent + [next]) == all)
    try log.add([next])
    #expect(try HistorySumsTests.answers(log, besides: [next]) == all)
    #expect(try HistorySumsTests.answers(log) == all)
  }

  @Test func `damage to a file of sums, or to the index, changes no answer`() throws {
    let disk = try HistorySumsTests.filled()
    let expected = HistorySumsTests.scanned(HistorySumsTests.runs)
    var random = SeededGenerator(seed: 5)
    for path in disk.paths.filter({ $0.hasSuffix(".sums") || $0.hasSuffix("12.index") }) {
      let good = try #require(disk[path])
      for round in 0..<12 {
        var bytes = good
        let place = Int.random(in: 0..<good.count, using: &random)
        switch round % 4 {
        case 0: bytes[place] ^= 1 << UInt8(round % 8)
        case 1: bytes.removeSubrange(place...)
        case 2: bytes = []
        default: bytes += good[place...]
        }
        disk[path] = bytes
        #expect(try HistorySumsTests.answers(HistorySumsTests.log(disk)) == expected, "\(path), round \(round)")
        disk[path] = good
      }
    }
  }

  @Test func `sums of another file of the same month are made anew`() throws {
    let disk = try HistorySumsTests.filled()
    let sums = disk.paths.filter { $0.hasSuffix(".sums") }.map { ($0, disk[$0]) }
    let log = HistorySumsTests.log(disk)
    let gone = HistorySumsTests.runs[17].id
    var query = LogQuery<RunSummary>(limit: .max)
    query.matches = { $0.id == gone }
    #expect(try log.replace(query) { _ in nil } == 1)
    for (path, bytes) in sums { disk[path] = bytes }
    let left = HistorySumsTests.scanned(HistorySumsTests.runs.filter { $0.id != gone })
    #expect(try HistorySumsTests.answers(HistorySumsTests.log(disk)) == left)
  }

  @Test func `runs that are deleted, erased or forgotten no longer count`() throws {
    let disk = try HistorySumsTests.filled()
    let log = HistorySumsTests.log(disk)
    let chosen = Set(stride(from: 1, to: 600, by: 3).map { HistorySumsTests.runs[$0].id })
    var query = LogQuery<RunSummary>(limit: .max)
    query.matches = { chosen.contains($0.id) }
    _ = try log.replace(query) { $0.status == .failed ? $0.erased(at: instant(9)) : nil }
    let left = HistorySumsTests.runs.compactMap { run in
      chosen.contains(run.id) ? run.status == .failed ? run.erased(at: instant(9)) : nil : run
    }
    // An erased failure is in no group.
    #expect(HistorySumsTests.scanned(left).failures.map(\.count).reduce(0, +) == 80)
    for log in [log, HistorySumsTests.log(disk)] {
      #expect(try HistorySumsTests.answers(log) == HistorySumsTests.scanned(left))
    }
    let december = try #require(Timestamp("2026-12-01T00:00:00Z"))
    #expect(try log.prune(olderThan: .zero, at: december, keeping: nil) == ["2026-11"])
    #expect(disk.paths.filter { $0.contains("2026-11") } == [])
    let rest = HistorySumsTests.scanned(left.filter { ($0.endedAt ?? $0.now) >= december })
    #expect(try HistorySumsTests.answers(log) == rest)
    #expect(try HistorySumsTests.answers(HistorySumsTests.log(disk)) == rest)
  }

  @Test func `an interrupted change leaves sums of the records that are there`() throws {
    let runs = Array(HistorySumsTests.runs[280..<400])
    let template = FaultyFileSystem()
    let first = HistorySumsTests.log(template, mostUnwritten: 0)
    try first.add(runs)
    _ = try HistorySumsTests.answers(first)
    let chosen = Set(runs.map(\.id).enumerated().filter { $0.offset % 3 == 0 }.map(\.element))
    func change(_ log: History) throws {
      var query = LogQuery<RunSummary>(limit: .max)
      query.matches = { chosen.contains($0.id) }
      _ = try log.replace(query) { _ in nil }
    }
    let whole = template.restarted(losing: .nothing)
    let start = whole.operations
    try change(HistorySumsTests.log(whole))
    for operation in 1...(whole.operations - start) {
      let disk = template.restarted(losing: .nothing)
      disk.fail(at: operation, .crash(operation % 2 == 0 ? .before : .half))
      #expect(throws: StateError.self) { try change(HistorySumsTests.log(disk)) }
      let again = disk.restarted(losing: .some(seed: UInt64(operation)))
      let left = Set(try HistorySumsTests.log(again).runs(HistoryQuery(limit: 1000)).map(\.id))
      let expected = HistorySumsTests.scanned(runs.filter { left.contains($0.id) })
      #expect(try HistorySumsTests.answers(HistorySumsTests.log(again)) == expected, "operation \(operation)")
    }
  }

  // MARK: - Groups

  @Test(arguments: [
    ("run 12 failed after 3.5s", "run # failed after #.#"), ("no such task", "no such task"), ("", ""),
    ("at 2026-11-20T09:30:00Z: B12 is taken\nby ann", "at #-#-#:#:#: # is taken"),
    ("Zürich has 3 Zoos", "Zürich has # Zoos"), ("v1beta2", "#"),
    ("no file 'a-01a23183-5d4f-afef-bd15-aacdeffeebaf.txt'", "no file 'a-#.txt'"),
  ])
  func `a message without its numbers`(_ message: String, _ pattern: String) {
    #expect(FailureMark.pattern(message) == pattern)
  }

  @Test func `failures are alike by recipe, step, kind and message`() throws {
    func group(
      _ recipe: String = "r", _ kind: ErrorKind = .network, _ message: String = "no answer", step: StepPath? = "a",
      _ status: RunStatus = .failed
    ) throws -> String? {
      let error = RunError(kind, message, step: step)
      let run = try Example.fold([
        Example.created("x", recipe: recipe),
        .runEnded(RunEnded(run: "x", at: instant(1), status: status, error: error)),
      ]).ended.first
      return run.flatMap { FailureMark(of: $0)?.group }
    }
    let one = try #require(try group())
    #expect(try group() == one && group("r", .network, "no answer", step: "a", .timedOut) == one)
    #expect(one.utf8.count == 16)
    let others = try [
      group("q"), group("r", .server), group("r", .network, "no answers"), group(step: "b"), group(step: nil),
    ]
    #expect(Set(others + [one]).count == 6)
    for status in [RunStatus.succeeded, .cancelled, .rejected, .skipped] {
      #expect(try group("r", .network, "no answer", step: "a", status) == nil)
    }
    #expect(try group(step: "put[3]/write") == group(step: "put[44]/write"))
  }

  @Test func `endless new messages forget the groups that failed longest ago`() throws {
    var sums = RunSums()
    for number in 0..<1500 {
      // Words, because numbers are alike.
      let word = String(number).map { String(UnicodeScalar(UInt8(97 + ($0.wholeNumberValue ?? 0)))) }.joined()
      let run = try #require(
        try Example.fold([
          Example.created("run\(number)", recipe: "r"),
          .runEnded(
            RunEnded(run: "run\(number)", at: instant(number), status: .failed, error: RunError(.network, word))),
        ]).ended.first)
      sums.add(RunSummary(run))
    }
    let groups = RunSums.failures(from: .earliest, in: [sums])
    #expect(groups.count >= 900 && groups.count <= FailureGroup.most)
    #expect(groups.first?.latest.id == "run1499")
    // The sums of results have all of them.
    #expect(RunSums.sums(RunSumQuery(firstDay: 0), in: [sums]).map(\.count) == [1500])
  }

  @Test func `a dismissal is forgotten with the failures that it was about`() throws {
    var state = State()
    func dismiss(_ group: String, day: Int) throws {
      try state.apply(
        .failureDismissed(
          FailureDismissed(at: instant(day * 86_400), group: group, recipe: "r", until: instant(day * 86_400))))
    }
    try dismiss("a", day: 0)
    try dismiss("b", day: 59)
    #expect(state.dismissals.keys.sorted() == ["a", "b"])
    try dismiss("c", day: 60)
    #expect(state.dismissals.keys.sorted() == ["b", "c"])
  }
}
