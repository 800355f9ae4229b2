package import Basics

/// Everything that is open, and the runs that ended since the last snapshot: the fold of all events so far.
package struct State: Sendable, Equatable {
  /// The open runs, by id.
  package internal(set) var runs: [String: RunRecord] = [:]
  /// The ended runs that are not in the history's files yet, in the order of their ends.
  package internal(set) var ended: [RunRecord] = []
  /// The values that outlive runs.
  package internal(set) var values: [String: StoredValue] = [:]
  /// The events that were received in the last days, by id.
  package internal(set) var events: [String: EventRecord] = [:]
  /// The schedules, by id.
  package internal(set) var schedules: [String: ScheduleRecord] = [:]
  /// The settled slots that are not in the ledger's files yet, in the order of settlement.
  package internal(set) var slots: [SlotRecord] = []
  /// The latest requests on connections that have limits, by the connections' names.
  package internal(set) var connections: [String: ConnectionUse] = [:]
  /// The tokens of callers over HTTP, by their names.
  package internal(set) var tokens: [String: TokenIssued] = [:]
  /// The logins of browsers, by the SHA-256 of their texts.
  package internal(set) var sessions: [String: SessionBegan] = [:]
  /// The failures that people dismissed, by the ids of their groups.
  package internal(set) var dismissals: [String: FailureDismissed] = [:]
  /// The deliveries to webhooks that are known.
  var deliveries = DeliveryKeys()
  /// The links to questions that are known.
  var links = KnownLinks()
  /// The runs that were started with a key.
  var keys = RunKeys()
  /// The schedules that follow the runs of a recipe, by its name; derived from `schedules`.
  private var followers: [String: [String]] = [:]
  /// The place of each schedule's last slot in `slots`.
  private var rows: [String: Int] = [:]
  /// The latest texts of each recipe.
  private var texts = KnownTexts()
  /// In a part of the state: the open runs that are not in `runs`.
  var openElsewhere: Set<String> = []

  package init() {}

  /// The open runs, oldest first.
  package var openRuns: [RunRecord] { runs.values.sorted { $0.id.precedesByScalars($1.id) } }

  /// Whether a run is open.
  private var isOpen: (String) -> Bool { { [runs, openElsewhere] in runs[$0] != nil || openElsewhere.contains($0) } }

  /// The recipe of a run that is open or has just ended.
  func recipe(ofRun id: String) -> String? { (runs[id] ?? endedRun(id))?.recipe }

  /// The ended run of that id.
  func endedRun(_ id: String) -> RunRecord? {
    ended.indices.last { ended[$0].id.hasSameScalars(as: id) }.map { ended[$0] }
  }

  /// The ended runs that match, latest end first.
  func endedRuns(_ query: HistoryQuery) -> [RunSummary] {
    var found: [RunSummary] = []
    for index in ended.indices.reversed() where found.count < query.limit {
      let summary = RunSummary(ended[index])
      if query.matches(summary) { found.append(summary) }
    }
    return found
  }

  /// The holder of a caller's key for a recipe at an instant.
  package func run(ofKey key: RunKey, of recipe: String, at instant: Timestamp) throws(RecordError) -> KeyedRun? {
    keys.holder(of: try key.digest(of: recipe), at: instant, isOpen: isOpen)
  }

  /// Applies one event.
  ///
  /// An event that does not fit (a run created twice, a step of a run that is not open) throws and changes nothing.
  ///
  /// - Parameter ahead: A state that has applied this event and later ones. Runs are taken from it as they are there,
  ///   so that both share their records; it makes sense only if all of its events follow.
  package mutating func apply(_ event: StateEvent, behind ahead: State? = nil) throws(RecordError) {
    func apply(_ event: StateEvent, to run: String) throws(RecordError) {
      try self.apply(event, to: run, behind: ahead)
    }
    switch event {
    case .runCreated(let event):
      guard runs[event.run] == nil else { throw RecordError("the run \(event.run) exists already") }
      try begin(event)
    case .runClaimed(let change): try apply(event, to: change.run)
    case .runStatusChanged(let change): try apply(event, to: change.run)
    case .cancelRequested(let change): try apply(event, to: change.run)
    case .stepBegan(let change): try apply(event, to: change.run)
    case .attemptBegan(let change): try apply(event, to: change.run)
    case .attemptEnded(let change): try apply(event, to: change.run)
    case .stepEnded(let change): try apply(event, to: change.run)
    case .runEnded(let change):
      try apply(event, to: change.run)
      openElsewhere.remove(change.run)
      if let run = runs.removeValue(forKey: change.run) {
        end(run)
        ended.append(run)
      }
    case .runNoted(let change): try apply(event, to: change.run)
    case .runPlaced(let change): try apply(event, to: change.run)
    case .valueSet(let change):
      try setValue(event, of: change.name, to: change.value, if: change.condition, by: change.change, behind: ahead)
    case .valueRemoved(let change):
      try setValue(event, of: change.name, to: nil, if: change.condition, by: change.change, behind: ahead)
    case .stepWaits(let change):
      try apply(event, to: change.run)
      for link in change.wait.question?.links ?? [] { links.take(link, to: change.step, of: change.run, at: change.at) }
    case .decisionGiven(let change), .answerGiven(let change): try apply(event, to: change.run)
    case .linkMade(let change):
      try apply(event, to: change.run)
      links.take(change.link, to: change.step, of: change.run, at: change.at)
    case .linksEnded(let change):
      try apply(event, to: change.run)
      for link in change.links { links.end(link) }
    case .eventReceived(let event):
      if let delivery = event.delivery {
        try take(event, delivery)
      } else if events[event.id] != nil {
        throw RecordError("the event \(event.id) was received already")
      }
      events[event.id] = event
    case .eventConsumed(let change):
      guard let event = events[change.id], event.consumedBy == nil else {
        throw RecordError("there is no unconsumed event \(change.id)")
      }
      events[change.id]?.consumedBy = change.by
    case .eventsForgotten(let change): for id in change.ids { events[id] = nil }
    case .eventGathered(let event):
      guard schedules[event.schedule] != nil else { throw .noSchedule(event.schedule) }
      schedules[event.schedule]?.gather(event)
    case .failureDismissed(let event):
      for (group, other) in dismissals where other.forgottenAt <= event.at { dismissals[group] = nil }
      dismissals[event.group] = event
    case .filesSeen(let event):
      guard let index = schedules.index(forKey: event.schedule) else { throw .noSchedule(event.schedule) }
      // In place, because a schedule may have seen thousands.
      schedules.values[index].see(event)
    case .scheduleSet(let event): set(event)
    case .scheduleRemoved(let event):
      guard let schedule = schedules.removeValue(forKey: event.schedule) else { throw .noSchedule(event.schedule) }
      unfollow(schedule)
    case .schedulePaused(let event):
      guard schedules[event.schedule] != nil else { throw .noSchedule(event.schedule) }
      schedules[event.schedule]?.pause = event.pause
    case .scheduleReset(let event):
      guard schedules[event.schedule] != nil else { throw .noSchedule(event.schedule) }
      schedules[event.schedule]?.processedUntil = event.processedUntil
      schedules[event.schedule]?.started = event.started
    case .slotDecided(let slot): try settle(slot)
    case .connectionUsed(let event): try note(event)
    case .tokenIssued(let event):
      guard tokens[event.name].map({ $0.isExpired(at: event.at) }) ?? true else {
        throw RecordError("there is a token '\(event.name)' already", isConflict: true)
      }
      tokens[event.name] = event
    case .tokenRevoked(let event):
      guard tokens.removeValue(forKey: event.name) != nil else {
        throw RecordError("there is no token '\(event.name)'", isConflict: true)
      }
    case .sessionBegan(let event):
      guard sessions[event.sha256] == nil else { throw RecordError("there is a session \(event.sha256) already") }
      sessions[event.sha256] = event
    case .sessionEnded(let event): for session in event.sessions { sessions[session] = nil }
    case .accessUsed(let event):
      // One that has ended meanwhile was not used.
      if let name = event.token { tokens[name]?.usedOn = event.at.utcDay }
      if let session = event.session { sessions[session]?.usedOn = event.at.utcDay }
    }
  }

  /// Forgets the runs that ended and the slots that were settled, once the files of both hold them.
  mutating func forgetOver() {
    ended = []
    slots = []
    rows = [:]
  }

  /// Forgets a run that ended.
  mutating func forgetEnded(_ id: String) { ended.removeAll { $0.id == id } }

  private mutating func setValue(
    _ event: StateEvent, of name: String, to value: StoredValue?, if condition: ValueState?,
    by step: StepReference?, behind ahead: State?
  ) throws(RecordError) {
    if let condition, condition.value != values[name] {
      throw RecordError("the value '\(name)' is not what it was", isConflict: true)
    }
    if let step { try apply(event, to: step.run, behind: ahead) }
    values[name] = value
  }

  private mutating func apply(_ event: StateEvent, to run: String, behind ahead: State?) throws(RecordError) {
    guard let index = runs.index(forKey: run) else { throw RecordError("the run \(run) is not open") }
    if let record = ahead?.runs[run] ?? ahead?.endedRun(run) {
      runs.values[index] = record
    } else {
      // In place, because a run may hold thousands of steps.
      try runs.values[index].apply(event)
    }
  }
}

