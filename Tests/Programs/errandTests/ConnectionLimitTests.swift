import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

@testable import errand

/// The limits of a connection, as a service sees them.
@Suite(.timeLimit(.minutes(20))) struct ConnectionLimitTests {
  /// A service that notes when requests arrive, and how many are under way.
  private final class Shop: Sendable {
    private struct State {
      var arrivals: [TimeSpan] = []
      var underWay = 0
      var peak = 0
      var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let time = SystemTime()

    var arrivals: [TimeSpan] { state.withLock { $0.arrivals } }
    var peak: Int { state.withLock { $0.peak } }

    func arrive() -> Int {
      state.withLock { state in
        state.arrivals.append(time.elapsed())
        return state.arrivals.count
      }
    }

    /// Is over once another request is under way too.
    func meet() async {
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let all = state.withLock { state -> [CheckedContinuation<Void, Never>] in
          state.underWay += 1
          state.peak = max(state.peak, state.underWay)
          state.waiting.append(continuation)
          guard state.waiting.count == 2 else { return [] }
          defer { state.waiting = [] }
          return state.waiting
        }
        for continuation in all { continuation.resume() }
      }
      state.withLock { $0.underWay -= 1 }
    }

    /// Whether no more than so many came for so many seconds each since the first could.
    ///
    /// A busy machine may be late to see one, so that the next seems to come too soon after it, but never sees one early.
    func kept(_ count: Int, in seconds: Int, since start: TimeSpan) -> Bool {
      arrivals.sorted().enumerated().allSatisfy { $1 - start >= .seconds($0 / count * seconds) }
    }
  }

  private static func program(_ server: HTTPServer, _ limits: String, _ recipe: String) async throws -> Program {
    let program = try await Program()
    try program.write(
      "connections:\n  shop: { plugin: http, baseURL: \"\(server.baseURL)\", limits: { \(limits) } }\n",
      to: "errand.yaml")
    try program.write(recipe, to: "shop.yaml")
    return program
  }

  private static let loop = """
    recipe: shop
    steps:
      - { forEach: "[1, 2, 3, 4, 5, 6]", maxParallel: 6, uses: http.get, connection: shop, with: { url: /a } }
    """

  @Test func `runs at once keep to the rate together, and the next program too`() async throws {
    let shop = Shop()
    let server = try HTTPServer { _ in
      _ = shop.arrive()
      return .text("{}", type: "application/json")
    }
    let program = try await ConnectionLimitTests.program(server, "requests: 4, per: 1s", ConnectionLimitTests.loop)
    let start = SystemTime().elapsed()
    async let first = program.call("run", "shop.yaml")
    async let second = program.call("run", "shop.yaml")
    #expect(try await [first.code, second.code] == [0, 0])
    #expect(try await program.call("run", "shop.yaml").code == 0)
    #expect(shop.arrivals.count == 18)
    #expect(shop.kept(4, in: 1, since: start), "\(shop.arrivals)")
    await server.stop()
    await program.remove()
  }

  @Test func `so many calls are under way at once`() async throws {
    let shop = Shop()
    let server = try HTTPServer { _ in
      await shop.meet()
      return .text("{}", type: "application/json")
    }
    let program = try await ConnectionLimitTests.program(server, "maxParallel: 2", ConnectionLimitTests.loop)
    #expect(try await program.call("run", "shop.yaml").code == 0)
    #expect(shop.peak == 2)
    await server.stop()
    await program.remove()
  }

  @Test func `a service that asks to wait is left alone by all`() async throws {
    let shop = Shop()
    let server = try HTTPServer { _ in
      guard shop.arrive() == 1 else { return .text("{}", type: "application/json") }
      var answer = HTTPServerResponse.text("slower", status: 429)
      answer.headers["Retry-After"] = "1"
      return answer
    }
    let recipe = """
      recipe: shop
      steps:
        - { id: a, onError: continue, retry: { maxAttempts: 1 }, uses: http.get, connection: shop, with: { url: /a } }
        - { id: b, uses: http.get, connection: shop, with: { url: /b } }
      """
    let program = try await ConnectionLimitTests.program(server, "maxParallel: 1", recipe)
    let outcome = try await program.call("run", "shop.yaml")
    #expect(outcome.code == 0, "\(outcome.error)")
    let arrivals = shop.arrivals
    #expect(arrivals.count == 2 && arrivals[1] - arrivals[0] > .milliseconds(950))
    await server.stop()
    await program.remove()
  }

  @Test func `the pause before the next attempt gives the place back`() async throws {
    let asked = Mutex<[String]>([])
    let server = try HTTPServer { request in
      let isFirst = asked.withLock { asked in
        asked.append(request.path)
        return asked.count == 1
      }
      return isFirst ? .text("busy", status: 503) : .text("{}", type: "application/json")
    }
    let recipe = """
      recipe: shop
      steps:
        - forEach: "['/a', '/b']"
          as: url
          maxParallel: 2
          uses: http.get
          connection: shop
          retry: { maxAttempts: 2, initial: 10ms }
          with: { url: "${{ url }}" }
      """
    let program = try await ConnectionLimitTests.program(server, "maxParallel: 1", recipe)
    let outcome = try await program.call("run", "shop.yaml")
    #expect(outcome.code == 0, "\(outcome.error)")
    let paths = asked.withLock { $0 }
    #expect(paths.count == 3 && paths[0] == paths[2] && paths[0] != paths[1], "\(paths)")
    await server.stop()
    await program.remove()
  }

  @Test func `a step that waits is queued, and a pause or a cancellation ends the wait`() async throws {
    let shop = Shop()
    let server = try HTTPServer { _ in
      _ = shop.arrive()
      return .text("{}", type: "application/json")
    }
    let recipe = """
      recipe: shop
      steps:
        - { id: a, uses: http.get, connection: shop, with: { url: /a } }
        - { id: b, uses: http.get, connection: shop, with: { url: /b } }
      """
    let program = try await ConnectionLimitTests.program(server, "requests: 1, per: 1h", recipe)
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    let run = try await program.call("run", "shop.yaml", "--detach").out.trimmingCharacters(in: .whitespacesAndNewlines)
    var list = ""
    while !list.contains("is queued") { list = try await program.call("runs", "list").out }
    #expect(list.contains("'b' is queued until about ") && list.contains("'shop' allows 1 request in 1h"), "\(list)")
    let why = try await program.call("why", run)
    #expect(why.out.contains("'b' is queued since ") && why.out.contains("it goes on about "), "\(why.out)")
    let show = try await program.call("runs", "show", run, "--json")
    let step = show.json["steps"]?.list?.last
    #expect(step?["status"]?.string == "queued" && step?["path"]?.string == "b", "\(show.out)")

    #expect(try await program.call("runs", "pause", run).code == 0)
    var status = ""
    while status != "paused" {
      status = try await program.call("runs", "show", run, "--json").json["status"]?.string ?? ""
    }
    // Whoever waits now is the first.
    let cancelled = try await program.call("runs", "cancel", run)
    #expect(cancelled.code == 0, "\(cancelled.error)")
    #expect(try await program.call("runs", "show", run, "--json").json["status"]?.string == "cancelled")
    #expect(shop.arrivals.count == 1)
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await server.stop()
    await program.remove()
  }

  @Test func `only the time of the whole step runs on in the queue`() async throws {
    let shop = Shop()
    let server = try HTTPServer { _ in
      _ = shop.arrive()
      return .text("{}", type: "application/json")
    }
    let recipe = """
      recipe: shop
      steps:
        - { id: a, uses: http.get, connection: shop, with: { url: /a } }
        - { id: b, timeout: { attempt: 5s }, uses: http.get, connection: shop, with: { url: /b } }
        - { id: c, timeout: { total: 500ms }, uses: http.get, connection: shop, with: { url: /c } }
      """
    let program = try await ConnectionLimitTests.program(server, "requests: 1, per: 6s", recipe)
    let outcome = try await program.call("run", "shop.yaml")
    #expect(outcome.code == 1 || outcome.code == 124, "\(outcome.code)")
    #expect(
      outcome.error.contains("http.get timed out after 0.5s, while it was queued: 'shop' allows 1 request in 6s"),
      "\(outcome.error)")
    #expect(shop.arrivals.count == 2)
    await server.stop()
    await program.remove()
  }

  @Test func `in a test of a recipe the queue takes time of the test's clock alone`() async throws {
    let program = try await Program()
    try program.write(
      "connections: { http: { baseURL: \"https://shop.example\", limits: { maxParallel: 2, requests: 2, per: 1h } } }\n",
      to: "errand.yaml")
    try program.write(
      """
      recipe: shop
      steps:
        - { id: all, forEach: "[1, 2, 3, 4, 5]", maxParallel: 5, uses: http.get, with: { url: /items/1 } }
      outputs: { late: "${{ now >= run.startedAt + duration('2h') && now < run.startedAt + duration('3h') }}" }
      """, to: "shop.yaml")
    try program.write(
      """
      recipe: shop.yaml
      cases:
        - case: five requests, two an hour
          do:
            - run: {}
              expect: { status: succeeded, outputs: { late: true } }
      """, to: "shop.test.yaml")
    let outcome = try await program.call("test", "shop.test.yaml")
    #expect(outcome.code == 0, "\(outcome.out)\(outcome.error)")
    await program.remove()
  }
}
