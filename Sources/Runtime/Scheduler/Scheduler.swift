// The scheduler decides which slots of which schedules start runs, and records the outcome of the others.
//
// It is a state machine. It reads no clock, does no I/O and starts nothing: its owner tells it the time and the events,
// and it answers with decisions. A decision is a batch of events and the actions to take once they are durable. The
// owner appends the batches in the order it received them; if an append fails, the owner discards the scheduler and
// makes a new one from the state. Its knowledge of a schedule is the fold of the events that it produced, so that it
// can decide on the next batch before the last one is on disk.
//
// Slots are decided from the schedule's mark (`processedUntil`) up to now. The mark never goes back unless a person
// resets it; slots that have a run are then `dropped`. So a clock that is set back decides nothing twice. A clock that
// is set forward, a machine that slept and an agent that was down are all the same: a long way from the mark to now.
// Those slots are decided in three steps:
//
//   1. Slots older than the catch-up window (a year by default) are `missedWindow`.
//   2. For the rest, `catchup: last` starts the newest and leaves the others `superseded`; `none` starts the newest if
//      it is no more than a minute late, and the others are `missedPolicy`; `all` starts them oldest first, but at most
//      `catchupLimit` (1000 by default): the older ones beyond the limit are `missedPolicy`.
//   3. A slot that is to start goes through the overlap policy:
//
//      skip           `skippedOverlap` while a run of the schedule is alive (not ended)
//      bufferOne      waits for it to end; `dropped` if another waits already, so the kept one is the oldest
//      bufferAll      waits, one after another; `dropped` beyond 1000
//      cancelOther    waits, and the runs that are alive are asked to end; what waited before is `superseded`
//      terminateOther starts at once, and the runs that are alive are ended hard
//      allowAll       starts
//
// Long rows of slots with one fate are found by halving and recorded as one, so that a schedule of every second that
// was down for a month costs no more than one that was down for a minute.
//
// While a schedule is paused, nothing is decided; at the end of the pause its slots are recorded as `paused`. Waiting
// slots (`buffered`) keep waiting. A person's trigger or backfill is done even then, and moves no mark. A schedule
// whose remaining runs are used up has no more slots; only runs of its own slots count.
//
// Events and ends of other recipes start runs likewise, with `bufferAll`, because they come only once. A schedule with
// `batch` gathers events: the first opens a batch with a deadline, which is recorded with it; at the deadline, or with
// the last that fits, one run starts. Its slot is the instant of the first. Files do as events (`Scheduler+Files`).

package import Basics
import Calendars
import Recipes
package import RunState

