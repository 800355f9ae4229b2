import ActionKit
package import Basics
package import Calendars

/// One entry of `on:`, which starts the recipe without a person.
package struct Trigger: Sendable {
  /// The part of slot keys that tells entries apart; required where a recipe has several.
  package var id: String?
  package var kind: Kind
  package var overlap = Overlap.skip
  package var catchup = Catchup.last
  package var catchupWindow: TimeSpan?
  package var catchupLimit: Int?
  package var jitter: TimeSpan?
  /// Whether a run that fails pauses the entry.
  package var pausesOnFailure = false
  /// How many slots may start a run; any number if nil.
  package var remainingRuns: Int?
  /// The inputs of a run; computed ones are evaluated when the slot is decided (`StartingInputs`).
  package var inputs: [(name: String, input: GivenInput)] = []
  /// How many events or files start one run; each its own if nil.
  package var batch: Batch?
  package var isPaused = false
  package var pauseNote: String?
  /// The place in the recipe's text that names the trigger's source.
  package var location: Diagnostic.Location?

  package init(id: String? = nil, kind: Kind) {
    self.id = id
    self.kind = kind
  }

  package enum Kind: Sendable {
    /// `cron`, `every`, `at` or `calendar`.
    case timed(Recurrence)
    case event(name: String, match: RecipeExpression?, form: EventForm = EventForm())
    /// - Parameter outputs: The type of the other recipe's outputs, as far as it is known.
    case afterRecipe(name: String, status: [String], outputs: ValueType? = nil)
    /// - Parameter settle: How long a file must have stayed unchanged.
    case file(FilePattern, settle: TimeSpan, existing: Existing)
    case webhook(Webhook)
    case form(WebForm)
  }

  /// Events or files that start one run together: at most `max` of them, within `span` of the first.
  package struct Batch: Sendable, Equatable {
    package var span: TimeSpan
    package var max: Int

    package init(span: TimeSpan, max: Int) {
      self.span = span
      self.max = max
    }
  }

  /// When the entry is due; nil if it is not due at times.
  package var recurrence: Recurrence? { if case .timed(let recurrence) = kind { recurrence } else { nil } }

  /// The trigger in words; times are in its own zone, without the zone's name.
  package var words: String {
    let gathered = batch.map { ", gathered for \($0.span.written)" } ?? ""
    switch kind {
    case .timed(let recurrence): return recurrence.words
    case .event(let name, match: _, form: _): return "on the event '\(name)'\(gathered)"
    case .afterRecipe(let name, status: _, outputs: _): return "after \(name)"
    case .file(let pattern, settle: _, existing: _): return "on files \(pattern.text)\(gathered)"
    case .webhook(let webhook):
      return "on POST \(webhook.address)\(webhook.signal.map { ", sent as the event '\($0)'" } ?? "")\(gathered)"
    case .form(let form): return "on the form \(form.address)"
    }
  }

  /// The trigger in words that can be read beside times of another zone.
  package var wordsWithZone: String { recurrence.map { "\(words), \($0.zone.name)" } ?? words }

  /// The policy for a slot that falls due while a run of the schedule is open (automation: Temporal's six).
  package enum Overlap: String, CaseIterable, Sendable {
    case skip, bufferOne, bufferAll, cancelOther, terminateOther, allowAll
  }

  /// The policy for files that are there when the entry is first served.
  package enum Existing: String, CaseIterable, Sendable { case ignore, run }

  /// Which of the slots missed while the agent was down are made up.
  package enum Catchup: String, CaseIterable, Sendable { case none, last, all }
}
