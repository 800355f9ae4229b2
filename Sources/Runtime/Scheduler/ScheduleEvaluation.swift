package import Basics
import Calendars
import Recipes
package import RunState

/// The state of a schedule beside its mark.
struct ScheduleState: Equatable {
  /// Its runs that haven't ended, oldest first.
  var open: [String] = []
  var buffered: [BufferedSlot] = []
  var pause: PauseRecord?
  /// How many more slots may start a run; any number if nil.
  var remaining: Int?
  /// Ends of runs that it follows and hasn't decided on.
  var ends: [FollowedEnd] = []
  /// The open batch, and the values of its gathered events, by id.
  var batch: BatchRecord?
  var gathered: [String: Result<Value, StateError>] = [:]
  /// The files that it has seen; nil before its first look.
  var files: SeenFiles?
  /// Slots after the mark that have a run, from a time when the clock was ahead.
  var started: [Timestamp] = []
  /// Runs that were asked to end.
  var asked: Set<String> = []
  /// The outputs of runs whose ends are still to be followed, or the error of reading them, if an earlier process saw
  /// the end.
  var outputs: [String: Result<Value?, StateError>] = [:]

  init() {}

  init(_ record: ScheduleRecord) {
    open = record.openRuns
    buffered = record.buffered
    pause = record.pause
    remaining = record.remainingRuns
    ends = record.endsToFollow
    started = record.started
    batch = record.batch
    files = record.files
  }

  /// Whether a newly started agent may have to start or end something.
  var hasWork: Bool { !buffered.isEmpty || !ends.isEmpty || open.count > 1 }
}

/// Decides on one schedule at one instant.
struct ScheduleEvaluation {
  let id: String
  let plan: SchedulePlan
  let now: Timestamp
  var mark: Timestamp
  var current: ScheduleState
  let newID: @Sendable (Timestamp) -> String
  private(set) var decisions: [Decision] = []
  /// The contents of the next batch.
  private var events: [StateEvent] = []
  private var effects: [Decision.Effect] = []

  /// How many starts wait; further slots and starts out of turn are dropped, and files and ends stay where they are.
  static let mostBuffered = 1000
  /// How old a slot may be for `catchup` if the schedule doesn't say.
  static let window = TimeSpan.seconds(365 * 86_400)
  /// How long a batch gathers at most.
  static let longestBatch = TimeSpan.seconds(7 * 86_400)
  /// How many slots `catchup: all` makes up for if the schedule doesn't say.
  static let limit = 1000
  /// How late a slot may be without being missed: the clock is read at least once a minute.
  static let punctual = TimeSpan.seconds(60)

  init(
    id: String, plan: SchedulePlan, now: Timestamp, mark: Timestamp, current: ScheduleState,
    newID: @escaping @Sendable (Timestamp) -> String
  ) {
    self.id = id
    self.plan = plan
    self.now = now
    self.mark = mark
    self.current = current
    self.newID = newID
  }

  mutating func add(_ event: StateEvent) { events.append(event) }

  /// Turns the events and effects so far into a decision, whose events are one batch.
  mutating func flush() {
    if events.isEmpty, effects.isEmpty { return }
    decisions.append(Decision(schedule: id, events: events, effects: effects))
    events = []
    effects = []
  }

  // MARK: From the mark to now

