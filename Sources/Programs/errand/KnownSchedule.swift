import Agent
import AgentRuntime
import Basics
import Calendars
import Glibc
import Recipes
import RunState

/// A schedule as the state has it, with the declaration in its recipe.
struct KnownSchedule: Sendable {
  var record: ScheduleRecord
  /// The entry in the recipe's last valid version, if that checks with this program.
  var trigger: Trigger?
  /// Whether an agent has read it; if not, it exists in a file only and has no past.
  var isRead = true

  var zone: TimeZoneRules? { trigger?.recurrence?.zone }

  /// The clock by which it is due; the caller's if it isn't due at times.
  func clock(_ own: WallClock) -> WallClock { zone.map { WallClock($0, now: own.now) } ?? own }

  /// Where the agent is reached, without a slash at its end; nil if it is only through its socket.
  var base: String?

  /// The address to which deliveries are posted.
  var address: String? { trigger?.webhook.map { (base ?? "") + $0.address } }

  /// When it is due, in words.
  var words: String {
    guard let webhook = trigger?.webhook, let base else { return (trigger?.words ?? record.spec).safe }
    return (trigger?.words ?? "").replacing(webhook.address, with: base + webhook.address).safe
  }

  /// The slots after an instant that are not decided yet, as long as the schedule may start runs.
  func upcoming(_ count: Int, after instant: Timestamp) -> [Timestamp] {
    guard let recurrence = trigger?.recurrence else { return [] }
    var slots: [Timestamp] = []
    var last = max(instant, record.processedUntil)
    while slots.count < min(count, record.remainingRuns ?? count), let next = recurrence.next(after: last) {
      slots.append(next)
      last = next
    }
    return slots
  }

  // MARK: Finding

  /// The schedules of the state and those of recipes that no agent has read yet, in the order of their ids; and the
  /// recipes that cannot be read.
  static func all(
    _ requests: AgentRequests, _ workspace: Workspace
  ) async throws(RuntimeError) -> (known: [KnownSchedule], broken: [BrokenRecipe]) {
    var workspace = workspace
    if workspace.isElsewhere { workspace.zone = try await requests.zone() }
    // Only the first schedule of a file has its texts; a recipe is read once, however many schedules it has.
    var triggers: [String: [String: Trigger]] = [:]
    var known = try await requests.schedules().map { record in
      if triggers[record.file] == nil || record.texts != nil {
        var texts = Value.null
        if case .inline(let value)? = record.texts { texts = value }
        let recipe = workspace.recipe(record.file, among: texts, in: record.language).recipe
        triggers[record.file] = recipe?.triggersBySchedule ?? [:]
      }
      return KnownSchedule(record: record, trigger: triggers[record.file]?[record.id])
    }
    var ids = Set(known.map(\.record.id))
    var broken: [BrokenRecipe] = []
    let now = SystemTime().now()
    for path in workspace.isElsewhere ? [] : (try? workspace.recipeFiles()) ?? [] {
      let (recipe, fault) = workspace.recipe(path, among: .null)
      guard let recipe else {
        broken.append(BrokenRecipe(file: path, fault: fault ?? ""))
        continue
      }
      for trigger in recipe.triggers {
        let id = recipe.schedule(of: trigger)
        guard ids.insert(id).inserted else { continue }
        let record = ScheduleRecord(
          id: id, recipe: recipe.name, file: path, spec: "", createdAt: now, processedUntil: now,
          pause: trigger.isPaused ? PauseRecord(at: now, origin: .recipe, note: trigger.pauseNote) : nil,
          remainingRuns: trigger.remainingRuns)
        known.append(KnownSchedule(record: record, trigger: trigger, isRead: false))
      }
    }
    let base = workspace.configuration.server.base
    for index in known.indices { known[index].base = base }
    return (known.sorted { $0.record.id.precedesByScalars($1.record.id) }, broken)
  }

  /// The schedules that a name means: one by its id, or all of a recipe.
  static func named(_ name: String?, among all: [KnownSchedule]) throws(RuntimeError) -> [KnownSchedule] {
    guard let name else { return all }
    let found = all.filter { $0.record.id.hasSameScalars(as: name) }
    if !found.isEmpty { return found }
    let ofRecipe = all.filter { $0.record.recipe.hasSameScalars(as: name) }
    if !ofRecipe.isEmpty { return ofRecipe }
    let ids = all.map(\.record.id)
    let guess = name.nearest(among: ids).map { "did you mean '\($0)'?" }
    let list = ids.isEmpty ? "no recipe has an 'on:'" : "there are \(joined(ids))"
    throw RuntimeError(.noInput, "no schedule is called '\(name)'; \(guess ?? list)")
  }

  // MARK: Facts

  /// How far back a slot is looked for.
  private static let horizon = 9 * 366 * 86_400

  /// The facts for an explanation of the schedule around an instant.
  func facts(
    around at: Timestamp, isNamed: Bool, _ requests: AgentRequests, in workspace: Workspace, _ now: Timestamp
  ) async throws(RuntimeError) -> ScheduleFacts {
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
    let latest = try await slots(requests, limit: 1, from: nil, before: before).first
    if let latest, latest.cause.kind != .slot || facts.previous == nil, latest.slot >= facts.previous ?? .earliest {
      facts.previous = latest.slot
    }
    if let slot = facts.previous {
      facts.ledger = try await slots(
        requests, limit: 50, from: slot, before: Timestamp(seconds: slot.seconds + 1) ?? .latest)
    }
    if let missed = facts.ledger.first(where: { [.missedWindow, .missedPolicy, .superseded].contains($0.outcome) }) {
      // A token that is limited to some recipes isn't told.
      facts.lastSign = try? await requests.slots(.slots(SlotQuery(limit: 1, before: missed.slot))).first?.at
    }
    for id in Set(facts.ledger.compactMap(\.run) + record.openRuns.prefix(1)) {
      // Of a run that the history no longer holds, only the id is shown.
      if let run = try? await requests.run(id) { facts.runs.append(run) }
    }
    if !workspace.isElsewhere { facts.fault = workspace.recipe(record.file, among: .null).fault }
    return facts
  }

  private func slots(
    _ requests: AgentRequests, limit: Int, from: Timestamp?, before: Timestamp
  ) async throws(RuntimeError) -> [SlotRecord] {
    try await requests.slots(.slots(SlotQuery(limit: limit, schedule: record.id, from: from, before: before)))
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

/// A recipe's file that is broken; only the version that an agent read before is used.
struct BrokenRecipe: Sendable {
  var file: String
  var fault: String

  /// The recipe's name, unless the file declares another.
  var stem: String {
    let name = file.split(separator: "/").last ?? ""
    return String(name.prefix { $0 != "." })
  }
}

extension Recipe {
  /// The id of an entry's schedule.
  fileprivate func schedule(of trigger: Trigger) -> String { name + (trigger.id.map { "/\($0)" } ?? "") }

  fileprivate var triggersBySchedule: [String: Trigger] {
    Dictionary(triggers.map { (schedule(of: $0), $0) }) { first, _ in first }
  }
}
