import Agent
import AgentRuntime
import Basics
import CommandLineParser
import RunState

/// `errand runs`: lists and shows runs; `RunSteering` changes them.
struct RunsCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try dispatch.session()
    switch parsed.command.last {
    case "show": return try await show(session)
    case "logs": return try await logs(session)
    case "follow":
      let run = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
        try await requests.run(parsed["run"].text)
      }
      return try await session.follow(run.id, isOver: run.status.isEnded)
    case "list": return try await list(session)
    default: return try await RunSteering(dispatch: dispatch, session: session).run()
    }
  }

  // MARK: Looking

  private func list(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let clock = session.workspace.wallClock(session.time.now())
    let (open, finished, isAgent) = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      let runs = try await requests.runs(limit: parsed["limit"].int ?? 20, recipe: parsed["recipe"].text)
      return (runs.open, runs.finished, requests.connection.isAgent)
    }
    func why(_ run: RunRecord) -> String {
      isAgent && run.status == .running ? "interrupted; nothing is running it" : run.summary(clock)
    }
    if asJSON {
      let summaries = open.map { $0.summary(why: why($0)) }
      let answer = Value.object(["open": .list(summaries), "finished": .list(finished.map { $0.encoded() })])
      console.out(JSON.shown(answer, .pretty))
      return .done
    }
    var rows = open.map { run in
      [run.id, run.recipe.safe, run.status.rawValue, clock.date(run.createdAt), "", why(run).safe]
    }
    rows += finished.map { run in
      let took = run.endedAt.span(since: run.createdAt)?.spoken ?? ""
      return [run.id, run.recipe.safe, run.status.rawValue, clock.date(run.createdAt), took, ""]
    }
    guard !rows.isEmpty else {
      console.say("no runs in \(session.workspace.stateFolder)")
      return .done
    }
    console.out(
      console.table(["RUN", "RECIPE", "STATUS", "CREATED", "TOOK", "WHY"], rows, cutFirst: ["WHY", "TOOK", "RECIPE"]))
    for run in open { showQuestions(of: run, clock) }
    if isAgent, open.contains(where: { [.queued, .running, .waiting].contains($0.status) }) {
      console.say(
        "\nNo agent is running to resume the open runs. Start one with: errand serve; or: errand runs resume")
    }
    return .done
  }

  /// Shows the decisions that a run asks for, with the commands to type.
  private func showQuestions(of run: RunRecord, _ clock: WallClock) {
    for step in run.askingSteps {
      let who = step.wait?.by.isEmpty == false ? " (\(joined(step.wait?.by.map(\.safe) ?? [], by: "or")))" : ""
      let until = step.wait?.wakeAt.map { ", until \(clock.dateFromNow($0))" } ?? ""
      let prompt = Style.bold.applied(to: (step.wait?.prompt ?? "").safeLines(indent: "  "), console.colourOut)
      console.out(
        "\n\(Style.yellow.applied(to: "?", console.colourOut)) \(run.recipe.safe) asks\(who)\(until): \(prompt)")
      for word in ["approve", "reject"] { console.out("    errand runs \(word) \(run.id) \(step.path.shellQuoted)") }
    }
  }

  private func show(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let (record, outputs, facts, isServed, holder) = try await session.access.asking(isReading: true) {
      requests throws(RuntimeError) in
      let record = try await requests.shown(parsed["run"].text)
      let (facts, holder) = try await requests.facts(about: record, hasValues: false)
      return (record, try await requests.value(record.outputs), facts, try await requests.isServed(), holder)
    }
    let report = Report(
      record: record, outputs: outputs, console: console, isPartOfPage: true, isServed: isServed || holder != nil)
    if asJSON {
      report.showJSON()
      return .done
    }
    let clock = session.workspace.wallClock(session.time.now())
    console.out("\(Style.bold.applied(to: record.recipe.safe, console.colourOut))  \(record.id)")
    // The waits are shown below, step by step.
    let reason = record.status == .waiting ? nil : record.reason
    console.out("status   \(record.status.rawValue)\(reason.map { ": \($0.safe)" } ?? "")")
    console.out("file     \(record.origin.file.safe)")
    console.out("created  \(clock.date(record.createdAt))")
    if let ended = record.endedAt {
      console.out("ended    \(clock.date(ended))  (after \((ended.span(since: record.createdAt) ?? .zero).spoken))")
    }
    if let group = record.origin.group { console.out("group    \(group.name.safe), \(group.limit) at a time") }
    for input in record.origin.inputs.map?.members ?? [] {
      console.out("input    \(input.key.plain) = \(input.value.plain)")
    }
    for (path, value) in record.origin.overrides.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      console.out("set      \(path) = \(value.plain)")
    }
    let explanation = Explanation(of: facts, clock: clock, isServed: isServed, holder: holder)
    let told: [(Explanation.Topic, String)] = [
      (.cause, "cause"), (.wait, "waits"), (.person, "person"), (.event, "event"),
    ]
    for (topic, label) in told {
      for sentence in explanation.sentences where sentence.topic == topic {
        console.out(label + String(repeating: " ", count: 9 - label.count) + sentence.text)
      }
    }
    if !record.stepsInOrder.isEmpty {
      let timeline = Timeline(
        began: record.createdAt, ended: record.endedAt ?? session.time.now(), steps: Array(record.stepsInOrder),
        clock: clock)
      let lines = timeline.lines(width: console.width, colour: console.colourOut)
      console.out("\n" + lines.joined(separator: "\n"))
    }
    showQuestions(of: record, clock)
    console.out("")
    report.showText()
    return .done
  }

  private func logs(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let record = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      try await requests.shown(parsed["run"].text)
    }
    let steps = record.stepsInOrder.filter { $0.lastAttempt != nil }
    if asJSON {
      console.out(JSON.shown(.list(steps.map { $0.encoded().recordWithMarks }), .pretty))
      return .done
    }
    for step in steps {
      guard let last = step.lastAttempt else { continue }
      for attempt in step.earlierAttempts {
        let isUncertain = attempt.error == nil || attempt.error?.kind == .uncertain
        show(attempt, of: step, isUncertain ? .uncertain : .failed, unended: "lost")
      }
      // The last attempt of a block ends with the block.
      var attempt = last
      if attempt.endedAt == nil, step.status.isEnded {
        attempt.endedAt = step.endedAt
        attempt.error = attempt.error ?? step.error
      }
      show(attempt, of: step, step.status, unended: "in flight")
    }
    return .done
  }

  private func show(_ attempt: AttemptRecord, of step: StepRecord, _ status: StepStatus, unended: String) {
    let took = attempt.endedAt?.span(since: attempt.startedAt)?.spoken ?? unended
    console.out(
      "\(attempt.startedAt.toSeconds)  \(step.path)  attempt \(attempt.number)  \(status.rawValue)  \(took)")
    for exchange in attempt.exchanges {
      let words = ["method", "url", "status", "bytes", "took"].compactMap { exchange[$0]?.plain }
      console.out("  \(words.joined(separator: "  "))")
    }
    if let error = attempt.error { console.out("  \(error.kind.rawValue): \(error.message.safe)") }
  }
}

