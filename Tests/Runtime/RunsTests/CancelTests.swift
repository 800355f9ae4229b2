import ActionKit
import Basics
import RunState
import Synchronization
import Testing

@testable import Runs

@Suite struct CancelTests {
  private static let recipe = """
    steps:
      - { id: a, uses: bench.ACTION, with: { name: a } }
      - { id: b, uses: bench.read, with: { name: b } }
    onFailure:
      - { uses: bench.read, with: { name: failed } }
    finally:
      - { uses: bench.read, with: { name: over } }
    """

  private func bench(_ action: String) throws -> Bench {
    try Bench(CancelTests.recipe.replacing("ACTION", with: action))
  }

  /// Cancels a run when its first call is in flight, and gives its record.
  private func cancelledInFlight(_ bench: Bench) async throws -> RunRecord {
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    while bench.service.names.isEmpty { await Task.yield() }
    await engine.cancel()
    return try await running
  }

  @Test(arguments: ["read", "put", "post"])
  func `what is in flight finishes, nothing more begins, and finally runs`(action: String) async throws {
    let bench = try bench(action)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("a", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    // The grace is longer than the clock lets sleep, so nothing is cancelled by force.
    engine.end()
    let cancelling = Task { await engine.force(after: .seconds(1000)) }
    release.open()
    let run = try await running
    cancelling.cancel()
    #expect(run.status == .cancelled)
    #expect(run.steps["a"]?.status == .succeeded)
    #expect(bench.service.names == ["a", "over"])
  }

  @Test(arguments: [
    ("read", RunStatus.cancelled), ("put", .cancelled), ("post", .uncertain), ("postLooked", .cancelled),
  ])
  func `after the grace what is in flight is cancelled by force`(action: String, status: RunStatus) async throws {
    let bench = try bench(action)
    bench.service.script("a", .hang)
    let run = try await cancelledInFlight(bench)
    #expect(run.status == status)
    #expect(run.steps["a"]?.status == (status == .uncertain ? .uncertain : .cancelled))
    #expect(bench.service.names == (status == .uncertain ? ["a"] : ["a", "over"]))
  }

  @Test func `a write that turns out to have been done before it was cancelled by force is kept`() async throws {
    let bench = try bench("postLooked")
    bench.service.script("a", .doneThenHang)
    let run = try await cancelledInFlight(bench)
    #expect(run.status == .cancelled)
    #expect(run.steps["a"]?.status == .succeeded)
  }

  @Test func `a pause between two tries is cancelled at once`() async throws {
    let bench = try Bench(
      """
      steps:
        - parallel:
            left: [{ id: a, uses: bench.read, with: { name: a }, retry: { initial: 1h, maxInterval: 1h, jitter: none } }]
            right: [{ id: b, uses: bench.read, with: { name: b } }]
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.time.long.withLock { $0 = .seconds(60) }
    bench.service.script("a", .fail(TryTests.lost))
    bench.service.script("b", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    while bench.store.run("r1")?.steps["#1/left/a"]?.status != .retrying { await Task.yield() }
    let cancelling = Task { await engine.cancel(after: .seconds(1000)) }
    while bench.store.run("r1")?.steps["#1/left/a"]?.status != .cancelled { await Task.yield() }
    release.open()
    #expect(try await running.status == .cancelled)
    cancelling.cancel()
    #expect(bench.service.names.sorted() == ["a", "b"])
  }

  @Test func `a write that may have been done and is cancelled before its next try is uncertain`() async throws {
    let bench = try Bench(
      "steps: [{ id: a, uses: bench.postKeyed, with: { name: a }, key: k, retry: { initial: 300s, jitter: none } }]")
    bench.service.script("a", .doneThenFail(TryTests.lost))
    #expect(try await bench.run().status == .waiting)
    let engine = try bench.engine()
    #expect(engine.end())
    #expect(try await engine.run().status == .uncertain)
    #expect(bench.service.names == ["a"])
  }

  @Test func `a cancellation that came while nothing ran the run counts`() async throws {
    let bench = try bench("read")
    try await bench.create()
    let engine = try bench.engine()
    try await bench.store.memory.append([
      .cancelRequested(CancelRequested(run: "r1", at: bench.time.now(), reason: nil))
    ])
    #expect(try await engine.run().status == .cancelled)
    #expect(bench.service.names == ["over"])
  }

  @Test func `an engine that has left the run says that it cannot end it`() async throws {
    let bench = try Bench("steps: [{ wait: 9h }]")
    try await bench.create()
    let engine = try bench.engine()
    #expect(try await engine.run().status == .waiting)
    #expect(engine.end() == false)
    let other = try bench.engine()
    #expect(other.end())
    #expect(try await other.run().status == .cancelled)
  }

  @Test func `a run that is being paused is not said to go on or to wait any more`() async throws {
    let bench = try Bench("steps: [{ wait: 9h }]")
    try await bench.create()
    let engine = try bench.engine()
    await engine.pause()
    _ = try await engine.run()
    #expect(bench.store.events.filter { $0.word == "runStatusChanged" } == [])
  }

  @Test func `the first failure of a branch ends the others softly`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: fan
          parallel:
            left: [{ id: l, uses: bench.post, with: { name: l } }]
            right:
              - { id: r, uses: bench.post, with: { name: r } }
              - { id: s, uses: bench.post, with: { name: s } }
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("l", .fail(WalkTests.refusal))
    bench.service.script("r", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    while bench.store.run("r1")?.steps["fan/left/l"]?.status != .failed { await Task.yield() }
    release.open()
    let run = try await running
    #expect(run.error?.message == "it is there already")
    #expect(run.steps["fan/right/r"]?.status == .succeeded)
    #expect(!bench.service.names.contains("s"))
  }

  @Test func `a loop has no more items under way than it says, and they finish when one fails`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2, 3, 4, 5, 6, 7, 8]"
          maxParallel: 3
          steps:
            - { uses: bench.post, with: { name: "a${{ item }}" } }
            - { uses: bench.read, with: { name: "b${{ item }}" } }
      """)
    let latch = Latch()
    for index in 0..<9 { bench.service.script("a\(index)", .meet(3, latch)) }
    #expect(try await bench.run().status == .succeeded)
    #expect(bench.service.peak == 3)
    #expect(bench.service.names.count == 18)
  }

  @Test func `items in flight finish whole when one fails, and no new one begins`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2, 3]"
          maxParallel: 2
          steps:
            - { uses: bench.post, with: { name: "a${{ item }}" } }
            - { uses: bench.read, with: { name: "b${{ item }}" } }
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("a0", .gated(arrived: arrived, release: release))
    bench.service.script("a1", .fail(WalkTests.refusal))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    while bench.store.run("r1")?.steps["each[1]"]?.status != .failed { await Task.yield() }
    release.open()
    let run = try await running
    #expect(run.status == .failed)
    #expect(Set(bench.service.names) == ["a0", "a1", "b0"])
    #expect(run.steps["each[0]"]?.status == .succeeded)
  }
}
