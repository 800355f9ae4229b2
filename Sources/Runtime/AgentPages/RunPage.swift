// One run: the reason for its state, a person's actions, its steps, its inputs and outputs, and the end of its log.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  /// - Parameter refused: A form of the page that was refused.
  static func run(
    _ request: PageRequest, _ name: String, _ refused: RefusedRunForm? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    let uncertain = run.steps.select { $0.pointee.status == .uncertain }.prefix(mostForms)
    let awaited = awaitedEvents(run)
    let later = try await laterRuns(of: run, request)
    var content: [Markup] = [
      Part.crumbs(("Runs", "/runs"), (run.recipe, pagePath("runs", query: [("recipe", run.recipe)]))),
      .element("h1", [:], "\(run.recipe) ", Part.status(of: run)),
      refused?.faults(uncertain.map(\.path), awaited.map(\.name)) ?? .nothing,
      try await summary(of: run, later, request),
    ]
    var outputs: [StepPath: String] = [:]
    if request.seesData {
      let explanation = try await request.ask(
        ExplainRun.with {
          $0.run = run.id
          $0.timeless = true
          $0.zone = ViewerZone.name(for: request.http)
        }
      ).explanation
      content.append(Part.explanation(explanation, request.clock, kind: run.noticeKind))
      for sentence in explanation.sentences { if let step = sentence.step { outputs[step] = sentence.output } }
    }
    if request.may(.approve) {
      content += run.steps.select { $0.pointee.asksPerson }.prefix(mostForms).map { question($0, run, request) }
    }
    if request.may(.steer) {
      content += uncertain.enumerated().map { index, step in
        resolution(of: step, run, output: outputs[step.path], number: index + 1, refused, request)
      }
    }
    if request.may(.start) {
      content += awaited.enumerated().map { index, awaited in
        eventForm(awaited.name, awaited.step, run, number: index + 1, refused)
      }
    }
    let actions = actions(run, isRetried: later.contains { $0.retryOf != nil }, request)
    let again = repetition(of: run, request)
    content.append(
      actions.isEmpty ? .element("div", ["class": "actions"], again) : Part.actions(actions, again))
    content.append(.element("h2", ["id": "steps"], "Steps"))
    content.append(try await StepTable(run, request).markup)
    if request.seesData {
      for (title, value) in [("Outputs", try await kept(run.outputs, request)), ("Inputs", run.origin.inputs)] {
        if let part = Part.value(value, request.clock, within: room(beside: content) / 2) {
          content.append(Part.heading(Markup(title)) + part)
        }
      }
      content.append(
        .element("p", [:], Part.link("All outputs and files", to: pagePath("runs", run.id, "outputs"))))
      content.append(try await latestLines(of: run, nil, request, within: room(beside: content)))
    } else {
      content.append(
        .element("p", ["class": "quiet"], "Inputs, outputs and messages need a token with the scope 'data'."))
    }
    // A long run is drawn less often.
    var live: PageFrame.Live?
    if !run.status.isEnded {
      live = .init(seconds: run.steps.count > 500 ? 6 : 2, announcement: announcement(of: run))
      live?.isOfRunAlone = isExplainedAlone(run)
    }
    return request.frame(
      "\(run.recipe) \(Part.words(run.displayedStatus))", "/runs", live: live, isRefused: refused != nil,
      Markup(content))
  }

  /// The most forms of one kind on the page of a run.
  private static let mostForms = 20

  /// Whether an explanation of an open run tells of nothing but its record: of no other run, and of no event.
  private static func isExplainedAlone(_ run: RunRecord) -> Bool {
    run.status == .running && run.origin.cause.run == nil
      && run.steps.select { $0.pointee.status == .waiting && $0.pointee.wait?.event != nil }.isEmpty
  }

  /// The bytes that are left for values and lines beside the rest of a page.
  private static func room(beside content: [Markup]) -> Int {
    max(2_000, Part.mostBytes - content.reduce(0) { $0 + $1.text.utf8.count })
  }

  static func displayed(_ request: PageRequest, _ name: String) async throws(Problem) -> RunRecord {
    try await request.read(try await request.ask(ShowRun.with { $0.run = name }).record)
  }

  /// The largest value that a page reads from a file of its own.
  private static let largestValue = 1 << 20

  /// A value of the state; nil if there is none, or if it is too large for a page.
  static func kept(_ stored: StoredValue?, _ request: PageRequest) async throws(Problem) -> Value? {
    switch stored {
    case nil: return nil
    case .inline(let value): return value
    case .blob(let reference):
      guard reference.size <= largestValue, request.caller.recipes.isEmpty else {
        return .string("a value of \(reference.size) bytes, which is too large for a page")
      }
      return try await request.read(try await request.ask(ReadValue(reference)).value)
    }
  }

  private static func announcement(of run: RunRecord) -> String {
    "\(run.recipe) is \(Part.words(run.displayedStatus)); \(counted(run.steps.endedCount, "step")) ended"
  }

  /// The most links of a page to runs that do its run again.
  private static let mostLater = 10

  /// The runs that retry a run, or repeat it with its inputs.
  private static func laterRuns(of run: RunRecord, _ request: PageRequest) async throws(Problem) -> [RunSummary] {
    // Its page is looked at often while it is open.
    guard run.status.isEnded else { return [] }
    var asked = RunListQuery(limit: mostLater, recipe: run.recipe, since: run.createdAt)
    asked.againOf = run.id
    let list = try await request.runs(asked)
    return list.open.suffix(mostLater).reversed().map { RunSummary($0) } + list.finished
  }

  /// The way to a form with the run's inputs.
  private static func repetition(of run: RunRecord, _ request: PageRequest) -> Markup {
    guard request.may(.start), request.seesData, run.erasedAt == nil else { return .nothing }
    return .element(
      "a", ["class": "button", "href": pagePath("recipes", run.recipe, query: [("like", run.id)])], "Run again…")
  }

  private static func summary(
    of run: RunRecord, _ later: [RunSummary], _ request: PageRequest
  ) async throws(Problem) -> Markup {
    let cause = run.origin.cause
    var origin: [Markup] = [Markup(cause.words)]
    if let schedule = cause.schedule { origin.append(" " + Part.link(schedule, to: pagePath("schedules", schedule))) }
    if let slot = cause.slot { origin.append(", due " + Part.time(slot, request.clock)) }
    if cause.kind != .manual, let asker = cause.asker { origin.append(Markup(", asked for by \(asker)")) }
    if let other = cause.run {
      let how: Markup = cause.kind == .manual ? ", with the inputs of " : " "
      origin.append(how + link(toRun: other, of: cause.again == nil ? "run" : run.recipe))
    }
    func links(_ runs: [RunSummary]) -> Markup? {
      if runs.isEmpty { return nil }
      let links = runs.map { [link(toRun: $0.id, of: $0.recipe), " ", Part.status($0.status.rawValue)] }
      return Markup(Array(links.joined(separator: [", "])))
    }
    let took = run.endedAt.flatMap { $0.span(since: run.createdAt) }.map { Markup($0.inShort) }
    return Part.facts([
      ("Started", Part.timeAndAgo(run.createdAt, request.clock) + ", " + Markup(origin)),
      ("Ended", run.endedAt.map { Part.timeAndAgo($0, request.clock) }), ("Took", took),
      (run.timesOut ? "Times out" : "Continues", run.status.isEnded ? nil : Part.timeAndAgo(run.wakeAt, request.clock)),
      ("Retried as", links(later.filter { $0.retryOf != nil })),
      ("Repeated as", links(later.filter { $0.retryOf == nil })),
      ("Recipe", Part.link(run.recipe, to: pagePath("recipes", run.recipe))), ("Run", Part.code(run.id)),
      ("Services", run.origin.sandbox ? "made up, in a sandbox" : nil),
      ("Erased", run.erasedAt.map { "inputs, outputs and messages, " + Part.time($0, request.clock) }),
    ])
  }

  // MARK: A person's actions

  /// - Parameter isRetried: Whether there is a retry of it, which kept what succeeded.
  private static func actions(_ run: RunRecord, isRetried: Bool, _ request: PageRequest) -> [Part.Action] {
    func action(
      _ label: String, _ verb: String, kind: String? = nil, warning: String? = nil,
      text: (label: String, name: String)? = nil
    ) -> Part.Action {
      Part.Action(
        label: label, path: pagePath("runs", run.id, verb), command: "errand runs \(verb) \(run.id)", kind: kind,
        warning: warning, text: text)
    }
    guard request.may(.steer) else { return [] }
    var actions: [Part.Action] = []
    if run.status == .paused {
      actions.append(action("Resume", "resume", kind: "main"))
    } else if !run.status.isEnded, run.pendingCancel == nil {
      actions.append(action("Pause", "pause"))
    }
    if !run.status.isEnded, run.pendingCancel == nil {
      actions.append(
        action(
          "Cancel", "cancel", kind: "risky", warning: "What was written stays written; no further step begins.",
          text: ("Reason", "reason")))
    }
    if run.status.isEnded, run.status != .succeeded, run.status != .skipped, run.erasedAt == nil, !isRetried {
      var retry = action("Retry", "retry", kind: "main")
      retry.isOnce = true
      actions.append(retry)
    }
    if run.status.isEnded {
      actions.append(
        action(
          "Delete", "delete", kind: "risky",
          warning: "Removes the run with its values and what it printed. This can't be undone."))
    }
    return actions
  }

  /// The events that a run waits for, each with a step that does: one form is enough for all steps that wait for a name.
  private static func awaitedEvents(_ run: RunRecord) -> [(name: String, step: StepRecord)] {
    if run.status.isEnded { return [] }
    var awaited: [(name: String, step: StepRecord)] = []
    for step in run.steps.select({ $0.pointee.wait?.event != nil && $0.pointee.status == .waiting }) {
      if awaited.count == mostForms { break }
      guard let wait = step.wait, wait.kind == .event, let name = wait.event,
        !awaited.contains(where: { $0.name.hasSameScalars(as: name) })
      else { continue }
      awaited.append((name, step))
    }
    return awaited
  }

  /// The form that sends an event for a step.
  ///
  /// Its key is the same for as long as the step waits. It isn't random, because the page would differ each time that it
  /// is renewed.
  private static func eventForm(
    _ name: String, _ step: StepRecord, _ run: RunRecord, number: Int, _ refused: RefusedRunForm?
  ) -> Markup {
    let command = "errand runs signal \(run.id) \(name.shellQuoted)"
    let id = RefusedRunForm.Kind.event.id(number)
    let fault = refused?.fault(of: .event, name)
    let key = "\(run.id) \(step.path) \(step.startedAt)"
    return .element(
      "form", ["class": "card", "method": "post", "action": pagePath("runs", run.id, "events")],
      .element("h2", [:], "It waits for the event '\(name)'"), Part.hidden("key", key), Part.hidden("name", name),
      .element("label", ["for": id], "Data, as JSON", .element("span", ["class": "quiet"], " (optional)")),
      .element(
        "textarea",
        ["id": id, "name": "data", "spellcheck": "false", "aria-invalid": fault.map { _ in "true" }],
        Markup(field: fault?.text ?? "")),
      .element("div", ["class": "actions"], .element("button", ["title": command], "Send the event")),
      Part.command("\(command) --data JSON"))
  }

  private static func question(_ step: StepRecord, _ run: RunRecord, _ request: PageRequest) -> Markup {
    let prompt = request.seesData ? step.wait?.prompt : nil
    return .element(
      "div", ["class": "card"],
      .element("h2", [:], step.wait?.kind == .ask ? "An answer is needed" : "A decision is needed"),
      .element("p", [:], Markup(prompt?.firstLine.shortened(to: 400) ?? "The step '\(step.path)' asks.")),
      .element(
        "div", ["class": "actions"],
        .element(
          "a", ["class": "button main", "href": pagePath("approvals", run.id, step.path)], Markup(step.callToAct),
          Part.unseen(" in step \(step.path)"))))
  }

  /// - Parameter output: The form of the step's output, if a person has to give it.
  private static func resolution(
    of step: StepRecord, _ run: RunRecord, output: String?, number: Int, _ refused: RefusedRunForm?,
    _ request: PageRequest
  ) -> Markup {
    let id = RefusedRunForm.Kind.resolution.id(number)
    let fault = refused?.fault(of: .resolution, step.path)
    // A visitor who may not see texts of services isn't shown the reason.
    let reason =
      (request.seesData ? step.error?.message.shortened(to: 1_000) : nil)
      ?? "It isn't known whether this step was done."
    let command = "errand runs resolve \(run.id) \(step.path.shellQuoted)"
    func choice(_ value: String, _ label: String, _ kind: String? = nil) -> Markup {
      .element(
        "button", ["name": "as", "value": value, "class": kind, "title": "\(command) --\(value)"], Markup(label))
    }
    return .element(
      "form", ["class": "card", "method": "post", "action": pagePath("runs", run.id, "resolve")],
      .element("h2", [:], "What happened to \(step.path)?"),
      .element(
        "p", [:], Markup("\(reason.hasSuffix(".") ? reason : reason + ".") Look at the service, and say what you find.")
      ),
      .element("input", ["type": "hidden", "name": "step", "value": step.path]),
      .element(
        "div", ["class": "actions"], choice("done", "It was done"), choice("retry", "It was not done: do it now"),
        choice("fail", "Count it as failed", "risky")),
      .element(
        "details", ["class": "small", "open": output == nil && fault == nil ? nil : ""],
        .element(
          "summary", [:],
          output == nil ? "Output, if later steps use it" : "Its output, if it was done: put in what the service has"),
        .element("label", ["for": id], "Output, as JSON"),
        .element(
          "textarea",
          [
            "id": id, "name": "output", "spellcheck": "false", "placeholder": output,
            "aria-invalid": fault.map { _ in "true" },
          ], Markup(field: fault?.text ?? ""))),
      .element(
        "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
        .element("p", [:], Part.code("\(command) --done | --retry | --fail"))))
  }
}

