import Basics
import CMicroHTTPD
import Glibc
import Synchronization

/// The connections whose next request is still arriving, each with the instant until which it may.
///
/// libmicrohttpd's own limit is on silence, and begins anew with each byte; a client that sends one now and then would
/// keep its place among the connections for ever. A connection that is late is shut down
/// here, which libmicrohttpd takes for the client's end. Its socket can't be another's then: it is closed only after
/// `end`.
final class Arrivals: Sendable {
  private struct State {
    /// The deadlines in milliseconds of the monotonic clock, by socket.
    var deadlines: [Int32: Int] = [:]
    var isWatching = false
  }

  /// How long the head of a request may take after its first line, and then its body, beside a second for each 16 KiB.
  private static let longest = TimeSpan.seconds(15)

  private let state = Mutex(State())
  /// How long a connection may be silent.
  private let idle: TimeSpan

  init(idle: TimeSpan) { self.idle = idle }

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
  }

  /// Notes that a connection waits for a request, which may be silent for as long as connections may.
  func expect(_ socket: Int32) { set(socket, idle) }

  /// Notes that the next part of a request may arrive: its head, or its body.
  func begin(_ socket: Int32) { set(socket, Arrivals.longest) }

  private func set(_ socket: Int32, _ limit: TimeSpan) {
    let deadline = Arrivals.now + Int(limit.inSeconds * 1000)
    let mustWatch = state.withLock { state in
      state.deadlines[socket] = deadline
      defer { state.isWatching = true }
      return !state.isWatching
    }
    // It ends when no request is arriving any more.
    if mustWatch { Task { await watch() } }
  }

  /// Gives a connection more time for what has arrived.
  func extend(_ socket: Int32, for bytes: Int) {
    state.withLock { $0.deadlines[socket]? += bytes / 16 }
  }

  /// Notes that a request has arrived, or that the connection ends.
  func end(_ socket: Int32) {
    state.withLock { _ = $0.deadlines.removeValue(forKey: socket) }
  }

  private func watch() async {
    repeat { try? await SystemTime().sleep(for: .seconds(4)) } while cutLateOnes()
  }

  /// Shuts down the connections that are late; false if none is left to watch.
  private func cutLateOnes() -> Bool {
    let now = Arrivals.now
    return state.withLock { state in
      for (socket, deadline) in state.deadlines where deadline < now {
        shutdown(socket, Int32(SHUT_RDWR))
        state.deadlines[socket] = nil
      }
      state.isWatching = !state.deadlines.isEmpty
      return state.isWatching
    }
  }
}
