import Basics
import HTTPClient
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTPClientTests {
  @Test(arguments: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "REPORT"], [nil, "", "body"])
  func `sends what it is given`(_ method: String, _ body: String?) async throws {
    let server = try HTTPServer { request in
      HTTPServerResponse(
        status: 201,
        headers: [
          "X-Seen": request.headers.fields.map { "\($0.name.lowercased()): \($0.value)" }.sorted()
            .joined(separator: "|"), "X-Method": request.method, "X-Target": request.target,
        ], body: .bytes(request.body))
    }
    let response = try await HTTPClient().send(
      HTTPRequest(
        method, "\(server.baseURL)/a%20b?c=%2B#d", headers: ["X-Empty": "", "X-One": "1"],
        body: body.map { Array($0.utf8) }))
    #expect(response.status == 201)
    #expect(response.headers["x-method"] == method)
    #expect(response.headers["X-Target"] == "/a%20b?c=%2B")
    #expect(response.url == "\(server.baseURL)/a%20b?c=%2B#d")
    let sent = method == "HEAD" ? nil : body
    #expect(String(decoding: response.body, as: UTF8.self) == sent ?? "")
    let length = sent.map(\.utf8.count) ?? (["POST", "PUT", "PATCH"].contains(method) ? 0 : nil)
    let lines = ["accept: */*", length.map { "content-length: \($0)" }, "host: 127.0.0.1:\(server.port)"]
    #expect(
      response.headers["X-Seen"]
        == (lines.compactMap(\.self) + ["user-agent: errand", "x-empty: ", "x-one: 1"]).joined(separator: "|"))
    await server.stop()
  }

  @Test func `reuses connections and serves many at once`() async throws {
    let server = try HTTPServer { request in
      await Task.yield()
      return .text(request.target)
    }
    let client = HTTPClient()
    try await withThrowingTaskGroup { group in
      for number in 0..<500 {
        group.addTask {
          let response = try await client.send(HTTPRequest("GET", "\(server.baseURL)/\(number)"))
          #expect(String(decoding: response.body, as: UTF8.self) == "/\(number)")
        }
      }
      try await group.waitForAll()
    }
    await server.stop()
  }

  @Test func `keeps repeated headers, folds folded ones, drops trailers and interim answers`() async throws {
    let server = try RawServer { _ in
      .init(
        text: "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA:  1 \r\na: 2\r\nB: x\r\n  y\r\n"
          + "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nTrailer: no\r\n\r\n")
    }
    let response = try await HTTPClient().send(HTTPRequest("GET", "http://127.0.0.1:\(server.port)/"))
    #expect(
      response.headers.fields.map { "\($0.name)=\($0.value)" } == ["A=1", "a=2", "B=x y", "Transfer-Encoding=chunked"])
    #expect(response.headers.values("A") == ["1", "2"])
    #expect(response.body == Array("hi".utf8))
  }

  /// 100,000 times `a` after gzip.
  private static let packed: [UInt8] =
    [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xED, 0xC1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xC2, 0xA0,
      0xAC, 0xEB, 0x5F, 0xC2, 0x1A, 0x1E, 0x40, 0x01,
    ] + [UInt8](repeating: 0x00, count: 96) + [0xAF, 0x06, 0x87, 0xFA, 0xE2, 0x1B, 0xA0, 0x86, 0x01, 0x00]

  @Test(arguments: [
    (100_000, Int?.none), (99_999, 99_999),
  ])
  func `limits what comes out of compression`(_ limit: Int, _ exceeded: Int?) async throws {
    let server = try HTTPServer { _ in
      HTTPServerResponse(headers: ["Content-Encoding": "gzip"], body: .bytes(Self.packed))
    }
    let request = HTTPRequest(
      "GET", server.baseURL, limits: HTTPLimits(maxBodyBytes: limit), acceptsCompression: true)
    let error = await failure { () throws(HTTPError) in
      let response = try await HTTPClient().send(request)
      #expect(response.body.count == 100_000)
      return response
    }
    #expect(error?.kind == exceeded.map { _ in .tooLarge })
    await server.stop()
  }

  @Test func `speaks through a proxy, but never to this machine`() async throws {
    let proxy = try HTTPServer { .text("proxied \($0.target)") }
    let server = try HTTPServer { _ in .text("direct") }
    let client = HTTPClient(configuration: HTTPClientConfiguration(proxy: .url(proxy.baseURL)))
    let far = try await client.send(HTTPRequest("GET", "http://service.invalid/x?y=z"))
    #expect(String(decoding: far.body, as: UTF8.self) == "proxied http://service.invalid/x?y=z")
    let near = try await client.send(HTTPRequest("GET", server.baseURL))
    #expect(String(decoding: near.body, as: UTF8.self) == "direct")
    await proxy.stop()
    await server.stop()
  }

  @Test func `tells the observer of each exchange, and nothing secret`() async throws {
    let server = try HTTPServer { request in
      request.path == "/p"
        ? HTTPServerResponse(status: 307, headers: ["Location": "/q?apikey=hunter2"]) : .text("hello", status: 404)
    }
    let seen = Mutex<[String]>([])
    let client = HTTPClient(
      configuration: HTTPClientConfiguration { exchange in
        #expect(exchange.elapsed > .zero)
        seen.withLock {
          $0.append("\(exchange.method) \(exchange.redactedURL) \(exchange.status ?? 0) \(exchange.bytes)")
        }
      })
    _ = try await client.send(.secret(server.baseURL))
    #expect(
      seen.withLock(\.self) == [
        "\(HTTPRequest.displayed(server.baseURL)) 307 0", "GET \(server.baseURL)/q?••• 404 5",
      ])
    await server.stop()
  }

  @Test(
    arguments: [
      ("7", 7), ("0", 0), ("Fri, 20 Nov 2026 10:00:30 GMT", 30), ("Fri, 20 Nov 2026 09:00:00 GMT", 0), ("-1", nil),
      ("soon", nil), ("1.5", 2), ("2.0", 2), (" 3 ", 3), ("0.01", 1), ("1.", 1), (".5", nil), ("1.2.3", nil),
      ("1e3", nil),
      ("+1", nil), ("1,5", nil), ("99999999999999999999999", 3_153_600_000), ("99999999999", 3_153_600_000),
      ("Fri, 31 Dec 9999 23:59:59 GMT", 3_153_600_000), ("", nil), (nil, nil),
    ] as [(String?, Int?)])
  func `reads Retry-After`(_ text: String?, _ seconds: Int?) throws {
    var response = HTTPResponse(status: 503)
    response.headers["Retry-After"] = text
    let now = try #require(Timestamp("2026-11-20T10:00:00Z"))
    #expect(response.retryAfter(now: now) == seconds.map { .seconds($0) })
  }

  @Test(
    arguments: [
      (["Retry-After": "abc", "RateLimit-Reset": "2"], 2), (["Retry-After": "abc", "RateLimit": "reset=3"], 3),
      (["RateLimit-Reset": "soon", "X-RateLimit-Reset": "4"], 4), (["Retry-After": "5", "RateLimit-Reset": "2"], 5),
      (["RateLimit-Reset": "soon", "RateLimit": "reset=6"], 6), (["Retry-After": "abc", "RateLimit-Reset": "x"], nil),
    ] as [([String: String], Int?)])
  func `goes by the first field of a limit that can be read`(_ fields: [String: String], _ seconds: Int?) throws {
    var response = HTTPResponse(status: 429)
    for (name, text) in fields { response.headers[name] = text }
    let now = try #require(Timestamp("2026-11-20T10:00:00Z"))
    #expect(response.retryAfter(now: now) == seconds.map { .seconds($0) })
  }

  @Test(
    arguments: [
      (429, "RateLimit-Reset", "30", 30), (429, "RateLimit-Reset", "1.2", 2), (503, "X-RateLimit-Reset", "7", 7),
      (429, "X-RateLimit-Reset", "1795168860", 60), (429, "X-RateLimit-Reset", "1795168860000", 60),
      (429, "X-Rate-Limit-Reset", "1795168700", 0), (429, "X-RateLimit-Reset", "2026-11-20T10:01:00Z", 60),
      (429, "X-RateLimit-Reset", "Fri, 20 Nov 2026 10:00:30 GMT", 30), (429, "X-RateLimit-Reset", "6m0s", 360),
      (429, "RateLimit", "limit=10, remaining=0, reset=9", 9), (429, "RateLimit", "\"default\";r=0;t=30", 30),
      (429, "RateLimit-Reset", "soon", nil), (200, "RateLimit-Reset", "30", nil), (403, "X-RateLimit-Reset", "30", nil),
    ] as [(Int, String, String, Int?)])
  func `reads when a limit is set back`(_ status: Int, _ name: String, _ text: String, _ seconds: Int?) throws {
    var response = HTTPResponse(status: status)
    response.headers[name] = text
    let now = try #require(Timestamp("2026-11-20T10:00:00Z"))
    #expect(response.retryAfter(now: now) == seconds.map { .seconds($0) })
    #expect(response.unreadableWait(now: now) == (text == "soon" ? "\(name): soon" : nil))
    response.headers["X-RateLimit-Remaining"] = "0"
    if status == 403 { #expect(response.retryAfter(now: now) == .seconds(30)) }
    response.headers["Retry-After"] = "5"
    #expect(response.retryAfter(now: now) == .seconds(5))
  }
}
