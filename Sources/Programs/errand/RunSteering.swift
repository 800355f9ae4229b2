import Agent
import Basics
import CommandLineParser
import Glibc
import RunState

/// The commands of `errand runs` that change something.
struct RunSteering {
  private let dispatch: Dispatch
  private let session: RunSession
  private var parsed: Parsed { dispatch.parsed }
  private var console: Console { dispatch.console }

  init(_ dispatch: Dispatch, _ session: RunSession) {
    self.dispatch = dispatch
    self.session = session
  }

  func run() async throws(CommandError) -> ExitCode {
    switch parsed.command.last {
    case "resume": return try await resume()
    case "pause": return try await pause()
    case "retry": return try await retry()
    case "cancel": return try await cancel()
    case "resolve": return try await resolve()
    case "signal": return try await signal()
    default: return try await decide(isApproved: parsed.command.last == "approve")
    }
  }

  private var asJSON: Bool { parsed["json"].isGiven }

  // MARK: Going on and standing still

  private func resume() async throws(CommandError) -> ExitCode {
    if let prefix = parsed["run"].text {
      let run = try await session.asking { requests throws(CommandError) in try await requests.run(prefix) }
      guard !run.status.isEnded else {
        throw CommandError(
          .failed, "the run \(run.id) is over: \(run.status.rawValue). See it with: errand runs show \(run.id)")
      }
      return try await session.resume(run.id, asJSON: asJSON)
    }
    let open = try await session.asking { requests throws(CommandError) in
      try requests.records(try await requests.ask("runs")["open"], as: RunRecord.self)
    }
    var worst = ExitCode.done
    // All are carried on at once and shown one after another; what waits comes last, because it may take days.
    let inOrder =
      open.filter { $0.status != .waiting }
      + open.filter { $0.status == .waiting }.sorted {
        ($0.wakeAt ?? .latest, $0.id) < ($1.wakeAt ?? .latest, $1.id)
      }
    // A run was paused for a person to look at it, by a person or because it might do something twice.
    let paused = inOrder.filter { $0.status == .paused }
    if !paused.isEmpty {
      let names = paused.map(\.id).joined(separator: " ")
      console.say(
        paused.count == 1
          ? "\(names) is paused and stays so; errand why \(names) says why"
          : "these stay paused, and errand why RUN says why: \(names)")
    }
    for run in inOrder where run.status != .uncertain && run.status != .paused {
      let code = try await session.resume(run.id, isOneOfAll: true, asJSON: asJSON)
      if code != .done { worst = code }
      if code == .interrupted || code == .terminated { break }
    }
    return worst
  }

  private func pause() async throws(CommandError) -> ExitCode {
    let run = try await session.asking { requests throws(CommandError) in
      let run = try await requests.run(parsed["run"].text).id
      _ = try await requests.ask("pause", ["run": .string(run), "reason": parsed["reason"].text.map { .string($0) }])
      return run
    }
    console.say(
      "\(run) is paused: what is in flight finishes, nothing more begins. Go on with: errand runs resume \(run)")
    return .done
  }

  private func retry() async throws(CommandError) -> ExitCode {
    let (old, new) = try await session.asking { requests throws(CommandError) in
      let run = try await requests.run(parsed["run"].text).id
      return (run, try await requests.ask("retry", ["run": .string(run)])["accepted"]?.string ?? "")
    }
    console.say("trying \(old) again as \(new)")
    return try await session.resume(new, asJSON: asJSON)
  }

  private func cancel() async throws(CommandError) -> ExitCode {
    let run = try await session.asking { requests throws(CommandError) in
      let run = try await requests.run(parsed["run"].text).id
      _ = try await requests.ask("cancel", ["run": .string(run), "reason": parsed["reason"].text.map { .string($0) }])
      return run
    }
    console.say("\(run) is told to end")
    // A run that nobody carries on ends when it is carried on.
    let code = try await session.resume(run, asJSON: false)
    return code == .failed ? .done : code
  }

  // MARK: What a person knows

  private func resolve() async throws(CommandError) -> ExitCode {
    let words = ["done", "retry", "fail"].filter { parsed[$0].isGiven }
    guard words.count == 1, let word = words.first else {
      throw CommandError(.usage, "say what became of the step: one of --done, --retry, --fail")
    }
    var output: Value?
    if let text = parsed["output"].text {
      guard word == "done" else { throw CommandError(.usage, "--output goes with --done") }
      output = try json(text, of: "--output")
    }
    let asked = parsed["step"].texts
    let given = output
    let (run, steps) = try await session.asking { requests throws(CommandError) in
      let record = try await requests.shown(parsed["run"].text)
      let steps = try RunSteering.steps(asked, of: record)
      for step in steps {
        _ = try await requests.ask(
          "resolve",
          [
            "run": .string(record.id), "step": .string(step), "as": .string(word), "output": given,
            "by": String(environment: "USER").map { .string($0) },
          ])
      }
      return (record.id, steps)
    }
    console.say("noted for \(joined(steps.map { "'\($0)'" })); going on with \(run)")
    return try await session.resume(run, asJSON: false)
  }

