import Basics
import Glibc
import RunTestKit
import Testing

@testable import Simulator

/// The promise holds for whole agents that share a database, despite any faults of them and of it.
///
/// `ERRAND_FLEETS=10000 swift test --filter SimulatedClusterTests` plays as many seeds.
@Suite struct SimulatedClusterTests {
  private static let count = getenv("ERRAND_FLEETS").flatMap { UInt64(String(cString: $0)) } ?? 12
  private static let parts: UInt64 = 4
  private static let asked = getenv("ERRAND_SEED").flatMap { UInt64(String(cString: $0)) }

  @Test(arguments: 0..<parts) func `the promise holds on several machines`(part: UInt64) async throws {
    try await SimulatedClusterTests.play(part, isBehind: false)
  }

  @Test(arguments: 0..<parts)
  func `nothing is done twice without a word where a server takes over that was behind`(part: UInt64) async throws {
    try await SimulatedClusterTests.play(part, isBehind: true)
  }

  private static func play(_ part: UInt64, isBehind: Bool) async throws {
    for seed in stride(from: part, to: SimulatedClusterTests.count, by: UInt64.Stride(SimulatedClusterTests.parts)) {
      let seed = SimulatedClusterTests.asked ?? seed
      let report = try #require(await FleetSimulation(seed: seed, isBehind: isBehind).run())
      #expect(report.fault == nil, "\(report.text(lines: SimulatedClusterTests.asked == nil ? 60 : .max))")
      if report.fault != nil || SimulatedClusterTests.asked != nil { return }
    }
  }

  /// `CrowdTests`, `HandoverTests` and `ScheduleFenceTests` find the others.
  @Test(arguments: [SimulatedDatabase.Flaw.answersAtOnce, .trustsLostAnswers, .claimsWithoutEntry])
  func `an error of the database is found`(flaw: SimulatedDatabase.Flaw) async throws {
    for seed in 0..<40 as Range<UInt64> {
      let report = try #require(await FleetSimulation(seed: seed, flaw: flaw).run())
      if report.fault != nil { return }
    }
    Issue.record("\(flaw) was not found in 40 seeds")
  }
}
