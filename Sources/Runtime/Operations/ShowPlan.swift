package import ActionKit
package import Agent
import RunState

package struct ShowPlan: Operation {
  package static let name = "showPlan"
  package static let summary = "Shows a plan that was made within the last hour."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/plans/{digest}")
  package static let command: String? = "plan --show DIGEST"
  package static let page: String? = "/plans/{digest}"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]

  @Field("The plan's digest.") package var digest: String

  package init() {}

  package var target: String { digest }

  package func run(
    on plan: KeptPlan, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunPlan { RunPlan(plan.kept.plan) }

  package static func view(_ answer: RunPlan, for caller: AgentCaller) -> PlanAnswer {
    PlanAnswer(answer.plan, withData: caller.seesData)
  }
}
