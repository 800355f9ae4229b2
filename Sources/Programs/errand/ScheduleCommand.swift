import Agent
import Operations
import AgentRuntime
import Basics
import Calendars
import CommandLineParser
import Glibc
import Recipes
import RunState

/// `errand schedule`: shows when schedules run and the ledger of their slots, and steers them.
struct ScheduleCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let isReading = ["list", "show", "next", "log"].contains(parsed.command.last ?? "list")
    return try await session.access.asking(isReading: isReading) { requests throws(RuntimeError) in
      let (all, broken) = try await KnownSchedule.all(requests, session.workspace)
      let own = session.workspace.wallClock(session.time.now())
      switch parsed.command.last {
      case "show": return try await show(all, requests, own)
      case "next": return try next(all, own)
      case "log": return try await log(all, requests, own)
      case "pause", "resume": return try await pause(all, requests)
      case "reset": return try await reset(all, requests, own)
      case "trigger": return try await trigger(all, requests)
      case "backfill": return try await backfill(all, requests, own)
      default: return try await list(all, broken, requests, session.workspace, own)
      }
    }
  }

  // MARK: Looking

  private func list(
    _ all: [KnownSchedule], _ broken: [BrokenRecipe], _ requests: AgentRequests, _ workspace: Workspace,
    _ own: WallClock
  ) async throws(RuntimeError) -> ExitCode {
    if asJSON {
      console.out(json: .list(all.map { $0.value(own.now) }))
      return .done
    }
    for recipe in broken {
      let warning = Style.yellow.applied(to: "warning", console.colourError)
      console.say(
        "\(warning): '\(recipe.file)' is broken: \(recipe.fault.safe); see: errand check \(recipe.file.shellQuoted)")
    }
    guard !all.isEmpty else {
      guard !workspace.isElsewhere else {
        console.say("no recipe that is served there has an 'on:'")
        return .done
      }
      let folders = joined(workspace.configuration.recipeFolders.map { "'\($0)'" })
      console.say("no recipe in \(folders) has an 'on:'")
      return .done
    }
    let rows = all.map { schedule in
      let clock = schedule.clock(own)
      let next = schedule.record.pause == nil ? schedule.upcoming(1, after: own.now).first : nil
      let counts = schedule.record.counts.filter { $0.value > 0 }.sorted { $0.key.precedesByScalars($1.key) }
      return [
        schedule.record.id.safe, schedule.words, schedule.zone?.name ?? "", next.map(clock.dateFromNow) ?? "",
        schedule.record.lastStatus?.rawValue ?? (schedule.record.openRuns.isEmpty ? "" : "open"),
        counts.map { "\($0.value) \($0.key)" }.joined(separator: ", "), note(schedule, clock),
      ]
    }
    let headings = ["SCHEDULE", "WHEN", "ZONE", "NEXT", "LAST", "SLOTS", "NOTE"]
    console.out(console.table(headings, rows, cutFirst: ["SLOTS", "ZONE", "NOTE", "WHEN", "LAST"]))
    if !(try await requests.isDeciding()) {
      console.say(
        workspace.database != nil
          ? "\nNo worker leads the schedules, so none of them starts. Start one that does with: errand serve"
          : "\nNo agent is running to start them. Start one with: errand serve")
    }
    return .done
  }

  /// Shows one schedule.
  private func show(
    _ all: [KnownSchedule], _ requests: AgentRequests, _ own: WallClock
  ) async throws(RuntimeError) -> ExitCode {
    let schedule = try one(all)
    let answer = try await requests.ask(ShowSchedule.with { $0.id = schedule.record.id })
    if asJSON {
      try await show(answer, to: ShowSchedule.self)
      return .done
    }
    let clock = schedule.clock(own)
    console.out("schedule   \(answer.schedule.id.safe)")
    console.out("when       \((answer.words ?? schedule.words).safe)")
    if let late = answer.late { console.out("late       since \(clock.dateFromNow(late))") }
    let note = note(schedule, clock)
    if !note.isEmpty { console.out("note       \(note)") }
    let next = schedule.record.pause == nil ? schedule.upcoming(1, after: own.now).first : nil
    if let next { console.out("next       \(clock.dateFromNow(next))") }
    if answer.inputs.isEmpty { return .done }
    let rows = answer.inputs.map { input in
      let value = input.secret.map { "@secret:\($0)" } ?? input.computed ?? input.value.map { JSON.displayed($0) }
      return [input.name.safe, (value ?? "a value that holds a secret").safe, input.computed == nil ? "" : "each run"]
    }
    console.out("")
    console.out(console.table(["INPUT", "VALUE", "COMPUTED"], rows, cutFirst: ["VALUE"]))
    return .done
  }

  private func note(_ schedule: KnownSchedule, _ clock: WallClock) -> String {
    let record = schedule.record
    if let pause = record.pause {
      let why =
        pause.note ?? (pause.origin == .recipe ? "the recipe says so" : pause.origin == .failure ? "a run failed" : "")
      return "paused\(why.isEmpty ? "" : ": \(why.safe)")"
    }
    if let until = record.decidedAhead(of: clock.now) {
      return "nothing before \(clock.date(until)), because the clock was ahead; see errand why \(record.id.shellQuoted)"
    }
    if let batch = record.batch {
      return "has gathered \(batch.counted), starts on \(clock.date(batch.due))"
    }
    if let run = record.openRuns.first { return "run \(run) is open" }
    if let left = record.remainingRuns { return "\(counted(left, "run")) left" }
    return schedule.isRead ? "" : "no agent has read it yet"
  }

  private func next(_ all: [KnownSchedule], _ own: WallClock) throws(RuntimeError) -> ExitCode {
    let chosen = try KnownSchedule.named(parsed["schedule"].text, among: all)
    let count = parsed["count"].int ?? 10
    let earliest = KnownSchedule.earliest(count, of: chosen, after: own.now)
    // A schedule whose first slot isn't among the earliest can't have later slots among them.
    let slots = KnownSchedule.earliest(count, of: earliest.map(\.schedule), each: count, after: own.now)
    if asJSON {
      let values = slots.map { slot, schedule in
        Value.object([
          "schedule": .string(schedule.record.id), "slot": .string("\(slot)"),
          "local": .string(schedule.clock(own).dateWithOffset(slot)), "isPaused": .bool(schedule.record.pause != nil),
        ])
      }
      console.out(json: .list(Array(values)))
      return .done
    }
    guard !slots.isEmpty else {
      console.say("nothing is due any more")
      return .done
    }
    let rows = slots.map { slot, schedule in
      let clock = schedule.clock(own)
      return [
        clock.dateWithOffset(slot), clock.fromNow(slot), schedule.record.id.safe, schedule.zone?.name ?? "",
        schedule.record.pause == nil ? "" : "paused",
      ]
    }
    console.out(
      console.table(["SLOT", "WHEN", "SCHEDULE", "ZONE", "NOTE"], rows, cutFirst: ["NOTE", "ZONE", "SCHEDULE"]))
    return .done
  }

  private func log(
    _ all: [KnownSchedule], _ requests: AgentRequests, _ own: WallClock
  ) async throws(RuntimeError) -> ExitCode {
    let chosen = parsed["schedule"].isGiven ? try KnownSchedule.named(parsed["schedule"].text, among: all) : []
    let clock = chosen.first?.clock(own) ?? own
    let limit = parsed["count"].int ?? 20
    let (from, before) = (try instant("from", clock), try instant("to", clock))
    var slots: [SlotRecord] = []
    for id in chosen.isEmpty ? [String?.none] : chosen.map({ Optional($0.record.id) }) {
      slots += try await requests.ask(
        ListSlots(SlotQuery(limit: limit, schedule: id, from: from, before: before))
      ).slots
    }
    slots = Array(slots.sorted { ($0.slot, $0.at) > ($1.slot, $1.at) }.prefix(limit))
    if asJSON {
      console.out(json: .list(slots.map { $0.encoded() }))
      return .done
    }
    guard !slots.isEmpty else {
      let isAll = chosen.isEmpty && from == nil && before == nil
      console.say(isAll ? "no slot was decided yet" : "the ledger holds no such slot")
      return .done
    }
    let rows = slots.map { slot in
      let clock = all.first { $0.record.id == slot.schedule }?.clock(own) ?? clock
      return [
        slot.when(clock), slot.schedule.safe, slot.outcome.rawValue, slot.run ?? "",
        slot.lateBy.map { "\($0.inWords) late" } ?? "", slot.why.safe,
      ]
    }
    console.out(
      console.table(
        ["SLOT", "SCHEDULE", "OUTCOME", "RUN", "LATE", "WHY"], rows, cutFirst: ["WHY", "LATE", "SCHEDULE"]))
    return .done
  }

  // MARK: Steering

  /// The one schedule that the user named, which an agent must have read.
  private func one(_ all: [KnownSchedule]) throws(RuntimeError) -> KnownSchedule {
    let found = try KnownSchedule.named(parsed["schedule"].text ?? "", among: all)
    guard let schedule = found.first, found.count == 1 else {
      let ids = joined(found.map { "'\($0.record.id)'" }, by: "or")
      throw RuntimeError(.usage, "the recipe '\(parsed["schedule"].text ?? "")' has several schedules; name \(ids)")
    }
    guard schedule.isRead else {
      throw RuntimeError(
        .unavailable,
        "no agent has read '\(schedule.record.id)' yet, so there is nothing to steer; start one with: errand serve")
    }
    return schedule
  }

  private func pause(_ all: [KnownSchedule], _ requests: AgentRequests) async throws(RuntimeError) -> ExitCode {
    let id = try one(all).record.id
    if parsed.command.last == "pause" {
      _ = try await requests.ask(
        PauseSchedule.with {
          $0.id = id
          $0.note = parsed["note"].text
        })
      console.say(
        "\(id) is paused; its slots are recorded and start nothing. Resume it with: errand schedule resume \(id.shellQuoted)"
      )
    } else {
      let missed = try await requests.ask(ResumeSchedule.with { $0.id = id }).slots.filter { $0.outcome == .paused }
        .reduce(0) { $0 + $1.count }
      let noted = missed == 0 ? "" : "\(counted(missed, "slot")) of the pause started nothing; "
      console.say("\(noted)\(id) starts runs again; see when with: errand schedule next \(id.shellQuoted)")
    }
    return .done
  }

  private func reset(_ all: [KnownSchedule], _ requests: AgentRequests, _ own: WallClock) async throws(RuntimeError)
    -> ExitCode
  {
    let schedule = try one(all)
    let id = schedule.record.id
    let clock = schedule.clock(own)
    let slots = try await requests.ask(ResetSchedule.with { $0.id = id }).slots
    let until = slots.first?.until.map { " until \(clock.date($0))" } ?? ""
    console.say(
      "\(id) decides its slots from now on again\(until); a slot that has a run doesn't start a second one, and the ledger says so. See when with: errand schedule next \(id.shellQuoted)"
    )
    return .done
  }

  private func trigger(_ all: [KnownSchedule], _ requests: AgentRequests) async throws(RuntimeError) -> ExitCode {
    let id = try one(all).record.id
    let (inputs, texts) = try dispatch.sentInputs()
    let slots = try await requests.ask(
      TriggerSchedule.with {
        $0.id = id
        $0.overlap = overlap
        $0.inputs = inputs
        $0.texts = texts
      }
    ).slots
    guard slots.contains(where: { [.started, .buffered].contains($0.outcome) }) else {
      throw RuntimeError(.failed, "nothing is started: \(outcomes(of: id, slots))")
    }
    console.say(outcomes(of: id, slots))
    return .done
  }

  private func backfill(
    _ all: [KnownSchedule], _ requests: AgentRequests, _ own: WallClock
  ) async throws(RuntimeError) -> ExitCode {
    let schedule = try one(all)
    let id = schedule.record.id
    let clock = schedule.clock(own)
    guard let from = try instant("from", clock), let to = try instant("to", clock), from < to else {
      throw RuntimeError(.usage, "a backfill needs --from and a later --to; the slot at --to no longer counts")
    }
    func backfill(to end: Timestamp, isDry: Bool) async throws(RuntimeError) -> BackfillSchedule.Answer {
      try await requests.ask(
        BackfillSchedule.with {
          $0.id = id
          $0.from = from
          $0.to = end
          $0.overlap = overlap
          $0.dryRun = isDry
        })
    }
    guard case .due(let slots, let hasMore) = try await backfill(to: to, isDry: true) else {
      throw RuntimeError(.unavailable, "the agent answered something else")
    }
    guard !slots.isEmpty else {
      console.say(
        "every slot of \(id) from \(clock.date(from)) until before \(clock.date(to)) has a run already, or there is none"
      )
      return .done
    }
    for slot in slots { console.out(clock.dateWithOffset(slot)) }
    if hasMore { console.say("and more after these, which another backfill starts") }
    if parsed["dry-run"].isGiven {
      console.say("a backfill would start \(counted(slots.count, "run"))")
      return .done
    }
    guard parsed["yes"].isGiven || console.confirms("Start \(counted(slots.count, "run")) of \(id)?") else {
      throw RuntimeError(.usage, "nothing was started; say --yes to start them")
    }
    // A backfill of more than are listed is refused.
    let end = hasMore ? slots.last?.advanced(by: TimeSpan(nanoseconds: 1)) ?? to : to
    let started = try await backfill(to: end, isDry: false).slots
    console.say(outcomes(of: id, started))
    return .done
  }

  private var overlap: Word<Trigger.Overlap>? {
    parsed["overlap"].text.flatMap(Trigger.Overlap.init(rawValue:)).map { Word($0) }
  }

  private func instant(_ option: String, _ clock: WallClock) throws(RuntimeError) -> Timestamp? {
    guard let text = parsed[option].text else { return nil }
    if let instant = clock.instant(text) { return instant }
    throw RuntimeError(
      .usage, "--\(option) takes '2026-11-20', '2026-11-20 17:30', '17:30' or RFC 3339, but is '\(text)'")
  }
}

