import Testing

/// The API as clients of others see it.
@Suite(.timeLimit(.minutes(10))) struct ClientsTests {
  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `the document of the API is valid OpenAPI 3.1`() async throws {
    let bench = try await APITests.Bench()
    let (code, output) = try await Clients.run("openapi.py", [bench.url], with: try #require(Clients.python))
    #expect(code == 0, "\(output)")
    await bench.end()
  }
}
