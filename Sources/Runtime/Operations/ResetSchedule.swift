package import ActionKit
package import Agent
import RunState

package struct ResetSchedule: Operation {
  package static let name = "resetSchedule"
  package static let summary = "Decides again the slots that were decided while the clock was ahead."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/schedules/{id}/reset")
  package static let command: String? = "schedule reset"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofSchedules.union([.ended])
  package static let place = Place.leader

  @Field("The schedule's id.") package var id: String

  package init() {}

  package var target: String { id }

  package func run(
    on schedule: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> SlotRecords {
    SlotRecords(try await agent.steered().reset(schedule.id))
  }
}
