import Basics
import Recipes
import RunState

/// Runs a recipe from its first step to its outputs, with `onFailure` and `finally`; a called recipe like the run's
/// own.
struct RecipeRunner {
  let run: RunContext
  let recipe: Recipe
  let scope: CancelScope
  let prefix: String
  let depth: Int

  /// The outputs, or how the recipe ended without them.
  func outputs(in environment: Environment) async throws(StepInterruption) -> Value {
    var environment = environment
    var result: Result<Value, StepInterruption>
    do throws(StepInterruption) {
      try await runner(scope, prefix).run(recipe.steps, in: &environment)
      result = .success(try await evaluated(in: environment))
    } catch {
      // An open run has no end to handle yet.
      if error.leavesRunOpen { throw error }
      result = .failure(error)
    }
    var failure: RunError?
    if case .failure(.failed(let error)) = result {
      failure = error
      if let block = recipe.onFailure {
        // Reports the error that led here; `onFailure` may fail, or be cancelled, and `finally` still runs.
        if let exit = await handled(block, "onFailure", environment, error.value, in: scope), exit.leavesRunOpen {
          throw exit
        }
      }
    }
    if let block = recipe.finally, let exit = await cleanedUp(block, environment, Value(.optional(failure?.value))) {
      // A failure of `finally` counts if nothing failed before.
      if exit.leavesRunOpen { throw exit }
      if case .success = result { throw exit }
    }
    return try result.get()
  }

  /// The outputs.
  ///
  /// They are recorded where `onFailure` or `finally` may have acted on them before a crash.
  private func evaluated(in environment: Environment) async throws(StepInterruption) -> Value {
    let path = "\(prefix)#outputs"
    let (known, now) = run.journal.reached(path)
    if let error = known?.error { throw .failed(error) }
    var environment = environment
    environment.now = now
    var outputs = ValueMap()
    var failure: RunError?
    do throws(StepInterruption) {
      for output in recipe.outputs {
        outputs[output.name] = try run.evaluate(output.template, in: environment, step: path)
      }
    } catch {
      guard case .failed(let error) = error else { throw error }
      failure = error
    }
    if known == nil, failure != nil || recipe.finally != nil, !recipe.outputs.isEmpty {
      let status = failure.map(StepStatus.ended) ?? .succeeded
      run.journal.hold([
        .stepEnded(
          StepEnded(run: run.id, at: run.time.now(), step: path, now: now, status: status, error: failure))
      ])
    }
    if let failure { throw .failed(failure) }
    return .map(outputs)
  }

  private func runner(_ scope: CancelScope, _ prefix: String) -> StepRunner {
    StepRunner(run: run, scope: scope, prefix: prefix, depth: depth)
  }

  /// Runs a handler; gives its interruption, if any.
  private func handled(
    _ block: Block, _ name: String, _ environment: Environment, _ error: Value, in scope: CancelScope
  ) async -> StepInterruption? {
    var environment = environment.forHandlers(names: recipe.topLevelNames)
    environment.bind(error)
    do throws(StepInterruption) {
      try await runner(scope, "\(prefix)#\(name)/").run(block, in: &environment)
      return nil
    } catch {
      return error
    }
  }

  /// Runs `finally`; gives its interruption, if any.
  ///
  /// A cancelled run still cleans up: in a task that its cancellation doesn't reach, bounded by the steps' own time
  /// limits, and in a scope that only the end of the program ends.
  private func cleanedUp(_ block: Block, _ environment: Environment, _ error: Value) async -> StepInterruption? {
    await Task { await handled(block, "finally", environment, error, in: scope.root) }.value
  }
}
