import Basics
import Foundation
import HTTPClient
import HTTPServer
import Synchronization
import Testing

/// `errand --remote`: the commands of runs and schedules against a real agent elsewhere, over HTTP with a token.
@Suite(.timeLimit(.minutes(20))) struct RemoteTests {
  /// A folder that has no recipe, no errand.yaml and no state, with a token for an agent elsewhere.
  struct Client {
    let bench: APITests.Bench
    let folder: URL

    init(_ bench: APITests.Bench, _ options: String...) async throws {
      self.bench = bench
      folder = bench.program.folder.appending(path: "client-\(UUID().uuidString.prefix(8))")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try write(try await bench.token(folder.lastPathComponent, options), mode: 0o600)
    }

    func write(_ token: String, mode: Int) throws {
      let path = folder.appending(path: "token").path
      try Data("\(token)\n".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private func process(_ arguments: [String], _ environment: [String: String]) -> Process {
      let process = Process()
      process.executableURL = Program.binary
      process.arguments = arguments
      process.currentDirectoryURL = folder
      process.environment = ProcessInfo.processInfo.environment.merging(
        ["ERRAND_REMOTE": bench.url, "ERRAND_TOKEN_FILE": "token", "TZ": "Europe/Berlin"]
      ) { $1 }.merging(environment) { $1 }
      return process
    }

    func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Serving {
      try Serving(process(arguments, environment))
    }

    func call(_ arguments: String..., environment: [String: String] = [:]) async throws -> Program.Outcome {
      try await Call(process(arguments, environment)).outcome()
    }
  }

  private static let all = [
    "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "steer", "--scope", "approve",
  ]

  private func client(_ bench: APITests.Bench) async throws -> Client {
    let client = try await Client(bench)
    try client.write(try await bench.token("all", RemoteTests.all), mode: 0o600)
    return client
  }

  @Test func `a run is started, followed, approved and explained elsewhere`() async throws {
    let bench = try await APITests.Bench()
    let client = try await client(bench)
    let sum = try await client.call("run", "sum", "-i", "n=4")
    #expect(sum.code == 0 && sum.out == "m: 5\n", "\(sum)")
    let detached = try await client.call("run", "ask", "-i", "name=Ada", "--key", "k1", "--detach")
    let id = detached.out.trimmingCharacters(in: .newlines)
    #expect(
      detached.error
        == "the agent has it; follow it with: errand --remote \(bench.url) runs follow \(id)\n")
    let again = try await client.call("run", "ask", "-i", "name=Ada", "--key", "k1", "--detach")
    #expect(again.out == detached.out && again.error.contains("no run was started: \(id) has this key"))

    let follower = try client.start(["runs", "follow", id])
    var listed = try await client.call("runs", "list", "--json")
    while !listed.out.contains("Greet Ada?") { listed = try await client.call("runs", "list", "--json") }
    let approved = try await client.call("runs", "approve", id, "--comment", "yes")
    #expect(approved.code == 0 && approved.error == "approved 'ask' of \(id) as the token\n", "\(approved)")
    #expect(await follower.end() == 0, "\(follower.before)")
    let displayed = try await client.call("runs", "show", id, "--json")
    #expect(displayed.json["outputs"]?["words"]?.string == "Hello Ada", "\(displayed)")
    #expect(displayed.out.contains("\"by\": \"all\""))
    let why = try await client.call("why", id)
    #expect(why.code == 0 && why.out.contains("all approved 'ask' on "), "\(why)")
    #expect(try await client.call("runs", "logs", id, "--follow").error == "the run is over: succeeded\n")
    #expect(try await client.call("graph", id, "--format", "mermaid").out.contains("succeeded"))

    // Its schedules are due by the clock of their own folder, which this one doesn't have.
    let next = try await client.call("schedule", "next", "sum", "-n", "1", "--json", environment: ["TZ": "UTC"])
    #expect(next.json.list?.first?["local"]?.string?.contains(" 05:00") == true, "\(next)")
    let triggered = try await client.call("schedule", "trigger", "sum", "-i", "n=8")
    #expect(triggered.code == 0 && triggered.error.hasPrefix("sum: started "), "\(triggered)")
    let log = try await client.call("schedule", "log", "sum", "--json")
    #expect(log.json.list?.first?["outcome"]?.string == "started")
    let told = try await client.call("why", "sum", "--at", "2020-01-01 05:00")
    #expect(
      told.out.hasPrefix(
        "sum did not run on Wed 2020-01-01 05:00 CET: the agent has known the schedule only since "), "\(told)")
    #expect(told.out.contains("\n  It is due next on "), "\(told)")
    #expect(try await client.call("runs", "delete", id).code == 0)
    // Nothing was kept here.
    #expect(try FileManager.default.contentsOfDirectory(atPath: client.folder.path) == ["token"])
    await bench.end()
  }

  @Test func `a token does there what it is for, and nothing else`() async throws {
    let bench = try await APITests.Bench()
    let narrow = try await Client(bench, "--scope", "read", "--scope", "data", "--scope", "start", "--recipe", "sum")
    let reader = try await Client(bench, "--scope", "read", "--scope", "start")
    let started = try await narrow.call("run", "sum")
    #expect(started.code == 0 && started.out == "m: 2\n", "\(started)")
    let id = try await bench.program.call("runs", "start", "ask", "-i", "name=Ada").out
      .trimmingCharacters(in: .newlines)
    let foreign = try await narrow.call("runs", "show", id)
    #expect(foreign.code == 66 && foreign.error == "error: there is no such run\n", "\(foreign)")
    let refused = try await narrow.call("run", "ask", "-i", "name=Ada")
    #expect(
      refused.code == 66 && refused.error == "error: no recipe called 'ask' is served; there are sum\n", "\(refused)")
    let steered = try await narrow.call("runs", "cancel", "last:sum")
    #expect(
      steered.code == 78
        && steered.error
          == "error: the agent at \(bench.url) refuses: the token lacks the scope 'steer', which this needs\n"
    )
    let listed = try await narrow.call("runs", "list", "--json")
    #expect(listed.code == 0 && !listed.out.contains("ask") && listed.out.contains("\"sum\""), "\(listed)")
    let displayed = try await narrow.call("runs", "show", "last:sum")
    #expect(displayed.code == 0 && displayed.out.contains("m: 2"), "\(displayed)")
    #expect(try await narrow.call("why", "last:sum").code == 0)
    let schedules = try await narrow.call("schedule", "list", "--json")
    #expect(schedules.json.list?.compactMap { $0["id"]?.string } == ["sum"], "\(schedules)")
    let blind = try await reader.call("runs", "list")
    #expect(
      blind.code == 78
        && blind.error
          == "error: the agent at \(bench.url) refuses: the token lacks the scope 'data', which 'errand --remote' needs for every command\n"
    )
    // Requests that only the agent's own account may send are refused for every token, and others without their scope.
    let all = try await bench.token("all", RemoteTests.all)
    for name in ["issueLink", "yield", "submit", "tokens"] {
      let answer = try await bench.ask(name, all)
      #expect(answer.status == 403 && answer.json["kind"]?.string == "forbidden", "\(name): \(answer)")
    }
    // A request that the token doesn't permit is refused before it is read further.
    let some = try await bench.token("some", "--scope", "read", "--scope", "data", "--recipe", "sum")
    for (name, token, status) in [("cancel", some, 403), ("cancel", all, 400), ("cancle", some, 404)] {
      let answer = try await bench.ask(name, token, #"{"rum":1}"#)
      #expect(answer.status == status, "\(name): \(answer)")
    }
    // No token is told where on its machine the agent is, and one for some recipes not its process.
    let report = try await bench.ask("status", some)
    #expect(report.json["pid"] == .int(0) && report.json["folder"]?.string == "", "\(report)")
    let told = try await bench.ask("status", all)
    #expect(told.json["folder"]?.string == "" && told.json["pid"] != .int(0), "\(told)")
    await bench.end()
  }

  @Test func `a request names the version that it is of, and each answer the agent`() async throws {
    let bench = try await APITests.Bench()
    let token = try await bench.token("all", RemoteTests.all)
    let own = Program.identity
    for (program, detail) in [
      (
        "errand 0.0.1",
        "this agent is \(own), and asked by errand 0.0.1; use one version on both sides"
      ),
      (
        nil,
        "this form is for errand itself, which names its version in Errand-Program; other programs use the paths in /openapi.json"
      ),
    ] as [(String?, String)] {
      // The operation and its inputs aren't looked at.
      for operation in ["status", "no such"] {
        let other = try await bench.ask(operation, token, "{", as: program)
        #expect(other.status == 409 && other.json["kind"]?.string == "held", "\(other)")
        #expect(
          other.json["detail"]?.string == detail, "\(other)")
      }
    }
    for (operation, status) in [("status", 200), ("show", 400), ("cancle", 404), ("issueLink", 403)] {
      let answer = try await bench.ask(operation, token)
      #expect(answer.status == status, "\(operation): \(answer)")
      #expect(answer.headers["Errand-Program"] == own && answer.headers["Errand-Process"] == nil)
    }
    // The token is checked before the version.
    let unknown = try await bench.send("POST", "/api/v1/operations/status", nil, "{}")
    #expect(unknown.status == 401 && unknown.json["kind"]?.string == "unauthorized", "\(unknown)")
    // The requests of errand before 0.6.0.
    let former = try await bench.send("POST", "/api/v1/requests", token, #"{"ask":"status"}"#)
    #expect(former.status == 410 && former.json["kind"]?.string == "held", "\(former)")
    let detail = "this agent is \(own), whose commands ask in another form; use \(own)"
    #expect(former.json["detail"]?.string == detail, "\(former)")
    #expect(try await bench.send("GET", "/api/v1/requests", token).status == 405)
    await bench.end()
  }

  @Test func `tokens are made, listed and revoked elsewhere, and workers asked for`() async throws {
    let bench = try await APITests.Bench()
    let client = try await Client(
      bench, "--scope", "read", "--scope", "data", "--scope", "tokens", "--expires", "90d")
    let made = try await client.call("token", "new", "ci", "--recipe", "smu")
    #expect(made.code == 0 && made.out.hasPrefix("errand_"), "\(made)")
    #expect(made.error.contains("warning: no recipe is called 'smu' (did you mean 'sum'?)"), "\(made.error)")
    #expect(made.error.contains("the token expires on "), "\(made.error)")
    #expect(made.error.hasSuffix("Anyone who has it can act as 'ci':\n"), "\(made.error)")
    let token = made.out.trimmingCharacters(in: .newlines)
    #expect(try await bench.send("GET", "/api/v1/runs", token).status == 200)
    let listed = try await client.call("token", "list", "--json")
    #expect(
      listed.json.list?.compactMap { $0["name"]?.string } == ["ci", client.folder.lastPathComponent], "\(listed)")
    let refused = try await client.call("token", "new", "big", "--scope", "steer")
    #expect(refused.code != 0 && refused.out.isEmpty, "\(refused)")
    #expect(
      refused.error.contains("the token can't give more than it has: it lacks the scope 'steer'"), "\(refused.error)")
    let revoked = try await client.call("token", "revoke", "ci")
    #expect(revoked.code == 0 && revoked.error == "the token 'ci' is revoked\n", "\(revoked)")
    #expect(try await bench.send("GET", "/api/v1/runs", token).status == 401)
    let workers = try await client.call("workers")
    #expect(workers.code != 0 && workers.error.contains("workers share a state in PostgreSQL"), "\(workers)")
    // Without the scope 'tokens' there is none of it.
    let reader = try await Client(bench, "--scope", "read", "--scope", "data")
    let blind = try await reader.call("token", "list")
    #expect(blind.code == 78 && blind.error.contains("the token lacks the scope 'tokens'"), "\(blind)")
    await bench.end()
  }

  @Test func `a token that others can read, and one that isn't valid, are refused`() async throws {
    let bench = try await APITests.Bench()
    let client = try await client(bench)
    let path = client.folder.appending(path: "token").path
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let open = try await client.call("runs")
    #expect(
      open.code == 78
        && open.error == "error: 'token' can be read by others; make it private with: chmod 600 token\n")
    try client.write("errand_0", mode: 0o600)
    let invalid = try await client.call("runs")
    #expect(
      invalid.code == 78
        && invalid.error
          == "error: the agent at \(bench.url) refuses the token: the token isn't valid; see: errand token list\n"
    )
    // A secret's source has it, and the environment.
    let token = try await bench.token("more", RemoteTests.all)
    let variable = ["MINE": token, "ERRAND_TOKEN_FILE": ""]
    #expect(try await client.call("--token-secret", "MINE", "runs", environment: variable).code == 0)
    #expect(try await client.call("runs", environment: ["ERRAND_TOKEN": token]).code == 0)
    let none = try await client.call("runs", environment: ["ERRAND_TOKEN_FILE": ""])
    #expect(none.code == 64 && none.error.hasPrefix("error: --remote needs a token; name a file of mode 0600"))
    await bench.end()
  }

  @Test(arguments: [
    (["runs"], "http://errand.example", 64, "'http://errand.example' has no TLS"),
    (["runs"], "ftp://errand.example", 64, "the address of an agent is a scheme and a host"),
    (["runs"], "https://ada:x@errand.example", 64, "the address of an agent is a scheme and a host"),
    (["runs"], "http://127.0.0.1:1", 69, "the agent can't be reached: "),
    (["run", "recipes/sum.yaml"], "http://127.0.0.1:1", 64, "with --remote, 'errand run' starts a recipe"),
    (["run", "sum", "--sandbox"], "http://127.0.0.1:1", 64, "--sandbox needs the recipe and its services"),
    (["runs", "approve", "last", "--by", "Eve"], "http://127.0.0.1:1", 64, "an agent elsewhere records decisions"),
    (
      ["mcp", "--remote", "http://127.0.0.1:1"], "", 64,
      "an assistant reaches an agent elsewhere itself, at http://127.0.0.1:1/mcp with a token; leave out --remote"
    ),
    (["check", "--remote", "http://127.0.0.1:1"], "", 64, "'errand check' works on files here and asks no agent"),
    (["doctor", "--remote", "http://127.0.0.1:1"], "", 64, "'errand doctor' works on the agent's own state"),
    (["token", "list"], "http://127.0.0.1:1", 69, "the agent can't be reached: "),
    (["open", "--remote", "http://127.0.0.1:1"], "", 64, "open http://127.0.0.1:1 in a browser"),
    (["runs", "--token-file", "token"], "", 64, "--token-file belongs to --remote"),
    (["runs", "watch"], "http://127.0.0.1:1", 69, "the agent can't be reached: "),
    (["status"], "http://127.0.0.1:1", 69, "the agent can't be reached: "),
    (
      ["plan", "recipes/sum.yaml", "--remote", "http://127.0.0.1:1"], "", 64,
      "'errand plan' works on files here and asks no agent"
    ),
  ])
  func `an address or a command that doesn't fit is refused`(
    _ words: [String], _ address: String, _ code: Int32, _ message: String
  ) async throws {
    let program = try await Program()
    try program.write("errand_0\n", to: "token")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o600], ofItemAtPath: program.folder.appending(path: "token").path)
    let refused = try await program.call(
      words, environment: ["ERRAND_REMOTE": address, "ERRAND_TOKEN_FILE": "token"])
    #expect(refused.code == code && refused.error.hasPrefix("error: \(message)"), "\(refused)")
    await program.remove()
  }

  /// A server's answer to a command, by the token, and what the command says; in texts, `URL` is the server's.
  private static let others: [(token: String, answer: HTTPServerResponse, error: String)] = [
    (
      "page", .text("<h1>Hello</h1>", type: "text/html"),
      "what answers at URL isn't an agent: it answered with HTTP status 200; check the address"
    ),
    (
      "away", HTTPServerResponse(status: 307, headers: ["Location": "http://127.0.0.1:1/"]),
      "what answers at URL isn't an agent: it answered with HTTP status 307, which leads elsewhere; check the address"
    ),
    // The lines of an agent before 0.6.0, which this program doesn't ask for.
    (
      "lines",
      HTTPServerResponse(
        headers: ["Content-Type": "application/jsonl", "Errand-Program": "errand 0.5.0"],
        body: .bytes(Array("{\"open\":5,\"finished\":[{\"new\":1}]}\n".utf8))),
      "what answers at URL isn't an agent: it answered with HTTP status 200; check the address"
    ),
    (
      "older", problem(404, "noSuchPath", "there is nothing at '/api/v1/operations/runs'"),
      "the agent at URL is of a version that --remote can't reach; use \(Program.identity) there too"
    ),
    (
      "newer", problem(409, "held", "this agent is errand 99.0, and asked by another; use one version on both sides"),
      "the agent at URL refuses: this agent is errand 99.0, and asked by another; use one version on both sides"
    ),
    (
      "library", problem(503, "missingLibrary", "install the Debian package libmicrohttpd12."),
      "the agent at URL refuses: install the Debian package libmicrohttpd12."
    ),
  ]

  private static func problem(_ status: Int, _ kind: String, _ detail: String) -> HTTPServerResponse {
    let body = JSON.displayed(.object(["kind": .string(kind), "detail": .string(detail)]))
    return .text(body, status: status, type: "application/problem+json")
  }

  @Test func `something else that answers there is told from an agent, and gets no second request`() async throws {
    let program = try await Program()
    let count = Mutex(0)
    let server = try HTTPServer(host: "127.0.0.1", port: 0) { request in
      count.withLock { $0 += 1 }
      let token = request.headers["Authorization"]?.dropFirst("Bearer errand_".count) ?? ""
      return RemoteTests.others.first { $0.token == token }?.answer ?? .text("", status: 500)
    }
    let url = "http://127.0.0.1:\(server.port)"
    for (index, other) in RemoteTests.others.enumerated() {
      let outcome = try await program.call(
        "runs", environment: ["ERRAND_REMOTE": url, "ERRAND_TOKEN": "errand_\(other.token)"])
      let error = "error: \(other.error.replacingOccurrences(of: "URL", with: url))\n"
      #expect(outcome.code == 69 && outcome.error == error, "\(other.token): \(outcome)")
      let requests = count.withLock { $0 }
      #expect(requests == index + 1, "\(other.token)")
    }
    await server.stop()
    await program.remove()
  }

  @Test(arguments: [true, false])
  func `following outlives the agent if it comes back, and says how to go on if it doesn't`(
    _ comesBack: Bool
  ) async throws {
    let bench = try await APITests.Bench()
    let client = try await client(bench)
    let id = try await client.call("runs", "start", "ask", "-i", "name=Ada").out.trimmingCharacters(in: .newlines)
    let follower = try client.start(["runs", "follow", id])
    _ = await follower.line(with: "Greet Ada?")
    bench.agent.signal(SIGKILL)
    #expect(await bench.agent.end() == -SIGKILL)
    _ = await follower.line(with: "the connection to the agent at \(bench.url) was cut; connecting again")
    if comesBack {
      let yaml = try bench.program.read("errand.yaml")
      let address = bench.url.replacingOccurrences(of: "http://", with: "")
      try bench.program.write(yaml.replacingOccurrences(of: "127.0.0.1:0", with: address), to: "errand.yaml")
      let agent = try bench.program.serve("serve")
      _ = await agent.line(with: " serves ")
      #expect(await follower.line(with: "connected again; the run is waiting") != nil, "\(follower.before)")
      #expect(try await client.call("runs", "approve", id).code == 0)
      #expect(await follower.end() == 0, "\(follower.before)")
      agent.signal(SIGTERM)
      #expect(await agent.end() == 0)
    } else {
      _ = await follower.line(with: "error: ")
      #expect(
        follower.before.hasSuffix(
          "error: the agent at \(bench.url) can't be reached any more; the run continues as soon as it is served. Follow it then with: errand --remote \(bench.url) runs follow \(id)"
        ), "\(follower.before)")
      #expect(await follower.end() == 69)
    }
    await bench.program.remove()
  }
}

extension APITests.Bench {
  /// Asks for an operation in the exact form, as `--remote` does.
  ///
  /// - Parameter program: The program with its version that the request names, if any.
  func ask(
    _ operation: String, _ token: String, _ inputs: String = "{}", as program: String? = Program.identity
  ) async throws -> (status: Int, json: Value, headers: HTTPHeaders) {
    var headers: HTTPHeaders = [:]
    headers["Errand-Program"] = program
    return try await send(
      "POST", "/api/v1/operations/\(PercentEncoding.encode(operation))", token, inputs, headers: headers)
  }
}
