import Basics
import RunTestKit
import Testing

@testable import RunState

/// The history as a log of its own, with several blocks a month.
@Suite struct MonthlyLogTests {
  private static let folder = "/state/history"
  private static let count = 700

  /// Run number n: 500 in November, the others in December; one in 200 is of a rare recipe, every tenth took two days,
  /// one in 90 is a retry.
  private static func run(_ number: Int) throws -> RunRecord {
    var random = SeededGenerator(seed: UInt64(number))
    let seconds = number * 2000
    let created = instant(seconds - (number % 10 == 3 ? 2 * 86_400 : 1))
    let id = UUID7(at: created, using: &random).description
    let recipe = number % 200 == 150 ? "rare \"one\"" : "r\(number % 7)"
    let again = "old \"\(number / 2)\""
    let cause =
      number % 90 == 5
      ? RunCause(.retry, run: again) : number % 90 == 6 ? RunCause(.manual, run: again) : RunCause(.manual)
    let inputs = Value.object(["class": .string(number % 60 == 34 ? "7a" : "7b"), "n": .int(number)])
    var end = RunEnded(run: id, at: instant(seconds), status: number % 90 == 4 ? .failed : .succeeded)
    if end.status == .failed { end.error = RunError(.network, "\"It\" broke at \(number)") }
    return try #require(
      try Example.fold([Example.created(id, recipe: recipe, inputs: inputs, cause: cause), .runEnded(end)]).ended.first)
  }

  private static let runs = (try? (0..<count).map(run)) ?? []

  private static func log(_ disk: FaultyFileSystem) -> History { History(folder: folder, fileSystem: disk) }

  /// A disk with all runs, added fifty at a time.
  private static let template = Result<FaultyFileSystem, any Error> {
    let disk = FaultyFileSystem()
    let log = MonthlyLogTests.log(disk)
    for start in stride(from: 0, to: count, by: 50) { try log.add(Array(runs[start..<start + 50])) }
    return disk
  }

  private static func filled() throws -> FaultyFileSystem { try template.get().restarted(losing: .nothing) }

  private static func query(_ change: (inout HistoryQuery) -> Void) -> HistoryQuery {
    var query = HistoryQuery(limit: 1000)
    change(&query)
    return query
  }

  private static let queries: [HistoryQuery] = [
    HistoryQuery(limit: 1000), HistoryQuery(limit: 1), HistoryQuery(limit: 135),
    query { $0.recipe = "rare \"one\"" }, query { $0.recipe = "r3" }, query { $0.recipe = "rare" },
    query { $0.statuses = [.failed] }, query { $0.statuses = [.failed, .cancelled] },
    query {
      $0.recipe = "r1"; $0.statuses = [.failed]
    },
    query {
      $0.recipe = "rare \"one\""; $0.statuses = [.failed]
    },
    query { $0.endedBefore = instant(260 * 2000) }, query { $0.endedBefore = instant(-1) },
    query { $0.endedFrom = instant(260 * 2000) }, query { $0.endedFrom = instant(600 * 2000) },
    query {
      $0.endedFrom = instant(400 * 2000); $0.endedBefore = instant(600 * 2000)
    },
    query { $0.idPrefix = "0" }, query { $0.idPrefix = "1" },
    query { $0.idPrefix = String(runs[300].id.prefix(6)) }, query { $0.idPrefix = String(runs[3].id.prefix(9)) },
    query { $0.idPrefix = String(runs[613].id.prefix(20)) }, query { $0.idPrefix = runs[0].id },
    query { $0.idPrefix = String(runs[0].id.dropLast() + "\"") },
    query { $0.retriesOf = ["old \"47\""] }, query { $0.retriesOf = ["old"] },
    query { $0.retriesOf = ["old \"47\"", "old \"2\"", "old"] },
    query {
      $0.recipe = "r5"; $0.retriesOf = ["old \"2\""]
    },
    query { $0.againOf = "old \"47\"" }, query { $0.againOf = "old" },
    query { $0.filter.recipePart = "RARE \"O" }, query { $0.filter.recipePart = "3" },
    query { $0.filter.causes = [.retry] }, query { $0.filter.causes = [.retry, .manual] },
    query { $0.filter.causes = [.slot] }, query { $0.filter.text = "broke at 9" },
    query {
      $0.filter.text = "BROKE"; $0.recipe = "r1"
    },
    query { $0.filter.inputs = ["class=7a"].compactMap { RunFilter.Input($0) } },
    query { $0.filter.inputs = ["class=7a", "n=94"].compactMap { RunFilter.Input($0) } },
    query { $0.filter.inputs = ["class=7"].compactMap { RunFilter.Input($0) } },
  ]

  @Test(arguments: queries.indices)
  func `a search finds what a scan of every run finds`(_ index: Int) throws {
    let disk = try MonthlyLogTests.filled()
    let query = MonthlyLogTests.queries[index]
    let expected = MonthlyLogTests.runs.reversed().map(RunSummary.init).filter(query.matches).prefix(query.limit)
    #expect(try MonthlyLogTests.log(disk).runs(query) == Array(expected))
  }

  @Test func `a run is found by its id, and an unknown id isn't`() throws {
    let log = MonthlyLogTests.log(try MonthlyLogTests.filled())
    // A sample of the runs, and the first and last of each group that was added together.
    for (number, run) in MonthlyLogTests.runs.enumerated() where number % 17 == 0 || [0, 49].contains(number % 50) {
      #expect(try log.entry(run.id) == run)
      #expect(try log.entry(String(run.id.dropLast())) == nil)
    }
  }

  @Test func `a search for one run reads a small part of the index`() throws {
    let disk = try MonthlyLogTests.filled()
    let log = MonthlyLogTests.log(disk)
    _ = try log.runs(HistoryQuery(limit: 1000))
    let before = disk.bytesRead
    #expect(try log.entry(MonthlyLogTests.runs[3].id) != nil)
    let size = ["11", "12"].compactMap { disk["/state/history/2026-\($0).index"]?.count }.reduce(0, +)
    #expect(disk.bytesRead - before < size * 3 / 4)
  }

  @Test func `a search for what ended lately reads no earlier month`() throws {
    let disk = try MonthlyLogTests.filled()
    let log = MonthlyLogTests.log(disk)
    _ = try log.runs(HistoryQuery(limit: 1000))
    let before = disk.bytesRead
    #expect(try log.runs(MonthlyLogTests.query { $0.endedFrom = instant(690 * 2000) }).count == 10)
    #expect(disk.bytesRead - before < (disk["/state/history/2026-12.index"]?.count ?? 0) / 2)
  }

  @Test func `a record that is added twice is there once`() throws {
    let disk = try MonthlyLogTests.filled()
    let files = disk.paths.map { disk[$0] }
    let log = MonthlyLogTests.log(disk)
    try log.add(Array(MonthlyLogTests.runs.suffix(50)))
    #expect(disk.paths.map { disk[$0] } == files)
  }

  @Test(arguments: ["2026-11.blocks", "2026-11.index", "2026-12.index", "2026-12.blocks"])
  func `damage to a rebuildable file changes no answer`(_ name: String) throws {
    let disk = try MonthlyLogTests.filled()
    let path = "/state/history/\(name)"
    let good = try #require(disk[path])
    let all = MonthlyLogTests.runs.reversed().map(RunSummary.init)
    var random = SeededGenerator(seed: 7)
    for round in 0..<12 {
      var bytes = good
      let place = Int.random(in: 0..<good.count, using: &random)
      switch round % 4 {
      case 0: bytes[place] ^= 1 << UInt8(round % 8)
      case 1: bytes.removeSubrange(place...)
      case 2: bytes.replaceSubrange(place..., with: repeatElement(0, count: good.count - place))
      default: bytes += good[place...]
      }
      disk[path] = bytes
      let log = MonthlyLogTests.log(disk)
      #expect(try log.runs(HistoryQuery(limit: 1000)) == all, "round \(round)")
      #expect(disk[path] == good, "round \(round)")
    }
    disk[path] = nil
    #expect(try MonthlyLogTests.log(disk).runs(HistoryQuery(limit: 1000)) == all)
    #expect(disk[path] == good)
  }

  @Test func `an older file in the place of a newer one is read for what it is`() throws {
    let disk = try MonthlyLogTests.filled()
    let path = "/state/history/2026-11.jsonl"
    var bytes = try #require(disk[path])
    let newline = try #require(bytes[..<(bytes.count / 2)].lastIndex(of: 0x0A))
    bytes.removeSubrange((newline + 1)...)
    disk[path] = bytes
    let lines = bytes.count { $0 == 0x0A }
    let found = try MonthlyLogTests.log(disk).runs(HistoryQuery(limit: 1000, endedBefore: instant(499 * 2000)))
    #expect(found.suffix(lines) == MonthlyLogTests.runs[..<lines].reversed().map(RunSummary.init)[...])
  }

  // MARK: - Pruning

  @Test func `a clock that is years ahead for a while removes nothing`() throws {
    let disk = try MonthlyLogTests.filled()
    let log = MonthlyLogTests.log(disk)
    let ahead = try #require(Timestamp("2031-03-01T00:00:00Z"))
    let year = TimeSpan.seconds(365 * 86_400)
    #expect(try log.prune(olderThan: year, at: ahead, keeping: nil) == [])
    // A run that ended at that clock's time.
    let seconds = ahead.seconds - instant(0).seconds
    let record = try #require(
      try Example.fold([Example.created("ahead", recipe: "r1"), Example.over("ahead", at: seconds, .succeeded)]).ended
        .first)
    try log.add([record])
    #expect(try log.prune(olderThan: year, at: ahead, keeping: nil) == [])
    #expect(try log.runs(HistoryQuery(limit: 5000)).count == MonthlyLogTests.runs.count + 1)
  }

  @Test func `months that are old enough are removed, and no others`() throws {
    let disk = try MonthlyLogTests.filled()
    let log = MonthlyLogTests.log(disk)
    let december = try #require(Timestamp("2026-12-01T00:00:00Z"))
    #expect(try log.prune(olderThan: .zero, at: instant(0), keeping: nil) == [])
    #expect(try log.prune(olderThan: .zero, at: december, keeping: nil) == ["2026-11"])
    #expect(disk.paths.filter { $0.contains("2026-11") } == [])
    let left = MonthlyLogTests.runs.filter { $0.endedAt ?? $0.now >= december }
    #expect(try log.runs(HistoryQuery(limit: 1000)).map(\.id) == left.reversed().map(\.id))
  }

  @Test func `of too many runs the oldest are removed in whole blocks`() throws {
    // All in one month, so that its files are rewritten.
    let disk = FaultyFileSystem()
    let log = MonthlyLogTests.log(disk)
    let runs = try (0..<2000).map { number -> RunRecord in
      let id = "r\(number)"
      return try #require(try Example.fold([Example.created(id), Example.over(id, at: number)]).ended.first)
    }
    try log.add(runs)
    #expect(try log.prune(olderThan: nil, at: instant(0), keeping: 1900) == [])
    #expect(try log.prune(olderThan: nil, at: instant(0), keeping: 500) == ["2026-11"])
    let left = Array(runs.suffix(2000 - 11 * 128))
    #expect(try log.runs(HistoryQuery(limit: 3000)).map(\.id) == left.reversed().map(\.id))
    #expect(try log.entry(left[0].id) == left[0])
    #expect(try log.entry(runs[0].id) == nil)
    try log.add([runs[0]])
    let again = MonthlyLogTests.log(disk)
    #expect(try again.runs(HistoryQuery(limit: 3000)).map(\.id) == ["r0"] + left.reversed().map(\.id))
    #expect(try again.health(of: try #require(try again.months().first)).isIndexSound)
  }

  private static func everyThird(_ number: Int) -> Bool { number % 3 == 1 }

  /// Drops every third run that failed, and erases the other thirds.
  private static func change(_ log: History) throws -> Int {
    let chosen = Set(runs.indices.filter(everyThird).map { runs[$0].id })
    var query = LogQuery<RunSummary>(limit: .max)
    query.matches = { chosen.contains($0.id) }
    return try log.replace(query) { $0.status == .failed ? nil : $0.erased(at: instant(9)) }
  }

  /// The runs after that, the latest first.
  private static func changed(_ runs: [RunRecord]) -> [RunRecord] {
    runs.enumerated().compactMap { number, run in
      guard everyThird(number) else { return run }
      return run.status == .failed ? nil : run.erased(at: instant(9))
    }.reversed()
  }

  @Test func `records are dropped and replaced, and all others stay as they are`() throws {
    let disk = try MonthlyLogTests.filled()
    let log = MonthlyLogTests.log(disk)
    let wanted = MonthlyLogTests.changed(MonthlyLogTests.runs)
    #expect(try MonthlyLogTests.change(log) == MonthlyLogTests.runs.indices.filter(MonthlyLogTests.everyThird).count)
    for log in [log, MonthlyLogTests.log(disk)] {
      #expect(try log.runs(HistoryQuery(limit: 1000)) == wanted.map { RunSummary($0) })
      for run in wanted { #expect(try log.entry(run.id) == run) }
      for month in try log.months() {
        let health = try log.health(of: month)
        #expect(health.isIndexSound && health.damaged.isEmpty && !health.isTorn)
      }
    }
    let more = try #require(
      try Example.fold([Example.created("more"), Example.over("more", at: 1_399_000, .succeeded)]).ended.first)
    try log.add([more])
    #expect(try log.runs(HistoryQuery(limit: 1)).map(\.id) == ["more"])
    #expect(!disk.paths.contains { $0.hasSuffix(".new") })
  }

  @Test func `an interrupted change leaves each month as it was or as it is to be`() throws {
    // Two blocks in November and one in December; more would be read and changed again for each operation.
    let runs = Array(MonthlyLogTests.runs[300..<560])
    let template = FaultyFileSystem()
    try MonthlyLogTests.log(template).add(runs)
    let all = Array(runs.reversed().map { RunSummary($0) })
    let done = MonthlyLogTests.changed(runs).map { RunSummary($0) }
    func found(_ disk: FaultyFileSystem) throws -> [RunSummary] {
      try MonthlyLogTests.log(disk).runs(HistoryQuery(limit: 1000))
    }
    func isMonth(_ name: String) -> (RunSummary) -> Bool { { "\($0.endedAt)".hasPrefix(name) } }
    let whole = template.restarted(losing: .nothing)
    let start = whole.operations
    _ = try MonthlyLogTests.change(MonthlyLogTests.log(whole))
    for operation in 1...(whole.operations - start) {
      let disk = template.restarted(losing: .nothing)
      disk.fail(at: operation, .crash(operation % 2 == 0 ? .before : .half))
      #expect(throws: StateError.self) { try MonthlyLogTests.change(MonthlyLogTests.log(disk)) }
      let again = disk.restarted(losing: .some(seed: UInt64(operation)))
      let left = try found(again)
      for month in ["2026-11", "2026-12"] {
        let (before, after) = (all.filter(isMonth(month)), done.filter(isMonth(month)))
        let now = left.filter(isMonth(month))
        #expect(now == before || now == after, "stopped at operation \(operation), \(month)")
      }
      _ = try MonthlyLogTests.change(MonthlyLogTests.log(again))
      #expect(try found(again) == done)
    }
  }

  @Test func `interrupted pruning leaves the old month or the new one`() throws {
    let runs = Array(MonthlyLogTests.runs[330..<620])
    let template = FaultyFileSystem()
    try MonthlyLogTests.log(template).add(runs)
    func filled() -> FaultyFileSystem { template.restarted(losing: .nothing) }
    func prune(_ disk: FaultyFileSystem) throws -> [String] {
      try MonthlyLogTests.log(disk).prune(olderThan: nil, at: instant(0), keeping: 20, leastBlocks: 1)
    }
    func found(_ disk: FaultyFileSystem) throws -> [String] {
      try MonthlyLogTests.log(disk).runs(HistoryQuery(limit: 1000)).map(\.id)
    }
    let whole = filled()
    let start = whole.operations
    #expect(try prune(whole) == ["2026-12", "2026-11"])
    // Either month is the old one or the new one, with the younger first.
    let all = Array(runs.reversed().map(\.id))
    let december = Array(runs.filter { "\($0.endedAt ?? $0.now)".hasPrefix("2026-12") }.reversed().map(\.id))
    let pruned = Array(december.dropLast(128))
    let between = pruned + all.dropFirst(december.count)
    #expect(try found(whole) == pruned)
    for operation in 1...(whole.operations - start) {
      // The end of one operation is the beginning of the next.
      for phase in [FaultyFileSystem.Phase.before, .half] {
        let disk = filled()
        disk.fail(at: operation, .crash(phase))
        #expect(throws: StateError.self) { try prune(disk) }
        for loss in [FaultyFileSystem.Loss.everything, .some(seed: UInt64(operation))] {
          let again = disk.restarted(losing: loss)
          #expect(
            [all, between, pruned].contains(try found(again)),
            "stopped at operation \(operation) (\(phase)), losing \(loss)")
          _ = try prune(again)
          #expect(try found(again) == pruned)
        }
      }
    }
  }
}

