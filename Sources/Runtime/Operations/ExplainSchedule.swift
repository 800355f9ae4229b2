package import ActionKit
package import Agent
package import Basics
import Calendars
import RunState

package struct ExplainSchedule: Operation {
  package static let name = "explainSchedule"
  package static let summary = "Says why a schedule ran or didn't, and when it is due next."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/schedules/{id}/why")
  package static let command: String? = "why"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]

  @Field("The schedule's id.") package var id: String
  @Field("Explains the slot at this instant, or the last one before it; now if left out.") package var at: Timestamp?
  @Field(AgentParts.zoneSummary) package var zone: String?

  package init() {}

  package var target: String { id }

  package func run(
    on known: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> ExplainedThing {
    let now = agent.time.now()
    let zone = try AgentParts.zone(named: zone)
    let host = try agent.steered()
    var schedule = try await host.schedule(known.id)
    schedule.base = agent.sessions.base
    let withData = caller.seesData
    if !withData { schedule.record.pause?.note = nil }
    var facts = try await schedule.facts(
      around: at ?? now, isNamed: at != nil, now, seesAll: caller.recipes.isEmpty
    ) { query async throws(RequestRefusedError) in
      var slots = try await agent.kept { () async throws(StateError) in try await agent.store.slots(query) }
      if !withData { for index in slots.indices { slots[index].reason = nil } }
      return slots
    } run: {
      try? await agent.find($0, for: caller)
    }
    facts.fault = await host.fault(ofFile: schedule.record.file)
    let own = zone.map { WallClock($0, now: now) } ?? agent.clock?(now) ?? WallClock(.utc, now: now)
    let explanation = Explanation(of: facts, clock: schedule.clock(own), isServed: await agent.isDeciding)
    return ExplainedThing(id: schedule.record.id, explanation.mapTexts { agent.displayed($0, to: caller) })
  }

  package static func view(_ answer: ExplainedThing, for caller: AgentCaller) -> ExplanationAnswer {
    ExplanationAnswer(answer.explanation, ofSchedule: answer.id)
  }
}