extension State {
  private mutating func begin(_ event: RunCreated) throws(RecordError) {
    if let id = event.cause.schedule {
      guard schedules[id] != nil else { throw .noSchedule(id) }
    }
    if let key = event.key { try take(key, for: event) }
    if let id = event.cause.schedule {
      schedules[id]?.openRuns.append(event.run)
      schedules[id]?.lastRun = event.run
    }
    var event = event
    event.texts = texts.shared(event.texts, of: event.file)
    runs[event.run] = RunRecord(event)
  }

  private mutating func take(_ event: EventRecord, _ delivery: DeliveryRecord) throws(RecordError) {
    // One whose key has expired may come again, unless its schedule still holds what came before.
    let isHeld = events[event.id].map { earlier in
      earlier.consumedBy == nil || schedules[delivery.schedule]?.batch?.events.contains(event.id) == true
    }
    guard isHeld != true, !deliveries.has(delivery.keys, at: event.receivedAt) else {
      throw RecordError("the delivery \(event.id) was received already", isConflict: true)
    }
    deliveries.take(delivery, at: event.receivedAt)
  }

  private mutating func note(_ event: ConnectionUsed) throws(RecordError) {
    if let wait = connections[event.connection]?.wait(of: event) {
      var error = RecordError("the connection '\(event.connection)' allows no more requests now")
      error.wait = wait
      throw error
    }
    for (name, use) in connections where use.isOver(at: event.at) && name != event.connection {
      connections[name] = nil
    }
    connections[event.connection, default: ConnectionUse(per: event.per)].apply(event)
  }

