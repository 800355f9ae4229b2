// Trying an ended run again.
//
// The new run has the texts, inputs and overrides of the old one, so that it is the same recipe even if the file has
// changed. What finished of it, at any depth, is taken over and never done again (`TakenOver`).
import Basics
package import RunState
import Runs
import Synchronization

/// Tries ended runs again.
package final class RunRetries: Sendable {
  private let keeper: RunKeeper
  private let prepare: @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  /// The runs that are being tried again at this moment.
  private let retried = Mutex<Set<String>>([])

  init(
    _ keeper: RunKeeper, _ prepare: @escaping @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  ) {
    self.keeper = keeper
    self.prepare = prepare
  }

  /// Accepts a run that tries an ended one again; it is on disk when this returns, and has yet to be carried on.
  package func retry(_ ended: RunRecord, as id: String, program: String) async throws(RunRefusedError) -> RunCreated {
    guard ended.status.isEnded else {
      throw RunRefusedError(
        "the run \(ended.id) is not over (\(ended.status.rawValue)); resume it: errand runs resume \(ended.id)")
    }
    if let erased = ended.erasedAt {
      throw RunRefusedError(
        "the data of the run \(ended.id) was erased on \(erased.description.prefix(10)), so it cannot be retried; errand run starts a new one"
      )
    }
    guard ended.status != .succeeded else {
      throw RunRefusedError(
        "the run \(ended.id) has succeeded, so there is nothing to retry; errand run starts a new one")
    }
    // A second run would take over the same, and do once more what the first has done since.
    guard retried.withLock({ $0.insert(ended.id).inserted }) else {
      throw RunRefusedError(
        "the run \(ended.id) is being retried at this moment; errand runs list shows as which run")
    }
    defer { retried.withLock { _ = $0.remove(ended.id) } }
    if let (later, status) = try await retry(of: ended) {
      throw RunRefusedError(
        "the run \(ended.id) was retried as \(later) (\(status.rawValue)), which kept what succeeded; "
          + (status == .succeeded
            ? "errand run starts a new one"
            : "\(status.isEnded ? "retry" : "resume") that: errand runs \(status.isEnded ? "retry" : "resume") \(later)")
      )
    }
    let recipe = try await prepare(ended).recipe
    var origin = ended.origin
    origin.run = id
    origin.at = keeper.time.now()
    origin.program = program
    origin.cause = RunCause(.retry, run: ended.id)
    origin.attempt += 1
    let events = [.runCreated(origin)] + ended.takenOver(by: id, of: recipe, at: origin.at)
    do throws(StateError) { try await keeper.append(events) } catch { throw RunRefusedError(error.message) }
    return origin
  }

  /// The run that tried an ended one again.
  private func retry(of ended: RunRecord) async throws(RunRefusedError) -> (String, RunStatus)? {
    if let run = await keeper.store.openRuns(OpenRunQuery(retryOf: ended.id)).first { return (run.id, run.status) }
    do throws(StateError) {
      return try await keeper.store.finishedRuns(HistoryQuery(limit: 1, recipe: ended.recipe, retryOf: ended.id)).first
        .map { ($0.id, $0.status) }
    } catch {
      throw RunRefusedError(error.message)
    }
  }
}
