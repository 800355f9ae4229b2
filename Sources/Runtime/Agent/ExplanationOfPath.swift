import Basics
import Recipes
import RunState
import Runs

// The cause of a run, and the branches that it took.

extension RunFormatter {
  // MARK: The cause

  func tellCause(_ story: inout Explanation) {
    let cause = run.origin.cause
    let schedule = "the schedule '\((cause.schedule ?? run.recipe).safe)'"
    let slot = cause.slot.map { " of \(clock.date($0))" } ?? ""
    let created = clock.date(run.createdAt)
    let other = facts.others.first { $0.id == cause.run }
    let asked = cause.asker.map { " by \($0.safe)" }
    let how = other.map { " (\($0.status.rawValue))" } ?? ""
    switch cause.kind {
    case .manual:
      let again = cause.run.map { ", with the inputs of the run \($0)" } ?? ""
      story.say(.cause, "Started\(asked ?? " by hand") on \(created)\(again).", run: cause.run, at: run.createdAt)
    case .slot:
      let late = facts.slot?.lateBy.map { ", \($0.inWords) late" } ?? ""
      let why = facts.slot?.reason.map { " \(($0.sentence))" } ?? ""
      story.say(
        .cause, "It ran for the slot\(slot) of \(schedule), and began on \(created)\(late).\(why)", at: cause.slot)
    case .trigger:
      story.say(
        .cause, "Started\(asked ?? " by hand") on \(created), out of turn for \(schedule).", at: run.createdAt)
    case .backfill:
      story.say(
        .cause,
        "Started on \(created) by a backfill\(cause.asker.map { " of \($0.safe)" } ?? ""), for the slot\(slot) of \(schedule).",
        at: cause.slot)
    case .event:
      let event = facts.events.first { $0.id == cause.event }
      let name = event.map { " '\($0.name.safe)'" } ?? ""
      let when = event.map { " on \(clock.date($0.receivedAt))" } ?? ""
      story.say(
        .cause, "The event\(name) (\((cause.event ?? "").safe)) came\(when), for which \(schedule) listens.",
        at: event?.receivedAt)
    case .file:
      let what = cause.path.map { "The file '\($0.safe)'" } ?? "Files"
      story.say(.cause, "\(what) came or changed, which \(schedule) watches.", at: run.createdAt)
    case .afterRecipe:
      let of = other.map { " of \($0.recipe.safe)" } ?? ""
      story.say(.cause, "It follows the run \(cause.run ?? "")\(of)\(how).", run: cause.run)
    case .failure:
      let of = other.map { " of \($0.recipe.safe)" } ?? ""
      story.say(
        .cause,
        "Started on \(created) because the run \(cause.run ?? "")\(of) did not succeed, as onFailure in errand.yaml says.",
        run: cause.run)
    case .retry:
      story.say(
        .cause,
        "Started\(asked ?? "") on \(created) to retry the run \(cause.run ?? "")\(how); this is attempt \(run.origin.attempt).",
        run: cause.run)
    }
    if run.origin.sandbox {
      story.say(.cause, "It \(run.status.isEnded ? "ran" : "runs") against sandboxes, not the services.")
    }
  }

  // MARK: People and events

  func tellPeople(_ story: inout Explanation) {
    if let cancel = run.pendingCancel {
      let why = cancel.reason.map { ": \($0)".asEnd } ?? "."
      story.say(.person, "Its cancellation was requested on \(clock.date(cancel.at))\(why)", at: cancel.at)
    }
    for step in steps.select({ $0.pointee.resolution != nil }) {
      guard let resolution = step.resolution else { continue }
      let what =
        switch resolution.choice {
        case "done": "was done"
        case "retry": "was not done, and retried it"
        default: "had failed"
        }
      let doubt = resolution.doubt.map { " " + "It was uncertain: \($0)".asEnd } ?? ""
      story.say(
        .person,
        "\(resolution.by?.safe ?? "A person") said on \(clock.date(resolution.at)) that \(named(step.path.displayed)) \(what).\(doubt)",
        step: step.path, at: resolution.at)
    }
    for step in steps.select({ $0.pointee.decision != nil }) {
      guard let decision = step.decision else { continue }
      let comment = decision.comment.map { ": \($0)".asEnd } ?? "."
      story.say(
        .person,
        "\(decision.by.safe) \(decision.verb) \(named(step.path))\(decision.way) on \(clock.date(decision.at))\(comment)",
        step: step.path,
        at: decision.at)
    }
  }

