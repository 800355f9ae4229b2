import Basics
import Foundation
import PostgresClient
import PostgresTestKit
import Testing

/// A server that doesn't speak PostgreSQL's protocol causes errors, and nothing worse.
@Suite(.timeLimit(.minutes(20))) struct PostgresGarbageTests {
  /// Answers connections with bytes until it is closed, each on the one thread that it has.
  private final class FakeServer: Sendable {
    let port: Int
    private let listener: Int32

    init(_ answers: @escaping @Sendable (_ connection: Int) -> [[UInt8]]) throws {
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(listener, address, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, address, &size) == 0
        }
      }
      try #require(isBound)
      self.listener = listener
      port = Int(UInt16(bigEndian: address.sin_port))
      // Ends when the listener is shut down.
      Thread {
        var number = 0
        while case let client = accept(listener, nil, nil), client >= 0 {
          var buffer = [UInt8](repeating: 0, count: 65536)
          for answer in answers(number) {
            // Each answer follows something that was asked.
            guard recv(client, &buffer, buffer.count, 0) > 0 else { break }
            _ = send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
          }
          close(client)
          number += 1
        }
        close(listener)
      }.start()
    }

    /// The thread closes the listener itself, so that its number isn't given to another meanwhile.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// `patience` is how long a client waits for bytes that never come.
    func settings(patience: TimeSpan = .seconds(60)) -> PostgresSettings {
      var settings = PostgresSettings(host: "127.0.0.1", database: "errand", user: "errand")
      settings.port = port
      settings.answerWithin = patience
      return settings
    }
  }

  /// A message of the protocol: its kind, its length and its content.
  private static func message(_ kind: Unicode.Scalar, _ content: [UInt8], length: Int? = nil) -> [UInt8] {
    let length = UInt32(truncatingIfNeeded: length ?? content.count + 4)
    return [UInt8(ascii: kind)] + withUnsafeBytes(of: length.bigEndian) { Array($0) } + content
  }

  /// Accepts a connection: no encryption, no password, ready.
  private static let welcome: [[UInt8]] = [
    [UInt8(ascii: "N")],
    message("R", [0, 0, 0, 0]) + message("K", [0, 0, 0, 1, 0, 0, 0, 1]) + message("Z", [UInt8(ascii: "I")]),
  ]

  @Test func `random bytes in place of a server are an error`() async throws {
    let server = try FakeServer { number in
      var random = SeededGenerator(seed: UInt64(number))
      return (0..<3).map { _ in
        (0..<Int.random(in: 1...200, using: &random)).map { _ in .random(in: .min ... .max, using: &random) }
      }
    }
    defer { server.stop() }
    for _ in 0..<100 {
      let error = await failure { try await PostgresConnection.open(server.settings(patience: .milliseconds(200))) }
      #expect(error?.kind == .unreachable || error?.kind == .refused)
    }
  }

  @Test func `random messages in place of answers are an error`() async throws {
    let kinds: [Unicode.Scalar] = [
      "1", "2", "3", "A", "C", "D", "E", "G", "H", "I", "N", "S", "T", "W", "Z", "n", "s", "t", "x",
    ]
    let server = try FakeServer { number in
      var random = SeededGenerator(seed: UInt64(number))
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let content = (0..<Int.random(in: 0...40, using: &random)).map { _ in
          Bool.random(using: &random) ? 0 : UInt8.random(in: .min ... .max, using: &random)
        }
        let isLying = Int.random(in: 0..<8, using: &random) == 0
        bytes += Self.message(
          kinds.randomElement(using: &random) ?? "Z", content,
          length: isLying ? Int.random(in: -5...100, using: &random) : nil)
      }
      return Self.welcome + [bytes]
    }
    defer { server.stop() }
    for _ in 0..<300 {
      let connection = try await PostgresConnection.open(server.settings())
      let error = await failure { try await connection.run("select $1", .int32(1)) }
      #expect(error?.kind == .unknown || error?.kind == .protocolError || error?.kind == .refused)
      connection.close()
    }
  }

  /// The server's messages for one statement that is prepared and executed.
  private static func answer(_ parts: [UInt8]...) -> [UInt8] { message("1", []) + message("2", []) + parts.joined() }

  @Test func `answers that don't fit what was asked are errors`() async throws {
    let done = Self.message("C", Array("INSERT 0 1\0".utf8))
    let ready = Self.message("Z", [UInt8(ascii: "I")])
    let answers = [
      // Done, but with a transaction open; done twice; done with fewer statements; nothing done.
      Self.answer(Self.message("n", []), done, Self.message("Z", [UInt8(ascii: "T")])),
      Self.answer(Self.message("n", []), done, done, ready),
      ready,
      Self.message("1", []) + ready,
    ]
    let server = try FakeServer { Self.welcome + [answers[$0 % answers.count]] }
    defer { server.stop() }
    for _ in answers {
      let connection = try await PostgresConnection.open(server.settings())
      let error = await failure { try await connection.run("insert into t values (1)") }
      #expect(error?.kind == .protocolError || error?.kind == .unknown, "\(error as Any)")
      connection.close()
    }
  }

  @Test func `what is done counts only when the server is ready for more`() async throws {
    let done = Self.answer(Self.message("n", []), Self.message("C", Array("INSERT 0 1\0".utf8)))
    let server = try FakeServer { _ in Self.welcome + [done] }
    defer { server.stop() }
    let connection = try await PostgresConnection.open(server.settings())
    #expect(await failure { try await connection.run("insert into t values (1)") }?.kind == .unknown)
  }
}
