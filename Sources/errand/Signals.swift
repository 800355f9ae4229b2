import Glibc
import RunState
import Synchronization

/// Where the handler writes which signal came.
///
/// Set once, before the handler is installed, and only read after.
nonisolated(unsafe) private var writingEnd: Int32 = -1

/// SIGINT and SIGTERM, handed on through a pipe so that nothing else happens inside a signal handler.
///
/// Blocking them and waiting with `sigwait` is no way here: the main thread of an asynchronous program sleeps with all
/// signals unblocked, and would die of them.
final class Signals: Sendable {
  static let shared = Signals()

  private struct State {
    var waiting: [CheckedContinuation<ExitCode, Never>] = []
    var isWatching = false
    var last: ExitCode?
  }

  private let state = Mutex(State())

  /// The code to end with, if a signal came.
  var received: ExitCode? { state.withLock { $0.last } }

  /// The code to end with after the next signal, or after the one that came already.
  func next() async -> ExitCode {
    await withCheckedContinuation { continuation in
      let last = state.withLock { state -> ExitCode? in
        if !state.isWatching {
          state.isWatching = true
          watch()
        }
        if state.last == nil { state.waiting.append(continuation) }
        return state.last
      }
      if let last { continuation.resume(returning: last) }
    }
  }

  /// Installs the handler, and starts the thread that reads what it writes, for as long as the process lives.
  private func watch() {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    writingEnd = ends[1]
    let readingEnd = ends[0]
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in
      let code = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(writingEnd, &byte, 1)
      errno = code
    }
    action.sa_flags = SA_RESTART
    sigaction(SIGINT, &action, nil)
    sigaction(SIGTERM, &action, nil)
    _ = startThread {
      var number: UInt8 = 0
      while read(readingEnd, &number, 1) != 0 {
        Signals.shared.take(Int32(number) == SIGINT ? .interrupted : .terminated)
      }
    }
  }

  private func take(_ code: ExitCode) {
    let (isSecond, waiting) = state.withLock { state in
      defer {
        state.last = code
        state.waiting = []
      }
      return (state.last != nil, state.waiting)
    }
    // Whoever asks twice does not want to wait for what is in flight; the journal is made for that.
    if isSecond { _exit(code.rawValue) }
    for continuation in waiting { continuation.resume(returning: code) }
  }
}
