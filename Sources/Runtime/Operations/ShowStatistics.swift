package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ShowStatistics: Operation {
  package static let name = "statistics"
  package static let summary = "Counts the finished runs of recipes by their results, and says how long they took."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/statistics")
  package static let command: String? = "runs statistics"
  package static let page: String? = "/recipes/{recipe}"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]

  @Field("Only this recipe.") package var recipe: String?
  @Field("How many days to count, today included. Days are UTC days.", .range(1...366)) package var days = 30
  @Field("Whether to count each day, too.") package var daily = false

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, OperationAnswer {
    /// The first day, and the day after the last, as numbers of days since 1970-01-01.
    package var firstDay: Int
    package var endDay: Int
    package var sums: [RunSum]

    package init(_ sums: [RunSum], from firstDay: Int, to endDay: Int) {
      self.sums = sums
      self.firstDay = firstDay
      self.endDay = endDay
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      firstDay = try member("firstDay", record?.firstDay)
      endDay = try member("endDay", record?.endDay)
      sums = try member("sums", record?.sums)
    }

    package func limited(to recipes: VisibleRecipes) -> Answer {
      Answer(sums.filter { recipes.contain($0.recipe) }, from: firstDay, to: endDay)
    }

    /// The statistics of each recipe that has finished runs, in the order of their names.
    package var recipes: [RecipeStatistics] { RecipeStatistics.all(sums) }
  }

  package func run(
    on recipes: VisibleRecipes, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    if let recipe, !recipes.contain(recipe) { throw RequestRefusedError(.notFound, "there is no such recipe") }
    let today = RunSum.day(of: agent.time.now())
    let query = RunSumQuery(firstDay: today &- min(max(days, 1), 366) &+ 1, recipe: recipe, isByDay: daily)
    let sums = try await agent.kept { () async throws(StateError) in try await agent.store.runSums(query) }
    return Answer(sums, from: query.firstDay, to: today &+ 1)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> StatisticsAnswer {
    filled(StatisticsAnswer()) {
      $0.since = RunSum.start(ofDay: answer.firstDay)
      $0.items = answer.recipes.map { RecipeStatisticsAnswer($0) }
    }
  }
}

/// How the finished runs of a recipe ended, over some days or on one.
package struct RunTotals: Sendable, Equatable {
  package private(set) var counts: [RunStatus: Int] = [:]
  /// How many milliseconds the runs that succeeded took together.
  private var took = 0

  package init() {}

  mutating func add(_ sum: RunSum) {
    counts[sum.status, default: 0] &+= sum.count
    if sum.status == .succeeded { took &+= sum.took }
  }

  package var succeeded: Int { counts[.succeeded] ?? 0 }
  package var failed: Int { FailureMark.statuses.reduce(0) { $0 &+ (counts[$1] ?? 0) } }
  package var count: Int { counts.values.reduce(0, &+) }

  /// The part of successes, from 0 to 1, among successes and failures; nil if there are none.
  package var success: Double? {
    let all = succeeded &+ failed
    return all > 0 ? Double(succeeded) / Double(all) : nil
  }

  /// How long the runs that succeeded took on average; nil if none did.
  package var average: TimeSpan? { succeeded > 0 ? .milliseconds(took / succeeded) : nil }

  /// The success in words, such as `98 % of 250`.
  package var successInWords: String? {
    success.map { "\(Int(($0 * 100).rounded(.down))) % of \(succeeded &+ failed)" }
  }
}

/// How the finished runs of a recipe ended.
package struct RecipeStatistics: Sendable, Equatable {
  package var recipe: String
  package var totals = RunTotals()
  /// The totals of each day that has finished runs, in order, if days were counted.
  package var days: [(day: Int, totals: RunTotals)] = []

  package static func == (left: RecipeStatistics, right: RecipeStatistics) -> Bool {
    left.recipe.hasSameScalars(as: right.recipe) && left.totals == right.totals
      && left.days.elementsEqual(right.days) { $0 == $1 }
  }

  /// - Parameter sums: In the order of recipes and days.
  static func all(_ sums: [RunSum]) -> [RecipeStatistics] {
    var all: [RecipeStatistics] = []
    for sum in sums {
      if all.last?.recipe.hasSameScalars(as: sum.recipe) != true { all.append(RecipeStatistics(recipe: sum.recipe)) }
      let last = all.count - 1
      all[last].totals.add(sum)
      guard let day = sum.day else { continue }
      if all[last].days.last?.day != day { all[last].days.append((day, RunTotals())) }
      all[last].days[all[last].days.count - 1].totals.add(sum)
    }
    return all
  }

  /// The recipes whose runs succeeded or failed, the least successful first.
  package static func worst(_ all: [RecipeStatistics], most: Int) -> [RecipeStatistics] {
    let sorted = all.filter { $0.totals.success != nil }.sorted { left, right in
      let (first, second) = (left.totals.success ?? 1, right.totals.success ?? 1)
      if first != second { return first < second }
      if left.totals.failed != right.totals.failed { return left.totals.failed > right.totals.failed }
      return left.recipe.precedesByScalars(right.recipe)
    }
    return Array(sorted.prefix(most))
  }
}

/// How the finished runs of a recipe ended.
package struct RecipeStatisticsAnswer: FieldSet {
  @Field("The recipe's name.") package var recipe: String
  @Field("How many of its runs have ended.") package var runs: Int
  @Field("How many had each result.") package var counts: [String: Int]
  @Field("The part that succeeded of the runs that succeeded or failed, from 0 to 1; absent if there are none.")
  package var success: Double?
  @Field("How long the runs that succeeded took on average, in seconds.") package var average: Double?
  @Field("With 'daily': the days that have finished runs.") package var days: [DayStatisticsAnswer] = []

  package init() {}

  init(_ statistics: RecipeStatistics) {
    recipe = statistics.recipe
    runs = statistics.totals.count
    counts = statistics.totals.named
    success = statistics.totals.success
    average = statistics.totals.average?.inSeconds
    days = statistics.days.map { day, totals in
      filled(DayStatisticsAnswer()) {
        $0.day = CivilDate(daysSinceEpoch: day).description
        $0.counts = totals.named
        $0.average = totals.average?.inSeconds
      }
    }
  }
}

extension RunTotals {
  fileprivate var named: [String: Int] { Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) }) }
}

/// How the runs of a recipe ended on a day.
package struct DayStatisticsAnswer: FieldSet {
  @Field("The day of UTC, such as 2026-11-20.") package var day: String
  @Field("How many had each result.") package var counts: [String: Int]
  @Field("How long the runs that succeeded took on average, in seconds.") package var average: Double?

  package init() {}
}

/// How the finished runs of recipes ended.
package struct StatisticsAnswer: FieldSet {
  @Field("The beginning of the first day.") package var since: Timestamp
  @Field("The recipes with finished runs, in the order of their names.") package var items: [RecipeStatisticsAnswer]

  package init() {}
}
