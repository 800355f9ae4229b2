/// The history: the ended runs, as a `MonthlyLog` in `history/`, each in the month of its end.
import Basics
import Synchronization

typealias History = MonthlyLog<RunRecord>

extension RunRecord: LogRecord {
  static let label = "run"
  var summary: RunSummary { RunSummary(self) }
}

extension RunSummary: LogSummary {
  var instant: Timestamp { endedAt }
  var span: ClosedRange<Timestamp> { endedAt...endedAt }
  var features: [String] {
    [recipe, status.rawValue, RunSummary.feature(recipe, status)]
      + (again.map { [RunSummary.feature(againOf: $0)] } ?? [])
      + (failure.map { [RunSummary.feature($0.group)] } ?? [])
  }

  /// A feature of a run by recipe and status, because either alone may be common where both together are rare.
  fileprivate static func feature(_ recipe: String, _ status: RunStatus) -> String { "\(recipe) \(status.rawValue)" }

  /// A feature of a retry, and of a repeat.
  fileprivate static func feature(againOf run: String) -> String { "retry of \(run)" }

  /// A feature of a failure.
  fileprivate static func feature(_ group: String) -> String { "failure \(group)" }
}

extension History {
  /// The blobs that a run may name.
  func blobs(of id: String) throws(StateError) -> [String] {
    try whole.withLock { whole throws(StateError) in try lines(Query(id: id), &whole).first?.line.blobs ?? [] }
  }

  /// The runs that match, latest end first.
  func runs(_ query: HistoryQuery) throws(StateError) -> [RunSummary] {
    var search = Query(limit: query.limit)
    search.idPrefix = query.idPrefix
    // No run ends before it was created.
    search.from = [query.createdFrom, query.endedFrom].compactMap(\.self).max()
    search.before = query.endedBefore
    (search.firstMonth, search.lastMonth) = (query.endedFrom, query.endedBefore)
    search.matches = query.matches
    if let prefix = query.idPrefix { search.needles.append(["{\"id\":\(JSON.quoted(prefix).dropLast())"]) }
    if let suffix = query.idSuffix {
      search.needles.append(["\(JSON.quoted(suffix).dropFirst()),\"recipe\":"])
    }
    if !query.retriesOf.isEmpty, query.retriesOf.count < 3 {
      search.needles.append(query.retriesOf.map { ",\"retryOf\":\(JSON.quoted($0))," })
    }
    if let run = query.againOf {
      search.needles.append([",\"retryOf\":\(JSON.quoted(run)),", "\"run\":\(JSON.quoted(run))"])
    }
    search.needles += query.filter.needles.map { [$0] }
    search.foldedNeedles = query.filter.foldedNeedles
    if let recipe = query.recipe { search.needles.append([",\"recipe\":\(JSON.quoted(recipe)),"]) }
    // Most lines hold one of many.
    if let statuses = query.statuses, statuses.count < 3 {
      search.needles.append(statuses.map { ",\"status\":\"\($0.rawValue)\"," })
    }
    if let failure = query.failure { search.needles.append([",\"failure\":{\"group\":\(JSON.quoted(failure)),"]) }
    switch (query.recipe, query.statuses) {
    // A block from before there were groups has no failure of one.
    case (_, _) where query.failure != nil: search.features = query.failure.map { [RunSummary.feature($0)] }
    case (let recipe?, let statuses?): search.features = statuses.map { RunSummary.feature(recipe, $0) }
    case (let recipe?, nil): search.features = [recipe]
    case (nil, let statuses?): search.features = statuses.map(\.rawValue)
    // A recipe's name finds retries too, also in blocks that are older than this feature.
    case (nil, nil) where !query.retriesOf.isEmpty:
      search.features = query.retriesOf.map(RunSummary.feature(againOf:))
    case (nil, nil) where query.againOf != nil:
      search.features = query.againOf.map { [RunSummary.feature(againOf: $0)] }
    case (nil, nil): break
    }
    return try summaries(search)
  }
}
