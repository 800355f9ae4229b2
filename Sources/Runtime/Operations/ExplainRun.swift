package import ActionKit
package import Agent
import Calendars
import RunState

package struct ExplainRun: Operation {
  package static let name = "explain"
  package static let summary = "Says why a run is in its state."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/why")
  package static let command: String? = "why"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String
  @Field("Whether to leave out other runs.") package var alone = false
  @Field("Whether to leave out how far instants are from now, so that the text stays the same while nothing happens.")
  package var timeless = false

  @Field(AgentParts.zoneSummary) package var zone: String?

  package init() {}

  package var target: RunName { RunName(run) }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> ExplainedThing {
    let zone = try AgentParts.zone(named: zone)
    var record = try await agent.stored(run.id).record()
    let isAlone = alone || !caller.recipes.isEmpty
    if isAlone { record = record.alone }
    let question = RunFacts.Question(about: record)
    let answer = try await agent.facts(isAlone ? question.alone : question)
    var facts = RunFacts(record, answering: answer)
    for (name, blob) in facts.missingValues {
      facts.values[name] = try await agent.value(of: blob)
    }
    let isServing = agent.agent.isServing
    guard let explain = agent.explain else {
      var clock = WallClock(zone ?? .utc, now: facts.now)
      clock.tellsDistance = !timeless
      return ExplainedThing(
        id: record.id, Explanation(of: facts, clock: clock, isServed: isServing, holder: answer.holder))
    }
    let explanation = await explain(facts, isServing, answer.holder, zone, !timeless)
    return ExplainedThing(id: record.id, explanation.mapTexts { agent.displayed($0, to: caller) })
  }

  package static func view(_ answer: ExplainedThing, for caller: AgentCaller) -> ExplanationAnswer {
    ExplanationAnswer(answer.explanation, ofRun: answer.id)
  }
}
