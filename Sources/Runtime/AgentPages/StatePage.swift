// The state of the agent, and the faults of the recipes.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  /// The most faults on a page, and the most characters of one.
  private static let (mostFaults, longestFault) = (20, 2_000)

  static func state(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let report = try await request.ask(ShowStatus())
    let (all, first) = (report.served?.faults ?? [], request.first)
    let faults = all.dropFirst(first).prefix(mostFaults).map { fault -> Markup in
      .element("pre", ["tabindex": "0"], Markup(fault.shortened(to: longestFault)))
    }
    let counts = report.runs.sorted { $0.key.precedesByScalars($1.key) }.map { "\($0.value) \(Part.words($0.key))" }
    return request.frame(
      "State", "/state", .element("h1", [:], "State"),
      Part.facts([
        ("Program", Markup(report.program)), ("Process", report.pid == 0 ? nil : "\(report.pid)"),
        ("Serves since", Part.timeAndAgo(report.since, request.clock)),
        ("Database", report.database.map { Part.code($0) }),
        ("Open runs", Markup(counts.isEmpty ? "none" : counts.joined(separator: ", "))),
        ("Recipes", report.served.map { "\($0.recipes)" }), ("Schedules", report.served.map { "\($0.schedules)" }),
        ("Next slot", report.served?.nextSlot.map { Part.timeAndAgo($0, request.clock) }),
      ]), .element("h2", ["id": "faults"], "Errors in recipes"),
      faults.isEmpty ? .element("p", ["class": "none"], "None.") : Markup(faults),
      Part.pager(first, faults.count, of: all.count, by: mostFaults) { request.page(from: $0, "state") + "#faults" },
      Part.heading("Elsewhere"), elsewhere(request),
      .element(
        "p", [:], "What programs can ask is described in ", Part.link("the document of the API", to: "/openapi.json"),
        "; ", Part.link("what the words and keys mean", to: "/help"), "."))
  }

  /// The pages about the whole agent, which a visitor who is limited to recipes doesn't see.
  private static func elsewhere(_ request: PageRequest) -> Markup {
    guard request.caller.recipes.isEmpty else { return .nothing }
    var pages = [("Workers", "/workers", ": the programs that share the state.")]
    if request.may(.steer) {
      pages.insert(("Connections and secrets", "/connections", ": what is there and what is missing."), at: 0)
    }
    if request.may(.tokens) { pages.append(("Tokens", "/tokens", ": who may use this agent, and for what.")) }
    let links = pages.map { name, path, purpose -> Markup in
      .element("p", [:], Part.link(name, to: path), Markup(purpose))
    }
    return Markup(links)
  }
}
