package import ActionKit
package import Agent
import RunState

package struct FollowRun: StreamingOperation {
  package static let name = "follow"
  package static let summary = "Reports a run as it is, and then its progress until it ends."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs/{run}/events")
  package static let command: String? = "runs follow"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  /// The run as it is, without waiting for its end.
  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> ShowRun.Answer { ShowRun.Answer(agent.stored(run.id)) }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller, to events: any RunEvents
  ) async throws(RequestRefusedError) { try await agent.follow(run.id, withSnapshot: true, events) }

  package static func view(
    _ answer: ShowRun.Answer, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunAnswer { try await ShowRun.view(answer, for: caller) }
}
