import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

/// Values that `shape` makes of answers, and its errors.
@Suite struct ShapeTests {
  private static func outcome(of run: RunRecord) -> String { run.error.map(\.message) ?? run.outputText }

  // MARK: Values

  @Test(arguments: [
    ("{ id: int, note: \"string?\" }", #"{"id": 1, "more": [2]}"#, #"{"id":1}"#),
    ("{ id: int, note: \"string?\" }", #"{"id": 1, "note": null}"#, #"{"id":1}"#),
    ("{ id: int, note: \"string?\" }", #"{"id": 3.0, "note": "x"}"#, #"{"id":3,"note":"x"}"#),
    ("[{ share: double }]", #"[{"share": 1}, {"share": 0.5}]"#, #"[{"share":1.0},{"share":0.5}]"#),
    (
      "{ at: timestamp, took: duration, raw: bytes, day: date }",
      #"{"at": "2026-11-22T10:00:00+02:00", "took": "90s", "raw": "aGk=", "day": "2026-11-22"}"#,
      #"{"at":"2026-11-22T08:00:00Z","took":"90s","raw":"aGk=","day":"2026-11-22"}"#
    ),
    ("\"choice(ready, failed)\"", #""ready""#, #""ready""#),
    ("\"map(string, int)\"", #"{"a": 1, "b": 2.0}"#, #"{"a":1,"b":2}"#),
    ("list(list(dyn))", #"[[1, "a", null], []]"#, #"[[1,"a",null],[]]"#),
    ("{ address?: { city: string } }", "{}", "{}"),
    ("{ any: dyn }", #"{"any": null}"#, #"{"any":null}"#),
    (
      "{ id: int }", #"{"id": "3"}"#,
      "the output doesn't fit 'shape': 'body.id' is \"3\", but must be an int"
    ),
    (
      "{ id: int }", "{}",
      "the output doesn't fit 'shape': 'body.id' is missing, but must be an int; if it may be absent, end its type in ?"
    ),
    (
      "[{ id: int, day: date }]", #"[{"id": 1.5, "day": "22.11.2026"}, {"id": null, "day": "2026-02-30"}]"#,
      "the output doesn't fit 'shape': 'body[0].id' is 1.5, but must be an int; 'body[0].day' is \"22.11.2026\", but "
        + "must be a date such as 2026-11-20; 'body[1].id' is null, but must be an int; if it may be absent, end its "
        + "type in ?; 'body[1].day' is \"2026-02-30\", but must be a date such as 2026-11-20"
    ),
    (
      "{ a-b: \"choice(x, y)\" }", #"{"a-b": "z"}"#,
      "the output doesn't fit 'shape': 'body[\"a-b\"]' is \"z\", but must be 'x' or 'y'"
    ),
    (
      "list(int)", #"{"a": 1}"#,
      "the output doesn't fit 'shape': 'body' is an object, but must be a list of int"
    ),
    (
      "list(bool)", "[1,2,3,4,5,6,7,8,9,10,11,12]",
      "the output doesn't fit 'shape': "
        + (0..<10).map { "'body[\($0)]' is \($0 + 1), but must be a bool" }.joined(separator: "; ") + "; and 2 more"
    ),
  ])
  func `an answer becomes what the shape says, or is told with all its misfits`(
    shape: String, body: String, outcome: String
  ) async throws {
    for action in ["readOpen", "postOpen"] {
      let bench = try Bench(
        """
        steps:
          - { id: a, uses: bench.\(action), with: { name: a, body: \(body) }, shape: { body: \(shape) } }
        outputs: { body: "${{ steps.a.body }}" }
        """)
      let run = try await bench.run()
      let text =
        action == "postOpen"
        ? outcome.replacing("the output", with: "bench.postOpen was done, but its output") : outcome
      #expect(Self.outcome(of: run) == (run.error == nil ? "{\"body\":\(outcome)}" : text))
      #expect(run.error.map(\.kind) == (run.error == nil ? nil : .validation))
      #expect(
        run.error.map(\.effect)
          == (run.error == nil ? nil : action == "postOpen" ? RunError.Effect.done : RunError.Effect.none))
      // The answer is kept apart only where it is still needed.
      #expect((run.steps["a"]?.lastAttempt?.answer != nil) == (run.error != nil && action == "postOpen"))
    }
  }

  @Test func `a misfit shows no secret`() async throws {
    let bench = try Bench(
      """
      inputs: { pin: { type: string, secret: true } }
      steps:
        - id: a
          uses: bench.postOpen
          with: { name: a, body: { id: very-long-secret-that-is-longer-than-what-a-message-shows } }
          shape: { body: { id: int } }
      """, inputs: ValueMap([("pin", .object(["secret": .string("PIN")]))]),
      secrets: ["PIN": "very-long-secret-that-is-longer-than-what-a-message-shows"])
    let run = try await bench.run()
    #expect(run.error?.message.contains("very-long") == false)
  }

  // MARK: Trying again

  @Test(arguments: [
    ("readOpen", "", 1), ("readOpen", "retry: { maxAttempts: 3, initial: 1ms }", 1),
    ("readOpen", "retry: { maxAttempts: 3, initial: 1ms, on: [validation] }", 3),
    ("consumeOpen", "retry: { maxAttempts: 3, initial: 1ms, on: [validation] }", 1),
    ("putOpen", "retry: { maxAttempts: 3, initial: 1ms, on: [validation] }", 1),
    ("postOpen", "retry: { maxAttempts: 3, initial: 1ms, on: [validation] }", 1),
  ])
  func `only a read is tried again, and only where its retry says so`(
    action: String, retry: String, calls: Int
  ) async throws {
    let step = "uses: bench.\(action), with: { name: a, body: { id: x } }, shape: { body: { id: int } }"
    for (steps, path) in [
      ("{ id: a, \(retry.isEmpty ? "" : retry + ", ")\(step) }", "a"),
      ("{ \(retry.isEmpty ? "" : retry + ", ")steps: [{ id: a, \(step) }] }", "#1/a"),
    ] {
      let bench = try Bench("steps:\n  - \(steps)")
      let run = try await bench.run()
      #expect(run.status == .failed)
      #expect(run.error?.kind == .validation)
      #expect(bench.service.names.count == calls, "\(steps)")
      #expect(run.steps[path]?.status == .failed)
    }
  }

  @Test func `a misfit is caught like any error`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.postOpen
          with: { name: a, body: { id: x } }
          shape: { body: { id: int } }
          onError: continue
        - id: all
          forEach: "['1', '[]']"
          uses: bench.postOpen
          with: { name: b, body: "${{ json.parse(item) }}" }
          shape: { body: int }
          onItemError: continue
      outputs:
        a: ${{ has(steps.a) }}
        all: ${{ steps.all.map(o, o.status) }}
        ids: ${{ steps.all.filter(o, has(o.output)).map(o, o.output.body) }}
      """)
    #expect(try await bench.run().outputText == #"{"a":false,"all":["succeeded","failed"],"ids":[1]}"#)
  }

  @Test func `until sees the shaped result`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.readOpen
          with: { name: a, body: { state: done, at: "2026-11-22T10:00:00Z" } }
          shape: { body: { state: "choice(open, done)", at: timestamp } }
          repeat: { every: 1m, until: result.body.state == 'done' && result.body.at < now }
      outputs: { at: "${{ steps.a.body.at }}" }
      """)
    bench.time.set(to: Timestamp("2026-12-01T00:00:00Z") ?? .latest)
    #expect(try await bench.run().outputText == #"{"at":"2026-11-22T10:00:00Z"}"#)
  }

  // MARK: Crashes

  @Test(arguments: ["postOpen", "consumeOpen"], ["1", "x"])
  func `a write is done once, wherever the program dies`(action: String, id: String) async throws {
    let text = """
      steps:
        - { id: a, uses: bench.\(action), with: { name: a, body: { id: \(id) } }, shape: { body: { id: int } } }
      outputs: { id: "${{ steps.a.body.id }}" }
      """
    let whole = try Bench(text)
    let end = Self.outcome(of: try await whole.run())
    var ends: Set<String> = []
    for append in 1...whole.store.appends {
      for isAfter in [false, true] {
        let bench = try Bench(text, dyingAt: .init(append: append, isAfter: isAfter))
        try await bench.create()
        _ = try? await bench.engine().run()
        let resumed = try await bench.store.memory.openRun("r1") == nil ? nil : bench.resume()
        guard let run = resumed else { continue }
        if run.status == .uncertain {
          // It may have been done, and its answer wasn't kept.
          #expect(bench.service.count(of: "a") <= 1)
          #expect(run.steps["a"]?.lastAttempt?.answer == nil)
          ends.insert("uncertain")
        } else {
          #expect(bench.service.count(of: "a") == 1)
          #expect(Self.outcome(of: run) == end)
          ends.insert("ended")
        }
      }
    }
    #expect(ends == ["uncertain", "ended"])
  }

  @Test func `an answer that is kept is looked at after a crash, and not asked for again`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: a, uses: bench.postOpen, with: { name: a, body: { id: 1 } }, shape: { body: { id: int } } }
      outputs: { id: "${{ steps.a.body.id }}" }
      """)
    try await bench.create()
    // The run's beginning, the attempt, then its answer.
    bench.restart(dyingAt: .init(append: 3, isAfter: true))
    _ = try? await bench.engine().run()
    let record = try bench.record
    let answer = try #require(record.steps["a"]?.lastAttempt?.answer)
    #expect(answer == .inline(.object(["name": .string("a"), "body": .object(["id": .int(1)])])))
    #expect(record.steps["a"]?.status == .running)
    #expect(try await bench.resume().outputText == #"{"id":1}"#)
    #expect(bench.service.names == ["a"])
  }

  // MARK: Retries of runs

  @Test(arguments: [
    ("", ""), ("forEach: \"[1]\"", "[0]"), ("forEach: \"[1]\", maxParallel: 2", "[0]"),
    ("repeat: { every: 1m, until: result.name == 'a' }", "/#round"),
  ])
  func `a retry of the run looks at the kept answer with the new shape`(clause: String, place: String) async throws {
    let isRepeated = clause.hasPrefix("repeat")
    func text(_ type: String) -> String {
      """
      steps:
        - id: a
          uses: bench.\(isRepeated ? "putOpen" : "postOpen")
          with: { name: a, body: { id: x } }
          shape: { body: { id: \(type) } }
          \(clause.replacing(", maxP", with: "\n    maxP"))
        - { uses: bench.post, with: { name: b } }
      outputs: { a: "${{ steps.a }}" }
      """
    }
    let bench = try Bench(text("int"))
    let failed = try await bench.run()
    #expect(failed.status == .failed)
    #expect(failed.steps["a\(place)"]?.lastAttempt?.answer != nil)
    // The same shape finds the same, and asks for nothing that was answered.
    let same = try await Bench.retry(failed, as: text("int"))
    #expect(same.run.error?.message == failed.error?.message)
    #expect(same.calls.isEmpty)
    let mended = try await Bench.retry(failed, as: text("string"))
    let value = #"{"name":"a","body":{"id":"x"}}"#
    #expect(mended.run.outputText == "{\"a\":\(clause.contains("forEach") ? "[\(value)]" : value)}")
    #expect(mended.calls == ["b"])
    // Without a shape the answer is as it is.
    let plain = text("int").replacing("    shape: { body: { id: int } }\n", with: "")
    #expect(try await Bench.retry(failed, as: plain).calls == ["b"])
  }

  @Test func `a person who resolves a step gives an answer that fits`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: a, uses: bench.postOpen, with: { name: a, body: { id: 1 } }, shape: { body: { at: timestamp } } }
      outputs: { at: "${{ steps.a.body.at }}" }
      """)
    bench.service.script("a", .crash(afterDoing: true))
    try await bench.runUntilDeath()
    #expect(try await bench.resume().status == .uncertain)
    func resolve(_ at: String) async throws -> RunRecord {
      try await bench.resolve("a", as: .done(.object(["name": .string("a"), "body": .object(["at": .string(at)])])))
    }
    let fault = await #expect(throws: ResolutionError.self) { _ = try await resolve("yesterday") }
    #expect(
      fault?.message == "the output doesn't fit 'shape': 'body.at' is \"yesterday\", but must be a timestamp such as "
        + "2026-11-20T09:30:00Z")
    _ = try await resolve("2026-11-22T10:00:00Z")
    #expect(try await bench.resume().outputText == #"{"at":"2026-11-22T10:00:00Z"}"#)
  }

  // MARK: Plans

  @Test func `a plan knows the shaped value, and what a misfit leaves`() async throws {
    let text = { (body: String) in
      """
      steps:
        - { id: a, uses: bench.readOpen, with: { name: a, body: \(body) }, shape: { body: { n: int } } }
        - { if: steps.a.body.n > 1, uses: bench.post, with: { name: b, value: "${{ steps.a.body.n }}" } }
        - { id: c, uses: bench.postOpen, with: { name: c, body: 1 }, shape: { body: { at: "timestamp?" } } }
        - { if: "has(steps.c.body.at) && steps.c.body.at < now", uses: bench.post, with: { name: d } }
      """
    }
    let plan = try await Bench(text("{ n: 3.0, m: 1 }")).plan()
    #expect(plan.error == nil)
    let failed = try await Bench(text("{ n: 3.5 }")).plan()
    #expect(failed.error?.message == "the output doesn't fit 'shape': 'body.n' is 3.5, but must be an int")
  }
}
