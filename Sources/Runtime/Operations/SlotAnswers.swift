// The slots in answers about schedules.
package import Agent
import Basics
package import RunState

/// Slots of the ledger.
package struct SlotRecords: Record, OperationAnswer {
  package var slots: [SlotRecord]
  /// The cursor of the next page, if there is one.
  package var next: String?

  package init(_ slots: [SlotRecord], next: String? = nil) {
    self.slots = slots
    self.next = next
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    slots = try member("slots", record?.slots)
    next = try member("next", record?.next)
  }

  package func limited(to recipes: VisibleRecipes) -> SlotRecords {
    var limited = self
    limited.slots = slots.compactMap { slot in
      guard recipes.contain(slot.recipe) else { return nil }
      var slot = slot
      slot.cause = slot.cause.alone
      return slot
    }
    return limited
  }
}

extension SlotRecord {
  /// The recipe of its schedule, whose name the schedule's id begins with.
  package var recipe: String { ScheduleID.recipe(of: schedule) }
}

/// The ids of schedules: the recipe's name, and after a slash the entry's own.
enum ScheduleID {
  static func recipe(of id: String) -> String { String(Substring(id.utf8.prefix { $0 != ASCII.slash })) }
}

extension SlotListAnswer {
  package init(_ slots: [SlotRecord], next: String? = nil, for caller: AgentCaller) {
    self.init()
    items = slots.map { SlotAnswer($0, withData: caller.seesData) }
    self.next = next
  }
}

extension Operation where Answer == SlotRecords {
  package static func view(_ slots: SlotRecords, for caller: AgentCaller) -> SlotListAnswer {
    SlotListAnswer(slots.slots, next: slots.next, for: caller)
  }
}
