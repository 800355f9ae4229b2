// Who may see the pages: logging in and out.
import Agent
import AgentPages
import Basics
import HTTPServer
import Recipes
import RunState

extension Authenticator {
  /// The name of the browser's session cookie.
  ///
  /// A browser sends the cookies of a host to all of its ports, so that each agent of a machine has its own name.
  static func cookie(for request: HTTPServerRequest) -> String {
    let host = request.headers["Host"] ?? ""
    let port = host.utf8.lastIndex(of: ASCII.colon).map { host.utf8[host.utf8.index(after: $0)...] }
    guard let port, !port.isEmpty, port.allSatisfy(ASCII.digits.contains) else { return "errand_session" }
    return "errand_session_\(Substring(port))"
  }

  /// Who asks for a page.
  enum Visit {
    case here(AgentCaller)
    /// Without a login; with the reason if there was one.
    case away(LoginEnd?)
  }

  /// The caller of a page, by the browser's cookie or as programs are known.
  func visit(of request: HTTPServerRequest) async throws(Problem) -> Visit {
    if request.account != nil || request.headers["Authorization"] != nil {
      return .here(try await caller(of: request))
    }
    guard let text = request.cookie(Authenticator.cookie(for: request)) else { return .away(nil) }
    guard let session = await sessions.session(text) else { return .away(.ended) }
    var token: TokenIssued?
    if let digest = session.token {
      // A token that was revoked or has expired ends its sessions.
      token = await validToken(digest)
      if token == nil { return .away(.token) }
    }
    let now = time.now()
    guard now < session.until else { return .away(.over) }
    if request.method != "GET", request.method != "HEAD" { try checkIsOfPage(request) }
    await sessions.note(token, session, at: now)
    var caller = token.map { AgentCaller(token: $0) } ?? AgentCaller(name: session.name, account: session.account)
    (caller.isOwn, caller.isOnPage) = (false, true)
    return .here(caller)
  }

  /// Whether a form names the page that sent it, which `checkOrigin` compares.
  func checkIsOfPage(_ request: HTTPServerRequest) throws(Problem) {
    guard request.headers["Origin"] != nil else {
      throw Problem(.foreignOrigin, "a form has to say which page sent it; the browser left the field Origin out")
    }
  }

  /// The cookie of a session, which the browser keeps until the state has forgotten the session, so that the login page
  /// can tell why it is over.
  func cookieHeader(_ session: String, lasting span: TimeSpan, for request: HTTPServerRequest) -> String {
    let isSecure = settings.publicURL?.hasPrefix("https://") ?? false
    return
      "\(Authenticator.cookie(for: request))=\(session); Path=/; Max-Age=\(Int(span.inSeconds)); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
  }
}

/// Why a browser that was logged in isn't any more.
enum LoginEnd: String {
  /// It lasted as long as a login does.
  case over
  /// The token that it was made with was revoked or has expired.
  case token
  /// It was ended, or the state is another one.
  case ended

  var sentence: String {
    switch self {
    case .over: "Your login has ended: a login lasts \(SessionTable.sessionLifetime.inWords)."
    case .token: "Your login has ended: its token was revoked or has expired."
    case .ended: "Your login has ended: you were logged out, or many people have logged in since."
    }
  }
}

extension HTTPServerRequest {
  /// The path of the form's page: the referring page, or else the page of the form's subject.
  var pageOfForm: String {
    if let referer = headers["Referer"], let scheme = referer.utf8Parts(around: "://") {
      let path = Substring(scheme.after.utf8.drop { $0 != ASCII.slash })
      if !path.isEmpty, !path.hasPrefix("/login") { return String(path) }
    }
    return "/" + rawPath.split(separator: "/").dropLast().joined(separator: "/")
  }
}

/// Logging in and out.
struct LoginPage {
  let authenticator: Authenticator
  let sessions: SessionTable
  let isSandbox: Bool

