// The state of the agent, and the faults of the recipes; and the choices of a person: the time zone, and an end of all
// logins.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  /// The most faults on a page, and the most characters of one.
  private static let (mostFaults, longestFault) = (20, 2_000)

  /// - Parameters:
  ///   - zone: The form of the time zone, if it was refused.
  ///   - fault: Why errand.yaml isn't read again, if that was asked for.
  static func state(
    _ request: PageRequest, zone: ZoneForm? = nil, fault: String? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let report = try await request.ask(ShowStatus.with { $0.size = true })
    let (all, first) = (report.served?.faults ?? [], request.first)
    let findings = report.served?.findings ?? []
    let faults = all.enumerated().dropFirst(first).prefix(mostFaults).map { index, fault -> Markup in
      .element("pre", ["tabindex": "0"], Markup(fault.shortened(to: longestFault)))
        + (index < findings.count ? wayToEdit(findings[index], request) : .nothing)
    }
    let counts = report.runs.sorted { $0.key.precedesByScalars($1.key) }.map { "\($0.value) \(Part.words($0.key))" }
    var response = request.frame(
      zone?.fault == nil && fault == nil ? "State" : "Error: State", "/state", .element("h1", [:], "State"),
      fault.map {
        Part.notice(
          .element("p", [:], "errand.yaml was not read again.") + .element("pre", [:], Markup($0)), kind: "fault")
      } ?? .nothing,
      Part.facts([
        ("Program", Markup(report.program)), ("Process", report.pid == 0 ? nil : "\(report.pid)"),
        ("Serves since", Part.timeAndAgo(report.since, request.clock)),
        ("Database", report.database.map { Part.code($0) }),
        ("Size of the state", report.size.map { Markup($0) }),
        ("Open runs", Markup(counts.isEmpty ? "none" : counts.joined(separator: ", "))),
        ("Recipes", report.served.map { "\($0.recipes)" }), ("Schedules", report.served.map { "\($0.schedules)" }),
        ("Next slot", report.served?.nextSlot.map { Part.timeAndAgo($0, request.clock) }),
      ]), Part.actions(reload(request)), .element("h2", ["id": "faults"], "Errors in recipes"),
      faults.isEmpty ? .element("p", ["class": "none"], "None.") : Markup(faults),
      Part.pager(first, faults.count, of: all.count, by: mostFaults) { request.page(from: $0, "state") + "#faults" },
      (zone ?? ZoneForm(request.http)).markup(request),
      .element("h2", ["id": "logins"], "Logins"),
      .element("p", [:], Markup("A login lasts \(SessionTable.sessionLifetime.inWords), also after a restart.")),
      Part.actions(logOut(request)),
      Part.heading("Elsewhere"), elsewhere(request),
      .element(
        "p", [:], "What programs can ask is described in ", Part.link("the document of the API", to: "/openapi.json"),
        "; ", Part.link("what the words and keys mean", to: "/help"), "."))
    if zone?.fault != nil || fault != nil { response.status = 422 }
    return response
  }

  /// The way to the line of a fault, for a person who may edit it.
  private static func wayToEdit(_ finding: FindingRecord, _ request: PageRequest) -> Markup {
    guard request.may(.edit), let file = finding.file, let line = finding.line else { return .nothing }
    let path = pagePath("edit", file, query: [("line", "\(line)")]) + "#line-\(line)"
    return .element("p", [:], Part.link("Edit line \(line) of \(file)", to: path))
  }

  private static func reload(_ request: PageRequest) -> [Part.Action] {
    guard request.may(.edit), request.caller.recipes.isEmpty else { return [] }
    return [
      Part.Action(label: "Read errand.yaml again", path: "/state/configuration/reload", command: "errand reload")
    ]
  }

  private static func logOut(_ request: PageRequest) -> [Part.Action] {
    var action = Part.Action(
      label: "Log out everywhere", path: "/state/logins/end", command: "errand open --log-out", kind: "risky")
    action.warning = "Every browser in which you are logged in, this one too, has to log in again."
    guard request.may(.tokens), request.caller.recipes.isEmpty else { return [action] }
    var all = Part.Action(
      label: "Log out all people", path: "/state/logins/end", command: "errand open --log-out --everyone", kind: "risky"
    )
    all.warning = "Every browser of every person, this one too, has to log in again."
    all.fields = [("all", "true")]
    return [action, all]
  }

  /// Ends logins, which ends the visitor's.
  static func endLogins(_ request: PageRequest, _ form: HTTPQuery) async throws(Problem) -> HTTPServerResponse {
    _ = try await request.ask(EndSessions.with { $0.all = form["all"] == "true" })
    return redirect("/login")
  }

  /// Reads errand.yaml again, or shows why that failed.
  static func reloadConfiguration(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    do throws(Problem) { _ = try await request.ask(ReloadConfiguration()) } catch {
      guard error.kind == .refusal(.configuration) else { throw error }
      return try await state(request, fault: error.detail)
    }
    return redirect("/state")
  }

  /// Keeps the choice of a time zone, or shows the form again.
  static func chooseZone(_ request: PageRequest, _ form: HTTPQuery) async throws(Problem) -> HTTPServerResponse {
    let given = ZoneForm(form)
    guard let choice = given.choice else { return try await state(request, zone: given) }
    var response = redirect("/state#zone")
    response.headers["Set-Cookie"] = choice.header
    return response
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

/// The form of the time zone, as a person has filled it in.
struct ZoneForm {
  private var which: String
  private var name: String
  let fault: String?

  /// The form as it is chosen now.
  init(_ request: HTTPServerRequest) {
    (which, name, fault) =
      switch ViewerZone.choice(of: request) {
      case .browser: ("browser", "", nil)
      case .folder: ("folder", "", nil)
      case .zone(let name): ("zone", name, nil)
      }
  }

  init(_ form: HTTPQuery) {
    let name = (form["zone"] ?? "").trimmed
    (which, self.name) = (form["which"] ?? "", name)
    if ViewerZone.Choice(which, named: name) != nil {
      fault = nil
    } else if which == "zone" {
      fault =
        name.isEmpty ? "Write the name of a zone, such as Europe/Paris." : "There is no time zone '\(name.shortened)'."
    } else {
      fault = "Choose one of these."
    }
  }

  var choice: ViewerZone.Choice? { ViewerZone.Choice(which, named: name) }

  func markup(_ request: PageRequest) -> Markup {
    let browsers = ViewerZone.browsers(request.http).map { ": \($0)" } ?? ", which this one doesn't tell"
    let choices = [("browser", "The browser's\(browsers)"), ("folder", "The folder's"), ("zone", "This one:")].map {
      value, label -> Markup in
      .element(
        "label", ["class": "choice"],
        .element(
          "input", ["type": "radio", "name": "which", "value": value, "checked": value == which ? "" : nil]),
        .element("span", [:], Markup(label)))
    }
    let options = ViewerZone.all.map { Markup.element("option", ["value": $0]) }
    return .element(
      "form", ["class": "card", "method": "post", "action": "/state/zone/choose"],
      .element("h2", ["id": "zone"], "Time zone"),
      fault.map {
        Markup.element(
          "p", ["class": "wrong", "id": "zone-wrong", "role": "alert"], Part.link($0, to: "#zone-name"))
      } ?? .nothing,
      .element(
        "fieldset", [:], .element("legend", [:], "Pages show times of"), Markup(choices),
        .element("label", ["class": "hidden", "for": "zone-name"], "Name of the zone"),
        .element(
          "input",
          [
            "id": "zone-name", "name": "zone", "value": name.isEmpty ? nil : name, "list": "zones",
            "autocomplete": "off",
            "placeholder": "Europe/Paris", "aria-invalid": fault == nil ? nil : "true",
            "aria-describedby": fault == nil ? nil : "zone-wrong",
          ])),
      .element("datalist", ["id": "zones"], Markup(options)),
      .element("div", ["class": "actions"], .element("button", [:], "Keep")))
  }
}
