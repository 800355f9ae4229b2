package import ActionKit
package import PluginLocks

/// Plugins from OpenAPI documents.
package enum OpenAPIKind {
  /// Makes the lock of a plugin of a document.
  ///
  /// - Parameters:
  ///   - bytes: The document, JSON or YAML, in version 2.0, 3.0 or 3.1.
  ///   - description: Where it is from, a path or an address, which `update` reads again.
  ///   - only: The operations that become actions: the action's name, the operation's id, a path such as `/pets/*`, or a
  ///     tag such as `tag:pets`, where `*` stands for anything; none for all of them.
  ///   - effects: What actions do, where a person knows better.
  ///   - file: What messages call the lock.
  package static func lock(
    name: String, document bytes: [UInt8], source description: String, only: [String], effects: [String: Effect],
    file: String
  ) throws(PluginLockError) -> PluginLock {
    throw PluginLockError("\(description) can't be read yet")
  }

  /// The lines to put under `connections:` in errand.yaml, with what the document says of the service.
  package static func connectionSketch(_ lock: PluginLock) -> String { "  \(lock.name):\n" }

  /// What of the document became no action: each operation, as `GET /path`, with the reason.
  package static func leftOut(_ lock: PluginLock) -> [(operation: String, reason: String)] { [] }
}
