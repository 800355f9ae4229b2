/// A plugin and its declaration, for runs, checks and pages.
public struct PluginDescriptor: Sendable {
  private let source: any PluginSource

  /// Creates a descriptor; reads nothing.
  public init(_ plugin: any Plugin.Type) { source = CompiledPlugin(type: plugin) }

  /// Creates a descriptor of a plugin from anywhere.
  package init(_ source: any PluginSource) { self.source = source }

  /// The name that recipes use before an action's.
  public var name: String { source.name }
  /// One sentence about the purpose of the service.
  public var summary: String { source.summary }
  /// The settings of a connection in `errand.yaml`.
  public var configuration: ObjectSchema { source.configuration }
  /// Whether a recipe can use the plugin without an entry in `errand.yaml`.
  public var worksUnconfigured: Bool { !configuration.fields.contains { $0.isRequired } }
  /// The names of the actions, in the order of the pages.
  public var actionNames: [String] { source.actionNames }
  /// All actions; reads their declarations.
  public var actions: [ActionDescriptor] { source.actions }
  /// Identifies the plugin that a recipe was checked with: the name, with a hash for a plugin from data.
  package var identity: String { source.digest.map { "\(name)@\($0)" } ?? name }
  /// Whether it comes from a lock, and isn't a part of the program.
  package var isFromOutside: Bool { source.digest != nil }
  /// The module of the plugin's client, and some lines of Swift that use it; nil for a plugin without them.
  var library: (module: String, usage: String)? { source.library }
  /// Whether the plugin needs no sandbox.
  public var isLocal: Bool { source.reach == .local }
  /// Whether the plugin reaches the outside only by HTTP requests.
  public var isWeb: Bool { source.reach == .web }
  /// Whether the plugin has a sandbox.
  public var hasSandbox: Bool { source.hasSandbox }

  /// The action of that name or former name; reads its declaration.
  public func action(_ name: String) -> ActionDescriptor? { source.action(name) }

  /// The resources that an action touches on a connection with these settings, as far as its input is known.
  package func footprint(
    of action: String, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint {
    source.footprint(of: action, input, settings: settings, in: context)
  }

  /// Whether its actions may have refusals.
  package var mayRefuse: Bool { source.mayRefuse }

  /// The values that an action is certain to refuse on a connection with these settings, if they are known.
  package func refusals(
    of action: String, _ input: StepInput, settings: Value?, in context: ActionContext
  ) -> [Refusal] {
    source.refusals(of: action, input, settings: settings, in: context)
  }

  /// Creates a client to run actions on; errors in the configuration are errors of that kind.
  public func connect(_ configuration: Value, in context: PluginContext) async throws(ActionError) -> any Sendable {
    do { return try await source.connect(configuration, in: context) } catch { throw ActionError(error) }
  }

  /// Starts the plugin's sandbox, or returns nil if it has none.
  public func startSandbox(_ options: SandboxOptions) async throws(ActionError) -> (any RunningSandbox)? {
    do { return try await source.startSandbox(options) } catch { throw ActionError(error) }
  }
}
