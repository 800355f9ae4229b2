/// The pages for people: the same requests as the API's, shown as HTML and made by forms.
///
/// A page shows nothing and does nothing that its visitor's token doesn't allow, because everything goes through
/// `APIServer.reply`. What changes something is a form that is posted, whose `Origin` has to be this agent; it ends with
/// a redirection, so that loading a page again repeats nothing.
import ActionKit
import Agent
import Basics
import HTTPServer
import Recipes
import RunState
import Runs

/// One request for a page, of somebody who is logged in.
struct PageRequest: Sendable {
  let http: HTTPServerRequest
  let caller: APICaller
  /// The parts of the path, decoded.
  let parts: [String]
  let ask: @Sendable (AgentRequest) async throws(Problem) -> AgentReply
  let clock: WallClock

  /// Asks for an answer of which the page needs what `read` takes from it; nil is for one of the wrong kind.
  func ask<Answer>(_ request: AgentRequest, _ read: (AgentReply) -> Answer?) async throws(Problem) -> Answer {
    guard let answer = read(try await ask(request)) else { throw Problem(.fault, "the agent answered something else") }
    return answer
  }

  func may(_ scope: TokenScope) -> Bool { caller.scopes.contains(scope) }
  var seesData: Bool { caller.seesData }

  func frame(_ title: String, _ section: String, refresh: Int? = nil, _ content: Markup) -> HTTPServerResponse {
    PageFrame(title: title, section: section, visitor: caller.caller.name, refresh: refresh, content: content)
      .response()
  }
}

enum Pages {
  /// The answer to a request; nil if there is no such page.
  static func answer(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    let isRead = request.http.method == "GET" || request.http.method == "HEAD"
    switch request.parts.count {
    case 1 where isRead:
      switch request.parts[0] {
      case "": return try await overview(request)
      case "runs": return try await runs(request)
      case "recipes": return try await recipes(request)
      case "schedules": return try await schedules(request)
      case "state": return try await state(request)
      default: return nil
      }
    case 2 where isRead:
      switch request.parts[0] {
      case "runs": return try await run(request, request.parts[1])
      case "recipes": return try await recipe(request, request.parts[1])
      case "schedules": return try await schedule(request, request.parts[1])
      default: return nil
      }
    case 3 where isRead && request.parts[0] == "approvals":
      return try await approval(request, request.parts[1], request.parts[2])
    case 3 where request.http.method == "POST": return try await act(request)
    default: return nil
    }
  }

  // MARK: What forms do

  private static func act(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse? {
    let form = request.http.form
    let (kind, name, verb) = (request.parts[0], request.parts[1], request.parts[2])
    func text(_ field: String) -> String? { form[field].flatMap { $0.trimmed.isEmpty ? nil : $0 } }
    switch (kind, verb) {
    case ("recipes", "start"): return try await start(request, name, form)
    case ("runs", "pause"): _ = try await request.ask(.pause(run: name, reason: text("reason")))
    case ("runs", "resume"): _ = try await request.ask(.resume(run: name, isDetached: true))
    case ("runs", "cancel"): _ = try await request.ask(.cancel(run: name, reason: text("reason")))
    case ("runs", "retry"):
      if case .retried(_, let id) = try await request.ask(.retry(run: name)) { return redirect(pagePath("runs", id)) }
    case ("runs", "delete"):
      _ = try await request.ask(.delete(run: name))
      return redirect("/runs")
    case ("runs", "decide"):
      guard let choice = form["choice"], choice == "approve" || choice == "reject" else {
        throw Problem(.refusal(.request), "choose to approve or to reject")
      }
      _ = try await request.ask(
        .decide(run: name, step: text("step"), isApproved: choice == "approve", comment: text("comment")))
    case ("runs", "resolve"):
      let resolution: Resolution =
        switch form["as"] {
        case "done": .done(nil)
        case "retry": .retry
        case "fail": .fail(text("reason"))
        default: throw Problem(.refusal(.request), "choose what happened: done, retry or fail")
        }
      _ = try await request.ask(.resolve(run: name, step: form["step"] ?? "", as: resolution))
    case ("schedules", "pause"): _ = try await request.ask(.pauseSchedule(id: name, note: text("note")))
    case ("schedules", "resume"): _ = try await request.ask(.resumeSchedule(id: name))
    case ("schedules", "trigger"): _ = try await request.ask(.trigger(id: name, overlap: nil))
    default: return nil
    }
    return redirect(pagePath(kind, name))
  }

  private static func start(
    _ request: PageRequest, _ recipe: String, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    var texts: [String: String] = [:]
    for item in form.items where item.name.hasPrefix("input.") && !item.value.isEmpty {
      texts[String(item.name.dropFirst(6))] = item.value
    }
    // The key is of the form that was shown, so that a second click starts nothing.
    let run = try await request.ask(.start(recipe: recipe, inputs: ValueMap(), texts: texts, key: form["key"])) {
      if case .accepted(let run, _, _) = $0 { run } else { nil }
    }
    return redirect(pagePath("runs", run))
  }

  static func redirect(_ path: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 303, headers: ["Location": path])
  }

