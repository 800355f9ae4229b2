import ActionKit
import Agent
import Basics
import Glibc
import Recipes
import Recordings
import RunState
import Runs
import SecretSources

/// What runs are prepared with: where they work, their secrets, and the services that they share.
struct RunFactory: Sendable {
  var workspace: Workspace
  var secrets: SecretSources
  let pool: ServicePool
  let time: any TimeSource
  /// The settings of what stands in for every connection, by its name: sandboxes, or a recording.
  var standIns: [String: Value] = [:]
  /// Where the paths of recipes start; nil for the folder of errand.yaml.
  var folder: String?
  /// What stands between services and the network.
  var interceptor: PluginContext.Interceptor?
  /// What stands between runs and the actions of plugins that speak something else than HTTP.
  var calls: (any CallInterceptor)?
  /// What takes down the exchanges of services.
  var recorder: Recorder?
  /// What `now` is of the steps of runs that are played again.
  var instants: (@Sendable (RunRecord) -> (@Sendable (StepPath) -> Timestamp?)?)?

  /// Checks a run's recipe again, as it was when the run was accepted, against the actions of this program.
  func prepared(_ record: RunRecord, from store: some StateStore) async throws(RunRefusedError) -> PreparedRun {
    let texts: Value
    var overrides: [String: Value] = [:]
    do throws(StateError) {
      texts = try await store.restored(record.origin.texts, as: "the run's recipe")
      for (path, value) in record.origin.overrides {
        overrides[path] = try await store.secrets.restored(value, as: "the setting '\(path)'")
      }
    } catch {
      throw RunRefusedError(
        error.kind == .secret ? "\(error.message), then: errand runs resume \(record.id)" : error.message)
    }
    let checked = check(record.origin.file, among: texts) { record.steps[$0]?.status.isEnded ?? false }
    guard let recipe = checked.recipe else {
      let faults = Diagnostics(checked.diagnostics.filter { $0.severity == .error })
      throw RunRefusedError(
        """
        its recipe, as it was when the run began, does not fit this version of errand any more:
        \(faults.rendered())
        End it with 'errand runs cancel \(record.id)', mend \(record.origin.file), and start it anew; \
        \(record.origin.program) can still finish it
        """)
    }
    do throws(CommandError) {
      let inputs = record.origin.inputs
      let secrets =
        standIns.isEmpty
        ? try await workspace.secrets(of: recipe, inputs: inputs, overrides: overrides, from: secrets)
        : Secrets(environment: await workspace.secretsApart(of: recipe, inputs: inputs, from: secrets))
      let services = try workspace.services(
        for: recipe, secrets: secrets, overrides: overrides, standIns: standIns, time: time, pool: pool,
        interceptor: interceptor, calls: calls, recorder: recorder, from: record.origin.folder)
      recorder?.note(folder: folder ?? workspace.root)
      recorder?.hide(store.secrets)
      var run = PreparedRun(recipe: recipe, secrets: secrets, services: services, folder: folder ?? workspace.root)
      run.instants = instants?(record)
      if let recorder { run.notingInstants = { recorder.note(now: $1, of: $0) } }
      return run
    } catch {
      throw RunRefusedError(error.message)
    }
  }

  /// Why runs of a recipe would be refused here; nil if they would not.
  ///
  /// No command is run to find out.
  func refusal(of recipe: Recipe, inputs: Value) async -> String? {
    do throws(CommandError) {
      _ = try await workspace.secrets(of: recipe, inputs: inputs, overrides: [:], from: secrets, runsCommands: false)
      return nil
    } catch {
      return error.message
    }
  }

  /// Checks a recipe whose texts are kept; what is over need not fit.
  func check(
    _ file: String, among texts: Value, isForPlan: Bool = false,
    isOver: @escaping @Sendable (StepPath) -> Bool = { _ in false }
  ) -> CheckedRecipe {
    var environment = workspace.environment
    environment.isForPlan = isForPlan
    // What the run was started by matters no more.
    environment.passesOverTriggers = true
    environment.read = { path throws(FileError) in
      guard let text = texts[path]?.string else { throw FileError(.read, path, .system(ENOENT)) }
      return Source(name: path, text: text)
    }
    environment.isOver = isOver
    return Recipe.check(Source(name: file, text: texts[file]?.string ?? ""), in: environment)
  }
}

extension Recipe {
  /// The recipe's text and those of the recipes it calls, as a run keeps them.
  var texts: ValueMap {
    var texts = ValueMap()
    for recipe in all {
      texts[recipe.source.name] = .string(String(decoding: recipe.source.bytes, as: UTF8.self))
    }
    return texts
  }

  /// The group whose limit its runs keep to, as they record it.
  var group: RunGroup? {
    concurrency.map { RunGroup(name: $0.name, limit: $0.limit, onLimit: $0.onLimit.rawValue) }
  }
}
