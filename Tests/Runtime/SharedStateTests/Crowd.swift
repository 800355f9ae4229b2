import Basics
import RunState
import RunTestKit
import SharedState
import Synchronization

/// Programs that change the same runs, values, events and schedules at random, at the same time.
final class Crowd: Sendable {
  /// The errors that a program may get for one of its appends.
  private enum Refusal {
    case never
    /// Another program was first.
    case conflict
    /// The run has ended, or the event was consumed.
    case gone
  }

  private struct Deed: Sendable {
    let events: [StateEvent]
    let error: StateError?
    let mayBe: Refusal

    var words: String { (try? events.storedText) ?? "" }

    /// Whether it may be there, though the program doesn't know.
    var isDoubtful: Bool { error?.kind == .unavailable }
  }

  private let database: SimulatedDatabase
  private let stores: [SharedStateStore]
  private let deeds = Mutex<[Deed]>([])
  private let ticks = Stage.Counter()
  private let seed: UInt64
  private let runs: [String]

  private init(_ seed: UInt64, _ clock: ManualClock, _ flaw: SimulatedDatabase.Flaw?) {
    self.seed = seed
    let database = SimulatedDatabase(flaw)
    self.database = database
    stores = (0..<2 + Int(seed % 3)).map {
      SharedStateStore(SimulatedConnection(database), time: clock, holder: $0, newReceipt: Stage.receipts($0))
    }
    var random = SeededGenerator(seed: seed)
    runs = (0..<4).map { _ in UUID7(at: ManualClock.start, using: &random).description }
  }

  static func play(_ seed: UInt64, _ flaw: SimulatedDatabase.Flaw? = nil) async -> [String] {
    await Stage.play(seed) { clock in
      let crowd = Crowd(seed, clock, flaw)
      await crowd.begin()
      let injection = FaultInjection(crowd.database, seed: seed)
      injection.chance = [0, 10, 30][Int(seed / 3 % 3)]
      // A few programs have a database that is away for long.
      if seed % 5 == 0 { injection.chance = 85 }
      await withTaskGroup { group in
        for program in crowd.stores.indices {
          for task in 0..<2 as Range<UInt64> {
            group.addTask {
              let seed = seed &* 7 &+ UInt64(program) &* 2 &+ task
              if crowd.seed % 4 == 3 { await crowd.meet(program, task, seed) } else { await crowd.live(program, seed) }
            }
          }
        }
      }
      injection.chance = 0
      crowd.database.settle()
      do throws(StateError) { return try await crowd.audit() } catch { return [error.message] }
    }
  }

  // MARK: Actions of the programs

  private func instant() -> Timestamp {
    ManualClock.start.advanced(by: .milliseconds(ticks.next())) ?? .latest
  }

  @discardableResult private func append(_ events: [StateEvent], by program: Int, _ mayBe: Refusal) async -> StateError?
  {
    var failure: StateError?
    do throws(StateError) { try await stores[program].append(events) } catch { failure = error }
    deeds.withLock { [failure] in $0.append(Deed(events: events, error: failure, mayBe: mayBe)) }
    return failure
  }

  private func created(_ id: String, recipe: String, key: RunKey? = nil) -> StateEvent {
    .runCreated(
      RunCreated(
        run: id, at: instant(), recipe: recipe, file: "\(recipe).yaml", texts: .inline(.null), inputs: .object([:]),
        program: "test",
        cause: recipe == "alone" ? RunCause(.manual) : RunCause(.trigger, schedule: recipe == "odd" ? "even" : "odd"),
        key: key))
  }

  /// Two schedules that follow each other's recipes, and runs that ask a person.
  private func begin() async {
    for (name, other) in [("odd", "even"), ("even", "odd")] {
      let set = ScheduleSet(at: instant(), schedule: name, recipe: name, file: "f", spec: "s", follows: other)
      await append([.scheduleSet(set)], by: 0, .never)
    }
    for (place, id) in runs.enumerated() {
      let wait = WaitRecord(.approval, prompt: "Go on?")
      let now = instant()
      await append(
        [
          created(id, recipe: place % 2 == 0 ? "even" : "odd"),
          .stepWaits(StepWaits(run: id, at: now, step: "ask", now: now, wait: wait)),
        ], by: place % stores.count, .never)
    }
  }

