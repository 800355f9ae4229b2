package import Basics
import Calendars
package import Recipes
package import RunState

// The scheduler's reactions to the outside: runs end, events arrive, people give commands.

extension EventRecord {
  /// An event with its data.
  package struct Whole: Sendable, Equatable {
    package var record: EventRecord
    package var data: Value
    /// The beginning of a delivery.
    package var head: EventForm.Head

    package init(_ record: EventRecord, _ data: Value, head: EventForm.Head = EventForm.Head()) {
      self.record = record
      self.data = data
      self.head = head
    }
  }
}

extension EventForm {
  /// The value of a gathered event, or the error of reading it.
  func read(_ event: Result<EventRecord.Whole, StateError>) -> Result<Value, StateError> {
    event.flatMap { event in
      value(
        id: event.record.id, time: event.record.receivedAt, name: event.record.name, data: event.data,
        head: event.head
      )
      .mapError { StateError(.invalid, "it doesn't fit: \($0.message)") }
    }
  }
}

extension Scheduler {
  /// Tells the run's own schedule, and the schedules that follow its recipe, that it ended.
  ///
  /// Called once, after the end is durable.
  ///
  /// - Parameter outputs: The run's outputs, or the error of reading them; needed if `readsOutputs` returns true.
  package mutating func runEnded(
    _ run: RunRecord, outputs: Result<Value?, StateError> = .success(nil), at now: Timestamp
  ) -> [Decision] {
    var decisions = ownRunEnded(run, at: now)
    let end = FollowedEnd(run: run.id, status: run.status, at: run.endedAt ?? run.now)
    for id in followers[run.recipe] ?? [] { decisions += runEnded(end, outputs: outputs, before: id, at: now) }
    return decisions
  }

  /// Tells a run's own schedule that it ended.
  package mutating func ownRunEnded(_ run: RunRecord, at now: Timestamp) -> [Decision] {
    guard let id = run.origin.cause.schedule, let index = indexes[id] else { return [] }
    return evaluate(index, at: now) { evaluation in
      evaluation.current.open.removeAll { $0 == run.id }
      evaluation.current.asked.remove(run.id)
      // The state's fold has done the same.
      if evaluation.plan.trigger.pausesOnFailure, evaluation.current.pause == nil {
        evaluation.current.pause = PauseRecord(onFailureOf: run)
      }
      evaluation.proceed()
    }
  }

  /// Tells one schedule that follows a run's recipe of the run's end.
  package mutating func runEnded(
    _ end: FollowedEnd, outputs: Result<Value?, StateError>, before follower: String, at now: Timestamp
  ) -> [Decision] {
    guard let index = indexes[follower] else { return [] }
    return evaluate(index, at: now) { $0.follow(end, outputs) }
  }

  /// The runs of schedules that haven't ended.
  package var openRuns: Set<String> { Set(states.values.flatMap(\.open)) }
  /// The recipes whose runs schedules follow.
  package var followedRecipes: Set<String> { Set(followers.filter { !$0.value.isEmpty }.keys) }

  /// Whether any schedule that follows a recipe computes its inputs from the outputs of the recipe's runs.
  package func readsOutputs(of recipe: String) -> Bool {
    (followers[recipe] ?? []).contains { plan(of: $0)?.readsEvent ?? false }
  }

  /// The plan of a schedule; nil if there is no such schedule.
  package func plan(of id: String) -> SchedulePlan? { indexes[id].flatMap { schedules[Int($0)].plan } }

  /// Adds a run that a caller outside the scheduler created for a schedule, such as a retry.
  package mutating func runCreated(_ run: RunCreated) {
    guard let id = run.cause.schedule, let index = indexes[id] else { return }
    var current = states[index] ?? ScheduleState()
    if !current.open.contains(run.run) { current.open.append(run.run) }
    states[index] = current
  }

  /// Whether the end of a run waits for a place among the starts of a schedule that follows its recipe.
  package func isWaiting(_ end: FollowedEnd, before follower: String) -> Bool {
    indexes[follower].flatMap { states[$0] }?.ends.contains { $0.run == end.run } ?? false
  }

