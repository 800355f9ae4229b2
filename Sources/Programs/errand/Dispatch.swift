import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import PluginList
import PluginLocks
import Recipes

/// Calls the code of the command that was parsed.
struct Dispatch {
  let parsed: Parsed
  let console: Console
  let catalog: ActionCatalog

  init(_ parsed: Parsed, plugins: [any Plugin.Type]) {
    self.parsed = parsed
    console = Console(
      noColour: parsed["no-color"].isGiven, isQuiet: parsed["quiet"].isGiven, isVerbose: parsed["verbose"].isGiven)
    // If it can't be used, the commands that need it report that.
    let configuration = try? Workspace.configurationFile(parsed["config"].text, besides: nil)
    catalog = ActionCatalog(plugins) { LockFolder($0, kinds: everyLockKind) }
      .looking(in: configuration.map(Workspace.folder) ?? Workspace.workingFolder)
  }

  func run() async -> ExitCode {
    do throws(RuntimeError) {
      try refuseRemote()
      switch parsed.command.first {
      case "run": return try await RunCommand(dispatch: self).run()
      case "plan" where parsed["show"].isGiven: return try await KeptPlanCommand(dispatch: self).run()
      case "plan": return try await RunCommand(dispatch: self).plan()
      case "serve": return try await ServeCommand(dispatch: self).run()
      case "check": return try await checkRecipes()
      case "lint": return try await lintRecipes()
      case "test": return try await TestCommand(dispatch: self).run()
      case "runs": return try await RunsCommand(dispatch: self).run()
      case "schedule": return try await ScheduleCommand(dispatch: self).run()
      case "status": return try await StatusCommand(dispatch: self).run()
      case "reload": return try await ReloadCommand(dispatch: self).run()
      case "recipes": return try await RecipesCommand(dispatch: self).run()
      case "connections": return try await ConnectionsCommand(dispatch: self).run()
      case "why": return try await WhyCommand(dispatch: self).run()
      case "new":
        switch parsed.command.last {
        case "test": return try await NewTestCommand(dispatch: self).run()
        case "shape": return try NewShapeCommand(dispatch: self).run()
        case "folder": return try NewFolderCommand(dispatch: self).run()
        case "plugin": return try NewPluginCommand(dispatch: self).run()
        default: return try NewRecipeCommand(dispatch: self).run()
        }
      case "help": return try HelpCommand(dispatch: self).run()
      case "graph": return try await drawGraph()
      case "actions": return try listActions()
      case "eval": return try evaluate()
      case "schema":
        let schema = parsed["file"].text.flatMap(FileSchema.init(rawValue:)) ?? .recipe
        console.out(json: schema.document(catalog))
        return .done
      case "plugin": return try await PluginCommand(dispatch: self).run()
      case "lsp": return await serveEditor()
      case "mcp": return try await MCPCommand(dispatch: self).run()
      case "sandbox": return try await keepSandbox()
      case "state": return try await StateCommand(self).run()
      case "workers": return try await WorkersCommand(dispatch: self).run()
      case "form": return try await FormCommand(dispatch: self).run()
      case "open": return try await OpenCommand(dispatch: self).run()
      case "token": return try await TokenCommand(dispatch: self).run()
      case "secrets": return try await SecretsCommand(self).run()
      case "doctor": return try await DoctorCommand(self).run()
      case "manual":
        let manual = parsed["page"].text.flatMap(Manual.init(rawValue:)) ?? .errand
        console.out(String(manual.text(catalog).dropLast()))
        return .done
      default: return await completions()
      }
    } catch {
      console.error("\(Style.red.applied(to: "error", console.colourError)): \(error.message.safeText())")
      return ExitCode(error.kind)
    }
  }

  /// The workspace of a command.
  ///
  /// - Parameters:
  ///   - configuration: The text of errand.yaml, which replaces the file's.
  ///   - show: Called with the warnings and faults of errand.yaml, after they are on the console.
  func workspace(
    besides recipe: String? = nil, inState state: String? = nil, configuration: Source? = nil,
    show: (Diagnostics) -> Void = { _ in }
  ) throws(RuntimeError) -> Workspace {
    let workspace = try Workspace(
      catalog: catalog, configurationPath: parsed["config"].text, stateFolder: state ?? parsed["state"].text,
      besides: recipe, text: configuration
    ) {
      console.show($0)
      show($0)
    }
    let keepsState = [
      "run", "plan", "serve", "runs", "schedule", "why", "state", "doctor", "token", "form", "open", "workers", "mcp",
      "status", "reload", "recipes", "connections",
    ].contains(parsed.command.first)
    let isApart =
      ["run", "plan", "mcp"].contains(parsed.command.first)
      && (parsed["sandbox"].isGiven || parsed.command.first == "run" && parsed["replay"].isGiven)
    if workspace.stateFolder.isEmpty, keepsState, !isApart {
      throw RuntimeError(
        .configuration,
        "there is no errand.yaml, and neither $HOME nor $XDG_STATE_HOME is set; name the state's folder with --state DIR"
      )
    }
    return workspace
  }
}

/// A command with a type of its own.
protocol DispatchedCommand {
  var dispatch: Dispatch { get }
}

extension DispatchedCommand {
  var parsed: Parsed { dispatch.parsed }
  var console: Console { dispatch.console }
  var asJSON: Bool { parsed["json"].isGiven }
}
