import ActionKit
import ActionTestKit
import Basics
import Foundation
import MCPPlugins
import ProcessTestKit
import PluginLocks
import Testing

/// Servers and the SDK of PyPI, as plugins.
@Suite(.timeLimit(.minutes(20))) struct RealServersTests {
  @Test func `mcp-server-time tells the time, with types`() async throws {
    guard let program = await Peers.program("mcp-server-time", of: Peers.modern) else { return }
    let source = MCPSource(.command([program, "--local-timezone", "UTC"]), trustsHints: true)
    let server = try await LockedServer(LockedServer.lock(source, as: "time"))
    #expect(server.lock.actionNames == ["convertTime", "getCurrentTime"])
    #expect(server.lock.connection["protocol"]?.string == "2026-07-28")
    #expect(server.plugin.action("getCurrentTime")?.effect == .read)
    let output = try await server.run(
      "convertTime",
      .object([
        "source_timezone": .string("Europe/Berlin"), "time": .string("12:00"), "target_timezone": .string("Asia/Tokyo"),
      ]))
    #expect(output["source"]?["timezone"] == .string("Europe/Berlin"))
    let error = try await server.failure("getCurrentTime", .object(["timezone": .string("Europe/Atlantis")]))
    #expect(error.kind == .plugin)
    #expect(error.effect == .none)
    #expect(error.message.hasPrefix("the tool 'get_current_time' failed: "), "\(error.message)")
  }

  @Test func `mcp-server-git commits`() async throws {
    guard let program = await Peers.program("mcp-server-git", of: Peers.modern) else { return }
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let setting = "cd \(folder) && git init -q && git config user.name a && git config user.email a@b && echo 1 > f"
    try #require(succeeds(["sh", "-c", setting]))
    let server = try await LockedServer(LockedServer.lock(MCPSource(.command([program])), as: "git"))
    #expect(server.plugin.action("gitStatus")?.effect == .write)
    let place = Value.string(folder)
    _ = try await server.run("gitAdd", .object(["repo_path": place, "files": .list([.string("f")])]))
    let output = try await server.run("gitCommit", .object(["repo_path": place, "message": .string("First")]))
    #expect(output["text"]?.string?.contains("Changes committed successfully with hash ") == true, "\(output)")
    let log = try await server.run("gitLog", .object(["repo_path": place]))
    #expect(log["text"]?.string?.contains("First") == true, "\(log)")
  }

  @Test func `mcp-server-fetch fetches a page`() async throws {
    guard let program = await Peers.program("mcp-server-fetch", of: Peers.modern) else { return }
    try await Peers.serving(["python3", "-u", "-c", Self.page]) { port in
      let server = try await LockedServer(
        LockedServer.lock(MCPSource(.command([program, "--ignore-robots-txt", "--allow-private-ips"])), as: "fetch"),
        settings: .object(["environment": .object(["NO_PROXY": .string("*")])]))
      let output = try await server.run(
        "fetch", .object(["url": .string("http://127.0.0.1:\(port)/"), "raw": .bool(true)]))
      #expect(output["text"]?.string?.contains("A page") == true, "\(output)")
    }
  }

  private static let page = """
    import http.server
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><body><p>A page</p></body></html>")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port)
    server.serve_forever()
    """

  @Test func `mcp-server-sqlite of the version before has neither hints nor types`() async throws {
    guard let program = await Peers.program("mcp-server-sqlite", of: Peers.before) else { return }
    let folder = try Files.makeTemporaryFolder("errand-mcp")
    defer { Files.removeTree(folder) }
    let source = MCPSource(.command([program, "--db-path", "\(folder)/a.db"]), effects: ["read_query": .read])
    let server = try await LockedServer(LockedServer.lock(source, as: "sqlite"))
    #expect(server.lock.connection["protocol"]?.string == "2025-11-25")
    func ask(_ action: String, _ query: String) async throws -> String? {
      try await server.run(action, .object(["query": .string(query)]))["text"]?.string
    }
    _ = try await ask("createTable", "CREATE TABLE t (n INTEGER)")
    #expect(try await ask("writeQuery", "INSERT INTO t VALUES (7)") == "[{'affected_rows': 1}]")
    #expect(try await ask("readQuery", "SELECT n FROM t") == "[{'n': 7}]")
  }

  @Test(arguments: [
    (true, "2026-07-28", ""), (true, "2026-07-28", "json"), (false, "2025-11-25", ""), (false, "2025-11-25", "json"),
  ])
  func `calls the tools of servers over HTTP`(_ isModern: Bool, _ version: String, _ format: String) async throws {
    guard let python = await Peers.program("python", of: isModern ? Peers.modern : Peers.before) else { return }
    let script = packageFolder.appending(path: "Tests/LockedPlugins/MCPPluginsTests/Fixtures/served.py").path
    try await Peers.serving([python, script, format]) { port in
      let lock = try await LockedServer.lock(MCPSource(.url("http://127.0.0.1:\(port)/mcp")), as: "served")
      #expect(lock.connection["protocol"]?.string == version)
      let server = try await LockedServer(lock, settings: .object(["token": .string("t0p")]))
      let heard = Heard()
      let context = ActionContext.testing(time: SystemTime()) { heard.add($0) }
      #expect(try await server.run("count", .object(["to": .int(3)]), in: context) == .object(["result": .int(3)]))
      if format.isEmpty { #expect(heard.all.map(\.message) == ["at 1", "at 2", "at 3"]) }
      #expect(try await server.run("token") == .object(["result": .string("Bearer t0p")]))
      let error = try await server.failure("fail")
      #expect(
        error.message
          == (isModern
            ? "the tool 'fail' failed: Error executing tool fail"
            : "the tool 'fail' failed: Error executing tool fail: no"))
      #expect(error.effect == .done)
    }
  }

  @Test(arguments: [
    (
      "http://127.0.0.1:9/mcp",
      "POST http://127.0.0.1:9/mcp: http://127.0.0.1:9 refused the connection; check that the service runs and that the address is right."
    )
  ])
  func `says why a server over HTTP can't be asked`(_ url: String, _ message: String) async throws {
    let error = await #expect(throws: PluginLockError.self) { try await LockedServer.lock(MCPSource(.url(url))) }
    #expect(error?.message == message)
  }
}
