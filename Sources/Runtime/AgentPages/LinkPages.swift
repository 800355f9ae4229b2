// The pages of a link that carries the right to answer a question. They show the question and nothing else: no inputs, no
// run, no other link, and no way to any other page.
package import Agent
package import Basics
package import HTTPServer
package import RunState

/// The pages for a person who comes by a link.
package struct LinkPages: Sendable {
  /// Who asks, and where one can ask back, as errand.yaml says.
  private let name: String?
  private let contact: String?
  private let isSandbox: Bool
  private let clock: WallClock

  package init(name: String?, contact: String?, isSandbox: Bool, clock: WallClock) {
    self.name = name
    self.contact = contact
    self.isSandbox = isSandbox
    self.clock = clock
  }

  /// The question.
  ///
  /// - Parameters:
  ///   - person: Whose right the link carries; empty where anyone may answer.
  ///   - given: What was sent before, to be kept.
  ///   - objection: Why the question is shown again; nil if its faults say so.
  ///   - faults: The faults of the form as it was sent.
  package func question(
    _ run: RunRecord, _ step: StepRecord, to person: String, query: HTTPQuery, given: HTTPQuery = HTTPQuery(),
    objection: String? = nil, faults: [FormFault] = [], status: Int = 200
  ) -> HTTPServerResponse {
    let part = QuestionPart(run: run, step: step, clock: clock, query: query)
    let summary = step.wait?.question?.summary
    let asks: Markup =
      .element("strong", [:], Markup(name ?? "Errand")) + " asks you" + (person.isEmpty ? "" : ", " + Markup(person))
    return page(
      part.title, status, isRefused: !given.items.isEmpty || !faults.isEmpty,
      .element(
        "p", ["class": "quiet"], asks, summary.map { " · " + .element("em", [:], Markup($0)) } ?? .nothing),
      .element("h1", [:], Markup(part.title)),
      part.form(to: nil, asksName: person.isEmpty, given: given, objection: objection, faults: faults), askBack)
  }

  /// The question, where another one was asked before.
  package func another(
    _ run: RunRecord, _ step: StepRecord, to person: String, query: HTTPQuery, given: HTTPQuery
  ) -> HTTPServerResponse {
    question(run, step, to: person, query: query, given: given, objection: QuestionPart.isAnother, status: 409)
  }

  /// The texts of the values that a person gave by the form of a question; nil if something is wrong with them, which
  /// the form shows.
  package static func texts(_ sent: HTTPQuery, for step: StepRecord) -> [String: String]? {
    let given = QuestionPart.given(sent, for: step)
    return given.faults.isEmpty ? given.sent : nil
  }

  /// Says that the person's decision or answer is recorded.
  package func recorded(_ run: RunRecord, _ step: StepRecord, _ decision: DecisionRecord) -> HTTPServerResponse {
    page(
      QuestionPart.isRecorded(decision), 200,
      QuestionPart(run: run, step: step, clock: clock, query: HTTPQuery())
        .recorded(decision, "You can close this page."))
  }

  /// Says how a question ended.
  package func ended(_ run: RunRecord, _ step: StepRecord, status: Int = 200) -> HTTPServerResponse {
    let end = QuestionPart(run: run, step: step, clock: clock, query: HTTPQuery()).end
    return closed("This question is closed", end ?? "It was withdrawn.", status)
  }

  /// Says that a link was valid for a time that is over.
  package func expired(_ until: Timestamp, status: Int = 410) -> HTTPServerResponse {
    closed("This link has expired", "It was valid until \(clock.date(until)).", status)
  }

  /// The answer to every link that carries nothing: whether there was one doesn't show.
  package func unknown() -> HTTPServerResponse {
    closed("This link isn't valid", "It may have been ended, or it isn't whole: copy it again from the message.", 404)
  }

  package func tooMany() -> HTTPServerResponse {
    var response = closed("Too many links", "Wait a minute, then open the link again.", 429)
    response.headers["Retry-After"] = "60"
    return response
  }

  /// A fault of the request or of the agent.
  package func problem(_ problem: Problem) -> HTTPServerResponse {
    closed(problem.kind.title, problem.detail, problem.kind.status)
  }

  private func closed(_ title: String, _ words: String, _ status: Int) -> HTTPServerResponse {
    page(title, status, .element("h1", [:], Markup(title)), .element("p", [:], Markup(words)), askBack)
  }

  private var askBack: Markup {
    contact.map {
      .element("p", ["class": "quiet small"], "Ask \($0) if you weren't expecting this.")
    } ?? .nothing
  }

  /// The faults of an answer that the agent refused.
  package static func faults(of refusal: RequestRefusedError) -> [FormFault] {
    refusal.faults.map { FormFault($0, word: QuestionPart.word) }
  }

  private func page(
    _ title: String, _ status: Int, isRefused: Bool = false, _ content: Markup...
  ) -> HTTPServerResponse {
    var frame = PageFrame(
      title: title, section: "", visitor: nil, isSandbox: isSandbox, content: Markup(content))
    (frame.isAlone, frame.isRefused) = (true, isRefused)
    frame.zone = clock.zoneSentence
    var response = frame.response(status: status)
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    return response
  }
}
