/// Why the agent of a state folder cannot be reached, or one cannot be started.
package struct AgentError: Error, Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// Another process holds the folder; the command ends with exit code 75.
    case held
    /// The system refused a file or a socket.
    case unavailable
    /// The other side broke the protocol or closed the connection.
    case broken
  }

  package var kind: Kind
  /// A sentence that names the folder and the remedy.
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
