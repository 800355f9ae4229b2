import HTTPClient
import HTTPServer
import Testing

@Suite struct RedirectTests {
  private static let start = "https://a.example/x/y?k=1"

  /// The requests that a redirect to a place leads to, and the error.
  private func follow(
    _ location: String?, status: Int = 302, _ method: String = "GET", body: String? = nil,
    headers: HTTPHeaders = [:], by rule: HTTPRedirects = .sameOrigin
  ) async -> (requests: [HTTPRequest], error: HTTPError?) {
    var redirect: HTTPHeaders = [:]
    redirect["Location"] = location
    let transport = ScriptedTransport(
      [.on(method, Self.start, status: status, headers: redirect)]
        + ["GET", "HEAD", "POST", "PUT"].map { .on($0, "http…", "done") })
    let request = HTTPRequest(
      method, Self.start, headers: headers, body: body.map { Array($0.utf8) }, redirects: rule,
      redactedParameters: ["k"], credentialHeaders: ["X-Key"])
    let client = HTTPClient(transport: transport)
    let error = await failure { () throws(HTTPError) in try await client.send(request) }
    return (transport.requests, error)
  }

  @Test(arguments: [
    ("https://a.example/z", "https://a.example/z"), ("HTTPS://A.example:443/z", "https://a.example/z"),
    ("/z?q#f", "https://a.example/z?q"), ("z", "https://a.example/x/z"), ("../z/./w/..", "https://a.example/z/"),
    ("../../../z", "https://a.example/z"), ("?q", "https://a.example/x/y?q"), ("", "https://a.example/x/y?k=1"),
    ("//a.example/z", "https://a.example/z"), ("z é", "https://a.example/x/z%20%C3%A9"),
    ("/a:b", "https://a.example/a:b"),
  ])
  func `resolves where it leads`(_ location: String, _ target: String) async {
    let (requests, error) = await follow(location)
    #expect(error == nil)
    #expect(requests.last?.url == target)
  }

