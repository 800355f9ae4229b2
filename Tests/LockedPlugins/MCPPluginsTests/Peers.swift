import ActionKit
import ActionTestKit
import Basics
import Foundation
import ProcessTestKit
import Synchronization
import Testing

/// Third-party servers and the SDK, from PyPI: one set for the newest version of the protocol, one for the version
/// before.
enum Peers {
  static let modern = [
    PythonPackage("mcp", "2.3.0"), PythonPackage("mcp-server-time", "2026.10.19"),
    PythonPackage("mcp-server-git", "2026.10.19"), PythonPackage("mcp-server-fetch", "2026.10.24"),
  ]
  static let before = [PythonPackage("mcp", "1.30.0"), PythonPackage("mcp-server-sqlite", "2025.4.25")]

  /// A program of a Python environment; nil, with a note, if the environment isn't available.
  static func program(_ name: String, of packages: [PythonPackage]) async -> String? {
    await pythonInterpreter(with: packages).map { $0.split(separator: "/").dropLast() }.map {
      "/\($0.joined(separator: "/"))/\(name)"
    }
  }

  /// Runs a program that writes its port while something is done.
  static func serving(_ command: [String], _ body: (_ port: Int) async throws -> Void) async throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    let output = launchPipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    try process.startAlone()
    defer { kill(process.processIdentifier, SIGKILL) }
    let line = await onThread { () -> String in
      var line = ""
      while !line.hasSuffix("\n") {
        let data = output.fileHandleForReading.availableData
        if data.isEmpty { return line }
        line += String(decoding: data, as: UTF8.self)
      }
      return line
    }
    try await body(try #require(Int(line.trimmed)))
  }
}

/// The reports of progress.
final class Heard: Sendable {
  private let reports = Mutex<[ActionContext.Progress]>([])
  func add(_ progress: ActionContext.Progress) { reports.withLock { $0.append(progress) } }
  var all: [ActionContext.Progress] { reports.withLock { $0 } }
}
