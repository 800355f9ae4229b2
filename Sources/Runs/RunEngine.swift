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

/// One run being carried on by this program, until it ends, becomes uncertain, or the program ends.
package final class RunEngine: Sendable {
  private let recipe: Recipe
  private let id: String
  private let given: RunRecord
  private let secrets: Secrets
  private let services: Services
  private let surroundings: RunSurroundings
  private let program = CancelScope()
  private let own: CancelScope
  private let walk = Mutex<Task<Result<Value, StepExit>, Never>?>(nil)

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
    own = CancelScope(inside: program)
  }

  /// Ends the run: nothing more begins, what is in flight has its grace, then `finally` runs.
  package func cancel(after grace: TimeSpan = RunEngine.grace) async {
    own.end(.cancelled)
    try? await surroundings.time.sleep(for: grace)
    walk.withLock { $0 }?.cancel()
  }

  /// Ends the carrying on, not the run: nothing more begins, and what is in flight finishes.
  package func stop() { program.end(.stopped) }

  /// Carries the run on, and gives its record as it then is.
  package func run() async throws(StateError) -> RunRecord {
    // What happened to the run while it was being prepared counts: a cancellation, a resolved step.
    let record = surroundings.store.run(id) ?? given
    if record.pendingCancel != nil { own.end(.cancelled) }
    let journal = RunJournal(record, store: surroundings.store, time: surroundings.time)
    surroundings.report(.runBegan(run: id, recipe: recipe.name, isResumed: !record.steps.isEmpty))
    do throws(StepExit) {
      journal.hold([status(.running)])
      let result = await walked(record, journal)
      let last: StateEvent?
      switch result {
      case .success(let value): last = ended(.succeeded, outputs: try await journal.stored(value))
      case .failure(.failed(let error)): last = ended(error.kind == .timeout ? .timedOut : .failed, error)
      case .failure(.cancelled): last = ended(.cancelled)
      case .failure(.uncertain): last = journal.current.uncertainty(at: surroundings.time.now())
      case .failure(.stopped): last = nil
      case .failure(.stateFailed(let error)): throw .stateFailed(error)
      }
      try await journal.commit(last.map { [$0] } ?? [])
    } catch .failed(let error) {
      // Outputs that cannot be kept.
      do throws(StepExit) { try await journal.commit([ended(.failed, error)]) } catch { throw stateError(error) }
    } catch {
      throw stateError(error)
    }
    let now = journal.current
    surroundings.report(.runEnded(now))
    return now
  }

  private func walked(_ record: RunRecord, _ journal: RunJournal) async -> Result<Value, StepExit> {
    let secretInputs = recipe.inputs.compactMap { secret(of: $0, record) }
    let context = RunContext(
      recipe: recipe, journal: journal, services: services, redactor: services.redactor.adding(secretInputs),
      time: surroundings.time, folder: surroundings.folder, report: surroundings.report, chance: surroundings.chance)
    let runner = RecipeRunner(run: context, recipe: recipe, scope: own, prefix: "", depth: 0)
    let frame = frame(record)
    let task = Task { () -> Result<Value, StepExit> in
      do throws(StepExit) { return .success(try await runner.outputs(in: frame)) } catch { return .failure(error) }
    }
    // Cancelled by `cancel`, when its grace is over.
    walk.withLock { $0 = task }
    return await task.value
  }

  private func stateError(_ exit: StepExit) -> StateError {
    if case .stateFailed(let error) = exit { return error }
    return StateError(.invalid, "the end of the run \(id) could not be kept")
  }

  private func ended(_ status: RunStatus, _ error: RunError? = nil, outputs: StoredValue? = nil) -> StateEvent {
    .runEnded(RunEnded(run: id, at: surroundings.time.now(), status: status, outputs: outputs, error: error))
  }

  private func status(_ status: RunStatus) -> StateEvent {
    .runStatusChanged(RunStatusChanged(run: id, at: surroundings.time.now(), status: status))
  }

  /// The value of a secret input, which the run's record holds by its name only.
  private func secret(of input: Recipe.Input, _ record: RunRecord) -> String? {
    guard input.isSecret, let name = record.origin.inputs[input.name]?["secret"]?.string else { return nil }
    return secrets[name]
  }

  private func frame(_ record: RunRecord) -> Frame {
    var inputs = record.origin.inputs.map ?? ValueMap()
    for input in recipe.inputs where input.isSecret {
      inputs[input.name] = secret(of: input, record).map { .string($0) }
    }
    var values = ValueMap()
    for (name, _) in recipe.allSecrets { values[name] = secrets[name].map { .string($0) } }
    var run = ValueMap()
    run["id"] = .string(id)
    run["recipe"] = .string(recipe.name)
    run["startedAt"] = .timestamp(record.createdAt)
    run["attempt"] = .int(1)
    return Frame(inputs: .map(inputs), run: .map(run), secrets: .map(values), now: record.now)
  }
}
