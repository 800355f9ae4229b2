package import ActionKit
package import Basics
import Synchronization

/// The services of one run: each connection is made when a step first uses it, once, and shared by all steps.
package actor Services {
  /// One connection, ready to be made.
  package struct Connection: Sendable {
    package var plugin: PluginDescriptor
    /// The settings with their secrets, as the plugin reads them.
    package var settings: Value

    package init(plugin: PluginDescriptor, settings: Value) {
      self.plugin = plugin
      self.settings = settings
    }
  }

  private let catalog: ActionCatalog
  private let connections: [String: Connection]
  private let time: any TimeSource
  /// What is taken out of everything that is shown or kept.
  package nonisolated let redactor: Redactor
  private var making: [String: Task<Result<any Sendable, ActionError>, Never>] = [:]
  /// What was made, for the steps after the first.
  private let made = Mutex<[String: any Sendable]>([:])

  package init(
    catalog: ActionCatalog, connections: [String: Connection], redactor: Redactor, time: any TimeSource
  ) {
    self.catalog = catalog
    self.connections = connections
    self.redactor = redactor
    self.time = time
  }

  /// The service of a connection; a plugin whose settings all have defaults needs none in `errand.yaml`.
  nonisolated func service(named name: String, of plugin: String) async throws(ActionError) -> any Sendable {
    if let service = made.withLock({ $0[name] }) { return service }
    return try await connected(name, plugin)
  }

  private func connected(_ name: String, _ plugin: String) async throws(ActionError) -> any Sendable {
    if let task = making[name] { return try await task.value.get() }
    guard let descriptor = connections[name]?.plugin ?? catalog.plugin(plugin) else {
      throw ActionError(.configuration, "no plugin is named '\(plugin)'")
    }
    let settings = connections[name]?.settings ?? .map(ValueMap())
    if connections[name] == nil {
      let faults = descriptor.configuration.check(settings, as: name)
      if !faults.isEmpty {
        throw ActionError(
          .configuration,
          "errand.yaml has no connection '\(name)'; add one under 'connections', or try the recipe with --sandbox",
          detail: faults.map(\.message).joined(separator: "; "))
      }
    }
    let context = PluginContext(connection: name, time: time) { RequestLog.record($0) }
    // Not the caller's to cancel: other steps wait for the same connection. It ends when it is made.
    let task = Task { () -> Result<any Sendable, ActionError> in
      do throws(ActionError) { return .success(try await descriptor.connect(settings, in: context)) } catch {
        return .failure(error)
      }
    }
    making[name] = task
    let result = await task.value
    switch result {
    case .success(let service):
      made.withLock { $0[name] = service }
      return service
    case .failure(let error):
      // A connection that could not be made is tried again by the next step that needs it.
      making[name] = nil
      throw error
    }
  }
}
