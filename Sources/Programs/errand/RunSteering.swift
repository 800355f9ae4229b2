import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes
import RunState
import Runs

/// The commands of `errand runs` that change runs.
struct RunSteering: DispatchedCommand {
  let dispatch: Dispatch
  let session: RunSession

  func run() async throws(RuntimeError) -> ExitCode {
    switch parsed.command.last {
    case "start": return try await start()
    case "resume": return try await resume()
    case "pause": return try await pause()
    case "retry": return try await retry()
    case "cancel": return try await cancel()
    case "resolve": return try await resolve()
    case "signal": return try await signal()
    case "answer": return try await answer()
    case "link": return try await link()
    case "unlink": return try await unlink()
    default: return try await decide(isApproved: parsed.command.last == "approve")
    }
  }

  // MARK: Resuming and pausing

  private func start() async throws(RuntimeError) -> ExitCode {
    let (inputs, texts) = try dispatch.sentInputs()
    let key = try dispatch.runKey()
    let request = StartRun.with {
      $0.recipe = parsed["recipe"].text ?? ""
      $0.inputs = inputs
      $0.texts = texts
      $0.key = key
      $0.like = parsed["like"].text
    }
    let accepted = try await session.access.asking { requests throws(RuntimeError) in try await requests.ask(request) }
    let run = accepted.run
    console.out(run)
    if let known = accepted.known {
      session.tellOfKey(run, known)
      if known.isEnded { return .done }
    }
    console.say(
      "the agent has it; follow it with: \(session.access.remote?.command ?? "errand") runs follow \(run)")
    return .done
  }

  private func resume() async throws(RuntimeError) -> ExitCode {
    if let prefix = parsed["run"].text {
      let run = try await session.access.asking { requests throws(RuntimeError) in try await requests.run(prefix) }
      guard !run.status.isEnded else {
        throw RuntimeError(
          .failed, "the run \(run.id) is over: \(run.status.rawValue). See it with: errand runs show \(run.id)")
      }
      return try await session.resume(run.id, asJSON: asJSON)
    }
    let open = try await session.access.asking { requests throws(RuntimeError) in
      try await requests.runs().open
    }
    var mostSevere = ExitCode.done
    // All resume at once and are shown one after another; waiting runs come last, because they may take days.
    let inOrder =
      open.filter { $0.status != .waiting }
      + open.filter { $0.status == .waiting }.sorted {
        ($0.wakeAt ?? .latest, $0.id) < ($1.wakeAt ?? .latest, $1.id)
      }
    // A person should look at a paused run first: a person paused it, or it might repeat a write.
    let paused = inOrder.filter { $0.status == .paused }
    if !paused.isEmpty {
      let names = paused.map(\.id).joined(separator: " ")
      console.say(
        paused.count == 1
          ? "\(names) stays paused; errand why \(names) says why"
          : "these stay paused, and errand why RUN says why: \(names)")
    }
    for run in inOrder where run.status != .uncertain && run.status != .paused {
      let code = try await session.resume(run.id, isOneOfAll: true, asJSON: asJSON)
      if code != .done { mostSevere = code }
      if code == .interrupted || code == .terminated { break }
    }
    return mostSevere
  }

