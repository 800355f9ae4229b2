// The conditions that must hold after every event, for every seed.
//
// The audit folds the acknowledged batches in the order of their hand-in, which is the journal's order. Each event is
// checked against the fold before it is added: no ended step begins or ends again, no slot has two outcomes and none is
// skipped, no suspended run continues without a request. After a crash the program must find the state of that fold,
// with some of the batches that followed and weren't acknowledged.
import ActionKit
import Basics
import Calendars
import RunState
import Scheduler
import Synchronization

/// Audits one life of the simulated services.
final class Audit: Sendable {
  enum Fate: Equatable { case handedIn, kept, refused, unknown }

  private struct Batch {
    var events: [StateEvent]
    var fate = Fate.handedIn
  }

  private struct Content {
    var batches: [Batch] = []
    /// How many batches were settled and folded.
    var settled = 0
    var fold = State()
    var trace: [String] = []
    var faults: [String] = []
    /// For each schedule: every slot through this instant has a record.
    var marks: [String: Timestamp] = [:]
    var recurrences: [String: Recurrence] = [:]
    /// The slots that have a run, or another outcome.
    var fates: Set<String> = []
    var runs: Set<String> = []
    /// The suspended runs that a person resumed.
    var asked: Set<String> = []
    /// How many steps of an uncertain run were resolved; each lets the agent continue the run once.
    var resolutions: [String: Int] = [:]
    /// The keys of plain writes, and of writes that a person resolved.
    var writes: Set<String> = []
    var resolved: Set<String> = []
    var ended: [String: RunRecord] = [:]
    var recorded: [SlotRecord] = []
    /// The versions of files that were seen in the batch that is being recorded, and whose fate it has to decide, with
    /// their schedules.
    var seen: Set<String> = []
    /// The versions in a batch that ended in the batch of events that is being recorded.
    var released: Set<String> = []
    /// The confirmations that people got: of events, and of cancelled runs.
    var received: Set<String> = []
    var cancelled: Set<String> = []
  }

  private let content = Mutex(Content())
  /// Whether to write a trace, which takes longer than the rest.
  private let isTold: Bool

  init(isTold: Bool) { self.isTold = isTold }

  // MARK: The trace

  func note(_ line: @autoclosure () -> String) {
    if isTold { content.withLock { [line = line()] in $0.trace.append(line) } }
  }
  var trace: [String] { content.withLock { $0.trace } }

  /// Notes a broken promise; only the first counts.
  func fail(_ fault: String) { content.withLock { Audit.fail(fault, &$0) } }
  var fault: String? { content.withLock { $0.faults.first } }

  private static func fail(_ fault: String, _ content: inout Content) {
    content.faults.append(fault)
    content.trace.append("FAULT: \(fault)")
  }

  func ask(_ run: String) { content.withLock { _ = $0.asked.insert(run) } }
  /// Notes that a person resolved a step.
  func resolved(_ key: String) { content.withLock { _ = $0.resolved.insert(key) } }
  /// Notes that an event was confirmed, or the cancellation of a run.
  func told(received event: String) { content.withLock { _ = $0.received.insert(event) } }
  func told(cancelled run: String) { content.withLock { _ = $0.cancelled.insert(run) } }
  /// The slots of a schedule, by the text that the state has for its rule.
  func know(_ spec: String, _ recurrence: Recurrence?) { content.withLock { $0.recurrences[spec] = recurrence } }
  var fold: State { content.withLock { $0.fold } }
  var ended: [String: RunRecord] { content.withLock { $0.ended } }
  var recorded: [SlotRecord] { content.withLock { $0.recorded } }

  // MARK: Batches

  func handIn(_ events: [StateEvent]) -> Int {
    content.withLock { content in
      content.batches.append(Batch(events: events))
      return content.batches.count - 1
    }
  }

  func settle(_ batch: Int, _ fate: Fate) {
    content.withLock { content in
      content.batches[batch].fate = fate
      // The first unacknowledged batch is the last before a crash.
      while content.settled < content.batches.count {
        let next = content.batches[content.settled]
        guard next.fate == .kept || next.fate == .refused else { break }
        content.settled += 1
        if next.fate == .kept { record(next.events, &content) }
        content.batches[content.settled - 1].events = []
      }
    }
  }

