// The list of runs, whose filters are in its address.
import Agent
import Basics
import HTTPServer
import RunState

extension Pages {
  static func runs(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let status = request.given("status").flatMap(RunStatus.init(rawValue:))
    var asked = RunListQuery(
      limit: 50, recipe: request.given("recipe"), statuses: status.map { [$0] } ?? [], after: request.given("cursor"))
    asked.since = try instant(request, "since")
    asked.until = try instant(request, "until")
    let (open, finished, next) = try await request.ask(.runs(asked)) {
      if case .runs(let open, let finished, let next) = $0 { (open, finished, next) } else { nil }
    }
    let rows = open.reversed().map { openRow($0, request) } + finished.map { finishedRow($0, request) }
    let filters = ["recipe", "status", "since", "until"].map { ($0, request.given($0) ?? "") }
    let isFiltered = filters.contains { !$0.1.isEmpty }
    let more = next.map { next -> Markup in
      .element(
        "p", ["class": "actions"],
        .element(
          "a", ["class": "button", "rel": "next", "href": pagePath("runs", query: filters + [("cursor", next)])],
          "Older runs"))
    }
    return request.frame(
      "Runs", "/runs", .element("h1", [:], "Runs"), filter(request, status, isFiltered: isFiltered),
      Part.rows(rows, orElse: isFiltered ? "No run matches." : "No recipe has run yet."), more ?? .nothing)
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
      throw Problem(.refusal(.request), "'\(text.brief)' isn't a date; write 2026-11-20")
    }
    return instant
  }
}
