import ActionKit
import Basics
import RunState
import Synchronization
import Testing

@testable import Runs

/// Waiting for events: which event a run consumes, and the result without one.
@Suite struct EventTests {
  static func recipe(_ wait: String, _ output: String = "event.data.order") -> String {
    """
    steps:
      - { id: a, wait: { event: paid\(wait) } }
    outputs: { got: "${{ steps.a.\(output) }}" }
    """
  }

  static func order(_ number: Int) -> Value { .object(["order": .int(number)]) }

  @Test func `a run waits for its event, and has nothing to do before`() async throws {
    let bench = try Bench(EventTests.recipe(""))
    let run = try await bench.run()
    #expect(run.status == .waiting)
    #expect(run.wakeAt == nil)
    #expect(run.reason == "waits for the event 'paid'")
    #expect(run.steps["a"]?.wait == WaitRecord(.event, event: "paid"))
    try await bench.send("paid", id: "e1", EventTests.order(7))
    let end = try await bench.resume()
    #expect(end.outputText == #"{"got":7}"#)
    #expect(bench.store.state.events["e1"]?.consumedBy == "r1")
    // That it is consumed and that the step is over came in one batch.
    #expect(bench.store.events.map(\.word).suffix(4) == ["runStatusChanged", "eventConsumed", "stepEnded", "runEnded"])
  }

  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var wait = ", match: event.data.order > 3"
    var events: [(id: String, name: String, data: Value?, run: String?, after: Int)]
    /// The one that is taken.
    var taken: String?
    var testDescription: String { name }
  }

  static let examples: [Example] = [
    Example(name: "one that came before the wait", events: [("e", "paid", order(4), nil, 0)], taken: "e"),
    Example(name: "one that came before the run", events: [("e", "paid", order(4), nil, -1)], taken: nil),
    Example(name: "one of another name", events: [("e", "payed", order(4), nil, 1)], taken: nil),
    Example(name: "one that is sent to this run", events: [("e", "paid", order(4), "r1", 1)], taken: "e"),
    Example(name: "one that is sent to another", events: [("e", "paid", order(4), "r2", 1)], taken: nil),
    Example(name: "one that does not match", events: [("e", "paid", order(3), nil, 1)], taken: nil),
    Example(
      name: "one of another shape", events: [("e", "paid", .string("x"), nil, 1), ("f", "paid", nil, nil, 1)],
      taken: nil),
    Example(
      name: "the oldest that matches",
      events: [("a", "paid", order(5), nil, 3), ("b", "paid", order(1), nil, 1), ("c", "paid", order(6), nil, 2)],
      taken: "c"),
    Example(
      name: "of two that came at once, the one whose id comes first",
      events: [("b", "paid", order(5), nil, 1), ("a", "paid", order(6), nil, 1)], taken: "a"),
    Example(
      name: "one whose data fits its type", wait: ", type: { order: int }, match: event.data.order > 3",
      events: [("e", "paid", .object(["order": .string("x")]), nil, 1), ("f", "paid", order(4), nil, 2)], taken: "f"),
    Example(name: "any, without a condition", wait: "", events: [("e", "paid", nil, nil, 1)], taken: "e"),
  ]

  @Test(arguments: examples)
  func `a wait takes the event that is meant for it`(example: Example) async throws {
    let bench = try Bench("steps: [{ id: a, wait: { event: paid\(example.wait) } }]")
    try await bench.create()
    for event in example.events {
      try await bench.store.append(
        .eventReceived(
          EventRecord(
            id: event.id, name: event.name, data: event.data.map { .inline($0) }, run: event.run,
            receivedAt: bench.time.now().advanced(by: .seconds(event.after)) ?? .latest)))
    }
    let run = try await bench.resume()
    #expect(run.status == (example.taken == nil ? .waiting : .succeeded))
    #expect(
      bench.store.state.events.values.filter { $0.consumedBy != nil }.map(\.id) == [example.taken].compactMap { $0 })
  }

  @Test func `an event is consumed by one of the runs that wait for it`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: each
          forEach: "[0, 1, 2]"
          maxParallel: 3
          steps:
            - { id: a, wait: { event: paid } }
      """)
    #expect(try await bench.run().status == .waiting)
    for number in 0..<3 {
      #expect(bench.store.state.events.values.count { $0.consumedBy != nil } == number)
      try await bench.send("paid", id: "e\(number)", EventTests.order(number))
      #expect(try await bench.resume().status == (number < 2 ? .waiting : .succeeded))
    }
  }

  @Test(arguments: ["timeout: 3d", "timeout: 3d, onTimeout: continue"])
  func `a wait for an event has its limit`(limit: String) async throws {
    let bench = try Bench("steps: [{ id: a, wait: { event: paid, \(limit) } }]\noutputs: { a: \"${{ steps.a }}\" }")
    try await bench.create()
    let (run, woke) = try await bench.driven()
    #expect(woke == [.seconds(3 * 86_400)])
    #expect(run.status == (limit.contains("continue") ? .succeeded : .timedOut))
    #expect(run.error?.message == (limit.contains("continue") ? nil : "no event 'paid' came within 3d"))
    #expect(run.outputText == (limit.contains("continue") ? #"{"a":{}}"# : "none"))
  }

  @Test func `an event that is there counts, even after the limit`() async throws {
    let bench = try Bench(EventTests.recipe(", timeout: 1h"))
    _ = try await bench.run()
    try await bench.send("paid", id: "e", EventTests.order(1))
    bench.time.advance(by: .seconds(7200))
    #expect(try await bench.resume().outputText == #"{"got":1}"#)
  }

  @Test func `a run that is called while others work in it takes its event at once`() async throws {
    let bench = try Bench(
      """
      steps:
        - parallel:
            left: [{ id: l, uses: bench.read, with: { name: l } }]
            right:
              - { wait: { event: paid } }
              - { id: r, uses: bench.read, with: { name: r } }
      """)
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("l", .gated(arrived: arrived, release: release))
    bench.service.script("r", .gated(arrived: release, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let running = engine.run()
    while bench.store.run("r1")?.steps["#1/right/#1"]?.status != .waiting { await Task.yield() }
    await arrived.wait()
    try await bench.send("paid", id: "e")
    #expect(engine.poke())
    #expect(try await running.status == .succeeded)
    #expect(bench.service.names == ["l", "r"])
    #expect(!engine.poke())
  }

  @Test func `a run that is called while its walk leaves is walked again`() async throws {
    let bench = try Bench(EventTests.recipe(""))
    try await bench.create()
    let engine = Mutex<RunEngine?>(nil)
    let event = StateEvent.eventReceived(
      EventRecord(id: "e", name: "paid", data: .inline(EventTests.order(2)), receivedAt: bench.time.now()))
    // It comes while the run's status is written; no step looks for events after that.
    bench.store.onAppend.withLock { hook in
      hook = { events, store in
        guard case .runStatusChanged(let change)? = events.last, change.status == .waiting else { return }
        if store.state.events.isEmpty { try? await store.append([event]) }
        engine.withLock { _ = $0?.poke() }
      }
    }
    let made = try bench.engine()
    engine.withLock { $0 = made }
    #expect(try await made.run().outputText == #"{"got":2}"#)
  }

  @Test func `an event that another run consumes first is left to it`() async throws {
    let bench = try Bench(EventTests.recipe(""))
    try await bench.create()
    try await bench.send("paid", id: "e1", EventTests.order(1))
    try await bench.send("paid", id: "e2", EventTests.order(2))
    bench.store.onAppend.withLock { hook in
      hook = { events, store in
        // Between the look and the consuming.
        guard events.contains(where: { $0.word == "stepWaits" }) else { return }
        try? await store.append([.eventConsumed(EventConsumed(at: .earliest, id: "e1", by: "other"))])
      }
    }
    let run = try await bench.engine().run()
    #expect(run.outputText == #"{"got":2}"#)
    #expect(bench.store.state.events["e1"]?.consumedBy == "other")
  }
}
