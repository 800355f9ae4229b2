import Basics
package import RunState
import Recipes
import Runs

// Trying an ended run again.
//
// The new run has the texts, inputs and overrides of the old one, so that it is the same recipe whatever its file says
// by now. What finished of it, at any depth, is taken over and never done again (`TakenOver`).

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
    let events = [.runCreated(origin)] + ended.takenOver(by: id, of: recipe, at: origin.at)
    do throws(StateError) { try await append(events) } catch { throw NotRunnable(error.message) }
    return origin
  }
}
