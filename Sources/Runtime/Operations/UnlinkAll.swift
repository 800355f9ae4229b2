import ActionKit
package import Agent
import Basics
package import RunState

package struct UnlinkAll: Operation {
  package static let name = "unlinkAll"
  package static let summary = "Ends every link that carries a right, by a new key."
  package static let scopes = Scopes.own
  package static let command: String? = "runs unlink --all"
  package static let absences: [Absence] = [
    .route("It concerns the questions of all recipes at once, so only the agent's machine does it."),
    .page("It concerns the questions of all recipes at once, so only the agent's machine does it."),
  ]
  package static let repeats = Repeats.harmless("The links are ended already.")

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, UnlimitedAnswer {
    package init() {}

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {}
  }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    _ = try await agent.kept { () async throws(StateError) in try await agent.store.linkKey(renewed: true) }
    return Answer()
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
