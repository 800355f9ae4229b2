package import RunState
import Basics
import Recipes
package import Runs

// Why a run is in its state.

extension Explanation {
  /// Explains a run.
  ///
  /// - Parameters:
  ///   - conditions: The conditions of its recipe, if that still checks.
  ///   - isServed: Whether an agent is running that wakes waiting runs.
  ///   - holder: The process that is running this run and isn't such an agent, as 'errand run' does.
  package init(
    of facts: RunFacts, conditions: StepReplay? = nil, clock: WallClock, isServed: Bool, holder: Int? = nil
  ) {
    let formatter = RunFormatter(facts: facts, conditions: conditions, clock: clock, isServed: isServed, holder: holder)
    formatter.tellStatus(&self)
    formatter.tellCause(&self)
    formatter.tellPeople(&self)
    formatter.tellEvents(&self)
    formatter.tellLoops(&self)
    formatter.tellBranches(&self)
    formatter.tellAttempts(&self)
    formatter.tellWorkers(&self)
  }
}

/// Explains one run.
struct RunFormatter {
  let facts: RunFacts
  let conditions: StepReplay?
  let clock: WallClock
  let isServed: Bool
  let holder: Int?

  var run: RunRecord { facts.run }
  var id: String { facts.run.id }
  var steps: StepRecords { facts.run.stepsInOrder }

  // MARK: Status

  func tellStatus(_ story: inout Explanation) {
    let name = run.recipe.safe
    let ended = run.endedAt ?? run.now
    let when = "\(clock.date(ended)), after \((ended.span(since: run.createdAt) ?? .zero).inWords)"
    switch run.status {
    case .queued: tellQueued(&story)
    case .running: tellRunning(&story)
    case .waiting: tellWaiting(&story)
    case .paused:
      let why = run.reason.map { ": \($0)".asEnd } ?? "; no reason is recorded."
      story.say(.status, "\(name) is paused\(why)", commands: ["errand runs resume \(id)"])
    case .uncertain: tellUncertain(&story)
    case .succeeded: story.say(.status, "\(name) succeeded on \(when).", at: run.endedAt)
    case .failed, .timedOut:
      let verb = run.status == .failed ? "failed" : "timed out"
      let message = run.error.map { ": \($0.message)".asEnd } ?? "."
      story.say(.status, "\(name) \(verb) on \(when)\(message)", at: run.endedAt)
    case .cancelled: story.say(.status, "\(name) was cancelled on \(when).", at: run.endedAt)
    case .rejected: story.say(.status, "\(name) was rejected on \(when).", at: run.endedAt)
    case .skipped:
      let why = (run.error?.message ?? run.reason).map { ": \($0)".asEnd } ?? "."
      story.say(.status, "\(name) was skipped on \(clock.date(ended))\(why)", at: run.endedAt)
    }
    // The person who rejected it is shown among the people.
    if let error = run.error, run.status != .rejected { tell(error, &story) }
    if [.failed, .timedOut, .cancelled, .rejected].contains(run.status) {
      if tellMisfit(&story) { return }
      // That it counts as failed doesn't say that nothing was done.
      let resolved = steps.select { $0.pointee.resolution != nil }
      let doubtful = resolved.filter { step in
        step.resolution?.choice == "fail" && step.error?.effect == .unknown
          && conditions?.isPlainWrite(stepAt: step.path) != false
      }
      if !doubtful.isEmpty {
        let which = joined(doubtful.prefix(5).map { named($0.path) })
        story.say(.next, "\(which) may have been done, and a retry does it again: look there first.")
      }
      story.say(
        .next, "To retry in a new run, keeping what succeeded:", commands: ["errand runs retry \(id)"])
    }
  }

