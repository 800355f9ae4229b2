import ActionKit
import Basics
import Foundation
import HTTPClient
import HTTPServer
import Synchronization
import Testing

/// `errand serve --sandbox`: everything that is served runs against made-up services.
@Suite(.timeLimit(.minutes(20))) struct ServedSandboxTests {
  private static let read = """
    inputs: { markbook: { type: int, default: 1207731 } }
    on: [{ cron: "0 \(Program.farHour) * * *", zone: UTC }]
    steps:
      - { id: book, uses: markbook.getMarkbook, with: { markbookKey: "${{ inputs.markbook }}" } }
      - { uses: file.append, with: { path: seen.txt, text: "x" } }
    outputs: { name: "${{ steps.book.markbookName }}" }
    """
  private static let hook = """
    inputs: { ref: { type: string } }
    on:
      - webhook: { verify: { github: "${{ secrets.HUB }}" }, type: { ref: string } }
        inputs: { ref: "${{ event.data.ref }}" }
    steps: [{ let: { x: "${{ inputs.ref }}" } }]
    """

  /// A program that serves in a sandbox, with the address that it printed.
  private struct Served {
    let program: Program
    let agent: Serving
    let base: String
    let state: String
    /// The address that logs a browser in.
    let link: String

    init(_ program: Program) async throws {
      self.program = program
      agent = try program.serve("serve", "--sandbox")
      let address = try #require(await agent.line(with: "listens on http://"))
      base = try #require(address.components(separatedBy: "listens on ").last)
      let line = try #require(await agent.line(with: "/login?link="), "\(agent.before)")
      let words = line.components(separatedBy: " ")
      link = try #require(words.first { $0.contains("/login?link=") })
      state = try #require(words.firstIndex(of: "--state").map { words[$0 + 1] })
    }

    func call(_ words: String...) async throws -> Program.Outcome {
      try await program.call(["--state", state] + words)
    }

    /// A run as the API answers it.
    func answer(about run: String) async throws -> Value {
      let made = try await call("token", "new", "look\(run.filter { $0.isLetter || $0.isNumber })", "--scope", "read")
      let token = made.out.trimmingCharacters(in: .newlines)
      return try JSON.parse(
        try await HTTPClient().send(
          HTTPRequest("GET", "\(base)/api/v1/runs/\(run)", headers: ["Authorization": "Bearer \(token)"])
        ).body)
    }

    /// Ends the agent; nothing that it made is left.
    func end() async {
      agent.signal(SIGTERM)
      #expect(await agent.line(with: "stopped; its state and its files are removed") != nil, "\(agent.before)")
      #expect(await agent.end() == 0)
      #expect(!FileManager.default.fileExists(atPath: state))
      #expect(!FileManager.default.fileExists(atPath: URL(filePath: state).deletingLastPathComponent().path))
    }
  }

  @Test func `a folder's own command opens its sandbox`() async throws {
    let program = try await ServeTests.program(["read.yaml": ServedSandboxTests.read])
    let none = try await program.call("open", "--print")
    #expect(none.code == 69)
    let served = try await Served(program)
    let opened = try await program.call("open", "--print")
    #expect(opened.code == 0, "\(opened.error)")
    #expect(
      opened.error.contains(
        "this folder is served in a sandbox; other commands reach it with --state \(served.state)\n"), "\(opened.error)"
    )
    // The printed command opens it from any folder.
    let again = try #require(opened.error.components(separatedBy: "to open it again, from any folder: errand ").last)
    let words = again.prefix { $0 != "\n" }.replacing("'", with: "").components(separatedBy: " ")
    #expect(words.first == "--config" && words.suffix(3) == ["--state", served.state, "open"], "\(opened.error)")
    let elsewhere = try await Program(beside: program)
    let reopened = try await elsewhere.call(words + ["--print"])
    #expect(reopened.out.hasPrefix("\(served.base)/login?link="), "\(reopened)")
    await elsewhere.remove()
    #expect(opened.out.hasPrefix("\(served.base)/login?link="), "\(opened.out)")
    // Another folder's isn't this one's.
    let other = try await Program(beside: program)
    #expect(try await other.call("open", "--print").code == 69)
    await other.remove()
    await served.end()
    await program.remove()
  }

  @Test func `no service is asked, all runs are trials, and nothing is left`() async throws {
    let asked = Mutex(0)
    let real = try HTTPServer(host: "127.0.0.1", port: 0) { _ in
      asked.withLock { $0 += 1 }
      return .text("{}", type: "application/json")
    }
    let program = try await ServeTests.program(["read.yaml": ServedSandboxTests.read])
    let address = "http://127.0.0.1:\(real.port)"
    try program.write(
      try program.read("errand.yaml")
        .replacingOccurrences(of: program.sandbox.baseURL, with: address)
        .replacingOccurrences(of: "MARKBOOK_PASSWORD", with: "NOT_THERE")
        + "  interviewPrep: { baseURL: \(address) }\n", to: "errand.yaml")
    let served = try await Served(program)
    #expect(
      served.agent.before.contains("everything is made up: the services, the state, and the files in"),
      "\(served.agent.before)")

    let started = try await served.call("runs", "start", "read")
    #expect(started.code == 0, "\(started)")
    let id = started.out.trimmingCharacters(in: .newlines)
    let followed = try await served.call("runs", "follow", id)
    #expect(followed.code == 0 && followed.out == "name: 2026 Y8 Geography\n", "\(followed)")
    #expect(try await served.call("why", id).out.contains("It ran against sandboxes, not the services."))
    #expect(try await served.answer(about: id)["isSandbox"]?.bool == true)
    // So does a run of a schedule, and one whose setting would lead it elsewhere.
    let triggered = try await served.call("schedule", "trigger", "read")
    #expect(triggered.code == 0, "\(triggered)")
    let ended = try #require(await served.agent.line(with: "begins for "), "\(served.agent.before)")
    let second = try #require(ended.components(separatedBy: " read ").last?.prefix(36))
    #expect(try await served.call("runs", "follow", String(second)).out == "name: 2026 Y8 Geography\n")
    let triggeredRun = try await served.answer(about: String(second))
    #expect(triggeredRun["isSandbox"]?.bool == true && triggeredRun["status"]?.string == "succeeded", "\(triggeredRun)")
    let set = try await program.call(
      ["--state", served.state, "run", "recipes/read.yaml", "--set", "connections.markbook.baseURL=\(address)"],
      environment: ["NOT_THERE": "x"])
    #expect(set.code == 0 && set.out == "name: 2026 Y8 Geography\n", "\(set)")
    // A plan reads from the sandboxes, too.
    let token = try await served.call("token", "new", "planner", "--scope", "start", "--scope", "data")
    let planned = try await HTTPClient().send(
      HTTPRequest(
        "POST", "\(served.base)/api/v1/recipes/read/plans",
        headers: ["Authorization": "Bearer \(token.out.trimmingCharacters(in: .newlines))"]))
    let plan = try JSON.parse(planned.body)
    #expect(planned.status == 201 && plan["wouldFail"]?.bool == false, "\(plan)")
    #expect(plan["document"]?["sandbox"]?.bool == true)
    // A recipe that comes while it serves, of a plugin that no other recipe uses, gets its sandbox too.
    try program.write(
      "steps: [{ id: health, uses: interviewPrep.health }]\noutputs: { isThere: true }\n", to: "recipes/health.yaml")
    #expect(await served.agent.line(with: "recipe health of ") != nil, "\(served.agent.before)")
    let added = try await served.call("runs", "start", "health")
    let follow = try await served.call("runs", "follow", added.out.trimmingCharacters(in: .newlines))
    #expect(follow.code == 0 && follow.out == "isThere: true\n", "\(added) \(follow)")
    // The link logs in, once.
    #expect(served.link.hasPrefix("\(served.base)/login?link="), "\(served.link)")
    var visit = HTTPRequest("GET", served.link)
    visit.redirects = .none
    let cookie = try #require(try await HTTPClient().send(visit).headers["Set-Cookie"]?.split(separator: ";").first)
    #expect(try await HTTPClient().send(visit).headers["Set-Cookie"] == nil)
    let page = try await HTTPClient().send(
      HTTPRequest("GET", "\(served.base)/runs/\(id)", headers: ["Cookie": String(cookie)]))
    #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains(id))

    await served.end()
    #expect(asked.withLock { $0 } == 0)
    for name in [".errand", "seen.txt"] {
      #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: name).path), "\(name)")
    }
    // The server does count.
    _ = try await HTTPClient().send(HTTPRequest("GET", address))
    #expect(asked.withLock { $0 } == 1)
    await real.stop()
    await program.remove()
  }

  @Test func `a webhook's secret is made up, and printed so that a delivery can be signed`() async throws {
    let program = try await ServeTests.program(["hook.yaml": ServedSandboxTests.hook])
    let served = try await Served(program)
    let printed = served.agent.before.components(separatedBy: "\n")
    let line = try #require(printed.first { $0.contains("sign deliveries with ") })
    #expect(line.hasPrefix("the secret 'HUB' of a webhook is made up here; sign deliveries with whsec_"))
    let secret = line.components(separatedBy: "with ").last ?? ""
    let body = #"{"ref":"main"}"#
    func deliver(_ key: String) async throws -> Int {
      var headers = WebhookTests.github(body, "d1", "push", key)
      headers["Content-Type"] = "application/json"
      return try await HTTPClient().send(
        HTTPRequest("POST", "\(served.base)/hooks/hook", headers: headers, body: Array(body.utf8))
      ).status
    }
    #expect(try await deliver("guess") == 401)
    #expect(try await deliver(secret) == 202)
    let begun = try #require(await served.agent.line(with: " begins"), "\(served.agent.before)")
    let id = try #require(begun.components(separatedBy: " hook ").last?.prefix(36))
    #expect(try await served.call("runs", "follow", String(id)).code == 0)
    let run = try await served.answer(about: String(id))
    #expect(run["isSandbox"]?.bool == true && run["status"]?.string == "succeeded", "\(run)")
    await served.end()
    await program.remove()
  }

  @Test func `no other state can be named`() async throws {
    let program = try await ServeTests.program()
    let both = try await program.call("serve", "--sandbox", "--state", "x")
    #expect(
      both.code == 64
        && both.error == "error: --sandbox has a state that is thrown away; leave out --state\n", "\(both)")
    await program.remove()
  }
}
