import ActionTestKit
import ProcessTestKit
import Foundation
import Glibc
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

  /// The folder of Debian's `prometheus` and `promtool`, which `make clients` unpacks; nil where apt can't download them.
  static let prometheus: String? = {
    let folder = packageFolder.appending(path: ".build/prometheus")
    let isThere = FileManager.default.isExecutableFile(atPath: folder.appending(path: "prometheus").path)
    return isThere ? folder.path : nil
  }()

  /// Whether Debian's `nginx` is there, which `make clients` unpacks; not where apt can't download it.
  static let hasNginx = FileManager.default.isExecutableFile(
    atPath: packageFolder.appending(path: ".build/nginx/nginx").path)

  /// Debian's Python, which has Selenium and aiosmtpd.
  static let systemPython = "/usr/bin/python3"

  /// Debian's Neovim, with the options to run a script.
  static let neovim = (program: "/usr/bin/nvim", options: ["--headless", "--clean", "-S"])

  /// How long a script may take, in minutes; `make soak` sets it, because full counts take longer.
  static let minutes = ProcessInfo.processInfo.environment["ERRAND_CLIENT_MINUTES"].flatMap { Int($0) } ?? 25

  /// Runs a script of `Tests/Clients`, and gives its exit code and all that it printed.
  ///
  /// `timeout` puts the script in its own process group, and ends that group after the time limit: first with SIGTERM,
  /// so that the script ends the processes that it started in other sessions. The output goes to a file, because a pipe
  /// would be read until every process that holds it has ended, and a script may leave a process behind.
  static func run(
    _ script: String, _ arguments: [String], with program: String, _ options: [String] = [],
    environment: [String: String] = [:]
  ) async throws -> (code: Int32, output: String) {
    let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(script)-\(UUID().uuidString).log")
    try Data().write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/timeout")
    let path = packageFolder.appending(path: "Tests/Clients/\(script)").path
    process.arguments = ["--kill-after=20s", "\(minutes)m", program] + options + [path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    (process.standardOutput, process.standardError, process.standardInput) = (handle, handle, FileHandle.nullDevice)
    let ended = AsyncStream<Int32> { continuation in
      process.terminationHandler = { process in
        continuation.yield(process.terminationStatus)
        continuation.finish()
      }
    }
    try process.startAlone()
    let pid = process.processIdentifier
    var code: Int32 = -1
    for await status in ended { code = status }
    // The stream ends early when the test's time is up; `timeout` then ends the group.
    if Task.isCancelled { kill(pid, SIGTERM) }
    let output = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    return (code, code == 124 || code == 137 ? "\(output)\n\(script) was ended after \(minutes) minutes" : output)
  }
}