extension KnownSchedule {
  /// The schedule in the output of `--json`.
  fileprivate func value(_ now: Timestamp) -> Value {
    var map = ValueMap()
    map["id"] = .string(record.id)
    map["recipe"] = .string(record.recipe)
    map["file"] = .string(record.file)
    map["words"] = .string(words)
    map["address"] = address.map { .string($0) }
    map["zone"] = zone.map { .string($0.name) }
    map["next"] = upcoming(1, after: now).first.map { .string("\($0)") }
    map["isRead"] = .bool(isRead)
    map["decidedUntil"] = record.decidedAhead(of: now).map { .string("\($0)") }
    map["pause"] = record.pause?.encoded()
    map["remainingRuns"] = record.remainingRuns.map { .int($0) }
    map["batch"] = record.batch.map { batch in
      .object([
        "since": .string("\(batch.at)"), "due": .string("\(batch.due)"),
        "events": .list(batch.events.map { .string($0) }),
        "files": .list(batch.events.compactMap { batch.files[$0].map { .string($0.path) } }),
      ])
    }
    map["openRuns"] = .list(record.openRuns.map { .string($0) })
    map["lastRun"] = record.lastRun.map { .string($0) }
    map["lastStatus"] = record.lastStatus.map { .string($0.rawValue) }
    map["counts"] = .map(
      ValueMap(record.counts.sorted { $0.key.precedesByScalars($1.key) }.map { ($0.key, Value.int($0.value)) }))
    return .map(map)
  }
}

