/// A call of a recipe as a tool.
///
/// A recipe that only reads runs at once. Any other takes two steps. First the run is planned, which makes the reads of
/// the run and writes nothing; the plan is shown to a person:
///
/// - Since 2026-07-28 the result is `input_required`: a form with the plan, and a state (`Confirmations`). The client asks
///   its user and repeats the call with the answer and the state.
/// - After a handshake the server sends `elicitation/create` and waits for the answer.
/// - A client that can't ask is refused, unless `confirm: token` in errand.yaml lets the assistant itself repeat the call
///   with the state as the argument `confirm`: a second look, and no person's yes.
///
/// Then the run is started with that plan: the agent plans once more and starts nothing if anything moved.
///
/// The call returns when the run has ended, when it waits for longer than a moment, or after some minutes. A client
/// that cancels ends only the call; the run continues. If the run asks for values (`ask`), a client that takes
/// `elicitation/create` puts the question to its user, and the call continues with the answer (`AskedUser`).
import Agent
import Operations
import Basics
import ModelContext
import Recipes
import RunState
import Runs
import Synchronization

struct RecipeCall: Sendable {
  let service: ToolService
  let recipe: ToolRecord
  let arguments: ValueMap
  /// The request's parameters.
  let params: ValueMap
  let client: ToolClient
  let caller: ToolCaller

  enum Outcome {
    case result(ToolResult)
    case question(InputRequired)
    /// The client sent an invalid request.
    case invalid(String)
  }

  /// The argument that confirms a plan, where no person is asked.
  static let token = "confirm"
  /// The name of the question.
  private static let question = "plan"
  /// The most errors of a recipe that are told.
  private static let mostFaults = 20
  /// How long a call follows a run.
  static let patience = TimeSpan.seconds(300)
  /// The longest wait of a run before which a call doesn't return.
  private static let moment = TimeSpan.seconds(30)

  // MARK: The result

  /// The schema of a result's structured content.
  static func schema(outputs: Value) -> Value {
    func text(_ description: String) -> Value {
      .object(["type": .string("string"), "description": .string(description)])
    }
    return .object([
      "type": .string("object"),
      "properties": .object([
        "status": text("The run's status, such as succeeded, failed or waiting; planned if no run was started yet."),
        "run": text("The run's id."), "outputs": outputs, "waitsFor": text("What the run waits for."),
        "until": text("When it continues even if nothing happens."),
        "url": text("The page of the decision that it waits for."), "error": text("Why the run failed."),
        "confirm": text("The token that confirms the plan."),
      ]), "required": .list([.string("status")]), "additionalProperties": .bool(false),
    ])
  }

  private func result(
    _ status: String, run: String?, _ more: KeyValuePairs<String, Value?> = [:], saying text: String? = nil,
    isError: Bool = false
  ) -> ToolResult {
    var content = ValueMap([("status", .string(status))])
    content["run"] = run.map { .string($0) }
    for (name, value) in more { content[name] = value }
    let json = JSON.displayed(.map(content), .pretty)
    return ToolResult(text.map { "\($0)\n\n\(json)" } ?? json, structured: .map(content), isError: isError)
  }

  private func failure(_ text: String) -> Outcome { .result(ToolResult(text, isError: true)) }

  // MARK: The steps

