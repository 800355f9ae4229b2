// The questions to people: the list, and the page of one question with its run.
import Agent
import Operations
import Basics
import HTTPServer
import Recipes
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
          Markup(objection(to: request, deciding: step) == nil ? step.callToAct : "Show")),
      ])
    }
    return request.frame(
      "Approvals", "/approvals", live: .init(seconds: 5, announcement: counted(asking.count, "question")),
      .element("h1", [:], "Approvals"),
      Part.rows(
        rows, orElse: "No approvals are waiting. A run with an 'approve' or 'ask' step waits here for a person."),
      Part.next(list.next, "More approvals", "approvals"))
  }

  /// The most bytes of a question in the title of its page.
  private static let longestTitle = 160

  static func approval(
    _ request: PageRequest, _ name: String, _ path: String, form given: StartForm.Given? = nil, comment: String? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    guard let step = run.steps[path], step.asksPerson else { return settled(request, run, path) }
    let isAnswer = step.wait?.kind == .ask
    let prompt = request.seesData ? step.wait?.prompt : nil
    let people = step.wait?.by ?? []
    let title =
      prompt?.firstLine.shortened(to: longestTitle) ?? "\(isAnswer ? "An answer" : "A decision") for \(run.recipe)"
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
    content.append(
      objection.map { Part.notice(.element("p", [:], Markup($0))) }
        ?? (isAnswer ? answer(step, run, given, comment) : decision(step, run)))
    if request.seesData {
      if let inputs = Part.value(run.origin.inputs) { content.append(Part.heading("Inputs of the run") + inputs) }
    }
    return request.frame(step.callToAct, "/approvals", live: .init(seconds: 5, announcement: title), Markup(content))
  }

  /// Why a visitor is offered no decision: it may not decide, or doesn't see what it would decide; nil if it is.
  private static func objection(to request: PageRequest, deciding step: StepRecord) -> String? {
    let people = step.wait?.by ?? []
    if !step.asks(request.caller.name) {
      return "This asks \(joined(people, by: "or")) and not '\(request.caller.name)'."
    }
    let doing = step.wait?.kind == .ask ? "Answering" : "Deciding"
    if !request.may(.approve) { return "\(doing) needs a token with the scope 'approve'." }
    if !request.seesData {
      return "\(doing) needs the question, and the question needs a token with the scope 'data'."
    }
    return nil
  }

  /// Says that a decision isn't asked for, or who has made it.
  static func settled(_ request: PageRequest, _ run: RunRecord, _ path: String) -> HTTPServerResponse {
    let isAnswer = run.steps[path]?.wait?.kind == .ask
    let (verb, what) = isAnswer ? ("answer", "an answer") : ("decide", "a decision")
    var announcement = "The step '\(path)' doesn't ask for \(what) now"
    var when = ""
    if let decision = run.steps[path]?.decision {
      announcement = "\(decision.by) has \(decision.verb) it"
      when = ", \(request.clock.dateFromNow(decision.at))"
    }
    return request.frame(
      "Nothing to \(verb)", "/approvals", live: .init(announcement: announcement),
      Part.crumbs(("Approvals", "/approvals")),
      .element("h1", [:], "Nothing to \(verb)"), .element("p", [:], Markup("\(announcement)\(when).")),
      .element(
        "p", ["class": "actions"],
        .element("a", ["class": "button", "href": pagePath("runs", run.id)], "Show the run")))
  }

  /// The form for the values that a question asks for.
  private static func answer(
    _ step: StepRecord, _ run: RunRecord, _ given: StartForm.Given?, _ comment: String?
  ) -> Markup {
    let fields = InputFields(schema: step.wait?.fields.flatMap(Recipe.Input.schema), given: given, word: "field")
    let command = step.commands(in: run.id).joined()
    var parts: [Markup] = [Part.key, Part.hidden("step", step.path)] + fields.markup
    parts += [
      .element(
        "label", ["for": "comment"], "Comment ", .element("span", ["class": "quiet"], "(recorded with the answer)")),
      .element("textarea", ["id": "comment", "name": "comment", "rows": "2"], Markup(field: comment ?? "")),
      .element(
        "div", ["class": fields.isLong ? "actions near" : "actions"],
        .element("button", ["class": "main", "title": command], "Answer")), Part.command(command),
    ]
    return .element(
      "form", ["class": "card", "method": "post", "action": pagePath("runs", run.id, "answer")], Markup(parts))
  }

  /// Gives an answer, or shows the form again with its faults.
  static func answer(
    _ request: PageRequest, _ name: String, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    let (path, comment) = (form["step"] ?? "", form["comment"].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed })
    let fields = try await displayed(request, name).steps[path]?.wait?.fields
    var given = StartForm.Given(form, for: fields.flatMap(Recipe.Input.schema), word: "field")
    if given.faults.isEmpty {
      do throws(Problem) {
        _ = try await request.ask(
          AnswerStep.with {
            $0.run = name
            $0.step = path
            $0.texts = given.sent
            $0.comment = comment
            $0.key = given.key(of: form["key"].map { "\($0) \(comment ?? "")" })
          })
        return redirect(pagePath("runs", name))
      } catch {
        if [.refusal(.notAsked), .refusal(.ended)].contains(error.kind) {
          // Another person was faster, or the time ran out.
          var response = settled(request, try await displayed(request, name), path)
          response.status = error.kind.status
          return response
        }
        guard error.kind == .refusal(.inputs) else { throw error }
        given.faults = error.detail.split(separator: "\n").map { String($0) }
      }
    }
    var response = try await approval(request, name, path, form: given, comment: comment)
    response.status = 422
    return response
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

extension StepRecord {
  /// The label of the link to a question.
  var callToAct: String { wait?.kind == .ask ? "Answer" : "Decide" }
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