  private func live(_ program: Int, _ seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let own = runs.indices.filter { $0 % stores.count == program }.map { runs[$0] }
    for _ in 0..<12 {
      let run = (Bool.random(using: &random) ? own : runs).randomElement(using: &random) ?? runs[0]
      let isOwn = own.contains(run)
      let now = instant()
      switch Int.random(in: 0..<18, using: &random) {
      case 0, 1:
        let step = "step \(ticks.next())"
        await append([.stepBegan(StepBegan(run: run, at: now, step: step, now: now))], by: program, .gone)
      case 2, 3: await wait(isOwn ? run : own.first ?? run, program, &random)
      case 4, 5:
        let event = EventRecord(id: "event \(ticks.next())", name: name(&random), receivedAt: now)
        await append([.eventReceived(event)], by: program, .never)
      case 6: await consume(run, program)
      case 7, 8: await note(run, program, &random)
      case 9: await setValue(run, program, &random)
      case 10:
        let name = "token \(Int.random(in: 0..<3, using: &random))"
        let token = TokenIssued(at: now, name: name, sha256: "\(ticks.next())", scopes: [.read])
        await append([.tokenIssued(token)], by: program, .conflict)
      case 11:
        let key = RunKey("key \(Int.random(in: 0..<3, using: &random))", caller: "ana")
        let id = UUID7(at: now, using: &random).description
        await append([created(id, recipe: "odd", key: key)], by: program, .conflict)
      case 12:
        let keys = [
          "digest \(Int.random(in: 0..<3, using: &random))", "digest \(Int.random(in: 0..<3, using: &random))",
        ]
        let delivery = DeliveryRecord(schedule: "odd", keys: keys, until: .latest)
        let event = EventRecord(id: "delivery \(ticks.next())", name: "hook", receivedAt: now, delivery: delivery)
        await append([.eventReceived(event)], by: program, .conflict)
      case 13, 14:
        let schedule = Bool.random(using: &random) ? "odd" : "even"
        let cause = RunCause(.slot, schedule: schedule, slot: now)
        let slot = SlotRecord(schedule: schedule, slot: now, outcome: .skippedOverlap, at: now, cause: cause)
        await append([.slotDecided(slot)], by: program, .never)
      case 15:
        let decision = DecisionRecord(isApproved: true, by: "ana", at: now)
        await append([.decisionGiven(DecisionGiven(run: run, step: "ask", decision: decision))], by: program, .gone)
      case 16:
        await append([.cancelRequested(CancelRequested(run: run, at: now))], by: program, .gone)
      default:
        if Int.random(in: 0..<3, using: &random) > 0 { continue }
        await append([.runEnded(RunEnded(run: run, at: now, status: .succeeded))], by: program, .gone)
      }
    }
  }

  /// Begins runs that wait for events, or sends those events, about when the others do.
  private func meet(_ program: Int, _ task: UInt64, _ seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    for turn in 0..<12 {
      let now = instant()
      let name = "\(program) \(turn)"
      if task == 0 {
        let run = UUID7(at: now, using: &random).description
        let wait = WaitRecord(.event, event: name)
        let waits = StateEvent.stepWaits(StepWaits(run: run, at: now, step: "wait", now: now, wait: wait))
        await append([created(run, recipe: "alone"), waits], by: program, .never)
      } else {
        await append(
          [.eventReceived(EventRecord(id: "event \(ticks.next())", name: name, receivedAt: now))],
          by: (program + 1) % stores.count, .never)
      }
    }
  }

  private func name(_ random: inout SeededGenerator) -> String { Bool.random(using: &random) ? "a" : "b" }

  private func wait(_ run: String, _ program: Int, _ random: inout SeededGenerator) async {
    let now = instant()
    let wait = WaitRecord(.event, event: name(&random))
    await append(
      [
        .stepWaits(StepWaits(run: run, at: now, step: "wait", now: now, wait: wait)),
        .runStatusChanged(RunStatusChanged(run: run, at: now, status: .waiting)),
      ], by: program, .gone)
  }

  private func consume(_ run: String, _ program: Int) async {
    guard let event = await stores[program].events(EventQuery(isUnconsumed: true, run: run)).first else { return }
    let now = instant()
    await append(
      [
        .eventConsumed(EventConsumed(at: now, id: event.id, by: run)),
        .stepEnded(StepEnded(run: run, at: now, step: "wait", now: now, status: .succeeded)),
      ], by: program, .gone)
  }