  /// Explains what a retry does with a write that was done and whose answer can't be used; true if it needs to be told
  /// what the write gave.
  private func tellMisfit(_ story: inout Explanation) -> Bool {
    guard let path = run.error?.step, let step = run.steps["\(path)/#round"] ?? run.steps[path] else { return false }
    let place = path.shellQuoted
    let output = conditions?.outputTemplate(ofStepAt: path).map(\.shellQuoted) ?? "JSON"
    guard step.lastAttempt?.answer != nil else {
      guard conditions?.isPlainWrite(stepAt: path) == true, let error = step.error, error.effect == .done else {
        return false
      }
      guard error.isOfAnswer else {
        story.say(
          .status,
          "\(named(path)) may have done something before it failed, and a retry does it again: look there first.",
          step: path)
        return false
      }
      story.say(
        .next,
        "\(named(path)) was done, so a retry doesn't do it again. To retry in a new run, keeping what succeeded, say what it gave:",
        commands: ["errand runs retry \(id) \(place) --output \(output)"], step: path)
      return true
    }
    story.say(
      .next,
      "\(named(path)) was done, so a retry doesn't do it again: it looks at the answer, which is kept. To see the answer, or to go on with another output in its place:",
      commands: ["errand runs show \(id) \(place)", "errand runs retry \(id) \(place) --output \(output)"], step: path)
    return false
  }

  private func tellQueued(_ story: inout Explanation) {
    let name = run.recipe.safe
    let inTheWay = facts.others.filter { $0.group != nil && $0.group == run.origin.group?.name }
    if let group = run.origin.group, !inTheWay.isEmpty {
      let runs = joined(inTheWay.map { "\($0.id) (\($0.recipe.safe), \($0.status.rawValue))" })
      story.say(
        .status,
        "\(name) is queued: its group '\(group.name.safe)' allows \(counted(group.limit, "run")) at a time, and in the "
          + "way \(inTheWay.count == 1 ? "is" : "are") \(runs).")
    } else {
      let why = run.reason.map { ": \($0)".asEnd } ?? "; it was accepted \(clock.fromNow(run.createdAt))."
      story.say(.status, "\(name) is queued\(why)")
    }
    tellWaker("runs it", &story)
  }

  private func tellRunning(_ story: inout Explanation) {
    // A step that contains others begins before them.
    let current = steps.select { step in
      [.running, .retrying, .waiting].contains(step.pointee.status) || step.pointee.isQueued
    }
    let inner = current.filter { step in !current.contains { $0.path != step.path && $0.path.isInside(step.path) } }
    let places = inner.prefix(3).map { "\(named($0.path)) since \(clock.date($0.startedAt))" }
    let more = inner.count > 3 ? " and \(inner.count - 3) more" : ""
    let place = places.isEmpty ? "between two steps" : "in \(joined(places))\(more)"
    if let here = facts.place {
      let verb = here.worker == nil ? "was running" : "is running"
      story.say(.status, "\(run.recipe.safe) \(verb), \(place).", step: inner.first?.path)
      tellWaker(here.worker == nil ? "takes it up" : "is running it", &story)
    } else if isServed || holder != nil {
      story.say(.status, "\(run.recipe.safe) is running, \(place).", step: inner.first?.path)
      if let holder { story.say(.wake, "Process \(holder) is running it.") }
    } else {
      story.say(
        .status, "\(run.recipe.safe) was running, \(place), when its agent ended; nothing is running it.",
        commands: ["errand runs resume \(id)"], step: inner.first?.path)
    }
    for step in inner where step.status != .running { tell(step, &story) }
  }

  private func tellWaiting(_ story: inout Explanation) {
    let waiting = steps.select { [.waiting, .retrying].contains($0.pointee.status) }
    if let only = waiting.first, waiting.count == 1 {
      tell(only, &story, of: "\(run.recipe.safe) ")
    } else if waiting.isEmpty {
      let until = run.wakeAt.map { " until \(clock.dateFromNow($0))" } ?? ""
      story.say(.status, "\(run.recipe.safe) waits\(until)\(run.reason.map { ": \($0)".asEnd } ?? ".")", at: run.wakeAt)
    } else {
      let first = run.wakeAt.map { "; the first is due \(clock.dateFromNow($0))" } ?? ""
      story.say(.status, "\(run.recipe.safe) waits in \(waiting.count) places\(first).", at: run.wakeAt)
      for step in waiting.prefix(12) { tell(step, &story) }
      if waiting.count > 12 { story.say(.wait, "So do \(waiting.count - 12) more steps.") }
    }
    tellClock(waiting, &story)
    let needsClock = run.wakeAt != nil
    if needsClock || !isServed || holder != nil || facts.place != nil {
      tellWaker(needsClock ? "wakes it then" : "hears of it", &story)
    }
  }

