import Glibc
import Synchronization

/// Writes to a client that may read slowly, or not at all.
package final class PatientOutput: Sendable {
  private let descriptor: Int32
  private let state = Atomic(0)

  private static let inputHasEnded = 1
  private static let outputIsLost = 2
  /// A pipe that can be written to takes so many bytes without waiting (POSIX, PIPE_BUF).
  private static let piece = 4096

  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Whether the client takes nothing any more.
  package var isLost: Bool { state.load(ordering: .relaxed) & Self.outputIsLost != 0 }

  package func inputEnded() { state.bitwiseOr(Self.inputHasEnded, ordering: .relaxed) }

  /// Writes all bytes, unless the client has read nothing for a minute, or for a second after it has closed the input.
  package func write(_ bytes: [UInt8]) {
    var written = 0
    var seconds = 0
    while written < bytes.count, !isLost {
      var poll = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      let ready = Glibc.poll(&poll, 1, 1000)
      if ready < 0, errno == EINTR { continue }
      if ready == 0 {
        seconds += 1
        let hasEnded = state.load(ordering: .relaxed) & Self.inputHasEnded != 0
        if seconds >= (hasEnded ? 1 : 60) { lose() }
        continue
      }
      let count = bytes.withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress.map { $0 + written }, min(bytes.count - written, Self.piece))
      }
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      guard count > 0 else { return lose() }
      written += count
      seconds = 0
    }
  }

  private func lose() { state.bitwiseOr(Self.outputIsLost, ordering: .relaxed) }
}
