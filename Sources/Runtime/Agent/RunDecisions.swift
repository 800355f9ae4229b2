package import Basics
package import Recipes
package import RunState

/// Takes people's decisions and answers.
package struct RunDecisions: Sendable {
  let host: RunHost

  /// Takes a person's decision, durably; gives the step that it is about.
  ///
  /// - Parameters:
  ///   - step: May be left out where exactly one step asks.
  ///   - question: The digest of the question that the person saw, if it is known.
  package func decide(
    _ id: String, step: StepPath?, _ decision: DecisionRecord, seeing question: String? = nil
  ) async throws(RequestRefusedError) -> StepPath {
    try await decide(id, step: step, decision, seeing: question, on: host)
  }

  /// Takes a person's answer, durably; gives the step that it is for.
  ///
  /// - Parameters:
  ///   - given: The values of the fields; all their faults are in the refusal, and nothing is recorded then.
  ///   - answer: Who answers, when and how.
  ///   - question: The digest of the question that the person saw, if it is known.
  package func answer(
    _ id: String, step: StepPath?, _ given: [(name: String, input: GivenInput)], _ answer: DecisionRecord,
    seeing question: String? = nil
  ) async throws(RequestRefusedError) -> StepPath {
    try await decide(id, step: step, answer, given, seeing: question, on: host)
  }

  private func decide(
    _ id: String, step: StepPath?, _ decision: DecisionRecord, _ given: [(name: String, input: GivenInput)]? = nil,
    seeing question: String?, on host: isolated RunHost
  ) async throws(RequestRefusedError) -> StepPath {
    // One that is on its way to the state is as good as given; it may be the same, whose repetition has its answer.
    while let deciding = host.lives[id]?.deciding, step.map({ deciding.contains($0) }) ?? !deciding.isEmpty {
      await withCheckedContinuation { waiter in host.change(id) { $0.decisionWaiters.append(waiter) } }
    }
    let run = await host.store.openRun(id)
    if let step, let known = run?.steps[step]?.decision { throw RequestRefusedError(decided: known, step, of: id) }
    let asking = run?.askingSteps.filter { host.lives[id]?.deciding.contains($0.path) != true } ?? []
    let chosen = try asking.decided(step, by: decision.by, in: id, isAnswer: given != nil)
    let path = chosen.path
    if let question, !question.hasSameScalars(as: chosen.questionDigest(in: id)) {
      throw RequestRefusedError(.conflict, "'\(path)' of the run \(id) asks another question now; look at it again")
    }
    var decision = decision
    if let given, let wait = chosen.wait {
      if let limit = wait.wakeAt, limit <= decision.at {
        throw RequestRefusedError(.notAsked, "'\(path)' of the run \(id) timed out at \(limit)")
      }
      decision.fields = try wait.answer(given, to: path, host.store.secrets)
    }
    host.change(id) { _ = $0.deciding.insert(path) }
    defer {
      let waiters = host.change(id) { life in
        life.deciding.remove(path)
        defer { life.decisionWaiters = [] }
        return life.decisionWaiters
      }
      for waiter in waiters { waiter.resume() }
    }
    let event = DecisionGiven(run: id, step: path, decision: decision)
    do throws(StateError) {
      try await host.keeper.append([given == nil ? .decisionGiven(event) : .answerGiven(event)])
    } catch {
      if error.isConflict { throw RequestRefusedError(.notAsked, "'\(path)' of the run \(id) isn't asking any more") }
      throw RequestRefusedError(error)
    }
    // Another program may have written one first, or the end of the step.
    if let kept = try? await host.store.keptRun(id)?.steps[path],
      !(kept.decision?.isSame(as: decision, given: host.store.secrets) ?? false)
    {
      guard let known = kept.decision else {
        throw RequestRefusedError(.notAsked, "the step '\(path)' of the run \(id) asked until a moment ago")
      }
      throw RequestRefusedError(decided: known, path, of: id)
    }
    await host.wake(id)
    return path
  }

  // MARK: Links

  /// The text of a person's link to a question: the one that is valid, or a new one.
  ///
  /// - Parameter name: Empty where anyone may answer.
  package func link(to step: StepRecord, of run: String, for name: String) async throws(StateError) -> String {
    let (store, now) = (host.store, host.time.now())
    let key = try await store.linkKey()
    var asked = step.wait?.question ?? QuestionRecord()
    var events: [StateEvent] = []
    if let known = asked.links.first(where: { $0.name.hasSameScalars(as: name) }) {
      let text = try key.link(of: known.question(step.path, of: run))
      if now < known.until, try LinkKey.digest(of: text) == known.sha256 { return text }
      events.append(
        .linksEnded(LinksEnded(run: run, at: now, step: step.path, links: [known.sha256], by: nil)))
      // Its text is never valid again.
      asked.round += 1
    }
    let question = LinkedQuestion(
      run: run, step: step.path, name: name, round: asked.round,
      until: asked.end(ofLinkMadeAt: now, until: step.wait?.wakeAt))
    let text = try key.link(of: question)
    let link = LinkRecord(
      name: name, sha256: try LinkKey.digest(of: text), round: question.round, until: question.until)
    try await store.append(events + [.linkMade(LinkMade(run: run, at: now, step: step.path, link: link))])
    return text
  }

  /// Ends links to the questions of an open run; returns how many.
  ///
  /// - Parameters:
  ///   - step: All steps if nil.
  ///   - name: All people if nil.
  package func unlink(
    _ run: RunRecord, step: StepPath?, for name: String?, by person: String
  ) async throws(StateError) -> Int {
    var events: [StateEvent] = []
    var count = 0
    for record in run.stepsInOrder where step.map(record.path.hasSameScalars) ?? true {
      let links = (record.wait?.question?.links ?? []).filter { link in name.map(link.name.hasSameScalars) ?? true }
      if links.isEmpty { continue }
      count += links.count
      events.append(
        .linksEnded(
          LinksEnded(
            run: run.id, at: host.time.now(), step: record.path, links: links.map(\.sha256), by: person)))
    }
    try await host.store.append(events)
    return count
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
  ) throws(RequestRefusedError) -> StepRecord {
    let fitting = filter { ($0.wait?.kind == .ask) == isAnswer }
    // A step of the other kind has commands of its own.
    let other = step.map { step in first { $0.path.hasSameScalars(as: step) } } ?? (fitting.isEmpty ? first : nil)
    if let other, (other.wait?.kind == .ask) != isAnswer {
      throw RequestRefusedError(
        .notAsked,
        "'\(other.path)' of the run \(run) asks for \(isAnswer ? "a decision" : "an answer"); use \(other.commands(in: run).joined(separator: " or "))"
      )
    }
    let chosen = try fitting.chosen(step, in: run, for: isAnswer ? "an answer" : "a decision")
    guard chosen.asks(person) else {
      let allowed = chosen.wait?.by ?? []
      throw RequestRefusedError(
        .notAllowed, "'\(chosen.path)' asks \(allowed.joined(separator: ", ")), and not '\(person)'")
    }
    return chosen
  }

  /// The one of these steps that a request is about.
  ///
  /// - Parameters:
  ///   - step: The path that it names; may be left out where exactly one step asks.
  ///   - what: What they ask for, in words.
  package func chosen(
    _ step: StepPath?, in run: String, for what: String = "a decision or an answer"
  ) throws(RequestRefusedError) -> StepRecord {
    let paths = map { "'\($0.path)'" }.sorted { $0.precedesByScalars($1) }.joined(separator: ", ")
    if let step {
      guard let found = first(where: { $0.path.hasSameScalars(as: step) }) else {
        throw RequestRefusedError(
          .notAsked,
          "the step '\(step)' of the run \(run) does not ask for \(what)\(paths.isEmpty ? "" : "; these do: \(paths)")"
        )
      }
      return found
    }
    guard let first else { throw RequestRefusedError(.notAsked, "no step of the run \(run) asks for \(what)") }
    guard count == 1 else {
      throw RequestRefusedError(
        .ambiguous, "several steps of the run \(run) ask for \(what); name one of \(paths)")
    }
    return first
  }
}

