import Basics
import ChildProcesses
import Recipes

// Runs a program that prints secrets: `pass`, `age`, or the command that `errand.yaml` names.
//
// It has this process's environment, because a password manager finds its store, its agent and its terminal there; no
// input; and a process group of its own, which ends with it. Its standard error is read and discarded: it may hold a
// secret, and a person who runs the program by hand sees it.

/// A program that prints secrets.
struct SecretProgram: Sendable {
  var words: [String]
  var timeout: TimeSpan
  var folder: String
  var environment: [String: String]

  /// The program and its arguments, split as a shell does.
  var line: String { words.map(\.shellQuoted).joined(separator: " ") }

  /// The program's file, if it is there.
  var file: String? {
    ChildProcess.file(of: words.first ?? "", in: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin", from: folder)
  }

  /// The error that the program is missing.
  func isMissing(for what: String) -> SecretError {
    SecretError("\(what): there is no program '\(words.first ?? "")'; install it, or give its path")
  }

  /// The program's output, which is text and not empty.
  ///
  /// - Parameter what: The purpose of the call, as the beginning of a message.
  func output(for what: String, largest: Int) async throws(SecretError) -> [UInt8] {
    guard let file else { throw isMissing(for: what) }
    if words.contains(where: { $0.utf8.contains(0) }) {
      throw SecretError("\(what): a word of the command contains a NUL character")
    }
    let process = ChildProcess(
      path: file, arguments: words, environment: environment, folder: folder, maxOutputBytes: largest,
      grace: .seconds(1))
    let end = await process.run(for: timeout)
    let reason: String
    switch end.reason {
    case .exit(0) where end.output.allSatisfy({ $0 == ASCII.newline || $0 == ASCII.carriageReturn }):
      reason = "printed nothing"
    case .exit(0):
      if String(validating: end.output, as: UTF8.self) != nil { return end.output }
      reason = "printed text that isn't valid UTF-8"
    case .exit(let code): reason = "exited with code \(code)"
    case .signal(let number): reason = "was killed by signal \(number)"
    case .notStarted(let code): reason = "could not be started: \(systemErrorText(code))"
    case .tooMuchOutput: reason = "printed more than \(largest) bytes"
    case .lost: reason = "was killed together with its supervisor"
    case .late: reason = "timed out after \(timeout)"
    case .cancelled: reason = "was cancelled"
    }
    throw SecretError("\(what): '\(line)' \(reason); run it by hand to see why")
  }
}