  func outcome() async throws(RequestRefusedError) -> Outcome {
    guard caller.seesData else {
      return failure("the token lacks the scope 'data', which the results of runs need")
    }
    if !recipe.faults.isEmpty {
      return failure(
        "the recipe '\(recipe.name)' has errors, so it can't be run:\n"
          + recipe.faults.prefix(RecipeCall.mostFaults).joined(separator: "\n"))
    }
    if let secret = recipe.secrets.first {
      return failure(
        "the input '\(secret)' of '\(recipe.name)' is a secret, which an assistant can't give; run the recipe with errand run, or have it read ${{ secrets.NAME }}. Nothing was started"
      )
    }
    if recipe.isReadOnly { return .result(try await run(arguments, plan: nil)) }
    var inputs = arguments
    let takesToken = service.settings.confirmation == .token && !recipe.takesInputOfTokenName
    let token = takesToken ? arguments[RecipeCall.token].flatMap { $0.isNull ? nil : $0 } : nil
    if takesToken { inputs[RecipeCall.token] = nil }
    let subject = Confirmations.Subject(principal: caller.principal, recipe: recipe.name, arguments: inputs)
    if let state = params["requestState"]?.string { return try await confirmed(state, inputs, subject) }
    if let token {
      guard let text = token.string else {
        return .invalid("'confirm' must be a string, the token of the plan, not \(token.kindName)")
      }
      switch service.confirmations.redeem(text, of: subject, at: service.time.now()) {
      case .failure(let refusal): return failure(refusal.message)
      case .success(let plan): return .result(try await run(inputs, plan: plan))
      }
    }
    guard client.asksItsUser || takesToken else {
      let otherwise =
        service.settings.confirmation == .token
        ? "give its input 'confirm' another name, so that 'confirm: token' counts for it"
        : "set 'confirm: token' under 'server.mcp' in errand.yaml"
      return failure(
        "'\(recipe.name)' may write, and this program can't ask its user to confirm the plan: it doesn't declare elicitation, or it speaks over HTTP a protocol version before \(ProtocolVersion.latest.rawValue). Run it with errand run, or \(otherwise). Nothing was started"
      )
    }
    let plan = try await caller.ask(
      PlanRun.with {
        $0.recipe = recipe.name
        $0.inputs = inputs
      }
    ).plan
    let text = PlanText.of(plan.document)
    if plan.wouldFail { return failure("\(text)\n\nThe run would fail, so it can't be started.") }
    if let elicit = client.elicit {
      let answer = await elicit(elicitation(text))
      if Task.isCancelled { return failure("the call was cancelled; nothing was started") }
      if let fault = RecipeCall.fault(of: answer) { return .invalid(fault) }
      guard RecipeCall.isYes(answer) else { return failure(RecipeCall.declined) }
      return .result(try await run(inputs, plan: plan.digest))
    }
    guard let state = service.confirmations.issue(plan.digest, of: subject, at: service.time.now()) else {
      throw RequestRefusedError(.state, "plans can't be confirmed here, because libcrypto is missing")
    }
    if client.asksItsUser { return .question(InputRequired([(RecipeCall.question, elicitation(text))], state: state)) }
    return .result(
      result(
        "planned", run: nil, ["confirm": .string(state)],
        saying:
          "\(text)\n\nNothing was started. If the user agrees, call the tool again with the same arguments and this 'confirm' within 10 minutes."
      ))
  }

  private func elicitation(_ text: String) -> Elicitation {
    Elicitation(
      message: caller.hide(.string(text)).string ?? text,
      schema: .object([
        "type": .string("object"),
        "properties": .object([
          "confirm": .object([
            "type": .string("boolean"), "title": .string("Run \(recipe.name)"),
            "description": .string("Whether to do what the plan says."),
          ])
        ]), "required": .list([.string("confirm")]),
      ]))
  }

  private static let declined = "the user didn't confirm the plan; nothing was started"

  private static func isYes(_ answer: Elicitation.Answer) -> Bool {
    if case .accepted(let content) = answer { content["confirm"]?.bool == true } else { false }
  }

  /// The fault of an answer, which is then neither a yes nor a no.
  private static func fault(of answer: Elicitation.Answer) -> String? {
    guard case .accepted(let content) = answer, let given = content["confirm"], given.bool == nil else { return nil }
    return "'confirm' must be true or false, not \(given.kindName); nothing was started"
  }

  /// The second call, with the person's answer.
  private func confirmed(
    _ state: String, _ inputs: ValueMap, _ subject: Confirmations.Subject
  ) async throws(RequestRefusedError) -> Outcome {
    // Checked first, so that an answer that isn't one can be given again.
    let given = params["inputResponses"]?[RecipeCall.question]
    guard let answer = given.flatMap(Elicitation.Answer.init(reading:)) else {
      return .invalid("'inputResponses' must have the answer to 'plan', whose 'action' is accept, decline or cancel")
    }
    if let fault = RecipeCall.fault(of: answer) { return .invalid(fault) }
    switch service.confirmations.redeem(state, of: subject, at: service.time.now()) {
    case .failure(let refusal): return .invalid(refusal.message)
    case .success(let plan):
      guard RecipeCall.isYes(answer) else { return failure(RecipeCall.declined) }
      return .result(try await run(inputs, plan: plan))
    }
  }

  // MARK: The run

  private enum End: Sendable {
    case ended(RunRecord)
    case waits(RunWait)
    case refused(RequestRefusedError)
  }

