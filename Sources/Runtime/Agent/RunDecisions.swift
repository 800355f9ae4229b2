import Basics
package import RunState

/// Takes people's decisions.
package struct RunDecisions: Sendable {
  let host: RunHost

  /// Takes a person's decision, durably; gives the step that it is about.
  ///
  /// - Parameter step: May be left out where exactly one step asks.
  package func decide(
    _ id: String, step: StepPath?, _ decision: DecisionRecord
  ) async throws(RequestRefusedError) -> StepPath {
    try await decide(id, step: step, decision, on: host)
  }

  private func decide(
    _ id: String, step: StepPath?, _ decision: DecisionRecord, on host: isolated RunHost
  ) async throws(RequestRefusedError) -> StepPath {
    let run = await host.store.openRun(id)
    if let step, let known = run?.steps[step]?.decision {
      throw RequestRefusedError(
        .notAsked,
        "'\(step)' of the run \(id) was \(known.isApproved ? "approved" : "rejected") by \(known.by) at \(known.at)")
    }
    // One that is on its way to the state is as good as given.
    let asking = run?.askingSteps.filter { host.lives[id]?.deciding.contains($0.path) != true } ?? []
    let path = try asking.decided(step, by: decision.by, in: id)
    host.change(id) { _ = $0.deciding.insert(path) }
    defer { host.change(id) { _ = $0.deciding.remove(path) } }
    do throws(StateError) {
      try await host.keeper.append([.decisionGiven(DecisionGiven(run: id, step: path, decision: decision))])
    } catch {
      throw RequestRefusedError(error)
    }
    await host.wake(id)
    return path
  }
}

extension RunRecord {
  /// The steps that wait for a person's decision, the longest-waiting first.
  package var askingSteps: [StepRecord] {
    stepsInOrder.filter { $0.status == .waiting && $0.wait?.kind == .approval && $0.decision == nil }
  }
}

extension [StepRecord] {
  /// The one of these steps, which ask for a decision, that a person decides.
  ///
  /// - Parameter step: The path that they named; may be left out where exactly one step asks.
  func decided(_ step: StepPath?, by person: String, in run: String) throws(RequestRefusedError) -> StepPath {
    let paths = map { "'\($0.path)'" }.sorted { $0.precedesByScalars($1) }.joined(separator: ", ")
    let chosen: StepRecord
    if let step {
      guard let found = first(where: { $0.path.hasSameScalars(as: step) }) else {
        throw RequestRefusedError(
          .notAsked,
          "the step '\(step)' of the run \(run) does not ask for a decision\(paths.isEmpty ? "" : "; these do: \(paths)")"
        )
      }
      chosen = found
    } else {
      guard let first else { throw RequestRefusedError(.notAsked, "no step of the run \(run) asks for a decision") }
      guard count == 1 else {
        throw RequestRefusedError(
          .ambiguous, "several steps of the run \(run) ask for a decision; name one of \(paths)")
      }
      chosen = first
    }
    guard chosen.asks(person) else {
      let allowed = chosen.wait?.by ?? []
      throw RequestRefusedError(
        .notAllowed, "'\(chosen.path)' asks \(allowed.joined(separator: ", ")), and not '\(person)'")
    }
    return chosen.path
  }
}

extension StepRecord {
  /// Whether a person may decide.
  package func asks(_ person: String) -> Bool {
    let people = wait?.by ?? []
    return people.isEmpty || people.contains { $0.hasSameScalars(as: person) }
  }
}
