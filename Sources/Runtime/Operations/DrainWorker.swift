package import ActionKit
package import Agent
import Basics
package import RunState

package struct DrainWorker: Operation {
  package static let name = "drainWorker"
  package static let summary = "Tells a worker to claim no more runs, and to finish its running ones."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/workers/{name}/drain")
  package static let command: String? = "workers drain"
  package static let page: String? = "/workers"
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration, .notFound, .ambiguous]

  @Field("The worker's name, or its id.") package var name: String
  @Field("Whether the worker claims runs again.") package var undo = false

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> WorkerRecord {
    let sharing = try agent.sharing()
    var worker = try await agent.worker(name)
    let (id, isDraining) = (worker.id, !undo)
    let isKnown = try await agent.kept { () async throws(StateError) in
      try await sharing.setDraining(isDraining, worker: id)
    }
    guard isKnown else {
      throw RequestRefusedError(.notFound, "the worker '\(name.safe)' has just gone; see: errand workers")
    }
    worker.isDraining = isDraining
    return worker
  }

  package static func view(_ worker: WorkerRecord, for caller: AgentCaller) -> WorkerAnswer {
    WorkerAnswer(worker)
  }
}
