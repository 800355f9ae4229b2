import Foundation
import HTTPClient
import HTTPServer
import ProcessTestKit
import Testing

@Suite struct DownloadTests {
  private static let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

  @Test func `stores a large body whole`() async throws {
    let folder = try TemporaryFolder()
    let server = try HTTPServer { _ in
      HTTPServerResponse(
        body: .stream { writer in
          for number in 0..<50 { try await writer.write([UInt8](repeating: UInt8(number), count: 100_000)) }
        })
    }
    let client = HTTPClient()
    let path = "\(folder.path)/a.bin"
    let download = try await client.download(HTTPRequest("GET", server.baseURL), to: path, bytes: 5_000_000)
    #expect(download.file?.bytes == 5_000_000)
    #expect(download.response.body.isEmpty)
    #expect(download.response.bodyBytes == 5_000_000)
    let data = try Data(contentsOf: URL(filePath: path))
    #expect(data == Data((0..<50).flatMap { [UInt8](repeating: $0, count: 100_000) }))
    #expect(try folder.names == ["a.bin"])
    await server.stop()
  }

  @Test func `replaces what was there, and tells the hash`() async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/a"
    try Data("old".utf8).write(to: URL(filePath: path))
    let transport = ScriptedTransport([.on("GET", "https://h/", "hello")])
    let download = try await HTTPClient(transport: transport).download(
      HTTPRequest("GET", "https://h/"), to: path, sha256: Self.hello.uppercased()
    ) { temporary in
      (try? String(contentsOfFile: temporary, encoding: .utf8)) == "hello" ? nil : "It is not what was sent."
    }
    #expect(download.file?.sha256 == Self.hello)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "hello")
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func `stores only the answer of a success`() async throws {
    let folder = try TemporaryFolder()
    let transport = ScriptedTransport([.on("GET", "https://h/", status: 404, "gone")])
    let download = try await HTTPClient(transport: transport).download(
      HTTPRequest("GET", "https://h/"), to: "\(folder.path)/a")
    #expect(download.file == nil)
    #expect(download.response.body == Array("gone".utf8))
    #expect(try folder.names == [])
  }

  @Test(
    arguments: [
      (6, nil, nil, "'PATH' should have 6 bytes, but 5 arrived."),
      (nil, "ab", nil, "'PATH' should have the SHA-256 ab, but what arrived has \(hello)."),
      (nil, nil, "It is no zip.", "'PATH' is not kept: It is no zip."),
    ] as [(Int?, String?, String?, String)])
  func `keeps nothing that is not what was expected`(
    _ bytes: Int?, _ sha256: String?, _ fault: String?, _ text: String
  ) async throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/a"
    try Data("old".utf8).write(to: URL(filePath: path))
    let transport = ScriptedTransport([.on("GET", "https://h/?k=s", "hello")])
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient(transport: transport).download(
        HTTPRequest("GET", "https://h/?k=s", redactedParameters: ["k"]), to: path, bytes: bytes, sha256: sha256
      ) { _ in fault }
    }
    #expect(error?.kind == .file)
    #expect(error?.sent == .maybe)
    #expect(
      error?.message == "GET https://h/?k=•••: \(text.replacingOccurrences(of: "PATH", with: path))")
    #expect(try folder.names == ["a"])
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "old")
  }

  @Test func `keeps nothing of a body that breaks off`() async throws {
    let folder = try TemporaryFolder()
    let server = try HTTPServer { _ in HTTPServerResponse(body: .truncated([1, 2, 3, 4], after: 2)) }
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().download(HTTPRequest("GET", server.baseURL), to: "\(folder.path)/a")
    }
    #expect(error?.kind == .interrupted)
    #expect(try folder.names == [])
    await server.stop()
  }

  @Test func `says that it cannot store before it sends`() async throws {
    let folder = try TemporaryFolder()
    let transport = ScriptedTransport([])
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient(transport: transport).download(
        HTTPRequest("GET", "https://h/"), to: "\(folder.path)/missing/a")
    }
    #expect(
      error?.message
        == "GET https://h/: cannot create a file beside '\(folder.path)/missing/a': No such file or directory.")
    #expect(error?.sent == .nothing)
    #expect(transport.requests.isEmpty)
  }
}