  private mutating func take(_ key: RunKey, for event: RunCreated) throws(RecordError) {
    // Shared only until this returns, so that no change of a run copies all.
    let isOpen = isOpen
    try keys.take(key, for: event, isOpen: isOpen)
  }

  /// Updates the run's own schedule, and the schedules that follow its recipe, after its end.
  private mutating func end(_ run: RunRecord) {
    if let key = run.origin.key { keys.end(key, of: run) }
    if let id = run.origin.cause.schedule, let schedule = schedules[id] {
      schedules[id]?.openRuns.removeAll { $0 == run.id }
      schedules[id]?.lastStatus = run.status
      if schedule.pausesOnFailure, schedule.pause == nil { schedules[id]?.pause = PauseRecord(onFailureOf: run) }
    }
    for id in followers[run.recipe] ?? [] {
      schedules[id]?.endsToFollow.append(FollowedEnd(run: run.id, status: run.status, at: run.endedAt ?? run.now))
    }
  }

  private mutating func set(_ event: ScheduleSet) {
    var schedule =
      schedules[event.schedule]
      ?? ScheduleRecord(
        id: event.schedule, recipe: event.recipe, file: event.file, spec: event.spec, createdAt: event.at,
        processedUntil: event.processedUntil ?? event.at)
    unfollow(schedule)
    schedule.recipe = event.recipe
    schedule.file = event.file
    schedule.spec = event.spec
    schedule.texts = event.texts
    schedule.language = event.language
    // Never back, so that no slot is decided twice.
    if let mark = event.processedUntil { schedule.processedUntil = max(mark, schedule.processedUntil) }
    schedule.remainingRuns = event.remainingRuns
    schedule.pausesOnFailure = event.pausesOnFailure
    schedule.follows = event.follows
    if event.follows == nil { schedule.endsToFollow = [] }
    schedules[schedule.id] = schedule
    follow(schedule)
  }

