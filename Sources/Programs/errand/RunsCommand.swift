import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import RunState
import Runs

/// `errand runs`: lists and shows runs; `RunSteering` changes them.
struct RunsCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    switch parsed.command.last {
    case "show": return try await show(session)
    case "delete": return try await delete(session)
    case "logs": return try await RunLogsCommand(dispatch: dispatch, session: session).run()
    case "follow":
      let run = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
        try await requests.run(parsed["run"].text)
      }
      return try await session.follow(run.id, isOver: run.status.isEnded)
    case "list": return try await list(session)
    case "approvals": return try await ApprovalsCommand(dispatch: dispatch, session: session).run()
    case "count": return try await RunSelection(dispatch: dispatch, session: session).count()
    case "steer": return try await RunSelection(dispatch: dispatch, session: session).steer()
    case "dismiss", "failures", "statistics":
      return try await RunFailuresCommand(dispatch: dispatch, session: session).run()
    case "watch": return try await RunWatchCommand(dispatch: dispatch, session: session).run()
    default: return try await RunSteering(dispatch: dispatch, session: session).run()
    }
  }

  // MARK: Looking

  private func list(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let clock = session.workspace.wallClock(session.time.now())
    var query = try RunSelection(dispatch: dispatch, session: session).query()
    query.limit = parsed["limit"].int ?? 20
    let page = parsed["after"].text
    let (list, outputs, isAgent) = try await session.access.asking(isReading: true) {
      requests throws(RuntimeError) in
      var query = query
      if let page { query.after = try await cursor(after: page, requests) }
      let list = try await requests.runs(query)
      var outputs: [String: [StepPath: String]] = [:]
      if !asJSON { for run in list.open { outputs[run.id] = await self.outputs(ofDoubtsIn: run, requests) } }
      return (list, outputs, requests.connection.isAgent)
    }
    let (open, finished, next) = (list.open, list.finished, list.next)
    func why(_ run: RunRecord) -> String {
      if let unclaimable = list.unclaimable { return unclaimable[run.id] ?? run.summary(clock) }
      return isAgent && run.status == .running ? "interrupted; nothing is running it" : run.summary(clock)
    }
    if asJSON {
      var answer = ValueMap([
        ("open", .list(open.map { $0.summary(why: why($0)) })), ("finished", .list(finished.map(\.summary))),
      ])
      answer["next"] = next.map { .string($0) }
      console.out(json: .map(answer))
      return .done
    }
    let tails = RunTails(of: open.map(\.id) + finished.map(\.id))
    var rows = open.map { run in
      [tails[run.id], run.recipe.safe, run.status.rawValue, clock.date(run.createdAt), "", why(run).safe]
    }
    rows += finished.map { run in
      let took = run.endedAt.span(since: run.createdAt)?.spoken ?? ""
      return [
        tails[run.id], run.recipe.safe, run.status.rawValue, clock.date(run.createdAt), took,
        (run.reason ?? "").safe,
      ]
    }
    guard !rows.isEmpty else {
      let isFiltered = RunSelection(dispatch: dispatch, session: session).isFiltered
      console.say(
        "no \(isFiltered ? "such " : "")runs \(session.access.remote.map { "at \($0.url)" } ?? "in \(session.workspace.stateName)")"
      )
      return .done
    }
    console.out(
      console.table(["RUN", "RECIPE", "STATUS", "CREATED", "TOOK", "WHY"], rows, cutFirst: ["WHY", "TOOK", "RECIPE"]))
    for run in open {
      showQuestions(of: run, as: tails[run.id], clock)
      showDoubts(of: run, as: tails[run.id], outputs[run.id] ?? [:])
    }
    if let next { console.say("\nThere are more; continue with: --after \(tails[next])") }
    if isAgent, list.unclaimable == nil, open.contains(where: { [.queued, .running, .waiting].contains($0.status) }) {
      console.say(
        "\nNo agent is running to resume the open runs. Start one with: errand serve; or: errand runs resume")
    }
    return .done
  }

  /// Where the page after a run begins, which may also be given as a list in JSON names it.
  private func cursor(after page: String, _ requests: AgentRequests) async throws(RuntimeError) -> String {
    if RunListQuery.instant(ofCursor: page) != nil { return page }
    let run = try await requests.displayed(page)
    guard let end = run.endedAt else {
      throw RuntimeError(.usage, "--after takes a run that is over, but \(run.id) is \(run.status.rawValue)")
    }
    return RunListQuery.cursor(run.id, end)
  }

  /// Shows the decisions that a run asks for, with the commands to type.
  private func showQuestions(of run: RunRecord, as name: String, _ clock: WallClock) {
    for step in run.askingSteps {
      let who = step.wait?.by.isEmpty == false ? " (\(joined(step.wait?.by.map(\.safe) ?? [], by: "or")))" : ""
      let until = step.wait?.wakeAt.map { ", until \(clock.dateFromNow($0))" } ?? ""
      let prompt = Style.bold.applied(to: (step.wait?.prompt ?? "").safeLines(indent: "  "), console.colourOut)
      console.out(
        "\n\(Style.yellow.applied(to: "?", console.colourOut)) \(run.recipe.safe) asks\(who)\(until): \(prompt)")
      for field in step.wait?.asked ?? [] { console.out("    \(field.words.safe)") }
      for command in step.commands(in: name) { console.out("    \(command)") }
      if let url = step.wait?.url { console.out("    \(url.safe)") }
    }
  }

  /// The most uncertain steps of a run that the list shows.
  private static let mostDoubts = 3

  /// The forms of the outputs that a person has to give for uncertain steps that were done, if other steps read them.
  private func outputs(ofDoubtsIn run: RunRecord, _ requests: AgentRequests) async -> [StepPath: String] {
    guard !run.uncertainSteps.isEmpty,
      let explanation = try? await requests.explanation(of: run.id)
    else { return [:] }
    return explanation.sentences.reduce(into: [:]) { outputs, sentence in
      if let step = sentence.step, let output = sentence.output { outputs[step] = output }
    }
  }

  /// Shows the steps that may or may not have been done, with the commands to type.
  private func showDoubts(of run: RunRecord, as name: String, _ outputs: [StepPath: String]) {
    let steps = run.uncertainSteps
    for step in steps.prefix(RunsCommand.mostDoubts) {
      let mark = Style.yellow.applied(to: "?", console.colourOut)
      let reason = (step.error?.message ?? "its outcome isn't known").safe
      console.out("\n\(mark) \(run.recipe.safe) needs a person to check '\(step.path.safe)': \(reason)")
      let output = outputs[step.path].map { " --output \($0.shellQuoted)" } ?? ""
      for word in ["done\(output)", "retry", "fail"] {
        console.out("    errand runs resolve \(name) \(step.path.shellQuoted) --\(word)")
      }
    }
    if steps.count > RunsCommand.mostDoubts {
      console.out("\n  \(steps.count - RunsCommand.mostDoubts) more steps of it are uncertain: errand why \(name)")
    }
  }

  private func delete(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let run = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text)
      _ = try await requests.ask(DeleteRun.with { $0.run = run.id })
      return run
    }
    console.say("deleted the run \(run.id) of \(run.recipe.safe)")
    return .done
  }

  private func show(_ session: RunSession) async throws(RuntimeError) -> ExitCode {
    if let step = parsed["step"].text { return try await RunStepReport(dispatch: dispatch).run(step, session) }
    let (record, outputs, facts, isServed, holder) = try await session.access.asking(isReading: true) {
      requests throws(RuntimeError) in
      let record = try await requests.displayed(parsed["run"].text)
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
    if let erased = record.erasedAt {
      console.out("erased   \(clock.date(erased)): its inputs, outputs, requests and logs")
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
      if record.stepsInOrder.contains(where: \.hasValues) {
        console.say("\n\(Timeline.valueMark) has an input or output: errand runs show \(record.id) STEP")
      }
    }
    showQuestions(of: record, as: record.id, clock)
    console.out("")
    report.showText()
    return .done
  }
}