  /// Decides every slot whose time has come.
  mutating func catchUp() {
    guard current.pause == nil, current.remaining != 0, let recurrence = plan.recurrence,
      let (first, newest) = dueSlots(recurrence)
    else { return }
    var from = first
    let window = plan.trigger.catchupWindow ?? ScheduleEvaluation.window
    let reach = window + (plan.trigger.jitter ?? .zero)
    if let oldest = now.advanced(by: .zero - reach), from < oldest, let before = oldest.justBefore,
      let missed = recurrence.last(notAfter: min(before, newest), after: mark)
    {
      row(from, missed, .missedWindow, "it was due longer ago than the catch-up window")
      guard missed < newest, let following = recurrence.next(after: missed) else { return }
      from = following
    }
    switch plan.trigger.catchup {
    case .last:
      rowBefore(newest, from: from, recurrence, .superseded, "a later slot was due as well")
      offer(newest)
    case .none:
      rowBefore(newest, from: from, recurrence, .missedPolicy, "it was missed, and 'catchup' is 'none'")
      if let late = now.span(since: plan.due(newest, of: id)), late <= ScheduleEvaluation.punctual {
        offer(newest)
      } else {
        row(newest, newest, .missedPolicy, "it was missed, and 'catchup' is 'none'")
      }
    case .all:
      let limit = plan.trigger.catchupLimit ?? ScheduleEvaluation.limit
      var slots = [newest]
      var oldest = newest
      while slots.count < limit, let before = slot(before: oldest, from: from, recurrence) {
        slots.append(before)
        oldest = before
      }
      rowBefore(oldest, from: from, recurrence, .missedPolicy, "only the newest \(limit) are made up for")
      for slot in slots.reversed() where current.remaining != 0 { offer(slot) }
    }
  }

  /// The first and the last of the slots that are due.
  private func dueSlots(_ recurrence: Recurrence) -> (first: Timestamp, newest: Timestamp)? {
    guard let first = recurrence.next(after: mark), plan.due(first, of: id) <= now else { return nil }
    guard let newest = recurrence.last(notAfter: now, after: first) else { return (first, first) }
    if plan.due(newest, of: id) <= now { return (first, newest) }
    // No more than one slot waits for its jitter, because the jitter ends before the next slot.
    return (first, slot(before: newest, from: first, recurrence) ?? first)
  }

  private func slot(before slot: Timestamp, from: Timestamp, _ recurrence: Recurrence) -> Timestamp? {
    guard from < slot, let latest = slot.justBefore, let earliest = from.justBefore else { return nil }
    return recurrence.last(notAfter: latest, after: earliest)
  }

  /// Records a row of slots with the same outcome.
  private mutating func row(_ first: Timestamp, _ last: Timestamp, _ outcome: SlotOutcome, _ reason: String?) {
    guard let recurrence = plan.recurrence, let before = first.justBefore else { return }
    let count = first == last ? 1 : recurrence.count(after: before, through: last)
    record(
      SlotRecord(
        schedule: id, slot: first, until: first == last ? nil : last, count: count, outcome: outcome, at: now,
        cause: RunCause(.slot, schedule: id, slot: first), reason: reason))
  }

  private mutating func rowBefore(
    _ slot: Timestamp, from: Timestamp, _ recurrence: Recurrence, _ outcome: SlotOutcome, _ reason: String
  ) {
    if let last = self.slot(before: slot, from: from, recurrence) { row(from, last, outcome, reason) }
  }

  /// Records the slots so far that a plan will never decide, because another plan replaces it, or none.
  mutating func recordRest(_ outcome: SlotOutcome, _ reason: String) {
    guard current.remaining != 0, let first = plan.recurrence?.next(after: mark), first <= now else { return }
    let last = plan.recurrence?.last(notAfter: now, after: first) ?? first
    if let pause = current.pause {
      row(first, last, .paused, ScheduleEvaluation.words(pause))
    } else {
      row(first, last, outcome, reason)
    }
  }

  /// Records the slots of a pause that ends.
  mutating func recordPause() {
    guard current.remaining != 0, let recurrence = plan.recurrence, let (first, newest) = dueSlots(recurrence) else {
      return
    }
    row(first, newest, .paused, current.pause.map(ScheduleEvaluation.words))
  }

  static func words(_ pause: PauseRecord) -> String {
    let who =
      switch pause.origin {
      case .recipe: "the recipe says so"
      case .person: "a person paused it"
      case .failure: "a run failed"
      }
    return pause.note.map { "\(who): \($0)" } ?? who
  }

  /// Sets the mark back, and remembers which slots after it have a run.
  mutating func reset(to instant: Timestamp, started: [Timestamp]) {
    let until = mark
    mark = instant
    current.started = started
    add(.scheduleReset(ScheduleReset(at: now, schedule: id, processedUntil: instant, started: started)))
    add(.slotDecided(.reset(id, from: until, to: instant, started: started.count, at: now)))
  }

