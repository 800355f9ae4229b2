public import ActionKit

/// The clock of tests.
public typealias TestTime = ManualClock

extension ActionContext {
  /// The context of a first attempt in a run that only a test knows.
  public static func testing(
    step: String = "step", attempt: Int = 1, time: any TimeSource = TestTime(), folder: String = "/tmp",
    onProgress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) -> ActionContext {
    ActionContext(
      run: "test", step: step, attempt: attempt, idempotencyKey: "test/\(step)", now: time.now(), time: time,
      folder: folder, onProgress: onProgress)
  }
}
