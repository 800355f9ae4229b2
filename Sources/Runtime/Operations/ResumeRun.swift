package import ActionKit
package import Agent
import RunState

package struct ResumeRun: StreamingOperation {
  package static let name = "resume"
  package static let summary = "Resumes an interrupted or paused run, and follows it."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/{run}/resume", status: 202)
  package static let command: String? = "runs resume"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.configuration, .ended])

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> AcceptedRun { try await agent.resumeAlone(run.id) }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller, to events: any RunEvents
  ) async throws(RequestRefusedError) { try await agent.resume(run.id, events) }
}
