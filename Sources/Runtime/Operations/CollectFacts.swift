package import ActionKit
package import Agent
import RunState

package struct CollectFacts: Operation {
  package static let name = "why"
  package static let summary = "Collects the facts that an explanation of a run needs besides its record."
  package static let scopes = Scopes.token(.read)
  package static let absences: [Absence] = [
    .command("It is a part of `errand why`, which explains a run from its record and these facts."),
    .route("`GET /runs/{run}/why` answers with the explanation, for which the agent collects the facts itself."),
    .page("The page of a run has the explanation."),
  ]

  @Field("The run, and the things its record refers to.") package var about: Stored<RunFacts.Question>

  package init() {}

  package var target: RunName { RunName(about.record.subject.run) }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunFacts.Answer {
    let question = about.record
    if caller.recipes.isEmpty { return try await agent.facts(question) }
    if let schedule = question.subject.schedule, !caller.sees(recipe: ScheduleID.recipe(of: schedule)) {
      throw RequestRefusedError(.notFound, "there is no such schedule")
    }
    return try await agent.facts(question.alone)
  }

  package static func view(_ answer: RunFacts.Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

extension RunFacts.Answer: OperationAnswer {
  package func limited(to recipes: VisibleRecipes) -> RunFacts.Answer {
    var limited = self
    limited.around.schedule = around.schedule.flatMap { recipes.contain($0.recipe) ? $0.alone : nil }
    limited.around.slot = around.slot.flatMap { SlotRecords([$0]).limited(to: recipes).slots.first }
    limited.others = others.filter { recipes.contain($0.recipe) }
    return limited
  }
}
