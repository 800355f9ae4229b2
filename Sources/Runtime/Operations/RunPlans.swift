// Plans of runs of served recipes, and runs that are started by a plan.
import ActionKit
import Agent
import Basics
import Recipes
import RunState
import Runs

extension AgentParts {
  /// Plans a run of a served recipe, and keeps the plan.
  ///
  /// - Parameter digest: An earlier plan, whose inputs count if none are given.
  func plan(
    _ name: String, _ given: [(name: String, input: GivenInput)], likePlan digest: String?
  ) async throws(RequestRefusedError) -> PlanRecord {
    var inputs: ValueMap?
    if let digest {
      inputs = try planned(digest, of: name).inputs
      if !given.isEmpty {
        throw RequestRefusedError(.inputs, "the inputs are those of the plan; leave out either of them")
      }
    }
    let prepared = try await steered().startingRun(of: name, given: given, planned: inputs, as: newID())
    let plan = try await made(of: prepared.run, reading: prepared.secrets)
    plans.keep(plan, of: prepared.run.inputs.map ?? ValueMap())
    return plan
  }

  /// A plan that is kept.
  func planned(_ digest: String, of recipe: String? = nil) throws(RequestRefusedError) -> PlanCache.Kept {
    let kept = plans.plan(digest, at: time.now())
    if let kept, recipe.map({ $0.hasSameScalars(as: kept.plan.recipe) }) ?? true { return kept }
    throw RequestRefusedError(
      .notFound,
      "there is no plan '\(digest.shortened(to: 64))'\(recipe.map { " of '\($0)'" } ?? ""); plans are kept for an hour, and until the agent starts again; plan again"
    )
  }

  private func made(of run: RunCreated, reading secrets: [String]) async throws(RequestRefusedError) -> PlanRecord {
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
        "the plan took longer than \(PlanCache.longestMade.spelled), and was given up; nothing was written. The command line has no limit: errand plan \(run.file.shellQuoted)"
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

  /// Starts a run if it would do what its plan says.
  func start(
    _ name: String, _ given: [(name: String, input: GivenInput)], _ key: RunKey?, _ cause: RunCause,
    asPlanned digest: String
  ) async throws(RequestRefusedError) -> AgentReply {
    let agreed: PlanCache.Kept
    do throws(RequestRefusedError) { agreed = try planned(digest, of: name) } catch {
      // The plan may be gone with the agent that answered nothing; the run that it started is not.
      guard let key, let run = try await run(ofKey: key, of: name) else { throw error }
      return .accepted(run: run.id, isServing: agent.isServing, known: run.status)
    }
    var prepared = try await steered().startingRun(of: name, given: [], planned: agreed.inputs, as: newID())
    if !given.isEmpty {
      let other = try await steered().startingRun(of: name, given: given, as: newID()).run.inputs
      let names = prepared.run.inputs.namesOfDifferences(to: other).map { "'\($0)'" }
      guard names.isEmpty else {
        throw RequestRefusedError(
          .inputs, "the plan has other values of \(joined(names)); leave the inputs out, or plan with these")
      }
    }
    prepared.run.key = key
    prepared.run.cause = cause
    await store.secrets.learn(named: prepared.secrets)
    if let known = try await holder(ofKeyOf: prepared.run) {
      return .accepted(run: known.id, isServing: agent.isServing, known: known.status)
    }
    var asPlanned = prepared.run
    // The time until a person agreed to the plan is no difference; later reads may show one.
    let age = asPlanned.at.span(since: agreed.plan.madeAt)
    if let age, age <= PlanCache.longestConsidered { asPlanned.at = agreed.plan.madeAt }
    let again = try await made(of: asPlanned, reading: prepared.secrets)
    let moves = Plan.moves(from: agreed.plan.document, to: again.document)
    guard moves.isEmpty else {
      throw RequestRefusedError(
        .moved, ([AgentParts.moved] + moves).joined(separator: "\n"))
    }
    if again.wouldFail { throw RequestRefusedError(.moved, "the run would fail; nothing was started") }
    return try await begin(prepared.run, reading: prepared.secrets)
  }

  /// The first line of the message about a plan that no longer holds; a line for each change follows.
  package static let moved = "the plan no longer holds; nothing was started. Plan again and review the changes"
}
