import ActionKit
import Basics
import RunState
import Synchronization
import Testing

@testable import Runs

/// Time limits that span waits, and limits that passed while no process was looking.
@Suite struct DeadlineTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var recipe: String
    /// How long the program is down after each time that the run is left.
    var down: [Int] = []
    var woke: [Int]
    var status = RunStatus.succeeded
    var error: String?
    var calls: [String]
    var testDescription: String { name }
  }

  static func block(_ timeout: String, _ steps: String, more: String = "") -> String {
    "steps:\n  - { id: block, timeout: \(timeout)\(more), steps: [\(steps)] }\n"
      + "  - { uses: bench.read, with: { name: after } }"
  }

  static let read = "{ uses: bench.read, with: { name: a } }"

  static let examples: [Example] = [
    Example(
      name: "a wait that is over before the limit", recipe: block("2h", "{ wait: 1h }, \(read)"), woke: [3600],
      calls: ["a", "after"]),
    Example(
      name: "a wait that is over after it", recipe: block("2h", "{ wait: 3h }, \(read)"), woke: [7200],
      status: .timedOut, error: "'block' took longer than 7200s", calls: []),
    Example(
      name: "an event that does not come", recipe: block("2h", "{ wait: { event: paid } }, \(read)"), woke: [7200],
      status: .timedOut, error: "'block' took longer than 7200s", calls: []),
    Example(
      name: "the limit is that of all waits together", recipe: block("2h", "{ wait: 90m }, { wait: 90m }"),
      woke: [5400, 7200], status: .timedOut, error: "'block' took longer than 7200s", calls: []),
    Example(
      name: "the outer limit strikes first",
      recipe: block("2h", "{ id: inner, timeout: 5h, onError: continue, steps: [{ wait: 9h }] }, \(read)"),
      woke: [7200], status: .timedOut, error: "'block' took longer than 7200s", calls: []),
    Example(
      name: "the inner limit strikes first, and is caught",
      recipe: block("5h", "{ id: inner, timeout: 2h, onError: continue, steps: [{ wait: 9h }] }, \(read)"),
      woke: [7200], calls: ["a", "after"]),
    Example(
      name: "a wait whose instant passed while the program was down is over",
      recipe: block("2h", "{ wait: 1h }, \(read)"), down: [10_000], woke: [3600], calls: ["a", "after"]),
    Example(
      name: "what comes after it and is not over is not waited for",
      recipe: block("2h", "{ wait: 1h }, \(read), { wait: 1h }"), down: [10_000], woke: [3600], status: .timedOut,
      error: "'block' took longer than 7200s", calls: ["a"]),
    Example(
      name: "each try of a block has its limit",
      recipe: block(
        "{ attempt: 1h, total: 9h }", "{ wait: 2h }",
        more: ", retry: { maxAttempts: 2, initial: 2h, maxInterval: 2h, jitter: none }"),
      woke: [3600, 3 * 3600, 4 * 3600], status: .timedOut, error: "'block' took longer than 3600s", calls: []),
    Example(
      name: "a wait has a limit of its own",
      recipe: "steps: [{ id: w, wait: 3h, timeout: 2h, onError: continue }, \(read)]", woke: [7200], calls: ["a"]),
    Example(
      name: "which does not count if both passed while the program was down",
      recipe: "steps: [{ id: w, wait: 3h, timeout: 2h }, \(read)]", down: [10_000], woke: [7200], calls: ["a"]),
    Example(
      name: "a retry that is not due when the limit passes is not made",
      recipe: block(
        "2h", "{ uses: bench.read, with: { name: lost }, retry: { initial: 3h, maxInterval: 3h, jitter: none } }"),
      woke: [7200], status: .timedOut, error: "'block' took longer than 7200s", calls: ["lost"]),
  ]

  @Test(arguments: examples)
  func `a limit is an instant`(example: Example) async throws {
    let bench = try WaitTests.bench(example.recipe)
    try await bench.create()
    var down = example.down
    var woke: [TimeSpan] = []
    let start = bench.time.now()
    var run = try await bench.resume()
    while run.status == .waiting, let wakeAt = run.wakeAt {
      woke.append(wakeAt.span(since: start) ?? .zero)
      bench.time.set(to: wakeAt.advanced(by: .seconds(down.isEmpty ? 0 : down.removeFirst())) ?? .latest)
      run = try await bench.resume()
    }
    #expect(run.status == example.status)
    #expect(run.error?.message == example.error)
    #expect(woke == example.woke.map { .seconds($0) })
    #expect(bench.service.names == example.calls)
  }

  @Test func `the limit of a called recipe leaves its finally alone, which may wait`() async throws {
    let bench = try WaitTests.bench("steps: [{ id: sub, call: sub.yaml, timeout: 2h, onError: continue }]")
    try await bench.create()
    let (run, woke) = try await bench.driven()
    #expect(run.status == .succeeded)
    #expect(run.steps["sub"]?.status == .timedOut)
    #expect(run.steps["sub/#finally/#1"]?.status == .succeeded)
    #expect(woke == [.seconds(7200), .seconds(10_800)])
  }

  // MARK: Cancelling

  static let cancelled = """
    steps:
      - id: fan
        parallel:
          left: [{ wait: 30d }]
          middle: [{ wait: { event: paid } }]
          right: [{ approve: { prompt: "Go?" }, onError: continue }]
    onFailure: [{ uses: bench.read, with: { name: never } }]
    finally:
      - { wait: 1h }
      - { uses: bench.read, with: { name: over } }
    """

  @Test func `a wait is cancelled at once, and finally may wait`() async throws {
    let bench = try Bench(DeadlineTests.cancelled)
    // The step that parks first has a sleeper while the others walk, which takes no time.
    bench.time.long.withLock { $0 = WaitRegistry.suspendThreshold }
    #expect(try await bench.run().status == .waiting)
    try await bench.store.append(.cancelRequested(CancelRequested(run: "r1", at: bench.time.now())))
    let left = try await bench.resume()
    #expect(left.status == .waiting)
    #expect(left.story.dropFirst().prefix(3).allSatisfy { $0.hasSuffix("cancelled") })
    let (run, woke) = try await bench.driven()
    #expect(run.status == .cancelled)
    #expect(woke == [.seconds(3600)])
    #expect(bench.service.names == ["over"])
  }

  @Test(arguments: [false, true])
  func `a run that waits in place is cancelled, or stopped, at once`(isStopped: Bool) async throws {
    let bench = try Bench(
      """
      steps:
        - id: fan
          parallel:
            left: [{ wait: 30d }]
            right: [{ uses: bench.read, with: { name: a } }, { uses: bench.read, with: { name: b } }]
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.time.long.withLock { $0 = WaitRegistry.suspendThreshold }
    bench.service.script("a", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    while bench.store.run("r1")?.steps["fan/left/#1"]?.status != .waiting { await Task.yield() }
    if isStopped { engine.stop() } else { engine.end() }
    let cancelling = Task { if !isStopped { await engine.force(after: .seconds(1000)) } }
    release.open()
    let run = try await running
    cancelling.cancel()
    #expect(run.status == (isStopped ? .running : .cancelled))
    #expect(run.steps["fan/left/#1"]?.status == (isStopped ? .waiting : .cancelled))
    if isStopped { #expect(try await bench.driven().woke == [.seconds(30 * 86_400)]) }
    #expect(bench.service.names == (isStopped ? ["a", "b"] : ["a"]))
  }
}