  // MARK: One start

  /// Puts one of the schedule's own slots through the overlap policy.
  private mutating func offer(_ slot: Timestamp) {
    let cause = RunCause(.slot, schedule: id, slot: slot)
    if current.started.contains(slot) {
      return settle(slot, cause, .dropped, "it was started already, while the clock was ahead")
    }
    let times = plan.recurrence?.wallTimes(at: slot) ?? []
    if times.count > 1 {
      let words = times.map { "\(twoDigits($0.hour)):\(twoDigits($0.minute))" }.joined(separator: ", ")
      record(
        SlotRecord(
          schedule: id, slot: slot, count: times.count - 1, outcome: .coalesced, at: now, cause: cause,
          reason: "the clock jumps, so that \(words) are one instant"))
    }
    offer(slot, cause, plan.overlap)
  }

  /// Puts a request for a run through an overlap policy.
  mutating func offer(_ slot: Timestamp, _ cause: RunCause, _ overlap: Trigger.Overlap, _ source: Origin = Origin()) {
    if let refusal = plan.refusal { return settle(slot, cause, .refused, source.reason(refusal), key: source.key) }
    guard let alive = current.open.first, overlap != .allowAll else {
      return decide(slot, cause, source) { $0.start(slot, cause, $1) }
    }
    switch overlap {
    case .allowAll, .terminateOther:
      decide(slot, cause, source) {
        $0.end($0.current.open) { .terminate(run: $0, reason: $1) }
        $0.start(slot, cause, $1)
      }
    case .skip:
      settle(slot, cause, .skippedOverlap, "the run \(alive) has not ended", run: alive, key: source.key)
    case .bufferOne:
      guard current.buffered.isEmpty else {
        let reason = "another start waits for the run \(alive) already"
        return settle(slot, cause, .dropped, reason, run: alive, key: source.key)
      }
      decide(slot, cause, source) { $0.buffer(slot, cause, $1) }
    case .bufferAll:
      // Requests from outside were limited before they were acknowledged, and must not be dropped afterwards.
      guard !isFull || [.event, .file].contains(cause.kind) else {
        let reason = source.reason("\(ScheduleEvaluation.mostBuffered) starts wait already")
        return settle(slot, cause, .dropped, reason, run: alive, key: source.key)
      }
      decide(slot, cause, source) { $0.buffer(slot, cause, $1) }
    case .cancelOther:
      decide(slot, cause, source) {
        for waiting in $0.current.buffered {
          $0.settle(waiting.slot, waiting.cause, .superseded, "a later start waits in its place")
        }
        $0.buffer(slot, cause, $1)
        $0.askToEnd()
      }
    }
  }

  /// Whether as many starts wait as may.
  var isFull: Bool { current.buffered.count >= ScheduleEvaluation.mostBuffered }

  /// The details of a request to start a run, apart from its slot.
  struct Origin {
    /// The value of `event` in expressions.
    var event: Value?
    /// The inputs that a person gives.
    var given: [(name: String, input: GivenInput)] = []
    /// The batch that starts it.
    var batch: BatchRecord?
    /// The key of the request.
    var key: RunKey?

    /// The reason that no run starts, with the batch that it would have started with.
    func reason(_ text: String) -> String { batch.map { "\(text); \($0.words)" } ?? text }
  }

  /// The inputs that a slot was decided with.
  private struct Prepared {
    /// The run's id, if the inputs may hold it.
    var run: String?
    /// All inputs of the run.
    var inputs: Value
    /// The inputs that have to be kept while the start waits.
    var kept: Value?
    /// The key of the request.
    var key: RunKey?
  }

