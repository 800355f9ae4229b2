package import ActionKit
package import Agent
package import Basics
import Recipes
import RunState
import Runs

package struct StartRun: Operation {
  package static let name = "start"
  package static let summary = "Starts a run of a served recipe."
  package static let scopes = Scopes.token(.start)
  package static let route: Route? = .post("/recipes/{recipe}/runs", status: 202)
  package static let command: String? = "runs start"
  package static let page: String? = "/recipes/{recipe}"
  package static let refusals: Set<RequestRefusedError.Kind> = [
    .notFound, .ambiguous, .inputs, .configuration, .ended, .notServing, .planChanged, .busy, .timeout, .usedKey,
  ]
  package static let repeats = Repeats.key

  @Field("The recipe's name.") package var recipe: String
  @Field("The values of the inputs, by name.") package var inputs: ValueMap?
  @Field("More inputs, as text that is read as the input's type.") package var texts: [String: String] = [:]
  @Field(
    "A key that the caller chooses. If a run of the recipe already has it, the answer is that run, and none starts.")
  package var key: String?
  @Field("The digest of a plan, whose inputs are used. The run starts only if it would still do what the plan says.")
  package var plan: String?
  @Field(
    "A run of the recipe, whose inputs are used again, except for given ones, null for none, and secrets."
  )
  package var like: String?
  @Field("The name of the assistant that asks for the run, if one does.") package var assistant: String?

  package init() {}

  package var target: String { recipe }

  package func run(
    on recipe: ServedRecipe, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> AcceptedRun {
    var given = agent.given(inputs ?? ValueMap(), texts)
    let runKey = try agent.runKey(key, of: caller)
    var cause = caller.asking(RunCause(.manual), through: assistant)
    if let like {
      // A refusal of a value, or of a key with other values, would tell of the inputs.
      try caller.check([.data], "'like' needs")
      let earlier = try await agent.earlierRun(like, of: recipe.name, for: caller)
      cause.run = earlier.id
      // A plan has its inputs.
      if plan == nil {
        let known = try await agent.steered().given(byRun: earlier, of: recipe.name, besides: Set(given.map(\.name)))
        given = given.filter { !$0.input.isNull } + known
      }
    }
    if let plan { return try await start(recipe.name, given, runKey, cause, asPlanned: plan, in: agent) }
    var prepared = try await agent.steered().startingRun(of: recipe.name, given: given, as: agent.newID())
    prepared.run.key = runKey
    prepared.run.cause = cause
    return try await agent.begin(prepared.run, reading: prepared.secrets)
  }

  /// Starts a run if it would do what its plan says.
  private func start(
    _ name: String, _ given: [(name: String, input: GivenInput)], _ key: RunKey?, _ cause: RunCause,
    asPlanned digest: String, in agent: AgentParts
  ) async throws(RequestRefusedError) -> AcceptedRun {
    let agreed: PlanCache.Kept
    do throws(RequestRefusedError) { agreed = try agent.planned(digest, of: name) } catch {
      // The plan may be gone with the agent that answered nothing; the run that it started is not.
      guard let key, let run = try await agent.run(ofKey: key, of: name) else { throw error }
      return AcceptedRun(run: run.id, isServing: agent.agent.isServing, known: run.status)
    }
    var prepared = try await agent.steered().startingRun(
      of: name, given: [], planned: agreed.inputs, as: agent.newID())
    if !given.isEmpty {
      let other = try await agent.steered().startingRun(of: name, given: given, as: agent.newID()).run.inputs
      let names = prepared.run.inputs.namesOfDifferences(to: other).map { "'\($0)'" }
      guard names.isEmpty else {
        throw RequestRefusedError(
          .inputs, "the plan has other values of \(joined(names)); leave the inputs out, or plan with these")
      }
    }
    prepared.run.key = key
    prepared.run.cause = cause
    await agent.store.secrets.learn(named: prepared.secrets)
    if let known = try await agent.holder(ofKeyOf: prepared.run) {
      return AcceptedRun(run: known.id, isServing: agent.agent.isServing, known: known.status)
    }
    var asPlanned = prepared.run
    // The time until a person agreed to the plan is no difference; later reads may show one.
    let age = asPlanned.at.span(since: agreed.plan.madeAt)
    if let age, age <= PlanCache.longestConsidered { asPlanned.at = agreed.plan.madeAt }
    let again = try await agent.madePlan(of: asPlanned, reading: prepared.secrets)
    let changes = Plan.changes(from: agreed.plan.document, to: again.document)
    guard changes.isEmpty else {
      throw RequestRefusedError(planChanged: StartRun.planChanged, changes)
    }
    if again.wouldFail { throw RequestRefusedError(.planChanged, "the run would fail; nothing was started") }
    return try await agent.begin(prepared.run, reading: prepared.secrets)
  }

  /// The first line of the message about a plan that no longer holds; a line for each change follows.
  private static let planChanged = "the plan no longer holds; nothing was started. Plan again and review the changes"
}

extension AgentParts {
  /// The run whose inputs are used again; refused if it is one of another recipe, or has none any more.
  fileprivate func earlierRun(
    _ name: String, of recipe: String, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunRecord {
    let run = try await stored(try await find(name, for: caller).id).record()
    guard run.recipe.hasSameScalars(as: recipe) else {
      throw RequestRefusedError(.request, "the run \(run.id) is one of '\(run.recipe)', and not of '\(recipe)'")
    }
    if let erased = run.erasedAt {
      throw RequestRefusedError(
        .ended, "the data of the run \(run.id) was erased on \(erased.description.prefix(10)); give the inputs instead")
    }
    return run
  }
}

extension GivenInput {
  fileprivate var isNull: Bool { if case .value(let value, _) = self { value.isNull } else { false } }
}
