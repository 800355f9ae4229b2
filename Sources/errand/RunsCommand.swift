import Basics
import CommandLineParser
import RunState

/// `errand runs`: what runs there are, what became of them, and steering them.
struct RunsCommand {
  private let dispatch: Dispatch
  private var parsed: Parsed { dispatch.parsed }
  private var console: Console { dispatch.console }

  init(_ dispatch: Dispatch) { self.dispatch = dispatch }

  func run() async throws(CommandFailure) -> ExitCode {
    let workspace = try dispatch.workspace()
    let time = SystemTime()
    let session = RunSession(
      workspace: workspace, secrets: try workspace.secrets(), console: console, time: time,
      display: ProgressDisplay(console, format: .text, time: time))
    switch parsed.command.last {
    case "show": return try await show(session)
    case "logs": return try await logs(session)
    case "follow": return try await session.follow(try await id(session))
    case "resume": return try await resume(session)
    case "cancel": return try await cancel(session)
    case "resolve": return try await resolve(session)
    default: return try await list(session)
    }
  }

  // MARK: Asking

  /// The one answer to a request.
  private func answer(_ session: RunSession, _ request: ValueMap) async throws(CommandFailure) -> Value {
    let seat = try await session.seat()
    var first: Value?
    do {
      for try await value in try seat.ask(.map(request)) {
        first = value
        break
      }
    } catch {
      // Told below: nothing came.
    }
    await seat.leave()
    guard let value = first else { throw CommandFailure(.unavailable, "the agent went away; try again") }
    if let failed = value["failed"] { throw CommandFailure(refusal: failed) }
    return value
  }

  private func request(_ word: String) -> ValueMap {
    var request = ValueMap()
    request["ask"] = .string(word)
    return request
  }

  private func record(_ session: RunSession) async throws(CommandFailure) -> (RunRecord, outputs: Value) {
    var request = request("show")
    request["run"] = parsed["run"].text.map { .string($0) }
    let answer = try await answer(session, request)
    do throws(RecordFault) {
      return (try RunRecord(reading: answer["run"] ?? .null), try restored(answer["outputs"]))
    } catch {
      throw CommandFailure(.unavailable, "the answer cannot be read: \(error.message)")
    }
  }

  private func id(_ session: RunSession) async throws(CommandFailure) -> String { try await record(session).0.id }

  // MARK: Looking

  private func list(_ session: RunSession) async throws(CommandFailure) -> ExitCode {
    var request = request("runs")
    request["limit"] = .int(parsed["limit"].int ?? 20)
    request["recipe"] = parsed["recipe"].text.map { .string($0) }
    let answer = try await answer(session, request)
    if parsed["json"].isGiven {
      console.out((try? JSON.text(answer, .pretty)) ?? "{}")
      return .done
    }
    var rows: [[String]] = []
    do throws(RecordFault) {
      for value in answer["open"]?.list ?? [] {
        let run = try RunRecord(reading: value)
        rows.append([
          run.id, run.recipe, run.status.rawValue, run.createdAt.toSeconds, "", run.reason?.safe.clipped ?? "",
        ])
      }
      for value in answer["finished"]?.list ?? [] {
        let run = try RunSummary(reading: value)
        let took = run.endedAt.span(since: run.createdAt)?.spoken ?? ""
        rows.append([run.id, run.recipe, run.status.rawValue, run.createdAt.toSeconds, took, ""])
      }
    } catch {
      throw CommandFailure(.unavailable, "the answer cannot be read: \(error.message)")
    }
    if rows.isEmpty {
      console.say("no runs in \(session.workspace.stateFolder)")
    } else {
      console.out(table(["RUN", "RECIPE", "STATUS", "CREATED", "TOOK", "WHY"], rows, colour: console.colourOut))
    }
    return .done
  }

