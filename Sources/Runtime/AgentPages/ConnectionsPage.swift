// The connections of errand.yaml, and the secrets that are needed: their names and whether they are there, never more.
import ActionKit
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func connections(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let known = try await request.ask(ListConnections())
    let seesData = request.seesData
    func names(_ names: [String], _ kind: String? = nil) -> Markup {
      if names.isEmpty { return .element("span", ["class": "quiet"], "none") }
      return Markup(
        names.enumerated().map { index, name in
          (index == 0 ? "" : ", ") + (kind.map { Part.link(name, to: pagePath($0, name)) } ?? Markup(name))
        })
    }
    let places = known.connections.map { connection -> [Markup] in
      var row = [Part.code(connection.name), Markup(connection.plugin)]
      if seesData {
        row.append(connection.address.map { Part.code($0) } ?? .element("span", ["class": "quiet"], "not known"))
      }
      let until = connection.heldUntil.flatMap { $0 > request.clock.now ? $0 : nil }
      row.append(
        Markup(connection.limitsText)
          + (until.map { "; its service asked to wait until " + Part.time($0, request.clock) } ?? .nothing))
      return row + [names(connection.recipes, "recipes")]
    }
    let needed = known.secrets.map { secret -> [Markup] in
      var row = [Part.code(secret.name), secret.statusMark]
      if seesData { row.append(Markup(secret.fault ?? secret.source ?? "")) }
      return row + [names(secret.connections), names(secret.recipes, "recipes")]
    }
    let headings = (
      ["Name", "Plugin"] + (seesData ? ["Address"] : []) + ["Limits", "Recipes"],
      ["Name", "Status"] + (seesData ? ["Comes from"] : []) + ["Connections", "Recipes"]
    )
    return request.frame(
      "Connections", "/state", Part.crumbs(("State", "/state")), .element("h1", [:], "Connections and secrets"),
      Part.heading("Connections"),
      places.isEmpty
        ? .element("p", ["class": "none"], "errand.yaml has none.")
        : Part.table("Connections", headings.0, places, kind: "listed"),
      Part.heading("Secrets"),
      needed.isEmpty
        ? .element("p", ["class": "none"], "None is needed.")
        : Part.table("Secrets", headings.1, needed, kind: "listed"),
      .element(
        "p", ["class": "quiet"], "No value is shown anywhere. ", Part.code("errand secrets check"),
        " also asks commands, such as password managers."))
  }
}

extension ConnectionRecord {
  fileprivate var limitsText: String {
    let parts = [
      maxParallel.map { "\(counted($0, "call")) at once" },
      requests.map { "\(counted($0, "request"))\(per.map { " in \($0.inWords)" } ?? "")" },
    ].compactMap { $0 }
    return parts.isEmpty ? "none" : parts.joined(separator: ", ")
  }
}

extension SecretRecord {
  fileprivate var statusMark: Markup {
    switch status {
    case .found: Part.status("succeeded", "found")
    case .missing: Part.status("failed", "missing")
    case .unavailable: Part.status("failed", "unavailable")
    case .notAsked: Part.status("skipped", "not asked yet")
    }
  }
}
