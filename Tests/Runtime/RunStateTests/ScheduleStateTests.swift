import Basics
import Glibc
import RunTestKit
import Testing

@testable import RunState

/// How schedules, slots, events and waits fold into the state.
@Suite struct ScheduleStateTests {
  static let set = StateEvent.scheduleSet(
    ScheduleSet(
      at: instant(0), schedule: "backup/night", recipe: "backup", file: "backup.yaml", spec: "cron 0 2 * * *",
      processedUntil: instant(0), remainingRuns: 2))

  static func decided(
    _ outcome: SlotOutcome, slot: Int, until: Int? = nil, count: Int = 1, run: String? = nil
  ) -> StateEvent {
    .slotDecided(
      SlotRecord(
        schedule: "backup/night", slot: instant(slot), until: until.map(instant), count: count, outcome: outcome,
        at: instant(90), cause: RunCause(.slot, schedule: "backup/night", slot: instant(slot)), run: run))
  }

  static func started(_ run: String, slot: Int) -> StateEvent {
    .runCreated(
      RunCreated(
        run: run, at: instant(90), recipe: "backup", file: "backup.yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "1", cause: RunCause(.slot, schedule: "backup/night", slot: instant(slot))))
  }

  @Test func `a slot that starts a run moves the mark and counts`() throws {
    var state = try Example.fold([Self.set, Self.decided(.started, slot: 10, run: "r"), Self.started("r", slot: 10)])
    var schedule = try #require(state.schedules["backup/night"])
    #expect(schedule.processedUntil == instant(10))
    #expect(schedule.remainingRuns == 1)
    #expect(schedule.openRuns == ["r"])
    #expect(state.slots.map(\.run) == ["r"])
    try state.apply(.runEnded(RunEnded(run: "r", at: instant(91), status: .failed)))
    schedule = try #require(state.schedules["backup/night"])
    #expect(schedule.openRuns.isEmpty)
    #expect(schedule.lastStatus == .failed)
    #expect(schedule.counts == ["started": 1])
  }

  @Test(arguments: [RunStatus.failed, .timedOut, .succeeded, .cancelled])
  func `a schedule may be paused by a run that fails`(_ status: RunStatus) throws {
    var set = ScheduleSet(at: instant(0), schedule: "backup/night", recipe: "backup", file: "b.yaml", spec: "")
    set.pausesOnFailure = true
    let over = StateEvent.runEnded(RunEnded(run: "r", at: instant(91), status: status))
    let state = try Example.fold([
      .scheduleSet(set), Self.decided(.started, slot: 10, run: "r"), Self.started("r", slot: 10), over,
    ])
    let pause = PauseRecord(at: instant(91), origin: .failure, note: "the run r ended as \(status)")
    #expect(state.schedules["backup/night"]?.pause == (status == .failed || status == .timedOut ? pause : nil))
    #expect(try State(reading: state.encoded()) == state)
  }

  @Test func `a buffered slot is settled once, later`() throws {
    var state = try Example.fold([Self.set, Self.decided(.buffered, slot: 10), Self.decided(.buffered, slot: 20)])
    #expect(state.slots.isEmpty)
    #expect(state.schedules["backup/night"]?.buffered.map(\.slot) == [instant(10), instant(20)])
    try state.apply(Self.decided(.started, slot: 10, run: "r"))
    #expect(state.schedules["backup/night"]?.buffered.map(\.slot) == [instant(20)])
    #expect(state.schedules["backup/night"]?.processedUntil == instant(20))
    #expect(state.slots.map(\.outcome) == [.started])
  }

  @Test func `a row of slots moves the mark to its last`() throws {
    let state = try Example.fold([Self.set, Self.decided(.missedWindow, slot: 10, until: 70, count: 7)])
    #expect(state.schedules["backup/night"]?.processedUntil == instant(70))
    #expect(state.schedules["backup/night"]?.counts == ["missedWindow": 7])
  }

  @Test func `the requests of two runs that end at one instant stay distinct, even with a snapshot in between`()
    async throws
  {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    let decided = ["r1", "r2"].map { run in
      SlotRecord(
        schedule: "backup/night", slot: instant(10), outcome: .missedPolicy, at: instant(10),
        cause: RunCause(.afterRecipe, schedule: "backup/night", run: run))
    }
    try await store.append([Self.set, .slotDecided(decided[0])])
    try await store.compact()
    try await store.append([.slotDecided(decided[1])])
    #expect(try await store.slots(SlotQuery(limit: 10)) == decided.reversed())
    try await store.compact()
    #expect(try await store.slots(SlotQuery(limit: 10)) == decided.reversed())
    try await store.close()
  }

  @Test func `the mark never goes back`() throws {
    var state = try Example.fold([Self.set, Self.decided(.superseded, slot: 50), Self.decided(.superseded, slot: 40)])
    try state.apply(Self.set)
    #expect(state.schedules["backup/night"]?.processedUntil == instant(50))
  }

  @Test func `a schedule that follows a recipe keeps its ends until it has decided`() throws {
    let follower = ScheduleSet(
      at: instant(0), schedule: "report", recipe: "report", file: "report.yaml", spec: "after backup",
      follows: "backup")
    var state = try Example.fold([
      Self.set, .scheduleSet(follower), Self.started("r", slot: 10),
      .runEnded(RunEnded(run: "r", at: instant(91), status: .succeeded)),
    ])
    #expect(
      state.schedules["report"]?.endsToFollow == [FollowedEnd(run: "r", status: .succeeded, at: instant(91))])
    #expect(try recordedBytes(of: state) == JSON.write(state.encoded()))
    let read = try State(reading: state.encoded())
    #expect(read == state)
    try state.apply(
      .slotDecided(
        SlotRecord(
          schedule: "report", slot: instant(91), outcome: .started, at: instant(92),
          cause: RunCause(.afterRecipe, schedule: "report", run: "r"), run: "s")))
    #expect(state.schedules["report"]?.endsToFollow == [])
  }

  @Test func `an event is accepted once and consumed once`() throws {
    let event = StateEvent.eventReceived(EventRecord(id: "e1", name: "ready", receivedAt: instant(1)))
    var state = try Example.fold([event])
    #expect(throws: RecordError.self) { try state.apply(event) }
    try state.apply(.eventConsumed(EventConsumed(at: instant(2), id: "e1", by: "r")))
    #expect(state.events["e1"]?.consumedBy == "r")
    #expect(throws: RecordError.self) {
      try state.apply(.eventConsumed(EventConsumed(at: instant(3), id: "e1", by: "s")))
    }
    try state.apply(.eventsForgotten(EventsForgotten(at: instant(9), ids: ["e1"])))
    #expect(state.events.isEmpty)
  }