  /// The run that the agent has accepted.
  private func accepted(_ start: StartRun, isPlanned: Bool) async throws(RequestRefusedError) -> String {
    var triesLeft = 30
    while true {
      do throws(RequestRefusedError) {
        return try await caller.ask(start).run
      } catch {
        triesLeft -= 1
        // The person has confirmed the plan, and needn't again because others are planned at this moment.
        if error.kind == .busy, isPlanned, triesLeft > 0, (try? await service.time.sleep(for: .seconds(1))) != nil {
          continue
        }
        guard isPlanned, error.kind == .notFound else { throw error }
        throw RequestRefusedError(
          .planChanged, "the plan isn't kept any more; call the tool again to see a new one. Nothing was started")
      }
    }
  }

  private func run(_ inputs: ValueMap, plan: String?) async throws(RequestRefusedError) -> ToolResult {
    // A start that is repeated because its answer was lost finds the run that it made.
    let key = "mcp-\([UInt8].random(16).hexadecimal)"
    let start = StartRun.with {
      $0.recipe = recipe.name
      $0.inputs = inputs
      $0.key = key
      $0.plan = plan
      $0.assistant = client.name ?? RunCause.unnamedAssistant
    }
    let run = try await accepted(start, isPlanned: plan != nil)
    var user = AskedUser(call: self, run: run)
    while true {
      switch await end(of: run) {
      case .ended(let record): return try await result(of: record)
      case .waits(let wait):
        if await user.answers() { continue }
        return waiting(
          run, wait.status, for: wait.reason, until: wait.until, at: wait.url, because: user.objection)
      case .refused(let refusal): throw refusal
      case nil:
        if Task.isCancelled { caller.note("the call of '\(recipe.name)' was cancelled; its run \(run) goes on") }
        return result(
          RunStatus.running.rawValue, run: run,
          saying: "The run goes on; errand_run tells how it ended.")
      }
    }
  }

  private func waiting(
    _ run: String, _ status: RunStatus, for reason: String?, until: Timestamp?, at url: String?,
    because objection: String? = nil
  ) -> ToolResult {
    let isUncertain = status == .uncertain
    return result(
      status.rawValue, run: run,
      [
        "waitsFor": .string(reason ?? status.rawValue), "until": until.map { .string("\($0)") },
        "url": url.map { .string($0) },
      ],
      saying: isUncertain
        ? "It isn't known whether a write was done. Don't call the tool again: it could be done twice. A person has to "
          + "look, and say it with 'errand runs resolve'; errand_why tells what to look at."
        : "\(objection.map { "\($0) " } ?? "")The run isn't over; errand_why tells what it waits for, and errand_run how it ended."
    )
  }

  private func result(of record: RunRecord) async throws(RequestRefusedError) -> ToolResult {
    guard record.status.isEnded else {
      return waiting(record.id, record.status, for: record.reason, until: record.wakeAt, at: nil)
    }
    var outputs: Value?
    switch record.outputs {
    case .inline(let value)?: outputs = value
    case .blob(let blob)?:
      outputs = try await caller.ask(ReadValue(blob, of: record.id)).value()
    case nil: break
    }
    if [.succeeded, .skipped].contains(record.status) {
      return result(record.status.rawValue, run: record.id, ["outputs": outputs?.displayedAsJSON])
    }
    let why = try? await caller.ask(ExplainRun.with { $0.run = record.id }).explanation.text
    let reason = record.error?.message ?? record.reason
    return result(
      record.status.rawValue, run: record.id, ["error": reason.map { .string($0) }], saying: why ?? reason,
      isError: true)
  }

  /// Follows a run; nil if it is still under way after a while, or if the call was cancelled.
  private func end(of run: String) async -> End? {
    await withTaskGroup(of: End?.self) { [service] group in
      group.addTask { await followed(run) }
      group.addTask { await waitsLong(run) }
      group.addTask {
        try? await service.time.sleep(for: RecipeCall.patience)
        return nil
      }
      let first = await group.next()
      group.cancelAll()
      return first ?? nil
    }
  }

  /// The wait of a run that takes longer than a moment, although the agent keeps the run in memory.
  ///
  /// A wait of less than a minute isn't reported as such, and it may have begun before the run was followed.
  private func waitsLong(_ run: String) async -> End? {
    var pause = TimeSpan.milliseconds(500)
    while !Task.isCancelled {
      try? await service.time.sleep(for: pause)
      pause = .seconds(5)
      let record = try? await caller.ask(ShowRun.with { $0.run = run }).record()
      if let wait = record?.longWait(after: RecipeCall.moment, at: service.time.now()) { return .waits(wait) }
    }
    return nil
  }

