import Agent
import Basics
import Glibc
import RunState
import RunTestKit
import Testing

@testable import Simulator

/// Two weeks of ten recipes in Sydney, with the night when the clocks go forward, a power cut, and two days with the
/// machine off.
@Suite struct FortnightTests {
  static let recipes: [String: String] = [
    "averages": """
    on: [{ cron: "30 17 * * FRI", overlap: bufferOne }]
    steps:
      - { id: book, uses: sim.read }
      - { id: put, forEach: "[1, 2, 3, 4]", as: student, maxParallel: 2, steps: [
            { id: write, uses: sim.postLooked, with: { value: "${{ student }}" } } ] }
    """,
    "backup": """
    on: [{ cron: "0 16 * * SUN" }]
    steps:
      - { uses: sim.put }
      - { wait: { until: "time.next(now, '02:00', 'Australia/Sydney')" } }
      - { id: zip, uses: sim.read, repeat: { until: "result.calls % 3 == 0", every: 1h, timeout: 30h } }
    """,
    "checks": """
    on: [{ every: 2d, overlap: cancelOther }]
    steps: [{ uses: sim.read, repeat: { until: "result.value == 1", every: 6h, timeout: 5d } }]
    """,
    "digest": """
    on: [{ cron: "0 7 * * MON-FRI", catchup: last }]
    concurrencyGroup: { name: mail, limit: 1 }
    steps: [{ uses: sim.read }]
    """,
    "door": """
    on:
      - { id: bell, event: bell }
      - { id: once, at: 2026-10-05T08:00:00+11:00, overlap: terminateOther }
    steps: [{ wait: { event: calm, timeout: 12h, onTimeout: continue } }, { uses: sim.put }]
    """,
    "evening": """
    on: [{ cron: "45 20 * * *", catchup: none }]
    steps: [{ wait: 10h }, { uses: sim.post }]
    """,
    "follower": """
    on: [{ afterRecipe: digest }]
    concurrencyGroup: { name: mail, limit: 1 }
    steps: [{ uses: sim.compute }]
    """,
    "night": """
    on: [{ cron: "30 2 * * *", overlap: bufferAll, catchup: all }]
    concurrencyGroup: { name: mail, limit: 1 }
    steps: [{ id: sent, call: ../lib/send.yaml, with: { value: 3 } }]
    outputs: { value: "${{ steps.sent.value }}" }
    """,
    "report": """
    on: [{ calendar: { dayOfMonth: "1", hour: "9" }, overlap: allowAll }]
    steps: [{ parallel: { left: [{ uses: sim.read }], right: [{ uses: sim.consume }] } }, { uses: sim.postKeyed }]
    """,
    "review": """
    on: [{ cron: "0 10 * * WED", overlap: skip }]
    steps: [{ approve: { prompt: "Send it?", timeout: 1d, onTimeout: continue } }, { uses: sim.put }]
    """,
  ]
  static let send = """
    recipe: send
    inputs: { value: { type: int } }
    steps: [{ id: sent, uses: sim.post, with: { value: "${{ inputs.value }}" } }, { wait: 10m }]
    outputs: { value: "${{ steps.sent.value }}" }
    """

  /// Days in Sydney.
  static let begin = "2026-09-28T00:00:00+10:00"
  static let end = "2026-10-12T00:00:00+11:00"

  struct Outcome: Sendable {
    var runs: [String: Int] = [:]
    var open: [String] = []
    var slots: [String: Int] = [:]
    var gap: [String] = []
    var isComplete = false
    var fault: String?
    var seconds = 0.0
  }

