package import Agent
package import Basics
import Calendars
package import RunState
import Runs

// Requests that only read. None of them reads a finished run whole.
extension AgentParts {
  /// Lists the open runs that match and the latest finished ones, from a page on.
  func runs(_ query: RunListQuery) async throws(RequestRefusedError) -> RunList {
    var query = query
    query.limit = ListLimit.clamped(query.limit)
    var (open, count): ([RunRecord], Int) = ([], 0)
    let lastOpen = query.isPaged ? query.after.flatMap(RunListQuery.openRun) : nil
    // Also where no finished run is asked for.
    if let cursor = query.after, lastOpen == nil { _ = try RunListQuery.placed(cursor) }
    if query.failure == nil, query.after == nil || lastOpen != nil, query.hasOpenRuns {
      var asked = query.ofOpenRuns
      asked.idBefore = lastOpen
      (open, count) = await store.latestOpenRuns(asked, limit: query.isPaged ? query.limit : .max)
    }
    open = open.map(\.listed)
    if query.needsPerson != nil || query.isPaged && open.count < count {
      let next = open.count < count ? open.first.map(RunListQuery.cursor) : nil
      return RunList(open: open, next: next, openCount: count, unclaimable: try await unclaimable(open))
    }
    let rest = query.isPaged ? query.limit - open.count : query.limit
    var finished: [RunSummary] = []
    let asked = query.hasFinishedRuns ? query.ofFinishedRuns(limit: rest + 1) : []
    for history in asked { finished += try await finishedRuns(history, after: lastOpen == nil ? query.after : nil) }
    if asked.count > 1 {
      finished.sort { $0.endedAt == $1.endedAt ? $1.id.precedesByScalars($0.id) : $0.endedAt > $1.endedAt }
    }
    let hasMore = finished.count > rest
    finished.removeLast(finished.count - min(finished.count, rest))
    let next = finished.last?.cursor ?? (query.isPaged ? open.first.map(RunListQuery.cursor) : nil)
    return RunList(
      open: open, finished: finished, next: hasMore ? next : nil, openCount: count,
      unclaimable: try await unclaimable(open))
  }

  /// How many runs match, by status.
  func counts(_ query: RunListQuery) async throws(RequestRefusedError) -> RunCounts {
    var counts = RunCounts()
    if query.hasOpenRuns {
      for run in await store.openRuns(query.ofOpenRuns) { counts.add(run.status) }
    }
    for history in query.hasFinishedRuns ? query.ofFinishedRuns(limit: 0) : [] {
      let finished = try await kept { () async throws(StateError) in try await store.finishedRunCounts(history) }
      for status in RunStatus.allCases where finished[status] > 0 { counts.add(status, finished[status]) }
      counts.isWhole = counts.isWhole && finished.isWhole
    }
    return counts
  }

  /// A text that changes with everything that answers to a caller may be made of, where that is counted; nil otherwise.
  ///
  /// It can't be guessed. A caller who is limited to recipes has no version of everything: it would tell of changes of
  /// other recipes.
  ///
  /// - Parameter target: The question.
  package func version(of part: StatePart, for caller: AgentCaller, asking target: String) async -> String? {
    guard caller.recipes.isEmpty || part.isOfRun, let state = await store.version(of: part) else { return nil }
    let served = await schedules?.version ?? ""
    let scopes = TokenScope.allCases.filter(caller.scopes.contains).map(\.rawValue)
    let parts: [String] =
      [nonce, "\(part)", state, served, "\(store.secrets.count)", target, caller.name, caller.account]
      + [caller.token ?? "", "\(caller.isOwn)", "\(scopes)", "\(caller.recipes)"]
    return SHA256.digest(of: Array("\(parts)".utf8))
  }

