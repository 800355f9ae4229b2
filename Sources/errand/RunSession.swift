import ActionKit
import Agent
import Basics
import Glibc
import Recipes
import RunState
import Runs

/// Carrying runs on for one command: as the state folder's agent, as the client of the one there is, or in a sandbox.
struct RunSession: Sendable {
  let workspace: Workspace
  let secrets: Secrets
  let console: Console
  let time: SystemTime
  let display: ProgressDisplay

  // MARK: In a sandbox

  /// Runs against the plugins' sandboxes, in a state of its own that goes with the process.
  func runInSandbox(_ origin: RunCreated, of recipe: Recipe, asJSON: Bool) async throws(CommandFailure) -> ExitCode {
    var running: [any RunningSandbox] = []
    var settings: [String: Value] = [:]
    for name in recipe.connectionNames {
      let plugin = workspace.configuration.plugins[name] ?? name
      guard settings[plugin] == nil, let descriptor = workspace.catalog.plugin(plugin) else { continue }
      do throws(ActionError) {
        guard let sandbox = try await descriptor.startSandbox(SandboxOptions(time: time)) else {
          throw CommandFailure(.configuration, "plugin '\(plugin)' has no sandbox")
        }
        running.append(sandbox)
        settings[plugin] = sandbox.configuration
        console.say("\(Style.dim.applied(to: "sandbox of \(plugin) at \(sandbox.baseURL)", console.colourError))")
      } catch let failure {
        throw CommandFailure(.unavailable, "the sandbox of '\(plugin)' did not start: \(failure.message)")
      }
    }
    let code = try await carryOn(origin, in: MemoryStateStore(), sandboxes: settings, asJSON: asJSON)
    for sandbox in running {
      for line in await sandbox.summaryLines() where !asJSON { console.say(Style.dim.applied(to: line, console.colourError)) }
      await sandbox.stop()
    }
    return code
  }
}