  /// Changes a note of a run, and its status, as often as another program is first.
  private func note(_ run: String, _ program: Int, _ random: inout SeededGenerator) async {
    for _ in 0..<30 {
      guard let record = await stores[program].openRun(run) else { return }
      let now = instant()
      let status: RunStatus = Bool.random(using: &random) ? .running : .queued
      let note = RunNoted(
        run: run, at: now, name: "n", value: .inline(.int(ticks.next())), condition: ValueState(record.notes["n"]))
      let events: [StateEvent] = [
        .runStatusChanged(RunStatusChanged(run: run, at: now, status: status)), .runNoted(note),
      ]
      if await append(events, by: program, .conflict)?.isConflict != true { return }
    }
    deeds.withLock { $0.append(Deed(events: [], error: .starved, mayBe: .never)) }
  }

  private func setValue(_ run: String, _ program: Int, _ random: inout SeededGenerator) async {
    let change = Bool.random(using: &random) ? StepReference(run: run, step: "ask") : nil
    for _ in 0..<30 {
      let known = await stores[program].value(named: "v")
      let set = ValueSet(
        at: instant(), name: "v", value: .inline(.int(ticks.next())), condition: ValueState(known), change: change)
      if await append([.valueSet(set)], by: program, .conflict)?.isConflict != true { return }
    }
    deeds.withLock { $0.append(Deed(events: [], error: .starved, mayBe: .never)) }
  }

  // MARK: Checks at the end

  private func audit() async throws(StateError) -> [String] {
    let deeds = deeds.withLock { $0 }
    var faults = deeds.compactMap { deed in deed.error.flatMap { Crowd.surprise($0, deed.mayBe) } }
    var counts: [String: Int] = [:]
    var written = 0
    for run in database.loggedRuns {
      faults += Audit.faults(inLogOf: run, of: database)
      let events = Audit.events(ofRun: run, in: database)
      written += events.count
      for event in events { counts["\(run) \(event)", default: 0] += 1 }
    }
    var explained = 0
    for deed in deeds {
      var own: [Int] = []
      for event in deed.events {
        if let run = event.changedRun { own.append(counts["\(run) \(try event.storedText)"] ?? 0) }
      }
      explained += own.reduce(0, +)
      if own.contains(where: { $0 > 1 }) { faults.append("\(deed.words) is there twice") }
      if Set(own).count > 1 { faults.append("\(deed.words) is there by half") }
      let isThere = own.first.map { $0 > 0 }
      if deed.error == nil, isThere == false { faults.append("\(deed.words) isn't there") }
      if let error = deed.error, !deed.isDoubtful, isThere == true {
        faults.append("\(deed.words) is there in spite of: \(error.message)")
      }
      if deed.error == nil || isThere == true { faults += try await missing(deed.events) }
    }
    if explained != written { faults.append("the logs have \(written) events, of which \(explained) were appended") }
    faults += try await contests(deeds)
    faults += await sleepers()
    faults += try await holders()
    return faults
  }

  private static func surprise(_ error: StateError, _ mayBe: Refusal) -> String? {
    if error.kind == .unavailable { return nil }
    let isGone = error.message.contains("not open") || error.message.contains("no unconsumed event")
    switch mayBe {
    case .conflict where error.isConflict || isGone: return nil
    case .gone where isGone: return nil
    default: return "unexpected: \(error.message)"
    }
  }

  /// The events outside the logs of runs that aren't in the state.
  private func missing(_ events: [StateEvent]) async throws(StateError) -> [String] {
    var missing: [String] = []
    for event in events {
      let isThere: Bool
      switch event {
      case .eventReceived(let event): isThere = await stores[0].event(event.id)?.receivedAt == event.receivedAt
      case .eventConsumed(let event): isThere = await stores[0].event(event.id)?.consumedBy == event.by
      case .tokenIssued(let token): isThere = await stores[0].tokens().contains(token)
      case .runCreated(let run):
        guard let key = run.key else { continue }
        isThere = try await stores[0].keyed(key, of: run.recipe, at: run.at)?.run == run.run
      case .runEnded(let end): isThere = try await stores[0].finishedRun(end.run)?.endedAt == end.at
      default: continue
      }
      if !isThere { missing.append("\((try? event.storedText) ?? "") isn't there") }
    }
    return missing
  }

