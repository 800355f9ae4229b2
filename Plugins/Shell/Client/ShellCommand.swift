public import ActionKit

/// A command to run: a program with arguments, which no shell reads, or a script for one.
public struct ShellCommand: Sendable {
  /// What is run.
  public enum Work: Sendable {
    /// A program: a path, or a name that is looked for in `PATH`.
    case program(String)
    /// A text for `/bin/sh -c`; the arguments are its `$1`, `$2` and so on.
    case script(String)
  }

  /// What is run.
  public var work: Work
  /// What follows the program's name, each as it is: nothing in it is expanded.
  public var arguments: [String]
  /// Variables beside those that every command has (`ShellSettings.environment`).
  public var environment: [String: String]
  /// Variables that hold secrets; what the command writes is given as it is.
  public var secretEnvironment: [String: String]
  /// The working folder, absolute.
  public var folder: String
  /// The working folder, if it is open already.
  package var place: FilePlace?
  /// What the command reads, and then the end.
  public var input: [UInt8]
  /// The exit codes that mean that it went well.
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

/// What a command left.
public struct ShellResult: Sendable {
  /// Its exit code, one of those that were expected.
  public var exitCode: Int
  /// What it wrote to its standard output.
  public var output: [UInt8]
  /// What it wrote to its standard error.
  public var errors: [UInt8]
  /// What it left running and could not be ended, as number and name: `4711 sudo`.
  public var unended: [String]
}

/// What commands may do, and what all of them have.
public struct ShellSettings: Sendable {
  /// The whole environment, but for what a command adds.
  public var environment: [String: String]
  /// The most bytes that a command may write to each of its outputs.
  public var maxOutputBytes: Int
  /// How long a command has between being asked to end (SIGTERM) and being killed.
  public var grace: TimeSpan

  /// Creates settings; as they are, a command sees no variable but `PATH` and `LANG`.
  public init(
    environment: [String: String] = ["PATH": ShellSettings.path, "LANG": "C.UTF-8"], maxOutputBytes: Int = 1 << 20,
    grace: TimeSpan = .seconds(5)
  ) {
    self.environment = environment
    self.maxOutputBytes = maxOutputBytes
    self.grace = grace
  }

  /// Where programs usually are.
  public static let path = "/usr/local/bin:/usr/bin:/bin"
}

/// Why a command gave no result.
public struct ShellError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What went wrong.
  public enum Kind: Sendable, Equatable {
    /// It cannot be run: no such program or folder, or something in it that the system takes for an end.
    case invalid
    /// The system did not start it.
    case notStarted
    /// It ended with a code that was not expected.
    case exited(Int)
    /// A signal ended it, which it was not sent here.
    case signalled(Int)
    /// It wrote too much, and was killed.
    case tooMuchOutput
    /// What watched over it was killed, so that it was ended, and what it left is unknown.
    case lost
    /// The calling task was cancelled, and it was ended with all that it had started.
    case cancelled
  }

  /// What went wrong.
  public var kind: Kind
  /// What happened and what to do, in sentences.
  public var message: String
  /// The ends of what it wrote to its standard error and its standard output; without a name, of its standard error.
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
