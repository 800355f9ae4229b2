// A plugin from its lock, for all that reads plugins: nothing there knows that it isn't part of the program.

package import ActionKit
package import Basics

/// What does the actions of one kind of locks, such as those from OpenAPI documents.
package protocol LockKind: Sendable {
  /// The kind's name in locks.
  static var name: String { get }
  /// What `errand.yaml` says of a connection.
  static func configuration(of lock: PluginLock) -> ObjectSchema
  /// What its actions reach outside.
  static var reach: PluginReach { get }
  /// What an action does, on the service that `connect` gives.
  static func calls(of action: LockedAction, in lock: PluginLock) -> ActionDescriptor.Calls
  /// An input of an action as a recipe writes it.
  static func connect(
    _ lock: PluginLock, _ configuration: Value, in context: PluginContext
  ) async throws -> any Sendable
  /// What an action touches on a connection of these settings, as far as its input is known.
  static func footprint(
    of action: LockedAction, in lock: PluginLock, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint
  /// How what is there now differs from the lock, a line for each; nil where a test can't ask.
  static func drift(
    of lock: PluginLock, settings: Value, in context: PluginContext
  ) async throws(PluginLockError) -> [String]?
  /// What an action refuses for certain on a connection of these settings, if they are known.
  static func refusals(
    of action: LockedAction, in lock: PluginLock, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal]
}

extension LockKind {
  package static func drift(
    of lock: PluginLock, settings: Value, in context: PluginContext
  ) async throws(PluginLockError) -> [String]? { nil }

  package static func refusals(
    of action: LockedAction, in lock: PluginLock, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] { [] }
}

/// A plugin that a lock describes.
package struct LockedPlugin: PluginSource {
  package let lock: PluginLock
  package let kind: any LockKind.Type

  package init(_ lock: PluginLock, _ kind: any LockKind.Type) {
    self.lock = lock
    self.kind = kind
  }

  package var name: String { lock.name }
  package var summary: String { lock.summary }
  package var configuration: ObjectSchema { kind.configuration(of: lock) }
  package var actionNames: [String] { lock.actionNames }
  package var actions: [ActionDescriptor] { actionNames.compactMap(action) }
  package var reach: PluginReach { kind.reach }
  package var digest: String? { lock.document["digest"]?.string }

  package func action(_ name: String) -> ActionDescriptor? {
    guard let action = locked(name) else { return nil }
    return ActionDescriptor(
      plugin: lock.name, name: action.name, summary: action.summary, effect: action.effect, input: action.input,
      output: action.output, baseline: action.baseline, examples: [action.input.sample], acceptsKey: action.acceptsKey,
      timeout: action.timeout, calls: kind.calls(of: action, in: lock))
  }

  /// What can't be read isn't there; `LockFolder.fault` says why.
  private func locked(_ name: String) -> LockedAction? { try? lock.action(name) }

  package func footprint(of action: String, _ input: Value, settings: Value, in context: ActionContext) -> Footprint {
    guard let action = locked(action) else { return .everything }
    return kind.footprint(of: action, in: lock, input, settings: settings, in: context)
  }

  package func refusals(
    of action: String, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    guard let action = locked(action) else { return [] }
    return kind.refusals(of: action, in: lock, input, settings: settings, in: context)
  }

  package func connect(_ settings: Value, in context: PluginContext) async throws -> any Sendable {
    let faults = configuration.check(settings, as: "connections.\(context.connection)")
    guard faults.allSatisfy({ $0.severity != .error }) else {
      throw ActionError(.configuration, ValueError(faults).description)
    }
    return try await kind.connect(lock, settings, in: context)
  }
}
