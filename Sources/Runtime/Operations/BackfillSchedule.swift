package import ActionKit
package import Agent
package import Basics
package import Recipes
package import RunState

package struct BackfillSchedule: Operation {
  package static let name = "backfill"
  package static let summary = "Starts runs for past slots that have none, or only lists those slots."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/schedules/{id}/backfill")
  package static let command: String? = "schedule backfill"
  package static let page: String? = "/schedules/{id}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofSchedules.union([.notServing])
  package static let place = Place.leader
  package static let repeats = Repeats.harmless("a slot that has a run gets no second one")

  @Field("The schedule's id.") package var id: String
  @Field("The instant of the first slot, or earlier.") package var from: Timestamp
  @Field("The end: only slots before this instant count.") package var to: Timestamp
  @Field("The overlap policy if a run is open, instead of the recipe's policy.")
  package var overlap: Word<Trigger.Overlap>?
  @Field("Whether to only list the slots.") package var dryRun = false

  package init() {}

  package var target: String { id }

  /// The slots that were started, or the instants of those that would be.
  package enum Answer: Recordable, OperationAnswer {
    case started(SlotRecords)
    case due([Timestamp], hasMore: Bool)

    package init(reading value: Value) throws(RecordError) {
      guard let hasMore = value["hasMore"]?.bool else {
        self = .started(try SlotRecords(reading: value))
        return
      }
      self = .due(try readRecord(value["slots"]), hasMore: hasMore)
    }

    package func encoded() -> Value {
      switch self {
      case .started(let slots): recorded(slots)
      case .due(let slots, let hasMore): .object(["slots": recorded(slots), "hasMore": .bool(hasMore)])
      }
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      if case .started(let slots) = self { .started(slots.limited(to: recipes)) } else { self }
    }

    /// The slots that were started.
    package var slots: [SlotRecord] { if case .started(let slots) = self { slots.slots } else { [] } }
  }

  package func run(
    on schedule: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    guard from < to else {
      throw RequestRefusedError(.request, "a backfill needs an instant 'from' and a later one 'to'")
    }
    let schedules = try agent.steered()
    let (slots, rest) = try await schedules.slotsToBackfill(schedule.id, from: from, to: to)
    if dryRun { return .due(slots, hasMore: rest != nil) }
    if let rest {
      throw RequestRefusedError(
        .request,
        "'\(schedule.id)' has more than \(slots.count) slots without a run from \(from) until before \(to); backfill them in parts, this one with 'to' \(rest)"
      )
    }
    return .started(
      SlotRecords(
        try await schedules.backfill(
          schedule.id, slots, overlap: overlap?.word, as: caller.asking(RunCause(.backfill)))))
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> SlotListAnswer {
    switch answer {
    case .started(let slots): SlotListAnswer(slots.slots, for: caller)
    case .due(let slots, let hasMore):
      filled(SlotListAnswer([], for: caller)) {
        $0.due = slots
        $0.hasMore = hasMore
      }
    }
  }
}
