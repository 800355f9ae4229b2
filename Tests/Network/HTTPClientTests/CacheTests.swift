import ActionTestKit
import Basics
import Foundation
import HTTPClient
import HTTPServer
import Testing

@Suite struct CacheTests {
  private static let url = "https://h/a"
  private static let refused = HTTPError(.connect, "h refused the connection.", sent: .nothing)

  private static func folder() -> String {
    FileManager.default.temporaryDirectory.appending(path: "cache-\(UUID().uuidString)").path
  }

  private static func remove(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }

  /// Sends one request, and describes its outcome in a few words.
  private static func ask(
    _ client: HTTPClient, _ cache: HTTPCache, _ policy: HTTPCachePolicy = HTTPCachePolicy(),
    _ headers: HTTPHeaders = [:], url: String = url
  ) async -> String {
    do throws(HTTPError) {
      let answer = try await client.send(HTTPRequest("GET", url, headers: headers), through: cache, policy)
      let body = String(decoding: answer.response.body, as: UTF8.self)
      let origin = answer.fromCache ? "kept" : "live"
      let standIn = answer.standIn.map { "; \($0.reason)" } ?? ""
      return "\(origin) \(answer.response.status) \(body)\(standIn)\(answer.fault.map { "; fault: \($0)" } ?? "")"
    } catch {
      return "failed: \(error.message)"
    }
  }

  // MARK: Freshness

  struct Life: Sendable, CustomTestStringConvertible {
    var headers: HTTPHeaders
    var least = TimeSpan.zero
    var after: TimeSpan
    var isFresh: Bool
    var testDescription: String { "\(headers.fields.map { "\($0.name): \($0.value)" }) after \(after)" }
  }