  /// Whether a schedule listens for an event, or is the one of its webhook.
  package func listens(for event: EventRecord) -> Bool { schedules(takingIn: event).contains { indexes[$0] != nil } }

  /// The schedules that are asked about an event.
  private func schedules(takingIn event: EventRecord) -> [String] {
    if event.run != nil { return [] }
    return event.delivery.map { [$0.schedule] } ?? listeners[event.name] ?? []
  }

  /// The schedules whose starts an event may add to, and the name of the event that a delivery is sent on as.
  package func takers(of event: EventRecord) -> (schedules: [String], signal: String?) {
    let ids = schedules(takingIn: event)
    guard event.delivery != nil, let signal = ids.first.flatMap(plan(of:))?.trigger.webhook?.signal else {
      return (ids, nil)
    }
    return (ids + (listeners[signal] ?? []), signal)
  }

  /// The largest number of waiting starts that any of the schedules has.
  package func mostWaiting(of ids: [String]) -> Int {
    ids.compactMap { indexes[$0] }.map { states[$0]?.buffered.count ?? 0 }.max() ?? 0
  }

  /// Offers an event to the schedules that listen for it, or a delivery to the schedule of its webhook.
  ///
  /// All that listen and whose `match` holds decide in one batch, which consumes the event; the caller appends it
  /// together with the receipt of the event, so that a crash leaves both or neither. Nil if no schedule takes it.
  ///
  /// - Parameters:
  ///   - data: The event's data, or why it can't be read.
  ///   - head: The beginning of a delivery.
  package mutating func eventReceived(
    _ event: EventRecord, with data: Result<Value, StateError>, head: EventForm.Head = EventForm.Head(),
    at now: Timestamp
  ) -> Decision? {
    var whole = Decision(schedule: "", events: [])
    for id in schedules(takingIn: event) {
      guard let index = indexes[id], let plan = schedules[Int(index)].plan else { continue }
      let outcome = plan.outcome(of: event, data, head)
      if case .passedOver = outcome { continue }
      let decisions = evaluate(index, at: now) { evaluation in
        let cause = RunCause(.event, schedule: id, event: event.id)
        switch outcome {
        case .passedOver: break
        case .taken(let value): evaluation.receive(event, value)
        case .settled(let outcome, let reason): evaluation.settle(event.receivedAt, cause, outcome, reason)
        }
      }
      // A refused event is decided as well: otherwise each start would offer and refuse it again.
      if whole.schedule.isEmpty {
        whole.schedule = id
        whole.events.append(.eventConsumed(EventConsumed(at: now, id: event.id, by: id)))
      }
      for decision in decisions {
        whole.events += decision.events
        whole.effects += decision.effects
      }
    }
    return whole.events.isEmpty ? nil : whole
  }
}

extension SchedulePlan {
  /// The effect of an event on a schedule.
  fileprivate enum EventOutcome {
    /// Nothing.
    case passedOver
    /// The value of `event` for the schedule's expressions.
    case taken(Value)
    case settled(SlotOutcome, String)
  }

