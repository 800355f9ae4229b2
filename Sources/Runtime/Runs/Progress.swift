package import Basics
package import RunState

/// A report to the followers of a run while it runs.
///
/// None of it is needed to resume after a crash.
package enum Progress: Sendable {
  case runBegan(run: String, recipe: String, isResumed: Bool)
  case stepBegan(path: StepPath, title: String, depth: Int)
  /// For a loop: how many items are done, of how many.
  ///
  /// `failed` of the done items failed, and the loop continues.
  ///
  /// `caught` failed too, and gave the value of 'onError'.
  case loopAdvanced(path: StepPath, done: Int, failed: Int = 0, caught: Int = 0, count: Int)
  case attemptFailed(path: StepPath, attempt: Int, error: RunError, retryIn: TimeSpan?)
  /// A step begins to wait, or is still waiting when its run is resumed.
  indirect case stepWaits(path: StepPath, title: String, depth: Int, wait: WaitRecord)
  /// How far an action is, in its words, and in numbers if it counts.
  case reported(path: StepPath, text: String, amount: ProgressAmount? = nil)
  /// A line that a program of an action printed, or several, with line feeds between them.
  case printed(PrintedLine)
  /// `isReplayed` says that the step was done before the run was resumed.
  case stepEnded(
    path: StepPath, title: String, depth: Int, status: StepStatus, took: TimeSpan, error: RunError?, isReplayed: Bool)
  // Apart, because every report would be as large as the record.
  indirect case runEnded(RunRecord)
}

/// How much of a step's work is done.
package struct ProgressAmount: Sendable, Equatable {
  package var completed: Int
  /// How much there is, if that is known.
  package var total: Int?
  /// Whether bytes are counted, and not items.
  package var isBytes: Bool

  package init(completed: Int, total: Int? = nil, isBytes: Bool = false) {
    self.completed = completed
    self.total = total
    self.isBytes = isBytes
  }
}
