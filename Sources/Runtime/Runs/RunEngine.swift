package import Basics
import HTTPTypes
package import Recipes
package import RunState
import Synchronization

/// The parts of the program that runs need.
package struct RunSurroundings: Sendable {
  package var store: any StateStore
  package var time: any TimeSource
  /// The folder that relative paths start from.
  package var folder: String
  package var report: @Sendable (Progress) -> Void
  package var chance: @Sendable () -> Double
  /// Lets time pass during short waits (under a minute); a test's clock skips them, otherwise the walk sleeps.
  package var skip: (@Sendable (TimeSpan) -> Void)?
  /// The recorded `now` of each step in a replay; other steps take the clock's.
  package var instants: (@Sendable (StepPath) -> Timestamp?)?
  /// Receives the `now` of each step, for a recording.
  package var notingInstants: (@Sendable (StepPath, Timestamp) -> Void)?
  /// Makes the events to record together with the last event of a walk, such as the consequences of the run's end.
  package var following: (@Sendable (RunRecord, StateEvent) async -> [StateEvent])?
  /// Shared by all runs of a program.
  package var turns = ValueTurns()
  /// Where runs are walked; nil for Swift's concurrency pool.
  package var walkers: (any TaskExecutor)?
  /// Waits longer than this suspend the run and leave it to its host.
  package var suspendThreshold = WaitRegistry.suspendThreshold

  package init(
    store: any StateStore, time: any TimeSource, folder: String,
    report: @escaping @Sendable (Progress) -> Void = { _ in },
    chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
  ) {
    self.store = store
    self.time = time
    self.folder = folder
    self.report = report
    self.chance = chance
  }
}

