package import Basics
package import Calendars
package import Recipes
package import RunState

/// What a schedule does: when it starts runs, how it handles slots that can't start at once, and the values that its
/// runs are created with.
///
/// Shared by all schedules that have it in common; immutable.
package final class SchedulePlan: Sendable {
  package let recipe: String
  /// The recipe's file, as the agent found it.
  package let file: String
  /// The texts of the recipe and of the recipes that it calls, by file.
  package let texts: StoredValue
  /// The version of the recipe language that the texts are read in.
  package let language: Int
  /// The inputs of a run, checked and with defaults; inputs that are computed when its slot is decided aren't included.
  package let inputs: Value
  /// Computes the inputs of each run; nil if none are, and a person can give none.
  package let starting: StartingInputs?
  package let overrides: [String: Value]
  /// Whether its runs are against sandboxes.
  package let isSandbox: Bool
  package let group: RunGroup?
  /// The zone of recipes that name none.
  package let zone: String?
  /// Where several programs share the state: the needs that a program must offer to run its runs, and their queue.
  package let needs: [String]
  package let queue: String?
  /// The version of Errand that accepts the runs.
  package let program: String
  package let trigger: Trigger
  /// Why no run can be started, in a sentence; nil if one can.
  package let refusal: String?

  package init(
    recipe: String, file: String, texts: StoredValue, language: Int = LanguageVersion.current, inputs: Value,
    starting: StartingInputs? = nil, overrides: [String: Value] = [:], isSandbox: Bool = false, group: RunGroup? = nil,
    zone: String? = nil, needs: [String] = [], queue: String? = nil,
    program: String, trigger: Trigger, refusal: String? = nil
  ) {
    self.recipe = recipe
    self.file = file
    self.texts = texts
    self.inputs = inputs
    self.starting = starting
    self.language = language
    self.overrides = overrides
    self.group = group
    self.zone = zone
    self.needs = needs
    self.queue = queue
    self.isSandbox = isSandbox
    self.program = program
    self.trigger = trigger
    self.refusal = refusal
  }

  package var recurrence: Recurrence? { trigger.recurrence }

  /// The recipe whose runs the schedule follows.
  package var follows: String? {
    if case .afterRecipe(let name, status: _, outputs: _) = trigger.kind { name } else { nil }
  }

  /// Whether what starts a run must be known.
  var readsEvent: Bool { starting?.readsEvent ?? false }

  /// The event that it listens for.
  var event: String? { if case .event(let name, match: _, form: _) = trigger.kind { name } else { nil } }

  /// Whether it may start runs with the batch, which may have been gathered before the schedule was edited.
  func takes(_ batch: BatchRecord) -> Bool {
    switch trigger.kind {
    case .event, .webhook, .form: batch.files.isEmpty
    case .file: !batch.files.isEmpty
    case .timed, .afterRecipe: false
    }
  }

  /// The policy for a start while a run is alive.
  ///
  /// Events and ends of runs come only once, so they wait; an entry for deliveries may say otherwise.
  var overlap: Trigger.Overlap {
    trigger.recurrence == nil && trigger.path == nil ? .bufferAll : trigger.overlap
  }

  /// The text that decides the slots; a schedule whose text changes has no past to make up for.
  ///
  /// It includes the recipe's own pause and limit, because an edit of those overrides what a person set before.
  package var spec: String {
    var hash = FowlerNollVo()
    switch trigger.kind {
    case .timed(let recurrence): hash.add("timed \(recurrence.fingerprint)")
    case .event(let name, match: _, form: _): hash.add("event \(name)")
    case .file(let pattern, settle: _, existing: _): hash.add("file \(pattern.text)")
    case .webhook(let webhook): hash.add("webhook \(webhook.path) \(webhook.signal ?? "")")
    case .form(let form): hash.add("form \(form.path)")
    case .afterRecipe(let name, let status, outputs: _): hash.add("after \(name) \(status.joined(separator: " "))")
    }
    hash.add("\(trigger.isPaused) \(trigger.remainingRuns ?? 0)")
    return String(hash.value, radix: 16)
  }

  /// When a slot starts: a part of the jitter later, always the same, and always before the next slot.
  func due(_ slot: Timestamp, of schedule: String) -> Timestamp {
    guard let jitter = trigger.jitter, jitter > .zero, let recurrence else { return slot }
    var bound = UInt64(jitter.nanoseconds) + 1
    if let next = recurrence.next(after: slot), let gap = next.span(since: slot) {
      bound = min(bound, UInt64(clamping: gap.nanoseconds))
    }
    var hash = FowlerNollVo()
    hash.add(schedule)
    hash.add(slot.description)
    // FNV's high bits are alike for texts that differ at their ends.
    var mixed = hash.value
    mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
    mixed = (mixed ^ (mixed >> 32)) &* 0xD6E8_FEB8_6659_FD93
    let delay = (mixed ^ (mixed >> 32)).multipliedFullWidth(by: bound).high
    return slot.advanced(by: TimeSpan(nanoseconds: Int(clamping: delay))) ?? slot
  }
}

/// One schedule: an entry of a recipe's `on:`.
package struct ScheduleEntry: Sendable {
  /// The recipe's name, and the entry's id after a slash if it has one.
  package var id: String
  package var plan: SchedulePlan

  /// The id of an entry of a recipe.
  package static func id(of trigger: Trigger, in recipe: String) -> String {
    trigger.id.map { "\(recipe)/\($0)" } ?? recipe
  }

  package init(id: String, plan: SchedulePlan) {
    self.id = id
    self.plan = plan
  }

  package init(_ plan: SchedulePlan) {
    self.init(id: ScheduleEntry.id(of: plan.trigger, in: plan.recipe), plan: plan)
  }
}
