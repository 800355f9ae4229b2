package import Basics
package import RunState

// Why a schedule ran or didn't.

extension Explanation {
  /// Explains the outcome of a schedule's slot at or before an instant, and the next slot.
  ///
  /// - Parameter isServed: Whether an agent is running that starts due slots.
  package init(of facts: ScheduleFacts, clock: WallClock, isServed: Bool) {
    let formatter = SlotFormatter(facts: facts, clock: clock, isServed: isServed)
    formatter.tellSlot(&self)
    formatter.tellPause(&self)
    formatter.tellNext(&self)
  }
}

extension SlotRecord {
  /// Whether the record covers a slot.
  package func covers(_ slot: Timestamp) -> Bool { self.slot <= slot && slot <= until ?? self.slot }
}

/// Explains one schedule around an instant.
struct SlotFormatter {
  let facts: ScheduleFacts
  let clock: WallClock
  let isServed: Bool

  private var schedule: ScheduleRecord { facts.schedule }
  private var name: String { schedule.id.safe }

  // MARK: The slot

  func tellSlot(_ story: inout Explanation) {
    if facts.isNamed, facts.previous != facts.at { tellMissing(&story) }
    guard let slot = facts.previous else {
      if story.sentences.isEmpty {
        story.say(.slot, "\(name) has not \(facts.isFromOutside ? "run" : "been due") yet (\(facts.words)).")
      }
      return
    }
    // Newest last, so that a missed slot comes before its backfill; effects of a clock change come after.
    let settled = counting(facts.ledger.filter { $0.covers(slot) }).reversed()
    let records = settled.filter { $0.outcome != .coalesced } + settled.filter { $0.outcome == .coalesced }
    if let waiting = schedule.buffered.first(where: { $0.slot == slot }) {
      let open = schedule.openRuns.first.map { ": \(described($0))" } ?? ""
      story.say(
        .slot,
        "\(name) was due on \(clock.date(slot)) and its run has waited since \(clock.date(waiting.at)) for another one "
          + "to end\(open).", run: schedule.openRuns.first, at: slot)
    } else if records.isEmpty {
      tellUndecided(slot, &story)
    }
    for record in records { tell(record, slot, &story) }
  }

  /// The records of a slot that count: of a slot that was decided again after a reset, only its run or the last
  /// decision.
  ///
  /// A decision at an instant that is still to come was made while the clock was ahead.
  private func counting(_ records: [SlotRecord]) -> [SlotRecord] {
    guard records.contains(where: { $0.outcome == .reset }) else { return records }
    let decisions = records.filter { $0.cause.kind == .slot && $0.outcome != .coalesced }
    let last = decisions.first { $0.outcome == .started } ?? decisions.first { $0.at <= clock.now }
    return records.filter { $0 == last || !decisions.contains($0) && ($0.outcome != .reset || last == nil) }
  }

  private func tellMissing(_ story: inout Explanation) {
    let asked = clock.date(facts.at)
    let near = [facts.previous, facts.following].compactMap { $0 }.map { clock.date($0) }
    let nearest = near.isEmpty ? "it is never due" : "the nearest \(near.count == 1 ? "is" : "are") \(joined(near))"
    let text: String
    switch facts.leftOut {
    case .except(let instant)? where instant == facts.at:
      text = "\(name) \(facts.at > clock.now ? "leaves" : "left") \(asked) out, because that day is one of its 'except'"
    case .beforeStart(_, let start)?: text = "\(name) had no slot on \(asked): it starts on \(clock.date(start))"
    case .afterEnd(_, let end)?: text = "\(name) had no slot on \(asked): it ended on \(clock.date(end))"
    default:
      text =
        "\(name) \(facts.at > clock.now ? "has" : "had") no slot on \(asked): it \(facts.isFromOutside ? "runs" : "is due") \(facts.words)"
    }
    story.say(.slot, "\(text); \(nearest).", at: facts.at)
  }

  private func tellUndecided(_ slot: Timestamp, _ story: inout Explanation) {
    let due = clock.date(slot)
    let didNot = "\(name) did not run on \(due)"
    let text: String
    var commands: [String] = []
    if !facts.isRead {
      text = "\(didNot): no agent has read '\(schedule.file.safe)' yet."
    } else if slot > clock.now {
      text = "\(name) is due on \(due), if nothing changes until then."
    } else if slot < schedule.createdAt {
      text = "\(didNot): the agent has known the schedule only since \(clock.date(schedule.createdAt))."
    } else if slot <= schedule.processedUntil {
      text = "\(name) was due on \(due), and the ledger no longer holds its outcome."
    } else if let pause = schedule.pause, pause.at <= slot {
      text = "\(didNot), because it is paused."
    } else if schedule.remainingRuns == 0 {
      text = "\(didNot), because its 'remainingRuns' are used up."
    } else if isServed {
      text = "\(name) has been due since \(due), and the agent is about to decide."
    } else {
      text = "\(didNot): no agent has looked at it since \(clock.date(schedule.processedUntil))."
      commands = ["errand serve"]
    }
    story.say(.slot, text, commands: commands, at: slot)
  }

