import ActionKit
import ActionTestKit
import HTTPClient
import ProcessTestKit
import Testing

@testable import TransitDataPlugin

@Suite struct ReleaseTests {
  @Test func `reads a release`() async throws {
    let (client, transport) = try scripted([.latest("releases-latest.newer.json")])
    let checked = try await client.latestRelease()
    #expect(checked.release.tag == "20260401")
    #expect(checked.release.id == 502)
    #expect(checked.release.publishedAt == Timestamp("2026-04-01T02:20:04Z"))
    #expect(checked.release.isImmutable == false)
    #expect(checked.release.assets.map(\.name) == ["notes.txt", "stage3_final.json"])
    #expect(checked.release.asset(named: "stage3_final.json")?.size == 17951)
    #expect(
      checked.release.asset(named: "stage3_final.json")?.sha256
        == "f6e1e200e29c4a9ae869846e92effc5f3e02a170702602978637693f54be9a50")
    let request = try #require(transport.requests.first)
    #expect(request.headers["Accept"] == "application/vnd.github+json")
    #expect(request.headers["X-GitHub-Api-Version"] == "2022-11-28")
    #expect(request.headers["Authorization"] == nil)
  }

  @Test func `asks by tag and lists, with the tag as one segment`() async throws {
    let (client, transport) = try scripted([
      .on("GET", "\(api)/releases/tags/a%2Fb%20c", try text("releases-latest.json")),
      .on("GET", "\(api)/releases?per_page=5&page=2", try text("releases-list.json")),
    ])
    #expect(try await client.release(tag: "a/b c").release.tag == "20260215")
    let releases = try await client.releases(perPage: 5, page: 2)
    #expect(releases.map(\.tag) == ["20260501", "20260420", "20260215", "20260401"])
    #expect(releases.map(\.isPublished) == [false, false, true, true])
    #expect(releases[0].publishedAt == nil)
    #expect(transport.missing == [])
    await #expect(throws: TransitDataError.self) { try await client.releases(perPage: 101) }
    await #expect(throws: TransitDataError.self) { try await client.release(tag: "") }
  }

  @Test func `asks once in the minimum interval, and with the validator after it`() async throws {
    let time = TestTime()
    let (client, transport) = try scripted(
      [
        .latest("releases-latest.json"),
        .on("GET", "\(api)/releases/latest", status: 304), .on("GET", "\(api)/releases/latest", status: 304),
      ], time: time)
    _ = try await client.latestRelease()
    #expect(try await client.latestRelease().fromCache)
    #expect(transport.requests.count == 1)
    time.advance(by: .seconds(3601))
    let later = try await client.latestRelease()
    #expect(later.fromCache)
    #expect(later.checkedAt == time.now())
    #expect(later.release.tag == "20260215")
    #expect(try await client.latestRelease(isForced: true).release.tag == "20260215")
    #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "W/\"1\"", "W/\"1\""])
  }

  @Test func `tells the token to the API alone, and shows it nowhere`() async throws {
    var settings = TransitDataSettings.sample
    settings.token = "ghp_hunter2"
    let (client, transport) = try scripted(
      [.latest("releases-latest.json")] + ScriptedTransport.Step.download("20260215", "stage3_final.json"), settings)
    _ = try await client.update()
    #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer ghp_hunter2", nil, nil])
    let (refused, _) = try scripted([.on("GET", "\(api)/releases/latest", status: 401, "{}")], settings)
    let error = try await failure { try await refused.latestRelease() }
    #expect(error.message == "GitHub does not accept the token; renew or remove it.")
    #expect(error.actionError.kind == .authentication)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var status: Int
    var headers: HTTPHeaders = [:]
    var body = "{}"
    var kind: ErrorKind
    var wait: Int?
    /// The service's own message.
    var detail: String?
  }

  @Test(arguments: [
    Refusal(
      testDescription: "spent", status: 403,
      headers: ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "1795167600"],
      kind: .rateLimited, wait: 600),
    Refusal(testDescription: "secondary", status: 429, headers: ["retry-after": "17"], kind: .rateLimited, wait: 17),
    Refusal(
      testDescription: "only its words", status: 403,
      body: #"{"message":"You have exceeded a secondary Rate Limit."}"#, kind: .rateLimited, wait: 60),
    Refusal(testDescription: "no word at all", status: 429, body: "<html>", kind: .rateLimited, wait: 60),
    Refusal(
      testDescription: "a reset that is none", status: 403,
      headers: ["x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"], kind: .rateLimited, wait: 60),
    Refusal(
      testDescription: "no access", status: 403, headers: ["x-ratelimit-remaining": "41"],
      body: #"{"message":"Resource not accessible by personal access token"}"#, kind: .authorization,
      detail: "Resource not accessible by personal access token"),
    Refusal(testDescription: "no release", status: 404, kind: .notFound),
    Refusal(testDescription: "trouble", status: 502, headers: ["Retry-After": "9"], kind: .server, wait: 9),
  ])
  func `tells refusals apart`(_ refusal: Refusal) async throws {
    let (client, _) = try scripted([
      .on("GET", "\(api)/releases/latest", status: refusal.status, headers: refusal.headers, refusal.body),
      .on("GET", "\(web)/releases/latest/download/stage3_final.json", status: 404),
    ])
    let error = try await failure { try await client.latestRelease() }.actionError
    #expect(error.kind == refusal.kind)
    #expect(error.retryAfter == refusal.wait.map { .seconds($0) })
    #expect(error.effect == ActionError.Effect.none)
    #expect(error.detail == refusal.detail)
  }

  @Test func `does not ask while the quota is used up, not even after a restart, and longer each time`() async throws {
    let (folder, time) = (try TemporaryFolder(), TestTime())
    let spent = ScriptedTransport.Step.on(
      "GET", "\(api)/releases/latest", status: 429, try text("error-rate-limit.json"))
    let (client, transport) = try scripted([spent], folder: folder, time: time)
    let error = try await failure { try await client.latestRelease() }
    #expect(
      error.message
        == "The quota of GitHub's API is used up; it is worth asking again at 2026-11-20T09:31:00Z. A token raises it.")
    let (again, none) = try scripted([spent], folder: folder, time: time)
    _ = try await failure { try await again.latestRelease(isForced: true) }
    #expect(none.requests.isEmpty)
    for wait in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
      time.advance(by: .seconds(wait))
      let (next, asked) = try scripted([spent], folder: folder, time: time)
      _ = try await failure { try await next.latestRelease() }
      #expect(asked.requests.count == 1)
    }
    #expect(transport.requests.count == 1)
    // Another token has another quota.
    var settings = TransitDataSettings.sample
    settings.token = "t"
    let (other, asked) = try scripted([.latest("releases-latest.json")], folder: folder, settings, time: time)
    _ = try await other.latestRelease()
    #expect(asked.requests.count == 1)
  }

  @Test func `gives what is kept while the quota is used up`() async throws {
    let time = TestTime()
    let (client, transport) = try scripted(
      [
        .latest("releases-latest.json"),
        .on("GET", "\(api)/releases/tags/x", status: 429, headers: ["retry-after": "7200"], "{}"),
      ], time: time)
    let asked = try await client.latestRelease()
    _ = try await failure { try await client.release(tag: "x") }
    let kept = try await client.latestRelease()
    #expect(kept.fromCache)
    #expect(kept.release == asked.release)
    // Not what has to be asked about, and that something was kept says nothing of the quota.
    for isForced in [true, false] {
      if !isForced { time.advance(by: .seconds(3601)) }
      let error = try await failure { try await client.latestRelease(isForced: isForced) }
      #expect(error.actionError.kind == .rateLimited)
    }
    #expect(transport.requests.count == 2)
  }

  @Test(arguments: [
    ("20260401", "20260215", true), ("20260215", "20260215", false), ("20260101", "20260215", false),
    ("v2026-04-01", "20260215", true), ("v20260215", "2026-02-15", false), ("1.2", "20260215", nil),
    ("2026", "20260215", nil), ("", "20260215", nil),
  ])
  func `compares tags`(_ tag: String, _ other: String, _ isGreater: Bool?) {
    #expect(ReleaseTag.isGreater(tag, than: other) == isGreater)
  }

  @Test func `tells why a release is to be installed`() {
    let asset = Release.Asset(
      name: "f", url: "u", size: 10, sha256: "aa", isUploaded: true, updatedAt: Timestamp("2026-02-15T00:00:00Z"))
    let release = Release(
      tag: "20260215", page: "", publishedAt: Timestamp("2026-02-15T00:00:00Z"), assets: [asset])
    let installed = InstalledVersion(release, asset, installedAt: TestTime.start)
    func reason(_ change: (inout Release) -> Void, _ known: InstalledVersion? = installed) -> String? {
      var other = release
      change(&other)
      return other.reasonToInstall(over: known, asset: "f")
    }
    #expect(reason({ _ in }, nil) == "nothing is installed")
    #expect(reason { _ in } == nil)
    #expect(reason { $0.tag = "20260214" } == nil)
    #expect(reason { $0.tag = "20260216" } == "its tag is greater")
    #expect(reason { $0.assets[0].sha256 = "bb" } == "its file was replaced under the same tag")
    // The installed release announced no digest, but its file has one.
    var unannounced = installed
    (unannounced.assetSHA256, unannounced.sha256) = (nil, "aa")
    #expect(reason({ _ in }, unannounced) == nil)
    #expect(reason({ $0.assets[0].sha256 = "bb" }, unannounced) == "its file was replaced under the same tag")
    #expect(reason { $0.assets[0].updatedAt = TestTime.start } == nil)
    #expect(
      reason {
        $0.assets[0].sha256 = nil
        ($0.assets[0].updatedAt, $0.assets[0].size) = (TestTime.start, 11)
      } == "its file was replaced under the same tag")
    #expect(reason { $0.tag = "next" } == nil)
    #expect(
      reason {
        $0.tag = "next"
        $0.publishedAt = TestTime.start
      } == "it was published later")
    #expect(reason { ($0.tag, $0.assets) = ("20260215", []) } == nil)
  }

  @Test(arguments: [
    ("[]", "it should be an object and is a list"), ("<html>", "it is a web page, not JSON; check 'apiBase'"),
    ("{", "it isn't valid JSON"), ("{\"tag_name\":7}", "'tag_name' should be a text and is an int"),
    (
      "{\"tag_name\":\"20260215\",\"id\":1,\"html_url\":\"u\",\"draft\":\"no\"}",
      "'draft' should be true or false and is a string"
    ),
  ])
  func `says what is wrong in an answer, and keeps none of it`(_ body: String, _ reason: String) async throws {
    let folder = try TemporaryFolder()
    for _ in 0..<2 {
      let (client, transport) = try scripted(
        [.on("GET", "\(api)/releases/latest", headers: ["ETag": "\"1\""], body)], folder: folder)
      let error = try await failure { try await client.latestRelease() }
      #expect(error.message == "The answer about the latest release cannot be read: \(reason).")
      #expect(transport.requests.first?.headers["If-None-Match"] == nil)
    }
  }

  @Test(arguments: ["http://api.example.org", "ftp://127.0.0.1", "nonsense"])
  func `asks nobody over a line that others can read`(_ base: String) {
    var settings = TransitDataSettings.sample
    settings.apiBase = base
    let error = #expect(throws: TransitDataError.self) { try TransitDataClient(settings, folder: nil) }
    #expect(error?.message == "'apiBase' must begin with https://; only this machine may be asked without.")
    settings.apiBase = "http://127.0.0.1:1"
    #expect(throws: Never.self) { try TransitDataClient(settings, folder: nil) }
  }
}
