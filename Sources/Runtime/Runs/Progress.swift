package import Basics
package import RunState

/// What whoever follows a run is told while it goes on.
///
/// Nothing of it is needed to go on after a crash.
package enum Progress: Sendable {
  case runBegan(run: String, recipe: String, isResumed: Bool)
  case stepBegan(path: StepPath, title: String, depth: Int)
  /// Of a loop: how many items are done, of how many.
  case loopAdvanced(path: StepPath, done: Int, count: Int)
  case attemptFailed(path: StepPath, attempt: Int, error: RunError, retryIn: TimeSpan?)
  /// A step waits from now on, or still waits when its run is carried on.
  case stepWaits(path: StepPath, title: String, depth: Int, wait: WaitRecord)
  /// What an action says about itself.
  case reported(path: StepPath, text: String)
  /// `isReplayed` says that the step was done before the run was resumed.
  case stepEnded(
    path: StepPath, title: String, depth: Int, status: StepStatus, took: TimeSpan, error: RunError?, isReplayed: Bool)
  case runEnded(RunRecord)
}