  // MARK: The first page

  private static func overview(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let (open, finished, _) = try await request.ask(.runs(RunListQuery(limit: 20))) {
      if case .runs(let open, let finished, let next) = $0 { (open, finished, next) } else { nil }
    }
    let dayAgo = request.clock.now.advanced(by: .seconds(-86_400)) ?? .earliest
    let urgent = open.filter { [.uncertain, .paused].contains($0.status) || $0.asksPerson }.reversed()
    let failed = finished.filter { [.failed, .timedOut].contains($0.status) && $0.endedAt > dayAgo }
    let busy = open.filter { run in !urgent.contains { $0.id == run.id } }.reversed()
    var needs = urgent.prefix(50).map { openRow($0, request) }
    needs += failed.prefix(50 - needs.count).map { finishedRow($0, request) }
    var next: [Markup] = []
    if case .status(let report) = try await request.ask(.status), let served = report.served {
      next.append(
        .element(
          "span", ["class": "grow"], "\(counted(served.recipes, "recipe")), \(counted(served.schedules, "schedule"))")
          + .element(
            "span", [:],
            served.nextSlot.map { "Next: " + Part.time($0, request.clock) } ?? "No slot is planned."))
      if !served.faults.isEmpty {
        next.append(Part.link("\(counted(served.faults.count, "fault")) in recipes", to: "/state"))
      }
    }
    return request.frame(
      "Now", "/", refresh: 5,
      .element("h1", [:], "Needs attention")
        + Part.rows(Array(needs), orElse: "Nothing: no run asks for a person, and none failed within a day.")
        + .element("h2", [:], "Running")
        + Part.rows(busy.prefix(50).map { openRow($0, request) }, orElse: "No run is open.")
        + .element("h2", [:], "Next") + Part.rows(next, orElse: "This agent starts nothing by itself.")
        + .element("p", [:], Part.link("All runs", to: "/runs")))
  }

  static func openRow(_ run: RunRecord, _ request: PageRequest) -> Markup {
    var parts: [Markup] = [
      Part.status(run.status.rawValue),
      .element("span", ["class": "grow"], Part.link(run.recipe, to: pagePath("runs", run.id)) + reason(run, request)),
    ]
    if request.may(.approve), let step = run.listed.stepsInOrder.first(where: { $0.asksPerson }) {
      parts.append(.element("a", ["class": "button", "href": pagePath("approvals", run.id, step.path)], "Decide"))
    }
    parts.append(.element("span", ["class": "end"], Part.time(run.createdAt, request.clock)))
    return Markup(parts)
  }

  private static func reason(_ run: RunRecord, _ request: PageRequest) -> Markup {
    guard request.seesData, let reason = run.reason else { return .nothing }
    return .element("span", ["class": "quiet"], " \(reason)")
  }