/// Runs one run in this program until it ends, waits, becomes uncertain, or the program ends.
///
/// A suspended run is left as `waiting`, with the instant of its next work. Its host resumes it with a new engine then,
/// when an event comes, or when a person decides.
package final class RunEngine: Sendable {
  private let recipe: Recipe
  private let id: String
  private let given: RunRecord
  private let secrets: Secrets
  private let services: Services
  private let surroundings: RunSurroundings
  private let program = CancelScope()
  private let own: CancelScope
  private let waitRegistry: WaitRegistry
  private let life = Mutex(Life.prepared(isPausing: false))

  /// The engine's phase.
  ///
  /// Its resources are freed when it is over, even if the engine is still referenced.
  private enum Life {
    /// - Parameter isPausing: Whether the run was paused before the walk began.
    case prepared(isPausing: Bool)
    case walking(RunJournal, Task<Result<StoredValue, StepInterruption>, Never>?)
    case over
  }

  /// How long what is in flight may take to finish after a cancellation, before it is cancelled by force.
  package static let grace = TimeSpan.seconds(10)

  package init(
    _ record: RunRecord, of recipe: Recipe, secrets: Secrets, services: Services, in surroundings: RunSurroundings
  ) {
    id = record.id
    given = record
    self.recipe = recipe
    self.secrets = secrets
    self.services = services
    self.surroundings = surroundings
    waitRegistry = WaitRegistry(
      time: surroundings.time, suspendThreshold: surroundings.suspendThreshold, skip: surroundings.skip)
    own = CancelScope(inside: program)
  }

  /// Cancels the run: nothing more begins, what is in flight has its grace, then `finally` runs.
  package func cancel(after grace: TimeSpan = RunEngine.grace) async {
    end()
    await force(after: grace)
  }

  /// Lets no more steps of the run begin, except the steps of its `finally`.
  ///
  /// False if the run is over, or is suspended and needs a new engine to end.
  @discardableResult package func end() -> Bool {
    own.end(.cancelled)
    // A walk that is just leaving has to be walked again.
    return waitRegistry.call()
  }

  /// Cancels what is in flight when its grace is over.
  package func force(after grace: TimeSpan = RunEngine.grace) async {
    try? await surroundings.time.sleep(for: grace)
    life.withLock { life in
      if case .walking(_, let walk) = life { return walk }
      return nil
    }?.cancel()
  }

  /// Stops the walk, not the run: no more steps begin, and steps in flight finish.
  package func stop() { program.end(.stopped) }

  /// Stops the walk of a run that is being paused.
  ///
  /// After this returns, no event still to be written says that the run is running, so that no crash undoes a pause
  /// that is on disk.
  package func pause() async {
    let journal = life.withLock { life -> RunJournal? in
      switch life {
      case .walking(let journal, _): return journal
      case .prepared: life = .prepared(isPausing: true)
      case .over: break
      }
      return nil
    }
    journal?.pause()
    stop()
    await journal?.settle()
  }

  /// Makes waiting steps check again, because an event or a decision for the run is in the state.
  ///
  /// False if the run is over, or is suspended and needs a new engine to see it.
  @discardableResult package func poke() -> Bool { waitRegistry.call() }

  /// Runs the run, and gives its record afterwards.
  package func run() async throws(StateError) -> RunRecord {
    // Includes what happened to the run during its preparation: a cancellation, a resolved step.
    let record = surroundings.store.run(id) ?? given
    if record.pendingCancel != nil { own.end(.cancelled) }
    let journal = RunJournal(
      record, store: surroundings.store, time: surroundings.time, turns: surroundings.turns,
      instants: surroundings.instants,
      notingInstants: surroundings.notingInstants, ending: program)
    life.withLock { life in
      if case .prepared(isPausing: true) = life { journal.pause() }
      life = .walking(journal, nil)
    }
    defer {
      waitRegistry.end()
      life.withLock { $0 = .over }
    }
    surroundings.report(.runBegan(run: id, recipe: recipe.name, isResumed: !record.steps.isEmpty))
    do throws(StepInterruption) {
      var isWalkedAgain = false
      while true {
        waitRegistry.begin()
        journal.hold([status(.running)])
        // Recorded before anything is evaluated, so that a run that crashes its agent at once is known to have been
        // running. An uncertain run stays so until more is known of it.
        if record.status != .uncertain { try await journal.commit() }
        let result = await walked(record, journal, isWalkedAgain)
        let last: StateEvent?
        var before: [StateEvent] = []
        switch result {
        case .success(let outputs): last = ended(.succeeded, outputs: outputs)
        case .failure(.failed(let error)): last = ended(error.kind == .timeout ? .timedOut : .failed, error)
        case .failure(.cancelled): last = ended(.cancelled)
        case .failure(.rejected(let error)): last = ended(.rejected, error)
        case .failure(.waiting): last = waiting()
        case .failure(.uncertain): last = journal.current.uncertainty(at: surroundings.time.now())
        case .failure(.stopped): last = nil
        case .failure(.halted(let error)):
          try await leave(after: error, journal)
          before = halted(error.message, journal.current)
          last = before.popLast()
        case .failure(.stateFailed(let error)): throw .stateFailed(error)
        }
        var events = before + (last.map { [$0] } ?? [])
        if let last, let following = surroundings.following, record.status != .uncertain || last.endsRun {
          events += await following(journal.current, last)
        }
        try await journal.commit(events)
        // A call came while the walk left.
        if case .failure(.waiting) = result, !waitRegistry.close() {
          isWalkedAgain = true
          continue
        }
        break
      }
    } catch {
      throw stateError(error)
    }
    let now = journal.current
    surroundings.report(.runEnded(now))
    return now
  }

  private func walked(
    _ record: RunRecord, _ journal: RunJournal, _ isWalkedAgain: Bool
  ) async -> Result<StoredValue, StepInterruption> {
    let book = surroundings.store.secrets
    book.learn(services.redactor.secrets + recipe.secretInputs(record.origin.inputs, in: secrets))
    let inputs: Value
    do throws(StateError) { inputs = try await book.restored(record.origin.inputs, as: "the run's inputs") } catch {
      return .failure(error.kind == .secret ? .halted(error) : .stateFailed(error))
    }
    let context = RunContext(
      recipe: recipe, journal: journal, services: services, redactor: Redactor(book),
      waitRegistry: waitRegistry, isWalkedAgain: isWalkedAgain, time: surroundings.time, folder: surroundings.folder,
      report: surroundings.report, chance: surroundings.chance)
    // Before it is used for the first time, so that no record and no message shows it.
    services.tellRenewed { [weak context] renewed in
      book.learn(renewed)
      context?.learn(Redactor(book))
    }
    let runner = RecipeRunner(run: context, recipe: recipe, scope: own, prefix: "", depth: 0)
    let environment = environment(record, inputs)
    let task = Task(executorPreference: surroundings.walkers) { () -> Result<StoredValue, StepInterruption> in
      await OutsideText.redacted(by: { context.redactor.redact($0, isCut: $1) }) {
        do throws(StepInterruption) {
          return .success(try await journal.stored(try await runner.outputs(in: environment)))
        } catch {
          return .failure(error)
        }
      }
    }
    // Cancelled by `cancel`, when its grace is over.
    life.withLock { $0 = .walking(journal, task) }
    return await task.value
  }

  private func stateError(_ exit: StepInterruption) -> StateError {
    if case .stateFailed(let error) = exit { return error }
    return StateError(.invalid, "the end of the run \(id) could not be kept")
  }

  private func ended(_ status: RunStatus, _ error: RunError? = nil, outputs: StoredValue? = nil) -> StateEvent {
    .runEnded(RunEnded(run: id, at: surroundings.time.now(), status: status, outputs: outputs, error: error))
  }

  private func waiting() -> StateEvent {
    let departure = waitRegistry.departure
    let reasons = departure?.reasons ?? []
    let more = reasons.count > RunEngine.mostReasons ? ["and \(reasons.count - RunEngine.mostReasons) more"] : []
    return .runStatusChanged(
      RunStatusChanged(
        run: id, at: surroundings.time.now(), status: .waiting,
        reason: (reasons.prefix(RunEngine.mostReasons) + more).joined(separator: "; "), wakeAt: departure?.wakeAt))
  }

  /// Leaves a run to a program that has the secret which is missing here, if several share the state.
  private func leave(after error: StateError, _ journal: RunJournal) async throws(StepInterruption) {
    guard surroundings.store.sharing != nil,
      let placed = journal.current.placed(missing: error.missing, at: surroundings.time.now())
    else { return }
    try await journal.commit([placed])
    throw .stateFailed(StateError(.fenced, error.message))
  }

  /// The events for a run whose secret is missing or has changed.
  private func halted(_ reason: String, _ record: RunRecord) -> [StateEvent] {
    // Otherwise the run could never end; the look at the writes of any other is still to come.
    if surroundings.store.run(id)?.pendingCancel != nil, record.uncertainSteps.isEmpty || record.doubts != nil {
      return record.givenUp(at: surroundings.time.now(), because: "which cannot run: \(reason)")
    }
    var change = RunStatusChanged(
      run: id, at: surroundings.time.now(), status: .paused,
      reason: "\(reason), then: errand runs resume \(id); or give it up with: errand runs cancel \(id)")
    change.hasMissingDependency = true
    return [.runStatusChanged(change)]
  }

  /// A loop may wait for a thousand things.
  private static let mostReasons = 5

  private func status(_ status: RunStatus) -> StateEvent {
    .runStatusChanged(RunStatusChanged(run: id, at: surroundings.time.now(), status: status))
  }

  private func environment(_ record: RunRecord, _ inputs: Value) -> Environment {
    var run = ValueMap()
    run["id"] = .string(id)
    run["recipe"] = .string(recipe.name)
    run["startedAt"] = .timestamp(record.createdAt)
    run["slot"] = record.origin.cause.slot.map { .timestamp($0) }
    run["attempt"] = .int(record.origin.attempt)
    run["url"] = record.url("runs", id).map { .string($0) }
    return Environment(of: recipe, inputs: inputs, secrets: secrets, run: run, now: record.now)
  }
}

extension RunRecord {
  /// The URL of one of the agent's pages, by the parts of its path; nil where the agent has no address.
  func url(_ parts: String...) -> String? { origin.base.map { RunRecord.url($0, parts) } }

  static func url(_ base: String, _ parts: [String]) -> String {
    "\(base)/" + parts.map(PercentEncoding.encode).joined(separator: "/")
  }
}
