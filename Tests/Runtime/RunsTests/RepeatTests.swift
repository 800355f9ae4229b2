import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

/// Doing an action again until its result is as wanted.
@Suite struct RepeatTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var more: String
    var acts: [BenchService.Act] = []
    var woke: [Int]
    var calls: Int
    var status = RunStatus.succeeded
    var error: String?
    var chance = 0.5
    var testDescription: String { name }
  }

  static let examples: [Example] = [
    Example(name: "it holds at once", more: "until: result.value > 0, every: 1h", woke: [], calls: 1),
    Example(name: "it holds later", more: "until: result.value > 2, every: 1h", woke: [3600, 7200], calls: 3),
    Example(
      name: "the delays grow up to a limit", more: "until: result.value > 4, every: 1h, factor: 2, maxEvery: 3h",
      woke: [3600, 3 * 3600, 6 * 3600, 9 * 3600], calls: 5),
    Example(
      name: "a wait may be shorter by chance", more: "until: result.value > 2, every: 1h, jitter: 1m",
      woke: [3540, 7080], calls: 3, chance: 0),
    Example(
      name: "or longer", more: "until: result.value > 2, every: 1h, jitter: 1m", woke: [3630, 7260], calls: 3,
      chance: 0.75),
    Example(
      name: "a round is tried again like any step", more: "until: result.value > 1, every: 1h",
      acts: [.succeed, .fail(TryTests.lost), .fail(TryTests.lost), .succeed], woke: [3600], calls: 4),
    Example(
      name: "a round that fails is the step's failure", more: "until: result.value > 1, every: 1h",
      acts: [.succeed, .fail(WalkTests.refusal)], woke: [3600], calls: 2, status: .failed,
      error: "it is there already"),
    Example(
      name: "the last round is at the limit", more: "until: result.value > 9, every: 1h, timeout: 150m",
      woke: [3600, 7200, 9000], calls: 4, status: .timedOut,
      error: "'a' was not as wanted after 4 rounds in 2h30m; the last one gave {\"name\":\"a\",\"value\":4}"),
    Example(
      name: "and counts", more: "until: result.value > 3, every: 1h, timeout: 150m", woke: [3600, 7200, 9000],
      calls: 4),
    Example(
      name: "a total time limit is one of all rounds",
      more: "until: result.value > 9, every: 1h }, timeout: { total: 90m", woke: [3600, 5400], calls: 3,
      status: .timedOut,
      error: "'a' was not as wanted after 3 rounds in 1h30m; the last one gave {\"name\":\"a\",\"value\":3}"),
  ]

  @Test(arguments: examples)
  func `an action is done again until it is as wanted`(example: Example) async throws {
    let bench = try Bench(
      """
      steps:
        - { id: a, uses: bench.ask, with: { name: a }, repeat: { \(example.more) } }
      """, chance: example.chance)
    bench.service.script("a", example.acts)
    try await bench.create()
    let (run, woke) = try await bench.driven()
    #expect(run.status == example.status)
    #expect(run.error?.message == example.error)
    #expect(woke == example.woke.map { .seconds($0) })
    #expect(bench.service.names.count == example.calls)
    // However many rounds there were.
    #expect(run.stepsInOrder.map(\.path) == ["a", "a/#round"])
  }

  @Test func `each round has its own instant, key and attempts`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.ask
          with: { name: "a ${{ time.format(now, '%H', 'UTC') }}" }
          repeat: { until: "time.format(now, '%H', 'UTC') == '11'", every: 1h }
      """)
    bench.service.script("a 10", .fail(TryTests.lost), .succeed)
    try await bench.create()
    #expect(try await bench.driven().run.status == .succeeded)
    #expect(bench.service.names == ["a 09", "a 10", "a 10", "a 11"])
    #expect(bench.service.calls.map(\.key) == ["r1/a#1", "r1/a#2", "r1/a#2", "r1/a#3"])
    #expect(bench.service.calls.map(\.attempt) == [1, 1, 2, 1])
  }

  @Test func `a wait between two rounds says how many there were`() async throws {
    let bench = try Bench(
      "steps: [{ id: a, uses: bench.ask, with: { name: a }, repeat: { until: result.value > 9, every: 1h } }]")
    let run = try await bench.run()
    #expect(run.steps["a"]?.status == .waiting)
    #expect(run.steps["a"]?.wait == WaitRecord(.poll, wakeAt: Timestamp("2026-11-20T10:30:00Z"), rounds: 1))
    #expect(run.reason == "'a' is done again (round 2)")
  }

  @Test func `what uses something up may be in doubt once in each round, and never twice in one`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.consume
          with: { name: a, value: 1 }
          retry: { maxAttempts: 4, jitter: none }
          repeat: { until: "time.format(now, '%H', 'UTC') == '11'", every: 1h }
      """)
    // A try that did nothing uses nothing up.
    bench.service.script(
      "a", .fail(TryTests.broken), .doneThenFail(TryTests.lost), .succeed, .doneThenFail(TryTests.lost), .succeed,
      .fail(TryTests.broken), .doneThenFail(TryTests.lost), .doneThenFail(TryTests.lost), .succeed)
    try await bench.create()
    var run = try await bench.driven().run
    #expect(run.status == .uncertain)
    #expect(bench.service.calls.map(\.attempt) == [1, 2, 3, 1, 2, 1, 2, 3])
    #expect(run.uncertainSteps.map(\.path) == ["a/#round"])
    #expect(run.reason == "'a': bench.consume may or may not have been done: the answer is lost")
    let output = Value.object(["name": .string("a"), "value": .int(7)])
    #expect(try await bench.resolve("a", as: .done(output)).status == .queued)
    run = try await bench.resume()
    #expect(run.status == .succeeded)
    #expect(bench.service.calls.count == 8)
  }

  @Test(arguments: [
    (Resolution.retry, RunStatus.succeeded, ["r1/a#1", "r1/a#2", "r1/a#2"]),
    (.fail("it is gone"), .failed, ["r1/a#1", "r1/a#2"]),
  ])
  func `a round that is resolved goes on, or fails, with its number`(
    resolution: Resolution, status: RunStatus, keys: [String]
  ) async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.putWithinHour
          with: { name: a }
          retry: { maxAttempts: 1 }
          repeat: { until: "time.format(now, '%H', 'UTC') == '10'", every: 1h }
      """)
    bench.service.script("a", .succeed, .crash(afterDoing: true))
    try await bench.create()
    _ = try await bench.resume()
    bench.time.advance(by: .seconds(3600))
    await #expect(throws: CrashingStore.death) { try await bench.resume() }
    bench.time.advance(by: .seconds(3601))
    #expect(try await bench.resume().status == .uncertain)
    _ = try await bench.resolve("a", as: resolution)
    #expect(try await bench.resume().status == status)
    #expect(bench.service.calls.map(\.key) == keys)
  }

  @Test func `a plain write is not repeated`() throws {
    do {
      _ = try Bench(
        "steps: [{ id: a, uses: bench.post, with: { name: a }, repeat: { until: result.value > 9, every: 1h } }]")
      Issue.record("it was taken")
    } catch let fault as Bench.Unchecked {
      #expect(
        fault.description.hasPrefix(
          "test.yaml:2:55: error: 'bench.post' must not be repeated: it is a plain write, and each round would do it "
            + "once more"))
    }
  }
}
