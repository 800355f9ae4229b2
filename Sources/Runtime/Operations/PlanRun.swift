package import ActionKit
package import Agent
package import Basics
import Recipes
import RunState

package struct PlanRun: Operation {
  package static let name = "plan"
  package static let summary =
    "Plans a run of a served recipe: reads what the run would read, and writes nothing."
  package static let scopes = Scopes.token(.start)
  package static let route: Route? = .post("/recipes/{recipe}/plans", status: 201)
  package static let command: String? = "plan"
  package static let page: String? = "/recipes/{recipe}"
  package static let refusals: Set<RequestRefusedError.Kind> = [
    .notFound, .inputs, .configuration, .notServing, .busy, .timeout,
  ]

  @Field("The recipe's name.") package var recipe: String
  @Field("The values of the inputs, by name.") package var inputs: ValueMap?
  @Field("More inputs, as text that is read as the input's type.") package var texts: [String: String] = [:]
  @Field("The digest of an earlier plan, whose inputs are used.") package var plan: String?

  package init() {}

  package var target: String { recipe }

  package func run(
    on recipe: ServedRecipe, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunPlan {
    let given = agent.given(inputs ?? ValueMap(), texts)
    var planned: ValueMap?
    if let plan {
      planned = try agent.planned(plan, of: recipe.name).inputs
      if !given.isEmpty {
        throw RequestRefusedError(.inputs, "the inputs are those of the plan; leave out either of them")
      }
    }
    let prepared = try await agent.steered().startingRun(
      of: recipe.name, given: given, planned: planned, as: agent.newID())
    let made = try await agent.madePlan(of: prepared.run, reading: prepared.secrets)
    agent.plans.keep(made, of: prepared.run.inputs.map ?? ValueMap())
    return RunPlan(made)
  }

  package static func view(_ answer: RunPlan, for caller: AgentCaller) -> PlanAnswer {
    PlanAnswer(answer.plan, withData: caller.seesData)
  }

  package static func head(_ answer: RunPlan) -> ViewHead { ViewHead(location: "/plans/\(answer.plan.digest)") }
}
