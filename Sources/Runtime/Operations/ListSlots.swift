package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListSlots: Operation {
  package static let name = "slots"
  package static let summary = "Lists the slots in the ledger, latest first."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/slots")
  package static let command: String? = "schedule log"
  package static let page: String? = "/schedules/{id}"

  @Field("Only slots of this schedule.") package var schedule: String?
  @Field("Only slots of the schedules of these recipes.") package var recipes: [String] = []
  @Field("How many slots to list at most.", .range(0...ListLimit.most)) package var limit = 20
  @Field("Only slots at this instant or later.") package var from: Timestamp?
  @Field("Only slots before this instant.") package var before: Timestamp?
  @Field("Where this page starts: 'next' of the page before.", .minLength(1)) package var cursor: String?

  package init() {}

  package init(_ query: SlotQuery) {
    self.init()
    schedule = query.schedule
    limit = query.limit
    recipes = query.recipes
    from = query.from
    before = query.before
    cursor = query.after
  }

  package var target: String? { schedule }

  package func run(
    on schedules: VisibleSchedules, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> SlotRecords {
    // One more shows whether there is a next page.
    let limit = ListLimit.clamped(limit)
    var query = SlotQuery(limit: limit + 1, schedule: schedules.only, from: from, before: before, after: cursor)
    guard let recipes = schedules.recipes.narrowed(to: recipes) else { return SlotRecords([]) }
    query.recipes = recipes
    var slots = try await agent.slots(query)
    guard slots.count > limit else { return SlotRecords(slots) }
    slots.removeLast(slots.count - limit)
    return SlotRecords(slots, next: slots.last?.cursor)
  }

  package static func head(_ slots: SlotRecords) -> ViewHead { ViewHead(next: slots.next) }
}
