package import Basics

/// The cause of a run, for `errand why` and for the rules that count only some runs.
package struct RunCause: Record, Equatable {
  package enum Kind: String, Recordable, CaseIterable {
    /// A person or a program started it.
    case manual
    /// A slot of a schedule was due.
    case slot
    /// A person started a schedule's run out of turn.
    case trigger
    /// A person backfilled past slots.
    case backfill
    /// A schedule received an event.
    case event
    /// A run of another recipe ended.
    case afterRecipe
    /// A schedule found a file that came or changed.
    case file
    /// A person retried a run that ended badly.
    case retry
    /// A run failed, and `onFailure` of errand.yaml names the recipe.
    case failure
  }

  package var kind: Kind
  /// The schedule's id, if one started it; such a run counts as alive for the schedule's overlap policy.
  package var schedule: String?
  /// The slot's nominal instant, before jitter.
  package var slot: Timestamp?
  /// The id of the event, or of the version of the file.
  package var event: String?
  /// The path of the file.
  package var path: String?
  /// The run that it follows, retries, repeats with its inputs (by hand) or tells of.
  package var run: String?
  /// Who asked for it: the token's name, or the person's; absent if the agent's own account did, by hand.
  package var by: String?
  /// Whether `by` is the name of a token.
  package var isToken = false
  /// The assistant that asked, by its own name, `assistant` if it has none; absent if no assistant asked.
  package var assistant: String?

  package init(
    _ kind: Kind, schedule: String? = nil, slot: Timestamp? = nil, event: String? = nil, path: String? = nil,
    run: String? = nil
  ) {
    self.path = path
    self.kind = kind
    self.schedule = schedule
    self.slot = slot
    self.event = event
    self.run = run
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    kind = try member("kind", record?.kind)
    schedule = try member("schedule", record?.schedule)
    slot = try member("slot", record?.slot)
    event = try member("event", record?.event)
    path = try member("path", record?.path)
    run = try member("run", record?.run)
    by = try member("by", record?.by)
    isToken = try member("isToken", record?.isToken, default: false)
    assistant = try member("assistant", record?.assistant)
  }

  /// Who asked for the run, in words that follow `by`; nil if the agent's own account did, by hand.
  package var asker: String? {
    let person = by.map { isToken ? "the token '\($0)'" : $0 }
    guard let assistant else { return person }
    let named =
      assistant.hasSameScalars(as: RunCause.unnamedAssistant) ? "an assistant" : "the assistant '\(assistant)'"
    return named + (person.map { isToken ? " with \($0)" : " for \($0)" } ?? "")
  }

  /// The run that is done again: the one that it retries, or repeats with its inputs.
  package var again: String? { kind == .retry || kind == .manual ? run : nil }

  /// The name of an assistant that doesn't say its own.
  package static let unnamedAssistant = "assistant"
}

/// The group whose limit a run keeps to, as its recipe names it.
package struct RunGroup: Record, Equatable {
  package var name: String
  package var limit: Int
  /// `queue`, `skip` or `cancelOldest`.
  package var onLimit: String

  package init(name: String, limit: Int, onLimit: String) {
    self.name = name
    self.limit = limit
    self.onLimit = onLimit
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    limit = try member("limit", record?.limit)
    onLimit = try member("onLimit", record?.onLimit)
  }
}
