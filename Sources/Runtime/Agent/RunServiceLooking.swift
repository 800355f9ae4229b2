import Basics
import Calendars
import RunState

// Requests that only read. None of them reads a finished run whole.
extension RunService {
  /// Lists the open runs that match and the latest finished ones, from a page on.
  func runs(_ query: RunListQuery) async throws(RequestRefusedError) -> AgentReply {
    var open: [RunRecord] = []
    let statuses = query.statuses.isEmpty ? nil : Set(query.statuses)
    if query.after == nil {
      open = await store.openRuns(OpenRunQuery(recipe: query.recipe, statuses: statuses)).filter { run in
        query.since.map { run.createdAt >= $0 } ?? true && query.until.map { run.createdAt < $0 } ?? true
      }.map(\.listed)
    }
    var history = HistoryQuery(limit: query.limit + 1, recipe: query.recipe, statuses: statuses)
    history.createdFrom = query.since
    history.createdBefore = query.until
    var finished = try await finishedRuns(history, after: query.after)
    let hasMore = finished.count > query.limit
    finished.removeLast(finished.count - min(finished.count, query.limit))
    return .runs(open: open, finished: finished, next: hasMore ? finished.last?.id : nil)
  }

  /// The finished runs that match, latest end first, after the one with that id.
  private func finishedRuns(
    _ query: HistoryQuery, after id: String?
  ) async throws(RequestRefusedError) -> [RunSummary] {
    guard let id else { return try await kept { () async throws(StateError) in try await store.finishedRuns(query) } }
    let last = try await kept { () async throws(StateError) in
      try await store.finishedRuns(HistoryQuery(limit: 1, idPrefix: id)).first { $0.id.hasSameScalars(as: id) }
    }
    guard let last else {
      throw RequestRefusedError(.notFound, "the page cannot begin after the run \(id), which isn't in the history")
    }
    var query = query
    let count = query.limit
    // The order is that in which the ends were recorded, which need not be that of their instants.
    query.endedBefore = last.endedAt.advanced(by: .seconds(60)) ?? .latest
    while true {
      query.limit = query.limit.multipliedReportingOverflow(by: 2).partialValue
      let asked = query
      let runs = try await kept { () async throws(StateError) in try await store.finishedRuns(asked) }
      let isAll = runs.count < query.limit
      let place = runs.firstIndex { $0.id == last.id }.map { $0 + 1 } ?? (isAll ? 0 : runs.endIndex)
      if isAll || runs.count - place >= count { return Array(runs[place...].prefix(count)) }
    }
  }

  /// A page of a run's steps.
  func steps(_ run: String, _ limit: Int, _ from: Int) async throws(RequestRefusedError) -> AgentReply {
    let record = try await stored(try await find(run).id).record()
    let steps = record.stepsInOrder
    let first = min(max(0, from), steps.count)
    let end = first + min(max(0, limit), steps.count - first)
    return .steps((first..<end).map { steps[$0] }, next: end < steps.count ? end : nil)
  }

  /// Why a run is in its state.
  func explanation(of run: String) async throws(RequestRefusedError) -> AgentReply {
    let record = try await stored(try await find(run).id).record()
    guard case .facts(let answer) = try await facts(RunFacts.Question(about: record)) else {
      throw RequestRefusedError(.state, "the run \(record.id) cannot be explained")
    }
    var facts = RunFacts(record, answering: answer)
    for (name, blob) in facts.missingValues {
      facts.values[name] = try await kept { () async throws(StateError) in try await store.value(.blob(blob)) }
    }
    guard let explain else {
      let clock = WallClock(.utc, now: facts.now)
      return .explained(
        run: record.id, Explanation(of: facts, clock: clock, isServed: agent.isServing, holder: answer.holder))
    }
    return .explained(run: record.id, await explain(facts, agent.isServing, answer.holder))
  }

  /// Some lines that programs of a run printed, if there are any from a position on.
  func logs(_ run: String, _ step: StepPath?, _ from: Int) async throws(RequestRefusedError) -> AgentReply {
    let id = try await find(run).id
    var from = from
    while true {
      var piece = try await kept { [from] () async throws(StateError) in try await store.printed(ofRun: id, from: from)
      }
      if let step { piece.lines.removeAll { !$0.belongs(to: step) } }
      if !piece.lines.isEmpty || piece.isLast || Task.isCancelled { return .printed(piece) }
      from = piece.next
    }
  }

  /// Collects the facts for an explanation of a run, besides its record.
  func facts(_ question: RunFacts.Question) async throws(RequestRefusedError) -> AgentReply {
    let (around, others) = try await kept { () async throws(StateError) in
      (
        try await RunFacts.Surroundings(of: question, in: store, now: time.now()), try await question.others(in: store)
      )
    }
    // A process that runs only its own runs, as 'errand run' does.
    let isHolder = if agent.isServing { false } else { await host.isOwn(question.run) }
    return .facts(
      RunFacts.Answer(
        around: around, others: others, events: await question.events(in: store), holder: isHolder ? agent.pid : nil))
  }

  /// Every schedule, so that the caller can describe it and compute its next slots.
  ///
  /// Of those of one file with the same texts only the first has these. The texts are limited to 4 MiB; beyond that the
  /// caller reads the files.
  func listSchedules() async throws(RequestRefusedError) -> AgentReply {
    var left = 4 << 20
    var given: [String: StoredValue] = [:]
    var records: [ScheduleRecord] = []
    for var schedule in await store.schedules() {
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
    return .schedules(records, words: agent.isServing ? await schedules?.words ?? [:] : [:])
  }
}