  func tellEvents(_ story: inout Explanation) {
    for event in facts.events where event.consumedBy == run.id && event.id != run.origin.cause.event {
      story.say(
        .event,
        "It took the event '\(event.name.safe)' (\(event.id.safe)), which came on \(clock.date(event.receivedAt)).",
        at: event.receivedAt)
    }
  }

  // MARK: The way it took

  private static let mostLines = 12

  func tellLoops(_ story: inout Explanation) {
    let loops = steps.select { $0.pointee.items != nil && !$0.pointee.path.utf8.contains(ASCII.openBracket) }
    if loops.isEmpty { return }
    let tallies = steps.level(in: "", limit: 0).tallies
    for loop in loops {
      var tally = tallies[loop.path] ?? [:]
      var count = tally.values.reduce(0, +)
      if case .inline(let list)? = loop.items, let items = list.list {
        count = items.count
        // Items that `where` left out, or that were not reached, have no records.
        let rest = count - tally.values.reduce(0, +)
        if rest > 0 { tally[.pending] = rest }
      }
      let parts = StepStatus.allCases.compactMap { status in tally[status].map { "\($0) \(status.inLoop)" } }
      let how = count == 0 ? "there were none" : joined(parts)
      story.say(.loop, "\(named(loop.path)) went through \(counted(count, "item")): \(how).", step: loop.path)
    }
  }

  func tellBranches(_ story: inout Explanation) {
    var lines: [Explanation.Sentence] = []
    for (path, records) in groups(steps.select { $0.pointee.status == .skipped }) {
      let times = records.count == 1 ? "" : " for \(records.count) items"
      lines.append(
        .init(
          topic: .branch,
          text: "\(named(path, as: records[0].path, hasPlace: true)) was skipped\(times)\(why(records[0])).",
          step: records[0].path
        ))
    }
    for (path, records) in groups(steps.select { $0.pointee.case != nil }) {
      guard let name = records[0].case, records.allSatisfy({ $0.case == name }),
        let (label, condition) = conditions?.choice(name, at: records[0].path)
      else { continue }
      let times = records.count == 1 ? "" : " for \(records.count) items"
      lines.append(
        .init(
          topic: .branch,
          text:
            "\(named(path, as: records[0].path, hasPlace: true)) ran '\(label.safe)'\(times), by `\(condition.text.safe)`\(told(condition)).",
          step: records[0].path))
    }
    for (path, records) in groups(caught) {
      let message = (records[0].error?.message ?? "").within
      let verb = records[0].status == .timedOut ? "timed out" : "failed"
      let times = records.count == 1 ? "" : " for \(records.count) items, the first of them"
      lines.append(
        .init(
          topic: .branch,
          text: "\(named(path)) \(verb)\(times) (\(message)), and the run continued"
            + (records[0].output == nil ? "." : " with the value of its 'onError'."),
          step: records[0].path))
    }
    story.sentences += lines.prefix(RunFormatter.mostLines)
    if lines.count > RunFormatter.mostLines {
      story.say(
        .branch, "\(lines.count - RunFormatter.mostLines) more steps were skipped or failed, and the run continued:",
        commands: ["errand runs show \(id)"])
    }
  }

