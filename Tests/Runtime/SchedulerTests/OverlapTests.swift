import Basics
import Calendars
import Recipes
import RunState
import Testing

@testable import Scheduler

@Suite struct OverlapTests {
  /// Slots at 10, 20, 30 and 40 seconds; the first run ends after the third, as the policy's second run, if any, soon.
  @Test(
    arguments: [
      (
        .skip,
        [
          "09:00:10 started r1", "09:00:20 skippedOverlap r1", "09:00:30 skippedOverlap r1", "09:00:40 started r2",
        ], ["start r1", "start r2"]
      ),
      (
        .bufferOne,
        [
          "09:00:10 started r1", "09:00:20 buffered", "09:00:30 dropped r1", "09:00:20 started r2 late 15s",
          "09:00:40 buffered",
        ], ["start r1", "start r2"]
      ),
      (
        .bufferAll,
        [
          "09:00:10 started r1", "09:00:20 buffered", "09:00:30 buffered", "09:00:20 started r2 late 15s",
          "09:00:40 buffered",
        ], ["start r1", "start r2"]
      ),
      (
        .cancelOther,
        [
          "09:00:10 started r1", "09:00:20 buffered", "09:00:20 superseded", "09:00:30 buffered",
          "09:00:30 started r2 late 5s", "09:00:40 buffered",
        ], ["start r1", "cancel r1", "start r2", "cancel r2"]
      ),
      (
        .terminateOther,
        ["09:00:10 started r1", "09:00:20 started r2", "09:00:30 started r3", "09:00:40 started r4"],
        ["start r1", "terminate r1", "start r2", "terminate r2", "start r3", "terminate r3", "start r4"]
      ),
      (
        .allowAll,
        ["09:00:10 started r1", "09:00:20 started r2", "09:00:30 started r3", "09:00:40 started r4"],
        ["start r1", "start r2", "start r3", "start r4"]
      ),
    ] as [(Trigger.Overlap, [String], [String])])
  func `each policy does as it says`(_ overlap: Trigger.Overlap, _ ledger: [String], _ effects: [String]) throws {
    var bench = try Bench([.every { $0.overlap = overlap }])
    for seconds in [10.0, 20, 30] { try bench.tick(Bench.at(seconds)) }
    try bench.end("r1", at: Bench.at(35))
    try bench.tick(Bench.at(40))
    #expect(bench.ledger == ledger)
    #expect(bench.effects == effects)
  }

  @Test func `says which run is in the way`() throws {
    var bench = try Bench([.every()])
    for seconds in [10.0, 20] { try bench.tick(Bench.at(seconds)) }
    #expect(bench.records.last?.reason == "the run r1 has not ended")
  }

  @Test func `drops starts beyond a thousand`() throws {
    var bench = try Bench([
      .every {
        $0.overlap = .bufferAll; $0.catchup = .all
      }
    ])
    for step in 1...4 { try bench.tick(Bench.at(Double(step) * 3000)) }
    #expect(bench.state.schedules["backup"]?.counts == ["started": 1, "dropped": 199])
    #expect(bench.records.last?.reason == "1000 starts wait already")
  }

  @Test func `starts what waits one after another, and not while it is paused`() throws {
    var bench = try Bench([.every { $0.overlap = .bufferAll }])
    for seconds in [10.0, 20, 30] { try bench.tick(Bench.at(seconds)) }
    try bench.ask { $0.pause("backup", note: nil, at: Bench.at(31)) }
    try bench.end("r1", at: Bench.at(32))
    #expect(bench.ledger.last == "09:00:30 buffered")
    try bench.ask { $0.resume("backup", at: Bench.at(33)) }
    try bench.end("r2", .cancelled, at: Bench.at(34))
    try bench.end("r3", at: Bench.at(35))
    #expect(bench.ledger.suffix(2) == ["09:00:20 started r2 late 13s", "09:00:30 started r3 late 4s"])
  }

  @Test func `an agent that comes up goes on with what waited and what was to end`() throws {
    var bench = try Bench([.every { $0.overlap = .cancelOther }])
    for seconds in [10.0, 20] { try bench.tick(Bench.at(seconds)) }
    try bench.restart(at: Bench.at(21))
    #expect(bench.scheduler.nextDue == .earliest)
    try bench.tick(Bench.at(21))
    #expect(bench.effects == ["start r1", "cancel r1", "cancel r1"])
    // The run ended, and the agent crashed before it could start the next.
    try bench.state.apply(.runEnded(RunEnded(run: "r1", at: Bench.at(22), status: .cancelled)))
    try bench.restart(at: Bench.at(23))
    try bench.tick(Bench.at(23))
    #expect(bench.ledger.last == "09:00:20 started r2 late 3s")
    #expect(bench.scheduler.nextDue == Bench.at(30))
  }

  @Test func `what cannot start is refused with the reason`() throws {
    var bench = try Bench([.every(refusal: "the secret TOKEN is missing")])
    try bench.tick(Bench.at(10))
    #expect(bench.ledger == ["09:00:10 refused"])
    #expect(bench.records.last?.reason == "the secret TOKEN is missing")
    try bench.set([.every()], at: Bench.at(15))
    try bench.tick(Bench.at(20))
    #expect(bench.ledger.last == "09:00:20 started r1")
  }

  @Test func `a run carries what the schedule says and why it began`() throws {
    var bench = try Bench([.every(id: "night")])
    try bench.tick(Bench.at(10))
    let run = try #require(bench.state.runs["r1"]?.origin)
    #expect(run.recipe == "backup")
    #expect(run.file == "backup.yaml")
    #expect(run.cause == RunCause(.slot, schedule: "backup/night", slot: Bench.at(10)))
  }

  @Test func `a run that a person tries again is alive too`() throws {
    var bench = try Bench([.every()])
    let again = RunCreated(
      run: "x", at: Bench.at(5), recipe: "backup", file: "backup.yaml", texts: .inline(.null), inputs: .null,
      program: "1", cause: RunCause(.retry, schedule: "backup", run: "w"))
    try bench.state.apply(.runCreated(again))
    try bench.ask { scheduler in
      scheduler.runCreated(again)
      return []
    }
    try bench.tick(Bench.at(10))
    #expect(bench.ledger == ["09:00:10 skippedOverlap x"])
  }
}
