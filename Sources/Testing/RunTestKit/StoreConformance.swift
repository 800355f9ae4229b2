import Basics
package import RunState

/// Checks what every store of the state has to do.
///
///     #expect(try await StoreConformance.faults(of: MemoryStateStore()) == [])
package struct StoreConformance {
  private let store: any StateStore
  private var faults: [String] = []

  /// Checks an empty store, and closes it; returns a line for each fault.
  package static func faults(of store: any StateStore) async throws(StateError) -> [String] {
    var conformance = StoreConformance(store: store)
    try await conformance.checkRuns()
    try await conformance.checkQueries()
    try await conformance.checkEvents()
    try await conformance.checkValues()
    try await conformance.checkSchedules()
    try await conformance.checkHistory()
    try await conformance.checkSums()
    try await conformance.checkDismissals()
    try await conformance.checkBlobs()
    try await conformance.checkLogs()
    try await conformance.checkEnd()
    return conformance.faults
  }

  private mutating func expect<Found: Equatable>(_ what: String, _ found: Found, _ wanted: Found) {
    if found != wanted { faults.append("\(what): \(found), not \(wanted)") }
  }

  /// Checks that the store refuses events as a whole.
  private mutating func expectRefusal(_ what: String, isConflict: Bool = false, _ events: [StateEvent]) async {
    do throws(StateError) {
      try await store.append(events)
      faults.append("\(what): it was kept")
    } catch {
      if error.kind != .invalid { faults.append("\(what): \(error.kind), not invalid") }
      if error.isConflict != isConflict { faults.append("\(what): it is \(error.isConflict ? "" : "not ")a conflict") }
    }
  }

  // Identifiers as runs have them.
  private static let r0 = "0199a3f2-4c00-7abc-8def-000000000000"
  private static let r1 = "0199a3f2-4c00-7abc-8def-000000000001"
  private static let r2 = "0199a3f2-4c00-7abc-8def-000000000002"
  private static let r3 = "0199a3f2-4c00-7abc-8def-000000000003"
  private static let r9 = "0199a3f2-4c00-7abc-8def-000000000009"

  private static func instant(_ seconds: Int) -> Timestamp {
    Timestamp(seconds: 1_795_165_200 + seconds) ?? .earliest
  }

  private static func created(
    _ run: String, _ seconds: Int = 0, recipe: String = "averages", cause: RunCause = RunCause(.manual),
    group: String? = nil
  ) -> StateEvent {
    .runCreated(
      RunCreated(
        run: run, at: instant(seconds), recipe: recipe, file: "\(recipe).yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "test", cause: cause,
        group: group.map { RunGroup(name: $0, limit: 1, onLimit: "queue") }))
  }

  private static func changed(_ run: String, _ status: RunStatus, _ seconds: Int = 0) -> StateEvent {
    .runStatusChanged(RunStatusChanged(run: run, at: instant(seconds), status: status))
  }

  // MARK: - Open runs and events

  private mutating func checkRuns() async throws(StateError) {
    try await store.append([])
    try await store.append([Self.created(Self.r1), Self.changed(Self.r1, .running)])
    expect("a run that is held here", store.run(Self.r1)?.status, .running)
    expect("a run, wherever it is held", await store.openRun(Self.r1)?.status, .running)
    expect("a run that there is not", await store.openRun(Self.r0), nil)
    await expectRefusal("a run that is there already", [Self.changed(Self.r1, .paused), Self.created(Self.r1)])
    expect("a run after a batch that was refused", store.run(Self.r1)?.status, .running)
    let step = StepBegan(run: Self.r1, at: Self.instant(1), step: "a", now: Self.instant(1))
    try await store.append(.stepBegan(step))
    expect("a step that began", store.run(Self.r1)?.steps["a"]?.status, .running)
    await expectRefusal(
      "a step of no run", [.stepBegan(StepBegan(run: Self.r0, at: step.at, step: "a", now: step.now))])
  }

  private func open(_ fill: (inout OpenRunQuery) -> Void) -> OpenRunQuery {
    var query = OpenRunQuery()
    fill(&query)
    return query
  }

  private func finished(_ fill: (inout HistoryQuery) -> Void) -> HistoryQuery {
    var query = HistoryQuery()
    fill(&query)
    return query
  }

  private mutating func checkQueries() async throws(StateError) {
    let wait = WaitRecord(.event, event: "handed-in")
    try await store.append([
      Self.created(Self.r3, recipe: "report", cause: RunCause(.retry, run: Self.r0)),
      Self.created(Self.r2, group: "markbook"), Self.changed(Self.r2, .waiting),
      .stepWaits(StepWaits(run: Self.r2, at: Self.instant(2), step: "w", now: Self.instant(2), wait: wait)),
    ])
    let queries: [(String, OpenRunQuery, [String])] = [
      ("every run", OpenRunQuery(), [Self.r1, Self.r2, Self.r3]),
      ("runs of a recipe", OpenRunQuery(recipe: "report"), [Self.r3]),
      ("runs of a group", OpenRunQuery(group: "markbook"), [Self.r2]),
      ("runs by status", OpenRunQuery(statuses: [.running, .queued]), [Self.r1, Self.r3]),
      ("runs by prefix", OpenRunQuery(idPrefix: "0199a"), [Self.r1, Self.r2, Self.r3]),
      ("runs by id", OpenRunQuery(idPrefix: Self.r2), [Self.r2]),
      ("retries", OpenRunQuery(retryOf: Self.r0), [Self.r3]),
      ("runs that wait for an event", OpenRunQuery(event: "handed-in"), [Self.r2]),
      ("runs that wait for another event", OpenRunQuery(event: "handed"), []),
      ("runs of a recipe by status", OpenRunQuery(recipe: "averages", statuses: [.queued]), []),
      ("runs by a part of the recipe", open { $0.filter.recipePart = "POR" }, [Self.r3]),
      ("runs by cause", open { $0.filter.causes = [.retry] }, [Self.r3]),
      ("runs that do a run again", open { $0.againOf = Self.r0 }, [Self.r3]),
      ("runs that do another run again", open { $0.againOf = Self.r1 }, []),
    ]
    for (what, query, wanted) in queries {
      expect(what, await store.openRuns(query).map(\.id), wanted)
      let latest = await store.latestOpenRuns(query, limit: 1)
      expect("the latest of \(what)", latest.runs.map(\.id), Array(wanted.suffix(1)))
      expect("the number of \(what)", latest.count, wanted.count)
    }
    expect("runs by status", await store.openRunCounts(), [.running: 1, .waiting: 1, .queued: 1])
  }

  private mutating func checkEvents() async throws(StateError) {
    func event(_ id: String, _ name: String, _ seconds: Int, run: String? = nil) -> StateEvent {
      .eventReceived(EventRecord(id: id, name: name, run: run, receivedAt: Self.instant(seconds)))
    }
    try await store.append([
      event("e2", "handed-in", 20), event("e1", "handed-in", 10), event("e3", "other", 20),
      event("e4", "handed-in", 30, run: Self.r2),
    ])
    await expectRefusal("an event that was received before", [event("e1", "handed-in", 40)])
    try await store.append(.eventConsumed(EventConsumed(at: Self.instant(41), id: "e1", by: Self.r2)))
    await expectRefusal(
      "an event that was consumed before", [.eventConsumed(EventConsumed(at: Self.instant(42), id: "e1", by: Self.r3))])
    let queries: [(String, EventQuery, [String])] = [
      ("every event", EventQuery(), ["e1", "e2", "e3", "e4"]),
      ("events by name", EventQuery(name: "handed-in"), ["e1", "e2", "e4"]),
      ("events that are free", EventQuery(isUnconsumed: true), ["e2", "e3", "e4"]),
      ("events that a run consumed", EventQuery(consumer: Self.r2), ["e1"]),
      ("events that a run may consume", EventQuery(name: "handed-in", isUnconsumed: true, run: Self.r3), ["e2"]),
      ("events since an instant", EventQuery(since: Self.instant(20)), ["e2", "e3", "e4"]),
    ]
    for (what, query, wanted) in queries { expect(what, await store.events(query).map(\.id), wanted) }
    expect("an event by its id", await store.event("e1")?.consumedBy, Self.r2)
    try await store.append(.eventsForgotten(EventsForgotten(at: Self.instant(50), ids: ["e3"])))
    expect("a forgotten event", await store.event("e3"), nil)
    expect("how many events there are", await store.eventCount(), 3)
  }

  private mutating func checkValues() async throws(StateError) {
    func set(_ name: String, _ value: Int, if condition: ValueState? = nil) -> StateEvent {
      .valueSet(ValueSet(at: Self.instant(60), name: name, value: .inline(.int(value)), condition: condition))
    }
    try await store.append([set("b", 1, if: ValueState(nil)), set("a", 2)])
    await expectRefusal(
      "a value that others changed", isConflict: true, [set("c", 1), set("b", 3, if: ValueState(nil))])
    expect("a value", await store.value(named: "b"), .inline(.int(1)))
    expect("the names of values", await store.valueNames(), ["a", "b"])
    expect("how many values there are", await store.valueCount(), 2)
    try await store.append(.valueRemoved(ValueRemoved(at: Self.instant(61), name: "b")))
    expect("a value that was removed", await store.value(named: "b"), nil)
  }

  private mutating func checkSchedules() async throws(StateError) {
    func schedule(_ id: String) -> StateEvent {
      .scheduleSet(ScheduleSet(at: Self.instant(70), schedule: id, recipe: id, file: "\(id).yaml", spec: "x"))
    }
    func slot(_ seconds: Int, _ schedule: String = "s") -> StateEvent {
      .slotDecided(
        SlotRecord(
          schedule: schedule, slot: Self.instant(seconds), outcome: .missedPolicy, at: Self.instant(seconds),
          cause: RunCause(.slot)))
    }
    try await store.append([schedule("t"), schedule("s"), slot(80), slot(81, "t"), slot(82)])
    await expectRefusal("a slot of no schedule", [slot(83, "u")])
    expect("every schedule", await store.schedules().map(\.id), ["s", "t"])
    expect("a schedule", await store.schedule("s")?.processedUntil, Self.instant(82))
    expect("a schedule that there is not", await store.schedule("u"), nil)
    try await store.compact()
    try await store.append(slot(84))
    let slots = try await store.slots(SlotQuery(limit: 2, schedule: "s"))
    expect("the latest slots of a schedule", slots.map(\.slot), [Self.instant(84), Self.instant(82)])
    let early = try await store.slots(SlotQuery(from: Self.instant(81), before: Self.instant(84)))
    expect("the slots of a time", early.map(\.slot), [Self.instant(82), Self.instant(81)])
  }

  // MARK: - Finished runs

  private mutating func checkHistory() async throws(StateError) {
    func end(_ run: String, _ status: RunStatus, _ seconds: Int) -> StateEvent {
      .runEnded(RunEnded(run: run, at: Self.instant(seconds), status: status))
    }
    try await store.append(end(Self.r1, .succeeded, 90))
    expect("a run that ended", store.run(Self.r1), nil)
    try await store.compact()
    try await store.append(end(Self.r3, .failed, 91))
    await expectRefusal("a change of a run that ended", [Self.changed(Self.r1, .running)])
    var late = HistoryQuery()
    late.endedFrom = Self.instant(91)
    let queries: [(String, HistoryQuery, [String])] = [
      ("finished runs from an instant", late, [Self.r3]),
      ("finished runs", HistoryQuery(), [Self.r3, Self.r1]), ("the last of them", HistoryQuery(limit: 1), [Self.r3]),
      ("finished runs of a recipe", HistoryQuery(recipe: "averages"), [Self.r1]),
      ("finished runs by status", HistoryQuery(statuses: [.succeeded]), [Self.r1]),
      ("finished runs by prefix", HistoryQuery(idPrefix: Self.r3), [Self.r3]),
      ("finished runs by the end of an id", HistoryQuery(idSuffix: "3"), [Self.r3]),
      ("finished retries", HistoryQuery(retryOf: Self.r0), [Self.r3]),
      ("finished runs before an instant", HistoryQuery(endedBefore: Self.instant(91)), [Self.r1]),
      ("finished runs by a part of the recipe", finished { $0.filter.recipePart = "RAGE" }, [Self.r1]),
      ("finished runs by cause", finished { $0.filter.causes = [.retry] }, [Self.r3]),
      ("finished runs by causes", finished { $0.filter.causes = [.retry, .manual] }, [Self.r3, Self.r1]),
      ("finished runs by a text", finished { $0.filter.text = "nothing says this" }, []),
      ("finished runs that did a run again", finished { $0.againOf = Self.r0 }, [Self.r3]),
    ]
    for (what, query, wanted) in queries { expect(what, try await store.finishedRuns(query).map(\.id), wanted) }
    expect("a finished run", try await store.finishedRun(Self.r1)?.steps["a"]?.status, .running)
    expect("a finished run that there is not", try await store.finishedRun(Self.r0), nil)
    expect("the reason of a run that failed", try await store.finishedRuns(HistoryQuery(limit: 1)).first?.reason, nil)
    expect("the deletion of an open run", try await store.deleteRun(Self.r2), false)
    expect("the deletion of a run in the history", try await store.deleteRun(Self.r1), true)
    expect("the deletion of a run that has just ended", try await store.deleteRun(Self.r3), true)
    expect("a second deletion", try await store.deleteRun(Self.r3), false)
    expect("runs after deletions", try await store.finishedRuns(HistoryQuery()).map(\.id), [])
  }

  /// The sums of finished runs are exact: after a snapshot, without one, and after a deletion.
  private mutating func checkSums() async throws(StateError) {
    let everything = RunSumQuery(firstDay: 0, isByDay: true)
    expect("the sums of deleted runs", try await store.runSums(everything), [])
    expect("the results of deleted runs", try await store.latestResults(of: ["averages"], from: .earliest), [:])
    expect("the failures of deleted runs", try await store.failures(from: .earliest), [])
    let names = (10..<16).map { "0199a3f2-4c00-7abc-8def-0000000000\($0)" }
    let day = 86_400
    func over(_ place: Int, _ recipe: String, _ seconds: Int, _ error: RunError?, cause: RunCause) -> [StateEvent] {
      [
        Self.created(names[place], seconds - 10, recipe: recipe, cause: cause),
        .runEnded(
          RunEnded(
            run: names[place], at: Self.instant(seconds), status: error == nil ? .succeeded : .failed, error: error)),
      ]
    }
    func refused(_ number: Int) -> RunError {
      RunError(.network, "gave up after \(number) tries", step: "put[\(number)]/write")
    }
    let (slot, manual) = (RunCause(.slot, schedule: "s"), RunCause(.manual))
    try await store.append(over(0, "s", 1000, refused(1), cause: slot))
    try await store.append(over(1, "s", 1000 + day, refused(22), cause: slot))
    try await store.append(over(2, "t", 1500, RunError(.validation, "no such task"), cause: manual))
    try await store.compact()
    try await store.append(over(3, "s", 2000 + day, refused(333), cause: slot))
    try await store.append(over(4, "s", 3000 + day, nil, cause: manual))

    let first = RunSum.day(of: Self.instant(0))
    func sum(_ recipe: String, _ status: RunStatus, _ day: Int?, _ count: Int) -> RunSum {
      RunSum(recipe: recipe, status: status, day: day.map { first + $0 }, count: count, took: count * 10_000)
    }
    expect(
      "the sums by day", try await store.runSums(everything),
      [
        sum("s", .failed, 0, 1), sum("s", .failed, 1, 2), sum("s", .succeeded, 1, 1), sum("t", .failed, 0, 1),
      ])
    expect(
      "the sums of a recipe from a day on", try await store.runSums(RunSumQuery(firstDay: first + 1, recipe: "s")),
      [sum("s", .failed, nil, 2), sum("s", .succeeded, nil, 1)])
    let results = try await store.latestResults(of: ["s", "t", "u"], from: Self.instant(1500))
    expect("the results of a recipe", results["s"]?.map(\.run), [names[4], names[3], names[1]])
    expect("the recipes with results", results.keys.sorted(), ["s", "t"])
    var groups = try await store.failures(from: .earliest)
    expect("the groups of failures", groups.map(\.latest.id), [names[3], names[2]])
    expect("how many failed alike", groups.map(\.count), [3, 1])
    expect("a message without its numbers", groups.first?.message, "gave up after # tries")
    expect("a step without its numbers", groups.first?.latest.failure?.step, "put[]/write")
    // It was another schedule's, or none.
    expect("groups whose recipe has succeeded since", groups.map(\.hasSucceeded), [false, false])
    var alike = HistoryQuery()
    alike.failure = groups.first?.id
    expect("the failures of a group", try await store.finishedRuns(alike).map(\.id), [names[3], names[1], names[0]])

    try await store.append(over(5, "s", 4000 + day, nil, cause: slot))
    groups = try await store.failures(from: Self.instant(day))
    expect("a group that has succeeded since", groups.map(\.hasSucceeded), [true])
    expect("how many failed alike since a day", groups.map(\.count), [2])
    for name in names { expect("a deletion", try await store.deleteRun(name), true) }
    expect("the sums after deletions", try await store.runSums(everything), [])
    expect("the failures after deletions", try await store.failures(from: .earliest), [])
  }

  private mutating func checkDismissals() async throws(StateError) {
    func dismissed(_ group: String, _ seconds: Int) -> FailureDismissed {
      FailureDismissed(
        at: Self.instant(seconds), group: group, recipe: "s", until: Self.instant(seconds - 1), by: "ann", note: "known"
      )
    }
    try await store.append(.failureDismissed(dismissed("bb", 0)))
    try await store.append([.failureDismissed(dismissed("aa", 1)), .failureDismissed(dismissed("bb", 2))])
    expect("what was dismissed", await store.dismissals(), [dismissed("aa", 1), dismissed("bb", 2)])
  }

  private mutating func checkBlobs() async throws(StateError) {
    let large = Value.list((0..<20_000).map { .int($0) })
    let kept = try await store.keep(large)
    if case .inline = kept { faults.append("a large value is kept within its event") }
    expect("a large value", try await store.value(kept), large)
    expect("a small value", try await store.keep(.int(1)), .inline(.int(1)))
    let reference = try await store.putBlob(Array("0123456789".utf8))
    expect("a piece of a blob", try await store.blob(reference, from: 3, most: 4), Array("3456".utf8))
    expect("the end of a blob", try await store.blob(reference, from: 8, most: 4), Array("89".utf8))
  }

  private mutating func checkLogs() async throws(StateError) {
    let lines = (0..<3).map { number in
      PrintedLine(step: "a", attempt: 1, stream: .output, at: Self.instant(number), text: "line \(number)")
    }
    store.keepPrinted(Array(lines.prefix(2)), ofRun: Self.r1) { _ in }
    store.keepPrinted(Array(lines.suffix(1)), ofRun: Self.r1) { _ in }
    let piece = try await store.printed(ofRun: Self.r1, from: 0)
    expect("what was printed", piece.lines, lines)
    expect("the end of what was printed", piece.isLast, true)
    expect("the last lines", try await store.printed(ofRun: Self.r1, from: -2).lines, Array(lines.suffix(2)))
    expect("more lines than there are", try await store.printed(ofRun: Self.r1, from: .min).lines, lines)
    store.keepPrinted(Array(lines.prefix(1)), ofRun: Self.r1) { _ in }
    expect(
      "what is printed later", try await store.printed(ofRun: Self.r1, from: piece.next).lines, Array(lines.prefix(1)))
    try await checkPages(after: 4)
    try await store.removeLog(ofRun: Self.r1)
    expect("a log that is removed", try await store.printed(ofRun: Self.r1, from: 0).lines, [])
    try await store.removeLog(ofRun: Self.r1)
  }

  /// Lines that came at once are found one by one.
  private mutating func checkPages(after count: Int) async throws(StateError) {
    let texts = (0..<2000).map { "one \($0)" }
    let block = PrintedLine.joined(
      texts.map { PrintedLine(step: "b/c", attempt: 2, stream: .errors, at: Self.instant(9), text: $0) })
    store.keepPrinted(block, ofRun: Self.r1) { _ in }
    var query = PrintedQuery()
    (query.before, query.most) = (.max, 3)
    let end = try await store.printed(ofRun: Self.r1, query)
    expect("the end of a block", end.lines.map(\.text), Array(texts.suffix(3)))
    expect("their numbers", end.numbers, [count + 1998, count + 1999, count + 2000])
    query.before = end.earlier
    expect(
      "the lines before", try await store.printed(ofRun: Self.r1, query).lines.map(\.text), Array(texts[1994..<1997]))
    (query.before, query.from) = (nil, count + 700)
    expect("a line in the middle", try await store.printed(ofRun: Self.r1, query).lines.first?.text, "one 700")
    (query.from, query.step, query.attempt) = (0, "b", 2)
    expect("the lines of an attempt", try await store.printed(ofRun: Self.r1, query).numbers, [5, 6, 7])
    query.attempt = 1
    expect("an attempt that printed nothing", try await store.printed(ofRun: Self.r1, query).lines, [])
    (query.attempt, query.step, query.find, query.most) = (nil, nil, "ONE 1234", 10)
    let found = try await store.printed(ofRun: Self.r1, query)
    expect("a line that is searched for", found.lines.map(\.text), Array(texts[1232...1236]))
    expect("its number", found.matches, [count + 1235])
  }

  private mutating func checkEnd() async throws(StateError) {
    try await store.close()
    do throws(StateError) {
      try await store.append(Self.created(Self.r9))
      faults.append("an event after the end was kept")
    } catch {
      expect("an event after the end", error.kind, .closed)
    }
  }
}
