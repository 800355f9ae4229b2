import Basics
import Foundation
import HTTPClient
import Testing

/// The one socket of a state folder: its cost and its answers, of an agent of one command and of one that serves.
@Suite(.timeLimit(.minutes(20))) struct OneWireTests {
  private static let wait = "steps: [{ id: e, wait: { event: e } }]\n"
  private static let waits = "waits for the event 'e'"

  /// An agent without an address, whose recipe `wait` waits for an event.
  private struct Bench {
    let program: Program
    let agent: Serving
    let isServing: Bool

    var state: String { program.folder.appending(path: ".errand").path }

    /// - Parameter prepare: Puts something into the folder before the agent starts.
    init(isServing: Bool, _ prepare: (Program) throws -> Void = { _ in }) async throws {
      program = try await ServeTests.program(["wait.yaml": OneWireTests.wait])
      self.isServing = isServing
      try prepare(program)
      if isServing {
        agent = try program.serve("serve")
        #expect(await agent.line(with: " serves ") != nil, "\(agent.before)")
      } else {
        agent = try program.serve("run", "recipes/wait.yaml")
        #expect(await agent.line(with: OneWireTests.waits) != nil, "\(agent.before)")
      }
    }

    /// The run that waits; started now where the agent serves.
    func run() async throws -> String {
      if isServing {
        let started = try await program.call("run", "recipes/wait.yaml", "--detach")
        #expect(started.code == 0, "\(started)")
        #expect(await agent.line(with: OneWireTests.waits) != nil, "\(agent.before)")
      }
      let listed = try await program.call("runs", "list", "--json")
      #expect(listed.code == 0, "\(listed)")
      return try #require(listed.json["open"]?.list?.first?["id"]?.string, "\(listed)")
    }

    /// The sockets in the state folder.
    var sockets: [String] {
      get throws {
        try FileManager.default.contentsOfDirectory(atPath: state).filter { name in
          // A file of the state may be gone meanwhile.
          let attributes = try? FileManager.default.attributesOfItem(atPath: "\(state)/\(name)")
          return attributes?[.type] as? FileAttributeType == .typeSocket
        }
      }
    }

    /// Ends the agent: one that serves with a signal, and one of a command with its run, if that isn't over yet.
    func end(isOver: Bool = false) async throws {
      if isServing {
        agent.signal(SIGTERM)
      } else if !isOver {
        try await program.ask("signal", #"{"id":"end","name":"e"}"#)
      }
      #expect(await agent.end() == 0, "\(agent.before)")
      #expect(try sockets == [])
      await program.remove()
    }
  }

  /// The libraries for HTTP that a process has loaded.
  private static func libraries(of process: Int32) throws -> [String] {
    let maps = String(decoding: try Files.read("/proc/\(process)/maps"), as: UTF8.self)
    #expect(maps.contains("/libc.so"))
    return ["libcurl", "libmicrohttpd"].filter { maps.contains("/\($0)") }
  }

  @Test(arguments: [false, true])
  func `an agent has one socket, and loads no library for HTTP before a client comes`(_ isServing: Bool) async throws {
    let bench = try await Bench(isServing: isServing) { program in
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: ".errand"), withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
      // A killed agent's, before 0.6.0 and since then.
      for name in ["agent.sock", "api.sock"] { try program.write("", to: ".errand/\(name)") }
    }
    #expect(try bench.sockets == ["api.sock"])
    #expect(!FileManager.default.fileExists(atPath: "\(bench.state)/agent.sock"))
    let attributes = try FileManager.default.attributesOfItem(atPath: "\(bench.state)/api.sock")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try OneWireTests.libraries(of: bench.agent.pid) == [])

    let listed = try await bench.program.call("runs", "list")
    #expect(listed.code == 0, "\(listed)")
    #expect(listed.out.contains("wait") != isServing, "\(listed)")
    #expect(try OneWireTests.libraries(of: bench.agent.pid) == ["libmicrohttpd"])
    #expect(try bench.sockets == ["api.sock"])
    try await bench.end()
  }

  @Test(arguments: [false, true])
  func `a client loads no library for HTTP, and a program of others needs only the socket`(
    _ isServing: Bool
  ) async throws {
    let bench = try await Bench(isServing: isServing)
    let run = try await bench.run()
    let follower = try bench.program.serve("runs", "follow", run)
    #expect(await follower.line(with: OneWireTests.waits) != nil, "\(follower.before)")
    #expect(try OneWireTests.libraries(of: follower.pid) == [])

    let curl = "/usr/bin/curl"
    if FileManager.default.isExecutableFile(atPath: curl) {
      let answer = try await bench.program.shell(
        "\(curl) -sS -w '%{http_code}' --unix-socket .errand/api.sock http://errand/api/v1/runs")
      #expect(answer.code == 0 && answer.out.hasSuffix("200"), "\(answer)")
      let runs = try JSON.parse(String(answer.out.dropLast(3)))
      #expect(runs["items"]?.list?.compactMap { $0["id"]?.string } == [run], "\(answer)")
    } else {
      print("skipped: \(curl) isn't installed, so that it doesn't ask the agent")
    }
    try await bench.program.ask("signal", #"{"id":"s1","name":"e"}"#)
    #expect(await follower.end() == 0, "\(follower.before)")
    try await bench.end(isOver: true)
  }

  /// The requests for the parts of an agent, and the statuses of one of a command and of one that serves.
  private static let parts: [(method: String, path: String, body: String, run: Int, serve: Int)] = [
    ("GET", "/healthz", "", 200, 200), ("GET", "/openapi.json", "", 200, 200),
    ("GET", "/problems/held", "", 200, 200), ("GET", "/api/v1/runs", "", 200, 200),
    ("POST", "/api/v1/events", #"{"name":"unheard"}"#, 202, 202), ("GET", "/", "", 404, 200),
    ("GET", "/runs", "", 404, 200), ("GET", "/login", "", 404, 200), ("GET", "/assets/errand.css", "", 404, 200),
    ("GET", "/metrics", "", 404, 200), ("POST", "/hooks/x", "{}", 404, 404),
    ("POST", "/mcp", #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, 404, 200),
  ]

  @Test(arguments: [false, true])
  func `an agent of one command answers operations, and only one that serves the rest`(
    _ isServing: Bool
  ) async throws {
    let bench = try await Bench(isServing: isServing)
    for part in OneWireTests.parts {
      let answer = try await bench.program.exchange(part.method, part.path, part.body)
      #expect(answer.status == (isServing ? part.serve : part.run), "\(part.path): \(answer)")
      guard !isServing, answer.status == 404 else { continue }
      let problem = try JSON.parse(answer.text)
      #expect(problem["kind"]?.string == "noSuchPath", "\(part.path): \(answer)")
      #expect(problem["detail"]?.string?.hasPrefix("only 'errand serve' has ") == true, "\(part.path): \(answer)")
    }
    try await bench.end()
  }

  @Test(arguments: [false, true])
  func `a request of another version or configuration is refused, and so are the requests before 0.6.0`(
    _ isServing: Bool
  ) async throws {
    let bench = try await Bench(isServing: isServing)
    let (own, pid) = (Program.identity, bench.agent.pid)
    let restart =
      "; start that agent again with this version (kill \(pid), then errand serve; or systemctl restart), or use its version"
    let others: [(headers: HTTPHeaders, difference: String)] = [
      (["Errand-Program": "errand 0.0.1"], "which is \(own) and this is errand 0.0.1\(restart)"),
      (
        ["Errand-Program": own, "Errand-Configuration": "/else%20where/errand.yaml"],
        "/errand.yaml and this uses /else where/errand.yaml; stop it, or give one of them its own state folder"
      ),
    ]
    for other in others {
      let answer = try await bench.program.exchange(
        "POST", "/api/v1/operations/status", "{}", headers: other.headers)
      let problem = try JSON.parse(answer.text)
      #expect(answer.status == 409 && problem["kind"]?.string == "held", "\(answer)")
      let detail = problem["detail"]?.string ?? ""
      #expect(detail.hasPrefix("the state in '") && detail.contains("' is held by process \(pid), which "), "\(answer)")
      #expect(detail.hasSuffix(other.difference), "\(answer)")
    }
    let unnamed = try await bench.program.exchange("POST", "/api/v1/operations/status", "{}")
    #expect(
      unnamed.status == 409 && unnamed.text.contains("other programs use the paths in /openapi.json"), "\(unnamed)")
    // A command with another configuration is told the same.
    try bench.program.write("zone: UTC\n", to: "other.yaml")
    let refused = try await bench.program.call("runs", "list", "--config", "other.yaml", "--state", ".errand")
    #expect(refused.code == 75 && refused.error.contains("/errand.yaml and this uses "), "\(refused)")

    let former = try await bench.program.exchange("POST", "/api/v1/requests", #"{"ask":"status"}"#)
    let problem = try JSON.parse(former.text)
    #expect(former.status == 410 && problem["kind"]?.string == "held", "\(former)")
    #expect(
      problem["detail"]?.string == "this agent is \(own), whose commands ask in another form; use \(own)", "\(former)")
    try await bench.end()
  }

  // MARK: Without the library

  /// The environment of a process that doesn't find libmicrohttpd.
  ///
  /// The loader takes the first file of the name, and gives up if that isn't a library.
  private static func withoutLibrary(in program: Program) throws -> [String: String] {
    let folder = program.folder.appending(path: "hidden")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try program.write("no library\n", to: "hidden/libmicrohttpd.so.12")
    let others = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
    return ["LD_LIBRARY_PATH": folder.path + others]
  }

  /// Expects that commands are told what the agent lacks, each of them.
  private static func expectRefusals(of agent: Serving, in program: Program) async throws {
    for words in [["runs", "list"], ["status"], ["runs", "list"]] {
      let refused = try await program.call(words)
      let reason =
        "/.errand' (process \(agent.pid)) can't answer: libmicrohttpd.so.12 cannot be loaded; install the Debian package libmicrohttpd12.\n"
      #expect(refused.code == 69 && refused.error.hasPrefix("error: the agent of '"), "\(refused)")
      #expect(refused.error.hasSuffix(reason), "\(refused)")
    }
    let answer = try await program.exchange("GET", "/api/v1/runs")
    #expect(answer.status == 503, "\(answer)")
    #expect(try JSON.parse(answer.text)["kind"]?.string == "missingLibrary", "\(answer)")
  }

  @Test func `without the library clients are told what to install, and a run continues`() async throws {
    let program = try await ServeTests.program()
    let go = program.folder.appending(path: "go").path
    try program.write(
      "steps: [{ uses: shell.run, with: { effect: read, script: \"until [ -e '\(go)' ]; do sleep 0.1; done\" } }]\n",
      to: "recipes/slow.yaml")
    let run = try program.serve("run", "recipes/slow.yaml", environment: try OneWireTests.withoutLibrary(in: program))
    #expect(await run.line(with: "slow") != nil, "\(run.before)")
    try await OneWireTests.expectRefusals(of: run, in: program)
    #expect(run.isRunning)
    try program.write("", to: "go")
    #expect(await run.end() == 0, "\(run.before)")
    let listed = try await program.call("runs", "list", "--json")
    let statuses = listed.json["finished"]?.list?.compactMap { $0["status"]?.string }
    #expect(listed.code == 0 && statuses == ["succeeded"], "\(listed)")
    await program.remove()
  }

  @Test func `without the library an agent that serves keeps its schedules`() async throws {
    let program = try await ServeTests.program(["tick.yaml": "on: [{ every: 1s }]\n" + ServeTests.done])
    let serve = try program.serve("serve", environment: try OneWireTests.withoutLibrary(in: program))
    #expect(await serve.line(with: " serves ") != nil, "\(serve.before)")
    try await OneWireTests.expectRefusals(of: serve, in: program)
    for _ in 0..<2 { #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)") }
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0, "\(serve.before)")
    // An address needs the library.
    try program.write("server: { listen: 127.0.0.1:0 }\n", to: "errand.yaml")
    let refused = try await program.call("serve", environment: try OneWireTests.withoutLibrary(in: program))
    #expect(refused.code == 69 && refused.error.contains("install the Debian package libmicrohttpd12."), "\(refused)")
    await program.remove()
  }
}
