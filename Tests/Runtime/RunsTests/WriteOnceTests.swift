import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// A write is done once, however deep it is, wherever the program dies, and however often its run is retried.
@Suite struct WriteOnceTests {
  // MARK: Retried runs

  /// A write whose answer may not fit, in steps of each kind around it.
  static let nestings = [
    "{ TRY, steps: [BEFORE, STEP] }",
    "{ TRY, steps: [BEFORE, { TRY, steps: [STEP] }] }",
    "{ TRY, steps: [BEFORE, { steps: [{ TRY, steps: [STEP] }] }] }",
    "{ TRY, steps: [BEFORE, { forEach: '[1]', steps: [STEP] }] }",
    "{ TRY, forEach: '[1]', steps: [BEFORE, STEP] }",
    "{ TRY, forEach: '[1]', maxParallel: 2, steps: [BEFORE, STEP] }",
    "{ TRY, steps: [BEFORE, { repeat: { every: 1m, until: 'true' }, steps: [STEP] }] }",
    "{ TRY, repeat: { carry: { n: 1 }, next: { n: '${{ n + 1 }}' }, until: n > 1 }, steps: [BEFORE, STEP] }",
    "{ TRY, call: called.yaml }",
    "{ TRY, steps: [BEFORE, { call: called.yaml }] }",
    "{ TRY, steps: [{ parallel: { left: [BEFORE, STEP], right: [OTHER] } }] }",
    "{ TRY, steps: [{ parallel: { left: [OTHER], right: [BEFORE, { TRY, steps: [STEP] }] } }] }",
    "{ TRY, steps: [BEFORE, { if: run.attempt > 2, steps: [{ fail: x }], else: [STEP] }] }",
    "{ TRY, steps: [BEFORE, { switch: run.attempt, cases: { 1: [STEP] }, default: [{ fail: x }] }] }",
    "{ TRY, steps: [{ fail: x }], onError: [{ TRY, steps: [BEFORE, STEP] }] }",
    "{ TRY, steps: [BEFORE, STEP, { fail: x }], onError: [{ fail: y }] }",
  ]

  @Test(arguments: nestings, [false, true])
  func `a retry of the run repeats no write inside a retried step, after a misfit`(
    nesting: String, isSecond: Bool
  ) async throws {
    let post = "uses: bench.postOpen, with: { name: a, body: { id: x } }"
    func text(_ type: String) -> String {
      let steps = [
        "TRY": "retry: { maxAttempts: 3, initial: 1ms }",
        "BEFORE": "{ uses: bench.post, with: { name: before } }, { uses: bench.put, with: { name: flaky } }",
        "OTHER": "{ uses: bench.put, with: { name: other } }",
        "STEP": "{ id: a, \(post), shape: { body: { id: \(type) } } }",
      ].reduce(into: nesting) { $0 = $0.replacing($1.key, with: $1.value) }
      return "steps:\n  - \(steps)\n  - { uses: bench.post, with: { name: end } }"
    }
    func called(_ type: String) -> [String: String] {
      [
        "called.yaml": "recipe: called\nsteps:\n  - { uses: bench.post, with: { name: inner } }\n"
          + "  - { id: a, \(post), shape: { body: { id: \(type) } } }\n"
      ]
    }
    let bench = try Bench(text("int"), calling: called("int"))
    // The first attempt fails before the write.
    if isSecond { bench.service.script("flaky", [BenchService.Act](repeating: .fail(TryTests.lost), count: 3)) }
    let failed = try await bench.run()
    #expect(failed.status == .failed)
    #expect(bench.service.count(of: "a") == 1)
    let same = try await Bench.retry(failed, as: text("int"), calling: called("int"))
    #expect(same.run.error?.message == failed.error?.message)
    #expect(same.calls.isEmpty)
    // Once more, from the records of that.
    let again = try await Bench.retry(same.run, as: text("int"), calling: called("int"))
    #expect(again.calls.isEmpty)
    let mended = try await Bench.retry(same.run, as: text("string"), calling: called("string"))
    #expect(mended.calls == (nesting.contains("onError: [{ fail") ? [] : ["end"]))
  }

