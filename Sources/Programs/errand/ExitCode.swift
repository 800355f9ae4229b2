import AgentRuntime

/// The program's exit codes (DESIGN, section 9; the higher ones are those of sysexits.h).
enum ExitCode: Int32 {
  case done = 0
  case failed = 1
  /// Of a plan with `--detailed-exitcode`.
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
