import Basics
import RunState

// Requests that only read. None of them reads a finished run whole.
extension RunService {
  func runs(_ limit: Int, _ recipe: String?) async throws(RequestRefusedError) -> AgentReply {
    let open = await store.openRuns(OpenRunQuery(recipe: recipe)).map(\.listed)
    let query = HistoryQuery(limit: limit, recipe: recipe)
    return .runs(
      open: open,
      finished: try await kept { () async throws(StateError) in try await store.finishedRuns(query) })
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
    return .schedules(records)
  }

  // MARK: Finding runs

  /// The one run whose id begins with a prefix, open or finished.
  func find(_ prefix: String) async throws(RequestRefusedError) -> RunReference {
    if let run = await store.openRun(prefix) { return RunReference(run) }
    let open = await store.openRuns(OpenRunQuery(idPrefix: prefix)).map { RunReference($0) }
    let finished = try await kept { () async throws(StateError) in
      try await store.finishedRuns(HistoryQuery(limit: 3, idPrefix: prefix))
    }.map { RunReference($0) }
    // An open run may have ended meanwhile.
    let runs = finished + open.filter { run in !finished.contains { $0.id == run.id } }
    if let run = runs.count == 1 ? runs.first : runs.first(where: { $0.id.hasSameScalars(as: prefix) }) { return run }
    guard runs.isEmpty else {
      let ids = runs.map(\.id).sorted { $0.precedesByScalars($1) }
      let more = ids.count > 5 ? " and others" : ""
      throw RequestRefusedError(
        .ambiguous, "several runs begin with '\(prefix)': \(ids.prefix(5).joined(separator: ", "))\(more)")
    }
    throw RequestRefusedError(.notFound, "no run begins with '\(prefix)'; 'errand runs list' shows the latest")
  }

  /// The id of the one open run whose id begins with a prefix.
  func openRun(_ prefix: String) async throws(RequestRefusedError) -> String {
    let run = try await find(prefix)
    guard await store.openRun(run.id) != nil else {
      throw RequestRefusedError(.ended, "the run \(run.id) is over: \(run.status.rawValue)")
    }
    return run.id
  }
}
