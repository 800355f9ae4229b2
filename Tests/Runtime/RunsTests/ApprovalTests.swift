import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// Asking a person: the question, the decision, and the result of either.
@Suite struct ApprovalTests {
  static func recipe(_ more: String) -> String {
    """
    steps:
      - { id: n, uses: bench.read, with: { name: n, value: 3 } }
      - id: ask
        approve:
          prompt: Send ${{ steps.n.value }} letters?
          by: [ana, ben]\(more)
        onError: continue
      - { uses: bench.post, with: { name: send } }
    onFailure:
      - { uses: bench.read, with: { name: failed } }
    finally:
      - { uses: bench.read, with: { name: "over: ${{ error.hasValue() }}" } }
    """
  }

  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var more = ""
    var decision: (isApproved: Bool, comment: String?)?
    var status: RunStatus
    var step: StepStatus
    var output: String?
    var calls: [String]
    var error: String?
    var testDescription: String { name }
  }

  static let decided = #""by":"ana","at":"2026-11-20T10:30:00Z","via":"command""#
  static let sent = ["n", "send", "over: false"]

  static let examples: [Example] = [
    Example(
      name: "yes", decision: (true, nil), status: .succeeded, step: .succeeded,
      output: #"{"approved":true,\#(decided)}"#, calls: sent),
    Example(
      name: "yes, with words", decision: (true, "do"), status: .succeeded, step: .succeeded,
      output: #"{"approved":true,\#(decided),"comment":"do"}"#, calls: sent),
    Example(
      name: "no", decision: (false, "too many"), status: .rejected, step: .failed, output: nil,
      calls: ["n", "over: false"], error: "'ask' was rejected by ana: too many"),
    Example(
      name: "no, and the recipe wants to know", more: "\n      onReject: continue", decision: (false, nil),
      status: .succeeded, step: .succeeded, output: #"{"approved":false,\#(decided)}"#, calls: sent),
    Example(
      name: "no decision within the limit, a failure like any other", more: "\n      timeout: 2d", status: .succeeded,
      step: .timedOut, output: nil, calls: sent),
    Example(
      name: "no decision, and the recipe continues", more: "\n      timeout: 2d\n      onTimeout: continue",
      status: .succeeded, step: .succeeded, output: #"{"approved":false}"#, calls: sent),
  ]

  @Test(arguments: examples)
  func `a decision ends the step`(example: Example) async throws {
    let bench = try Bench(ApprovalTests.recipe(example.more))
    var run = try await bench.run()
    #expect(run.status == .waiting)
    #expect(run.reason == "waits for a decision: Send 3 letters?")
    #expect(run.steps["ask"]?.wait?.prompt == "Send 3 letters?")
    #expect(run.steps["ask"]?.wait?.by == ["ana", "ben"])
    bench.time.advance(by: .seconds(3600))
    if let decision = example.decision { try await bench.decide("ask", decision.isApproved, comment: decision.comment) }
    run = try await bench.driven().run
    #expect(run.status == example.status)
    #expect(run.steps["ask"]?.status == example.step)
    #expect(run.steps["ask"]?.outputText == example.output)
    #expect(bench.service.names == example.calls)
    #expect(run.error?.message == example.error)
  }

  @Test func `a no ends everything around it, and stays one after a crash`() async throws {
    let recipe = """
      steps:
        - id: block
          timeout: 30d
          retry: { maxAttempts: 3 }
          onError: continue
          steps:
            - id: each
              forEach: "[0, 1]"
              maxParallel: 2
              onItemError: continue
              steps:
                - id: fan
                  parallel:
                    left: [{ id: ask, approve: { prompt: "Go?" } }]
                    right: [{ wait: 40d }]
        - { uses: bench.post, with: { name: never } }
      finally: [{ uses: bench.put, with: { name: over } }]
      """
    let asked = "block/each[0]/fan/left/ask"
    var deaths = 0
    for point in [nil] + (1...6).flatMap({ [(append: $0, isAfter: false), (append: $0, isAfter: true)] }) {
      let bench = try Bench(recipe)
      #expect(try await bench.run().status == .waiting)
      try await bench.decide(asked, false)
      try await bench.decide(asked.replacing("[0]", with: "[1]"), false)
      if let point {
        do {
          // Steps that end at once may share an append, so the last points may not be reached.
          _ = try await bench.resume(dyingAt: .init(append: point.append, isAfter: point.isAfter))
        } catch {
          #expect(error as? StateError == CrashingStore.death)
          deaths += 1
        }
        if bench.store.run("r1") == nil { continue }
      }
      let run = try await bench.resume()
      #expect(run.status == .rejected)
      #expect(run.error?.message == "'ask' was rejected by ana")
      #expect(run.steps[asked]?.status == .failed)
      #expect(run.steps["block/each[0]/fan/right/#1"]?.status == .cancelled)
      #expect(run.steps["block"]?.status == .cancelled)
      #expect(Set(bench.service.done.keys) == ["over"])
    }
    #expect(deaths > 4)
  }

  @Test func `a question holds no secret that a service gave away`() async throws {
    let bench = try Bench(
      """
      steps:
        - let: { token: "${{ secrets.TOKEN }}" }
        - { id: a, uses: bench.read, with: { name: open sesame } }
        - { id: ask, approve: { prompt: "Shall I ${{ steps.a.name }}?" } }
      """, secrets: ["TOKEN": "sesame"])
    let run = try await bench.run()
    #expect(run.steps["ask"]?.wait?.prompt == "Shall I open •••?")
    #expect(run.reason == "waits for a decision: Shall I open •••?")
  }
}