  /// Explains that waits that began while the clock was ahead last until it reaches that time again.
  private func tellClock(_ waiting: [StepRecord], _ story: inout Explanation) {
    let begun = waiting.compactMap { step -> Timestamp? in
      if step.status == .retrying { return step.lastAttempt?.endedAt }
      return step.wait?.wakeAt == nil ? nil : step.startedAt
    }
    guard let latest = begun.max(), let ahead = latest.span(since: clock.now), ahead > .seconds(60) else { return }
    story.say(
      .wait,
      "The clock was once ahead, and showed \(clock.date(latest)) when this wait began; it lasts until the clock is there again. To start it again by the clock as it is now:",
      commands: ["errand runs cancel \(id)", "errand runs retry \(id)"], at: latest)
  }

  private func tellWaker(_ verb: String, _ story: inout Explanation) {
    if let place = facts.place {
      tellWorker(verb, place, &story)
    } else if isServed {
      story.say(.wake, "The folder's agent \(verb).")
    } else if let holder {
      story.say(.wake, "Process \(holder) \(verb), as long as it runs.")
    } else {
      story.say(
        .wake, "No agent is running, so nothing \(verb). Start one, or resume the run:",
        commands: ["errand serve", "errand runs resume \(id)"])
    }
  }

  /// Names the worker that holds the run, or the needs that no worker meets.
  private func tellWorker(_ verb: String, _ place: RunPlace, _ story: inout Explanation) {
    if let worker = place.worker {
      story.say(.wake, "The worker \(worker.safe) \(verb).")
    } else if place.hasWorker {
      story.say(.wake, "The first worker that has what it needs \(verb).")
    } else if !place.hasWorkers {
      let folder = place.home.map { ", for the files that it works with in \(RunNeed.place(of: $0))" } ?? ""
      story.say(.wake, "No agent is running, so nothing \(verb). Start one\(folder):", commands: ["errand serve"])
    } else {
      let reasons = place.reasons
      let missing = reasons.isEmpty ? "" : ", because \(joined(reasons))"
      let serve = place.queue.map { "errand serve --queue \($0.shellQuoted)" }
      story.say(.wake, "No worker \(verb)\(missing).", commands: [serve ?? "errand workers"])
    }
  }

  /// Which workers took the run over from others.
  func tellWorkers(_ story: inout Explanation) {
    for claim in run.claims where claim.isTakeover {
      let reason = claim.isSuspect ? "crashed" : "ended or lost its lease"
      story.say(
        .worker,
        "The worker \(claim.worker.safe) took it over on \(clock.date(claim.at)), because the one before had \(reason).",
        at: claim.at)
    }
  }

