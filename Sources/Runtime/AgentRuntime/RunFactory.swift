package import ActionKit
package import Agent
package import Basics
package import LocalFiles
package import Recipes
package import Recordings
package import RunState
package import Runs
package import SecretSources

/// Prepares runs: their folder, their secrets, and the services that they share.
package struct RunFactory: Sendable {
  package var workspace: Workspace
  package var secrets: SecretSources
  package let pool: ServicePool
  package let time: any TimeSource
  /// The settings of sandboxes or of a recording, by connection; they replace the connection's own.
  package var connectionOverrides: [String: Value] = [:]
  /// The sandboxes that replace every service, if the whole agent is made up.
  package var sandboxes: ServedSandboxes?
  /// Where the paths of recipes start; nil for the folder of errand.yaml.
  package var folder: String?
  /// The copy that replaces the folder's files, in a sandbox.
  package var copy: FolderCopy? { didSet { folder = copy?.folder } }
  /// Intercepts requests between services and the network.
  package var interceptor: PluginContext.Interceptor?
  /// Intercepts calls of actions that don't use HTTP.
  package var calls: (any CallInterceptor)?
  /// Records the exchanges of services.
  package var recorder: Recorder?
  /// The value of `now` for each step of a replayed run.
  package var instants: (@Sendable (RunRecord) -> (@Sendable (StepPath) -> Timestamp?)?)?

  package init(workspace: Workspace, secrets: SecretSources, pool: ServicePool, time: any TimeSource) {
    self.workspace = workspace
    self.secrets = secrets
    self.pool = pool
    self.time = time
  }

  /// Checks a run's recipe again, as it was when the run was accepted, against the actions of this program.
  package func prepared(_ record: RunRecord, from store: some StateStore) async throws(RunRefusedError) -> PreparedRun {
    let texts: Value
    var overrides: [String: Value] = [:]
    do throws(StateError) {
      texts = try await store.restored(record.origin.texts, as: "the run's recipe")
      for (path, value) in record.origin.overrides {
        overrides[path] = try await store.secrets.restored(value, as: "the setting '\(path)'")
      }
    } catch {
      throw RunRefusedError(
        error.kind == .secret ? "\(error.message), then: errand runs resume \(record.id)" : error.message,
        missing: error.missing)
    }
    guard record.origin.language <= LanguageVersion.current else {
      throw RunRefusedError(
        "its recipe is of version \(record.origin.language) of the language, and this program knows up to \(LanguageVersion.current); resume it with errand \(record.origin.program) or later"
      )
    }
    let recipe: Recipe
    do throws(Diagnostics) { recipe = try checkedRecipe(of: record, among: texts) } catch {
      throw RunRefusedError(
        """
        its recipe, as it was when the run began, no longer fits this version of errand or the plugins here: \
        \(error.inOneLine). End it with 'errand runs cancel \(record.id)', fix \(record.origin.file), and start it again; \
        \(record.origin.program) with the plugins of then can still finish it
        """)
    }
    do throws(RuntimeError) {
      var connectionOverrides = connectionOverrides
      // A setting of a connection could lead a run out of the sandboxes.
      if let sandboxes {
        connectionOverrides = try await sandboxes.settings(of: recipe, in: workspace)
        overrides = [:]
      }
      let inputs = record.origin.inputs
      let isApart = sandboxes != nil || !connectionOverrides.isEmpty
      let secrets =
        !isApart
        ? try await workspace.secrets(of: recipe, inputs: inputs, overrides: overrides, from: secrets)
        : Secrets(environment: await secretsApart(of: recipe, inputs: inputs))
      // Sandboxes and recordings need no rest.
      let names = Set(!isApart && calls == nil ? recipe.connectionNames : [])
      let limiters = await pool.limiters(
        workspace.configuration.limits.filter { names.contains($0.key) }, keptIn: store)
      let services = try workspace.services(
        for: recipe, secrets: secrets, overrides: overrides, connectionOverrides: connectionOverrides, time: time,
        pool: pool,
        limiters: limiters,
        interceptor: sandboxes?.interceptor ?? interceptor, calls: calls, recorder: recorder,
        renewing: isApart ? nil : self.secrets, from: record.origin.folder, on: copy)
      recorder?.note(folder: folder ?? workspace.root)
      recorder?.hide(store.secrets)
      var run = PreparedRun(recipe: recipe, secrets: secrets, services: services, folder: folder ?? workspace.root)
      run.needs = workspace.needs(of: recipe, inputs: inputs, overrides: overrides)
      run.instants = instants?(record)
      if !isApart, interceptor == nil, workspace.configuration.onFailure != nil {
        let handler = FailureHandler(workspace: workspace, time: time, program: record.origin.program)
        run.failureRun = { run, event, store throws(RunRefusedError) in
          try await handler.run(after: run, event, in: store)
        }
      }
      if let recorder { run.notingInstants = { recorder.note(now: $1, of: $0) } }
      return run
    } catch {
      var refused = RunRefusedError(error.message)
      refused.recipe = recipe
      throw refused
    }
  }

  /// The secrets of a run against sandboxes.
  func secretsApart(of recipe: Recipe, inputs: Value) async -> [String: String] {
    var values = await workspace.secretsApart(of: recipe, inputs: inputs, from: secrets)
    guard let sandboxes else { return values }
    for secret in workspace.neededSecrets(of: recipe, inputs: inputs, isApart: true) where values[secret.name] == nil {
      values[secret.name] = sandboxes.secret(named: secret.name)
    }
    return values
  }

  private func checkedRecipe(of record: RunRecord, among texts: Value) throws(Diagnostics) -> Recipe {
    let file = record.origin.file
    let language = record.origin.language
    let zone = record.origin.zone
    let isCurrent = language == LanguageVersion.current
    if isCurrent, let recipe = workspace.checkedRecipes.recipe(file, among: texts, zone: zone) { return recipe }
    if let recipe = check(file, among: texts, language, zone: zone).recipe {
      if isCurrent { workspace.checkedRecipes.keep(recipe) }
      return recipe
    }
    // Finished steps need not fit this program; such a recipe belongs to this run alone.
    let checked = check(file, among: texts, language, zone: zone) { record.steps[$0]?.status.isEnded ?? false }
    guard let recipe = checked.recipe else {
      throw Diagnostics(checked.diagnostics.filter { $0.severity == .error })
    }
    return recipe
  }

  /// Records in a run that began elsewhere which workers may claim it; returns a sentence if its recipe can't be read.
  package func place(_ run: inout RunRecord, withTexts texts: Value) -> String? {
    do throws(Diagnostics) {
      workspace.place(&run.origin, of: try checkedRecipe(of: run, among: texts))
      // A state of one machine doesn't record the files that actions worked with; they are on this machine.
      if workspace.database != nil, !workspace.configuration.worker.sharedFolder, run.home == nil, run.hasActed {
        run.home = workspace.home
      }
      return nil
    } catch {
      return "the recipe of the run \(run.id) doesn't fit this version of errand, so that any machine may take it up"
    }
  }

  /// Why runs of a recipe would be refused here; nil if they wouldn't be.
  ///
  /// No command is run to find out.
  package func refusal(of recipe: Recipe, inputs: Value) async -> String? {
    // Where the state is shared, a run goes to a machine that has what it needs.
    if sandboxes != nil || workspace.database != nil { return nil }
    do throws(RuntimeError) {
      _ = try await workspace.secrets(of: recipe, inputs: inputs, overrides: [:], from: secrets, runsCommands: false)
      return nil
    } catch {
      return error.message
    }
  }

  /// Checks a recipe whose texts are kept; finished steps need not fit.
  ///
  /// - Parameter zone: The zone of recipes that name none, as the run's record has it.
  package func check(
    _ file: String, among texts: Value, _ language: Int = LanguageVersion.current, zone: String?,
    isForPlan: Bool = false,
    isOver: @escaping @Sendable (StepPath) -> Bool = { _ in false }
  ) -> CheckedRecipe {
    var environment = workspace.environment.ofKept(texts, in: language)
    environment.zone = zone
    environment.isForPlan = isForPlan
    // The trigger that started the run no longer matters.
    environment.passesOverTriggers = true
    environment.isOver = isOver
    return Recipe.check(Source(name: file, text: texts[file]?.string ?? ""), in: environment)
  }
}

extension Diagnostics {
  /// The faults with their places, without the lines of the source: a reason is one sentence.
  fileprivate var inOneLine: String {
    let faults = list.prefix(3).map { fault in
      guard let location = fault.location else { return fault.message }
      let position = location.source.position(at: location.range.lowerBound)
      return "\(location.source.name):\(position.line):\(position.column): \(fault.message)"
    }
    return faults.joined(separator: "; ") + (list.count > faults.count ? "; and \(list.count - faults.count) more" : "")
  }
}