extension RequestRefusedError {
  init(decided decision: DecisionRecord, _ step: StepPath, of run: String) {
    self.init(.notAsked, "'\(step)' of the run \(run) was \(decision.words) at \(decision.at)")
  }
}

extension DecisionRecord {
  /// Whether a kept decision is one that was given.
  fileprivate func isSame(as given: DecisionRecord, given secrets: SecretRegistry) -> Bool {
    at == given.at && isApproved == given.isApproved && link == given.link && key == given.key
      && by.hasSameScalars(as: secrets.finder.redact(given.by))
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

  /// Identifies the question that the step asks, so that no other one is answered by mistake.
  package func questionDigest(in run: String) -> String {
    let fields = wait?.fields.map { JSON.displayed($0) }
    let parts = [run, path, "\(startedAt)", wait?.prompt, wait?.question?.yes, wait?.question?.no, fields]
    let text = JSON.displayed(.list((parts + (wait?.by ?? [])).map { .string($0 ?? "") }))
    return SHA256.digest(of: Array(text.utf8)) ?? ""
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

  /// The values of an answer that is given by texts, as its record has them; nil if anything is wrong with them.
  package func values(of texts: [String: String]) -> Value? {
    let (values, faults) = Recipe.Input.answer(texts.map { ($0.key, .text($0.value)) }, to: asked, of: "")
    return faults.isEmpty ? .map(values) : nil
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