  static func finishedRow(_ run: RunSummary, _ request: PageRequest) -> Markup {
    Markup([
      Part.status(run.status.rawValue),
      .element(
        "span", ["class": "grow"],
        Part.link(run.recipe, to: pagePath("runs", run.id))
          + (request.seesData
            ? run.reason.map { .element("span", ["class": "quiet"], " \($0)") } ?? .nothing : .nothing)),
      .element("span", ["class": "end"], Part.time(run.endedAt, request.clock)),
    ])
  }

  // MARK: Runs

  private static func runs(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let query = request.http.query
    func given(_ name: String) -> String? { query[name].flatMap { $0.isEmpty ? nil : $0 } }
    let status = given("status").flatMap(RunStatus.init(rawValue:))
    let asked = RunListQuery(
      limit: 50, recipe: given("recipe"), statuses: status.map { [$0] } ?? [], after: given("cursor"))
    let (open, finished, next) = try await request.ask(.runs(asked)) {
      if case .runs(let open, let finished, let next) = $0 { (open, finished, next) } else { nil }
    }
    let options =
      [Markup.element("option", ["value": ""], "any status")]
      + RunStatus.allCases.map {
        .element("option", ["value": $0.rawValue, "selected": $0 == status ? "" : nil], Markup($0.rawValue))
      }
    let filter = Markup.element(
      "form", ["class": "actions filter", "method": "get", "action": "/runs"],
      .element(
        "input", ["name": "recipe", "value": given("recipe") ?? "", "placeholder": "recipe", "aria-label": "Recipe"]),
      .element("select", ["name": "status", "aria-label": "Status"], Markup(options)),
      .element("button", [:], "Show"))
    let rows = open.reversed().map { openRow($0, request) } + finished.map { finishedRow($0, request) }
    let more = next.map { next -> Markup in
      .element(
        "p", [:],
        Part.link(
          "Older runs",
          to: pagePath(
            "runs", query: [("recipe", given("recipe") ?? ""), ("status", status?.rawValue ?? ""), ("cursor", next)])))
    }
    return request.frame(
      "Runs", "/runs",
      .element("h1", [:], "Runs") + filter + Part.rows(rows, orElse: "There are none.") + (more ?? .nothing))
  }

  private static func run(_ request: PageRequest, _ name: String) async throws(Problem) -> HTTPServerResponse {
    let run = try await request.ask(.show(run: name)) {
      if case .run(let run) = $0 { run } else { nil }
    }
    let isOpen = !run.status.isEnded
    let shown = RunAnswer(run, withData: request.seesData)
    var content: [Markup] = [
      .element("h1", [:], "\(run.recipe) " + Part.status(run.status.rawValue)),
      Part.facts([
        ("Run", .element("code", [:], Markup(run.id))), ("Began", Part.time(run.createdAt, request.clock)),
        ("Ended", run.endedAt.map { Part.time($0, request.clock) }),
        ("Goes on", run.wakeAt.map { Part.time($0, request.clock) }),
        (
          "Started by",
          Markup(
            run.origin.cause.schedule.map { "\(run.origin.cause.kind.rawValue) of \($0)" }
              ?? run.origin.cause.kind.rawValue)
        ),
        ("Recipe", Part.link(run.recipe, to: pagePath("recipes", run.recipe))),
      ]),
    ]
    if request.seesData {
      if case .explained(_, let explanation) = try await request.ask(.explain(run: run.id)) {
        content.append(
          .element(
            "div", ["class": run.error == nil ? "notice" : "notice fault"],
            Markup(
              explanation.sentences.map { sentence in
                .element(
                  "p", [:], Markup(sentence.text), Markup(sentence.commands.map { .element("code", [:], " \($0)") }))
              })))
      }
    }
    content.append(actions(run, request))
    for step in run.stepsInOrder where step.status == .uncertain && request.may(.steer) {
      content.append(resolution(of: step, run))
    }
    content.append(.element("h2", [:], "Steps"))
    content.append(timeline(run, request))
    for (title, value) in [("Inputs", shown.inputs), ("Outputs", shown.outputs)] {
      if let part = Part.value(value) { content.append(.element("h2", [:], Markup(title)) + part) }
    }
    if request.seesData, case .printed(let piece) = try await request.ask(.logs(run: run.id)), !piece.lines.isEmpty {
      let lines = piece.lines.suffix(200).map { "\($0.step) \($0.text)" }.joined(separator: "\n")
      content.append(.element("h2", [:], "Printed") + .element("pre", ["tabindex": "0"], Markup(lines)))
    }
    return request.frame("\(run.recipe) \(run.status.rawValue)", "/runs", refresh: isOpen ? 2 : nil, Markup(content))
  }

