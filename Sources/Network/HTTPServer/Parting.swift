import Basics
import CMicroHTTPD
import Glibc
import Synchronization

/// Sends a last answer on a connection that is then closed.
enum Parting {
  /// How many connections are kept open for clients that still send, at most.
  private static let most = 64
  /// The most bytes that are read from a client that still sends, and how often to look for more.
  private static let (mostBytes, looks) = (1 << 20, 20)

  private static let lingering = Mutex(0)

  /// Sends what fits into the socket's buffer, without waiting.
  ///
  /// A client that is still sending would lose the answer if its connection were closed with something left to read, so
  /// it is read for a while, for a second at most.
  static func send(_ bytes: [UInt8], over socket: Int32) {
    let sent = bytes.withUnsafeBytes {
      Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
    }
    guard sent == bytes.count else { return }
    shutdown(socket, Int32(SHUT_WR))
    if drain(socket, most: mostBytes) == nil { return }
    let mayLinger = lingering.withLock { count in
      guard count < most else { return false }
      count += 1
      return true
    }
    guard mayLinger else { return }
    let copy = fcntl(socket, F_DUPFD_CLOEXEC, 3)
    // Ends after a second.
    Task {
      if copy >= 0 {
        await linger(on: copy)
        close(copy)
      }
      lingering.withLock { $0 -= 1 }
    }
  }

  private static func linger(on socket: Int32) async {
    var left = mostBytes
    for _ in 0..<looks {
      try? await SystemTime().sleep(for: .milliseconds(50))
      guard let count = drain(socket, most: left), count < left else { return }
      left -= count
    }
  }

  /// Reads what is there, and gives how much; nil at the end.
  private static func drain(_ socket: Int32, most: Int) -> Int? {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    var read = 0
    while read < most {
      let count = recv(socket, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      if count < 0 { return errno == EAGAIN || errno == EINTR ? read : nil }
      if count == 0 { return nil }
      read += count
    }
    return read
  }
}
