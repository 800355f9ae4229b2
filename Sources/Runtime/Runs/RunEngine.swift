package import Basics
package import Recipes
package import RunState
import Synchronization

/// What runs need of the world around them.
package struct RunSurroundings: Sendable {
  package var store: any StateStore
  package var time: any TimeSource
  /// The folder that relative paths start from.
  package var folder: String
  package var report: @Sendable (Progress) -> Void
  package var chance: @Sendable () -> Double
  /// Lets the time pass for which a run only waits, less than a minute; a test's clock skips it, and else it is slept.
  package var skip: (@Sendable (TimeSpan) -> Void)?
  /// What `now` is of steps of a run that is played again; others take the clock's.
  package var instants: (@Sendable (StepPath) -> Timestamp?)?
  /// Told what `now` is of each step, for a recording.
  package var notingInstants: (@Sendable (StepPath, Timestamp) -> Void)?
  /// Where runs are walked; nil for the threads of Swift's concurrency.
  package var walkers: (any TaskExecutor)?
  /// A run that only waits is left to its host, unless it goes on sooner than that.
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

/// One run being carried on by this program, until it ends, waits, becomes uncertain, or the program ends.
///
/// A run that waits is left as `waiting`, with the instant at which it has something to do; whoever hosts it carries it
/// on with a new engine then, when an event comes, or when a person decides.
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

  /// How far the carrying on has come; what is made for it goes when it is over, whoever still holds the engine.
  private enum Life {
    /// - Parameter isPausing: Whether the run was to be paused before it was carried on.
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

  /// Ends the run: nothing more begins, what is in flight has its grace, then `finally` runs.
  package func cancel(after grace: TimeSpan = RunEngine.grace) async {
    end()
    await force(after: grace)
  }

  /// Has nothing more begin in the run but its `finally`.
  ///
  /// False if the run is over, or has been left and has to be carried on by a new engine to end.
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

  /// Ends the carrying on, not the run: nothing more begins, and what is in flight finishes.
  package func stop() { program.end(.stopped) }

  /// Ends the carrying on of a run that is being paused.
  ///
  /// When this returns, nothing that the engine has yet to write says that the run goes on, so that no crash undoes a
  /// pause that is on disk.
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

  /// Something came for the run from outside and is in the state, an event or a decision: its waits look again.
  ///
  /// False if the run is over, or has been left and has to be carried on by a new engine to see it.
  @discardableResult package func poke() -> Bool { waitRegistry.call() }

  /// Carries the run on, and gives its record as it then is.
  package func run() async throws(StateError) -> RunRecord {
    // What happened to the run while it was being prepared counts: a cancellation, a resolved step.
    let record = surroundings.store.run(id) ?? given
    if record.pendingCancel != nil { own.end(.cancelled) }
    let journal = RunJournal(
      record, store: surroundings.store, time: surroundings.time, instants: surroundings.instants,
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
        // Kept before anything is evaluated, so that a run that brings its agent down at once is known to have been under
        // way. One that is uncertain stays so until more is known of it.
        if record.status != .uncertain { try await journal.commit() }
        let result = await walked(record, journal, isWalkedAgain)
        let last: StateEvent?
        switch result {
        case .success(let outputs): last = ended(.succeeded, outputs: outputs)
        case .failure(.failed(let error)): last = ended(error.kind == .timeout ? .timedOut : .failed, error)
        case .failure(.cancelled): last = ended(.cancelled)
        case .failure(.rejected(let error)): last = ended(.rejected, error)
        case .failure(.waiting): last = waiting()
        case .failure(.uncertain): last = journal.current.uncertainty(at: surroundings.time.now())
        case .failure(.stopped): last = nil
        case .failure(.halted(let reason)): last = halted(reason, journal.current)
        case .failure(.stateFailed(let error)): throw .stateFailed(error)
        }
        try await journal.commit(last.map { [$0] } ?? [])
        // Somebody called while the walk left.
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
      return .failure(error.kind == .secret ? .halted(error.message) : .stateFailed(error))
    }
    let context = RunContext(
      recipe: recipe, journal: journal, services: services, redactor: Redactor(book),
      waitRegistry: waitRegistry, isWalkedAgain: isWalkedAgain, time: surroundings.time, folder: surroundings.folder,
      report: surroundings.report, chance: surroundings.chance)
    let runner = RecipeRunner(run: context, recipe: recipe, scope: own, prefix: "", depth: 0)
    let environment = environment(record, inputs)
    let task = Task(executorPreference: surroundings.walkers) { () -> Result<StoredValue, StepInterruption> in
      await context.redactor.hidingSecrets {
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

  /// What becomes of a run that a secret keeps from going on.
  private func halted(_ reason: String, _ record: RunRecord) -> StateEvent {
    if surroundings.store.run(id)?.pendingCancel != nil, record.uncertainSteps.isEmpty {
      // Nobody could ever end it otherwise.
      return ended(
        .cancelled,
        RunError(
          .configuration, "the run was cancelled without its 'finally' steps, which cannot run: \(reason)"))
    }
    return .runStatusChanged(
      RunStatusChanged(
        run: id, at: surroundings.time.now(), status: .paused,
        reason: "\(reason), then: errand runs resume \(id); or give it up with: errand runs cancel \(id)"))
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
    return Environment(of: recipe, inputs: inputs, secrets: secrets, run: run, now: record.now)
  }
}
