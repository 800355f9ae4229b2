/// The targets of operations. A caller that is limited to recipes finds the things of these; those of others are for it
/// exactly as if they weren't there.
package import Agent
import Basics
import RunState

package protocol OperationTarget: Sendable {
  /// How a request names it.
  associatedtype Name: Sendable
  /// Whether it is about all recipes, so that a caller who is limited to some is refused before the inputs are read.
  static var isEverything: Bool { get }
  static func find(
    _ name: Name, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Self
}

extension OperationTarget {
  package static var isEverything: Bool { false }
}

/// A text that names a run (`RunNaming`).
package struct RunName: Sendable {
  /// The sentence about the input that names it.
  static let summary =
    "The run: its id, the beginning or end of its id, a recipe's name for its latest run, `last` or `last:RECIPE`."

  package var text: String
  /// Whether only an open run will do, so that a recipe's name means its one open run.
  package var isOpen: Bool

  package init(_ text: String, isOpen: Bool = false) {
    self.text = text
    self.isOpen = isOpen
  }
}

extension RunReference: OperationTarget {
  package static func find(
    _ name: RunName, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunReference {
    try await agent.find(name.text, isOpen: name.isOpen, for: caller)
  }
}

/// A schedule of the state.
package struct KnownScheduleID: OperationTarget {
  package var id: String

  package static func find(
    _ name: String, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> KnownScheduleID {
    _ = try agent.steered()
    return KnownScheduleID(id: try await agent.store.knownSchedule(name, to: caller).id)
  }
}

/// A recipe that is served, by its name.
package struct ServedRecipe: OperationTarget {
  package var name: String

  package static func find(
    _ name: String, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> ServedRecipe {
    guard caller.sees(recipe: name) else { throw await (try agent.steered()).unknownRecipe(name) }
    return ServedRecipe(name: name)
  }
}

/// A plan that is kept.
package struct KeptPlan: OperationTarget {
  var kept: PlanCache.Kept

  package static func find(
    _ digest: String, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> KeptPlan {
    let kept = try? agent.planned(digest)
    if let kept, caller.sees(recipe: kept.plan.recipe) { return KeptPlan(kept: kept) }
    throw agent.unknownPlan(digest)
  }
}

/// The recipes whose things are listed.
package struct VisibleRecipes: OperationTarget, Equatable {
  /// All if empty.
  package var names: [String]

  /// A name that is given twice counts once.
  package init(_ names: [String]) {
    self.names = []
    for name in names where !self.names.contains(where: name.hasSameScalars) { self.names.append(name) }
  }

  package var areAll: Bool { names.isEmpty }

  /// The visible ones of some recipes, or all visible ones if none are named; nil if none of them is visible.
  func narrowed(to wanted: [String]) -> [String]? {
    if wanted.isEmpty { return names }
    let seen = wanted.filter(contain)
    return seen.isEmpty ? nil : seen
  }

  package func contain(_ recipe: String) -> Bool { names.isEmpty || names.contains(where: recipe.hasSameScalars) }

  package static func find(
    _ name: Void, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> VisibleRecipes { VisibleRecipes(caller.recipes) }
}

/// All recipes at once: a caller who is limited to some is refused.
package struct Everything: OperationTarget {
  package static var isEverything: Bool { true }

  package static func find(
    _ name: Void, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Everything { Everything() }
}

/// Nothing that belongs to a recipe.
package struct Anyone: OperationTarget {
  package static func find(
    _ name: Void, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Anyone { Anyone() }
}

/// The schedules whose slots are listed: one, or all of the recipes that the caller sees.
package struct VisibleSchedules: OperationTarget {
  package var recipes: VisibleRecipes
  package var only: String?

  /// A name that no schedule has lists nothing, unless the caller is limited to recipes: then only known ones are named.
  package static func find(
    _ name: String?, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> VisibleSchedules {
    let recipes = VisibleRecipes(caller.recipes)
    guard let name else { return VisibleSchedules(recipes: recipes, only: nil) }
    if recipes.areAll { return VisibleSchedules(recipes: recipes, only: name) }
    return VisibleSchedules(
      recipes: recipes, only: try await KnownScheduleID.find(name, in: agent, for: caller).id)
  }
}
