package import Glibc

/// The process at the other end of a connection over a Unix socket, as the kernel names it.
package struct UnixPeer: Sendable {
  package let process: pid_t
  package let account: uid_t

  /// Nil for another kind of socket.
  package init?(of socket: Int32) {
    // The kernel's `ucred`, which glibc declares only with `_GNU_SOURCE`: process, user and group.
    var peer: (pid: pid_t, uid: uid_t, gid: gid_t) = (0, uid_t.max, gid_t.max)
    var size = socklen_t(MemoryLayout.size(ofValue: peer))
    guard getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 else { return nil }
    (process, account) = (peer.pid, peer.uid)
  }
}
