import ActionKit
import Basics
import Calendars
import Recipes
import RunState
import Runs
import Testing

@testable import Agent

/// An instant some seconds after Friday 2026-11-20, 09:00 UTC, which is 11:00 in Bucharest.
private func at(_ seconds: Int) -> Timestamp { Timestamp(seconds: 1_795_165_200 + seconds) ?? .earliest }

/// A run by its records, with the expected explanation.
struct RunStory: Sendable, CustomTestStringConvertible {
  var testDescription: String
  var cause = RunCause(.manual)
  var group: RunGroup?
  var events: [StateEvent]
  var slot: SlotRecord?
  var others: [RunReference] = []
  var received: [EventRecord] = []
  /// The recipe's steps, if it is available.
  var recipe: String?
  var isServed = true
  var isSandbox = false
  var now = 3600
  var expected: String

  func explanation() throws -> Explanation {
    var run = RunRecord(
      RunCreated(
        run: "r1", at: at(0), recipe: "backup", file: "backup.yaml", texts: .inline(.map(ValueMap())),
        inputs: .object(["into": .string("Average")]), program: "test", cause: cause, group: group,
        attempt: cause.kind == .retry ? 2 : 1))
    run.origin.sandbox = isSandbox
    for event in events { try run.apply(event) }
    let facts = RunFacts(run: run, now: at(now), slot: slot, others: others, events: received)
    var conditions: StepReplay?
    if let recipe {
      let environment = RecipeEnvironment(catalog: ActionCatalog([])) { path throws(FileError) in
        throw FileError(.read, path, .system(2))
      }
      let checked = Recipe.check(Source(name: "backup.yaml", text: recipe), in: environment)
      conditions = StepReplay(
        of: try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())"), run
      ) { facts.output(of: $0) }
    }
    let zone = try TimeZoneDatabase.system.rules(named: "Europe/Bucharest")
    return Explanation(
      of: facts, conditions: conditions, clock: WallClock(zone, now: at(now)), isServed: isServed)
  }

  // MARK: Events, in few words

  static func status(_ status: RunStatus, _ reason: String? = nil, until: Int? = nil) -> StateEvent {
    .runStatusChanged(
      RunStatusChanged(run: "r1", at: at(1), status: status, reason: reason, wakeAt: until.map { at($0) }))
  }
  static func began(_ step: String, at seconds: Int = 1, key: String? = nil, items: Value? = nil) -> StateEvent {
    .stepBegan(
      StepBegan(run: "r1", at: at(seconds), step: step, now: at(seconds), key: key, items: items.map { .inline($0) }))
  }
  static func ended(
    _ step: String, at seconds: Int = 2, _ status: StepStatus = .succeeded, output: Value? = nil, error: RunError? = nil
  ) -> StateEvent {
    .stepEnded(
      StepEnded(
        run: "r1", at: at(seconds), step: step, now: at(seconds), status: status, output: output.map { .inline($0) },
        error: error))
  }
  static func begunAnew(_ step: String, by person: String, at seconds: Int) -> StateEvent {
    var event = StepBegan(run: "r1", at: at(seconds), step: step, now: at(seconds))
    event.resolution = ResolutionRecord(choice: "retry", by: person, at: at(seconds), doubt: "the answer was lost")
    return .stepBegan(event)
  }
  static func countedAsFailed(_ step: String, by person: String, at seconds: Int) -> StateEvent {
    var event = StepEnded(
      run: "r1", at: at(seconds), step: step, now: at(seconds), status: .failed,
      error: RunError(.plugin, "resolved as failed", step: step, effect: .unknown))
    event.resolution = ResolutionRecord(choice: "fail", by: person, at: at(seconds), doubt: "the answer was lost")
    return .stepEnded(event)
  }
  static func waits(_ step: String, _ wait: WaitRecord) -> StateEvent {
    .stepWaits(StepWaits(run: "r1", at: at(2), step: step, now: at(2), wait: wait))
  }
  static func failedAttempt(_ step: String, _ number: Int, _ message: String, retryAt: Int?) -> [StateEvent] {
    [
      .attemptBegan(AttemptBegan(run: "r1", at: at(2), step: step, number: number)),
      .attemptEnded(
        AttemptEnded(
          run: "r1", at: at(3), step: step, number: number, error: RunError(.network, message, step: step),
          retryAt: retryAt.map { at($0) })),
    ]
  }
  static func over(_ status: RunStatus, at seconds: Int = 185, _ error: RunError? = nil) -> StateEvent {
    .runEnded(RunEnded(run: "r1", at: at(seconds), status: status, error: error))
  }
  static func decided(_ isApproved: Bool, _ comment: String? = nil) -> StateEvent {
    .decisionGiven(
      DecisionGiven(
        run: "r1", step: "ask",
        decision: DecisionRecord(isApproved: isApproved, by: "ann", at: at(60), comment: comment)))
  }
  static func event(_ id: String, _ name: String, consumedBy: String? = nil) -> EventRecord {
    EventRecord(id: id, name: name, receivedAt: at(30), consumedBy: consumedBy)
  }

  static let started = "  Started by hand on Fri 2026-11-20 11:00 EET."
  static let retry = """
      To retry in a new run, keeping what succeeded:
          errand runs retry r1
    """
}