  @Test func `a step waits, is decided on, and ends`() throws {
    let wait = WaitRecord(.approval, wakeAt: instant(60), prompt: "Put them?", by: ["ana"])
    let decision = DecisionRecord(isApproved: true, by: "ana", at: instant(5), comment: "fine")
    let state = try Example.fold([
      Example.created("r"),
      .stepWaits(StepWaits(run: "r", at: instant(1), step: "ask", now: instant(1), wait: wait)),
      .runStatusChanged(RunStatusChanged(run: "r", at: instant(1), status: .waiting, wakeAt: instant(60))),
      .decisionGiven(DecisionGiven(run: "r", step: "ask", decision: decision)),
    ])
    #expect(state.runs["r"]?.wakeAt == instant(60))
    #expect(state.runs["r"]?.steps["ask"]?.status == .waiting)
    #expect(state.runs["r"]?.steps["ask"]?.wait == wait)
    #expect(state.runs["r"]?.steps["ask"]?.decision == decision)
    #expect(try State(reading: state.encoded()) == state)
  }

  @Test func `a step asks for values, is answered once, and forgets both when it is erased`() throws {
    var wait = WaitRecord(.ask, prompt: "Which room?")
    wait.fields = .object(["room": .string("string")])
    var answer = DecisionRecord(isApproved: true, by: "ana", at: instant(5))
    answer.fields = .object(["room": .string("B12")])
    let given = StateEvent.answerGiven(DecisionGiven(run: "r", step: "ask", decision: answer))
    var state = try Example.fold([Example.created("r")])
    #expect(throws: RecordError.self) { try state.apply(given) }
    try state.apply(.stepWaits(StepWaits(run: "r", at: instant(1), step: "ask", now: instant(1), wait: wait)))
    try state.apply(given)
    #expect(throws: RecordError.self) { try state.apply(given) }
    let step = try #require(state.runs["r"]?.steps["ask"])
    #expect(step.wait == wait && step.decision == answer && !step.asksPerson)
    #expect(try State(reading: state.encoded()) == state)
    let erased = step.erased
    #expect(erased.wait?.fields == nil && erased.decision?.fields == .map(ValueMap()))
    #expect(erased.decision?.words == "answered by ana")
  }

