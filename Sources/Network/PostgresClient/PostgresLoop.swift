import CPostgres
import Glibc
import Threads

/// The one thread that waits for the answers of all connections.
///
/// Statements are sent by the thread that asks for them, because waking another one takes as long as a statement. This
/// thread sleeps on all sockets, reads what comes, sends what waited for that, and closes what took too long. It starts
/// with the first connection and ends after the last.
final class PostgresLoop: @unchecked Sendable {
  // Unchecked, because what changes is touched only with the monitor held.
  static let shared = PostgresLoop()

  private let monitor = Monitor(conditions: 0)
  private var sessions: [PostgresSession] = []
  private var isRunning = false
  /// An eventfd that ends the thread's sleep.
  private var bell: Int32 = -1

  /// Watches a session until it is removed; false if the system has no thread or descriptor left.
  func add(_ session: PostgresSession) -> Bool {
    monitor.withLock {
      if !isRunning {
        bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        if bell < 0 { return false }
        // Signals are for the program's own threads.
        isRunning = startThread(blocksSignals: true) { self.run() }
        if !isRunning { close(bell) }
        if !isRunning { return false }
      }
      sessions.append(session)
      ring()
      return true
    }
  }

  func remove(_ session: PostgresSession) {
    monitor.withLock {
      sessions.removeAll { $0 === session }
      ring()
    }
  }

  /// Makes the thread check its sessions again.
  func wake() { monitor.withLock { ring() } }

  /// Ends the sleep, with the monitor held.
  private func ring() { if isRunning { _ = eventfd_write(bell, 1) } }

  private func run() {
    while true {
      let (sessions, bell) = monitor.withLock {
        if self.sessions.isEmpty {
          isRunning = false
          close(self.bell)
        }
        return (self.sessions, self.bell)
      }
      if sessions.isEmpty { return }
      var polled = [pollfd(fd: bell, events: Int16(POLLIN), revents: 0)]
      var end = ContinuousClock.Instant?.none
      for session in sessions {
        let wish = session.wish()
        polled.append(pollfd(fd: wish.socket, events: wish.events, revents: 0))
        if let instant = wish.until { end = min(end ?? instant, instant) }
      }
      _ = poll(&polled, nfds_t(polled.count), end.map { milliseconds(until: $0) } ?? -1)
      if polled[0].revents != 0 {
        var count: eventfd_t = 0
        _ = eventfd_read(bell, &count)
      }
      let now = ContinuousClock.now
      for (index, session) in sessions.enumerated() { session.proceed(polled[index + 1].revents, now) }
    }
  }
}

/// The time until an instant for `poll`, rounded up, so that it isn't asked again and again just before.
func milliseconds(until end: ContinuousClock.Instant) -> Int32 {
  let left = ContinuousClock.now.duration(to: end).components
  if left.seconds < 0 || left.attoseconds < 0 { return 0 }
  return Int32(min(left.seconds, 1_000_000)) * 1000 + Int32(left.attoseconds / 1_000_000_000_000_000) + 1
}
