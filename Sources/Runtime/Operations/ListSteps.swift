package import ActionKit
package import Agent
package import RunState

package struct ListSteps: Operation {
  package static let name = "steps"
  package static let summary = "Lists the steps of a run in the order of their start."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs/{run}/steps")
  package static let command: String? = "runs show"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String
  @Field("How many steps to list at most.", .range(0...ListLimit.most)) package var limit = 100
  @Field("Where to continue: 'next' of the answer before.") package var from = 0

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, UnlimitedAnswer {
    package var steps: [StepRecord]
    /// How many steps come before the next page, if there is one.
    package var next: Int?

    package init(_ steps: [StepRecord], next: Int?) {
      self.steps = steps
      self.next = next
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      next = try member("next", record?.next)
      steps = try member("steps", record?.steps)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let steps = try await agent.stored(run.id).record().stepsInOrder
    let first = min(max(0, from), steps.count)
    let end = first + min(ListLimit.clamped(limit), steps.count - first)
    return Answer((first..<end).map { steps[$0] }, next: end < steps.count ? end : nil)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> StepListAnswer {
    filled(StepListAnswer()) {
      $0.items = answer.steps.map { StepAnswer($0, withData: caller.seesData) }
      $0.next = answer.next
    }
  }
}
