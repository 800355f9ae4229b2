import Basics
import RunState
import Runs

// Requests that change a run.
extension RunService {
  func cancel(_ prefix: String, _ reason: String?) async throws(RequestRefusedError) -> AgentReply {
    let run = try await openRun(prefix)
    do throws(StateError) { _ = try await host.cancel(run, reason: reason) } catch {
      // It may have ended at this moment, which is no fault of the state.
      guard await store.openRun(run) == nil else { throw RequestRefusedError(error) }
      throw RequestRefusedError(.ended, "the run \(run) is over")
    }
    return .cancelled(run: run)
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
    do throws(RequestRefusedError) {
      return try await allowed { () async throws(RunRefusedError) in
        let origin = try await host.retries.retry(ended, as: newID(), program: agent.version, given: given, key: key)
        if agent.isServing { try await host.carryOn(origin.run) }
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
    _ prefix: String, _ step: StepPath, _ resolution: Resolution, _ caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReply {
    let run = try await openRun(prefix)
    try await allowed { () async throws(RunRefusedError) in
      try await host.resolutions.resolve(run, step: step, as: resolution, by: caller.name)
      // The run goes on once its last uncertain step is resolved; over HTTP, no one else would resume it.
      if agent.isServing, await store.openRun(run) != nil { try await host.carryOn(run) }
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
    let id = event.id ?? newID()
    guard !id.isEmpty, id.utf8.count <= 256 else {
      throw RequestRefusedError(.request, "an event's id has 1 to 256 bytes")
    }
    // A delivery whose id is taken would count as one that came before.
    if let path = webhooks?.path(ofID: id) {
      throw RequestRefusedError(
        .request, "ids that begin with '\(path):' are those of deliveries to the webhook '\(path)'; choose another id")
    }
    let run = if let prefix = event.run { try await openRun(prefix) } else { String?.none }
    let isNew = try await kept { () async throws(StateError) in
      var data: StoredValue?
      if let value = event.data, !value.isNull { data = try await store.keep(value) }
      return try await host.receive(
        EventRecord(id: id, name: event.name, data: data, run: run, receivedAt: time.now()))
    }
    return .received(event: id, isNew: isNew)
  }

  func decide(
    _ prefix: String, _ step: StepPath?, _ decision: DecisionRecord
  ) async throws(RequestRefusedError) -> AgentReply {
    let run = try await openRun(prefix)
    return .decided(step: try await host.decisions.decide(run, step: step, decision), run: run)
  }
}
