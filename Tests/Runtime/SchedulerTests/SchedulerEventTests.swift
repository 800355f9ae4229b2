import Basics
import Calendars
import Recipes
import RunState
import Testing

@testable import Scheduler

@Suite struct SchedulerEventTests {
  @Test func `records the slots of a pause as one row when it ends`() throws {
    var bench = try Bench([.every { $0.overlap = .allowAll }])
    try bench.tick(Bench.at(10))
    try bench.ask { $0.pause("backup", note: "holidays", at: Bench.at(25)) }
    #expect(bench.scheduler.nextDue == nil)
    try bench.tick(Bench.at(60))
    try bench.restart(at: Bench.at(70))
    try bench.tick(Bench.at(70))
    try bench.ask { $0.resume("backup", at: Bench.at(95)) }
    try bench.tick(Bench.at(100))
    #expect(
      bench.ledger == [
        "09:00:10 started r1", "09:00:20 started r2 late 5s", "09:00:30…09:01:30 paused ×7", "09:01:40 started r3",
      ])
    #expect(bench.records[2].reason == "a person paused it: holidays")
  }

  @Test(
    arguments: [
      (.failed, "the run r1 ended as failed"), (.timedOut, "the run r1 ended as timedOut"), (.cancelled, nil),
      (.rejected, nil), (.succeeded, nil),
    ] as [(RunStatus, String?)])
  func `a failure may pause it`(_ status: RunStatus, _ note: String?) throws {
    var bench = try Bench([.every { $0.pausesOnFailure = true }])
    try bench.tick(Bench.at(10))
    try bench.end("r1", status, at: Bench.at(12))
    #expect(bench.state.schedules["backup"]?.pause?.note == note)
    #expect(bench.scheduler.nextDue == (note == nil ? Bench.at(20) : nil))
    try bench.ask { $0.resume("backup", at: Bench.at(15)) }
    try bench.tick(Bench.at(20))
    #expect(bench.ledger.last == "09:00:20 started r2")
  }

  @Test func `the recipe's pause counts until a person says otherwise, and again once the recipe changes`() throws {
    let paused = ScheduleEntry.every { ($0.isPaused, $0.pauseNote) = (true, "not yet") }
    var bench = try Bench([paused])
    #expect(
      bench.state.schedules["backup"]?.pause == PauseRecord(at: Bench.noon, origin: .recipe, note: "not yet"))
    try bench.ask { $0.resume("backup", at: Bench.at(5)) }
    try bench.restart(at: Bench.at(6))
    try bench.set([paused], at: Bench.at(7))
    #expect(bench.state.schedules["backup"]?.pause == nil)
    try bench.set([.every()], at: Bench.at(8))
    try bench.set([paused], at: Bench.at(9))
    #expect(bench.state.schedules["backup"]?.pause?.origin == .recipe)
    try bench.set([.every()], at: Bench.at(10))
    #expect(bench.state.schedules["backup"]?.pause == nil)
  }

  @Test func `what fell into a pause is recorded when the schedule is edited in it`() throws {
    var bench = try Bench([.every()])
    try bench.ask { $0.pause("backup", note: nil, at: Bench.at(5)) }
    try bench.set([.every(.seconds(20))], at: Bench.at(35))
    #expect(bench.ledger == ["09:00:10…09:00:30 paused ×3"])
    try bench.ask { $0.resume("backup", at: Bench.at(65)) }
    #expect(bench.ledger.dropFirst() == ["09:00:40…09:01:00 paused ×2"])
  }

  @Test func `a removed schedule leaves nothing behind`() throws {
    var bench = try Bench([.every(id: "a") { $0.overlap = .bufferAll }, .every(id: "b")])
    for seconds in [10.0, 20] { try bench.tick(Bench.at(seconds)) }
    try bench.set([.every(id: "b")], at: Bench.at(21))
    #expect(bench.ledger.last == "09:00:20 dropped")
    #expect(bench.records.last?.reason == "the schedule was removed")
    try bench.end("r1", at: Bench.at(22))
    try bench.end("r2", at: Bench.at(22))
    // Its place is taken by another.
    try bench.set([.every(id: "b"), .every(.seconds(3), id: "c")], at: Bench.at(25))
    #expect(bench.scheduler.nextDue == Bench.at(27))
    // The agent was down when it was removed.
    try bench.restart(at: Bench.at(26))
    try bench.set([], at: Bench.at(26))
    #expect(bench.scheduler.nextDue == nil)
    #expect(bench.state.schedules.isEmpty)
  }

  @Test func `a person's start needs no slot and no waking schedule`() throws {
    var bench = try Bench([.every { $0.isPaused = true }])
    try bench.ask { $0.trigger("backup", at: Bench.at(3)) }
    try bench.ask { $0.trigger("backup", at: Bench.at(4)) }
    for _ in 0..<2 { try bench.ask { $0.trigger("backup", overlap: .bufferAll, at: Bench.at(5)) } }
    try bench.end("r1", at: Bench.at(6))
    try bench.end("r2", at: Bench.at(7))
    #expect(
      bench.ledger == [
        "09:00:03 started r1 (trigger)", "09:00:04 skippedOverlap r1 (trigger)", "09:00:05 buffered (trigger)",
        "09:00:05.000000001 buffered (trigger)", "09:00:05 started r2 (trigger)",
        "09:00:05.000000001 started r3 (trigger) late 1.999999999s",
      ])
    #expect(bench.state.schedules["backup"]?.processedUntil == Bench.noon)
    var scheduler = bench.scheduler
    #expect(scheduler.trigger("nobody", at: Bench.noon) == nil)
  }

  @Test func `makes up for slots that have no run, up to the mark`() throws {
    var bench = try Bench([.every()])
    try bench.tick(Bench.at(10))
    try bench.end("r1", at: Bench.at(11))
    try bench.tick(Bench.at(55))
    try bench.end("r2", at: Bench.at(56))
    let started = Set(bench.records.filter { $0.outcome == .started }.map(\.slot))
    let scheduler = bench.scheduler
    func list(_ from: Double, _ to: Double, limit: Int = 1000) throws -> [String] {
      let found = try #require(
        scheduler.slotsToBackfill("backup", from: Bench.at(from), to: Bench.at(to), started: started, limit: limit))
      return found.slots.map(Bench.clock) + (found.hasMore ? ["more"] : [])
    }
    #expect(try list(0, 1000) == ["09:00:00", "09:00:20", "09:00:30", "09:00:40"])
    #expect(try list(20, 40) == ["09:00:20", "09:00:30"])
    #expect(try list(1, 1000, limit: 2) == ["09:00:20", "09:00:30", "more"])
    try bench.ask { $0.backfill("backup", [Bench.at(20), Bench.at(30)], at: Bench.at(57)) }
    try bench.end("r3", at: Bench.at(58))
    #expect(
      bench.ledger.suffix(3) == [
        "09:00:20 started r3 (backfill)", "09:00:30 buffered (backfill)", "09:00:30 started r4 (backfill)",
      ])
    #expect(bench.state.schedules["backup"]?.processedUntil == Bench.at(50))
  }

  @Test func `shows what comes`() throws {
    let bench = try Bench([.every { $0.remainingRuns = 2 }])
    let next = bench.scheduler.upcoming(of: "backup", from: Bench.at(101), before: Bench.at(600), limit: 5)
    #expect(next.map { Bench.clock($0.slot) } == ["09:01:50", "09:02:00"])
    #expect(bench.scheduler.upcoming(of: "other", from: Bench.at(101), before: .latest, limit: 5).isEmpty)
  }

  @Test func `shows what comes of all schedules in order, up to an instant or a number`() throws {
    let other = ScheduleEntry.every { _ in }
    let bench = try Bench([
      .every { _ in }, ScheduleEntry(id: "other", plan: other.plan), ScheduleEntry(id: "paused", plan: other.plan),
    ])
    var paused = bench
    try paused.ask { $0.pause("paused", note: nil, at: Bench.at(0)) }
    func displayed(before: Timestamp, limit: Int) -> [String] {
      paused.scheduler.upcoming(from: Bench.at(15), before: before, limit: limit).map {
        "\(Bench.clock($0.slot)) \($0.schedule)"
      }
    }
    let all = ["09:00:20 backup", "09:00:20 other", "09:00:30 backup", "09:00:30 other"]
    #expect(displayed(before: Bench.at(40), limit: 100) == all)
    #expect(displayed(before: .latest, limit: 3) == Array(all.prefix(3)))
    let first = paused.scheduler.upcoming(from: Bench.at(15), before: .latest, limit: 100, isFirst: true)
    #expect(first.map { "\(Bench.clock($0.slot)) \($0.schedule)" } == Array(all.prefix(2)))
  }

  // MARK: Other recipes, and events

  @Test func `follows the ends of another recipe, each once`() throws {
    let report = ScheduleEntry.of(.afterRecipe(name: "backup", status: ["succeeded"]), recipe: "report")
    var bench = try Bench([.every { $0.overlap = .allowAll }, report])
    for seconds in [10.0, 20, 30] { try bench.tick(Bench.at(seconds)) }
    try bench.end("r1", .failed, at: Bench.at(31))
    try bench.end("r2", at: Bench.at(32))
    try bench.end("r3", at: Bench.at(32))
    #expect(
      bench.ledger.dropFirst(3) == [
        "09:00:31 missedPolicy (afterRecipe)", "09:00:32 started r4 (afterRecipe)", "09:00:32 buffered (afterRecipe)",
      ])
    #expect(bench.state.schedules["report"]?.endsToFollow == [])
    #expect(bench.state.runs["r4"]?.origin.cause == RunCause(.afterRecipe, schedule: "report", run: "r2"))
    #expect(bench.records[3].reason == "the run r1 ended as failed, not as succeeded")
    try bench.end("r4", at: Bench.at(33))
    #expect(bench.ledger.last == "09:00:32 started r5 (afterRecipe)")
  }

  @Test(arguments: [false, true]) func `an end waits until there is a place for its start`(_ restarts: Bool) throws {
    let report = ScheduleEntry.of(.afterRecipe(name: "backup", status: ["succeeded"]), recipe: "report")
    var bench = try Bench([.every { $0.overlap = .allowAll }, report])
    for number in 1...1100 {
      try bench.ask { $0.trigger("backup", at: Bench.at(1)) }
      try bench.end("r\(number == 1 ? 1 : number + 1)", at: Bench.at(1))
    }
    #expect(bench.state.schedules["report"]?.buffered.count == 1000)
    #expect(bench.state.schedules["report"]?.endsToFollow.count == 99)
    if restarts {
      try bench.restart(at: Bench.at(2))
      try bench.tick(Bench.at(2))
    }
    let open = try #require(bench.state.schedules["report"]?.openRuns.first)
    try bench.end(open, at: Bench.at(3))
    #expect(bench.state.schedules["report"]?.buffered.count == 1000)
    #expect(bench.state.schedules["report"]?.endsToFollow.count == 98)
    // An item that is removed with its schedule is named in the ledger, too.
    try bench.set([], at: Bench.at(4))
    #expect(bench.ledger.filter { $0.contains("dropped (afterRecipe)") }.count == 1098)
  }

  @Test func `follows an end that came just before a crash`() throws {
    let report = ScheduleEntry.of(.afterRecipe(name: "backup", status: ["succeeded"]), recipe: "report")
    var bench = try Bench([.every(), report])
    try bench.tick(Bench.at(10))
    try bench.state.apply(.runEnded(RunEnded(run: "r1", at: Bench.at(11), status: .succeeded)))
    for _ in 0..<2 {
      try bench.restart(at: Bench.at(12))
      try bench.tick(Bench.at(12))
    }
    #expect(bench.ledger == ["09:00:10 started r1", "09:00:11 started r2 (afterRecipe)"])
  }

  @Test func `an event starts all that listen, in one batch that consumes it`() throws {
    func entry(_ id: String, change: (inout Trigger) -> Void = { _ in }) -> ScheduleEntry {
      .of(.event(name: "ready", match: nil), id: id, change: change)
    }
    var bench = try Bench([entry("b"), entry("a"), entry("c") { $0.isPaused = true }, .every(id: "d")])
    let event = EventRecord(id: "e1", name: "ready", receivedAt: Bench.at(3))
    try bench.state.apply(.eventReceived(event))
    try bench.ask { $0.eventReceived(event, with: .success(.null), at: Bench.at(3)).map { [$0] } }
    #expect(
      bench.ledger == ["09:00:03 started r1 (event)", "09:00:03 started r2 (event)", "09:00:03 paused (event)"])
    #expect(bench.records.map(\.schedule) == ["backup/a", "backup/b", "backup/c"])
    #expect(bench.state.events["e1"]?.consumedBy == "backup/a")
    #expect(bench.effects == ["start r1", "start r2"])
    var scheduler = bench.scheduler
    #expect(
      scheduler.eventReceived(
        EventRecord(id: "e2", name: "other", receivedAt: Bench.at(4)), with: .success(.null), at: Bench.at(4))
        == nil)
    let sent = EventRecord(id: "e3", name: "ready", run: "r1", receivedAt: Bench.at(4))
    #expect(scheduler.eventReceived(sent, with: .success(.null), at: Bench.at(4)) == nil)
  }

  /// An event that was answered with 202 can't be refused afterwards; intake is limited before that.
  @Test(arguments: [1, 2]) func `what came from outside waits, however much waits already`(_ batch: Int) throws {
    let entry = ScheduleEntry.of(.event(name: "ready", match: nil)) {
      if batch > 1 { $0.batch = Trigger.Batch(span: .seconds(60), max: batch) }
    }
    var bench = try Bench([entry])
    for number in 0..<1200 * batch {
      let event = EventRecord(id: "e\(number)", name: "ready", receivedAt: Bench.at(1))
      try bench.state.apply(.eventReceived(event))
      try bench.ask { $0.eventReceived(event, with: .success(.null), at: Bench.at(1)).map { [$0] } }
    }
    #expect(bench.state.schedules["backup"]?.buffered.count == 1199)
    #expect(!bench.ledger.contains { $0.contains("dropped") })
    // A start out of turn can be refused, and is.
    try bench.ask { $0.trigger("backup", at: Bench.at(2)) }
    #expect(bench.ledger.last == "09:00:02 dropped r1 (trigger)")
  }

  @Test(arguments: [false, true])
  func `events are gathered until their time or the last that fits, whenever the agent ends`(_ restarts: Bool) throws {
    let entry = ScheduleEntry.of(.event(name: "ready", match: nil)) {
      $0.batch = Trigger.Batch(span: .seconds(60), max: 3)
    }
    var bench = try Bench([entry])
    func send(_ id: String, _ at: Double) throws {
      let event = EventRecord(id: id, name: "ready", receivedAt: Bench.at(at))
      try bench.state.apply(.eventReceived(event))
      try bench.ask { $0.eventReceived(event, with: .success(.null), at: Bench.at(at)).map { [$0] } }
      if restarts { try bench.restart(at: Bench.at(at)) }
    }
    try send("a", 1)
    #expect(bench.state.schedules["backup"]?.batch?.due == Bench.at(61))
    #expect(bench.state.events["a"]?.consumedBy == "backup")
    #expect(bench.scheduler.nextDue == Bench.at(61))
    try send("b", 30)
    try bench.tick(Bench.at(60))
    #expect(bench.ledger == [])
    try bench.tick(Bench.at(61))
    #expect(bench.state.schedules["backup"]?.batch == nil)
    // Events of the next batch wait for the run of the first.
    for (number, id) in ["c", "d", "e"].enumerated() { try send(id, 70 + Double(number)) }
    try bench.end("r1", at: Bench.at(80))
    // A pause keeps the gathered events, and an event during the pause starts nothing.
    try send("f", 90)
    try bench.ask { $0.pause("backup", note: nil, at: Bench.at(91)) }
    try send("g", 92)
    try bench.tick(Bench.at(200))
    try bench.end("r2", at: Bench.at(201))
    try bench.ask { $0.resume("backup", at: Bench.at(210)) }
    try bench.tick(Bench.at(210))
    try send("h", 220)
    try bench.set([], at: Bench.at(230))
    #expect(
      bench.ledger == [
        "09:00:01 started r1 (event)", "09:01:10 buffered (event)", "09:01:10 started r2 (event)",
        "09:01:32 paused (event)", "09:01:30 started r3 (event)", "09:03:40 dropped (event)",
      ])
  }

  private static func gathering(_ type: String, _ inputs: String = "events.map(e, e.data.n)") throws -> ScheduleEntry {
    try .reading(
      """
      recipe: backup
      inputs: { sizes: { type: list(int) } }
      on:
        - event: { name: ready, type: { n: \(type) } }
          batch: { for: 60s, max: 20 }
          inputs: { sizes: "${{ \(inputs) }}" }
      steps:
        - let: { x: 1 }
      """)
  }

  private func send(_ bench: inout Bench, _ id: String, _ n: Value, _ at: Double) throws {
    let event = EventRecord(id: id, name: "ready", data: .inline(.object(["n": n])), receivedAt: Bench.at(at))
    try bench.state.apply(.eventReceived(event))
    try bench.ask {
      $0.eventReceived(event, with: .success(.object(["n": n])), at: Bench.at(at)).map { [$0] }
    }
  }

  @Test func `an event that doesn't fit is refused alone when it comes`() throws {
    var bench = try Bench([try Self.gathering("int")])
    for (id, n) in [("a", Value.string("x")), ("b", .int(1)), ("c", .null), ("d", .int(2))] {
      try send(&bench, id, n, 1)
    }
    try bench.tick(Bench.at(61))
    #expect(bench.ledger == ["09:00:01 refused (event)", "09:00:01 refused (event)", "09:00:01 started r1 (event)"])
    #expect(bench.records.map(\.cause.event) == ["a", "c", "b"])
    #expect(bench.state.runs["r1"]?.origin.inputs == .object(["sizes": .list([.int(1), .int(2)])]))
  }

  @Test(arguments: [false, true])
  func `what no longer fits an edited entry is refused, and the rest starts a run`(_ restarts: Bool) throws {
    var bench = try Bench([try Self.gathering("dyn", "[1]")])
    for (id, n) in [("a", Value.string("x")), ("b", .int(1)), ("c", .string("y")), ("d", .int(2))] {
      try send(&bench, id, n, 1)
    }
    let edited = [try Self.gathering("int")]
    if restarts { try bench.restart(as: edited, at: Bench.at(30)) } else { try bench.set(edited, at: Bench.at(30)) }
    try bench.tick(Bench.at(61))
    #expect(bench.records.map { "\($0.outcome) \($0.cause.event ?? "")" } == ["refused a", "refused c", "started b"])
    #expect(
      bench.records.first?.reason
        == "what came with the event a cannot be read: it doesn't fit: 'event.data.n' must be an int, but found a string"
    )
    #expect(bench.state.runs["r1"]?.origin.inputs == .object(["sizes": .list([.int(1), .int(2)])]))
    #expect(bench.state.schedules["backup"]?.batch == nil)
  }

  @Test func `a batch that starts no run is named in the ledger`() throws {
    func bench(_ count: Int, _ entry: ScheduleEntry) throws -> Bench {
      var bench = try Bench([entry])
      for number in 1...count { try send(&bench, "e\(number)", .int(number), 1) }
      return bench
    }
    func told(_ bench: Bench) -> String {
      bench.records.map { "\($0.outcome) \($0.cause.event ?? ""): \($0.reason ?? "")" }.joined(separator: "\n")
    }
    var failing = try bench(12, try Self.gathering("int", "[1 / (events.size() - 12)]"))
    try failing.tick(Bench.at(61))
    #expect(
      told(failing)
        == "refused e1: the input 'sizes' can't be computed: 1 cannot be divided by zero; it had gathered 12 events: e1, e2, e3, e4, e5, e6, e7, e8, e9, e10 and 2 more"
    )
    #expect(failing.state.schedules["backup"]?.batch == nil)

    // Renamed.
    var renamed = try bench(2, try Self.gathering("int"))
    var entry = try Self.gathering("int")
    entry.id = "backup/new"
    try renamed.set([entry], at: Bench.at(30))
    #expect(told(renamed) == "dropped e1: the schedule was removed; it had gathered 2 events: e1, e2")

    // Edited to a trigger without events: the batch doesn't start at the new due times.
    for restarts in [false, true] {
      var edited = try bench(2, try Self.gathering("int"))
      let timed = [ScheduleEntry.every(.seconds(3600))]
      if restarts { try edited.restart(as: timed, at: Bench.at(30)) } else { try edited.set(timed, at: Bench.at(30)) }
      #expect(edited.scheduler.nextDue == Bench.at(61))
      try edited.tick(Bench.at(61))
      #expect(
        told(edited)
          == "dropped e1: the schedule was edited since, and no longer takes them; it had gathered 2 events: e1, e2")
    }

    // Without 'batch' each starts a run of its own.
    var single = try bench(2, try Self.gathering("int"))
    try single.restart(as: [.of(.event(name: "ready", match: nil))], at: Bench.at(30))
    try single.tick(Bench.at(61))
    #expect(single.ledger == ["09:00:01 started r1 (event) late 60s", "09:00:01 buffered (event)"])
  }
}
