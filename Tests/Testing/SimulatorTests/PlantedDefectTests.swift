import ActionKit
import Basics
import RunState
import RunTestKit
import Runs
import Testing

@testable import Simulator

/// The simulator finds planted defects: each one is put between correct parts.
@Suite struct PlantedDefectTests {
  struct Defect: CustomTestStringConvertible, Sendable {
    var testDescription: String
    /// The fault that the first failing seed reports, in one of several wordings, without ids and instants.
    var finds: [String]
    var components: Components

    init(_ what: String, finds: String..., plant: (inout Components) -> Void) {
      testDescription = what
      self.finds = finds
      components = Components()
      plant(&components)
    }
  }

  static let defects: [Defect] = [
    Defect(
      "a disk that forgets a sync", finds: "what is found is not what was acknowledged", "the state cannot be opened"
    ) {
      $0.disk = { $0.forgetSyncs() }
    },
    Defect(
      "a store that says it has kept what it is about to keep", finds: "the state in memory is not the fold",
      "is called, but is not on disk", "of which nothing is on disk", "what is found is not what was acknowledged"
    ) {
      $0.store = { WrongStore($0, early: { _ in true }) }
    },
    Defect("a store that keeps the first of several events", finds: "the state in memory is not the fold") {
      $0.store = { WrongStore($0, keeping: { [Array($0.prefix(1))] }) }
    },
    Defect("a store that loses events", finds: "the state in memory is not the fold of the journal: the events") {
      $0.store = { WrongStore($0, keeping: { [$0.filter { !$0.isReceived }] }) }
    },
    Defect("an agent that says it has received what it has not", finds: "is gone, though it was said to be kept") {
      $0.agent = { WrongStore($0, keeping: { [$0.filter { !$0.isReceived }] }) }
    },
    Defect("an agent that forgets who is to end", finds: "does not know that it was cancelled") {
      $0.agent = { WrongStore($0, keeping: { [$0.filter { !$0.asksToEnd }] }) }
    },
    Defect(
      "an agent that begins an attempt before it is on disk", finds: "is called, but is not on disk",
      "of which nothing is on disk"
    ) {
      $0.agent = { WrongStore($0, early: { $0.contains(where: \.beginsAttempt) }) }
    },
    Defect("an agent that starts a slot twice", finds: "has two fates") {
      $0.agent = { WrongStore($0, keeping: { [$0, $0.compactMap(\.asAnotherStart)] }) }
    },
    Defect("an agent that passes slots over", finds: "have no record", "has no record") {
      $0.agent = { WrongStore($0, keeping: { [$0.filter { !$0.passesOver }] }) }
    },
    Defect("an agent that forgets which files it has seen", finds: "again", "which it has not just seen") {
      $0.agent = { WrongStore($0, keeping: { [$0.filter { !$0.seesFiles }] }) }
    },
    Defect("an agent that starts nothing for a file that it has seen", finds: "was seen, and nothing comes of it") {
      $0.agent = { WrongStore($0, keeping: { [$0.filter { !$0.startsForFile }] }) }
    },
    Defect("an agent that forgets which steps have ended", finds: "but has ended as succeeded") {
      $0.agent = { store in WrongStore(store, showing: { $0.beganAnew($1) }) }
    },
    Defect(
      "an agent that takes an attempt in flight for one that did nothing", finds: "was done 2 times",
      "was done, and ended as cancelled", "was used up"
    ) {
      $0.agent = { store in WrongStore(store, showing: { $0.refused($1) }) }
    },
    Defect("an agent that does not keep how attempts end", finds: "never ends", "waits for a decision that was made") {
      $0.agent = { WrongStore($0, keeping: { [$0.filter { !$0.endsAttempt }] }) }
    },
    Defect("an agent whose steps go back in time", finds: "before it was at") {
      $0.agent = { WrongStore($0, keeping: { [$0.map(\.earlier)] }) }
    },
    Defect("a clock that doesn't wake long sleepers", finds: "and it is") {
      $0.time = { OversleepingTime(time: $0) }
    },
    Defect(
      "a plain write whose error says that nothing was done", finds: "failed as if nothing had been done",
      "was done, and ended as cancelled"
    ) {
      $0.error = { error in
        var error = error
        error.effect = OutsideEffect.none
        return error
      }
    },
    // The store masks the secrets that it knows, so the content on disk differs from the content in memory.
    Defect("secrets that are not taken out", finds: "a secret stands in", "is not the fold of the journal") {
      $0.redactor = Redactor([])
    },
  ]

