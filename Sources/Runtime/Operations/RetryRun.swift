package import ActionKit
package import Agent
package import Basics
package import RunState

package struct RetryRun: Operation {
  package static let name = "retry"
  package static let summary = "Retries an ended run in a new run, keeping what succeeded."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/{run}/retry", status: 202)
  package static let command: String? = "runs retry"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.ended, .usedKey])
  package static let repeats = Repeats.key
  package static let companions = ["step": "output"]

  @Field(RunName.summary) package var run: String
  @Field("With 'output': the path of the step. Needed only if several steps qualify.") package var step: String?
  @Field("The output of a write whose answer didn't fit its shape. The write isn't repeated.")
  package var output: Value?
  @Field("A key that the caller chooses. If a retry already has it, the answer is that retry.")
  package var key: String?

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The id of the new run.
    package var accepted: String
    /// The id of the run that it retries.
    package var retries: String
    /// The status of a retry that has the caller's key already.
    package var known: RunStatus?

    package init(_ run: String, of ended: String, known: RunStatus? = nil) {
      accepted = run
      retries = ended
      self.known = known
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      accepted = try member("accepted", record?.accepted)
      retries = try member("retries", record?.retries)
      known = try member("known", record?.known)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    guard step == nil || output != nil else {
      throw RequestRefusedError(.request, "a step is named only together with its output")
    }
    let ended = try await agent.stored(run.id).record()
    let given = output.map { GivenOutput(step: step, value: $0, by: caller.name) }
    let key = try agent.runKey(
      key, of: caller, for: [.string("retry"), .string(ended.id), .string(step ?? ""), output ?? .null])
    if let known = try await RetryRun.known(ended, withKey: key, in: agent) { return known }
    if let key {
      do throws(StateError) { try agent.store.secrets.check(key.key, RunKey.words) } catch {
        throw RequestRefusedError(error)
      }
    }
    do throws(RequestRefusedError) {
      return try await agent.allowed { () async throws(RunRefusedError) in
        let origin = try await agent.host.retries.retry(
          ended, as: agent.newID(), program: agent.agent.version, given: given, key: key,
          asked: caller.asking(RunCause(.retry)))
        if agent.agent.isServing, agent.store.run(origin.run) != nil { try await agent.host.continueRun(origin.run) }
        return Answer(origin.run, of: ended.id)
      }
    } catch {
      // The same request came twice at once.
      guard let known = try await RetryRun.known(ended, withKey: key, in: agent) else { throw error }
      return known
    }
  }

  /// The answer to a retry that was asked for with a key before; nil if there was none.
  private static func known(
    _ ended: RunRecord, withKey key: RunKey?, in agent: AgentParts
  ) async throws(RequestRefusedError) -> Answer? {
    guard let key, let known = try await agent.holder(of: key, recipe: ended.recipe) else { return nil }
    return Answer(known.id, of: ended.id, known: known.status)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> AcceptedAnswer {
    filled(AcceptedAnswer()) {
      $0.run = answer.accepted
      $0.isNew = answer.known == nil
      $0.status = answer.known?.rawValue
      $0.retries = answer.retries
    }
  }

  package static func head(_ answer: Answer) -> ViewHead { ViewHead(location: "/runs/\(answer.accepted)") }
}
