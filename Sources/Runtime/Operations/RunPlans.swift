// How plans of runs are made and found.
import ActionKit
import Agent
import Basics
import Recipes
import RunState
import Runs

extension AgentParts {
  /// A plan that is kept.
  func planned(_ digest: String, of recipe: String? = nil) throws(RequestRefusedError) -> PlanCache.Kept {
    let kept = plans.plan(digest, at: time.now())
    if let kept, recipe.map({ $0.hasSameScalars(as: kept.plan.recipe) }) ?? true { return kept }
    throw unknownPlan(digest, of: recipe)
  }

  /// The refusal of a digest that no kept plan has.
  func unknownPlan(_ digest: String, of recipe: String? = nil) -> RequestRefusedError {
    RequestRefusedError(
      .notFound,
      "there is no plan '\(digest.shortened(to: 64))'\(recipe.map { " of '\($0)'" } ?? ""); plans are kept for an hour, and until the agent starts again; plan again"
    )
  }

  /// Makes the plan of a run.
  func madePlan(of run: RunCreated, reading secrets: [String]) async throws(RequestRefusedError) -> PlanRecord {
    guard let planner else { throw RequestRefusedError(.request, "no plans are made here") }
    guard plans.begin() else {
      throw RequestRefusedError(
        .busy,
        "the agent is making \(PlanCache.mostMade) plans already, and makes no more at once; try again in a few seconds"
      )
    }
    defer { plans.end() }
    await store.secrets.learn(named: secrets)
    let result = await withTaskGroup(of: Result<PlanRecord.MadeForRun, RequestRefusedError>?.self) { [time] group in
      group.addTask {
        do throws(RequestRefusedError) { return .success(try await planner(run)) } catch { return .failure(error) }
      }
      group.addTask {
        try? await time.sleep(for: PlanCache.longestMade)
        return nil
      }
      let first = await group.next()
      // Reads in progress are cancelled, also when the caller has left.
      group.cancelAll()
      return first ?? nil
    }
    guard let result, !Task.isCancelled else {
      throw RequestRefusedError(
        .timeout,
        "the plan took longer than \(PlanCache.longestMade.written), and was given up; nothing was written. The command line has no limit: errand plan \(run.file.shellQuoted)"
      )
    }
    let made = try result.get()
    guard made.text.utf8.count <= PlanCache.largest else {
      throw RequestRefusedError(
        .configuration,
        "the plan has more than 4 MiB, which is the most that is kept; the command line on the agent's machine has no limit"
      )
    }
    return try PlanRecord(made, of: run)
  }
}
