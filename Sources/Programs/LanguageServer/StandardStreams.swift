import Basics
import Glibc
import Synchronization
import Threads

// One thread reads standard input, so that a request can be cancelled while another is answered; the caller's thread
// works and writes.

extension LanguageServer {
  private static let chunk = 64 << 10

  /// Serves the client at standard input and output until it ends the server or goes away; gives the exit code.
  package static func serveStandardStreams(_ program: ServerProgram) -> Int32 {
    let input = WorkQueue<[UInt8]>()
    let output = PatientOutput(STDOUT_FILENO)
    // Ends at the end of the input; the program ends before it if the client says so.
    let isReading = startThread {
      var bytes = [UInt8](repeating: 0, count: chunk)
      while true {
        let count = bytes.withUnsafeMutableBytes { read(STDIN_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0, input.put(Array(bytes[..<count])) else { break }
      }
      output.inputEnded()
      input.close()
    }
    guard isReading else { return 1 }
    let server = LanguageServer(program) { output.write($0) }
    while let chunks = input.takeAll() {
      chunks.forEach(server.receive)
      while !output.isLost, server.work() {
        // What came meanwhile may cancel a request or make a check needless.
        if input.count > 0 { input.takeWaiting().forEach(server.receive) }
      }
      if let code = server.exitCode { return code }
      if output.isLost { return 1 }
    }
    server.endOfInput()
    return server.exitCode ?? 1
  }
}

/// Writes to a client that may read slowly, or not at all.
final class PatientOutput: Sendable {
  private let descriptor: Int32
  private let state = Atomic(0)

  private static let inputHasEnded = 1
  private static let outputIsLost = 2
  /// A pipe that can be written to takes so many bytes without waiting (POSIX, PIPE_BUF).
  private static let piece = 4096

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Whether the client takes nothing any more.
  var isLost: Bool { state.load(ordering: .relaxed) & Self.outputIsLost != 0 }

  func inputEnded() { state.bitwiseOr(Self.inputHasEnded, ordering: .relaxed) }

  /// Writes all bytes, unless the client has read nothing for a minute, or for a second after it has closed the input.
  func write(_ bytes: [UInt8]) {
    var written = 0
    var seconds = 0
    while written < bytes.count, !isLost {
      var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let ready = Glibc.poll(&poll, 1, 1000)
      if ready < 0, errno == EINTR { continue }
      if ready == 0 {
        seconds += 1
        let hasEnded = state.load(ordering: .relaxed) & Self.inputHasEnded != 0
        if seconds >= (hasEnded ? 1 : 60) { lose() }
        continue
      }
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, min(bytes.count - written, Self.piece))
      }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else { return lose() }
      written += count
      seconds = 0
    }
  }

  private func lose() { state.bitwiseOr(Self.outputIsLost, ordering: .relaxed) }
}
