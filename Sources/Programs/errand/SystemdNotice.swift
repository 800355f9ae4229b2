/// Notifies systemd, in the protocol of sd_notify(3): lines of `NAME=value` in one datagram to the socket that
/// `$NOTIFY_SOCKET` names, where a name that begins with `@` is an abstract one. Without that variable nothing is sent.
///
/// A unit of `Type=notify-reload` expects `RELOADING=1` with the monotonic clock before a reload and `READY=1` after
/// it. With `WatchdogSec=` the service manager expects `WATCHDOG=1` within each `$WATCHDOG_USEC`, and kills a silent
/// process.
import AgentRuntime
import Basics
import Glibc

struct SystemdNotice: Sendable {
  private let path: [UInt8]?

  /// How often the watchdog expects a sign of life; nil if there is no watchdog.
  let watchdog: TimeSpan?

  init() {
    let name = String(environment: "NOTIFY_SOCKET") ?? ""
    var bytes = Array(name.utf8)
    if bytes.first == ASCII.at { bytes[0] = 0 }
    let capacity = MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    path = bytes.isEmpty || bytes.count > capacity ? nil : bytes
    // The variables are for one process, not for a child that inherits them.
    let isForThis = String(environment: "WATCHDOG_PID").map { Int32($0) == getpid() } ?? true
    let limit = isForThis ? String(environment: "WATCHDOG_USEC").flatMap { Int($0) } : nil
    watchdog = limit.flatMap { $0 > 0 && $0 < Int.max / 1000 ? TimeSpan(nanoseconds: $0 * 1000 / 2) : nil }
  }

  /// The sockets that systemd hands over (sd_listen_fds(3)): they listen already, and keep doing so when this process
  /// ends.
  static var sockets: [Int32] {
    guard String(environment: "LISTEN_PID").flatMap({ Int32($0) }) == getpid(),
      let count = String(environment: "LISTEN_FDS").flatMap({ Int32($0) }), (1...64).contains(count)
    else { return [] }
    // The variables are for this process, not for its children.
    unsetenv("LISTEN_PID")
    unsetenv("LISTEN_FDS")
    return (3..<3 + count).map { descriptor in
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      return descriptor
    }
  }

  func ready(_ status: String) { send("READY=1\nSTATUS=\(SystemdNotice.line(status))") }
  func stopping() { send("STOPPING=1\nSTATUS=finishing what is in flight") }
  func status(_ text: String) { send("STATUS=\(SystemdNotice.line(text))") }
  func alive() { send("WATCHDOG=1") }

  func reloading() {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    send("RELOADING=1\nMONOTONIC_USEC=\(time.tv_sec * 1_000_000 + time.tv_nsec / 1000)")
  }

  private static func line(_ text: String) -> String { String(text.map { $0.isNewline ? " " : $0 }) }

  /// A service manager that does not listen isn't an error of this program.
  private func send(_ text: String) {
    guard let path else { return }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    // An abstract name ends where the address does; a path may too.
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + path.count } ?? 0
    let bytes = Array(text.utf8)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
      }
    }
  }
}
