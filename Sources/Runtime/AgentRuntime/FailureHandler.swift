package import Agent
package import Basics
package import Recipes
import RunState
import Runs

/// Makes the runs of the recipe that `onFailure` of errand.yaml names.
///
/// Such a run is created in the batch that records how the other run failed, so that each failure is told once, crash or
/// not. A run that tells of a failure and fails itself starts nothing more.
package struct FailureHandler: Sendable {
  let workspace: Workspace
  let time: any TimeSource
  /// The program's version.
  let program: String

  /// The recipe's file.
  private var file: String? {
    workspace.configuration.onFailure.map { Workspace.absolute($0.file, in: workspace.root) }
  }

  /// The run that tells of another run, whose last event is given.
  func run(after run: RunRecord, _ event: StateEvent, in store: any StateStore) async throws(RunRefusedError)
    -> RunCreated?
  {
    guard let file, run.origin.cause.kind != .failure, !run.origin.sandbox else { return nil }
    let (status, error): (RunStatus, RunError?)
    switch event {
    case .runEnded(let end): (status, error) = (end.status, end.error)
    case .runStatusChanged(let change): (status, error) = (change.status, run.uncertainSteps.first?.error)
    default: return nil
    }
    guard FailureInputs.statuses.contains(status.rawValue) else { return nil }
    guard let recipe = try workspace.failureRecipe?.get() else { return nil }
    let told = FailureInputs(
      runID: run.id, recipe: run.recipe, status: status.rawValue,
      message: error?.message ?? "it was \(status.rawValue)", detail: error?.detail ?? "",
      step: error?.step ?? "", link: "errand runs show \(run.id)")
    let inputs: ValueMap
    switch told.inputs(of: recipe) {
    case .success(let values): inputs = values
    case .failure(let faults): throw RunRefusedError(faults.list.map(\.message).joined(separator: "; "))
    }
    await store.secrets.learn(named: recipe.allSecrets.map(\.name))
    let texts: StoredValue
    do throws(StateError) { texts = try await store.keep(.map(recipe.texts)) } catch {
      throw RunRefusedError(error.message)
    }
    var random = SystemRandomNumberGenerator()
    let now = time.now()
    var created = RunCreated(
      run: UUID7(at: now, using: &random).description, at: now, recipe: recipe.name, file: file, texts: texts,
      inputs: .map(inputs), program: program, language: LanguageVersion.current, cause: RunCause(.failure, run: run.id),
      group: recipe.group, zone: recipe.folderZone)
    created.base = workspace.configuration.server.base
    workspace.place(&created, of: recipe)
    return created
  }
}

extension Workspace {
  /// The recipe that `onFailure` names, or why it can't be used; nil if none is named.
  package var failureRecipe: Result<Recipe, RunRefusedError>? {
    guard let file = configuration.onFailure?.file else { return nil }
    let (recipe, fault) = recipe(Workspace.absolute(file, in: root), among: .null)
    guard let recipe else { return .failure(RunRefusedError(fault ?? "it cannot be read")) }
    return FailureInputs.fault(of: recipe).map { .failure(RunRefusedError($0)) } ?? .success(recipe)
  }

  /// Why the recipe that `onFailure` names can't be used, if it can't.
  package var failureRecipeFault: Diagnostic? {
    if case .failure(let error)? = failureRecipe { failureRecipeFault(error) } else { nil }
  }

  /// The fault in errand.yaml of a recipe that can't be used.
  package func failureRecipeFault(_ error: RunRefusedError) -> Diagnostic {
    Diagnostic(
      "the recipe '\(configuration.onFailure?.file ?? "")', which 'onFailure' names, can't be used: \(error.message)",
      at: configuration.onFailure?.location)
  }
}
