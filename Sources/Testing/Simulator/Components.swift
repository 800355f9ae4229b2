package import ActionKit
package import Basics
package import RunState
package import RunTestKit
package import Runs

/// Where a test may plant defects between the parts of a simulated program, to see that they are found.
package struct Components: Sendable {
  /// Between the agent and the audit: its changes count as the agent's faults.
  package var agent: @Sendable (any LocalStateStore) -> any LocalStateStore = { $0 }
  /// Between the audit and the files: its changes count as the store's faults.
  package var store: @Sendable (any LocalStateStore) -> any LocalStateStore = { $0 }
  package var time: @Sendable (any TimeSource) -> any TimeSource = { $0 }
  /// Plants a fault of the disk from now on.
  package var disk: @Sendable (FaultyFileSystem) -> Void = { _ in }
  /// Changes the service's errors before the caller sees them.
  package var error: @Sendable (ActionError) -> ActionError = { $0 }
  /// Keeps secrets out of the state.
  package var redactor = Redactor(named: [("SECRET", SimulatedService.secret)])

  package init() {}
}
