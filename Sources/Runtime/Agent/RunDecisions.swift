import Basics
package import Recipes
package import RunState

/// Takes people's decisions and answers.
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

  /// Takes a person's answer, durably; gives the step that it is for.
  ///
  /// - Parameters:
  ///   - given: The values of the fields; all their faults are in the refusal, and nothing is recorded then.
  ///   - answer: Who answers, and when.
  package func answer(
    _ id: String, step: StepPath?, _ given: [(name: String, input: GivenInput)], _ answer: DecisionRecord
  ) async throws(RequestRefusedError) -> StepPath {
    try await decide(id, step: step, answer, given, on: host)
  }

  private func decide(
    _ id: String, step: StepPath?, _ decision: DecisionRecord, _ given: [(name: String, input: GivenInput)]? = nil,
    on host: isolated RunHost
  ) async throws(RequestRefusedError) -> StepPath {
    let run = await host.store.openRun(id)
    if let step, let known = run?.steps[step]?.decision {
      throw RequestRefusedError(
        .notAsked, "'\(step)' of the run \(id) was \(known.verb) by \(known.by) at \(known.at)")
    }
    // One that is on its way to the state is as good as given.
    let asking = run?.askingSteps.filter { host.lives[id]?.deciding.contains($0.path) != true } ?? []
    let path = try asking.decided(step, by: decision.by, in: id, isAnswer: given != nil)
    var decision = decision
    if let given, let wait = run?.steps[path]?.wait {
      if let limit = wait.wakeAt, limit <= decision.at {
        throw RequestRefusedError(.notAsked, "'\(path)' of the run \(id) timed out at \(limit)")
      }
      decision.fields = try wait.answer(given, to: path, host.store.secrets)
    }
    host.change(id) { _ = $0.deciding.insert(path) }
    defer { host.change(id) { _ = $0.deciding.remove(path) } }
    let event = DecisionGiven(run: id, step: path, decision: decision)
    do throws(StateError) {
      try await host.keeper.append([given == nil ? .decisionGiven(event) : .answerGiven(event)])
    } catch {
      if error.isConflict { throw RequestRefusedError(.notAsked, "'\(path)' of the run \(id) isn't asking any more") }
      throw RequestRefusedError(error)
    }
    await host.wake(id)
    return path
  }
}

extension RunRecord {
  /// The steps that wait for a person's decision or answer, the longest-waiting first.
  package var askingSteps: [StepRecord] { stepsInOrder.filter(\.asksPerson) }
}

extension [StepRecord] {
  /// The one of these steps, which ask people, that a person decides or answers.
  ///
  /// - Parameters:
  ///   - step: The path that they named; may be left out where exactly one step asks.
  ///   - isAnswer: Whether they answer, and don't decide.
  func decided(
    _ step: StepPath?, by person: String, in run: String, isAnswer: Bool = false
  ) throws(RequestRefusedError) -> StepPath {
    let fitting = filter { ($0.wait?.kind == .ask) == isAnswer }
    let what = isAnswer ? "an answer" : "a decision"
    let paths = fitting.map { "'\($0.path)'" }.sorted { $0.precedesByScalars($1) }.joined(separator: ", ")
    // A step of the other kind has commands of its own.
    let other = step.map { step in first { $0.path.hasSameScalars(as: step) } } ?? (fitting.isEmpty ? first : nil)
    if let other, (other.wait?.kind == .ask) != isAnswer {
      throw RequestRefusedError(
        .notAsked,
        "'\(other.path)' of the run \(run) asks for \(isAnswer ? "a decision" : "an answer"); use \(other.commands(in: run).joined(separator: " or "))"
      )
    }
    let chosen: StepRecord
    if let step {
      guard let found = fitting.first(where: { $0.path.hasSameScalars(as: step) }) else {
        throw RequestRefusedError(
          .notAsked,
          "the step '\(step)' of the run \(run) does not ask for \(what)\(paths.isEmpty ? "" : "; these do: \(paths)")"
        )
      }
      chosen = found
    } else {
      guard let first = fitting.first else {
        throw RequestRefusedError(.notAsked, "no step of the run \(run) asks for \(what)")
      }
      guard fitting.count == 1 else {
        throw RequestRefusedError(.ambiguous, "several steps of the run \(run) ask for \(what); name one of \(paths)")
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
  /// Whether a person may decide or answer.
  package func asks(_ person: String) -> Bool {
    let people = wait?.by ?? []
    return people.isEmpty || people.contains { $0.hasSameScalars(as: person) }
  }

  /// The commands that decide or answer.
  package func commands(in run: String) -> [String] {
    wait?.commands(ofStepAt: path, in: run) ?? []
  }
}

extension WaitRecord {
  /// The fields that a person is asked for.
  package var asked: [Recipe.Input] { fields.flatMap { try? Recipe.Input.asked($0).get() } ?? [] }

  /// The commands that decide or answer.
  package func commands(ofStepAt path: StepPath, in run: String) -> [String] {
    let step = "\(run) \(path.shellQuoted)"
    guard kind == .ask else { return ["approve", "reject"].map { "errand runs \($0) \(step)" } }
    let needed = asked.filter(\.isRequired).map { " -f \($0.name)=…" }.joined()
    return ["errand runs answer \(step)\(needed)"]
  }

  /// The values of an answer, checked.
  fileprivate func answer(
    _ given: [(name: String, input: GivenInput)], to step: StepPath, _ secrets: SecretRegistry
  ) throws(RequestRefusedError) -> Value {
    var (values, faults) = Recipe.Input.answer(given, to: asked, of: step)
    for member in values.members where (try? secrets.masked(member.value)) != member.value {
      let name = member.key.plainText
      faults.append((name, Diagnostic("'fields.\(name)' holds a secret, and answers are kept and shown; leave it out")))
    }
    guard faults.isEmpty else { throw RequestRefusedError(faults, in: given, of: "fields") }
    return .map(values)
  }
}