  /// A step's name in sentences: its path, and if the step has no id also its action.
  ///
  /// - Parameters:
  ///   - path: The path; its items may be placeholders.
  ///   - record: The path of one of its records, if that differs.
  ///   - hasPlace: Whether to give the line of a step without an id.
  func named(_ path: StepPath, as record: StepPath? = nil, hasPlace: Bool = false) -> String {
    guard path.displayed.utf8.split(separator: ASCII.slash).last?.first == UInt8(ascii: "#"),
      let step = conditions?.step(at: (record ?? path).displayed)
    else { return "'\(path.safe)'" }
    let place = hasPlace ? step.location : nil
    let line = place.map { ", \($0.source.name):\($0.source.position(at: $0.range.lowerBound).line)" }
    return "'\(path.safe)' (\(step.title.safe)\(line ?? ""))"
  }

  /// Why a step was skipped.
  private func why(_ record: StepRecord) -> String {
    guard let condition = conditions?.condition(at: record.path), !condition.text.isEmpty else {
      return ": its condition was false"
    }
    return ": `\(condition.text.safe)` was false\(told(condition))"
  }

  /// The values that a condition read, in parentheses; empty if they are unknown.
  private func told(_ condition: StepReplay.Condition) -> String {
    let reads = condition.values.map { "\($0.name.safe) = \($0.value?.excerpted ?? "absent")" }
    return reads.isEmpty ? "" : " (\(reads.joined(separator: ", ")))"
  }

  /// The failures that the recipe handled, the outermost of each.
  private var caught: [StepRecord] {
    // A person's rejection is shown as their decision.
    let failures = steps.select { [.failed, .timedOut].contains($0.pointee.status) && !$0.pointee.isRejected }
    let byPath = Dictionary(failures.map { ($0.path, $0) }) { $1 }
    return failures.filter { step in
      if let path = run.error?.step, path.hasSameScalars(as: step.path) || path.isInside(step.path) { return false }
      // A step that passed an error on is shown, not the step the error came from.
      return !step.path.outer.contains { byPath[$0].map { $0.error == step.error } ?? false }
    }
  }

  /// The records grouped by step, whatever the item, in the order of the first of each.
  private func groups(_ records: [StepRecord]) -> [(path: String, records: [StepRecord])] {
    var groups: [(path: String, records: [StepRecord])] = []
    var places: [String: Int] = [:]
    for record in records {
      let path = record.path.ofAnyItem
      if let place = places[path] {
        groups[place].records.append(record)
      } else {
        places[path] = groups.count
        groups.append((path, [record]))
      }
    }
    return groups.map { ($0.records.count == 1 ? $0.records[0].path : $0.path, $0.records) }
  }

  func tellAttempts(_ story: inout Explanation) {
    let tried = steps.select { $0.pointee.attempts > 1 && ![.retrying, .uncertain].contains($0.pointee.status) }
    for step in tried.prefix(RunFormatter.mostLines) {
      let isRepeated = run.steps.status(of: "\(step.path)/#round") != nil
      let isInRound = isRepeated && !step.status.isEnded
      let count = "\(step.attempts) \(isRepeated ? "rounds" : "attempts")"
      let fact = isInRound ? "is in round \(step.attempts)" : "took \(count)"
      story.say(.attempts, "\(named(step.path)) \(fact).", step: step.path)
    }
    if tried.count > RunFormatter.mostLines {
      story.say(.attempts, "\(tried.count - RunFormatter.mostLines) more steps took several attempts.")
    }
  }
}

extension StepStatus {
  /// The status of items of a loop, after their number.
  fileprivate var inLoop: String {
    switch self {
    case .pending: "left out or not begun"
    case .timedOut: "timed out"
    case .retrying: "being retried"
    default: rawValue
    }
  }
}

extension String {
  /// A recorded reason, as a sentence.
  var sentence: String {
    let text = asEnd
    guard let first = text.first, first.isASCII else { return text }
    return first.uppercased() + text.dropFirst()
  }
}

extension Value {
  /// The value in a few words.
  package var excerpted: String {
    switch content {
    case .list(let items): "a list of \(items.count)"
    case .map(let map): "an object of \(counted(map.count, "member"))"
    case .string(let text): "'\(text.shortened(into: 60).safe)'"
    case .optional(let value): value?.excerpted ?? "absent"
    default: plainText.safe
    }
  }
}
