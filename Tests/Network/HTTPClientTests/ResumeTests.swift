import Basics
import Foundation
import HTTPClient
import HTTPServer
import ProcessTestKit
import Synchronization
import Testing

/// A server with one file, whose answers break off as a script says.
private final class FileServer: Sendable {
  struct Script: Sendable {
    var body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var headers: HTTPHeaders = ["ETag": "\"a\""]
    /// After how many bytes of a body each answer breaks off; nil sends all.
    var cuts: [Int?] = []
    /// The answer to a request for a range, instead of that range.
    var toRange: (@Sendable (_ first: Int, _ body: [UInt8]) -> HTTPServerResponse)?
    var requests: [String] = []
  }

  let shelf: Shelf
  private let server: HTTPServer

  init(_ script: Script = Script()) throws {
    let shelf = Shelf(script)
    self.shelf = shelf
    server = try HTTPServer { shelf.answer($0) }
  }

  var requests: [String] { shelf.script.withLock(\.requests) }
  var url: String { "\(server.baseURL)/file" }

  func stop() async { await server.stop() }
}

private final class Shelf: Sendable {
  let script: Mutex<FileServer.Script>

  init(_ script: FileServer.Script) { self.script = Mutex(script) }

  func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
    script.withLock { script in
      let range = request.headers["Range"]
      let condition = request.headers["If-Range"]
      script.requests.append([range, condition].compactMap(\.self).joined(separator: " if "))
      let cut = script.cuts.isEmpty ? nil : script.cuts.removeFirst()
      let first = range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
      if range != nil, let other = script.toRange { return other(first, script.body) }
      let validators = [script.headers["ETag"], script.headers["Last-Modified"]]
      guard range != nil, validators.contains(condition) else {
        return HTTPServerResponse(headers: script.headers, body: body(script.body, cut))
      }
      return part(first, script.body, script.headers, cut)
    }
  }
}

private func body(_ bytes: [UInt8], _ cut: Int?) -> HTTPServerResponse.Body {
  cut.map { .truncated(bytes, after: $0) } ?? .bytes(bytes)
}

private func part(
  _ first: Int, _ whole: [UInt8], _ headers: HTTPHeaders = [:], _ cut: Int? = nil
) -> HTTPServerResponse {
  var headers = headers
  headers["Content-Range"] = "bytes \(first)-\(whole.count - 1)/\(whole.count)"
  return HTTPServerResponse(status: 206, headers: headers, body: body(Array(whole[first...]), cut))
}