/// A form of a run's page that was refused, with its text.
struct RefusedRunForm {
  enum Kind: String {
    case event = "data"
    case resolution = "output"

    /// The id of the field of the page's form with a number.
    func id(_ number: Int) -> String { "\(rawValue)-\(number)" }
  }

  let kind: Kind
  /// The name of the event, or the path of the step.
  let subject: String
  let text: String
  let problem: Problem

  /// The refused form, if it is the one about an event or a step.
  func fault(of kind: Kind, _ subject: String) -> RefusedRunForm? {
    self.kind == kind && self.subject.hasSameScalars(as: subject) ? self : nil
  }

  /// The fault, for the top of the page.
  ///
  /// - Parameters:
  ///   - steps: The steps whose forms the page has.
  ///   - events: The events whose forms it has.
  func faults(_ steps: [StepPath], _ events: [String]) -> Markup {
    let index = (kind == .event ? events : steps).firstIndex { $0.hasSameScalars(as: subject) }
    let outcome = kind == .event ? "The event wasn't sent." : "Nothing was recorded."
    return Part.faults(
      "\(outcome) Look at what is wrong, and send the form again.",
      [FormFault(problem.detail, at: index.map { kind.id($0 + 1) })])
  }

  /// Whether a run still waits for the form.
  func isWanted(by run: RunRecord) -> Bool {
    switch kind {
    case .event:
      return !run.steps.select {
        $0.pointee.status == .waiting && $0.pointee.wait?.event?.hasSameScalars(as: subject) ?? false
      }.isEmpty
    case .resolution: return run.steps[subject]?.status == .uncertain
    }
  }
}

