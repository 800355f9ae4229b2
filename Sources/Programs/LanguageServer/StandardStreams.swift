import Glibc
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
        // Messages that arrived meanwhile may cancel a request or make a check needless.
        if input.count > 0 { input.takeWaiting().forEach(server.receive) }
      }
      if let code = server.exitCode { return code }
      if output.isLost { return 1 }
    }
    server.endOfInput()
    return server.exitCode ?? 1
  }
}
