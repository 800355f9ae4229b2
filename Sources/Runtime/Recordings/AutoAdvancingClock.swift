package import Basics

/// The clock of services, actions and sandboxes beside a stopped clock: a sleep on it advances the time at once.
///
/// Runs and schedules wait on the stopped clock itself, which only a test or a replay moves. But an action that waits a
/// few seconds, or a sandbox that delays an answer, is in the middle of work that nothing else would let finish.
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
