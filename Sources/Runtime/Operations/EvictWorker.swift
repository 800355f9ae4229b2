package import ActionKit
package import Agent
import Basics
import RunState

package struct EvictWorker: Operation {
  package static let name = "evictWorker"
  package static let summary = "Ends the lease of a worker, so that others take over its runs."
  package static let scopes = Scopes.own
  package static let command: String? = "workers evict"
  package static let absences: [Absence] = [
    .route("Only the agent's own account sees and steers the workers."),
    .page("Workers are steered where they are listed: in a terminal of the agent's account."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration, .notFound, .ambiguous, .conflict]

  @Field("The worker's name, or its id.") package var name: String
  @Field("Whether to evict a worker whose lease hasn't expired.") package var force = false

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> WorkerList {
    let sharing = try agent.sharing()
    let worker = try await agent.worker(name)
    guard worker.isOver || force else {
      throw RequestRefusedError(
        .conflict,
        "the lease of the worker '\(name.safe)' is valid, so it may still be running, and another would send once more "
          + "what it is sending; stop it with SIGTERM, or have it finish first: errand workers drain "
          + "\(name.shellQuoted). If it is gone for good: errand workers evict \(name.shellQuoted) --force")
    }
    try await agent.kept { () async throws(StateError) in try await sharing.evict(worker: worker.id) }
    return WorkerList([worker])
  }

  package static func view(_ workers: WorkerList, for caller: AgentCaller) -> NoContent { NoContent() }
}
