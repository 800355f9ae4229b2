import AgentRuntime

/// The program's exit codes (DESIGN, section 9; the higher ones are from sysexits.h).
enum ExitCode: Int32, CaseIterable {
  case done = 0
  case failed = 1
  /// Only for a plan with `--detailed-exitcode`.
  case hasChanges = 2
  case invalid = 3
  case waiting = 4
  case usage = 64
  case noInput = 66
  case unavailable = 69
  case cannotCreate = 73
  case locked = 75
  case configuration = 78
  case timedOut = 124
  case interrupted = 130
  case terminated = 143

  /// The exit codes of an agent that a restart can't help, because a person has to change something first.
  static let isFinal: [ExitCode] = [.usage, .noInput, .cannotCreate, .locked, .configuration]

  /// The meaning of the code, as a sentence.
  var meaning: String {
    switch self {
    case .done: "Done."
    case .failed: "The run failed, was cancelled or rejected."
    case .hasChanges: "A plan with --detailed-exitcode found changes."
    case .invalid: "The recipe or its inputs are invalid."
    case .waiting: "The run waits, or is uncertain."
    case .usage: "The command line is wrong."
    case .noInput: "There is no such file."
    case .unavailable: "A service is not available."
    case .cannotCreate: "Something cannot be written."
    case .locked: "Another process holds the state."
    case .configuration: "errand.yaml is faulty."
    case .timedOut: "The run took too long."
    case .interrupted: "SIGINT ended it."
    case .terminated: "SIGTERM or SIGHUP ended it."
    }
  }

  init(_ kind: RuntimeError.Kind) {
    switch kind {
    case .failed: self = .failed
    case .invalid: self = .invalid
    case .waiting: self = .waiting
    case .usage: self = .usage
    case .noInput: self = .noInput
    case .unavailable: self = .unavailable
    case .cannotCreate: self = .cannotCreate
    case .locked: self = .locked
    case .configuration: self = .configuration
    }
  }
}
