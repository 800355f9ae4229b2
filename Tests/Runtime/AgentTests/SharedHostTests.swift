import ActionTestKit
import Basics
import Foundation
import Recipes
import RunState
import RunTestKit
import SharedState
import Synchronization
import Testing

@testable import Agent
import Operations
import ProcessTestKit

/// How agents host the runs of a state that they share, with one clock for all of them and for the database.
@Suite(.timeLimit(.minutes(20))) struct SharedHostTests {
  private let time = TestTime()
  private let database: SimulatedDatabase

  init() { database = SimulatedDatabase(time: time) }

  private func bench(_ name: String, offers: Set<String> = []) async -> HostBench {
    let store = SharedStateStore(
      SimulatedConnection(database), terms: WorkerTerms(name: name, offers: offers), time: time, chance: { 0.5 })
    let bench = await HostBench(sharing: store, time: time)
    _ = await bench.host.recover()
    return bench
  }

  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 100_000_000_000))" }

  /// Waits until something holds; time passes meanwhile.
  private func until(_ what: Comment, _ isTrue: () async -> Bool) async {
    for _ in 0..<2000 {
      if await isTrue() { return }
      // Pending work on a busy machine comes before the next moment; otherwise leases would end.
      for _ in 0..<50 { await Task.yield() }
      time.advance(by: .milliseconds(50))
    }
    Issue.record("it never came that \(what)")
  }

  private func status(_ id: String, _ bench: HostBench) async -> RunStatus? {
    if let run = await bench.agent.store.openRun(id) { return run.status }
    return (try? await bench.agent.store.finishedRun(id))??.status
  }

  private func stop(_ benches: HostBench...) async throws {
    for bench in benches {
      await bench.agent.stop()
      try await bench.agent.store.close()
    }
  }

  @Test func `a run that waits is held by nobody, and goes on hours later wherever there is an agent`() async throws {
    let (first, run) = (await bench("lab-1"), SharedHostTests.id(1))
    try await first.start(run, RunHostTests.night)
    await first.until("\(run) waits")
    await until("it is given up") { database.holder(of: run) == nil && first.agent.store.run(run) == nil }
    await until("nothing is left of it") { await first.host.alarmCount == 0 }
    let second = await bench("lab-2")
    try await stop(first)
    // The lease ends on the way, and is made anew.
    time.advance(by: .seconds(9 * 3600))
    await until("it has ended") { await status(run, second) == .succeeded }
    #expect(try await second.ended(run).claims.map(\.worker) == ["lab-2"])
    try await stop(second)
  }

  @Test func `a decision reaches a run that nobody holds, through any agent`() async throws {
    let (first, second, run) = (await bench("lab-1"), await bench("lab-2"), SharedHostTests.id(1))
    try await first.start(run, RunHostTests.approval)
    await until("it is given up") { database.holder(of: run) == nil }
    #expect(
      try await second.ask(#"{"ask":"decide","run":"\#(run)","approved":true}"#, as: "bob")
        == [#"{"decided":"ask","run":"\#(run)"}"#])
    await until("it has ended") { await status(run, second) == .succeeded }
    #expect(try await second.outputs(run) == #"{"by":"bob"}"#)
    try await stop(first, second)
  }

  /// The second has a number that no process has.
  @Test(arguments: [1, Int(Int32.max)])
  func `a run that a program of the folder held when it crashed is under suspicion wherever it is taken up`(
    pid: Int
  ) async throws {
    func store(_ name: String, pid: Int) -> SharedStateStore {
      SharedStateStore(
        SimulatedConnection(database), terms: WorkerTerms(name: name, pid: pid, home: "lab:/srv"), time: time,
        chance: { 0.5 })
    }
    let run = SharedHostTests.id(1)
    let first = await HostBench(sharing: store("lab-1", pid: pid), time: time)
    try await first.accept(run, RunHostTests.night)
    let place = "at 'night' or at what follows"
    try await first.agent.store.append([
      .runStatusChanged(RunStatusChanged(run: run, at: time.now(), status: .running)),
      .stepBegan(StepBegan(run: run, at: time.now(), step: "night", now: time.now(), key: run)),
      .attemptBegan(AttemptBegan(run: run, at: time.now(), step: "night", number: 1)),
      .runNoted(
        RunNoted(
          run: run, at: time.now(), name: "agent.crashedAt", value: .inline(.string(place)), condition: ValueState(nil))
      ),
    ])
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let mark = folder.appending(path: "agent.crashed")
    try Data().write(to: mark)
    let second = await HostBench(sharing: store("lab-1", pid: 0), time: time)
    _ = await second.host.recover(in: folder.path)
    #expect(!FileManager.default.fileExists(atPath: mark.path))
    let third = await bench("lab-2")
    let worker = try #require(try await third.agent.store.sharing?.workers().first { $0.pid == pid })
    try await third.agent.store.sharing?.evict(worker: worker.id)
    await until("it was taken up and given up") {
      await third.agent.store.openRun(run)?.claims.isEmpty == false && database.holder(of: run) == nil
    }
    let kept = try #require(await third.agent.store.openRun(run))
    let isSuspect = pid != 1
    #expect(kept.claims.map(\.isSuspect) == [isSuspect])
    #expect(kept.status == (isSuspect ? .paused : .waiting))
    let reason = "the agent crashed twice while this run was \(place); errand runs resume tries it once more"
    if isSuspect { #expect(kept.reason == reason) }
    try await stop(first, second, third)
  }

  @Test func `an event reaches a run that nobody holds, through any agent`() async throws {
    let (first, second, run) = (await bench("lab-1"), await bench("lab-2"), SharedHostTests.id(1))
    try await first.start(run, RunHostTests.event)
    await until("it is given up") { database.holder(of: run) == nil }
    _ = try await second.ask(#"{"ask":"signal","id":"e1","name":"e","data":7}"#)
    await until("it has ended") { await status(run, second) == .succeeded }
    #expect(try await second.outputs(run) == #"{"got":7}"#)
    try await stop(first, second)
  }

  /// It stays with its agent, because it waits for less than a minute.
  private static let short = "steps: [{ id: w, wait: 30s }, { let: { x: 1 } }]"

  @Test func `a run that is held elsewhere is cancelled there`() async throws {
    let (first, second, run) = (await bench("lab-1"), await bench("lab-2"), SharedHostTests.id(1))
    try await first.start(run, SharedHostTests.short)
    await until("it waits") { first.agent.store.run(run)?.steps["w"]?.status == .waiting }
    #expect(
      try await second.ask(#"{"ask":"cancel","run":"\#(run)","reason":"too late"}"#) == [#"{"cancelled":"\#(run)"}"#])
    await until("it has ended") { await status(run, second) == .cancelled }
    #expect(try await second.ended(run).pendingCancel?.reason == "too late")
    #expect(try await second.ended(run).claims == [])
    try await stop(first, second)
  }

  @Test func `an agent that drains gives up what rests although it is followed, and finishes what it runs`()
    async throws
  {
    let first = await bench("lab-1")
    let (night, short) = (SharedHostTests.id(1), SharedHostTests.id(2))
    try await first.start(night, RunHostTests.night)
    // Ends with the run.
    let lines = Mutex<[String]>([])
    let follower = Task {
      try await first.ask(#"{"ask":"follow","run":"\#(night)"}"#) { answer in
        lines.withLock { $0.append((try? JSON.text(answer)) ?? "") }
      }
    }
    await first.until("\(night) waits")
    try await first.start(short, SharedHostTests.short)
    await until("it waits") { first.agent.store.run(short)?.steps["w"]?.status == .waiting }
    let second = await bench("lab-2")
    let unknown = try await second.ask(#"{"ask":"drainWorker","name":"lab-3"}"#)
    #expect(
      unknown == [
        #"{"failed":{"kind":"notFound","message":"there is no worker 'lab-3'; one that stopped or lost its lease is gone, and others claim its runs; see: errand workers"}}"#
      ])
    let evicted = try await second.ask(#"{"ask":"evictWorker","name":"lab-1"}"#)
    #expect(
      evicted.first?.hasPrefix(#"{"failed":{"kind":"conflict","message":"the lease of the worker 'lab-1' is valid"#)
        == true)
    let drained = try await second.ask(#"{"ask":"drainWorker","name":"lab-1"}"#)
    #expect(drained.first?.contains(#""name":"lab-1""#) == true, "\(drained)")
    await until("it drains") { await first.host.isDraining }
    await until("it is given up") { database.holder(of: night) == nil }
    await until("it has ended") { await status(short, second) == .succeeded }
    #expect(try await second.ended(short).claims == [])
    time.advance(by: .seconds(9 * 3600))
    await until("it has ended") { await status(night, second) == .succeeded }
    #expect(try await second.ended(night).claims.map(\.worker) == ["lab-2"])
    await until("its end is told") { lines.withLock { $0.last?.hasPrefix(#"{"ended":{"#) } == true }
    try await follower.value
    try await stop(first, second)
  }

  @Test func `a run that is held elsewhere is paused there, and resumed here`() async throws {
    let (first, second, run) = (await bench("lab-1"), await bench("lab-2"), SharedHostTests.id(1))
    try await first.start(run, SharedHostTests.short)
    await until("it waits") { first.agent.store.run(run)?.steps["w"]?.status == .waiting }
    #expect(try await second.ask(#"{"ask":"pause","run":"\#(run)","reason":"no"}"#) == [#"{"paused":"\#(run)"}"#])
    await until("it is given up") { database.holder(of: run) == nil }
    #expect(await status(run, second) == .paused)
    #expect(
      try await second.ask(#"{"ask":"resume","run":"\#(run)"}"#, isFollowed: false)
        == [#"{"accepted":"\#(run)","isServing":true}"#])
    await until("it has ended") { await status(run, second) == .succeeded }
    #expect(try await second.ended(run).claims.map(\.worker) == ["lab-2"])
    try await stop(first, second)
  }

  @Test func `what happens to a run elsewhere is told to those who follow it here`() async throws {
    let lines = Mutex<[String]>([])
    let (first, second, run) = (await bench("lab-1"), await bench("lab-2"), SharedHostTests.id(1))
    try await first.start(run, SharedHostTests.short)
    await until("it waits") { first.agent.store.run(run)?.steps["w"]?.status == .waiting }
    // Ends with the run.
    let follower = Task {
      try await second.ask(#"{"ask":"follow","run":"\#(run)"}"#) { answer in
        lines.withLock { $0.append((try? JSON.text(answer)) ?? "") }
      }
    }
    await until("the run as it is comes first") { lines.withLock { $0.first?.hasPrefix(#"{"run":{"#) } == true }
    await until("it has ended") { await status(run, second) == .succeeded }
    await until("its end is told") { lines.withLock { $0.last?.hasPrefix(#"{"ended":{"#) } == true }
    #expect(lines.withLock { $0 }.contains { $0.contains(#""w""#) && $0.contains("succeeded") })
    try await follower.value
    try await stop(first, second)
  }

  @Test func `an agent whose lease is over stops what it does, and another carries it on`() async throws {
    let clock = TestTime()
    // The first one's clock doesn't move, like the clock of a frozen machine.
    let frozen = SharedStateStore(
      SimulatedConnection(database), terms: WorkerTerms(name: "lab-1"), time: clock, chance: { 0.5 })
    let first = await HostBench(sharing: frozen, time: clock)
    _ = await first.host.recover()
    let run = SharedHostTests.id(1)
    try await first.start(run, SharedHostTests.short)
    await until("it waits") { first.agent.store.run(run)?.steps["w"]?.status == .waiting }
    let second = await bench("lab-2")
    await until("it is taken over") { second.agent.store.run(run) != nil }
    #expect(second.agent.store.run(run)?.claims.map(\.worker) == ["lab-2"])
    await until("it has ended") { await status(run, second) == .succeeded }
    // The first wakes: its lease is over, and nothing of it is written any more.
    clock.advance(by: .seconds(40))
    await until("it has let go") { await first.host.active.isEmpty }
    #expect(first.agent.store.run(run) == nil)
    #expect(await first.host.failure == nil)
    let epochs = database.log(of: run).map(\.epoch)
    #expect(epochs == epochs.sorted())
    try await stop(second, first)
  }

  @Test func `a group counts the runs of all agents, and the oldest comes first`() async throws {
    let (first, second) = (await bench("lab-1"), await bench("lab-2"))
    let recipe = "concurrencyGroup: { name: marks, limit: 1 }\nsteps: [{ wait: 10s }]"
    let runs = (1...4).map(SharedHostTests.id)
    for (place, run) in runs.enumerated() { try await [first, second][place % 2].start(run, recipe) }
    var order: [String] = []
    await until("all have ended") {
      let open = await first.agent.store.openRuns(OpenRunQuery())
      #expect(open.count { $0.status != .queued } <= 1)
      for run in runs where !order.contains(run) && !open.contains(where: { $0.id == run }) { order.append(run) }
      return open.isEmpty
    }
    #expect(order == runs)
    try await stop(first, second)
  }

  @Test func `a run goes to an agent that has what it needs, also when a person resumes it elsewhere`() async throws {
    let (poor, rich) = (await bench("lab-1"), await bench("lab-2", offers: ["secret:KEY"]))
    let run = SharedHostTests.id(1)
    var created = RunCreated(
      run: run, at: time.now(), recipe: "r", file: "r.yaml",
      texts: .inline(.object(["r.yaml": .string("steps: [{ let: { x: 1 } }]")])), inputs: .object([:]), program: "test",
      language: LanguageVersion.current)
    created.needs = ["secret:KEY"]
    let client = SharedStateStore(SimulatedConnection(database), time: time)
    try await client.append([
      .runCreated(created),
      .runStatusChanged(RunStatusChanged(run: run, at: time.now(), status: .paused, reason: "a person paused it")),
    ])
    try await poor.host.resume(run)
    await until("it has ended") { await status(run, poor) == .succeeded }
    #expect(try await poor.ended(run).claims.map(\.worker) == ["lab-2"])
    try await stop(poor, rich)
    try await client.close()
  }

  /// A run that waited for an event whose data hold a secret, and was claimed by an agent without that secret.
  private func lackingRun(_ poor: HostBench, _ client: SharedStateStore, _ recipe: String) async throws -> String {
    let run = SharedHostTests.id(1)
    var created = RunCreated(
      run: run, at: time.now(), recipe: "r", file: "r.yaml",
      texts: .inline(.object(["r.yaml": .string(recipe)])), inputs: .object([:]), program: "test",
      language: LanguageVersion.current)
    created.needs = ["format:1"]
    try await client.append(.runCreated(created))
    await until("it waits") { database.row(of: run)?.waitsFor == ["e"] }
    client.secrets.learn([(name: "KEY", text: "s3cret-enough-to-find")])
    let data = try client.secrets.masked(.string("it is s3cret-enough-to-find"))
    try await client.append(
      .eventReceived(EventRecord(id: "e1", name: "e", data: .inline(data), receivedAt: time.now())))
    await until("it is left to others") {
      await poor.agent.store.openRun(run)?.needs == ["secret:KEY"] && database.holder(of: run) == nil
    }
    #expect(await status(run, poor) != .paused)
    return run
  }

  @Test func `a run goes to an agent that has the secret which its event brought`() async throws {
    let poor = await bench("lab-1", offers: ["format:1"])
    let client = SharedStateStore(SimulatedConnection(database), time: time)
    let run = try await lackingRun(poor, client, RunHostTests.event)
    let rich = await bench("lab-2", offers: ["format:1", "secret:KEY"])
    rich.agent.store.secrets.learn([(name: "KEY", text: "s3cret-enough-to-find")])
    await until("it has ended") { await status(run, rich) == .succeeded }
    #expect(try await rich.ended(run).claims.last?.worker == "lab-2")
    try await stop(poor, rich)
    try await client.close()
  }

  @Test func `a run that no agent can carry on ends without its end's steps when that is asked twice`() async throws {
    let poor = await bench("lab-1", offers: ["format:1"])
    let client = SharedStateStore(SimulatedConnection(database), time: time)
    let run = try await lackingRun(poor, client, RunHostTests.event + "\nfinally: [{ let: { x: 1 } }]")
    #expect(try await poor.host.cancel(run, reason: nil))
    let refusal = await #expect(throws: RunRefusedError.self) { try await poor.host.resume(run) }
    #expect(
      refusal?.message
        == "the run \(run) needs the secret KEY to end, which this machine lacks; it ends when a machine that has it works, "
        + "or without its 'finally' steps if you cancel it once more")
    #expect(await poor.agent.store.openRun(run)?.pendingCancel != nil)
    #expect(try await poor.host.cancel(run, reason: nil))
    #expect(await status(run, poor) == .cancelled)
    #expect(
      try await poor.ended(run).error?.message
        == "the run was cancelled without its 'finally' steps, because no machine that works now has all that they need"
    )
    try await stop(poor)
    try await client.close()
  }
}
