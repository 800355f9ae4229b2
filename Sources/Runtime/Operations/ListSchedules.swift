import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListSchedules: Operation {
  package static let name = "schedules"
  package static let summary = "Lists the schedules and their recipes."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/schedules")
  package static let command: String? = "schedule list"
  package static let page: String? = "/schedules"

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, OperationAnswer {
    package var schedules: [ScheduleRecord]
    /// When each is due; known only to an agent that serves.
    package var words: [String: String]
    /// Since when those are late that are; known only to an agent that serves.
    package var late: [String: Timestamp]

    package init(_ schedules: [ScheduleRecord], words: [String: String], late: [String: Timestamp] = [:]) {
      self.schedules = schedules
      self.words = words
      self.late = late
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      words = try member("words", record?.words, default: [:])
      late = try member("late", record?.late, default: [:])
      schedules = try member("schedules", record?.schedules)
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      Answer(
        schedules.filter { recipes.contain($0.recipe) }.map(\.alone),
        words: words.filter { recipes.contain(ScheduleID.recipe(of: $0.key)) },
        late: late.filter { recipes.contain(ScheduleID.recipe(of: $0.key)) })
    }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { try await agent.listSchedules(of: recipes) }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ScheduleListAnswer {
    filled(ScheduleListAnswer()) {
      $0.items = answer.schedules.map {
        ScheduleAnswer($0, when: answer.words[$0.id], late: answer.late[$0.id], withData: caller.seesData)
      }
    }
  }
}
