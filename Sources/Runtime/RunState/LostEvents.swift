import Basics

/// The readable content of journals after damage: what is lost when only the events before it are kept.
///
/// None of it can be trusted, because the sums no longer match; it is only reported, and shows which runs and schedules
/// may have continued after the kept events.
struct LostEvents {
  /// How many events followed the last one that is kept, as far as is known.
  private(set) var count = 0
  private var known: [StateEvent] = []
  /// How many lines aren't readable events.
  private var unreadable = 0
  /// The runs that such lines name.
  private var named: Set<String> = []
  /// Unreadable lines that name no run, or an unreadable end of a journal, may belong to any run.
  private var isUncertain = false
  private let kept: State
  private var last: Int

  /// Starts empty, after the last event that is kept.
  init(after sequence: Int, of kept: State) {
    self.kept = kept
    last = sequence
  }

  /// Reads what follows the last good commit line of a journal, or a later journal.
  ///
  /// - Returns: Whether it has any content.
  mutating func read(_ bytes: ArraySlice<UInt8>) -> Bool {
    let (count, unreadable) = (known.count, self.unreadable)
    var endsWell = true
    for line in bytes.split(separator: ASCII.newline) {
      let map = (try? JSON.parse(Array(line), limits: StateFormat.limits))?.map
      endsWell = true
      if map?["journal"]?.int != nil { continue }
      if let commit = map?["commit"]?.int {
        note(commit)
        continue
      }
      if let map, let number = map["n"]?.int {
        var record = RecordReader(map)
        let _: Int? = try? record.read("n")
        if let event = try? StateEvent(from: &record) {
          note(number)
          known.append(event)
          // The damage may be in the name of a run or a schedule, or in the word before it.
          named.formUnion(runs(namedBy: line))
          continue
        }
      }
      endsWell = false
      self.unreadable += 1
      let ids = runs(namedBy: line)
      named.formUnion(ids)
      if ids.isEmpty { isUncertain = true }
    }
    if !endsWell { isUncertain = true }
    return known.count > count || self.unreadable > unreadable
  }

  /// Notes that a journal is missing, so its content is unknown.
  mutating func missJournal() { isUncertain = true }

  private mutating func note(_ number: Int) {
    guard number > last else { return }
    count += number - last
    last = number
  }

  private func runs(namedBy line: ArraySlice<UInt8>) -> Set<String> {
    Set(kept.runs.keys.filter { line.holds(Array("\"\($0)\"".utf8)) })
  }

  /// Whether lost events are unknown, or it is unknown which runs or schedules they concern.
  private var hidesEvents: Bool { isUncertain || unreadable != count - known.count || namesStrangers }

  /// Whether an event names a run or a schedule that never existed, because its name is damaged.
  private var namesStrangers: Bool {
    var names = Set(kept.runs.keys).union(kept.ended.map(\.id)).union(kept.schedules.keys)
    for event in known {
      switch event {
      case .runCreated(let event): names.insert(event.run)
      case .scheduleSet(let event): names.insert(event.schedule)
      default: break
      }
      if !names.isSuperset(of: event.runs + (event.schedule.map { [$0] } ?? [])) { return true }
    }
    return false
  }

  // MARK: - The runs and schedules concerned

  /// The open runs that may have continued after the kept events.
  var runs: [String] {
    let concerned = hidesEvents ? Set(kept.runs.keys) : Set(known.flatMap(\.runs)).union(named)
    return kept.runs.keys.filter(concerned.contains).sorted { $0.precedesByScalars($1) }
  }

  /// The schedules that may have decided slots after the kept events.
  var schedules: [String] {
    let concerned = hidesEvents || unreadable > 0 ? Set(kept.schedules.keys) : Set(known.compactMap(\.schedule))
    return kept.schedules.keys.filter(concerned.contains).sorted { $0.precedesByScalars($1) }
  }

  // MARK: - In words

