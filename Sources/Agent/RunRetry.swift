import Basics
package import RunState
import Recipes
import Runs

// Trying an ended run again.
//
// The new run has the texts, inputs and overrides of the old one, so that it is the same recipe whatever its file says
// by now. The steps at the top level that had come to an end which the walk went on from (succeeded, skipped, or a
// failure that `onError` took) are taken over with what they gave, and never done again; the walk finds their records
// and begins at the first step that ended otherwise, which is done anew from its beginning.

extension RunHost {
  /// Accepts a run that tries an ended one again; it is on disk when this returns, and has yet to be carried on.
  package func retry(_ ended: RunRecord, as id: String, program: String) async throws(NotRunnable) -> RunCreated {
    guard ended.status.isEnded else {
      throw NotRunnable(
        "the run \(ended.id) is not over (\(ended.status.rawValue)); go on with: errand runs resume \(ended.id)")
    }
    guard ended.status != .succeeded else {
      throw NotRunnable(
        "the run \(ended.id) has succeeded, so there is nothing to try again; errand run starts a new one")
    }
    let recipe = try await recipe(of: ended)
    var origin = ended.origin
    origin.run = id
    origin.at = time.now()
    origin.program = program
    origin.cause = RunCause(.retry, run: ended.id)
    origin.attempt += 1
    let events = [.runCreated(origin)] + ended.recordsTakenOver(of: recipe, by: id)
    do throws(StateError) { try await append(events) } catch { throw NotRunnable(error.message) }
    return origin
  }
}

extension RunRecord {
  fileprivate func recordsTakenOver(of recipe: Recipe, by run: String) -> [StateEvent] {
    var events: [StateEvent] = []
    for step in recipe.steps.steps {
      guard let record = steps[step.element] else {
        // Names that depend on nothing but what was there before have no record.
        if case .bindings = step.kind { continue }
        break
      }
      let isPassed =
        switch record.status {
        case .succeeded, .skipped: true
        case .failed, .timedOut: step.onError != nil && record.error?.kind != .internal
        default: false
        }
      guard isPassed else { break }
      events.append(
        .stepBegan(
          StepBegan(run: run, at: record.startedAt, step: record.path, now: record.now, key: record.key)))
      events.append(
        .stepEnded(
          StepEnded(
            run: run, at: record.endedAt ?? record.startedAt, step: record.path, now: record.now,
            status: record.status, output: record.output, error: record.error)))
    }
    return events
  }
}