extension RunRecord {
  fileprivate var noticeKind: String? {
    switch status {
    case .succeeded: "good"
    case .failed, .timedOut, .uncertain, .rejected: "fault"
    case .queued, .running: "info"
    case .waiting, .paused, .cancelled, .skipped: nil
    }
  }
}

extension RunRecord {
  /// Whether it times out at the instant that it waits for.
  fileprivate var timesOut: Bool { !steps.select { $0.pointee.timesOut && $0.pointee.wait?.wakeAt == wakeAt }.isEmpty }
}

extension StepRecord {
  /// Whether it waits for something that may not come, and not for an instant.
  var timesOut: Bool { status == .waiting && wait.map { ![.until, .poll, .limit].contains($0.kind) } == true }
}

extension RunCause {
  /// The cause of a run, in words.
  var words: String {
    switch kind {
    case .manual: "by \(asker ?? "hand")"
    case .slot: "by schedule"
    case .trigger: "out of turn, for schedule"
    case .backfill: "to make up for a slot of"
    case .event: "by an event, for"
    case .afterRecipe: "after another run, by"
    case .file: "by a file, for"
    case .retry: "as a retry of"
    case .failure: "because of the failure of"
    }
  }
}

extension Part {
  /// Why something is as it is; the most important sentence is first.
  static func explanation(_ explanation: Explanation, _ clock: WallClock, kind: String?) -> Markup {
    var (shown, left) = ([Markup](), mostBytes / 5)
    for sentence in explanation.sentences {
      let commands = sentence.commands.map { " " + Part.code($0.shortened(to: 1_000)) }
      shown.append(
        .element("p", ["class": "lines-kept"], Markup(clock.told(sentence.text.shortened(to: 2_000))), Markup(commands))
      )
      left -= shown.last?.text.utf8.count ?? 0
      if left < 0 { break }
    }
    let rest = explanation.sentences.count - shown.count
    if rest > 0 {
      shown.append(.element("p", ["class": "quiet"], "'errand why' has \(counted(rest, "more sentence"))."))
    }
    return notice(Markup(shown), kind: kind)
  }
}