  fileprivate func outcome(
    of event: EventRecord, _ data: Result<Value, StateError>, _ head: EventForm.Head
  ) -> EventOutcome {
    if let first = event.delivery?.repeats { return .settled(.duplicate, "it repeats the delivery \(first)") }
    let match: RecipeExpression?
    let form: EventForm
    var what = "the event \(event.id)"
    switch trigger.kind {
    case .event(_, let condition, let declared): (match, form) = (condition, declared)
    case .webhook(let webhook) where event.delivery != nil:
      (match, form) = (webhook.match, webhook.form)
      what = "the delivery \(event.id)"
    case .form(let asked) where event.delivery != nil:
      (match, form) = (asked.match, asked.form)
      what = "the delivery \(event.id)"
    // Each delivery that was acknowledged has a row, also if its entry is another since.
    default:
      return event.delivery == nil
        ? .passedOver : .settled(.dropped, "the entry was edited since, and no longer takes the delivery \(event.id)")
    }
    if let fault = event.delivery?.fault { return .settled(.refused, "\(what) can't be read: \(fault)") }
    guard match != nil || readsEvent || form.isTyped || trigger.batch != nil else { return .taken(.null) }
    let known: Value
    switch data {
    case .failure(let error): return .settled(.refused, "what came with \(what) cannot be read: \(error.message)")
    case .success(let value): known = value
    }
    switch form.value(id: event.id, time: event.receivedAt, name: event.name, data: known, head: head) {
    case .failure(let misfit): return .settled(.refused, "what came with \(what) doesn't fit: \(misfit.message)")
    case .success(let value):
      guard let match else { return .taken(value) }
      do throws(LocatedEvaluationError) {
        if try match.evaluate(in: [value]).bool == true { return .taken(value) }
        return event.delivery == nil ? .passedOver : .settled(.unmatched, "'match' doesn't hold for \(what)")
      } catch {
        return .settled(.refused, "'match' cannot be decided for \(what): \(error.message)")
      }
    }
  }
}

// MARK: Commands from people

extension Scheduler {
  /// Starts a run out of turn, even of a schedule that is paused; nil if there is no such schedule.
  ///
  /// - Parameters:
  ///   - overlap: The policy for this start; the schedule's own if nil.
  ///   - given: Inputs that replace the entry's own.
  ///   - key: The caller's key, which the run gets.
  ///   - asked: The cause, with who asked.
  package mutating func trigger(
    _ id: String, overlap: Trigger.Overlap? = nil, given: [(name: String, input: GivenInput)] = [], key: RunKey? = nil,
    as asked: RunCause = RunCause(.trigger), at now: Timestamp
  ) -> [Decision]? {
    guard let index = indexes[id] else { return nil }
    return evaluate(index, at: now) { evaluation in
      // Two requests at the same instant are still two.
      var moment = now
      while evaluation.current.buffered.contains(where: { $0.slot == moment && $0.cause.kind == .trigger }),
        let later = moment.advanced(by: TimeSpan(nanoseconds: 1))
      {
        moment = later
      }
      var cause = asked
      (cause.schedule, cause.slot) = (id, moment)
      evaluation.offer(
        moment, cause, overlap ?? evaluation.plan.overlap,
        ScheduleEvaluation.Origin(given: given, key: key))
    }
  }

  /// Pauses a schedule; nil if there is no such schedule.
  package mutating func pause(_ id: String, note: String?, at now: Timestamp) -> [Decision]? {
    guard let index = indexes[id] else { return nil }
    return evaluate(index, at: now) { evaluation in
      evaluation.catchUp()
      let pause = PauseRecord(at: now, origin: .person, note: note)
      evaluation.current.pause = pause
      evaluation.add(.schedulePaused(SchedulePaused(schedule: id, pause: pause)))
    }
  }

  /// Ends a pause, records its slots, and starts what waited; nil if there is no such schedule.
  package mutating func resume(_ id: String, at now: Timestamp) -> [Decision]? {
    guard let index = indexes[id] else { return nil }
    return evaluate(index, at: now) { evaluation in
      guard evaluation.current.pause != nil else { return }
      evaluation.recordPause()
      evaluation.current.pause = nil
      evaluation.add(.schedulePaused(SchedulePaused(schedule: id, pause: nil)))
      evaluation.proceed()
    }
  }

  /// Decides the slots after an instant again, except slots that have a run; nil if there is no such schedule.
  package mutating func reset(_ id: String, to instant: Timestamp, started: [Timestamp], at now: Timestamp)
    -> [Decision]?
  {
    guard let index = indexes[id] else { return nil }
    return evaluate(index, at: now) { $0.reset(to: instant, started: started) }
  }

