// How a question is asked: what all steps that ask a person do.
//
// The question is on disk before the steps of its `tell` begin, and an answer is recorded whenever it comes: the step
// ends when both are there. A step of `tell` that fails withdraws the question. The links that these steps see follow
// from the run, the step, the person and the key of the state (`LinkKey`), so that a walk that is resumed sends the same
// ones, even if they were ended meanwhile.
import ActionKit
import Basics
import HTTPTypes
import Recipes
import RunState

extension WaitRunner {
  /// The question as it is asked, or was when the run came here first.
  ///
  /// - Parameters:
  ///   - fields: The values that it asks for, as its record keeps them.
  ///   - limit: When the step's own time limit is over.
  func asked(
    _ kind: WaitRecord.Kind, _ question: QuestionSettings, fields: Value?, goesOnAfterNo: Bool,
    until limit: Timestamp?, in environment: Environment, known: StepRecord?
  ) async throws(StepInterruption) -> WaitRecord {
    if let wait = known?.wait { return wait }
    func text(_ template: ValueTemplate?) throws(StepInterruption) -> String? {
      guard let template else { return nil }
      return run.redactor.redact(try run.evaluate(template, in: environment, step: path).plainText)
    }
    var wait = WaitRecord(
      kind, wakeAt: limit, prompt: try text(question.prompt) ?? "", by: question.by,
      url: question.hasLink ? run.journal.current.url("approvals", run.id, path) : nil)
    wait.fields = fields
    var asked = QuestionRecord()
    (asked.yes, asked.no) = (try text(question.yes), try text(question.no))
    (asked.goesOnAfterNo, asked.goesOnAfterTimeout) = (goesOnAfterNo, question.onTimeout == .continue)
    asked.next = run.recipe.steps(after: step).titlesUpToQuestion.map { run.redactor.redact($0) }
    asked.summary = run.recipe.summary.isEmpty ? nil : run.redactor.redact(run.recipe.summary)
    asked.linkFor = question.linkLifetime
    if question.tell != nil {
      let key = try await linkKey()
      let until = asked.end(ofLinkMadeAt: run.time.now(), until: limit)
      for linked in wait.firstLinks(to: path, of: run.id, until: until) {
        let link = try made { () throws(StateError) in
          LinkRecord(
            name: linked.name, sha256: try LinkKey.digest(of: key.link(of: linked)), round: linked.round, until: until)
        }
        asked.links.append(link)
      }
    }
    wait.question = asked
    return wait
  }

  /// Runs the question's `tell` and looks for a decision or an answer meanwhile; nil if none comes in time.
  func answer(
    to question: QuestionSettings, asked wait: WaitRecord, until limit: Timestamp?, in environment: Environment
  ) async throws(StepInterruption) -> DecisionRecord? {
    @Sendable func waited(in scope: CancelScope) async throws(StepInterruption) -> DecisionRecord? {
      try await run.wait(
        until: limit, for: "waits for \(wait.kind.wanted): \(wait.prompt ?? "")", in: scope, tell: { tell(wait) }
      ) { () throws(StepInterruption) -> DecisionRecord? in run.journal.decision(about: path) }
    }
    guard let block = question.tell else { return try await waited(in: scope) }
    var inner = environment
    inner.bind(try await value(of: wait))
    // Before anything of it is sent.
    try await run.journal.commit()
    let asking = inner
    return try await run.together(2, in: scope) { index, scope async throws(StepInterruption) -> DecisionRecord? in
      if index == 0 { return try await waited(in: scope) }
      var environment = asking
      try await StepRunner(run: run, scope: scope, prefix: path.tellPrefix, depth: depth + 1)
        .run(block, in: &environment)
      return nil
    }[0]
  }

