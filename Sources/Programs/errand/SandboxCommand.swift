import ActionKit
import AgentRuntime
import Basics
import CommandLineParser

extension Dispatch {
  /// `errand sandbox`: runs a plugin's sandbox until it is interrupted.
  func keepSandbox() async throws(RuntimeError) -> ExitCode {
    let name = parsed["plugin"].text ?? ""
    guard let plugin = catalog.plugin(name) else {
      let guess = name.nearest(among: catalog.plugins.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
      throw RuntimeError(.noInput, "no plugin is named '\(name)'\(guess)")
    }
    let sandbox: any RunningSandbox
    do throws(ActionError) {
      guard
        let started = try await plugin.startSandbox(SandboxOptions(port: parsed["port"].int ?? 0, time: SystemTime()))
      else { throw ActionError(.configuration, "plugin '\(name)' has no sandbox") }
      sandbox = started
    } catch {
      throw RuntimeError(.unavailable, error.message)
    }
    console.out("# sandbox of \(name) at \(sandbox.baseURL)")
    if sandbox.controlURL != sandbox.baseURL {
      console.say("Inject faults at \(sandbox.controlURL)/sandbox/fault.")
    }
    let configuration = try? Workspace.configurationFile(parsed["config"].text, besides: nil)
    let keys = ConfigurationKeys(configuration)
    // A key must not be there twice.
    let place = keys.connections == nil ? "" : " under 'connections'"
    let instead = keys.connections?[name] == nil ? "" : ", in place of '\(name)'"
    console.say("In errand.yaml\(place)\(instead), to run recipes against it:\n")
    let settings = sandbox.configuration.map?.members ?? []
    console.out("\(place.isEmpty ? "connections:\n" : "")  \(name):\(settings.isEmpty ? " {}" : "")")
    for member in settings {
      // YAML reads JSON, so numbers and booleans keep their types.
      let value = (try? JSON.text(member.value)) ?? JSON.quoted(member.value.plain)
      console.out("    \(member.key.plain): \(value)")
    }
    console.say("\nStop it with Ctrl-C.")
    let signal = await Signals.shared.next()
    for line in await sandbox.summaryLines() { console.say(line) }
    await sandbox.stop()
    return signal
  }
}
