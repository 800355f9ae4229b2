import Foundation

/// The unit of processor time: a hundredth of a fixed loop in C that runs beside the rows.
///
/// A slower machine takes longer for the loop and for the measured work, so a figure in units says more than a time
/// does. It isn't the same on every machine: the loop computes, and a start or a step also waits for pages and calls
/// the system.
struct Unit {
  /// The processor time of one, in seconds.
  let seconds: Double

  private static let unitsOfLoop = 100.0

  /// Does some work, and measures the loop before and after it.
  ///
  /// The least counts, because every disturbance adds.
  static func around(
    _ name: String, _ spawner: Spawner, _ work: () async throws -> [Row]
  ) async throws -> [Row] {
    func measured() throws -> Double {
      try spawner.least(of: 3, [{ _ in [Spawner.floors, "loop", "\(Int(unitsOfLoop))"] }])[0].processor / unitsOfLoop
    }
    let before = try measured()
    let rows = try await work()
    let after = try measured()
    let unit = Unit(seconds: min(before, after))
    if max(before, after) > 1.25 * unit.seconds {
      print(
        "\(name): the machine changed its pace: \(displayedTime(before)) a unit before, \(displayedTime(after)) after")
    }
    return rows.map { $0.measured(in: unit) }
  }
}

/// The time of a clock, in seconds.
func seconds(of clock: clockid_t) -> Double {
  var time = timespec()
  clock_gettime(clock, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// The processor time of this process, in seconds.
func processorSeconds() -> Double { seconds(of: CLOCK_PROCESS_CPUTIME_ID) }

/// The processor time that another process has used so far, in seconds.
func processorSeconds(of process: Process) throws -> Double {
  var clock = clockid_t()
  guard clock_getcpuclockid(process.processIdentifier, &clock) == 0 else {
    throw NotMeasured("the kernel tells no processor time")
  }
  return seconds(of: clock)
}

/// The processor time of one call: the least of the calls that fit in about half a second, because every disturbance
/// adds.
func processorSeconds(within limit: Double = 0.5, _ body: () throws -> Void) rethrows -> Double {
  try leastSeconds(of: CLOCK_PROCESS_CPUTIME_ID, within: limit, body)
}

/// The least time of one call, by a clock.
func leastSeconds(of clock: clockid_t, within limit: Double = 0.5, _ body: () throws -> Void) rethrows -> Double {
  let end = seconds(of: CLOCK_MONOTONIC) + limit
  var least = Double.infinity
  repeat {
    let start = seconds(of: clock)
    try body()
    least = min(least, seconds(of: clock) - start)
  } while seconds(of: CLOCK_MONOTONIC) < end
  return least
}

/// The wall time and the processor time of some work of this process, in seconds.
func spent(_ body: () async throws -> Void) async rethrows -> (wall: Double, processor: Double) {
  let start = (seconds(of: CLOCK_MONOTONIC), processorSeconds())
  try await body()
  return (seconds(of: CLOCK_MONOTONIC) - start.0, processorSeconds() - start.1)
}
