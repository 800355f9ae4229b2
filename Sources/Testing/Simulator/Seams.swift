package import ActionKit
package import Basics
package import RunState
package import RunTestKit
package import Runs

/// Where a test may put something between the parts of a simulated program, to see that what that does wrong is found.
package struct Seams: Sendable {
  /// Between the agent and what is audited: what it changes, the agent has done wrong.
  package var agent: @Sendable (any StateStore) -> any StateStore = { $0 }
  /// Between what is audited and the files: what it changes, the store has done wrong.
  package var store: @Sendable (any StateStore) -> any StateStore = { $0 }
  package var time: @Sendable (any TimeSource) -> any TimeSource = { $0 }
  /// Has the disk do something wrong from now on.
  package var disk: @Sendable (FaultyFileSystem) -> Void = { _ in }
  /// What an error of the service says to whoever called.
  package var error: @Sendable (ActionError) -> ActionError = { $0 }
  /// What keeps secrets out of the state.
  package var redactor = Redactor(named: [("SECRET", SimulatedService.secret)])

  package init() {}
}
