package import ActionKit
package import Agent
import RunState

package struct ResumeSchedule: Operation {
  package static let name = "resumeSchedule"
  package static let summary = "Resumes a paused schedule."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/schedules/{id}/resume")
  package static let command: String? = "schedule resume"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofSchedules
  package static let place = Place.leader

  @Field("The schedule's id.") package var id: String

  package init() {}

  package var target: String { id }

  package func run(
    on schedule: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> SlotRecords {
    SlotRecords(try await agent.steered().resume(schedule.id))
  }
}