@Suite struct ResumeTests {
  /// Interrupts a first download, then calls `body` with the server and the path of the partial file.
  private func withInterrupted(
    _ script: FileServer.Script = FileServer.Script(),
    _ body: (_ server: FileServer, _ folder: TemporaryFolder, _ path: String) async throws -> Void
  ) async throws {
    let folder = try TemporaryFolder()
    var script = script
    script.cuts.insert(40_000, at: 0)
    let server = try FileServer(script)
    let path = "\(folder.path)/a"
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, resuming: true)
    }
    #expect(error?.kind == .interrupted)
    try await body(server, folder, path)
    await server.stop()
  }

  /// Downloads again, and tells whether the file is the server's.
  private func again(_ server: FileServer, _ path: String) async throws -> (resumed: Int, isWhole: Bool) {
    let download = try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, resuming: true)
    let file = try #require(download.file)
    let data = try Data(contentsOf: URL(filePath: path))
    return (file.resumedBytes, data == Data(server.shelf.script.withLock(\.body)) && file.bytes == data.count)
  }

  @Test func `asks for the rest only, and hashes the whole`() async throws {
    try await withInterrupted { (server, folder, path) async throws in
      #expect(try folder.names == ["a.part", "a.part.json"])
      let whole = try await HTTPClient().download(HTTPRequest("GET", server.url), to: "\(folder.path)/b").file
      let file = try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, resuming: true).file
      let resumed = try #require(file).resumedBytes
      #expect((1...40_000).contains(resumed))
      #expect(server.requests == ["", "", "bytes=\(resumed)- if \"a\""])
      #expect(file?.sha256 == whole?.sha256)
      #expect(try folder.names == ["a", "b"])
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }

  @Test func `a follower is told of the whole, of which a part was there`() async throws {
    try await withInterrupted { (server, folder, path) async throws in
      let follower = Follower()
      let file = try await Transfers.$follower.withValue(follower) {
        try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, resuming: true).file
      }
      #expect(try #require(file).resumedBytes > 0)
      #expect(try #require(follower.last(.download)) == (100_000, 100_000))
    }
  }

  @Test func `resumes again and again`() async throws {
    var script = FileServer.Script()
    script.cuts = [20_000, 20_000]
    try await withInterrupted(script) { (server, folder, path) async throws in
      for _ in 0..<2 {
        let error = await failure { () throws(HTTPError) in
          try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, resuming: true)
        }
        #expect(error?.kind == .interrupted)
      }
      let end = try await again(server, path)
      #expect(end.isWhole)
      #expect(end.resumed > 40_000)
      #expect(server.requests.count == 4)
    }
  }

  @Test func `takes the whole when the file has changed`() async throws {
    try await withInterrupted { (server, _, path) async throws in
      server.shelf.script.withLock {
        $0.body.reverse()
        $0.headers["ETag"] = "\"b\""
      }
      #expect(try await again(server, path) == (0, true))
      #expect(server.requests.count == 2)
    }
  }

  struct Misfit: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var answer: @Sendable (_ first: Int, _ body: [UInt8]) -> HTTPServerResponse
  }

  @Test(arguments: [
    Misfit(testDescription: "416") { _, _ in HTTPServerResponse(status: 416) },
    Misfit(testDescription: "412") { _, _ in HTTPServerResponse(status: 412) },
    Misfit(testDescription: "another part") { first, body in part(first - 1, body) },
    Misfit(testDescription: "an empty part") { _, _ in HTTPServerResponse(status: 206) },
    Misfit(testDescription: "a part that stops before the end") { first, body in
      var answer = part(first, Array(body.dropLast()))
      answer.headers["Content-Range"] = "bytes \(first)-\(body.count - 2)/\(body.count)"
      return answer
    },
    Misfit(testDescription: "less than it says") { first, body in
      var answer = part(first, body)
      answer.body = .stream { try await $0.write(Array(body[first...].dropLast(3))) }
      return answer
    },
    Misfit(testDescription: "no length") { first, body in
      var answer = part(first, body)
      answer.headers["Content-Range"] = "bytes \(first)-\(body.count - 1)/*"
      return answer
    },
    Misfit(testDescription: "of another file") { first, body in part(first, body, ["ETag": "\"b\""]) },
    Misfit(testDescription: "encoded") { first, body in part(first, body, ["Content-Encoding": "br"]) },
    Misfit(testDescription: "several parts") { _, _ in
      HTTPServerResponse(
        status: 206, headers: ["Content-Type": "multipart/byteranges; boundary=x"], body: .bytes(Array("--x".utf8)))
    },
  ])
  func `asks for the whole when a part does not fit`(_ misfit: Misfit) async throws {
    var script = FileServer.Script()
    script.toRange = misfit.answer
    try await withInterrupted(script) { (server, folder, path) async throws in
      #expect(try await again(server, path) == (0, true))
      #expect(server.requests.count == 3)
      #expect(server.requests.last == "")
      #expect(try folder.names == ["a"])
    }
  }

  @Test func `asks for the whole when the result is not what was expected`() async throws {
    try await withInterrupted { (server, folder, path) async throws in
      let bytes = server.shelf.script.withLock(\.body)
      let sha256 = try await HTTPClient().download(HTTPRequest("GET", server.url), to: "\(folder.path)/b").file?.sha256
      // The beginning is damaged, and nothing tells it but the hash.
      var part = try Data(contentsOf: URL(filePath: "\(path).part"))
      part[0] ^= 1
      try part.write(to: URL(filePath: "\(path).part"))
      let file = try await HTTPClient().download(
        HTTPRequest("GET", server.url), to: path, bytes: bytes.count, sha256: sha256, resuming: true
      ).file
      #expect(file?.resumedBytes == 0)
      #expect(server.requests.count == 4)
      #expect(try Data(contentsOf: URL(filePath: path)) == Data(bytes))
    }
  }

  @Test func `gives up when the whole is not what was expected either, and keeps nothing`() async throws {
    try await withInterrupted { (server, folder, path) async throws in
      let error = await failure { () throws(HTTPError) in
        try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, bytes: 7, resuming: true)
      }
      #expect(error?.message.hasSuffix("'\(path)' should have 7 bytes, but 100000 arrived.") == true)
      #expect(server.requests.count == 3)
      #expect(try folder.names == [])
    }
  }

  @Test(
    arguments: [
      ["ETag": "W/\"a\""], ["Last-Modified": "Fri, 20 Nov 2026 09:30:00 GMT"],
      ["Last-Modified": "Fri, 20 Nov 2026 09:30:00 GMT", "Date": "Fri, 20 Nov 2026 09:30:00 GMT"], [:],
      ["ETag": "\"a\"", "Accept-Ranges": "none"], ["ETag": "\"a\"", "Content-Encoding": "br"],
    ] as [HTTPHeaders])
  func `keeps nothing that the server could not go on from`(_ headers: HTTPHeaders) async throws {
    let folder = try TemporaryFolder()
    let transport = ScriptedTransport([.on("GET", "https://h/", headers: headers, "hello")])
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient(transport: BreakingTransport(of: transport)).download(
        HTTPRequest("GET", "https://h/"), to: "\(folder.path)/a", resuming: true)
    }
    #expect(error?.kind == .interrupted)
    #expect(try folder.names == [])
  }

  @Test func `resumes by date when there is no tag`() async throws {
    let folder = try TemporaryFolder()
    let date = "Fri, 20 Nov 2026 09:30:00 GMT"
    let headers: HTTPHeaders = ["Last-Modified": date, "Date": "Fri, 20 Nov 2026 09:30:01 GMT"]
    let transport = ScriptedTransport([
      .on("GET", "https://h/", headers: headers, "hel"),
      .on("GET", "https://h/", status: 206, headers: ["Content-Range": "bytes 3-4/5"], "lo"),
    ])
    _ = await failure { () throws(HTTPError) in
      try await HTTPClient(transport: BreakingTransport(of: transport)).download(
        HTTPRequest("GET", "https://h/"), to: "\(folder.path)/a", resuming: true)
    }
    let download = try await HTTPClient(transport: transport).download(
      HTTPRequest("GET", "https://h/", acceptsCompression: true), to: "\(folder.path)/a", resuming: true)
    #expect(download.file?.resumedBytes == 3)
    #expect(transport.requests[1].headers["If-Range"] == date)
    #expect(transport.requests[1].acceptsCompression == false)
    #expect(try String(contentsOfFile: "\(folder.path)/a", encoding: .utf8) == "hello")
  }

  @Test(arguments: ["another address", "another start of the system", "a damaged note", "no note"])
  func `starts over from a part that it cannot trust`(_ reason: String) async throws {
    try await withInterrupted { (server, folder, path) async throws in
      let note = URL(filePath: "\(path).part.json")
      let text = try String(contentsOf: note, encoding: .utf8)
      switch reason {
      case "another address":
        try text.replacing(#""url":""#, with: #""url":"0"#).write(to: note, atomically: false, encoding: .utf8)
      case "another start of the system":
        try text.replacing(#""boot":""#, with: #""boot":"0"#).write(to: note, atomically: false, encoding: .utf8)
      case "a damaged note": try Data(text.utf8.dropLast(9)).write(to: note)
      default: try FileManager.default.removeItem(at: note)
      }
      #expect(try await again(server, path) == (0, true))
      #expect(server.requests == ["", ""])
      #expect(try folder.names == ["a"])
    }
  }

  @Test func `leaves a part alone that another download is at`() async throws {
    try await withInterrupted { (server, folder, path) async throws in
      let part = open("\(path).part", O_RDWR)
      #expect(flock(part, LOCK_EX | LOCK_NB) == 0)
      #expect(try await again(server, path) == (0, true))
      #expect(try folder.names == ["a", "a.part", "a.part.json"])
      close(part)
      #expect(try await again(server, path).resumed > 0)
    }
  }

  @Test func `keeps the part when the rest is refused for now`() async throws {
    var script = FileServer.Script()
    script.toRange = { _, _ in .text("Later.", status: 503) }
    try await withInterrupted(script) { (server, folder, path) async throws in
      let download = try await HTTPClient().download(HTTPRequest("GET", server.url), to: path, resuming: true)
      #expect(download.response.status == 503)
      #expect(download.file == nil)
      #expect(try folder.names == ["a.part", "a.part.json"])
    }
  }

  @Test func `counts what was there against the limit`() async throws {
    try await withInterrupted { (server, folder, path) async throws in
      let error = await failure { () throws(HTTPError) in
        try await HTTPClient().download(
          HTTPRequest("GET", server.url, limits: HTTPLimits(maxBodyBytes: 99_999)), to: path, resuming: true)
      }
      #expect(error?.kind == .tooLarge)
      #expect(try folder.names == [])
    }
  }

  @Test func `stores no part that wasn't requested`() async throws {
    let folder = try TemporaryFolder()
    let transport = ScriptedTransport([
      .on("GET", "https://h/", status: 206, headers: ["Content-Range": "bytes 0-1/5"], "he")
    ])
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient(transport: transport).download(HTTPRequest("GET", "https://h/"), to: "\(folder.path)/a")
    }
    #expect(
      error?.message == "GET https://h/: https://h sent a part of the file that was not requested.")
    #expect(try folder.names == [])
  }
}

/// Breaks off after the body of each answer.
private struct BreakingTransport: HTTPTransport {
  let transport: ScriptedTransport

  init(of transport: ScriptedTransport) { self.transport = transport }

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    _ = try await transport.send(request, into: sink)
    throw HTTPError(.interrupted, "It broke off.", sent: .maybe)
  }
}
