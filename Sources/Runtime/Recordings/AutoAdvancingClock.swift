package import Basics

/// The clock of services, actions and sandboxes beside a clock that stands still: who sleeps on it lets the time pass at
/// once.
///
/// Runs and schedules wait on the clock itself, which only a test or a replay moves. An action that waits a few seconds,
/// and a sandbox that answers late, are in the middle of something that nothing else could end.
package struct AutoAdvancingClock: TimeSource {
  let clock: ManualClock

  package init(clock: ManualClock) { self.clock = clock }

  package func now() -> Timestamp { clock.now() }
  package func elapsed() -> TimeSpan { clock.elapsed() }

  package func sleep(for span: TimeSpan) async throws {
    try Task.checkCancellation()
    clock.advance(by: max(span, .zero))
    try Task.checkCancellation()
  }
}
