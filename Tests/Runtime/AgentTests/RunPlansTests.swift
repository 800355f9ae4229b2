import ActionTestKit
import Basics
import ProcessTestKit
import RunState
import Testing

@testable import Agent

/// The plans that an agent makes and keeps: how many, how long, and for whom.
@Suite(.timeLimit(.minutes(20))) struct RunPlansTests {
  private func plan(_ text: String, at instant: Timestamp) throws -> PlanRecord {
    try PlanRecord(
      PlanRecord.MadeForRun(text: text, wouldFail: false),
      of: RunCreated(
        run: "r1", at: instant, recipe: "greet", file: "greet.yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "test"))
  }

  @Test func `a plan is kept for an hour under the hash of its document`() throws {
    let book = PlanCache()
    let start = ManualClock.start
    let made = try plan("{}", at: start)
    // SHA-256 of `{}` and a line end.
    #expect(made.digest == "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356")
    book.keep(made, of: ValueMap([("n", .int(1))]))
    let almost = try #require(start.advanced(by: .seconds(3599)))
    #expect(book.plan(made.digest, at: almost)?.inputs["n"] == .int(1))
    #expect(book.plan(made.digest, at: try #require(start.advanced(by: .seconds(3600)))) == nil)
  }

  @Test func `the latest plans are kept, up to a number and a size`() throws {
    let book = PlanCache()
    let start = ManualClock.start
    let made = try (0...PlanCache.mostPlans).map { try plan("{\"n\": \($0)}", at: start) }
    for plan in made { book.keep(plan, of: ValueMap()) }
    #expect(book.plan(made[0].digest, at: start) == nil && book.plan(made[1].digest, at: start) != nil)
    let large = try (0..<3).map { try plan("\"\($0)\(String(repeating: "a", count: 3 << 20))\"", at: start) }
    for plan in large { book.keep(plan, of: ValueMap()) }
    #expect(book.plan(large[0].digest, at: start) == nil && book.plan(made[100].digest, at: start) == nil)
    #expect(book.plan(large[1].digest, at: start) != nil && book.plan(large[2].digest, at: start) != nil)
  }

  @Test func `only some plans are made at once, and none for long`() async throws {
    let folder = try ScheduleHostTests.folder(["greet": "steps: [{ let: { n: 1 } }]"])
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let bench = await HostBench(folder: folder.path) { [time = TestTime()] _ async throws(RequestRefusedError) in
      enter.yield()
      // Ends only when it is cancelled.
      try? await time.sleep(for: .seconds(86_400))
      return PlanRecord.MadeForRun(text: "{}", wouldFail: false)
    }
    await bench.serve()
    let others = bench.time.sleeperCount
    let request = #"{"ask":"plan","recipe":"greet"}"#
    let waiting = (0..<PlanCache.mostMade).map { _ in Task { try await bench.ask(request) } }
    var begun = 0
    for await _ in entered {
      begun += 1
      if begun == PlanCache.mostMade { break }
    }
    #expect(
      try await bench.ask(request) == [
        #"{"failed":{"kind":"busy","message":"the agent is making 4 plans already, and makes no more at once; try again in a few seconds"}}"#
      ])
    await bench.time.waitForSleepers(others + PlanCache.mostMade)
    bench.time.advance(by: PlanCache.longestMade)
    for task in waiting {
      let answer = try await task.value.joined()
      #expect(
        answer.hasPrefix(
          #"{"failed":{"kind":"timeout","message":"the plan took longer than "#)
          && answer.contains("and was given up; nothing was written. The command line has no limit: errand plan "),
        "\(answer)")
    }
  }
}
