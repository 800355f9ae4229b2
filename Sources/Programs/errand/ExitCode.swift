/// What the program tells the shell (DESIGN, section 9; the higher ones are those of sysexits.h).
enum ExitCode: Int32 {
  case done = 0
  case failed = 1
  /// Of a plan that was asked to say so.
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
}

/// Why a command ends early: what to say, and the code to end with.
struct CommandError: Error {
  var code: ExitCode
  var message: String

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }
}