/// The schedules of an agent.
package struct Scheduler: Sendable {
  /// One schedule, as small as it can be: most of a million do nothing most of the time.
  struct Schedule {
    var id: String
    /// Nil once it is removed.
    var plan: SchedulePlan?
    /// Every slot through this instant has been decided.
    var mark: Timestamp
    /// The next instant that needs a decision; queue items for other instants are stale.
    var due = Timestamp.earliest
    var isQueued = false

    /// Whether an item of the queue is current.
    func isAwaiting(_ item: DueItem) -> Bool { isQueued && due == item.due }
  }

  var schedules: [Schedule] = []
  private var free: [Int32] = []
  var indexes: [String: Int32] = [:]
  private var queue = Heap<DueItem>()
  /// The state beside the mark, for those schedules that have any.
  var states: [Int32: ScheduleState] = [:]
  /// Schedules that may have something to start apart from new slots.
  private var unsettled: Set<Int32> = []
  /// The schedules that wait for a recipe's end or for an event, in the order of their ids.
  var followers: [String: [String]] = [:]
  var listeners: [String: [String]] = [:]
  private let newID: @Sendable (Timestamp) -> String

  /// - Parameter newID: Makes the id of a run that is created at an instant.
  package init(newID: @escaping @Sendable (Timestamp) -> String) { self.newID = newID }

  /// How many schedules there are.
  package var count: Int { indexes.count }

  /// The next instant that needs a call of `due`, if nothing else happens before; nil if none does.
  package var nextDue: Timestamp? { unsettled.isEmpty ? queue.first?.due : .earliest }

  /// Decides everything that is due by now, the earliest first.
  package mutating func due(at now: Timestamp) -> [Decision] {
    var decisions: [Decision] = []
    for index in unsettled.sorted() { decisions += evaluate(index, at: now) { $0.settleRest() } }
    unsettled = []
    while let item = queue.first, item.due <= now {
      queue.removeFirst()
      guard isCurrent(item) else { continue }
      schedules[Int(item.index)].isQueued = false
      decisions += evaluate(item.index, at: now) {
        $0.catchUp()
        $0.closeBatch()
      }
    }
    trim()
    return decisions
  }

  /// Lets one schedule decide, and folds its decision.
  mutating func evaluate(_ index: Int32, at now: Timestamp, _ body: (inout ScheduleEvaluation) -> Void) -> [Decision] {
    let schedule = schedules[Int(index)]
    guard let plan = schedule.plan else { return [] }
    var evaluation = ScheduleEvaluation(
      id: schedule.id, plan: plan, now: now, mark: schedule.mark,
      current: states.removeValue(forKey: index) ?? ScheduleState(),
      newID: newID)
    body(&evaluation)
    evaluation.flush()
    schedules[Int(index)].mark = evaluation.mark
    if evaluation.current != ScheduleState() { states[index] = evaluation.current }
    enqueue(index, plan)
    return evaluation.decisions
  }

  /// Plans when a schedule has to decide next; a paused or used-up schedule doesn't.
  private mutating func enqueue(_ index: Int32, _ plan: SchedulePlan) {
    let schedule = schedules[Int(index)]
    let current = states[index]
    var first = current?.batch?.due
    if let recurrence = plan.recurrence, current?.remaining != 0, let next = recurrence.next(after: schedule.mark) {
      let due = plan.due(next, of: schedule.id)
      first = min(first ?? due, due)
    }
    guard let due = first, current?.pause == nil else {
      schedules[Int(index)].isQueued = false
      trim()
      return
    }
    if schedule.isQueued, schedule.due == due { return }
    schedules[Int(index)].due = due
    schedules[Int(index)].isQueued = true
    queue.insert(DueItem(due, index))
    if queue.count > 2 * schedules.count + 64 {
      let schedules = schedules
      queue.removeAll { !schedules[Int($0.index)].isAwaiting($0) }
    }
    trim()
  }

  private func isCurrent(_ item: DueItem) -> Bool { schedules[Int(item.index)].isAwaiting(item) }

  /// Removes stale items from the front of the queue.
  private mutating func trim() {
    while let item = queue.first, !isCurrent(item) { queue.removeFirst() }
  }
}

// MARK: Which schedules there are

extension Scheduler {
  /// Replaces the schedules, and returns the changes to the state.
  ///
  /// The state is read for schedules that aren't known yet, which are all of them at the start, and for schedules to be
  /// removed. If two entries have the same id, the first counts.
  ///
  /// - Parameters:
  ///   - kept: Schedules whose recipes can't be read now: their state stays, and nothing is decided.
  ///   - gathered: The gathered events, by id, or the errors of reading them.
  ///   - outputs: The outputs of the runs whose ends are still to be followed, or the errors of reading them.
  ///   - earlier: The plans that an earlier process used for schedules that have changed or gone; their slots since
  ///     then are recorded as missed.
  package mutating func set(
    _ entries: [ScheduleEntry], keeping kept: Set<String> = [], after earlier: [String: SchedulePlan] = [:],
    gathered: [String: Result<EventRecord.Whole, StateError>] = [:],
    outputs: [String: Result<Value?, StateError>] = [:], records: [ScheduleRecord], at now: Timestamp
  ) -> [StateEvent] {
    let records = Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
    var events: [StateEvent] = []
    reserve(entries.count)
    var wanted: Set<String> = []
    for entry in entries where wanted.insert(entry.id).inserted {
      events += set(entry, record: records[entry.id], after: earlier[entry.id], gathered, outputs, at: now)
    }
    let known = Set(indexes.keys).union(records.keys).subtracting(wanted).subtracting(kept)
    for id in known.sorted(by: { $0.precedesByScalars($1) }) {
      events += remove(id, record: records[id], after: earlier[id], at: now)
    }
    return events
  }

