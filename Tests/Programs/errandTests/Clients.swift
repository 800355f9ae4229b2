import ActionTestKit
import Foundation
import Testing

/// Programs that others wrote, which try the agent over HTTP: scripts of `Tests/Clients`.
enum Clients {
  /// Python with the packages of `requirements.txt`, which `make clients` installs from PyPI; nil where it isn't reached.
  static let python: String? = {
    let folder = packageFolder.appending(path: ".build/clients")
    let isMade = FileManager.default.fileExists(atPath: folder.appending(path: "made").path)
    return isMade ? folder.appending(path: "bin/python").path : nil
  }()

  static let reason: Comment = "the clients from PyPI are not there; `make clients` installs them"

  /// Debian's Python, which has Selenium.
  static let systemPython = "/usr/bin/python3"

  /// Runs a script of `Tests/Clients`, and gives its exit code and all that it printed.
  static func run(
    _ script: String, _ arguments: [String], with python: String, environment: [String: String] = [:]
  ) async throws -> (code: Int32, output: String) {
    let process = Process()
    process.executableURL = URL(filePath: python)
    process.arguments = [packageFolder.appending(path: "Tests/Clients/\(script)").path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    (process.standardOutput, process.standardError) = (pipe, pipe)
    let ended = AsyncStream<Int32> { continuation in
      process.terminationHandler = { process in
        continuation.yield(process.terminationStatus)
        continuation.finish()
      }
    }
    try process.run()
    // Read on a thread of its own: a script may print more than a pipe holds.
    let output = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? nil
        continuation.resume(returning: String(decoding: bytes ?? Data(), as: UTF8.self))
      }
    }
    var code: Int32 = -1
    for await status in ended { code = status }
    return (code, output)
  }
}