  @Test(arguments: [
    ("refused", "BLOCK", ["later"]), ("lost", "BLOCK", ["before", "later"]),
    (
      "refused",
      "{ TRY, steps: [{ parallel: { left: [BLOCK], right: [{ uses: bench.put, with: { name: other } }] } }] }",
      ["later"]
    ),
  ])
  func `a retry of the run repeats what succeeded in a retried step only if its attempts are used up`(
    failure: String, steps: String, calls: [String]
  ) async throws {
    let block =
      "{ TRY, steps: [{ uses: bench.post, with: { name: before } }, { uses: bench.post, with: { name: later } }] }"
    let text =
      "steps:\n  - "
      + steps.replacing("BLOCK", with: block)
      .replacing("TRY", with: "retry: { maxAttempts: 2, initial: 1ms, on: [network] }")
    let bench = try Bench(text)
    let error = ActionError(failure == "lost" ? .network : .conflict, "no", effect: ActionError.Effect.none)
    bench.service.script("later", [BenchService.Act](repeating: .fail(error), count: 4))
    let failed = try await bench.run()
    #expect(failed.status == .failed)
    let retried = try await Bench.retry(failed, as: text)
    #expect(retried.run.status == .succeeded)
    #expect(retried.calls == calls)
  }

  @Test func `a retried step in finally repeats no write either`() async throws {
    func text(_ type: String) -> String {
      """
      steps: [{ uses: bench.post, with: { name: before } }]
      finally:
        - retry: { maxAttempts: 3, initial: 1ms }
          steps:
            - { uses: bench.post, with: { name: inner } }
            - { id: a, uses: bench.postOpen, with: { name: a, body: { id: x } }, shape: { body: { id: \(type) } } }
        - { uses: bench.post, with: { name: end } }
      """
    }
    let failed = try await Bench(text("int")).run()
    #expect(failed.error?.kind == .validation)
    #expect(try await Bench.retry(failed, as: text("int")).calls.isEmpty)
    #expect(try await Bench.retry(failed, as: text("string")).calls == ["end"])
  }

  @Test func `a cancelled run that is retried keeps what succeeded in a retried step`() async throws {
    let text = """
      steps:
        - retry: { maxAttempts: 2, initial: 1ms }
          steps: [{ uses: bench.post, with: { name: a } }, { uses: bench.put, with: { name: b } }, { wait: 1d }]
      """
    let bench = try Bench(text)
    #expect(try await bench.run().status == .waiting)
    try await bench.store.append(.cancelRequested(CancelRequested(run: "r1", at: bench.time.now(), reason: nil)))
    let run = try await bench.resume()
    #expect(run.status == .cancelled)
    #expect(try await Bench.retry(run, as: text).calls.isEmpty)
  }

