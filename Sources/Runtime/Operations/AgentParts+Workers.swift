// The workers of a shared state.
import Agent
import Basics
import RunState

extension AgentParts {
  /// The state that programs share.
  func sharing() throws(RequestRefusedError) -> any StateSharing {
    if let sharing = store.sharing { return sharing }
    let words = "which one agent has for itself; workers share a state in PostgreSQL, which errand.yaml names: state: "
    var refusal = RequestRefusedError(
      .configuration, "the state is in the folder \(agent.folder), \(words)postgres://USER@HOST/DATABASE")
    refusal.overHTTP = "the state is in a folder, \(words)postgres://USER@HOST/DATABASE"
    throw refusal
  }

  func workers() async throws(RequestRefusedError) -> [WorkerRecord] {
    let sharing = try sharing()
    return try await kept { () async throws(StateError) in try await sharing.workers() }
  }

  /// The worker of a name or an id.
  func worker(_ name: String) async throws(RequestRefusedError) -> WorkerRecord {
    let workers = try await workers()
    let found = workers.filter { $0.name.hasSameScalars(as: name) }
    if found.count > 1 {
      let ids = found.map { "\($0.id) (\($0.home.safe), process \($0.pid))" }
      let words = "several workers are called '\(name.safe)'; name one by its id: "
      var refusal = RequestRefusedError(.ambiguous, words + ids.joined(separator: ", "))
      // The folders of the machines are for the agent's own account.
      refusal.overHTTP = words + found.map { "\($0.id) (process \($0.pid) on \($0.host.safe))" }.joined(separator: ", ")
      throw refusal
    }
    if let worker = found.first ?? workers.first(where: { "\($0.id)".hasSameScalars(as: name) }) { return worker }
    // A similar name isn't suggested, because that worker is alive, and people may be about to evict one.
    throw RequestRefusedError(
      .notFound,
      "there is no worker '\(name.safe)'; one that stopped or lost its lease is gone, and others claim its runs; "
        + "see: errand workers")
  }
}