  /// The uncertain steps that paths name; one with `[*]` names those of every item.
  static func steps(_ asked: [String], of record: RunRecord) throws(CommandError) -> [StepPath] {
    let uncertain = record.stepsInOrder.filter { $0.status == .uncertain }.map(\.path)
    var steps: [StepPath] = []
    for path in asked {
      // No path has a NUL.
      let parts = path.replacing("[*]", with: "\0").split(separator: "\0", omittingEmptySubsequences: false)
      let matching = parts.count == 1 ? [path] : uncertain.filter { matches($0, parts) }
      if matching.isEmpty {
        let those = uncertain.isEmpty ? "none is" : "these are: \(uncertain.joined(separator: ", "))"
        throw CommandError(.failed, "no step '\(path)' of the run \(record.id) is uncertain; \(those)")
      }
      steps += matching.filter { !steps.contains($0) }
    }
    return steps
  }

  private static func matches(_ path: StepPath, _ parts: [Substring]) -> Bool {
    var rest = path[...]
    for (index, part) in parts.enumerated() {
      if index > 0 {
        guard rest.first == "[", let end = rest.firstIndex(of: "]") else { return false }
        rest = rest[rest.index(after: end)...]
      }
      guard rest.hasPrefix(part) else { return false }
      rest = rest.dropFirst(part.count)
    }
    return rest.isEmpty
  }

  private func decide(isApproved: Bool) async throws(CommandError) -> ExitCode {
    let user = String(environment: "USER").flatMap { $0.trimmed.isEmpty ? nil : $0 }
    // The call's answer is read before anything else can ask for another one.
    let account = getpwuid(geteuid()).flatMap { entry in entry.pointee.pw_name.map { String(cString: $0) } }
    guard let by = parsed["by"].text ?? user ?? account, !by.trimmed.isEmpty else {
      throw CommandError(.usage, "who decides? Say it with --by NAME, since $USER is not set")
    }
    let (record, step, isAgent) = try await session.asking { requests throws(CommandError) in
      let run = try await requests.run(parsed["run"].text).id
      let answer = try await requests.ask(
        "decide",
        [
          "run": .string(run), "step": parsed["step"].text.map { .string($0) }, "approved": .bool(isApproved),
          "by": .string(by), "comment": parsed["comment"].text.map { .string($0) },
        ])
      return (try await requests.run(run), answer["decided"]?.string, requests.connection.isAgent)
    }
    let which = step.map { " '\($0)' of" } ?? ""
    console.say("\(isApproved ? "approved" : "rejected")\(which) \(record.id) as \(by)")
    sayWhoGoesOn(with: record, isAgent: isAgent)
    return .done
  }

  // MARK: Events

  private func signal() async throws(CommandError) -> ExitCode {
    var data: Value?
    if let text = parsed["data"].text {
      if text.hasPrefix("@") {
        data = try dispatch.document(at: String(text.dropFirst()))
      } else {
        data = try json(text, of: "--data")
      }
    }
    let name = parsed["event"].text ?? ""
    let target = parsed["run"].text ?? "any"
    let given = data
    let (answer, record, isAgent) = try await session.asking { requests throws(CommandError) in
      let before = target == "any" ? nil : try await requests.found(target)
      let run = before?.run.id
      var event = ValueMap()
      event["id"] = parsed["id"].text.map { .string($0) }
      event["name"] = .string(name)
      event["data"] = given
      event["run"] = run.map { .string($0) }
      let answer = try await requests.ask("signal", ["event": .map(event)])
      if let before = before?.open { sayWhatItWaitsFor(before, besides: name) }
      guard let run else { return (answer, RunGist?.none, requests.connection.isAgent) }
      return (answer, try await requests.run(run), requests.connection.isAgent)
    }
    let id = answer["received"]?.string ?? ""
    if asJSON {
      console.out(JSON.shown(answer))
    } else if answer["isNew"]?.bool == false {
      console.say("the event \(id) was received before; nothing changed")
    } else {
      console.say("received '\(name)' as \(id)\(record.map { " for \($0.id)" } ?? "")")
      if let record { sayWhoGoesOn(with: record, isAgent: isAgent) }
    }
    return .done
  }

  /// Says what a run waits for, if it is not the event that is sent to it.
  private func sayWhatItWaitsFor(_ run: RunRecord, besides name: String) {
    let names = run.stepsInOrder.filter { $0.status == .waiting }.compactMap(\.wait?.event)
    if names.contains(where: name.hasSameScalars) { return }
    let waits =
      names.isEmpty
      ? "waits for no event now"
      : "waits for \(joined(names.map { "'\($0.safe)'" }, by: "and for")), and not for '\(name)'"
    let guess = name.nearest(among: names).map { "; did you mean '\($0)'?" } ?? "."
    console.say("\(run.id) \(waits)\(guess) What is sent is kept for a week, for a step that asks for it later")
  }

  /// Says what will carry a run on, if nobody does.
  private func sayWhoGoesOn(with record: RunGist, isAgent: Bool) {
    guard isAgent, !record.status.isEnded else { return }
    console.say("No agent is there. \(RunSession.whoGoesOn(with: record.id))")
  }

  private func json(_ text: String, of what: String) throws(CommandError) -> Value {
    do throws(JSONError) { return try JSON.parse(text) } catch {
      throw CommandError(.usage, "\(what) takes JSON: \(error.message); a text needs its quotes, as in '\"paid\"'")
    }
  }
}
