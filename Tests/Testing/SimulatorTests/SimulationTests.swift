import Basics
import Glibc
import Testing

@testable import Simulator

/// The promise holds for the life of any seed.
@Suite struct SimulationTests {
  /// The one seed that was asked for, or the seeds of the suite.
  static let seeds: [UInt64] = asked.map { [$0] } ?? Array(0..<300) + lessons
  /// Seeds of longer runs that found faults: a step that was resolved in the moment when a walk came to its end, and a
  /// schedule that was removed and came back while its removal was being written.
  static let lessons: [UInt64] = [197_574_474, 1_092_026_144]
  static let asked = getenv("ERRAND_SEED").flatMap { UInt64(String(cString: $0)) }

  @Test(arguments: seeds) func `the promise holds`(seed: UInt64) async throws {
    let report = try #require(await Simulation(seed: seed).run())
    #expect(report.fault == nil, "\(report.text(lines: SimulationTests.asked == nil ? 40 : .max))")
  }
}

extension SimulationTests {
  @Test(arguments: asked.map { [$0] } ?? Array(0..<10) as [UInt64])
  func `the same seed gives the same trace`(seed: UInt64) async throws {
    let first = try #require(await Simulation(seed: seed).run(isTold: true))
    let second = try #require(await Simulation(seed: seed).run(isTold: true))
    let different = zip(first.trace, second.trace).enumerated().first { $1.0 != $1.1 }
    #expect(different == nil, "\(first.trace.prefix(different?.offset ?? 0).suffix(5))")
    #expect(first.trace.count == second.trace.count)
  }
}

extension SimulationTests {
  static let seconds = getenv("ERRAND_SIMULATE").flatMap { Int(String(cString: $0)) }

  @Test(.enabled(if: seconds != nil)) func `the promise holds for as long as one likes`() async throws {
    let start = ContinuousClock.now
    let end = start + .seconds(SimulationTests.seconds ?? 0)
    let first = UInt64.random(in: Simulation.longLives...UInt64(UInt32.max))
    let count = await withTaskGroup { group in
      for worker in 0..<2 as Range<UInt64> {
        group.addTask {
          var seed = first + worker
          var count = 0
          while ContinuousClock.now < end, let report = await Simulation(seed: seed).run() {
            #expect(report.fault == nil, "\(report.text(lines: 40))")
            seed += 2
            count += 1
          }
          return count
        }
      }
      return await group.reduce(0, +)
    }
    let seconds = start.duration(to: .now) / .seconds(1)
    print("simulated \(count) seeds from \(first), \(Double(Int(Double(count) / seconds * 10)) / 10) a second")
    #expect(count > 0)
  }
}
