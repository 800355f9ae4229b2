import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

/// Each key inside each other one: the plan names the writes that the run makes, and a run that was killed at any write
/// of the state, or retried after a failure, gives what an undisturbed one gives, without writing anything once more.
@Suite(.timeLimit(.minutes(20))) struct KeyMatrixTests {
  /// A step with a key.
  struct Key: Sendable {
    var name: String
    /// The step `k`, of a number that it is given as an expression.
    var step: @Sendable (_ number: String) -> String
    /// A number that the step gives, of the expression for the step.
    var value: @Sendable (_ step: String) -> String
  }

  /// Something around a key.
  struct Place: CustomTestStringConvertible, Sendable {
    var name: String
    /// The number that the key is given.
    var number = "inputs.one"
    /// The steps, around the inner ones; `value` makes the key's value out of the expression for its step.
    var steps: @Sendable (_ inner: String, _ value: (String) -> String) -> String
    /// The recipe's output.
    var output: @Sendable (_ value: (String) -> String) -> String
    /// The text after the steps.
    var rest: @Sendable (_ inner: String) -> String = { _ in "" }
    /// Whether the order of concurrent steps isn't known.
    var isAtOnce: Bool { ["forEach at once", "parallel"].contains(name) }
    /// Whether a retry of the run does the inner steps once more, because the place begins again.
    var beginsAnew: Bool { ["retry", "finally"].contains(name) }

    var testDescription: String { name }
  }

  private static func write(_ id: String, _ name: String, _ value: String) -> String {
    "{ id: \(id), uses: bench.postLooked, with: { name: \"w \(name)\", value: \"${{ \(value) }}\" } }"
  }

  static let keys: [Key] = [
    Key(name: "else") { number in
      "{ id: k, if: \(number) > 100, steps: [\(write("a", "never", "1"))], outputs: { v: 0 }, "
        + "else: { steps: [\(write("b", "else ${{ \(number) }}", number))], outputs: { v: \"${{ steps.b.value }}\" } } }"
    } value: {
      "\($0).v"
    },
    Key(name: "switch") { number in
      "{ id: k, switch: \"\(number)\", cases: { 1: { steps: [\(write("a", "one", number))], "
        + "outputs: { v: \"${{ steps.a.value }}\" } }, 2: { steps: [], outputs: { v: 20 } } }, "
        + "default: { steps: [\(write("b", "other", number))], outputs: { v: \"${{ steps.b.value * 10 }}\" } } }"
    } value: {
      "\($0).v"
    },
    Key(name: "repeat") { number in
      "{ id: k, repeat: { carry: { c: 0 }, next: { c: \"${{ c + 2 }}\" }, collect: \"[result.a.value]\", until: c > 2 }, "
        + "steps: [\(write("a", "round ${{ \(number) }} ${{ c }}", "\(number) + c"))] }"
    } value: {
      "\($0).c + \($0).collected.size() * \($0).collected[1]"
    },
    Key(name: "onError.value") { number in
      "{ id: k, onError: { steps: [\(write("h", "handler ${{ \(number) }}", number))], "
        + "value: { v: \"${{ steps.h.value + error.message.size() }}\" } }, "
        + "steps: [{ if: \(number) > 0, fail: no }], outputs: { v: 0 } }"
    } value: {
      "\($0).v"
    },
    Key(name: "shape") { number in
      "{ id: k, uses: bench.putOpen, with: { name: \"w shaped ${{ \(number) }}\", "
        + "body: { v: \"${{ \(number) }}\", at: \"2026-11-22\", word: on } }, "
        + "shape: { body: { v: int, at: date, word: \"choice(on, off)\", more: \"string?\" } } }"
    } value: {
      "\($0).body.v + (has(\($0).body.more) ? 1 : 0)"
    },
    Key(name: "limits") { number in
      write("k", "limited ${{ \(number) }}", number)
    } value: {
      "\($0).value"
    },
  ]

  static let places: [Place] = [
    Place(name: "alone") { inner, _ in
      "[\(inner)]"
    } output: {
      $0("steps.k")
    },
    Place(name: "if") { inner, _ in
      "[{ id: p, if: inputs.one == 1, steps: [\(inner)] }]"
    } output: {
      "has(steps.p) ? \($0("steps.p.k")) : -1"
    },
    Place(name: "else") { inner, value in
      "[{ id: p, if: inputs.one > 1, steps: [{ let: { z: 1 } }], outputs: { o: -1 }, "
        + "else: { steps: [\(inner)], outputs: { o: \"${{ \(value("steps.k")) }}\" } } }]"
    } output: { _ in
      "steps.p.o"
    },
    Place(name: "forEach", number: "i") { inner, _ in
      "[{ id: p, forEach: \"[1, 2, 3]\", as: i, steps: [\(inner)] }]"
    } output: {
      "steps.p.map(x, \($0("x.k")))"
    },
    Place(name: "forEach at once", number: "i") { inner, _ in
      "[{ id: p, forEach: \"[1, 2, 3]\", as: i, maxParallel: 3, steps: [\(inner)] }]"
    } output: {
      "steps.p.map(x, \($0("x.k")))"
    },
    Place(name: "parallel") { inner, _ in
      "[{ id: p, parallel: { left: [\(inner)], right: [\(write("r", "beside", "1"))] } }]"
    } output: {
      $0("steps.p.left.k")
    },
    Place(name: "call", number: "inputs.n") { _, _ in
      "[{ id: p, call: sub.yaml, with: { n: 1 } }]"
    } output: { _ in
      "steps.p.o"
    },
    Place(name: "repeat", number: "m") { inner, value in
      "[{ id: p, repeat: { carry: { m: 1 }, next: { m: \"${{ m + 1 }}\" }, collect: \"[\(value("result.k"))]\", "
        + "until: m > 2 }, steps: [\(inner)] }]"
    } output: { _ in
      "steps.p.collected"
    },
    Place(name: "retry") { inner, _ in
      "[{ id: p, retry: { maxAttempts: 2, initial: 1s, on: [conflict] }, steps: [\(inner), "
        + "{ uses: bench.read, with: { name: flaky } }] }]"
    } output: {
      $0("steps.p.k")
    },
    Place(name: "timeout") { inner, _ in
      "[{ id: p, timeout: 400s, steps: [\(inner)] }]"
    } output: {
      $0("steps.p.k")
    },
    Place(name: "onError") { inner, value in
      "[{ id: p, onError: { value: { o: -1 } }, steps: [\(inner)], outputs: { o: \"${{ \(value("steps.k")) }}\" } }]"
    } output: { _ in
      "steps.p.o"
    },
    Place(name: "the handler of onError") { inner, value in
      "[{ id: p, onError: { steps: [\(inner)], value: { o: \"${{ \(value("steps.k")) }}\" } }, "
        + "steps: [{ if: inputs.one == 1, fail: no }], outputs: { o: 0 } }]"
    } output: { _ in
      "steps.p.o"
    },
    Place(name: "finally") { _, _ in
      "[{ uses: bench.compute, with: { name: c } }]"
    } output: { _ in
      "1"
    } rest: {
      "finally: [\($0)]\n"
    },
    Place(name: "onFailure") { _, _ in
      "[{ if: inputs.one == 1, fail: no }]"
    } output: { _ in
      "1"
    } rest: {
      "onFailure: [\($0)]\n"
    },
    Place(name: "an optional number", number: "inputs.o.?x.orValue(1)") { inner, _ in
      "[\(inner)]"
    } output: {
      $0("steps.k")
    },
    Place(name: "a nested optional number", number: "inputs.o.deep.?y.orValue(1)") { inner, _ in
      "[\(inner)]"
    } output: {
      $0("steps.k")
    },
  ]

  /// A bench with a recipe of a key in a place, after whose step comes a read that may fail.
  private static func bench(_ key: Key, _ place: Place) throws -> Bench {
    let number = place.number
    let inner = "\(key.step(number)), { uses: bench.read, with: { name: \"end ${{ \(number) }}\" } }"
    let text = """
      inputs:
        one: int
        o: { type: { x: "int?", deep: { y: "int?" } } }
      steps: \(place.steps(inner, key.value))
      \(place.rest(inner))outputs: { o: "${{ \(place.output(key.value)) }}" }
      """
    let called = """
      recipe: sub
      inputs: { n: int }
      steps: [\(inner)]
      outputs: { o: "${{ \(key.value("steps.k")) }}" }
      """
    return try Bench(
      text, calling: ["sub.yaml": called],
      inputs: ValueMap([("one", .int(1)), ("o", .object(["deep": .map(ValueMap())]))]),
      limits: key.name == "limits" ? ConnectionLimits(maxParallel: 1, requests: 10_000) : nil)
  }

  /// How often each thing was written.
  private static func written(_ bench: Bench) -> [String: Int] { bench.service.done.filter { $0.key.hasPrefix("w ") } }

  private static func writes(_ bench: Bench) -> [String] { bench.service.names.filter { $0.hasPrefix("w ") } }

  /// Lets a block with `retry` be tried twice.
  private static func disturb(_ bench: Bench) { bench.service.script("flaky", .fail(WalkTests.refusal)) }

  private static func ended(_ run: RunRecord) -> String { run.error?.message ?? run.outputText }

  @Test(arguments: places)
  func `each key does the same in a plan, in a run that was killed, and in one that is retried`(
    _ place: Place
  ) async throws {
    for key in Self.keys {
      let comment: Comment = "\(key.name) in \(place.name)"
      let whole: Bench
      do { whole = try Self.bench(key, place) } catch {
        Issue.record("\(comment)\n\(error)")
        continue
      }
      Self.disturb(whole)
      let run = try await whole.run()
      #expect(run.status == (place.name == "onFailure" ? .failed : .succeeded), "\(comment) \(Self.ended(run))")
      let (outcome, written) = (Self.ended(run), Self.written(whole))
      #expect(!written.isEmpty, comment)

      try await expectPlan(key, place, made: Self.writes(whole), comment)

      // In turn before and after, because the one of a write is nearly the other of the next.
      for append in 1...whole.store.appends {
        let isAfter = append % 2 == 0
        let bench = try Self.bench(key, place)
        Self.disturb(bench)
        try await bench.create()
        bench.restart(dyingAt: CrashingStore.Point(append: append, isAfter: isAfter))
        _ = try? await bench.engine().run()
        bench.restart()
        let resumed = bench.store.run("r1") == nil ? try bench.finished : try await bench.engine().run()
        let comment: Comment = "\(comment), killed \(isAfter ? "after" : "before") append \(append)"
        #expect(Self.ended(resumed) == outcome, comment)
        // An idempotent write may be repeated after a crash; a retry that was recorded isn't.
        if key.name == "shape" {
          #expect(Set(Self.written(bench).keys) == Set(written.keys), comment)
        } else if place.name != "retry" {
          #expect(Self.written(bench) == written, comment)
        }
      }

      try await expectRetry(key, place, outcome: outcome, written, comment)
    }
  }

  private func expectPlan(_ key: Key, _ place: Place, made: [String], _ comment: Comment) async throws {
    let bench = try Self.bench(key, place)
    let plan = try await bench.plan()
    let planned = plan.entries.compactMap { entry -> String? in
      guard case .write(let call, _) = entry.event, entry.conditions.isEmpty else { return nil }
      return call.input["name"]?.string ?? "unknown"
    }
    if place.name == "retry" {
      // A plan can't know that a read fails.
      #expect(planned == Array(made.prefix(planned.count)), comment)
    } else if key.name == "repeat" || place.name == "repeat" {
      // A plan shows the first round without a condition, and the others with one.
      if place.isAtOnce { return #expect(Set(planned).isSubset(of: made), comment) }
      var rest = made[...]
      for name in planned {
        #expect(rest.contains(name), comment)
        rest = rest.drop { $0 != name }.dropFirst()
      }
      #expect(plan.entries.contains { !$0.conditions.isEmpty }, comment)
    } else {
      #expect(place.isAtOnce ? planned.sorted() == made.sorted() : planned == made, comment)
    }
  }

  /// Retries a run whose step after the key failed.
  private func expectRetry(
    _ key: Key, _ place: Place, outcome: String, _ written: [String: Int], _ comment: Comment
  ) async throws {
    if place.name == "onFailure" { return }
    let bench = try Self.bench(key, place)
    bench.service.script("end 1", .fail(WalkTests.refusal), .fail(WalkTests.refusal))
    let failed = try await bench.run()
    if place.name == "onError" {
      #expect(failed.outputText == #"{"o":-1}"#, comment)
      return
    }
    #expect(failed.status == .failed, comment)
    let before = Self.writes(bench)
    bench.service.script("end 1", [])
    try await bench.store.append(
      [
        .runCreated(
          RunCreated(
            run: "r2", at: bench.time.now(), recipe: bench.recipe.name, file: "test.yaml",
            texts: .inline(.map(ValueMap())), inputs: failed.origin.inputs, program: "test"))
      ] + failed.takenOver(by: "r2", of: bench.recipe, at: bench.time.now()))
    let retried = try await bench.engine("r2").run()
    #expect(Self.ended(retried) == outcome, comment)
    if place.beginsAnew {
      #expect(Set(Self.writes(bench)) == Set(before).union(written.keys), comment)
    } else {
      #expect(Self.written(bench) == written, comment)
    }
  }
}
