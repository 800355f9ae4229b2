import ActionTestKit
import Basics
import RunState
import RunTestKit
import SharedState
import Synchronization
import Testing

@testable import Agent
import Operations
import ProcessTestKit

/// Agents that share a state, with one clock for all of them and for the database.
///
/// One of them decides on the schedules.
@Suite(.timeLimit(.minutes(20))) final class SharedScheduleTests {
  private let time = TestTime()
  private let database: SimulatedDatabase
  private let folder: TemporaryFolder

  init() throws {
    database = SimulatedDatabase(time: time)
    folder = try ScheduleHostTests.folder([:])
  }

  private func recipe(_ name: String, _ text: String) throws { try ScheduleHostTests.write(text, name, folder) }

  /// How many agents serve.
  private let serving = Atomic(0)
  /// The sleepers of each agent: its lease, its claims, the lead, and its checks for changes made elsewhere.
  private static let sleepers = 4

  private func bench(_ name: String, on database: SimulatedDatabase? = nil, mayLead: Bool = true) async -> HostBench {
    let store = SharedStateStore(
      SimulatedConnection(database ?? self.database), terms: WorkerTerms(name: name), time: time, chance: { 0.5 })
    let bench = await HostBench(sharing: store, time: time, folder: folder.path)
    _ = await bench.schedules.look()
    _ = await bench.host.recover()
    await bench.schedules.serve(mayLead: mayLead)
    serving.add(1, ordering: .relaxed)
    return bench
  }

  /// Waits until something holds; time passes meanwhile, once all agents have finished their due work.
  private func until(_ what: Comment, by step: TimeSpan = .milliseconds(500), _ isTrue: () async -> Bool) async {
    for _ in 0..<8000 {
      if await isTrue() { return }
      let awaited = serving.load(ordering: .relaxed) * SharedScheduleTests.sleepers
      for turn in 0..<1000 {
        if turn >= 20, time.sleeperCount >= awaited { break }
        await Task.yield()
      }
      time.advance(by: step)
    }
    Issue.record("it never came that \(what)")
  }

  private func leads(_ bench: HostBench) async -> Bool {
    guard await bench.schedules.isLeading else { return false }
    return await bench.schedules.term?.isLeading == true
  }

  /// The ledger as people see it, oldest first.
  private func ledger(_ bench: HostBench) async throws -> [String] {
    try await bench.agent.store.slots(SlotQuery(limit: .max)).reversed().map { slot in
      let rows = slot.count > 1 ? " ×\(slot.count)" : ""
      return "\(slot.schedule) \(slot.slot.description.dropFirst(11).dropLast().prefix(8))\(rows) \(slot.outcome)"
    }
  }

  private func has(_ line: String, _ bench: HostBench) async -> Bool {
    (try? await ledger(bench).contains(line)) ?? false
  }

  /// The leader, and another.
  private func pair() async throws -> (leader: HostBench, other: HostBench) {
    let leader = await bench("lab-1")
    await until("it leads") { await leads(leader) }
    let other = await bench("lab-2")
    #expect(await !other.schedules.isLeading)
    return (leader, other)
  }

  private func stop(_ benches: HostBench...) async throws { try await stop(benches) }

  private func stop(_ benches: [HostBench]) async throws {
    for bench in benches {
      serving.subtract(1, ordering: .relaxed)
      await bench.agent.stop()
      try await bench.agent.store.close()
    }
  }

  // MARK: Who decides

  @Test func `one agent fires the slots, and the next when it ends`() async throws {
    try recipe("tick", "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    await until("the slot is due", by: .seconds(2)) { await has("tick 10:00:00 started", other) }
    // On a busy machine the lead may have changed already.
    if await !other.schedules.isLeading { #expect(await other.schedules.nextAlarm == nil) }
    try await stop(leader)
    await until("the other leads") { await leads(other) }
    await until("the next slot is due", by: .seconds(2)) { await has("tick 11:00:00 started", other) }
    #expect(try await ledger(other) == ["tick 10:00:00 started", "tick 11:00:00 started"])
    try await stop(other)
  }

  @Test func `the lead goes to and fro, and each slot is decided once`() async throws {
    try recipe("tick", "on: [{ cron: \"* * * * *\", overlap: allowAll }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    let connection = SimulatedConnection(database)
    var leaders: Set<String> = []
    for minute in 31..<51 {
      await until("the slot is decided") { await has("tick 09:\(minute):00 started", other) }
      let row = try await connection.leader()
      if let name = row.name { leaders.insert(name) }
      // It is given back though its leader doesn't know.
      if minute % 3 == 0, let worker = row.worker { try await connection.resign(WorkerIdentity(id: worker)) }
    }
    let slots = try await ledger(other)
    #expect(Set(slots).count == slots.count)
    #expect(slots.filter { $0.hasSuffix("started") }.count >= 20)
    for (place, slot) in slots.enumerated() { #expect(slot == "tick 09:\(31 + place):00 started") }
    try await stop(leader, other)
  }

  @Test func `an agent that may not lead shows the schedules, and doesn't lead`() async throws {
    try recipe("tick", "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done)
    let idle = await bench("lab-0", mayLead: false)
    await until("much time has passed") { time.elapsed() > .seconds(60) }
    #expect(try await SimulatedConnection(database).leader().name == nil)
    #expect(
      try await idle.ask(#"{"ask":"trigger","id":"tick"}"#).first?.contains("there is no schedule 'tick'") == true)
    let (leader, other) = try await pair()
    #expect(try await SimulatedConnection(database).leader().name == "lab-1")
    await until("the leader has made its schedule") { await other.agent.store.schedule("tick") != nil }
    let question = #"{"ask":"upcoming","limit":3}"#
    let wanted = [
      #"{"slots":[{"schedule":"tick","slot":"2026-11-20T10:00:00Z"},{"schedule":"tick","slot":"2026-11-20T11:00:00Z"},{"schedule":"tick","slot":"2026-11-20T12:00:00Z"}]}"#
    ]
    for bench in [idle, leader, other] {
      #expect(try await bench.ask(question) == wanted)
      #expect(await bench.schedules.nextDue == Timestamp("2026-11-20T10:00:00Z"))
      #expect(await bench.schedules.count == 1)
      #expect(await bench.schedules.words.keys.sorted() == ["tick"])
    }
    #expect(
      try await other.ask(#"{"ask":"explainSchedule","id":"tick"}"#)
        == leader.ask(#"{"ask":"explainSchedule","id":"tick"}"#))
    try await stop(idle, leader, other)
  }

  @Test func `a recipe that changes on the leader's machine changes its schedules for all`() async throws {
    try recipe("tick", "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    await until("it is in the state") { await other.schedules.nextDue == Timestamp("2026-11-20T10:00:00Z") }
    try recipe("tick", "on: [{ cron: \"15 * * * *\" }]\n" + ScheduleHostTests.done)
    _ = await other.schedules.look()
    #expect(await other.schedules.nextDue == Timestamp("2026-11-20T10:00:00Z"))
    _ = await leader.schedules.look()
    #expect(await other.schedules.nextDue == Timestamp("2026-11-20T10:15:00Z"))
    try await stop(leader, other)
  }

  // MARK: Changes made elsewhere

  @Test func `the end of a run elsewhere starts what waits for it, and what follows it, once`() async throws {
    try recipe("first", "on: [{ every: 1h, overlap: bufferOne }]\nsteps: [{ wait: 90m }]\n")
    try recipe("then", "on: [{ afterRecipe: first }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    await until("a slot waits", by: .seconds(2)) {
      await other.agent.store.schedule("first")?.buffered.isEmpty == false
    }
    // The waiting run isn't held, and only the other agent claims due runs.
    await leader.agent.store.sharing?.drain()
    let run = try #require(await other.agent.store.schedule("first")?.openRuns.first)
    await until("the next has started", by: .seconds(2)) { await has("first 11:00:00 started", other) }
    #expect(try await other.ended(run).claims.last?.worker == "lab-2")
    await until("what follows it has ended") {
      await other.agent.store.schedule("then")?.lastStatus == .succeeded
    }
    await until("nothing more comes") { time.elapsed() > .seconds(7600) }
    #expect(try await ledger(other).filter { $0.hasPrefix("then") }.count == 1)
    #expect(await other.agent.store.schedule("then")?.endsToFollow == [])
    try await stop(leader, other)
  }

  @Test func `a run that failed elsewhere pauses its schedule before the next slot`() async throws {
    try recipe(
      "risky", "on: [{ every: 1h, pauseOnFailure: true }]\nsteps: [{ wait: 20m }, { fail: it broke }]\n")
    let (leader, other) = try await pair()
    await leader.agent.store.sharing?.drain()
    await until("it is paused", by: .seconds(2)) {
      await other.agent.store.schedule("risky")?.pause?.origin == .failure
    }
    await until("the next slot has passed", by: .seconds(2)) { time.elapsed() > .seconds(3 * 3600) }
    #expect(try await ledger(other) == ["risky 10:00:00 started"])
    #expect(await leader.schedules.nextDue == nil)
    try await stop(leader, other)
  }

  @Test func `an event that comes elsewhere goes to the run that waits for it, and else to a schedule`() async throws {
    try recipe("hear", "on: [{ event: { name: e } }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    let run = "0199a3f2-4c00-7abc-8def-100000000001"
    try await other.start(run, RunHostTests.event)
    await until("it waits") { database.row(of: run)?.waitsFor == ["e"] }
    _ = try await other.ask(#"{"ask":"signal","id":"e1","name":"e","data":7}"#)
    // It has some seconds before the schedules may take it.
    await until("the run has it", by: .milliseconds(5)) { await other.agent.store.event("e1")?.consumedBy == run }
    _ = try await other.ask(#"{"ask":"signal","id":"e2","name":"e","data":8}"#)
    await until("the schedule has it") { await other.agent.store.event("e2")?.consumedBy == "hear" }
    await until("it has ended") { await other.agent.store.schedule("hear")?.lastStatus == .succeeded }
    #expect(try await ledger(other).count == 1)
    try await stop(leader, other)
  }

  @Test func `an event is found where every hint is lost`() async throws {
    try recipe("hear", "on: [{ event: { name: e } }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    database.loseHints()
    let before = time.elapsed()
    _ = try await other.ask(#"{"ask":"signal","id":"e1","name":"e"}"#)
    // In small steps, so that both keep up with the time that is made to pass.
    await until("the schedule has it", by: .milliseconds(20)) {
      await other.agent.store.event("e1")?.consumedBy == "hear"
    }
    #expect(time.elapsed() - before < .seconds(10))
    try await stop(leader, other)
  }

  @Test func `what another program writes of a schedule reaches the leader, though it has nothing to decide`()
    async throws
  {
    try recipe("tick", "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    let client = SharedStateStore(SimulatedConnection(database), time: time)
    let pause = PauseRecord(at: time.now(), origin: .person, note: "exams")
    try await client.append(.schedulePaused(SchedulePaused(schedule: "tick", pause: pause)))
    await until("the leader pauses it", by: .milliseconds(100)) { await leader.schedules.nextDue == nil }
    try await client.append(.schedulePaused(SchedulePaused(schedule: "tick", pause: nil)))
    await until("the leader resumes it", by: .milliseconds(100)) { await leader.schedules.nextDue != nil }
    #expect(time.elapsed() < .seconds(60))
    try await stop(leader, other)
    try await client.close()
  }

  @Test func `a delivery is taken in wherever it comes, once, and starts a run`() async throws {
    let hook = "on: [{ webhook: { path: marks, verify: { none: true }, id: event.data.id } }]\n"
    try recipe("hook", hook + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    // Before that, a sender is told to try again.
    await until("the leader has made its schedule") { await other.agent.store.schedule("hook") != nil }
    let delivery = Delivery(fields: [("Content-Type", "application/json")], body: Array(#"{"id":"d1"}"#.utf8))
    let first = await other.schedules.receive(delivery, at: "marks")
    guard case .received(let id) = first else {
      Issue.record("\(first)")
      return
    }
    #expect(await leader.schedules.receive(delivery, at: "marks") == .known(id: id))
    #expect(await other.schedules.receive(delivery, at: "marks") == .known(id: id))
    await until("the run has ended") { await other.agent.store.schedule("hook")?.lastStatus == .succeeded }
    #expect(await other.agent.store.event(id)?.consumedBy == "hook")
    await until("each that came again has a row") { (try? await ledger(other).count) == 3 }
    #expect(try await ledger(other).filter { $0.hasSuffix("duplicate") }.count == 2)
    // An address that no recipe here has isn't one.
    #expect(await other.schedules.receive(delivery, at: "others") == .unknownPath)
    try await stop(leader, other)
  }

  // MARK: Requests

  /// The answer to a request, while time passes.
  private func answer(_ request: String, _ bench: HostBench) async throws -> String {
    let answers = Answers()
    // Ends with the answer.
    Task { answers.take((try? await bench.ask(request)) ?? []) }
    await until("it is answered", by: .milliseconds(100)) { answers.found != nil }
    return answers.found?.joined() ?? ""
  }

  @Test func `requests that steer schedules are done by the leader, whoever is asked`() async throws {
    try recipe("tick", "on: [{ cron: \"0 * * * *\", overlap: allowAll }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    let started = try await answer(#"{"ask":"trigger","id":"tick","key":"k1"}"#, other)
    #expect(started.hasPrefix(#"{"slots":[{"schedule":"tick","#))
    #expect(started.contains(#""outcome":"started""#))
    // The same key has the same answer from every agent.
    for bench in [other, leader] {
      let again = try await answer(#"{"ask":"trigger","id":"tick","key":"k1"}"#, bench)
      #expect(again.contains(#""outcome":"started""#))
    }
    #expect(try await other.agent.store.slots(SlotQuery(limit: .max)).count == 1)
    #expect(try await answer(#"{"ask":"pauseSchedule","id":"tick","note":"exams"}"#, other) == #"{"slots":[]}"#)
    #expect(await leader.schedules.nextDue == nil)
    #expect(await other.agent.store.schedule("tick")?.pause?.note == "exams")
    await until("slots have passed", by: .seconds(2)) { time.elapsed() > .seconds(2 * 3600) }
    #expect(try await answer(#"{"ask":"resumeSchedule","id":"tick"}"#, other).contains(#""outcome":"paused""#))
    #expect(
      try await ledger(other).map { $0.split(separator: " ").suffix(2).joined(separator: " ") }.last == "×2 paused")
    let backfill =
      #"{"ask":"backfill","id":"tick","from":"2026-11-20T10:00:00Z","to":"2026-11-20T11:30:00Z","dryRun":true}"#
    #expect(
      try await answer(backfill, other)
        == #"{"slots":["2026-11-20T10:00:00Z","2026-11-20T11:00:00Z"],"hasMore":false}"#)
    #expect(
      try await answer(backfill.replacing("true", with: "false"), other)
        .count(of: #""outcome":"started""#) == 2)
    #expect(
      try await answer(#"{"ask":"resetSchedule","id":"tick"}"#, other).contains("nothing to reset"))
    #expect(
      try await answer(#"{"ask":"trigger","id":"tock"}"#, other)
        == #"{"failed":{"kind":"notFound","message":"there is no schedule 'tock'; did you mean 'tick'?"}}"#)
    #expect(
      try await answer(#"{"ask":"trigger","id":"tick","inputs":{"x":1}}"#, other)
        == answer(#"{"ask":"trigger","id":"tick","inputs":{"x":1}}"#, leader))
    #expect(database.requestCount == 0)
    try await stop(leader, other)
  }

  @Test func `where no program leads, a request is done where it comes in, and the next leader knows`() async throws {
    try recipe("tick", "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done)
    let (leader, other) = try await pair()
    await until("a slot has passed", by: .seconds(2)) { await has("tick 10:00:00 started", other) }
    try await stop(leader, other)
    // A command, which isn't a worker and serves nothing.
    let client = SharedStateStore(SimulatedConnection(database), time: time)
    let bench = await HostBench(sharing: client, time: time, isServing: false, folder: folder.path)
    #expect(try await answer(#"{"ask":"pauseSchedule","id":"tick"}"#, bench) == #"{"slots":[]}"#)
    #expect(
      try await answer(#"{"ask":"trigger","id":"tick"}"#, bench).contains(
        "no agent is serving, and only an agent starts runs of schedules"))
    time.advance(by: .seconds(7200))
    let next = await self.bench("lab-3")
    await until("it leads") { await leads(next) }
    #expect(await next.schedules.nextDue == nil)
    #expect(try await answer(#"{"ask":"resumeSchedule","id":"tick"}"#, bench).contains(#""outcome":"paused""#))
    await until("a slot is due again", by: .seconds(2)) { await has("tick 13:00:00 started", next) }
    try await stop(next)
    try await client.close()
  }

  @Test func `a leader that doesn't answer is told of, and whether it may have been done`() async throws {
    try recipe("tick", "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done)
    let first = await bench("lab-1")
    await until("the schedule is known") { await first.agent.store.schedule("tick") != nil }
    try await stop(first)
    // A leader that only has the lead.
    let connection = SimulatedConnection(database)
    let worker = try await connection.register(WorkerTerms(name: "lab-0"), lease: .seconds(600))
    _ = try await connection.lead(worker, lease: .seconds(600), clock: time.now(), isWilling: true)
    let other = await bench("lab-2")
    #expect(
      try await answer(#"{"ask":"pauseSchedule","id":"tick"}"#, other)
        == #"{"failed":{"kind":"timeout","message":"no leader took the request in time, so nothing was done; try again, and see errand workers"}}"#
    )
    let answers = Answers()
    // Ends with the answer.
    Task { answers.take((try? await other.ask(#"{"ask":"pauseSchedule","id":"tick"}"#)) ?? []) }
    await until("it is asked", by: .milliseconds(100)) { database.requestCount == 1 }
    #expect(try await connection.takeRequests(by: worker).count == 1)
    // No agent gets it again.
    #expect(try await connection.takeRequests(by: worker).isEmpty)
    await until("it is answered") { answers.found != nil }
    #expect(
      answers.found == [
        #"{"failed":{"kind":"timeout","message":"the worker 'lab-0' didn't answer in time, so it isn't known whether it was done: see errand schedule log before you ask again"}}"#
      ])
    #expect(database.requestCount == 0)
    try await stop(other)
  }

  @Test func `while the lead goes to and fro, each request is done at most once`() async throws {
    try recipe("tick", "on: [{ cron: \"0 0 1 1 *\", overlap: allowAll }]\n" + ScheduleHostTests.done)
    let faults = try await doneTwice(on: database)
    #expect(faults.isEmpty, "\(faults)")
  }

  @Test func `a request that is done twice is found`() async throws {
    try recipe("tick", "on: [{ cron: \"0 0 1 1 *\", overlap: allowAll }]\n" + ScheduleHostTests.done)
    for _ in 0..<20 {
      if try await !doneTwice(on: SimulatedDatabase(.takesRequestsAgain, time: time)).isEmpty { return }
    }
    Issue.record("it isn't found")
  }

  /// The faults of starts on request while the lead changes.
  private func doneTwice(on database: SimulatedDatabase) async throws -> [String] {
    var benches: [HostBench] = []
    for name in ["lab-1", "lab-2", "lab-3"] { benches.append(await bench(name, on: database)) }
    await until("the schedule is there") { await benches[0].agent.store.schedule("tick") != nil }
    let connection = SimulatedConnection(database)
    let count = 24
    let asking = (0..<count).map { number in
      let bench = benches[number % 3]
      // Ends with the answer.
      return Task { (try? await bench.ask(#"{"ask":"trigger","id":"tick"}"#).joined()) ?? "" }
    }
    let all = Task {
      var answers: [String] = []
      for task in asking { answers.append(await task.value) }
      return answers
    }
    let answers = Answers()
    // Ends with the answers.
    Task { answers.take(await all.value) }
    var turns = 0
    await until("all are answered", by: .milliseconds(100)) {
      turns += 1
      if turns % 7 == 0, let worker = try? await connection.leader().worker {
        try? await connection.resign(WorkerIdentity(id: worker))
      }
      return answers.found != nil
    }
    let given = answers.found ?? []
    let started = try await benches[0].agent.store.slots(SlotQuery(limit: .max)).filter { $0.outcome == .started }
    let told = given.count { $0.contains(#""outcome":"started""#) }
    let open = given.count { $0.contains("it isn't known whether it was done") }
    var faults: [String] = []
    if started.count < told || started.count > told + open {
      faults.append("\(started.count) runs were started; \(told) answers say so, and \(open) don't know")
    }
    try await stop(benches)
    return faults
  }

  private final class Answers: Sendable {
    private let content = Mutex<[String]?>(nil)

    var found: [String]? { content.withLock { $0 } }

    func take(_ answers: [String]) { content.withLock { $0 = answers } }
  }
}

extension String {
  /// How often a text is in it.
  fileprivate func count(of part: String) -> Int {
    split(separator: part, omittingEmptySubsequences: false).count - 1
  }
}
