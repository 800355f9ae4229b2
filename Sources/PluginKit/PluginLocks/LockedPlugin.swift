// A plugin from its lock; the code that uses plugins treats it like a part of the program.

package import ActionKit
package import Basics

/// Implements the actions of one kind of locks, such as locks from OpenAPI documents.
package protocol LockKind: Sendable {
  /// The kind's name in locks.
  static var name: String { get }
  /// The settings of a connection in `errand.yaml`.
  static func configuration(of lock: PluginLock) -> ObjectSchema
  /// The reach of its actions outside.
  static var reach: PluginReach { get }
  /// The functions of an action, on the service that `connect` returns.
  static func calls(of action: LockedAction, in lock: PluginLock) -> ActionDescriptor.Calls
  /// Creates a client to run the actions on.
  static func connect(
    _ lock: PluginLock, _ configuration: Value, in context: PluginContext
  ) async throws -> any Sendable
  /// The resources that an action touches on a connection with these settings, as far as its input is known.
  static func footprint(
    of action: LockedAction, in lock: PluginLock, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint
  /// The differences between the source and the lock, one a line; nil if a test can't ask the source.
  static func drift(
    of lock: PluginLock, settings: Value, in context: PluginContext
  ) async throws(PluginLockError) -> [String]?
  /// The values that an action is certain to refuse on a connection with these settings, if they are known.
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

  /// An action that can't be read counts as missing; `LockFolder.fault` gives the reason.
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