extension Dispatch {
  /// A session on the state folder that shows and steers runs.
  func session(
    format: ProgressDisplay.Format = .text, inState state: String? = nil
  ) async throws(RuntimeError) -> RunSession {
    let remote = parsed.command.first == "open" ? nil : try await remoteAgent()
    let workspace = remote == nil ? try self.workspace(inState: state) : Workspace(ofAgentElsewhere: catalog)
    let decides = ["answer", "approve", "reject"].contains(parsed.command.last)
    if decides, remote != nil, parsed["by"].isGiven {
      throw RuntimeError(.usage, "an agent elsewhere records decisions under the name of the token; leave out --by")
    }
    var session = RunSession(
      workspace, workspace.secretSources(), console, time: SystemTime(), format: format,
      person: decides ? parsed["by"].text : nil)
    session.access.remote = remote
    return session
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
    summary["cause"] = .string(origin.cause.kind.rawValue)
    if origin.inputs.map?.isEmpty == false { summary["inputs"] = origin.inputs }
    if !why.isEmpty { summary["why"] = .string(why) }
    let asking = askingSteps.map { step in
      var question = ValueMap([("step", .string(step.path)), ("prompt", .string(step.wait?.prompt ?? ""))])
      if let by = step.wait?.by, !by.isEmpty { question["by"] = .list(by.map { .string($0) }) }
      question["fields"] = step.wait?.fields
      question["url"] = step.wait?.url.map { .string($0) }
      question["until"] = step.wait?.wakeAt.map { .string($0.description) }
      return Value.map(question)
    }
    if !asking.isEmpty { summary["asks"] = .list(asking) }
    return .map(summary)
  }
}

extension RunSummary {
  /// A finished run in the output of `--json` of a list, in the form of an open one.
  fileprivate var summary: Value {
    var summary = ValueMap([
      ("id", .string(id)), ("recipe", .string(recipe)), ("status", .string(status.rawValue)),
      ("createdAt", .string(createdAt.description)), ("endedAt", .string(endedAt.description)),
    ])
    summary["cause"] = cause.map { .string($0.kind.rawValue) }
    summary["inputs"] = inputs
    summary["why"] = reason.map { .string($0) }
    summary["retryOf"] = retryOf.map { .string($0) }
    return .map(summary)
  }
}

/// The ends of the ids of some runs, as short as is unique among them.
///
/// The beginnings are equal for all runs of about a minute.
struct RunTails {
  private let length: Int

  private static let shortest = 6

  init(of ids: [String]) {
    // An id has twelve random digits after its last dash.
    length =
      (RunTails.shortest..<12).first { length in Set(ids.map { $0.suffix(length) }).count == Set(ids).count } ?? 36
  }

  subscript(id: String) -> String { String(id.suffix(length)) }
}
