import Foundation
import PostgresClient
import PostgresTestKit
import Testing

/// The API as clients of others see it.
@Suite(.timeLimit(.minutes(Clients.minutes + 1))) struct ClientsTests {
  /// A count from the environment, which `make soak` sets.
  private static func count(_ variable: String, _ usual: Int) -> String {
    ProcessInfo.processInfo.environment[variable] ?? "\(usual)"
  }

  private static func expectSuccess(
    _ script: String, _ arguments: String..., with python: String = Clients.systemPython,
    environment: [String: String] = [:]
  ) async throws {
    let (code, output) = try await Clients.run(
      script, [Program.binary.path] + arguments, with: python, environment: environment)
    #expect(code == 0, "\(output)")
    print(output.split(separator: "\n").last.map { String($0) } ?? "")
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `the document of the API is valid OpenAPI 3.1`() async throws {
    let bench = try await APITests.Bench()
    let (code, output) = try await Clients.run("openapi.py", [bench.url], with: try #require(Clients.python))
    #expect(code == 0, "\(output)")
    await bench.end()
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `the agent answers as its document says, whatever it is asked`() async throws {
    try await Self.expectSuccess(
      "conformance.py", Self.count("ERRAND_EXAMPLES", 20), with: try #require(Clients.python))
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `a client made from the document starts, follows, approves, resolves and pages`() async throws {
    try await Self.expectSuccess("api_client.py", with: try #require(Clients.python))
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `what a step signs is verified by the library of Standard Webhooks`() async throws {
    try await Self.expectSuccess("signed_post.py", with: try #require(Clients.python))
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `the assistant's client lists, calls, confirms, declines and forges in every mode`() async throws {
    try await Self.expectSuccess("mcp_tools.py", with: try #require(Clients.python))
  }

  @Test func `killed at random between a request and its answer, the agent starts each run once`() async throws {
    try await Self.expectSuccess("kills.py", Self.count("ERRAND_POST_KILLS", 50))
  }

  // In the suite it would compete with all other tests for time; `.ci/run` and `make soak` run it alone.
  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["ERRAND_COMBINATION"] != nil, ".ci/run and make soak run it"),
    arguments: [false, true])
  func `all parts at once, killed at random, do what was acknowledged once and tell the same`(
    _ isShared: Bool
  ) async throws {
    var environment: [String: String] = [:]
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-clocks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    if let clock = try await MovableClock(in: folder) { environment["ERRAND_CLOCKS"] = clock.libraries }
    if isShared {
      guard PostgresServer.isInstalled else { return print("skipped: PostgreSQL isn't installed") }
      let database = try await PostgresServer.database()
      environment["ERRAND_DATABASE"] = "postgres://errand@127.0.0.1:\(database.port)/\(database.database)"
    }
    try await Self.expectSuccess(
      "combination.py", Self.count("ERRAND_COMBINATION", 10), environment: environment)
  }

  @Test func `hostile callers are refused, others are served, and the schedules stay on time`() async throws {
    try await Self.expectSuccess("hostile.py")
  }
}
