package import Basics

/// Which open runs to find; a member that is nil matches every run.
package struct OpenRunQuery: Sendable {
  package var recipe: String?
  /// Only runs of one of these recipes, if there are any.
  package var recipes: [String] = []
  /// Only runs in that group.
  package var group: String?
  package var statuses: Set<RunStatus>?
  package var idPrefix: String?
  package var idSuffix: String?
  /// Only retries of these runs, if there are any.
  package var retriesOf: Set<String> = []
  /// Only retries and repeats of that run.
  package var againOf: String?
  /// Only runs with a step that waits for an event with that name.
  package var event: String?
  /// Only runs that were created at that instant or later.
  package var createdFrom: Timestamp?
  /// Only runs that were created before that instant.
  package var createdBefore: Timestamp?
  /// Only runs whose id comes before this, for paging.
  package var idBefore: String?
  /// Only runs that a person has to look at, or only the others.
  package var needsPerson: Bool?
  package var filter = RunFilter()

  package init(
    recipe: String? = nil, group: String? = nil, statuses: Set<RunStatus>? = nil, idPrefix: String? = nil,
    idSuffix: String? = nil, retryOf: String? = nil, event: String? = nil
  ) {
    self.recipe = recipe
    self.group = group
    self.statuses = statuses
    self.idPrefix = idPrefix
    self.idSuffix = idSuffix
    if let retryOf { retriesOf = [retryOf] }
    self.event = event
  }

  package func matches(_ run: RunRecord) -> Bool {
    if let recipe, !recipe.hasSameScalars(as: run.recipe) { return false }
    if !recipes.isEmpty, !recipes.contains(where: run.recipe.hasSameScalars) { return false }
    if let group, run.origin.group?.name.hasSameScalars(as: group) != true { return false }
    if let statuses, !statuses.contains(run.status) { return false }
    if let idPrefix, !run.id.utf8.starts(with: idPrefix.utf8) { return false }
    if let idSuffix, !run.id.utf8.hasSuffix(idSuffix.utf8) { return false }
    if !retriesOf.isEmpty, run.retryOf.map(retriesOf.contains) != true { return false }
    if let event, !run.awaits(event) { return false }
    if let createdFrom, run.createdAt < createdFrom { return false }
    if let createdBefore, run.createdAt >= createdBefore { return false }
    if let idBefore, !run.id.precedesByScalars(idBefore) { return false }
    if let needsPerson, run.needsPerson != needsPerson { return false }
    if let againOf, run.origin.cause.again?.hasSameScalars(as: againOf) != true { return false }
    return filter.isEmpty || filter.matches(RunSummary(run))
  }

  /// Whether the columns of a database decide about each run, so that the records needn't be looked at.
  package var isOfColumns: Bool { filter.isEmpty && retriesOf.isEmpty && againOf == nil }
}

extension RunRecord {
  /// The run that it retries.
  package var retryOf: String? { origin.cause.kind == .retry ? origin.cause.run : nil }

  /// Whether a step of the run waits for an event with that name.
  package func awaits(_ event: String) -> Bool {
    steps.contains { $0.status == .waiting && $0.wait?.event?.hasSameScalars(as: event) == true }
  }

  /// Whether it can't continue, or asks for a decision, until a person acts.
  package var needsPerson: Bool { status == .uncertain || status == .paused || steps.askPerson }
}

/// Which events to find; a member that is nil matches every event.
package struct EventQuery: Sendable {
  package var name: String?
  /// Only events that no run and no schedule consumed.
  package var isUnconsumed = false
  /// Only events that this run or schedule consumed.
  package var consumer: String?
  /// Only events that this run may consume.
  package var run: String?
  /// Only events received at that instant or later.
  package var since: Timestamp?

  package init(
    name: String? = nil, isUnconsumed: Bool = false, consumer: String? = nil, run: String? = nil,
    since: Timestamp? = nil
  ) {
    self.name = name
    self.isUnconsumed = isUnconsumed
    self.consumer = consumer
    self.run = run
    self.since = since
  }

  /// The matching events, in the order they came.
  package func answer(_ events: some Sequence<EventRecord>) -> [EventRecord] {
    events.filter(matches).sorted { left, right in
      left.receivedAt == right.receivedAt ? left.id.precedesByScalars(right.id) : left.receivedAt < right.receivedAt
    }
  }

  private func matches(_ event: EventRecord) -> Bool {
    if let name, !name.hasSameScalars(as: event.name) { return false }
    if isUnconsumed, event.consumedBy != nil { return false }
    if let consumer, event.consumedBy?.hasSameScalars(as: consumer) != true { return false }
    if let run, let only = event.run, !only.hasSameScalars(as: run) { return false }
    if run != nil, event.delivery != nil { return false }
    if let since, event.receivedAt < since { return false }
    return true
  }
}

