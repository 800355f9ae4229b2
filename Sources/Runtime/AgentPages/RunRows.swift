// Rows of runs in lists, which tell runs of one recipe apart: by the inputs, the cause, the end of the id, and the step
// or the error.
import Agent
import Basics
import RunState

extension Pages {
  /// How many characters of an id's end lists show; they are random, and the beginnings are equal within a minute.
  static let tail = 8

  /// - Parameter form: The form that a mark belongs to; nil for a row without one.
  static func openRow(_ run: RunRecord, _ request: PageRequest, markedIn form: String? = nil) -> Markup {
    let reason = request.seesData ? run.reason : nil
    // The one that began last, among the steps that lists have.
    let step = run.steps.last.map { Markup("at ") + Part.code($0.path.shortened(to: 80)) }
    var parts: [Markup] = [
      mark(run.id, run.recipe, form), Part.status(of: run),
      what(run.id, run.recipe, run.origin.inputs, [step, reason.map { short($0) }], request),
      .element(
        "span", ["class": "end"], Markup(run.origin.cause.inLists), ", began ", Part.ago(run.createdAt, request.clock)),
    ]
    if request.may(.approve), let step = run.steps.select({ $0.pointee.asksPerson }).first {
      parts.append(
        .element(
          "a", ["class": "button main", "href": pagePath("approvals", run.id, step.path)], Markup(step.callToAct),
          Part.unseen(" step \(step.path) of \(run.recipe), \(Part.short(run: run.id))")))
    } else if run.status == .uncertain, request.may(.steer) {
      parts.append(
        .element(
          "a", ["class": "button main", "href": pagePath("runs", run.id)], "Resolve",
          Part.unseen(" \(run.recipe), \(Part.short(run: run.id))")))
    }
    return Markup(parts)
  }

  static func finishedRow(_ run: RunSummary, _ request: PageRequest, markedIn form: String? = nil) -> Markup {
    let took = run.endedAt.span(since: run.createdAt).map { ", took \($0.inShort)" } ?? ""
    let cause = run.cause.map { "\($0.inLists), " } ?? ""
    let reason = request.seesData ? run.reason : nil
    return Markup([
      mark(run.id, run.recipe, form), Part.status(run.status.rawValue),
      what(run.id, run.recipe, run.inputs, [reason.map { short($0) }], request),
      .element(
        "span", ["class": "end"], Markup("\(cause)began "), Part.ago(run.createdAt, request.clock), Markup(took)),
    ])
  }

  /// A link to a run, named so that no other one is named alike.
  static func link(toRun id: String, of recipe: String) -> Markup {
    .element("a", ["href": pagePath("runs", id)], Markup("\(recipe) "), Part.code(String(id.suffix(tail))))
  }

  private static func mark(_ id: String, _ recipe: String, _ form: String?) -> Markup {
    guard let form else { return .nothing }
    return .element(
      "input",
      [
        "type": "checkbox", "name": "run", "value": id, "form": form, "autocomplete": "off",
        "aria-label": "Mark \(recipe) \(id.suffix(tail))",
      ])
  }

  /// - Parameter inputs: The inputs in short.
  private static func what(
    _ id: String, _ recipe: String, _ inputs: Value?, _ news: [Markup?], _ request: PageRequest
  ) -> Markup {
    var lines: [Markup] = []
    if request.seesData, let inputs = inputs?.map?.members, !inputs.isEmpty {
      let texts = inputs.map { "\($0.name ?? "") \($0.value.string?.firstLine ?? "")" }
      lines.append(Markup(texts.joined(separator: ", ").shortened(to: 160)))
    }
    let news = news.compactMap(\.self)
    if !news.isEmpty { lines.append(Markup(Array(news.map { [$0] }.joined(separator: [": "])))) }
    return .element(
      "span", ["class": "grow"], link(toRun: id, of: recipe),
      Markup(lines.map { .element("span", ["class": "quiet"], $0) }))
  }

  private static func short(_ reason: String) -> Markup { Markup(reason.firstLine.shortened(to: 120)) }
}

extension RunCause {
  /// The cause in a few words, for a list.
  var inLists: String {
    let named = schedule.map { " \($0)" } ?? ""
    let asked = asker.map { " by \($0)" } ?? ""
    return switch kind {
    case .manual: again == nil ? "by \(asker ?? "hand")" : "again\(asker.map { ", by \($0)" } ?? "")"
    case .slot: "by schedule\(named)"
    case .trigger: "out of turn for\(named)\(asked)"
    case .backfill: "backfill of\(named)"
    case .event: "by an event\(schedule.map { " for \($0)" } ?? "")"
    case .afterRecipe: "after another run"
    case .file: "by a file\(schedule.map { " for \($0)" } ?? "")"
    case .retry: "retry\(asked)"
    case .failure: "after a failure"
    }
  }
}
