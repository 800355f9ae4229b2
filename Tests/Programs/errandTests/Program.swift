import ActionTestKit
import ProcessTestKit
import ActionKit
import Basics
import Foundation
import HTTPClient
import MarkbookPlugin
import Testing

/// The real binary, in a folder of its own, against a sandbox behind a real port.
final class Program: Sendable {
  let folder: URL
  let sandbox: any RunningSandbox
  private let hasOwnSandbox: Bool

  /// The outcome of a call of the program.
  struct Outcome {
    var code: Int32
    var out: String
    var error: String

    /// The document that `--json` prints.
    var json: Value { (try? JSON.parse(out)) ?? .null }
  }

  /// An hour without tests, in UTC as in Berlin, so that no schedule starts a run while runs are counted.
  static let farHour = (Int(Date.now.timeIntervalSince1970) / 3600 + 12) % 24
  private static let credentials = [
    "apiKey": "MARKBOOK_API_KEY", "username": "MARKBOOK_USERNAME", "password": "MARKBOOK_PASSWORD",
  ]

  /// - Parameter other: Another program whose sandbox it uses too.
  init(beside other: Program? = nil) async throws {
    // Folders of people have letters that are several bytes.
    folder = FileManager.default.temporaryDirectory.appending(path: "errand-ö-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if let other {
      sandbox = other.sandbox
    } else {
      sandbox = try await MarkbookPlugin.startSandbox(SandboxOptions(time: SystemTime()))
    }
    hasOwnSandbox = other == nil
    var text = "connections:\n  markbook:\n    baseURL: \(sandbox.baseURL)\n"
    for (setting, name) in Program.credentials { text += "    \(setting): ${{ secrets.\(name) }}\n" }
    try write(text, to: "errand.yaml")
  }

  func remove() async {
    if hasOwnSandbox { await sandbox.stop() }
    try? FileManager.default.removeItem(at: folder)
  }

  func read(_ name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.appending(path: name)), as: UTF8.self)
  }

  func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: folder.appending(path: name))
  }

  // MARK: Calling

  static let root = packageFolder

  /// The binary is in the same folder as the bundle of tests.
  static let binary: URL = {
    let bundle = Bundle.allBundles.map(\.bundleURL).first { $0.pathExtension == "xctest" } ?? Bundle.main.bundleURL
    let beside = bundle.deletingLastPathComponent().appending(path: "errand")
    return FileManager.default.fileExists(atPath: beside.path) ? beside : root.appending(path: ".build/debug/errand")
  }()

  func start(_ arguments: [String], environment: [String: String] = [:]) throws -> Call {
    try Call(process(arguments, environment))
  }

  /// Starts a program that keeps running.
  func serve(_ arguments: String..., environment: [String: String] = [:]) throws -> Serving {
    try Serving(process(arguments, environment))
  }

  /// Starts another executable in the program's folder and with its environment.
  func serve(of executable: URL, _ arguments: String...) throws -> Serving {
    try Serving(process(arguments, [:], of: executable))
  }

  /// Runs a shell command in the program's folder and with its environment.
  func shell(_ command: String) async throws -> Outcome {
    try await Call(process(["-c", command], [:], of: URL(filePath: "/bin/sh"))).outcome()
  }

  private func process(
    _ arguments: [String], _ environment: [String: String], of executable: URL = Program.binary
  ) -> Process {
    let process = Process()
    process.executableURL = executable
    process.arguments = arguments
    process.currentDirectoryURL = folder
    var variables = ProcessInfo.processInfo.environment
    for (setting, name) in Program.credentials { variables[name] = sandbox.configuration[setting]?.string }
    process.environment = variables.merging(environment) { $1 }
    return process
  }

  func call(_ arguments: String..., environment: [String: String] = [:]) async throws -> Outcome {
    try await call(arguments, environment: environment)
  }

  func call(_ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
    // A test that asks until something is so ends when its time is up.
    try Task.checkCancellation()
    return try await start(arguments, environment: environment).outcome()
  }

  @discardableResult
  func control(_ path: String) async throws -> Value { try await sandbox.control(path) }

  func writes(_ action: String) async throws -> [String: Int] { try await sandbox.writes(action) }
}

extension RunningSandbox {
  /// Calls the sandbox's control interface, beside the service.
  @discardableResult
  func control(_ path: String) async throws -> Value {
    let origin = baseURL.split(separator: "/").prefix(2).joined(separator: "//")
    return try JSON.parse(try await HTTPClient().send(HTTPRequest("GET", "\(origin)/sandbox/\(path)")).body)
  }

  /// How often each item was written by an action, by the sandbox's name for it.
  func writes(_ action: String) async throws -> [String: Int] {
    let writes = try await control("log")["writes"]?[action]?.map?.members ?? []
    return Dictionary(uniqueKeysWithValues: writes.map { ($0.name ?? "", $0.value.int ?? 0) })
  }
}

/// A program that has been started.
final class Call: @unchecked Sendable {
  // Process is used by one task at a time: its output is read on threads of its own.
  let process: Process
  private let out = launchPipe()
  private let error = launchPipe()
  private let reading: Task<Program.Outcome, Never>

  init(_ process: Process) throws {
    self.process = process
    process.standardOutput = out
    process.standardError = error
    process.standardInput = FileHandle.nullDevice
    try process.startAlone()
    let (out, error) = (out.fileHandleForReading, error.fileHandleForReading)
    reading = Task {
      async let text = Call.text(of: out)
      async let errors = Call.text(of: error)
      let texts = await (text, errors)
      return Program.Outcome(code: await aside { process.awaitEnd() }, out: texts.0, error: texts.1)
    }
  }

  private static func text(of handle: FileHandle) async -> String {
    String(decoding: await aside { handle.readDataToEndOfFile() }, as: UTF8.self)
  }

  /// Its output and its exit code; when the test's time is up it is killed.
  func outcome() async -> Program.Outcome {
    await withTaskCancellationHandler {
      await reading.value
    } onCancel: {
      signal(SIGKILL)
    }
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }
}

/// Runs blocking code on a thread of its own, because the sandbox's answers need the threads that tests share.
func aside<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}

/// Runs a program of the system, and returns its exit status.
func run(_ path: String, _ arguments: String...) async -> Int32 {
  await aside {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    guard (try? process.startAlone()) != nil else { return -1 }
    return process.awaitEnd()
  }
}
