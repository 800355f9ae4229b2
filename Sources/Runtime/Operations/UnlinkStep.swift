package import ActionKit
package import Agent
import Basics
package import RunState

package struct UnlinkStep: Operation {
  package static let name = "unlink"
  package static let summary = "Ends links to the questions of a run, so that they carry no right any more."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/{run}/unlink")
  package static let command: String? = "runs unlink"
  package static let page: String? = "/approvals/{run}/{step}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.ended])
  package static let repeats = Repeats.harmless("A link that was ended stays so.")

  @Field(RunName.summary) package var run: String
  @Field("The path of the step whose links end; of all steps if left out.") package var step: String?
  @Field("The person whose links end; of all people if left out.") package var `for`: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The run's id.
    package var run: String
    /// How many links ended.
    package var ended: Int

    package init(_ run: String, ended: Int) {
      self.run = run
      self.ended = ended
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      run = try member("run", record?.run)
      ended = try member("ended", record?.ended)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let record = try await agent.openRecord(run)
    let ended = try await agent.kept { () async throws(StateError) in
      try await agent.host.decisions.unlink(record, step: step, for: self.for, by: caller.name)
    }
    return Answer(record.id, ended: ended)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> UnlinkAnswer {
    filled(UnlinkAnswer()) { ($0.run, $0.ended) = (answer.run, answer.ended) }
  }
}

/// Links were ended.
package struct UnlinkAnswer: FieldSet {
  @Field("The id of the run.") package var run: String
  @Field("How many links ended.") package var ended: Int

  package init() {}
}