  private mutating func follow(_ schedule: ScheduleRecord) {
    guard let recipe = schedule.follows else { return }
    var ids = followers[recipe] ?? []
    // A part of the state is indexed again whenever something is added to it.
    if ids.contains(schedule.id) { return }
    // In order of ids, so that the order is always the same.
    ids.insert(schedule.id, at: ids.firstIndex { schedule.id.precedesByScalars($0) } ?? ids.endIndex)
    followers[recipe] = ids
  }

  private mutating func unfollow(_ schedule: ScheduleRecord) {
    guard let recipe = schedule.follows else { return }
    let ids = (followers[recipe] ?? []).filter { $0 != schedule.id }
    followers[recipe] = ids.isEmpty ? nil : ids
  }

  private mutating func settle(_ slot: SlotRecord) throws(RecordError) {
    guard let index = schedules.index(forKey: slot.schedule) else { throw .noSchedule(slot.schedule) }
    var slot = slot
    if let key = slot.key {
      let (isOpen, recipe) = (isOpen, schedules.values[index].recipe)
      if slot.outcome != .buffered {
        try keys.keep(slot, key, of: recipe, isOpen: isOpen)
      } else if let run = slot.run {
        try keys.reserve(key, for: run, of: recipe, at: slot.at, isOpen: isOpen)
      }
    }
    schedules.values[index].settle(slot)
    if slot.outcome == .buffered { return }
    // The ledger is kept for longer than keys are.
    slot.key = nil
    if let row = rows[slot.schedule], row < slots.count, slots[row].continues(with: slot) {
      slots[row].until = slot.until ?? slot.slot
      slots[row].count += slot.count
    } else {
      rows[slot.schedule] = slots.count
      slots.append(slot)
    }
  }

  /// Rebuilds the members that are derived from the others.
  mutating func index() {
    for index in runs.values.indices {
      let origin = runs.values[index].origin
      runs.values[index].origin.texts = texts.shared(origin.texts, of: origin.file)
    }
    for schedule in schedules.values { follow(schedule) }
    for (place, slot) in slots.enumerated() { rows[slot.schedule] = place }
  }
}

/// The texts of recipes, so that all runs of a recipe hold the same.
private struct KnownTexts: Sendable, Equatable {
  private var latest: [String: StoredValue] = [:]

  /// The texts of a recipe's file as an earlier run holds them, if they are the same.
  mutating func shared(_ texts: StoredValue, of file: String) -> StoredValue {
    if let known = latest[file], known == texts { return known }
    latest[file] = texts
    return texts
  }

  // It only decides what is shared.
  static func == (left: KnownTexts, right: KnownTexts) -> Bool { true }
}

extension SlotRecord {
  /// Whether the next slot that was decided of the same schedule has the same outcome for the same reason, so that both
  /// are one row.
  package func continues(with next: SlotRecord) -> Bool {
    outcome == .skippedOverlap && next.outcome == outcome && cause.kind == .slot && next.cause.kind == .slot
      && run == next.run && reason == next.reason && lateBy == nil && next.lateBy == nil
      && until ?? slot < next.slot
  }
}

extension ScheduleRecord {
  fileprivate mutating func see(_ event: FilesSeen) {
    if files == nil { files = SeenFiles(pattern: event.pattern) }
    files?.apply(event)
  }

  fileprivate mutating func gather(_ event: EventGathered) { batch = .adding(event, to: batch) }

  fileprivate mutating func settle(_ decided: SlotRecord) {
    switch decided.cause.kind {
    case .slot:
      processedUntil = max(processedUntil, decided.until ?? decided.slot)
      if !started.isEmpty { started = started.filter { $0 > processedUntil } }
    case .afterRecipe: endsToFollow.removeAll { $0.run == decided.cause.run }
    default: break
    }
    if batch?.isEnded(by: decided) == true { batch = nil }
    if decided.outcome == .buffered {
      let waiting = BufferedSlot(
        slot: decided.slot, at: decided.at, cause: decided.cause, inputs: decided.inputs, run: decided.run,
        key: decided.key)
      // One that waits already is completed.
      if let known = buffered.firstIndex(where: { $0.slot == decided.slot && $0.cause == decided.cause }) {
        buffered[known] = waiting
      } else {
        buffered.append(waiting)
      }
      return
    }
    buffered.removeAll { $0.slot == decided.slot && $0.cause == decided.cause }
    counts[decided.outcome.rawValue, default: 0] += decided.count
    if decided.outcome == .started, decided.cause.kind == .slot, let left = remainingRuns {
      remainingRuns = max(0, left - 1)
    }
  }
}

