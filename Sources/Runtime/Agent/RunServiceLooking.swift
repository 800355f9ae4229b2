import Basics
import RunState

// What people look at. Nothing here reads a finished run whole, nor holds more than a page of what it tells.
extension RunService {
  func list(_ asked: AgentRequest) async throws(RequestError) {
    let request = asked.value
    let recipe = request["recipe"]?.string
    var answer = PartedAnswer(to: asked, id: newID())
    var rest = ValueMap([("open", .list([])), ("finished", .list([]))])
    let open = store.openRuns.filter { recipe == nil || $0.recipe == recipe }.map(\.id)
    await send(open, as: "open", of: &answer, &rest) { store.run($0)?.listed.encoded() }
    let query = HistoryQuery(limit: request["limit"]?.int ?? 20, recipe: recipe)
    let finished = try await kept { () async throws(StateError) in try await store.finishedRuns(query) }
    await send(finished, as: "finished", of: &answer, &rest) { $0.encoded() }
    await answer.end(rest)
  }

  /// Says which run a prefix means.
  func find(_ request: Value) async throws(RequestError) -> Value {
    let gist = try await gist(request["run"]?.string ?? "")
    var answer = ValueMap([("run", gist.encoded())])
    answer["open"] = store.run(gist.id)?.listed.encoded()
    return .map(answer)
  }

  func show(_ asked: AgentRequest) async throws(RequestError) {
    let id = try await gist(asked.value["run"]?.string ?? "").id
    var answer = PartedAnswer(to: asked, id: newID())
    var rest = ValueMap()
    try await send(id, as: "run", of: &answer, &rest)
    await answer.end(rest)
  }

  /// Tells what an explanation of a run is made from, besides its record.
  func why(_ asked: AgentRequest) async throws(RequestError) {
    let question: RunFacts.Question
    do throws(RecordError) { question = try RunFacts.Question(reading: asked.value["about"] ?? .null) } catch {
      throw RequestError("request", "the question cannot be read: \(error.message)")
    }
    let (facts, others) = try await kept { () async throws(StateError) in
      (
        try await RunFacts.Surroundings(of: question, in: store, now: time.now()), try await question.others(in: store)
      )
    }
    var answer = PartedAnswer(to: asked, id: newID())
    var rest = ValueMap([("facts", facts.encoded())])
    await send(others, as: "others", of: &answer, &rest) { $0.encoded() }
    await send(question.events(in: store), as: "events", of: &answer, &rest) {
      store.state.events[$0]?.encoded()
    }
    // A process that carries on its own runs alone, as 'errand run' does.
    if !agent.isServing, await host.isOwn(question.run) { rest["holder"] = .int(agent.pid) }
    await answer.end(rest)
  }

  /// Every schedule with its texts, so that it can be told in words and followed into the future.
  ///
  /// As many texts as 4 MiB hold; without them the files count.
  func schedules(_ asked: AgentRequest) async throws(RequestError) {
    var answer = PartedAnswer(to: asked, id: newID())
    var rest = ValueMap([("schedules", .list([]))])
    var left = 4 << 20
    var records: [Value] = []
    for var schedule in store.state.schedules.values.sorted(by: { $0.id.precedesByScalars($1.id) }) {
      if let stored = schedule.texts {
        // The plans of whoever asks are made from the recipe as it is.
        let texts = try await kept { () async throws(StateError) in
          do throws(StateError) { return try await store.restored(stored, as: "the recipe") } catch {
            guard error.kind == .secret else { throw error }
            return try await store.value(stored)
          }
        }
        left -= texts.map?.members.reduce(0) { $0 + ($1.value.string?.utf8.count ?? 0) } ?? 0
        schedule.texts = left > 0 ? .inline(texts) : nil
      }
      records.append(schedule.encoded())
    }
    await send(records, as: "schedules", of: &answer, &rest) { $0 }
    await answer.end(rest)
  }

  func slots(_ asked: AgentRequest) async throws(RequestError) {
    let request = asked.value
    let query = SlotQuery(
      limit: request["limit"]?.int ?? 20, schedule: request["schedule"]?.string, from: try instant("from", of: request),
      before: try instant("before", of: request))
    let slots = try await kept { () async throws(StateError) in try await store.slots(query) }
    var answer = PartedAnswer(to: asked, id: newID())
    var rest = ValueMap([("slots", .list([]))])
    await send(slots, as: "slots", of: &answer, &rest) { $0.encoded() }
    await answer.end(rest)
  }

  /// A member of a request that is an instant, if it is there.
  private func instant(_ name: String, of request: Value) throws(RequestError) -> Timestamp? {
    guard let value = request[name], !value.isNull else { return nil }
    guard let instant = value.timestamp ?? value.string.flatMap({ Timestamp($0) }) else {
      throw RequestError("request", "'\(name)' has to be an instant such as 2026-11-20T09:30:00Z")
    }
    return instant
  }

  // MARK: Finding runs

