import Glibc
import Synchronization

/// SIGINT and SIGTERM, taken by a thread of their own so that nothing happens inside a signal handler.
final class Signals: Sendable {
  static let shared = Signals()

  private struct State {
    var waiting: [CheckedContinuation<ExitCode, Never>] = []
    var isWatching = false
    var last: ExitCode?
  }

  private let state = Mutex(State())

  /// Keeps the signals from every thread; called before any other thread is started.
  static func block() {
    var set = signals
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  private static var signals: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    sigaddset(&set, SIGINT)
    sigaddset(&set, SIGTERM)
    return set
  }

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

  /// Starts the thread that waits for signals, for as long as the process lives.
  private func watch() {
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { _ in
        while true {
          var set = Signals.signals
          var number: Int32 = 0
          guard sigwait(&set, &number) == 0 else { continue }
          Signals.shared.take(number == SIGINT ? .interrupted : .terminated)
        }
      }, nil)
    pthread_detach(thread)
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
