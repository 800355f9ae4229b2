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
  private let record: RunRecord
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
    self.record = record
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
    let store = surroundings.store
    let journal = RunJournal(record, store: store, time: surroundings.time)
    let context = RunContext(
      recipe: recipe, journal: journal, services: services, time: surroundings.time, folder: surroundings.folder,
      report: surroundings.report, chance: surroundings.chance)
    surroundings.report(.runBegan(run: record.id, recipe: recipe.name, isResumed: !record.steps.isEmpty))
    if record.pendingCancel != nil { own.end(.cancelled) }
    var exit: StepExit?
    var outputs: StoredValue?
    do throws(StepExit) {
      await journal.hold([status(.running)])
      let frame = frame(now: await journal.now())
      let runner = RecipeRunner(run: context, recipe: recipe, scope: own, prefix: "", depth: 0)
      let task = Task { () -> Result<Value, StepExit> in
        do throws(StepExit) { return .success(try await runner.outputs(in: frame)) } catch { return .failure(error) }
      }
      // Cancelled by `cancel`, when its grace is over.
      walk.withLock { $0 = task }
      let value = try await task.value.get()
      outputs = try await journal.stored(value)
    } catch {
      exit = error
    }
    let now = surroundings.time.now()
    let last: StateEvent?
    switch exit {
    case nil: last = .runEnded(RunEnded(run: record.id, at: now, status: .succeeded, outputs: outputs))
    case .failed(let error):
      let status: RunStatus = error.kind == .timeout ? .timedOut : .failed
      last = .runEnded(RunEnded(run: record.id, at: now, status: status, error: error))
    case .cancelled: last = .runEnded(RunEnded(run: record.id, at: now, status: .cancelled))
    case .uncertain(let error): last = status(.uncertain, error.message)
    case .stopped: last = nil
    case .stateFailed(let error): throw error
    }
    do throws(StepExit) { try await journal.commit(last.map { [$0] } ?? []) } catch {
      if case .stateFailed(let error) = error { throw error }
    }
    let record = await journal.current
    surroundings.report(.runEnded(record))
    return record
  }

  private func status(_ status: RunStatus, _ reason: String? = nil) -> StateEvent {
    .runStatusChanged(
      RunStatusChanged(run: record.id, at: surroundings.time.now(), status: status, reason: reason))
  }

  private func frame(now: Timestamp) -> Frame {
    var inputs = record.origin.inputs.map ?? ValueMap()
    for input in recipe.inputs where input.isSecret {
      inputs[input.name] = inputs[input.name]?["secret"]?.string.flatMap { secrets[$0] }.map { .string($0) }
    }
    var values = ValueMap()
    for (name, _) in recipe.allSecrets { values[name] = secrets[name].map { .string($0) } }
    var run = ValueMap()
    run["id"] = .string(record.id)
    run["recipe"] = .string(recipe.name)
    run["startedAt"] = .timestamp(record.createdAt)
    run["attempt"] = .int(1)
    return Frame(inputs: .map(inputs), run: .map(run), secrets: .map(values), now: now)
  }
}
