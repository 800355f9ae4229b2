// Who may ask, and from where.
import Agent
import AgentPages
import Basics
import HTTPServer
import Recipes
import RunState

/// The checks of a request before anything is done.
struct Authenticator: Sendable {
  let store: any StateStore
  let sessions: SessionTable
  let settings: ServerSettings
  let time: any TimeSource

  /// Whether the agent is meant: a page elsewhere may have its own name lead to this machine (DNS rebinding).
  func checkHost(_ request: HTTPServerRequest) throws(Problem) {
    // The kernel says who is at the other end of a Unix socket.
    if request.account != nil { return }
    let given = request.headers["Host"] ?? ""
    let host = Authenticator.name(ofHost: given)
    var names = ["localhost", "127.0.0.1", "[::1]"]
    names += settings.listen.map { $0.host.contains(":") ? "[\($0.host)]" : $0.host }
    if let own = settings.publicURL.flatMap(Authenticator.host(ofURL:)) {
      names.append(Authenticator.name(ofHost: own))
    }
    guard names.contains(where: { $0.utf8.equalsIgnoringASCIICase(host.utf8) }) else {
      throw Problem(
        .foreignHost,
        "the host '\(given.shortened)' isn't this agent's; name it as 'publicURL' under 'server' in errand.yaml"
      )
    }
  }

  /// Whether a page that a browser sends the request for is of this agent.
  ///
  /// Browsers name the page in `Origin` where a form or a script asks, and in `Sec-Fetch-Site` (Fetch Metadata) say for
  /// every request how the page is related to the address; another port of this machine is the same site, and another
  /// page all the same. Following a link is for everyone: it opens a page, which changes nothing.
  func checkOrigin(_ request: HTTPServerRequest) throws(Problem) {
    if let origin = request.headers["Origin"] {
      let host = request.headers["Host"] ?? ""
      let own = settings.publicURL.flatMap(Authenticator.host(ofURL:))
      let given = Authenticator.host(ofURL: origin) ?? ""
      guard !given.isEmpty, [host, own ?? ""].contains(where: { $0.utf8.equalsIgnoringASCIICase(given.utf8) }) else {
        throw Problem(.foreignOrigin, "pages of '\(origin.shortened)' can't send requests to this agent")
      }
    }
    guard let site = request.headers["Sec-Fetch-Site"], !["same-origin", "none"].contains(site) else { return }
    let isLink =
      ["GET", "HEAD"].contains(request.method) && request.headers["Sec-Fetch-Mode"] == "navigate"
      && request.headers["Sec-Fetch-Dest"] == "document"
    guard isLink else {
      throw Problem(
        .foreignOrigin, "pages of other sites can't send requests to this agent (Sec-Fetch-Site: \(site.shortened))")
    }
  }

  /// The caller, by the account at the other end of the socket or by the token.
  func caller(of request: HTTPServerRequest) async throws(Problem) -> AgentCaller {
    if let account = request.account {
      return AgentCaller(account: account, isOwn: false)
    }
    guard let header = request.headers["Authorization"] else {
      throw unauthorized("send 'Authorization: Bearer' with a token, which 'errand token new' makes")
    }
    let words = header.split(separator: " ", omittingEmptySubsequences: true)
    guard words.count == 2, words[0].lowercased() == "bearer",
      let digest = SHA256.digest(of: Array(words[1].utf8))
    else { throw unauthorized("the field Authorization has to be 'Bearer' and a token") }
    guard let token = await token(digest) else {
      throw unauthorized("the token isn't valid; see: errand token list")
    }
    guard !token.isExpired(at: time.now()) else {
      throw unauthorized("the token '\(token.name)' has expired; make a new one: errand token new \(token.name)")
    }
    await sessions.note(token, at: time.now())
    return AgentCaller(token: token)
  }

  private func token(_ digest: String) async -> TokenIssued? { await store.tokens().first { $0.sha256 == digest } }

  /// Whether a caller who was let in may still be there: a stream ends when its token is revoked or expires.
  func isStillIn(_ caller: AgentCaller) async -> Bool {
    guard let digest = caller.token else { return true }
    return await validToken(digest) != nil
  }

  /// Sends a keep-alive sign again and again, to notice clients that are gone, until the caller is no longer let in or
  /// the sign can't be sent.
  func repeatSign(to caller: AgentCaller, _ give: () async -> Bool) async {
    while !Task.isCancelled {
      try? await time.sleep(for: Authenticator.silence)
      guard await isStillIn(caller), await give() else { return }
    }
  }

  /// How long a stream is silent at most.
  private static let silence = TimeSpan.seconds(15)

  /// The token with a hash, unless it was revoked or has expired.
  func validToken(_ digest: String) async -> TokenIssued? {
    await token(digest).flatMap { $0.isExpired(at: time.now()) ? nil : $0 }
  }

  func unauthorized(_ detail: String) -> Problem {
    Problem(.unauthorized, detail, headers: ["WWW-Authenticate": "Bearer realm=\"errand\""])
  }

  /// The host without its port, of a field Host (RFC 9110, section 7.2); empty if what follows the host is no port.
  private static func name(ofHost text: String) -> String {
    var name = Substring(text.utf8.prefix { $0 != ASCII.colon })
    if text.hasPrefix("["), let end = text.firstIndex(of: "]") { name = text[...end] }
    let port = text.utf8.dropFirst(name.utf8.count)
    guard port.isEmpty || port.first == ASCII.colon && port.dropFirst().allSatisfy(ASCII.digits.contains) else {
      return ""
    }
    return String(name)
  }

  /// The host and the port of a URL, as in a field Host.
  private static func host(ofURL text: String) -> String? {
    guard let scheme = ["http://", "https://"].first(where: text.hasPrefix) else { return nil }
    return String(Substring(text.utf8.dropFirst(scheme.utf8.count).prefix { $0 != ASCII.slash }))
  }
}
