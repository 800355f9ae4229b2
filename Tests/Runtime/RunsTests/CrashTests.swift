import ActionKit
import Basics
import RunState
import Synchronization
import Testing

@testable import Runs

/// The table of the outcomes of an attempt that was in flight when the program died.
@Suite struct CrashTests {
  /// Where the program dies.
  enum Moment: String, CaseIterable {
    case beforeTheAttemptIsKept, inFlightNotDone, inFlightDone, afterItEndedUnkept
  }

  struct Promise: Sendable, CustomTestStringConvertible {
    var action: String
    var moment: Moment
    var status: RunStatus
    var calls: Int
    var done: Int
    var lookFirst: BenchService.Look = .honest
    var pause: TimeSpan = .zero
    var testDescription: String { "\(action), \(moment.rawValue)\(pause == .zero ? "" : ", later")" }

    init(_ action: String, _ moment: Moment, _ status: RunStatus, calls: Int, done: Int) {
      (self.action, self.moment, self.status, self.calls, self.done) = (action, moment, status, calls, done)
    }

    func looking(_ look: BenchService.Look) -> Promise {
      var promise = self
      promise.lookFirst = look
      return promise
    }

    func after(_ pause: TimeSpan) -> Promise {
      var promise = self
      promise.pause = pause
      return promise
    }
  }

  /// For the moments in their order: the calls, and how often it is done.
  private static func table(
    _ action: String, _ rows: (status: RunStatus, calls: Int, done: Int)...
  ) -> [Promise] {
    zip(Moment.allCases, rows).map { Promise(action, $0, $1.status, calls: $1.calls, done: $1.done) }
  }

  private static func again(_ action: String) -> [Promise] {
    table(action, (.succeeded, 1, 1), (.succeeded, 2, 1), (.succeeded, 2, 2), (.succeeded, 2, 2))
  }

  private static func never(_ action: String) -> [Promise] {
    table(action, (.succeeded, 1, 1), (.uncertain, 1, 0), (.uncertain, 1, 1), (.uncertain, 1, 1))
  }

  static let promises: [Promise] =
    ["compute", "read", "readPatiently", "consume", "put", "putWithinHour"].flatMap(again)
    // After the span of its idempotency it is a plain write.
    + never("putWithinHour").map { $0.after(.seconds(3601)) }
    + ["post", "postKeyed"].flatMap(never)
    // The service does nothing twice for one key.
    + table("postKeyed\n    key: k", (.succeeded, 1, 1), (.succeeded, 2, 1), (.succeeded, 2, 1), (.succeeded, 2, 1))
    + table("postLooked", (.succeeded, 1, 1), (.succeeded, 2, 1), (.succeeded, 1, 1), (.succeeded, 1, 1))
    + never("postLooked").map { $0.looking(.doubt) }
    + never("postLooked").map { $0.looking(.fail(WalkTests.refusal)) }
    // A look that fails for a moment is tried again.
    + table("postLooked", (.succeeded, 1, 1), (.succeeded, 2, 1), (.succeeded, 1, 1), (.succeeded, 1, 1))
    .map { $0.looking(.fail(TryTests.lost)) }

