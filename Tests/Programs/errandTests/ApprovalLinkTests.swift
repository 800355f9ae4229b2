import Basics
import Foundation
import HTTPClient
import Testing

/// `approve: { link: true }` and `run.url`.
@Suite(.timeLimit(.minutes(20))) struct ApprovalLinkTests {
  private static let ask = """
    steps:
      - let: { before: "${{ run.?url.orValue('none') }}" }
      - id: all
        forEach: ${{ [1] }}
        steps:
          - { id: ask, approve: { prompt: "Send?", link: true } }
          - { id: plain, approve: { prompt: "Sure?" } }
    outputs: { before: "${{ before }}", after: "${{ run.?url.orValue('none') }}" }
    """
  private static let path = "all[0]/ask"

  @Test func `a question has the address of its page, which the run keeps`() async throws {
    let program = try await ServeTests.program(["ask.yaml": ApprovalLinkTests.ask])
    let plain = try program.read("errand.yaml")
    func serve(_ url: String) async throws -> (Serving, base: String) {
      try program.write(
        plain + "zone: UTC\nserver: { listen: 127.0.0.1:0, publicURL: \"\(url)\" }\n", to: "errand.yaml")
      let agent = try program.serve("serve")
      let line = try #require(await agent.line(with: "listens on http://"))
      _ = await agent.line(with: " serves ")
      return (agent, try #require(line.components(separatedBy: "listens on ").last))
    }
    let (agent, base) = try await serve("https://errand.example.org/")
    let started = try await program.call("runs", "start", "ask")
    let id = started.out.trimmingCharacters(in: .newlines)
    let url = "https://errand.example.org/approvals/\(id)/all%5B0%5D%2Fask"
    let token = try await program.call("token", "new", "look", "--scope", "read")
      .out.trimmingCharacters(in: .newlines)
    func answer(_ path: String) async throws -> Value {
      let request = HTTPRequest(
        "GET", base + "/api/v1/\(path)", headers: ["Authorization": "Bearer \(token)", "Host": "errand.example.org"])
      return try JSON.parse(try await HTTPClient().send(request).body)
    }
    _ = await agent.line(with: "\(id) waits")
    #expect(try await answer("approvals")["items"]?.list?.first?["url"]?.string == url)
    #expect(try await answer("runs/\(id)")["openSteps"]?.list?.first { $0["waitsFor"] != nil }?["url"]?.string == url)
    let displayed = try await program.call("runs", "show", id)
    #expect(
      displayed.out.contains(
        """
        ? ask asks: Send?
            errand runs approve \(id) 'all[0]/ask'
            errand runs reject \(id) 'all[0]/ask'
            \(url)

        """), "\(displayed)")
    #expect(
      try await program.call("runs", "--json").json["open"]?.list?.first?["asks"]?.list?.first?["url"]?.string == url)
    #expect(
      try await program.call("why", id).out.hasPrefix(
        "ask waits for a person to decide, in 'all[0]/ask': Send? Its page: \(url)\n"))
    // One that is run in the foreground shows it as it begins to wait.
    let displayedRun = try program.serve("run", "recipes/ask.yaml")
    let began = try #require(await displayedRun.line(with: "ask  run "), "\(displayedRun.before)")
    let second = try #require(began.components(separatedBy: " ").last)
    let words = await displayedRun.line(with: "all[0]/ask: waiting for a decision: Send?")
    #expect(words?.hasSuffix("… all[0]/ask: waiting for a decision: Send?") == true, "\(displayedRun.before)")
    let address = await displayedRun.line(with: "https://")
    #expect(
      address == "      https://errand.example.org/approvals/\(second)/all%5B0%5D%2Fask", "\(displayedRun.before)")
    displayedRun.signal(SIGINT)
    _ = await displayedRun.end()
    #expect(try await program.call("runs", "cancel", second).code == 0)

    // Following a run that waits shows it, too.
    let followed = try program.serve("runs", "follow", id)
    #expect(await followed.line(with: "waits for a decision: Send?") != nil, "\(followed.before)")
    #expect(await followed.line(with: "https://") == "      \(url)", "\(followed.before)")
    followed.signal(SIGINT)
    _ = await followed.end()

    // An agent with another address finishes the run with the one that it began with.
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    let (later, _) = try await serve("https://other.example.org")
    #expect(try await program.call("runs", "approve", id, "all[0]/ask").code == 0)
    _ = await later.line(with: "\(id) waits")
    let asked = try await program.call("runs", "show", id)
    #expect(asked.out.contains("? ask asks: Sure?\n") && !asked.out.contains("https://"), "\(asked)")
    #expect(try await program.call("runs", "approve", id, "all[0]/plain").code == 0)
    let run = "https://errand.example.org/runs/\(id)"
    #expect(try await program.call("runs", "follow", id).out == "before: \(run)\nafter: \(run)\n")
    later.signal(SIGTERM)
    #expect(await later.end() == 0)
    await program.remove()
  }

  @Test func `without a server there is no address, and check says so`() async throws {
    let program = try await ServeTests.program(["ask.yaml": ApprovalLinkTests.ask])
    let checked = try await program.call("check", "recipes/ask.yaml")
    #expect(
      checked.code == 0
        && (checked.out + checked.error).contains(
          """
          recipes/ask.yaml:6:54: warning: errand.yaml has no 'server', so the question has no address; \
          add server: { listen: 127.0.0.1:7373 }

          """),
      "\(checked)")
    let run = try await program.call("run", "recipes/ask.yaml", "--detach")
    let id = run.out.trimmingCharacters(in: .newlines)
    let agent = try program.serve("serve")
    _ = await agent.line(with: "\(id) waits")
    let displayed = try await program.call("runs", "show", id, "--json")
    #expect(!displayed.out.contains("\"url\""), "\(displayed)")
    try program.write(
      try program.read("errand.yaml") + "server: { listen: 127.0.0.1:7373 }\n", to: "errand.yaml")
    let sound = try await program.call("check", "recipes/ask.yaml")
    #expect(sound.code == 0 && !(sound.out + sound.error).contains("warning"), "\(sound)")
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  @Test func `a recording keeps the address, so that a replay sends the same`() async throws {
    let program = try await ServeTests.program([
      "say.yaml": """
      steps: [{ id: book, uses: markbook.getMarkbook, with: { markbookKey: 1207731 } }]
      outputs: { at: "${{ run.?url.orValue('none') }}" }
      """
    ])
    let plain = try program.read("errand.yaml")
    try program.write(plain + "server: { listen: 127.0.0.1:7373 }\n", to: "errand.yaml")
    let recorded = try await program.call("run", "recipes/say.yaml", "--record", "say.json")
    #expect(recorded.code == 0 && recorded.out.hasPrefix("at: http://127.0.0.1:7373/runs/"), "\(recorded)")
    try program.write(plain, to: "errand.yaml")
    let replayed = try await program.call("run", "recipes/say.yaml", "--replay", "say.json")
    #expect(replayed.code == 0 && replayed.out == recorded.out, "\(replayed)")
    let sandboxed = try await program.call("run", "recipes/say.yaml", "--sandbox")
    #expect(sandboxed.code == 0 && sandboxed.out == "at: none\n", "\(sandboxed)")
    await program.remove()
  }
}
