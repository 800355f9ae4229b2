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
    /// Reads the settings again when a secret in them is too old; nil if none grows old.
    package var renewal: Renewal?

    package init(plugin: PluginDescriptor, settings: Value, renewal: Renewal? = nil) {
      self.plugin = plugin
      self.settings = settings
      self.renewal = renewal
    }
  }

  /// Reads the settings of a connection as they are now.
  package typealias Renewal = @Sendable () async throws(ActionError) -> Renewed

  /// Settings that hold for a while.
  package struct Renewed: Sendable {
    package var settings: Value
    /// The secrets in them by name.
    package var secrets: [(name: String, text: String)]
    /// When they are to be read again, on the clock that tells lengths of time.
    package var due: TimeSpan

    package init(settings: Value, secrets: [(name: String, text: String)], due: TimeSpan) {
      self.settings = settings
      self.secrets = secrets
      self.due = due
    }
  }

  /// A service in use.
  private struct Taken: Sendable {
    var service: any Sendable
    var key: ServicePool.Key
    /// When its settings are too old.
    var due: TimeSpan?

    func isFresh(at now: TimeSpan) -> Bool { due.map { now < $0 } ?? true }
  }

  private let catalog: ActionCatalog
  private let connections: [String: Connection]
  /// The clocks of services and actions.
  nonisolated let time: any TimeSource
  /// The folder for the plugins' caches of their services' answers; nil for no cache on disk.
  private let cacheFolder: String?
  /// The folder that paths in settings start from.
  private let folder: String?
  /// Sits between services and the network, as a recording does.
  private let interceptor: PluginContext.Interceptor?
  /// Sits between runs and the actions of plugins that don't use HTTP.
  private let calls: (any CallInterceptor)?
  /// Files that actions must not touch.
  package nonisolated let ownFiles: OwnFiles
  /// The replacement for the folders of files; nil if the folders are used themselves.
  package nonisolated let standIn: (any FolderStandIn)?
  /// Masks secrets in everything that is shown or kept.
  package nonisolated let redactor: Redactor
  private let pool: ServicePool
  private let limiters: [String: ConnectionLimiter]
  private var taking: [String: Task<Result<Taken, ActionError>, Never>] = [:]
  /// The services in use, for the steps after the first.
  private let taken = Mutex<[String: Taken]>([:])
  /// Told the secrets that were read again.
  private struct RenewalObserver {
    var tell: @Sendable ([(name: String, text: String)]) -> Void
  }

  /// In a struct, because a function that is the whole content of a `Mutex` is wrapped once more by each access.
  private let onRenewal = Mutex<RenewalObserver?>(nil)
  private let keys = Mutex<[ServicePool.Key]>([])

  package init(
    catalog: ActionCatalog, connections: [String: Connection], redactor: Redactor, time: any TimeSource,
    cacheFolder: String? = nil, folder: String? = nil, pool: ServicePool? = nil,
    limiters: [String: ConnectionLimiter] = [:],
    interceptor: PluginContext.Interceptor? = nil,
    calls: (any CallInterceptor)? = nil, ownFiles: OwnFiles = OwnFiles(), standIn: (any FolderStandIn)? = nil
  ) {
    self.ownFiles = ownFiles.beside(standIn)
    self.standIn = standIn
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

  /// The limiter of a connection, if it has limits.
  nonisolated func limiter(of connection: String) -> ConnectionLimiter? { limiters[connection] }

  /// Whether a plugin's requests are HTTP requests, which are limited one by one.
  nonisolated func isWeb(_ plugin: String) -> Bool { catalog.plugin(plugin)?.isWeb ?? false }

  /// Counts the calls under way, where time jumps.
  nonisolated var pace: CallPace? { pool.pace }

  /// The folder that all paths of actions lead into; nil for no confinement.
  nonisolated var confinement: String? { calls?.confinement }

  /// The interceptor between a plugin and the files that it reads; nil if its calls are recorded as a whole.
  nonisolated func fileInterceptor(of plugin: String) -> (any FileInterceptor)? {
    calls.flatMap { isWeb(plugin) ? $0 : nil }
  }

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
      guard let confinement else { return result }
      return result.map { $0.replacing(confinement, with: "") }.mapError { error in
        var error = error
        error.message = error.message.replacing(confinement, with: "")
        return error
      }
    }
    let call = ServiceCall(
      connection: call.connection, action: action.id, part: part, input: .map(input.map ?? ValueMap()),
      schema: action.input, secrets: call.input.secrets(in: input), isLocal: plugin.isLocal)
    let result = await calls.carry(call, perform)
    return calls.mismatch.map { .failure($0) } ?? result
  }

  /// The footprint of an action, as far as its input is known.
  nonisolated func footprint(of call: ActionCall, _ input: Value, in context: ActionContext) -> Footprint {
    let action = call.action
    guard let plugin = connections[call.connection]?.plugin ?? catalog.plugin(action.plugin) else { return .everything }
    return plugin.footprint(
      of: String(action.id.dropFirst(action.plugin.utf8.count + 1)), input,
      settings: connections[call.connection]?.settings ?? .map(ValueMap()), in: context)
  }

  deinit { pool.release(keys.withLock { $0 }) }

  /// Tells the secrets that were read again, before they are used.
  nonisolated func tellRenewed(_ tell: @escaping @Sendable ([(name: String, text: String)]) -> Void) {
    onRenewal.withLock { $0 = RenewalObserver(tell: tell) }
  }

  /// The service of a connection; a plugin whose settings all have defaults needs none in `errand.yaml`.
  nonisolated func service(named name: String, of plugin: String) async throws(ActionError) -> any Sendable {
    if let known = taken.withLock({ $0[name] }), known.isFresh(at: time.elapsed()) { return known.service }
    return try await connected(name, plugin)
  }

  private func connected(_ name: String, _ plugin: String) async throws(ActionError) -> any Sendable {
    while let task = taking[name] {
      let found = try await task.value.get()
      if found.isFresh(at: time.elapsed()) { return found.service }
      if taking[name] == task { taking[name] = nil }
    }
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
    let limited = limiters[name] == nil ? nil : name
    let renewal = connections[name]?.renewal
    let task = Task { () -> Result<Taken, ActionError> in
      do throws(ActionError) {
        var current = settings
        var due: TimeSpan?
        if let renewal {
          let renewed = try await renewal()
          (current, due) = (renewed.settings, renewed.due)
          onRenewal.withLock { $0 }?.tell(renewed.secrets)
        }
        guard let text = try? JSON.write(current) else {
          throw ActionError(.configuration, "the settings of connection '\(name)' cannot be written as JSON")
        }
        let key = ServicePool.Key(plugin: descriptor.identity, settings: text, limited: limited)
        let used = current
        let service = try await pool.borrow(key) {
          do throws(ActionError) { return .success(try await descriptor.connect(used, in: context)) } catch {
            return .failure(error)
          }
        }
        return .success(Taken(service: service, key: key, due: due))
      } catch {
        return .failure(error)
      }
    }
    taking[name] = task
    let result = await task.value
    switch result {
    case .success(let found):
      taken.withLock { $0[name] = found }
      keys.withLock { $0.append(found.key) }
      return found.service
    case .failure(let error):
      // The next step that needs it tries again.
      taking[name] = nil
      throw error
    }
  }
}
