import Basics
import Calendars
import RunState
import Testing

@testable import Agent

/// Friday 2026-11-20, 17:30 in Sydney, and other instants by their distance from it in seconds.
private func at(_ seconds: Int) -> Timestamp { Timestamp(seconds: 1_795_156_200 + seconds) ?? .earliest }
private let day = 86_400

/// A schedule for weekdays at 17:30, asked about ten minutes after Friday's slot unless said otherwise.
struct SlotStory: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var ledger: [SlotRecord] = []
  var change: @Sendable (inout ScheduleFacts) -> Void = { _ in }
  var isServed = true
  var expected: String

  func explanation() throws -> Explanation {
    let schedule = ScheduleRecord(
      id: "weekly", recipe: "weekly", file: "recipes/weekly.yaml", spec: "…", createdAt: at(-30 * day),
      processedUntil: at(0))
    var facts = ScheduleFacts(schedule, words: "every weekday at 17:30", at: at(600), isNamed: false)
    facts.previous = at(0)
    facts.following = at(3 * day)
    facts.upcoming = at(3 * day)
    facts.ledger = ledger
    facts.runs = [
      RunReference(id: "r1", recipe: "weekly", status: .succeeded, createdAt: at(0)),
      RunReference(id: "r0", recipe: "weekly", status: .waiting, createdAt: at(-day)),
    ]
    change(&facts)
    let zone = try TimeZoneDatabase.system.rules(named: "Australia/Sydney")
    return Explanation(of: facts, clock: WallClock(zone, now: at(600)), isServed: isServed)
  }

  static func slot(
    _ outcome: SlotOutcome, at settled: Int = 0, cause: RunCause.Kind = .slot, run: String? = nil,
    reason: String? = nil,
    lateBy: Int? = nil, from first: Int = 0, until: Int? = nil, count: Int = 1
  ) -> SlotRecord {
    SlotRecord(
      schedule: "weekly", slot: at(first), until: until.map { at($0) }, count: count, outcome: outcome, at: at(settled),
      cause: RunCause(cause, schedule: "weekly", slot: at(first)), run: run, reason: reason,
      lateBy: lateBy.map { .seconds($0) })
  }

  static let next = "  It is due next on Mon 2026-11-23 17:30 AEDT (in 2 days 23 h)."
}

