import Basics
package import RunState

extension HistoryMaker {
  /// The answers of a store to each possible question after the history, a line for each record, as JSON.
  ///
  /// - Parameter isJoining: Whether to join rows of slots in the ledger that a folder keeps apart, because it begins
  ///   new rows after a snapshot.
  package func answers(of store: any StateStore, isJoining: Bool = false) async throws(StateError) -> [String] {
    var answers = Answers()
    for id in Set(names.runs).sorted() {
      try answers.add("run \(id)", await store.openRun(id))
      try answers.add("finished run \(id)", try await store.finishedRun(id))
    }
    var queries = [
      OpenRunQuery(), OpenRunQuery(recipe: "report"), OpenRunQuery(group: "markbook"),
      OpenRunQuery(statuses: [.waiting, .queued]), OpenRunQuery(event: "handed-in"),
      OpenRunQuery(retryOf: state.ended.first?.id ?? ""), OpenRunQuery(idPrefix: names.runs.last ?? ""),
    ]
    queries[0].needsPerson = true
    queries.append(OpenRunQuery())
    for (place, query) in queries.enumerated() {
      try answers.add("open runs \(place)", await store.openRuns(query))
      let (runs, count) = await store.latestOpenRuns(query, limit: 2)
      try answers.add("the latest of \(count) open runs \(place)", runs)
    }
    let counts = await store.openRunCounts()
    answers.lines.append("counts: " + counts.map { "\($0.key): \($0.value)" }.sorted().joined(separator: ", "))
    try await addItems(to: &answers, of: store)
    var finished = [
      HistoryQuery(limit: 1000), HistoryQuery(limit: 3), HistoryQuery(limit: 5, recipe: "averages"),
      HistoryQuery(limit: 5, statuses: [.failed, .cancelled]), HistoryQuery(limit: 0),
      HistoryQuery(limit: 5, retryOf: state.ended.first?.id ?? ""),
    ]
    finished[2].endedFrom = state.ended.dropFirst(2).first?.endedAt
    for (place, query) in finished.enumerated() {
      try answers.add("finished runs \(place)", try await store.finishedRuns(query))
    }
    for isByDay in [true, false] {
      try answers.add("sums", try await store.runSums(RunSumQuery(firstDay: 0, isByDay: isByDay)))
    }
    try answers.add("sums of averages", try await store.runSums(RunSumQuery(firstDay: 0, recipe: "averages")))
    try answers.add("results", try await store.latestResults(of: HistoryMaker.recipes + ["never"], from: .earliest))
    try answers.add("failures", try await store.failures(from: .earliest))
    let all = try await store.slots(SlotQuery(limit: 10_000))
    try answers.add("slots", isJoining ? HistoryMaker.joined(all) : all)
    if isJoining { return answers.lines }
    for schedule in HistoryMaker.schedules {
      try answers.add("slots of \(schedule)", try await store.slots(SlotQuery(limit: 3, schedule: schedule)))
    }
    return answers.lines
  }

  private func addItems(to answers: inout Answers, of store: any StateStore) async throws(StateError) {
    for (key, recipe) in names.keys {
      try answers.add("\(key) of \(recipe)", try await store.keyed(key, of: recipe, at: now))
    }
    for connection in HistoryMaker.connections {
      try answers.add("use of \(connection)", counting(await store.connectionUse(of: connection)))
    }
    try answers.add("tokens", await store.tokens())
    try answers.add("sessions", await store.sessions())
    for session in HistoryMaker.sessions { try answers.add("session \(session)", await store.session(session)) }
    try answers.add("dismissals", await store.dismissals().filter { $0.forgottenAt > now })
    for link in HistoryMaker.links { try answers.add("link \(link)", await store.linked(link)) }
    for id in Set(names.events + ["never"]).sorted() { try answers.add("event \(id)", await store.event(id)) }
    let queries = [
      EventQuery(), EventQuery(name: "corrected"), EventQuery(isUnconsumed: true),
      EventQuery(name: "handed-in", isUnconsumed: true, run: names.runs.last), EventQuery(consumer: "report"),
      EventQuery(since: now.advanced(by: .seconds(-86_400))),
    ]
    for (place, query) in queries.enumerated() { try answers.add("events \(place)", await store.events(query)) }
    for schedule in HistoryMaker.schedules {
      try answers.add("schedule \(schedule)", await store.schedule(schedule))
    }
    try answers.add("schedules", await store.schedules())
    for name in HistoryMaker.values { try answers.add("value \(name)", await store.value(named: name)) }
    let (count, events) = (await store.valueCount(), await store.eventCount())
    answers.lines.append("\(count) values: \(await store.valueNames()), \(events) events")
  }

  /// The part of a connection's use that still counts: a folder forgets the rest with the next use of another
  /// connection, and a database with the next use of the same.
  private func counting(_ use: ConnectionUse?) -> ConnectionUse? {
    guard var use else { return nil }
    use.sent = use.sent.filter { $0.advanced(by: use.per).map { $0 > now } ?? true }
    if let held = use.heldUntil, held <= now { use.heldUntil = nil }
    return use.sent.isEmpty && use.heldUntil == nil ? nil : use
  }

  /// The ledger, latest first, with rows that continue each other as one.
  private static func joined(_ slots: [SlotRecord]) -> [SlotRecord] {
    var rows: [SlotRecord] = []
    var last: [String: Int] = [:]
    for slot in slots.reversed() {
      if let place = last[slot.schedule], rows[place].continues(with: slot) {
        rows[place].until = slot.until ?? slot.slot
        rows[place].count += slot.count
      } else {
        last[slot.schedule] = rows.count
        rows.append(slot)
      }
    }
    return rows.reversed()
  }
}

private struct Answers {
  var lines: [String] = []

  mutating func add(_ what: String, _ record: (some Recordable)?) throws(StateError) {
    lines.append("\(what): \(try record?.storedText ?? "none")")
  }

  mutating func add(_ what: String, _ records: [some Recordable]) throws(StateError) {
    for record in records { lines.append("\(what): \(try record.storedText)") }
  }
}