extension RunStory {
  static let all: [RunStory] = [
    RunStory(
      testDescription: "accepted, without an agent", events: [], isServed: false,
      expected: """
        backup is queued; it was accepted 1 h ago.
          No agent is running, so nothing runs it. Start one, or resume the run:
              errand serve
              errand runs resume r1
        \(started)
        """),
    RunStory(
      testDescription: "queued behind its group", group: RunGroup(name: "books", limit: 1, onLimit: "queue"),
      events: [],
      others: [RunReference(id: "r0", recipe: "averages", status: .waiting, group: "books", createdAt: at(-60))],
      expected: """
        backup is queued: its group 'books' allows 1 run at a time, and in the way is r0 (averages, waiting).
          The folder's agent runs it.
        \(started)
        """),
    RunStory(
      testDescription: "running", events: [status(.running), began("put"), began("put/write", at: 5)],
      expected: """
        backup is running, in 'put/write' since Fri 2026-11-20 11:00:05 EET.
        \(started)
        """),
    RunStory(
      testDescription: "running when its agent died", events: [status(.running), began("put")], isServed: false,
      expected: """
        backup was running, in 'put' since Fri 2026-11-20 11:00:01 EET, when its agent ended; nothing is running it.
            errand runs resume r1
        \(started)
        """),
    RunStory(
      testDescription: "waiting until an instant",
      events: [waits("#2", WaitRecord(.until, wakeAt: at(54_000))), status(.waiting, until: 54_000)],
      expected: """
        backup waits until Sat 2026-11-21 02:00 EET (in 14 h), in '#2'.
          The folder's agent wakes it then.
        \(started)
        """),
    RunStory(
      testDescription: "waiting in a step without an id, against sandboxes",
      events: [ended("#1"), waits("#2", WaitRecord(.until, wakeAt: at(54_000))), status(.waiting, until: 54_000)],
      recipe: "recipe: backup\nsteps: [{ let: { a: 1 } }, { wait: 15h }]\n", isSandbox: true,
      expected: """
        backup waits until Sat 2026-11-21 02:00 EET (in 14 h), in '#2' (wait).
          The folder's agent wakes it then.
        \(started)
          It runs against sandboxes, not the services.
        """),
    RunStory(
      testDescription: "waiting by a clock that was ahead",
      events: [waits("#2", WaitRecord(.until, wakeAt: at(54_000))), status(.waiting, until: 54_000)], now: -7200,
      expected: """
        backup waits until Sat 2026-11-21 02:00 EET (in 17 h), in '#2'.
          The clock was once ahead, and showed Fri 2026-11-20 11:00:02 EET when this wait began; it lasts until the clock is there again. To start it again by the clock as it is now:
              errand runs cancel r1
              errand runs retry r1
          The folder's agent wakes it then.
        \(started)
        """),
    RunStory(
      testDescription: "waiting until an instant, without an agent to wake it",
      events: [waits("#2", WaitRecord(.until, wakeAt: at(54_000))), status(.waiting, until: 54_000)], isServed: false,
      expected: """
        backup waits until Sat 2026-11-21 02:00 EET (in 14 h), in '#2'.
          No agent is running, so nothing wakes it then. Start one, or resume the run:
              errand serve
              errand runs resume r1
        \(started)
        """),
    RunStory(
      testDescription: "waiting for an event without a limit",
      events: [waits("pay", WaitRecord(.event, event: "paid")), status(.waiting)],
      expected: """
        backup waits for the event 'paid', in 'pay', for as long as it takes.
            errand runs signal r1 paid
        \(started)
        """),
    RunStory(
      testDescription: "waiting for an event of which two did not match",
      events: [
        waits("pay", WaitRecord(.event, wakeAt: at(7200), event: "it's paid")), status(.waiting, until: 7200),
      ],
      received: [event("e1", "it's paid"), event("e2", "it's paid")],
      expected: #"""
        backup waits for the event 'it's paid', in 'pay'; it times out on Fri 2026-11-20 13:00 EET (in 1 h). 2 came, and none of them matched.
            errand runs signal r1 'it'\''s paid'
          The folder's agent wakes it then.
        \#(started)
        """#),
    RunStory(
      testDescription: "waiting for one of two people",
      events: [
        waits("ask", WaitRecord(.approval, prompt: "Send 412 letters?", by: ["ann", "bob"])), status(.waiting),
      ],
      expected: """
        backup waits for ann or bob to decide, in 'ask': Send 412 letters?
            errand runs approve r1 ask
            errand runs reject r1 ask
        \(started)
        """),
    RunStory(
      testDescription: "waiting for a decision that has a page",
      events: [
        waits(
          "ask",
          WaitRecord(
            .approval, wakeAt: at(7200), prompt: "Send?", url: "https://errand.example.org/approvals/r1/ask")),
        status(.waiting, until: 7200),
      ],
      expected: """
        backup waits for a person to decide, in 'ask': Send? It times out on Fri 2026-11-20 13:00 EET (in 1 h). \
        Its page: https://errand.example.org/approvals/r1/ask
            errand runs approve r1 ask
            errand runs reject r1 ask
          The folder's agent wakes it then.
        \(started)
        """),
    RunStory(
      testDescription: "polling",
      events: [waits("zip", WaitRecord(.poll, wakeAt: at(7200), rounds: 3)), status(.waiting, until: 7200)],
      expected: """
        backup looks again on Fri 2026-11-20 13:00 EET (in 1 h), in 'zip'. It has looked 3 times.
          The folder's agent wakes it then.
        \(started)
        """),
    RunStory(
      testDescription: "waiting to try again",
      events: [began("book")] + failedAttempt("book", 1, "connection refused", retryAt: 3630)
        + [status(.waiting, until: 3630)],
      expected: """
        backup tries again on Fri 2026-11-20 12:00:30 EET (in 30 s), in 'book': attempt 1 failed: connection refused.
          The folder's agent wakes it then.
        \(started)
        """),
    RunStory(
      testDescription: "waiting in two branches",
      events: [
        waits("fan/a/#1", WaitRecord(.until, wakeAt: at(7200))),
        waits("fan/b/ask", WaitRecord(.approval, prompt: "Now?")), status(.waiting, until: 7200),
      ],
      expected: """
        backup waits in 2 places; the first is due Fri 2026-11-20 13:00 EET (in 1 h).
          'fan/a/#1' waits until Fri 2026-11-20 13:00 EET (in 1 h).
          'fan/b/ask' waits for a person to decide: Now?
              errand runs approve r1 fan/b/ask
              errand runs reject r1 fan/b/ask
          The folder's agent wakes it then.
        \(started)
        """),
    RunStory(
      testDescription: "paused with a reason",
      events: [status(.paused, "its recipe no longer fits this version of errand")],
      expected: """
        backup is paused: its recipe no longer fits this version of errand.
            errand runs resume r1
        \(started)
        """),
    RunStory(
      testDescription: "uncertain in one step",
      events: [
        began("put[3]/write", at: 60, key: "k-1"),
        ended(
          "put[3]/write", .uncertain,
          error: RunError(.uncertain, "the answer was lost", detail: "look at the log", step: "put[3]/write")),
        status(.uncertain, "…"),
      ],
      expected: """
        backup is uncertain: it isn't known whether 'put[3]/write' was done, and a person has to check.
          'put[3]/write', begun on Fri 2026-11-20 11:01 EET: the answer was lost. look at the log. Its idempotency key is k-1.
              errand runs resolve r1 'put[3]/write' --done
              errand runs resolve r1 'put[3]/write' --retry
              errand runs resolve r1 'put[3]/write' --fail
        \(started)
        """),
    RunStory(
      testDescription: "uncertain until a person had it tried again",
      events: [
        began("note", at: 60, key: "k-1"),
        ended("note", .uncertain, error: RunError(.uncertain, "the answer was lost", step: "note")),
        status(.uncertain, "…"), begunAnew("note", by: "ana", at: 120), ended("note", .succeeded), over(.succeeded),
      ],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          Started by hand on Fri 2026-11-20 11:00 EET.
          ana said on Fri 2026-11-20 11:02 EET that 'note' was not done, and retried it. It was uncertain: the answer was lost.
        """),
    RunStory(
      testDescription: "cancelled after a person counted a write as failed",
      events: [
        began("note", at: 60, key: "k-1"),
        ended(
          "note", .uncertain, error: RunError(.uncertain, "the answer was lost", detail: "Look at it", step: "note")),
        status(.uncertain, "…"), countedAsFailed("note", by: "ana", at: 120), over(.cancelled),
      ],
      expected: """
        backup was cancelled on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          'note' may have been done, and a retry does it again: look there first.
          To retry in a new run, keeping what succeeded:
              errand runs retry r1
          Started by hand on Fri 2026-11-20 11:00 EET.
          ana said on Fri 2026-11-20 11:02 EET that 'note' had failed. It was uncertain: the answer was lost.
          'note' failed (resolved as failed), and the run continued.
        """),
    RunStory(
      testDescription: "started by a slot, late", cause: RunCause(.slot, schedule: "backup", slot: at(-240)),
      events: [over(.succeeded)],
      slot: SlotRecord(
        schedule: "backup", slot: at(-240), outcome: .started, at: at(0),
        cause: RunCause(.slot, schedule: "backup", slot: at(-240)), run: "r1",
        reason: "caught up after the agent was away", lateBy: .seconds(240)),
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          It ran for the slot of Fri 2026-11-20 10:56 EET of the schedule 'backup', and began on Fri 2026-11-20 11:00 EET, 4 min late. Caught up after the agent was away.
        """),
    RunStory(
      testDescription: "started out of turn", cause: RunCause(.trigger, schedule: "backup/weekly"),
      events: [over(.succeeded)],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          Started by hand on Fri 2026-11-20 11:00 EET, out of turn for the schedule 'backup/weekly'.
        """),
    RunStory(
      testDescription: "made up for", cause: RunCause(.backfill, schedule: "backup", slot: at(-86_400)),
      events: [over(.succeeded)],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          Started on Fri 2026-11-20 11:00 EET by a backfill, for the slot of Thu 2026-11-19 11:00 EET of the schedule 'backup'.
        """),
    RunStory(
      testDescription: "started by an event", cause: RunCause(.event, schedule: "backup", event: "mail-1"),
      events: [over(.succeeded)], received: [event("mail-1", "mail", consumedBy: "backup")],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          The event 'mail' (mail-1) came on Fri 2026-11-20 11:00:30 EET, for which the schedule 'backup' listens.
        """),
    RunStory(
      testDescription: "started by another recipe's end",
      cause: RunCause(.afterRecipe, schedule: "backup", run: "r0"), events: [over(.succeeded)],
      others: [RunReference(id: "r0", recipe: "averages", status: .succeeded, createdAt: at(-60))],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
          It follows the run r0 of averages (succeeded).
        """),
    RunStory(
      testDescription: "a second try that failed, too", cause: RunCause(.retry, run: "r0"),
      events: [
        began("book"),
        ended(
          "book", .failed,
          error: RunError(.server, "the service answered 500", step: "book", attempt: 3)),
        over(
          .failed,
          RunError(
            .server, "the service answered 500", detail: "out of memory", step: "book", attempt: 3,
            file: "backup.yaml", line: 4, column: 5, effect: .unknown,
            cause: RunError(.network, "the connection broke", step: "book"))),
      ], others: [RunReference(id: "r0", recipe: "backup", status: .failed, createdAt: at(-60))],
      expected: """
        backup failed on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s: the service answered 500.
          It happened in 'book', in attempt 3, at backup.yaml:4:5 (server). Something may have happened outside.
          The service said: out of memory.
          Before that, in 'book': the connection broke.
        \(retry)
          Started on Fri 2026-11-20 11:00 EET to retry the run r0 (failed); this is attempt 2.
        """),
    RunStory(
      testDescription: "timed out", events: [over(.timedOut, RunError(.timeout, "'backup' took longer than 30h"))],
      expected: """
        backup timed out on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s: 'backup' took longer than 30h.
        \(retry)
        \(started)
        """),
    RunStory(
      testDescription: "cancelled with a reason",
      events: [
        .cancelRequested(CancelRequested(run: "r1", at: at(180), reason: "wrong markbook")), over(.cancelled),
      ],
      expected: """
        backup was cancelled on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
        \(retry)
        \(started)
          Its cancellation was requested on Fri 2026-11-20 11:03 EET: wrong markbook.
        """),
    RunStory(
      testDescription: "rejected",
      events: [
        waits("ask", WaitRecord(.approval, prompt: "Send?")), decided(false, "Too many."),
        ended("ask", .failed), over(.rejected),
      ],
      expected: """
        backup was rejected on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
        \(retry)
        \(started)
          ann rejected 'ask' on Fri 2026-11-20 11:01 EET: Too many.
        """),
    RunStory(
      testDescription: "approved, and an event taken",
      events: [
        waits("ask", WaitRecord(.approval, prompt: "Send?")), decided(true), ended("ask"),
        waits("pay", WaitRecord(.event, event: "paid")), ended("pay"), over(.succeeded),
      ], received: [event("e1", "paid", consumedBy: "r1")],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
        \(started)
          ann approved 'ask' on Fri 2026-11-20 11:01 EET.
          It took the event 'paid' (e1), which came on Fri 2026-11-20 11:00:30 EET.
        """),
    RunStory(
      testDescription: "skipped by its group", events: [over(.skipped, RunError(.conflict, "group 'books' is full"))],
      expected: """
        backup was skipped on Fri 2026-11-20 11:03:05 EET: group 'books' is full.
        \(started)
        """),
    RunStory(
      testDescription: "a way through loops, handlers and tries",
      events: [
        began("put", items: .list([.int(1), .int(2), .int(3), .int(4)])), began("put[0]"),
        ended("put[0]/write", .skipped), ended("put[0]"), began("put[1]"), ended("put[1]/write", .skipped),
        ended("put[1]"), began("put[2]"),
        ended("put[2]", .failed, error: RunError(.network, "no route.", step: "put[2]")), ended("put"),
        began("note"),
      ] + failedAttempt("note", 1, "refused", retryAt: 3) + [
        .attemptBegan(AttemptBegan(run: "r1", at: at(3), step: "note", number: 2)), ended("note"), over(.succeeded),
      ],
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
        \(started)
          'put' went through 4 items: 1 left out or not begun, 2 succeeded and 1 failed.
          'put[…]/write' was skipped for 2 items: its condition was false.
          'put[2]' failed (no route), and the run continued.
          'note' took 2 attempts.
        """),
    RunStory(
      testDescription: "conditions with what they read",
      events: [
        ended("book", output: .object(["tasks": .list([.string("Average"), .string("Test")])])),
        ended("#3", .skipped), began("each", items: .list([.int(5)])), began("each[0]"),
        ended("each[0]/inner", .skipped), ended("each[0]"), ended("each"), over(.succeeded),
      ],
      recipe: """
        recipe: backup
        inputs: { into: string }
        steps:
          - id: book
            steps:
              - wait: 1s
            outputs: { tasks: "${{ ['Average', 'Test'] }}" }
          - let:
              found: ${{ steps.book.tasks.filter(t, t == inputs.into) }}
          - if: found.size() != 1
            fail: not one
          - id: each
            forEach: ${{ [5] }}
            as: n
            steps:
              - id: inner
                if: "n > 5 ||
                  inputs.into == 'x'"
                wait: 1s
        """,
      expected: """
        backup succeeded on Fri 2026-11-20 11:03:05 EET, after 3 min 5 s.
        \(started)
          'each' went through 1 item: 1 succeeded.
          '#3' (fail, backup.yaml:10) was skipped: `found.size() != 1` was false (found = a list of 1).
          'each[0]/inner' was skipped: `n > 5 || inputs.into == 'x'` was false (n = 5, inputs.into = 'Average').
        """),
  ]
}

@Suite struct ExplanationTests {
  @Test(arguments: RunStory.all) func `a run is explained`(_ story: RunStory) throws {
    let text = try story.explanation().text
    #expect(text == story.expected, "\(text)")
  }
}
