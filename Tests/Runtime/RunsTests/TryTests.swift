import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// Trying again, time limits, and the stored record of each attempt.
@Suite struct TryTests {
  static let broken = ActionError(.network, "the line is dead", effect: ActionError.Effect.none)
  static let lost = ActionError(.network, "the answer is lost")

  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var step: String
    var chance = 0.0
    var acts: [BenchService.Act]
    var calls: Int
    var sleeps: [TimeSpan]
    var status: RunStatus
    var testDescription: String { name }
  }

  static let examples: [Example] = [
    Example(
      name: "a read is tried three times by default", step: "uses: bench.read", chance: 0.5,
      acts: [.fail(lost), .fail(lost), .succeed], calls: 3, sleeps: [.milliseconds(500), .seconds(1)],
      status: .succeeded),
    Example(
      name: "and fails after that", step: "uses: bench.read", chance: 0.5,
      acts: [.fail(lost), .fail(lost), .fail(lost)], calls: 3, sleeps: [.milliseconds(500), .seconds(1)],
      status: .failed),
    Example(
      name: "an action may have a schedule of its own", step: "uses: bench.readPatiently",
      acts: [.fail(lost), .fail(lost), .fail(lost), .succeed], calls: 4,
      sleeps: [.milliseconds(200), .milliseconds(500), .seconds(1)], status: .succeeded),
    Example(
      name: "the step's policy counts more",
      step: "uses: bench.readPatiently\n    retry: { maxAttempts: 2, initial: 3s, jitter: none }",
      acts: [.fail(lost), .fail(lost)], calls: 2, sleeps: [.seconds(3)], status: .failed),
    Example(
      name: "delays grow up to a limit",
      step: "uses: bench.put\n    retry: { maxAttempts: 4, initial: 1s, factor: 3, maxInterval: 4s, jitter: none }",
      acts: [.fail(lost), .fail(lost), .fail(lost), .succeed], calls: 4,
      sleeps: [.seconds(1), .seconds(3), .seconds(4)], status: .succeeded),
    Example(
      name: "what no kind of the policy covers is not tried again", step: "uses: bench.read",
      acts: [.fail(WalkTests.refusal)], calls: 1, sleeps: [], status: .failed),
    Example(
      name: "kinds can be named", step: "uses: bench.read\n    retry: { on: [conflict], initial: 1s, jitter: none }",
      acts: [.fail(WalkTests.refusal), .succeed], calls: 2, sleeps: [.seconds(1)], status: .succeeded),
    Example(
      name: "a condition decides", step: "uses: bench.read\n    retry: { on: [conflict], if: error.retryable }",
      acts: [.fail(WalkTests.refusal)], calls: 1, sleeps: [], status: .failed),
    Example(
      name: "a condition sees the error",
      step: "uses: bench.read\n    retry: { on: [conflict], if: \"has(error.status) && error.status == 409\" }",
      acts: [.fail(WalkTests.refusal), .succeed], calls: 2, sleeps: [], status: .succeeded),
    Example(
      name: "Retry-After replaces the delay", step: "uses: bench.read", chance: 0.5,
      acts: [.fail(ActionError(.rateLimited, "slow down", status: 429, retryAfter: .seconds(42))), .succeed], calls: 2,
      sleeps: [.seconds(42)], status: .succeeded),
    Example(
      name: "but not past the total time limit", step: "uses: bench.read\n    timeout: 250s",
      acts: [.fail(ActionError(.rateLimited, "slow down", retryAfter: .seconds(260)))], calls: 1, sleeps: [],
      status: .failed),
    Example(
      name: "a plain write is not tried again, even when nothing was done", step: "uses: bench.post",
      acts: [.fail(broken)], calls: 1, sleeps: [], status: .failed),
    Example(
      name: "a write that can be looked up is, and is tried again when it was not done",
      step: "uses: bench.postLooked\n    retry: { jitter: none }", acts: [.fail(lost), .succeed], calls: 2,
      sleeps: [.seconds(1)], status: .succeeded),
    Example(
      name: "and is done when the look finds it", step: "uses: bench.postLooked", acts: [.doneThenFail(lost)],
      calls: 1, sleeps: [], status: .succeeded),
    Example(
      name: "a plain write whose answer is lost is uncertain", step: "uses: bench.post", acts: [.doneThenFail(lost)],
      calls: 1, sleeps: [], status: .uncertain),
    Example(
      name: "a plain write that was done and failed afterwards fails",
      step: "uses: bench.post", acts: [.doneThenFail(ActionError(.plugin, "no JSON", effect: .done))], calls: 1,
      sleeps: [], status: .failed),
    Example(
      name: "what was done is not done again for a retry",
      step: "uses: bench.postLooked\n    retry: { on: [server] }",
      acts: [.fail(ActionError(.server, "done, but", effect: .done)), .succeed], calls: 1, sleeps: [],
      status: .failed),
    Example(
      name: "a plain write with a retry is tried again where nothing was done",
      step: "uses: bench.post\n    retry: { jitter: none }", acts: [.fail(broken), .succeed], calls: 2,
      sleeps: [.seconds(1)], status: .succeeded),
    Example(
      name: "not where that is not known", step: "uses: bench.post\n    retry: { jitter: none }",
      acts: [.doneThenFail(lost)], calls: 1, sleeps: [], status: .uncertain),
    Example(
      name: "and not where it was done", step: "uses: bench.post\n    retry: { on: [plugin] }",
      acts: [.doneThenFail(ActionError(.plugin, "no JSON", retryable: true, effect: .done)), .succeed], calls: 1,
      sleeps: [], status: .failed),
    Example(
      name: "a policy of one attempt retries nothing", step: "uses: bench.post\n    retry: { maxAttempts: 1 }",
      acts: [.fail(broken), .succeed], calls: 1, sleeps: [], status: .failed),
    Example(
      name: "a retry without kinds is for what the action says may pass",
      step: "uses: bench.read\n    retry: { jitter: none }",
      acts: [.fail(ActionError(.plugin, "code 3", retryable: true, effect: .done)), .succeed], calls: 2,
      sleeps: [.seconds(1)], status: .succeeded),
    Example(
      name: "which is not tried again without one", step: "uses: bench.read",
      acts: [.fail(ActionError(.plugin, "code 3", retryable: true)), .succeed], calls: 1, sleeps: [], status: .failed),
    Example(
      name: "a keyed write is tried again with its key",
      step: "uses: bench.postKeyed\n    key: k1\n    retry: { jitter: none }",
      acts: [.doneThenFail(lost), .succeed], calls: 2, sleeps: [.seconds(1)], status: .succeeded),
    Example(
      name: "also without a policy, like a read", step: "uses: bench.postKeyed\n    key: k1", chance: 0.5,
      acts: [.doneThenFail(lost), .succeed], calls: 2, sleeps: [.milliseconds(500)], status: .succeeded),
    Example(
      name: "a keyed write that has no try left is uncertain",
      step: "uses: bench.postKeyed\n    key: k1\n    retry: { maxAttempts: 1 }",
      acts: [.doneThenFail(lost)], calls: 1, sleeps: [], status: .uncertain),
    Example(
      name: "but one that can be looked up is done when the look finds it",
      step: "uses: bench.postKeyedLooked\n    key: k1\n    retry: { maxAttempts: 1 }",
      acts: [.doneThenFail(lost)], calls: 1, sleeps: [], status: .succeeded),
    Example(
      name: "and fails when the look finds that it was not done",
      step: "uses: bench.postKeyedLooked\n    key: k1\n    retry: { maxAttempts: 1 }",
      acts: [.fail(lost)], calls: 1, sleeps: [], status: .failed),
    Example(
      name: "of two tries the look of the second says nothing of the first",
      step: "uses: bench.postKeyedLooked\n    key: k1\n    retry: { maxAttempts: 2, jitter: none }",
      acts: [.doneThenFail(lost), .fail(lost)], calls: 2, sleeps: [.seconds(1)], status: .uncertain),
    Example(
      name: "a refusal of the last try says nothing of a keyed write's earlier one",
      step: "uses: bench.postKeyed\n    key: k1\n    retry: { maxAttempts: 2, jitter: none }",
      acts: [.doneThenFail(lost), .fail(broken)], calls: 2, sleeps: [.seconds(1)], status: .uncertain),
    Example(
      name: "one that was only ever refused fails",
      step: "uses: bench.postKeyed\n    key: k1\n    retry: { maxAttempts: 2, jitter: none }",
      acts: [.fail(broken), .fail(broken)], calls: 2, sleeps: [.seconds(1)], status: .failed),
    Example(
      name: "a time limit strikes a read, which is tried again",
      step: "uses: bench.read\n    timeout: { attempt: 5s, total: 1h }", acts: [.hang, .succeed], calls: 2,
      sleeps: [.seconds(5), .seconds(5)], status: .succeeded),
    Example(
      name: "a total time limit ends the step as timed out", step: "uses: bench.read\n    timeout: 5s",
      acts: [.hang], calls: 1, sleeps: [.seconds(5)], status: .timedOut),
    Example(
      name: "a time limit that strikes a plain write leaves it uncertain", step: "uses: bench.post\n    timeout: 5s",
      acts: [.doneThenHang], calls: 1, sleeps: [.seconds(5)], status: .uncertain),
    Example(
      name: "a time limit that strikes a write which can be looked up finds it",
      step: "uses: bench.postLooked\n    timeout: 250s", acts: [.doneThenFail(ActionError(.timeout, "slow"))],
      calls: 1, sleeps: [], status: .succeeded),
  ]

  @Test(arguments: [
    (BenchService.Act.fail(broken), 2, RunStatus.succeeded), (.doneThenFail(lost), 1, .uncertain),
    (.doneThenFail(ActionError(.plugin, "no JSON", effect: .done)), 1, .failed),
    (.doneThenFail(ActionError(.plugin, "code 3", retryable: true, effect: .done)), 1, .failed),
  ])
  func `a block around a plain write is tried again where the write did nothing`(
    _ act: BenchService.Act, _ calls: Int, _ status: RunStatus
  ) async throws {
    let bench = try Bench(
      """
      steps:
        - retry: { jitter: none, on: [network, plugin] }
          steps:
            - { id: a, uses: bench.post, with: { name: a } }
      """)
    bench.service.script("a", act, .succeed)
    let run = try await bench.run()
    #expect(run.status == status)
    #expect(bench.service.names.count == calls)
  }

  @Test(arguments: [
    ("stats.mean(student.marks)", #"student.marks is []; student is {name: "Ben", marks: []}"#),
    (
      "[student].map(s, stats.mean(s.marks))[0]", #"s is {name: "Ben", marks: []}; student is {name: "Ben", marks: []}"#
    ),
    (
      "[student].all(s, stats.mean(s.marks) > 1.0)",
      #"s is {name: "Ben", marks: []}; student is {name: "Ben", marks: []}"#
    ),
    (
      "{'a': student}.exists(k, v, v.marks[3] > 1.0)",
      #"v is {name: "Ben", marks: []}; student is {name: "Ben", marks: []}"#
    ),
  ])
  func `an error of the data says of which item it is and what was read`(_ text: String, _ detail: String) async throws
  {
    let bench = try Bench(
      """
      steps:
        - let: { none: "${{ [1.0].filter(x, x > 2.0) }}" }
        - forEach: "[{'name': 'Ana', 'marks': [4.0, 4.0, 4.0, 4.0]}, {'name': 'Ben', 'marks': none}]"
          as: student
          steps:
            - let: { mean: "${{ \(text) }}" }
      """)
    let run = try await bench.run()
    #expect(run.error?.detail == detail)
  }

  @Test func `an error of the data shows no secret`() async throws {
    let bench = try Bench(
      """
      steps:
        - let: { people: "${{ [{'name': 'Ana', 'pin': secrets.PIN.reverse()}] }}" }
        - let: { all: "${{ people.map(p, p.name + string(1 / (p.name.size() - 3))) }}" }
      """, secrets: ["PIN": "1234567890"])
    let run = try await bench.run()
    #expect(run.error?.kind == .expression)
    #expect(run.error?.detail == nil)
  }

  @Test(arguments: [
    (
      "{ uses: bench.read, with: { name: a }, timeout: 250s }", TimeSpan.seconds(260),
      "4m20s, and the step's time limit leaves less"
    ),
    (
      "{ uses: bench.read, with: { name: a } }", .seconds(36_500 * 86_400),
      "36500d, and the step's time limit leaves less"
    ),
    (
      "{ retry: {}, steps: [{ uses: bench.read, with: { name: a }, retry: { maxAttempts: 1 } }] }",
      .seconds(36_500 * 86_400), "36500d, and 30d is the most"
    ),
  ])
  func `a service that asks for too long a wait ends the tries, which is told`(
    _ step: String, _ asked: TimeSpan, _ told: String
  ) async throws {
    let bench = try Bench("steps: [\(step)]\n")
    bench.service.script("a", .fail(ActionError(.rateLimited, "Slow down.", retryAfter: asked)), .succeed)
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(
      run.error?.message == "Slow down; it isn't tried again, because the service asked to wait \(told)")
  }

  @Test(arguments: examples)
  func `a step is tried as its policy says`(example: Example) async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          with: { name: a }
          \(example.step)
      """, chance: example.chance)
    bench.service.script("a", example.acts)
    let run = try await bench.run()
    #expect(run.status == example.status, "\(run.reason ?? run.error?.message ?? "")")
    #expect(bench.service.names.count == example.calls)
    #expect(bench.time.sleeps == example.sleeps)
    #expect(bench.service.count(of: "a") <= 1)
    #expect(Set(bench.service.calls.map(\.key)).count == 1)
    #expect(bench.service.calls.allSatisfy { $0.isKeyNamed == example.step.contains("key: k1") })
    #expect(Set(bench.service.calls.map(\.now)).count == 1)
    #expect(bench.service.calls.map(\.attempt) == Array(1...example.calls))
  }

  @Test(arguments: [
    "' '", "''", "'a\\u0007'",
    "['0123456789'].map(d, d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d + d)[0]",
  ])
  func `a key that no service takes for one fails the step`(_ key: String) async throws {
    let bench = try Bench(
      """
      steps:
        - { id: a, uses: bench.postKeyed, key: "${{ \(key) }}", with: { name: a } }
      """)
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(
      run.error?.message == "'key' must be a text of 1 to 255 bytes that isn't blank and has no line breaks")
    #expect(bench.service.names == [])
  }

  @Test func `a block is tried again as a new scope`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: block
          retry: { maxAttempts: 3, initial: 1s, jitter: none, on: [conflict] }
          steps:
            - { id: a, uses: bench.put, with: { name: a } }
            - { id: b, uses: bench.post, with: { name: b, value: 4 } }
      outputs: { b: "${{ steps.block.b.value }}" }
      """)
    bench.service.script("b", .fail(WalkTests.refusal), .succeed)
    let run = try await bench.run()
    #expect(run.outputText == #"{"b":4}"#)
    #expect(bench.service.names == ["a", "b", "a", "b"])
    #expect(Set(bench.service.calls.map(\.key)).count == 4)
    #expect(
      run.story == [
        "block succeeded", "block/a succeeded", "block/b failed", "block~2/a succeeded", "block~2/b succeeded",
      ])
  }

  @Test func `a time limit of a block cancels what is in it, and is caught like any failure`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: block
          timeout: 5s
          onError: continue
          steps:
            - { id: a, uses: bench.read, with: { name: a } }
            - { id: b, uses: bench.read, with: { name: never } }
      outputs: { block: "${{ has(steps.block) }}" }
      """)
    bench.service.script("a", .hang)
    let run = try await bench.run()
    #expect(run.status == .succeeded)
    #expect(run.outputText == #"{"block":false}"#)
    #expect(run.story == ["block timedOut", "block/a cancelled"])
    #expect(run.steps["block"]?.error?.message == "'block' took longer than 5s")
  }

  @Test func `a time limit of a block leaves a plain write in it uncertain`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: block, timeout: 5s, onError: continue, steps: [{ id: a, uses: bench.post, with: { name: a } }] }
      """)
    bench.service.script("a", .doneThenHang)
    let run = try await bench.run()
    #expect(run.status == .uncertain)
    #expect(
      run.reason == "'block/a': bench.post may or may not have been done: the action was cancelled")
  }

  @Test func `now is the same in all attempts and never goes back`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: a, uses: bench.readPatiently, with: { name: "a ${{ now }}" } }
        - let: { t: "${{ now }}" }
        - { id: b, uses: bench.read, with: { name: "b ${{ now >= t }}" } }
      """)
    let name = "a \(bench.time.now())"
    bench.service.script(name, .fail(TryTests.lost), .succeed)
    let run = try await bench.run()
    #expect(run.status == .succeeded)
    #expect(bench.service.names == [name, name, "b true"])
    #expect(run.now == bench.service.calls.last?.now)
  }

  @Test func `each attempt is in the journal with its error, its next try and its requests`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.readPatiently, with: { name: a } }")
    let request = ServiceRequest(
      method: "GET", redactedURL: "http://x/a", status: 200, bytes: 12, duration: .milliseconds(3))
    bench.service.script("a", .fail(TryTests.lost), .request(request))
    _ = try await bench.run()
    let attempts = bench.store.events.compactMap { event -> AttemptEnded? in
      if case .attemptEnded(let ended) = event { ended } else { nil }
    }
    let end = try #require(
      bench.store.events.compactMap { if case .stepEnded(let end) = $0 { end } else { nil } }.first)
    #expect(attempts.map(\.number) == [1])
    #expect(end.attempt == 2)
    #expect(attempts[0].error?.message == "the answer is lost")
    #expect(attempts[0].retryAt == attempts[0].at.advanced(by: .milliseconds(200)))
    #expect(end.error == nil)
    #expect(
      end.exchanges == [
        .object([
          "method": .string("GET"), "url": .string("http://x/a"), "status": .int(200), "bytes": .int(12),
          "took": .string("0.003s"),
        ])
      ])
  }

  @Test func `a look that fails is tried again, and then tells nothing`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.postLooked, with: { name: a } }")
    bench.service.script("a", .doneThenFail(TryTests.lost))
    bench.service.scriptLooks("a", .fail(TryTests.lost), .fail(TryTests.lost), .fail(TryTests.lost))
    let run = try await bench.run()
    #expect(run.status == .uncertain)
    #expect(run.steps["a"]?.error?.detail == "could not check whether it was done: the answer is lost")
    #expect(run.steps["a"]?.error?.cause?.message == "the answer is lost")
  }
}
