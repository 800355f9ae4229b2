import Basics
import CMicroHTTPD
import Glibc
import Synchronization

/// The connections whose next request is still arriving, each with the instant until which it may.
///
/// libmicrohttpd's own limit is on silence, and begins anew with each byte; a client that sends one now and then would
/// keep its place among the connections for ever. Nor does it notice that a client has gone which sent a part of a
/// request. A connection that is late, or whose client has gone, is shut down here, which libmicrohttpd takes for the
/// client's end. Its socket can't be another's then: it is closed only after `close`.
///
/// While every place is taken, and others may wait for one, clients get less time.
final class Arrivals: Sendable {
  /// The next part that a connection has to send.
  enum Part {
    /// Its first request.
    case first
    /// Another request, after one that was answered.
    case next
    /// The head after the first line.
    case head
    /// The body, which gets a second more for each 16 KiB.
    case body
  }

  private struct Arrival {
    var part: Part
    /// When it began, in milliseconds of the monotonic clock.
    var began: Int
    /// How much longer it may take because something came.
    var extra = 0
  }

  private struct State {
    var arrivals: [Int32: Arrival] = [:]
    var connections = 0
    var isWatching = false
  }

  private let state = Mutex(State())
  private let limits: HTTPServerLimits

  init(limits: HTTPServerLimits) { self.limits = limits }

  private static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
  }

  /// How long a part may take to arrive, in milliseconds.
  private func patience(for part: Part, isFull: Bool) -> Int {
    let idle = Int(limits.idle.inSeconds * 1000)
    return switch part {
    case .first: min(idle, isFull ? 1000 : 5000)
    case .next: isFull ? min(idle, 1000) : idle
    case .head: isFull ? 2000 : 15_000
    case .body: isFull ? 5000 : 15_000
    }
  }

  /// Notes a new connection.
  func open(_ socket: Int32) {
    state.withLock { $0.connections += 1 }
    expect(.first, on: socket)
  }

  /// Notes that a connection ends.
  func close(_ socket: Int32) {
    state.withLock { state in
      state.connections -= 1
      state.arrivals[socket] = nil
    }
  }

  /// Notes that a part of a request may arrive from now on.
  func expect(_ part: Part, on socket: Int32) {
    let arrival = Arrival(part: part, began: Arrivals.now)
    let mustWatch = state.withLock { state in
      state.arrivals[socket] = arrival
      defer { state.isWatching = true }
      return !state.isWatching
    }
    // It ends when no request is arriving any more.
    if mustWatch { Task { await watch() } }
  }

  /// Gives a connection more time for the bytes that have arrived.
  func extend(_ socket: Int32, for bytes: Int) { state.withLock { $0.arrivals[socket]?.extra += bytes / 16 } }

  /// Notes that a request has arrived.
  func end(_ socket: Int32) { state.withLock { $0.arrivals[socket] = nil } }

  private func watch() async {
    repeat { try? await SystemTime().sleep(for: .milliseconds(500)) } while cutOthers()
  }

  /// Shuts down the connections that are late, and those whose clients have gone; false if none is left to watch.
  private func cutOthers() -> Bool {
    let now = Arrivals.now
    return state.withLock { state in
      let isFull = state.connections >= limits.connections
      for (socket, arrival) in state.arrivals {
        let limit = patience(for: arrival.part, isFull: isFull) * limits.patience + arrival.extra
        guard now - arrival.began > limit || Arrivals.isGone(socket) else { continue }
        shutdown(socket, Int32(SHUT_RDWR))
        state.arrivals[socket] = nil
      }
      state.isWatching = !state.arrivals.isEmpty
      return state.isWatching
    }
  }

  /// Whether a client has stopped sending and all its bytes have been read.
  private static func isGone(_ socket: Int32) -> Bool {
    var byte: UInt8 = 0
    let count = recv(socket, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
  }
}