  /// Whether each condition held for one change, and each slot is counted once.
  private func contests(_ deeds: [Deed]) async throws(StateError) -> [String] {
    var faults: [String] = []
    var sets: [(before: Value?, after: Value, isDoubtful: Bool)] = []
    var deliveries: [String: Int] = [:]
    var slots = (sure: 0, doubtful: 0)
    for deed in deeds where deed.error == nil || deed.isDoubtful {
      for event in deed.events {
        switch event {
        case .valueSet(let set):
          guard case .inline(let after) = set.value else { continue }
          var before: Value?
          if case .inline(let value)? = set.condition?.value { before = value }
          sets.append((before, after, deed.isDoubtful))
        case .eventReceived(let event):
          for key in Set(event.delivery?.keys ?? []) where !deed.isDoubtful { deliveries[key, default: 0] += 1 }
        case .slotDecided: if deed.isDoubtful { slots.doubtful += 1 } else { slots.sure += 1 }
        default: continue
        }
      }
    }
    faults += deliveries.filter { $0.value > 1 }.map { "\($0.value) deliveries with \($0.key)" }
    // Back from the last value.
    var (value, length): (Value?, Int) = (nil, 0)
    if case .inline(let last)? = await stores[0].value(named: "v") { value = last }
    while let last = value {
      guard let set = sets.first(where: { $0.after == last }) else {
        faults.append("nothing set the value \(last)")
        break
      }
      if !set.isDoubtful { length += 1 }
      value = set.before
    }
    let sure = sets.filter { !$0.isDoubtful }.count
    if length != sure { faults.append("\(sure) changes of a value are acknowledged, of which \(length) were made") }
    let ledger = try await stores[0].slots(SlotQuery(limit: 10_000)).map(\.count).reduce(0, +)
    if !(slots.sure...slots.sure + slots.doubtful).contains(ledger) {
      faults.append("\(ledger) slots are in the ledger, of \(slots.sure) and \(slots.doubtful) in doubt")
    }
    let counted = await stores[0].schedules().compactMap { $0.counts["skippedOverlap"] }.reduce(0, +)
    if counted != ledger { faults.append("schedules count \(counted) slots, and the ledger \(ledger)") }
    return faults
  }

  /// The runs that wait for an event which has come, and that nothing tells.
  private func sleepers() async -> [String] {
    var faults: [String] = []
    for event in await stores[0].events(EventQuery(isUnconsumed: true)) where event.delivery == nil {
      for run in database.openRuns where !database.hasNews(run) {
        if database.row(of: run)?.waitsFor.contains(event.name) == true {
          faults.append("nothing wakes \(run), which waits for \(event.name)")
        }
      }
    }
    return faults
  }

  /// Whether programs hold the runs that they created, as their logs say.
  private func holders() async throws(StateError) -> [String] {
    var faults: [String] = []
    for run in database.openRuns {
      let holders = stores.indices.filter { stores[$0].run(run) != nil }
      if holders.count > 1 { faults.append("\(run) is held by \(holders)") }
      if let place = runs.firstIndex(of: run), holders != [place % stores.count] {
        faults.append("\(run) is held by \(holders), not by its own")
      }
      for holder in holders {
        // The next append brings the entries that others wrote.
        try await stores[holder].append(
          .runStatusChanged(RunStatusChanged(run: run, at: instant(), status: .running)))
        let log = try LoggedRun(run, folded: nil, entries: database.log(of: run)).record
        if try stores[holder].run(run)?.storedText != log.storedText { faults.append("\(run) is held otherwise") }
      }
    }
    for store in stores {
      for run in try await store.finishedRuns(HistoryQuery(limit: 1000)) {
        let log = try LoggedRun(run.id, folded: nil, entries: database.log(of: run.id)).record
        let finished = try await store.finishedRun(run.id)
        if try finished?.storedText != log.storedText { faults.append("\(run.id) ended otherwise") }
      }
    }
    return faults
  }
}

extension StateError {
  fileprivate static let starved = StateError(.invalid, "it had thirty conflicts")
}
