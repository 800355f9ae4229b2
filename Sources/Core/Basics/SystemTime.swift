import Glibc

/// The clocks of the machine.
public struct SystemTime: TimeSource {
  /// Creates the clocks; only the outermost layer does.
  public init() {}

  /// The wall clock, limited to the years 1 to 9999.
  ///
  /// In microseconds: no two machines agree on more, databases keep no more, and each record holds two or three
  /// instants. Rounded up, so that a task that waits for an instant finds it reached even at the last instant of the
  /// clock.
  public func now() -> Timestamp {
    let time = read(CLOCK_REALTIME)
    let microseconds = (time.tv_nsec + 999) / 1000
    return Timestamp(
      seconds: time.tv_sec + microseconds / 1_000_000, nanoseconds: microseconds % 1_000_000 * 1000)
      ?? (time.tv_sec < 0 ? .earliest : .latest)
  }

  /// The time since the machine was started, sleep included.
  public func elapsed() -> TimeSpan {
    let time = read(CLOCK_BOOTTIME)
    return .seconds(time.tv_sec) + TimeSpan(nanoseconds: time.tv_nsec)
  }

  /// Waits at least that long.
  ///
  /// A machine that sleeps meanwhile may prolong it by as much, so a wait for an instant is made in portions.
  public func sleep(for span: TimeSpan) async throws {
    try Task.checkCancellation()
    guard span > .zero else { return await Task.yield() }
    try await Sleepers.all.sleep(until: elapsed() + span)
  }

  private func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    // Cannot fail: both clocks are there since Linux 2.6.39.
    clock_gettime(clock, &time)
    return time
  }
}
