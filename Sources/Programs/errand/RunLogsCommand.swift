// `errand runs logs`: what the steps of a run did and printed.
//
//     backup  shell.run  attempt 2  failed  Mon 2026-11-23 17:30:05 AEDT  2.1s
//       RUN  tar -cf /backup/site.tar site  1  120  2.0s
//       17:30:05  │ site/index.html
//       17:30:07  ! tar: site/photos: Cannot open
//       plugin: 'tar' exited with code 1
//
// `!` marks lines of the standard error. With --follow, the steps of an open run come in the order of their output,
// each under its name.
import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import RunState
import Runs

struct RunLogsCommand: DispatchedCommand {
  let dispatch: Dispatch
  let session: RunSession

  /// The lines by step and attempt; lines that came at once are together.
  private typealias Printed = [StepPath: [PrintedLine]]

  func run() async throws(RuntimeError) -> ExitCode {
    let step = parsed["step"].text
    if parsed["follow"].isGiven { return try await follow(step) }
    let (record, texts, printed) = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      let record = try await requests.displayed(parsed["run"].text)
      var lines: [PrintedLine] = []
      _ = try await requests.printed(ofRun: record.id, step: step) { lines += PrintedLine.joined($0) }
      return (record, try await requests.value(record.origin.texts), lines)
    }
    let steps = record.stepsInOrder.filter { record in
      record.lastAttempt != nil && (step.map { record.isIn($0) } ?? true)
    }
    if let step, steps.isEmpty, printed.isEmpty { throw unknown(step, of: record) }
    var byStep = Printed(grouping: printed, by: \.step)
    if asJSON {
      let all = steps.map { step in
        var map = step.encoded().recordWithMarks.map ?? ValueMap()
        if let lines = byStep[step.path] { map["printed"] = .list(lines.flatMap(\.lines).map { $0.encoded() }) }
        return Value.map(map)
      }
      console.out(json: .list(all))
      return .done
    }
    let clock = session.workspace.wallClock(session.time.now())
    let actions = actions(of: record, texts)
    for step in steps {
      guard let last = step.lastAttempt else { continue }
      var lines = byStep.removeValue(forKey: step.path) ?? []
      let action = actions[step.path.ofEveryItem]
      for attempt in step.earlierAttempts {
        let isUncertain = attempt.error == nil || attempt.error?.kind == .uncertain
        let status: StepStatus = isUncertain ? .uncertain : .failed
        show(attempt, of: step, action, status, "lost", lines.takeLines(of: attempt.number), clock)
      }
      // The last attempt of a block ends with the block.
      var attempt = last
      if attempt.endedAt == nil, step.status.isEnded {
        attempt.endedAt = step.endedAt
        attempt.error = attempt.error ?? step.error
      }
      show(attempt, of: step, action, step.status, "in flight", lines, clock)
    }
    for line in printed where byStep[line.step] != nil { show(line, clock) }
    return .done
  }

  private func unknown(_ step: String, of run: RunRecord) -> RuntimeError {
    let guess = step.nearest(among: run.stepsInOrder.map(\.path)).map { "; did you mean '\($0)'?" } ?? ""
    return RuntimeError(
      .noInput, "nothing is logged of a step '\(step)' in the run \(run.id)\(guess)")
  }

  /// The actions of the run's recipe, by the paths of its graph.
  private func actions(of run: RunRecord, _ texts: Value) -> [String: String] {
    guard let recipe = session.workspace.recipe(run.origin.file, among: texts, of: run.origin).recipe else {
      return [:]
    }
    var actions: [String: String] = [:]
    for node in RecipeGraph(recipe).nodes { actions[node.path] = node.action }
    return actions
  }

  // MARK: Showing

  private func show(
    _ attempt: AttemptRecord, of step: StepRecord, _ action: String?, _ status: StepStatus, _ unended: String,
    _ lines: [PrintedLine], _ clock: WallClock
  ) {
    let took = attempt.endedAt?.span(since: attempt.startedAt)?.spoken ?? unended
    let words = [
      Style.bold.applied(to: step.path.safe, console.colourOut), action, "attempt \(attempt.number)", status.rawValue,
      clock.date(attempt.startedAt), took,
    ]
    console.out(words.compactMap(\.self).joined(separator: "  "))
    for exchange in attempt.exchanges {
      let words = ["method", "url", "status", "bytes", "took"].compactMap { exchange[$0]?.plain }
      console.out("  \(words.joined(separator: "  "))")
    }
    for line in lines { show(line, clock) }
    if let error = attempt.error { console.out("  \(error.kind.rawValue): \(error.message.safe)") }
  }

  private func show(_ lines: PrintedLine, _ clock: WallClock) {
    let time = clock.time(lines.at)
    for line in lines.lines {
      switch line.stream {
      case .output: console.out("  \(time)  │ \(line.displayed)")
      case .errors: console.out("  \(time)  \(Style.yellow.applied(to: "! \(line.displayed)", console.colourOut))")
      case .note: console.out("  \(time)  \(Style.dim.applied(to: line.displayed, console.colourOut))")
      }
    }
  }

  // MARK: Following

  /// Shows the existing lines, and then new ones until the run ends.
  private func follow(_ step: String?) async throws(RuntimeError) -> ExitCode {
    let connection = try await session.access.connection()
    let result: Result<ExitCode, RuntimeError>
    do throws(RuntimeError) { result = .success(try await follow(step, connection)) } catch { result = .failure(error) }
    await connection.leave()
    return try result.get()
  }

  private func follow(_ step: String?, _ connection: AgentConnection) async throws(RuntimeError) -> ExitCode {
    let requests = AgentRequests(connection: connection)
    let clock = session.workspace.wallClock(session.time.now())
    let run = try await requests.run(parsed["run"].text)
    var position = 0
    var last: PrintedLine?
    func read() async throws(RuntimeError) {
      position = try await requests.printed(ofRun: run.id, step: step, from: position) { lines in
        for line in lines {
          if asJSON {
            console.out(json: line.encoded(), .compact)
            continue
          }
          if line.step != last?.step || line.attempt != last?.attempt, !line.step.isEmpty {
            let name = Style.bold.applied(to: line.step.safe, console.colourOut)
            console.out("\(name)  attempt \(line.attempt)  \(clock.date(line.at))")
          }
          show(line, clock)
          last = line
        }
      }
    }
    let isFollowed = !run.status.isEnded && !connection.isAgent
    var status = run.status
    if isFollowed {
      // On a connection of its own, because it answers until the run ends.
      let watch = try await session.access.connection()
      let result: Result<RunStatus?, RuntimeError>
      do throws(RuntimeError) { result = .success(try await watched(run.id, on: watch, read)) } catch {
        result = .failure(error)
      }
      await watch.leave()
      if let code = Signals.shared.received { return code }
      guard let ended = try result.get(), ended.isEnded else {
        if let remote = session.access.remote {
          throw RuntimeError(
            .unavailable,
            "the agent at \(remote.url) can't be reached any more; the run continues as soon as it is served. See more then with: \(remote.command) runs logs \(run.id) --follow"
          )
        }
        throw RuntimeError(
          .waiting, "the run \(run.id) isn't over, and nothing is running it; resume it: errand runs resume \(run.id)")
      }
      status = ended
    }
    try await read()
    guard isFollowed || run.status.isEnded else {
      throw RuntimeError(.waiting, "nothing is running that run; resume it: errand runs resume \(run.id)")
    }
    console.say("the run is over: \(status.rawValue)")
    return .done
  }

  /// Reads whenever something was printed, until nothing more comes of the run; returns the run's last status.
  private func watched(
    _ run: String, on connection: AgentConnection, _ read: () async throws(RuntimeError) -> Void
  ) async throws(RuntimeError) -> RunStatus? {
    let updates: AsyncThrowingStream<RunEvent, any Error>
    do throws(AgentError) { updates = try connection.events(of: FollowRun.with { $0.run = run }) } catch { return nil }
    // Many lines are read at once.
    let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // Ends with the run, and is cancelled when this returns.
    let watching = Task { () -> RunStatus? in
      defer { signal.finish() }
      do {
        for try await update in updates {
          switch update {
          case .progress(.printed): signal.yield()
          case .ended(let record): return record.status
          default: break
          }
        }
      } catch {}
      return nil
    }
    defer { watching.cancel() }
    // Ends with the program.
    let interruption = Task {
      _ = await Signals.shared.next()
      watching.cancel()
    }
    defer { interruption.cancel() }
    // Lines that were printed before the run was followed.
    try await read()
    for await _ in signals { try await read() }
    return await watching.value
  }
}

extension StepRecord {
  /// Whether the step is another one, or inside it.
  fileprivate func isIn(_ step: StepPath) -> Bool {
    PrintedLine(step: path, attempt: 0, stream: .note, at: startedAt, text: "").belongs(to: step)
  }
}

extension [PrintedLine] {
  /// Removes and returns the lines up to the last one of an attempt.
  fileprivate mutating func takeLines(of attempt: Int) -> [PrintedLine] {
    let end = lastIndex { $0.attempt == attempt }.map { $0 + 1 } ?? 0
    defer { removeFirst(end) }
    return Array(self[..<end])
  }
}
