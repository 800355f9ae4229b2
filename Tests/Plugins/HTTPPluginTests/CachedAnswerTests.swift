import ActionKit
import ActionTestKit
import HTTPClient
import Testing

@testable import HTTPPlugin

/// The answers that `cached` keeps, and for how long.
@Suite struct CachedAnswerTests {
  private static let json: HTTPHeaders = ["Content-Type": "application/json", "ETag": "\"1\""]
  private static let fresh: HTTPHeaders = ["Content-Type": "application/json", "Cache-Control": "max-age=600"]
  private static let page: HTTPHeaders = ["Content-Type": "text/html", "ETag": "\"2\""]
  private static let settings = #"{"baseURL":"https://h","token":"t"}"#

  @Test(arguments: ["json", "auto"])
  func `a page of maintenance with status 200 replaces no good answer`(_ kind: String) async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://h/a", headers: Self.json, #"{"n":1}"#),
      .on("GET", "https://h/a", headers: Self.page, "<h1>Back soon</h1>"),
      .on("GET", "https://h/a", fail: HTTPError(.connect, "h refused the connection.", sent: .nothing)),
    ])
    let service = try service(Self.settings, transport)
    let input = #"{"url":"/a","cached":true,"fallback":true,"answer":"\#(kind)"}"#
    #expect(try await run("get", input, on: service)["fromCache"] == .bool(false))
    for reason in [
      "the answer to GET https://h/a is a web page and not JSON; check the address, and that the service is not down "
        + "for maintenance.", "h refused the connection.",
    ] {
      let kept = try await run("get", input, on: service)
      #expect(kept["body"] == (try JSON.parse(#"{"n":1}"#)))
      #expect(kept["staleReason"] == .string(reason))
    }
  }

  @Test func `what cannot be read is not kept, however long it may be`() async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":"#),
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":2}"#),
    ])
    let service = try service(Self.settings, transport)
    let input = #"{"url":"/a","cached":true}"#
    _ = try await failure("get", input, on: service)
    let again = try await run("get", input, on: service)
    #expect(again["body"]?["n"] == .int(2))
    #expect(transport.missing.isEmpty)
  }

  @Test func `an answer whose status is not expected is not kept`() async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":1}"#),
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":2}"#),
    ])
    let service = try service(Self.settings, transport)
    _ = try await failure("get", #"{"url":"/a","cached":true,"expect":[404]}"#, on: service)
    let again = try await run("get", #"{"url":"/a","cached":true}"#, on: service)
    #expect(again["body"]?["n"] == .int(2))
  }

  struct Write: Sendable, CustomTestStringConvertible {
    var testDescription: String { "\(method) \(url) \(status)" }
    var method: String
    var url: String
    var status: Int
    var headers: HTTPHeaders = [:]
    var forgets: Bool
  }

  @Test(arguments: [
    Write(method: "PUT", url: "/a", status: 200, forgets: true),
    Write(method: "PATCH", url: "/a", status: 204, forgets: true),
    Write(method: "DELETE", url: "/a", status: 200, forgets: true),
    Write(method: "POST", url: "/b", status: 201, headers: ["Location": "a"], forgets: true),
    Write(method: "POST", url: "/b", status: 200, headers: ["Content-Location": "https://h/a"], forgets: true),
    Write(method: "PUT", url: "/b", status: 200, forgets: false),
    Write(method: "PUT", url: "/a", status: 409, forgets: false),
    Write(method: "POST", url: "/b", status: 201, headers: ["Location": "https://other/a"], forgets: false),
  ])
  func `a write makes its address be asked for anew`(_ write: Write) async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":1}"#),
      .on(write.method, "https://h\(write.url)", status: write.status, headers: write.headers),
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":2}"#),
    ])
    let service = try service(Self.settings, transport)
    let input = #"{"url":"/a","cached":true}"#
    _ = try await run("get", input, on: service)
    _ = try? await run(write.method.lowercased(), #"{"url":"\#(write.url)"}"#, on: service)
    let again = try await run("get", input, on: service)
    #expect(again["body"]?["n"] == .int(write.forgets ? 2 : 1))
  }

  @Test func `a write whose answer is lost makes its address be asked for anew`() async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":1}"#),
      .on("PUT", "https://h/a", fail: HTTPError(.interrupted, "cut", sent: .maybe)),
      .on("GET", "https://h/a", headers: Self.fresh, #"{"n":2}"#),
    ])
    let service = try service(Self.settings, transport)
    _ = try await run("get", #"{"url":"/a","cached":true}"#, on: service)
    _ = try await failure("put", #"{"url":"/a"}"#, on: service)
    let again = try await run("get", #"{"url":"/a","cached":true}"#, on: service)
    #expect(again["body"]?["n"] == .int(2))
  }

  @Test(arguments: ["https://evil.example/x", "http://h/x", "https://h:444/x"])
  func `a redirect stays at the service unless other hosts are allowed`(_ target: String) async throws {
    func script() -> ScriptedTransport {
      ScriptedTransport([
        .on("GET", "https://h/a", status: 302, headers: ["Location": target]), .on("GET", target, #"{"n":1}"#),
      ])
    }
    let transport = script()
    let service = try service(Self.settings, transport)
    let error = try await failure("get", #"{"url":"/a"}"#, on: service)
    #expect(error.message.hasPrefix("GET https://h/a: https://h redirects to \(target.dropLast(2)); only"))
    #expect(transport.requests.count == 1)
    guard target.hasPrefix("https:") else { return }
    let free = try HTTPPluginTests.service(#"{"baseURL":"https://h","allowOtherHosts":true}"#, script())
    #expect(try await run("get", #"{"url":"/a"}"#, on: free)["status"] == .int(200))
  }
}
