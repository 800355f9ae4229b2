// The tokens of callers, and the form that makes one. The text of a new token is shown once, on the page that answers the
// form; the state has only its hash.
import Agent
import Basics
import Calendars
import HTTPServer
import Operations
import RunState

/// The form of a new token, as a person has filled it in.
struct TokenForm {
  var name = ""
  var scopes: Set<TokenScope> = [.read]
  /// The recipes, one a line.
  var recipes = ""
  /// A length of time or an instant.
  var end = ""
  var fault: FormFault?
  var faultOfEnd: String?

  init() {}

  init(_ form: HTTPQuery) {
    name = (form["name"] ?? "").trimmed
    scopes = Set(form.items.filter { $0.name == "scope" }.compactMap { TokenScope(rawValue: $0.value) })
    recipes = form["recipes"] ?? ""
    end = (form["end"] ?? "").trimmed
  }

  /// The names of the recipes; none if it isn't limited.
  var recipeNames: [String] {
    recipes.split(separator: "\n").map { String($0).trimmed }.filter { !$0.isEmpty }
  }

  /// The faults, for the top of the page; nothing if the form wasn't refused.
  var faults: Markup {
    let faults = [fault, faultOfEnd.map { FormFault("End: \($0)", at: "end") }].compactMap(\.self)
    return faults.isEmpty
      ? .nothing : Part.faults("No token was made. Look at what is wrong, and send the form again.", faults)
  }

  /// - Parameter scopes: The scopes that the visitor can give.
  /// - Parameter zone: The name of the zone that a date is in.
  func markup(_ scopes: [TokenScope], in zone: String) -> Markup {
    let boxes = scopes.map { scope -> Markup in
      .element(
        "label", ["class": "choice"],
        .element(
          "input",
          [
            "type": "checkbox", "name": "scope", "value": scope.rawValue,
            "checked": self.scopes.contains(scope) ? "" : nil,
          ]), .element("span", [:], Part.code(scope.rawValue), " ", .element("span", ["class": "quiet"], scope.purpose))
      )
    }
    return .element(
      "form", ["class": "card", "method": "post", "action": "/tokens"], .element("h2", [:], "Make a token"),
      Part.field("name", "Name", name, hint: "Decisions of its owner are recorded under this name."),
      .element("fieldset", ["id": "scopes", "tabindex": "-1"], .element("legend", [:], "Scopes"), Markup(boxes)),
      .element(
        "label", ["for": "recipes"], "Recipes", .element("span", ["class": "quiet"], " (optional; all if empty)")),
      .element("p", ["class": "hint", "id": "recipes-hint"], "Write one name a line. The token sees no others."),
      .element(
        "textarea",
        ["id": "recipes", "name": "recipes", "spellcheck": "false", "aria-describedby": "recipes-hint"],
        Markup(field: recipes)),
      Part.field(
        "end", "End", end, hint: "A length of time such as 90d, or a date such as 2027-01-31.", fault: faultOfEnd,
        isRequired: false), Part.hidden("zone", zone),
      .element("div", ["class": "actions"], .element("button", ["class": "main"], "Make the token")),
      Part.command("errand token new NAME --scope read --recipe RECIPE --expires 90d"))
  }
}

extension Pages {
  static func tokens(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    try await tokens(request, TokenForm())
  }

  private static func tokens(_ request: PageRequest, _ form: TokenForm) async throws(Problem) -> HTTPServerResponse {
    let (list, first) = (try await request.ask(ListTokens()), request.first)
    let all = list.tokens
    let rows = all.dropFirst(first).prefix(PageRequest.mostRows).map { token -> Markup in
      let isOwn = request.caller.token.map { $0 == token.sha256 } ?? false
      let recipes = token.recipes.isEmpty ? "all recipes" : "only \(token.recipes.joined(separator: ", "))"
      var parts: [Markup] = [
        .element(
          "span", ["class": "grow"], .element("strong", [:], Markup(token.name)), isOwn ? " (yours)" : .nothing,
          .element(
            "span", ["class": "quiet"], Markup("\(token.scopes.map(\.rawValue).joined(separator: ", ")); \(recipes)"),
            decisions(of: token, list))),
        .element(
          "span", ["class": "end"], "made ", Part.ago(token.at, request.clock),
          Markup(token.usedOn.map { ", last used on \($0.utcDate)" } ?? ", never used"), end(of: token, request)),
      ]
      if token.isExpired(at: request.clock.now) { parts.insert(Part.status("failed", "expired"), at: 0) }
      let warning = "Programs and people that use it are refused at once\(isOwn ? ", and you are logged out" : "")."
      parts.append(
        Part.button(
          Part.Action(
            label: "Revoke", path: pagePath("tokens", token.name, "revoke"),
            command: "errand token revoke \(token.name.shellQuoted)", kind: "risky", about: token.name, warning: warning
          )))
      return Markup(parts)
    }
    let isRefused = form.fault != nil || form.faultOfEnd != nil
    return request.frame(
      "Tokens", "/state", isRefused: isRefused, Part.crumbs(("State", "/state")), .element("h1", [:], "Tokens"),
      form.faults,
      .element("p", ["class": "lead"], "A token lets a program or a person use this agent over HTTP."),
      Part.rows(rows, orElse: "There are no tokens."),
      all.contains { $0.usedOn != nil }
        ? .element("p", ["class": "quiet small"], "The days of uses are in UTC.") : .nothing,
      Part.pager(first, rows.count, of: all.count, by: PageRequest.mostRows) { request.page(from: $0, "tokens") },
      unrepresented(list, request),
      form.markup(TokenScope.allCases.filter { request.may($0) }, in: request.clock.zone.name))
  }

