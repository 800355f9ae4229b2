import ActionKit
package import Agent
import RunState

package struct ListWorkers: Operation {
  package static let name = "workers"
  package static let summary = "Lists the programs that share the state, with their queues and offers."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/workers")
  package static let command: String? = "workers list"
  package static let page: String? = "/workers"
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration]

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> WorkerList {
    WorkerList(try await agent.workers().map { $0.displayed(to: caller) })
  }

  package static func view(_ workers: WorkerList, for caller: AgentCaller) -> WorkerListAnswer {
    filled(WorkerListAnswer()) { $0.items = workers.workers.map { WorkerAnswer($0) } }
  }
}
