package import Basics
package import RunState

/// What the state knows that has to do with one run: all that an explanation of it is made from.
///
/// It crosses the socket, so that the sentences are made where the recipe can be checked and in the zone of whoever asks.
package struct RunFacts: Record, Equatable {
  package var run: RunRecord
  /// The state's clock.
  package var now: Timestamp
  /// The schedule that began it, as it is now and without its texts.
  package var schedule: ScheduleRecord?
  /// The line of the ledger by which it began.
  package var slot: SlotRecord?
  /// Other runs that have to do with it: the one before it, and those that share its group.
  package var others: [RunGist]
  /// The events that it consumed, and those whose name it waits for.
  package var events: [EventRecord]
  /// What its records name and do not hold: `texts`, and by its path each step's output.
  package var values: [String: StoredValue]

  package init(
    _ run: RunRecord, now: Timestamp, schedule: ScheduleRecord? = nil, slot: SlotRecord? = nil, others: [RunGist] = [],
    events: [EventRecord] = [], values: [String: StoredValue] = [:]
  ) {
    self.run = run
    self.now = now
    self.schedule = schedule
    self.slot = slot
    self.others = others
    self.events = events
    self.values = values
  }

  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("now", now)
    record.set("schedule", schedule)
    record.set("slot", slot)
    record.set("others", others)
    record.set("events", events)
    record.set("values", values)
  }

  package init(from record: inout RecordReader) throws(RecordFault) {
    self.init(
      try record.take("run"), now: try record.take("now"), schedule: try record.takeIfPresent("schedule"),
      slot: try record.takeIfPresent("slot"), others: try record.takeAll("others"),
      events: try record.takeAll("events"), values: try record.takeNamed("values"))
  }

  /// The recipe's text and those of the recipes it calls, by file.
  package var texts: Value { value(run.origin.texts, named: "#texts") ?? .null }

  /// What a step gave, if it is at hand.
  package func output(of step: StepRecord) -> Value? {
    step.output.flatMap { value($0, named: step.path) }
  }

  /// The facts with the values as the run's steps saw them; what cannot be put together is not at hand.
  package func restored(by book: SecretBook) async -> RunFacts {
    var seen = self
    func restored(_ stored: StoredValue?) async -> StoredValue? {
      guard case .inline(let value)? = stored else { return stored }
      return (try? await book.restored(value, as: "it")).map { .inline($0) }
    }
    seen.run.origin.texts = await restored(run.origin.texts) ?? .inline(.null)
    seen.run.origin.inputs = (try? await book.restored(run.origin.inputs, as: "it")) ?? run.origin.inputs
    for step in run.stepsInOrder {
      var other = step
      other.output = await restored(step.output)
      other.items = await restored(step.items)
      if other != step { seen.run.steps.put(other) }
    }
    for (name, stored) in values { seen.values[name] = await restored(stored) }
    for index in seen.events.indices { seen.events[index].data = await restored(events[index].data) }
    return seen
  }

  private func value(_ stored: StoredValue, named name: String) -> Value? {
    if case .inline(let value) = stored { return value }
    if case .inline(let value)? = values[name] { return value }
    return nil
  }
}

/// Another run, in a few words.
package struct RunGist: Record, Equatable {
  package var id: String
  package var recipe: String
  package var status: RunStatus
  /// The group that it keeps to.
  package var group: String?
  package var createdAt: Timestamp

  package init(id: String, recipe: String, status: RunStatus, group: String? = nil, createdAt: Timestamp) {
    self.id = id
    self.recipe = recipe
    self.status = status
    self.group = group
    self.createdAt = createdAt
  }

  package init(_ run: RunRecord) {
    self.init(
      id: run.id, recipe: run.recipe, status: run.status, group: run.origin.group?.name, createdAt: run.createdAt)
  }

  package func write(to record: inout RecordWriter) {
    record.set("id", id)
    record.set("recipe", recipe)
    record.set("status", status)
    record.set("group", group)
    record.set("createdAt", createdAt)
  }

  package init(from record: inout RecordReader) throws(RecordFault) {
    self.init(
      id: try record.take("id"), recipe: try record.take("recipe"), status: try record.take("status"),
      group: try record.takeIfPresent("group"), createdAt: try record.take("createdAt"))
  }
}

// MARK: - Gathering

extension RunFacts {
  /// How much of what lies in `blobs/` is gathered, so that the facts fit a line of the agent's; what is larger is
  /// explained without its values.
  private static let mostBytes = 4 << 20

  /// Gathers what has to do with a run.
  package init(of run: RunRecord, in store: any StateStore, now: Timestamp) async throws(StateError) {
    let state = store.state
    self.init(run, now: now)
    let cause = run.origin.cause
    if let id = cause.schedule {
      schedule = state.schedules[id]
      schedule?.texts = nil
      if let instant = cause.slot, let end = Timestamp(seconds: instant.seconds + 1) {
        let query = SlotQuery(limit: 100, schedule: id, from: instant, before: end)
        slot = try await store.slots(query).first { $0.run == run.id }
      }
    }
    if let id = cause.run {
      if let other = state.runs[id] {
        others.append(RunGist(other))
      } else if let other = try await store.finishedRun(id) {
        others.append(RunGist(other))
      }
    }
    if let group = run.origin.group, !run.status.isEnded {
      others += state.openRuns.filter { $0.id != run.id && $0.origin.group?.name == group.name }.map { RunGist($0) }
    }
    let awaited = Set(run.stepsInOrder.filter { $0.status == .waiting }.compactMap(\.wait?.event))
    events = state.events.values
      .filter { $0.consumedBy == run.id || $0.id == cause.event || awaited.contains($0.name) }
      .sorted { ($0.receivedAt, $0.id) < ($1.receivedAt, $1.id) }
    try await gatherValues(from: store)
  }

  private mutating func gatherValues(from store: any StateStore) async throws(StateError) {
    var named = [("#texts", run.origin.texts)]
    // Items are many, and no condition outside the loop sees one of them.
    for step in run.stepsInOrder where !step.path.utf8.contains(UInt8(ascii: "[")) {
      if let output = step.output { named.append((step.path, output)) }
    }
    var left = RunFacts.mostBytes
    for (name, stored) in named {
      guard case .blob(let reference) = stored, reference.size <= left else { continue }
      left -= reference.size
      values[name] = .inline(try await store.value(stored))
    }
  }
}
