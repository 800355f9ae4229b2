import Agent
import Basics
import RunState
import Runs

// Requests that change a run.
extension AgentParts {
  func cancel(
    _ name: String, _ reason: String?, _ keyText: String?, _ caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReply {
    let id = try await find(name, isOpen: true).id
    let key = try decisionKey(keyText, of: caller, about: id, [.string("cancel"), .string(reason ?? "")])
    if let key, try AgentParts.isRepeated(key, try await stored(id).record().pendingCancel?.key) {
      return .cancelled(run: id)
    }
    do throws(StateError) {
      if try await host.cancel(id, reason: reason, by: caller.name, key: key) { return .cancelled(run: id) }
    } catch {
      // It may have ended at this moment, which is no fault of the state.
      guard await store.openRun(id) == nil else { throw RequestRefusedError(error) }
    }
    let run = try await stored(id).record()
    let cancelled = run.pendingCancel.flatMap { asked in asked.by.map { "; \($0) cancelled it at \(asked.at)" } }
    throw RequestRefusedError(.ended, "the run \(id) is over: \(run.status.rawValue)\(cancelled ?? "")")
  }

  func pause(_ prefix: String, _ reason: String?, _ caller: AgentCaller) async throws(RequestRefusedError) -> AgentReply
  {
    let run = try await openRun(prefix)
    try await allowed { () async throws(RunRefusedError) in
      try await host.pause(run, reason: reason ?? "a person paused it")
    }
    return .paused(run: run)
  }

  func delete(_ name: String) async throws(RequestRefusedError) -> AgentReply {
    let run = try await find(name)
    guard run.status.isEnded, await store.openRun(run.id) == nil else {
      throw RequestRefusedError(
        .conflict, "the run \(run.id) is open (\(run.status.rawValue)); cancel it first: errand runs cancel \(run.id)")
    }
    guard try await kept({ () async throws(StateError) in try await store.deleteRun(run.id) }) else {
      throw RequestRefusedError(.notFound, "the run \(run.id) was deleted at this moment")
    }
    return .deleted(run: run.id)
  }

  func retry(
    _ prefix: String, _ step: StepPath?, _ output: Value?, _ keyText: String?, _ caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReply {
    guard step == nil || output != nil else {
      throw RequestRefusedError(.request, "a step is named only together with its output")
    }
    let ended = try await stored(try await find(prefix).id).record()
    let given = output.map { GivenOutput(step: step, value: $0, by: caller.name) }
    let key = try runKey(
      keyText, of: caller, for: [.string("retry"), .string(ended.id), .string(step ?? ""), output ?? .null])
    if let known = try await retry(of: ended, withKey: key) { return known }
    if let key {
      do throws(StateError) { try store.secrets.check(key.key, RunKey.words) } catch {
        throw RequestRefusedError(error)
      }
    }
    do throws(RequestRefusedError) {
      return try await allowed { () async throws(RunRefusedError) in
        let origin = try await host.retries.retry(
          ended, as: newID(), program: agent.version, given: given, key: key, asked: caller.asking(RunCause(.retry)))
        if agent.isServing, store.run(origin.run) != nil { try await host.carryOn(origin.run) }
        return .retried(run: ended.id, as: origin.run)
      }
    } catch {
      // The same request came twice at once.
      guard let known = try await retry(of: ended, withKey: key) else { throw error }
      return known
    }
  }

  /// The answer to a retry that was asked for with a key before; nil if there was none.
  private func retry(of ended: RunRecord, withKey key: RunKey?) async throws(RequestRefusedError) -> AgentReply? {
    guard let key, let known = try await holder(of: key, recipe: ended.recipe) else { return nil }
    return .retried(run: ended.id, as: known.id, known: known.status)
  }

  func resolve(
    _ name: String, _ step: StepPath, _ resolution: Resolution, _ keyText: String?, _ caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReply {
    let run = try await find(name, isOpen: true).id
    var request: [Value] = [.string("resolve"), .string(step), .string(resolution.word)]
    switch resolution {
    case .done(let output): request.append(output ?? .null)
    case .retry: break
    case .fail(let reason): request.append(.string(reason ?? ""))
    }
    let key = try decisionKey(keyText, of: caller, about: run, request)
    if try await repeated(key, in: run, \.resolution?.key) != nil { return .resolved(run: run) }
    do throws(RequestRefusedError) {
      try await allowed { () async throws(RunRefusedError) in
        try await host.resolutions.resolve(run, step: step, as: resolution, by: caller.name, key: key)
        // The run resumes once its last uncertain step is resolved; over HTTP, no one else would resume it.
        // Why it can't is kept with it; what was said is noted nonetheless.
        if agent.isServing, await store.openRun(run) != nil { try? await host.carryOn(run) }
      }
    } catch {
      throw try await saying(error, of: run, step) { step in
        step.resolution.map { "resolved as \($0.choice)\($0.by.map { " by \($0)" } ?? "") at \($0.at)" }
      }
    }
    return .resolved(run: run)
  }

  /// Calls the host, and turns its errors into refusals.
  private func allowed<Output>(
    _ body: () async throws(RunRefusedError) -> Output
  ) async throws(RequestRefusedError) -> Output {
    do throws(RunRefusedError) { return try await body() } catch { throw RequestRefusedError(.ended, error.message) }
  }

  // MARK: What comes from outside

  func signal(_ event: SentEvent) async throws(RequestRefusedError) -> AgentReply {
    guard !event.name.isEmpty else { throw RequestRefusedError(.request, "an event needs a name") }
    var id = event.id ?? newID()
    if let source = event.source, !id.isEmpty {
      // The blank tells where the id begins.
      guard !source.isEmpty, source.unicodeScalars.allSatisfy({ !$0.properties.isWhitespace }) else {
        throw RequestRefusedError(.request, "the 'source' of an event is a URI, which has no blanks")
      }
      id = "\(source) \(id)"
      // As with deliveries, half of it tells more events apart than there will ever be.
      if id.utf8.count > 256 { id = String((SHA256.digest(of: Array(id.utf8)) ?? "").prefix(32)) }
    }
    guard !id.isEmpty, id.utf8.count <= AgentVerb.mostIDBytes else {
      throw RequestRefusedError(.request, "an event's id has 1 to 256 bytes")
    }
    // A delivery whose id is taken would count as one that came before.
    if let path = webhooks?.path(ofID: id) {
      throw RequestRefusedError(
        .request, "ids that begin with '\(path):' are those of deliveries to the webhook '\(path)'; choose another id")
    }
    var run: String?
    if let name = event.run {
      let found = try await find(name, isOpen: true).id
      // An event that comes again is answered as before, though its run may be over.
      let isKnown = await store.event(id)?.run == found
      run = isKnown ? found : try await openRun(found)
    }
    let outcome = try await kept { () async throws(StateError) -> Intake.Outcome in
      var data: StoredValue?
      if let value = event.data, !value.isNull { data = try await store.keep(value) }
      let record = EventRecord(id: id, name: event.name, data: data, run: run, receivedAt: time.now())
      guard let schedules else { return try await host.receive(record) ? .new : .known }
      return try await schedules.takeIn(record)
    }
    switch outcome {
    case .new, .known: return .received(event: id, isNew: outcome == .new)
    case .full, .unserved:
      throw RequestRefusedError(
        .full, "\(Intake.most) events '\(event.name)' or starts of what they start are waiting; send it again later")
    }
  }

  func decide(
    _ name: String, _ step: StepPath?, _ isApproved: Bool, _ comment: String?, _ keyText: String?,
    _ caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReply {
    let run = try await find(name, isOpen: true).id
    var decision = DecisionRecord(isApproved: isApproved, by: caller.name, at: time.now(), comment: comment)
    decision.key = try decisionKey(
      keyText, of: caller, about: run,
      [.string("decide"), .string(step ?? ""), .bool(isApproved), .string(comment ?? "")])
    if let known = try await repeated(decision.key, in: run, \.decision?.key) { return .decided(step: known, run: run) }
    do throws(RequestRefusedError) {
      let open = try await openRun(run)
      return .decided(step: try await host.decisions.decide(open, step: step, decision), run: open)
    } catch {
      guard [.ended, .notAsked].contains(error.kind) else { throw error }
      throw try await saying(error, of: run, step) { step in
        step.decision.map { "\($0.isApproved ? "approved" : "rejected") by \($0.by) at \($0.at)" }
      }
    }
  }

  // MARK: Decisions that come again

  /// The key of a decision about a run, as the run keeps it.
  private func decisionKey(
    _ text: String?, of caller: AgentCaller, about run: String, _ request: [Value]
  ) throws(RequestRefusedError) -> RunKey? {
    guard let key = try runKey(text, of: caller, for: request) else { return nil }
    do throws(RecordError) { return try key.digested(of: run) } catch {
      throw RequestRefusedError(.state, error.message)
    }
  }

  /// Whether a decision was made with a key before; refused if it was another one.
  private static func isRepeated(_ key: RunKey, _ known: RunKey?) throws(RequestRefusedError) -> Bool {
    guard let known, known.key == key.key else { return false }
    guard known.request == key.request else {
      throw RequestRefusedError(.usedKey, "the key belongs to another decision about the run; use another key")
    }
    return true
  }

  /// The step of a run about which a decision was made with a key before; nil if there is none.
  private func repeated(
    _ key: RunKey?, in run: String, _ known: (StepRecord) -> RunKey?
  ) async throws(RequestRefusedError) -> StepPath? {
    guard let key else { return nil }
    for step in try await stored(run).record().stepsInOrder where try AgentParts.isRepeated(key, known(step)) {
      return step.path
    }
    return nil
  }

  /// The refusal of a decision, with what was decided before.
  ///
  /// - Parameter words: Describes the decision about a step, with its person and time; nil if there was none.
  private func saying(
    _ refusal: RequestRefusedError, of run: String, _ step: StepPath?, _ words: (StepRecord) -> String?
  ) async throws(RequestRefusedError) -> RequestRefusedError {
    let steps = try await stored(run).record().stepsInOrder
    for known in steps.reversed() where step.map({ known.path.hasSameScalars(as: $0) }) ?? true {
      if let words = words(known) {
        return RequestRefusedError(refusal.kind, "\(refusal.message); '\(known.path)' was \(words)")
      }
    }
    return refusal
  }
}