  /// The buttons, each with the command that does the same.
  private static func actions(_ run: RunRecord, _ request: PageRequest) -> Markup {
    var buttons: [Markup] = []
    func button(_ label: String, _ verb: String, _ kind: String? = nil) {
      buttons.append(
        Part.button(label, to: pagePath("runs", run.id, verb), kind: kind, command: "errand runs \(verb) \(run.id)"))
    }
    if !run.status.isEnded {
      for step in run.stepsInOrder where step.asksPerson && request.may(.approve) {
        buttons.append(
          .element("a", ["class": "button", "href": pagePath("approvals", run.id, step.path)], "Decide \(step.path)"))
      }
    }
    if request.may(.steer) {
      if run.status.isEnded {
        if run.status != .succeeded { button("Retry", "retry") }
        button("Delete", "delete", "risky")
      } else {
        if run.status == .paused { button("Resume", "resume") } else { button("Pause", "pause") }
        button("Cancel", "cancel", "risky")
      }
    }
    return buttons.isEmpty ? .nothing : .element("div", ["class": "actions"], Markup(buttons))
  }

  private static func resolution(of step: StepRecord, _ run: RunRecord) -> Markup {
    .element(
      "form", ["class": "card", "method": "post", "action": pagePath("runs", run.id, "resolve")],
      .element("h2", [:], "What happened to \(step.path)?"),
      .element(
        "p", [:], "The program stopped while this step was writing. Look at the service, and say what you find."),
      .element("input", ["type": "hidden", "name": "step", "value": step.path]),
      .element(
        "div", ["class": "actions"],
        .element("button", ["name": "as", "value": "done"], "It was done"),
        .element("button", ["name": "as", "value": "retry"], "It was not done: do it now"),
        .element("button", ["name": "as", "value": "fail", "class": "risky"], "Count it as failed")))
  }

  /// The most steps on a page.
  private static let mostSteps = 200

  private static func timeline(_ run: RunRecord, _ request: PageRequest) -> Markup {
    let steps = run.stepsInOrder
    guard !steps.isEmpty else { return .element("p", ["class": "none"], "No step has begun.") }
    let end = run.endedAt ?? request.clock.now
    let whole = max(1, end.span(since: run.createdAt)?.nanoseconds ?? 1)
    func share(_ instant: Timestamp) -> Int {
      let passed = max(0, instant.span(since: run.createdAt)?.nanoseconds ?? 0)
      return Int(min(1000, Double(passed) / Double(whole) * 1000))
    }
    let count = min(steps.count, mostSteps)
    let rows = (0..<count).map { index -> [Markup] in
      let step = steps[index]
      let (from, to) = (share(step.startedAt), share(step.endedAt ?? end))
      let bar = Markup.element(
        "div", ["class": "bar", "aria-hidden": "true"],
        .element(
          "svg", ["viewBox": "0 0 1000 10", "preserveAspectRatio": "none"],
          .element("rect", ["x": "\(from)", "y": "0", "width": "\(max(4, to - from))", "height": "10"])))
      let took = (step.endedAt ?? end).span(since: step.startedAt)
      var name = [Markup.element("code", [:], Markup(step.path))]
      if request.seesData, let error = step.error {
        name.append(.element("div", ["class": "quiet"], Markup(error.message)))
      }
      if request.seesData, case .inline(let value)? = step.output, let part = Part.value(value.asPlainJSON) {
        name.append(.element("details", [:], .element("summary", [:], "Output"), part))
      }
      return [Markup(name), Part.status(step.status.rawValue), Markup(took.map { $0.spoken } ?? ""), bar]
    }
    let rest: Markup =
      steps.count > count
      ? .element("p", ["class": "quiet"], "\(counted(steps.count - count, "more step")): errand runs show \(run.id)")
      : .nothing
    return Part.table("Steps", ["Step", "Status", "Took", "When"], rows) + rest
  }

