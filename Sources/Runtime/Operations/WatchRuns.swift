import ActionKit
package import Agent
package import Basics
package import RunState

package struct WatchRuns: StreamingOperation {
  package static let name = "watch"
  package static let summary = "Reports the changes of all runs: when they begin, wait, pause or end."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/events")
  package static let command: String? = "runs watch"
  package static let absences: [Absence] = [
    .page("Each page of runs changes by itself.")
  ]

  package init() {}

  package var target: Void { () }

  /// Nothing: changes come one after another.
  package struct Answer: UnlimitedAnswer, Recordable {
    init() {}
    package init(reading value: Value) throws(RecordError) {}
    package func encoded() -> Value { .object([:]) }
  }

  package func run(
    on _: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { Answer() }

  package func run(
    on _: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller, to events: any RunEvents
  ) async throws(RequestRefusedError) {
    for await notice in agent.host.watch() { await events.tellInTurn(.notice(notice)) }
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