extension RecordError {
  static let changesNoRun = RecordError("the event changes no run")
  static func noSchedule(_ id: String) -> RecordError { RecordError("there is no schedule '\(id)'") }
}

extension RunRecord {
  /// Applies one event of this run.
  ///
  /// An event that does not fit throws and changes nothing; neither events of other runs nor events of no run fit.
  package mutating func apply(_ event: StateEvent) throws(RecordError) {
    switch event {
    case .runClaimed(let event): claims = claims.suffix(RunRecord.mostClaims - 1) + [event]
    case .runStatusChanged(let event):
      guard !event.status.isEnded else {
        throw RecordError("a run ends by 'runEnded', not by a change to \(event.status)")
      }
      status = event.status
      reason = event.reason
      wakeAt = event.wakeAt
      hasMissingDependency = event.hasMissingDependency
    case .cancelRequested(let event): pendingCancel = event
    case .stepBegan(let event): apply(event)
    case .attemptBegan(let event): try change(event.step) { $0.apply(event) }
    case .attemptEnded(let event): try change(event.step) { $0.apply(event) }
    case .stepEnded(let event): apply(event)
    case .runEnded(let event):
      guard event.status.isEnded else { throw RecordError("a run cannot end as \(event.status)") }
      status = event.status
      outputs = event.outputs
      error = event.error
      reason = nil
      wakeAt = nil
      endedAt = event.at
    case .stepWaits(let event): apply(event)
    case .decisionGiven(let event): try change(event.step) { $0.apply(event.decision) }
    case .answerGiven(let event):
      guard steps[event.step]?.asksPerson == true else {
        throw RecordError("the step '\(event.step)' of the run \(id) isn't asking", isConflict: true)
      }
      try change(event.step) { $0.apply(event.decision) }
    case .linkMade(let event): try change(event.step) { $0.apply(event.link) }
    case .linksEnded(let event): try change(event.step) { $0.end(event.links) }
    case .runNoted(let event):
      guard event.condition.value == notes[event.name] else {
        throw RecordError("the note '\(event.name)' of the run \(id) is not what it was", isConflict: true)
      }
      notes[event.name] = event.value
    case .runPlaced(let event):
      home = event.home ?? home
      needs += event.needs.filter { !needs.contains($0) }
    case .valueSet(let event):
      guard let reference = event.change else { throw .changesNoRun }
      try change(reference.step) { $0.change = ValueState(event.value) }
    case .valueRemoved(let event):
      guard let reference = event.change else { throw .changesNoRun }
      try change(reference.step) { $0.change = ValueState(nil) }
    case .runCreated, .eventReceived, .eventConsumed, .eventsForgotten, .eventGathered, .failureDismissed, .filesSeen,
      .scheduleSet, .scheduleRemoved, .schedulePaused, .scheduleReset, .slotDecided, .connectionUsed, .tokenIssued,
      .tokenRevoked, .sessionBegan, .sessionEnded, .accessUsed:
      throw .changesNoRun
    }
  }

  private mutating func change(_ step: StepPath, _ body: (inout StepRecord) -> Void) throws(RecordError) {
    if steps.change(step, body) == nil { throw RecordError("the step '\(step)' of the run \(id) has not begun") }
  }
}

extension RunRecord {
  fileprivate mutating func apply(_ event: StepBegan) {
    // A step that starts again keeps its place in the order.
    let before = steps[event.step]
    // The steps of the round before go with it, so that a run doesn't grow with its rounds.
    if before != nil, event.step.isRound { steps.removeRounds(of: event.step) }
    var record = StepRecord(
      path: event.step, ordinal: before?.ordinal ?? steps.nextOrdinal, status: event.status, now: event.now,
      startedAt: event.at, isAction: event.key != nil,
      key: event.key == StepRecord.standardKey(of: event.step, in: event.run) ? nil : event.key, items: event.items)
    record.resolution = event.resolution ?? before?.resolution
    record.case = event.case
    if let before { record.keepAttempts(of: before) }
    if event.attempt > 0 {
      var began = AttemptBegan(
        run: event.run, at: event.at, step: event.step, number: event.attempt, baseline: event.baseline)
      began.isPlainWrite = event.isPlainWrite
      record.apply(began)
    }
    steps.put(record)
    now = max(now, event.now)
  }

