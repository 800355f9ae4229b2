import Basics
import RunState
import Runs
import Testing

@testable import Agent
@testable import Operations

/// The events of runs, as they are sent to clients.
@Suite struct RunEventTests {
  private static let error = RunError(.validation, "no JSON", step: "put[3]")

  /// Members of progress have names that other answers use for other things.
  @Test(arguments: [
    Progress.runBegan(run: "r1", recipe: "backup", isResumed: true), .stepBegan(path: "put", title: "put", depth: 1),
    .loopAdvanced(path: "put", done: 4, failed: 2, caught: 1, count: 9),
    .attemptFailed(path: "put[3]", attempt: 1, error: error, retryIn: .seconds(2)),
    .reported(path: "put", text: "ended", amount: ProgressAmount(completed: 1, total: 2)),
    .stepEnded(
      path: "put", title: "put", depth: 1, status: .failed, took: .seconds(1), error: error, isReplayed: false),
  ]) func `progress is read as what was told, whatever is in it`(_ progress: Progress) throws {
    guard case .progress(let read) = try RunEvent(reading: progress.value) else {
      Issue.record("\(progress.value) is read as something else")
      return
    }
    #expect(read.value == progress.value)
  }
}