  // MARK: Rows

  /// A slot that the run `r` was in the way of.
  private static func skipped(_ slot: Int, by run: String = "r") -> StateEvent {
    .slotDecided(
      SlotRecord(
        schedule: "backup/night", slot: instant(slot), outcome: .skippedOverlap, at: instant(slot),
        cause: RunCause(.slot, schedule: "backup/night", slot: instant(slot)), run: run,
        reason: "the run \(run) has not ended"))
  }

  @Test func `a skipped slot that is in the ledger since a failed snapshot doesn't grow`() async throws {
    for operation in 1...40 {
      let disk = FaultyFileSystem()
      let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
      try await store.append([Self.set, Self.skipped(1)])
      disk.fail(at: operation, .error(EIO))
      try? await store.compact()
      let next = try await FileStateStore.open(
        "/state", program: "errand 0.1", fileSystem: disk.restarted(losing: .nothing))
      try await next.append([Self.skipped(2)])
      try await next.compact()
      let rows = try await next.slots(SlotQuery(limit: 10))
      #expect(rows.reduce(0) { $0 + $1.count } == 2, "\(operation): \(rows)")
    }
  }

  @Test func `consecutive skipped slots are one record, as long as one run is in the way`() throws {
    let state = try Example.fold(
      [Self.set] + (1...50).map { Self.skipped($0) } + [Self.decided(.refused, slot: 51)]
        + (52...60).map { Self.skipped($0) } + (61...70).map { Self.skipped($0, by: "s") })
    #expect(
      state.slots.map {
        "\($0.slot.seconds - instant(0).seconds) \($0.until.map { $0.seconds - instant(0).seconds } ?? 0) \($0.count) \($0.outcome)"
      }
        == ["1 50 50 skippedOverlap", "51 0 1 refused", "52 60 9 skippedOverlap", "61 70 10 skippedOverlap"])
    #expect(state.schedules["backup/night"]?.counts["skippedOverlap"] == 69)
    #expect(state.schedules["backup/night"]?.processedUntil == instant(70))
    #expect(try State(reading: state.encoded()) == state)
  }

  @Test func `no slot of a row is lost or recorded twice, whichever operation of a snapshot is the last`() async throws
  {
    func store(_ disk: FaultyFileSystem) async throws -> FileStateStore {
      try await FileStateStore.open("/state", program: "1", fileSystem: disk)
    }
    let before = FaultyFileSystem()
    let first = try await store(before)
    try await first.append([Self.set] + (1...50).map { Self.skipped($0) })
    for phase in FaultyFileSystem.Phase.allCases {
      for loss in [FaultyFileSystem.Loss.everything, .nothing, .some(seed: 3)] {
        for operation in 1... {
          let disk = before.restarted(losing: .nothing)
          disk.fail(at: operation, .crash(phase))
          if let crashed = try? await store(disk) { try? await crashed.compact() }
          guard disk.isStopped else { break }
          let after = disk.restarted(losing: loss)
          let again = try await store(after)
          try await again.append((51...60).map { Self.skipped($0) })
          try await again.close()
          let last = try await store(after)
          let place: Comment = "operation \(operation), \(phase), losing \(loss)"
          #expect(try await last.slots(SlotQuery(limit: 1000)).reduce(0) { $0 + $1.count } == 60, place)
        }
      }
    }
  }

  @Test func `a snapshot takes finished records out of memory before the journal is large`() async throws {
    let store = try await FileStateStore.open("/state", program: "1", fileSystem: FaultyFileSystem())
    for batch in 0..<30 {
      try await store.append(
        (0..<100).flatMap { [Example.created("r\(batch)-\($0)"), Example.over("r\(batch)-\($0)")] })
      #expect(store.state.ended.count <= 2100)
    }
    #expect(store.state.ended.count < 1000)
    #expect(try await store.finishedRuns(HistoryQuery(limit: 10_000)).count == 3000)
    try await store.close()
  }
}