  /// The answer to a request for `/login` or `/logout`.
  func answer(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    if request.method == "POST", request.account == nil { try authenticator.checkIsOfPage(request) }
    let now = authenticator.time.now()
    let target = LoginPage.target(request.query["to"] ?? request.form["to"])
    let kept = LoginPage.kept(in: request)
    switch (request.rawPath, request.method) {
    case ("/logout", "POST"):
      if let session = request.cookie(Authenticator.cookie(for: request)) {
        try await recorded { () async throws(StateError) in try await sessions.end(session, at: now) }
      }
      var response = Pages.redirect("/login")
      response.headers["Set-Cookie"] = authenticator.cookieHeader("", lasting: .zero, for: request)
      return response
    case ("/login", "POST"):
      let text = (request.form["token"] ?? "").trimmed
      guard let digest = SHA256.digest(of: Array(text.utf8)), let token = await authenticator.validToken(digest) else {
        return form(target, fault: "This token isn't valid. 'errand token new NAME' makes one.", keeping: kept)
      }
      guard token.scopes.contains(.read) else {
        return form(target, fault: "This token lacks the scope 'read', which the pages need.", keeping: kept)
      }
      let session = try await recorded { () async throws(StateError) in
        try await sessions.begin(for: AgentCaller(token: token), at: now)
      }
      return enter(session, target, keeping: kept, request)
    case ("/login", _):
      // A client that only checks an address sends HEAD, and must not use up the link.
      guard request.method == "GET", let link = request.query["link"] else {
        return form(target, fault: nil, end: request.query["why"].flatMap { LoginEnd(rawValue: $0) })
      }
      let opened = try await recorded { () async throws(StateError) in try await sessions.open(link: link, at: now) }
      guard let session = opened else {
        return form(target, fault: "This link has been used, or a minute has passed. 'errand open' makes a new one.")
      }
      return enter(session, target, request)
    default:
      throw Problem(.method, "this path takes POST", headers: ["Allow": "POST"])
    }
  }

  /// Calls the state, and turns its errors into problems.
  private func recorded<Output>(_ body: () async throws(StateError) -> Output) async throws(Problem) -> Output {
    do throws(StateError) { return try await body() } catch { throw Problem(RequestRefusedError(error)) }
  }

  /// The answer to a browser that isn't logged in, or no longer: it leads back to the page that was asked for.
  func answer(toUnknown request: HTTPServerRequest, _ end: LoginEnd?) -> HTTPServerResponse {
    if request.method == "POST" { return answer(toForm: request, end) }
    return Pages.redirect(pagePath("login", query: [("to", request.target), ("why", end?.rawValue ?? "")]))
  }

  /// The answer to a form that is sent without a login: what was typed is kept until there is one.
  private func answer(toForm request: HTTPServerRequest, _ end: LoginEnd?) -> HTTPServerResponse {
    let sentence = end?.sentence ?? "Your login has ended."
    if let fault = request.formFault {
      return form(request.pageOfForm, fault: "\(sentence) The form can't be kept: \(fault).")
    }
    return form(
      request.pageOfForm,
      fault: "\(sentence) The form was not sent; log in, and you can send it as it is.",
      keeping: HTTPQuery([.init(LoginPage.path, request.rawPath)] + KeptForm.fields(of: request.form)))
  }

  /// The name of the path that a kept form goes to, among its fields.
  private static let path = "path"
  private static let mark = "kept."

  /// The earlier form that the login page keeps, if there is one.
  private static func kept(in request: HTTPServerRequest) -> HTTPQuery {
    HTTPQuery(
      request.form.items.filter { $0.name.hasPrefix(mark) }.map {
        .init(String($0.name.dropFirst(mark.utf8.count)), $0.value)
      })
  }

  private static func hidden(_ items: [HTTPQuery.Item], _ mark: String = "") -> Markup {
    Markup(items.map { .element("input", ["type": "hidden", "name": mark + $0.name, "value": $0.value]) })
  }

