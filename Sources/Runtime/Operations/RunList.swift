// Runs in lists, and which of them to list.
import Agent
package import Basics
package import RunState

/// Some runs, on one page.
package struct RunList: Record, OperationAnswer {
  /// The records as lists show them.
  package var open: [RunRecord] = []
  package var finished: [RunSummary] = []
  /// The run after which the next page begins, if there is one.
  package var next: String?
  /// How many open runs match, on this page and after it.
  package var openCount = 0
  /// Why no worker can claim open runs that are due, by run id; nil if the state isn't shared.
  package var unclaimable: [String: String]?

  package init(
    open: [RunRecord] = [], finished: [RunSummary] = [], next: String? = nil, openCount: Int = 0,
    unclaimable: [String: String]? = nil
  ) {
    self.open = open
    self.finished = finished
    self.next = next
    self.openCount = openCount
    self.unclaimable = unclaimable
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    next = try member("next", record?.next)
    openCount = try member("openCount", record?.openCount)
    unclaimable = try member("unclaimable", record?.unclaimable)
    open = try member("open", record?.open)
    finished = try member("finished", record?.finished)
  }

  package func limited(to recipes: VisibleRecipes) -> RunList {
    let open = self.open.filter { recipes.contain($0.recipe) }.map(\.alone)
    var limited = self
    limited.open = open
    limited.finished = finished.filter { recipes.contain($0.recipe) }.map(\.alone)
    limited.unclaimable = unclaimable?.filter { entry in open.contains { $0.id == entry.key } }
    return limited
  }

  /// The open runs; for an unclaimable run the reason says why.
  package var openWithReasons: [RunRecord] {
    open.map { run in
      var run = run
      run.reason = unclaimable?[run.id] ?? run.reason
      return run
    }
  }
}

/// Which runs to list; a member that is nil or empty matches every run.
package struct RunListQuery: Sendable {
  /// The most finished runs, or of a page the most runs.
  package var limit: Int
  package var recipe: String?
  /// The recipes that the caller sees; all if empty.
  package var seen: [String] = []
  package var statuses: [RunStatus]
  /// Only runs that were created at that instant or later.
  package var since: Timestamp?
  /// Only runs that were created before that instant.
  package var until: Timestamp?
  /// Only finished runs that ended at that instant or later.
  package var endedSince: Timestamp?
  /// Only retries of these runs, if there are any.
  package var retriesOf: Set<String> = []
  /// Only failures of that group.
  package var failure: String?
  /// The last run of the page before, as its answer named it: the end and the id of a finished one, after which no open
  /// runs are listed, or of pages also an open one after `open:`.
  package var after: String?
  /// Whether the open runs come in pages too, latest first.
  package var isPaged: Bool
  /// Only open runs that a person has to look at, or only the other open ones.
  package var needsPerson: Bool?
  /// Only retries and repeats of that run.
  package var againOf: String?
  package var filter = RunFilter()

  package init(
    limit: Int = 20, recipe: String? = nil, seen: [String] = [], statuses: [RunStatus] = [], since: Timestamp? = nil,
    until: Timestamp? = nil, after: String? = nil, isPaged: Bool = false, needsPerson: Bool? = nil
  ) {
    self.isPaged = isPaged
    self.needsPerson = needsPerson
    self.limit = limit
    self.recipe = recipe
    self.seen = seen
    self.statuses = statuses
    self.since = since
    self.until = until
    self.after = after
  }

  /// The query about recipes that a caller sees; refused if it names others.
  func narrowed(to recipes: VisibleRecipes) throws(RequestRefusedError) -> RunListQuery {
    guard seen.allSatisfy({ recipes.contain($0) }), recipe.map({ recipes.contain($0) }) ?? true else {
      throw RequestRefusedError(.notFound, "there is no such recipe")
    }
    var query = self
    if recipe == nil, seen.isEmpty { query.seen = recipes.names }
    return query
  }

  // MARK: For the store

  /// The statuses, of which none is named if all will do.
  private var wanted: Set<RunStatus>? { statuses.isEmpty ? nil : Set(statuses) }
  /// Whether open runs may match, and whether finished ones may.
  var hasOpenRuns: Bool { failure == nil && wanted?.allSatisfy(\.isEnded) != true }
  var hasFinishedRuns: Bool { wanted?.contains(where: \.isEnded) != false }

  /// Which open runs match.
  var ofOpenRuns: OpenRunQuery {
    var asked = OpenRunQuery(recipe: recipe, statuses: wanted)
    (asked.createdFrom, asked.createdBefore) = (since, until)
    (asked.needsPerson, asked.recipes) = (needsPerson, seen)
    (asked.retriesOf, asked.againOf, asked.filter) = (retriesOf, againOf, filter)
    return asked
  }

  /// Which finished runs match: a query for each recipe, because the history is found by recipe.
  func ofFinishedRuns(limit: Int) -> [HistoryQuery] {
    var history = HistoryQuery(limit: limit, recipe: recipe, statuses: wanted)
    (history.createdFrom, history.endedFrom) = (since, endedSince)
    (history.createdBefore, history.retriesOf) = (until, retriesOf)
    (history.againOf, history.failure, history.filter) = (againOf, failure, filter)
    let recipes: [String?] = recipe == nil && !seen.isEmpty ? seen : [recipe]
    return recipes.map { recipe in
      var query = history
      query.recipe = recipe
      return query
    }
  }
}