  @Test func `a misfit counts more than the failure of a branch beside it, so that it is not tried again`() async throws
  {
    let bench = try Bench(
      """
      steps:
        - retry: { maxAttempts: 3, initial: 1ms }
          steps:
            - parallel:
                left: [{ id: a, uses: bench.postOpen, with: { name: a, body: { id: x } }, shape: { body: { id: int } } }]
                right: [{ uses: bench.put, with: { name: lost }, retry: { maxAttempts: 1 } }]
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("a", .gated(arrived: arrived, release: release))
    bench.service.script("lost", .fail(TryTests.lost))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    await arrived.wait()
    while bench.store.run("r1")?.steps["#1/#1/right/#1"]?.status != .failed { await Task.yield() }
    release.open()
    let run = try await running
    #expect(run.error?.kind == .validation)
    #expect(bench.service.count(of: "a") == 1)
  }

  // MARK: Crashes

  private static func orders(_ type: String = "int") -> String {
    """
    steps:
      - id: shop
        retry: { maxAttempts: 3, initial: 1ms }
        steps:
          - { uses: bench.put, with: { name: flaky } }
          - id: poll
            repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, collect: "[result.order.body.id]", until: n > 2 }
            steps:
              - id: order
                uses: bench.postOpen
                with: { name: "order ${{ n }}", body: { id: "${{ n }}", state: "${{ n == 1 ? 'new' : 'old' }}" } }
                shape: { body: { id: \(type), state: "choice(new, old)" } }
              - switch: steps.order.body.state
                cases:
                  new: [{ id: new, uses: bench.post, with: { name: "new ${{ n }}" } }]
                  old:
                    - if: n > 9
                      steps: [{ fail: never }]
                      else:
                        - id: late
                          uses: bench.postOpen
                          with: { name: "late ${{ n }}", body: { at: yesterday } }
                          shape: { body: { at: timestamp } }
                          onError: { value: { name: none, body: { at: "${{ timestamp('2026-01-01T00:00:00Z') }}" } } }
    outputs: { ids: "${{ steps.shop.poll.collected }}" }
    """
  }

  private static let outputs: [String: Value] = [
    "order 1": .object(["id": .int(1), "state": .string("new")]),
    "order 2": .object(["id": .int(2), "state": .string("old")]),
    "late 2": .object(["at": .string("2026-01-01T00:00:00Z")]),
  ]

  /// Runs to the end, each time in a new program; a person looks at the service and resolves what is uncertain.
  ///
  /// - Parameter isMisfit: Whether no output fits, so that the person lets the step fail.
  private func lived(_ bench: Bench, isMisfit: Bool) async throws -> RunRecord {
    while true {
      var run: RunRecord
      do { run = try await bench.engine().run() } catch {
        #expect(error as? StateError == CrashingStore.death)
        bench.restart()
        if let ended = bench.store.state.ended.last { return ended }
        continue
      }
      guard run.status == .uncertain else { return run }
      for step in run.uncertainSteps {
        let round = try #require(step.path.split(separator: "#round").last?.first)
        let name = "\(step.path.split(separator: "/").last ?? "") \(round)"
        var resolution = isMisfit ? Resolution.fail(nil) : .retry
        if !isMisfit, bench.service.count(of: name) == 1 {
          let body = Self.outputs[name].map { [("body", $0)] } ?? [("value", .int(0))]
          resolution = .done(.map(ValueMap([("name", .string(name))] + body)))
        }
        run = try await bench.resolve(step.path, as: resolution)
      }
    }
  }

  private func bench(_ text: String) async throws -> Bench {
    let bench = try Bench(text)
    // The first attempt of the block fails.
    bench.service.script("flaky", [BenchService.Act](repeating: .fail(TryTests.lost), count: 3))
    try await bench.create()
    return bench
  }

  @Test(arguments: [false, true])
  func `a write with a shape in rounds in a retried block is done once, wherever the program dies`(
    isMisfit: Bool
  ) async throws {
    let text = Self.orders(isMisfit ? "bool" : "int")
    let undisturbed = try await bench(text)
    let end = try await lived(undisturbed, isMisfit: isMisfit)
    #expect(isMisfit ? end.error?.kind == .validation : end.outputText == #"{"ids":[1,2]}"#)
    #expect(undisturbed.store.appends > 8)
    let writes = isMisfit ? ["order 1": 1] : ["order 1": 1, "new 1": 1, "order 2": 1, "late 2": 1]
    for append in 1...undisturbed.store.appends {
      for isAfter in [false, true] {
        let point = CrashingStore.Point(append: append, isAfter: isAfter)
        let bench = try await bench(text)
        bench.restart(dyingAt: point)
        let run = try await lived(bench, isMisfit: isMisfit)
        #expect(run.status == end.status, "\(point): \(run.error?.message ?? "")")
        #expect(run.outputText == end.outputText, "\(point)")
        let done = bench.service.done.filter { $0.key != "flaky" }
        #expect(isMisfit ? done.values.allSatisfy { $0 == 1 } : done == writes, "\(point)")
        guard isMisfit, run.error?.kind == .validation else { continue }
        #expect(done == writes, "\(point)")
        let retried = try await Bench.retry(run, as: Self.orders())
        #expect(retried.run.outputText == #"{"ids":[1,2]}"#, "\(point): \(retried.run.error?.message ?? "")")
        #expect(retried.calls == ["new 1", "order 2", "late 2"], "\(point)")
      }
    }
  }
}

extension Bench {
  /// A retry of an ended run with another recipe, and the calls that it makes.
  static func retry(
    _ old: RunRecord, as text: String, calling files: [String: String] = [:]
  ) async throws -> (run: RunRecord, calls: [String]) {
    let bench = try Bench(text, calling: files)
    let start = bench.time.now()
    var origin = old.origin
    origin.run = "r1"
    origin.attempt = 2
    origin.cause = RunCause(.retry, run: "r0")
    try await bench.store.memory.append(
      [.runCreated(origin)] + old.takenOver(by: "r1", of: bench.recipe, at: start))
    return (try await bench.engine().run(), bench.service.names)
  }
}
