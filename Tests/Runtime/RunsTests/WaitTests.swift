import ActionKit
import Basics
import RunState
import Synchronization
import Testing

@testable import Runs

/// Waiting for time to pass: the records, when the run is due, and the time that later steps see.
///
/// The clock shows Friday 2026-11-20, 09:30 UTC when a run begins.
@Suite struct WaitTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var recipe: String
    /// When the run had something to do, since its beginning.
    var woke: [TimeSpan]
    var outputs: String
    var testDescription: String { name }
  }

  static let hour = TimeSpan.seconds(3600)
  static let day = TimeSpan.seconds(86_400)

  static let examples: [Example] = [
    Example(
      name: "a duration", recipe: "steps: [{ wait: 1d }]\noutputs: { now: \"${{ now }}\" }", woke: [day],
      outputs: #"{"now":"2026-11-21T09:30:00Z"}"#),
    Example(
      name: "a duration that is computed",
      recipe: "steps: [{ wait: \"${{ duration('90m') + duration('30m') }}\" }]\noutputs: { now: \"${{ now }}\" }",
      woke: [.seconds(7200)], outputs: #"{"now":"2026-11-20T11:30:00Z"}"#),
    Example(
      name: "an instant",
      recipe: """
        steps: [{ wait: { until: "time.next(now, '02:00', 'Australia/Sydney')" } }]
        outputs: { now: "${{ now }}" }
        """, woke: [.seconds(19_800)], outputs: #"{"now":"2026-11-20T15:00:00Z"}"#),
    Example(
      name: "an instant that is past",
      recipe: "steps: [{ wait: { until: \"now - duration('1s')\" } }]\noutputs: { now: \"${{ now }}\" }", woke: [],
      outputs: #"{"now":"2026-11-20T09:30:00Z"}"#),
    Example(
      name: "less than a minute, in place",
      recipe: "steps: [{ wait: 59s }]\noutputs: { now: \"${{ now }}\" }", woke: [],
      outputs: #"{"now":"2026-11-20T09:30:59Z"}"#),
    Example(
      name: "a wait that is skipped", recipe: "steps: [{ if: now > now, wait: 1d }]\noutputs: { now: \"${{ now }}\" }",
      woke: [], outputs: #"{"now":"2026-11-20T09:30:00Z"}"#),
    Example(
      name: "one after another, in blocks",
      recipe: """
        steps:
          - let: { begun: "${{ now }}" }
          - steps:
              - { wait: 1h }
              - { id: a, uses: bench.read, with: { name: a } }
          - wait: 2h
          - { id: b, uses: bench.read, with: { name: b } }
        outputs: { took: "${{ string(now - begun) }}" }
        """, woke: [hour, .seconds(3 * 3600)], outputs: #"{"took":"10800s"}"#),
    Example(
      name: "side by side the first that is due comes first",
      recipe: """
        steps:
          - id: fan
            parallel:
              left:
                - { wait: 2d }
                - { id: l, uses: bench.read, with: { name: l } }
              middle:
                - { id: m, uses: bench.read, with: { name: m } }
              right:
                - { wait: 1d }
                - let: { right: "${{ now }}" }
                - { id: r, uses: bench.read, with: { name: "r ${{ right }}" } }
        outputs: { right: "${{ steps.fan.right.r.name }}" }
        """, woke: [day, .seconds(2 * 86_400)], outputs: #"{"right":"r 2026-11-21T09:30:00Z"}"#),
    Example(
      name: "items keep their places while they wait",
      recipe: """
        steps:
          - id: each
            forEach: "[1, 2, 3]"
            maxParallel: 2
            steps:
              - { wait: "${{ duration('1h') * item }}" }
              - { id: at, uses: bench.read, with: { name: "${{ string(now) }}" } }
        outputs: { at: "${{ steps.each.map(e, e.at.name) }}" }
        """.replacing("duration('1h') * item", with: "duration(string(item) + 'h')"),
      woke: [hour, .seconds(7200), .seconds(14_400)],
      outputs: #"{"at":["2026-11-20T10:30:00Z","2026-11-20T11:30:00Z","2026-11-20T13:30:00Z"]}"#),
    Example(
      name: "a wait in a recipe that is called, and in finally",
      recipe: """
        steps: [{ call: sub.yaml, id: sub }]
        outputs: { name: "${{ steps.sub.name }}" }
        finally: [{ wait: 1h }]
        """, woke: [day, day + hour, day + hour + hour], outputs: #"{"name":"2026-11-21T09:30:00Z"}"#),
    Example(
      name: "retries with long delays",
      recipe: """
        steps:
          - id: a
            uses: bench.read
            with: { name: lost }
            retry: { maxAttempts: 3, initial: 1h, factor: 2, maxInterval: 1d, jitter: none }
        outputs: { a: "${{ steps.a.name }}" }
        """, woke: [hour, .seconds(3 * 3600)], outputs: #"{"a":"lost"}"#),
    Example(
      name: "retries of a block",
      recipe: """
        steps:
          - id: block
            retry: { maxAttempts: 3, initial: 1h, factor: 2, maxInterval: 1d, jitter: none }
            steps:
              - { wait: 10m }
              - { id: a, uses: bench.put, with: { name: lost }, retry: { maxAttempts: 1 } }
        outputs: { a: "${{ steps.block.a.name }}" }
        """,
      woke: [600, 600 + 3600, 1200 + 3600, 1200 + 3 * 3600, 1800 + 3 * 3600].map { .seconds($0) },
      outputs: #"{"a":"lost"}"#),
  ]

  static let sub = """
    recipe: sub
    steps:
      - { wait: 1d }
      - { id: a, uses: bench.read, with: { name: "${{ string(now) }}" } }
    outputs: { name: "${{ steps.a.name }}" }
    finally: [{ wait: 1h }]
    """

  static func bench(_ recipe: String, dyingAt point: CrashingStore.Point? = nil) throws -> Bench {
    let bench = try Bench(recipe, calling: ["sub.yaml": sub], dyingAt: point)
    // A sleep from `suspendThreshold` on lasts until it is cancelled; a shorter one ends at once.
    bench.time.long.withLock { $0 = WaitRegistry.suspendThreshold }
    bench.service.script("lost", .fail(TryTests.lost), .fail(TryTests.lost), .succeed)
    return bench
  }

  @Test(arguments: examples)
  func `a run wakes when a wait is over, and not before`(example: Example) async throws {
    let bench = try WaitTests.bench(example.recipe)
    try await bench.create()
    let (run, woke) = try await bench.driven()
    #expect(run.status == .succeeded, "\(run.error?.message ?? "")")
    #expect(woke == example.woke)
    #expect(run.outputText == example.outputs)
  }

  @Test(arguments: examples)
  func `a run that is carried on too early waits on for the same`(example: Example) async throws {
    let bench = try WaitTests.bench(example.recipe)
    try await bench.create()
    var run = try await bench.resume()
    let start = bench.time.now()
    var woke: [TimeSpan] = []
    while run.status == .waiting, let wakeAt = run.wakeAt, woke.count < 10 {
      let left = try #require(wakeAt.span(since: bench.time.now()))
      bench.time.advance(by: TimeSpan(nanoseconds: left.nanoseconds / 2))
      let calls = bench.service.names.count
      let early = try await bench.resume()
      #expect(early.wakeAt == wakeAt)
      #expect(early.reason == run.reason)
      #expect(bench.service.names.count == calls)
      bench.time.set(to: wakeAt)
      woke.append(try #require(wakeAt.span(since: start)))
      run = try await bench.resume()
    }
    #expect(run.outputText == example.outputs)
  }

  /// A backup that is scheduled, and downloaded the next day when it is there.
  static let backup = """
    steps:
      - { id: schedule, uses: bench.put, with: { name: "schedule ${{ time.format(now, '%Y', 'Australia/Sydney') }}" } }
      - wait: { until: "time.next(now, '02:00', 'Australia/Sydney')" }
      - id: backup
        uses: bench.ask
        repeat: { until: "result.value > 2", every: 1h, timeout: 30h }
        with: { name: "ask ${{ time.format(now, '%Y-%m-%d', 'Australia/Sydney') }}" }
      - if: steps.backup.value > 3
        fail: too late
    outputs: { value: "${{ steps.backup.value }}", at: "${{ now }}" }
    """

  @Test func `a backup is scheduled, and fetched the next day when it is ready`() async throws {
    let bench = try Bench(WaitTests.backup)
    try await bench.create()
    let run = try await bench.resume()
    #expect(run.status == .waiting)
    #expect(run.reason == "waits until 2026-11-20T15:00:00Z")
    #expect(run.wakeAt == Timestamp("2026-11-20T15:00:00Z"))
    #expect(run.steps["#2"]?.wait == WaitRecord(.until, wakeAt: Timestamp("2026-11-20T15:00:00Z")))
    let (end, woke) = try await bench.driven()
    #expect(end.outputText == #"{"value":3,"at":"2026-11-20T17:00:00Z"}"#)
    #expect(woke == [19_800, 23_400, 27_000].map { .seconds($0) })
    #expect(bench.service.names == ["schedule 2026"] + Array(repeating: "ask 2026-11-21", count: 3))
    #expect(
      end.story == [
        "schedule succeeded", "#2 succeeded", "backup succeeded", "backup/#round succeeded", "#4 skipped",
      ])
  }

  @Test func `a branch that works is not stopped by one that waits, which goes on beside it`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: fan
          parallel:
            left:
              - { id: l, uses: bench.read, with: { name: l } }
            right:
              - { wait: 2m }
              - { id: r, uses: bench.read, with: { name: r } }
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("l", .gated(arrived: arrived, release: release))
    bench.service.script("r", .gated(arrived: release, release: release))
    let run = try await bench.run()
    #expect(run.status == .succeeded)
    #expect(run.story.contains("fan/right/r succeeded"))
    #expect(bench.time.sleeps.prefix(2) == [.seconds(60), .seconds(60)])
  }

  @Test func `new items begin beside those that wait, also after the program ended in between`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2, 3]"
          maxParallel: 2
          steps:
            - { uses: bench.read, with: { name: "a${{ item }}" } }
            - { if: item == 0, wait: 1d }
            - { uses: bench.read, with: { name: "b${{ item }}" } }
      """)
    bench.service.script("b1", .crash(afterDoing: false))
    try await bench.runUntilDeath()
    let run = try await bench.resume()
    #expect(run.status == .waiting)
    #expect(Set(bench.service.names) == ["a0", "a1", "b1", "a2", "b2", "a3", "b3"])
    #expect(try await bench.driven().run.status == .succeeded)
    #expect(bench.service.names.last == "b0")
    #expect(bench.service.names.count { $0 == "b1" } == 2)
  }

  @Test func `a failure lets an item that waits finish, and then counts`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2]"
          maxParallel: 2
          steps:
            - { if: item == 0, wait: 1d }
            - { if: item == 1, fail: "one is refused" }
            - { uses: bench.read, with: { name: "${{ string(item) }}" } }
      """)
    try await bench.create()
    let (run, woke) = try await bench.driven()
    #expect(run.error?.message == "one is refused")
    #expect(woke == [WaitTests.day])
    #expect(bench.service.names == ["0"])
  }

  @Test func `a failure of a branch ends the wait of another`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: fan
          parallel:
            left: [{ wait: 1d }]
            right: [{ fail: no }]
      """)
    let run = try await bench.run()
    #expect(run.error?.message == "no")
    #expect(run.steps["fan/left/#1"]?.status == .cancelled)
  }

  @Test func `an uncertain write is told at once, and the wait beside it goes on when it is resolved`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1]"
          maxParallel: 2
          steps:
            - { if: item == 0, wait: 1d }
            - { id: a, uses: bench.post, with: { name: "${{ string(item) }}" } }
      """)
    bench.service.script("1", .doneThenFail(TryTests.lost))
    #expect(try await bench.run().status == .uncertain)
    _ = try await bench.resolve("each[1]/a", as: .done(.object(["name": .string("1"), "value": .int(0)])))
    let (run, woke) = try await bench.driven()
    #expect(run.status == .succeeded)
    #expect(woke == [WaitTests.day])
    #expect(bench.service.names.sorted() == ["0", "1"])
  }

  // MARK: The clock

  @Test func `a wait that was over stays so when the clock is set back`() async throws {
    let bench = try Bench(
      """
      steps:
        - { wait: 1d }
        - { id: a, uses: bench.read, with: { name: "a ${{ now }}" } }
        - { id: b, uses: bench.read, with: { name: "b ${{ now }}" } }
      """)
    let start = bench.time.now()
    try await bench.create()
    _ = try await bench.resume()
    bench.time.advance(by: WaitTests.day)
    bench.service.script("a 2026-11-21T09:30:00Z", .crash(afterDoing: false))
    await #expect(throws: CrashingStore.death) { try await bench.resume() }
    bench.time.set(to: start)
    #expect(try await bench.resume().status == .succeeded)
    let names = ["a 2026-11-21T09:30:00Z", "a 2026-11-21T09:30:00Z", "b 2026-11-21T09:30:00Z"]
    #expect(bench.service.names == names)
  }

  @Test(arguments: [("wait: 10s", 10), ("wait: { until: \"now + duration('10s')\" }", 60 * 61 + 10)])
  func `a clock that is set back in between makes an instant later and a delay no longer`(
    step: String, slept: Int
  ) async throws {
    let clock = SteppedTime(stepBack: .seconds(3600))
    let bench = try Bench("steps: [{ \(step) }]")
    try await bench.create()
    var surroundings = RunSurroundings(store: bench.store, time: clock, folder: "/tmp")
    surroundings.chance = { 0 }
    let engine = RunEngine(
      try bench.record, of: bench.recipe, secrets: bench.secrets, services: bench.services, in: surroundings)
    var run = try await engine.run()
    if run.status == .waiting, let wakeAt = run.wakeAt {
      clock.advance(by: try #require(wakeAt.span(since: clock.now())))
      run = try await RunEngine(
        run, of: bench.recipe, secrets: bench.secrets, services: bench.services, in: surroundings
      ).run()
    }
    #expect(run.status == .succeeded)
    #expect(clock.elapsed() < .seconds(slept + 60))
    #expect(clock.elapsed() >= .seconds(slept == 10 ? 10 : 3610))
  }
}
