import ActionKit
import ActionTestKit
import Basics
import HTTPServer
import HTTPTypes
import MCPPlugins
import PluginLocks
import Synchronization
import Testing

/// A server over HTTP that answers a call of each tool in another way, also as no server should.
@Suite(.timeLimit(.minutes(20))) struct ServersOverHTTPTests {
  private static let tools = [
    "plain", "html", "status", "cut", "dropped", "held", "never", "expired", "empty", "moved",
  ]

  /// The requests to the server, each with its session.
  private final class Asked: Sendable {
    let lines = Mutex<[String]>([])
  }

  private static func event(_ text: String) -> String { "event: message\r\ndata: \(text)\r\n\r\n" }

  /// - Parameter isModern: Whether it speaks the version without a handshake.
  private static func serving(
    isModern: Bool = true, _ body: (_ url: String, _ asked: Asked) async throws -> Void
  ) async throws {
    let asked = Asked()
    let server = try HTTPServer { request in
      if request.path == "/login" { return HTTPServerResponse(status: 405) }
      guard request.method == "POST", let message = try? JSON.parse(request.body) else {
        asked.lines.withLock { $0.append("\(request.method) \(request.headers["Mcp-Session-Id"] ?? "-")") }
        return HTTPServerResponse(status: 200)
      }
      let method = message["method"]?.string ?? ""
      asked.lines.withLock { $0.append("\(method) \(request.headers["Mcp-Session-Id"] ?? "-")") }
      guard let id = message["id"] else { return HTTPServerResponse(status: 202) }
      func result(_ text: String) -> String { #"{"jsonrpc":"2.0","id":\#(JSON.displayed(id)),"result":\#(text)}"# }
      func json(_ text: String, session: String? = nil) -> HTTPServerResponse {
        var response = HTTPServerResponse.text(result(text), type: "application/json")
        response.headers["Mcp-Session-Id"] = session
        return response
      }
      switch method {
      case "server/discover":
        return isModern
          ? json(#"{"supportedVersions":["2026-07-28"]}"#) : HTTPServerResponse.text("no session", status: 400)
      case "initialize":
        let count = asked.lines.withLock { $0.count { $0.hasPrefix("initialize") } }
        return json(#"{"protocolVersion":"2025-06-18","serverInfo":{"name":"s"}}"#, session: "s\(count)")
      case "tools/list":
        let list = tools.map { #"{"name":"\#($0)","inputSchema":{"type":"object"}}"# }
        return json(#"{"tools":[\#(list.joined(separator: ","))]}"#)
      default: break
      }
      let done = #"{"content":[{"type":"text","text":"done"}]}"#
      let stream: HTTPHeaders = ["Content-Type": "text/event-stream"]
      switch message["params"]?["name"]?.string {
      case "html": return .text("<html><body>Welcome</body></html>", type: "text/html")
      case "empty": return HTTPServerResponse(status: 202)
      case "moved": return HTTPServerResponse(status: 303, headers: ["Location": "/login"])
      case "status":
        return HTTPServerResponse(status: 429, headers: ["Retry-After": "7"], body: .bytes(Array("slow down".utf8)))
      case "cut":
        return HTTPServerResponse(
          headers: stream,
          body: .stream { writer in
            try await writer.write(event(#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#))
            throw CancellationError()
          })
      case "dropped": return .dropped
      case "held", "never":
        let text = message["params"]?["name"]?.string == "held" ? event(result(done)) : ": nothing yet\n\n"
        return HTTPServerResponse(
          headers: stream,
          body: .stream { writer in
            while true {
              try await writer.write(text)
              // Cancelled when the client goes away.
              try await Task.sleep(for: .seconds(60))
            }
          })
      case "expired" where request.headers["Mcp-Session-Id"] == "s2":
        return HTTPServerResponse.text(
          #"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"gone"}}"#, status: 404,
          type: "application/json")
      default: return json(done)
      }
    }
    do { try await body("\(server.baseURL)/mcp", asked) } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  @Test(arguments: [
    (
      "html", "'tried' answered the tool 'html' with what isn't a message of MCP: <html><body>Welcome</body></html>",
      ErrorKind.server, ActionError.Effect.unknown
    ),
    ("empty", "'tried' answered the tool 'empty' with what isn't a message of MCP: nothing", .server, .unknown),
    ("status", "'tried' answered the tool 'status' with status 429: slow down", .rateLimited, .none),
    (
      "moved", "'tried' answered the tool 'moved' with status 405 at another address, to which it redirects", .server,
      .unknown
    ),
    ("cut", "", .network, .unknown),
    ("dropped", "", .network, .unknown),
  ])
  func `says what went wrong over HTTP, and whether it may have been done`(
    _ tool: String, _ message: String, _ kind: ErrorKind, _ effect: ActionError.Effect
  ) async throws {
    try await Self.serving { url, _ in
      let server = try await LockedServer(LockedServer.lock(MCPSource(.url(url))))
      let error = try await server.failure(tool)
      #expect(error.kind == kind)
      #expect(error.effect == effect)
      // The message of the HTTP client names the server's port, so the table leaves it empty.
      if !message.isEmpty { #expect(error.message == message) }
      if tool == "status" { #expect(error.retryAfter == .seconds(7)) }
      #expect(try await server.run("plain")["text"] == .string("done"))
    }
  }

  @Test func `a stream that the server holds open is left behind its response`() async throws {
    try await Self.serving { url, _ in
      let server = try await LockedServer(LockedServer.lock(MCPSource(.url(url))))
      #expect(try await server.run("held")["text"] == .string("done"))
    }
  }

  @Test(arguments: [true, false]) func `a cancelled call may have been done, and the server is told`(_ isModern: Bool)
    async throws
  {
    try await Self.serving(isModern: isModern) { url, asked in
      let server = try await LockedServer(LockedServer.lock(MCPSource(.url(url))))
      let call = Task { try await server.run("never") }
      while !asked.lines.withLock({ $0.contains { $0.hasPrefix("tools/call") } }) {
        try Task.checkCancellation()
        await Task.yield()
      }
      call.cancel()
      let result = await call.result
      let error = #expect(throws: ActionError.self) { try result.get() }
      #expect(error?.kind == .cancelled)
      #expect(error?.effect == .unknown)
      #expect(asked.lines.withLock { $0.contains { $0.hasPrefix("notifications/cancelled") } } == !isModern)
    }
  }

  @Test func `a session that is over is begun anew`() async throws {
    try await Self.serving(isModern: false) { url, asked in
      // Locking opened the first session.
      let lock = try await LockedServer.lock(MCPSource(.url(url)))
      #expect(lock.connection["protocol"]?.string == "2025-06-18")
      let server = try await LockedServer(lock)
      #expect(try await server.run("expired")["text"] == .string("done"))
      let calls = asked.lines.withLock { $0.filter { $0.hasPrefix("tools/call") } }
      #expect(calls == ["tools/call s2", "tools/call s3"])
    }
  }
}
