import ActionTestKit
import Basics
import RunState
import Testing

@testable import Runs

/// Nothing outlives the execution of a run: no engine, no context, no recipe, no record.
@Suite(.timeLimit(.minutes(20))) struct LifetimeTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var recipe: String
    var status: RunStatus
    var script: [BenchService.Act] = []
    /// The store takes no more appends after so many.
    var death: Int?
    var testDescription: String { name }
  }

  static let examples: [Example] = [
    Example(name: "a success", recipe: "steps: [{ uses: bench.read, with: { name: a } }]", status: .succeeded),
    Example(name: "a failure", recipe: "steps: [{ fail: no }]", status: .failed),
    Example(name: "a wait", recipe: "steps: [{ wait: 1d }]", status: .waiting),
    Example(name: "a wait in place", recipe: "steps: [{ wait: 5s }]", status: .succeeded),
    Example(name: "a question", recipe: "steps: [{ approve: { prompt: Go? } }]", status: .waiting),
    Example(
      name: "a retry", recipe: "steps: [{ uses: bench.read, with: { name: a } }]", status: .succeeded,
      script: [.fail(TryTests.lost)]),
    Example(
      name: "doubt", recipe: "steps: [{ uses: bench.post, with: { name: a } }]", status: .uncertain,
      script: [.fail(TryTests.lost)]),
    Example(
      name: "a loop side by side",
      recipe: "steps: [{ forEach: \"[1, 2, 3, 4]\", as: n, maxParallel: 4, uses: bench.read, with: { name: a } }]",
      status: .succeeded),
    Example(
      name: "branches, time limits and handlers",
      recipe: """
        steps:
          - parallel:
              left: [{ timeout: 1h, steps: [{ wait: 1s }] }]
              right: [{ onError: [{ wait: 1s }], steps: [{ fail: no }] }]
        finally: [{ uses: bench.read, with: { name: a } }]
        """, status: .succeeded),
    Example(
      name: "the death of the state", recipe: "steps: [{ uses: bench.read, with: { name: a } }, { wait: 5s }]",
      status: .running, death: 2),
  ]

  @Test(arguments: examples) func `nothing is kept of a run that is carried on no longer`(_ example: Example)
    async throws
  {
    let bench = try Bench(
      example.recipe, dyingAt: example.death.map { CrashingStore.Point(append: $0, isAfter: false) })
    for act in example.script { bench.service.script("a", act) }
    if example.death == nil {
      #expect(try await bench.run().status == example.status)
    } else {
      try await bench.runUntilDeath()
    }
    #expect(await bench.walks.settled() == 0)
  }

  @Test func `nothing is kept of a run that was cancelled, paused or stopped`() async throws {
    for halt in ["cancel", "pause", "stop"] {
      let bench = try Bench("steps: [{ uses: bench.read, with: { name: a } }, { wait: 10s }]")
      bench.service.script("a", .hang)
      try await bench.create()
      do {
        let engine = try bench.engine()
        async let run = engine.run()
        while bench.service.names.isEmpty { await Task.yield() }
        switch halt {
        case "cancel": await engine.cancel(after: .zero)
        case "pause":
          await engine.pause()
          await engine.force(after: .zero)
        default:
          engine.stop()
          await engine.force(after: .zero)
        }
        _ = try await run
      }
      #expect(await bench.walks.settled() == 0, "\(halt)")
    }
  }
}