/// A store on one machine, which holds all open records in memory.
///
/// It answers without suspending the caller, so that nothing changes between an actor's question and its next action.
package protocol LocalStateStore: StateStore {
  /// Reads the state as of the last recorded event, while nothing changes it.
  func look<Answer: Sendable>(_ body: (State) -> Answer) -> Answer
}

extension LocalStateStore {
  /// The whole state, for tests.
  ///
  /// While a copy is held, the next change copies what it touches.
  package var state: State { look { $0 } }

  package func run(_ id: String) -> RunRecord? { look { $0.runs[id] } }
  package func openRun(_ id: String) async -> RunRecord? { run(id) }
  package func tokens() async -> [TokenIssued] {
    look { state in state.tokens.values.sorted { $0.name.precedesByScalars($1.name) } }
  }
  package func sessions() async -> [SessionBegan] {
    look { state in state.sessions.values.sorted { $0.sha256.precedesByScalars($1.sha256) } }
  }
  package func session(_ sha256: String) async -> SessionBegan? { look { $0.sessions[sha256] } }
  package func dismissals() async -> [FailureDismissed] {
    look { state in state.dismissals.values.sorted { $0.group.precedesByScalars($1.group) } }
  }
  package func connectionUse(of connection: String) async -> ConnectionUse? { look { $0.connections[connection] } }
  package func keyed(
    _ key: RunKey, of recipe: String, at instant: Timestamp
  ) async throws(StateError) -> KeyedRun? {
    let found = look { state in
      Result { () throws(RecordError) in try state.run(ofKey: key, of: recipe, at: instant) }
    }
    do throws(RecordError) { return try found.get() } catch { throw StateError(.unavailable, error.message) }
  }
  /// The open runs that match, oldest first.
  package func runs(_ query: OpenRunQuery) -> [RunRecord] {
    look { $0.runs.values.filter(query.matches) }.sorted { $0.id.precedesByScalars($1.id) }
  }
  package func openRuns(_ query: OpenRunQuery) async -> [RunRecord] { runs(query) }
  package func latestOpenRuns(_ query: OpenRunQuery, limit: Int) async -> (runs: [RunRecord], count: Int) {
    look { state in
      // Records are large, so only the page's records are copied; and only the ids that may be on it are sorted.
      var ids: [String] = []
      var (count, least) = (0, "")
      func trim() {
        ids.sort { $0.precedesByScalars($1) }
        ids.removeFirst(ids.count - min(ids.count, limit))
      }
      for index in state.runs.indices where query.matches(state.runs.values[index]) {
        let id = state.runs.keys[index]
        count += 1
        if id.precedesByScalars(least) { continue }
        ids.append(id)
        guard ids.count / 2 > limit else { continue }
        trim()
        least = ids.first ?? ""
      }
      trim()
      return (ids.compactMap { state.runs[$0] }, count)
    }
  }
  package func openRunCounts() async -> [RunStatus: Int] {
    look { state in
      var counts: [RunStatus: Int] = [:]
      for run in state.runs.values { counts[run.status, default: 0] += 1 }
      return counts
    }
  }
  package func linked(_ sha256: String) async -> LinkedQuestion? { look { $0.links.known[sha256] } }
  package func endedRun(_ id: String) -> RunRecord? { look { $0.endedRun(id) } }
  package func event(_ id: String) async -> EventRecord? { look { $0.events[id] } }
  package func events(_ query: EventQuery) async -> [EventRecord] {
    look { query.answer($0.events.values) }
  }
  package func eventCount() async -> Int { look { $0.events.count } }
  package func schedule(_ id: String) async -> ScheduleRecord? { look { $0.schedules[id] } }
  package func schedules() async -> [ScheduleRecord] {
    look { Array($0.schedules.values) }.sorted { $0.id.precedesByScalars($1.id) }
  }
  package func value(named name: String) async -> StoredValue? { look { $0.values[name] } }
  package func valueCount() async -> Int { look { $0.values.count } }
  package func valueNames() async -> [String] { look { Array($0.values.keys) }.sorted { $0.precedesByScalars($1) } }
}