  /// One waiting step, as a sentence of its own, or with the run as its subject.
  private func tell(_ step: StepRecord, _ story: inout Explanation, of run: String? = nil) {
    let subject = run ?? "\(named(step.path)) "
    let place = run == nil ? "" : ", in \(named(step.path))"
    let topic: Explanation.Topic = run == nil ? .wait : .status
    if step.status == .retrying {
      let due = step.lastAttempt?.retryAt
      let again = due.map { " on \(clock.dateFromNow($0))" } ?? ""
      let error = step.lastAttempt?.error.map { ": \($0.message)".asEnd } ?? "."
      story.say(
        topic, "\(subject)tries again\(again)\(place): attempt \(step.attempts) failed\(error)", step: step.path,
        at: due)
      return
    }
    guard let wait = step.wait else {
      story.say(topic, "\(subject)waits\(place).", step: step.path)
      return
    }
    let until = wait.wakeAt.map { clock.dateFromNow($0) }
    switch wait.kind {
    case .until:
      story.say(
        topic, "\(subject)waits until \(until ?? "it is woken")\(place).", step: step.path, at: wait.wakeAt)
    case .event:
      let name = wait.event ?? ""
      let limit = until.map { "; it times out on \($0)" } ?? ", for as long as it takes"
      let events = facts.events.filter {
        $0.name.hasSameScalars(as: name) && $0.consumedBy == nil && $0.receivedAt >= facts.run.createdAt
      }
      let came = events.count
      var near =
        came == 0 ? "" : came == 1 ? " One came, and did not match." : " \(came) came, and none of them matched."
      if let last = events.last, case .inline(let data) = last.data ?? .inline(.null),
        let misfit = conditions?.misfit(ofStepAt: step.path, for: last, data)
      {
        near += " The last is another event for it: \(misfit.asEnd)"
      }
      story.say(
        topic, "\(subject)waits for the event '\(name.safe)'\(place)\(limit).\(near)",
        commands: ["errand runs signal \(id) \(name.shellQuoted)"], step: step.path, at: wait.wakeAt)
    case .approval where step.decision != nil, .ask where step.decision != nil:
      let words = step.decision.map { "\($0.words.safe) on \(clock.date($0.at))" } ?? ""
      story.say(topic, "\(subject)was \(words)\(place), and waits for the steps of its 'tell'.", step: step.path)
    case .approval, .ask:
      let who = wait.by.isEmpty ? "a person" : joined(wait.by.map(\.safe), by: "or")
      let what = wait.kind == .ask ? "answer" : "decide"
      let limit = until.map { " It times out on \($0)." } ?? ""
      let page = wait.url.map { " Its page: \($0)" } ?? ""
      story.say(
        topic, "\(subject)waits for \(who) to \(what)\(place): \((wait.prompt ?? "").headline.asEnd)\(limit)\(page)",
        commands: step.commands(in: id), step: step.path, at: wait.wakeAt)
    case .limit:
      let since = wait.since.map { " since \(clock.date($0))" } ?? ""
      let next = until.map { "; it goes on about \($0)" } ?? ""
      story.say(
        topic, "\(subject)is queued\(since)\(place): \(wait.limit ?? "its connection has limits")\(next).",
        step: step.path, at: wait.wakeAt)
    case .poll:
      let rounds = wait.rounds.map { " It has looked \($0 == 1 ? "once" : "\($0) times")." } ?? ""
      story.say(
        topic, "\(subject)looks again on \(until ?? "its next round")\(place).\(rounds)", step: step.path,
        at: wait.wakeAt)
    }
  }

  private func tellUncertain(_ story: inout Explanation) {
    let open = run.uncertainSteps
    let which = open.count == 1 ? "\(named(open[0].path)) was done" : "\(open.count) of its steps were done"
    story.say(
      .status, "\(run.recipe.safe) is uncertain: it isn't known whether \(which), and a person has to check.",
      step: open.count == 1 ? open[0].path : nil)
    for step in open.prefix(12) {
      let key = run.key(of: step).map { " Its idempotency key is \(SecretRegistry.displayed(text: $0).safe)." } ?? ""
      let message = (step.error?.message ?? "its outcome isn't known").asEnd
      // The things to look at, as the action describes them.
      let look = step.error?.detail.map { " \($0.asEnd)" } ?? ""
      let command = "errand runs resolve \(id) \(step.path.shellQuoted)"
      let template = conditions?.outputTemplate(ofStepAt: step.path)
      let output = template.map { " --output \($0.shellQuoted)" } ?? ""
      story.say(
        .uncertain, "\(named(step.path)), begun on \(clock.date(step.startedAt)): \(message)\(look)\(key)",
        commands: ["--done\(output)", "--retry", "--fail"].map { "\(command) \($0)" }, step: step.path,
        output: template)
    }
    if open.count > 12 {
      story.say(.uncertain, "\(open.count - 12) more are like them:", commands: ["errand runs show \(id)"])
    }
  }

  private func tell(_ error: RunError, _ story: inout Explanation) {
    let place = error.file.map { "\($0):\(error.line ?? 1):\(error.column ?? 1)" }
    let step = error.step.map { "in \(named($0))" }
    let attempt = error.attempt.flatMap { $0 > 1 ? "in attempt \($0)" : nil }
    let parts = [step, attempt, place.map { "at \($0)" }].compactMap { $0 }
    let effect = error.effect == .unknown ? " Something may have happened outside." : ""
    if !parts.isEmpty || !effect.isEmpty {
      let happened = parts.isEmpty ? "" : "It happened \(parts.joined(separator: ", ")) (\(error.kind.rawValue))."
      story.say(.error, (happened + effect).trimmed, step: error.step)
    }
    if let detail = error.detail, !detail.isEmpty {
      story.say(.error, "\(error.kind == .expression ? "There, " : "The service said: ")\(detail.asEnd)")
    }
    var next = error.cause
    var depth = 0
    while let cause = next, depth < 8 {
      story.say(
        .error, "Before that\(cause.step.map { ", in \(named($0))" } ?? ""): \(cause.message.asEnd)", step: cause.step)
      next = cause.cause
      depth += 1
    }
  }
}

