import Basics
import Calendars
import Recipes
import RunState
import Testing

@testable import Scheduler

/// Holds the scheduler against a model that looks at one slot after another and knows no rows, queue, or restart.
@Suite struct ModelTests {
  @Test(.timeLimit(.minutes(20)), arguments: 0..<60)
  func `agrees with a model that looks at every slot`(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let overlap = Trigger.Overlap.allCases.randomElement(using: &random) ?? .skip
    let entry = ScheduleEntry.every(.seconds(10)) { trigger in
      trigger.overlap = overlap
      trigger.catchup = [.none, .last, .all].randomElement(using: &random) ?? .last
      trigger.catchupWindow = [nil, .seconds(10), .seconds(100), .seconds(3000)].randomElement(using: &random) ?? nil
      trigger.catchupLimit = [nil, 1, 3, 40].randomElement(using: &random) ?? nil
      trigger.jitter = [nil, .seconds(4), .seconds(60)].randomElement(using: &random) ?? nil
      trigger.remainingRuns = [nil, nil, 20].randomElement(using: &random) ?? nil
      trigger.pausesOnFailure = Bool.random(using: &random)
    }
    var bench = try Bench([entry])
    var model = Model(entry.plan)
    var seconds = 0.0
    // How many records, and lines of the ledger, have been compared.
    var seen = 0
    var known = 0
    for step in 0..<150 {
      let now: Timestamp
      switch Int.random(in: 0..<20, using: &random) {
      case 0: seconds -= Double.random(in: 0..<100, using: &random)
      case 1: seconds += Double.random(in: 100..<5000, using: &random)
      default: seconds += Double.random(in: 0..<15, using: &random)
      }
      now = Bench.at(seconds)
      switch Int.random(in: 0..<16, using: &random) {
      case 0..<4:
        if let run = bench.state.runs.keys.randomElement(using: &random) {
          let status = [RunStatus.succeeded, .failed, .cancelled].randomElement(using: &random) ?? .failed
          try bench.end(run, status, at: now)
          model.end(run, status)
        }
      case 4:
        try bench.ask { $0.pause("backup", note: nil, at: now) }
        model.pause(now)
      case 5, 6, 7:
        try bench.ask { $0.resume("backup", at: now) }
        model.resume(now)
      case 8:
        let other = Trigger.Overlap.allCases.randomElement(using: &random)
        try bench.ask { $0.trigger("backup", overlap: other, at: now) }
        model.offer(now, .trigger, other ?? overlap)
      case 9:
        let slots = (0..<3).map { Bench.at(Double($0 * 10)) }
        try bench.ask { $0.backfill("backup", slots, overlap: .bufferOne, at: now) }
        for slot in slots where !model.waiting.contains(where: { $0.slot == slot && $0.kind == .backfill }) {
          model.offer(slot, .backfill, .bufferOne)
        }
      case 10:
        try bench.restart(at: now)
        try bench.tick(now)
        model.tick(now)
      default:
        try bench.tick(now)
        model.tick(now)
      }
      // A line at a time, so that the first difference is shown.
      let lines = expanded(bench.records.dropFirst(seen), entry.plan)
      for (index, line) in zip(known..., lines) {
        let expected = index < model.ledger.count ? model.ledger[index] : "nothing"
        try #require(line == expected, "step \(step), \(entry.plan.trigger)")
      }
      (seen, known) = (bench.records.count, known + lines.count)
      let isWhole = known == model.ledger.count
      try #require(isWhole, "step \(step), \(model.ledger.last ?? "")")
      let open = bench.state.schedules["backup"]?.openRuns
      try #require(open == model.open, "step \(step)")
    }
    // Each slot has one fate, beside having waited.
    let settled = bench.records.filter { $0.outcome != .buffered && $0.cause.kind == .slot }.flatMap { record in
      slots(of: record, entry.plan)
    }
    #expect(Set(settled).count == settled.count)
  }

  private func slots(of record: SlotRecord, _ plan: SchedulePlan) -> [Timestamp] {
    var slots = [record.slot]
    while let until = record.until, let last = slots.last, last < until, let next = plan.recurrence?.next(after: last) {
      slots.append(next)
    }
    return slots
  }

  private func expanded(_ records: some Sequence<SlotRecord>, _ plan: SchedulePlan) -> [String] {
    records.flatMap { record in
      let slots = slots(of: record, plan)
      #expect(slots.count == record.count)
      return slots.map { "\($0) \(record.outcome) \(record.cause.kind) \(record.run ?? "")" }
    }
  }
}