  /// Compares the state that a program finds at its start with the acknowledged one.
  func compare(found: State) {
    content.withLock { content in
      let open = Array(content.batches[content.settled...])
      let last = open.lastIndex { $0.fate == .kept }.map { $0 + 1 } ?? 0
      var state = content.fold
      var count = 0
      func fits() -> Bool {
        count >= last && state.runs == found.runs && state.events == found.events && state.values == found.values
          && state.schedules == found.schedules
      }
      while !fits(), count < open.count {
        state = Audit.state(state, with: open[count].events) ?? state
        count += 1
      }
      if !fits() {
        return Audit.fail(
          "what is found is not what was acknowledged: \(Audit.difference(content.fold, found)), \(open.count) batches",
          &content)
      }
      for batch in open.prefix(count) where Audit.state(content.fold, with: batch.events) != nil {
        record(batch.events, &content)
      }
      content.settled = content.batches.count
    }
  }

  /// Whether a batch could not be written since the program began.
  var isStateFailing: Bool { content.withLock { $0.batches[$0.settled...].contains { $0.fate == .unknown } } }

  /// A state with the events of a batch; nil if it refuses one.
  private static func state(_ state: State, with events: [StateEvent]) -> State? {
    var state = state
    return (try? events.forEach { try state.apply($0) }).map { state }
  }

  /// Compares the state in memory with the fold, when nothing is in flight.
  func compare(live: State) {
    content.withLock { content in
      guard content.settled == content.batches.count else {
        return Audit.fail("\(content.batches.count - content.settled) batches were never answered", &content)
      }
      let fold = content.fold
      if fold.runs != live.runs || fold.events != live.events || fold.schedules != live.schedules {
        Audit.fail("the state in memory is not the fold of the journal: \(Audit.difference(fold, live))", &content)
      }
      for id in content.received.sorted() where live.events[id] == nil {
        Audit.fail("the event \(id) is gone, though it was said to be kept", &content)
      }
      for id in content.cancelled.sorted() {
        if let run = live.runs[id], run.pendingCancel == nil {
          Audit.fail("the run \(id) does not know that it was cancelled, though it was said to be kept", &content)
        }
      }
    }
  }

  private static func difference(_ left: State, _ right: State) -> String {
    var words: [String] = []
    for id in Set(left.runs.keys).union(right.runs.keys).sorted() where left.runs[id] != right.runs[id] {
      words.append(
        "run \(id) was \(left.runs[id]?.status.rawValue ?? "not there") with \(left.runs[id]?.steps.count ?? 0) steps, "
          + "is \(right.runs[id]?.status.rawValue ?? "not there") with \(right.runs[id]?.steps.count ?? 0)")
    }
    for id in Set(left.schedules.keys).union(right.schedules.keys).sorted()
    where left.schedules[id] != right.schedules[id] {
      words.append("schedule \(id) differs")
    }
    if left.events != right.events { words.append("the events differ") }
    if left.values != right.values { words.append("the values differ") }
    return words.isEmpty ? "no difference" : words.joined(separator: "; ")
  }

  // MARK: Calls

  /// Checks a call of an action: its attempt has to be on disk, and nothing that has ended may be called.
  func called(
    _ context: ActionContext, _ effect: Effect, act: @autoclosure () -> String, done: Int, allowed: Int,
    by program: ProgramLife
  ) {
    note("call \(context.run) \(context.step) attempt \(context.attempt): \(act())")
    let key = context.idempotencyKey
    if case .write = effect { content.withLock { _ = $0.writes.insert(key) } }
    guard let step = step(of: context, by: program) else {
      return fail("a call of '\(key)', of which nothing is on disk")
    }
    if step.status.isEnded { fail("'\(key)' is called, but has ended as \(step.status.rawValue)") }
    guard let attempt = step.lastAttempt, attempt.number == context.attempt, attempt.endedAt == nil else {
      return fail("attempt \(context.attempt) of '\(key)' is called, but is not on disk")
    }
    // The first attempt may come at any time, also one that a person requested.
    if case .idempotentWrite(within: .span(let span)) = effect, done >= allowed, attempt.number > 1,
      let age = attempt.startedAt.span(since: step.startedAt), age > span
    {
      fail("'\(key)' is repeated after \(age), when repeating does it once more")
    }
  }

  /// The record of the step that makes a call: what is on disk, not what is on its way there.
  func step(of context: ActionContext, by program: ProgramLife) -> StepRecord? {
    guard let run = program.keptRun(context.run) else {
      fail("a call of the run \(context.run), which is not open")
      return nil
    }
    let steps = [run.steps[context.step], run.steps["\(context.step)/#round"]].compactMap { $0 }
    return steps.last { run.key(of: $0) == context.idempotencyKey }
  }

  // MARK: Events

  private func record(_ events: [StateEvent], _ content: inout Content) {
    for event in events {
      if isTold { content.trace.append(Audit.words(event)) }
      Audit.record(event, &content)
    }
    for file in content.seen.sorted() { Audit.fail("\(file) was seen, and nothing comes of it", &content) }
    (content.seen, content.released) = ([], [])
  }