  /// The slots from one instant up to before another that may be made up for, oldest first and at most that many, and
  /// whether there are more; nil if there is no such schedule.
  ///
  /// Slots after the mark aren't included: they are still to be decided.
  ///
  /// - Parameter started: The slots that have a run, by the ledger.
  package func slotsToBackfill(
    _ id: String, from: Timestamp, to: Timestamp, started: Set<Timestamp>, limit: Int = 1000
  ) -> (slots: [Timestamp], hasMore: Bool)? {
    guard let index = indexes[id], let plan = schedules[Int(index)].plan else { return nil }
    let waiting = Set((states[index]?.buffered ?? []).map(\.slot))
    var found: [Timestamp] = []
    var after = from.justBefore ?? from
    while let slot = plan.recurrence?.next(after: after), slot < to, slot <= schedules[Int(index)].mark {
      after = slot
      if started.contains(slot) || waiting.contains(slot) { continue }
      if found.count == limit { return (found, true) }
      found.append(slot)
    }
    return (found, false)
  }

  /// Makes up for slots, oldest first; nil if there is no such schedule.
  ///
  /// - Parameters:
  ///   - overlap: The policy for these; if nil the schedule's own, or one after another if that is `skip`.
  ///   - asked: The cause, with who asked.
  package mutating func backfill(
    _ id: String, _ slots: [Timestamp], overlap: Trigger.Overlap? = nil, as asked: RunCause = RunCause(.backfill),
    at now: Timestamp
  ) -> [Decision]? {
    guard let index = indexes[id] else { return nil }
    return evaluate(index, at: now) { evaluation in
      let overlap = overlap ?? (evaluation.plan.overlap == .skip ? .bufferAll : evaluation.plan.overlap)
      for slot in slots {
        // A slot that waits for a backfill already must not be started twice, even for another person.
        if evaluation.current.buffered.contains(where: { $0.slot == slot && $0.cause.kind == .backfill }) { continue }
        var cause = asked
        (cause.schedule, cause.slot) = (id, slot)
        evaluation.offer(slot, cause, overlap)
      }
    }
  }

  /// The coming slots of all schedules, or of one, from one instant up to before another, earliest first.
  ///
  /// Schedules that are paused or used up start no run, so their slots aren't included.
  ///
  /// - Parameter isFirst: Whether only the first of each schedule's slots is wanted.
  package func upcoming(
    of id: String? = nil, from: Timestamp, before: Timestamp, limit: Int, isFirst: Bool = false,
    recipes: [String] = []
  ) -> [(schedule: String, slot: Timestamp)] {
    var heads = Heap<DueItem>()
    var left: [Int32: Int] = [:]
    func add(_ index: Int32, after instant: Timestamp?) {
      let schedule = schedules[Int(index)]
      let start = from.justBefore ?? from
      guard let slot = schedule.plan?.recurrence?.next(after: max(schedule.mark, instant ?? start)), slot < before
      else { return }
      heads.insert(DueItem(slot, index))
    }
    let indexes = id.map { id in self.indexes[id].map { [$0] } ?? [] } ?? schedules.indices.map { Int32($0) }
    for index in indexes where schedules[Int(index)].isQueued && schedules[Int(index)].mark < before {
      let recipe = schedules[Int(index)].plan?.recipe ?? ""
      if !recipes.isEmpty, !recipes.contains(where: recipe.hasSameScalars) { continue }
      if let remaining = states[index]?.remaining { left[index] = remaining }
      add(index, after: nil)
    }
    var found: [(schedule: String, slot: Timestamp)] = []
    while found.count < limit, let head = heads.first {
      heads.removeFirst()
      if let remaining = left[head.index] {
        guard remaining > 0 else { continue }
        left[head.index] = remaining - 1
      }
      found.append((schedules[Int(head.index)].id, head.due))
      if !isFirst { add(head.index, after: head.due) }
    }
    return found
  }

  /// When each schedule is due, in words with the time zone.
  package var words: [String: String] {
    var words: [String: String] = [:]
    for schedule in schedules { words[schedule.id] = schedule.plan?.trigger.wordsWithZone }
    return words
  }
}