  private mutating func reserve(_ count: Int) {
    guard count > schedules.count else { return }
    schedules.reserveCapacity(count)
    indexes.reserveCapacity(count)
    queue.reserveCapacity(count)
  }

  /// Adds a schedule, unknown to the state, whose slots through an instant have been decided.
  ///
  /// For many schedules at once, without an event for each.
  package mutating func adopt(_ entries: some Collection<ScheduleEntry>, mark: Timestamp) {
    reserve(entries.count)
    for entry in entries { add(entry, mark: mark, current: ScheduleState()) }
  }

  private mutating func add(_ entry: ScheduleEntry, mark: Timestamp, current: ScheduleState) {
    let schedule = Schedule(id: entry.id, plan: entry.plan, mark: mark)
    let index = free.popLast() ?? Int32(schedules.count)
    if index == schedules.count { schedules.append(schedule) } else { schedules[Int(index)] = schedule }
    indexes[entry.id] = index
    if current != ScheduleState() { states[index] = current }
    attend(entry.plan, entry.id)
    enqueue(index, entry.plan)
  }

  /// Whether a schedule has been set.
  package func knows(_ id: String) -> Bool { indexes[id] != nil }

  private mutating func set(
    _ entry: ScheduleEntry, record: ScheduleRecord?, after earlier: SchedulePlan?,
    _ gathered: [String: Result<EventRecord.Whole, StateError>], _ outputs: [String: Result<Value?, StateError>],
    at now: Timestamp
  ) -> [StateEvent] {
    let plan = entry.plan
    let spec = plan.spec
    let index = indexes[entry.id]
    let before = index.flatMap { schedules[Int($0)].plan }
    let isKnown = before != nil || record != nil
    let isSame = (before?.spec ?? record?.spec) == spec
    var current =
      index.flatMap { states[$0] } ?? (before == nil ? record.map { ScheduleState($0) } : nil) ?? ScheduleState()
    for end in current.ends { current.outputs[end.run] = outputs[end.run] }
    let form: EventForm? =
      switch plan.trigger.kind {
      case .event(_, _, let form): form
      case .webhook(let webhook): webhook.form
      case .timed, .afterRecipe, .file, .form: nil
      }
    if let form {
      for event in current.batch?.events ?? [] {
        if let whole = gathered[event] { current.gathered[event] = form.read(whole) }
      }
    }
    var mark = index.map { schedules[Int($0)].mark } ?? record?.processedUntil ?? now
    var events: [StateEvent] = []
    if !isSame {
      // The slots up to now belong to the plan before the edit.
      events += rest(
        of: before ?? earlier, entry.id, mark, current, .missedPolicy,
        "the schedule was edited since, and makes up for nothing from before", at: now)
      mark = max(mark, now)
      current.remaining = plan.trigger.remainingRuns
    }
    let isUnchanged =
      if let before {
        before === plan
          || before.recipe == plan.recipe && before.file == plan.file && before.texts == plan.texts
            && before.language == plan.language
            && before.trigger.pausesOnFailure == plan.trigger.pausesOnFailure
      } else {
        record?.recipe == plan.recipe && record?.file == plan.file && record?.texts == plan.texts
          && record?.language == plan.language
          && record?.pausesOnFailure == plan.trigger.pausesOnFailure && record?.follows == plan.follows
      }
    if !isKnown || !isSame || !isUnchanged {
      events.append(
        .scheduleSet(
          ScheduleSet(
            at: now, schedule: entry.id, recipe: plan.recipe, file: plan.file, spec: spec, texts: plan.texts,
            language: plan.language,
            processedUntil: isSame ? nil : mark, remainingRuns: current.remaining,
            pausesOnFailure: plan.trigger.pausesOnFailure, follows: plan.follows)))
    }
    // The recipe's setting counts until a person changes it, and again once the recipe changes.
    if !isSame {
      let pause =
        plan.trigger.isPaused ? PauseRecord(at: now, origin: .recipe, note: plan.trigger.pauseNote) : nil
      if current.pause == nil && pause != nil || current.pause?.origin == .recipe {
        current.pause = pause
        events.append(.schedulePaused(SchedulePaused(schedule: entry.id, pause: pause)))
      }
    }
    if let index {
      if let before { ignore(before, entry.id) }
      schedules[Int(index)].plan = plan
      schedules[Int(index)].mark = mark
      states[index] = current == ScheduleState() ? nil : current
      attend(plan, entry.id)
      enqueue(index, plan)
    } else {
      add(entry, mark: mark, current: current)
    }
    if let index = indexes[entry.id], current.hasWork { unsettled.insert(index) }
    return events
  }

