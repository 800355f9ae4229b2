import ActionTestKit
import ProcessTestKit
import Basics
import Foundation
import HTTPClient
import Testing

/// The openssl program, or nil where it is not installed.
private let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
  FileManager.default.isExecutableFile(atPath: $0)
}

@Suite(.enabled(if: openssl != nil, "needs the openssl program to make a certificate and serve with it"))
struct TLSTests {
  /// A server whose certificate an authority of its own has signed for `localhost`.
  private final class SecureServer {
    let port: Int
    let authority: String
    private let process = Process()
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    init() throws {
      let openssl = URL(filePath: try #require(openssl))
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      let made = try #require(makeCertificate(in: folder.path))
      authority = made.certificate
      process.executableURL = openssl
      process.arguments = [
        "s_server", "-www", "-accept", "127.0.0.1:0", "-cert", authority, "-key", made.key,
      ]
      let output = launchPipe()
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      process.standardInput = FileHandle.nullDevice
      try process.startAlone()
      // It says `ACCEPT 127.0.0.1:12345` once it listens.
      var text = ""
      while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
        text += String(decoding: try #require(output.fileHandleForReading.availableData.nonEmpty), as: UTF8.self)
      }
      port = try #require(text.split(separator: ":").last.flatMap { Int($0.trimmingCharacters(in: .newlines)) })
    }

    deinit {
      // It blocks whatever signals the thread did that started it.
      kill(process.processIdentifier, SIGKILL)
      try? FileManager.default.removeItem(at: folder)
    }
  }

  private static let fix =
    "if its certificate comes from a private authority, name the file of that authority as 'certificateAuthorities' of "
    + "the connection, or in the variable SSL_CERT_FILE."

  @Test func `trusts a private authority, for the name it signed only`() async throws {
    let server = try SecureServer()
    let trusting = HTTPClient(configuration: HTTPClientConfiguration(certificateAuthorities: server.authority))
    let good = HTTPRequest("GET", "https://localhost:\(server.port)/?key=hunter2", redactedParameters: ["key"])
    let response = try await trusting.send(good)
    #expect(response.status == 200)

    var other = good
    other.url = "https://127.0.0.1:\(server.port)/?key=hunter2"
    let misnamed = await failure { () throws(HTTPError) in try await trusting.send(other) }
    #expect(misnamed?.kind == .tls)
    #expect(misnamed?.sent == .nothing)
    #expect(
      misnamed?.message == "GET https://127.0.0.1:\(server.port)/?key=•••: no secure connection to "
        + "https://127.0.0.1:\(server.port) (SSL: no alternative certificate subject name matches target host name "
        + "'127.0.0.1'); \(Self.fix)")

    let untrusted = await failure { () throws(HTTPError) in try await HTTPClient().send(good) }
    #expect(untrusted?.kind == .tls)
    #expect(untrusted?.sent == .nothing)
    #expect(
      untrusted?.message == "GET https://localhost:\(server.port)/?key=•••: no secure connection to "
        + "https://localhost:\(server.port) (SSL certificate problem: self-signed certificate); \(Self.fix)")

    let lost = HTTPClient(configuration: HTTPClientConfiguration(certificateAuthorities: "/nowhere.pem"))
    let unreadable = await failure { () throws(HTTPError) in try await lost.send(good) }
    #expect(
      unreadable?.message
        == "GET https://localhost:\(server.port)/?key=•••: the file of certificate authorities cannot "
        + "be read; check its path and that it holds PEM certificates.")
  }

  @Test func `plain http to a port of TLS, and TLS to a plain one, are named`() async throws {
    let server = try SecureServer()
    let plain = await failure { () throws(HTTPError) in
      try await HTTPClient().send(HTTPRequest("GET", "http://127.0.0.1:\(server.port)/"))
    }
    #expect(plain?.kind == .interrupted || plain?.kind == .malformedResponse)
    let raw = try RawServer { _ in .init(text: "HTTP/1.1 200 OK\r\n\r\n") }
    let secure = await failure { () throws(HTTPError) in
      try await HTTPClient().send(
        HTTPRequest("GET", "https://127.0.0.1:\(raw.port)/", limits: HTTPLimits(connect: .milliseconds(50))))
    }
    #expect(secure?.sent == .nothing)
  }
}

extension Data {
  fileprivate var nonEmpty: Data? { isEmpty ? nil : self }
}