  @Test func `a fortnight of ten recipes with a clock change in it takes less than a second`() async throws {
    let begin = try #require(Timestamp(FortnightTests.begin))
    let end = try #require(Timestamp(FortnightTests.end))
    let outcome = try #require(
      await SimulatedThread.run(seed: 1) { thread in
        let start = FortnightTests.processorTime
        let services = SimulatedServices(seed: 1, on: thread, at: begin)
        var outcome = FortnightTests.pass(services, to: end)
        outcome.seconds = FortnightTests.processorTime - start
        return outcome
      })
    #expect(outcome.fault == nil)
    #expect(
      outcome.runs == [
        "averages succeeded": 2, "backup succeeded": 1, "checks cancelled": 5, "digest succeeded": 8,
        "door succeeded": 2, "evening succeeded": 11, "follower succeeded": 8, "night succeeded": 14,
        "report succeeded": 1, "review succeeded": 2,
      ])
    #expect(outcome.open == ["backup waiting", "checks waiting", "evening waiting"])
    #expect(
      outcome.slots == [
        "averages started": 2, "backup started": 2, "checks started": 6, "checks superseded": 1, "digest started": 8,
        "digest superseded": 2, "door/bell started": 1, "door/once started": 1, "evening missedPolicy": 2,
        "evening started": 12, "follower started": 8, "night started": 14, "report started": 1, "review started": 2,
      ])
    // Half past two does not exist in the night of the change.
    #expect(outcome.gap == ["2026-10-02T16:30:00Z", "2026-10-03T16:00:00Z", "2026-10-04T15:30:00Z"])
    #expect(outcome.isComplete)
    print("a fortnight of ten recipes: \(outcome.seconds) s of processor time")
    #expect(outcome.seconds < 1)
  }

  /// Lives through the fortnight.
  static func pass(_ services: SimulatedServices, to end: Timestamp) -> Outcome {
    var outcome = Outcome()
    services.folder.put(send, at: "lib/send.yaml")
    for (name, text) in recipes.sorted(by: { $0.key < $1.key }) {
      services.serve(name, "recipe: \(name)\nzone: Australia/Sydney\n\(text)\n")
    }
    services.start()
    services.pass(to: "2026-09-30T13:00:00+10:00")
    if let program = services.program {
      for run in program.store.state.openRuns {
        for step in run.askingSteps {
          let decision = DecisionRecord(isApproved: true, by: "ana", at: services.time)
          _ = services.perform("decide") {
            _ = try? await program.host.decisions.decide(run.id, step: step.path, decision)
          }
        }
      }
    }
    services.pass(to: "2026-10-03T16:00:00+10:00")
    services.signal("bell")
    services.pass(to: "2026-10-03T19:00:00+10:00")
    services.signal("calm")
    // The power fails in the night of the change, and is back at once.
    services.pass(to: "2026-10-04T04:00:00+11:00")
    services.die(losing: .everything)
    services.start()
    services.pass(to: "2026-10-06T06:00:00+11:00")
    services.stop()
    services.now = Timestamp("2026-10-08T12:00:00+11:00") ?? services.now
    services.start()
    services.pass(to: FortnightTests.end)
    outcome.isComplete = recipes.keys.allSatisfy { services.audit.nextSlot(of: $0).map { $0 > end } ?? true }
    outcome.open = services.program?.store.state.openRuns.map { "\($0.recipe) \($0.status)" }.sorted() ?? []
    services.stop()
    for run in services.audit.ended.values { outcome.runs["\(run.recipe) \(run.status)", default: 0] += 1 }
    for slot in services.audit.recorded where slot.outcome != .buffered {
      outcome.slots["\(slot.schedule) \(slot.outcome.rawValue)", default: 0] += slot.count
    }
    outcome.gap = services.audit.recorded.filter { $0.schedule == "night" && $0.outcome == .started }.map(\.slot)
      .map(\.description).filter { ("2026-10-02"..."2026-10-05").contains($0) }
    outcome.fault = services.audit.fault
    return outcome
  }

  /// The processor time of this thread alone.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

extension SimulatedServices {
  /// Lets time pass, with everything that becomes due on the way.
  fileprivate func pass(to instant: String) {
    settle()
    guard let program, let end = Timestamp(instant) else { return audit.fail("there is no program") }
    while audit.fault == nil, let left = end.span(since: program.time.now()), left > .zero {
      program.time.advance(by: min(left, untilSomethingIsDue ?? left))
      settle()
      audit.compare(live: program.store.state)
    }
  }

  fileprivate func signal(_ name: String) {
    guard let program else { return }
    let event = EventRecord(id: name, name: name, receivedAt: time)
    _ = perform("signal") { _ = try? await program.host.receive(event) }
    settle()
  }
}