  private func followed(_ run: String) async -> End? {
    let progress = ProgressTeller(params, client, caller, service.time)
    var wait = TimeSpan.milliseconds(100)
    // An agent that ended is looked for again; the run is on disk.
    while !Task.isCancelled {
      do {
        for try await event in try await caller.follow(run) {
          switch event {
          case .ended(let record):
            if record.isOver || !record.proceeds || !caller.outlivesAgent { return .ended(record) }
          case .waits(let wait):
            let due = wait.until.flatMap { $0.span(since: service.time.now()) }
            guard let due, due <= RecipeCall.moment else { return .waits(wait) }
          case .progress(let news): await progress.tell(news)
          case .accepted, .notice, .run: break
          }
        }
      } catch let refusal as RequestRefusedError {
        return .refused(refusal)
      } catch {
        // The agent is gone.
      }
      guard caller.outlivesAgent else { return nil }
      try? await service.time.sleep(for: wait)
      wait = min(TimeSpan(nanoseconds: wait.nanoseconds * 2), .seconds(5))
    }
    return nil
  }
}

extension StepPath {
  /// Whether it is the path of a step in the block of another.
  fileprivate func isInside(_ outer: StepPath) -> Bool {
    let rest = utf8.dropFirst(outer.utf8.count)
    return utf8.starts(with: outer.utf8) && rest.first.map("/[!~".utf8.contains) == true
  }
}

extension RunRecord {
  fileprivate var isOver: Bool { status.isEnded }
  /// The run's wait, if each of its steps under way waits, until an instant that is further away than a span.
  fileprivate func longWait(after span: TimeSpan, at now: Timestamp) -> RunWait? {
    let open = stepsInOrder.filter { !$0.status.isEnded }
    // A step that holds others is under way as long as these are.
    let innermost = open.filter { step in !open.contains { $0.path.isInside(step.path) } }
    let waits = innermost.compactMap { $0.status == .waiting ? $0.wait : nil }
    let first = waits.compactMap(\.wakeAt).min()
    guard !waits.isEmpty, waits.count == innermost.count, waits.allSatisfy({ $0.kind != .poll && $0.kind != .limit }),
      let first, let left = first.span(since: now), left > span
    else { return nil }
    var run = self
    (run.status, run.wakeAt) = (.waiting, first)
    run.reason = "waits until \(Timestamp(seconds: first.seconds) ?? first)"
    return RunWait(of: run)
  }

  /// Whether an open run continues without a person, like one whose agent has ended.
  fileprivate var proceeds: Bool { [.queued, .running].contains(status) || status == .waiting && wakeAt != nil }
}

/// Tells a client how far a run is, if it asked to be told.
private final class ProgressTeller: Sendable {
  private let token: MessageID?
  private let client: ToolClient
  private let caller: ToolCaller
  private let time: any TimeSource
  private let told = Mutex((count: 0, at: TimeSpan?.none))

  /// More often than this helps no one.
  private static let least = TimeSpan.milliseconds(100)

  init(_ params: ValueMap, _ client: ToolClient, _ caller: ToolCaller, _ time: any TimeSource) {
    token = RequestEnvelope.progressToken(in: params)
    self.client = client
    self.caller = caller
    self.time = time
  }

  func tell(_ progress: Progress) async {
    guard let token, let notify = client.notify, let text = progress.words else { return }
    let now = time.elapsed()
    let count = told.withLock { told -> Int? in
      if let at = told.at, now - at < ProgressTeller.least { return nil }
      told = (told.count + 1, now)
      return told.count
    }
    guard let count else { return }
    let displayed = (caller.hide(.string(text)).string ?? text).shortened(to: AnswerLimit.mostOfSentence)
    await notify(
      .notification(
        method: "notifications/progress",
        params: ValueMap([
          ("progressToken", token.value), ("progress", .int(count)), ("message", .string(displayed)),
        ])))
  }
}

extension Progress {
  /// The news as a line; nil if it is none for an assistant.
  fileprivate var words: String? {
    switch self {
    case .stepBegan(let path, let title, _): title.isEmpty ? path : title
    case .loopAdvanced(let path, let done, _, _, let count): "\(path): \(done) of \(count)"
    case .attemptFailed(let path, let attempt, let error, _): "\(path): attempt \(attempt) failed: \(error.message)"
    case .stepWaits(let path, let title, _, _): "\(title.isEmpty ? path : title) waits"
    case .reported(let path, let text, _): "\(path): \(text)"
    case .runBegan, .printed, .stepEnded, .runEnded: nil
    }
  }
}
