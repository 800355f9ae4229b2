import Foundation

/// The `python3` that second opinions are asked of, or `$CRON_PYTHON`.
struct Python {
  private let command = ProcessInfo.processInfo.environment["CRON_PYTHON"] ?? "python3"

  /// Nil, with a word about it, if it has no such modules.
  init?(importing modules: String, for what: String) throws {
    guard try run("import \(modules)", input: Data()) != nil else {
      print("The second opinion on \(what) is skipped: \(command) has no \(modules)")
      return nil
    }
  }

  /// What a script writes, or nil if it fails.
  func run(_ script: String, input: Data) throws -> Data? {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [command, "-c", script]
    let file = FileManager.default.temporaryDirectory.appending(path: "opinion-\(UUID().uuidString).jsonl")
    try input.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    process.standardInput = try FileHandle(forReadingFrom: file)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? data : nil
  }
}
