package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ListRecipes: Operation {
  package static let name = "recipes"
  package static let summary = "Lists the served recipes."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/recipes")
  package static let command: String? = "recipes list"
  package static let page: String? = "/recipes"

  @Field("Whether to leave out latest, next and pausedSchedules.")
  package var brief = false

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, OperationAnswer {
    package var recipes: [RecipeRecord]
    /// The latest results and the next slots of recipes, by their names; a recipe that has neither is left out.
    package var activities: [String: RecipeActivity]

    package init(_ recipes: [RecipeRecord], _ activities: [String: RecipeActivity] = [:]) {
      self.recipes = recipes
      self.activities = activities
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      recipes = try member("recipes", record?.recipes)
      activities = try member("activities", record?.activities, default: [:])
    }

    package func limited(to visible: VisibleRecipes) -> Answer {
      Answer(recipes.filter { visible.contain($0.name) }, activities.filter { visible.contain($0.key) })
    }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let served = try await agent.steered().servedRecipes().filter { recipes.contain($0.name) }.map {
      agent.displayed($0, to: caller)
    }
    return Answer(served, brief ? [:] : try await agent.activities(of: served.map(\.name), seeing: recipes))
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> RecipeListAnswer {
    filled(RecipeListAnswer()) {
      $0.items = answer.recipes.map { recipe in
        var listed = RecipeAnswer(recipe)
        guard let activity = answer.activities[recipe.name] else { return listed }
        listed.latest = activity.latest.map { ResultAnswer($0) }
        listed.next = activity.next
        listed.pausedSchedules = activity.pausedCount
        return listed
      }
    }
  }
}

/// The latest results of a recipe, and its next slot.
package struct RecipeActivity: Record, Equatable {
  /// The latest results of the last 60 days, at most ten, the latest first.
  package var latest: [RunResult] = []
  /// The next slot of its schedules.
  package var next: Timestamp?
  /// How many of its schedules are paused.
  package var pausedCount = 0

  package init() {}

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    latest = try member("latest", record?.latest, default: [])
    next = try member("next", record?.next)
    pausedCount = try member("pausedCount", record?.pausedCount, default: 0)
  }
}

extension AgentParts {
  fileprivate func activities(
    of recipes: [String], seeing visible: VisibleRecipes
  ) async throws(RequestRefusedError) -> [String: RecipeActivity] {
    let since = time.now().advanced(by: TimeSpan(nanoseconds: -RunResult.reach.nanoseconds)) ?? .earliest
    var activities: [String: RecipeActivity] = [:]
    let results = try await kept { () async throws(StateError) in
      try await store.latestResults(of: recipes, from: since)
    }
    for (recipe, results) in results { activities[recipe, default: RecipeActivity()].latest = results }
    for schedule in await store.schedules() where schedule.pause != nil && visible.contain(schedule.recipe) {
      activities[schedule.recipe, default: RecipeActivity()].pausedCount += 1
    }
    var query = SlotQuery(limit: ListLimit.mostComing, isFirst: true)
    query.recipes = visible.names
    // The earliest comes first.
    for slot in await schedules?.upcoming(query) ?? [] {
      let recipe = ScheduleID.recipe(of: slot.schedule)
      if activities[recipe]?.next == nil { activities[recipe, default: RecipeActivity()].next = slot.slot }
    }
    return activities
  }
}

/// How a run of a recipe ended.
package struct ResultAnswer: FieldSet {
  @Field("The run's id.") package var run: String
  @Field("The status.") package var status: String
  @Field("When it was accepted.") package var createdAt: Timestamp
  @Field("When it ended.") package var endedAt: Timestamp

  package init() {}

  init(_ result: RunResult) {
    run = result.run
    status = result.status.rawValue
    createdAt = result.createdAt
    endedAt = result.endedAt
  }
}
