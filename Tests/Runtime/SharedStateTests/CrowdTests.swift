import Foundation
import RunTestKit
import Testing

/// Several programs on one database.
///
/// `ERRAND_CROWDS=10000 swift test --filter CrowdTests` plays as many stories.
@Suite struct CrowdTests {
  private static let count = ProcessInfo.processInfo.environment["ERRAND_CROWDS"].flatMap { UInt64($0) } ?? 100
  private static let parts: UInt64 = 4

  @Test(arguments: 0..<parts)
  func `Programs lose nothing and agree on who was first`(part: UInt64) async {
    for seed in stride(from: part, to: CrowdTests.count, by: UInt64.Stride(CrowdTests.parts)) {
      let faults = await Crowd.play(seed)
      #expect(faults == [], "story \(seed)")
      if !faults.isEmpty { return }
    }
  }

  /// Errors that are planted in the database, each with parts of the faults that a story then finds.
  ///
  /// A log that can't be read stops the programs that ask for it.
  @Test(arguments: [
    (SimulatedDatabase.Flaw.answersAtOnce, ["isn't there", "never ends", "can't be read", "has a gap"]),
    (.locksNoEvent, ["nothing wakes"]),
    (.trustsLostAnswers, ["isn't there", "never ends", "can't be read", "has a gap"]),
    (.forgetsOwn, ["is there twice"]),
    (.changesRowsAnyway, ["the row of"]),
  ])
  func `A planted error is found`(flaw: SimulatedDatabase.Flaw, words: [String]) async {
    for seed in 0..<60 as Range<UInt64> {
      let faults = await Crowd.play(seed, flaw)
      if faults.contains(where: { fault in words.contains { fault.contains($0) } }) { return }
    }
    Issue.record("\(flaw) was not found in 60 stories")
  }
}
