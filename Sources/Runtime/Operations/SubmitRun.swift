package import ActionKit
package import Agent
import Basics
package import RunState

package struct SubmitRun: StreamingOperation {
  package static let name = "submit"
  package static let summary =
    "Accepts a run that the caller has prepared, and follows it if the caller wants its events."
  package static let scopes = Scopes.own
  package static let command: String? = "run FILE"
  package static let absences: [Absence] = [
    .route("A program elsewhere starts recipes that are served: POST /recipes/{recipe}/runs."),
    .page("A page starts recipes that are served."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.configuration, .inputs, .ended, .usedKey]
  package static let repeats = Repeats.key

  @Field("The run's record.") package var run: Stored<RunCreated>
  @Field("The names of the secrets that the run reads.") package var secrets: [String] = []
  @Field("Whether an earlier agent may have accepted the run already, which costs a search of all runs.")
  package var again = false
  @Field(
    "A key that the caller chooses. If a run of the recipe already has it, the answer is that run, and none starts.")
  package var key: String?

  package init() {}

  package var target: Void { () }

  package func run(
    on _: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> AcceptedRun {
    let (accepted, _) = try await accepted(in: agent, for: caller)
    // The run is on disk; the reason why it cannot continue is recorded with it.
    if accepted.known == nil { try await agent.continueIfServing(accepted.run) }
    return accepted
  }

  package func run(
    on _: Anyone, in agent: AgentParts, for caller: AgentCaller, to events: any RunEvents
  ) async throws(RequestRefusedError) {
    let (accepted, isAgain) = try await accepted(in: agent, for: caller)
    events.tell(.accepted(accepted))
    if isAgain { return try await agent.resume(accepted.run, events) }
    // Another program may have to run it.
    if agent.store.run(accepted.run) != nil { return try await agent.continueRun(accepted.run, events) }
    try await agent.follow(accepted.run, withSnapshot: false, events)
  }

  /// Records the run; the answer is the run that has its key already, if there is one.
  ///
  /// An agent before this one may have accepted it and ended before it answered, in which case it is the same run again.
  private func accepted(
    in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> (run: AcceptedRun, isAgain: Bool) {
    var run = run.record
    run.key = try agent.runKey(key, of: caller)
    run.cause = caller.asking(run.cause)
    let isAgain = again ? try await agent.keptRun(run.run) != nil : false
    if !isAgain, let known = try await agent.accept(run, reading: secrets) {
      return (AcceptedRun(run: known.id, isServing: await agent.isContinued(known.id), known: known.status), false)
    }
    return (AcceptedRun(run: run.run, isServing: await agent.isContinued(run.run)), isAgain)
  }

  package static func view(_ answer: AcceptedRun, for caller: AgentCaller) -> NoContent { NoContent() }
}
