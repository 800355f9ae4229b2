import Basics
import Glibc

/// Who asks an agent for something, as its connection says and no request can.
///
/// The kernel names the account at the other end of a socket. That of the agent itself, and root's, can change the state
/// without asking anyone, so a client of theirs may say which person it speaks for; another account is its own name.
package struct AgentCaller: Sendable, Equatable {
  /// The name that decisions and resolutions are kept under, and that a recipe's `by` lists.
  package var name: String

  package init(name: String) { self.name = name }

  /// - Parameters:
  ///   - account: The account at the other end.
  ///   - person: The person that it speaks for, as it says.
  init(account: uid_t, person: String?) {
    let mayName = account == geteuid() || account == 0
    name = person.flatMap { mayName && !$0.trimmed.isEmpty ? $0 : nil } ?? FolderLock.name(of: account)
  }
}
