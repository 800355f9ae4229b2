package import ActionKit
package import Agent
import RunState

package struct PauseSchedule: Operation {
  package static let name = "pauseSchedule"
  package static let summary = "Pauses a schedule: it starts no runs until it is resumed."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/schedules/{id}/pause")
  package static let command: String? = "schedule pause"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofSchedules
  package static let place = Place.leader

  @Field("The schedule's id.") package var id: String
  @Field("The reason to record.") package var note: String?

  package init() {}

  package var target: String { id }

  package func run(
    on schedule: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> SlotRecords {
    SlotRecords(try await agent.steered().pause(schedule.id, note: note))
  }
}
