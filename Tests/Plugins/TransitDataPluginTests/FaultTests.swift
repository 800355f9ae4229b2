import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import ProcessTestKit
import SandboxKit
import Synchronization
import Testing

@testable import TransitDataPlugin

/// A sandbox and a client of it that installs in a folder.
private func withSandbox(
  releases: [SandboxRelease] = SandboxNetwork.releases, token: String? = nil,
  timeout: TimeSpan = .seconds(60), maxFileBytes: Int = 1 << 20,
  _ body: (_ sandbox: TransitDataSandbox, _ client: TransitDataClient, _ folder: TemporaryFolder) async throws -> Void
) async throws {
  let (time, folder) = (TestTime(), try TemporaryFolder())
  let sandbox = try TransitDataSandbox(SandboxOptions(time: time), releases: releases)
  var settings = TransitDataSettings.sample
  settings.apiBase = "\(sandbox.baseURL)/api"
  settings.webBase = sandbox.baseURL
  settings.requestTimeout = timeout
  settings.maxFileBytes = maxFileBytes
  settings.token = token
  do {
    try await body(sandbox, try TransitDataClient(settings, folder: folder.path, time: time), folder)
  } catch {
    await sandbox.stop()
    throw error
  }
  await sandbox.stop()
}

/// Faults between client and service, over real HTTP.
@Suite struct FaultTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String { "\(kind) \(status)" }
    var kind: ServiceFault.Kind
    var status: Int
    /// The error of requesting the release.
    var asking: (kind: ErrorKind, words: String)
    /// The error of downloading the file.
    var downloading: (kind: ErrorKind, words: String)

    init(
      _ kind: ServiceFault.Kind, status: Int = 503, asking: (ErrorKind, String), downloading: (ErrorKind, String)
    ) {
      (self.kind, self.status, self.asking, self.downloading) = (kind, status, asking, downloading)
    }
  }

  private static let cases = [
    Case(.refuse, asking: (.network, "closed the connection"), downloading: (.network, "closed the connection")),
    Case(.lostAnswer, asking: (.network, "closed the connection"), downloading: (.network, "closed the connection")),
    Case(
      .truncated, asking: (.network, "before its answer was complete"),
      downloading: (.network, "before its answer was complete")),
    Case(
      .slow, asking: (.timeout, "did not send a complete answer within 1s"),
      downloading: (.timeout, "sent nothing for 1s")),
    Case(
      .oversized, asking: (.plugin, "larger than 8388608 bytes"), downloading: (.plugin, "larger than 1048576 bytes")),
    Case(.html, asking: (.plugin, "is a web page, not JSON"), downloading: (.network, "bytes, but 82 arrived")),
    Case(
      .wrongType, asking: (.plugin, "should be an object and is a list"),
      downloading: (.network, "bytes, but 4 arrived")),
    Case(.badUTF8, asking: (.plugin, "it isn't valid JSON"), downloading: (.network, "arrived")),
    Case(.status, status: 500, asking: (.server, "HTTP status 500"), downloading: (.server, "HTTP status 500")),
    Case(
      .status, status: 404, asking: (.notFound, "nothing published"),
      downloading: (.notFound, "has no file 'stage3_final.json'")),
    Case(
      .status, status: 403, asking: (.authorization, "gives no access"),
      downloading: (.authorization, "HTTP status 403")),
    Case(
      .redirect, asking: (.configuration, "the same scheme, host and port"),
      downloading: (.configuration, "host ending in .githubusercontent.com")),
    Case(
      .redirectLoop, asking: (.configuration, "more than 5 times"), downloading: (.configuration, "more than 5 times")),
  ]

  @Test(arguments: cases)
  func `asking goes wrong, and says how`(_ c: Case) async throws {
    try await withSandbox(timeout: c.kind == .slow ? .seconds(1) : .seconds(60)) { sandbox, client, folder in
      var fault = ServiceFault(c.kind, call: "/releases/latest", times: 9)
      fault.status = c.status
      sandbox.server.add(fault)
      let error = try await failure { try await client.update() }
      #expect(error.actionError.kind == c.asking.kind)
      #expect(error.actionError.effect == ActionError.Effect.none)
      #expect(error.message.contains(c.asking.words), "\(error.message)")
      #expect(sandbox.server.count("/storage/") == 0)
    }
  }

  @Test(arguments: cases)
  func `a download goes wrong, says how, and leaves what is installed`(_ c: Case) async throws {
    try await withSandbox(timeout: c.kind == .slow ? .seconds(1) : .seconds(60)) { sandbox, client, folder in
      try await client.update(.tag("20260215"))
      let call = c.kind == .redirectLoop ? "/releases/download/" : "/storage/"
      var fault = ServiceFault(c.kind, call: call, times: 9)
      fault.status = c.status
      sandbox.server.add(fault)
      let error = try await failure { try await client.update() }
      #expect(error.actionError.kind == c.downloading.kind)
      #expect(error.message.contains(c.downloading.words), "\(error.message)")
      #expect(try folder.stationFiles.count == 1)
      #expect(try await client.installed().version.tag == "20260215")
    }
  }

  @Test func `nobody at the port is a network error, and what is installed serves`() async throws {
    // A port of the system's, so that no other test's server takes it.
    var settings = TransitDataSettings.sample
    settings.apiBase = "http://127.0.0.1:9"
    let client = try TransitDataClient(settings, folder: nil, time: TestTime())
    let error = try await failure { try await client.latestRelease() }
    #expect(error.actionError.kind == .network)
    #expect(error.message.contains("refused the connection"))
  }

  @Test func `a host that nobody knows is a network error`() async throws {
    var settings = TransitDataSettings.sample
    settings.apiBase = "https://api.invalid"
    let client = try TransitDataClient(settings, folder: nil, time: TestTime())
    let error = try await failure { try await client.latestRelease() }
    #expect(error.actionError.kind == .network)
  }

  @Test func `a download that broke off goes on where it was`() async throws {
    let whole = try #require(SandboxNetwork.releases.first?.file)
    let cut = whole.count / 2
    let seen = Mutex<[String?]>([])
    let storage = try HTTPServer { request in
      seen.withLock { $0.append(request.headers["Range"]) }
      let headers: HTTPHeaders = ["ETag": "\"v\""]
      guard let range = request.headers["Range"], let first = Int(range.dropFirst(6).dropLast()) else {
        return HTTPServerResponse(headers: headers, body: .truncated(whole, after: cut))
      }
      var rest = HTTPServerResponse(status: 206, headers: headers, body: .bytes(Array(whole[first...])))
      rest.headers["Content-Range"] = "bytes \(first)-\(whole.count - 1)/\(whole.count)"
      return rest
    }
    let release = try #require(SandboxNetwork.releases.first)
    try await withSandbox(releases: [release]) { sandbox, _, folder in
      var settings = TransitDataSettings.sample
      settings.apiBase = "\(sandbox.baseURL)/api"
      settings.webBase = storage.baseURL
      sandbox.repository.setOrigin(storage.baseURL)
      let client = try TransitDataClient(settings, folder: folder.path, time: TestTime())
      let error = try await failure { try await client.update() }
      #expect(error.actionError.kind == .network)
      #expect(try await client.update().data.data.verifiedForm == .ascii)
      let ranges = seen.withLock(\.self)
      #expect(ranges.count == 2)
      #expect(ranges.first == .some(nil))
      #expect(ranges.last??.hasPrefix("bytes=") == true)
      #expect(try folder.stationFiles.count == 1)
    }
    await storage.stop()
  }

  @Test func `a spent quota is met on the way by the file, and remembered`() async throws {
    try await withSandbox { sandbox, client, folder in
      sandbox.repository.setQuota(0, until: Timestamp("2026-11-20T10:00:00Z") ?? .latest)
      let error = try await failure { try await client.latestRelease() }
      #expect(error.retryAfter == .seconds(1800))
      let result = try await client.update()
      #expect(result.data.version.tag == "20260401")
      #expect(sandbox.server.count("/releases/latest/download/") == 1)
      #expect(sandbox.server.count("/api/") == 1)
    }
  }

  @Test func `the storage is told no token`() async throws {
    try await withSandbox(token: "ghp_hunter2") { (_, client, _) async throws in
      // It answers 403 to whoever tells it one.
      #expect(try await client.update().isUpdated)
    }
  }

  @Test func `releases, quota, faults and clock are reached from outside`() async throws {
    try await withSandbox { sandbox, client, _ in
      try await client.update()
      let http = HTTPClient()
      func ask(_ path: String) async throws -> String {
        String(decoding: try await http.send(HTTPRequest("GET", sandbox.baseURL + path)).body, as: UTF8.self)
      }
      #expect(try await ask("/sandbox/publish") == #"{"tag":"20261123"}"#)
      #expect(try await ask("/sandbox/quota?remaining=2") == #"{"quota":"2"}"#)
      let result = try await client.update(isForced: true)
      #expect(result.data.version.tag == "20261123")
      #expect(result.changes.map(\.text) == ["LANTERN QUAY, exit A, is 33 m from where it was"])
      #expect(sandbox.summaryLines() == ["releases: 20260215, 20260401, 20261123", "downloads: 2"])
    }
  }

  private static let all = "20260501 20260401 20260215"

  @Test(arguments: [
    ("page=1", all), ("page=0", all), ("page=-1", all), ("page=-9223372036854775808", all), ("page=x", all),
    ("page=", all), ("page=1e400", all), ("page=2", ""), ("page=9223372036854775807", ""),
    ("page=99999999999999999999", ""), ("per_page=9223372036854775807", all), ("per_page=x", all),
    ("per_page=0", "20260501"), ("per_page=-1", "20260501"), ("per_page=-9223372036854775808", "20260501"),
    ("per_page=1&page=2", "20260401"), ("per_page=-1&page=3", "20260215"),
    ("per_page=9223372036854775807&page=9223372036854775807", ""),
  ])
  func `the sandbox limits pages as GitHub does`(_ query: String, _ tags: String) async throws {
    try await withSandbox { sandbox, _, _ in
      let url = "\(sandbox.baseURL)/api/repos/example-org/rail-data/releases?\(query)"
      let answer = try await HTTPClient().send(HTTPRequest("GET", url, headers: ["User-Agent": "tests"]))
      let releases = try #require(try JSON.parse(answer.body).list)
      #expect(releases.compactMap { $0["tag_name"]?.string }.joined(separator: " ") == tags)
    }
  }

  @Test(arguments: OddNumbers.texts)
  func `the sandbox answers odd numbers`(_ odd: String) async throws {
    try await withSandbox { sandbox, _, _ in
      let http = HTTPClient()
      func status(_ path: String, _ headers: HTTPHeaders = ["User-Agent": "tests"]) async throws -> Int {
        try await http.send(HTTPRequest("GET", sandbox.baseURL + path, headers: headers)).status
      }
      let file = "/storage/20260401-99999999999/stage3_final.json"
      let tag = try #require(try await http.send(HTTPRequest("GET", sandbox.baseURL + file)).headers["ETag"])
      let range = try await status(file, ["Range": "bytes=\(odd)-", "If-Range": tag])
      #expect(range == (odd == "0" ? 206 : 200))
      #expect([200, 403].contains(try await status("/storage/20260401-\(odd)/stage3_final.json")))
      #expect(try await status("/sandbox/quota?remaining=\(odd)") == 200)
      let spent = odd == "0" || odd.hasPrefix("-")
      #expect(try await status("/api/repos/example-org/rail-data/releases/latest") == (spent ? 403 : 200))
      #expect(try await status("/api/repos/example-org/rail-data/releases/tags/\(odd)") == (spent ? 403 : 404))
    }
  }
}