  private func show(_ session: RunSession) async throws(CommandFailure) -> ExitCode {
    let (record, outputs) = try await record(session)
    let report = Report(record: record, outputs: outputs, console: console, isPartOfPage: true)
    if parsed["json"].isGiven {
      report.showJSON()
      return .done
    }
    console.out("\(Style.bold.applied(to: record.recipe, console.colourOut))  \(record.id)")
    console.out("status   \(record.status.rawValue)\(record.reason.map { ": \($0.safe)" } ?? "")")
    if let cancel = record.pendingCancel {
      console.out("cancel   \(cancel.at.toSeconds)\(cancel.reason.map { ": \($0.safe)" } ?? "")")
    }
    console.out("file     \(record.origin.file)")
    console.out("created  \(record.createdAt.toSeconds)")
    if let ended = record.endedAt {
      console.out("ended    \(ended.toSeconds)  (after \((ended.span(since: record.createdAt) ?? .zero).spoken))")
    }
    for input in record.origin.inputs.map?.members ?? [] {
      console.out("input    \(input.key.plain) = \(input.value.plain)")
    }
    for (path, value) in record.origin.overrides.sorted(by: { $0.key < $1.key }) {
      console.out("set      \(path) = \(value.plain)")
    }
    let rows = record.stepsInOrder.map { step in
      [
        step.path, step.status.rawValue, step.attempts > 0 ? "\(step.attempts)" : "",
        step.endedAt?.span(since: step.startedAt)?.spoken ?? "", step.error?.message.safe ?? "",
      ]
    }
    if !rows.isEmpty {
      console.out("\n" + table(["STEP", "STATUS", "TRIES", "TOOK", "ERROR"], rows, colour: console.colourOut))
    }
    console.out("")
    report.showText()
    return .done
  }

  private func logs(_ session: RunSession) async throws(CommandFailure) -> ExitCode {
    let (record, _) = try await record(session)
    let steps = record.stepsInOrder.filter { $0.lastAttempt != nil }
    if parsed["json"].isGiven {
      console.out((try? JSON.text(.list(steps.map { $0.encoded() }), .pretty)) ?? "[]")
      return .done
    }
    for step in steps {
      guard let attempt = step.lastAttempt else { continue }
      let took = attempt.endedAt?.span(since: attempt.startedAt)?.spoken ?? "in flight"
      console.out(
        "\(attempt.startedAt.toSeconds)  \(step.path)  attempt \(attempt.number)  \(step.status.rawValue)  \(took)")
      for exchange in attempt.exchanges {
        let words = ["method", "url", "status", "bytes", "took"].compactMap { exchange[$0]?.plain }
        console.out("  \(words.joined(separator: "  "))")
      }
      if let error = attempt.error { console.out("  \(error.kind.rawValue): \(error.message.safe)") }
    }
    return .done
  }

  // MARK: Steering

  private func resume(_ session: RunSession) async throws(CommandFailure) -> ExitCode {
    let asJSON = parsed["json"].isGiven
    if parsed["run"].isGiven { return try await session.resume(try await id(session), asJSON: asJSON) }
    var worst = ExitCode.done
    for value in try await answer(session, request("runs"))["open"]?.list ?? [] {
      guard let id = value["origin"]?["run"]?.string, let status = value["status"]?.string.flatMap(RunStatus.init),
        [.queued, .running, .paused].contains(status)
      else { continue }
      let code = try await session.resume(id, asJSON: asJSON)
      if code != .done { worst = code }
      if code == .interrupted || code == .terminated { break }
    }
    return worst
  }

  private func cancel(_ session: RunSession) async throws(CommandFailure) -> ExitCode {
    var request = request("cancel")
    request["run"] = parsed["run"].text.map { .string($0) }
    request["reason"] = parsed["reason"].text.map { .string($0) }
    let run = try await answer(session, request)["cancelled"]?.string ?? ""
    // A run that nobody carries on ends when it is carried on.
    let (record, _) = try await record(session)
    if record.status.isEnded {
      console.say("\(run) is over: \(record.status.rawValue)")
      return .done
    }
    console.say("\(run) is told to end")
    let code = try await session.resume(run, asJSON: false)
    return code == .failed ? .done : code
  }

  private func resolve(_ session: RunSession) async throws(CommandFailure) -> ExitCode {
    let words = ["done", "retry", "fail"].filter { parsed[$0].isGiven }
    guard words.count == 1, let word = words.first else {
      throw CommandFailure(.usage, "say what became of the step: one of --done, --retry, --fail")
    }
    var request = request("resolve")
    request["run"] = .string(try await id(session))
    request["step"] = parsed["step"].text.map { .string($0) }
    request["as"] = .string(word)
    if let text = parsed["output"].text {
      guard word == "done" else { throw CommandFailure(.usage, "--output goes with --done") }
      do throws(JSONError) { request["output"] = try JSON.parse(text) } catch {
        throw CommandFailure(.usage, "--output takes JSON: \(error.message)")
      }
    }
    let run = try await answer(session, request)["resolved"]?.string ?? ""
    console.say("noted; going on with \(run)")
    return try await session.resume(run, asJSON: false)
  }
}