@Suite struct SlotLedgerTests {
  private static func slot(_ number: Int, _ schedule: String = "reports/weekly") -> SlotRecord {
    SlotRecord(
      schedule: schedule, slot: instant(number * 3600), until: number % 10 == 0 ? instant(number * 3600 + 7200) : nil,
      count: number % 10 == 0 ? 3 : 1, outcome: number % 2 == 0 ? .started : .skippedOverlap,
      at: instant(number * 3600 + 1), cause: RunCause(.slot), run: "run-\(number)", reason: "because")
  }

  @Test func `settled slots move to the ledger's files at snapshots, and are found there`() async throws {
    let disk = FaultyFileSystem()
    func open() async throws -> FileStateStore {
      try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    }
    let store = try await open()
    for schedule in ["reports/weekly", "other"] {
      try await store.append(
        .scheduleSet(ScheduleSet(at: instant(0), schedule: schedule, recipe: "r", file: "r.yaml", spec: "s")))
    }
    let slots = (0..<900).map { SlotLedgerTests.slot($0, $0 % 100 == 7 ? "other" : "reports/weekly") }
    for start in stride(from: 0, to: 900, by: 90) {
      try await store.append(slots[start..<start + 90].map { .slotDecided($0) })
      if start < 800 { try await store.compact() }
    }
    // Skipped slots are moved to the ledger when the state is opened, because the slots of the next batches would join
    // them.
    for (store, count) in [(store, 90), (try await open(), 0)] {
      #expect(store.state.slots.count == count)
      #expect(try await store.slots(SlotQuery(limit: 1000)) == slots.reversed())
      #expect(try await store.slots(SlotQuery(limit: 3)) == slots.suffix(3).reversed())
      #expect(
        try await store.slots(SlotQuery(limit: 100, schedule: "other"))
          == slots.filter { $0.schedule == "other" }.reversed())
      // A row of slots counts for all the time that it spans.
      let some = try await store.slots(
        SlotQuery(limit: 1000, schedule: "reports/weekly", from: instant(41 * 3600), before: instant(44 * 3600)))
      #expect(some.map(\.run) == ["run-43", "run-42", "run-41", "run-40"])
    }
    #expect(disk.paths.filter { $0.hasPrefix("/state/slots/") && $0.hasSuffix(".jsonl") }.count == 2)
  }
}