  @Test(arguments: defects) func `a defect is found within thirty seeds`(defect: Defect) async throws {
    for seed in 0..<30 as Range<UInt64> {
      let report = try #require(await Simulation(seed: seed, components: defect.components).run())
      guard let fault = report.fault else { continue }
      #expect(defect.finds.contains { fault.contains($0) }, "seed \(seed): \(fault)")
      return
    }
    Issue.record("30 seeds do not find it")
  }
}

// MARK: - The defects

/// A store that keeps other events than it was given, or shows records that differ from the stored ones.
private final class WrongStore: WrappingStore {
  let store: any LocalStateStore
  /// The batches that are kept in place of one.
  private let change: @Sendable ([StateEvent]) -> [[StateEvent]]
  /// Whether it is said of a batch that it is kept before it is.
  private let early: @Sendable ([StateEvent]) -> Bool
  /// The event to show of a step as if it had come last.
  private let view: @Sendable (RunRecord, StepRecord) -> StateEvent?

  init(
    _ store: any LocalStateStore, early: @escaping @Sendable ([StateEvent]) -> Bool = { _ in false },
    showing view: @escaping @Sendable (RunRecord, StepRecord) -> StateEvent? = { _, _ in nil },
    keeping change: @escaping @Sendable ([StateEvent]) -> [[StateEvent]] = { [$0] }
  ) {
    self.store = store
    self.early = early
    self.view = view
    self.change = change
  }

  func append(_ events: [StateEvent]) async throws(StateError) {
    for batch in change(events) where !batch.isEmpty {
      if early(batch) {
        // Ends when it is written; the test doesn't wait for that.
        Task { try? await store.append(batch) }
      } else {
        try await store.append(batch)
      }
    }
  }

  func look<Answer: Sendable>(_ body: (State) -> Answer) -> Answer {
    var state = store.state
    for run in state.openRuns {
      for step in run.stepsInOrder { if let event = view(run, step) { try? state.apply(event) } }
    }
    return body(state)
  }
}

/// A clock whose sleeps last for ever, except the shortest.
private struct OversleepingTime: TimeSource {
  var time: any TimeSource

  func now() -> Timestamp { time.now() }
  func elapsed() -> TimeSpan { time.elapsed() }
  func sleep(for span: TimeSpan) async throws {
    try await time.sleep(for: span > .seconds(5) ? .seconds(365 * 86_400) : span)
  }
}

extension StateEvent {
  fileprivate var isReceived: Bool { if case .eventReceived = self { true } else { false } }
  fileprivate var asksToEnd: Bool { if case .cancelRequested = self { true } else { false } }
  fileprivate var beginsAttempt: Bool {
    switch self {
    case .attemptBegan: true
    case .stepBegan(let event): event.attempt > 0
    default: false
    }
  }
  fileprivate var passesOver: Bool { if case .slotDecided(let slot) = self { slot.run == nil } else { false } }

  fileprivate var seesFiles: Bool { if case .filesSeen(let seen) = self { !seen.files.isEmpty } else { false } }
  fileprivate var startsForFile: Bool {
    switch self {
    case .slotDecided(let slot): slot.cause.kind == .file
    case .runCreated(let run): run.cause.kind == .file
    default: false
    }
  }

  fileprivate var endsAttempt: Bool {
    switch self {
    case .attemptEnded, .stepEnded: true
    default: false
    }
  }

  /// The beginning of every other step a second earlier than it was.
  fileprivate var earlier: StateEvent {
    guard case .stepBegan(var began) = self, began.step.utf8.count % 2 == 0 else { return self }
    began.now = began.now.advanced(by: .seconds(-1)) ?? began.now
    return .stepBegan(began)
  }

  /// The same start with another run; nil if the event starts no run.
  fileprivate var asAnotherStart: StateEvent? {
    switch self {
    case .slotDecided(var slot) where slot.outcome == .started && slot.cause.kind == .slot:
      slot.run = slot.run.map { "\($0)-again" }
      return .slotDecided(slot)
    case .runCreated(var created) where created.cause.kind == .slot:
      created.run += "-again"
      return .runCreated(created)
    default: return nil
    }
  }
}

extension RunRecord {
  /// An event that shows a succeeded action as if it had just begun.
  fileprivate func beganAnew(_ step: StepRecord) -> StateEvent? {
    guard step.status == .succeeded, let key = key(of: step) else { return nil }
    return .stepBegan(StepBegan(run: id, at: step.startedAt, step: step.path, now: step.now, key: key))
  }

  /// An event that shows an attempt in flight as if it had been refused.
  fileprivate func refused(_ step: StepRecord) -> StateEvent? {
    guard step.isInFlight, let last = step.lastAttempt else { return nil }
    return .attemptEnded(
      AttemptEnded(
        run: id, at: last.startedAt, step: step.path, number: last.number,
        error: RunError(.network, "refused", effect: .none), retryAt: last.startedAt))
  }
}
