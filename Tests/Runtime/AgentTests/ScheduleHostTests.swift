import ActionTestKit
import Basics
import ProcessTestKit
import RunState
import Testing

@testable import Agent
@testable import Operations

/// Runs schedules; the clock starts at Friday 2026-11-20, 09:30 UTC, and the recipes are in a folder.
@Suite(.timeLimit(.minutes(20))) struct ScheduleHostTests {
  static let hour = TimeSpan.seconds(3600)
  static let done = "steps: [{ let: { x: 1 } }]\n"

  static func folder(_ recipes: [String: String]) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    for (name, text) in recipes { try write(text, name, folder) }
    return folder
  }

  static func write(_ text: String, _ name: String, _ folder: TemporaryFolder) throws {
    try Files.write(Array(text.utf8), to: "\(folder.path)/\(name).yaml")
  }

  @Test func `a slot starts a run at its instant, and the ledger says so`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    #expect(await bench.schedules.nextDue == Timestamp("2026-11-20T10:00:00Z"))
    await bench.pass(.seconds(1800))
    #expect(await bench.slots(until: "tick 10:00:00 started") == ["tick 10:00:00 started"])
    let slot = try #require(try await bench.store.slots(SlotQuery()).first)
    let run = try #require(slot.run)
    await bench.until("\(run) succeeded")
    #expect(slot.lateBy == nil)
    #expect(
      try await bench.ended(run).origin.cause == RunCause(.slot, schedule: "tick", slot: slot.slot))
    #expect(bench.store.state.schedules["tick"]?.lastStatus == .succeeded)
    await bench.pass(ScheduleHostTests.hour)
    await bench.slots(until: "tick 11:00:00 started")
  }

  @Test func `slots missed while no agent served are caught up on, and recorded`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ cron: \"0 * * * *\" }]\n" + ScheduleHostTests.done
    ])
    let first = await HostBench(folder: folder.path)
    await first.serve()
    await first.schedules.stop()
    await first.host.stop()
    first.time.advance(by: .seconds(5 * 3600))
    let second = await HostBench(first.store, time: first.time, folder: folder.path)
    await second.serve()
    await second.pass(.seconds(1))
    #expect(
      await second.slots(until: "tick 14:00:00 started") == [
        "tick 10:00:00 ×4 superseded", "tick 14:00:00 started",
      ])
    #expect(try await second.store.slots(SlotQuery()).first?.lateBy == .seconds(1800))
  }

  @Test func `a mark ahead of the clock is reported, and after a reset no slot starts twice`()
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ cron: \"0 * * * *\", overlap: allowAll }]\n" + ScheduleHostTests.done
    ])
    let first = await HostBench(folder: folder.path)
    await first.serve()
    // The clock was a day ahead, and a slot of tomorrow has a run.
    await first.pass(.seconds(86_400))
    await first.slots(until: "tick 09:00:00 started")
    await first.schedules.stop()
    await first.host.stop()

    let second = await HostBench(first.store, folder: folder.path)
    await second.serve()
    let told = "tick starts nothing before 2026-11-21T09:00:00Z"
    #expect(await second.slots(until: told) == [told])
    #expect(await second.schedules.nextDue == Timestamp("2026-11-21T10:00:00Z"))
    _ = try await second.ask(#"{"ask":"resetSchedule","id":"tick"}"#)
    let record = try #require(
      try await second.store.slots(SlotQuery()).first { $0.outcome == .reset })
    #expect(record.slot == second.time.now())
    #expect(record.until == Timestamp("2026-11-21T09:00:00Z"))
    #expect(
      record.reason
        == "the clock was once ahead, and a person had the slots until 2026-11-21T09:00:00Z decided again; 1 of them has a run and doesn't start again"
    )
    #expect(
      try await second.ask(#"{"ask":"resetSchedule","id":"tick"}"#).first?.contains(
        "nothing to reset") == true)
    #expect(await second.schedules.nextDue == Timestamp("2026-11-20T10:00:00Z"))
    await second.pass(.seconds(1800))
    await second.slots(until: "tick 10:00:00 started")
    await second.schedules.stop()
    await second.host.stop()

    // Also by an agent that reads it from the state.
    let third = await HostBench(first.store, time: second.time, folder: folder.path)
    await third.serve()
    await third.pass(.seconds(82_000))
    await third.slots(until: "tick 08:00:00 started")
    await third.pass(ScheduleHostTests.hour)
    await third.slots(until: "tick 09:00:00 dropped")
    let started = try await third.store.slots(SlotQuery(limit: 1000)).filter {
      $0.slot == Timestamp("2026-11-21T09:00:00Z") && $0.outcome == .started
    }
    #expect(started.count == 1)
    await third.pass(ScheduleHostTests.hour)
    await third.slots(until: "tick 10:00:00 started")
    #expect(third.store.state.schedules["tick"]?.started == [])
  }

  @Test func `an entry that follows no recipe of the folders is reported once`() async throws {
    let folder = try ScheduleHostTests.folder([
      "first": ScheduleHostTests.done,
      "then": "on: [{ afterRecipe: frst }]\n" + ScheduleHostTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let told =
      "then: no recipe of the folders is named 'frst', so this starts nothing; did you mean 'first'?"
    #expect(await bench.slots(until: told) == [told])
    try ScheduleHostTests.write(
      "on: [{ at: 2026-11-20T10:00:00Z }]\n" + ScheduleHostTests.done, "third", folder)
    _ = await bench.schedules.look()
    await bench.pass(.seconds(1800))
    #expect(await bench.slots(until: "third 10:00:00 started") == ["third 10:00:00 started"])
  }

  @Test func `the end of a run starts what follows it, and what waits for it`() async throws {
    let folder = try ScheduleHostTests.folder([
      "first": "on: [{ every: 1h, overlap: bufferOne }]\nsteps: [{ wait: 90m }]\n",
      "then": "on: [{ afterRecipe: first }]\n" + ScheduleHostTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    await bench.pass(.seconds(1800))
    await bench.slots(until: "first 10:00:00 started")
    await bench.until("\(bench.store.state.schedules["first"]?.openRuns.first ?? "") waits")
    await bench.pass(ScheduleHostTests.hour)
    await bench.slots(until: "first 11:00:00 buffered")
    await bench.pass(.seconds(1800))
    let news = await bench.slots(until: "then 11:30:00 started")
    #expect(news == ["first 11:00:00 started", "then 11:30:00 started"])
  }

  @Test
  func
    `an event that no run takes starts schedules that listen, also if it came while no agent served`()
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "hear": "on: [{ event: { name: e, match: event.data.size > 1 } }]\n" + ScheduleHostTests.done
    ])
    let first = await HostBench(folder: folder.path)
    await first.serve()
    _ = try await first.ask(#"{"ask":"signal","id":"e1","name":"e","data":{"size":1}}"#)
    _ = try await first.ask(#"{"ask":"signal","id":"e2","name":"e","data":{"size":2}}"#)
    #expect(
      await first.slots(until: "hear 09:30:00 started") == ["e1 untaken", "hear 09:30:00 started"])
    // A run that is still open would be in the way of the next.
    await first.until(
      "\(try #require(try await first.store.slots(SlotQuery()).first?.run)) succeeded")
    #expect(first.store.state.events["e1"]?.consumedBy == nil)
    #expect(first.store.state.events["e2"]?.consumedBy == "hear")
    await first.schedules.stop()
    await first.host.stop()
    first.time.advance(by: ScheduleHostTests.hour)
    let command = await HostBench(first.store, time: first.time, isServing: false)
    _ = try await command.ask(#"{"ask":"signal","id":"e3","name":"e","data":{"size":3}}"#)
    #expect(first.store.state.events["e3"]?.consumedBy == nil)
    let second = await HostBench(first.store, time: first.time, folder: folder.path)
    await second.serve()
    #expect(await second.slots(until: "hear 10:30:00 started") == ["hear 10:30:00 started"])
    #expect(first.store.state.events["e3"]?.consumedBy == "hear")
  }

  @Test func `a recipe that cannot start here is reported at once, and its slots are refused`()
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "tick": "summary: the secret X\non: [{ every: 1h }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    await bench.pass(.seconds(1800))
    #expect(
      await bench.slots(until: "tick 10:00:00 refused") == [
        "tick refuses: not here: the secret X", "tick 10:00:00 refused",
      ])
  }

  @Test func `the last valid version outlives a broken edit and the process that read it`()
    async throws
  {
    let good = "on: [{ every: 1h }]\n" + ScheduleHostTests.done
    let folder = try ScheduleHostTests.folder(["tick": good])
    let first = await HostBench(folder: folder.path)
    await first.serve()
    try ScheduleHostTests.write("on: [{ evry: 1h }]\n" + ScheduleHostTests.done, "tick", folder)
    let broken = await first.schedules.look()
    guard case .broken(_, let faults, let item?)? = broken.first else {
      Issue.record("\(broken)")
      return
    }
    #expect(faults.count == 1 && item.name == "tick")
    // Reported once.
    #expect(await first.schedules.look().isEmpty)
    #expect(first.store.state.schedules["tick"] != nil)
    await first.schedules.stop()
    await first.host.stop()

    let second = await HostBench(first.store, time: first.time, folder: folder.path)
    await second.serve()
    #expect(await second.schedules.recipes.map(\.name) == ["tick"])
    await second.pass(.seconds(1800))
    await second.slots(until: "tick 10:00:00 started")
    // A run that is still open would have the next slot skipped.
    await second.until(
      "\(try #require(try await second.store.slots(SlotQuery()).first?.run)) succeeded")
    try ScheduleHostTests.write("summary: \"\"\n" + good, "tick", folder)
    guard case .changed? = await second.schedules.look().first else {
      Issue.record("it is not mended")
      return
    }
    await second.pass(ScheduleHostTests.hour)
    await second.slots(until: "tick 11:00:00 started")
  }

  @Test func `the text of a recipe with many entries is kept once, and listed once`() async throws {
    let entries = (0..<300).map { "  - { id: e\($0), cron: \"\($0 % 60) 12 * * *\" }\n" }.joined()
    let folder = try ScheduleHostTests.folder([
      "many": "on:\n" + entries + ScheduleHostTests.done,
      "one": "on: [{ every: 1h }]\n" + ScheduleHostTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let schedules = bench.store.state.schedules
    #expect(schedules.count == 301)
    let texts = try #require(schedules["many/e0"]?.texts)
    guard case .blob = texts, case .inline? = schedules["one"]?.texts else {
      Issue.record("\(texts)")
      return
    }
    #expect(schedules.values.filter { $0.recipe == "many" }.allSatisfy { $0.texts == texts })
    let answer = try await bench.service.perform(ListSchedules(), for: AgentCaller(name: "ann"))
    let (listed, words) = (answer.schedules, answer.words)
    #expect(listed.count == 301 && words.count == 301 && words["one"]?.hasPrefix("every ") == true)
    #expect(listed.compactMap { $0.texts == nil ? nil : $0.id } == ["many/e0", "one"])
    #expect(listed.first?.texts == .inline(try await bench.store.value(texts)))
    await bench.pass(.seconds(9000))
    await bench.slots(until: "many/e0 12:00:00 started")
    let slot = try #require(try await bench.store.slots(SlotQuery(schedule: "many/e0")).first)
    await bench.until("\(try #require(slot.run)) succeeded")
  }

  @Test func `removing a recipe removes its schedule, and an unlisted folder does not`()
    async throws
  {
    let text = "on: [{ every: 1h }]\n" + ScheduleHostTests.done
    let folder = try ScheduleHostTests.folder(["a": text, "b": text])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    try Files.remove("\(folder.path)/a.yaml")
    #expect(await bench.schedules.look().isEmpty)
    #expect(await bench.schedules.looksAgain)
    guard case .removed? = await bench.schedules.look().first else {
      Issue.record("it is still there")
      return
    }
    #expect(bench.store.state.schedules.keys.sorted() == ["b"])
    try Files.remove("\(folder.path)/b.yaml")
    try Files.remove(folder.path)
    for _ in 0..<3 { _ = await bench.schedules.look() }
    #expect(bench.store.state.schedules.keys.sorted() == ["b"])
    // Nor for an agent that starts while the folder is missing.
    await bench.schedules.stop()
    await bench.host.stop()
    let second = await HostBench(bench.store, time: bench.time, folder: folder.path)
    await second.serve()
    #expect(bench.store.state.schedules.keys.sorted() == ["b"])
  }

  @Test func `two files cannot have one name, and the second takes it once the first is gone`()
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "a": "recipe: same\n" + ScheduleHostTests.done,
      "b": "recipe: same\n" + ScheduleHostTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    let news = await bench.schedules.look()
    guard case .broken(let file, let faults, nil)? = news.last else {
      Issue.record("\(news)")
      return
    }
    #expect(file == "\(folder.path)/b.yaml")
    #expect(
      faults.first?.message
        == "the recipe 'same' is that of '\(folder.path)/a.yaml' already; give one of them another name"
    )
    try Files.remove("\(folder.path)/a.yaml")
    _ = await bench.schedules.look()
    _ = await bench.schedules.look()
    #expect(await bench.schedules.recipes.map(\.file) == ["\(folder.path)/b.yaml"])
  }

  @Test func `a state that differs from the scheduler's has the schedules made again`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ every: 1h }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    try await bench.store.append(
      .scheduleRemoved(ScheduleRemoved(at: bench.time.now(), schedule: "tick")))
    await bench.pass(.seconds(1800))
    #expect(await bench.slots(until: "made again") == ["made again"])
    // A scheduler made an hour later would not know the slot in between.
    while bench.store.state.schedules["tick"] == nil { await Task.yield() }
    await bench.pass(ScheduleHostTests.hour)
    await bench.slots(until: "tick 11:00:00 started")
  }

  // MARK: Requests

  @Test func `a schedule is paused, resumed, triggered and backfilled`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ every: 1h }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    #expect(
      try await bench.ask(#"{"ask":"pauseSchedule","id":"tick","note":"holiday"}"#) == [
        #"{"slots":[]}"#
      ])
    #expect(bench.store.state.schedules["tick"]?.pause?.note == "holiday")
    #expect(await bench.schedules.nextDue == nil)
    bench.time.advance(by: .seconds(3 * 3600))
    let resumed = try await bench.ask(#"{"ask":"resumeSchedule","id":"tick"}"#)
    #expect(resumed.first?.contains(#""count":3,"outcome":"paused""#) == true, "\(resumed)")
    let triggered = try JSON.parse(
      try #require(try await bench.ask(#"{"ask":"trigger","id":"tick"}"#).first))
    #expect(triggered["slots"]?.list?.first?["outcome"] == .string("started"))
    let times = #""from":"2026-11-20T10:00:00Z","to":"2026-11-20T12:00:00Z""#
    #expect(
      try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(times),\"dryRun\":true}") == [
        #"{"slots":["2026-11-20T10:00:00Z","2026-11-20T11:00:00Z"],"hasMore":false}"#
      ])
    _ = try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(times)}")
    await bench.slots(until: "tick 11:00:00 started")
    #expect(
      try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(times),\"dryRun\":true}") == [
        #"{"slots":[],"hasMore":false}"#
      ])
  }

  @Test
  func `a backfill of more slots than it starts is refused with the part that it would start`()
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ cron: '* * * * *' }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let times = #""from":"0263-01-01T00:00:00Z","to":"2026-11-20T09:00:00Z""#
    let dry = try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(times),\"dryRun\":true}")
    let listed = try JSON.parse(try #require(dry.first))
    #expect(listed["slots"]?.list?.count == 1000 && listed["hasMore"] == .bool(true))
    #expect(listed["slots"]?.list?.last == .string("0263-01-01T16:39:00Z"))
    let refused = try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(times)}")
    let message =
      "'tick' has more than 1000 slots without a run from 0263-01-01T00:00:00Z until before 2026-11-20T09:00:00Z; backfill them in parts, this one with 'to' 0263-01-01T16:40:00Z"
    #expect(
      refused == [
        try JSON.text(
          .object(["failed": .object(["kind": .string("request"), "message": .string(message)])]))
      ])
    #expect(bench.store.state.slots.isEmpty && bench.store.state.openRuns.isEmpty)
    // One after another, because the entry skips overlapping slots.
    let part = #""from":"2026-11-20T09:00:00Z","to":"2026-11-20T09:02:00Z""#
    _ = try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(part)}")
    await bench.slots(until: "tick 09:01:00 started")
    #expect(
      try await bench.ask("{\"ask\":\"backfill\",\"id\":\"tick\",\(part)}") == [#"{"slots":[]}"#])
  }

  @Test(arguments: [
    (
      #"{"ask":"trigger","id":"tik"}"#, "notFound",
      "there is no schedule 'tik'; did you mean 'tick'?"
    ),
    (
      #"{"ask":"trigger","id":"tick","overlap":"skp"}"#, "request",
      "the request 'trigger' isn't valid: 'overlap' must be 'skip' or 'bufferOne' or 'bufferAll' or 'cancelOther' or 'terminateOther' or 'allowAll', but found 'skp'; did you mean 'skip'?"
    ),
    (
      #"{"ask":"backfill","id":"tick","from":"2026-11-20T10:00:00Z"}"#, "request",
      "the request 'backfill' isn't valid: 'to' is missing"
    ),
    (
      #"{"ask":"backfill","id":"tick","from":"2026-11-20T10:00:00Z","to":"2026-11-20T10:00:00Z"}"#,
      "request",
      "a backfill needs an instant 'from' and a later one 'to'"
    ),
  ])
  func `says why a request is refused`(_ request: String, _ kind: String, _ message: String)
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ every: 1h }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let failed: Value = .object([
      "failed": .object(["kind": .string(kind), "message": .string(message)])
    ])
    #expect(try await bench.ask(request) == [try JSON.text(failed)])
  }

  @Test func `a command can pause and resume where no agent serves, and starts nothing`()
    async throws
  {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ every: 1h }]\n" + ScheduleHostTests.done
    ])
    let first = await HostBench(folder: folder.path)
    await first.serve()
    await first.schedules.stop()
    await first.host.stop()
    let command = await HostBench(
      first.store, time: first.time, isServing: false, folder: folder.path)
    _ = try await command.ask(#"{"ask":"pauseSchedule","id":"tick"}"#)
    #expect(first.store.state.schedules["tick"]?.pause?.origin == .person)
    first.time.advance(by: .seconds(2 * 3600))
    let resumed = try await command.ask(#"{"ask":"resumeSchedule","id":"tick"}"#)
    #expect(resumed.first?.contains(#""count":2,"outcome":"paused""#) == true, "\(resumed)")
    let refusal = try #require(try await command.ask(#"{"ask":"trigger","id":"tick"}"#).first)
    #expect(
      refusal.contains("\"kind\":\"notServing\"")
        && refusal.contains("errand run \(folder.path)/tick.yaml"))
    #expect(first.store.state.openRuns.isEmpty)
  }
}