  private static func record(_ event: StateEvent, _ content: inout Content) {
    switch event {
    case .runCreated(let event):
      if !content.runs.insert(event.run).inserted { fail("the run \(event.run) is created twice", &content) }
    case .runStatusChanged(let event): checkStatus(event, &content)
    case .stepBegan(let event):
      checkStep(.stepBegan(event), of: event.run, &content)
      if event.resolution != nil { content.resolutions[event.run, default: 0] += 1 }
    case .attemptBegan(let event): checkStep(.attemptBegan(event), of: event.run, &content)
    case .stepEnded(let event):
      checkStep(.stepEnded(event), of: event.run, &content)
      if event.resolution != nil { content.resolutions[event.run, default: 0] += 1 }
    case .slotDecided(let slot): check(slot, &content)
    case .scheduleSet(let event):
      if let mark = event.processedUntil { checkRest(of: event.schedule, until: mark, &content) }
      if let mark = event.processedUntil {
        content.marks[event.schedule] = max(mark, content.marks[event.schedule] ?? mark)
      } else if content.marks[event.schedule] == nil {
        content.marks[event.schedule] = event.at
      }
    case .eventsForgotten(let event): content.received.subtract(event.ids)
    case .filesSeen(let event):
      let known = content.fold.schedules[event.schedule]?.files
      for (path, version) in event.files {
        if known?.versions[path] == version { fail("'\(path)' is seen twice by \(event.schedule)", &content) }
        // The first look may pass over what is there, and a version that comes back is in its batch already.
        let file = FoundFile(path, version).id
        let isGathered = content.fold.schedules[event.schedule]?.batch?.files[file] != nil
        if known?.pattern == event.pattern, !isGathered { content.seen.insert("\(event.schedule) \(file)") }
      }
    case .eventGathered(let event) where event.file != nil:
      if content.seen.remove("\(event.schedule) \(event.id)") == nil {
        fail("\(event.schedule) gathers \(event.id), which it has not just seen", &content)
      }
    case .scheduleRemoved(let event):
      checkRest(of: event.schedule, until: event.at, &content)
      // When it comes back, the state says from when its slots count; after a clock was set back they may be due again.
      content.marks[event.schedule] = nil
      content.fates = content.fates.filter { !$0.hasPrefix("\(event.schedule) ") }
    default: break
    }
    do { try content.fold.apply(event) } catch {
      fail("an event was acknowledged that does not fit: \(words(event))", &content)
    }
    if case .runEnded(let event) = event, let run = content.fold.ended.last, run.id == event.run {
      content.ended[run.id] = run
      checkEnd(run, &content)
    }
  }

  /// Checks that a suspended run continues only because a person resumed it, or resolved a step of it.
  private static func checkStatus(_ event: RunStatusChanged, _ content: inout Content) {
    // Nothing of it is uncertain any more.
    if event.status == .queued { content.resolutions[event.run] = nil }
    guard event.status == .running, let before = content.fold.runs[event.run],
      before.status == .paused || before.status == .uncertain, before.pendingCancel == nil
    else { return }
    if before.status == .uncertain, let count = content.resolutions[event.run] {
      content.resolutions[event.run] = count > 1 ? count - 1 : nil
    } else if content.asked.remove(event.run) == nil {
      fail("the run \(event.run) is \(before.status.rawValue) and goes on, though nobody asked", &content)
    }
  }

  private static func checkStep(_ event: StateEvent, of run: String, _ content: inout Content) {
    if let fault = content.fold.runs[run].flatMap({ fault(of: event, in: $0) }) { fail(fault, &content) }
  }

  /// The fault of an event of a step that comes next in a run.
  static func fault(of event: StateEvent, in run: RunRecord) -> String? {
    func fault(_ path: StepPath, _ what: String) -> String? {
      guard let before = run.steps[path], before.status.isEnded else { return nil }
      return "'\(run.id) \(path)' \(what), but has ended as \(before.status.rawValue)"
    }
    switch event {
    case .stepBegan(let event):
      let again = event.step.hasSuffix("/#round") ? nil : fault(event.step, "begins again")
      return again ?? self.fault(ofNow: event.now, event.step, in: run)
    case .attemptBegan(let event): return fault(event.step, "is tried")
    case .stepEnded(let event):
      if let again = fault(event.step, "ends again") { return again }
      return run.steps[event.step] == nil ? event.now.flatMap { self.fault(ofNow: $0, event.step, in: run) } : nil
    default: return nil
    }
  }

