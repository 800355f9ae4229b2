import Basics
import Foundation
import ProcessTestKit
import Synchronization
public import Testing

// Second opinions of Python and of its packages: oracles and peers from outside this project.
//
// Packages come from PyPI into environments under `.build`, each made by the first test that asks for it. Where there is no
// Python, or no network, the tests that need one say so and pass.

/// A package of PyPI in a version that tests know.
public struct PythonPackage: Sendable {
  /// The requirement for pip, with the version.
  public var requirement: String
  /// The module to import.
  public var module: String

  /// Names a package.
  public init(_ name: String, _ version: String, module: String? = nil) {
    requirement = "\(name)==\(version)"
    self.module = module ?? name.replacing("-", with: "_")
  }
}

private let environments = Mutex<[String: Task<String?, Never>]>([:])

/// The interpreter of an environment that has some packages; nil, with a word about it, where it cannot be had.
public func pythonInterpreter(with packages: [PythonPackage]) async -> String? {
  let modules = packages.map(\.module).joined(separator: ", ")
  // Ends with the environment; it is never cancelled.
  let made = environments.withLock { environments in
    let making =
      environments[modules]
      ?? Task {
        await onThread {
          let interpreter = makeEnvironment(packages, importing: modules)
          if interpreter == nil { print("Tests with \(modules) are skipped: python3 and pip do not give them") }
          return interpreter
        }
      }
    environments[modules] = making
    return making
  }
  return await made.value
}

private func makeEnvironment(_ packages: [PythonPackage], importing modules: String) -> String? {
  // env takes an argument with an equals sign for a variable.
  let name = packages.map { $0.requirement.replacing("==", with: "-") }.joined(separator: "+")
  let folder = packageFolder.appending(path: ".build/python/\(name)").path
  let interpreter = "\(folder)/bin/python"
  let isReady = { succeeds([interpreter, "-c", "import \(modules)"]) }
  if isReady() { return interpreter }
  let isMade =
    succeeds(["python3", "-m", "venv", folder])
    && packages.allSatisfy {
      succeeds([interpreter, "-m", "pip", "install", "-q", "--timeout", "10", "--retries", "1", $0.requirement])
    }
  return isMade && isReady() ? interpreter : nil
}

/// The output of a Python script.
///
/// A script that fails fails the test.
///
/// - Parameters:
///   - what: The subject of the check, for the message that it was left out.
///   - input: The script's standard input.
///   - packages: The packages that it imports besides Python's own modules.
/// - Returns: The script's output; nil, after a message, if there is no Python or a package can't be installed.
public func python(
  on what: String, _ script: String, arguments: [String] = [], input: [UInt8] = [], with packages: [PythonPackage] = [],
  sourceLocation: SourceLocation = #_sourceLocation
) async throws -> [UInt8]? {
  var interpreter = "python3"
  if !packages.isEmpty {
    guard let own = await pythonInterpreter(with: packages) else { return nil }
    interpreter = own
  }
  let folder = FileManager.default.temporaryDirectory.appending(path: "python-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  // Files and no pipes: what does not start reads nothing, and neither side has to read while the other writes.
  let files = ["in", "out", "error"].map { folder.appending(path: $0) }
  try Data(input).write(to: files[0])
  for file in files.dropFirst() { try Data().write(to: file) }
  let (words, program) = (arguments, interpreter)
  let status = await onThread { () -> Int32 in
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program, "-c", script] + words
    process.standardInput = try? FileHandle(forReadingFrom: files[0])
    process.standardOutput = try? FileHandle(forWritingTo: files[1])
    process.standardError = try? FileHandle(forWritingTo: files[2])
    guard (try? process.startAlone()) != nil else { return 127 }
    return process.awaitEnd()
  }
  if status == 0 { return Array(try Data(contentsOf: files[1])) }
  let complaint = String(decoding: try Data(contentsOf: files[2]), as: UTF8.self)
  // env's word for a program that is not there.
  if status == 127 {
    print("Python's opinion on \(what) is skipped: there is no python3")
  } else {
    Issue.record("Python fails on \(what): \(complaint)", sourceLocation: sourceLocation)
  }
  return nil
}