extension SlotRecord {
  /// The slot, or the first and the last of a row with their count.
  fileprivate func when(_ clock: WallClock) -> String {
    guard count > 1, let until else { return clock.dateWithOffset(slot) }
    return "\(clock.dateWithOffset(slot)) … \(clock.dateWithOffset(until)) (\(count))"
  }

  fileprivate var why: String {
    let cause = self.cause.kind == .slot ? "" : self.cause.kind.rawValue
    return [cause, reason ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}

/// The outcomes of slots that a person asked for.
private func outcomes(of schedule: String, _ slots: [SlotRecord]) -> String {
  if let only = slots.first, slots.count == 1 {
    let run = only.run.map { " \($0)" } ?? ""
    let next = only.outcome == .started ? "; follow it with: errand runs follow\(run)" : ""
    return "\(schedule): \(only.outcome.rawValue)\(run)\(only.reason.map { ", \($0)" } ?? "")\(next)"
  }
  var tally: [SlotOutcome: Int] = [:]
  for slot in slots { tally[slot.outcome, default: 0] += slot.count }
  let words = SlotOutcome.allCases.compactMap { outcome in tally[outcome].map { "\($0) \(outcome.rawValue)" } }
  return
    "\(schedule): \(words.isEmpty ? "nothing to do" : joined(words)); see 'errand schedule log \(schedule.shellQuoted)'"
}