  // MARK: Decisions

  private static func approval(_ request: PageRequest, _ name: String, _ path: String) async throws(Problem)
    -> HTTPServerResponse
  {
    let run = try await request.ask(.show(run: name)) {
      if case .run(let run) = $0 { run } else { nil }
    }
    guard let step = run.steps[path], step.asksPerson else {
      return request.frame(
        "Nothing to decide", "/",
        .element("h1", [:], "Nothing to decide")
          + .element("p", [:], "The step '\(path)' doesn't ask for a decision now.")
          + .element("p", [:], Part.link("Show the run", to: pagePath("runs", run.id))))
    }
    let prompt = request.seesData ? step.wait?.prompt : nil
    let people = step.wait?.by ?? []
    var content: [Markup] = [
      .element("h1", [:], Markup(prompt ?? "A decision for \(run.recipe)")),
      Part.facts([
        ("Recipe", Part.link(run.recipe, to: pagePath("runs", run.id))), ("Step", .element("code", [:], Markup(path))),
        ("Asked", people.isEmpty ? "anyone who may approve" : Markup(people.joined(separator: ", "))),
        ("Until", step.wait?.wakeAt.map { Part.time($0, request.clock) }),
      ]),
    ]
    if request.seesData, let values = Part.value(RunAnswer(run, withData: true).inputs) {
      content.append(.element("h2", [:], "Inputs of the run") + values)
    }
    if request.may(.approve) {
      content.append(
        .element(
          "form", ["class": "card", "method": "post", "action": pagePath("runs", run.id, "decide")],
          .element("input", ["type": "hidden", "name": "step", "value": path]),
          .element(
            "label", ["for": "comment"], "Comment ",
            .element("span", ["class": "quiet"], "(recorded with the decision)")),
          .element("input", ["id": "comment", "name": "comment", "autocomplete": "off"]),
          .element(
            "div", ["class": "actions"],
            .element("button", ["class": "main", "name": "choice", "value": "approve"], "Approve"),
            .element("button", ["class": "risky", "name": "choice", "value": "reject"], "Reject"))))
    } else {
      content.append(.element("p", ["class": "notice"], "The token lacks the scope 'approve'."))
    }
    return request.frame("Decide", "/", Markup(content))
  }

  // MARK: Recipes

  private static func recipes(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let recipes = try await request.ask(.recipes) {
      if case .recipes(let recipes) = $0 { recipes } else { nil }
    }
    let rows = recipes.filter { request.caller.sees(recipe: $0.name) }.map { recipe -> Markup in
      .element("span", ["class": "grow"], Part.link(recipe.name, to: pagePath("recipes", recipe.name)))
        + .element("span", ["class": "end"], Markup(recipe.file))
    }
    return request.frame(
      "Recipes", "/recipes",
      .element("h1", [:], "Recipes") + Part.rows(rows, orElse: "No recipe is served."))
  }

