package import ActionKit
package import Agent
import Basics
package import RunState

package struct CancelRun: Operation {
  package static let name = "cancel"
  package static let summary = "Cancels a run: actions in flight finish, then its 'finally' steps run."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/{run}/cancel", status: 202)
  package static let command: String? = "runs cancel"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.ended, .usedKey])
  package static let repeats = Repeats.key

  @Field(RunName.summary) package var run: String
  @Field("The reason to record.") package var reason: String?
  @Field("A key that the caller chooses. The same decision with the same key gets the same answer.")
  package var key: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The run's id.
    package var cancelled: String

    package init(_ run: String) { cancelled = run }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      cancelled = try member("cancelled", record?.cancelled)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let id = run.id
    let key = try agent.decisionKey(key, of: caller, about: id, [.string("cancel"), .string(reason ?? "")])
    if let key, try AgentParts.isRepeated(key, try await agent.stored(id).record().pendingCancel?.key) {
      return Answer(id)
    }
    do throws(StateError) {
      if try await agent.host.cancel(id, reason: reason, by: caller.name, key: key) { return Answer(id) }
    } catch {
      // It may have ended at this moment, which is no fault of the state.
      guard await agent.store.openRun(id) == nil else { throw RequestRefusedError(error) }
    }
    let ended = try await agent.stored(id).record()
    let cancelled = ended.pendingCancel.flatMap { asked in asked.by.map { "; \($0) cancelled it at \(asked.at)" } }
    throw RequestRefusedError(.ended, "the run \(id) is over: \(ended.status.rawValue)\(cancelled ?? "")")
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ChangedAnswer {
    filled(ChangedAnswer()) { $0.run = answer.cancelled }
  }
}
