/// The kind of name that a word of a command line is, for the completion to list candidates.
package enum Named: Hashable, Sendable {
  /// A recipe's file, or a test's.
  case recipeFile, testFile
  /// A recipe by its name.
  case recipe
  /// A run that the command applies to.
  case run(Runs)
  /// A run, a recipe or a schedule.
  case runOrSchedule
  /// A recipe's file, or a run.
  case recipeFileOrRun
  /// A step of the run on the line that the command applies to.
  case step(Steps)
  /// A schedule: any, only paused ones, or only ones that aren't paused.
  case schedule(isPaused: Bool? = nil)
  /// An input of the recipe on the line, with a value after `=`.
  case input
  /// A setting of a connection of the recipe on the line.
  case setting
  /// An event that the run on the line waits for.
  case event
  /// An action; a plugin or an action; a plugin; a plugin that has a lock.
  case action, pluginOrAction, plugin, lockedPlugin
  /// A secret, a worker, a token.
  case secret, worker, token
  /// Something that there is help about.
  case topic

  /// The runs that a command applies to.
  package enum Runs: Hashable, Sendable {
    case all, open, ended, endedBadly, waiting, asking, uncertain, resumable
  }

  /// The steps that a command applies to.
  package enum Steps: Hashable, Sendable {
    case begun, asking, uncertain
  }

  /// Whether the word may be any path.
  package var isPath: Bool { [.recipeFile, .testFile, .recipeFileOrRun].contains(self) }
}
