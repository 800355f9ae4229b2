package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListRuns: Operation {
  package static let name = "runs"
  package static let summary = "Lists the open runs, and the latest finished ones."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/runs")
  package static let command: String? = "runs list"
  package static let page: String? = "/runs"

  @Field("How many runs to list at most; without 'paged', how many finished ones.", .range(0...ListLimit.most)) package
    var limit = 20
  @Field("Only runs of this recipe.") package var recipe: String?
  @Field("Only runs with one of these statuses.") package var status: [Word<RunStatus>] = []
  @Field("Only runs created at this instant or later.") package var since: Timestamp?
  @Field("Only runs created before this instant.") package var until: Timestamp?
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
    limit = query.limit
    recipe = query.recipe
    status = query.statuses.map { Word($0) }
    since = query.since
    until = query.until
    cursor = query.after
    paged = query.isPaged
    needsPerson = query.needsPerson
    recipes = query.seen
  }

  package var target: Void { () }

  package func run(
    on visible: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunList {
    let query = RunListQuery(
      limit: limit, recipe: recipe, seen: recipes, statuses: status.map(\.word), since: since, until: until,
      after: cursor, isPaged: paged, needsPerson: needsPerson)
    return try await agent.runs(try query.narrowed(to: visible))
  }

  package static func view(_ list: RunList, for caller: AgentCaller) -> RunListAnswer {
    RunListAnswer(list, withData: caller.seesData)
  }

  package static func head(_ list: RunList) -> ViewHead { ViewHead(next: list.next) }
}
