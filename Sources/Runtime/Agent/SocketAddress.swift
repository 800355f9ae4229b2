package import Basics
import Glibc

/// The Unix socket of a state folder, `api.sock`, however long the folder's path is.
///
/// A socket's address holds 107 bytes. For a longer path, the address is `/proc/self/fd/N/api.sock`, through the open
/// folder.
package enum SocketAddress {
  package static let name = "api.sock"
  /// The socket of agents before 0.6.0, which had a protocol of its own.
  private static let formerName = "agent.sock"

  /// Connects to the process that listens in a folder.
  package static func connect(_ socket: Int32, in folder: String) throws(FileError) {
    try with(folder) { Glibc.connect(socket, $0, $1) }
  }

  /// Calls `bind` or `connect` with the address of a folder's socket.
  private static func with(
    _ folder: String, _ call: (UnsafePointer<sockaddr>, socklen_t) -> Int32
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

  /// Listens in a folder, replacing the socket of a dead agent.
  ///
  /// - Parameter lock: The folder's lock, which proves that the agent is dead.
  package static func listen(in folder: String, holding lock: borrowing FolderLock) throws(AgentError) -> Int32 {
    func failure(_ what: String) -> AgentError { AgentError(.unavailable, "cannot \(what): \(systemErrorText(errno))") }
    let listener = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard listener >= 0 else { throw failure("make a socket") }
    do {
      for name in [formerName, name] { try Files.remove("\(folder)/\(name)") }
      // Linux gives the file the socket's mode, so that no other user can connect even for a moment.
      guard fchmod(listener, 0o600) == 0 else { throw failure("protect the socket '\(name)'") }
      try with(folder) { bind(listener, $0, $1) }
      guard Glibc.listen(listener, SOMAXCONN) == 0 else { throw failure("listen on '\(folder)/\(name)'") }
      return listener
    } catch {
      close(listener)
      throw error as? AgentError ?? AgentError(.unavailable, "\(error)")
    }
  }

  /// Removes the socket of an agent that ends.
  package static func remove(from folder: String) { unlink("\(folder)/\(name)") }

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
