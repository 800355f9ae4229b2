import ActionTestKit
import Basics
import ProcessTestKit
import Recipes
import RunState
import Scheduler
import Testing

@testable import Agent

/// The inputs of entries that hold expressions are computed when a run starts; the clock shows Friday 2026-11-20, 09:30 UTC.
@Suite(.timeLimit(.minutes(20))) struct ComputedInputsTests {
  static let done = "steps: [{ let: { x: 1 } }]\n"

  /// The inputs that the run of the newest slot was created with, as JSON.
  private func inputs(_ bench: HostBench, of schedule: String) async throws -> String {
    JSON.displayed(try await values(bench, of: schedule))
  }

  private func values(_ bench: HostBench, of schedule: String) async throws -> Value {
    let run = try #require(try await bench.store.slots(SlotQuery()).first { $0.schedule == schedule }?.run)
    let open: RunRecord? = bench.store.run(run)
    let finished: RunRecord? = try await bench.store.finishedRun(run)
    let record = try #require(open ?? finished)
    return try await bench.store.secrets.restored(record.origin.inputs, as: "the inputs")
  }

  @Test func `from the slot that was due`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": """
      inputs:
        day: timestamp
        label: string
        tags: list(string)
        more: { type: int, default: 7 }
      on:
        - cron: "0 * * * *"
          inputs:
            day: ${{ run.slot }}
            label: "${{ run.recipe }} at ${{ time.format(run.slot, '%H:%M', 'UTC') }}, ${{ now - run.slot }} late"
            tags: [fixed, "${{ run.id == '' ? 'none' : 'run' }}"]
      outputs: { day: "${{ inputs.day }}", label: "${{ inputs.label }}" }

      """ + ComputedInputsTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    await bench.pass(.seconds(1805))
    await bench.slots(until: "tick 10:00:00 started")
    let run = try #require(try await bench.store.slots(SlotQuery()).first?.run)
    await bench.until("\(run) succeeded")
    #expect(
      try await bench.outputs(run) == #"{"day":"2026-11-20T10:00:00Z","label":"tick at 10:00, 5s late"}"#)
    #expect(
      try await inputs(bench, of: "tick").contains(#""tags":["fixed","run"],"more":7"#))
  }

  @Test(arguments: ["ana", "ana s3cret-4711"])
  func `from what came with an event, also if the start waited for another process`(_ who: String) async throws {
    let folder = try ScheduleHostTests.folder([
      "hear": """
      inputs: { size: { type: int, min: 2 }, who: { type: string, default: nobody } }
      on: [{ event: e, inputs: { size: "${{ event.data.size }}", who: "${{ event.data.?who.orValue('none') }}" } }]
      steps: [{ if: inputs.size == 2, wait: { event: on } }]

      """
    ])
    let first = await HostBench(folder: folder.path)
    first.store.secrets.learn([("TOKEN", "s3cret-4711")])
    await first.serve()
    _ = try await first.ask(#"{"ask":"signal","id":"e2","name":"e","data":{"size":2}}"#)
    await first.slots(until: "hear 09:30:00 started")
    #expect(try await inputs(first, of: "hear") == #"{"size":2,"who":"none"}"#)
    await first.until("\(try #require(try await first.store.slots(SlotQuery()).first?.run)) waits")
    let waiting = try #require(first.store.state.schedules["hear"]?.openRuns.first)
    _ = try await first.ask(#"{"ask":"signal","id":"e3","name":"e","data":{"size":3,"who":"\#(who)"}}"#)
    await first.slots(until: "hear 09:30:00 buffered")
    await first.schedules.stop()
    await first.host.stop()

    first.time.advance(by: ScheduleHostTests.hour)
    let second = await HostBench(first.store, time: first.time, folder: folder.path)
    await second.serve()
    _ = try await second.ask(#"{"ask":"signal","id":"go","name":"on","run":"\#(waiting)"}"#)
    await second.slots(until: "hear 09:30:00 started")
    #expect(try await values(second, of: "hear")["who"]?.string == who)
  }

  @Test(arguments: [true, false])
  func `an event that cannot be read is refused where it is needed, and starts the rest`(_ isNeeded: Bool) async throws
  {
    let folder = try ScheduleHostTests.folder([
      "hear": """
      inputs: { who: { type: string, default: nobody } }
      on: [{ event: e\(isNeeded ? ", inputs: { who: \"${{ event.data.who }}\" }" : "") }]

      """ + ComputedInputsTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    bench.store.secrets.learn([("TOKEN", "s3cret-4711")])
    _ = try await bench.ask(#"{"ask":"signal","id":"e1","name":"e","data":{"who":"s3cret-4711"}}"#)
    let event = try #require(bench.store.state.events["e1"])
    // Like a token that was changed after the event came.
    let store = MemoryStateStore()
    store.secrets.learn([("TOKEN", "another-4711")])
    let later = await HostBench(store, time: bench.time, folder: folder.path)
    await later.serve()
    _ = try await later.host.receive(event)
    await later.slots(until: "hear 09:30:00 \(isNeeded ? "refused" : "started")")
    if isNeeded {
      let reason = try #require(try await store.slots(SlotQuery()).first?.reason)
      #expect(reason.contains("the secret 'TOKEN' has changed"), "\(reason)")
    }
  }

  @Test func `which may take no time`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": """
      inputs: { n: int }
      on: [{ cron: "0 * * * *", inputs: { n: "${{ lists.range(400000).map(x, x * 2).size() }}" } }]

      """ + ComputedInputsTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    await bench.pass(.seconds(1805))
    await bench.slots(until: "tick 10:00:00 refused")
    let slot = try #require(try await bench.store.slots(SlotQuery()).first)
    #expect(slot.reason?.contains("more than 20000 steps") == true, "\(slot.reason ?? "")")
  }

  @Test func `from the run that ended`() async throws {
    let folder = try ScheduleHostTests.folder([
      "first": "on: [{ every: 1h }]\n" + ComputedInputsTests.done,
      "then": """
      inputs: { of: string, status: string }
      on: [{ afterRecipe: first, inputs: { of: "${{ event.run }}", status: "${{ event.status }}" } }]

      """ + ComputedInputsTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    await bench.pass(.seconds(1800))
    await bench.slots(until: "then 10:00:00 started")
    let run = try #require(try await bench.store.slots(SlotQuery()).first { $0.schedule == "first" }?.run)
    #expect(try await inputs(bench, of: "then") == #"{"of":"\#(run)","status":"succeeded"}"#)
  }

  @Test(arguments: [
    (#"{"size":1}"#, "'inputs.size' must be at least 2, but is 1"),
    (#"{"size":"two"}"#, "'inputs.size' must be an int, but found a string"),
    (#"{"weight":1}"#, "the input 'size' can't be computed: there is no field `size` here"),
  ])
  func `which do not fit refuse the start, and the ledger says why`(_ data: String, _ reason: String) async throws {
    let folder = try ScheduleHostTests.folder([
      "hear":
        "inputs: { size: { type: int, min: 2 } }\non: [{ event: e, inputs: { size: \"${{ event.data.size }}\" } }]\n"
        + ComputedInputsTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    _ = try await bench.ask(#"{"ask":"signal","id":"e1","name":"e","data":\#(data)}"#)
    #expect(await bench.slots(until: "hear 09:30:00 refused") == ["hear 09:30:00 refused"])
    let found = try await bench.store.slots(SlotQuery()).first?.reason
    #expect(found == reason, "\(found ?? "none")")
    #expect(bench.store.state.runs.isEmpty)
  }

  @Test func `from a missing event are refused, and from the slot are backfilled`() async throws {
    let folder = try ScheduleHostTests.folder([
      "hear": "inputs: { size: int }\non: [{ event: e, inputs: { size: \"${{ event.data.size }}\" } }]\n"
        + ComputedInputsTests.done,
      "tick": "inputs: { at: timestamp }\non: [{ every: 1h, inputs: { at: \"${{ run.slot }}\" } }]\n"
        + ComputedInputsTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    func refusal(_ rest: String) async throws -> String {
      let answers = try await bench.ask(#"{"ask":"trigger","id":"hear"\#(rest)}"#)
      return answers.joined()
    }
    #expect(
      try await refusal("").contains(
        "the inputs of 'hear' are computed from an event, and a start out of turn has none; give them: -i size=…"))
    let misfits = try await refusal(#","texts":{"size":"x","sizes":"1"}"#)
    #expect(misfits.contains("'inputs.size' must be an int, but found 'x'"))
    #expect(misfits.contains("recipe 'hear' has no input 'sizes'; did you mean 'size'?"))
    _ = try await bench.ask(#"{"ask":"trigger","id":"hear","texts":{"size":"7"}}"#)
    await bench.slots(until: "hear 09:30:00 started")
    #expect(try await inputs(bench, of: "hear") == #"{"size":7}"#)
    _ = try await bench.ask(#"{"ask":"trigger","id":"tick"}"#)
    await bench.slots(until: "tick 09:30:00 started")
    #expect(try await inputs(bench, of: "tick") == #"{"at":"2026-11-20T09:30:00Z"}"#)
  }

  @Test func `are kept while a start waits, with the id of the run that they name`() async throws {
    let folder = try ScheduleHostTests.folder([
      "hear": """
      inputs: { size: int, own: string, seen: timestamp }
      on:
        - event: { name: e, type: { size: int } }
          inputs: { size: "${{ event.data.size }}", own: "${{ run.id }}", seen: "${{ event.time }}" }
      steps: [{ wait: { event: on } }]

      """
    ])
    let first = await HostBench(folder: folder.path)
    await first.serve()
    for number in 1...2 {
      _ = try await first.ask(
        #"{"ask":"signal","id":"e\#(number)","name":"e","data":{"size":\#(number),"more":1}}"#)
    }
    await first.slots(until: "hear 09:30:00 buffered")
    let open = try #require(first.store.state.schedules["hear"]?.openRuns.first)
    await first.until("\(open) waits")
    let waiting = try #require(first.store.state.schedules["hear"]?.buffered.first)
    let run = try #require(waiting.run)
    #expect(waiting.inputs?["size"] == .int(2))
    #expect(waiting.inputs?["own"] == .string(run))
    await first.schedules.stop()
    await first.host.stop()

    first.time.advance(by: ScheduleHostTests.hour)
    // The run no longer needs the data of its event.
    try await first.store.append([.eventsForgotten(EventsForgotten(at: first.time.now(), ids: ["e2"]))])
    let second = await HostBench(first.store, time: first.time, folder: folder.path)
    await second.serve()
    _ = try await second.ask(#"{"ask":"signal","id":"go","name":"on","run":"\#(open)"}"#)
    await second.slots(until: "hear 09:30:00 started")
    #expect(try await second.store.slots(SlotQuery()).first { $0.schedule == "hear" }?.run == run)
    #expect(
      try await inputs(second, of: "hear") == #"{"size":2,"own":"\#(run)","seen":"2026-11-20T09:30:00Z"}"#)
  }

  @Test func `data that does not fit its type refuses the slot`() async throws {
    let folder = try ScheduleHostTests.folder([
      "hear": "on: [{ event: { name: e, type: { size: int, at: timestamp? } } }]\n" + ComputedInputsTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    _ = try await bench.ask(#"{"ask":"signal","id":"e1","name":"e","data":{"at":"soon"}}"#)
    await bench.slots(until: "hear 09:30:00 refused")
    #expect(
      try await bench.store.slots(SlotQuery()).first?.reason
        == "what came with the event e1 doesn't fit: 'event.data' needs 'size' (int); 'event.data.at' must be a timestamp such as 2026-11-20T09:30:00Z, but found 'soon'"
    )
    _ = try await bench.ask(#"{"ask":"signal","id":"e2","name":"e","data":{"size":1,"at":null,"more":2}}"#)
    await bench.slots(until: "hear 09:30:00 started")
  }

  @Test func `from what the run gave that ended`() async throws {
    let folder = try ScheduleHostTests.folder([
      "first": "on: [{ every: 1h }]\nsteps: [{ let: { p: a.csv } }]\noutputs: { path: \"${{ p }}\" }\n",
      "then": """
      inputs: { path: string, of: string }
      on: [{ afterRecipe: first, inputs: { path: "${{ event.outputs.path }}", of: "${{ event.recipe }}" } }]

      """ + ComputedInputsTests.done,
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    await bench.pass(.seconds(1800))
    await bench.slots(until: "then 10:00:00 started")
    #expect(try await inputs(bench, of: "then") == #"{"path":"a.csv","of":"first"}"#)
  }

  @Test func `a state of the first version of the language keeps its meaning`() async throws {
    // Which no longer checks: what came is now `event.data`.
    let text = """
      inputs: { size: int }
      on: [{ event: { name: e, match: event.size > 1 }, inputs: { size: "${{ event.size }}" } }]
      steps: [{ if: inputs.size == 2, id: w, wait: { event: on, match: event.ok } }]

      """
    let folder = try ScheduleHostTests.folder(["hear": text])
    let store = MemoryStateStore()
    let time = TestTime()
    let file = "\(folder.path)/hear.yaml"
    let texts = StoredValue.inline(.object([file: .string(text)]))
    func cause(_ event: String) -> RunCause { RunCause(.event, schedule: "hear", event: event) }
    func event(_ id: String, _ size: Int) -> [StateEvent] {
      [
        .eventReceived(
          EventRecord(id: id, name: "e", data: .inline(.object(["size": .int(size)])), receivedAt: time.now())),
        .eventConsumed(EventConsumed(at: time.now(), id: id, by: "hear")),
      ]
    }
    let plan = SchedulePlan(
      recipe: "hear", file: file, texts: texts, inputs: .null, program: "0.2.0",
      trigger: Trigger(kind: .event(name: "e", match: nil)))
    try await store.append(
      [
        .scheduleSet(
          ScheduleSet(at: time.now(), schedule: "hear", recipe: "hear", file: file, spec: plan.spec, texts: texts))
      ] + event("e2", 2) + event("e3", 3) + [
        .slotDecided(
          SlotRecord(
            schedule: "hear", slot: time.now(), outcome: .started, at: time.now(), cause: cause("e2"), run: "r2")),
        .runCreated(
          RunCreated(
            run: "r2", at: time.now(), recipe: "hear", file: file, texts: texts, inputs: .object(["size": .int(2)]),
            program: "0.2.0", cause: cause("e2"))),
        .slotDecided(
          SlotRecord(schedule: "hear", slot: time.now(), outcome: .buffered, at: time.now(), cause: cause("e3"))),
      ])
    let bench = await HostBench(store, time: time, folder: folder.path)
    await bench.serve()
    try await bench.host.continueRun("r2")
    await bench.until("r2 waits")
    #expect(store.state.schedules["hear"]?.buffered.first?.inputs == .object(["size": .int(3)]))
    _ = try await bench.ask(#"{"ask":"signal","id":"go","name":"on","run":"r2","data":{"ok":true}}"#)
    await bench.slots(until: "hear 09:30:00 started")
    #expect(try await inputs(bench, of: "hear") == #"{"size":3}"#)
    let third = try #require(try await store.slots(SlotQuery()).first?.run)
    await bench.until("\(third) succeeded")
    _ = try await bench.ask(#"{"ask":"signal","id":"e4","name":"e","data":{"size":4}}"#)
    await bench.slots(until: "hear 09:30:00 started")
    #expect(try await inputs(bench, of: "hear") == #"{"size":4}"#)
    #expect(try await store.slots(SlotQuery()).count { $0.outcome == .started } == 3)
  }

  @Test func `events are gathered, over restarts, and start one run`() async throws {
    let folder = try ScheduleHostTests.folder([
      "hear": """
      inputs: { sizes: { type: list(int) } }
      on:
        - event: { name: e, type: { size: int }, match: event.data.size > 0 }
          batch: { for: 1h, max: 3 }
          inputs: { sizes: "${{ events.map(e, e.data.size) }}" }

      """ + ComputedInputsTests.done
    ])
    var bench = await HostBench(folder: folder.path)
    await bench.serve()
    func send(_ id: String, _ size: String) async throws {
      _ = try await bench.ask(#"{"ask":"signal","id":"\#(id)","name":"e","data":{"size":\#(size)}}"#)
    }
    for (id, size) in [("e1", "1"), ("e2", "0"), ("e3", "true"), ("e4", "4")] { try await send(id, size) }
    // Each event is reported with its outcome.
    #expect(
      await bench.slots(until: "hear gathers e4") == [
        "hear gathers e1", "e2 untaken", "hear 09:30:00 refused", "hear gathers e4",
      ])
    while bench.store.state.schedules["hear"]?.batch?.events.count ?? 0 < 2 { await Task.yield() }
    let open = try #require(bench.store.state.schedules["hear"]?.batch)
    #expect(open.events == ["e1", "e4"])
    #expect(open.due == bench.time.now().advanced(by: ScheduleHostTests.hour))
    #expect(bench.store.state.events["e1"]?.consumedBy == "hear")
    #expect(bench.store.state.events["e2"]?.consumedBy == nil)
    await bench.schedules.stop()
    await bench.host.stop()

    // The deadline passes while no agent serves.
    bench.time.advance(by: .seconds(7200))
    bench = await HostBench(bench.store, time: bench.time, folder: folder.path)
    await bench.serve()
    await bench.slots(until: "hear 09:30:00 started")
    #expect(try await inputs(bench, of: "hear") == #"{"sizes":[1,4]}"#)
    #expect(bench.store.state.schedules["hear"]?.batch == nil)
    let run = try #require(try await bench.store.slots(SlotQuery()).first?.run)
    await bench.until("\(run) succeeded")
    for number in 5...7 { try await send("e\(number)", "\(number)") }
    await bench.slots(until: "hear 11:30:00 started")
    #expect(try await inputs(bench, of: "hear") == #"{"sizes":[5,6,7]}"#)
    await bench.schedules.stop()
    await bench.host.stop()

    // One that came while no agent served opens a batch that has its alarm.
    let data = StoredValue.inline(.object(["size": .int(8)]))
    try await bench.store.append([
      .eventReceived(EventRecord(id: "e8", name: "e", data: data, receivedAt: bench.time.now()))
    ])
    bench = await HostBench(bench.store, time: bench.time, folder: folder.path)
    await bench.serve()
    #expect(bench.store.state.schedules["hear"]?.batch?.events == ["e8"])
    #expect(await bench.schedules.nextAlarm == bench.store.state.schedules["hear"]?.batch?.due)
  }
}
