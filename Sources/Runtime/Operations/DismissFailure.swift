package import ActionKit
package import Agent
package import Basics
import RunState

package struct DismissFailure: Operation {
  package static let name = "dismissFailure"
  package static let summary = "Dismisses failures that look alike: they aren't listed until a run fails so again."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/failures/dismiss")
  package static let command: String? = "runs dismiss"
  package static let page: String? = "/"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]
  package static let repeats = Repeats.harmless("the second dismissal only replaces the first")

  @Field("The id of the group, as 'failures' lists it.", .maxLength(80)) package var group: String
  @Field("When the latest failure ended that the person has seen. A later one isn't dismissed.")
  package var seen: Timestamp?
  @Field("The note to record.", .maxLength(1_000)) package var note: String?

  package init() {}

  package var target: String { group }

  package func run(
    on known: KnownFailures, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> ListFailures.Answer {
    var failures = known.failures
    let latest = failures.group.latest.endedAt
    let dismissal = FailureDismissed(
      at: agent.time.now(), group: failures.group.id, recipe: failures.group.recipe,
      until: seen.map { min($0, latest) } ?? latest, by: caller.asking(RunCause(.manual)).by, note: note)
    try await agent.kept { () async throws(StateError) in try await agent.store.append(.failureDismissed(dismissal)) }
    failures.dismissal = dismissal
    return ListFailures.Answer([failures])
  }

  package static func view(_ answer: ListFailures.Answer, for caller: AgentCaller) -> FailureListAnswer {
    ListFailures.view(answer, for: caller)
  }
}
