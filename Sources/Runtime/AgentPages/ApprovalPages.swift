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
      let until = step.wait?.wakeAt.map { ", times out " + Part.ago($0, request.clock) } ?? .nothing
      return Markup([
        Part.status("waiting"),
        .element(
          "span", ["class": "grow"], Part.link(run.recipe, to: pagePath("runs", run.id)),
          .element("span", ["class": "quiet"], Markup(prompt?.firstLine.shortened(to: 200) ?? "Step \(step.path)"))),
        .element("span", ["class": "end"], "asked ", Part.ago(step.startedAt, request.clock), until),
        .element(
          "a", ["class": "button main", "href": pagePath("approvals", run.id, step.path)],
          Markup(objection(to: request, deciding: step) == nil ? step.callToAct : "Show"),
          Part.unseen(": \(prompt?.firstLine.shortened(to: 200) ?? "step \(step.path)") (\(run.recipe))")),
      ])
    }
    let rows = asking.flatMap { run, steps -> [Markup] in
      let rest = steps.count - mostOfARun
      let more = Part.link(
        "\(counted(rest, "more question")) of \(run.recipe), \(Part.short(run: run.id))", to: pagePath("runs", run.id))
      return steps.prefix(mostOfARun).map { row(run, $0) } + (rest > 0 ? [more] : [])
    }
    return request.frame(
      "Questions", "/approvals", live: .init(seconds: 5, announcement: counted(count, "question")),
      .element("h1", [:], "Questions"),
      Part.rows(
        rows, orElse: "No questions are waiting. A run with an 'approve' or 'ask' step waits here for a person."),
      Part.next(list.next, "More questions", "approvals"))
  }

  static func approval(
    _ request: PageRequest, _ name: String, _ path: String, given: HTTPQuery = HTTPQuery(), objection: String? = nil,
    faults: [FormFault] = []
  ) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    guard let step = run.steps[path], step.asksPerson else { return settled(request, run, path) }
    let isAnswer = step.wait?.kind == .ask
    let people = step.wait?.by ?? []
    let part = QuestionPart(run: run, step: step, clock: request.clock, query: request.http.query)
    let title = request.seesData ? part.title : "\(isAnswer ? "An answer" : "A decision") for \(run.recipe)"
    var content: [Markup] = [
      Part.crumbs(("Questions", "/approvals"), (run.recipe, pagePath("runs", run.id))),
      .element("h1", [:], Markup(title)),
    ]
    if let reason = self.objection(to: request, deciding: step) {
      if request.seesData {
        content += [.element("form", ["id": "find", "method": "get"]), part.rest, part.consequences]
      }
      content.append(Part.notice(.element("p", [:], Markup(reason))))
    } else {
      let address = pagePath("runs", run.id, isAnswer ? "answer" : "decide")
      content.append(part.form(to: address, given: given, objection: objection, faults: faults))
    }
    content.append(
      Part.facts([
        ("Recipe", Part.link(run.recipe, to: pagePath("recipes", run.recipe))),
        ("Run", Part.link("started \(request.clock.date(run.createdAt))", to: pagePath("runs", run.id))),
        ("Step", Part.code(path)),
        ("Asked", people.isEmpty ? "anyone who may approve" : Markup(people.joined(separator: ", "))),
        ("Times out", step.wait?.wakeAt.map { Part.timeAndAgo($0, request.clock) }),
      ]))
    content.append(commands(step, run, request))
    if request.seesData {
      if let inputs = Part.value(run.origin.inputs, request.clock) {
        content.append(Part.heading("Inputs of the run") + inputs)
      }
    }
    let live = PageFrame.Live(seconds: 5, announcement: title, isOfRunAlone: true)
    return request.frame(
      step.callToAct, "/approvals", live: live, isRefused: objection != nil || !given.items.isEmpty, Markup(content))
  }

  /// The commands that decide or answer, and the button that ends the question's links.
  private static func commands(_ step: StepRecord, _ run: RunRecord, _ request: PageRequest) -> Markup {
    let commands = step.commands(in: run.id).map { Markup.element("p", [:], Part.code($0)) }
    let same: Markup = .element(
      "details", ["class": "small"], .element("summary", [:], "The same on the command line"), Markup(commands))
    let links = step.wait?.question?.links ?? []
    guard !links.isEmpty, request.may(.steer) else { return same }
    let people = joined(links.map { $0.name.isEmpty ? "anyone" : $0.name })
    let end = Part.Action(
      label: "End its links", path: pagePath("runs", run.id, "unlink"),
      command: "errand runs unlink \(run.id) \(step.path.shellQuoted)",
      warning: "The links that were sent to \(people) carry no right any more.", fields: [("step", step.path)])
    return same + .element("div", ["class": "actions"], Part.button(end))
  }

  /// Why a visitor is offered no decision: it may not decide, or doesn't see what it would decide; nil if it is.
  private static func objection(to request: PageRequest, deciding step: StepRecord) -> String? {
    let people = step.wait?.by ?? []
    if !step.asks(request.caller.name) {
      let what = step.wait?.kind == .ask ? "question" : "decision"
      return "This \(what) is for \(joined(people)); you are logged in as \(request.caller.name)."
    }
    if !request.may(.approve) {
      return "\(step.wait?.kind == .ask ? "Answering" : "Deciding") needs a token with the scope 'approve'."
    }
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
      let title = QuestionPart.isRecorded(decision)
      return request.frame(
        title, "/approvals", live: .init(announcement: "\(title)."), Part.crumbs(("Questions", "/approvals")),
        part.recorded(decision, .nothing), show)
    }
    let kind = step?.wait?.kind ?? .approval
    let verb = kind == .ask ? "answer" : "decide"
    let announcement =
      step?.wait?.kind.isQuestion == true
      ? part?.end ?? "" : "The step '\(path)' doesn't ask for \(kind.wanted) now."
    return request.frame(
      "Nothing to \(verb)", "/approvals", live: .init(announcement: announcement),
      Part.crumbs(("Questions", "/approvals")),
      .element("h1", [:], "Nothing to \(verb)"), .element("p", [:], Markup(announcement)), show)
  }

  /// Gives an answer, or shows the form again with its faults.
  static func answer(
    _ request: PageRequest, _ name: String, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    let (path, comment) = (form["step"] ?? "", form["comment"].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed })
    let given = QuestionPart.given(form, for: try await displayed(request, name).steps[path])
    var faults: [FormFault] = []
    if given.faults.isEmpty {
      do throws(Problem) {
        _ = try await request.ask(
          AnswerStep.with {
            $0.run = name
            $0.step = path
            $0.texts = given.sent
            $0.comment = comment
            $0.question = form["question"]
            // The same answer to the same question is given once, as by a double click.
            $0.key = given.key(of: form["question"].map { "\($0) \(comment ?? "")" })
          })
        return redirect(pagePath("approvals", name, path))
      } catch {
        guard error.kind == .refusal(.inputs) else { return try await refused(request, error, name, path, form) }
        faults = FormFault.all(of: error, word: QuestionPart.word)
      }
    }
    var response = try await approval(request, name, path, given: form, faults: faults)
    response.status = 422
    return response
  }

  /// The page after a decision or an answer was refused because something has happened since its page was shown.
  static func refused(
    _ request: PageRequest, _ problem: Problem, _ name: String, _ step: StepPath?, _ form: HTTPQuery
  ) async throws(Problem) -> HTTPServerResponse {
    guard let step else { throw problem }
    var response: HTTPServerResponse
    switch problem.kind {
    case .refusal(.conflict):
      response = try await approval(request, name, step, given: form, objection: QuestionPart.isAnother)
    // Another person was faster, or the time ran out.
    case .refusal(.notAsked), .refusal(.ended): response = settled(request, try await displayed(request, name), step)
    default: throw problem
    }
    response.status = problem.kind.status
    return response
  }
}

extension StepRecord {
  /// The label of the link to a question.
  var callToAct: String { wait?.kind == .ask ? "Answer" : "Decide" }
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
