package import Basics
package import RunState

/// Everything that is known about one schedule around an instant, for an explanation of it.
package struct ScheduleFacts: Sendable {
  package var schedule: ScheduleRecord
  /// When it is due, in words.
  package var words: String
  /// The instant in question, and whether the user named it.
  package var at: Timestamp
  package var isNamed: Bool
  /// The slots around that instant: the last at or before it, and the first after it.
  package var previous: Timestamp?
  package var following: Timestamp?
  /// The first slot from now on.
  package var upcoming: Timestamp?
  /// Why the rule's own instant nearest to the one in question isn't a slot.
  package var leftOut: LeftOut?
  /// The ledger's records of the previous slot, latest first.
  package var ledger: [SlotRecord] = []
  /// Whether something from outside starts it, such as an event or a file, rather than the time.
  package var isFromOutside = false
  /// When the agent last decided anything before that.
  package var lastSign: Timestamp?
  /// The runs that the ledger names.
  package var runs: [RunReference] = []
  /// The fault of the recipe's file as it is now.
  package var fault: String?
  /// Whether an agent has read the recipe.
  package var isRead = true

  /// Why an instant of the rule isn't a slot.
  package enum LeftOut: Sendable, Equatable {
    case except(Timestamp)
    case beforeStart(Timestamp, start: Timestamp)
    case afterEnd(Timestamp, end: Timestamp)
  }

  package init(_ schedule: ScheduleRecord, words: String, at: Timestamp, isNamed: Bool) {
    self.schedule = schedule
    self.words = words
    self.at = at
    self.isNamed = isNamed
  }
}
