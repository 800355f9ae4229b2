package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListRuns: Operation, RunFiltering {
  package static let name = "runs"
  package static let summary = "Lists the open runs, and the latest finished ones."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs")
  package static let command: String? = "runs list"
  package static let page: String? = "/runs"

  @Field("How many runs to list at most; without 'paged', how many finished ones.", .range(0...ListLimit.most)) package
    var limit = 20
  @Field(FilterWords.recipe) package var recipe: String?
  @Field(FilterWords.recipePart, .minLength(1), .maxLength(FilterWords.longest)) package var recipePart: String?
  @Field(FilterWords.status) package var status: [Word<RunStatus>] = []
  @Field(FilterWords.since) package var since: Timestamp?
  @Field(FilterWords.until) package var until: Timestamp?
  @Field(FilterWords.text, .minLength(1), .maxLength(FilterWords.longest)) package var text: String?
  @Field(FilterWords.input, .maxLength(FilterWords.mostInputs)) package var input: [String] = []
  @Field(FilterWords.cause) package var cause: [Word<RunCause.Kind>] = []
  @Field(FilterWords.failure, .minLength(1), .maxLength(FilterWords.longest)) package var failure: String?
  @Field("Where this page starts: 'next' of the page before.", .minLength(1)) package var cursor: String?
  @Field("Whether to list the open runs in pages, too. Otherwise the first page has all of them.")
  package var paged = false
  @Field("Only open runs that need a person (true), or only the other open ones (false).")
  package var needsPerson: Bool?
  @Field("Only runs of these recipes.") package var recipes: [String] = []

  package init() {}

  /// The request for the runs of a query, without the members that only pages use.
  package init(_ query: RunListQuery) {
    self.init()
    fill(from: query)
    limit = query.limit
    cursor = query.after
    paged = query.isPaged
    needsPerson = query.needsPerson
    recipes = query.seen
  }

  package var target: Void { () }
  package var moreScopes: Set<TokenScope> { scopesOfFilter }

  package func run(
    on visible: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunList {
    var query = try query(limit: limit)
    (query.seen, query.after, query.isPaged, query.needsPerson) = (recipes, cursor, paged, needsPerson)
    return try await agent.runs(try query.narrowed(to: visible))
  }

  package static func view(_ list: RunList, for caller: AgentCaller) -> RunListAnswer {
    RunListAnswer(list, withData: caller.seesData)
  }

  package static func head(_ list: RunList) -> ViewHead { ViewHead(next: list.next) }
}
