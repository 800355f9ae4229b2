// One step of a run: what it got and gave, its attempts, and the requests that they made.
import Agent
import Basics
import HTTPServer
import RunState
import Runs

extension Pages {
  static func step(_ request: PageRequest, _ name: String, _ path: String) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    guard let step = run.steps[path] else {
      throw Problem(.refusal(.notFound), "no step '\(path.shortened)' of the run has begun")
    }
    let took = (step.endedAt ?? run.endedAt ?? request.clock.now).span(since: step.startedAt)
    let decision = step.decision.map { decision -> Markup in
      "\(decision.words), "
        + Part.time(decision.at, request.clock)
        + Markup(request.seesData ? decision.comment.map { ": \($0)" } ?? "" : "")
    }
    let resolution = step.resolution.map { resolution -> Markup in
      "'\(resolution.choice)'\(resolution.by.map { " by \($0)" } ?? ""), " + Part.time(resolution.at, request.clock)
    }
    var content: [Markup] = [
      Part.crumbs(
        ("Runs", "/runs"), (run.recipe, pagePath("runs", run.id)), ("Steps", pagePath("runs", run.id) + "#steps")),
      .element("h1", [:], Part.code(path), " ", Part.status(step.status.rawValue)),
      Part.facts([
        ("Began", Part.timeAndAgo(step.startedAt, request.clock)),
        ("Ended", step.endedAt.map { Part.time($0, request.clock) }),
        ("Took", step.status == .skipped ? nil : took.map { Markup($0.spoken) }),
        ("Attempts", step.attempts > 1 ? "\(step.attempts)" : nil),
        ("Waits until", step.wait?.wakeAt.map { Part.timeAndAgo($0, request.clock) }),
        ("Decision", decision), ("Resolved", resolution), ("Case", step.case.map { Markup($0) }),
      ]),
    ]
    if let error = step.error {
      let message: Markup =
        request.seesData ? Markup(error.message) : "Its message needs a token with the scope 'data'."
      content.append(
        Part.notice(
          .element("p", [:], .element("strong", [:], Markup(Part.words(error.kind.rawValue))), ": ", message),
          kind: "fault"))
    }
    if request.seesData {
      if step.items != nil {
        content.append(
          .element(
            "p", [:],
            Part.link("The items of this loop", to: pagePath("runs", run.id, query: [("in", path)]) + "#steps")))
      }
      if let input = try await request.input(run, path).flatMap({ inputMarkup($0, run) }) {
        content.append(Part.heading("Input") + input)
      }
      let given = step.output ?? step.lastAttempt?.answer
      if let value = try await kept(given, request) {
        let title: Markup = step.output == nil ? "Answer, which doesn't fit the step's shape" : "Output"
        content.append(Part.heading(title) + (Part.value(value) ?? .element("p", ["class": "none"], "Nothing.")))
      }
    }
    content.append(attempts(of: step, request))
    content.append(
      .element(
        "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
        .element("p", [:], Part.code("errand runs show \(run.id) \(path.shellQuoted)"))))
    return request.frame("\(path) of \(run.recipe)", "/runs", Markup(content))
  }

  /// The input of a step; nil for a step that has none.
  private static func inputMarkup(_ input: StepReplay.Input, _ run: RunRecord) -> Markup? {
    func note(_ text: Markup) -> Markup { .element("p", ["class": "none"], text) }
    switch input {
    case .none: return nil
    case .value(let value): return Part.value(value) ?? note("Nothing.")
    case .kept:
      let other = run.origin.cause.run.map { Part.link("the run that this one retries", to: pagePath("runs", $0)) }
      return note("Kept from " + (other ?? "the run that this one retries") + ".")
    case .unknown where run.erasedAt != nil: return note("Erased.")
    case .unknown:
      return note(
        "Unknown: a value that it was made from isn't kept or can't be read here, or the recipe no longer checks.")
    }
  }

  private static func attempts(of step: StepRecord, _ request: PageRequest) -> Markup {
    let attempts = step.earlierAttempts + (step.lastAttempt.map { [$0] } ?? [])
    guard step.isAction, !attempts.isEmpty else { return .nothing }
    let rows = attempts.map { attempt -> [Markup] in
      let outcome: Markup
      if let error = attempt.error {
        outcome =
          Part.status("failed") + " " + Markup(request.seesData ? error.message : Part.words(error.kind.rawValue))
      } else {
        outcome = Part.status(attempt.endedAt == nil ? step.status.rawValue : "succeeded")
      }
      return [
        "\(attempt.number)", Part.time(attempt.startedAt, request.clock),
        Markup(attempt.endedAt.flatMap { $0.span(since: attempt.startedAt) }.map { $0.spoken } ?? ""), outcome,
      ]
    }
    let exchanges =
      request.seesData ? attempts.flatMap { attempt in attempt.exchanges.map { (attempt.number, $0) } } : []
    let requests = exchanges.suffix(100).map { number, exchange -> [Markup] in
      ["\(number)"]
        + ["method", "url", "status", "bytes", "took"].map { name in
          Markup(exchange[name].map { $0.string ?? JSON.displayed($0) } ?? "")
        }
    }
    return Part.heading("Attempts") + Part.table("Attempts", ["", "Began", "Took", "Outcome"], rows)
      + (requests.isEmpty
        ? .nothing
        : Part.heading("Requests")
          + Part.table("Requests", ["Attempt", "Method", "Address", "Status", "Bytes", "Took"], requests))
  }
}
