/// Sums up finished runs, so that questions about many of them need no records: how many had each result on each day,
/// the latest of each recipe, and the groups of failures.
///
/// Days are UTC days. The time of a run is from its acceptance to its end, in whole milliseconds.
package import Basics

/// The runs of a recipe with one result, on a day or on several.
package struct RunSum: Record, Equatable {
  package var recipe: String
  package var status: RunStatus
  /// The day as a number of days since 1970-01-01; nil if it is about all days that were asked for.
  package var day: Int?
  package var count: Int
  /// How many milliseconds they took together.
  package var took: Int

  package init(recipe: String, status: RunStatus, day: Int? = nil, count: Int, took: Int) {
    self.recipe = recipe
    self.status = status
    self.day = day
    self.count = count
    self.took = took
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    recipe = try member("recipe", record?.recipe)
    status = try member("status", record?.status)
    day = try member("day", record?.day)
    count = try member("count", record?.count)
    took = try member("took", record?.took)
  }

  /// The day of an instant.
  package static func day(of instant: Timestamp) -> Int { instant.seconds.flooredDivision(by: 86_400) }

  /// The instant when a day begins.
  package static func start(ofDay day: Int) -> Timestamp {
    let (seconds, isOver) = day.multipliedReportingOverflow(by: 86_400)
    return Timestamp(seconds: isOver ? .max : seconds) ?? (day < 0 ? .earliest : .latest)
  }

  /// Sums in the order of recipes, days and statuses.
  package static func sorted(_ sums: [RunSum]) -> [RunSum] {
    sums.sorted { left, right in
      if !left.recipe.hasSameScalars(as: right.recipe) { return left.recipe.precedesByScalars(right.recipe) }
      if left.day != right.day { return (left.day ?? 0) < (right.day ?? 0) }
      return left.status.rawValue < right.status.rawValue
    }
  }
}

/// Which sums to read.
package struct RunSumQuery: Sendable {
  /// Only days from this one on, as a number of days since 1970-01-01.
  package var firstDay: Int
  /// Only this recipe.
  package var recipe: String?
  /// Whether there is a sum for each day.
  package var isByDay: Bool

  package init(firstDay: Int, recipe: String? = nil, isByDay: Bool = false) {
    self.firstDay = firstDay
    self.recipe = recipe
    self.isByDay = isByDay
  }
}

/// The result of a finished run.
package struct RunResult: Record, Equatable {
  package var run: String
  package var recipe: String
  package var status: RunStatus
  package var createdAt: Timestamp
  package var endedAt: Timestamp

  package init(_ run: RunSummary) {
    self.run = run.id
    recipe = run.recipe
    status = run.status
    createdAt = run.createdAt
    endedAt = run.endedAt
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    recipe = try member("recipe", record?.recipe)
    status = try member("status", record?.status)
    createdAt = try member("createdAt", record?.createdAt)
    endedAt = try member("endedAt", record?.endedAt)
  }

  /// How far back the latest results of recipes are looked for.
  package static let reach = TimeSpan.seconds(60 * 86_400)
  /// The most results of a recipe that are remembered.
  package static let most = 10

  /// Whether it comes before another among the latest results.
  static func isLater(_ left: RunResult, _ right: RunResult) -> Bool {
    left.endedAt == right.endedAt ? right.run.precedesByScalars(left.run) : left.endedAt > right.endedAt
  }
}

extension RunSummary {
  /// How many milliseconds it took.
  fileprivate var took: Int { max(0, endedAt.span(since: createdAt)?.nanoseconds ?? 0) / 1_000_000 }
}

