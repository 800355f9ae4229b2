/// Why the program could not do what it was asked: a message for people, and a kind for the exit code.
package struct RuntimeError: Error, Sendable {
  package enum Kind: Sendable, CaseIterable {
    /// It was done, and failed.
    case failed
    /// A recipe, a recording or inputs are at fault.
    case invalid
    /// The run is suspended or waits, and no process is running it.
    case waiting
    /// The command line is at fault.
    case usage
    /// A file or a name was not found.
    case noInput
    /// A service, or the agent, cannot be reached.
    case unavailable
    /// A file or the state cannot be written.
    case cannotCreate
    /// Another process holds the state folder.
    case locked
    /// errand.yaml or a secret is at fault.
    case configuration
  }

  package var kind: Kind
  package var message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }
}
