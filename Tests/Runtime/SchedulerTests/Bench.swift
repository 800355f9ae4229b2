import ActionKit
import Basics
import Calendars
import Recipes
import RunState
import Synchronization
import Testing

@testable import Scheduler

/// Gives ids in the order of requests, from r1 on.
final class Numbers: Sendable {
  private let last = Mutex(0)

  func next() -> String { "r\(last.withLock { $0 += 1; return $0 })" }
}

/// A scheduler with the state that its decisions make, which has to agree with it at any time.
struct Bench {
  var state = State()
  private(set) var scheduler: Scheduler
  /// The ledger, a line a record, as `09:00:10 started r1`.
  private(set) var ledger: [String] = []
  /// The effects to carry out, as `cancel r1`.
  private(set) var effects: [String] = []
  private(set) var records: [SlotRecord] = []
  private(set) var entries: [ScheduleEntry] = []
  private let numbers = Numbers()
  /// How many writes there were, and the one around which the program dies.
  private(set) var writes = 0
  var death: (write: Int, isAfter: Bool)?

  struct Death: Error {}

  /// 2026-11-20T09:00:00Z.
  static let noon = Timestamp(seconds: 1_795_165_200) ?? .epoch

  static func at(_ seconds: Double) -> Timestamp {
    noon.advanced(by: TimeSpan(nanoseconds: Int(seconds * 1e9))) ?? noon
  }

  init(_ entries: [ScheduleEntry] = [], at now: Timestamp = noon) throws {
    let numbers = numbers
    scheduler = Scheduler { _ in numbers.next() }
    try set(entries, at: now)
  }

  mutating func set(
    _ entries: [ScheduleEntry], after earlier: [String: SchedulePlan] = [:], at now: Timestamp
  ) throws {
    self.entries = entries
    let gathered = state.events.mapValues { event -> Result<EventRecord.Whole, StateError> in
      guard case .inline(let data)? = event.data else { return .success(EventRecord.Whole(event, .null)) }
      return .success(EventRecord.Whole(event, data))
    }
    try take(
      scheduler.set(entries, after: earlier, gathered: gathered, records: Array(state.schedules.values), at: now))
    try agree()
  }

  /// Forgets everything but the state, as a crash does.
  ///
  /// - Parameter edited: The schedules of the recipes by then; the same as before if nil.
  mutating func restart(as edited: [ScheduleEntry]? = nil, at now: Timestamp) throws {
    let numbers = numbers
    let earlier = Dictionary(entries.map { ($0.id, $0.plan) }) { first, _ in first }
    scheduler = Scheduler { _ in numbers.next() }
    try set(edited ?? entries, after: edited == nil ? [:] : earlier, at: now)
  }

  mutating func tick(_ now: Timestamp) throws { try take(scheduler.due(at: now)) }

  mutating func end(_ run: String, _ status: RunStatus = .succeeded, at now: Timestamp) throws {
    try write([.runEnded(RunEnded(run: run, at: now, status: status))])
    let record = try #require(state.ended.last)
    try take(scheduler.runEnded(record, at: now))
  }

  /// Asks the scheduler for something.
  mutating func ask(_ body: (inout Scheduler) -> [Decision]?) throws { try take(try #require(body(&scheduler))) }

  mutating func take(_ decisions: [Decision]) throws {
    for decision in decisions {
      try write(decision.events)
      for effect in decision.effects {
        switch effect {
        case .start(let run):
          // Only a run or event that the state events created can have an effect.
          _ = try #require(state.runs[run])
          effects.append("start \(run)")
        case .send(let event):
          _ = try #require(state.events[event.id])
          effects.append("send \(event.name)")
        case .cancel(let run, _): effects.append("cancel \(run)")
        case .terminate(let run, _): effects.append("terminate \(run)")
        }
      }
    }
    try agree()
  }

  private mutating func write(_ events: [StateEvent]) throws {
    writes += 1
    let dies = death.flatMap { $0.write == writes ? $0 : nil }
    if dies?.isAfter == false { throw Death() }
    try take(events)
    if dies != nil { throw Death() }
  }

  private mutating func take(_ events: [StateEvent]) throws {
    for event in events {
      try state.apply(event)
      guard case .slotDecided(let slot) = event else { continue }
      records.append(slot)
      ledger.append(Bench.line(slot))
    }
  }

  /// The scheduler and the fold of its events know the same.
  private func agree() throws {
    #expect(Set(scheduler.indexes.keys) == Set(state.schedules.keys))
    for (id, index) in scheduler.indexes {
      let record = try #require(state.schedules[id])
      let current = scheduler.states[index] ?? ScheduleState()
      #expect(scheduler.schedules[Int(index)].mark == record.processedUntil, "\(id)")
      #expect(current.open == record.openRuns, "\(id)")
      #expect(current.buffered == record.buffered, "\(id)")
      #expect(current.pause == record.pause, "\(id)")
      #expect(current.files == record.files, "\(id)")
      #expect(current.batch == record.batch, "\(id)")
      #expect(current.remaining == record.remainingRuns, "\(id)")
    }
  }

  static func line(_ slot: SlotRecord) -> String {
    let until = slot.until.map { "…\(clock($0))" } ?? ""
    let count = slot.count == 1 ? "" : " ×\(slot.count)"
    let kind = slot.cause.kind == .slot ? "" : " (\(slot.cause.kind))"
    let late = slot.lateBy.map { " late \($0)" } ?? ""
    return "\(clock(slot.slot))\(until) \(slot.outcome)\(count)\(slot.run.map { " \($0)" } ?? "")\(kind)\(late)"
  }

  static func clock(_ instant: Timestamp) -> String { String(instant.description.dropFirst(11).dropLast()) }
}

extension ScheduleEntry {
  /// A schedule of recipe `backup`, every ten seconds if nothing else is said.
  static func every(
    _ interval: TimeSpan = .seconds(10), id: String? = nil, texts: String = "steps: []", refusal: String? = nil,
    change: (inout Trigger) -> Void = { _ in }
  ) -> ScheduleEntry {
    .of(.timed(Recurrence(.every(interval, from: Bench.noon))), id: id, texts: texts, refusal: refusal, change: change)
  }

  static func of(
    _ kind: Trigger.Kind, recipe: String = "backup", id: String? = nil, texts: String = "steps: []",
    refusal: String? = nil, change: (inout Trigger) -> Void = { _ in }
  ) -> ScheduleEntry {
    var trigger = Trigger(id: id, kind: kind)
    change(&trigger)
    return ScheduleEntry(
      SchedulePlan(
        recipe: recipe, file: "\(recipe).yaml", texts: .inline(.string(texts)), inputs: .object([:]), program: "1",
        trigger: trigger, refusal: refusal))
  }

  /// A schedule of recipe `backup` as its text says, with the inputs that are computed.
  static func reading(_ text: String) throws -> ScheduleEntry {
    let environment = RecipeEnvironment(catalog: ActionCatalog([]), zone: "UTC") { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: "backup.yaml", text: text), in: environment)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    let trigger = try #require(recipe.triggers.first)
    return ScheduleEntry(
      SchedulePlan(
        recipe: recipe.name, file: "backup.yaml", texts: .inline(.string(text)), inputs: .object([:]),
        starting: StartingInputs(trigger, of: recipe), program: "1", trigger: trigger))
  }
}