extension SlotStory {
  static let all: [SlotStory] = [
    SlotStory(
      testDescription: "it ran", ledger: [slot(.started, run: "r1")],
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
        \(next)
        """),
    SlotStory(
      testDescription: "it ran late", ledger: [slot(.started, at: 245, run: "r1", reason: "catch-up", lateBy: 245)],
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT, 4 min 5 s late: run r1 (succeeded). Catch-up.
            errand why r1
        \(next)
        """),
    SlotStory(
      testDescription: "overlap", ledger: [slot(.skippedOverlap, run: "r0", reason: "the run r0 has not ended")],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because the run before it was not over: run r0 (waiting).
            errand why r0
        \(next)
        """),
    SlotStory(
      testDescription: "a run that the history no longer holds", ledger: [slot(.skippedOverlap, run: "r9")],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because the run before it was not over: run r9.
            errand why r9
        \(next)
        """),
    SlotStory(
      testDescription: "waiting behind another run",
      change: {
        $0.schedule.buffered = [BufferedSlot(slot: at(0), at: at(0), cause: RunCause(.slot, schedule: "weekly"))]
        $0.schedule.openRuns = ["r0"]
      },
      expected: """
        weekly was due on Fri 2026-11-20 17:30 AEDT and its run has waited since Fri 2026-11-20 17:30 AEDT for another one to end: run r0 (waiting).
        \(next)
        """),
    SlotStory(
      testDescription: "a batch that waits behind an uncertain run",
      change: {
        $0.words = "on the event 'delivered', gathered for 10m"
        $0.previous = nil
        $0.upcoming = nil
        $0.isFromOutside = true
        $0.schedule.buffered = [BufferedSlot(slot: at(60), at: at(60), cause: RunCause(.event, schedule: "weekly"))]
        $0.schedule.openRuns = ["r2"]
        $0.runs = [RunReference(id: "r2", recipe: "weekly", status: .uncertain, createdAt: at(0))]
      },
      expected: """
        weekly has not run yet (on the event 'delivered', gathered for 10m).
          A run of it has waited since Fri 2026-11-20 17:31 AEDT for another one to end: run r2 (uncertain).
              errand why r2
          It runs on the event 'delivered', gathered for 10m.
        """),
    SlotStory(
      testDescription: "missed while the agent was away",
      ledger: [slot(.missedWindow, at: 500, reason: "it was due longer ago than the catch-up window")],
      change: { $0.lastSign = at(-day) },
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because no agent was running; nothing was decided from Thu 2026-11-19 17:30 AEDT to Fri 2026-11-20 17:38:20 AEDT. It was due longer ago than the catch-up window.
        \(next)
        """),
    SlotStory(
      testDescription: "missed, and no catch-up",
      ledger: [slot(.missedPolicy, at: 500, reason: "it was missed, and 'catchup' is 'none'")],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because no agent was running; it came back on Fri 2026-11-20 17:38:20 AEDT. It was missed, and 'catchup' is 'none'.
        \(next)
        """),
    SlotStory(
      testDescription: "one of a long row",
      ledger: [
        slot(
          .superseded, at: 500, reason: "a later slot was due as well", from: -20 * day, until: 0, count: 15)
      ],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT: a later slot was due as well. It is one of 15 slots from Sat 2026-10-31 17:30 AEDT to Fri 2026-11-20 17:30 AEDT.
        \(next)
        """),
    SlotStory(
      testDescription: "decided while the clock was ahead, and again after a reset",
      ledger: [
        slot(.started, run: "r1"), slot(.reset, at: -day, cause: .trigger, from: -day, until: 40 * day),
        slot(.superseded, at: 40 * day, reason: "a later slot was due as well", until: 39 * day, count: 28),
      ],
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
        \(next)
        """),
    SlotStory(
      testDescription: "started while the clock was ahead, and left out after a reset",
      ledger: [
        slot(.dropped, at: 1, reason: "it was started already, while the clock was ahead"),
        slot(.reset, at: -day, cause: .trigger, from: -day, until: 40 * day), slot(.started, run: "r1"),
      ],
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
        \(next)
        """),
    SlotStory(
      testDescription: "decided while the clock was ahead, and not yet again",
      ledger: [
        slot(
          .reset, at: -day, cause: .trigger, reason: "the clock was once ahead", from: -day, until: 40 * day),
        slot(.superseded, at: 40 * day, reason: "a later slot was due as well", until: 39 * day, count: 28),
      ],
      expected: """
        The slots of weekly from Fri 2026-11-20 17:30 AEDT on were decided again from Thu 2026-11-19 17:30 AEDT. The clock was once ahead.
        \(next)
        """),
    SlotStory(
      testDescription: "missed, then made up for",
      ledger: [
        slot(.started, at: 500, cause: .backfill, run: "r1"), slot(.missedPolicy, at: 400),
      ],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because no agent was running; it came back on Fri 2026-11-20 17:36:40 AEDT.
          weekly ran for Fri 2026-11-20 17:30 AEDT by a backfill on Fri 2026-11-20 17:38:20 AEDT: run r1 (succeeded).
              errand why r1
        \(next)
        """),
    SlotStory(
      testDescription: "paused by a person", ledger: [slot(.paused, reason: "a person paused it: Holidays")],
      change: { $0.schedule.pause = PauseRecord(at: at(-day), origin: .person, note: "Holidays") },
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because the schedule was paused. A person paused it: Holidays.
          weekly has been paused since Thu 2026-11-19 17:30 AEDT, because a person paused it: Holidays.
              errand schedule resume weekly
          Its next slot is Mon 2026-11-23 17:30 AEDT (in 2 days 23 h).
        """),
    SlotStory(
      testDescription: "paused by a failure", ledger: [slot(.paused)],
      change: { $0.schedule.pause = PauseRecord(at: at(-day), origin: .failure, note: "run r8 failed") },
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because the schedule was paused.
          weekly has been paused since Thu 2026-11-19 17:30 AEDT, because a run of it failed and it has 'pauseOnFailure': run r8 failed.
              errand schedule resume weekly
          Its next slot is Mon 2026-11-23 17:30 AEDT (in 2 days 23 h).
        """),
    SlotStory(
      testDescription: "paused at this moment",
      change: {
        $0.schedule.processedUntil = at(-3600)
        $0.schedule.pause = PauseRecord(at: at(-3600), origin: .person)
      },
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because it is paused.
          weekly has been paused since Fri 2026-11-20 16:30 AEDT, because a person paused it.
              errand schedule resume weekly
          Its next slot is Mon 2026-11-23 17:30 AEDT (in 2 days 23 h).
        """),
    SlotStory(
      testDescription: "used up before it was due",
      change: {
        $0.schedule.processedUntil = at(-3600)
        $0.schedule.remainingRuns = 0
      },
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT, because its 'remainingRuns' are used up.
          It won't run again: 'remainingRuns' is used up.
        """),
    SlotStory(
      testDescription: "coalesced by a clock change",
      ledger: [
        slot(.started, run: "r1"), slot(.coalesced, reason: "the clock jumps, so that 02:10, 02:40 are one instant"),
      ],
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
          weekly was due on Fri 2026-11-20 17:30 AEDT for several times of day. The clock jumps, so that 02:10, 02:40 are one instant.
        \(next)
        """),
    SlotStory(
      testDescription: "dropped", ledger: [slot(.dropped, run: "r0", reason: "1000 starts wait already")],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT: 1000 starts wait already.
            errand why r0
        \(next)
        """),
    SlotStory(
      testDescription: "refused", ledger: [slot(.refused, reason: "missing secret MARKBOOK_PASSWORD")],
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT: missing secret MARKBOOK_PASSWORD.
        \(next)
        """),
    SlotStory(
      testDescription: "no agent has decided", change: { $0.schedule.processedUntil = at(-day) }, isServed: false,
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT: no agent has looked at it since Thu 2026-11-19 17:30 AEDT.
            errand serve
        \(next)
          No agent is running to start it:
              errand serve
        """),
    SlotStory(
      testDescription: "before the agent knew it", change: { $0.schedule.createdAt = at(300) },
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT: the agent has known the schedule only since Fri 2026-11-20 17:35 AEDT.
        \(next)
        """),
    SlotStory(
      testDescription: "before any agent read it", change: { $0.isRead = false }, isServed: false,
      expected: """
        weekly did not run on Fri 2026-11-20 17:30 AEDT: no agent has read 'recipes/weekly.yaml' yet.
        \(next)
          No agent is running to start it:
              errand serve
        """),
    SlotStory(
      testDescription: "a record that was pruned",
      expected: """
        weekly was due on Fri 2026-11-20 17:30 AEDT, and the ledger no longer holds its outcome.
        \(next)
        """),
    SlotStory(
      testDescription: "asked about an instant that isn't a slot", ledger: [slot(.started, run: "r1")],
      change: { $0.isNamed = true },
      expected: """
        weekly had no slot on Fri 2026-11-20 17:40 AEDT: it is due every weekday at 17:30; the nearest are Fri 2026-11-20 17:30 AEDT and Mon 2026-11-23 17:30 AEDT.
          weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
              errand why r1
        \(next)
        """),
    SlotStory(
      testDescription: "asked about a day that is left out", ledger: [slot(.started, run: "r1")],
      change: {
        $0.isNamed = true
        $0.at = at(3 * day)
        $0.following = at(4 * day)
        $0.upcoming = at(4 * day)
        $0.leftOut = .except(at(3 * day))
      },
      expected: """
        weekly leaves Mon 2026-11-23 17:30 AEDT out, because that day is one of its 'except'; the nearest are Fri 2026-11-20 17:30 AEDT and Tue 2026-11-24 17:30 AEDT.
          weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
              errand why r1
          It is due next on Tue 2026-11-24 17:30 AEDT (in 3 days 23 h).
        """),
    SlotStory(
      testDescription: "asked about a time before its start",
      change: {
        $0.isNamed = true
        $0.at = at(-40 * day)
        $0.previous = nil
        $0.following = at(-10 * day)
        $0.leftOut = .beforeStart(at(-40 * day), start: at(-20 * day))
      },
      expected: """
        weekly had no slot on Sun 2026-10-11 17:30 AEDT: it starts on Sat 2026-10-31 17:30 AEDT; the nearest is Tue 2026-11-10 17:30 AEDT.
        \(next)
        """),
    SlotStory(
      testDescription: "over for good, and broken", ledger: [slot(.started, run: "r1")],
      change: {
        $0.upcoming = nil
        $0.fault = "no action is named 'markbok.getMarkbook'"
      },
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
          The recipe's file is broken now, so its last valid version is used: no action is named 'markbok.getMarkbook'.
              errand check recipes/weekly.yaml
          It is not due again.
        """),
    SlotStory(
      testDescription: "used up", ledger: [slot(.started, run: "r1")], change: { $0.schedule.remainingRuns = 0 },
      expected: """
        weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
          It won't run again: 'remainingRuns' is used up.
        """),
    SlotStory(
      testDescription: "one run left", ledger: [slot(.started, cause: .trigger, run: "r1")],
      change: { $0.schedule.remainingRuns = 1 },
      expected: """
        weekly was started out of turn on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).
            errand why r1
        \(next) It may run once more.
        """),
    SlotStory(
      testDescription: "never due so far",
      change: {
        $0.previous = nil
        $0.schedule.createdAt = at(500)
      },
      expected: """
        weekly has not been due yet (every weekday at 17:30).
        \(next)
        """),
  ]
}

@Suite struct SlotExplanationTests {
  @Test(arguments: SlotStory.all) func `a schedule is explained`(_ story: SlotStory) throws {
    #expect(try story.explanation().text == story.expected)
  }

  @Test func `an explanation is one document for programs`() throws {
    let story = try #require(SlotStory.all.first)
    #expect(
      try JSON.text(try story.explanation().value) == """
        [{"topic":"slot","text":"weekly ran on Fri 2026-11-20 17:30 AEDT: run r1 (succeeded).","run":"r1",\
        "at":"2026-11-20T06:30:00Z","commands":["errand why r1"]},{"topic":"next",\
        "text":"It is due next on Mon 2026-11-23 17:30 AEDT (in 2 days 23 h).","at":"2026-11-23T06:30:00Z"}]
        """)
  }
}
