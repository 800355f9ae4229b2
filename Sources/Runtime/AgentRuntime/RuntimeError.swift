/// Why something that was asked of the program is not done: what to say to people, and a kind for exit codes.
package struct RuntimeError: Error, Sendable {
  package enum Kind: Sendable, CaseIterable {
    /// It was done, and failed.
    case failed
    /// A recipe, a recording or inputs are at fault.
    case invalid
    /// The run stands or waits, and no process goes on with it.
    case waiting
    /// The command line is at fault.
    case usage
    /// Something that was named is not there.
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