  /// The records of the slots after a mark that a plan leaves undecided.
  private func rest(
    of plan: SchedulePlan?, _ id: String, _ mark: Timestamp, _ current: ScheduleState, _ outcome: SlotOutcome,
    _ reason: String,
    at now: Timestamp
  ) -> [StateEvent] {
    guard let plan else { return [] }
    var evaluation = ScheduleEvaluation(id: id, plan: plan, now: now, mark: mark, current: current, newID: newID)
    evaluation.recordRest(outcome, reason)
    evaluation.flush()
    return evaluation.decisions.flatMap(\.events)
  }

  private mutating func remove(
    _ id: String, record: ScheduleRecord?, after earlier: SchedulePlan?, at now: Timestamp
  ) -> [StateEvent] {
    let index = indexes[id]
    let current = index.map { states[$0] ?? ScheduleState() } ?? record.map { ScheduleState($0) } ?? ScheduleState()
    let reason = "the schedule was removed"
    let missed = rest(
      of: index.flatMap { schedules[Int($0)].plan } ?? earlier, id,
      index.map { schedules[Int($0)].mark } ?? record?.processedUntil ?? now, current, .dropped, reason, at: now)
    if let index {
      if let plan = schedules[Int(index)].plan { ignore(plan, id) }
      schedules[Int(index)] = Schedule(id: "", plan: nil, mark: .earliest)
      states[index] = nil
      indexes[id] = nil
      unsettled.remove(index)
      free.append(index)
      trim()
    }
    let dropped = current.buffered.map { waiting in
      StateEvent.slotDecided(
        SlotRecord(
          schedule: id, slot: waiting.slot, outcome: .dropped, at: now, cause: waiting.cause, reason: reason))
    }
    let batched = current.batch.flatMap { open in
      open.events.first.map { first in
        StateEvent.slotDecided(
          SlotRecord(
            schedule: id, slot: open.at, outcome: .dropped, at: now, cause: open.cause(first, of: id),
            reason: "\(reason); \(open.words)"))
      }
    }
    let ended = current.ends.map { end in
      StateEvent.slotDecided(
        SlotRecord(
          schedule: id, slot: end.at, outcome: .dropped, at: now,
          cause: RunCause(.afterRecipe, schedule: id, run: end.run), reason: reason))
    }
    return missed + dropped + ended + [batched].compactMap { $0 } + [
      .scheduleRemoved(ScheduleRemoved(at: now, schedule: id))
    ]
  }

  /// Subscribes a schedule to the events and ends that it waits for.
  private mutating func attend(_ plan: SchedulePlan, _ id: String) {
    func inserted(_ ids: [String]?) -> [String] {
      var ids = ids ?? []
      ids.insert(id, at: ids.firstIndex { id.precedesByScalars($0) } ?? ids.endIndex)
      return ids
    }
    if let recipe = plan.follows { followers[recipe] = inserted(followers[recipe]) }
    if let event = plan.event { listeners[event] = inserted(listeners[event]) }
  }

  private mutating func ignore(_ plan: SchedulePlan, _ id: String) {
    if let recipe = plan.follows { followers[recipe]?.removeAll { $0 == id } }
    if let event = plan.event { listeners[event]?.removeAll { $0 == id } }
  }
}
