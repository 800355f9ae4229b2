package import Basics
package import Calendars

/// One entry of `on:`: what starts the recipe by itself.
package struct Trigger: Sendable {
  /// The part of slot keys that tells entries apart; required where a recipe has several.
  package var id: String?
  package var kind: Kind
  package var zone: String?
  package var overlap = Overlap.skip
  package var catchup = Catchup.last
  package var catchupWindow: TimeSpan?
  package var catchupLimit: Int?
  package var jitter: TimeSpan?
  package var dstGap = CronExpression.DSTGap.shift
  package var dstFold = CronExpression.DSTFold.first
  package var start: Timestamp?
  package var end: Timestamp?
  /// Days that are left out, in the entry's zone.
  package var exceptDays: [CivilDate] = []
  /// An iCalendar file whose days are left out.
  package var exceptFile: String?
  package var inputs: [(name: String, input: GivenInput)] = []
  package var isPaused = false
  package var pauseNote: String?

  package enum Kind: Sendable {
    case cron(CronExpression)
    case every(TimeSpan, from: Timestamp?)
    case at(Timestamp)
    /// All of the fields must match, where `cron` takes either of its two day fields.
    case calendar(CronExpression)
    case webhook(Value)
    case event(name: String, match: RecipeExpression?)
    case afterRecipe(name: String, status: [String])
  }

  /// What happens to a slot that falls due while a run of the schedule is alive (automation: Temporal's six).
  package enum Overlap: String, CaseIterable, Sendable {
    case skip, bufferOne, bufferAll, cancelOther, terminateOther, allowAll
  }

  /// Which of the slots missed while the agent was down are made up.
  package enum Catchup: String, CaseIterable, Sendable { case none, last, all }
}
