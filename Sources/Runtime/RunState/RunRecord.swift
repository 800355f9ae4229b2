package import Basics

/// The record of one run.
package struct RunRecord: Sendable, Equatable {
  /// The event that created the run, which never changes.
  package var origin: RunCreated {
    _read { yield kept.event }
    set { kept = Origin(newValue) }
  }
  private var kept: Origin
  package var status: RunStatus
  /// The latest `now` of a step; it never goes back within the run.
  package var now: Timestamp
  package var steps: StepRecords
  package var outputs: StoredValue?
  package var error: RunError?
  /// Why the run is paused, what it waits for, or the decision that a person has to make.
  package var reason: String?
  /// When a waiting run continues even if nothing happens; never if absent.
  package var wakeAt: Timestamp?
  /// Whether a paused run has a missing dependency, and resumes automatically once that is available.
  package var hasMissingDependency = false
  /// Set once cancellation was requested.
  package var pendingCancel: CancelRequested?
  package var endedAt: Timestamp?
  /// When its data was erased; then it has only names, instants and statuses.
  package var erasedAt: Timestamp?
  /// The notes of the run's actions for later steps, by names that the actions choose.
  package var notes: [String: StoredValue] = [:]
  /// The machine and folder whose files it works with, where several programs share the state.
  package var home: String?
  /// The needs of the run in addition to its origin's.
  package var needs: [String] = []
  /// The latest claims, if several programs share the state, in order.
  package var claims: [RunClaimed] = []

  /// The most claims that are remembered.
  static let mostClaims = 8

  /// Holds the event apart from the record, because records are copied often.
  private final class Origin: Sendable, Equatable {
    let event: RunCreated

    init(_ event: RunCreated) { self.event = event }

    static func == (left: Origin, right: Origin) -> Bool { left === right || left.event == right.event }
  }

  package var id: String { kept.event.run }
  package var recipe: String { kept.event.recipe }
  package var createdAt: Timestamp { kept.event.at }
  /// The steps in the order they began.
  package var stepsInOrder: StepRecords { steps }

  package init(_ origin: RunCreated) {
    self.kept = Origin(origin)
    self.status = .queued
    self.now = origin.at
    self.steps = StepRecords()
  }
}

extension RunRecord {
  /// Whether one of its actions has begun.
  package var hasActed: Bool { steps.contains { $0.isAction && $0.attempts > 0 } }
}

extension RunRecord {
  /// The most steps in a list.
  package static let mostListed = 100

  /// The run without its steps, because there may be many.
  package var withoutSteps: RunRecord {
    var run = self
    run.steps = StepRecords()
    return run
  }

  /// The run without its data: no inputs, values, answers, questions and messages; the recipe's text isn't such data.
  package func erased(at instant: Timestamp) -> RunRecord {
    var run = self
    run.erasedAt = instant
    var origin = run.origin
    origin.inputs = .object([:])
    origin.overrides = [:]
    // Its name may be computed.
    origin.group = nil
    origin.key = nil
    run.origin = origin
    run.outputs = nil
    run.error = error?.erased
    run.reason = nil
    run.notes = [:]
    run.pendingCancel?.reason = nil
    run.steps = StepRecords()
    for step in steps { run.steps.put(step.erased) }
    return run
  }

  /// The record for lists of open runs: only the steps that wait or need a person, and the one that began last of those
  /// that are running, without their values; of the run's origin only what identifies it, and its inputs in short.
  package var listed: RunRecord {
    var run = self
    var origin = run.origin
    origin.texts = .inline(.object([:]))
    origin.inputs = origin.inputs.inputsInShort
    origin.overrides = [:]
    run.origin = origin
    run.outputs = nil
    run.notes = [:]
    run.steps = StepRecords()
    var (place, latest) = (-1, -1)
    steps.forEachInPlace { step in
      place += 1
      if step.pointee.status == .running { latest = place }
    }
    place = -1
    let listed = steps.select { step in
      place += 1
      return place == latest || [.waiting, .queued, .retrying, .uncertain].contains(step.pointee.status)
    }
    for step in listed where run.steps.count < RunRecord.mostListed || step.status == .running {
      var step = step
      step.items = nil
      step.carried = nil
      step.collected = CollectedPieces()
      step.output = nil
      step.change = nil
      step.lastAttempt?.baseline = nil
      step.lastAttempt?.answer = nil
      step.lastAttempt?.exchanges = []
      run.steps.put(step)
    }
    return run
  }
}

extension RunRecord: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    kept = Origin(try member("origin", record?.origin))
    status = try member("status", record?.status)
    now = try member("now", record?.now)
    steps = try member("steps", record?.steps, default: StepRecords())
    outputs = try member("outputs", record?.outputs)
    error = try member("error", record?.error)
    reason = try member("reason", record?.reason)
    wakeAt = try member("wakeAt", record?.wakeAt)
    hasMissingDependency = try member("lacking", record?.hasMissingDependency, default: false)
    pendingCancel = try member("pendingCancel", record?.pendingCancel)
    endedAt = try member("endedAt", record?.endedAt)
    erasedAt = try member("erasedAt", record?.erasedAt)
    notes = try member("notes", record?.notes, default: [:])
    home = try member("home", record?.home)
    needs = try member("needs", record?.needs, default: [])
    claims = try member("claims", record?.claims, default: [])
  }
}
