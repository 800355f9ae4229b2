// Who may see the pages: logging in and out, and the files that pages need.
import Agent
import Basics
import HTTPServer
import Recipes
import RunState

extension Gate {
  /// The name of the cookie by which a browser is known.
  static let cookie = "errand_session"

  /// The caller of a page, by the browser's cookie or as programs are known; nil without a login.
  func visitor(of request: HTTPServerRequest, _ sessions: SessionBook) async throws(Problem) -> APICaller? {
    if request.account != nil || request.headers["Authorization"] != nil { return try await caller(of: request) }
    guard let session = request.cookie(Gate.cookie), let visitor = sessions.visitor(of: session, at: time.now()) else {
      return nil
    }
    if request.method != "GET", request.method != "HEAD", request.headers["Origin"] == nil {
      throw Problem(.foreignOrigin, "a form has to say which page sent it; the browser left the field Origin out")
    }
    switch visitor {
    case .account(let caller): return APICaller(caller: caller, scopes: Set(TokenScope.allCases), recipes: [])
    case .token(let digest):
      // A token that was revoked or has expired ends its sessions.
      return await validToken(digest).map { APICaller($0) }
    }
  }

  /// The cookie of a session.
  func cookieHeader(_ session: String, lasting span: TimeSpan) -> String {
    let isSecure = settings.publicURL?.hasPrefix("https://") ?? false
    return
      "\(Gate.cookie)=\(session); Path=/; Max-Age=\(Int(span.inSeconds)); HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")"
  }
}

extension HTTPServerRequest {
  /// The value of a cookie (RFC 6265, section 4.2).
  fileprivate func cookie(_ name: String) -> String? {
    for field in headers.values("Cookie") {
      for pair in field.split(separator: ";") {
        let parts = pair.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
        if parts.count == 2, parts[0].hasSameScalars(as: name) { return parts[1] }
      }
    }
    return nil
  }
}

/// Logging in and out.
struct LoginPage {
  let gate: Gate
  let sessions: SessionBook

  /// The answer to a request for `/login` or `/logout`.
  func answer(_ request: HTTPServerRequest) async throws(Problem) -> HTTPServerResponse {
    let now = gate.time.now()
    let target = LoginPage.target(request.query["to"] ?? request.form["to"])
    switch (request.rawPath, request.method) {
    case ("/logout", "POST"):
      if let session = request.cookie(Gate.cookie) { sessions.end(session) }
      var response = Pages.redirect("/login")
      response.headers["Set-Cookie"] = gate.cookieHeader("", lasting: .zero)
      return response
    case ("/login", "POST"):
      let text = (request.form["token"] ?? "").trimmed
      guard let digest = SHA256.digest(of: Array(text.utf8)),
        await gate.validToken(digest) != nil
      else { return form(target, fault: "This token isn't valid. 'errand token new NAME' makes one.") }
      return enter(sessions.begin(for: .token(sha256: digest), at: now), target)
    case ("/login", _):
      guard let link = request.query["link"] else { return form(target, fault: nil) }
      guard let session = sessions.open(link: link, at: now) else {
        return form(target, fault: "This link has been used, or a minute has passed. 'errand open' makes a new one.")
      }
      return enter(session, target)
    default:
      throw Problem(.method, "this path takes POST", headers: ["Allow": "POST"])
    }
  }

  private func enter(_ session: String, _ target: String) -> HTTPServerResponse {
    var response = Pages.redirect(target)
    response.headers["Set-Cookie"] = gate.cookieHeader(session, lasting: SessionBook.sessionLifetime)
    return response
  }

  private func form(_ target: String, fault: String?) -> HTTPServerResponse {
    var parts: [Markup] = [.element("h1", [:], "Log in")]
    if let fault { parts.append(.element("p", ["class": "notice fault", "role": "alert"], Markup(fault))) }
    parts.append(
      .element(
        "form", ["class": "card", "method": "post", "action": "/login"],
        .element("input", ["type": "hidden", "name": "to", "value": target]),
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
    return PageFrame(title: "Log in", section: "", visitor: nil, content: Markup(parts)).response(
      status: fault == nil ? 200 : 401)
  }

  /// A path of this agent; anything else would let a link lead elsewhere.
  private static func target(_ text: String?) -> String {
    guard let text, text.hasPrefix("/"), !text.hasPrefix("//"), !text.contains("\\"),
      text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F })
    else { return "/" }
    return text
  }
}
