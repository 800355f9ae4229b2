// One step of a run: its input beside its output, its attempts with their requests, its lines, and its place in the
// recipe.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

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
    // Input and output are data.
    let detail =
      request.seesData
      ? try await request.ask(
        ShowStep.with {
          $0.run = run.id
          $0.step = path
        }) : nil
    var content: [Markup] = [
      Part.crumbs(
        ("Runs", "/runs"), (run.recipe, pagePath("runs", run.id)), ("Steps", pagePath("runs", run.id) + "#steps")),
      .element(
        "h1", [:], detail?.place?.name.map { Markup($0.shortened(to: 200)) + " " } ?? .nothing, Part.code(path), " ",
        Part.status(step.status.rawValue)),
      Part.facts([
        ("Began", Part.timeAndAgo(step.startedAt, request.clock)),
        ("Ended", step.endedAt.map { Part.time($0, request.clock) }),
        ("Took", step.status == .skipped ? nil : took.map { Markup($0.inShort) }),
        ("Attempts", step.attempts > 1 ? "\(step.attempts)" : nil),
        (step.timesOut ? "Times out" : "Waits until", step.wait?.wakeAt.map { Part.timeAndAgo($0, request.clock) }),
        ("Decision", decision), ("Resolved", resolution), ("Case", step.case.map { Markup($0) }),
      ]),
    ]
    if let error = step.error {
      let message: Markup =
        request.seesData
        ? Markup(error.message.shortened(to: 10_000)) : "Its message needs a token with the scope 'data'."
      content.append(
        Part.notice(
          .element("p", [:], .element("strong", [:], Markup(Part.words(error.kind.rawValue))), ": ", message),
          kind: "fault"))
    }
    if let detail {
      if step.items != nil {
        content.append(
          .element(
            "p", [:],
            Part.link("The items of this loop", to: pagePath("runs", run.id, query: [("in", path)]) + "#steps")))
      }
      let sides: [Markup] = [
        inputMarkup(detail, run, request.clock).map { Part.heading("Input") + $0 }, outputMarkup(detail, request.clock),
      ].compactMap { $0.map { .element("div", [:], $0) } }
      content.append(.element("div", ["class": "beside"], Markup(sides)))
      if let place = detail.place { content.append(recipePlace(place, run)) }
    }
    content += attempts(of: step, request)
    if request.seesData { content.append(try await latestLines(of: run, path, request)) }
    content.append(
      .element(
        "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
        .element("p", [:], Part.code("errand runs show \(run.id) \(path.shellQuoted)"))))
    return request.frame("\(path) of \(run.recipe)", "/runs", Part.fitting(content))
  }

  /// The input of a step; nil for a step that has none.
  private static func inputMarkup(_ detail: ShowStep.Answer, _ run: RunRecord, _ clock: WallClock) -> Markup? {
    func note(_ text: Markup) -> Markup { .element("p", ["class": "none"], text) }
    switch detail.inputKind {
    case "value":
      return detail.input.flatMap { Part.value($0, clock, within: Part.mostBytes / 4) } ?? note("Nothing.")
    case "kept":
      let other = run.origin.cause.run.map { Part.link("the run that this one retries", to: pagePath("runs", $0)) }
      return note("Kept from " + (other ?? "the run that this one retries") + ".")
    case "unknown" where run.erasedAt != nil: return note("Erased.")
    case "unknown":
      return note(
        "Unknown: a value that it was made from isn't kept or can't be read here, or the recipe no longer checks.")
    default: return nil
    }
  }

  /// The output of a step; nil for a step that has none.
  private static func outputMarkup(_ detail: ShowStep.Answer, _ clock: WallClock) -> Markup? {
    let step = detail.step
    guard let given = step.output ?? step.lastAttempt?.answer else { return nil }
    let title: Markup = step.output == nil ? "Answer, which doesn't fit the step's shape" : "Output"
    var value = detail.output
    if value == nil, case .blob(let reference) = given {
      value = .string("a value of \(reference.size) bytes, which is too large for a page")
    }
    return Part.heading(title)
      + (Part.value(value, clock, within: Part.mostBytes / 3) ?? .element("p", ["class": "none"], "Nothing."))
  }

  /// The step's lines in the recipe, as it was when the run began.
  private static func recipePlace(_ place: RecipePlace, _ run: RunRecord) -> Markup {
    Part.heading("In the recipe")
      + .element(
        "p", [:], "Line \(place.line), as it was when the run began; ",
        Part.link("the recipe now", to: pagePath("recipes", run.recipe) + "#line-\(place.line)"))
      + .element("pre", ["tabindex": "0", "aria-label": "The step in the recipe"], Markup(place.text))
  }

  /// The most attempts, and the most of their requests.
  private static let mostAttempts = 50

  private static func attempts(of step: StepRecord, _ request: PageRequest) -> [Markup] {
    let attempts = step.earlierAttempts + (step.lastAttempt.map { [$0] } ?? [])
    guard step.isAction, !attempts.isEmpty else { return [] }
    let rows = attempts.suffix(mostAttempts).map { attempt -> [Markup] in
      let outcome: Markup
      if let error = attempt.error {
        outcome =
          Part.status("failed") + " "
          + Markup(request.seesData ? error.message.shortened(to: 200) : Part.words(error.kind.rawValue))
      } else {
        outcome = Part.status(attempt.endedAt == nil ? step.status.rawValue : "succeeded")
      }
      return [
        "\(attempt.number)", Part.time(attempt.startedAt, request.clock),
        Markup(attempt.endedAt.flatMap { $0.span(since: attempt.startedAt) }.map { $0.inShort } ?? ""), outcome,
      ]
    }
    let exchanges =
      request.seesData ? attempts.flatMap { attempt in attempt.exchanges.map { (attempt.number, $0) } } : []
    let requests = exchanges.suffix(mostAttempts).map { number, exchange -> [Markup] in
      ["\(number)"]
        + ["method", "url", "status", "bytes", "took"].map { name in
          let text = exchange[name].map { $0.string ?? JSON.displayed($0) } ?? ""
          return Markup((name == "took" ? TimeSpan(text)?.inShort : nil) ?? text.shortened(to: 200))
        }
    }
    let headings = ["Attempt", "Method", "Address", "Status", "Bytes", "Took"]
    return [Part.heading("Attempts") + Part.table("Attempts", ["", "Began", "Took", "Outcome"], rows)]
      + (requests.isEmpty ? [] : [Part.heading("Requests") + Part.table("Requests", headings, requests)])
  }
}
