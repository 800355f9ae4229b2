import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

@Suite struct HTTPServerTests {
  /// A request as its bytes, and the answer.
  struct Exchange: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var request: String
    var answer: String

    init(_ name: String, _ lines: [String], body: String = "", gets answer: String) {
      testDescription = name
      request = lines.map { "\($0)\r\n" }.joined() + "\r\n" + body
      self.answer = answer
    }
  }

  private static func echo(_ request: HTTPServerRequest) -> HTTPServerResponse {
    let query = request.query.items.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
    let body = String(decoding: request.body, as: UTF8.self)
    return .text("\(request.method) \(request.rawPath) \(request.path) [\(query)] \(body)")
  }

  /// The status line and the body of a server's answer.
  private func answer(_ request: String, limits: HTTPServerLimits = HTTPServerLimits()) async throws -> String {
    let server = try HTTPServer(limits: limits) { Self.echo($0) }
    let lines = await RawClient.answer(to: request, port: server.port).split(
      separator: "\r\n", omittingEmptySubsequences: false)
    await server.stop()
    let first = lines.first.map(String.init) ?? ""
    return first.hasPrefix("HTTP/1.1 200") ? String(lines.last ?? "") : first
  }

  @Test(arguments: [
    Exchange("plain", ["GET / HTTP/1.1", "Host: a"], gets: "GET / / [] "),
    Exchange(
      "encoded", ["GET /a%2Fb+c%20d?x=1&x=%2B+2&&y&=z&e=%zz HTTP/1.1", "Host: a"],
      gets: "GET /a%2Fb+c%20d /a/b+c d [x=1,x=+ 2,y=,=z,e=%zz] "),
    Exchange("no UTF-8", ["GET /%C3%A9%FF? HTTP/1.1", "Host: a"], gets: "GET /%C3%A9%FF /é\u{FFFD} [] "),
    Exchange(
      "sized body", ["POST /p HTTP/1.1", "Host: a", "Content-Length: 5"], body: "hello", gets: "POST /p /p [] hello"),
    Exchange(
      "chunked body", ["POST /p HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"],
      body: "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", gets: "POST /p /p [] hello"),
    Exchange("HTTP/1.0", ["PATCH /p HTTP/1.0", "Content-Length: 2"], body: "ok", gets: "PATCH /p /p [] ok"),
    Exchange("doubled slashes", ["DELETE //a/../b HTTP/1.1", "Host: a"], gets: "DELETE //a/../b //a/../b [] "),
  ])
  func `reads requests`(_ exchange: Exchange) async throws {
    #expect(try await answer(exchange.request) == exchange.answer)
  }

  @Test(arguments: [
    Exchange(
      "head over the limit", ["GET / HTTP/1.1", "Host: a", "X: \(String(repeating: "x", count: 1000))"],
      gets: "HTTP/1.1 431 Request Header Fields Too Large"),
    Exchange(
      "huge head", ["GET / HTTP/1.1", "Host: a", "X: \(String(repeating: "x", count: 100_000))"],
      gets: "HTTP/1.1 431 Request Header Fields Too Large"),
    Exchange(
      "huge target", ["GET /\(String(repeating: "x", count: 100_000)) HTTP/1.1", "Host: a"],
      gets: "HTTP/1.1 414 URI Too Long"),
    Exchange(
      "announced body over the limit", ["POST / HTTP/1.1", "Host: a", "Content-Length: 101"],
      body: String(repeating: "x", count: 101), gets: "HTTP/1.1 413 Content Too Large"),
    Exchange(
      "announced body over twice the limit", ["POST / HTTP/1.1", "Host: a", "Content-Length: 201"],
      gets: "HTTP/1.1 413 Content Too Large"),
    Exchange(
      "announced body over the limit that isn't sent yet",
      ["POST / HTTP/1.1", "Host: a", "Content-Length: 101", "Expect: 100-continue"],
      gets: "HTTP/1.1 413 Content Too Large"),
    Exchange(
      "announced body beyond numbers", ["POST / HTTP/1.1", "Host: a", "Content-Length: 99999999999999999999999"],
      gets: "HTTP/1.1 413 Content Too Large"),
    Exchange(
      "chunked body over the limit", ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"],
      body: "65\r\n\(String(repeating: "x", count: 0x65))\r\n0\r\n\r\n", gets: "HTTP/1.1 413 Content Too Large"),
    Exchange(
      "a length that isn't a number", ["POST / HTTP/1.1", "Host: a", "Content-Length: x"],
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "negative length", ["POST / HTTP/1.1", "Host: a", "Content-Length: -1"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "length and transfer coding",
      ["POST / HTTP/1.1", "Host: a", "Content-Length: 5", "Transfer-Encoding: chunked"], body: "0\r\n\r\n",
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "two lengths", ["POST / HTTP/1.1", "Host: a", "Content-Length: 2", "Content-Length: 3"], body: "abc",
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "a space before a colon", ["POST / HTTP/1.1", "Host: a", "Content-Length : 3"], body: "abc",
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "two transfer codings",
      ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
      body: "0\r\n\r\n", gets: "HTTP/1.1 400 Bad Request"),
    Exchange("two hosts", ["GET / HTTP/1.1", "Host: a", "Host: b"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "two origins", ["GET / HTTP/1.1", "Host: a", "Origin: http://a", "Origin: http://b"],
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange("a return in a value", ["GET / HTTP/1.1", "Host: a", "X: b\rHost: c"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "a chunk size that isn't a number", ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"], body: "zz\r\n",
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange("no host", ["GET / HTTP/1.1"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "unknown version", ["GET / HTTP/9.9", "Host: a"], gets: "HTTP/1.1 505 HTTP Version Not Supported"),
    Exchange(
      "endless chunked body", ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"],
      body: String(repeating: "1000\r\n\(String(repeating: "x", count: 0x1000))\r\n", count: 100), gets: ""),
    Exchange("no request line", ["GET"], gets: ""),
    Exchange("no text", ["\u{0}\u{1}\u{2}"], gets: ""),
  ])
  func `refuses bad requests`(_ exchange: Exchange) async throws {
    #expect(
      try await answer(exchange.request, limits: HTTPServerLimits(headBytes: 1000, bodyBytes: 100, idle: .seconds(1)))
        == exchange.answer)
  }

  @Test(arguments: [
    Exchange("no host", ["GET / HTTP/1.1"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "a list of lengths", ["POST / HTTP/1.1", "Host: a", "Content-Length: 2, 2"], body: "{}",
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "negative length", ["POST / HTTP/1.1", "Host: a", "Content-Length: -1"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "length beyond numbers", ["POST / HTTP/1.1", "Host: a", "Content-Length: 99999999999999999999999"],
      gets: "HTTP/1.1 413 Content Too Large"),
    Exchange("a line without colon", ["GET / HTTP/1.1", "Host a"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange("no version", ["GET /"], gets: "HTTP/1.1 400 Bad Request"),
    Exchange("unknown version", ["GET / HTTP/9.9", "Host: a"], gets: "HTTP/1.1 505 HTTP Version Not Supported"),
    Exchange(
      "huge head", ["GET / HTTP/1.1", "Host: a", "X: \(String(repeating: "x", count: 100_000))"],
      gets: "HTTP/1.1 431 Request Header Fields Too Large"),
    Exchange(
      "huge target", ["GET /\(String(repeating: "x", count: 100_000)) HTTP/1.1", "Host: a"],
      gets: "HTTP/1.1 414 URI Too Long"),
    Exchange(
      "a chunk size that isn't a number", ["POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"], body: "zz\r\n",
      gets: "HTTP/1.1 400 Bad Request"),
    Exchange(
      "a fault in the second request", ["GET / HTTP/1.1", "Host: a", "", "GET / HTTP/1.1"],
      gets: "HTTP/1.1 400 Bad Request"),
  ])
  func `what the library refuses gets one answer, as what the server refuses`(_ exchange: Exchange) async throws {
    let server = try HTTPServer(
      limits: HTTPServerLimits(headBytes: 1000, bodyBytes: 100),
      refusal: { _, status, text in
        HTTPServerResponse(status: status, headers: ["X-Marked": "yes"], body: .bytes(Array("<\(text)>".utf8)))
      }
    ) { _ in .text("ok") }
    let answer = await RawClient.answer(to: exchange.request, port: server.port)
    await server.stop()
    let heads = answer.ranges(of: #/HTTP/1\.1 [0-9]{3} /#)
    #expect(heads.count == (exchange.testDescription.hasPrefix("a fault") ? 2 : 1), "\(answer)")
    let last = heads.last.map { answer[$0.lowerBound...] } ?? ""
    #expect(last.hasPrefix("\(exchange.answer)\r\n"))
    #expect(last.contains("\r\nX-Marked: yes\r\n") && last.contains("\r\nConnection: close\r\n"), "\(answer)")
    #expect(last.hasSuffix(".>"), "\(answer)")
  }

  /// More of them than there are places, so that the one that asks has to wait for theirs.
  @Test(
    arguments: ["", "GET /", "GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab"],
    [false, true])
  func `clients that don't send a whole request make room for others`(_ part: String, _ areGone: Bool) async throws {
    var limits = HTTPServerLimits(connections: 20)
    // Who has gone is found by that alone; a machine that is busy takes its time.
    if areGone { limits.patience = 1000 }
    let server = try HTTPServer(limits: limits) { _ in .text("ok") }
    let silent = RawClient.unfinished(30, part, port: server.port)
    if areGone { RawClient.hangUp(silent) }
    let began = ContinuousClock.now
    let answer = await RawClient.answer(to: "GET / HTTP/1.0\r\n\r\n", port: server.port, finishes: false)
    let took = ContinuousClock.now - began
    if !areGone { RawClient.hangUp(silent) }
    await server.stop()
    #expect(answer.hasSuffix("ok"))
    #expect(took < .seconds(29))
  }

  @Test func `streams at the client's pace and ends with the closure`() async throws {
    let server = try HTTPServer { _ in
      HTTPServerResponse(
        body: .stream { writer in
          for number in 1...3 { try await writer.write("\(number);") }
          try await writer.write([UInt8](repeating: 0x2E, count: 100_000))
        })
    }
    let answer = await RawClient.answer(to: "GET / HTTP/1.0\r\n\r\n", port: server.port)
    #expect(answer.hasSuffix("\r\n\r\n1;2;3;" + String(repeating: ".", count: 100_000)))
    await server.stop()
  }

  @Test func `cancels the handler whose client has gone`() async throws {
    let (ended, continuation) = AsyncStream<String>.makeStream()
    let server = try HTTPServer { _ in
      HTTPServerResponse(
        body: .stream { writer in
          do { while true { try await writer.write("tick\n") } } catch {
            continuation.yield("\(type(of: error))")
            throw error
          }
        })
    }
    _ = await RawClient.answer(
      to: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", port: server.port, finishes: false, until: "tick")
    var iterator = ended.makeAsyncIterator()
    #expect(["HTTPDisconnected", "CancellationError"].contains(await iterator.next()))
    await server.stop()
  }

  @Test func `stops while handlers wait and streams run`() async throws {
    let (started, continuation) = AsyncStream<Void>.makeStream()
    let server = try HTTPServer { request in
      continuation.yield()
      guard request.path == "/stream" else {
        try? await Task.sleep(for: .seconds(1000))
        return .text("stopping")
      }
      return HTTPServerResponse(
        body: .stream { writer in
          try await writer.write("begun")
          try await Task.sleep(for: .seconds(1000))
        })
    }
    async let waiting = RawClient.answer(to: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", port: server.port, finishes: false)
    async let streaming = RawClient.answer(
      to: "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", port: server.port, finishes: false)
    var iterator = started.makeAsyncIterator()
    await iterator.next()
    await iterator.next()
    await server.stop()
    #expect(await waiting.hasSuffix("stopping"))
    #expect(!(await streaming.hasSuffix("0\r\n\r\n")))
    let port = server.port
    #expect(throws: Never.self) { try HTTPServer(port: port) { _ in .dropped } }
  }

  /// libmicrohttpd's thread must not be met at work on the listening socket, which ended the whole program once in some
  /// ten thousand stops.
  @Test func `stops at any moment of a connection`() async throws {
    for _ in 0..<200 {
      let server = try HTTPServer { _ in .text("ok") }
      async let first = RawClient.answer(to: "GET / HTTP/1.0\r\n\r\n", port: server.port)
      async let second = RawClient.answer(to: "GET / HTTP/1.0\r\n\r\n", port: server.port)
      _ = await first
      await server.stop()
      _ = await second
    }
  }

  @Test(arguments: [
    (HTTPServerResponse(status: 99), "HTTP/1.1 500 Internal Server Error"),
    (HTTPServerResponse(status: 1000), "HTTP/1.1 500 Internal Server Error"),
    (HTTPServerResponse(headers: ["X": "a\r\nSet-Cookie: b"]), "HTTP/1.1 500 Internal Server Error"),
    (HTTPServerResponse(headers: ["Content-Length": "7"]), "HTTP/1.1 200 OK"),
    (HTTPServerResponse.dropped, ""),
  ])
  func `sends nothing that is no HTTP`(_ response: HTTPServerResponse, _ status: String) async throws {
    let server = try HTTPServer { _ in response }
    let answer = await RawClient.answer(to: "GET / HTTP/1.0\r\n\r\n", port: server.port)
    #expect(answer.split(separator: "\r\n").first ?? "" == status)
    await server.stop()
  }

  @Test func `says why it cannot listen`() throws {
    let server = try HTTPServer { _ in .dropped }
    func message(_ host: String, _ port: Int) -> String {
      do {
        _ = try HTTPServer(host: host, port: port) { _ in .dropped }
        return ""
      } catch { return error.message }
    }
    #expect(
      message("127.0.0.1", server.port) == "The server cannot listen on 127.0.0.1 port \(server.port): "
        + "Address already in use; stop what uses it, or choose another port.")
    #expect(
      message("example.org", 0)
        == "The server cannot listen on example.org port 0: write the host as an IPv4 or IPv6 address, such as 127.0.0.1."
    )
    #expect(
      message("127.0.0.1", 70_000)
        == "The server cannot listen on 127.0.0.1 port 70000: a port is a number from 0 to 65535.")
  }
}
