package import ActionKit
package import Basics
package import PluginLocks

/// Plugins from MCP servers.
package enum MCPKind: LockKind {
  package static let name = "mcp"
  /// The default search path for programs.
  package static let searchPath = "/usr/local/bin:/usr/bin:/bin"
  /// A recording holds the calls, because nothing is known of the services that a server uses.
  package static let reach = PluginReach.anything

  /// Asks a server for its tools, and makes a lock of them.
  ///
  /// - Parameters:
  ///   - settings: The settings of the connection, if it has any, with its secrets; the server is started or asked with
  ///     them.
  ///   - context: The context of the plugin; paths are relative to its folder, which has errand.yaml.
  package static func lock(
    name: String, source: MCPSource, settings: Value = .map(ValueMap()), in context: PluginContext
  ) async throws(PluginLockError) -> PluginLock {
    let server: ServerSettings
    do throws(ValueError) {
      server = try ServerSettings(source.server, settings, connection: context.connection)
    } catch {
      throw PluginLockError(error.description)
    }
    let session: ServerSession
    do throws(ServerFailure) { session = try await server.open(in: context, speaking: source.spoken) } catch {
      let error = error.actionError(isWrite: false)
      throw PluginLockError(error.message + (error.detail.map { ":\n\($0)" } ?? ""))
    }
    defer { session.link.close() }
    let lock = try ToolLocks(name: name, source: source, session: session).lock()
    guard !lock.actionNames.isEmpty else {
      let reason = lock.leftOut.first.map { ": \($0.part.safe): \($0.reason)" } ?? ""
      throw PluginLockError("'\(name)' offers no tool that can be an action\(reason)")
    }
    return lock
  }

  /// The differences between a program's tools and its lock, new tools included; nil for a server at an address, which
  /// isn't asked.
  package static func drift(
    of lock: PluginLock, settings: Value, in context: PluginContext
  ) async throws(PluginLockError) -> [String]? {
    guard isProgram(lock) else { return nil }
    let offered = try await self.lock(
      name: lock.name, source: try MCPSource(of: lock), settings: settings, in: context)
    let more = offered.actionNames.filter { !lock.actionNames.contains($0) }
    return try LockDrift.lines(lock, offered) + more.map { "\($0): the lock doesn't have it" }
  }

  /// Lines of YAML for `connections` in errand.yaml, indented by two.
  package static func connectionSketch(_ lock: PluginLock) -> String {
    let example = "\(lock.name.uppercased())_TOKEN"
    let more =
      isProgram(lock)
      ? """
          # path: /usr/local/bin:/usr/bin:/bin    where the program is looked for
          # environment: {}                       its environment has PATH and LANG, and what is named here
          # secretEnvironment: {TOKEN: "${{ secrets.\(example) }}"}
      """
      : """
          # token: ${{ secrets.\(example) }}
      """
    return "  \(lock.name):\n    plugin: \(lock.name)\n\(more)\n"
  }

  private static func isProgram(_ lock: PluginLock) -> Bool { lock.source["url"] == nil }

  package static func configuration(of lock: PluginLock) -> ObjectSchema {
    isProgram(lock) ? ProgramSettings.schema : AddressSettings.schema
  }

  /// The schema of a server's connection in `errand.yaml`.
  package static func settings(of server: MCPSource.Server) -> ObjectSchema {
    switch server {
    case .command: ProgramSettings.schema
    case .url: AddressSettings.schema
    }
  }

  package static func calls(of action: LockedAction, in lock: PluginLock) -> ActionDescriptor.Calls {
    ToolCalls(action).calls
  }

  package static func connect(
    _ lock: PluginLock, _ configuration: Value, in context: PluginContext
  ) async throws -> any Sendable {
    let source: MCPSource
    do throws(PluginLockError) { source = try MCPSource(of: lock) } catch {
      throw ActionError(.configuration, error.message)
    }
    return MCPService(
      lock, try ServerSettings(source.server, configuration, connection: context.connection), in: context)
  }

  /// The resources of a call: a program may touch anything, and its run then needs this machine's files; a server
  /// elsewhere has the resources at its address.
  package static func footprint(
    of action: LockedAction, in lock: PluginLock, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint {
    let isWrite =
      switch action.effect {
      case .pure, .read: false
      case .consume, .idempotentWrite, .write: true
      }
    guard let url = settings["url"]?.string ?? lock.source["url"]?.string else {
      return Footprint(reads: [.everything, .file("/")], changes: isWrite ? [.everything] : [])
    }
    return Footprint(reads: [.service(url)], changes: isWrite ? [.service(url)] : [])
  }
}
