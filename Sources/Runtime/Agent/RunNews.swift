package import Basics
package import Recipes
package import RunState
package import Runs

/// Everything that a run needs to be walked: its recipe, checked again, and its services.
package struct PreparedRun: Sendable {
  package var recipe: Recipe
  package var secrets: Secrets
  package var services: Services
  /// The folder that relative paths start from.
  package var folder: String
  /// The offers that a worker must have to claim a run of it, if programs share the state.
  package var needs: [String] = []
  /// The value of `now` for each of its steps, in a replay.
  package var instants: (@Sendable (StepPath) -> Timestamp?)?
  /// Called with the value of `now` for each step, for a recording.
  package var notingInstants: (@Sendable (StepPath, Timestamp) -> Void)?
  /// Makes the run that tells of this one when it fails, given its last event; nil if there is nothing to tell.
  package var failureRun:
    (@Sendable (RunRecord, StateEvent, any StateStore) async throws(RunRefusedError) -> RunCreated?)?

  package init(recipe: Recipe, secrets: Secrets, services: Services, folder: String) {
    self.recipe = recipe
    self.secrets = secrets
    self.services = services
    self.folder = folder
  }
}

/// The reason why this program can't resume a run.
package struct RunRefusedError: Error, Sendable {
  /// The fault and the fix, as a sentence.
  package var message: String
  /// The name of the secret that is missing, if that is all.
  package var missing: String?
  /// Whether it may be otherwise later: the state can't be reached, or no machine that has what is needed.
  package var isAway = false
  /// The run's recipe, if that fits and only something that it needs is missing.
  package var recipe: Recipe?

  package init(_ message: String, missing: String? = nil) {
    self.message = message
    self.missing = missing
  }

  init(_ error: StateError) {
    message = error.message
    isAway = error.kind == .unavailable
  }
}

/// An update for the followers of a run.
package enum RunUpdate: Sendable {
  case progress(Progress)
  /// The run waits for an instant, an event or a person, held by the state alone; then it resumes without being asked.
  indirect case waits(RunRecord)
  /// The last update: the run has ended, is suspended until a person acts, or the program ends.
  indirect case left(RunRecord)
}

/// News for the observers of all runs.
package indirect enum RunNews: Sendable {
  case began(RunRecord)
  case waits(RunRecord)
  /// It is paused, uncertain, or queued behind others of its group.
  case parked(RunRecord)
  case ended(RunRecord)
  /// An event came that no waiting run took.
  case event(String)
  /// A run failed, and the run that tells of it can't be made.
  case unreported(RunRecord, reason: String)
  /// The state has refused an event of a run, which is paused by that if it is open.
  case refused(String, reason: String)
  /// News of the programs that share the state.
  case shared(SharedNews)
  /// The state takes nothing more; the program has to end.
  case failed(StateError)
}

/// The purpose of an alarm in a host's clock.
enum RunAlarm: Hashable, Sendable {
  case run(String)
  /// The oldest event is to be forgotten.
  case events
}
