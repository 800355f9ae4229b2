public import ActionKit

/// A command to run: a program with arguments, run without a shell, or a script for a shell.
public struct ShellCommand: Sendable {
  /// A program or a script.
  public enum Work: Sendable {
    /// A program: a path, or a name that is looked for in `PATH`.
    case program(String)
    /// A text for `/bin/sh -c`; the arguments are its `$1`, `$2` and so on.
    case script(String)
  }

  /// The program or script to run.
  public var work: Work
  /// The arguments after the program's name; nothing in them is expanded.
  public var arguments: [String]
  /// Variables to add to the environment of every command (`ShellSettings.environment`).
  public var environment: [String: String]
  /// Variables that hold secrets; they aren't masked in the command's output.
  public var secretEnvironment: [String: String]
  /// The working folder, absolute.
  public var folder: String
  /// The working folder, if it is open already.
  package var place: FilePlace?
  /// The bytes of the standard input, followed by its end.
  public var input: [UInt8]
  /// The exit codes that mean success.
  public var expectedCodes: [Int]

  /// Creates a command.
  public init(
    _ work: Work, _ arguments: [String] = [], environment: [String: String] = [:],
    secretEnvironment: [String: String] = [:], folder: String, input: [UInt8] = [], expectedCodes: [Int] = [0]
  ) {
    self.work = work
    self.arguments = arguments
    self.environment = environment
    self.secretEnvironment = secretEnvironment
    self.folder = folder
    self.input = input
    self.expectedCodes = expectedCodes
  }
}

/// The result of a command that ended with an expected exit code.
public struct ShellResult: Sendable {
  /// Its exit code, one of the expected ones.
  public var exitCode: Int
  /// The bytes of its standard output.
  public var output: [UInt8]
  /// The bytes of its standard error.
  public var errors: [UInt8]
  /// Processes that it left running and that couldn't be ended, as number and name: `4711 sudo`.
  public var unended: [String]
}

/// The environment and limits of all commands.
public struct ShellSettings: Sendable {
  /// The whole environment, except for a command's own variables.
  public var environment: [String: String]
  /// The maximum size of each output of a command, in bytes.
  public var maxOutputBytes: Int
  /// The time between SIGTERM, which asks a command to end, and SIGKILL.
  public var grace: TimeSpan

  /// Creates settings; by default, a command sees no variables except `PATH` and `LANG`.
  public init(
    environment: [String: String] = ["PATH": ShellSettings.path, "LANG": "C.UTF-8"], maxOutputBytes: Int = 1 << 20,
    grace: TimeSpan = .seconds(5)
  ) {
    self.environment = environment
    self.maxOutputBytes = maxOutputBytes
    self.grace = grace
  }

  /// The usual folders of programs.
  public static let path = "/usr/local/bin:/usr/bin:/bin"
}

/// The error of a command that gave no result.
public struct ShellError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of an error.
  public enum Kind: Sendable, Equatable {
    /// It can't be run: the program or folder is missing, or a text contains a NUL character.
    case invalid
    /// The system failed to start it.
    case notStarted
    /// It exited with an unexpected code.
    case exited(Int)
    /// A signal from another process ended it.
    case signalled(Int)
    /// It wrote more than the limit, and was killed.
    case tooMuchOutput
    /// Its supervising process was killed, which ended the command; processes that it left running are unknown.
    case lost
    /// The calling task was cancelled; the command and all processes that it started were ended.
    case cancelled
  }

  /// The kind of the error.
  public var kind: Kind
  /// The cause and the remedy, in sentences.
  public var message: String
  /// The ends of its standard error and its standard output, each with its name; without names, the end of its standard
  /// error only.
  public var detail: String?

  /// Creates an error.
  public init(_ kind: Kind, _ message: String, detail: String? = nil) {
    self.kind = kind
    self.message = message
    self.detail = detail
  }

  /// The message.
  public var description: String { message }
}
