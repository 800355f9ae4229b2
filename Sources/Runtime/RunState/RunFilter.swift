/// A filter of runs, besides recipe, status and time.
///
/// It looks at summaries of runs alone, so that no history has to be read whole: an index finds the lines that may
/// match by `needles`, and `matches` decides.
package import Basics

package struct RunFilter: Sendable, Equatable {
  /// Only runs of recipes whose names contain this; letters of ASCII match in either case, here and in `text`.
  package var recipePart: String?
  /// Only runs whose reason contains this, as far as lists show the reason.
  package var text: String?
  /// Only runs that were started with all of these inputs.
  package var inputs: [Input] = []
  /// Only runs with one of these causes; an earlier version kept finished runs without.
  package var causes: Set<RunCause.Kind> = []

  package init() {}

  /// The value of an input, which is compared as lists show it.
  package struct Input: Sendable, Equatable {
    package var name: String
    package var value: String

    /// Reads `name=value`; nil without a name.
    package init?(_ text: String) {
      guard let mark = text.utf8.firstIndex(of: ASCII.equals), mark > text.startIndex else { return nil }
      name = String(text[..<mark])
      value = String(text[text.utf8.index(after: mark)...])
    }

    fileprivate var shown: String { value.shortened(to: Value.mostOfInput) }
  }

  package var isEmpty: Bool { self == RunFilter() }

  package func matches(_ run: RunSummary) -> Bool {
    if let recipePart, !RunFilter.holds(run.recipe, recipePart) { return false }
    if let text, run.reason.map({ RunFilter.holds($0, text) }) != true { return false }
    if !causes.isEmpty, run.cause.map({ causes.contains($0.kind) }) != true { return false }
    return inputs.allSatisfy { run.inputs?[$0.name]?.string?.hasSameScalars(as: $0.shown) == true }
  }

  private static func holds(_ text: String, _ part: String) -> Bool {
    Array(text.utf8)[...].holds(folded: Array(folded(part).utf8))
  }

  // MARK: In a line of JSON

  /// Texts that the JSON of a matching summary contains.
  package var needles: [String] {
    var needles = inputs.map { "\(JSON.quoted($0.name)):\(JSON.quoted($0.shown))" }
    if causes.count == 1, let cause = causes.first { needles.append("\"cause\":{\"kind\":\"\(cause.rawValue)\"") }
    return needles
  }

  /// Texts that it contains with letters of ASCII in either case; they are lowercase here.
  package var foldedNeedles: [String] {
    [recipePart, text].compactMap { part in
      part.map { RunFilter.folded(String(JSON.quoted($0).dropFirst().dropLast())) }
    }
  }

  /// The part of the recipe's name in lowercase letters.
  package var foldedRecipePart: String? { recipePart.map(RunFilter.folded) }

  private static func folded(_ text: String) -> String {
    String(decoding: text.utf8.map(PrintedNeedle.lowercased), as: UTF8.self)
  }
}

extension Value {
  /// The most characters of an input's text in lists, and the most inputs.
  fileprivate static let (mostOfInput, mostInputs) = (40, 16)
  /// The most entries of a list or members of a map that are written out.
  private static let mostParts = 8

  /// The inputs of a run as lists show them: a short text for each of the first few, secrets masked.
  package var inputsInShort: Value {
    var short = ValueMap()
    for member in map?.members.prefix(Value.mostInputs) ?? [] {
      guard let name = member.name, !member.value.isNull else { continue }
      short[name] = .string(member.value.inShort.shortened(to: Value.mostOfInput))
    }
    return .map(short)
  }

  private var inShort: String {
    switch content {
    case .list(let items) where items.count > Value.mostParts: "\(items.count) entries"
    case .map(let map) where map.count > Value.mostParts: "\(map.count) members"
    case .string(let text): text
    default: displayed.string ?? JSON.displayed(displayed)
    }
  }
}

/// How many runs have each status.
package struct RunCounts: Record, Equatable {
  package var byStatus: [String: Int] = [:]
  /// Whether all runs that match were counted; otherwise there are more.
  package var isWhole = true

  /// The most finished runs that are counted one by one.
  package static let most = 5_000

  package init() {}

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    byStatus = try member("byStatus", record?.byStatus, default: [:])
    isWhole = try member("isWhole", record?.isWhole, default: true)
  }

  package subscript(status: RunStatus) -> Int { byStatus[status.rawValue] ?? 0 }

  /// How many runs have one of some statuses.
  package func count(of statuses: some Sequence<RunStatus>) -> Int { statuses.reduce(0) { $0 &+ self[$1] } }

  package mutating func add(_ status: RunStatus, _ count: Int = 1) { byStatus[status.rawValue, default: 0] &+= count }
}

extension StateStore {
  /// How many finished runs match, by status; the query's limit doesn't matter.
  package func finishedRunCounts(_ query: HistoryQuery) async throws(StateError) -> RunCounts {
    var query = query
    query.limit = RunCounts.most + 1
    let runs = try await finishedRuns(query)
    var counts = RunCounts()
    for run in runs.prefix(RunCounts.most) { counts.add(run.status) }
    counts.isWhole = runs.count <= RunCounts.most
    return counts
  }
}
