package import ActionKit
package import Agent
package import RunState

package struct PauseRun: Operation {
  package static let name = "pause"
  package static let summary = "Pauses a run: no further step begins until it is resumed."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/{run}/pause")
  package static let command: String? = "runs pause"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.ended])

  @Field(RunName.summary) package var run: String
  @Field("The reason to record.") package var reason: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The run's id.
    package var paused: String

    package init(_ run: String) { paused = run }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      paused = try member("paused", record?.paused)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let id = try await agent.openRun(run)
    try await agent.allowed { () async throws(RunRefusedError) in
      try await agent.host.pause(id, reason: reason ?? "a person paused it")
    }
    return Answer(id)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ChangedAnswer {
    filled(ChangedAnswer()) { $0.run = answer.paused }
  }
}
