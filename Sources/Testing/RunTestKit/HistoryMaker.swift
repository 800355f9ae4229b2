/// Random histories of a state: the events that runs, schedules, people and services make a program write, in the
/// batches that it writes.
///
/// No state can accept some of these batches.
///
/// The maker folds its events into a state of its own, so it knows which events fit next and which have to be refused.
/// Instants only grow, and identifiers are chosen as a program would, so that the same random numbers give the same
/// history for every store.
package import Basics
package import RunState

package struct HistoryMaker {
  /// Events that are written together.
  package struct Batch: Sendable {
    package let events: [StateEvent]
    /// Why a state refuses them; nil if it takes them.
    package let refusal: RecordError?
    fileprivate let state: State
    fileprivate let names: Names
  }

  /// Every name that has occurred.
  struct Names: Sendable {
    var runs: [String] = []
    var keys: [(key: RunKey, recipe: String)] = []
    var events: [String] = []
  }

  package private(set) var state = State()
  package private(set) var now = Timestamp(seconds: 1_795_165_200) ?? .earliest
  private(set) var names = Names()
  private var random: any RandomNumberGenerator
  private var made = Names()
  private var count = 0

  static let schedules = ["averages", "averages/weekly", "report", "reminders/late"]
  static let recipes = ["averages", "report", "reminders"]
  static let values = ["last", "seen", "höchste"]
  static let tokens = ["phone", "desk"]
  static let sessions = (0..<6).map { "session \($0)" }
  static let links = (0..<9).map { "digest \($0)" }
  static let connections = ["markbook", "timetable"]
  static let eventNames = ["handed-in", "corrected"]
  private static let steps = ["read", "put[0]/write", "put[1]/write", "#3", "poll", "poll/#round", "poll/#round/ask"]

  package init(using random: any RandomNumberGenerator) { self.random = random }

  /// The next batch; what follows depends on whether it is accepted.
  package mutating func next() -> Batch {
    // Now and then keys and deliveries expire.
    pass(one(in: 15) ? .seconds(number(86_400..<9 * 86_400)) : .milliseconds(number(1..<90_000)))
    made = names
    var events = happening()
    if one(in: 8) { events += happening() }
    if one(in: 9) {
      let misfit = misfit()
      // An id is never used again, which a folder would not notice once its run has ended.
      if case .runCreated = misfit { events.insert(misfit, at: 0) } else { events.append(misfit) }
    }
    var next = state
    var refusal: RecordError?
    do throws(RecordError) { for event in events { try next.apply(event) } } catch { refusal = error }
    if (try? events.forEach { event throws(StateError) in try event.check() }) == nil {
      refusal = RecordError("it is nested too deep")
    }
    return Batch(events: events, refusal: refusal, state: next, names: made)
  }

  /// Records that a batch was kept; later batches build on it.
  package mutating func accept(_ batch: Batch) { (state, names) = (batch.state, batch.names) }

  // MARK: Choosing

  package mutating func one(in count: Int) -> Bool { number(0..<count) == 0 }

  package mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }

  private mutating func pick<Choice>(_ choices: [Choice]) -> Choice? {
    choices.isEmpty ? nil : choices[number(0..<choices.count)]
  }

  private mutating func pick<Choice>(_ first: Choice, _ others: Choice...) -> Choice { pick(others + [first]) ?? first }

  private mutating func pass(_ span: TimeSpan) { now = now.advanced(by: span) ?? now }

  private mutating func instant(in span: TimeSpan) -> Timestamp { now.advanced(by: span) ?? now }

  private mutating func newID() -> String { UUID7(at: now, using: &random).description }

  private mutating func value() -> Value {
    switch number(0..<9) {
    case 0: .null
    case 1: .string("Zoë\u{0}\n\u{1F600} \"quoted\"")
    case 2: .double(Double(number(0..<100)) / 7)
    case 3: .list([.int(number(0..<9)), .bool(true), .string("")])
    case 4: .object(["$bytes": .string("AA=="), "name": .int(1)])
    case 5: .timestamp(now)
    case 6: .bytes([0, 255, UInt8(number(0..<256))])
    default: .int(number(-5..<5))
    }
  }

  private mutating func stored() -> StoredValue {
    if one(in: 6) { return .blob(BlobReference(sha256: String(repeating: "ab", count: 32), size: number(1..<99))) }
    return .inline(value())
  }

  private mutating func openRun() -> RunRecord? { pick(state.openRuns) }

  private mutating func schedule() -> ScheduleRecord? {
    pick(state.schedules.keys.sorted()).flatMap { state.schedules[$0] }
  }

  private mutating func key() -> RunKey {
    var key = RunKey("key \(number(0..<4))", caller: pick("ana", "ben"))
    if one(in: 5) { key.request = "digest" }
    return key
  }

  private mutating func error() -> RunError {
    RunError(
      pick(.network, .validation, .conflict), "it failed, as it said", detail: "a detail", status: 503, step: "read",
      attempt: 1, retryable: true, effect: pick(.none, .unknown, .done))
  }

  // MARK: Events

  private mutating func happening() -> [StateEvent] {
    switch number(0..<30) {
    case 0...2: return start()
    case 3...12: return openRun().map { walk($0) } ?? start()
    case 13: return openRun().map { end($0) } ?? start()
    case 14: return openRun().map { steer($0) } ?? start()
    case 15, 16: return setValue()
    case 17, 18: return receive()
    case 19: return openRun().map { consume($0) } ?? receive()
    case 20: return forget()
    case 21: return [.connectionUsed(use())]
    case 22: return one(in: 3) ? [dismiss()] : issue()
    case 23: return [setSchedule()]
    case 24: return schedule().map { steer($0) } ?? [setSchedule()]
    case 25: return schedule().map { see($0) } ?? [setSchedule()]
    default: return schedule().map { decide($0) } ?? [setSchedule()]
    }
  }

  /// An event that doesn't fit the state.
  private mutating func misfit() -> StateEvent {
    let gone = names.runs.first { state.runs[$0] == nil } ?? newID()
    let open = openRun()
    switch number(0..<8) {
    case 0: return .stepBegan(StepBegan(run: gone, at: now, step: "read", now: now))
    case 1:
      return .runCreated(open?.origin ?? created(newID(), cause: RunCause(.slot, schedule: "nowhere", slot: now)))
    case 2: return .runStatusChanged(RunStatusChanged(run: open?.id ?? gone, at: now, status: .failed))
    case 3: return .runEnded(RunEnded(run: open?.id ?? gone, at: now, status: .running))
    case 4: return .attemptEnded(AttemptEnded(run: open?.id ?? gone, at: now, step: "never", number: 1))
    case 5: return .eventConsumed(EventConsumed(at: now, id: "never", by: gone))
    case 6: return .schedulePaused(SchedulePaused(schedule: "nowhere", pause: nil))
    default:
      var deep = Value.int(1)
      for _ in 0..<160 { deep = .list([deep]) }
      return .valueSet(ValueSet(at: now, name: "last", value: .inline(deep)))
    }
  }

  // MARK: Runs

  private mutating func created(_ run: String, recipe: String? = nil, cause: RunCause, key: RunKey? = nil)
    -> RunCreated
  {
    let recipe = recipe ?? pick("averages", "report", "reminders")
    var event = RunCreated(
      run: run, at: now, recipe: recipe, file: "recipes/\(recipe).yaml", folder: one(in: 3) ? "/home/ana" : nil,
      texts: .inline(.object(["recipes/\(recipe).yaml": .string("recipe: \(recipe)\nsteps: []\n")])),
      inputs: .object(["class": value()]), sandbox: one(in: 9), program: "errand 1.0", cause: cause,
      group: one(in: 4) ? RunGroup(name: "markbook", limit: 1, onLimit: "queue") : nil, key: key)
    if one(in: 6) { event.overrides = ["x": value()] }
    made.runs.append(run)
    if let key { made.keys.append((key, recipe)) }
    return event
  }

  private mutating func start() -> [StateEvent] {
    let (run, cause): (String, RunCause)
    if let ended = pick(state.ended), one(in: 4) {
      (run, cause) = (newID(), RunCause(.retry, schedule: ended.origin.cause.schedule, run: ended.id))
    } else {
      (run, cause) = (newID(), RunCause(.manual))
    }
    var events: [StateEvent] = [.runCreated(created(run, cause: cause, key: one(in: 3) ? key() : nil))]
    if one(in: 2) {
      events.append(.runStatusChanged(RunStatusChanged(run: run, at: now, status: pick(.running, .queued))))
    }
    return events
  }

  /// The events that a running run writes at once.
  private mutating func walk(_ run: RunRecord) -> [StateEvent] {
    let id = run.id
    var events: [StateEvent] = []
    // The ends that were held back come first.
    if let last = pick(run.steps.filter { !$0.status.isEnded }), one(in: 2) {
      events.append(.stepEnded(ended(last.path, of: id, attempt: last.lastAttempt?.number ?? 0)))
    }
    let step = pick(HistoryMaker.steps) ?? ""
    let known = run.steps[step]
    switch number(0..<10) {
    case 0...3:
      // One that begins with an attempt is an action's, which has a key.
      let attempt = known == nil && one(in: 2) ? 1 : 0
      var began = StepBegan(
        run: id, at: now, step: step, now: now, attempt: attempt, baseline: one(in: 4) ? stored() : nil,
        status: pick(.running, .pending), key: attempt > 0 || one(in: 3) ? pick("\(id)/\(step)", "own") : nil,
        items: one(in: 5) ? stored() : nil)
      if one(in: 6) { began.case = "odd" }
      events.append(.stepBegan(began))
    case 4:
      guard let known else { return events + [.stepEnded(ended(step, of: id, attempt: 0))] }
      events.append(
        .attemptBegan(
          AttemptBegan(
            run: id, at: now, step: step, number: known.attempts + 1, baseline: one(in: 3) ? stored() : nil,
            carried: one(in: 3) ? stored() : nil, collected: one(in: 2) ? [stored(), stored()] : [])))
    case 5:
      guard let known, let attempt = known.lastAttempt else { return events + steer(run) }
      events.append(
        .attemptEnded(
          AttemptEnded(
            run: id, at: now, step: step, number: attempt.number, error: one(in: 2) ? error() : nil,
            retryAt: one(in: 2) ? instant(in: .seconds(9)) : nil, exchanges: one(in: 3) ? [.int(1)] : [],
            answer: one(in: 4) ? stored() : nil)))
    case 6, 7:
      let wait = WaitRecord(
        pick(.event, .until, .approval, .ask, .poll, .limit), wakeAt: one(in: 2) ? instant(in: .seconds(600)) : nil,
        event: one(in: 2) ? pick(HistoryMaker.eventNames) : nil, prompt: "Send it?", by: ["ana"], rounds: 3,
        limit: "60 a minute", since: now, question: one(in: 2) ? question() : nil)
      events.append(.stepWaits(StepWaits(run: id, at: now, step: step, now: now, wait: wait)))
      events.append(
        .runStatusChanged(
          RunStatusChanged(run: id, at: now, status: .waiting, reason: "it waits", wakeAt: wait.wakeAt)))
    case 9: events.append(.runPlaced(RunPlaced(run: id, at: now, home: "a:/b", needs: [pick("secret:A", "secret:B")])))
    case 8:
      let name = pick("etag", "page")
      events.append(
        .runNoted(
          RunNoted(
            run: id, at: now, name: name, value: stored(),
            condition: ValueState(one(in: 6) ? stored() : run.notes[name])
          )))
    default: events.append(.stepEnded(ended(step, of: id, attempt: 0)))
    }
    return events
  }

  private mutating func ended(_ step: String, of run: String, attempt: Int) -> StepEnded {
    let status: StepStatus = pick(.succeeded, .failed, .skipped, .uncertain, .cancelled)
    return StepEnded(
      run: run, at: now, step: step, now: one(in: 2) ? now : nil, attempt: attempt, status: status,
      output: status == .succeeded ? stored() : nil, error: status == .failed ? error() : nil,
      exchanges: one(in: 3) ? [.string("GET /")] : [])
  }

  private mutating func end(_ run: RunRecord) -> [StateEvent] {
    var events: [StateEvent] = []
    if let step = run.steps.last, !step.status.isEnded {
      events.append(.stepEnded(ended(step.path, of: run.id, attempt: 0)))
    }
    let status: RunStatus = pick(.succeeded, .failed, .timedOut, .cancelled, .rejected, .skipped)
    events.append(
      .runEnded(
        RunEnded(
          run: run.id, at: now, status: status, outputs: status == .succeeded ? stored() : nil,
          error: status == .failed ? error() : nil)))
    return events
  }

  private mutating func question() -> QuestionRecord {
    var question = QuestionRecord()
    (question.yes, question.summary, question.goesOnAfterNo) = ("Sends it.", "Sends letters.", one(in: 2))
    question.next = ["mail (mail.send)"]
    if one(in: 2) { question.links = [link()] }
    return question
  }

  private mutating func link() -> LinkRecord {
    LinkRecord(
      name: "ana", sha256: "digest \(number(0..<9))", round: number(0..<3), until: instant(in: .seconds(40_000_000)))
  }

  /// A change to a run from outside: a decision, a request to cancel or a status.
  private mutating func steer(_ run: RunRecord) -> [StateEvent] {
    if let asking = run.steps.first(where: \.asksPerson), one(in: 3) {
      let links = asking.wait?.question?.links.map(\.sha256) ?? []
      if !links.isEmpty, one(in: 2) {
        return [.linksEnded(LinksEnded(run: run.id, at: now, step: asking.path, links: links, by: "ana"))]
      }
      return [.linkMade(LinkMade(run: run.id, at: now, step: asking.path, link: link()))]
    }
    if let asking = run.steps.first(where: \.asksPerson), one(in: 2) {
      var decision = DecisionRecord(
        isApproved: one(in: 2), by: "ana", at: now, comment: "because", via: one(in: 2) ? .link : nil)
      if one(in: 3) { decision.key = key() }
      if asking.wait?.kind == .ask {
        (decision.isApproved, decision.fields) = (true, .object(["room": .string("B12")]))
        return [.answerGiven(DecisionGiven(run: run.id, step: asking.path, decision: decision))]
      }
      return [.decisionGiven(DecisionGiven(run: run.id, step: asking.path, decision: decision))]
    }
    if one(in: 2) {
      return [.cancelRequested(CancelRequested(run: run.id, at: now, reason: "too late", by: one(in: 2) ? "ben" : nil))]
    }
    return [
      .runStatusChanged(
        RunStatusChanged(
          run: run.id, at: now, status: pick(.paused, .running, .uncertain, .queued),
          reason: one(in: 2) ? "paused" : nil
        ))
    ]
  }

  // MARK: Values, events, connections, tokens

  private mutating func setValue() -> [StateEvent] {
    let name = pick("last", "seen", "höchste")
    let condition = one(in: 3) ? nil : ValueState(one(in: 5) ? stored() : state.values[name])
    var change: StepReference?
    if let run = openRun(), let step = pick(Array(run.steps)), one(in: 2) {
      change = StepReference(run: run.id, step: step.path)
    }
    if one(in: 4) { return [.valueRemoved(ValueRemoved(at: now, name: name, condition: condition, change: change))] }
    return [.valueSet(ValueSet(at: now, name: name, value: stored(), condition: condition, change: change))]
  }

  private mutating func receive() -> [StateEvent] {
    let id = one(in: 4) ? pick(names.events) ?? newID() : newID()
    made.events.append(id)
    var event = EventRecord(
      id: id, name: pick("handed-in", "corrected"), data: one(in: 2) ? stored() : nil,
      run: one(in: 4) ? openRun()?.id : nil, receivedAt: now)
    guard let schedule = schedule(), one(in: 2) else { return [.eventReceived(event)] }
    if one(in: 2) {
      event.delivery = DeliveryRecord(
        schedule: schedule.id, keys: (0..<number(1..<3)).map { _ in "digest \(number(0..<6))" },
        until: instant(in: .seconds(number(60..<200_000))), headers: one(in: 3) ? stored() : nil,
        query: one(in: 3) ? stored() : nil)
    }
    let consumed = StateEvent.eventConsumed(EventConsumed(at: now, id: id, by: schedule.id))
    let cause = RunCause(.event, schedule: schedule.id, event: id)
    if one(in: 3) {
      let gathered = EventGathered(at: now, schedule: schedule.id, id: id, due: instant(in: .seconds(60)))
      return [.eventReceived(event), consumed, .eventGathered(gathered)]
    }
    let run = newID()
    return [
      .eventReceived(event), consumed,
      .slotDecided(SlotRecord(schedule: schedule.id, slot: now, outcome: .started, at: now, cause: cause, run: run)),
      .runCreated(created(run, recipe: schedule.recipe, cause: cause)),
    ]
  }

  private mutating func consume(_ run: RunRecord) -> [StateEvent] {
    let free = state.events.values.filter { $0.consumedBy == nil && $0.delivery == nil }.map(\.id).sorted()
    guard let event = pick(free) else { return walk(run) }
    let step = run.steps.first { $0.wait?.event != nil }?.path ?? "read"
    return [
      .eventConsumed(EventConsumed(at: now, id: event, by: run.id)), .stepEnded(ended(step, of: run.id, attempt: 0)),
    ]
  }

  private mutating func forget() -> [StateEvent] {
    let ids = Array(state.events.keys.sorted().prefix(number(1..<4)))
    let forgotten = StateEvent.eventsForgotten(EventsForgotten(at: now, ids: ids + ["never"]))
    guard let id = ids.first, one(in: 4) else { return [forgotten] }
    // An identifier that is forgotten may come again.
    let again = StateEvent.eventReceived(EventRecord(id: id, name: "corrected", receivedAt: now))
    return one(in: 2) ? [forgotten, again] : [again, forgotten]
  }

  private mutating func use() -> ConnectionUsed {
    let connection = pick("markbook", "timetable")
    return ConnectionUsed(
      at: now, connection: connection, requests: number(0..<4),
      per: connection == "markbook" ? .seconds(60) : .seconds(86_400),
      heldUntil: one(in: 4) ? instant(in: .seconds(number(1..<900))) : nil)
  }

  private mutating func dismiss() -> StateEvent {
    .failureDismissed(
      FailureDismissed(
        at: now, group: pick("3fa91c05d2b7e684", "0000000000000001"), recipe: pick("averages", "report"), until: now,
        by: one(in: 2) ? "ann" : nil, note: one(in: 3) ? "known" : nil))
  }

  private mutating func issue() -> [StateEvent] {
    let name = pick("phone", "desk")
    if one(in: 2) { return [logIn()] }
    if one(in: 3) { return [.tokenRevoked(TokenRevoked(at: now, name: name))] }
    return [
      .tokenIssued(
        TokenIssued(
          at: now, name: name, sha256: String(repeating: "0", count: 64), scopes: [.read, .data],
          recipes: one(in: 2) ? ["report"] : [], expiresAt: one(in: 2) ? instant(in: .seconds(600)) : nil))
    ]
  }

  private mutating func logIn() -> StateEvent {
    let session = "session \(number(0..<6))"
    if one(in: 3) {
      return .accessUsed(
        AccessUsed(at: now, token: one(in: 2) ? pick("phone", "desk") : nil, session: one(in: 2) ? session : nil))
    }
    if one(in: 3) { return .sessionEnded(SessionEnded(at: now, sessions: [session, "session \(number(0..<6))"])) }
    return .sessionBegan(
      SessionBegan(
        at: now, sha256: session, name: "ana", token: one(in: 2) ? "digest" : nil, account: one(in: 2) ? "ana" : nil,
        until: instant(in: .seconds(number(60..<90_000)))))
  }

  // MARK: Schedules

  private mutating func setSchedule() -> StateEvent {
    let id = pick("averages", "averages/weekly", "report", "reminders/late")
    return .scheduleSet(
      ScheduleSet(
        at: now, schedule: id, recipe: id.split(separator: "/").first.map { String($0) } ?? id, file: "\(id).yaml",
        spec: "cron \(number(0..<3))", texts: one(in: 2) ? stored() : nil, processedUntil: one(in: 3) ? now : nil,
        remainingRuns: one(in: 4) ? 2 : nil, pausesOnFailure: one(in: 3),
        follows: one(in: 2) ? pick(HistoryMaker.recipes) : nil))
  }

  private mutating func steer(_ schedule: ScheduleRecord) -> [StateEvent] {
    let id = schedule.id
    if one(in: 3) {
      let pause = one(in: 2) ? nil : PauseRecord(at: now, origin: .person, note: "holidays")
      return [.schedulePaused(SchedulePaused(schedule: id, pause: pause))]
    }
    if one(in: 2) {
      var reset = SlotRecord(schedule: id, slot: now, outcome: .reset, at: now, cause: RunCause(.slot, schedule: id))
      reset.until = schedule.processedUntil
      return [
        .scheduleReset(ScheduleReset(at: now, schedule: id, processedUntil: now, started: [instant(in: .seconds(5))])),
        .slotDecided(reset),
      ]
    }
    return schedule.buffered.map { waiting in
      .slotDecided(
        SlotRecord(
          schedule: id, slot: waiting.slot, outcome: .dropped, at: now, cause: waiting.cause, reason: "it was removed"))
    } + [.scheduleRemoved(ScheduleRemoved(at: now, schedule: id))]
  }

  private mutating func see(_ schedule: ScheduleRecord) -> [StateEvent] {
    let version = FileVersion(bytes: number(0..<99), modifiedAt: now)
    let path = "in/\(number(0..<3)).csv"
    var events: [StateEvent] = [
      .filesSeen(
        FilesSeen(
          at: now, schedule: schedule.id, pattern: "in/*.csv", files: [path: version],
          gone: schedule.files?.versions.keys.sorted().first.map { one(in: 2) && $0 != path ? [$0] : [] } ?? []))
    ]
    if one(in: 2) {
      events.append(
        .eventGathered(
          EventGathered(
            at: now, schedule: schedule.id, id: newID(), due: instant(in: .seconds(60)),
            file: GatheredFile(path: path, version: version, at: now))))
    }
    return events
  }

  /// The decision of a schedule about one slot.
  private mutating func decide(_ schedule: ScheduleRecord) -> [StateEvent] {
    let id = schedule.id
    func slot(_ outcome: SlotOutcome, _ cause: RunCause, _ slot: Timestamp, _ run: String? = nil) -> SlotRecord {
      SlotRecord(schedule: id, slot: slot, outcome: outcome, at: now, cause: cause, run: run)
    }
    func due(at slot: Timestamp) -> RunCause { RunCause(.slot, schedule: id, slot: slot) }
    if let batch = schedule.batch, let first = batch.events.first, one(in: 2) {
      let (run, cause) = (newID(), batch.cause(first, of: id))
      return [
        .slotDecided(slot(.started, cause, batch.at, run)),
        .runCreated(created(run, recipe: schedule.recipe, cause: cause)),
      ]
    }
    if let waiting = schedule.buffered.first, one(in: 2) {
      if one(in: 4) {
        var dropped = slot(.refused, waiting.cause, waiting.slot)
        dropped.reason = "no room"
        return [.slotDecided(dropped)]
      }
      let run = waiting.run ?? newID()
      return [
        .slotDecided(slot(.started, waiting.cause, waiting.slot, run)),
        .runCreated(created(run, recipe: schedule.recipe, cause: waiting.cause, key: waiting.key)),
      ]
    }
    if let end = schedule.endsToFollow.first, one(in: 2) {
      let (run, cause) = (newID(), RunCause(.afterRecipe, schedule: id, run: end.run))
      return [
        .slotDecided(slot(.started, cause, end.at, run)),
        .runCreated(created(run, recipe: schedule.recipe, cause: cause)),
      ]
    }
    switch number(0..<8) {
    case 0...2:
      // Many of these are one row.
      var skipped = slot(.skippedOverlap, due(at: now), now, schedule.openRuns.first)
      skipped.reason = "the run before is still open"
      if one(in: 3) {
        skipped.until = instant(in: .milliseconds(1))
        skipped.count = 2
      }
      if one(in: 9) { skipped.lateBy = .seconds(2) }
      return [.slotDecided(skipped)]
    case 3:
      var waiting = slot(.buffered, due(at: now), now, one(in: 2) ? newID() : nil)
      waiting.inputs = one(in: 2) ? value() : nil
      return [.slotDecided(waiting)]
    case 4, 5:
      var asked = slot(.buffered, RunCause(.trigger, schedule: id), now, newID())
      let key = key()
      made.keys.append((key, schedule.recipe))
      asked.key = key
      if one(in: 3) { (asked.outcome, asked.run, asked.reason) = (.refused, nil, "it doesn't fit") }
      return [.slotDecided(asked)]
    case 6:
      return [.slotDecided(slot(pick(.missedWindow, .missedPolicy, .coalesced, .paused), due(at: now), now))]
    default:
      let run = newID()
      let cause = due(at: now)
      return [
        .slotDecided(slot(.started, cause, now, run)),
        .runCreated(created(run, recipe: schedule.recipe, cause: cause)),
      ]
    }
  }
}
