// The questions to people: the list, and the page of one question with its run.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func approvals(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let list = try await request.ask(ListApprovals.with { $0.cursor = request.given("cursor") })
    let asking = list.open.flatMap { run in
      run.stepsInOrder.filter(\.asksPerson).map { (run, $0) }
    }
    let rows = asking.map { run, step -> Markup in
      let prompt = request.seesData ? step.wait?.prompt : nil
      let until = step.wait?.wakeAt.map { ", until " + Part.ago($0, request.clock) } ?? .nothing
      return Markup([
        Part.status("waiting"),
        .element(
          "span", ["class": "grow"], Part.link(run.recipe, to: pagePath("runs", run.id)),
          .element("span", ["class": "quiet"], Markup(prompt?.firstLine.shortened(to: 200) ?? "Step \(step.path)"))),
        .element("span", ["class": "end"], "asked ", Part.ago(step.startedAt, request.clock), until),
        .element(
          "a", ["class": "button main", "href": pagePath("approvals", run.id, step.path)],
          objection(to: request, deciding: step) == nil ? "Decide" : "Show"),
      ])
    }
    return request.frame(
      "Questions", "/approvals", live: .init(seconds: 5, announcement: counted(asking.count, "question")),
      .element("h1", [:], "Questions"),
      Part.rows(rows, orElse: "No questions are waiting. A run with an 'approve' step waits here for a decision."),
      Part.next(list.next, "More questions", "approvals"))
  }

  static func approval(
    _ request: PageRequest, _ name: String, _ path: String, given: HTTPQuery = HTTPQuery(), fault: String? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    guard let step = run.steps[path], step.asksPerson else { return settled(request, run, path) }
    let people = step.wait?.by ?? []
    let part = QuestionPart(run: run, step: step, clock: request.clock, query: request.http.query)
    let title = request.seesData ? part.title : "A decision for \(run.recipe)"
    var content: [Markup] = [
      Part.crumbs(("Questions", "/approvals"), (run.recipe, pagePath("runs", run.id))),
      .element("h1", [:], Markup(title)),
    ]
    if let objection = objection(to: request, deciding: step) {
      if request.seesData { content += [.element("form", ["id": "find", "method": "get"]), part.rest, part.consequences] }
      content.append(Part.notice(.element("p", [:], Markup(objection))))
    } else {
      content.append(part.form(to: pagePath("runs", run.id, "decide"), given: given, fault: fault))
    }
    content.append(
      Part.facts([
        ("Recipe", Part.link(run.recipe, to: pagePath("recipes", run.recipe))),
        ("Run", Part.link("started \(request.clock.date(run.createdAt))", to: pagePath("runs", run.id))),
        ("Step", Part.code(path)),
        ("Asked", people.isEmpty ? "anyone who may approve" : Markup(people.joined(separator: ", "))),
        ("Until", step.wait?.wakeAt.map { Part.timeAndAgo($0, request.clock) }),
      ]))
    content.append(commands(step, run, request))
    if request.seesData {
      if let inputs = Part.value(run.origin.inputs) { content.append(Part.heading("Inputs of the run") + inputs) }
    }
    return request.frame("Decide", "/approvals", live: .init(seconds: 5, announcement: title), Markup(content))
  }

  /// The commands that decide, and the button that ends the question's links.
  private static func commands(_ step: StepRecord, _ run: RunRecord, _ request: PageRequest) -> Markup {
    let command = "\(run.id) \(step.path.shellQuoted)"
    let decide: Markup = .element(
      "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
      .element("p", [:], Part.code("errand runs approve \(command)")),
      .element("p", [:], Part.code("errand runs reject \(command)")))
    let links = step.wait?.question?.links ?? []
    guard !links.isEmpty, request.may(.steer) else { return decide }
    let people = joined(links.map { $0.name.isEmpty ? "anyone" : $0.name })
    let end = Part.Action(
      label: "End its links", path: pagePath("runs", run.id, "unlink"), command: "errand runs unlink \(command)",
      warning: "The links that were sent to \(people) carry no right any more.", fields: [("step", step.path)])
    return decide + .element("div", ["class": "actions"], Part.button(end))
  }

  /// Why a visitor is offered no decision: it may not decide, or doesn't see what it would decide; nil if it is.
  private static func objection(to request: PageRequest, deciding step: StepRecord) -> String? {
    let people = step.wait?.by ?? []
    if !step.asks(request.caller.name) {
      return "This decision is for \(joined(people)); you are logged in as \(request.caller.name)."
    }
    if !request.may(.approve) { return "Deciding needs a token with the scope 'approve'." }
    if !request.seesData { return "This token lacks the scope 'data', so the question can't be shown." }
    return nil
  }

  /// Says that a decision isn't asked for, or who has made it.
  static func settled(_ request: PageRequest, _ run: RunRecord, _ path: String) -> HTTPServerResponse {
    let show: Markup = .element(
      "p", ["class": "actions"],
      .element("a", ["class": "button", "href": pagePath("runs", run.id)], "Show the run"))
    let step = run.steps[path]
    let part = step.map { QuestionPart(run: run, step: $0, clock: request.clock, query: request.http.query) }
    if let part, let decision = step?.decision, decision.by.hasSameScalars(as: request.caller.name) {
      return request.frame(
        "Your decision is recorded", "/approvals", live: .init(announcement: "Your decision is recorded."),
        Part.crumbs(("Questions", "/approvals")), part.recorded(decision, .nothing), show)
    }
    let announcement =
      step?.wait?.kind == .approval ? part?.end ?? "" : "The step '\(path)' doesn't ask for a decision now."
    return request.frame(
      "Nothing to decide", "/approvals", live: .init(announcement: announcement),
      Part.crumbs(("Questions", "/approvals")),
      .element("h1", [:], "Nothing to decide"), .element("p", [:], Markup(announcement)), show)
  }
}

extension String {
  /// The first line of a question.
  var firstLine: String { split(separator: "\n").first.map { String($0) } ?? "" }

  /// The parts before and after a text, if it occurs exactly once.
  package func utf8Parts(around text: String) -> (before: String, after: String)? {
    let (whole, part) = (Array(utf8), Array(text.utf8))
    guard whole.count >= part.count else { return nil }
    let places = (0...(whole.count - part.count)).filter { whole[$0..<($0 + part.count)].elementsEqual(part) }
    guard places.count == 1, let place = places.first else { return nil }
    return (
      String(decoding: whole[..<place], as: UTF8.self),
      String(decoding: whole[(place + part.count)...], as: UTF8.self)
    )
  }
}
