import Basics
import Glibc

/// The systemd unit of a process, for advice on how to stop it.
package struct ServiceUnit: Equatable {
  package var name: String
  /// Whether it is one of a user's own systemd.
  package var isUsers: Bool

  /// - Parameters:
  ///   - process: The process that systemd says it has started, `$SYSTEMD_EXEC_PID`; its children inherit the variable.
  ///   - controlGroup: The content of `/proc/PID/cgroup`.
  package init?(of pid: Int, startedAs process: String?, controlGroup: String) {
    guard process.flatMap({ Int($0) }) == pid,
      let line = controlGroup.split(separator: "\n").first(where: { $0.hasPrefix("0::") }),
      let last = line.split(separator: "/").last, last.hasSuffix(".service")
    else { return nil }
    name = String(last.dropLast(".service".count))
    isUsers = line.contains("/user@")
  }

  /// The unit that runs this process, if there is one.
  package static var own: ServiceUnit? {
    guard let process = getenv("SYSTEMD_EXEC_PID").map({ String(cString: $0) }) else { return nil }
    let group = (try? Files.read("/proc/self/cgroup", limit: 1 << 16)) ?? []
    return ServiceUnit(of: Int(getpid()), startedAs: process, controlGroup: String(decoding: group, as: UTF8.self))
  }

  /// The command that stops it.
  package var stop: String { "systemctl \(isUsers ? "--user " : "")stop \(name.shellQuoted)" }
}
