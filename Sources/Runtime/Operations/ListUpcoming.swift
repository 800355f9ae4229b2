package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListUpcoming: Operation {
  package static let name = "upcoming"
  package static let summary = "Lists the coming slots of the schedules, earliest first."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/upcoming")
  package static let command: String? = "schedule next"
  package static let page: String? = "/schedules"

  @Field("Only slots of this schedule.") package var schedule: String?
  @Field("Only slots of the schedules of these recipes.") package var recipes: [String] = []
  @Field("How many slots to list at most.", .range(0...ListLimit.mostComing)) package var limit = 20
  @Field("Only slots at this instant or later.") package var from: Timestamp?
  @Field("Only slots before this instant.") package var before: Timestamp?
  @Field("Whether to list only the first slot of each schedule.") package var first = false

  package init() {}

  package var target: String? { schedule }

  package struct Answer: Record, OperationAnswer {
    package var slots: [UpcomingSlot]

    package init(_ slots: [UpcomingSlot]) { self.slots = slots }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      slots = try member("slots", record?.slots)
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      Answer(slots.filter { recipes.contain(ScheduleID.recipe(of: $0.schedule)) })
    }
  }

  package func run(
    on schedules: VisibleSchedules, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let limit = ListLimit.clamped(limit, to: ListLimit.mostComing)
    var query = SlotQuery(limit: limit, schedule: schedules.only, from: from, before: before, isFirst: first)
    guard let recipes = schedules.recipes.narrowed(to: recipes) else { return Answer([]) }
    query.recipes = recipes
    return Answer(try await agent.steered().upcoming(query))
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> UpcomingListAnswer {
    filled(UpcomingListAnswer()) {
      $0.items = answer.slots.map { slot in
        filled(UpcomingAnswer()) {
          $0.schedule = slot.schedule
          $0.slot = slot.slot
        }
      }
    }
  }
}
