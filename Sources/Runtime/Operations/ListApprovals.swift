package import ActionKit
package import Agent
import Basics
import RunState

package struct ListApprovals: Operation {
  package static let name = "approvals"
  package static let summary = "Lists the open runs that wait for a decision or an answer, oldest first."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/approvals")
  package static let command: String? = "runs approvals"
  package static let page: String? = "/approvals"

  @Field("How many runs to list at most.", .range(0...ListLimit.most)) package var limit = 50
  @Field("Where this page starts: 'next' of the page before.") package var cursor: String?

  package init() {}

  package var target: Void { () }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunList {
    let limit = ListLimit.clamped(limit)
    // A question is there before the steps have run that tell people of it.
    var waiting = OpenRunQuery(statuses: [.waiting, .running])
    // Whether there is another page would tell of runs that the caller doesn't see.
    (waiting.needsPerson, waiting.recipes) = (true, recipes.names)
    let asking = await agent.store.openRuns(waiting).filter { run in
      cursor.map { $0.precedesByScalars(run.id) } ?? true && run.steps.askPerson
    }
    let page = asking.prefix(limit).map(\.listed)
    return RunList(open: page, next: asking.count > limit ? page.last?.id : nil, openCount: asking.count)
  }

  package static func view(_ list: RunList, for caller: AgentCaller) -> ApprovalListAnswer {
    ApprovalListAnswer(list.open, next: list.next, withData: caller.seesData)
  }

  package static func head(_ list: RunList) -> ViewHead { ViewHead(next: list.next) }
}
