package import ActionKit
package import Agent
package import Basics
package import RunState

package struct CountRuns: Operation, RunFiltering {
  package static let name = "countRuns"
  package static let summary = "Counts runs by their statuses."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs/count")
  package static let command: String? = "runs count"
  package static let page: String? = "/runs"

  @Field(FilterWords.recipe) package var recipe: String?
  @Field(FilterWords.recipePart, .minLength(1), .maxLength(FilterWords.longest)) package var recipePart: String?
  @Field(FilterWords.status) package var status: [Word<RunStatus>] = []
  @Field(FilterWords.since) package var since: Timestamp?
  @Field(FilterWords.until) package var until: Timestamp?
  @Field(FilterWords.text, .minLength(1), .maxLength(FilterWords.longest)) package var text: String?
  @Field(FilterWords.input, .maxLength(FilterWords.mostInputs)) package var input: [String] = []
  @Field(FilterWords.cause) package var cause: [Word<RunCause.Kind>] = []
  @Field(FilterWords.failure, .minLength(1), .maxLength(FilterWords.longest)) package var failure: String?

  package init() {}

  package var target: Void { () }
  package var moreScopes: Set<TokenScope> { scopesOfFilter }

  package struct Answer: Record, UnlimitedAnswer {
    package var counts: RunCounts

    init(_ counts: RunCounts) { self.counts = counts }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      counts = try member("counts", record?.counts)
    }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    Answer(try await agent.counts(try query().narrowed(to: recipes)))
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> RunCountAnswer {
    filled(RunCountAnswer()) {
      $0.count = answer.counts.count(of: RunStatus.allCases)
      $0.isWhole = answer.counts.isWhole
      $0.statuses = ValueMap(
        RunStatus.allCases.compactMap { status in
          answer.counts[status] > 0 ? (status.rawValue, .int(answer.counts[status])) : nil
        })
    }
  }
}

/// How many runs match.
package struct RunCountAnswer: FieldSet {
  @Field("How many runs match.") package var count: Int
  @Field("Whether that is all of them; false if there are more finished ones, of which only the latest are counted.")
  package var isWhole: Bool
  @Field("How many have each status, without statuses that none has.") package var statuses = ValueMap()

  package init() {}
}
