import ActionKit
import ActionTestKit
import Basics
import Foundation
import MCPPlugins
import PluginLocks
import Testing

/// A plugin whose server is `Fixtures/scripted.py`, or any other.
struct LockedServer {
  let lock: PluginLock
  let plugin: PluginDescriptor
  let service: any Sendable

  static let script = packageFolder.appending(
    path: "Tests/LockedPlugins/MCPPluginsTests/Fixtures/scripted.py"
  ).path

  /// Makes the lock of a server as a file has it.
  static func lock(
    _ source: MCPSource, as name: String = "tried", settings: Value = .map(ValueMap()), folder: String? = nil,
    time: any TimeSource = SystemTime()
  ) async throws -> PluginLock {
    let lock = try await MCPKind.lock(
      name: name, source: source, settings: settings, in: context(name, folder: folder, time: time))
    return try PluginLock(reading: try lock.written(), of: lock.file)
  }

  static func context(_ name: String = "tried", folder: String? = nil, time: any TimeSource = SystemTime())
    -> PluginContext
  {
    var context = PluginContext(connection: name, time: time)
    context.folder = folder
    return context
  }

  /// The source of the scripted server.
  static func scripted(_ options: String..., trustsHints: Bool = false, effects: [String: Effect] = [:]) -> MCPSource {
    MCPSource(.command(["python3", script] + options), trustsHints: trustsHints, effects: effects)
  }

  init(
    _ lock: PluginLock, settings: Value = .map(ValueMap()), folder: String? = nil, time: any TimeSource = SystemTime()
  )
    async throws
  {
    self.lock = lock
    plugin = PluginDescriptor(LockedPlugin(lock, MCPKind.self))
    service = try await plugin.connect(settings, in: Self.context(lock.name, folder: folder, time: time))
  }

  /// The output of an action.
  func run(
    _ action: String, _ input: Value = .map(ValueMap()), in context: ActionContext = .testing(time: SystemTime())
  ) async throws -> Value {
    try await #require(plugin.action(action)).run(input, on: service, in: context)
  }

  /// The error of an action that must fail.
  func failure(
    _ action: String, _ input: Value = .map(ValueMap()), in context: ActionContext = .testing(time: SystemTime()),
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> ActionError {
    let action = try #require(plugin.action(action), sourceLocation: sourceLocation)
    return try #require(
      await #expect(throws: ActionError.self, sourceLocation: sourceLocation) {
        try await action.run(input, on: service, in: context)
      }, sourceLocation: sourceLocation)
  }
}
