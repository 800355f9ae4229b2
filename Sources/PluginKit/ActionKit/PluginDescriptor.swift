/// All that runs, checks and pages know of a plugin, and the plugin itself behind it.
public struct PluginDescriptor: Sendable {
  private let source: any PluginSource

  /// Creates a descriptor; reads nothing.
  public init(_ plugin: any Plugin.Type) { source = CompiledPlugin(type: plugin) }

  /// Creates a descriptor of a plugin from anywhere.
  package init(_ source: any PluginSource) { self.source = source }

  /// The name that recipes use before an action's.
  public var name: String { source.name }
  /// One sentence that says what the service is good for.
  public var summary: String { source.summary }
  /// What `errand.yaml` says of a connection.
  public var configuration: ObjectSchema { source.configuration }
  /// Whether a recipe can use the plugin without an entry in `errand.yaml`.
  public var worksUnconfigured: Bool { !configuration.fields.contains { $0.isRequired } }
  /// The names of the actions, in the order in which the pages show them.
  public var actionNames: [String] { source.actionNames }
  /// All actions, each read.
  public var actions: [ActionDescriptor] { source.actions }
  /// What a program has to have to run its actions as they were checked: the name, for a plugin from data with a hash.
  package var identity: String { source.digest.map { "\(name)@\($0)" } ?? name }
  /// Whether it is from a lock, and not part of the program.
  package var isFromOutside: Bool { source.digest != nil }
  /// The module of the plugin's client, and some lines of Swift that use it; nil for a plugin that shows none.
  var library: (module: String, usage: String)? { source.library }
  /// Whether the plugin needs no sandbox.
  public var isLocal: Bool { source.reach == .local }
  /// Whether the plugin reaches what is outside by HTTP requests alone.
  public var isWeb: Bool { source.reach == .web }
  /// Whether the plugin brings a sandbox.
  public var hasSandbox: Bool { source.hasSandbox }

  /// The action of that name or former name, read.
  public func action(_ name: String) -> ActionDescriptor? { source.action(name) }

  /// What an action touches on a connection of these settings, as far as its input is known.
  package func footprint(
    of action: String, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint {
    source.footprint(of: action, input, settings: settings, in: context)
  }

  /// Whether one of its actions may refuse something for certain.
  package var mayRefuse: Bool { source.mayRefuse }

  /// What an action refuses for certain on a connection of these settings, if they are known.
  package func refusals(
    of action: String, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    source.refusals(of: action, input, settings: settings, in: context)
  }

  /// Makes a client that actions can be run on; faults of the configuration are errors of that kind.
  public func connect(_ configuration: Value, in context: PluginContext) async throws(ActionError) -> any Sendable {
    do { return try await source.connect(configuration, in: context) } catch { throw ActionError(error) }
  }

  /// Starts the plugin's sandbox, or gives nil if it brings none.
  public func startSandbox(_ options: SandboxOptions) async throws(ActionError) -> (any RunningSandbox)? {
    do { return try await source.startSandbox(options) } catch { throw ActionError(error) }
  }
}