  @Test(arguments: [
    ("http://a.example/z", "http://a.example"), ("https://b.example/?k=hunter2", "https://b.example"),
    ("https://a.example:444/", "https://a.example:444"), ("//a.example.evil/", "https://a.example.evil"),
    ("https://u:p@b.example/", "https://b.example"), ("https://a.example@b.example/", "https://b.example"),
  ])
  func `refuses another origin, naming no more than it`(_ location: String, _ origin: String) async {
    let (requests, error) = await follow(location)
    #expect(requests.count == 1)
    #expect(error?.kind == .redirect)
    #expect(error?.sent == .maybe)
    #expect(
      error?.message == "GET https://a.example/x/y?k=•••: https://a.example redirects to \(origin); only redirects to "
        + "the same scheme, host and port are followed. If the service has moved, change the URL.")
  }

  @Test(arguments: [
    nil, "ftp://a.example/", "javascript:alert(1)", "https://", "https:///z", "https://a b/", "/z\r\nX: y",
    "\\\\b.example\\z",
    "https://a.example\\@b.example/", "https://a.example:99999/",
  ])
  func `refuses what cannot be followed`(_ location: String?) async {
    let (requests, error) = await follow(location)
    #expect(requests.count == 1)
    #expect(
      error?.message == "GET https://a.example/x/y?k=•••: https://a.example redirects without a valid address; check "
        + "the URL.")
  }

  @Test(arguments: [
    (301, "GET", "GET"), (302, "HEAD", "HEAD"), (307, "PUT", "PUT"), (303, "PUT", "GET"),
    (303, "POST", "GET"), (303, "HEAD", "HEAD"), (307, "POST", "POST"), (308, "POST", "POST"), (308, "PUT", "PUT"),
  ])
  func `changes the method as everybody does`(_ status: Int, _ method: String, _ next: String) async {
    let (requests, _) = await follow(
      "/z", status: status, method, body: "body", headers: ["Content-Type": "text/plain"])
    #expect(requests.count == 2)
    #expect(requests.last?.method == next)
    #expect(requests.last?.body == (next == "GET" && method != "GET" ? nil : Array("body".utf8)))
    #expect((requests.last?.headers["Content-Type"] == nil) == (next == "GET" && method != "GET"))
  }

  @Test(arguments: [301, 302], ["POST", "PUT", "PATCH", "DELETE"])
  func `sends no write on to another address, and names it`(_ status: Int, _ method: String) async {
    let (requests, error) = await follow("/z", status: status, method, body: "body", by: .sameOrigin)
    #expect(requests.count == 1)
    #expect(error?.kind == .redirect && error?.sent == .maybe)
    #expect(
      error?.message
        == "\(method) https://a.example/x/y?k=•••: https://a.example answered with HTTP status \(status), which "
        + "redirects to https://a.example/z. The \(method) isn't sent there as well: that may be only the page to look "
        + "at after it. If the service has moved, change the URL.")
    let signed = await follow("/z?sig=hunter2", status: status, method, body: "body", by: .secure).error
    #expect(signed?.message.contains("redirects to https://a.example/z?•••. The") == true, "\(signed?.message ?? "")")
  }

  @Test(arguments: [("/z", 3), ("https://b.example/", 1), ("https://a.example:444/", 1)])
  func `leaves credentials behind at another origin`(_ location: String, _ kept: Int) async {
    let headers: HTTPHeaders = ["authorization": "Basic x", "x-KEY": "y", "X-Plain": "z"]
    let (requests, error) = await follow(location, headers: headers, by: .secure)
    #expect(error == nil)
    #expect(requests.last?.headers.fields.count == kept)
    #expect(requests.last?.headers["X-Plain"] == "z")
  }

  @Test func `follows to https but never back`() async {
    #expect(await follow("http://b.example/", by: .secure).error?.kind == .redirect)
    #expect(await follow("https://b.example/", by: .secure).error == nil)
    let rule = HTTPRedirects.rule(requirement: "files.example") { $1.host == "files.example" }
    #expect(await follow("http://files.example/", by: rule).error == nil)
    #expect(await follow("https://b.example/", by: rule).error?.message.contains("redirects to files.example") == true)
  }

  @Test func `takes user information along within the origin only`() throws {
    let url = try #require(HTTPURL("https://u:p@a.example/x"))
    #expect(url.resolving("https://a.example/z")?.text == "https://u:p@a.example/z")
    #expect(url.resolving("z")?.text == "https://u:p@a.example/z")
    #expect(url.resolving("https://b.example/z")?.text == "https://b.example/z")
  }

  @Test func `counts what redirected as having seen the request`() async {
    let transport = ScriptedTransport([
      .on("POST", Self.start, status: 307, headers: ["Location": "/z"]),
      .on("POST", "https://a.example/z", fail: HTTPError(.connect, "refused", sent: .nothing)),
    ])
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient(transport: transport).send(HTTPRequest("POST", Self.start))
    }
    #expect(error?.kind == .connect)
    #expect(error?.sent == .maybe)
  }

  @Test(arguments: [
    ("http://[::1]:8080/x?y#z", "http://[::1]:8080/x?y"), ("HTTP://EXAMPLE.org", "http://example.org/"),
    ("http://h:80?q", "http://h/?q"), ("https://h:/", "https://h/"), ("http://[::1", nil), ("http://[]/", nil),
    ("http://h:0/", nil), ("http://h:65536/", nil), ("http://h:8x/", nil), ("http://h%2Fx/", nil), ("http:///x", nil),
    ("http:/h/", nil), ("//h/", nil), ("h", nil), ("http://h/ x", nil), ("http://h/\n", nil), ("http://h\\x/", nil),
    ("http://exämple.org/", nil), ("http://h/%zz", "http://h/%zz"), ("http://@h/", "http://@h/"),
  ])
  func `reads URLs strictly`(_ text: String, _ normal: String?) {
    #expect(HTTPURL(text)?.text == normal)
  }

  @Test func `gives the answer that redirects if none are followed`() async throws {
    let transport = ScriptedTransport([.on("GET", Self.start, status: 302, headers: ["Location": "/z"])])
    let response = try await HTTPClient(transport: transport).send(
      HTTPRequest("GET", Self.start, redirects: .none))
    #expect(response.status == 302)
    #expect(transport.requests.count == 1)
  }

  @Test func `gives up a loop, over real HTTP`() async throws {
    let server = try HTTPServer { _ in HTTPServerResponse(status: 302, headers: ["Location": "/again"]) }
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().send(HTTPRequest("GET", server.baseURL))
    }
    #expect(
      error?.message == "GET \(server.baseURL)/again: \(server.baseURL) redirects more than 5 times in a row; "
        + "check the URL.")
    await server.stop()
  }

  @Test(arguments: [
    ("https://h/p?a=1&KEY=s&b=2", "https://h/p?a=1&KEY=•••&b=2"), ("https://h/p?k%65y=s", "https://h/p?k%65y=•••"),
    ("https://h/p?a=1;key=s;b=2&c", "https://h/p?a=1;key=•••&c"), ("https://u:s@h/p@q", "https://•••@h/p@q"),
    ("https://u:s@h:8/?key=s#s", "https://•••@h:8/?key=•••"), ("https://h/p?key", "https://h/p?key=•••"),
    ("http://u:s/s@h/", "http://•••@h/"), ("http://u:s?s@h/?key=s", "http://•••@h/?key=•••"), ("u:s@h", "•••@h"),
    ("http://h h/?key=s&a", "http://h h/?key=•••&a"), ("?key=s", "?key=•••"), ("", ""),
    ("https://h/?q=a@b", "https://h/?q=a@b"),
    ("https://h/?keys=1&akey=2", "https://h/?keys=1&akey=2"),
  ])
  func `shows URLs without their secrets`(_ url: String, _ displayed: String) {
    #expect(HTTPRequest("GET", url, redactedParameters: ["Key"]).redactedURL == displayed)
  }

  /// Answers as from an address.
  private struct Addressed: HTTPTransport {
    var address: String?
    var script: ScriptedTransport

    func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
      var answer = try await script.send(request, into: sink)
      answer.remoteAddress = address
      return answer
    }
  }

  @Test(arguments: [
    ("93.184.216.34", "http://127.0.0.1/", false), ("93.184.216.34", "http://[::1]/", false),
    ("93.184.216.34", "http://a.localhost/", false), ("2606:2800::1", "http://[::ffff:10.0.0.1]/", false),
    ("93.184.216.34", "http://192.168.1.1/", false), ("93.184.216.34", "http://169.254.169.254/", false),
    ("93.184.216.34", "http://[fd00::1]/", false), ("93.184.216.34", "http://100.64.0.1/", false),
    ("93.184.216.34", "http://8.8.8.8/", true), ("93.184.216.34", "http://[2001:4860::8]/", true),
    ("10.0.0.1", "http://127.0.0.1/", true), ("127.0.0.1", "http://10.0.0.1/", true), (nil, "http://10.0.0.1/", true),
  ])
  func `follows from a public address to no private one`(
    _ address: String?, _ location: String, _ isFollowed: Bool
  ) async {
    let script = ScriptedTransport([
      .on("GET", "http://a.example/", status: 302, headers: ["Location": location]), .on("GET", "http…", "done"),
    ])
    let client = HTTPClient(transport: Addressed(address: address, script: script))
    let error = await failure { () throws(HTTPError) in
      try await client.send(HTTPRequest("GET", "http://a.example/", redirects: .secure))
    }
    #expect(error?.kind == (isFollowed ? nil : .redirect))
    #expect(script.requests.count == (isFollowed ? 2 : 1))
  }
}
