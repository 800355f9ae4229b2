package import ActionKit
package import Agent
import Basics
import RunState

package struct DrainWorker: Operation {
  package static let name = "drainWorker"
  package static let summary = "Tells a worker to claim no more runs, and to finish its running ones."
  package static let scopes = Scopes.own
  package static let command: String? = "workers drain"
  package static let absences: [Absence] = [
    .route("Only the agent's own account sees and steers the workers."),
    .page("Workers are steered where they are listed: in a terminal of the agent's account."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration, .notFound, .ambiguous]

  @Field("The worker's name, or its id.") package var name: String
  @Field("Whether the worker claims runs again.") package var undo = false

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> WorkerList {
    let sharing = try agent.sharing()
    let worker = try await agent.worker(name)
    let isDraining = !undo
    let isKnown = try await agent.kept { () async throws(StateError) in
      try await sharing.setDraining(isDraining, worker: worker.id)
    }
    guard isKnown else {
      throw RequestRefusedError(.notFound, "the worker '\(name.safe)' has just gone; see: errand workers")
    }
    return WorkerList([worker])
  }

  package static func view(_ workers: WorkerList, for caller: AgentCaller) -> NoContent { NoContent() }
}