  /// Decides a slot with its inputs, or refuses it if they can't be computed.
  private mutating func decide(
    _ slot: Timestamp, _ cause: RunCause, _ source: Origin, _ body: (inout ScheduleEvaluation, Prepared) -> Void
  ) {
    guard let starting = plan.starting, starting.isComputed || !source.given.isEmpty else {
      return body(&self, Prepared(run: source.key.map { _ in newID(now) }, inputs: plan.inputs, key: source.key))
    }
    let run = starting.readsRun || source.key != nil ? newID(now) : nil
    switch starting.values(for: startingRun(run, cause, source.event), known: source.given) {
    case .success(let values):
      let kept = starting.lasting(values, given: source.given.map(\.name))
      body(&self, Prepared(run: run, inputs: .map(values), kept: .map(kept), key: source.key))
    case .failure(let faults): settle(slot, cause, .refused, source.reason(faults.sentence), key: source.key)
    }
  }

  private func startingRun(_ run: String?, _ cause: RunCause, _ event: Value?) -> StartingRun {
    StartingRun(id: run ?? "", recipe: plan.recipe, at: now, slot: cause.slot, event: event)
  }

  private mutating func buffer(_ slot: Timestamp, _ cause: RunCause, _ prepared: Prepared) {
    var waiting = SlotRecord(
      schedule: id, slot: slot, outcome: .buffered, at: now, cause: cause, run: prepared.run, inputs: prepared.kept)
    waiting.key = prepared.key
    record(waiting)
  }

  private mutating func askToEnd() { end(current.open) { .cancel(run: $0, reason: $1) } }

  /// Cancels runs, each once.
  private mutating func end(_ runs: [String], _ effect: (_ run: String, _ reason: String) -> Decision.Effect) {
    for run in runs where current.asked.insert(run).inserted {
      effects.append(effect(run, "the schedule \(id) starts another run"))
    }
  }

  private mutating func start(_ slot: Timestamp, _ cause: RunCause, _ prepared: Prepared) {
    let run = prepared.run ?? newID(now)
    var late: TimeSpan?
    // A person's request is due now, whatever slot it makes up for.
    if cause.kind != .backfill, plan.trigger.batch == nil {
      late = now.span(since: cause.kind == .slot ? plan.due(slot, of: id) : slot)
    }
    settle(slot, cause, .started, nil, run: run, lateBy: late.flatMap { $0 > .seconds(1) ? $0 : nil })
    var created = RunCreated(
      run: run, at: now, recipe: plan.recipe, file: plan.file, texts: plan.texts, inputs: prepared.inputs,
      overrides: plan.overrides, sandbox: plan.isSandbox, program: plan.program, language: plan.language, cause: cause,
      group: plan.group,
      zone: plan.zone)
    created.key = prepared.key
    (created.needs, created.queue) = (plan.needs, plan.queue)
    events.append(.runCreated(created))
    effects.append(.start(run: run))
    current.open.append(run)
    flush()
  }

  /// Records the outcome of one slot.
  ///
  /// - Parameter key: The key of the request, for a start out of turn that starts nothing.
  mutating func settle(
    _ slot: Timestamp, _ cause: RunCause, _ outcome: SlotOutcome, _ reason: String?, run: String? = nil,
    lateBy: TimeSpan? = nil, key: RunKey? = nil
  ) {
    var settled = SlotRecord(
      schedule: id, slot: slot, outcome: outcome, at: now, cause: cause, run: run, reason: reason, lateBy: lateBy)
    settled.key = key
    record(settled)
  }

  /// Folds a record as the state does.
  private mutating func record(_ slot: SlotRecord) {
    events.append(.slotDecided(slot))
    if slot.cause.kind == .slot {
      mark = max(mark, slot.until ?? slot.slot)
      current.started = current.started.isEmpty ? [] : current.started.filter { $0 > mark }
    }
    if current.batch?.isEnded(by: slot) == true { (current.batch, current.gathered) = (nil, [:]) }
    if slot.outcome == .buffered {
      current.buffered.append(
        BufferedSlot(slot: slot.slot, at: now, cause: slot.cause, inputs: slot.inputs, run: slot.run, key: slot.key))
      return
    }
    current.buffered.removeAll { $0.slot == slot.slot && $0.cause == slot.cause }
    if slot.outcome == .started, slot.cause.kind == .slot, let left = current.remaining {
      current.remaining = max(0, left - 1)
    }
  }

  // MARK: Waiting starts