  private static func recipe(_ request: PageRequest, _ name: String) async throws(Problem) -> HTTPServerResponse {
    let recipe = try await request.ask(.recipe(name: name)) {
      if case .recipe(let recipe) = $0 { recipe } else { nil }
    }
    var content: [Markup] = [.element("h1", [:], Markup(recipe.name))]
    if let summary = recipe.summary { content.append(.element("p", [:], Markup(summary))) }
    content.append(
      Part.facts([
        ("File", .element("code", [:], Markup(recipe.file))),
        (
          "Schedules",
          recipe.schedules.isEmpty
            ? nil
            : Markup(recipe.schedules.map { Part.link($0, to: pagePath("schedules", $0)) + " " })
        ),
        ("Runs", Part.link("of this recipe", to: pagePath("runs", query: [("recipe", recipe.name)]))),
      ]))
    if request.may(.start) { content.append(startForm(recipe)) }
    if !recipe.actions.isEmpty {
      let rows = recipe.actions.sorted { $0.key.precedesByScalars($1.key) }.map { action, effect in
        [Markup.element("code", [:], Markup(action)), Markup(effect)]
      }
      content.append(.element("h2", [:], "What it may do") + Part.table("Actions", ["Action", "Effect"], rows))
    }
    if let text = recipe.text {
      content.append(.element("h2", [:], "Text") + .element("pre", ["tabindex": "0"], Markup(text)))
    }
    return request.frame(recipe.name, "/recipes", Markup(content))
  }

  /// A field for each input, as its type wants.
  private static func startForm(_ recipe: RecipeRecord) -> Markup {
    let required = recipe.inputs?["required"]?.list?.compactMap(\.string) ?? []
    let key = "form-" + [UInt8].random(16).hexadecimal
    var parts: [Markup] = [
      .element("h2", [:], "Start"), .element("input", ["type": "hidden", "name": "key", "value": key]),
    ]
    for member in recipe.inputs?["properties"]?.map?.members ?? [] {
      guard let name = member.name else { continue }
      let schema = member.value
      let isRequired = required.contains(name)
      let id = "input-\(name)"
      parts.append(
        .element(
          "label", ["for": id], Markup(name),
          .element(
            "span", ["class": "quiet"], " \(schema["description"]?.string ?? "")\(isRequired ? "" : " (optional)")")))
      parts.append(field(name, id, schema, isRequired: isRequired))
    }
    parts.append(
      .element(
        "div", ["class": "actions"],
        .element("button", ["class": "main", "title": "errand runs start \(recipe.name)"], "Run")))
    return .element(
      "form", ["class": "card", "method": "post", "action": pagePath("recipes", recipe.name, "start")], Markup(parts))
  }

  private static func field(_ name: String, _ id: String, _ schema: Value, isRequired: Bool) -> Markup {
    let required = isRequired ? "" : nil
    let value = schema["default"].map { $0.string ?? JSON.shown($0) }
    let choices =
      schema["enum"]?.list?.compactMap(\.string) ?? (schema["type"]?.string == "boolean" ? ["true", "false"] : nil)
    if let choices {
      let none = isRequired ? [] : [Markup.element("option", ["value": ""], "")]
      let options = choices.map { choice -> Markup in
        .element("option", ["value": choice, "selected": choice == value ? "" : nil], Markup(choice))
      }
      return .element("select", ["id": id, "name": "input.\(name)", "required": required], Markup(none + options))
    }
    let type =
      switch (schema["type"]?.string, schema["format"]?.string) {
      case ("integer", _), ("number", _): "number"
      case (_, "date"): "date"
      default: "text"
      }
    return .element(
      "input",
      [
        "id": id, "name": "input.\(name)", "type": type, "value": value, "required": required,
        "min": schema["minimum"].map { JSON.shown($0) }, "max": schema["maximum"].map { JSON.shown($0) },
        "step": schema["type"]?.string == "number" ? "any" : nil, "autocomplete": "off",
      ])
  }

  // MARK: Schedules

  private static func schedules(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let schedules = try await request.ask(.schedules) {
      if case .schedules(let schedules) = $0 { schedules } else { nil }
    }
    let rows = schedules.filter { request.caller.sees(recipe: $0.recipe) }.map { schedule -> Markup in
      let counts = schedule.counts.filter { $0.value > 0 }.sorted { $0.key.precedesByScalars($1.key) }
        .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      return Markup([
        schedule.pause == nil ? .nothing : Part.status("paused"),
        .element("span", ["class": "grow"], Part.link(schedule.id, to: pagePath("schedules", schedule.id))),
        .element("span", ["class": "end"], Markup(counts)),
      ])
    }
    return request.frame(
      "Schedules", "/schedules",
      .element("h1", [:], "Schedules") + Part.rows(rows, orElse: "No recipe has an 'on:'."))
  }

