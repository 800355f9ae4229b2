package import ActionKit
package import Agent
package import Basics
package import Recipes
import RunState

package struct TriggerSchedule: Operation {
  package static let name = "trigger"
  package static let summary = "Starts a run of a schedule now, before its next slot."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/schedules/{id}/trigger")
  package static let command: String? = "schedule trigger"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> =
    .ofSchedules.union([.notServing, .inputs, .ended, .usedKey])
  package static let place = Place.leader
  package static let repeats = Repeats.key

  @Field("The schedule's id.") package var id: String
  @Field("The overlap policy if a run is open, instead of the recipe's policy.")
  package var overlap: Word<Trigger.Overlap>?
  @Field("Inputs that replace the schedule's inputs.") package var inputs: ValueMap?
  @Field("More inputs, as text that is read as the input's type.") package var texts: [String: String] = [:]
  @Field("A key that the caller chooses. If a start already has it, the answer is that start.") package var key: String?

  package init() {}

  package var target: String { id }

  package func run(
    on schedule: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> SlotRecords {
    let inputs = inputs ?? ValueMap()
    let named = texts.sorted { $0.key.precedesByScalars($1.key) }.map { ($0.key, Value.string($0.value)) }
    let key = try agent.runKey(
      key, of: caller,
      for: [
        .string("trigger"), .string(id), .string(overlap?.word.rawValue ?? ""), .map(inputs), .map(ValueMap(named)),
      ])
    return SlotRecords(
      try await agent.steered().trigger(
        schedule.id, overlap: overlap?.word, given: agent.given(inputs, texts), key: key,
        as: caller.asking(RunCause(.trigger))))
  }
}
