package import ActionKit
package import Agent
import Basics
package import RunState

package struct DecideStep: Operation {
  package static let name = "decide"
  package static let summary = "Records the caller's decision on a step that asks for one."
  package static let scopes = Scopes.token(.approve)
  package static let route: Route? = .post("/runs/{run}/decisions")
  package static let command: String? = "runs approve"
  package static let page: String? = "/approvals/{run}/{step}"
  package static let refusals: Set<RequestRefusedError.Kind> =
    .ofRuns.union([.ended, .notAsked, .notAllowed, .usedKey, .conflict])
  package static let repeats = Repeats.key

  @Field(RunName.summary) package var run: String
  @Field("The path of the step that asks. Needed only if several do.") package var step: String?
  @Field("Whether the caller approves.") package var approved: Bool
  @Field("A comment to record with the decision.") package var comment: String?
  @Field("The digest of the question that the caller saw. If it is given, another question isn't decided.")
  package var question: String?
  @Field("A key that the caller chooses. The same decision with the same key gets the same answer.")
  package var key: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The path of the step.
    package var decided: StepPath
    /// The run's id.
    package var run: String

    package init(_ step: StepPath, of run: String) {
      decided = step
      self.run = run
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      decided = try member("decided", record?.decided)
      run = try member("run", record?.run)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    var decision = DecisionRecord(
      isApproved: approved, by: caller.name, at: agent.time.now(), comment: comment, via: caller.way)
    decision.key = try agent.decisionKey(
      key, of: caller, about: run.id,
      [.string("decide"), .string(step ?? ""), .bool(approved), .string(comment ?? "")])
    let decided = try await agent.once(decision.key, in: run.id, \.decision?.key) {
      [decision] () async throws(RequestRefusedError) in
      do throws(RequestRefusedError) {
        let open = try await agent.openRun(run)
        return try await agent.host.decisions.decide(open, step: step, decision, seeing: question)
      } catch {
        throw try await agent.saying(error, of: run.id, step)
      }
    }
    return Answer(decided, of: run.id)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ChangedAnswer {
    filled(ChangedAnswer()) {
      $0.run = answer.run
      $0.step = answer.decided
    }
  }
}
