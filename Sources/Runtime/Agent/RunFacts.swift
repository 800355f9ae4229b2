package import Basics
package import RunState

/// Everything that the state knows about one run, for an explanation of it.
///
/// It crosses the socket, so that the sentences are made where the recipe can be checked and in the zone of the caller.
/// The caller has read the run's record, which may be large, and sends a `Question` for the rest.
package struct RunFacts: Sendable, Equatable {
  package var run: RunRecord
  /// The state's clock.
  package var now: Timestamp
  /// The schedule that started it, as it is now and without its texts.
  package var schedule: ScheduleRecord?
  /// The ledger's record of its start.
  package var slot: SlotRecord?
  /// Related runs: the run before it, and other runs of its group.
  package var others: [RunReference]
  /// The events that it consumed, and other events with a name that it waits for.
  package var events: [EventRecord]
  /// Where the run is among the programs that share the state; nil if it is over or the state isn't shared.
  package var place: RunPlace?
  /// The values that its records refer to: `#texts`, and each step's output by its path.
  package var values: [String: Value] = [:]

  package init(
    run: RunRecord, now: Timestamp, schedule: ScheduleRecord? = nil, slot: SlotRecord? = nil, others: [RunReference],
    events: [EventRecord], place: RunPlace? = nil
  ) {
    self.run = run
    self.now = now
    self.schedule = schedule
    self.slot = slot
    self.place = place
    self.others = others
    self.events = events
  }

  /// The texts of the recipe and of the recipes it calls, by file.
  package var texts: Value { value(run.origin.texts, named: "#texts") ?? .null }

  /// The output of a step, if it is available.
  package func output(of step: StepRecord) -> Value? {
    step.output.flatMap { value($0, named: step.path) }
  }

  /// The facts with the values as the run's steps saw them; a value that cannot be restored is left out.
  package func restored(by registry: SecretRegistry) async -> RunFacts {
    var seen = self
    func restored(_ stored: StoredValue?) async -> StoredValue? {
      guard case .inline(let value)? = stored else { return stored }
      return (try? await registry.restored(value, as: "it")).map { .inline($0) }
    }
    seen.run.origin.texts = await restored(run.origin.texts) ?? .inline(.null)
    seen.run.origin.inputs = (try? await registry.restored(run.origin.inputs, as: "it")) ?? run.origin.inputs
    func isMasked(_ stored: StoredValue?) -> Bool {
      if case .inline(let value)? = stored { value.isMasked } else { false }
    }
    for step in run.steps.select({ isMasked($0.pointee.output) || isMasked($0.pointee.items) }) {
      var other = step
      other.output = await restored(step.output)
      other.items = await restored(step.items)
      seen.run.steps.put(other)
    }
    for (name, value) in values { seen.values[name] = try? await registry.restored(value, as: "it") }
    for index in seen.events.indices { seen.events[index].data = await restored(events[index].data) }
    return seen
  }

  /// The list of a loop, if it is available.
  package func items(of step: StepRecord) -> Value? {
    step.items.flatMap { value($0, named: "\(step.path)#items") }
  }

  private func value(_ stored: StoredValue, named name: String) -> Value? {
    if case .inline(let value) = stored { value } else { values[name] }
  }
}

extension RunFacts {
  /// Combines a run with the answer of its agent to a `Question`.
  package init(_ run: RunRecord, answering answer: Answer) {
    self.init(
      run: run, now: answer.around.now, schedule: answer.around.schedule, slot: answer.around.slot,
      others: answer.others, events: answer.events, place: answer.around.place)
  }
}

/// A summary of another run.
package struct RunReference: Record, Equatable {
  package var id: String
  package var recipe: String
  package var status: RunStatus
  /// The group whose limit it keeps to.
  package var group: String?
  package var createdAt: Timestamp
}

extension RunReference {
  package init(_ run: RunRecord) {
    self.init(
      id: run.id, recipe: run.recipe, status: run.status, group: run.origin.group?.name, createdAt: run.createdAt)
  }

  package init(_ run: RunSummary) {
    self.init(id: run.id, recipe: run.recipe, status: run.status, createdAt: run.createdAt)
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    recipe = try member("recipe", record?.recipe)
    status = try member("status", record?.status)
    group = try member("group", record?.group)
    createdAt = try member("createdAt", record?.createdAt)
  }
}

// MARK: - Asking

extension RunFacts {
  /// The facts about a run that an agent needs to collect the related ones.
  package struct Question: Record {
    package var run: String
    var cause: RunCause
    /// The group whose limit it keeps to, while it is open.
    var group: String?
    /// The names of the events that it waits for.
    var awaits: [String]
  }

  /// The most bytes to read from `blobs/`; a larger value is left out of the explanation.
  private static let mostBytes = 4 << 20

  /// The values that the run's records only refer to and that improve an explanation.
  package var missingValues: [(name: String, blob: BlobReference)] { missingValues(upTo: RunFacts.mostBytes) }