  /// Offers to send a kept form.
  private func offer(_ kept: HTTPQuery, _ target: String) -> HTTPServerResponse {
    let items = Array(kept.items.dropFirst())
    let displayed = KeptForm.filledIn(items).map { name, text in
      let words: Markup =
        text.map { .element("span", ["class": "lines-kept"], Markup($0.shortened(to: 2000))) }
        ?? .element("span", ["class": "quiet"], "not kept, because it isn't the name of a secret (@secret:NAME)")
      return (name, Markup?.some(words))
    }
    return frame(
      "Send the form",
      Markup([
        .element("h1", [:], "You are logged in again"),
        .element("p", [:], "The form was not sent yet. This is what you had filled in:"), Part.facts(displayed),
        .element(
          "form", ["method": "post", "action": LoginPage.target(kept[LoginPage.path])], LoginPage.hidden(items),
          .element(
            "div", ["class": "actions"], .element("button", ["class": "main"], "Send it now"),
            .element("a", ["class": "button", "href": target], "Don't send it"))),
      ]))
  }

  private func frame(_ title: String, _ content: Markup, status: Int = 200) -> HTTPServerResponse {
    PageFrame(title: title, section: "", visitor: nil, isSandbox: isSandbox, content: content).response(status: status)
  }

  private func enter(
    _ session: String, _ target: String, keeping kept: HTTPQuery = HTTPQuery(), _ request: HTTPServerRequest
  ) -> HTTPServerResponse {
    var response = kept.items.isEmpty ? Pages.redirect(target) : offer(kept, target)
    response.headers["Set-Cookie"] = authenticator.cookieHeader(
      session, lasting: SessionTable.sessionLifetime + SessionBegan.remembered, for: request)
    return response
  }

  private func form(
    _ target: String, fault: String?, end: LoginEnd? = nil, keeping kept: HTTPQuery = HTTPQuery()
  ) -> HTTPServerResponse {
    var parts: [Markup] = [.element("h1", [:], "Log in")]
    if let name = authenticator.settings.name {
      parts.append(.element("p", [:], "These are the pages of ", .element("strong", [:], Markup(name)), "."))
    }
    if let end {
      let back = target == "/" ? "" : " Log in, and you see the page that you asked for."
      parts.append(.element("p", ["class": "notice", "role": "status"], Markup(end.sentence + back)))
    }
    if let fault { parts.append(.element("p", ["class": "notice fault", "role": "alert"], Markup(fault))) }
    parts.append(
      .element(
        "form", ["class": "card", "method": "post", "action": "/login"],
        .element("input", ["type": "hidden", "name": "to", "value": target]),
        LoginPage.hidden(kept.items, LoginPage.mark),
        // Browsers ask for a name beside a password, and keep the token under it.
        .element("input", ["name": "name", "value": "token", "autocomplete": "username", "hidden": ""]),
        .element("label", ["for": "token"], "Token"),
        .element(
          "input",
          ["id": "token", "name": "token", "type": "password", "autocomplete": "current-password", "required": ""]),
        .element("div", ["class": "actions"], .element("button", ["class": "main"], "Log in"))))
    parts.append(
      .element(
        "p", ["class": "quiet"], "On the machine of the agent, ", .element("code", [:], "errand open"),
        " opens these pages without a token."))
    if let contact = authenticator.settings.contact {
      parts.append(.element("p", ["class": "quiet"], "Ask \(contact) if you weren't expecting this."))
    }
    return frame("Log in", Markup(parts), status: fault == nil ? 200 : 401)
  }

  /// A path of this agent; anything else would let a link lead elsewhere.
  private static func target(_ text: String?) -> String {
    guard let text, text.hasPrefix("/"), !text.hasPrefix("//"), !text.contains("\\"),
      text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F })
    else { return "/" }
    return text
  }
}