  /// The most recipes that are named one by one.
  private static let mostNamed = 5

  private static func names(_ recipes: [String]) -> String {
    let rest = recipes.count - mostNamed
    return joined(rest > 0 ? Array(recipes.prefix(mostNamed)) + ["\(rest) more"] : recipes)
  }

  /// Which questions a token answers, by its name.
  private static func decisions(of token: TokenIssued, _ list: TokenList) -> Markup {
    guard token.scopes.contains(.approve) else { return .nothing }
    let recipes = list.deciders[token.name] ?? []
    return Markup(
      recipes.isEmpty
        ? "; decides as \(token.name), which no recipe names in 'by'"
        : "; decides as \(token.name), named in 'by' of \(names(recipes))")
  }

  /// The names in `by` under which no token decides; people with such a name decide by a link or on the machine.
  private static func unrepresented(_ list: TokenList, _ request: PageRequest) -> Markup {
    let able = Set(
      list.tokens.filter { $0.scopes.contains(.approve) && !$0.isExpired(at: request.clock.now) }.map(\.name))
    let missing = list.deciders.filter { !able.contains($0.key) }.sorted { $0.key.precedesByScalars($1.key) }
    if missing.isEmpty { return .nothing }
    let rows = missing.prefix(PageRequest.mostRows).map { name, recipes in [Part.code(name), Markup(names(recipes))] }
    return Part.heading("People in 'by' without a token that decides", count: missing.count)
      + .element("p", [:], "They decide by a link, or on the agent's machine.")
      + Part.table("People without a token", ["Name", "Recipes"], rows)
  }

  private static func end(of token: TokenIssued, _ request: PageRequest) -> Markup {
    guard let end = token.expiresAt else { return ", never ends" }
    return (token.isExpired(at: request.clock.now) ? ", ended " : ", ends ") + Part.ago(end, request.clock)
  }

  /// Makes a token and shows its text, or the form again with its fault.
  static func issueToken(_ request: PageRequest, _ form: HTTPQuery) async throws(Problem) -> HTTPServerResponse {
    try request.admit(to: IssueToken.self)
    var given = TokenForm(form)
    var end: Timestamp?
    if !given.end.isEmpty {
      end = request.end(given.end, by: request.clock(of: form))
      if end == nil { given.faultOfEnd = "This is neither a length of time nor a coming date: \(given.end.shortened)" }
    }
    if given.scopes.isEmpty { given.fault = FormFault("Choose at least one scope.", at: "scopes") }
    var status = 422
    if given.fault == nil, given.faultOfEnd == nil {
      // Approving and showing values need the scope 'read' too.
      if given.scopes.contains(.approve) || given.scopes.contains(.data) { given.scopes.insert(.read) }
      let asked = IssueToken.with {
        $0.name = given.name
        $0.scopes = TokenScope.allCases.filter(given.scopes.contains).map { Word($0) }
        $0.recipes = given.recipeNames
        $0.expiresAt = end
      }
      do throws(Problem) {
        let made = try await request.ask(asked)
        return issued(made.token, text: made.text, request)
      } catch {
        guard [.refusal(.request), .refusal(.conflict), .forbidden].contains(error.kind) else { throw error }
        given.fault = FormFault(error.detail)
        status = error.kind.status
      }
    }
    var response = try await tokens(request, given)
    response.status = status
    return response
  }

  private static func issued(_ token: TokenIssued, text: String, _ request: PageRequest) -> HTTPServerResponse {
    let recipes = token.recipes.isEmpty ? "all" : token.recipes.joined(separator: ", ")
    var response = request.frame(
      "Token", "/state", Part.crumbs(("State", "/state"), ("Tokens", "/tokens")),
      .element("h1", [:], Markup("The token '\(token.name)'")),
      Part.notice(
        .element("p", [:], "Save this token now; it isn't shown again. Anyone who has it can act as '\(token.name)'.")
          + .element("p", [:], Part.code(text)), kind: "good"),
      Part.facts([
        ("Scopes", Markup(token.scopes.map(\.rawValue).joined(separator: ", "))), ("Recipes", Markup(recipes)),
        ("Ends", token.expiresAt.map { Part.timeAndAgo($0, request.clock) } ?? "never"),
      ]),
      .element("p", ["class": "actions"], .element("a", ["class": "button", "href": "/tokens"], "All tokens")))
    response.headers["Cache-Control"] = "no-store"
    return response
  }
}

extension PageRequest {
  /// The instant that a person means by a length of time from now, or by a date; nil if it isn't one to come.
  fileprivate func end(_ text: String, by clock: WallClock) -> Timestamp? {
    let end = TimeSpan(text).flatMap { clock.now.advanced(by: $0) } ?? clock.instant(text)
    return end.flatMap { $0 > clock.now ? $0 : nil }
  }
}

extension TokenScope {
  /// The sentence about the scope, for the form.
  fileprivate var purpose: Markup {
    switch self {
    case .read: "see runs, schedules and recipes"
    case .data: "see inputs, outputs, messages and printed lines"
    case .start: "start runs and send events"
    case .steer: "pause, resume, cancel, retry and resolve runs, and steer schedules and workers"
    case .approve: "make decisions"
    case .edit: "change recipes and errand.yaml, and so run any program as the agent's account"
    case .metrics: "read /metrics"
    case .tokens: "list, make and revoke tokens"
    }
  }
}