  /// Lists runs for a page, which also asks when runs ended, and for retries; `ListRuns` has no inputs for these.
  package func runs(
    _ query: RunListQuery, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> RunList {
    do throws(RequestRefusedError) {
      try await reach()
      try ListRuns.admit(caller)
      let recipes = VisibleRecipes(caller.recipes)
      let list = try await runs(try query.narrowed(to: recipes))
      return recipes.areAll ? list : list.limited(to: recipes)
    } catch {
      throw displayed(error, to: caller)
    }
  }

  /// The path of a file from the folder of errand.yaml; nil if it is elsewhere.
  func nameForPeople(ofFile path: String) -> String? {
    guard let root = served?.root, path.hasPrefix("\(root)/") else { return nil }
    return String(path.dropFirst(root.count + 1))
  }

  /// The sentence about the input that names the zone of a text's times.
  static let zoneSummary =
    "The time zone of the times in the text, such as Europe/Paris; the folder's if left out."

  /// The zone of a name; nil without one.
  static func zone(named name: String?) throws(RequestRefusedError) -> TimeZoneRules? {
    guard let name else { return nil }
    do throws(TimeZoneError) { return try TimeZoneDatabase.system.rules(named: name) } catch {
      throw RequestRefusedError(.request, error.message)
    }
  }

  /// Why no worker can claim runs that are due, by run id; nil if the state isn't shared.
  private func unclaimable(_ runs: [RunRecord]) async throws(RequestRefusedError) -> [String: String]? {
    guard let sharing = store.sharing else { return nil }
    if runs.isEmpty { return [:] }
    let places = try await kept { () async throws(StateError) in try await sharing.unclaimable(among: runs.map(\.id)) }
    return places.mapValues(\.reason)
  }

  /// A page of the ledger's slots.
  func slots(_ query: SlotQuery) async throws(RequestRefusedError) -> [SlotRecord] {
    guard let cursor = query.after else { return try await ledger(query) }
    let word = cursor.split(separator: "_", maxSplits: 1).first.map { String($0) } ?? ""
    guard let instant = Timestamp(word) else {
      throw RequestRefusedError(.request, "the cursor isn't one that a page of slots named")
    }
    var query = query
    // Those of the page before that were settled at the same instant come again, and are passed over.
    query.settledUntil = instant
    let count = query.limit
    while true {
      query.limit = query.limit.multipliedReportingOverflow(by: 2).partialValue
      let asked = query
      let slots = try await ledger(asked)
      let isAll = slots.count < query.limit
      let place =
        slots.firstIndex { $0.cursor == cursor }.map { $0 + 1 }
        ?? (isAll ? slots.firstIndex { $0.at < instant } : nil) ?? slots.endIndex
      if isAll || slots.count - place >= count { return Array(slots[place...].prefix(count)) }
    }
  }

  /// The ledger's latest slots that match, those that wait among them; those of some recipes are found by schedule.
  ///
  /// The one list of what was decided, for commands, programs and pages. A slot that waits is settled later; until then
  /// its schedule holds it.
  private func ledger(_ query: SlotQuery) async throws(RequestRefusedError) -> [SlotRecord] {
    let schedules =
      if let id = query.schedule { await store.schedule(id).map { [$0] } ?? [] } else { await store.schedules() }
    let seen = schedules.filter { schedule in
      query.recipes.isEmpty || query.recipes.contains(where: schedule.recipe.hasSameScalars)
    }
    var settled: [SlotRecord] = []
    for id in query.recipes.isEmpty ? [query.schedule] : seen.map({ Optional($0.id) }) {
      var asked = query
      asked.schedule = id
      let wanted = asked
      settled += try await kept { () async throws(StateError) in try await store.slots(wanted) }
    }
    let now = time.now()
    let people = clock?(now) ?? WallClock(.utc, now: now)
    // It was read before what is settled, so that none is missing; one that was settled meanwhile counts as that.
    let known = Dictionary(grouping: settled, by: \.slot)
    let waiting = seen.flatMap { $0.waitingSlots { people.date($0) } }.filter { waiting in
      query.matches(waiting)
        && known[waiting.slot]?.contains { $0.schedule == waiting.schedule && $0.cause == waiting.cause } != true
    }
    let slots = (settled + waiting).sorted { $0.at > $1.at }
    return Array(slots.prefix(query.limit))
  }

  /// The finished runs that match, latest end first, after the place that a cursor names.
  private func finishedRuns(
    _ query: HistoryQuery, after cursor: String?
  ) async throws(RequestRefusedError) -> [RunSummary] {
    guard let cursor else {
      return try await kept { () async throws(StateError) in try await store.finishedRuns(query) }
    }
    let instant = try RunListQuery.placed(cursor)
    var query = query
    let count = query.limit
    // The order is that in which the ends were recorded, which need not be that of their instants.
    let slack = TimeSpan.seconds(60)
    query.endedBefore = instant.advanced(by: slack) ?? .latest
    while true {
      query.limit = query.limit.multipliedReportingOverflow(by: 2).partialValue
      let asked = query
      let runs = try await kept { () async throws(StateError) in try await store.finishedRuns(asked) }
      let isAll = runs.count < query.limit
      // The run that the cursor names may have been deleted.
      let isPast = isAll || runs.last.map { ($0.endedAt.advanced(by: slack) ?? .latest) < instant } == true
      let place =
        runs.firstIndex { $0.cursor == cursor }.map { $0 + 1 }
        ?? (isPast ? runs.firstIndex { $0.endedAt <= instant } : nil) ?? runs.endIndex
      if isAll || runs.count - place >= count { return Array(runs[place...].prefix(count)) }
    }
  }

  /// The most bytes of large values that are read to compute an input.
  private static let mostInputBytes = 4 << 20

  /// The input of a step of a run, computed again from its record, and the step's place in its recipe; nil where that
  /// can't be done.
  func input(
    ofStep step: StepPath, in run: RunRecord
  ) async throws(RequestRefusedError) -> (input: StepReplay.Input, place: RecipePlace?)? {
    guard let findInput = served?.findInput else { return nil }
    var facts = RunFacts(run: run, now: time.now(), others: [], events: [])
    for (name, blob) in facts.missingValues(at: step, upTo: AgentParts.mostInputBytes) {
      facts.values[name] = try await value(of: blob)
    }
    return await findInput(facts, step)
  }

  /// Collects the facts for an explanation of a run, besides its record.
  func facts(_ question: RunFacts.Question) async throws(RequestRefusedError) -> RunFacts.Answer {
    let (around, others) = try await kept { () async throws(StateError) in
      (
        try await RunFacts.Surroundings(of: question, in: store, now: time.now()), try await question.others(in: store)
      )
    }
    // A process that runs only its own runs, as 'errand run' does.
    let isHolder = if agent.isServing { false } else { await host.isOwn(question.run) }
    return RunFacts.Answer(
      around: around, others: others, events: await question.events(in: store), holder: isHolder ? agent.pid : nil)
  }

  /// Every schedule, so that the caller can describe it and compute its next slots.
  ///
  /// Recipes of one file share the same texts, which only the first of them has. The texts are limited to 4 MiB; beyond that the
  /// caller reads the files.
  func listSchedules(of recipes: VisibleRecipes) async throws(RequestRefusedError) -> ListSchedules.Answer {
    var left = 4 << 20
    var given: [String: StoredValue] = [:]
    var records: [ScheduleRecord] = []
    for var schedule in await store.schedules() where recipes.contain(schedule.recipe) {
      if let stored = schedule.texts, given[schedule.file] == stored {
        schedule.texts = nil
      } else if let stored = schedule.texts {
        given[schedule.file] = stored
        // The caller makes its plans from the unmasked recipe.
        let texts = try await kept { () async throws(StateError) in
          do throws(StateError) { return try await store.restored(stored, as: "the recipe") } catch {
            guard error.kind == .secret else { throw error }
            return try await store.value(stored)
          }
        }
        left -= texts.map?.members.reduce(0) { $0 + ($1.value.string?.utf8.count ?? 0) } ?? 0
        schedule.texts = left > 0 ? .inline(texts) : nil
      }
      records.append(schedule)
    }
    guard agent.isServing, let schedules else { return ListSchedules.Answer(records, words: [:]) }
    return ListSchedules.Answer(records, words: await schedules.words, late: await schedules.late)
  }
}

extension RunListQuery {
  private static let open = "open:"

