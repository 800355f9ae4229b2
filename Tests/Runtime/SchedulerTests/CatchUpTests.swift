import Basics
import Calendars
import Recipes
import RunState
import Testing

@testable import Scheduler

@Suite struct CatchUpTests {
  struct Policy: Sendable {
    var ledger: [String]
    var change: @Sendable (inout Trigger) -> Void

    init(_ ledger: [String], _ change: @escaping @Sendable (inout Trigger) -> Void) {
      self.ledger = ledger
      self.change = change
    }
  }

  /// The ledgers of a schedule of every ten seconds, first ticked after 95 seconds, then after 100.
  static let policies = [
    Policy(["09:00:10…09:01:20 superseded ×8", "09:01:30 started r1 late 5s", "09:01:40 skippedOverlap r1"]) {
      $0.catchup = .last
    },
    Policy(["09:00:10…09:01:20 missedPolicy ×8", "09:01:30 started r1 late 5s", "09:01:40 skippedOverlap r1"]) {
      $0.catchup = .none
    },
    Policy([
      "09:00:10…09:01:00 missedPolicy ×6", "09:01:10 started r1 late 25s", "09:01:20 started r2 late 15s",
      "09:01:30 started r3 late 5s", "09:01:40 started r4",
    ]) { ($0.catchup, $0.overlap, $0.catchupLimit) = (.all, .allowAll, 3) },
    Policy([
      "09:00:10…09:01:00 missedWindow ×6", "09:01:10 started r1 late 25s", "09:01:20 buffered", "09:01:30 buffered",
      "09:01:40 buffered",
    ]) { ($0.catchup, $0.overlap, $0.catchupWindow) = (.all, .bufferAll, .seconds(30)) },
    Policy(["09:00:10…09:01:20 missedWindow ×8", "09:01:30 started r1 late 5s", "09:01:40 skippedOverlap r1"]) {
      $0.catchupWindow = .seconds(10)
    },
    Policy(["09:00:10 started r1 late 85s", "09:00:20 started r2 late 75s"]) {
      ($0.catchup, $0.overlap, $0.remainingRuns) = (.all, .allowAll, 2)
    },
  ]

  @Test(arguments: policies)
  func `makes up for what was missed`(_ policy: Policy) throws {
    var bench = try Bench([.every(change: policy.change)])
    try bench.tick(Bench.at(95))
    try bench.tick(Bench.at(100))
    #expect(bench.ledger == policy.ledger)
  }

  @Test func `with no catch-up, what is late by more than a minute does not start`() throws {
    var bench = try Bench([.every(.seconds(600)) { $0.catchup = .none }])
    try bench.tick(Bench.at(660))
    try bench.tick(Bench.at(1261))
    #expect(bench.ledger == ["09:10:00 started r1 late 60s", "09:20:00 missedPolicy"])
  }

  @Test(.timeLimit(.minutes(20)))
  func `a month of seconds is a few records`() throws {
    var bench = try Bench([
      .every(.seconds(1), id: "last"), .every(.seconds(1), id: "all") { ($0.catchup, $0.overlap) = (.all, .allowAll) },
    ])
    try bench.tick(Bench.at(31 * 86_400))
    let last = bench.records.filter { $0.schedule == "backup/last" }
    #expect(last.map(\.outcome) == [.superseded, .started])
    #expect(last.map(\.count) == [31 * 86_400 - 1, 1])
    let all = bench.records.filter { $0.schedule == "backup/all" }
    #expect(all.map(\.count).reduce(0, +) == 31 * 86_400)
    #expect(all.count == 1001)
  }

  @Test func `a new schedule and an edited one make up for nothing`() throws {
    var bench = try Bench([.every()])
    try bench.tick(Bench.at(10))
    try bench.set([.every(.seconds(7))], at: Bench.at(1000))
    try bench.tick(Bench.at(1000))
    #expect(bench.ledger == ["09:00:10 started r1", "09:00:20…09:16:40 missedPolicy ×99"])
    #expect(bench.state.schedules["backup"]?.processedUntil == Bench.at(1000))
    #expect(bench.scheduler.nextDue == Bench.at(1001))
    // The text of the runs changes, and the slots stay the same.
    try bench.set([.every(.seconds(7), texts: "steps: [x]")], at: Bench.at(1020))
    #expect(bench.state.schedules["backup"]?.texts == .inline(.string("steps: [x]")))
    try bench.tick(Bench.at(1020))
    #expect(bench.ledger.last == "09:16:55 skippedOverlap r1")
    try bench.restart(at: Bench.at(1030))
    #expect(bench.state.schedules["backup"]?.processedUntil == Bench.at(1015))
  }

