import ActionKit
import Basics
import Recipes
import RunState
import Synchronization
import Testing

@testable import Runs

/// Steps that are repeated and remember: blocks, calls and actions with `carry`, `next` and `collect`.
@Suite struct RoundsTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var steps: String
    var called: String?
    var acts: [String: [BenchService.Act]] = [:]
    var outputs = "none"
    var status = RunStatus.succeeded
    var error: String?
    var asked: [String]
    var testDescription: String { name }
  }

  static let examples: [Example] = [
    Example(
      name: "an action carries and gathers",
      steps: """
        - id: a
          uses: bench.read
          with: { name: "page ${{ page }}", value: "${{ page }}" }
          repeat:
            carry: { page: 1 }
            next: { page: "${{ page + 1 }}" }
            collect: "[result.value]"
            until: result.value == 3
        """, outputs: #"{"page":4,"rounds":3,"collected":[1,2,3]}"#, asked: ["page 1", "page 2", "page 3"]),
    Example(
      name: "what next leaves out stays, and all of it sees the old values",
      steps: """
        - id: a
          uses: bench.read
          with: { name: "${{ x }} ${{ y }} ${{ z }}" }
          repeat:
            carry: { x: 1, y: 2, z: "${{ 'z' }}" }
            next: { x: "${{ y }}", y: "${{ x }}" }
            until: x == 1
        """, outputs: #"{"x":1,"y":2,"z":"z","rounds":2}"#, asked: ["1 2 z", "2 1 z"]),
    Example(
      name: "a value that may be absent",
      steps: """
        - id: a
          uses: bench.read
          with: { name: "after ${{ cursor.orValue('nothing') }}", value: "${{ cursor.hasValue() ? 2 : 1 }}" }
          repeat:
            carry: { cursor: { type: "string?" } }
            next: { cursor: "${{ result.value == 1 ? optional.of('b') : optional.none() }}" }
            until: "!cursor.hasValue()"
        """, outputs: #"{"rounds":2}"#, asked: ["after nothing", "after b"]),
    Example(
      name: "a declared type brings back what a text says",
      steps: """
        - id: a
          uses: bench.read
          with: { name: "${{ string(since) }}" }
          repeat:
            carry: { since: { type: timestamp, first: "2026-01-01T00:00:00Z" } }
            next: { since: "${{ since + duration('24h') }}" }
            until: since > timestamp('2026-01-02T00:00:00Z')
        """, outputs: #"{"since":"2026-01-03T00:00:00Z","rounds":2}"#,
      asked: ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]),
    Example(
      name: "a block sees the carried names, and gives its ids",
      steps: """
        - id: a
          repeat: { carry: { n: 1 }, next: { n: "${{ n * 2 + result.x.value - n }}" }, until: n > 8 }
          steps:
            - let: { twice: "${{ n * 2 }}" }
            - { id: x, uses: bench.read, with: { name: "n ${{ n }}", value: "${{ twice - n }}" } }
        """, outputs: #"{"n":16,"rounds":4}"#, asked: ["n 1", "n 2", "n 4", "n 8"]),
    Example(
      name: "a block without memory gives its last round",
      steps: """
        - id: a
          repeat: { until: result.last > 1, every: 1m }
          steps:
            - { id: x, uses: bench.ask, with: { name: x } }
          outputs: { last: "${{ steps.x.value }}" }
        """, outputs: #"{"last":2}"#, asked: ["x", "x"]),
    Example(
      name: "a called recipe",
      steps: """
        - id: a
          call: called.yaml
          with: { n: "${{ n }}" }
          repeat: { carry: { n: 1 }, next: { n: "${{ result.next }}" }, collect: "[result.next]", until: n > 3 }
        """,
      called: """
        inputs: { n: int }
        steps: [{ id: x, uses: bench.read, with: { name: "call ${{ inputs.n }}", value: "${{ inputs.n + 1 }}" } }]
        outputs: { next: "${{ steps.x.value }}" }
        """, outputs: #"{"n":4,"rounds":3,"collected":[2,3,4]}"#, asked: ["call 1", "call 2", "call 3"]),
    Example(
      name: "each item of a loop has rounds of its own",
      steps: """
        - id: a
          forEach: "[1, 2]"
          maxParallel: 2
          repeat: { carry: { n: "${{ item }}" }, next: { n: "${{ n + item }}" }, until: n >= 3 * item }
          steps:
            - { id: x, uses: bench.read, with: { name: "${{ string(item) }}", value: "${{ n }}" } }
        """, outputs: #"[{"n":3,"rounds":2},{"n":6,"rounds":2}]"#, asked: ["1", "1", "2", "2"]),
    Example(
      name: "each round of a block is tried again",
      steps: """
        - id: a
          retry: { maxAttempts: 2, jitter: none }
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, until: n > 2 }
          steps:
            - { id: x, uses: bench.post, with: { name: "x ${{ n }}" } }
            - { id: y, uses: bench.consume, with: { name: "y ${{ n }}" } }
        """, acts: ["y 1": [.fail(TryTests.broken)], "y 2": [.fail(TryTests.broken)]],
      outputs: #"{"n":3,"rounds":2}"#, asked: ["x 1", "y 1", "x 1", "y 1", "x 2", "y 2", "x 2", "y 2"]),
    Example(
      name: "the most rounds are a time-out that tells the carried values",
      steps: """
        - id: a
          uses: bench.read
          with: { name: a, value: 5 }
          repeat: { carry: { page: 1, at: { type: "int?" } }, next: { page: "${{ page + 1 }}" }, until: page > 5, maxRounds: 2 }
        """, status: .timedOut,
      error: "'a' was not as wanted after 2 rounds, the most it may have; the last one gave "
        + #"{"name":"a","value":5}; 'page' is 3; 'at' is absent"#, asked: ["a", "a"]),
    Example(
      name: "a thousand rounds are the most unless it is said, and a failure is caught as one",
      steps: """
        - id: b
          uses: bench.compute
          with: { name: b }
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, until: n < 0 }
          onError: [{ uses: bench.read, with: { name: "${{ error.kind }}" } }]
        - id: a
          uses: bench.read
          with: { name: "${{ has(steps.b) ? 'there' : 'absent' }}" }
        """, outputs: #"{"name":"absent","value":0}"#,
      asked: Array(repeating: "b", count: 1000) + ["timeout", "absent"]),
    Example(
      name: "a round that fails fails the step",
      steps: """
        - id: a
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, until: n > 5 }
          steps: [{ id: x, if: n > 1, fail: "n is ${{ n }}" }]
        """, status: .failed, error: "n is 2", asked: []),
    Example(
      name: "a value of another type than the carried one",
      steps: """
        - id: a
          uses: bench.read
          with: { name: a }
          repeat:
            carry: { n: 1 }
            next: { n: "${{ json.parse('\\"' + result.name + '\\"') }}" }
            until: n > 5
        """, status: .failed, error: "'next.n' must be an int, but found a string", asked: ["a"]),
    Example(
      name: "what collect gives is no list",
      steps: """
        - id: a
          uses: bench.read
          with: { name: a }
          repeat: { collect: "json.parse('1')", until: "true" }
        """, status: .failed, error: "'collect' takes a list, but this is an int", asked: ["a"]),
    Example(
      name: "a repeated block in a repeated block",
      steps: """
        - id: a
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, collect: "[result.b.rounds]", until: n > 2 }
          steps:
            - id: b
              repeat: { carry: { m: 0 }, next: { m: "${{ m + 1 }}" }, until: m > n }
              steps: [{ uses: bench.postKeyed, with: { name: "${{ n }} ${{ m }}" } }]
        """, outputs: #"{"n":3,"rounds":2,"collected":[2,3]}"#,
      asked: ["1 0", "1 1", "2 0", "2 1", "2 2"]),
    Example(
      name: "parts of carried values are of their types",
      steps: """
        - id: a
          uses: bench.read
          with: { name: "${{ d }} ${{ w.?b.orValue('-') }} ${{ string(m.a) }}", value: 2 }
          repeat:
            carry:
              d: { type: date, first: "${{ '2026-11-22' }}" }
              w: { type: { a: double, b: "string?" }, first: { a: 1 } }
              m: { type: "map(string, double)", first: { a: "${{ 1.5 }}" } }
            next:
              d: "${{ '2026-11-23' }}"
              w: { a: 2, b: "${{ string(result.value) }}" }
              m: { a: 3, b: "${{ w.a }}" }
            until: d == '2026-11-23' && w.?b.hasValue() && m.a == 3.0
        """, outputs: #"{"d":"2026-11-23","w":{"a":2.0,"b":"2"},"m":{"a":3.0,"b":1.0},"rounds":1}"#,
      asked: ["2026-11-22 - 1.5"]),
  ]

  private static func bench(_ example: Example) throws -> Bench {
    let bench = try Bench(
      "steps:\n\(example.steps.indented)\n" + "outputs: { a: \"${{ steps.a }}\" }\n",
      calling: example.called.map { ["called.yaml": "recipe: called\n" + $0] } ?? [:], chance: 0.5)
    for (name, acts) in example.acts { bench.service.script(name, acts) }
    return bench
  }

  @Test(arguments: examples)
  func `a step hands values from round to round`(example: Example) async throws {
    let bench = try RoundsTests.bench(example)
    try await bench.create()
    let (run, _) = try await bench.driven()
    #expect(run.status == example.status)
    #expect(run.error?.message == example.error)
    #expect(run.status != .succeeded || run.outputText == #"{"a":\#(example.outputs)}"#, "\(run.outputText)")
    #expect(bench.service.names.sorted() == example.asked.sorted())
    // Each round's calls have keys of their own.
    let calls = bench.service.calls
    #expect(Set(calls.map { "\($0.key) \($0.attempt)" }).count == calls.count)
  }

  @Test func `a block leaves the records of its last round only`() async throws {
    let bench = try RoundsTests.bench(RoundsTests.examples[4])
    let run = try await bench.run()
    #expect(run.stepsInOrder.map(\.path) == ["a", "a/#round", "a/#round4/x"])
    #expect(run.steps["a"]?.attempts == 4)
    let replay = StepReplay(of: bench.recipe, run) { if case .inline(let value)? = $0.output { value } else { nil } }
    #expect(replay.input(at: "a/#round4/x") == .value(.object(["name": .string("n 8"), "value": .int(8)])))
    #expect(replay.work(ofStepAt: "a/#round4/x") == "bench.read")
  }

  @Test func `the replay of a round shows what it was given`() async throws {
    let bench = try RoundsTests.bench(RoundsTests.examples[0])
    let run = try await bench.run()
    let replay = StepReplay(of: bench.recipe, run) { if case .inline(let value)? = $0.output { value } else { nil } }
    #expect(replay.input(at: "a/#round") == .value(.object(["name": .string("page 3"), "value": .int(3)])))
  }

  @Test func `a round may wait for an event and for a person`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          repeat: { collect: "[result.got.event.data]", until: result.ask.approved }
          steps:
            - { id: got, wait: { event: go, timeout: 2d } }
            - { id: ask, approve: { prompt: "Is ${{ string(steps.got.event.data) }} the last?", onReject: continue } }
      outputs: { a: "${{ steps.a }}" }
      """)
    try await bench.create()
    #expect(try await bench.resume().status == .waiting)
    try await bench.send("go", id: "e1", .int(1))
    try await bench.send("go", id: "e2", .int(2))
    var run = try await bench.resume()
    #expect(run.steps["a/#round1/ask"]?.wait?.prompt == "Is 1 the last?")
    try await bench.decide("a/#round1/ask", false)
    run = try await bench.resume()
    #expect(run.steps["a/#round2/ask"]?.wait?.prompt == "Is 2 the last?")
    #expect(run.steps["a/#round1/ask"] == nil)
    try await bench.decide("a/#round2/ask", true)
    run = try await bench.resume()
    #expect(run.outputText == #"{"a":{"rounds":2,"collected":[1,2]}}"#)
  }

  @Test func `a total time limit ends a wait inside a round`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          timeout: { total: 90m }
          repeat: { until: "now > timestamp('2999-01-01T00:00:00Z')", every: 20m }
          steps: [{ wait: 1h }]
      """)
    try await bench.create()
    let (run, woke) = try await bench.driven()
    #expect(run.status == .timedOut)
    #expect(run.error?.message == "'a' took longer than 5400s")
    #expect(woke == [.seconds(3600), .seconds(4800), .seconds(5400)])
  }

  // MARK: Crashes

  private static let crashing = """
    steps:
      - id: pages
        uses: bench.read
        with: { name: "page ${{ page }}", value: "${{ page }}" }
        repeat:
          carry: { page: 1 }
          next: { page: "${{ page + 1 }}" }
          collect: "[result.value, page]"
          until: result.value == 3
      - id: block
        forEach: "['l', 'r']"
        maxParallel: 2
        repeat:
          carry: { n: 1, seen: { type: list(timestamp), first: [] } }
          next: { n: "${{ n + 1 }}", seen: "${{ seen + [now] }}" }
          collect: "[result.put.value]"
          until: n > 3
          every: 1h
        steps:
          - { wait: 10m }
          - { id: put, uses: bench.postLooked, with: { name: "${{ item }} ${{ n }}", value: "${{ n }}" } }
      - id: caught
        repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, until: n > 5 }
        onError: [{ uses: bench.postLooked, with: { name: "caught ${{ error.message }}" } }]
        steps:
          - { uses: bench.postLooked, with: { name: "c ${{ n }}" } }
          - { if: n == 2, fail: enough }
    outputs:
      pages: "${{ steps.pages }}"
      block: "${{ steps.block.map(b, b.collected) }}"
      seen: "${{ steps.block.map(b, size(b.seen)) }}"
      caught: "${{ has(steps.caught) }}"
    """
  private static let crashOutputs =
    #"{"pages":{"page":4,"rounds":3,"collected":[1,1,2,2,3,3]},"block":[[1,2,3],[1,2,3]],"seen":[3,3],"caught":false}"#
  private static let writes = ["l 1", "l 2", "l 3", "r 1", "r 2", "r 3", "c 1", "c 2", "caught enough"]

  private func lived(_ bench: Bench) async throws -> RunRecord {
    while true {
      do {
        let run = try await bench.engine().run()
        guard run.status == .waiting else { return run }
        bench.time.set(to: max(try #require(run.wakeAt), bench.time.now()))
      } catch {
        #expect(error as? StateError == CrashingStore.death)
        bench.restart()
        if let run = bench.store.state.ended.last { return run }
      }
    }
  }

  @Test func `it comes to the same end, whenever the program dies`() async throws {
    let first = try Bench(RoundsTests.crashing)
    try await first.create()
    let whole = try await lived(first)
    #expect(whole.outputText == RoundsTests.crashOutputs)
    // How many appends two branches share is the scheduler's choice; each write needs one before and one after it.
    #expect(first.store.appends > RoundsTests.writes.count * 2)
    for append in 1...first.store.appends {
      for isAfter in [false, true] {
        let bench = try Bench(RoundsTests.crashing)
        try await bench.create()
        bench.restart(dyingAt: CrashingStore.Point(append: append, isAfter: isAfter))
        let run = try await lived(bench)
        let comment: Comment = "dies \(isAfter ? "after" : "before") append \(append)"
        #expect(run.outputText == RoundsTests.crashOutputs, comment)
        #expect(RoundsTests.writes.map { bench.service.count(of: $0) } == RoundsTests.writes.map { _ in 1 }, comment)
        #expect(run.story.sorted() == whole.story.sorted(), comment)
      }
    }
  }

  // MARK: Retried runs

  @Test(arguments: [
    ("uses: bench.read\n    with: { name: \"x ${{ n }}\", value: \"${{ n }}\" }", "result.value"),
    ("steps: [{ id: x, uses: bench.read, with: { name: \"x ${{ n }}\", value: \"${{ n }}\" } }]", "result.x.value"),
  ])
  func `a run that retries one goes on in the round that failed`(does: String, value: String) async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          \(does)
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, collect: "[\(value)]", until: n > 4 }
      outputs: { a: "${{ steps.a }}" }
      """)
    bench.service.script("x 3", .fail(WalkTests.refusal))
    let failed = try await bench.run()
    #expect(failed.status == .failed)
    let events = failed.takenOver(by: "r2", of: bench.recipe, at: bench.time.now())
    let created = RunCreated(
      run: "r2", at: bench.time.now(), recipe: bench.recipe.name, file: "test.yaml", texts: .inline(.map(ValueMap())),
      inputs: .map(ValueMap()), program: "test")
    try await bench.store.append([.runCreated(created)] + events)
    bench.service.forget()
    let engine = RunEngine(
      try #require(bench.store.run("r2")), of: bench.recipe, secrets: bench.secrets, services: bench.services,
      in: RunSurroundings(
        store: bench.store, time: bench.time, folder: "/tmp", report: { _ in }, chance: { 0 }))
    let run = try await engine.run()
    #expect(run.outputText == #"{"a":{"n":5,"rounds":4,"collected":[1,2,3,4]}}"#)
    #expect(bench.service.names == ["x 3", "x 4"])
  }

  // MARK: Size

  @Test func `what rounds gather is kept once`() async throws {
    func sizes(_ rounds: Int) async throws -> (journal: Int, record: Int) {
      let bench = try Bench(
        """
        steps:
          - id: a
            uses: bench.compute
            with: { name: a, value: "${{ n }}" }
            repeat:
              carry: { n: 1 }
              next: { n: "${{ n + 1 }}" }
              collect: "['item ' + string(n)]"
              until: n > \(rounds)
              maxRounds: \(rounds)
          - { wait: 1h }
        """)
      let waiting = Latest()
      bench.store.onAppend.withLock { $0 = { _, store in waiting.note(store.look { $0.runs["r1"] }) } }
      _ = try await bench.run()
      var journal = 0
      for event in bench.store.events { journal += try JSON.text(event.encoded()).utf8.count }
      return (journal, waiting.most)
    }
    let (few, many) = (try await sizes(400), try await sizes(1600))
    #expect(many.journal < few.journal * 9 / 2)
    #expect(many.record < few.record * 9 / 2)
  }
}

/// The size of the largest record of a run.
private final class Latest: Sendable {
  private let bytes = Mutex(0)

  var most: Int { bytes.withLock { $0 } }

  func note(_ run: RunRecord?) {
    guard let run, run.steps["a"].map({ $0.attempts % 100 == 0 }) ?? false, let text = try? JSON.text(run.encoded())
    else { return }
    bytes.withLock { $0 = max($0, text.utf8.count) }
  }
}

extension String {
  fileprivate var indented: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { "  " + $0 }.joined(separator: "\n")
  }
}