  private static func fault(ofNow now: Timestamp, _ path: StepPath, in run: RunRecord) -> String? {
    guard path.last != "]" else { return nil }
    let block = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    for step in run.steps {
      let other = step.path.lastIndex(of: "/").map { step.path[...$0] } ?? ""
      if other == block, step.path.last != "]", step.path != path, step.now > now {
        return "'now' of '\(run.id) \(path)' is \(now), but '\(step.path)' before it was at \(step.now)"
      }
    }
    return nil
  }

  private static func check(_ slot: SlotRecord, _ content: inout Content) {
    content.recorded.append(slot)
    if slot.cause.kind == .file { checkFile(slot, &content) }
    guard slot.cause.kind == .slot else { return }
    let id = slot.schedule
    let key = "\(id) \(slot.slot)"
    if slot.outcome != .buffered, !content.fates.insert(key).inserted {
      fail("the slot \(key) has two fates, the second is \(slot.outcome)", &content)
    }
    guard let mark = content.marks[id] else {
      return fail("the slot \(key) is of a schedule that is not known", &content)
    }
    if slot.slot <= mark {
      let waits = content.fold.schedules[id]?.buffered.contains { $0.slot == slot.slot && $0.cause == slot.cause }
      if waits != true { fail("the slot \(key) is decided again (\(slot.outcome))", &content) }
      return
    }
    guard let recurrence = recurrence(of: id, content) else {
      return fail("the slot \(key) is of a schedule that is due at no times", &content)
    }
    let last = slot.until ?? slot.slot
    if recurrence.next(after: mark) != slot.slot {
      fail("slots of \(id) between \(mark) and \(slot.slot) have no record", &content)
    }
    let count = recurrence.count(after: mark, through: last)
    if count != slot.count { fail("the row \(key) … \(last) stands for \(slot.count) slots of \(count)", &content) }
    content.marks[id] = last
  }

  /// Checks that a version of a file has one fate, whether it waited, was gathered, or was just seen.
  private static func checkFile(_ slot: SlotRecord, _ content: inout Content) {
    guard let schedule = content.fold.schedules[slot.schedule] else { return }
    if let batch = schedule.batch, batch.isEnded(by: slot) {
      // The entry may have been edited since and have no 'batch' any more; then each file has a fate of its own.
      content.released = Set(batch.files.keys.map { "\(slot.schedule) \($0)" })
      return
    }
    if content.released.remove("\(slot.schedule) \(slot.cause.event ?? "")") != nil { return }
    if schedule.buffered.contains(where: { $0.slot == slot.slot && $0.cause == slot.cause }) { return }
    if content.seen.remove("\(slot.schedule) \(slot.cause.event ?? "")") == nil {
      fail("\(slot.schedule) decides on \(slot.cause.event ?? "no file") (\(slot.outcome)) again", &content)
    }
  }

  /// Checks a schedule that is edited or removed against its slots until then.
  private static func checkRest(of id: String, until end: Timestamp, _ content: inout Content) {
    guard content.fold.schedules[id]?.remainingRuns != 0, let mark = content.marks[id],
      let next = recurrence(of: id, content)?.next(after: mark), next <= end
    else { return }
    fail("the slot \(id) \(next) has no record, and the schedule is another since \(end)", &content)
  }

  /// Whether the slots of a schedule are accounted for up to an instant.
  func nextSlot(of schedule: String) -> Timestamp? {
    content.withLock { content in
      content.marks[schedule].flatMap { Audit.recurrence(of: schedule, content)?.next(after: $0) }
    }
  }

  private static func recurrence(of schedule: String, _ content: Content) -> Recurrence? {
    content.fold.schedules[schedule].flatMap { content.recurrences[$0.spec] }
  }

  private static func checkEnd(_ run: RunRecord, _ content: inout Content) {
    if let kind = run.error?.kind, kind == .internal || kind == .expression {
      fail("the run \(run.id) failed as \(kind.rawValue): \(run.error?.message ?? "")", &content)
    }
    for step in run.steps where step.status == .uncertain {
      fail("the run \(run.id) ended as \(run.status.rawValue) while '\(step.path)' is uncertain", &content)
    }
  }

  /// The plain writes of an ended run: their keys, how they ended, and whether a person resolved them.
  func writes(of run: RunRecord) -> [(step: StepRecord, isResolved: Bool)] {
    content.withLock { content in
      run.steps.compactMap { step in
        guard let key = run.key(of: step), content.writes.contains(key) else { return nil }
        return (step, content.resolved.contains(key))
      }
    }
  }

  private static func words(_ event: StateEvent) -> String {
    (try? JSON.text(event.encoded())) ?? "an event that cannot be written"
  }
}
