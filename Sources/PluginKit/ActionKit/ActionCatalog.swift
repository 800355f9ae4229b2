import Synchronization

/// Every plugin and action that recipes can use.
///
/// Making one reads nothing. Names are asked of the declarations when they are looked for, and a declaration as a
/// whole is read when its action is asked for the first time: reading all of a hundred would be felt at every start.
/// That names are unique and sentences well formed is for `expectWellFormed` to say, in the plugin's tests.
public final class ActionCatalog: Sendable {
  /// The plugins, in the order of the program's list.
  public let plugins: [PluginDescriptor]
  private let read = Mutex<[String: ActionDescriptor]>([:])

  /// Creates a catalog.
  public init(_ plugins: [any Plugin.Type]) { self.plugins = plugins.map(PluginDescriptor.init) }

  /// The plugin of that name.
  public func plugin(_ name: String) -> PluginDescriptor? {
    plugins.first { $0.name.hasSameScalars(as: name) }
  }

  /// The action of that id or former id; the descriptor's own `id` tells which it is.
  public func action(_ id: String) -> ActionDescriptor? {
    if let known = read.withLock({ $0[id] }), known.id.hasSameScalars(as: id) { return known }
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let descriptor = plugin(String(parts[0]))?.action(String(parts[1])) else { return nil }
    read.withLock { $0[descriptor.id] = descriptor }
    return descriptor
  }

  /// The ids of all actions, in the order of the plugins' lists.
  public var actionIDs: [String] {
    plugins.flatMap { plugin in plugin.actionNames.map { "\(plugin.name).\($0)" } }
  }

  /// The id that was probably meant by one that is not known.
  public func nearestAction(to id: String) -> String? { id.nearest(among: actionIDs) }
}

/// All that runs, checks and pages know of a plugin, and the plugin itself behind it.
public struct PluginDescriptor: Sendable {
  private let type: any Plugin.Type

  /// Creates a descriptor; reads nothing.
  public init(_ plugin: any Plugin.Type) { type = plugin }

  /// The name that recipes use before an action's.
  public var name: String { type.name }
  /// One sentence that says what the service is good for.
  public var summary: String { type.summary }
  /// What `errand.yaml` says of a connection.
  public var configuration: ObjectSchema { type.configurationSchema }
  /// Whether a recipe can use the plugin without an entry in `errand.yaml`.
  public var worksUnconfigured: Bool { !configuration.fields.contains { $0.isRequired } }
  /// The names of the actions, in the order in which the pages show them.
  public var actionNames: [String] { type.actionNames }
  /// All actions, each read.
  public var actions: [ActionDescriptor] { type.descriptors }
  /// The module of the plugin's client, and some lines of Swift that use it; nil for a plugin that shows none.
  var library: (module: String, usage: String)? {
    guard let library = type as? any ClientLibrary.Type,
      let module = String(reflecting: type).split(separator: ".").first
    else { return nil }
    return (String(module), library.usage)
  }
  /// Whether the plugin needs no sandbox.
  public var isLocal: Bool { type is any LocalPlugin.Type }
  /// Whether the plugin reaches what is outside by HTTP requests alone.
  public var isWeb: Bool { type is any WebPlugin.Type }
  /// Whether the plugin brings a sandbox.
  public var hasSandbox: Bool { type is any SandboxedPlugin.Type }

  /// The action of that name or former name, read.
  public func action(_ name: String) -> ActionDescriptor? { type.descriptor(of: name) }

  /// What an action touches on a connection of these settings, as far as its input is known.
  package func footprint(
    of action: String, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint {
    (type as? any FootprintPlugin.Type)?.footprint(of: action, input, settings: settings, in: context) ?? .everything
  }

  /// What an action refuses for certain on a connection of these settings, if they are known.
  package func refusals(
    of action: String, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    (type as? any RefusingPlugin.Type)?.refusals(of: action, input, settings: settings, in: context) ?? []
  }

  /// Makes a client that actions can be run on; faults of the configuration are errors of that kind.
  public func connect(_ configuration: Value, in context: PluginContext) async throws(ActionError) -> any Sendable {
    do { return try await type.connect(reading: configuration, in: context) } catch { throw ActionError(error) }
  }

  /// Starts the plugin's sandbox, or gives nil if it brings none.
  public func startSandbox(_ options: SandboxOptions) async throws(ActionError) -> (any RunningSandbox)? {
    do { return try await (type as? any SandboxedPlugin.Type)?.startSandbox(options) } catch {
      throw ActionError(error)
    }
  }
}

extension Plugin {
  fileprivate static var configurationSchema: ObjectSchema { Configuration.schema }
  fileprivate static var actionNames: [String] { actions.map { $0.name } }
  fileprivate static var descriptors: [ActionDescriptor] { actions.map { describe($0) } }

  private static func describe<A: Action>(_ action: A.Type) -> ActionDescriptor { ActionDescriptor(action, of: name) }

  fileprivate static func descriptor(of name: String) -> ActionDescriptor? {
    let action =
      actions.first { $0.name.hasSameScalars(as: name) }
      // Asked for only now, because a cast to a protocol that is not there is slow.
      ?? actions.first {
        ($0 as? any RenamedAction.Type)?.formerNames.contains { $0.hasSameScalars(as: name) } == true
      }
    return action.map { describe($0) }
  }

  fileprivate static func connect(reading value: Value, in context: PluginContext) async throws -> any Sendable {
    let configuration: Configuration
    do {
      configuration = try Configuration(checking: value, as: "connections.\(context.connection)")
    } catch {
      throw ActionError(.configuration, error.description, cause: error)
    }
    return try await connect(configuration, in: context)
  }
}