  /// The one run whose id begins so, open or finished.
  func gist(_ prefix: String) async throws(RequestError) -> RunGist {
    if let run = store.run(prefix) { return RunGist(run) }
    let open = store.openRuns.filter { $0.id.utf8.starts(with: prefix.utf8) }.map { RunGist($0) }
    let finished = try await kept { () async throws(StateError) in
      try await store.finishedRuns(HistoryQuery(limit: 3, idPrefix: prefix))
    }.map { RunGist($0) }
    // One that was open may have ended meanwhile.
    let runs = finished + open.filter { run in !finished.contains { $0.id == run.id } }
    if let run = runs.count == 1 ? runs.first : runs.first(where: { $0.id.hasSameScalars(as: prefix) }) { return run }
    guard runs.isEmpty else {
      let ids = runs.map(\.id).sorted { $0.precedesByScalars($1) }
      let more = ids.count > 5 ? " and others" : ""
      throw RequestError(
        "ambiguous", "several runs begin with '\(prefix)': \(ids.prefix(5).joined(separator: ", "))\(more)")
    }
    throw RequestError("notFound", "no run begins with '\(prefix)'; 'errand runs list' shows the latest")
  }

  /// The record of a run, open or finished.
  func record(_ id: String) async throws(RequestError) -> RunRecord {
    if let run = store.run(id) { return run }
    let finished = try await kept { () async throws(StateError) in try await store.finishedRun(id) }
    guard let finished else { throw RequestError("notFound", "there is no run \(id)") }
    return finished
  }

  /// A run that is in memory: open, or not in the history's files yet.
  private func run(inMemory id: String) -> RunRecord? {
    store.run(id) ?? store.state.ended.last { $0.id == id }
  }

  // MARK: Sending

  /// Sends a list, page by page.
  private func send<Item>(
    _ items: [Item], as name: String, of answer: inout PartedAnswer, _ rest: inout ValueMap,
    _ encoded: (Item) -> Value?
  ) async {
    var page: [Value] = []
    var bytes = 0
    var isWhole = true
    for item in items {
      guard let value = encoded(item) else { continue }
      page.append(value)
      bytes += ValueExtent(of: value)?.bytes ?? PartedAnswer.page
      if bytes < PartedAnswer.page { continue }
      await answer.send(items: page, at: [name])
      isWhole = false
      (page, bytes) = ([], 0)
      guard answer.isHeard else { return }
    }
    if isWhole {
      rest[name] = .list(page)
    } else if !page.isEmpty {
      await answer.send(items: page, at: [name])
    }
  }

  /// Sends a run: in pages while it is in memory, and else as the text that lies in files.
  ///
  /// Each page is taken from the state anew, so that no copy of a large run is held while it goes on. What was told of
  /// one that comes to a halt meanwhile is told again.
  func send(
    _ id: String, as name: String, of answer: inout PartedAnswer, _ rest: inout ValueMap
  ) async throws(RequestError) {
    var told: RunRecord?
    var next = 0
    while answer.isHeard, let run = run(inMemory: id) {
      let head = run.withoutSteps
      if let told, !told.stands(as: head) {
        await answer.beginAnew()
        next = 0
      }
      told = head
      let (page, end) = RunService.page(of: run.stepsInOrder, from: next)
      let isLast = end == run.steps.count
      if isLast {
        var map = head.encoded().map ?? ValueMap()
        if next == 0, !page.isEmpty { map["steps"] = .map(page) }
        rest[name] = .map(map)
      }
      if next > 0 || !isLast { await send(page, [name, "steps"], of: &answer) }
      if isLast { return }
      next = end
    }
    guard answer.isHeard else { return }
    await answer.beginAnew()
    var cursor = LogCursor(id)
    while answer.isHeard, !cursor.isOver {
      let read = try await kept { [cursor] () async throws(StateError) in
        try await store.finishedRunText(cursor, most: PartedAnswer.page)
      }
      guard let (bytes, place) = read else { throw RequestError("notFound", "the run \(id) is not kept any more") }
      if !bytes.isEmpty { await answer.send(text: bytes, at: [name]) }
      cursor = place
    }
  }

  /// The next steps of a run that fit a page, and how many are told with them.
  private static func page(of steps: [StepRecord], from first: Int) -> (page: ValueMap, end: Int) {
    var page = ValueMap()
    var bytes = 0
    var next = first
    while next < steps.count, bytes < PartedAnswer.page {
      let value = steps[next].encoded()
      bytes += ValueExtent(of: value)?.bytes ?? PartedAnswer.page
      page.append(value, asNew: steps[next].path)
      next += 1
    }
    return (page, next)
  }

  private func send(_ page: ValueMap, _ place: [String], of answer: inout PartedAnswer) async {
    if !page.isEmpty { await answer.send(members: page, at: place) }
  }

  /// Hands out a blob, which whoever asked verifies.
  func value(_ asked: AgentRequest) async throws(RequestError) {
    let reference: BlobReference
    do throws(RecordError) { reference = try BlobReference(reading: asked.value["blob"] ?? .null) } catch {
      throw RequestError("request", "the question cannot be read: \(error.message)")
    }
    var answer = PartedAnswer(to: asked, id: newID())
    var rest: [UInt8] = []
    var offset = 0
    while answer.isHeard, offset < reference.size {
      let bytes = try await kept { [offset] () async throws(StateError) in
        try await store.blob(reference, from: offset, most: PartedAnswer.page)
      }
      guard !bytes.isEmpty else { break }
      offset += bytes.count
      rest += bytes
      let whole = rest.dropLast(offset < reference.size ? rest.bytesOfCutCharacter : 0)
      await answer.send(text: whole, at: ["value"])
      rest.removeFirst(whole.count)
    }
    await answer.send(sha256: reference.sha256, at: ["value"])
    await answer.end(ValueMap())
  }
}

extension RunRecord {
  /// Whether the run stands where it stood, but for its steps.
  fileprivate func stands(as other: RunRecord) -> Bool {
    status == other.status && reason == other.reason && wakeAt == other.wakeAt && endedAt == other.endedAt
  }
}
