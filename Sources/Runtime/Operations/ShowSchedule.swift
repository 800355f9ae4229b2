package import ActionKit
package import Agent
package import Basics
import Recipes
package import RunState

package struct ShowSchedule: Operation {
  package static let name = "schedule"
  package static let summary = "Shows a schedule: when it is due, since when it is late, and the inputs of its runs."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/schedules/{id}")
  package static let command: String? = "schedule show"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]

  @Field("The schedule's id.") package var id: String

  package init() {}

  package var target: String { id }

  package struct Answer: Record, OperationAnswer {
    /// The schedule without the texts of its recipe.
    package var schedule: ScheduleRecord
    /// When it is due; nil if its recipe can't be read now.
    package var words: String?
    package var late: Timestamp?
    package var inputs: [ScheduleInput]

    package init(_ schedule: ScheduleRecord, words: String?, late: Timestamp?, inputs: [ScheduleInput]) {
      self.schedule = schedule
      self.words = words
      self.late = late
      self.inputs = inputs
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      schedule = try member("schedule", record?.schedule)
      words = try member("words", record?.words)
      late = try member("late", record?.late)
      inputs = try member("inputs", record?.inputs, default: [])
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      Answer(schedule.alone, words: words, late: late, inputs: inputs)
    }
  }

  package func run(
    on known: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let host = try agent.steered()
    var schedule = try await host.schedule(known.id)
    schedule.base = agent.sessions.base
    schedule.record.texts = nil
    let inputs = caller.seesData ? schedule.inputs(hiding: agent.store.secrets.finder) : []
    return Answer(
      schedule.record, words: schedule.trigger?.wordsWithZone,
      late: agent.agent.isServing ? await host.late[known.id] : nil, inputs: inputs)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ScheduleAnswer {
    filled(ScheduleAnswer(answer.schedule, when: answer.words, late: answer.late, withData: caller.seesData)) {
      $0.inputs = answer.inputs.map { ScheduleInputAnswer($0) }
    }
  }
}
