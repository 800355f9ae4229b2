// The questions to people: the list, and the page of one question with its run.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  /// The most questions of a run in the list; the page of the run has more.
  private static let mostOfARun = 2

  static func approvals(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let list = try await request.ask(ListApprovals.with { $0.cursor = request.given("cursor") })
    let asking = list.open.map { run in (run: run, steps: run.steps.select { $0.pointee.asksPerson }) }
    let count = asking.reduce(0) { $0 + $1.steps.count }
    func row(_ run: RunRecord, _ step: StepRecord) -> Markup {
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
    let rows = asking.flatMap { run, steps -> [Markup] in
      let rest = steps.count - mostOfARun
      let more = Part.link("\(counted(rest, "more question")) of this run", to: pagePath("runs", run.id))
      return steps.prefix(mostOfARun).map { row(run, $0) } + (rest > 0 ? [more] : [])
    }
    return request.frame(
      "Approvals", "/approvals", live: .init(seconds: 5, announcement: counted(count, "question")),
      .element("h1", [:], "Approvals"),
      Part.rows(rows, orElse: "No approvals are waiting. A run with an 'approve' step waits here for a decision."),
      Part.next(list.next, "More approvals", "approvals"))
  }

  /// The most bytes of a question in the title of its page.
  private static let longestTitle = 160

  static func approval(
    _ request: PageRequest, _ name: String, _ path: String
  ) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    guard let step = run.steps[path], step.asksPerson else { return settled(request, run, path) }
    let prompt = request.seesData ? step.wait?.prompt : nil
    let people = step.wait?.by ?? []
    let title = prompt?.firstLine.shortened(to: longestTitle) ?? "A decision for \(run.recipe)"
    var content: [Markup] = [
      Part.crumbs(("Approvals", "/approvals"), (run.recipe, pagePath("runs", run.id))),
      .element("h1", [:], Markup(title)),
    ]
    if let prompt {
      // The part that the title can't hold is shown below it.
      let rest = prompt.firstLine.utf8.count > longestTitle ? prompt.lines : Array(prompt.lines.dropFirst())
      if !rest.isEmpty { content.append(Part.prompt(rest)) }
    }
    content.append(
      Part.facts([
        ("Recipe", Part.link(run.recipe, to: pagePath("recipes", run.recipe))),
        ("Run", Part.link("started \(request.clock.date(run.createdAt))", to: pagePath("runs", run.id))),
        ("Step", Part.code(path)),
        ("Asked", people.isEmpty ? "anyone who may approve" : Markup(people.joined(separator: ", "))),
        ("Until", step.wait?.wakeAt.map { Part.timeAndAgo($0, request.clock) }),
      ]))
    let objection = objection(to: request, deciding: step)
    content.append(objection.map { Part.notice(.element("p", [:], Markup($0))) } ?? decision(step, run))
    if request.seesData {
      if let inputs = Part.value(run.origin.inputs) { content.append(Part.heading("Inputs of the run") + inputs) }
    }
    let live = PageFrame.Live(seconds: 5, announcement: title, isOfRunAlone: true)
    return request.frame("Decide", "/approvals", live: live, Markup(content))
  }

  /// Why a visitor is offered no decision: it may not decide, or doesn't see what it would decide; nil if it is.
  private static func objection(to request: PageRequest, deciding step: StepRecord) -> String? {
    let people = step.wait?.by ?? []
    if !step.asks(request.caller.name) {
      return "This asks \(joined(people, by: "or")) and not '\(request.caller.name)'."
    }
    if !request.may(.approve) { return "Deciding needs a token with the scope 'approve'." }
    if !request.seesData {
      return "Deciding needs the question, and the question needs a token with the scope 'data'."
    }
    return nil
  }

  /// Says that a decision isn't asked for, or who has made it.
  static func settled(_ request: PageRequest, _ run: RunRecord, _ path: String) -> HTTPServerResponse {
    var announcement = "The step '\(path)' doesn't ask for a decision now"
    var when = Markup.nothing
    if let decision = run.steps[path]?.decision {
      announcement = "\(decision.by) has \(decision.isApproved ? "approved" : "rejected") it"
      when = ", " + Part.timeAndAgo(decision.at, request.clock)
    }
    return request.frame(
      "Nothing to decide", "/approvals", live: .init(announcement: announcement),
      Part.crumbs(("Approvals", "/approvals")),
      .element("h1", [:], "Nothing to decide"), .element("p", [:], Markup(announcement), when, "."),
      .element(
        "p", ["class": "actions"],
        .element("a", ["class": "button", "href": pagePath("runs", run.id)], "Show the run")))
  }

  private static func decision(_ step: StepRecord, _ run: RunRecord) -> Markup {
    let command = "\(run.id) \(step.path.shellQuoted)"
    return .element(
      "form", ["class": "card", "method": "post", "action": pagePath("runs", run.id, "decide")],
      .element("input", ["type": "hidden", "name": "step", "value": step.path]),
      .element(
        "label", ["for": "comment"], "Comment ", .element("span", ["class": "quiet"], "(recorded with the decision)")),
      // In a field of one line, Enter would approve.
      .element("textarea", ["id": "comment", "name": "comment", "rows": "2"]),
      .element(
        "div", ["class": "actions"],
        .element(
          "button",
          ["class": "main", "name": "choice", "value": "approve", "title": "errand runs approve \(command)"], "Approve"),
        .element(
          "button",
          ["class": "risky", "name": "choice", "value": "reject", "title": "errand runs reject \(command)"], "Reject")),
      .element(
        "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
        .element("p", [:], Part.code("errand runs approve \(command)")),
        .element("p", [:], Part.code("errand runs reject \(command)"))))
  }
}

extension Part {
  /// The lines of a question after the first.
  ///
  /// Where each says what becomes of something, `what: before → after`, as
  /// recipes write them, they are a table.
  fileprivate static func prompt(_ lines: [String]) -> Markup {
    let changes = lines.compactMap { line -> [Markup]? in
      guard let arrow = line.utf8Parts(around: " → "), let colon = arrow.before.utf8Parts(around: ": ") else {
        return nil
      }
      return [
        Markup(colon.before),
        .element("span", ["class": colon.after == "none" ? "quiet" : "before"], Markup(colon.after)),
        .element("span", ["class": "after"], Markup(arrow.after)),
      ]
    }
    if changes.count == lines.count { return table("What would change", ["What", "Before", "After"], changes) }
    return .element(
      "p", ["class": "lines-kept card tall", "tabindex": "0", "role": "region", "aria-label": "The whole question"],
      Markup(lines.joined(separator: "\n")))
  }
}

extension String {
  /// The first line of a question.
  var firstLine: String { split(separator: "\n").first.map { String($0) } ?? "" }
  fileprivate var lines: [String] { split(separator: "\n").map { String($0) } }

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