  private func pause() async throws(RuntimeError) -> ExitCode {
    let run = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text).id
      _ = try await requests.ask(
        PauseRun.with {
          $0.run = run
          $0.reason = parsed["reason"].text
        })
      return run
    }
    console.say(
      "\(run) is paused: what is in flight finishes, nothing more begins. Resume it with: errand runs resume \(run)")
    return .done
  }

  private func retry() async throws(RuntimeError) -> ExitCode {
    let (step, output) = (parsed["step"].text, try givenOutput())
    guard step == nil || output != nil else { throw RuntimeError(.usage, "a step is named only with its --output") }
    let (old, new) = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text).id
      let retried = try await requests.ask(
        RetryRun.with {
          $0.run = run
          $0.step = step
          $0.output = output
        })
      return (run, retried.accepted)
    }
    console.say("retrying \(old) as \(new)")
    return try await session.resume(new, asJSON: asJSON)
  }

  private func cancel() async throws(RuntimeError) -> ExitCode {
    let run = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text).id
      _ = try await requests.ask(
        CancelRun.with {
          $0.run = run
          $0.reason = parsed["reason"].text
        })
      return run
    }
    console.say("\(run) is being cancelled")
    // A run that no process is running ends when it is resumed.
    do throws(RuntimeError) {
      let code = try await session.resume(run, asJSON: false)
      return code == .failed ? .done : code
    } catch {
      guard error.kind == .cannotCreate || error.kind == .unavailable else { return try await cancelled(run, error) }
      throw RuntimeError(.unavailable, "the request to cancel it is kept, but it hasn't ended yet: \(error.message)")
    }
  }

  /// Reports the outcome for a run that is to be cancelled and can't be resumed.
  private func cancelled(_ id: String, _ error: RuntimeError) async throws(RuntimeError) -> ExitCode {
    let run = try await session.access.asking { requests throws(RuntimeError) in try await requests.displayed(id) }
    if run.status == .cancelled {
      console.say(run.error?.message ?? "\(id) was cancelled")
      return .done
    }
    guard run.status == .uncertain else { throw error }
    let commands = run.uncertainSteps.map { "\n  errand runs resolve \(id) \($0.path.shellQuoted) --done | --fail" }
    throw RuntimeError(
      .waiting, "\(id) can't end before a person says what was done; then it is cancelled:\(commands.joined())")
  }

  // MARK: Answers of people

  private func resolve() async throws(RuntimeError) -> ExitCode {
    let outcomes = ResolveStep.Outcome.allCases.filter { parsed[$0.rawValue].isGiven }
    guard outcomes.count == 1, let outcome = outcomes.first else {
      throw RuntimeError(.usage, "give the step's outcome: one of --done, --retry, --fail")
    }
    if outcome != .done, parsed["output"].isGiven { throw RuntimeError(.usage, "--output needs --done") }
    let output = try givenOutput()
    let asked = parsed["step"].texts
    let (run, steps) = try await session.access.asking { requests throws(RuntimeError) in
      let record = try await requests.displayed(parsed["run"].text)
      let steps = try RunSteering.steps(asked, of: record)
      if output != nil, steps.count > 1 {
        throw RuntimeError(
          .usage,
          "--output is of one step, and \(steps.count) are named; give each its own: "
            + joined(steps.map { "'\($0)'" }))
      }
      for step in steps {
        _ = try await requests.ask(
          ResolveStep.with {
            $0.run = record.id
            $0.step = step
            $0.as = Word(outcome)
            $0.output = output
          })
      }
      return (record.id, steps)
    }
    console.say("noted for \(joined(steps.map { "'\($0)'" })); resuming \(run)")
    do throws(RuntimeError) { return try await session.resume(run, asJSON: false) } catch {
      return try await cancelled(run, error)
    }
  }

  private func givenOutput() throws(RuntimeError) -> Value? {
    guard let text = parsed["output"].text else { return nil }
    let given = try json(text, of: "--output")
    do throws(RecordError) { return try Value(reading: given) } catch {
      throw RuntimeError(.usage, "the output cannot be read: \(error.message)")
    }
  }

  /// The uncertain steps that paths name; a path with `[*]` names the steps of every item.
  static func steps(_ asked: [String], of record: RunRecord) throws(RuntimeError) -> [StepPath] {
    let uncertain = record.stepsInOrder.filter { $0.status == .uncertain }.map(\.path)
    var steps: [StepPath] = []
    for path in asked {
      // A path has no NUL.
      let parts = path.replacing("[*]", with: "\0").split(separator: "\0", omittingEmptySubsequences: false)
      let matching = parts.count == 1 ? [path] : uncertain.filter { matches($0, parts) }
      if matching.isEmpty {
        let those = uncertain.isEmpty ? "none is" : "these are: \(uncertain.joined(separator: ", "))"
        throw RuntimeError(.failed, "no step '\(path)' of the run \(record.id) is uncertain; \(those)")
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

  private func decide(isApproved: Bool) async throws(RuntimeError) -> ExitCode {
    try await recorded(isApproved ? "approved" : "rejected") { requests, run throws(RuntimeError) in
      try await requests.ask(
        DecideStep.with {
          $0.run = run
          $0.step = parsed["step"].text
          $0.approved = isApproved
          $0.comment = parsed["comment"].text
        })
    }
  }

  private func answer() async throws(RuntimeError) -> ExitCode {
    let (fields, texts) = Dispatch.sent(try dispatch.given("field"))
    return try await recorded("answered") { requests, run throws(RuntimeError) in
      try await requests.ask(
        AnswerStep.with {
          $0.run = run
          $0.step = parsed["step"].text
          $0.fields = fields
          $0.texts = texts
          $0.comment = parsed["comment"].text
        })
    }
  }

  /// Records a person's decision or answer, and says so.
  private func recorded(
    _ verb: String, _ ask: (AgentRequests, _ run: String) async throws(RuntimeError) -> DecideStep.Answer
  ) async throws(RuntimeError) -> ExitCode {
    let remote = session.access.remote
    let by = session.access.person
    guard remote != nil || !by.trimmed.isEmpty else {
      throw RuntimeError(.usage, "say who decides with --by NAME; $USER isn't set")
    }
    let (record, step, isAlone) = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text).id
      let answer = try await ask(requests, run)
      return (try await requests.run(run), answer.decided, await requests.connection.leavesAlone(run))
    }
    console.say(
      "\(verb) '\(step)' of \(record.id) as \(remote == nil ? by : "the token")")
    sayHowToResume(with: record, isAlone: isAlone)
    return .done
  }

  // MARK: Links

  private func link() async throws(RuntimeError) -> ExitCode {
    let link = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text).id
      return try await requests.ask(
        LinkStep.with {
          $0.run = run
          $0.step = parsed["step"].text
          $0.for = parsed["for"].text
        }
      ).link
    }
    console.say("This link carries the right to decide, once; send it only to the person whose right it is:")
    console.out(link)
    return .done
  }

  private func unlink() async throws(RuntimeError) -> ExitCode {
    let areAll = parsed["all"].isGiven
    guard areAll != parsed["run"].isGiven, !areAll || !parsed["for"].isGiven else {
      throw RuntimeError(.usage, "name a run whose links end, or give --all alone for the links of all runs")
    }
    guard !areAll else {
      _ = try await session.access.asking { requests throws(RuntimeError) in try await requests.ask(UnlinkAll()) }
      console.say("every link that was made before is ended")
      return .done
    }
    let answer = try await session.access.asking { requests throws(RuntimeError) in
      let run = try await requests.run(parsed["run"].text).id
      return try await requests.ask(
        UnlinkStep.with {
          $0.run = run
          $0.step = parsed["step"].text
          $0.for = parsed["for"].text
        })
    }
    console.say(
      answer.ended == 0 ? "there was no link to end" : "ended \(counted(answer.ended, "link")) of \(answer.run)")
    return .done
  }

  // MARK: Events

  private func signal() async throws(RuntimeError) -> ExitCode {
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
    let (answer, record, isAlone) = try await session.access.asking { requests throws(RuntimeError) in
      let before = target == "any" ? nil : try await requests.found(target)
      let run = before?.run.id
      let answer = try await requests.ask(
        SendEvent.with {
          $0.id = parsed["id"].text
          $0.name = name
          $0.data = given
          $0.run = run
        })
      if let before = before?.open { sayWhatItWaitsFor(before, besides: name) }
      guard let run else { return (answer, RunReference?.none, false) }
      return (answer, try await requests.run(run), await requests.connection.leavesAlone(run))
    }
    if asJSON {
      console.out(json: .object(["received": .string(answer.received), "isNew": .bool(answer.isNew)]), .compact)
    } else if !answer.isNew {
      console.say("the event \(answer.received) was received before; nothing changed")
    } else {
      console.say("received '\(name)' as \(answer.received)\(record.map { " for \($0.id)" } ?? "")")
      if let record { sayHowToResume(with: record, isAlone: isAlone) }
    }
    return .done
  }

  /// Reports what a run waits for, if it isn't the event that was sent.
  private func sayWhatItWaitsFor(_ run: RunRecord, besides name: String) {
    let names = run.stepsInOrder.filter { $0.status == .waiting }.compactMap(\.wait?.event)
    if names.contains(where: name.hasSameScalars) { return }
    let waits =
      names.isEmpty
      ? "waits for no event now"
      : "waits for \(joined(names.map { "'\($0.safe)'" }, by: "and for")), and not for '\(name)'"
    let guess = name.nearest(among: names).map { "; did you mean '\($0)'?" } ?? "."
    console.say("\(run.id) \(waits)\(guess) The event is kept for a week, for a step that waits for it later")
  }

  /// Reports how a run will be resumed, if no agent is running it.
  private func sayHowToResume(with record: RunReference, isAlone: Bool) {
    guard isAlone, !record.status.isEnded else { return }
    console.say("No agent is running. \(RunSession.howToResume(with: record.id))")
  }

  private func json(_ text: String, of what: String) throws(RuntimeError) -> Value {
    do throws(JSONError) { return try JSON.parse(text) } catch {
      throw RuntimeError(.usage, "\(what) takes JSON: \(error.message); a text needs its quotes, as in '\"paid\"'")
    }
  }
}