  /// Starts what waited for runs to end, and ends what should have ended.
  mutating func startWaiting() {
    while let waiting = current.buffered.first(where: mayStart) {
      if let refusal = plan.refusal {
        settle(waiting.slot, waiting.cause, .refused, refusal)
      } else if waiting.cause.kind == .slot, current.remaining == 0 {
        settle(waiting.slot, waiting.cause, .dropped, "the remaining runs of the schedule are used up")
      } else {
        startKept(waiting)
      }
    }
    if plan.overlap == .cancelOther, !current.buffered.isEmpty { askToEnd() }
  }

  /// Starts what waited, with the inputs that were kept.
  private mutating func startKept(_ waiting: BufferedSlot) {
    // One that has waited longer than keys last may find its key with another run.
    let key = (waiting.at.advanced(by: RunKey.lifetime) ?? .latest) > now ? waiting.key : nil
    guard let starting = plan.starting, starting.isComputed || waiting.inputs != nil else {
      return start(waiting.slot, waiting.cause, Prepared(run: waiting.run, inputs: plan.inputs, key: key))
    }
    // The recipe may have been edited since, so that the inputs are checked again, and one that is new is computed.
    let known = starting.given(waiting.inputs?.map ?? ValueMap())
    switch starting.values(for: startingRun(waiting.run, waiting.cause, nil), known: known) {
    case .success(let values):
      start(waiting.slot, waiting.cause, Prepared(run: waiting.run, inputs: .map(values), key: key))
    case .failure(let faults): settle(waiting.slot, waiting.cause, .refused, faults.sentence)
    }
  }

  /// Whether nothing delays a start any more.
  private func mayStart(_ waiting: BufferedSlot) -> Bool {
    let isAskedFor = [.trigger, .backfill].contains(waiting.cause.kind)
    // Its own slots wait under this policy only if the policy was edited meanwhile.
    let isFree = current.open.isEmpty || plan.overlap == .allowAll && waiting.cause.kind == .slot
    return isFree && (current.pause == nil || isAskedFor)
  }

  /// Starts what waited for a run that ended, and decides on the ends that had no place among what waits.
  mutating func proceed() {
    startWaiting()
    for end in current.ends where !isFull && current.pause == nil { follow(end) }
  }

  /// Handles what the previous agent left unfinished.
  mutating func settleRest() {
    for end in current.ends { follow(end) }
    if plan.overlap == .terminateOther { end(Array(current.open.dropLast())) { .terminate(run: $0, reason: $1) } }
    startWaiting()
  }

  /// Decides on the end of a run that the schedule follows.
  ///
  /// - Parameter outputs: The run's outputs, or the error of reading them.
  mutating func follow(_ end: FollowedEnd, _ outputs: Result<Value?, StateError>? = nil) {
    current.ends.removeAll { $0.run == end.run }
    let outputs = outputs ?? current.outputs[end.run] ?? .success(nil)
    current.outputs[end.run] = nil
    guard case .afterRecipe(let name, let wanted, let type) = plan.trigger.kind else { return }
    let cause = RunCause(.afterRecipe, schedule: id, run: end.run)
    if !wanted.contains(end.status.rawValue) {
      let words = wanted.joined(separator: " or ")
      settle(end.at, cause, .missedPolicy, "the run \(end.run) ended as \(end.status), not as \(words)")
    } else if let pause = current.pause {
      settle(end.at, cause, .paused, ScheduleEvaluation.words(pause))
    } else if isFull, plan.overlap == .bufferAll {
      // It comes only once. The state has it until it is decided, as a folder has a file.
      current.ends.append(end)
      current.outputs[end.run] = outputs
    } else {
      guard plan.readsEvent else { return offer(end.at, cause, plan.overlap) }
      switch outputs {
      case .failure(let error):
        settle(end.at, cause, .refused, "what the run \(end.run) gave cannot be read: \(error.message)")
      case .success(let value):
        let event = EventForm.ended(
          end.run, of: name, as: end.status.rawValue, at: end.at,
          outputs: value ?? (end.status == .succeeded ? .map(ValueMap()) : nil), type: type)
        switch event {
        case .success(let event): offer(end.at, cause, plan.overlap, Origin(event: event))
        case .failure(let misfit):
          settle(end.at, cause, .refused, "what the run \(end.run) gave doesn't fit: \(misfit.message)")
        }
      }
    }
  }

