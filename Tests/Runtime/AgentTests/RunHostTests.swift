import ActionTestKit
import Basics
import Operations
import RunState
import Runs
import Testing

@testable import Agent

/// How an agent hosts runs that take days; the clock starts at Friday 2026-11-20, 09:30 UTC.
@Suite(.timeLimit(.minutes(20))) struct RunHostTests {
  static let hour = TimeSpan.seconds(3600)
  static let night = "steps: [{ wait: 9h }]\noutputs: { now: \"${{ now }}\" }"
  static let event = "steps: [{ id: e, wait: { event: e } }]\noutputs: { got: \"${{ steps.e.event.data }}\" }"
  static let approval = """
    steps: [{ id: ask, approve: { prompt: "Send it?", by: [ann, bob] } }]
    outputs: { by: "${{ steps.ask.by }}" }
    """

  // MARK: Time

  @Test func `a run that waits is held by an alarm only, and resumes when that rings`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.night)
    #expect(await bench.until("r1 waits") == ["r1 begins", "r1 waits"])
    #expect(await bench.host.active.isEmpty)
    #expect(await bench.host.alarmCount == 1)
    await bench.pass(RunHostTests.hour)
    await bench.pass(.seconds(8 * 3600))
    #expect(await bench.until("r1 succeeded") == ["r1 begins", "r1 succeeded"])
    #expect(try await bench.outputs("r1") == #"{"now":"2026-11-20T18:30:00Z"}"#)
    #expect(await bench.host.alarmCount == 0)
  }

  @Test func `a clock that is set forward is noticed within ten seconds`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.night)
    await bench.until("r1 waits")
    bench.time.setWallClock(to: try #require(Timestamp("2026-11-21T00:00:00Z")))
    await bench.pass(.seconds(10))
    await bench.until("r1 succeeded")
    #expect(try await bench.outputs("r1") == #"{"now":"2026-11-21T00:00:10Z"}"#)
  }

  @Test func `alarms ring in order, whatever the order in which they were set`() async throws {
    let bench = await HostBench()
    for (id, hours) in [("r1", 3), ("r2", 1), ("r3", 2)] {
      try await bench.start(id, "steps: [{ wait: \(hours)h }]")
      await bench.until("\(id) waits")
    }
    var ends: [String] = []
    for end in ["r2 succeeded", "r3 succeeded", "r1 succeeded"] {
      await bench.pass(RunHostTests.hour)
      ends += await bench.until(end)
    }
    #expect(ends.filter { $0.hasSuffix("succeeded") } == ["r2 succeeded", "r3 succeeded", "r1 succeeded"])
  }

  @Test func `another agent takes over waiting runs, resumes running ones, and leaves paused ones`()
    async throws
  {
    let first = await HostBench()
    try await first.start("r1", RunHostTests.night)
    await first.until("r1 waits")
    try await first.accept("r2", "steps: [{ let: { x: 1 } }]")
    try await first.start("r3", RunHostTests.night)
    await first.until("r3 waits")
    try await first.host.pause("r3", reason: "not tonight")
    try await first.start("r4", RunHostTests.approval)
    await first.until("r4 waits")
    await first.host.stop()
    // Decided when no agent was running.
    try await first.store.append(
      .decisionGiven(
        DecisionGiven(
          run: "r4", step: "ask", decision: DecisionRecord(isApproved: true, by: "ann", at: first.time.now()))))

    let second = await HostBench(first.store, time: first.time)
    #expect(await second.host.recover().map(\.id) == ["r3"])
    let news = await second.until("r2 succeeded", "r4 succeeded")
    #expect(!news.contains("r1 begins") && !news.contains("r3 begins"))
    await second.pass(.seconds(9 * 3600))
    await second.until("r1 succeeded")
    #expect(second.store.run("r3")?.status == .paused)
  }

  @Test func `a run whose recipe no longer fits is paused with the reason, and can be cancelled`() async throws {
    let bench = await HostBench()
    try await bench.host.create(
      RunCreated(
        run: "r1", at: bench.time.now(), recipe: "r", file: "r.yaml",
        texts: .inline(.object(["r.yaml": .string("steps: [{ uses: gone.away }]")])), inputs: .object([:]),
        program: "test"))
    await #expect(throws: RunRefusedError.self) { try await bench.host.continueRun("r1") }
    #expect(bench.store.run("r1")?.status == .paused)
    #expect(bench.store.run("r1")?.reason?.contains("r.yaml:1:") == true)
    #expect(bench.store.run("r1")?.hasMissingDependency == true)
    _ = await bench.host.recover()
    #expect(try await bench.host.cancel("r1", reason: nil))
    let ended = try await bench.ended("r1")
    #expect(ended.status == .cancelled)
    #expect(
      ended.error?.message.hasPrefix("the run was cancelled without its 'finally' steps, which cannot run: ") == true)
  }

  @Test(arguments: [(true, false), (false, false), (true, true)])
  func `a run that was paused because it lacked something goes on when that is there`(
    hasMissingDependency: Bool, isPaused: Bool
  ) async throws {
    let first = await HostBench()
    try await first.accept("r1", "steps: [{ let: { x: 1 } }]")
    var pause = RunStatusChanged(run: "r1", at: first.time.now(), status: .paused, reason: "missing secret: A")
    pause.hasMissingDependency = hasMissingDependency
    try await first.store.append([.runStatusChanged(pause)])
    if isPaused { try await first.host.pause("r1", reason: "not tonight") }
    let second = await HostBench(first.store, time: first.time)
    let proceeds = hasMissingDependency && !isPaused
    #expect(await second.host.recover().map(\.id) == (proceeds ? [] : ["r1"]))
    if proceeds { await second.until("r1 succeeded") } else { #expect(second.store.run("r1")?.status == .paused) }
  }

  @Test(arguments: [(false, true), (true, true), (true, false)])
  func `a write under way is a person's to tell before a run ends that can't be carried on`(
    isDone: Bool, isCancelledFirst: Bool
  ) async throws {
    let bench = await HostBench()
    let now = bench.time.now()
    try await bench.host.create(
      RunCreated(
        run: "r1", at: now, recipe: "r", file: "r.yaml",
        texts: .inline(.object(["r.yaml": .string("steps: [{ id: a, uses: gone.away }]")])), inputs: .object([:]),
        program: "test"))
    var began = StepBegan(
      run: "r1", at: now, step: "a", now: now, attempt: 1, key: StepRecord.standardKey(of: "a", in: "r1"))
    began.isPlainWrite = true
    try await bench.store.append(.stepBegan(began))
    await #expect(throws: RunRefusedError.self) { try await bench.host.continueRun("r1") }
    #expect(bench.store.run("r1")?.status == .paused)
    #expect(
      bench.store.run("r1")?.reason?.hasPrefix(
        "'a' may or may not have been done, for the program ended meanwhile; and r.yaml:1:") == true)

    _ = await bench.host.recover()
    guard isCancelledFirst else {
      try await bench.host.resolutions.resolve("r1", step: "a", as: .done(nil))
      #expect(bench.store.run("r1")?.steps["a"]?.status == .succeeded)
      return
    }
    #expect(try await bench.host.cancel("r1", reason: nil))
    #expect(bench.store.run("r1")?.status == .uncertain)
    #expect(bench.store.run("r1")?.uncertainSteps.map(\.path) == ["a"])
    // However often it is tried.
    await #expect(throws: RunRefusedError.self) { try await bench.host.resume("r1") }
    #expect(bench.store.run("r1")?.status == .uncertain)

    await #expect(throws: RunRefusedError.self) {
      try await bench.host.resolutions.resolve("r1", step: "a", as: .retry)
    }
    try await bench.host.resolutions.resolve("r1", step: "a", as: isDone ? .done(nil) : .fail(nil))
    await #expect(throws: RunRefusedError.self) { try await bench.host.continueRun("r1") }
    let ended = try await bench.ended("r1")
    #expect(ended.status == .cancelled)
    #expect((ended.steps["a"]?.status == .succeeded) == isDone)
  }

  @Test func `a run that is submitted again because the agent ended before it answered is the same run`()
    async throws
  {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.night)
    await bench.until("r1 waits")
    let origin = try #require(bench.store.run("r1")?.origin)
    let submit = try JSON.text(
      .object(["ask": .string("submit"), "run": origin.encoded(), "again": .bool(true)]))
    #expect(try await bench.ask(submit, isFollowed: false) == [#"{"accepted":"r1","isServing":true}"#])
    bench.time.advance(by: .seconds(10 * 3600))
    await bench.until("r1 succeeded")
    #expect(try await bench.ask(submit, isFollowed: false) == [#"{"accepted":"r1","isServing":true}"#])
    // A caller that follows it is told its end.
    let told = try await bench.ask(submit)
    #expect(told.count == 2 && told.first == #"{"accepted":"r1","isServing":true}"#, "\(told)")
    #expect(told.last?.hasPrefix(#"{"ended":{"origin":{"run":"r1""#) == true, "\(told)")
  }

  // MARK: Steering

  @Test func `a pause is durable, holds no alarm, and the run resumes where it was`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.night)
    await bench.until("r1 waits")
    #expect(try await bench.ask(#"{"ask":"pause","run":"r1","reason":"not tonight"}"#) == [#"{"paused":"r1"}"#])
    #expect(bench.store.run("r1")?.status == .paused)
    #expect(bench.store.run("r1")?.reason == "not tonight")
    #expect(await bench.host.alarmCount == 0)
    bench.time.advance(by: .seconds(10 * 3600))
    // Only a person resumes a paused run, not a schedule that has just started it, say.
    try await bench.host.continueRun("r1")
    #expect(bench.store.run("r1")?.status == .paused)
    try await bench.host.resume("r1")
    await bench.until("r1 succeeded")
    #expect(try await bench.outputs("r1") == #"{"now":"2026-11-20T19:30:00Z"}"#)
  }

  @Test func `a running run is paused when the steps in flight have finished`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", "steps: [{ wait: 30s }, { let: { x: 1 } }]")
    await bench.time.waitForSleepers()
    try await bench.host.pause("r1", reason: "no")
    await bench.until("r1 paused")
    #expect(bench.store.run("r1")?.status == .paused)
    #expect(bench.store.run("r1")?.reason == "no")
  }

  @Test func `a run that is cancelled while it is being paused ends, and isn't paused any more`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", "steps: [{ wait: 30s }, { let: { x: 1 } }]")
    await bench.time.waitForSleepers()
    async let paused: Void = bench.host.pause("r1", reason: "no")
    #expect(try await bench.host.cancel("r1", reason: nil))
    // The pause came first, or is refused.
    try? await paused
    // One that was over before the cancellation came left a run that this program doesn't host any more.
    if await !bench.host.isOwn("r1") { try? await bench.host.continueRun("r1") }
    await bench.until("r1 cancelled")
    try await bench.accept("r2", RunHostTests.night)
    _ = try await bench.host.cancel("r2", reason: nil)
    let isRefused = await #expect(throws: RunRefusedError.self) { try await bench.host.pause("r2", reason: "no") }
    #expect(isRefused?.message == "the run r2 is being cancelled")
  }

  @Test func `a cancellation ends a wait at once, and finally runs`() async throws {
    let bench = await HostBench()
    try await bench.start(
      "r1", "steps: [{ wait: 9h }]\nfinally: [{ id: note, wait: { until: \"now - duration('1s')\" } }]")
    await bench.until("r1 waits")
    _ = await bench.host.recover()
    #expect(try await bench.ask(#"{"ask":"cancel","run":"r1"}"#) == [#"{"cancelled":"r1"}"#])
    await bench.until("r1 cancelled")
    let ended = try await bench.ended("r1")
    #expect(ended.stepsInOrder.map { "\($0.path) \($0.status)" } == ["#1 cancelled", "#finally/note succeeded"])
    #expect(await bench.host.alarmCount == 0)
  }

  @Test func `a follower of a run receives the run as it is, its waits, and its end`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.night)
    await bench.until("r1 waits")
    let (answers, answer) = AsyncStream.makeStream(of: Value.self)
    // Ends with the run.
    Task {
      try await bench.ask(#"{"ask":"follow","run":"r1"}"#) { answer.yield($0) }
      answer.finish()
    }
    var lines: [String] = []
    for await value in answers {
      lines.append(try JSON.text(value))
      // After the first report of the wait, the client is a follower.
      if lines.count == 2 { await bench.pass(.seconds(9 * 3600)) }
    }
    #expect(lines.first?.hasPrefix(#"{"run":{"origin":{"run":"r1""#) == true, "\(lines)")
    #expect(
      lines.dropFirst().first
        == #"{"waits":{"until":"2026-11-20T18:30:00Z","status":"waiting","reason":"waits until 2026-11-20T18:30:00Z"}}"#
    )
    #expect(lines.last?.contains(#""status":"succeeded""#) == true)
  }

  @Test func `a retried run keeps what was done, and begins where it failed`() async throws {
    let bench = await HostBench()
    let text = """
      steps:
        - let: { early: "${{ now }}" }
        - id: guard
          if: run.attempt > 5
          fail: never
        - id: broken
          onError: continue
          steps: [{ fail: it broke }]
        - id: block
          steps: [{ id: inner, wait: 1s }]
        - let: { late: "${{ now }}" }
        - if: run.attempt == 1
          fail: not yet
      outputs: { early: "${{ early }}", late: "${{ late }}", attempt: "${{ run.attempt }}" }
      """
    try await bench.start("r1", text)
    await bench.pass(.seconds(1))
    await bench.until("r1 failed")
    bench.time.advance(by: RunHostTests.hour)
    let answer = try JSON.parse(try #require(try await bench.ask(#"{"ask":"retry","run":"r1"}"#).first))
    let id = try #require(answer["accepted"]?.string)
    await bench.until("\(id) succeeded")
    #expect(
      try await bench.outputs(id)
        == #"{"early":"2026-11-20T09:30:00Z","late":"2026-11-20T09:30:01Z","attempt":2}"#)
    let record = try await bench.ended(id)
    #expect(record.origin.cause == RunCause(.retry, run: "r1"))
    #expect(
      record.stepsInOrder.map { "\($0.path) \($0.status)" } == [
        "#1 succeeded", "guard skipped", "broken failed", "block succeeded", "#5 succeeded", "#6 skipped",
      ])
    #expect(
      try await bench.ask("{\"ask\":\"retry\",\"run\":\"\(id)\"}") == [
        #"{"failed":{"kind":"ended","message":"the run \#(id) has succeeded, so there is nothing to retry; start a new one"}}"#
      ])
    // A second retry with the same kept steps would do the work twice.
    #expect(
      try await bench.ask(#"{"ask":"retry","run":"r1"}"#) == [
        #"{"failed":{"kind":"ended","message":"the run r1 was retried as \#(id) (succeeded), which kept what succeeded; start a new one"}}"#
      ])
  }

  @Test(arguments: [-1, 1])
  func `a retried run is not retried twice, whichever way the clock was moved in between`(
    _ direction: Int
  ) async throws {
    let bench = await HostBench()
    try await bench.start("r1", "steps: [{ fail: never }]")
    await bench.until("r1 failed")
    let year = TimeSpan(nanoseconds: direction * 365 * 86_400_000_000_000)
    bench.time.setWallClock(to: try #require(bench.time.now().advanced(by: year)))
    let answer = try JSON.parse(try #require(try await bench.ask(#"{"ask":"retry","run":"r1"}"#).first))
    let id = try #require(answer["accepted"]?.string)
    await bench.until("\(id) failed")
    #expect(try await bench.ask(#"{"ask":"retry","run":"r1"}"#).first?.contains("was retried as \(id)") == true)
  }

  @Test func `of two simultaneous retries one is refused, and a later one is told of the first`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", "steps: [{ id: a, wait: { event: e, timeout: 1d } }, { fail: never }]")
    await bench.until("r1 waits")
    _ = try await bench.ask(#"{"ask":"cancel","run":"r1"}"#)
    await bench.until("r1 cancelled")
    let answers = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<8 { group.addTask { try await bench.ask(#"{"ask":"retry","run":"r1"}"#) } }
      return try await group.reduce(into: [String]()) { $0 += $1 }
    }
    #expect(answers.filter { $0.contains("accepted") }.count == 1, "\(answers)")
    #expect(bench.store.state.openRuns.count == 1)
  }

  // MARK: Events

  @Test func `an event wakes the oldest run that waits for it, and is consumed once`() async throws {
    let bench = await HostBench()
    for id in ["r1", "r2"] {
      try await bench.start(id, RunHostTests.event)
      await bench.until("\(id) waits")
    }
    let signal = #"{"ask":"signal","id":"e1","name":"e","data":7}"#
    #expect(try await bench.ask(signal) == [#"{"received":"e1","isNew":true}"#])
    #expect(await bench.until("r1 succeeded") == ["r1 begins", "r1 succeeded"])
    #expect(try await bench.outputs("r1") == #"{"got":7}"#)
    #expect(try await bench.ask(signal) == [#"{"received":"e1","isNew":false}"#])
    #expect(bench.store.run("r2")?.status == .waiting)
    #expect(
      try await bench.ask(#"{"ask":"signal","id":"e2","name":"e","data":8,"run":"r2"}"#)
        == [#"{"received":"e2","isNew":true}"#])
    await bench.until("r2 succeeded")
    #expect(try await bench.outputs("r2") == #"{"got":8}"#)
  }

  @Test func `an event that no match holds for goes to the next run, and is kept if there is none`() async throws {
    let bench = await HostBench()
    func waiting(for size: Int) -> String { "steps: [{ wait: { event: e, match: event.data.size == \(size) } }]" }
    for (id, size) in [("r1", 1), ("r2", 2)] {
      try await bench.start(id, waiting(for: size))
      await bench.until("\(id) waits")
    }
    _ = try await bench.ask(#"{"ask":"signal","id":"e1","name":"e","data":{"size":2}}"#)
    #expect(
      await bench.until("r2 succeeded") == ["r1 begins", "r1 waits", "r2 begins", "r2 succeeded"])
    _ = try await bench.ask(#"{"ask":"signal","id":"e2","name":"e","data":{"size":3}}"#)
    #expect(await bench.until("event e2") == ["r1 begins", "r1 waits", "event e2"])
    #expect(bench.store.state.events["e2"]?.consumedBy == nil)
    // The event is kept, and comes before the wait for it.
    try await bench.start("r3", "steps: [{ wait: 1h }, { wait: { event: e, match: event.data.size == 3 } }]")
    #expect(bench.store.state.events["e2"] != nil)
  }

  @Test func `an event that no run takes is forgotten after a week, and so is its id`() async throws {
    let bench = await HostBench()
    // Until the schedules have been asked, it is kept.
    bench.host.inbox.awaitSchedules(false)
    _ = try await bench.ask(#"{"ask":"signal","id":"e1","name":"e"}"#)
    await bench.until("event e1")
    await bench.pass(.seconds(7 * 86_400 - 1))
    #expect(bench.store.state.events["e1"] != nil)
    await bench.pass(.seconds(1))
    while bench.store.state.events["e1"] != nil { await Task.yield() }
    #expect(
      try await bench.ask(#"{"ask":"signal","id":"e1","name":"e"}"#) == [
        #"{"received":"e1","isNew":true}"#
      ])
  }

  @Test(arguments: [true, false]) func `a decision that is sent several times at once has one answer`(
    _ hasKey: Bool
  ) async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.approval)
    await bench.until("r1 waits")
    let request = DecideStep.with {
      $0.run = "r1"
      $0.approved = true
      $0.key = hasKey ? "k" : nil
    }
    let answers = await withTaskGroup(of: Result<StepPath, RequestRefusedError>.self) { group in
      for _ in 0..<20 {
        group.addTask {
          do throws(RequestRefusedError) {
            return .success(try await bench.service.perform(request, for: AgentCaller(name: "ann")).decided)
          } catch {
            return .failure(error)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let given = answers.filter { (try? $0.get()) == "ask" }
    #expect(given.count == (hasKey ? 20 : 1))
    for case .failure(let refusal) in answers {
      #expect(refusal.message.contains("'ask' was approved by ann"), "\(refusal.message)")
    }
    await bench.until("r1 succeeded")
  }

  @Test(arguments: [
    (
      #"{"ask":"signal","id":"e1"}"#, "request",
      "the request 'signal' isn't valid: 'name' is missing"
    ),
    (
      #"{"ask":"signal","name":"e","run":"r9"}"#, "notFound",
      "no run is called 'r9'; give its id, the beginning or the end of it, a recipe's name, or last; 'errand runs list' shows the latest"
    ),
    (
      #"{"ask":"decide","run":"r1"}"#, "request",
      "the request 'decide' isn't valid: 'approved' is missing"
    ),
    (
      #"{"ask":"decide","run":"r1","approved":true,"by":"ann"}"#, "request",
      "the request 'decide' isn't valid: 'by' is not known"
    ),
    (#"{"ask":"decide","run":"r1","approved":true}"#, "notAllowed", "'ask' asks ann, bob, and not 'cy'"),
    (
      #"{"ask":"decide","run":"r1","step":"aks","approved":true}"#, "notAsked",
      "the step 'aks' of the run r1 does not ask for a decision; these do: 'ask'"
    ),
    (
      #"{"ask":"decide","run":"r2","approved":true}"#, "notAsked",
      "no step of the run r2 asks for a decision"
    ),
    (
      #"{"ask":"decide","run":"r3","approved":true}"#, "ambiguous",
      "several steps of the run r3 ask for a decision; name one of '#1/a/#1', '#1/b/#1'"
    ),
    (
      #"{"ask":"retry","run":"r1"}"#, "ended",
      "the run r1 is not over (waiting); resume it: errand runs resume r1"
    ),
  ])
  func `says why a request is refused`(_ request: String, _ kind: String, _ message: String) async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.approval)
    await bench.until("r1 waits")
    try await bench.start("r2", RunHostTests.night)
    await bench.until("r2 waits")
    try await bench.start(
      "r3", "steps: [{ parallel: { a: [{ approve: { prompt: A } }], b: [{ approve: { prompt: B } }] } }]")
    await bench.until("r3 waits")
    let failed: Value = .object(["failed": .object(["kind": .string(kind), "message": .string(message)])])
    #expect(try await bench.ask(request, as: "cy") == [try JSON.text(failed)])
  }

  @Test func `a decision is on disk, wakes the run, and is given once`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.approval)
    await bench.until("r1 waits")
    let yes = #"{"ask":"decide","run":"r1","approved":true,"comment":"fine"}"#
    async let first = bench.ask(yes, as: "bob")
    async let second = bench.ask(yes, as: "bob")
    let answers = try await [first, second].flatMap { $0 }
    #expect(answers.filter { $0 == #"{"decided":"ask","run":"r1"}"# }.count == 1)
    await bench.until("r1 succeeded")
    #expect(try await bench.outputs("r1") == #"{"by":"bob"}"#)
  }

  static let room = """
    steps:
      - id: room
        ask:
          prompt: Which room?
          fields: { room: { type: string, pattern: "[A-Z][0-9]+" }, seats: { type: int, max: 200, default: 30 } }
          by: [ann, bob]
          timeout: 2d
          onTimeout: continue
    outputs: { room: "${{ has(steps.room) ? steps.room.fields.room : 'none' }}" }
    """

  private static func refusal(_ kind: String, _ message: String) throws -> [String] {
    [try JSON.text(.object(["failed": .object(["kind": .string(kind), "message": .string(message)])]))]
  }

  @Test func `an answer is checked before it is recorded, wakes the run, and is given once`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.room)
    await bench.until("r1 waits")
    let wrong = try await bench.ask(
      #"{"ask":"answer","run":"r1","fields":{"room":"12","rom":"B1"},"texts":{"seats":"many"}}"#)
    let refused = try JSON.parse(try #require(wrong.first))["failed"]
    #expect(refused?["kind"]?.string == "inputs")
    #expect(
      try JSON.text(#require(refused?["faults"]))
        == #"[{"message":"'fields.room' must be of the form [A-Z][0-9]+, but is '12'","pointer":"/fields/room"},{"message":"step 'room' has no field 'rom'; did you mean 'room'?","pointer":"/fields/rom"},{"message":"'fields.seats' must be an int, but found 'many'","pointer":"/texts/seats"}]"#
    )
    #expect(bench.store.run("r1")?.steps["room"]?.decision == nil)
    #expect(
      try await bench.ask(#"{"ask":"answer","run":"r1","fields":{"room":"B12"}}"#, as: "eve")
        == RunHostTests.refusal("notAllowed", "'room' asks ann, bob, and not 'eve'"))
    #expect(
      try await bench.ask(#"{"ask":"decide","run":"r1","approved":true}"#)
        == RunHostTests.refusal(
          "notAsked", "'room' of the run r1 asks for an answer; use errand runs answer r1 room -f room=…"))

    let yes = #"{"ask":"answer","run":"r1","step":"room","texts":{"room":"B12"}}"#
    async let first = bench.ask(yes, as: "bob")
    async let second = bench.ask(yes, as: "ann")
    let answers = try await [first, second].flatMap { $0 }
    #expect(answers.filter { $0 == #"{"decided":"room","run":"r1"}"# }.count == 1)
    await bench.until("r1 succeeded")
    #expect(try await bench.outputs("r1") == #"{"room":"B12"}"#)
    let kept =
      try await bench.store.finishedRun("r1")?.steps["room"]?.decision?.fields
      ?? bench.store.endedRun("r1")?.steps["room"]?.decision?.fields
    #expect(kept == .object(["room": .string("B12"), "seats": .int(30)]))
  }

  @Test func `an answer at the time limit is late, and the run goes on without it`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.room)
    await bench.until("r1 waits")
    await bench.host.stop()
    let limit = try #require(bench.store.run("r1")?.steps["room"]?.wait?.wakeAt)
    bench.time.setWallClock(to: limit)
    let command = await HostBench(bench.store, time: bench.time, isServing: false)
    let late = try await command.ask(#"{"ask":"answer","run":"r1","fields":{"room":"B12"}}"#)
    #expect(late.first?.contains("'room' of the run r1 timed out at \(limit)") == true, "\(late)")
    #expect(bench.store.run("r1")?.steps["room"]?.decision == nil)
    let next = await HostBench(bench.store, time: bench.time)
    _ = await next.host.recover()
    await next.until("r1 succeeded")
    #expect(try await next.outputs("r1") == #"{"room":"none"}"#)
  }

  @Test func `an answer that holds a secret is refused`() async throws {
    let bench = await HostBench()
    bench.store.secrets.learn([("TOKEN", "sesame-0123456789")])
    try await bench.start("r1", "steps: [{ id: a, ask: { prompt: Go?, fields: { word: string, more: dyn } } }]")
    await bench.until("r1 waits")
    let refused = try await bench.ask(
      #"{"ask":"answer","run":"r1","fields":{"word":"open sesame-0123456789","more":{"a":["sesame-0123456789"]}}}"#)
    let text = try #require(refused.first)
    #expect(text.contains("'fields.word' holds a secret") && text.contains("'fields.more' holds a secret"), "\(text)")
    #expect(!text.contains("sesame"))
    #expect(bench.store.run("r1")?.steps["a"]?.decision == nil)
  }

  // MARK: Groups

  static func grouped(_ onLimit: String, limit: Int = 1) -> String {
    "concurrencyGroup: { name: g, limit: \(limit), onLimit: \(onLimit) }\nsteps: [{ wait: 9h }]"
  }

  @Test func `a decision about a paused run is kept, and seen when the run resumes`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.approval)
    await bench.until("r1 waits")
    try await bench.host.pause("r1", reason: "no")
    await bench.until("r1 paused")
    _ = await bench.host.recover()
    let decide = #"{"ask":"decide","run":"r1","approved":true}"#
    #expect(try await bench.ask(decide) == [#"{"decided":"ask","run":"r1"}"#])
    #expect(bench.store.run("r1")?.status == .paused)
    #expect(await bench.host.active.isEmpty)
    try await bench.host.resume("r1")
    await bench.until("r1 succeeded")
    #expect(try await bench.outputs("r1") == #"{"by":"ann"}"#)
  }

  @Test func `a group queues runs beyond its limit, names the runs in the way, and admits the oldest`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.grouped("queue"))
    await bench.until("r1 waits")
    for id in ["r2", "r3"] { try await bench.start(id, RunHostTests.grouped("queue")) }
    #expect(bench.store.run("r3")?.status == .queued)
    #expect(
      bench.store.run("r3")?.reason
        == "waits for its group 'g': r r1 (waiting), r r2 (queued) are open, of which there may be 1 at once")
    await bench.pass(.seconds(9 * 3600))
    #expect(await bench.until("r2 waits").filter { $0.hasSuffix("begins") } == ["r1 begins", "r2 begins"])
    #expect(bench.store.run("r3")?.status == .queued)
    _ = try await bench.host.cancel("r2", reason: nil)
    await bench.until("r3 waits")
  }

  @Test func `a group that skips ends runs beyond its limit`() async throws {
    let bench = await HostBench()
    for id in ["r1", "r2"] {
      try await bench.start(id, RunHostTests.grouped("skip", limit: 2))
      await bench.until("\(id) waits")
    }
    try await bench.start("r3", RunHostTests.grouped("skip", limit: 2))
    await bench.until("r3 skipped")
    #expect(
      try await bench.ended("r3").error?.message
        == "the group 'g' is full: r r1 (waiting), r r2 (waiting) are open, of which there may be 2 at once")
  }

  @Test func `a group that cancels the oldest admits the latest`() async throws {
    let bench = await HostBench()
    try await bench.start("r1", RunHostTests.grouped("cancelOldest"))
    await bench.until("r1 waits")
    try await bench.start("r2", RunHostTests.grouped("cancelOldest"))
    await bench.until("r2 waits")
    #expect(try await bench.ended("r1").status == .cancelled)
    #expect(
      try await bench.ended("r1").pendingCancel?.reason == "the run r2 of its group 'g' takes its place")
  }

  @Test func `a command that only asks resumes no other runs`() async throws {
    let first = await HostBench()
    try await first.start("r1", RunHostTests.approval)
    await first.until("r1 waits")
    await first.host.stop()
    let command = await HostBench(first.store, time: first.time, isServing: false)
    let decide = #"{"ask":"decide","run":"r1","approved":true}"#
    #expect(try await command.ask(decide) == [#"{"decided":"ask","run":"r1"}"#])
    #expect(await command.host.active.isEmpty)
    #expect(first.store.run("r1")?.status == .waiting)
  }
}
