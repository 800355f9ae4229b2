import Agent
import AgentRuntime
import Basics
import Glibc
import Recipes
import RunState

extension KnownSchedule {
  /// The schedules of the state and of recipes that no agent has read yet, in the order of their ids; and the recipes
  /// that cannot be read.
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
      return KnownSchedule(record, triggers[record.file]?[record.id])
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
        known.append(KnownSchedule(record, trigger, isRead: false))
      }
    }
    let base = workspace.configuration.server.base
    for index in known.indices { known[index].base = base }
    // By their places, because each is large.
    let order = known.indices.sorted { known[$0].record.id.precedesByScalars(known[$1].record.id) }
    return (order.map { known[$0] }, broken)
  }

  /// The earliest slots that come, looking at so many of each schedule.
  static func earliest(
    _ count: Int, of schedules: [KnownSchedule], each: Int = 1, after now: Timestamp
  ) -> [(slot: Timestamp, schedule: KnownSchedule)] {
    let slots = schedules.indices.flatMap { index in
      schedules[index].upcoming(each, after: now).map { (slot: $0, index: index) }
    }
    // They are in the order of their ids.
    return slots.sorted { ($0.slot, $0.index) < ($1.slot, $1.index) }.prefix(count).map {
      ($0.slot, schedules[$0.index])
    }
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
