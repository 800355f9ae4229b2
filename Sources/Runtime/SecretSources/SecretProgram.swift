import Basics
import ChildProcesses
import Recipes

// What runs a program that prints secrets: `pass`, `age`, or whatever `errand.yaml` names.
//
// It has the environment of this process, because a password manager finds its store, its agent and its terminal there;
// no input; and a process group of its own, which ends with it. What it writes to its standard error is read and thrown
// away: it may hold a secret, and whoever runs the program by hand sees it.

/// A program that prints secrets.
struct SecretProgram: Sendable {
  var words: [String]
  var timeout: TimeSpan
  var folder: String
  var environment: [String: String]

  /// The program and its arguments, as a shell takes them.
  var line: String { words.map(\.shellQuoted).joined(separator: " ") }

  /// The program's file, if it is there.
  var file: String? {
    ChildProcess.file(of: words.first ?? "", in: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin", from: folder)
  }

  /// That it is not there.
  func isMissing(for what: String) -> SecretError {
    SecretError("\(what): there is no program '\(words.first ?? "")'; install it, or give its path")
  }

  /// What it prints, which is a text and not empty.
  ///
  /// - Parameter what: What it is run for, as the beginning of a message.
  func output(for what: String, largest: Int) async throws(SecretError) -> [UInt8] {
    guard let file else { throw isMissing(for: what) }
    if words.contains(where: { $0.utf8.contains(0) }) {
      throw SecretError("\(what): a word of the command holds a NUL, which ends a text")
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
      reason = "printed what is no UTF-8 text"
    case .exit(let code): reason = "ended with exit code \(code)"
    case .signal(let number): reason = "was ended by signal \(number)"
    case .notStarted(let code): reason = "was not started: \(systemErrorText(code))"
    case .tooMuchOutput: reason = "printed more than \(largest) bytes"
    case .lost: reason = "was killed with what watched over it"
    case .late: reason = "did not end within \(timeout)"
    case .cancelled: reason = "was ended before it was done"
    }
    throw SecretError("\(what): '\(line)' \(reason); run it by hand to see why")
  }
}
