import Basics
import RunState
import Runs
import Synchronization

/// One walk of a run that is under way.
struct RunWalk: Sendable {
  let engine: RunEngine
  let task: Task<Void, Never>
}

/// The run that tells of a failure, once it is created.
private final class FailureRun: Sendable {
  let id = Mutex<String?>(nil)
}

/// Walks runs, and connects them to the store, the clock and their followers.
struct RunWalker: Sendable {
  let store: any StateStore
  let time: any TimeSource
  let activity: Activity?
  let executor: (any TaskExecutor)?
  let chance: @Sendable () -> Double
  let followers: RunFollowers
  let keeper: RunKeeper
  private let turns = ValueTurns()

  /// Begins a walk, which ends when the run ends or waits, or the engine is stopped.
  func walk(
    _ run: RunRecord, _ prepared: PreparedRun,
    then body: @escaping @Sendable (Result<RunRecord, StateError>, _ failureRun: String?) async -> Void
  ) -> RunWalk {
    let id = run.id
    var surroundings = RunSurroundings(
      store: store, time: time, folder: prepared.folder,
      report: { [followers] progress in
        // The end is reported once it is known whether the run is over or waits.
        if case .runEnded = progress { return }
        followers.send(.progress(progress), to: id)
      }, chance: chance)
    // On a test's clock, a run is suspended for every retry, because the clock doesn't move by itself.
    if activity != nil { surroundings.suspendThreshold = .zero }
    surroundings.instants = prepared.instants
    surroundings.notingInstants = prepared.notingInstants
    surroundings.walkers = executor
    surroundings.turns = turns
    let failureRun = FailureRun()
    if let make = prepared.failureRun {
      surroundings.following = { [store, keeper] run, event in
        do throws(RunRefusedError) {
          guard let created = try await make(run, event, store) else { return [] }
          failureRun.id.withLock { $0 = created.run }
          return [keeper.creation(of: created)]
        } catch {
          keeper.tell(.unreported(run, reason: error.message))
          return []
        }
      }
    }
    let engine = RunEngine(
      run, of: prepared.recipe, secrets: prepared.secrets, services: prepared.services, in: surroundings)
    activity?.begin()
    // Ends with the walk, and is never cancelled.
    let task = Task { [activity] in
      defer { activity?.end() }
      let result: Result<RunRecord, StateError>
      do throws(StateError) { result = .success(try await engine.run()) } catch { result = .failure(error) }
      await body(result, failureRun.id.withLock { $0 })
    }
    return RunWalk(engine: engine, task: task)
  }
}
