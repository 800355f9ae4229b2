import Foundation
import Testing

/// The API as clients of others see it.
@Suite(.timeLimit(.minutes(Clients.minutes + 1))) struct ClientsTests {
  /// A count from the environment, which `make soak` sets.
  private static func count(_ variable: String, _ usual: Int) -> String {
    ProcessInfo.processInfo.environment[variable] ?? "\(usual)"
  }

  private static func expectSuccess(
    _ script: String, _ arguments: String..., with python: String = Clients.systemPython
  ) async throws {
    let (code, output) = try await Clients.run(script, [Program.binary.path] + arguments, with: python)
    #expect(code == 0, "\(output)")
    print(output.split(separator: "\n").last ?? "")
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

  @Test func `hostile callers are refused, others are served, and the schedules stay on time`() async throws {
    try await Self.expectSuccess("hostile.py")
  }
}
