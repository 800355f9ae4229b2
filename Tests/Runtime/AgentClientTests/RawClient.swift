import Agent
import AgentClient
import Basics
import Glibc
import Operations
import Testing

/// A client that sends any bytes, and reads only when it is told to.
struct RawClient: Sendable {
  private let socket: Int32

  init(_ folder: String) throws {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    try SocketAddress.connect(socket, in: folder)
  }

  func send(_ bytes: [UInt8]) {
    #expect(Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count)
  }

  /// Everything that still comes.
  func rest() async -> [UInt8] {
    await onThread { [socket] in
      var (bytes, chunk) = ([UInt8](), [UInt8](repeating: 0, count: 64 << 10))
      while true {
        let count = recv(socket, &chunk, chunk.count, 0)
        guard count > 0 else { return bytes }
        bytes += chunk[..<count]
      }
    }
  }

  /// Waits until something comes, and doesn't read it.
  func waitForAnswer() async {
    await onThread { [socket] in
      var polled = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      while poll(&polled, 1, -1) < 0 {}
    }
  }

  /// Closes its side; it may still read.
  func shutdownSending() { shutdown(socket, Int32(SHUT_WR)) }

  func close() { Glibc.close(socket) }

  /// The head of an answer, and the sizes of the chunks of its body; the last is 0 if the answer is whole.
  static func chunks(of answer: [UInt8]) -> (head: String, sizes: [Int]) {
    let end = Array("\r\n\r\n".utf8)
    let headEnd = answer.indices.first { answer[$0...].starts(with: end) } ?? answer.endIndex
    var sizes: [Int] = []
    var rest = answer[min(answer.endIndex, headEnd + end.count)...]
    while let lineEnd = rest.firstIndex(of: ASCII.newline) {
      let line = String(decoding: rest[..<lineEnd].dropLast(), as: UTF8.self)
      guard let size = Int(line, radix: 16) else { break }
      sizes.append(size)
      rest = rest[(lineEnd + 1)...].dropFirst(size + 2)
    }
    return (String(decoding: answer[..<headEnd], as: UTF8.self), sizes)
  }
}

extension RawClient {
  /// A request as its bytes.
  ///
  /// - Parameter program: The program that it names, if it names one.
  static func request(
    _ path: String, _ body: [UInt8], accepting type: String = ExactForm.answer,
    from program: String? = SocketBench.identity.program
  ) -> [UInt8] {
    var fields = [
      "Host: errand", "Connection: close", "Content-Type: application/json", "Accept: \(type)",
      "Content-Length: \(body.count)",
    ]
    if let program { fields.append("\(ExactForm.program): \(program)") }
    return Array("POST \(path) HTTP/1.1\r\n\(fields.map { "\($0)\r\n" }.joined())\r\n".utf8) + body
  }
}

extension ExactRequest {
  /// The request as a client of the same version sends it.
  var bytes: [UInt8] { RawClient.request(path, body, accepting: accepted) }
}
