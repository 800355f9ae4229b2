package import ActionKit
package import Basics
import Recipes
import Synchronization

/// The services of one run: each connection comes from the program's pool when a step first uses it, and returns there
/// when the walk ends.
package actor Services {
  /// One connection, not yet opened.
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
  /// The clocks of services and actions.
  nonisolated let time: any TimeSource
  /// The folder in which each plugin caches its services' answers; nil for no cache on disk.
  private let cacheFolder: String?
  /// The folder that paths in settings start from.
  private let folder: String?
  /// Sits between services and the network, as a recording does.
  private let interceptor: PluginContext.Interceptor?
  /// Sits between runs and the actions of plugins that don't use HTTP.
  private let calls: (any CallInterceptor)?
  /// Files that actions must not touch.
  package nonisolated let ownFiles: OwnFiles
  /// Masks secrets in everything that is shown or kept.
  package nonisolated let redactor: Redactor
  private let pool: ServicePool
  private let limiters: [String: ConnectionLimiter]
  private var taking: [String: Task<Result<any Sendable, ActionError>, Never>] = [:]
  /// The services in use, for the steps after the first.
  private let taken = Mutex<[String: any Sendable]>([:])
  private let keys = Mutex<[ServicePool.Key]>([])

  package init(
    catalog: ActionCatalog, connections: [String: Connection], redactor: Redactor, time: any TimeSource,
    cacheFolder: String? = nil, folder: String? = nil, pool: ServicePool? = nil,
    limiters: [String: ConnectionLimiter] = [:],
    interceptor: PluginContext.Interceptor? = nil,
    calls: (any CallInterceptor)? = nil, ownFiles: OwnFiles = OwnFiles()
  ) {
    self.ownFiles = ownFiles
    self.catalog = catalog
    self.connections = connections
    self.redactor = redactor
    self.time = time
    self.cacheFolder = cacheFolder
    self.folder = folder
    self.interceptor = interceptor
    self.calls = calls
    self.pool = pool ?? ServicePool(time: time)
    self.limiters = limiters
  }

  /// What keeps the limits of a connection, if it has any.
  nonisolated func limiter(of connection: String) -> ConnectionLimiter? { limiters[connection] }

  /// Whether a plugin's requests are HTTP requests, which are limited one by one.
  nonisolated func isWeb(_ plugin: String) -> Bool { catalog.plugin(plugin)?.isWeb ?? false }

  /// Counts the calls under way, where time jumps.
  nonisolated var pace: CallPace? { pool.pace }

  /// The folder that all paths of actions lead into; nil for no confinement.
  nonisolated var confinement: String? { calls?.confinement }

  /// The result of a call, from the action or from the interceptor.
  nonisolated func carried(
    _ call: ActionCall, _ part: ServiceCall.Part, _ input: Value,
    _ perform: () async -> Result<Value, ActionError>
  ) async -> Result<Value, ActionError> {
    let action = call.action
    guard let calls, action.takesEffect || action.effect != .pure, let plugin = catalog.plugin(action.plugin) else {
      return await perform()
    }
    if let mismatch = calls.mismatch { return .failure(mismatch) }
    guard !plugin.isWeb else {
      let result = await perform()
      if let mismatch = calls.mismatch { return .failure(mismatch) }
      // Shown with the path as the recipe gives it, as the reader expects.
      return confinement.map { folder in result.map { $0.replacing(folder, with: "") } } ?? result
    }
    let call = ServiceCall(
      connection: call.connection, action: action.id, part: part, input: .map(input.map ?? ValueMap()),
      schema: action.input, secrets: call.input.secrets(in: input), isLocal: plugin.isLocal)
    let result = await calls.carry(call, perform)
    return calls.mismatch.map { .failure($0) } ?? result
  }

  /// What an action touches outside, as far as its input is known.
  nonisolated func footprint(of call: ActionCall, _ input: Value, in context: ActionContext) -> Footprint {
    let action = call.action
    guard let plugin = connections[call.connection]?.plugin ?? catalog.plugin(action.plugin) else { return .everything }
    return plugin.footprint(
      of: String(action.id.dropFirst(action.plugin.utf8.count + 1)), input,
      settings: connections[call.connection]?.settings ?? .map(ValueMap()), in: context)
  }

  deinit { pool.release(keys.withLock { $0 }) }

  /// The service of a connection; a plugin whose settings all have defaults needs none in `errand.yaml`.
  nonisolated func service(named name: String, of plugin: String) async throws(ActionError) -> any Sendable {
    if let service = taken.withLock({ $0[name] }) { return service }
    return try await connected(name, plugin)
  }

  private func connected(_ name: String, _ plugin: String) async throws(ActionError) -> any Sendable {
    if let task = taking[name] { return try await task.value.get() }
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
    guard let text = try? JSON.write(settings) else {
      throw ActionError(.configuration, "the settings of connection '\(name)' cannot be written as JSON")
    }
    let key = ServicePool.Key(plugin: descriptor.name, settings: text, limited: limiters[name] == nil ? nil : name)
    var made = PluginContext(
      connection: name, time: time, cacheFolder: cacheFolder.map { "\($0)/\(descriptor.name)" }
    ) { AttemptLog.record($0) }
    made.folder = folder
    made.interceptor = interceptor
    if let limiter = limiters[name] {
      made.interceptor = { [interceptor] connection, network in
        LimitedTransport(network: interceptor?(connection, network) ?? network, limiter: limiter)
      }
    }
    let context = made
    // Not cancelled with the caller: other steps wait for the same connection. It ends when it is made.
    let task = Task { [pool] () -> Result<any Sendable, ActionError> in
      do throws(ActionError) {
        return .success(
          try await pool.borrow(key) {
            do throws(ActionError) { return .success(try await descriptor.connect(settings, in: context)) } catch {
              return .failure(error)
            }
          })
      } catch {
        return .failure(error)
      }
    }
    taking[name] = task
    let result = await task.value
    switch result {
    case .success(let service):
      taken.withLock { $0[name] = service }
      keys.withLock { $0.append(key) }
      return service
    case .failure(let error):
      // The next step that needs it tries again.
      taking[name] = nil
      throw error
    }
  }
}