  private static func schedule(_ request: PageRequest, _ id: String) async throws(Problem) -> HTTPServerResponse {
    let schedules = try await request.ask(.schedules) {
      if case .schedules(let schedules) = $0 { schedules } else { nil }
    }
    guard let schedule = schedules.first(where: { $0.id.hasSameScalars(as: id) }),
      request.caller.sees(recipe: schedule.recipe)
    else { throw Problem(.refusal(.notFound), "there is no schedule '\(id.brief)'") }
    let slots = try await request.ask(.slots(SlotQuery(limit: 50, schedule: schedule.id))) {
      if case .slots(let slots) = $0 { slots } else { nil }
    }
    var buttons: [Markup] = []
    if request.may(.steer) {
      buttons.append(
        schedule.pause == nil
          ? Part.button(
            "Pause", to: pagePath("schedules", schedule.id, "pause"), command: "errand schedule pause \(schedule.id)")
          : Part.button(
            "Resume", to: pagePath("schedules", schedule.id, "resume"), command: "errand schedule resume \(schedule.id)"
          ))
    }
    if request.may(.steer) {
      buttons.append(
        Part.button(
          "Start a run now", to: pagePath("schedules", schedule.id, "trigger"),
          command: "errand schedule trigger \(schedule.id)"))
    }
    let rows = slots.map { slot in
      [
        Part.time(slot.slot, request.clock), Part.status(slot.outcome.rawValue),
        slot.run.map { Part.link("run", to: pagePath("runs", $0)) } ?? .nothing,
        Markup(request.seesData ? slot.reason ?? "" : ""),
      ]
    }
    return request.frame(
      schedule.id, "/schedules",
      .element("h1", [:], Markup(schedule.id))
        + Part.facts([
          ("Recipe", Part.link(schedule.recipe, to: pagePath("recipes", schedule.recipe))),
          ("Paused", schedule.pause.map { Part.time($0.at, request.clock) }),
          ("Decided until", Part.time(schedule.processedUntil, request.clock)),
        ])
        + (buttons.isEmpty ? .nothing : .element("div", ["class": "actions"], Markup(buttons)))
        + .element("h2", [:], "Slots")
        + (rows.isEmpty
          ? .element("p", ["class": "none"], "None is settled yet.")
          : Part.table("Slots", ["Slot", "Outcome", "Run", "Why"], rows)))
  }

  // MARK: The state

  private static func state(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let report = try await request.ask(.status) {
      if case .status(let report) = $0 { report } else { nil }
    }
    let faults = (report.served?.faults ?? []).map { fault -> Markup in
      .element("pre", ["tabindex": "0"], Markup(fault))
    }
    let counts = report.runs.sorted { $0.key.precedesByScalars($1.key) }.map { "\($0.value) \($0.key)" }
    return request.frame(
      "State", "/state",
      .element("h1", [:], "State")
        + Part.facts([
          ("Program", Markup(report.program)), ("Serves since", Part.time(report.since, request.clock)),
          ("Folder", .element("code", [:], Markup(report.folder))),
          ("Open runs", Markup(counts.isEmpty ? "none" : counts.joined(separator: ", "))),
          ("Recipes", report.served.map { "\($0.recipes)" }), ("Schedules", report.served.map { "\($0.schedules)" }),
        ])
        + .element("h2", [:], "Faults of recipes")
        + (faults.isEmpty ? .element("p", ["class": "none"], "None.") : Markup(faults)))
  }
}

extension StepRecord {
  /// Whether it waits for a person's decision.
  var asksPerson: Bool { status == .waiting && wait?.kind == .approval && decision == nil }
}

extension RunRecord {
  /// Whether a step of it waits for a person's decision.
  var asksPerson: Bool { stepsInOrder.contains { $0.asksPerson } }
}
