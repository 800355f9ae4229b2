import ActionKit
import ActionTestKit
import Agent
import Basics
import Calendars
import Foundation
import HTTPClient
import Operations
import ProcessTestKit
import Recipes
import RunState
import Runs
import Testing

@testable import AgentServer

/// The cost of pages: 204 for one that is up to date, compressed texts, and none that is too long.
@Suite(.timeLimit(.minutes(20))) struct PageCostTests {
  /// An agent in this process, on a state in memory and a clock that a test moves, with its pages on a port.
  private final class Bench: Sendable {
    let folder: TemporaryFolder
    let store: MemoryStateStore
    let time: TestTime
    let agent: LocalAgent
    let server: APIServer
    let url: String
    let cookie: String

    private static let catalog = ActionCatalog([])
    private static let environment = RecipeEnvironment(catalog: catalog, zone: "UTC") { path throws(FileError) in
      Source(name: path, bytes: try Files.read(path))
    }

    /// - Parameter other: The agent before this one, whose state and clock it takes over.
    init(_ recipes: [String: String], after other: Bench? = nil) async throws {
      folder = try TemporaryFolder()
      (store, time) = (other?.store ?? MemoryStateStore(), other?.time ?? TestTime())
      for (name, text) in recipes { try Files.write(Array(text.utf8), to: "\(folder.path)/\(name).yaml") }
      let served = LocalAgent.Served([folder.path], in: Bench.environment)
      let status = AgentStatus(pid: 1, version: "0.1", isServing: true, since: time.now(), folder: "/state")
      let (store, time) = (store, time)
      agent = LocalAgent(status, on: store, time: time, serving: served) { record throws(RunRefusedError) in
        let file = record.origin.file
        guard case .inline(let texts) = record.origin.texts, let text = texts[file]?.string else {
          throw RunRefusedError("there is no text")
        }
        var environment = Bench.environment
        environment.passesOverTriggers = true
        guard let recipe = Recipe.check(Source(name: file, text: text), in: environment).recipe else {
          throw RunRefusedError("the recipe has faults")
        }
        let services = Services(catalog: Bench.catalog, connections: [:], redactor: Redactor([]), time: time)
        return PreparedRun(recipe: recipe, secrets: Secrets(environment: [:]), services: services, folder: "/tmp")
      }
      await agent.serve()
      server = APIServer(
        agent.service, settings: ServerSettings(),
        identity: AgentIdentity(program: "errand 0.1", configuration: "/errand.yaml"), time: time,
        clock: { WallClock(.utc, now: time.now()) })
      let port = try server.listen(on: ServerSettings.Address(host: "127.0.0.1", port: 0))
      server.becomeReady()
      url = "http://127.0.0.1:\(port)"
      let session = try await agent.service.sessions.begin(for: Bench.caller, at: time.now())
      cookie = "errand_session_\(port)=\(session)"
    }

    static var caller: AgentCaller { AgentCaller(name: "ada") }

    func get(
      _ path: String, seen: String? = nil, _ more: HTTPHeaders = [:]
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      var headers = more
      headers["Cookie"] = cookie
      headers["Errand-Seen"] = seen
      let answer = try await HTTPClient().send(HTTPRequest("GET", url + path, headers: headers, redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers)
    }

    /// The version of a page, as a browser sends it back.
    func version(_ path: String) async throws -> String {
      let page = try await get(path).text
      let rest = try #require(page.components(separatedBy: "Errand-Seen&quot;:&quot;").dropFirst().first, "\(path)")
      return String(rest.prefix { $0 != "&" })
    }

    /// Starts a run, and waits until it has a status.
    func start(_ recipe: String, until status: RunStatus) async throws -> String {
      let accepted = try await agent.service.perform(StartRun.with { $0.recipe = recipe }, for: Bench.caller)
      while (store.run(accepted.run) ?? store.endedRun(accepted.run))?.status != status { await Task.yield() }
      return accepted.run
    }

    func end() async {
      await server.stop()
      await agent.stop()
    }
  }

  private static let asks =
    "on: [{ cron: '0 5 29 2 *' }]\nsteps: [{ id: ask, approve: { prompt: 'Pay?', timeout: 2d } }]\n"

  @Test func `an idle page is up to date though minutes pass`() async throws {
    let bench = try await Bench(["asks": PageCostTests.asks])
    let run = try await bench.start("asks", until: .waiting)
    let paths = [
      "/", "/runs", "/approvals", "/approvals/\(run)/ask", "/recipes", "/schedules", "/runs/\(run)",
      "/runs/\(run)/logs?follow=true",
    ]
    var versions: [String: String] = [:]
    for path in paths { versions[path] = try await bench.version(path) }
    for _ in 0..<10 {
      bench.time.advance(by: .seconds(61))
      for path in paths {
        let again = try await bench.get(path, seen: versions[path])
        #expect(again.status == 204 && again.text.isEmpty, "\(path)")
        // It is known without the page, so the version stays.
        #expect(again.headers["Errand-Seen"] == nil, "\(path)")
      }
    }
    // Another address, and another visitor, have other versions.
    #expect(try await bench.get("/runs?status=waiting", seen: versions["/runs"]).status == 200)
    await bench.end()
  }

  @Test func `a page of a run changes with the run, its lines and what its explanation tells of`() async throws {
    let bench = try await Bench([
      "asks": PageCostTests.asks, "waits": "steps: [{ id: w, wait: { event: paid } }]\n",
    ])
    let (asks, waits) = (
      try await bench.start("asks", until: .waiting), try await bench.start("waits", until: .waiting)
    )
    var page = "/runs/\(waits)"
    var version = try await bench.version(page)
    #expect(try await bench.get(page, seen: version).status == 204)
    // An event that the run doesn't take is told of.
    try await bench.store.append(
      .eventReceived(EventRecord(id: "e1", name: "paid", run: asks, receivedAt: bench.time.now())))
    #expect(try await bench.get(page, seen: version).status == 200)
    page = "/approvals/\(asks)/ask"
    version = try await bench.version(page)
    // Changes elsewhere aren't on the page of a question.
    _ = try await bench.agent.service.perform(
      SendEvent.with {
        $0.name = "other"
        $0.id = "e2"
      }, for: Bench.caller)
    #expect(try await bench.get(page, seen: version).status == 204)
    _ = try await bench.agent.service.perform(
      DecideStep.with {
        $0.run = asks
        $0.step = "ask"
        $0.approved = true
      }, for: Bench.caller)
    #expect(try await bench.get(page, seen: version).status == 200)
    await bench.end()
  }

  @Test func `a page with the same content has a new version after an unrelated change and after a restart`()
    async throws
  {
    let bench = try await Bench(["asks": PageCostTests.asks])
    let version = try await bench.version("/recipes")
    try await bench.store.append(
      .valueSet(ValueSet(at: bench.time.now(), name: "n", value: .inline(.int(1)))))
    let unrelated = try await bench.get("/recipes", seen: version)
    let second = try #require(unrelated.headers["Errand-Seen"])
    #expect(unrelated.status == 204 && second != version)
    #expect(try await bench.get("/recipes", seen: second).headers["Errand-Seen"] == nil)
    let next = try await Bench(["asks": PageCostTests.asks], after: bench)
    let restarted = try await next.get("/recipes", seen: second)
    #expect(restarted.status == 204 && restarted.headers["Errand-Seen"] != nil)
    let other = try await Bench(["asks": PageCostTests.asks, "more": "steps: [{ let: { a: 1 } }]\n"], after: bench)
    #expect(try await other.get("/recipes", seen: second).status == 200)
    for bench in [bench, next, other] { await bench.end() }
  }

  @Test func `a slot that is due makes a page another one`() async throws {
    let bench = try await Bench([:])
    let folder = bench.folder.path
    // Such a version names the slot's second; a made-up one is never taken. Without a slot it holds until the day ends,
    // when the statistics move on.
    let version = try await bench.version("/")
    let midnight = (bench.time.now().seconds / 86_400 + 1) * 86_400
    #expect(version.split(separator: ".", omittingEmptySubsequences: false)[1] == "\(midnight)")
    try Files.write(
      Array("on: [{ cron: '* * * * *' }]\nsteps: [{ wait: 1h }]\n".utf8), to: "\(folder)/often.yaml")
    _ = await bench.agent.schedules?.look()
    let planned = try await bench.version("/")
    let until = planned.split(separator: ".", omittingEmptySubsequences: false)[1]
    #expect(Int(until).map { $0 > bench.time.now().seconds } == true)
    #expect(try await bench.get("/", seen: planned).status == 204)
    bench.time.advance(by: .seconds(60))
    // The page is made anew for each of these, and differs once the agent has decided on the slot.
    while try await bench.get("/", seen: planned).status == 204 { await Task.yield() }
    #expect(try await bench.get("/", seen: planned).status == 200)
    for seen in [
      "", "..", "...", "a.b.c", ".\(until).", String(repeating: "1", count: 4_000) + ".9999999999999999999.",
    ] {
      #expect(try await bench.get("/", seen: seen).status == 200)
    }
    await bench.end()
  }

  @Test func `pages are compressed, a login isn't, and files are named by their content`() async throws {
    let bench = try await Bench(["asks": PageCostTests.asks])
    let gzip: HTTPHeaders = ["Accept-Encoding": "gzip"]
    #expect(try await bench.get("/", gzip).headers["Content-Encoding"] == "gzip")
    #expect(try await bench.get("/").headers["Content-Encoding"] == nil)
    #expect(try await bench.get("/login", gzip).headers["Content-Encoding"] == nil)
    #expect(try await bench.get("/healthz", gzip).headers["Content-Encoding"] == nil)
    for path in ["/hooks/a", "/login", "/logout", "\(ExactForm.path)runs", "/mcp"] {
      #expect(!Entrance(path: path).isCompressed, "\(path)")
    }
    let page = try await bench.get("/").text
    for (name, ending) in [("errand", "css"), ("errand", "js"), ("errand", "svg"), ("htmx", "js")] {
      let named = page.components(separatedBy: "\"/assets/\(name).").dropFirst().map { $0.prefix { $0 != "\"" } }
      let rest = try #require(named.first { $0.hasSuffix(".\(ending)") })
      let digest = String(rest.prefix { $0 != "." })
      #expect(digest.count == 8 && digest.allSatisfy(\.isHexDigit), "\(name).\(ending)")
      let kept = try await bench.get("/assets/\(name).\(digest).\(ending)", gzip)
      #expect(kept.status == 200 && kept.headers["Content-Encoding"] == "gzip")
      #expect(kept.headers["Cache-Control"] == "public, max-age=31536000, immutable")
      // Another version isn't kept.
      for path in ["/assets/\(name).\(ending)", "/assets/\(name).00000000.\(ending)"] {
        let other = try await bench.get(path, gzip)
        #expect(other.status == 200 && other.headers["Cache-Control"] == "no-cache", "\(path)")
      }
    }
    #expect(try await bench.get("/assets/errand.css").headers["Content-Encoding"] == nil)
    for path in ["/assets/", "/assets/errand", "/assets/errand.a.b.css", "/assets/errand.txt"] {
      #expect(try await bench.get(path).status == 404, "\(path)")
    }
    await bench.end()
  }

  @Test func `no page is longer than 100 KB`() async throws {
    var recipes: [String: String] = [:]
    let summary = "summary: \(String(repeating: "long ", count: 60))\n"
    for number in 0..<200 {
      let entries = (0..<(number < 60 ? 5 : 1)).map { "{ id: e\($0), cron: '0 \($0) * * *' }" }.joined(separator: ", ")
      recipes["recipe\(number)"] = summary + "on: [\(entries)]\nsteps: [{ let: { a: 1 } }]\n"
    }
    let lines = (0..<5_000).map { "  - { id: s\($0), let: { v\($0): \"<&'\\\"> and a text that is long enough\" } }\n" }
    recipes["long"] = "steps:\n" + lines.joined()
    for number in 0..<60 { recipes["broken\(number)"] = "steps: [{ nothing\(number): 1 }]\n" }
    let bench = try await Bench(recipes)
    let (id, at) = ("0199a3f2-4c00-7abc-8def-000000000001", bench.time.now())
    let rows = Value.list((0..<400).map { .object(["name": .string("<\($0)&'\">"), "n": .int($0)]) })
    let texts = Value.map(
      ValueMap((0..<40).map { ("t\($0)", Value.string(String(repeating: "\"<&ä", count: 3_000))) }))
    let error = RunError(.network, String(repeating: "<failed> ", count: 1_000), step: "each[0]")
    var events: [StateEvent] = [
      .runCreated(
        RunCreated(
          run: id, at: at, recipe: "long", file: "long.yaml", texts: .inline(.object([:])), inputs: texts,
          program: "test")),
      .runStatusChanged(RunStatusChanged(run: id, at: at, status: .running)),
      .stepBegan(
        StepBegan(
          run: id, at: at, step: "each", now: at, items: .inline(.list(Array(repeating: .int(1), count: 3_000))))),
    ]
    for number in 0..<3_000 {
      events.append(.stepBegan(StepBegan(run: id, at: at, step: "each[\(number)]", now: at, key: "k\(number)")))
      events.append(
        .stepEnded(
          StepEnded(
            run: id, at: at, step: "each[\(number)]", status: number % 2 == 0 ? .failed : .succeeded,
            output: number % 2 == 0 ? nil : .inline(rows), error: number % 2 == 0 ? error : nil)))
    }
    try await bench.store.append(events)
    let print = PrintedLine(
      step: "each[0]", attempt: 1, stream: .output, at: at, text: String(repeating: "<line>", count: 200))
    bench.store.keepPrinted(Array(repeating: print, count: 300), ofRun: id) { Issue.record("\($0)") }
    var paths = ["/", "/runs", "/approvals", "/recipes", "/schedules", "/state", "/actions", "/help"]
    paths += ["/runs/\(id)", "/runs/\(id)?in=each", "/runs/\(id)?in=each&only=failed&from=100", "/recipes/long"]
    paths += ["/runs/\(id)/steps/each%5B1%5D", "/runs/\(id)/steps/each", "/recipes/long?from=400", "/recipes?from=50"]
    paths += ["/schedules?from=250", "/schedules?week=2026-11-23", "/state?from=20", "/recipes/recipe0"]
    for path in paths {
      let page = try await bench.get(path)
      #expect(page.status == 200 && page.text.utf8.count <= 100_000, "\(path): \(page.status), \(page.text.utf8.count)")
    }
    let loop = try await bench.get("/runs/\(id)?in=each").text
    // Failed ones are first.
    #expect(loop.contains("steps/each%5B0%5D\"") && loop.contains("steps/each%5B198%5D\""))
    #expect(!loop.contains("steps/each%5B1%5D\"") && loop.contains("1 to 100 of 3000"))
    let second = try await bench.get("/recipes?from=50").text
    #expect(second.contains("51 to 100 of 261") && second.contains("href=\"/recipes?from=100\""))
    #expect(try await bench.get("/schedules").text.contains("1 to 50 of "))
    #expect(try await bench.get("/recipes/long?from=400").text.contains("<li id=\"line-401\">"))
    await bench.end()
  }
}
