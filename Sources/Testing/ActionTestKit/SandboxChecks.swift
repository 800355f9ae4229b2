public import ActionKit
public import Testing
import YAMLReader

/// Starts a plugin's sandbox, connects to it, and ends it when the body is done.
public func withSandbox<P: SandboxedPlugin, Result>(
  of plugin: P.Type, time: any TimeSource = TestTime(),
  _ body: (_ service: P.Service, _ sandbox: any RunningSandbox) async throws -> Result
) async throws -> Result {
  let sandbox = try await P.startSandbox(SandboxOptions(time: time))
  do {
    let configuration = try P.Configuration(checking: sandbox.configuration, as: "the sandbox's configuration")
    let context = PluginContext(connection: P.name, time: time)
    let result = try await body(try await P.connect(configuration, in: context), sandbox)
    await sandbox.stop()
    return result
  } catch {
    await sandbox.stop()
    throw error
  }
}

/// Checks that every example of a plugin's actions does in its sandbox what the declaration says.
///
/// Each example gets a sandbox of its own. An example passes if the action succeeds and its output keeps to the
/// declared fields; a preview, where there is one, must succeed before.
///
/// - Parameter exceptions: The names of actions whose examples need a service in a state that a fresh sandbox is not.
public func expectExamplesRun<P: SandboxedPlugin>(
  of plugin: P.Type, except exceptions: Set<String> = [], sourceLocation: SourceLocation = #_sourceLocation
) async {
  for action in PluginDescriptor(plugin).actions where !exceptions.contains(where: { action.id == "\(P.name).\($0)" }) {
    for example in action.examples where !example.input.contains("${{") {
      do {
        let input = try example.value()
        try await withSandbox(of: plugin) { service, sandbox in
          let context = ActionContext.testing(step: action.id)
          _ = try await action.preview(input, on: service, in: context)
          let output = try await action.run(input, on: service, in: context)
          for fault in action.output.check(output, as: "output") {
            Issue.record("\(action.id), example '\(example.title)': \(fault.message)", sourceLocation: sourceLocation)
          }
        }
      } catch {
        Issue.record("\(action.id), example '\(example.title)': \(error)", sourceLocation: sourceLocation)
      }
    }
  }
}

extension Example {
  /// The input as a recipe would give it; no text at all gives no fields.
  func value() throws(Diagnostics) -> Value {
    guard input.utf8.contains(where: { $0 > 0x20 }) else { return .map(ValueMap()) }
    return try YAMLReader.read(Source(name: "example", text: input)).root
  }
}
