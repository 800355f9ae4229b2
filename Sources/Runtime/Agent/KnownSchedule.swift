package import Basics
package import Calendars
package import Recipes
package import RunState

/// A schedule as the state has it, with the declaration in its recipe.
package struct KnownSchedule: Sendable {
  package var record: ScheduleRecord
  /// The entry in the recipe's last valid version, if that checks with this program.
  package var trigger: Trigger?
  /// Whether an agent has read it; if not, it exists in a file only and has no past.
  package var isRead = true
  /// Where the agent is reached, without a slash at its end; nil if it is only through its socket.
  package var base: String?

  package init(_ record: ScheduleRecord, _ trigger: Trigger?, isRead: Bool = true) {
    self.record = record
    self.trigger = trigger
    self.isRead = isRead
  }

  package var zone: TimeZoneRules? { trigger?.recurrence?.zone }

  /// The clock of its time zone; the caller's if it isn't due at times.
  package func clock(_ own: WallClock) -> WallClock { zone.map { WallClock($0, now: own.now) } ?? own }

  /// The address for its deliveries.
  package var address: String? { trigger?.address.map { (base ?? "") + $0 } }

  /// When it is due, in words.
  package var words: String {
    guard let address = trigger?.address, let base else { return (trigger?.words ?? record.spec).safe }
    return (trigger?.words ?? "").replacing(address, with: base + address).safe
  }

  /// The slots after an instant that are not decided yet, as long as the schedule may start runs.
  package func upcoming(_ count: Int, after instant: Timestamp) -> [Timestamp] {
    guard let recurrence = trigger?.recurrence else { return [] }
    var slots: [Timestamp] = []
    var last = max(instant, record.processedUntil)
    while slots.count < min(count, record.remainingRuns ?? count), let next = recurrence.next(after: last) {
      slots.append(next)
      last = next
    }
    return slots
  }

  // MARK: Facts

  /// How far back a slot is looked for.
  private static let horizon = 9 * 366 * 86_400

  /// The facts for an explanation of the schedule around an instant, except the fault of its file.
  ///
  /// - Parameters:
  ///   - isNamed: Whether the user named the instant.
  ///   - seesAll: Whether the decisions about other schedules may be told.
  ///   - slots: Reads the ledger.
  ///   - run: Finds a run by its id; nil if the history no longer holds it.
  package func facts<Failure: Error>(
    around at: Timestamp, isNamed: Bool, _ now: Timestamp, seesAll: Bool = true,
    slots: (SlotQuery) async throws(Failure) -> [SlotRecord], run: (String) async -> RunReference?
  ) async throws(Failure) -> ScheduleFacts {
    var facts = ScheduleFacts(record, words: words, at: at, isNamed: isNamed)
    facts.isRead = isRead
    facts.upcoming = upcoming(1, after: now).first
    facts.isFromOutside = trigger.map { $0.recurrence == nil } ?? false
    if let recurrence = trigger?.recurrence {
      let start = Timestamp(seconds: at.seconds - KnownSchedule.horizon) ?? .earliest
      facts.previous = recurrence.last(notAfter: at, after: start)
      facts.following = recurrence.next(after: at)
      if isNamed { facts.leftOut = leftOut(recurrence, at, facts.previous ?? start) }
    }
    // The ledger also holds runs that were started out of turn, beside the slots.
    let before = Timestamp(seconds: at.seconds + (isNamed ? 60 : 1)) ?? .latest
    let latest = try await slots(SlotQuery(limit: 1, schedule: record.id, before: before)).first
    if let latest, latest.cause.kind != .slot || facts.previous == nil, latest.slot >= facts.previous ?? .earliest {
      facts.previous = latest.slot
    }
    if let slot = facts.previous {
      let end = Timestamp(seconds: slot.seconds + 1) ?? .latest
      facts.ledger = try await slots(SlotQuery(limit: 50, schedule: record.id, from: slot, before: end))
    }
    let missed = facts.ledger.first { [.missedWindow, .missedPolicy, .superseded].contains($0.outcome) }
    if seesAll, let missed { facts.lastSign = try await slots(SlotQuery(limit: 1, before: missed.slot)).first?.at }
    for id in Set(facts.ledger.compactMap(\.run) + record.openRuns.prefix(1)) {
      // If the history no longer holds a run, only its id is shown.
      if let run = await run(id) { facts.runs.append(run) }
    }
    return facts
  }

  /// Why the rule's last instant before a given one isn't a slot.
  private func leftOut(
    _ recurrence: Recurrence, _ at: Timestamp, _ previous: Timestamp
  ) -> ScheduleFacts.LeftOut? {
    var rule = recurrence
    rule.start = nil
    rule.end = nil
    rule.except = .none
    if let start = recurrence.start, at < start { return .beforeStart(at, start: start) }
    if let end = recurrence.end, at >= end { return .afterEnd(at, end: end) }
    guard let instant = rule.last(notAfter: at, after: previous) else { return nil }
    return .except(instant)
  }
}

/// An input that a schedule gives its runs; a member other than the name says which.
package struct ScheduleInput: Record, Equatable {
  package var name: String
  /// The value, as plain JSON; nil if it holds a secret.
  package var value: Value?
  /// The name of a secret.
  package var secret: String?
  /// The expression that computes it for each run.
  package var computed: String?

  /// - Parameter hide: Masks the secrets in a text.
  fileprivate init(_ name: String, _ input: GivenInput, hide: (String) -> String) {
    self.name = name
    switch input {
    case .text(let text): value = hide(text) == text ? .string(text) : nil
    case .value(let given, _):
      let text = JSON.displayed(given)
      value = hide(text) == text ? try? JSON.parse(text) : nil
    case .secret(let name): secret = name
    case .computed(let template, _): computed = hide(template.written)
    }
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    value = try member("value", record?.value.map { PlainJSON(value: $0) })?.value
    secret = try member("secret", record?.secret)
    computed = try member("computed", record?.computed)
  }
}

extension KnownSchedule {
  /// The inputs that it gives its runs, in the order of the recipe's entry; inputs with a default in the recipe may be
  /// missing.
  package func inputs(hiding finder: SecretFinder) -> [ScheduleInput] {
    (trigger?.inputs ?? []).map { ScheduleInput($0.name, $0.input) { finder.redact($0) } }
  }
}

/// A slot that is to come.
package struct UpcomingSlot: Record, Equatable {
  package var schedule: String
  package var slot: Timestamp

  init(schedule: String, slot: Timestamp) {
    self.schedule = schedule
    self.slot = slot
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    schedule = try member("schedule", record?.schedule)
    slot = try member("slot", record?.slot)
  }
}