  private func tell(_ record: SlotRecord, _ slot: Timestamp, _ story: inout Explanation) {
    let due = clock.date(slot)
    let didNot = "\(name) did not run on \(due)"
    let reason = record.reason.map { " \($0.sentence)" } ?? ""
    /// The recorded reason, or a default.
    func because(_ otherwise: String) -> String { "\(didNot): \((record.reason ?? otherwise).asEnd)" }
    var text: String
    switch record.outcome {
    case .started: text = started(record, due) + reason
    case .buffered: text = "\(name) was due on \(due), and its run waits for another one to end.\(reason)"
    case .skippedOverlap:
      let other = record.run.map(described) ?? "one of its runs"
      text = "\(didNot), because the run before it was not over: \(other)."
    case .missedWindow, .missedPolicy: text = "\(didNot), because no agent was running\(absence(record)).\(reason)"
    case .superseded: text = because("a later slot took its place")
    case .paused: text = "\(didNot), because the schedule was paused.\(reason)"
    case .coalesced: text = "\(name) was due on \(due) for several times of day.\(reason)"
    case .dropped: text = because("too many slots waited already")
    case .refused: text = because("its run was refused")
    case .unmatched: text = because("'match' doesn't hold for the delivery")
    case .signalled: text = "\(name) took a delivery on \(due), and started no run.\(reason)"
    case .duplicate: text = "\(name) took a delivery on \(due) that came before, and started no run.\(reason)"
    case .reset: text = "The slots of \(name) from \(due) on were decided again from \(clock.date(record.at)).\(reason)"
    }
    if record.count > 1, record.until != nil {
      let (first, last) = (clock.date(record.slot), clock.date(record.until ?? record.slot))
      text += " It is one of \(record.count) slots from \(first) to \(last)."
    }
    story.say(.slot, text, commands: record.run.map { ["errand why \($0)"] } ?? [], run: record.run, at: slot)
  }

  private func started(_ record: SlotRecord, _ due: String) -> String {
    let late = record.lateBy.map { ", \($0.inWords) late" } ?? ""
    let when = clock.date(record.at)
    let how =
      switch record.cause.kind {
      case .trigger: "was started out of turn on \(when)"
      case .backfill: "ran for \(due) by a backfill on \(when)"
      case .event: "was started by an event on \(when)"
      case .file: "was started by \(record.cause.path.map { "the file '\($0.safe)'" } ?? "files") on \(when)"
      case .afterRecipe: "followed another run on \(when)"
      default: "ran on \(due)\(late)"
      }
    return "\(name) \(how): \(record.run.map(described) ?? "its run is not known")."
  }

  /// How long the agent was away, as far as is known.
  private func absence(_ record: SlotRecord) -> String {
    guard let last = facts.lastSign, last <= record.slot else { return "; it came back on \(clock.date(record.at))" }
    return "; nothing was decided from \(clock.date(last)) to \(clock.date(record.at))"
  }

  /// A run in a few words.
  private func described(_ id: String) -> String {
    guard let run = facts.runs.first(where: { $0.id == id }) else { return "run \(id)" }
    return "run \(id) (\(run.status.rawValue))"
  }

  // MARK: From now on

  func tellPause(_ story: inout Explanation) {
    guard let pause = schedule.pause else { return }
    let who =
      switch pause.origin {
      case .recipe: "the recipe says 'paused'"
      case .person: "a person paused it"
      case .failure: "a run of it failed and it has 'pauseOnFailure'"
      }
    let note = pause.note.map { ": \($0)".asEnd } ?? "."
    story.say(
      .person, "\(name) has been paused since \(clock.date(pause.at)), because \(who)\(note)",
      commands: pause.origin == .recipe ? [] : ["errand schedule resume \(name.shellQuoted)"], at: pause.at)
  }

  func tellNext(_ story: inout Explanation) {
    if let fault = facts.fault {
      story.say(
        .next, "The recipe's file is broken now, so its last valid version is used: \(fault.asEnd)",
        commands: ["errand check \(schedule.file.shellQuoted)"])
    }
    if let batch = schedule.batch {
      story.say(
        .next,
        "It has gathered \(batch.counted) since \(clock.date(batch.at)), and starts a run with them on \(clock.dateFromNow(batch.due)), or when there are as many as 'max' says.",
        at: batch.due)
      return
    }
    if facts.isFromOutside, let waiting = schedule.buffered.first {
      let runs = schedule.buffered.count == 1 ? "A run of it has" : "\(schedule.buffered.count) runs of it have"
      let open = schedule.openRuns.first.map { ": \(described($0))" } ?? ""
      story.say(
        .wait, "\(runs) waited since \(clock.date(waiting.at)) for another one to end\(open).",
        commands: schedule.openRuns.prefix(1).map { "errand why \($0)" }, run: schedule.openRuns.first, at: waiting.at)
    }
    if let files = schedule.files, facts.words.hasPrefix("on files ") {
      let count = files.versions.count
      story.say(
        .next, "It runs \(facts.words); it has seen \(count == 1 ? "one file" : "\(count) files") there.")
    } else if schedule.remainingRuns == 0 {
      story.say(.next, "It won't run again: 'remainingRuns' is used up.")
    } else if let next = facts.upcoming {
      let left = schedule.remainingRuns.map { " It may run \($0 == 1 ? "once" : "\($0) times") more." } ?? ""
      if let until = schedule.decidedAhead(of: clock.now) {
        story.say(
          .next,
          "The clock was once ahead, and the slots of \(name) until \(clock.date(until)) are decided; none of them starts. To decide them again from now on:",
          commands: ["errand schedule reset \(name.shellQuoted)"], at: until)
      }
      let verb = schedule.pause == nil ? "It is due next on" : "Its next slot is"
      story.say(.next, "\(verb) \(clock.dateFromNow(next)).\(left)", at: next)
      if !isServed, schedule.pause == nil {
        story.say(.wake, "No agent is running to start it:", commands: ["errand serve"])
      }
    } else {
      story.say(.next, facts.isFromOutside ? "It runs \(facts.words)." : "It is not due again.")
    }
  }
}