extension RunRecord {
  /// The event or instant that an open run waits for, in a few words for lists.
  package func summary(_ clock: WallClock) -> String {
    let waiting = stepsInOrder.filter { $0.status == .waiting || $0.status == .retrying || $0.isQueued }
    switch status {
    case .waiting,
      .running where !waiting.isEmpty:
      // A run that is being walked while it waits has no instant of its own.
      let wakeAt = wakeAt ?? waiting.compactMap { $0.wait?.wakeAt ?? $0.lastAttempt?.retryAt }.min()
      if let step = waiting.first(where: { $0.asksPerson }) {
        return "asks '\((step.wait?.prompt ?? "").headline.safe)'"
      }
      if let step = waiting.first, waiting.allSatisfy(\.isQueued) {
        let next = step.wait?.wakeAt.map { " until about \(clock.dateFromNow($0))" } ?? ""
        return "'\(step.path.safe)' is queued\(next): \((step.wait?.limit ?? "").safe)"
      }
      let until = wakeAt.map { " until \(clock.dateFromNow($0))" } ?? ""
      if let event = waiting.first(where: { $0.wait?.kind == .event })?.wait?.event {
        return "for the event '\(event.safe)'\(until)"
      }
      if let step = waiting.first, step.status == .retrying {
        return "to try '\(step.path.safe)' again\(until)"
      }
      if let step = waiting.first, step.wait?.kind == .poll { return "to look at '\(step.path.safe)' again\(until)" }
      return wakeAt == nil ? (reason ?? "").safe : "until \(wakeAt.map(clock.dateFromNow) ?? "")"
    case .uncertain:
      let count = stepsInOrder.count { $0.status == .uncertain }
      let steps = count < RunRecord.mostListed ? counted(count, "step") : "\(count) steps or more"
      return "a person has to check \(steps)"
    default: return (reason ?? "").safe
    }
  }
}

extension StepRecord {
  /// Whether it waits for the limits of its connection.
  var isQueued: Bool { status == .queued && wait?.kind == .limit }
}

extension StepPath {
  /// Whether this is the path of a step inside another one, inside an item of it, or inside its handler.
  func isInside(_ outer: StepPath) -> Bool {
    guard utf8.count > outer.utf8.count, hasPrefix(outer) else { return false }
    return "/[~!".utf8.contains(utf8[utf8.index(utf8.startIndex, offsetBy: outer.utf8.count)])
  }

  /// The paths that this one is inside of.
  var outer: [StepPath] {
    utf8.indices.dropFirst().filter { "/[~!".utf8.contains(utf8[$0]) }.map { String(self[..<$0]) }
  }

  /// The path with every item of a loop as `[…]`, so that the same step of all items is one.
  var ofAnyItem: String {
    guard utf8.contains(ASCII.openBracket) else { return self }
    var result: [UInt8] = []
    var isIndex = false
    for byte in utf8 {
      if byte == ASCII.closeBracket { isIndex = false }
      if !isIndex { result.append(byte) }
      if byte == ASCII.openBracket {
        isIndex = true
        result += "…".utf8
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

extension RunPlace {
  /// The reasons that keep all workers from claiming the run.
  fileprivate var reasons: [String] {
    var reasons = missing.isEmpty ? [] : ["none has \(joined(missing.map(RunNeed.inWords)))"]
    if let queue { reasons.append("none takes from its queue '\(queue.safe)'") }
    if let home { reasons.append("it works with files in \(RunNeed.place(of: home)), and no agent is running there") }
    return reasons
  }

  /// Why no worker claims the run, in a few words for lists.
  package var reason: String {
    if hasWorkers { return "no worker can take it up\(reasons.isEmpty ? "" : ": \(joined(reasons))")" }
    return "no agent is running\(home.map { " for its files in \(RunNeed.place(of: $0))" } ?? "")"
  }
}