  /// The values that the run's records only refer to, and that a step may have read.
  ///
  /// - Parameters:
  ///   - step: The path of the step; if it is left out, no value in a loop.
  ///   - bytes: The most bytes of all together; larger values are left out.
  package func missingValues(at step: StepPath = "", upTo bytes: Int) -> [(name: String, blob: BlobReference)] {
    var named = [("#texts", run.origin.texts)]
    run.steps.forEachInPlace { other in
      let path = other.pointee.path.utf8
      // There are many items, and no step outside an item reads values in it.
      if let end = path.lastIndex(of: ASCII.closeBracket), !step.utf8.starts(with: path[...end]) { return }
      if let output = other.pointee.output { named.append((other.pointee.path, output)) }
      if let items = other.pointee.items { named.append(("\(other.pointee.path)#items", items)) }
    }
    var left = bytes
    return named.compactMap { name, stored in
      guard case .blob(let reference) = stored, reference.size <= left else { return nil }
      left -= reference.size
      return (name, reference)
    }
  }

  /// An agent's answer to a question.
  package struct Answer: Record {
    package var around: Surroundings
    package var others: [RunReference]
    package var events: [EventRecord]
    /// The temporary process that is running the run.
    package var holder: Int?

    package init(around: Surroundings, others: [RunReference], events: [EventRecord], holder: Int?) {
      self.around = around
      self.others = others
      self.events = events
      self.holder = holder
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      around = try member("facts", record?.around)
      holder = try member("holder", record?.holder)
      others = try member("others", record?.others)
      events = try member("events", record?.events)
    }
  }

  /// The single facts around a run.
  package struct Surroundings: Record {
    var now: Timestamp
    package var schedule: ScheduleRecord?
    package var slot: SlotRecord?
    var place: RunPlace?

    package init(of question: Question, in store: any StateStore, now: Timestamp) async throws(StateError) {
      self.now = now
      place = try await store.sharing?.place(of: question.run)
      guard let id = question.cause.schedule else { return }
      schedule = await store.schedule(id)
      schedule?.texts = nil
      if let instant = question.cause.slot, let end = Timestamp(seconds: instant.seconds + 1) {
        let query = SlotQuery(limit: 100, schedule: id, from: instant, before: end)
        slot = try await store.slots(query).first { $0.run == question.run }
      }
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      now = try member("now", record?.now)
      schedule = try member("schedule", record?.schedule)
      slot = try member("slot", record?.slot)
      place = try member("place", record?.place)
    }
  }
}

extension RunRecord {
  /// The record for a caller who sees only some recipes: without the runs that it follows or waits for.
  package var alone: RunRecord {
    var run = self
    run.origin.cause = run.origin.cause.alone
    if status == .queued { run.reason = nil }
    return run
  }
}

extension RunCause {
  /// The cause for a caller who sees only some recipes.
  package var alone: RunCause {
    var cause = self
    // A retry, and a repeat, has the recipe of the run before.
    if again == nil { cause.run = nil }
    return cause
  }
}

extension RunSummary {
  /// The summary for a caller who sees only some recipes: without the run that it follows.
  package var alone: RunSummary {
    var summary = self
    summary.cause = cause?.alone
    return summary
  }
}

extension ScheduleRecord {
  /// The record for a caller who sees only some recipes: without the runs that it follows.
  package var alone: ScheduleRecord {
    var schedule = self
    schedule.endsToFollow = []
    for index in schedule.buffered.indices { schedule.buffered[index].cause = schedule.buffered[index].cause.alone }
    return schedule
  }
}

extension RunFacts.Question {
  /// The run that it is about, and the schedule that started it.
  package var subject: (run: String, schedule: String?) { (run, cause.schedule) }

  /// The question for a caller who sees only some recipes: without the other runs, and the events of any.
  package var alone: RunFacts.Question {
    var question = self
    question.cause.run = nil
    question.cause.event = nil
    question.group = nil
    question.awaits = []
    return question
  }

  package init(about run: RunRecord) {
    self.run = run.id
    cause = run.origin.cause
    group = run.status.isEnded ? nil : run.origin.group?.name
    let names = run.steps.select { $0.pointee.status == .waiting }.compactMap(\.wait?.event)
    awaits = Set(names).sorted { $0.precedesByScalars($1) }
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    cause = try member("cause", record?.cause)
    group = try member("group", record?.group)
    awaits = try member("awaits", record?.awaits, default: [])
  }

  /// The run before it, and other runs of its group.
  package func others(in store: any StateStore) async throws(StateError) -> [RunReference] {
    var others: [RunReference] = []
    if let id = cause.run {
      if let other = await store.openRun(id) {
        others.append(RunReference(other))
      } else if let other = try await store.finishedRuns(HistoryQuery(limit: 1, idPrefix: id)).first {
        others.append(RunReference(other))
      }
    }
    guard let group else { return others }
    return others + (await store.openRuns(OpenRunQuery(group: group))).filter { $0.id != run }.map { RunReference($0) }
  }

  /// The events that it consumed, and other events with a name that it waits for, in the order in which they came.
  package func events(in store: any StateStore) async -> [EventRecord] {
    var found = await store.events(EventQuery(consumer: run))
    for name in awaits { found += await store.events(EventQuery(name: name)) }
    if let id = cause.event, let event = await store.event(id) { found.append(event) }
    var known: Set<String> = []
    return EventQuery().answer(found.filter { known.insert($0.id).inserted })
  }
}