/// One schedule, decided slot by slot.
private struct Model {
  let plan: SchedulePlan
  var mark = Bench.noon
  var open: [String] = []
  var waiting: [(slot: Timestamp, kind: RunCause.Kind)] = []
  var isPaused = false
  var remaining: Int?
  var runs = 0
  var ledger: [String] = []

  init(_ plan: SchedulePlan) {
    self.plan = plan
    remaining = plan.trigger.remainingRuns
  }

  mutating func write(_ slot: Timestamp, _ outcome: SlotOutcome, _ kind: RunCause.Kind, run: String? = nil) {
    ledger.append("\(slot) \(outcome) \(kind) \(run ?? "")")
    if kind == .slot { mark = max(mark, slot) }
  }

  private func due(_ now: Timestamp) -> [Timestamp] {
    var slots: [Timestamp] = []
    var after = mark
    while let slot = plan.recurrence?.next(after: after), plan.due(slot, of: "backup") <= now {
      slots.append(slot)
      after = slot
    }
    return slots
  }

  mutating func tick(_ now: Timestamp) {
    guard !isPaused, remaining != 0 else { return }
    var slots = due(now)
    func age(_ slot: Timestamp) -> TimeSpan { now.span(since: slot) ?? .zero }
    let window = (plan.trigger.catchupWindow ?? .seconds(365 * 86_400)) + (plan.trigger.jitter ?? .zero)
    while let slot = slots.first, age(slot) > window {
      write(slot, .missedWindow, .slot)
      slots.removeFirst()
    }
    guard let newest = slots.last else { return }
    switch plan.trigger.catchup {
    case .last:
      for slot in slots.dropLast() { write(slot, .superseded, .slot) }
      offer(newest, .slot, plan.trigger.overlap)
    case .none:
      for slot in slots.dropLast() { write(slot, .missedPolicy, .slot) }
      if age(plan.due(newest, of: "backup")) <= .seconds(60) {
        offer(newest, .slot, plan.trigger.overlap)
      } else {
        write(newest, .missedPolicy, .slot)
      }
    case .all:
      let limit = plan.trigger.catchupLimit ?? 1000
      for slot in slots.dropLast(limit) { write(slot, .missedPolicy, .slot) }
      for slot in slots.suffix(limit) where remaining != 0 { offer(slot, .slot, plan.trigger.overlap) }
    }
  }

  mutating func offer(_ slot: Timestamp, _ kind: RunCause.Kind, _ overlap: Trigger.Overlap) {
    if open.isEmpty || overlap == .allowAll || overlap == .terminateOther { return start(slot, kind) }
    switch overlap {
    case .skip: write(slot, .skippedOverlap, kind, run: open[0])
    case .bufferOne where !waiting.isEmpty: write(slot, .dropped, kind, run: open[0])
    case .bufferAll where waiting.count == 1000: write(slot, .dropped, kind, run: open[0])
    case .cancelOther:
      for other in waiting { write(other.slot, .superseded, other.kind) }
      waiting = [(slot, kind)]
      write(slot, .buffered, kind)
    default:
      waiting.append((slot, kind))
      write(slot, .buffered, kind)
    }
  }

  private mutating func start(_ slot: Timestamp, _ kind: RunCause.Kind) {
    runs += 1
    open.append("r\(runs)")
    write(slot, .started, kind, run: "r\(runs)")
    waiting.removeAll { $0.slot == slot && $0.kind == kind }
    if kind == .slot, let left = remaining { remaining = left - 1 }
  }

  private mutating func startWaiting() {
    while open.isEmpty, let next = waiting.first(where: { !isPaused || $0.kind != .slot }) {
      if next.kind == .slot, remaining == 0 {
        write(next.slot, .dropped, .slot)
        waiting.removeAll { $0.slot == next.slot && $0.kind == next.kind }
      } else {
        start(next.slot, next.kind)
      }
    }
  }

  mutating func end(_ run: String, _ status: RunStatus) {
    open.removeAll { $0 == run }
    if plan.trigger.pausesOnFailure, status == .failed { isPaused = true }
    startWaiting()
  }

  mutating func pause(_ now: Timestamp) {
    tick(now)
    isPaused = true
  }

  mutating func resume(_ now: Timestamp) {
    guard isPaused else { return }
    if remaining != 0 { for slot in due(now) { write(slot, .paused, .slot) } }
    isPaused = false
    startWaiting()
  }
}
