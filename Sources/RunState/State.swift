import Basics

/// Everything that is open, and the runs that ended since the last snapshot: the fold of all events so far.
package struct State: Sendable, Equatable {
  /// The runs that are not over, by id.
  package private(set) var runs: [String: RunRecord] = [:]
  /// The runs that ended and are not in the history's files yet, in the order in which they ended.
  package private(set) var ended: [RunRecord] = []
  /// The values that outlive runs.
  package private(set) var values: [String: StoredValue] = [:]

  package init() {}

  /// The open runs, oldest first.
  package var openRuns: [RunRecord] { runs.values.sorted { $0.id.precedesByScalars($1.id) } }

  /// Takes one event in.
  ///
  /// One that does not fit (a run created twice, a step of a run that is not open) throws and changes nothing.
  package mutating func apply(_ event: StateEvent) throws(RecordFault) {
    switch event {
    case .runCreated(let event):
      guard runs[event.run] == nil else { throw RecordFault("the run \(event.run) exists already") }
      runs[event.run] = RunRecord(event)
    case .runStatusChanged(let change): try apply(event, to: change.run)
    case .cancelRequested(let change): try apply(event, to: change.run)
    case .stepBegan(let change): try apply(event, to: change.run)
    case .attemptBegan(let change): try apply(event, to: change.run)
    case .attemptEnded(let change): try apply(event, to: change.run)
    case .stepEnded(let change): try apply(event, to: change.run)
    case .runEnded(let change):
      try apply(event, to: change.run)
      if let run = runs.removeValue(forKey: change.run) { ended.append(run) }
    case .valueSet(let event): values[event.name] = event.value
    case .valueRemoved(let event): values[event.name] = nil
    }
  }

  /// Forgets the runs that ended, once the history's files hold them.
  mutating func forgetEnded() { ended = [] }

  private mutating func apply(_ event: StateEvent, to run: String) throws(RecordFault) {
    guard let index = runs.index(forKey: run) else { throw RecordFault("the run \(run) is not open") }
    // In place, because a run may hold thousands of steps.
    try runs.values[index].apply(event)
  }
}

extension RunRecord {
  /// Takes in one event of this run.
  ///
  /// One that does not fit throws and changes nothing; those of other runs, and of no run, do not fit.
  package mutating func apply(_ event: StateEvent) throws(RecordFault) {
    switch event {
    case .runStatusChanged(let event):
      guard !event.status.isEnded else {
        throw RecordFault("a run ends by 'runEnded', not by a change to \(event.status)")
      }
      status = event.status
      reason = event.reason
    case .cancelRequested(let event): pendingCancel = event
    case .stepBegan(let event): apply(event)
    case .attemptBegan(let event): try change(event.step) { $0.apply(event) }
    case .attemptEnded(let event): try change(event.step) { $0.apply(event) }
    case .stepEnded(let event): apply(event)
    case .runEnded(let event):
      guard event.status.isEnded else { throw RecordFault("a run cannot end as \(event.status)") }
      status = event.status
      outputs = event.outputs
      error = event.error
      reason = nil
      endedAt = event.at
    case .runCreated, .valueSet, .valueRemoved: throw RecordFault("the event changes no run")
    }
  }

  private mutating func change(_ step: StepPath, _ body: (inout StepRecord) -> Void) throws(RecordFault) {
    if steps.change(step, body) == nil { throw RecordFault("the step '\(step)' of the run \(id) has not begun") }
  }
}

extension RunRecord {
  fileprivate mutating func apply(_ event: StepBegan) {
    // A step that begins anew keeps its place in the order.
    let ordinal = steps.change(event.step) { $0.ordinal } ?? steps.count
    steps.put(
      StepRecord(
        path: event.step, ordinal: ordinal, status: event.status, now: event.now, startedAt: event.at, key: event.key,
        items: event.items))
    now = max(now, event.now)
  }

  fileprivate mutating func apply(_ event: StepEnded) {
    now = max(now, event.now ?? now)
    if steps.change(event.step, { $0.apply(event) }) != nil { return }
    var record = StepRecord(
      path: event.step, ordinal: steps.count, status: event.status, now: event.now ?? now, startedAt: event.at)
    record.apply(event)
    steps.put(record)
  }
}

extension StepRecord {
  fileprivate mutating func apply(_ event: StepEnded) {
    status = event.status
    if let instant = event.now { now = instant }
    output = event.output
    error = event.error
    endedAt = event.status.isEnded ? event.at : nil
  }

  fileprivate mutating func apply(_ event: AttemptBegan) {
    status = .running
    attempts = max(attempts, event.number)
    lastAttempt = AttemptRecord(number: event.number, startedAt: event.at, baseline: event.baseline)
  }

  fileprivate mutating func apply(_ event: AttemptEnded) {
    status = event.retryAt == nil ? .running : .retrying
    lastAttempt?.endedAt = event.at
    lastAttempt?.error = event.error
    lastAttempt?.retryAt = event.retryAt
    lastAttempt?.exchanges = event.exchanges
  }
}

extension State: Record {
  package func write(to record: inout RecordWriter) {
    record.set("runs", runs)
    record.set("ended", ended)
    record.set("values", values)
  }

  package init(from record: inout RecordReader) throws(RecordFault) {
    runs = try record.takeNamed("runs")
    ended = try record.takeAll("ended")
    values = try record.takeNamed("values")
    for (id, run) in runs where run.id != id || run.status.isEnded {
      throw RecordFault("the run \(run.id), which is \(run.status), is kept as the open run \(id)")
    }
  }
}