  @Test func `what fell due while no agent ran is in the ledger, also if the recipe was edited or removed meanwhile`()
    throws
  {
    var bench = try Bench([.every(id: "a"), .every(id: "b") { $0.catchup = .all }, .every(id: "c")])
    try bench.tick(Bench.at(10))
    try bench.ask { $0.pause("backup/c", note: nil, at: Bench.at(11)) }
    try bench.restart(as: [.every(.seconds(7), id: "a"), .every(.seconds(7), id: "c")], at: Bench.at(45))
    #expect(
      bench.ledger.suffix(3) == [
        "09:00:20…09:00:40 missedPolicy ×3", "09:00:20…09:00:40 paused ×3", "09:00:20…09:00:40 dropped ×3",
      ])
    #expect(bench.records.suffix(3).map(\.schedule) == ["backup/a", "backup/c", "backup/b"])
    #expect(
      bench.records.suffix(3).first?.reason == "the schedule was edited since, and makes up for nothing from before")
    try bench.restart(at: Bench.at(46))
    #expect(bench.ledger.count == 6)
  }

  @Test func `a clock that is set back decides nothing twice`() throws {
    var bench = try Bench([.every { $0.overlap = .allowAll }])
    for seconds in [10.0, 20, 30, 5, 15, 25, 35, 40] { try bench.tick(Bench.at(seconds)) }
    #expect(bench.ledger.map { $0.prefix(8) } == ["09:00:10", "09:00:20", "09:00:30", "09:00:40"])
  }

  @Test func `only slots that start a run count against its limit`() throws {
    var bench = try Bench([.every { $0.remainingRuns = 2 }])
    for seconds in [10.0, 20] { try bench.tick(Bench.at(seconds)) }
    try bench.ask { $0.trigger("backup", overlap: .allowAll, at: Bench.at(25)) }
    #expect(bench.state.schedules["backup"]?.remainingRuns == 1)
    try bench.end("r1", at: Bench.at(26))
    try bench.end("r2", at: Bench.at(27))
    try bench.tick(Bench.at(30))
    #expect(bench.scheduler.nextDue == nil)
    #expect(bench.scheduler.upcoming(of: "backup", from: Bench.at(30), before: .latest, limit: 3).isEmpty)
    try bench.restart(at: Bench.at(100))
    try bench.tick(Bench.at(200))
    #expect(
      bench.ledger == [
        "09:00:10 started r1", "09:00:20 skippedOverlap r1", "09:00:25 started r2 (trigger)", "09:00:30 started r3",
      ])
    // Another limit in the recipe is another beginning.
    try bench.set([.every { $0.remainingRuns = 1 }], at: Bench.at(205))
    #expect(bench.scheduler.nextDue == Bench.at(210))
  }

  @Test func `jitter is stable, within its bound, and before the next slot`() throws {
    let plain = ScheduleEntry.every(.seconds(60)) { $0.jitter = .seconds(30) }
    let dense = ScheduleEntry.every(.seconds(10), id: "b") { $0.jitter = .seconds(3600) }
    var delays: [TimeSpan] = []
    for step in 1...200 {
      let slot = Bench.at(Double(step) * 60)
      let delay = try #require(plain.plan.due(slot, of: "backup").span(since: slot))
      #expect(delay >= .zero && delay <= .seconds(30))
      delays.append(delay)
      #expect(try #require(dense.plan.due(slot, of: "b").span(since: slot)) < .seconds(10))
    }
    #expect(delays.min() ?? .zero < .seconds(2))
    #expect(delays.max() ?? .zero > .seconds(28))
    #expect(Set(delays).count == 200)
    // Kept in no state, and so the same in every process.
    #expect(delays[0].description == "5.952273416s")
  }

  @Test func `a slot whose jitter is not over waits, and the one before it is made up for`() throws {
    let entry = ScheduleEntry.every(.seconds(60)) { $0.jitter = .seconds(59) }
    var bench = try Bench([entry])
    let slot = Bench.at(600)
    let due = entry.plan.due(slot, of: "backup")
    #expect(due > slot)
    try bench.tick(slot)
    #expect(bench.records.map(\.slot) == [Bench.at(60), Bench.at(540)])
    #expect(bench.scheduler.nextDue == due)
    try bench.tick(due)
    #expect(bench.records.last?.slot == slot)
    #expect(bench.records.last?.lateBy == nil)
  }

  @Test func `times that one jump leaves out are one slot, and the ledger says so`() throws {
    let zone = try TimeZoneDatabase.system.rules(named: "America/New_York")
    let cron = try #require(CronExpression.parse("10,40 2 * * *").expression)
    let start = try #require(Timestamp("2026-03-08T06:00:00Z"))
    var bench = try Bench([.of(.timed(Recurrence(.cron(cron), zone: zone)))], at: start)
    try bench.tick(try #require(Timestamp("2026-03-08T07:00:00Z")))
    #expect(bench.ledger == ["07:00:00 coalesced", "07:00:00 started r1"])
    #expect(bench.records[0].reason == "the clock jumps, so that 02:10, 02:40 are one instant")
  }

  @Test(.timeLimit(.minutes(20)))
  func `a fortnight of ten schedules over a clock change`() throws {
    let zones = ["Europe/Bucharest", "Australia/Lord_Howe", "America/New_York", "Asia/Kathmandu", "Pacific/Chatham"]
    var entries: [ScheduleEntry] = []
    for (index, name) in (zones + zones).enumerated() {
      let text = index < 5 ? "30 3 * * *" : "*/30 * * * *"
      let zone = try TimeZoneDatabase.system.rules(named: name)
      let cron = try #require(CronExpression.parse(text).expression)
      entries.append(.of(.timed(Recurrence(.cron(cron), zone: zone)), id: "s\(index)"))
    }
    let start = try #require(Timestamp("2026-10-25T00:00:00Z"))
    let end = try #require(start.advanced(by: .seconds(14 * 86_400)))
    var bench = try Bench(entries, at: start)
    while let next = bench.scheduler.nextDue, next <= end {
      try bench.tick(next)
      // Each run ends at once.
      for run in bench.state.runs.keys.sorted() { try bench.end(run, at: next) }
    }
    let counts = (0..<10).map { bench.state.schedules["backup/s\($0)"]?.counts ?? [:] }
    // A time of day comes once a day, and every half an hour of elapsed time.
    #expect(counts == Array(repeating: ["started": 14], count: 5) + Array(repeating: ["started": 14 * 48], count: 5))
  }
}