  @Test(arguments: [
    Life(headers: ["Cache-Control": "public, max-age=600"], after: .seconds(599), isFresh: true),
    Life(headers: ["Cache-Control": "max-age=600"], after: .seconds(600), isFresh: false),
    Life(headers: ["Cache-Control": "MAX-AGE=\"600\" , x"], after: .seconds(599), isFresh: true),
    Life(headers: ["Cache-Control": "max-age=600", "Age": "100"], after: .seconds(500), isFresh: false),
    Life(headers: ["Cache-Control": "max-age=99999999999999999999"], after: .seconds(9999), isFresh: true),
    Life(headers: ["Cache-Control": "max-age=-1"], after: .zero, isFresh: false),
    Life(headers: ["Cache-Control": "max-age=soon"], after: .zero, isFresh: false),
    Life(headers: ["Cache-Control": "max-age=600, no-cache"], after: .zero, isFresh: false),
    Life(headers: ["Cache-Control": "max-age=600"], after: .seconds(-1), isFresh: false),
    Life(headers: [:], after: .zero, isFresh: false),
    Life(headers: [:], least: .seconds(60), after: .seconds(59), isFresh: true),
    Life(headers: [:], least: .seconds(60), after: .seconds(60), isFresh: false),
    Life(headers: ["Cache-Control": "max-age=600"], least: .seconds(60), after: .seconds(599), isFresh: true),
    Life(headers: ["Cache-Control": "no-cache"], least: .seconds(60), after: .zero, isFresh: false),
    Life(headers: ["Cache-Control": "must-revalidate"], least: .seconds(60), after: .zero, isFresh: false),
    Life(
      headers: ["Expires": "Sun, 06 Nov 1994 08:59:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
      after: .seconds(599), isFresh: true),
    Life(
      headers: ["Expires": "Sun, 06 Nov 1994 08:59:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"],
      after: .seconds(600), isFresh: false),
    Life(headers: ["Expires": "0", "Date": "Sun, 06 Nov 1994 08:49:37 GMT"], after: .zero, isFresh: false),
  ])
  func `asks the network as soon as an answer is no longer fresh`(_ life: Life) async throws {
    let transport = ScriptedTransport([
      .on("GET", Self.url, headers: life.headers, "one"), .on("GET", Self.url, headers: life.headers, "two"),
    ])
    let client = HTTPClient(transport: transport)
    let time = TestTime()
    let cache = HTTPCache(folder: nil, time: time)
    let policy = HTTPCachePolicy(leastInterval: life.least)
    #expect(await Self.ask(client, cache, policy) == "live 200 one")
    time.setWallClock(to: try #require(TestTime.start.advanced(by: life.after)))
    #expect(await Self.ask(client, cache, policy) == (life.isFresh ? "kept 200 one" : "live 200 two"))
  }

  @Test func `asks about what is fresh if it is told to`() async {
    let transport = ScriptedTransport([
      .on("GET", Self.url, headers: ["Cache-Control": "max-age=600", "ETag": "\"1\""], "one"),
      .on("GET", Self.url, status: 304),
    ])
    let cache = HTTPCache(folder: nil, time: TestTime())
    let client = HTTPClient(transport: transport)
    #expect(await Self.ask(client, cache) == "live 200 one")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(revalidates: true)) == "kept 200 one")
    #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\""])
  }

  // MARK: Validation

  @Test func `takes over what a 304 says, and keeps the body on disk`() async throws {
    let folder = Self.folder()
    defer { Self.remove(folder) }
    let transport = ScriptedTransport([
      .on("GET", Self.url, headers: ["Last-Modified": "yesterday", "Set-Cookie": "a=b", "Age": "7"], "one\n\0two"),
      .on("GET", Self.url, status: 304, headers: ["Cache-Control": "max-age=60", "Content-Length": "9"]),
    ])
    let client = HTTPClient(transport: transport)
    let time = TestTime()
    #expect(await Self.ask(client, HTTPCache(folder: folder, time: time)) == "live 200 one\n\0two")
    time.advance(by: .seconds(10))
    // A new cache, as another program has one.
    let answer = try await client.send(HTTPRequest("GET", Self.url), through: HTTPCache(folder: folder, time: time))
    #expect(answer.fromCache)
    #expect(answer.cachedAt == TestTime.start)
    #expect(answer.checkedAt == time.now())
    #expect(answer.response.url == Self.url)
    #expect(
      answer.response.headers.fields.map { "\($0.name): \($0.value)" }
        == ["Last-Modified: yesterday", "Cache-Control: max-age=60"])
    time.advance(by: .seconds(59))
    #expect(await Self.ask(client, HTTPCache(folder: folder, time: time)) == "kept 200 one\n\0two")
    #expect(transport.requests.map { $0.headers["If-Modified-Since"] } == [nil, "yesterday"])
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(names.map { $0.split(separator: ".").last } == ["answer", "lock"])
    for name in names {
      let mode = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(name)")[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func `leaves a caller's own conditions alone`() async {
    let transport = ScriptedTransport([
      .on("GET", Self.url, headers: ["ETag": "\"1\""], "one"), .on("GET", Self.url, status: 304),
      .on("GET", Self.url, headers: ["ETag": "\"2\""], "two"), .on("GET", Self.url, status: 304),
    ])
    let client = HTTPClient(transport: transport)
    let cache = HTTPCache(folder: nil, time: TestTime())
    let own: HTTPHeaders = ["If-None-Match": "\"0\""]
    #expect(await Self.ask(client, cache) == "live 200 one")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), own) == "live 304 ")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), own) == "live 200 two")
    #expect(await Self.ask(client, cache) == "kept 200 one")
    #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"0\"", "\"0\"", "\"1\""])
  }

  // MARK: Storing answers

  @Test(arguments: ["no-store", "max-age=600, No-Store"])
  func `forgets an answer that is followed by one not to be stored`(_ control: String) async {
    let transport = ScriptedTransport([
      .on("GET", Self.url, "one"), .on("GET", Self.url, headers: ["Cache-Control": control], "two"),
      .on("GET", Self.url, fail: Self.refused),
    ])
    let client = HTTPClient(transport: transport)
    let cache = HTTPCache(folder: nil, time: TestTime())
    let policy = HTTPCachePolicy(fallsBack: true)
    #expect(await Self.ask(client, cache, policy) == "live 200 one")
    #expect(await Self.ask(client, cache, policy) == "live 200 two")
    #expect(await Self.ask(client, cache, policy) == "failed: h refused the connection.")
  }

  @Test func `gives no request an answer that was chosen for other fields or credentials`() async {
    let headers: HTTPHeaders = ["Cache-Control": "max-age=600", "Vary": "Accept-Language, X"]
    let transport = ScriptedTransport((1...5).map { .on("GET", Self.url, headers: headers, "\($0)") })
    let client = HTTPClient(transport: transport)
    let cache = HTTPCache(folder: nil, time: TestTime())
    let german: HTTPHeaders = ["accept-language": "de"]
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), german) == "live 200 1")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), german) == "kept 200 1")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), ["Accept-Language": "ro"]) == "live 200 2")
    #expect(await Self.ask(client, cache) == "live 200 3")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), ["Authorization": "a"]) == "live 200 4")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), ["Authorization": "b"]) == "live 200 5")
    #expect(await Self.ask(client, cache, HTTPCachePolicy(), ["authorization": "a"]) == "kept 200 4")
  }

  @Test func `keeps other statuses only where the policy says so`() async {
    let answers: [ScriptedTransport.Step] = [
      .on("GET", Self.url, "one"), .on("GET", Self.url, status: 404, "gone"),
      .on("GET", Self.url, fail: Self.refused), .on("GET", Self.url, fail: Self.refused),
    ]
    let transport = ScriptedTransport(answers)
    let client = HTTPClient(transport: transport)
    let cache = HTTPCache(folder: nil, time: TestTime())
    let policy = HTTPCachePolicy(fallsBack: true, keptStatuses: [200, 404])
    #expect(await Self.ask(client, cache, policy) == "live 200 one")
    #expect(await Self.ask(client, cache, policy) == "live 404 gone")
    #expect(await Self.ask(client, cache, policy) == "kept 404 gone; h refused the connection.")
    #expect(
      await Self.ask(client, cache, HTTPCachePolicy(fallsBack: true), url: "https://h/b") == "failed: "
        + "The script expects no GET https://h/b; add a step for it.")
  }

  // MARK: Standing in

  @Test(arguments: [false, true]) func `asks in vain no sooner again than about an answer`(isOnDisk: Bool) async {
    let folder = isOnDisk ? Self.folder() : nil
    defer { folder.map(Self.remove) }
    let headers: HTTPHeaders = ["ETag": "\"1\""]
    let transport = ScriptedTransport([
      .on("GET", Self.url, headers: headers, "one"), .on("GET", Self.url, fail: Self.refused),
      .on("GET", Self.url, status: 503), .on("GET", Self.url, status: 304), .on("GET", Self.url, fail: Self.refused),
      .on("GET", Self.url, headers: headers, "two"),
    ])
    let client = HTTPClient(transport: transport)
    let time = TestTime()
    func ask(after seconds: Int, _ policy: HTTPCachePolicy? = nil) async -> String {
      time.advance(by: .seconds(seconds))
      // A new cache for a folder, as the next program has one.
      let cache = HTTPCache(folder: folder, time: time)
      let answer = await Self.ask(
        client, folder == nil ? memory : cache, policy ?? HTTPCachePolicy(leastInterval: .seconds(60), fallsBack: true))
      return "\(transport.requests.count) \(answer)"
    }
    let memory = HTTPCache(folder: nil, time: time)
    #expect(await ask(after: 0) == "1 live 200 one")
    #expect(await ask(after: 60) == "2 kept 200 one; h refused the connection.")
    #expect(await ask(after: 59) == "2 kept 200 one; h refused the connection.")
    #expect(await ask(after: 1) == "3 kept 200 one; The server answered with HTTP status 503.")
    #expect(await ask(after: 59) == "3 kept 200 one; The server answered with HTTP status 503.")
    // A request that demands the network's answer is sent all the same; a success ends the outage.
    let urgent = HTTPCachePolicy(leastInterval: .seconds(60), revalidates: true, fallsBack: true)
    #expect(await ask(after: 0, urgent) == "4 kept 200 one")
    #expect(await ask(after: 60) == "5 kept 200 one; h refused the connection.")
    #expect(await ask(after: 0, HTTPCachePolicy(fallsBack: true)) == "6 live 200 two")
    #expect(await ask(after: 59) == "6 kept 200 two")
  }

  @Test func `an answer that came meanwhile stays when another try ends in vain`() async {
    let time = TestTime()
    let cache = HTTPCache(folder: nil, time: time)
    let policy = HTTPCachePolicy(leastInterval: .seconds(60), fallsBack: true)
    let other = HTTPClient(transport: ScriptedTransport([.on("GET", Self.url, "newer")]))
    let client = HTTPClient(
      transport: ScriptedTransport([
        .on("GET", Self.url, "older"),
        .on("GET", Self.url) { (request: HTTPRequest) async throws(HTTPError) -> HTTPResponse in
          _ = try await other.send(HTTPRequest("GET", Self.url), through: cache, policy)
          throw Self.refused
        },
      ]))
    #expect(await Self.ask(client, cache, policy) == "live 200 older")
    time.advance(by: .seconds(60))
    #expect(await Self.ask(client, cache, policy) == "kept 200 older; h refused the connection.")
    #expect(await Self.ask(client, cache, policy) == "kept 200 newer")
  }

  struct Trouble: Sendable, CustomTestStringConvertible {
    var step: ScriptedTransport.Step
    var fallsBack = true
    var headers: HTTPHeaders = [:]
    var outcome: String
    var testDescription: String { outcome }
  }

  @Test(arguments: [
    Trouble(step: .on("GET", url, fail: refused), outcome: "kept 200 one; h refused the connection."),
    Trouble(step: .on("GET", url, fail: refused), fallsBack: false, outcome: "failed: h refused the connection."),
    Trouble(
      step: .on("GET", url, fail: HTTPError(.timeout(.attempt), "Too late.", sent: .maybe)),
      outcome: "kept 200 one; Too late."),
    Trouble(
      step: .on("GET", url, fail: HTTPError(.cancelled, "Cancelled.", sent: .maybe)), outcome: "failed: Cancelled."),
    Trouble(
      step: .on("GET", url, status: 503, "x"), outcome: "kept 200 one; The server answered with HTTP status 503."),
    Trouble(step: .on("GET", url, status: 503, "x"), fallsBack: false, outcome: "live 503 x"),
    Trouble(step: .on("GET", url, status: 404, "x"), outcome: "live 404 x"),
    Trouble(step: .on("GET", url, "bad"), outcome: "kept 200 one; It is bad, unlike one."),
    Trouble(step: .on("GET", url, "bad"), fallsBack: false, outcome: "live 200 bad; fault: It is bad, unlike one."),
    Trouble(
      step: .on("GET", url, fail: refused), headers: ["Cache-Control": "must-revalidate"],
      outcome: "failed: h refused the connection."),
    Trouble(
      step: .on("GET", url, status: 503, "x"), headers: ["Cache-Control": "no-cache"], outcome: "live 503 x"),
  ])
  func `lets a kept answer stand in for none only if it is asked to`(_ trouble: Trouble) async {
    let transport = ScriptedTransport([
      .on("GET", Self.url, headers: trouble.headers, "one"), trouble.step, .on("GET", Self.url, "two"),
    ])
    let client = HTTPClient(transport: transport)
    let cache = HTTPCache(folder: nil, time: TestTime())
    let policy = HTTPCachePolicy(fallsBack: trouble.fallsBack) { new, kept in
      new.body.elementsEqual("bad".utf8)
        ? "It is bad, unlike \(String(decoding: kept?.body ?? [], as: UTF8.self))." : nil
    }
    #expect(await Self.ask(client, cache, policy) == "live 200 one")
    #expect(await Self.ask(client, cache, policy) == trouble.outcome)
    // The trouble was not kept.
    #expect(await Self.ask(client, cache, policy) == "live 200 two")
  }

  // MARK: The folder

  @Test(arguments: 0..<5)
  func `takes a damaged file for none`(_ damage: Int) async throws {
    let folder = Self.folder()
    defer { Self.remove(folder) }
    let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
    let client = HTTPClient(
      transport: ScriptedTransport([
        .on("GET", Self.url, headers: headers, "one"), .on("GET", Self.url, headers: headers, "two"),
      ]))
    let cache = HTTPCache(folder: folder, time: TestTime())
    #expect(await Self.ask(client, cache) == "live 200 one")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0 != "lock" }
    let path = "\(folder)/\(try #require(names.first))"
    var bytes = try Data(contentsOf: URL(filePath: path))
    switch damage {
    case 0: bytes = Data()
    case 1: bytes.removeLast()
    case 2: bytes[bytes.count - 1] ^= 1
    case 3: bytes[80] ^= 1
    default: bytes = bytes.prefix(64)
    }
    try bytes.write(to: URL(filePath: path))
    #expect(await Self.ask(client, cache) == "live 200 two")
    #expect(await Self.ask(client, cache) == "kept 200 two")
  }

  @Test func `keeps a secret of the URL out of the folder`() async throws {
    let folder = Self.folder()
    defer { Self.remove(folder) }
    let client = HTTPClient(transport: ScriptedTransport([.on("GET", "https://h/a?key=s3cret", "one")]))
    let request = HTTPRequest(
      "GET", "https://h/a?key=s3cret", headers: ["Authorization": "s3cret"], redactedParameters: ["key"])
    _ = try await client.send(request, through: HTTPCache(folder: folder, time: TestTime()))
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      #expect(!name.contains("s3cret") && !text.contains("s3cret"))
    }
  }

  @Test(arguments: [true, false])
  func `lets the longest unconfirmed answers go when there are too many`(_ isOnDisk: Bool) async throws {
    let folder = isOnDisk ? Self.folder() : nil
    defer { if let folder { Self.remove(folder) } }
    let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
    let body = String(repeating: "x", count: 3000)
    let client = HTTPClient(
      transport: ScriptedTransport(
        ["a", "b", "c", "a"].map { .on("GET", "https://h/\($0)", headers: headers, body) }
          + [.on("GET", "https://h/big", String(repeating: "x", count: 9000))]))
    let cache = HTTPCache(folder: folder, maxBytes: 8000, time: TestTime())
    var outcomes: [String] = []
    for name in ["a", "b", "c", "b", "c", "a", "big"] {
      let answer = try await client.send(HTTPRequest("GET", "https://h/\(name)"), through: cache)
      outcomes.append("\(name) \(answer.fromCache ? "kept" : "live")\(answer.fault.map { ": \($0)" } ?? "")")
    }
    #expect(
      outcomes == [
        "a live", "b live", "c live", "b kept", "c kept", "a live",
        "big live: The answer is larger than the whole cache may be, 8000 bytes.",
      ])
  }

  @Test func `leaves what else is in the folder, but not what a writer left behind`() async throws {
    let folder = Self.folder()
    defer { Self.remove(folder) }
    try FileManager.default.createDirectory(atPath: "\(folder)/release", withIntermediateDirectories: true)
    for name in ["note.txt", "abc.answer.12-3.new"] { try Data("x".utf8).write(to: URL(filePath: "\(folder)/\(name)")) }
    let client = HTTPClient(transport: ScriptedTransport([.on("GET", Self.url, "one")]))
    #expect(await Self.ask(client, HTTPCache(folder: folder, time: TestTime())) == "live 200 one")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().filter { !$0.hasSuffix(".answer") }
    #expect(names == ["lock", "note.txt", "release"])
  }

  @Test func `gives an answer that cannot be kept, with the reason`() async throws {
    let path = Self.folder()
    defer { Self.remove(path) }
    try Data().write(to: URL(filePath: path))
    let client = HTTPClient(transport: ScriptedTransport([.on("GET", Self.url, "one")]))
    #expect(
      await Self.ask(client, HTTPCache(folder: "\(path)/x", time: TestTime()))
        == "live 200 one; fault: The answer is not kept: cannot make folder '\(path)/x': part of the path is not a folder (ENOTDIR)."
    )
  }

  @Test func `does not put an older answer over one that another program checked later`() async throws {
    let folder = Self.folder()
    defer { Self.remove(folder) }
    let headers: HTTPHeaders = ["ETag": "\"1\""]
    let late = TestTime()
    late.advance(by: .seconds(5))
    let other = HTTPClient(transport: ScriptedTransport([.on("GET", Self.url, headers: headers, "newer")]))
    let client = HTTPClient(
      transport: ScriptedTransport([
        .on("GET", Self.url) { request throws(HTTPError) in
          // While this answer is on its way, the other program asks and is faster.
          _ = try await other.send(HTTPRequest("GET", Self.url), through: HTTPCache(folder: folder, time: late))
          return HTTPResponse(headers: headers, body: Array("older".utf8), url: request.url)
        },
        .on("GET", Self.url, fail: Self.refused),
      ]))
    let cache = HTTPCache(folder: folder, time: TestTime())
    #expect(await Self.ask(client, cache) == "live 200 older")
    #expect(
      await Self.ask(client, cache, HTTPCachePolicy(fallsBack: true)) == "kept 200 newer; h refused the connection.")
  }

  @Test func `can be written by many at once`() async throws {
    let folder = Self.folder()
    defer { Self.remove(folder) }
    let server = try HTTPServer { request in
      HTTPServerResponse(headers: ["ETag": "\"1\""], body: .bytes(Array(request.target.utf8)))
    }
    let client = HTTPClient()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask {
          let url = "\(server.baseURL)/\(number % 4)"
          let cache = HTTPCache(folder: folder, time: TestTime())
          #expect(await Self.ask(client, cache, url: url).hasSuffix("200 /\(number % 4)"))
        }
      }
    }
    await server.stop()
    for number in 0..<4 {
      let outcome = await Self.ask(
        client, HTTPCache(folder: folder, time: TestTime()), HTTPCachePolicy(leastInterval: .seconds(60)),
        url: "\(server.baseURL)/\(number)")
      #expect(outcome == "kept 200 /\(number)")
    }
  }
}
