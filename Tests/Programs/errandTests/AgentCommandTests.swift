import Basics
import Foundation
import Testing

/// The commands that show an agent's connections, recipes, plans, questions, changes and status.
@Suite(.timeLimit(.minutes(20))) struct AgentCommandTests {
  private static let keep = """
    summary: "Keeps words"
    inputs: { words: { type: string, summary: "The words" }, n: { type: int, default: 3 } }
    steps:
      - { uses: store.put, with: { name: words, value: "${{ inputs.words }}" } }
    """

  private static let allScopes = ["--scope", "read", "--scope", "data", "--scope", "start", "--scope", "steer"]

  /// Adds a recipe, and waits until the agent serves it.
  private func serve(_ text: String, as name: String, on bench: APITests.Bench) async throws {
    try bench.program.write(text, to: "recipes/\(name).yaml")
    while try await bench.program.call("recipes", "show", name).code != 0 {}
  }

  /// The cells of tables, line by line, without the empty ones.
  private static func cells(_ text: String) -> [[String]] {
    text.split(separator: "\n").map { line in line.split(separator: /\s\s+/).map { String($0) } }
  }

  // MARK: Without an agent

  @Test func `without an agent the status says so, and what needs one is refused with the command to type`()
    async throws
  {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let status = try await program.call("status")
    #expect(status.code == 0 && status.out.hasPrefix("agent      none is running here\n"), "\(status)")
    #expect(status.out.contains(/\/\.errand, [0-9]+ bytes\nopen runs  none\n$/), "\(status)")
    #expect(
      status.error == "Nothing wakes waiting runs or starts schedules. Start an agent with: errand serve\n", "\(status)"
    )
    let value = try await program.call("status", "--json").json
    #expect(value["isServing"] == .bool(false) && value["runs"] == .object([:]) && value["recipes"] == nil, "\(value)")
    for (words, what, otherwise) in [
      (["recipes"], "serves recipes", "errand check"),
      (["recipes", "list", "--json"], "serves recipes", "errand check"),
      (["recipes", "show", "done"], "finds recipes by their names", "errand check FILE"),
      (["plan", "--show", "00"], "keeps plans", "errand plan FILE"),
    ] {
      let refused = try await program.call(words)
      #expect(refused.code == 69 && refused.out.isEmpty, "\(refused)")
      #expect(
        refused.error
          == "error: no agent is serving, and only an agent \(what); start one with: errand serve; without an agent: \(otherwise)\n"
      )
    }
    let watch = try await program.call("runs", "watch")
    #expect(
      watch.code == 69
        && watch.error == "error: no agent is running, so no run changes; start one with: errand serve\n", "\(watch)")
    let approvals = try await program.call("runs", "approvals")
    #expect(
      approvals.code == 0 && approvals.out.isEmpty && approvals.error.hasPrefix("no runs wait for a decision in /"),
      "\(approvals)")
    #expect(try await program.call("runs", "approvals", "--json").json == .object(["items": .list([])]))
    await program.remove()
  }

  @Test func `a plan is displayed without a recipe, and made with one`() async throws {
    let program = try await Program()
    for (words, message) in [
      (
        ["plan"],
        "'errand plan' needs RECIPE, the recipe's file, or --show with the digest of a plan that an agent keeps"
      ),
      (["plan", "a.yaml", "--show", "00"], "--show names the plan; leave out the recipe"),
      (["plan", "--show", "00", "-i", "n=1"], "--show shows a plan that was made before; leave out --input"),
      (["plan", "--show", "00", "--sandbox"], "--show shows a plan that was made before; leave out --sandbox"),
    ] {
      let refused = try await program.call(words)
      #expect(refused.code == 64 && refused.error == "error: \(message)\n", "\(refused)")
    }
    await program.remove()
  }

  @Test func `connections and secrets are listed without an agent, and without values`() async throws {
    let program = try await Program()
    let empty = try await program.call("connections", "--config", "empty.yaml")
    #expect(empty.code != 0, "\(empty)")
    try program.write("zone: UTC\n", to: "empty.yaml")
    let none = try await program.call("connections", "--config", "empty.yaml")
    #expect(
      none.code == 0 && none.out.isEmpty
        && none.error == "errand.yaml has no connections, and no secret is needed\n", "\(none)")
    try program.write(
      """
      secrets: { commands: { LATER: [cat, later] } }
      connections:
        shop:
          plugin: http
          baseURL: https://shop.example/api
          token: ${{ secrets.SHOP }}
          limits: { maxParallel: 4, requests: 60, per: 1m }
        other: { plugin: http, baseURL: https://other.example, token: "${{ secrets.LATER }}" }
      """, to: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      "steps: [{ uses: http.get, connection: shop, with: { url: /a, query: { key: \"${{ secrets.LOST }}\" } } }]\n",
      to: "recipes/buy.yaml")
    let displayed = try await program.call("connections", environment: ["SHOP": "planted-s3cret"])
    #expect(displayed.code == 0 && !displayed.out.contains("planted-s3cret"), "\(displayed)")
    let lines = AgentCommandTests.cells(displayed.out)
    #expect(lines.contains(["CONNECTION", "PLUGIN", "ADDRESS", "LIMITS", "NOTE", "RECIPES"]), "\(displayed.out)")
    #expect(
      lines.contains(["shop", "http", "https://shop.example/api", "4 at once, 60 per 1 min", "buy"]), "\(displayed.out)"
    )
    #expect(lines.contains(["other", "http", "https://other.example"]), "\(displayed.out)")
    #expect(lines.contains(["SECRET", "COMES FROM", "CONNECTIONS", "RECIPES"]), "\(displayed.out)")
    #expect(lines.contains(["LOST", "missing", "buy"]), "\(displayed.out)")
    #expect(lines.contains { $0.first == "LATER" && $0.dropFirst().first?.hasSuffix(", not asked") == true })
    let value = try await program.call("connections", "--json", environment: ["SHOP": "planted-s3cret"]).json
    let secrets = value["secrets"]?.list ?? []
    #expect(secrets.compactMap { $0["name"]?.string } == ["LATER", "LOST", "SHOP"])
    #expect(secrets.compactMap { $0["status"]?.string } == ["notAsked", "missing", "found"])
    await program.remove()
  }

  // MARK: With an agent

  @Test func `recipes are listed and displayed, equal to the API, here and elsewhere`() async throws {
    let bench = try await APITests.Bench()
    try await serve(AgentCommandTests.keep, as: "keep", on: bench)
    try bench.program.write("steps: [{ uses: no.such }]\n", to: "recipes/broken.yaml")
    while try await !bench.program.call("recipes").out.contains("broken") {}
    let token = try await bench.token("all", AgentCommandTests.allScopes)
    let elsewhere = ["ERRAND_REMOTE": bench.url, "ERRAND_TOKEN": token]

    let list = try await bench.program.call("recipes")
    #expect(list.code == 0 && list.error.isEmpty, "\(list)")
    let lines = AgentCommandTests.cells(list.out)
    #expect(lines.first == ["RECIPE", "SUMMARY", "FILE", "NOTE"])
    #expect(lines.dropFirst().compactMap(\.first) == ["ask", "broken", "keep", "sum"], "\(list.out)")
    #expect(lines.contains { $0.first == "keep" && $0.dropFirst().first == "Keeps words" }, "\(list.out)")
    #expect(list.out.contains("has errors and isn't served; see: errand check "), "\(list.out)")
    // Callers elsewhere aren't told where the folder is.
    let folder = bench.program.folder.resolvingSymlinksInPath().path
    func told(_ output: String) -> String { output.replacingOccurrences(of: "\(folder)/", with: "") }
    let listed = try await bench.program.call("recipes", environment: elsewhere).out
    #expect(!listed.contains(folder))
    // A name with more than ASCII is quoted in a command to type.
    let plain = told(list.out).replacingOccurrences(of: "'", with: "")
    #expect(AgentCommandTests.cells(listed.replacingOccurrences(of: "'", with: "")) == AgentCommandTests.cells(plain))

    let displayed = try await bench.program.call("recipes", "show", "keep")
    #expect(displayed.code == 0 && displayed.out.hasPrefix("keep  "), "\(displayed)")
    #expect(displayed.out.contains("\nKeeps words\n"), "\(displayed.out)")
    let rows = AgentCommandTests.cells(displayed.out)
    #expect(rows.contains(["INPUT", "TYPE", "DEFAULT", "SUMMARY"]), "\(displayed.out)")
    #expect(rows.contains(["words", "string", "required", "The words"]), "\(displayed.out)")
    #expect(rows.contains(["n", "integer", "3"]), "\(displayed.out)")
    #expect(rows.contains { $0.first == "store.put" && $0.count == 2 }, "\(displayed.out)")
    #expect(displayed.out.contains("\ntext\n  summary: \"Keeps words\"\n"), "\(displayed.out)")
    let broken = try await bench.program.call("recipes", "show", "broken")
    #expect(broken.code == 0 && broken.error.contains("broken.yaml:1:"), "\(broken)")

    for (words, path) in [
      (["recipes", "list"], "recipes"), (["recipes", "show", "keep"], "recipes/keep"),
      (["connections"], "connections"), (["runs", "approvals"], "approvals"),
    ] {
      let api = try await bench.send("GET", "/api/v1/\(path)", token)
      #expect(api.status == 200)
      #expect(try await JSON.parse(told(bench.program.call(words + ["--json"]).out)) == api.json, "\(words)")
      #expect(try await bench.program.call(words + ["--json"], environment: elsewhere).json == api.json, "\(words)")
    }
    // A caller with a token isn't told where the state is.
    let status = try await bench.send("GET", "/api/v1/status?size=true", token)
    #expect(try await bench.program.call(["status", "--json"], environment: elsewhere).json == status.json)
    let unknown = try await bench.program.call("recipes", "show", "kepe")
    #expect(
      unknown.code == 66 && unknown.error.hasPrefix("error: no recipe called 'kepe' is served")
        && unknown.error.contains("keep"), "\(unknown)")
    await bench.end()
  }

  @Test func `a token sees its own recipes, and isn't told of connections`() async throws {
    let bench = try await APITests.Bench()
    let narrow = try await bench.token("narrow", AgentCommandTests.allScopes + ["--recipe", "sum"])
    let elsewhere = ["ERRAND_REMOTE": bench.url, "ERRAND_TOKEN": narrow]
    let list = try await bench.program.call("recipes", "--json", environment: elsewhere)
    #expect(list.json["items"]?.list?.compactMap { $0["name"]?.string } == ["sum"], "\(list)")
    #expect(try await bench.program.call("recipes", "show", "ask", environment: elsewhere).code == 66)
    let connections = try await bench.program.call("connections", environment: elsewhere)
    #expect(connections.code == 78 && connections.out.isEmpty, "\(connections)")
    let status = try await bench.program.call("status", environment: elsewhere)
    #expect(status.code == 0 && !status.out.contains("process ") && !status.out.contains("state "), "\(status)")
    await bench.end()
  }

  @Test func `the status has the process, the runs, the recipes and the next slot`() async throws {
    let bench = try await APITests.Bench()
    let waits = try await bench.program.call("runs", "start", "ask", "-i", "name=Ada")
    #expect(waits.code == 0)
    while try await bench.program.call("status", "--json").json["runs"]?["waiting"]?.int != 1 {}
    let status = try await bench.program.call("status")
    let lines = status.out.split(separator: "\n").map(String.init)
    #expect(status.code == 0 && lines.count == 5, "\(status)")
    let program = try await bench.program.call("status", "--json").json["program"]?.string ?? ""
    #expect(
      lines.first?.hasPrefix("agent      \(program), process \(bench.agent.pid), serves since ") == true, "\(status)")
    #expect(lines.dropFirst(2).first == "open runs  1 waiting", "\(status)")
    #expect(lines.dropFirst(3).first == "recipes    2", "\(status)")
    #expect(lines.last?.hasPrefix("schedules  1; the next slot is on ") == true, "\(status)")
    await bench.end()
  }

  @Test func `open questions are listed page by page, with the command to type`() async throws {
    let bench = try await APITests.Bench()
    var ids: [String] = []
    for name in ["Ada", "Bob"] {
      let started = try await bench.program.call("runs", "start", "ask", "-i", "name=\(name)")
      ids.append(started.out.trimmingCharacters(in: .newlines))
    }
    while try await bench.program.call("runs", "approvals", "--json").json["items"]?.list?.count != 2 {}
    let all = try await bench.program.call("runs", "approvals")
    #expect(all.code == 0 && all.out.contains("Greet Ada?") && all.out.contains("Greet Bob?"), "\(all)")
    #expect(all.error == "\nDecide with: errand runs approve RUN STEP; or: errand runs reject RUN STEP\n", "\(all)")
    let first = try await bench.program.call("runs", "approvals", "-n", "1")
    #expect(first.out.contains("Greet Ada?") && !first.out.contains("Greet Bob?"), "\(first)")
    let after = try #require(first.error.split(separator: "--after ").last).trimmingCharacters(in: .newlines)
    #expect(ids.first?.hasSuffix(after) == true, "\(first)")
    let second = try await bench.program.call("runs", "approvals", "--after", after, "--json")
    #expect(second.json["items"]?.list?.compactMap { $0["run"]?.string } == Array(ids.dropFirst()), "\(second)")
    #expect(second.json["items"]?.list?.first?["prompt"]?.string == "Greet Bob?" && second.json["next"] == nil)
    let last = try await bench.program.call("runs", "approvals", "--after", ids[1])
    #expect(last.out.isEmpty && last.error.hasPrefix("no more runs wait for a decision in "), "\(last)")
    let token = try await bench.token("all", AgentCommandTests.allScopes)
    let elsewhere = try await bench.program.call(
      "runs", "approvals", environment: ["ERRAND_REMOTE": bench.url, "ERRAND_TOKEN": token])
    // Times are in the clock of the agent's folder here, and in UTC elsewhere.
    #expect(elsewhere.out.contains("Greet Ada?") && elsewhere.out.contains("Greet Bob?"), "\(elsewhere)")
    #expect(elsewhere.error.contains("errand --remote \(bench.url) runs approve RUN STEP"), "\(elsewhere)")
    await bench.end()
  }

  @Test func `a kept plan is displayed as the command that makes plans shows it`() async throws {
    let bench = try await APITests.Bench()
    try await serve(AgentCommandTests.keep, as: "keep", on: bench)
    let token = try await bench.token("all", AgentCommandTests.allScopes)
    let made = try await bench.send(
      "POST", "/api/v1/recipes/keep/plans", token, #"{"inputs":{"words":"first"}}"#)
    let digest = try #require(made.json["digest"]?.string)
    let displayed = try await bench.program.call("plan", "--show", digest)
    #expect(displayed.code == 0 && displayed.out.hasPrefix("made on "), "\(displayed)")
    let command = try await bench.program.call("plan", "recipes/keep.yaml", "-i", "words=first")
    #expect(
      displayed.out.split(separator: "\n").dropFirst().elementsEqual(command.out.split(separator: "\n")), "\(displayed)"
    )
    #expect(try await bench.program.call("plan", "--show", digest, "--detailed-exitcode").code == 2)
    #expect(try await bench.program.call("plan", "--show", digest, "--json").json == made.json)
    let elsewhere = ["ERRAND_REMOTE": bench.url, "ERRAND_TOKEN": token]
    #expect(try await bench.program.call("plan", "--show", digest, "--json", environment: elsewhere).json == made.json)
    #expect(try await bench.program.call("plan", "--show", digest, environment: elsewhere).code == 0)
    let unknown = try await bench.program.call("plan", "--show", "00")
    #expect(unknown.code == 66 && unknown.error.hasPrefix("error: there is no plan '00'; "), "\(unknown)")
    await bench.end()
  }

  // MARK: Changes

  @Test func `each change of a run is a line, until Ctrl-C or the end of the agent`() async throws {
    let bench = try await APITests.Bench()
    let text = try bench.program.serve(
      of: URL(filePath: "/bin/sh"), "-c", "exec '\(Program.binary.path)' runs watch >watched")
    #expect(await text.line(with: "watching the runs in ")?.hasSuffix("/.errand; Ctrl-C ends it") == true)
    let json = try bench.program.serve(
      of: URL(filePath: "/bin/sh"), "-c", "exec '\(Program.binary.path)' runs watch --json >objects")
    let token = try await bench.token("watcher", "--scope", "read", "--scope", "data")
    let elsewhere = try bench.program.serve(
      of: URL(filePath: "/bin/sh"), "-c",
      "export ERRAND_REMOTE=\(bench.url) ERRAND_TOKEN=\(token); exec '\(Program.binary.path)' runs watch --json >remote"
    )
    func objects(_ file: String = "objects") -> [Value] {
      ((try? bench.program.read(file)) ?? "").split(separator: "\n").compactMap { try? JSON.parse(String($0)) }
    }
    for file in ["objects", "remote"] {
      while objects(file).first?["event"]?.string != "watching" { try await Task.sleep(for: .milliseconds(20)) }
    }
    let started = try await bench.program.call("runs", "start", "ask", "-i", "name=Ada")
    let id = started.out.trimmingCharacters(in: .newlines)
    while !objects().contains(where: { $0["event"]?.string == "waits" }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(try await bench.program.call("runs", "reject", id).code == 0)
    while !objects().contains(where: { $0["event"]?.string == "ended" }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(Set(objects().dropFirst().compactMap { $0["run"]?["id"]?.string }) == [id])
    #expect(objects().last?["run"]?["status"]?.string == "rejected")
    // Elsewhere, the changes are the same.
    while objects("remote").count < objects().count { try await Task.sleep(for: .milliseconds(20)) }
    #expect(objects("remote").dropFirst().elementsEqual(objects().dropFirst()))
    func lines() throws -> [[String]] {
      try bench.program.read("watched").split(separator: "\n").map { $0.components(separatedBy: "  ") }
    }
    while try lines().last?.dropFirst(3).first != "rejected" { try await Task.sleep(for: .milliseconds(20)) }
    let changes = try lines()
    #expect(changes.allSatisfy { $0.dropFirst().prefix(2) == ["ask", id] }, "\(changes)")
    #expect(changes.contains { $0.dropFirst(3) == ["waiting", "asks 'Greet Ada?'"] }, "\(changes)")
    #expect(changes.first?.first?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d/) != nil, "\(changes)")
    text.signal(SIGINT)
    #expect(await text.end() == 130, "\(text.before)")
    bench.agent.signal(SIGTERM)
    #expect(await bench.agent.end() == 0)
    #expect(await json.line(with: "error: the agent ended; watch the next one with: errand runs watch") != nil)
    #expect(await json.end() == 69)
    #expect(await elsewhere.line(with: "error: the agent ended; watch the next one with: errand ") != nil)
    #expect(await elsewhere.end() == 69)
    await bench.program.remove()
  }
}
