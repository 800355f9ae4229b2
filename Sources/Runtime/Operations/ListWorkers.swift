import ActionKit
package import Agent

package struct ListWorkers: Operation {
  package static let name = "workers"
  package static let summary = "Lists the programs that share the state, with their queues and offers."
  package static let scopes = Scopes.own
  package static let command: String? = "workers list"
  package static let absences: [Absence] = [
    .route("Only the agent's own account sees the machines and folders of the workers."),
    .page("The workers are listed in a terminal of the agent's account."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration]

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> WorkerList { WorkerList(try await agent.workers()) }

  package static func view(_ workers: WorkerList, for caller: AgentCaller) -> NoContent { NoContent() }
}
