import Glibc
import RunState
import Synchronization
import Threads

/// The descriptor that the handler writes the signal's number to.
///
/// Set once, before the handler is installed, and only read after.
nonisolated(unsafe) private var writingEnd: Int32 = -1

/// Passes on SIGINT, SIGTERM and SIGHUP through a pipe, so that the signal handler does nothing else.
final class Signals: Sendable {
  static let shared = Signals()

  private struct State {
    var waiting: [CheckedContinuation<ExitCode, Never>] = []
    var isWatching = false
    var last: ExitCode?
    var hangUps: AsyncStream<Void>.Continuation?
    /// The terminal that this program was started from, open for as long as it lives; -1 if there is none.
    var terminal: Int32 = -1
  }

  private let state = Mutex(State())

  /// The code to exit with, if a signal came.
  var received: ExitCode? { state.withLock { $0.last } }

  /// The code to exit with after the next signal, or after the one that came already.
  func next() async -> ExitCode {
    await withCheckedContinuation { continuation in
      let last = state.withLock { state -> ExitCode? in
        watch(&state)
        if state.last == nil { state.waiting.append(continuation) }
        return state.last
      }
      if let last { continuation.resume(returning: last) }
    }
  }

  /// Each SIGHUP from now on, except when the terminal is closed; without this call each asks the program to end, as
  /// SIGTERM does.
  func hangUps() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    // `nohup` has the signal ignored, so that the program outlives its terminal.
    let outlivesTerminal = Signals.isIgnored(SIGHUP)
    state.withLock { state in
      state.hangUps = continuation
      if !outlivesTerminal { state.terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC) }
      watch(&state)
    }
    Signals.handle(SIGHUP)
    watchTerminal()
    return stream
  }

  /// Whether closing the terminal ends the program.
  var endsWithTerminal: Bool { state.withLock { $0.terminal >= 0 } }

  /// Installs the handler once, and starts the thread that reads the pipe, for as long as the process lives.
  private func watch(_ state: inout State) {
    if state.isWatching { return }
    state.isWatching = true
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return }
    writingEnd = ends[1]
    let readingEnd = ends[0]
    Signals.handle(SIGINT)
    Signals.handle(SIGTERM)
    // A terminal that is closed; `nohup` has it ignored.
    if !Signals.isIgnored(SIGHUP) { Signals.handle(SIGHUP) }
    _ = startThread {
      var number: UInt8 = 0
      while read(readingEnd, &number, 1) != 0 {
        switch Int32(number) {
        case SIGHUP:
          let (hangUps, terminal) = Signals.shared.state.withLock { ($0.hangUps, $0.terminal) }
          // When a terminal is closed, the kernel cuts off its open descriptors before it sends the signal.
          let isClosed = terminal >= 0 && isatty(terminal) == 0
          if let hangUps, !isClosed { hangUps.yield() } else { Signals.shared.hungUp() }
        case SIGINT: Signals.shared.receive(.interrupted)
        default: Signals.shared.receive(.terminated)
        }
      }
    }
  }

  private static func isIgnored(_ number: Int32) -> Bool {
    var action = sigaction()
    sigaction(number, nil, &action)
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Makes the handler write a signal to the pipe.
  private static func handle(_ number: Int32) {
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { number in
      let code = errno
      var byte = UInt8(truncatingIfNeeded: number)
      _ = write(writingEnd, &byte, 1)
      errno = code
    }
    action.sa_flags = SA_RESTART
    sigaction(number, &action, nil)
  }

  /// Ends the program when its terminal is closed, also if no signal tells: a shell may have passed its own on before.
  private func watchTerminal() {
    let terminal = state.withLock { $0.terminal }
    if terminal < 0 { return }
    // Waits for as long as the process lives, and costs nothing meanwhile.
    _ = startThread {
      var watched = pollfd(fd: terminal, events: 0, revents: 0)
      while poll(&watched, 1, -1) < 0 { if errno != EINTR { return } }
      Signals.shared.hungUp()
    }
  }

  /// Ends the program after its terminal was closed; the shell and the system may both report that.
  private func hungUp() { if received == nil { receive(.terminated) } }

  private func receive(_ code: ExitCode) {
    let (isSecond, waiting) = state.withLock { state in
      defer {
        state.last = code
        state.waiting = []
      }
      return (state.last != nil, state.waiting)
    }
    // A user who asks twice doesn't want to wait for steps in flight; the journal survives that.
    if isSecond { _exit(code.rawValue) }
    for continuation in waiting { continuation.resume(returning: code) }
  }
}