  /// `question`, as the steps of `tell` see it.
  private func value(of wait: WaitRecord) async throws(StepInterruption) -> Value {
    let record = run.journal.current
    // A sandbox has no address, and its links lead nowhere.
    guard let base = record.origin.base ?? (record.origin.sandbox ? "http://127.0.0.1" : nil) else {
      var error = RunError(
        .configuration,
        "a link to the question needs an address; add to errand.yaml: server: { listen: 127.0.0.1:7373 }", step: path)
      run.place(&error, at: step.location)
      throw .failed(error)
    }
    let key = try await linkKey()
    return try .question(wait, at: path, of: run.id, base: base) { linked throws(StepInterruption) in
      base + LinkKey.root + (try made { () throws(StateError) in try key.link(of: linked) })
    }
  }

  /// The key of links, whose texts nothing shows from now on.
  private func linkKey() async throws(StepInterruption) -> LinkKey {
    let store = run.journal.store
    let key: LinkKey
    do throws(StateError) { key = try await store.linkKey() } catch { throw .halted(error) }
    run.learn(Redactor(store.secrets))
    return key
  }

  private func made<Output>(_ body: () throws(StateError) -> Output) throws(StepInterruption) -> Output {
    do throws(StateError) { return try body() } catch { throw .halted(error) }
  }
}

extension WaitRecord {
  /// The rights that the first links to a question carry, one for each person.
  fileprivate func firstLinks(to step: StepPath, of run: String, until: Timestamp) -> [LinkedQuestion] {
    var names: [String] = []
    for name in by.isEmpty ? [""] : by where !names.contains(where: name.hasSameScalars) { names.append(name) }
    return names.map { LinkedQuestion(run: run, step: step, name: $0, until: until) }
  }
}

extension Value {
  /// `question`, as the steps of `tell` see it.
  ///
  /// - Parameter link: Makes the address that carries a right.
  static func question<Failure: Error>(
    _ wait: WaitRecord, at step: StepPath, of run: String, base: String,
    link: (LinkedQuestion) throws(Failure) -> String
  ) throws(Failure) -> Value {
    var links: [Value] = []
    for linked in wait.firstLinks(to: step, of: run, until: wait.wakeAt ?? .latest) {
      links.append(.object(["name": .string(linked.name), "link": .string(try link(linked))]))
    }
    var value = ValueMap()
    value["prompt"] = .string(wait.prompt ?? "")
    value["by"] = .list(wait.by.map { .string($0) })
    value["links"] = .list(links)
    value["link"] = links.first?["link"]
    value["url"] = .string(RunRecord.url(base, ["approvals", run, step]))
    value["until"] = wait.wakeAt.map { .timestamp($0) }
    return .map(value)
  }
}

extension RunContext {
  /// Does several things at the same time; the first failure ends the others: no more steps begin in them, and steps in
  /// flight finish.
  func together<Output: Sendable>(
    _ count: Int, in scope: CancelScope,
    _ body: @Sendable @escaping (_ index: Int, _ scope: CancelScope) async throws(StepInterruption) -> Output
  ) async throws(StepInterruption) -> [Output] {
    let inner = CancelScope(inside: scope)
    return try await withTaskGroup(of: (Int, Result<Output, StepInterruption>).self) { group in
      for index in 0..<count {
        waitRegistry.addActive()
        group.addTask {
          do throws(StepInterruption) { return (index, .success(try await body(index, inner))) } catch {
            inner.end(error.endingBeside)
            return (index, .failure(error))
          }
        }
      }
      var outputs = [Output?](repeating: nil, count: count)
      var exits: [StepInterruption] = []
      var running = count
      waitRegistry.removeActive()
      for await (index, result) in group {
        running -= 1
        switch result {
        case .success(let output): outputs[index] = output
        case .failure(let exit): exits.append(exit)
        }
        // The last events need not wait for the others. If keeping them fails, the next commit throws it again.
        try? await journal.commit()
        if running > 0 { waitRegistry.removeActive() }
      }
      if let exit = StepInterruption.mostSevere(of: exits) { return Result<[Output], StepInterruption>.failure(exit) }
      return .success(outputs.compactMap { $0 })
    }.get()
  }
}
