package import ActionKit
package import Agent
import Basics
package import RunState

package struct EvictWorker: Operation {
  package static let name = "evictWorker"
  package static let summary = "Ends the lease of a worker, so that others take over its runs."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/workers/{name}/evict")
  package static let command: String? = "workers evict"
  package static let page: String? = "/workers"
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration, .notFound, .ambiguous, .conflict]

  @Field("The worker's name, or its id.") package var name: String
  @Field("Whether to evict a worker whose lease hasn't expired.") package var force = false

  package init() {}

  package var target: Void { () }

  /// The worker as it was.
  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> WorkerRecord {
    let sharing = try agent.sharing()
    let worker = try await agent.worker(name)
    guard worker.isOver || force else {
      var refusal = RequestRefusedError(
        .conflict,
        "the lease of the worker '\(name.safe)' is valid, so it may still be running, and another worker would "
          + "repeat its requests in flight; stop it with SIGTERM, or let it finish first: errand workers drain "
          + "\(name.shellQuoted). If it is gone for good: errand workers evict \(name.shellQuoted) --force")
      refusal.overHTTP =
        "the lease of the worker '\(name.safe)' is valid, so it may still be running, and another worker would repeat "
        + "its requests in flight; stop it, or let it finish first (POST /api/v1/workers/{name}/drain). If it is gone for "
        + "good, send \"force\": true"
      throw refusal
    }
    try await agent.kept { () async throws(StateError) in try await sharing.evict(worker: worker.id) }
    return worker
  }

  package static func view(_ worker: WorkerRecord, for caller: AgentCaller) -> WorkerAnswer {
    WorkerAnswer(worker)
  }
}