  fileprivate mutating func apply(_ event: StepWaits) {
    now = max(now, event.now)
    let status = event.wait.kind == .limit ? StepStatus.queued : .waiting
    let isKnown: Void? = steps.change(event.step) {
      $0.status = status
      $0.now = event.now
      $0.wait = event.wait
    }
    if isKnown != nil { return }
    steps.put(
      StepRecord(
        path: event.step, ordinal: steps.nextOrdinal, status: status, now: event.now, startedAt: event.at,
        wait: event.wait))
  }

  fileprivate mutating func apply(_ event: StepEnded) {
    now = max(now, event.now ?? now)
    if steps.change(event.step, { $0.apply(event) }) != nil { return }
    var record = StepRecord(
      path: event.step, ordinal: steps.nextOrdinal, status: event.status, now: event.now ?? now, startedAt: event.at)
    record.apply(event)
    steps.put(record)
  }
}

extension StepRecord {
  fileprivate mutating func apply(_ event: StepEnded) {
    if event.attempt > 0 {
      apply(
        AttemptEnded(
          run: event.run, at: event.at, step: event.step, number: event.attempt, exchanges: event.exchanges))
    }
    status = event.status
    if let instant = event.now { now = instant }
    output = event.output
    error = event.error
    endedAt = event.status.isEnded ? event.at : nil
    if event.status.isEnded { change = nil }
    // A success has both in its output; a retry of the run needs them after a failure.
    if event.status == .succeeded {
      collected = CollectedPieces()
      lastAttempt?.answer = nil
    }
    resolution = event.resolution ?? resolution
  }

  /// The first decision counts, if it comes before the end of the step.
  fileprivate mutating func apply(_ given: DecisionRecord) {
    if decision == nil, !status.isEnded { decision = given }
  }

  fileprivate mutating func apply(_ link: LinkRecord) {
    var asked = wait?.question ?? QuestionRecord()
    asked.links.removeAll { $0.name.hasSameScalars(as: link.name) }
    asked.links.append(link)
    wait?.question = asked
  }

  fileprivate mutating func end(_ links: [String]) {
    wait?.question?.links.removeAll { links.contains($0.sha256) }
    wait?.question?.round += 1
  }

  fileprivate mutating func apply(_ event: AttemptBegan) {
    // The end of the attempt before was lost.
    if let lastAttempt, lastAttempt.endedAt == nil { doubts += 1 }
    status = .running
    attempts = max(attempts, event.number)
    if let values = event.carried { carried = values }
    for piece in event.collected { collected.append(piece) }
    keepAttempts(of: self)
    lastAttempt = AttemptRecord(number: event.number, startedAt: event.at, baseline: event.baseline)
    lastAttempt?.isPlainWrite = event.isPlainWrite
  }

  fileprivate mutating func apply(_ event: AttemptEnded) {
    if let error = event.error, error.effect != .none { doubts += 1 }
    status = event.retryAt == nil ? .running : .retrying
    lastAttempt?.endedAt = event.at
    lastAttempt?.error = event.error
    lastAttempt?.retryAt = event.retryAt
    lastAttempt?.exchanges = event.exchanges
    if let answer = event.answer { lastAttempt?.answer = answer }
  }
}

extension State: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    runs = try member("runs", record?.runs, default: [:])
    ended = try member("ended", record?.ended, default: [])
    values = try member("values", record?.values, default: [:])
    events = try member("events", record?.events, default: [:])
    schedules = try member("schedules", record?.schedules, default: [:])
    slots = try member("slots", record?.slots, default: [])
    connections = try member("connections", record?.connections, default: [:])
    tokens = try member("tokens", record?.tokens, default: [:])
    sessions = try member("sessions", record?.sessions, default: [:])
    dismissals = try member("dismissals", record?.dismissals, default: [:])
    deliveries = DeliveryKeys(try member("deliveries", record?.deliveries.known, default: [:]))
    links = KnownLinks(try member("links", record?.links.known, default: [:]))
    keys = RunKeys(try member("keys", record?.keys.runs, default: [:])) { [runs] in runs[$0] != nil }
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    try self.init(coding: &record, of: nil)
    index()
    for (id, run) in runs where run.id != id || run.status.isEnded {
      throw RecordError("the run \(run.id), which is \(run.status), is kept as the open run \(id)")
    }
  }
}
