import Basics
import Recipes
package import RunState
package import Runs

/// Takes what people say of uncertain steps.
package struct RunResolutions: Sendable {
  let host: RunHost

  /// Records the outcome of an uncertain step durably; the run continues when it is resumed the next time.
  ///
  /// Resolutions of a run are kept one after another, and never beside a walk, which knows only what was there when it
  /// began: one that has just begun is waited for, and the next begins when they are kept.
  package func resolve(
    _ id: String, step: StepPath, as resolution: Resolution, by person: String? = nil, key: RunKey? = nil
  ) async throws(RunRefusedError) {
    try await resolve(id, step, resolution, person, key, on: host)
  }

  private func resolve(
    _ id: String, _ step: StepPath, _ resolution: Resolution, _ person: String?, _ key: RunKey?,
    on host: isolated RunHost
  ) async throws(RunRefusedError) {
    let before = host.lives[id]?.resolution
    // Ends when the resolution is kept; it is never cancelled.
    let task = Task { () -> Result<Void, RunRefusedError> in
      _ = await before?.value
      defer { host.change(id) { $0.resolutionEnded() } }
      do throws(RunRefusedError) {
        return .success(try await keep(id, step, resolution, person, key, on: host))
      } catch {
        return .failure(error)
      }
    }
    host.change(id) { $0.resolving(by: task) }
    let result = await task.value
    // A caller who asked to resume it meanwhile was told that this happens.
    await host.attempt(host.change(id) { $0.resolved() }, for: id)
    try result.get()
  }

  private func keep(
    _ id: String, _ step: StepPath, _ resolution: Resolution, _ person: String?, _ key: RunKey?,
    on host: isolated RunHost
  ) async throws(RunRefusedError) {
    let store = host.store
    guard try await host.take(id) else {
      throw RunRefusedError("the run \(id) is being carried on, so there is nothing to resolve")
    }
    guard let asked = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    // It stays as it was when the run was accepted, even if the run changes meanwhile.
    let recipe: Recipe?
    do throws(RunRefusedError) { recipe = try await host.prepare(asked).recipe } catch {
      // A step can be resolved even if its run can't be resumed, so that the run can be ended.
      if case .retry = resolution { throw error }
      recipe = error.recipe
      let doubts = asked.doubting(at: host.time.now())
      if !doubts.isEmpty, asked.uncertainSteps.isEmpty { try? await host.keeper.append(doubts) }
    }
    // A walk records its uncertain steps a moment before it is over.
    while let status = store.run(id)?.status, status == .uncertain || status == .paused,
      let walk = host.lives[id]?.walk
    {
      await walk.task.value
    }
    guard let run = store.run(id) else { throw RunRefusedError("there is no open run \(id)") }
    do {
      _ = try await run.resolve(
        step, as: resolution, by: person, key: key, of: recipe, in: store, at: host.time.now())
    } catch {
      if let error = error as? StateError, host.keeper.isFailure(error) { host.keeper.fail(error) }
      let message = (error as? ResolutionError)?.message ?? (error as? StateError)?.message
      throw RunRefusedError(message ?? "\(error)")
    }
  }
}
