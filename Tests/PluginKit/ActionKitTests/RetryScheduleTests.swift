import ActionKit
import Testing

@Suite struct RetryScheduleTests {
  static let growing = RetrySchedule(
    maxAttempts: 9, delays: .growing(initial: .seconds(1), factor: 2, limit: .seconds(5)), jitter: .none)

  @Test(arguments: [(1, 1), (2, 2), (3, 4), (4, 5), (1000, 5), (Int.max, 5), (0, 1), (-1, 1)])
  func `grows up to its limit`(attempt: Int, seconds: Int) {
    #expect(RetryScheduleTests.growing.delay(afterAttempt: attempt, chance: 0.5) == .seconds(seconds))
  }

  @Test(arguments: [(1, 200), (2, 500), (3, 1000), (4, 1000), (0, 200), (Int.min, 200)])
  func `follows its list`(attempt: Int, milliseconds: Int) {
    let listed = RetrySchedule(after: [.milliseconds(200), .milliseconds(500), .seconds(1)])
    #expect(listed.maxAttempts == 4)
    #expect(listed.delay(afterAttempt: attempt, chance: 0.5) == .milliseconds(milliseconds))
  }

  @Test(arguments: [(0.0, 0), (0.5, 500), (-3, 0)])
  func `full jitter takes a part of the delay`(chance: Double, milliseconds: Int) {
    #expect(RetrySchedule.standard.delay(afterAttempt: 1, chance: chance) == .milliseconds(milliseconds))
  }

  @Test func `awkward figures do not trap`() {
    for (factor, initial, limit) in [
      (Double.nan, 1, 5), (.infinity, 1, Int.max), (-1, 1, 5), (2, Int.max, Int.max), (1e308, 1, Int.max), (2, -1, 5),
    ] {
      let schedule = RetrySchedule(
        maxAttempts: 3,
        delays: .growing(
          initial: TimeSpan(nanoseconds: initial), factor: factor, limit: TimeSpan(nanoseconds: limit)))
      for attempt in [1, 2, 64, 5000] {
        #expect(schedule.delay(afterAttempt: attempt, chance: .nan) <= TimeSpan(nanoseconds: limit))
      }
    }
    #expect(RetrySchedule(after: []).delay(afterAttempt: 1, chance: 0) == .zero)
  }
}
