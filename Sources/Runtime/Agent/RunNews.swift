package import Basics
package import Recipes
package import RunState
package import Runs

/// What a run needs to be carried on: its recipe, checked again, and its services.
package struct PreparedRun: Sendable {
  package var recipe: Recipe
  package var secrets: Secrets
  package var services: Services
  /// The folder that relative paths start from.
  package var folder: String
  /// What a program has to offer to carry a run of it on, among several that share the state.
  package var needs: [String] = []
  /// What `now` is of its steps, if it is played again.
  package var instants: (@Sendable (StepPath) -> Timestamp?)?
  /// Told what `now` is of each step, for a recording.
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

/// Why a run cannot be carried on by this program.
package struct RunRefusedError: Error, Sendable {
  /// What is wrong and what to do, as a sentence.
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

/// What the followers of a run are told.
package enum RunUpdate: Sendable {
  case progress(Progress)
  /// Only the state holds the run until an instant, an event or a person; then it goes on without being asked.
  indirect case waits(RunRecord)
  /// The last update: the run has ended, is suspended until a person acts, or the program ends.
  indirect case left(RunRecord)
}

/// What the observers of all runs are told.
package indirect enum RunNews: Sendable {
  case began(RunRecord)
  case waits(RunRecord)
  /// It is paused, uncertain, or queued behind others of its group.
  case stands(RunRecord)
  case ended(RunRecord)
  /// An event came that no waiting run took.
  case event(String)
  /// A run failed, and the run that tells of it can't be made.
  case unreported(RunRecord, reason: String)
  /// The state has refused an event of a run, which is paused by that if it is open.
  case refused(String, reason: String)
  /// What became of the programs that share the state.
  case shared(SharedNews)
  /// The state takes nothing more; the program has to end.
  case failed(StateError)
}

/// What the alarm clock of a host rings for.
enum RunAlarm: Hashable, Sendable {
  case run(String)
  /// The oldest event is to be forgotten.
  case events
}
