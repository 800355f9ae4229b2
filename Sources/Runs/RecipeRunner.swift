import Basics
import Recipes
import RunState

/// Runs a recipe from its first step to its outputs, with `onFailure` and `finally`; a called recipe like the run's own.
struct RecipeRunner {
  let run: RunContext
  let recipe: Recipe
  let scope: CancelScope
  let prefix: String
  let depth: Int

  /// The outputs, or how the recipe ended without them.
  func outputs(in frame: Frame) async throws(StepExit) -> Value {
    var frame = frame
    var result: Result<Value, StepExit>
    do throws(StepExit) {
      try await runner(scope, prefix).run(recipe.steps, in: &frame)
      var outputs = ValueMap()
      frame.now = await run.journal.now()
      for output in recipe.outputs {
        outputs[output.name] = try run.evaluate(output.template, in: frame, step: "\(prefix)outputs")
      }
      result = .success(.map(outputs))
    } catch {
      result = .failure(error)
    }
    var failure: RunError?
    switch result {
    case .failure(.stopped), .failure(.uncertain), .failure(.stateFailed):
      // The run is not over, so its end is not handled.
      return try result.get()
    case .failure(.failed(let error)):
      failure = error
      if let block = recipe.onFailure {
        result = await handled(block, "onFailure", frame, error.value) ?? result
      }
    case .failure(.cancelled), .success: break
    }
    if let block = recipe.finally {
      let error = Value(.optional(failure?.value))
      if let exit = await handled(block, "finally", frame, error) {
        // The first failure is the one to be told; one of `finally` counts where there was none.
        if case .success = result { result = exit } else if case .failure(.failed) = exit {} else { result = exit }
      }
    }
    return try result.get()
  }

  private func runner(_ scope: CancelScope, _ prefix: String) -> StepRunner {
    StepRunner(run: run, scope: scope, prefix: prefix, depth: depth)
  }

  /// Runs a handler, and gives how it ended if that was not well.
  private func handled(
    _ block: Block, _ name: String, _ frame: Frame, _ error: Value
  ) async -> Result<Value, StepExit>? {
    var frame = frame.forHandlers(names: recipe.topLevelNames)
    frame.bind(error)
    let inner = frame
    // A cancelled run still cleans up: in a task that its cancellation does not reach, bounded by the steps' own time
    // limits, and in a scope of its own that only the end of the program ends.
    return await Task { () -> Result<Value, StepExit>? in
      var frame = inner
      do throws(StepExit) {
        try await runner(scope.root, "\(prefix)\(name)/").run(block, in: &frame)
        return nil
      } catch {
        return .failure(error)
      }
    }.value
  }
}