  /// The instant of a cursor of finished runs.
  fileprivate static func placed(_ cursor: String) throws(RequestRefusedError) -> Timestamp {
    guard let instant = instant(ofCursor: cursor) else {
      throw RequestRefusedError(.request, "the cursor isn't one that a page of runs named")
    }
    return instant
  }

  /// The cursor of the page after an open run.
  fileprivate static func cursor(_ run: RunRecord) -> String { open + run.id }

  /// The open run that a cursor names, if it names one.
  fileprivate static func openRun(_ cursor: String) -> String? {
    cursor.hasPrefix(open) ? String(cursor.dropFirst(open.count)) : nil
  }
}

extension RunSummary {
  /// The place of a finished run in lists, which stays when the run is deleted.
  fileprivate var cursor: String { RunListQuery.cursor(id, endedAt) }
}

extension RunListQuery {
  /// The cursor of the page after a finished run.
  package static func cursor(_ run: String, _ endedAt: Timestamp) -> String { "\(endedAt)_\(run)" }

  /// The instant of a cursor of finished runs; nil if the text is none.
  package static func instant(ofCursor text: String) -> Timestamp? {
    text.utf8.contains(UInt8(ascii: "_")) ? text.split(separator: "_").first.flatMap { Timestamp(String($0)) } : nil
  }
}

extension ScheduleRecord {
  /// What waits, as rows of the ledger.
  ///
  /// - Parameter date: Shows an instant.
  fileprivate func waitingSlots(_ date: (Timestamp) -> String) -> [SlotRecord] {
    func row(_ slot: Timestamp, _ at: Timestamp, _ cause: RunCause, _ reason: String) -> SlotRecord {
      SlotRecord(schedule: id, slot: slot, outcome: .buffered, at: at, cause: cause, reason: reason)
    }
    var rows = buffered.map { row($0.slot, $0.at, $0.cause, "waits for another run to end") }
    if let batch {
      let verb = batch.events.count == 1 ? "is" : "are"
      rows.append(
        row(
          batch.at, batch.at, batch.cause(batch.events.first ?? "", of: id),
          "gathers until \(date(batch.due)); there \(verb) \(batch.counted)"))
    }
    return rows
  }
}
