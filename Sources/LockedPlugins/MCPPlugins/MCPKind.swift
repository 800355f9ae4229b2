package import ActionKit
package import Basics
package import PluginLocks

/// Plugins from MCP servers.
package enum MCPKind {
  package static let name = "mcp"

  /// Asks a server for its tools, and makes a lock of them.
  ///
  /// - Parameters:
  ///   - settings: Those of the connection, with its secrets, as far as there are any; they are what the server is
  ///     started or asked with.
  ///   - context: With the folder of errand.yaml, from which paths count.
  package static func lock(
    name: String, source: MCPSource, settings: Value = .map(ValueMap()), in context: PluginContext
  ) async throws(PluginLockError) -> PluginLock {
    throw PluginLockError("servers of the Model Context Protocol can't be asked yet")
  }

  /// Lines of YAML for `connections` in errand.yaml, indented by two.
  package static func connectionSketch(_ lock: PluginLock) -> String { "  \(lock.name):\n    plugin: \(lock.name)\n" }
}