/// The sums of some finished runs, such as all of a month.
package struct RunSums: Sendable, Equatable {
  /// The runs of a recipe on a day with one result.
  fileprivate struct Key: Hashable {
    var day: Int
    var status: RunStatus
  }

  fileprivate struct Total: Equatable {
    var count = 0
    var took = 0
  }

  /// The sums of the runs of a recipe.
  fileprivate struct OfRecipe: Equatable {
    var totals: [Key: Total] = [:]
    /// The latest results, the latest first.
    var latest: [RunResult] = []
    /// When a run last succeeded, by its schedule; under an empty text without one, and under a line end for retries.
    var successes: [String: Timestamp] = [:]

    /// The name of retries among schedules, which no schedule has.
    static let retries = "\n"
  }

  /// The failures of a group, by day.
  fileprivate struct OfGroup: Equatable {
    var latest: RunSummary
    var counts: [Int: Int] = [:]
  }

  private var recipes: [String: OfRecipe] = [:]
  private var groups: [String: OfGroup] = [:]

  package init() {}

  package init(_ runs: some Sequence<RunSummary>) { for run in runs { add(run) } }

  /// Counts a run that is not counted yet.
  package mutating func add(_ run: RunSummary) {
    let day = RunSum.day(of: run.endedAt)
    recipes[run.recipe, default: OfRecipe()].add(run, day)
    guard let group = run.failure?.group else { return }
    groups[group, default: OfGroup(latest: run)].add(run, day)
    if groups.count > FailureGroup.most { forgetOldGroups() }
  }

  /// Forgets a tenth of the groups, the ones that failed longest ago, so that endless new messages cost little.
  private mutating func forgetOldGroups() {
    let old = groups.sorted { left, right in
      let (first, second) = (left.value.latest.endedAt, right.value.latest.endedAt)
      return first == second ? left.key.precedesByScalars(right.key) : first < second
    }
    for (id, _) in old.prefix(FailureGroup.most / 10) { groups[id] = nil }
  }

  // MARK: - Asking several at once

  /// The sums of runs that are counted in one of several.
  package static func sums(_ query: RunSumQuery, in parts: [RunSums]) -> [RunSum] {
    struct Name: Hashable {
      var recipe: String
      var key: Key
    }
    var found: [Name: Total] = [:]
    for part in parts {
      for (recipe, content) in part.recipes where query.recipe.map({ $0.hasSameScalars(as: recipe) }) ?? true {
        for (key, total) in content.totals where key.day >= query.firstDay {
          let key = Key(day: query.isByDay ? key.day : 0, status: key.status)
          found[Name(recipe: recipe, key: key), default: Total()].add(total.count, total.took)
        }
      }
    }
    return RunSum.sorted(
      found.map { name, total in
        RunSum(
          recipe: name.recipe, status: name.key.status, day: query.isByDay ? name.key.day : nil, count: total.count,
          took: total.took)
      })
  }

  /// The latest results of recipes from an instant on, the latest first, by the recipes' names.
  package static func latest(of recipes: [String], from instant: Timestamp, in parts: [RunSums]) -> [String:
    [RunResult]]
  {
    var found: [String: [RunResult]] = [:]
    for recipe in recipes {
      let results = parts.flatMap { $0.recipes[recipe]?.latest ?? [] }.filter { $0.endedAt >= instant }
      if !results.isEmpty { found[recipe] = Array(results.sorted(by: RunResult.isLater).prefix(RunResult.most)) }
    }
    return found
  }

  /// The groups of failures from an instant's day on, the latest first.
  package static func failures(from instant: Timestamp, in parts: [RunSums]) -> [FailureGroup] {
    let first = RunSum.day(of: instant)
    var found: [String: (latest: RunSummary, count: Int)] = [:]
    for part in parts {
      for (id, group) in part.groups {
        let count = group.counts.reduce(0) { $1.key >= first ? $0 + $1.value : $0 }
        guard count > 0 else { continue }
        let known = found[id]
        let latest = known.map { $0.latest.isLater(than: group.latest) ? $0.latest : group.latest } ?? group.latest
        found[id] = (latest, count + (known?.count ?? 0))
      }
    }
    let groups = found.values.map { latest, count in
      let names = [latest.schedule ?? "", OfRecipe.retries]
      let success = parts.flatMap { part in names.compactMap { part.recipes[latest.recipe]?.successes[$0] } }.max()
      return FailureGroup(latest: latest, count: count, hasSucceeded: success.map { $0 > latest.endedAt } ?? false)
    }
    return Array(groups.sorted { $0.latest.isLater(than: $1.latest) }.prefix(FailureGroup.most))
  }
}

extension RunSummary {
  /// Whether it ended later than another one.
  fileprivate func isLater(than other: RunSummary) -> Bool {
    endedAt == other.endedAt ? other.id.precedesByScalars(id) : endedAt > other.endedAt
  }
}

extension RunSums.Total {
  fileprivate mutating func add(_ count: Int, _ took: Int) {
    self.count &+= count
    self.took = self.took.addingReportingOverflow(took).overflow ? .max : self.took &+ took
  }
}

extension RunSums.OfRecipe {
  fileprivate mutating func add(_ run: RunSummary, _ day: Int) {
    totals[RunSums.Key(day: day, status: run.status), default: RunSums.Total()].add(1, run.took)
    let result = RunResult(run)
    let place = latest.firstIndex { RunResult.isLater(result, $0) } ?? latest.endIndex
    if place < RunResult.most {
      latest.insert(result, at: place)
      if latest.count > RunResult.most { latest.removeLast() }
    }
    guard run.status == .succeeded else { return }
    for name in [run.schedule ?? ""] + (run.retryOf == nil ? [] : [Self.retries]) {
      successes[name] = max(successes[name] ?? .earliest, run.endedAt)
    }
  }
}

extension RunSums.OfGroup {
  fileprivate mutating func add(_ run: RunSummary, _ day: Int) {
    if !latest.isLater(than: run) { latest = run }
    counts[day, default: 0] &+= 1
  }
}

// MARK: - In a file

extension RunSums: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    recipes = try member("recipes", record?.recipes, default: [:])
    groups = try member("groups", record?.groups, default: [:])
  }
}

extension RunSums.OfRecipe: Record {
  /// The runs of a day with one result, as a file has them.
  private struct Row: Record {
    var day: Int
    var status: RunStatus
    var count: Int
    var took: Int

    init(_ key: RunSums.Key, _ total: RunSums.Total) {
      (day, status, count, took) = (key.day, key.status, total.count, total.took)
    }

    init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      day = try member("day", record?.day)
      status = try member("status", record?.status)
      count = try member("count", record?.count)
      took = try member("took", record?.took)
    }
  }

  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    let rows: [Row] = try member("days", record?.totals.map { Row($0.key, $0.value) })
    for row in rows {
      totals[RunSums.Key(day: row.day, status: row.status), default: RunSums.Total()].add(row.count, row.took)
    }
    latest = try member("latest", record?.latest, default: [])
    successes = try member("successes", record?.successes, default: [:])
  }
}

extension RunSums.OfGroup: Record {
  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    latest = try member("latest", record?.latest)
    let days: [[Int]] = try member("days", record?.counts.map { [$0.key, $0.value] })
    for day in days where day.count == 2 { counts[day[0], default: 0] &+= day[1] }
  }
}
