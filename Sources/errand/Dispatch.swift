import ActionKit
import Basics
import CommandLineParser

/// From a command line that was read to what does it.
struct Dispatch {
  let parsed: Parsed
  let console: Console
  let catalog: ActionCatalog

  init(_ parsed: Parsed, plugins: [any Plugin.Type]) {
    self.parsed = parsed
    console = Console(
      noColour: parsed["no-color"].isGiven, isQuiet: parsed["quiet"].isGiven, isVerbose: parsed["verbose"].isGiven)
    catalog = ActionCatalog(plugins)
  }

  func run() async -> ExitCode {
    do throws(CommandFailure) {
      switch parsed.command.first {
      case "run": return try await RunCommand(self).run()
      case "check": return try checkRecipes()
      case "runs": return try await RunsCommand(self).run()
      case "actions": return try listActions()
      case "eval": return try evaluate()
      case "sandbox": return try await keepSandbox()
      default:
        let shell = parsed["shell"].text.flatMap(Shell.init(rawValue:)) ?? .bash
        console.out(program.completions(for: shell))
        return .done
      }
    } catch {
      console.error("\(Style.red.applied(to: "error", console.colourError)): \(error.message)")
      return error.code
    }
  }

  /// The workspace of a command.
  func workspace(besides recipe: String? = nil) throws(CommandFailure) -> Workspace {
    try Workspace(
      catalog: catalog, configurationPath: parsed["config"].text, stateFolder: parsed["state"].text, besides: recipe,
      console: console)
  }
}
