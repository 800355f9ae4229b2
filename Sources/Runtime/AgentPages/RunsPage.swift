// The list of runs, whose filters are in its address.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func runs(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let name = request.given("status")
    let status = name.flatMap(RunStatus.init(rawValue:))
    if let name, status == nil {
      let known = RunStatus.allCases.map(\.rawValue)
      let guess = name.nearest(among: known).map { "did you mean '\($0)'?" }
      throw Problem(
        .refusal(.request), "no run has the status '\(name.shortened)'; \(guess ?? "there are \(joined(known))")")
    }
    var asked = RunListQuery(
      limit: 50, recipe: request.given("recipe"), statuses: status.map { [$0] } ?? [], after: request.given("cursor"),
      isPaged: true)
    asked.since = try instant(request, "since")
    asked.until = try instant(request, "until")
    let list = try await request.ask(ListRuns(asked))
    let rows =
      list.openWithReasons.reversed().map { openRow($0, request) } + list.finished.map { finishedRow($0, request) }
    let filters = ["recipe", "status", "since", "until"].map { ($0, request.given($0) ?? "") }
    let isFiltered = filters.contains { !$0.1.isEmpty }
    let announcement = "\(counted(list.openCount, "open run")), \(counted(rows.count, "run")) listed"
    return request.frame(
      "Runs", "/runs", live: .init(seconds: 5, announcement: announcement), .element("h1", [:], "Runs"),
      filter(request, status, isFiltered: isFiltered),
      Part.rows(rows, orElse: isFiltered ? "No run matches." : "No recipe has run yet."),
      Part.next(list.next, "Older runs", "runs", filters))
  }

  private static func filter(_ request: PageRequest, _ status: RunStatus?, isFiltered: Bool) -> Markup {
    let options =
      [Markup.element("option", ["value": ""], "any")]
      + RunStatus.allCases.map {
        .element(
          "option", ["value": $0.rawValue, "selected": $0 == status ? "" : nil], Markup(Part.words($0.rawValue)))
      }
    return .element(
      "form", ["class": "filter", "method": "get", "action": "/runs"],
      .element(
        "label", [:], "Recipe",
        .element("input", ["name": "recipe", "value": request.given("recipe") ?? "", "autocomplete": "off"])),
      .element("label", [:], "Status", .element("select", ["name": "status"], Markup(options))),
      .element(
        "label", [:], "From", .element("input", ["name": "since", "type": "date", "value": request.given("since")])),
      .element(
        "label", [:], "Before", .element("input", ["name": "until", "type": "date", "value": request.given("until")])),
      .element("button", [:], "Show"),
      isFiltered ? .element("a", ["class": "button", "href": "/runs"], "All") : .nothing)
  }

  private static func instant(_ request: PageRequest, _ name: String) throws(Problem) -> Timestamp? {
    guard let text = request.given(name) else { return nil }
    guard let instant = request.clock.instant(text) else {
      throw Problem(.refusal(.request), "'\(text.shortened)' isn't a date; write 2026-11-20")
    }
    return instant
  }
}