  /// The losses, with a sentence for each run, schedule, event and value.
  var sentences: [String] {
    var lines: [String] = []
    let events = max(count, known.count)
    lines.append(
      events == 0
        ? "what comes after is lost, and none of it can be read"
        : "\(counted(events, "event")) after the damage \(events == 1 ? "is" : "are") lost; \(known.count) of them can still be read"
          + (unreadable > 0 ? ", and \(counted(unreadable, "line")) can't" : ""))
    var order: [String] = []
    var byRun: [String: [StateEvent]] = [:]
    for event in known {
      for run in event.runs {
        if byRun[run] == nil { order.append(run) }
        byRun[run, default: []].append(event)
      }
    }
    for run in order { lines.append(sentence(of: run, byRun[run] ?? [])) }
    for event in known {
      switch event {
      case .slotDecided(let slot):
        let row = slot.until.map { " to \($0) (\(slot.count) slots)" } ?? ""
        lines.append(
          "the slot \(slot.slot)\(row) of the schedule '\(slot.schedule)', which was \(slot.outcome)\(slot.run.map { " as run \($0)" } ?? ""), is lost"
        )
      case .scheduleSet(let change): lines.append("the schedule '\(change.schedule)' as of \(change.at) is lost")
      case .scheduleRemoved(let change): lines.append("the schedule '\(change.schedule)' had been removed")
      case .schedulePaused(let change):
        lines.append("the schedule '\(change.schedule)' had been \(change.pause == nil ? "resumed" : "paused")")
      case .connectionUsed: break
      case .tokenIssued(let change): lines.append("the token '\(change.name)' is lost")
      case .tokenRevoked(let change):
        lines.append("the token '\(change.name)' had been revoked; revoke it again")
      case .sessionEnded:
        lines.append(
          "logins of browsers had been ended, and are valid again; end them with: errand open --log-out --everyone")
      case .scheduleReset(let change): lines.append("the schedule '\(change.schedule)' had been reset")
      case .failureDismissed(let change):
        lines.append("the failures \(change.group) of '\(change.recipe)' had been dismissed")
      case .filesSeen(let change):
        lines.append("what the schedule '\(change.schedule)' had seen of its files is lost")
      case .eventReceived(let event): lines.append("the event \(event.id) ('\(event.name)') is lost")
      case .eventConsumed(let change): lines.append("the event \(change.id) had been consumed by \(change.by)")
      case .valueSet(let change): lines.append("a change of the value '\(change.name)' is lost")
      case .valueRemoved(let change): lines.append("the removal of the value '\(change.name)' is lost")
      default: break
      }
    }
    return lines
  }

  private func sentence(of run: String, _ events: [StateEvent]) -> String {
    var recipe = kept.runs[run]?.recipe
    var wasCreated = false
    var end: RunStatus?
    var order: [StepPath] = []
    var steps: [StepPath: String] = [:]
    for event in events {
      switch event {
      case .runCreated(let event):
        recipe = event.recipe
        wasCreated = true
      case .runEnded(let event): end = event.status
      default: break
      }
      if let (step, word) = event.step {
        if steps[step] == nil { order.append(step) }
        steps[step] = word
      }
    }
    var words = order.prefix(LostEvents.mostSteps).map { "\($0) \(steps[$0] ?? "")" }
    if order.count > words.count { words.append("and \(order.count - words.count) more") }
    let done = words.isEmpty ? "" : " (\(words.joined(separator: ", ")))"
    let ended = end.map { ", and it had \($0 == .succeeded ? "succeeded" : "ended as \($0)")" } ?? ""
    let name = "the run \(run)\(recipe.map { " of '\($0)'" } ?? "")"
    if wasCreated { return "\(name) is lost\(done)\(ended)" }
    return "what \(name) did last is lost\(done)\(ended)"
  }

  private static let mostSteps = 50
}

func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

extension StateEvent {
  /// The runs that the event is about.
  fileprivate var runs: [String] {
    let run: String? =
      switch self {
      case .eventReceived(let event): event.run
      case .eventConsumed(let event): event.by
      case .slotDecided(let slot): slot.run
      default: changedRun
      }
    return run.map { [$0] } ?? []
  }

  fileprivate var schedule: String? {
    switch self {
    case .runCreated(let event): event.cause.schedule
    case .eventConsumed(let event): event.by
    case .eventGathered(let event): event.schedule
    case .filesSeen(let event): event.schedule
    case .scheduleSet(let event): event.schedule
    case .scheduleRemoved(let event): event.schedule
    case .schedulePaused(let event): event.schedule
    case .scheduleReset(let event): event.schedule
    case .slotDecided(let slot): slot.schedule
    default: nil
    }
  }

  /// The step that the event changes, and its new status.
  fileprivate var step: (StepPath, String)? {
    switch self {
    case .stepBegan(let event): (event.step, "had begun")
    case .attemptBegan(let event): (event.step, "was being tried")
    case .attemptEnded(let event): (event.step, event.error == nil ? "had been done" : "had failed an attempt")
    case .stepEnded(let event): (event.step, "was \(event.status)")
    case .stepWaits(let event): (event.step, "waited")
    case .decisionGiven(let event), .answerGiven(let event): (event.step, "was \(event.decision.verb)")
    default: nil
    }
  }
}
