import Basics
import Glibc

/// Binds and connects `agent.sock` and `api.sock` in a folder, however long the folder's path is.
///
/// A socket's address holds 107 bytes. For a longer path, the address is `/proc/self/fd/N/agent.sock`, through the open
/// folder.
package enum SocketAddress {
  static let name = "agent.sock"
  /// The socket of the same agent that speaks HTTP.
  package static let httpName = "api.sock"

  /// Calls `bind` or `connect` with the address of a folder's socket.
  static func with(
    _ folder: String, _ name: String = name, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) throws(FileError) {
    let path = "\(folder)/\(name)"
    if path.utf8.count < capacity {
      guard use(path, call) == 0 else { throw FileError(.write, path, .system(errno)) }
      return
    }
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(.read, folder, .system(errno)) }
    defer { close(descriptor) }
    guard use("/proc/self/fd/\(descriptor)/\(name)", call) == 0 else { throw FileError(.write, path, .system(errno)) }
  }

  /// Listens on a socket in a folder, replacing a dead agent's; holding the lock proves that the agent is dead.
  package static func listen(in folder: String, _ name: String) throws(AgentError) -> Int32 {
    func failure(_ what: String) -> AgentError { AgentError(.unavailable, "cannot \(what): \(systemErrorText(errno))") }
    let listener = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard listener >= 0 else { throw failure("make a socket") }
    do {
      try Files.remove("\(folder)/\(name)")
      // Linux gives the file the socket's mode, so that no other user can connect even for a moment.
      guard fchmod(listener, 0o600) == 0 else { throw failure("protect the socket '\(name)'") }
      try with(folder, name) { bind(listener, $0, $1) }
      guard Glibc.listen(listener, 64) == 0 else { throw failure("listen on '\(folder)/\(name)'") }
      return listener
    } catch {
      close(listener)
      throw error as? AgentError ?? AgentError(.unavailable, "\(error)")
    }
  }

  private static let capacity = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  private static func use(_ path: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The address is zeroed, so the path is terminated.
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        call($0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