  @Test(arguments: promises)
  func `after a crash an attempt is judged by its effect`(promise: Promise) async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.\(promise.action)
          with: { name: a, value: 7 }
      outputs: { a: "${{ steps.a.value }}" }
      finally:
        - { uses: bench.read, with: { name: over } }
      """)
    switch promise.moment {
    case .beforeTheAttemptIsKept:
      // A look comes before, and is kept before.
      bench.restart(dyingAt: .init(append: promise.action == "postLooked" ? 2 : 1, isAfter: false))
    case .inFlightNotDone: bench.service.script("a", .crash(afterDoing: false))
    case .inFlightDone: bench.service.script("a", .crash(afterDoing: true))
    case .afterItEndedUnkept: bench.service.script("a", .succeedAtLast)
    }
    try await bench.runUntilDeath()
    bench.service.scriptLooks("a", promise.lookFirst)
    bench.time.advance(by: promise.pause)
    let run = try await bench.resume()
    #expect(run.status == promise.status, "\(run.error?.message ?? run.reason ?? "")")
    #expect(bench.service.names.count { $0 == "a" } == promise.calls)
    #expect(bench.service.count(of: "a") == promise.done)
    #expect(Set(bench.service.calls.filter { $0.name == "a" }.map(\.key)).count == 1)
    if run.status == .uncertain {
      #expect(run.steps["a"]?.status == .uncertain)
      #expect(!bench.service.names.contains("over"))
      // It stays so, however often it is looked at.
      #expect(try await bench.resume().status == .uncertain)
      #expect(bench.service.names.count { $0 == "a" } == promise.calls)
    } else {
      #expect(run.outputText == #"{"a":7}"#)
      #expect(bench.service.names.last == "over")
    }
  }

  @Test(arguments: [("post", true), ("postKeyed, key: k", true), ("postLooked", true), ("put", false), ("read", false)])
  func `a write that was under way is known as one without its recipe`(_ action: String, _ isWrite: Bool) async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.\(action), with: { name: a } }")
    bench.service.script("a", .crash(afterDoing: true))
    try await bench.runUntilDeath()
    bench.restart()
    #expect(try bench.record.doubts == (isWrite ? "'a' may or may not have been done" : nil))
    #expect(try bench.record.doubting(at: bench.time.now()).isEmpty != isWrite)
  }

  @Test func `an attempt is judged by the effect that it had when it was made`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.post, with: { name: a } }")
    bench.service.script("a", .crash(afterDoing: true))
    try await bench.runUntilDeath()
    bench.restart()
    // The present plugin would permit a repetition.
    let later = try Bench("steps:\n  - { id: a, uses: bench.put, with: { name: a } }")
    let engine = RunEngine(
      try bench.record, of: later.recipe, secrets: bench.secrets, services: bench.services,
      in: RunSurroundings(store: bench.store, time: bench.time, folder: "/tmp", report: { _ in }, chance: { 0 }))
    #expect(try await engine.run().status == .uncertain)
    #expect(bench.service.names == ["a"])
  }

  @Test func `what uses something up is done again as often as it declares, and then uncertain`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.consume, with: { name: a } }")
    bench.service.script("a", .crash(afterDoing: true), .crash(afterDoing: true), .succeed)
    try await bench.runUntilDeath()
    await #expect(throws: CrashingStore.death) { try await bench.resume() }
    #expect(try await bench.resume().status == .uncertain)
    #expect(bench.service.count(of: "a") == 2)
  }

  @Test func `a try that is due after the time in which repeating changes nothing is not made`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.putWithinHour, with: { name: a } }")
    bench.service.script("a", .doneThenFail(TryTests.lost))
    // The failure and the next try are kept, and then the program dies.
    bench.restart(dyingAt: .init(append: 3, isAfter: true))
    try await bench.runUntilDeath()
    bench.time.advance(by: .seconds(3601))
    let run = try await bench.resume()
    #expect(run.status == .uncertain)
    #expect(bench.service.names == ["a"])
  }

  @Test func `nor is it when the last try did nothing, but the one before may have done it`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.putWithinHour, with: { name: a } }")
    let refused = ActionError(.network, "nobody listens", effect: ActionError.Effect.none)
    bench.service.script("a", .doneThenFail(TryTests.lost), .fail(refused))
    // Both failures and the third try are kept, and then the program dies.
    bench.restart(dyingAt: .init(append: 5, isAfter: true))
    try await bench.runUntilDeath()
    bench.time.advance(by: .seconds(3601))
    let run = try await bench.resume()
    #expect(run.status == .uncertain)
    #expect(run.steps["a"]?.error?.message == "bench.putWithinHour may or may not have been done: nobody listens")
    #expect(bench.service.names == ["a", "a"])
    #expect(bench.service.count(of: "a") == 1)
  }

  @Test func `a deadline that passed while the program was down leaves one last try of ordinary length`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: a, uses: bench.read, with: { name: a }, timeout: { attempt: 250s, total: 1h } }
      """)
    bench.service.script("a", .crash(afterDoing: false), .hang, .succeed)
    try await bench.runUntilDeath()
    bench.time.advance(by: .seconds(7200))
    bench.time.long.withLock { $0 = .seconds(3600) }
    #expect(try await bench.resume().status == .timedOut)
    #expect(bench.time.sleeps == [.seconds(250)])
    #expect(bench.service.names == ["a", "a"])
  }

  @Test func `each item in flight is judged separately, and no new one begins while one is uncertain`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2, 3, 4, 5, 6, 7]"
          maxParallel: 4
          steps:
            - { id: a, if: "item in [1, 2]", uses: bench.post, with: { name: "post ${{ item }}" } }
            - { id: b, if: "!(item in [1, 2])", uses: bench.put, with: { name: "put ${{ item }}" } }
            - { uses: bench.read, with: { name: "after ${{ item }}" } }
      """)
    let latch = Latch()
    // All four are under way when the program dies.
    for name in ["put 0", "post 1", "post 2", "put 3"] { bench.service.script(name, .meet(4, latch)) }
    bench.restart(dyingAt: .init(append: 6, isAfter: false))
    try await bench.runUntilDeath()
    let before = bench.service.names.count
    let run = try await bench.resume()
    #expect(run.status == .uncertain)
    #expect(run.uncertainSteps.map(\.path).sorted() == ["each[1]/a", "each[2]/a"])
    #expect(Set(bench.service.names.dropFirst(before)) == ["put 0", "put 3", "after 0", "after 3"])
    // After both are resolved, the rest continues.
    #expect(
      try await bench.resolve("each[1]/a", as: .done(.object(["name": .string("x"), "value": .int(0)]))).status
        == .uncertain)
    #expect(try await bench.resolve("each[2]/a", as: .retry).status == .queued)
    let end = try await bench.resume()
    #expect(end.status == .succeeded, "\(end.error?.message ?? end.reason ?? "")")
    #expect(bench.service.names.count { $0.hasPrefix("after") } == 8)
    #expect(bench.service.count(of: "post 1") == 1)
    #expect(bench.service.count(of: "post 2") == 2)
  }

  @Test func `a branch beside an uncertain one goes on when that is resolved`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: fan
          parallel:
            left:
              - { id: l, uses: bench.post, with: { name: l, value: 1 } }
            right:
              - id: block
                steps:
                  - { id: r, uses: bench.read, with: { name: r } }
                  - { id: s, uses: bench.read, with: { name: s, value: 2 } }
      outputs: { sum: "${{ steps.fan.left.l.value + steps.fan.right.block.s.value }}" }
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("l", .doneThenFail(TryTests.lost))
    bench.service.script("r", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    while bench.store.run("r1")?.steps["fan/left/l"]?.status != .uncertain { await Task.yield() }
    // By now the other branch knows about the uncertain step when it checks whether to continue.
    for _ in 0..<100 { await Task.yield() }
    release.open()
    #expect(try await running.status == .uncertain)
    #expect(bench.service.names.contains("s") == false)
    _ = try await bench.resolve("fan/left/l", as: .done(.object(["name": .string("l"), "value": .int(1)])))
    let end = try await bench.resume()
    #expect(end.outputText == #"{"sum":3}"#)
  }

  @Test func `an attempt in flight is judged even if the run is to be cancelled`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.post, with: { name: a } }")
    bench.service.script("a", .crash(afterDoing: true))
    try await bench.runUntilDeath()
    try await bench.store.memory.append([
      .cancelRequested(CancelRequested(run: "r1", at: bench.time.now(), reason: nil))
    ])
    #expect(try await bench.resume().status == .uncertain)
  }

  @Test func `a handler that was interrupted goes on, and the step is not tried again`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.post
          with: { name: a, value: "${{ 1 / int(time.format(now, '%M', 'UTC') == '30' ? 0 : 1) }}" }
          onError:
            - { uses: bench.put, with: { name: first } }
            - { uses: bench.put, with: { name: second } }
      """)
    bench.service.script("second", .crash(afterDoing: false))
    try await bench.runUntilDeath()
    bench.time.advance(by: .seconds(600))
    #expect(try await bench.resume().status == .succeeded)
    #expect(bench.service.names == ["first", "second", "second"])
  }

  @Test func `a time-out that was interrupted counts when the run is resumed`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: block
          timeout: 150s
          onError:
            - { uses: bench.read, with: { name: "${{ error.kind }}" } }
          steps:
            - parallel:
                left: [{ id: a, uses: bench.read, with: { name: a } }]
      """)
    bench.service.script("a", .hang)
    // The cancellation of the step is stored, and its effect on the block isn't.
    bench.restart(dyingAt: .init(append: 3, isAfter: true))
    try await bench.runUntilDeath()
    #expect(try bench.record.steps["block/#1/left/a"]?.status == .cancelled)
    #expect(try bench.record.steps["block"]?.status == .running)
    // The limit itself does not strike any more.
    bench.time.long.withLock { $0 = .seconds(100) }
    let run = try await bench.resume()
    #expect(run.status == .succeeded, "\(run.error?.message ?? "")")
    #expect(bench.service.names == ["a", "timeout"])
    #expect(run.steps["block"]?.status == .timedOut)
  }

  @Test func `items that were in flight are judged before new ones begin`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2, 3]"
          maxParallel: 2
          uses: bench.post
          with: { name: "item ${{ item }}" }
      """)
    bench.service.script("item 0", .crash(afterDoing: true))
    try await bench.runUntilDeath()
    let begun = Set(try bench.record.stepsInOrder.map(\.path))
    let run = try await bench.resume()
    #expect(run.status == .uncertain)
    #expect(Set(run.stepsInOrder.map(\.path)) == begun)
  }

  @Test func `a stopped run continues as if it had never stopped`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2]"
          maxParallel: 2
          uses: bench.put
          with: { name: "put ${{ item }}", value: "${{ item }}" }
      outputs: { all: "${{ steps.each.map(e, e.value) }}" }
      finally:
        - { uses: bench.read, with: { name: over } }
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("put 0", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    engine.stop()
    release.open()
    let stopped = try await running
    #expect(stopped.status == .running)
    #expect(!bench.service.names.contains("put 2") || !bench.service.names.contains("over"))
    let end = try await bench.resume()
    #expect(end.outputText == #"{"all":[0,1,2]}"#)
    #expect(bench.service.done == ["put 0": 1, "put 1": 1, "put 2": 1, "over": 1])
  }
}