  /// Decides on an event that the schedule listens for.
  mutating func receive(_ event: EventRecord, _ value: Value) {
    let cause = RunCause(.event, schedule: id, event: event.id)
    if let pause = current.pause {
      settle(event.receivedAt, cause, .paused, ScheduleEvaluation.words(pause))
    } else if let name = plan.trigger.webhook?.signal {
      let sent = EventRecord(id: newID(now), name: name, data: event.data, receivedAt: event.receivedAt)
      add(.eventReceived(sent))
      settle(event.receivedAt, cause, .signalled, "it was sent as the event '\(name)' (\(sent.id))")
      effects.append(.send(sent))
    } else if let batch = plan.trigger.batch {
      current.gathered[event.id] = .success(value)
      gather(event.id, nil, batch)
    } else {
      offer(event.receivedAt, cause, plan.overlap, Origin(event: value))
    }
  }

  /// Takes an event or a file into the batch: the first opens it, and the last starts a run with it.
  mutating func gather(_ event: String, _ file: GatheredFile?, _ batch: Trigger.Batch) {
    let due = now.advanced(by: min(batch.span, ScheduleEvaluation.longestBatch)) ?? .latest
    let gathered = EventGathered(at: now, schedule: id, id: event, due: current.batch?.due ?? due, file: file)
    let open = BatchRecord.adding(gathered, to: current.batch)
    current.batch = open
    add(.eventGathered(gathered))
    if open.events.count >= batch.max { startBatch(open) }
  }

  /// Starts a run with the gathered events or files, once the batch is due.
  mutating func closeBatch() {
    guard current.pause == nil, let open = current.batch, open.due <= now else { return }
    startBatch(open)
  }

  private mutating func startBatch(_ open: BatchRecord) {
    guard let first = open.events.first else { return }
    guard plan.takes(open) else {
      let reason = "the schedule was edited since, and no longer takes them; \(open.words)"
      return settle(open.at, open.cause(first, of: id), .dropped, reason)
    }
    var events: [(cause: RunCause, value: Value)] = []
    let gathered = current.gathered
    for event in open.events {
      let cause = open.cause(event, of: id)
      let value = open.files[event].map { .success(EventForm.file($0, id: event)) } ?? gathered[event]
      switch value ?? .failure(StateError(.unavailable, "it is no longer kept")) {
      case .success(let value): events.append((cause, value))
      // Only an event that came before an edit or a restart may fail here; the others start their run.
      case .failure(let error):
        settle(open.at, cause, .refused, "what came with the event \(event) cannot be read: \(error.message)")
      }
    }
    guard let cause = events.first?.cause else { return }
    guard plan.trigger.batch == nil else {
      return offer(open.at, cause, plan.overlap, Origin(event: .list(events.map(\.value)), batch: open))
    }
    // The recipe was edited since, and takes each alone; the first ends the batch.
    for (cause, value) in events { offer(open.at, cause, plan.overlap, Origin(event: value)) }
  }
}

extension Diagnostics {
  /// All that is wrong, in one sentence.
  package var sentence: String { list.map(\.message).joined(separator: "; ") }
}

extension SlotRecord {
  /// The ledger's record of a mark that was set back.
  package static func reset(
    _ schedule: String, from until: Timestamp, to instant: Timestamp, started: Int, at now: Timestamp
  ) -> SlotRecord {
    let rest =
      started == 0
      ? "" : "; \(started) of them \(started == 1 ? "has a run and doesn't" : "have runs and don't") start again"
    return SlotRecord(
      schedule: schedule, slot: instant, until: until, outcome: .reset, at: now,
      cause: RunCause(.trigger, schedule: schedule, slot: instant),
      reason: "the clock was once ahead, and a person had the slots until \(until) decided again\(rest)")
  }
}
