/// The source of a plugin's declaration: a type of this program, or data such as a lock file.
package protocol PluginSource: Sendable {
  /// The name that recipes use before an action's.
  var name: String { get }
  /// One sentence about the purpose of the service.
  var summary: String { get }
  /// The settings of a connection in `errand.yaml`.
  var configuration: ObjectSchema { get }
  /// The names of the actions, in the order of the pages.
  var actionNames: [String] { get }
  /// All actions; reads their declarations.
  var actions: [ActionDescriptor] { get }
  /// Its reach outside.
  var reach: PluginReach { get }
  /// Distinguishes this version of its declaration from others; nil for a plugin that is part of the program.
  var digest: String? { get }
  /// The module of its client, and some lines of Swift that use it.
  var library: (module: String, usage: String)? { get }
  /// Whether it has a sandbox.
  var hasSandbox: Bool { get }

  /// The action of that name or former name; reads its declaration.
  func action(_ name: String) -> ActionDescriptor?
  /// The resources that an action touches on a connection with these settings, as far as its input is known.
  func footprint(of action: String, _ input: Value, settings: Value, in context: ActionContext) -> Footprint
  /// Whether its actions may have refusals.
  var mayRefuse: Bool { get }
  /// The values that an action is certain to refuse on a connection with these settings, if they are known.
  func refusals(of action: String, _ input: StepInput, settings: Value?, in context: ActionContext) -> [Refusal]
  /// Creates a client to run actions on.
  func connect(_ configuration: Value, in context: PluginContext) async throws -> any Sendable
  /// Starts its sandbox, or returns nil if it has none.
  func startSandbox(_ options: SandboxOptions) async throws -> (any RunningSandbox)?
}

extension PluginSource {
  package var library: (module: String, usage: String)? { nil }
  package var hasSandbox: Bool { false }
  package var mayRefuse: Bool { true }
  package func startSandbox(_ options: SandboxOptions) async throws -> (any RunningSandbox)? { nil }
}

/// The reach of a plugin outside, which determines the content of a recording of its actions.
package enum PluginReach: Sendable {
  /// Anything: a recording holds the calls of its actions.
  case anything
  /// HTTP services, by requests that its context's client makes: a recording holds the requests.
  case web
  /// Nothing outside this machine and its state.
  case local
}

/// A plugin that is a type of this program.
struct CompiledPlugin: PluginSource {
  let type: any Plugin.Type

  var name: String { type.name }
  var summary: String { type.summary }
  var configuration: ObjectSchema { type.configurationSchema }
  var actionNames: [String] { type.actionNames }
  var actions: [ActionDescriptor] { type.descriptors }
  var reach: PluginReach {
    type is any WebPlugin.Type ? .web : type is any LocalPlugin.Type ? .local : .anything
  }
  var digest: String? { nil }
  var library: (module: String, usage: String)? {
    guard let library = type as? any ClientLibrary.Type,
      let module = String(reflecting: type).split(separator: ".").first
    else { return nil }
    return (String(module), library.usage)
  }
  var hasSandbox: Bool { type is any SandboxedPlugin.Type }

  func action(_ name: String) -> ActionDescriptor? { type.descriptor(of: name) }

  func footprint(of action: String, _ input: Value, settings: Value, in context: ActionContext) -> Footprint {
    (type as? any FootprintPlugin.Type)?.footprint(of: action, input, settings: settings, in: context) ?? .everything
  }

  var mayRefuse: Bool { type is any RefusingPlugin.Type }

  func refusals(of action: String, _ input: StepInput, settings: Value?, in context: ActionContext) -> [Refusal] {
    (type as? any RefusingPlugin.Type)?.refusals(of: action, input, settings: settings, in: context) ?? []
  }

  func connect(_ configuration: Value, in context: PluginContext) async throws -> any Sendable {
    try await type.connect(reading: configuration, in: context)
  }

  func startSandbox(_ options: SandboxOptions) async throws -> (any RunningSandbox)? {
    try await (type as? any SandboxedPlugin.Type)?.startSandbox(options)
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
      // Checked last, because a cast to a protocol without conformance is slow.
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