extension Dispatch {
  /// A session on the state folder that shows and steers runs.
  func session() throws(RuntimeError) -> RunSession {
    let workspace = try self.workspace()
    let decides = ["approve", "reject"].contains(parsed.command.last)
    return RunSession(
      workspace, workspace.secretSources(), console, time: SystemTime(), person: decides ? parsed["by"].text : nil)
  }
}

extension RunRecord {
  /// An open run in the output of `--json` of a list: the columns for people, the ids, the instants and the questions.
  fileprivate func summary(why: String) -> Value {
    var summary = ValueMap([
      ("id", .string(id)), ("recipe", .string(recipe)), ("status", .string(status.rawValue)),
      ("createdAt", .string(createdAt.description)),
    ])
    summary["wakeAt"] = wakeAt.map { .string($0.description) }
    if !why.isEmpty { summary["why"] = .string(why) }
    let asking = askingSteps.map { step in
      var question = ValueMap([("step", .string(step.path)), ("prompt", .string(step.wait?.prompt ?? ""))])
      if let by = step.wait?.by, !by.isEmpty { question["by"] = .list(by.map { .string($0) }) }
      question["until"] = step.wait?.wakeAt.map { .string($0.description) }
      return Value.map(question)
    }
    if !asking.isEmpty { summary["asks"] = .list(asking) }
    return .map(summary)
  }
}
