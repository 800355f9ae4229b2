import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// A recipe that waits in every way, whose program dies before and after each append in turn.
@Suite struct WaitCrashTests {
  static let recipe = """
    steps:
      - { id: first, uses: bench.postLooked, with: { name: first } }
      - { id: night, wait: { until: "time.next(now, '02:00', 'UTC')" } }
      - id: fan
        parallel:
          left:
            - { wait: 1h }
            - { id: l, uses: bench.postLooked, with: { name: l, value: 1 } }
          middle:
            - { id: paid, wait: { event: paid, match: event.data.order > 1, timeout: 2d } }
            - { id: m, uses: bench.postLooked, with: { name: m, value: "${{ int(steps.paid.event.data.order) }}" } }
          right:
            - { id: ask, approve: { prompt: "Go?", timeout: 3d } }
            - { id: r, if: steps.ask.approved, uses: bench.postLooked, with: { name: "r ${{ steps.ask.by }}" } }
      - id: each
        forEach: "[1, 2, 3]"
        maxParallel: 2
        steps:
          - { wait: "${{ duration(string(item) + 'h') }}" }
          - { id: put, uses: bench.postLooked, with: { name: "item ${{ item }}", value: "${{ item }}" } }
      - let: { polled: "${{ now }}" }
      - id: poll
        uses: bench.read
        with: { name: poll, value: 5 }
        repeat: { until: "now - polled >= duration('3h')", every: 90m, timeout: 30h }
      - id: block
        timeout: 5h
        onError:
          - { wait: 1h }
          - { uses: bench.postLooked, with: { name: "caught ${{ error.kind }}" } }
        steps:
          - { wait: 9h }
    outputs:
      fan: "${{ steps.fan.left.l.value + steps.fan.middle.m.value }}"
      each: "${{ steps.each.map(e, e.put.value) }}"
      poll: "${{ steps.poll.value }}"
    finally:
      - { wait: 1h }
      - { uses: bench.postLooked, with: { name: over } }
    """

  static let outputs = #"{"fan":3,"each":[1,2,3],"poll":5}"#
  static let writes = [
    "first", "l", "m", "r ana", "item 1", "item 2", "item 3", "caught timeout", "over",
  ]

  /// A run that is resumed until it ends, however often the program dies.
  private struct Life {
    var run: RunRecord?
    var woke: [TimeSpan] = []
    var deaths = 0
  }

  private func live(_ bench: Bench, off: TimeSpan = .zero) async throws -> Life {
    var life = Life()
    let start = bench.time.now()
    while life.run == nil {
      let run: RunRecord
      do { run = try await bench.engine().run() } catch {
        #expect(error as? StateError == CrashingStore.death)
        life.deaths += 1
        bench.restart()
        bench.time.advance(by: off)
        life.run = bench.store.state.ended.last
        continue
      }
      guard run.status == .waiting else {
        life.run = run
        break
      }
      // The event and the decision come first, both at once.
      if try await answer(bench, run) { continue }
      let wakeAt = try #require(run.wakeAt)
      life.woke.append(wakeAt.span(since: start) ?? .zero)
      bench.time.set(to: max(wakeAt, bench.time.now()))
    }
    return life
  }

  private func answer(_ bench: Bench, _ run: RunRecord) async throws -> Bool {
    guard run.steps["fan/right/ask"]?.status == .waiting else { return false }
    let memory = bench.store.memory
    for order in 1...3 {
      let event = EventRecord(
        id: "e\(order)", name: "paid", data: .inline(.object(["order": .int(order)])), receivedAt: bench.time.now())
      try await memory.append([.eventReceived(event)])
    }
    try await memory.append([
      .decisionGiven(
        DecisionGiven(
          run: "r1", step: "fan/right/ask",
          decision: DecisionRecord(isApproved: true, by: "ana", at: bench.time.now())))
    ])
    return true
  }

  private func bench() async throws -> Bench {
    let bench = try WaitTests.bench(WaitCrashTests.recipe)
    try await bench.create()
    return bench
  }

  @Test(arguments: [TimeSpan.zero, .seconds(200_000)])
  func `the recipe comes to the same end, whenever its program dies`(off: TimeSpan) async throws {
    let undisturbed = try await bench()
    let life = try await live(undisturbed)
    let run = try #require(life.run)
    #expect(run.status == .succeeded, "\(run.error?.message ?? run.reason ?? "")")
    #expect(run.outputText == WaitCrashTests.outputs)
    #expect(
      run.steps["fan/middle/paid"]?.outputText
        == #"{"event":{"id":"e2","time":"2026-11-21T02:00:00Z","name":"paid","data":{"order":2}}}"#)
    let count = undisturbed.store.appends
    #expect(count > 40)
    var deaths = 0
    for append in 1...count {
      for isAfter in [false, true] {
        let comment: Comment = "dies \(isAfter ? "after" : "before") append \(append)"
        let bench = try await bench()
        bench.restart(dyingAt: CrashingStore.Point(append: append, isAfter: isAfter))
        let other = try await live(bench, off: off)
        let end = try #require(other.run)
        // Branches may share an append, so that the last ones are not always reached.
        deaths += other.deaths
        let counts = WaitCrashTests.writes.map { bench.service.count(of: $0) }
        #expect(counts.allSatisfy { $0 <= 1 }, comment)
        // A machine that is off for days may miss the event, or reach a limit at the same time as its event.
        #expect(end.status == .succeeded || off > .zero && end.status == .timedOut, comment)
        guard end.status == .succeeded else { continue }
        #expect(end.outputText == WaitCrashTests.outputs, comment)
        #expect(counts.count { $0 == 1 } >= counts.count - (off > .zero ? 1 : 0), comment)
        #expect(bench.store.state.events.values.filter { $0.consumedBy == "r1" }.map(\.id) == ["e2"], comment)
        guard off == .zero else { continue }
        #expect(other.woke == life.woke, comment)
        #expect(end.story.sorted() == run.story.sorted(), comment)
        for step in run.stepsInOrder { #expect(end.steps[step.path]?.now == step.now, "\(comment): \(step.path)") }
      }
    }
    #expect(deaths > 2 * count - 10)
  }
}
