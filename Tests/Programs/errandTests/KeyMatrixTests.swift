import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

/// Each key inside each other one, with the real binary: what a run gives, its replay and its test give too, and every
/// command that shows the recipe or the run has an answer.
@Suite(.timeLimit(.minutes(20))) struct KeyMatrixTests {
  private static func write(_ id: String, _ place: String, _ number: String) -> String {
    "{ id: \(id), uses: http.put, with: { url: \"/\(place)/${{ \(number) }}\", json: { v: \"${{ \(number) }}\" } } }"
  }

  /// One step for each key, of a number that is given as an expression.
  private static func keys(_ number: String) -> String {
    [
      "{ id: k1, if: \(number) > 100, steps: [\(write("a1", "never", "1"))], outputs: { v: 0 }, "
        + "else: { steps: [\(write("b1", "else", number))], outputs: { v: \"${{ steps.b1.status }}\" } } }",
      "{ id: k2, switch: \"\(number)\", cases: { 1: { steps: [\(write("a2", "one", number))], outputs: { v: 10 } }, "
        + "2: { steps: [], outputs: { v: 20 } } }, default: { steps: [\(write("b2", "other", number))], outputs: { v: 30 } } }",
      "{ id: k3, repeat: { carry: { c: 0 }, next: { c: \"${{ c + result.a3.status }}\" }, "
        + "collect: \"[result.a3.status + c]\", until: c > 300 }, steps: [\(write("a3", "round", number))] }",
      "{ id: k4, onError: { steps: [\(write("h4", "handler", number))], value: { v: \"${{ steps.h4.status }}\" } }, "
        + "steps: [{ if: \(number) > 0, fail: no }], outputs: { v: 0 } }",
      "{ id: k5, uses: http.put, with: { url: /shape, json: { v: \"${{ \(number) }}\" } }, "
        + "shape: { body: { v: int, at: date, word: \"choice(on, off)\", more: \"string?\" } } }",
    ].joined(separator: ", ")
  }

  /// A sum of the keys' values, given the expression for their container.
  private static func value(_ steps: String) -> String {
    "\(steps).k1.v + \(steps).k2.v + \(steps).k3.collected[1] + \(steps).k4.v + \(steps).k5.body.v"
  }

  struct Place: CustomTestStringConvertible, Sendable {
    var name: String
    var steps: String
    var output = "1"
    var rest = ""
    /// Whether the drawing of the recipe leaves out the keys' steps.
    var isOutside = false

    var testDescription: String { name }
  }

  static let places: [Place] = [
    Place(
      name: "if", steps: "{ id: p, if: inputs.one == 1, steps: [\(keys("inputs.one"))] }",
      output: "has(steps.p) ? \(value("steps.p")) : 0"),
    Place(
      name: "else", steps: "{ id: p, if: inputs.one > 1, steps: [{ let: { z: 1 } }], else: [\(keys("inputs.one"))] }",
      output: "has(steps.p.k1) ? steps.p.k1.v : 0"),
    Place(
      name: "forEach", steps: "{ id: p, forEach: \"[1, 2, 3]\", as: i, steps: [\(keys("i"))] }",
      output: "steps.p.map(x, \(value("x")))"),
    Place(
      name: "forEach at once", steps: "{ id: p, forEach: \"[1, 2, 3]\", as: i, maxParallel: 3, steps: [\(keys("i"))] }",
      output: "steps.p.map(x, \(value("x")))"),
    Place(
      name: "parallel",
      steps: "{ id: p, parallel: { left: [\(keys("inputs.one"))], right: [\(write("r", "beside", "1"))] } }",
      output: value("steps.p.left")),
    Place(
      name: "repeat",
      steps: "{ id: p, repeat: { carry: { m: 1 }, next: { m: \"${{ m + 1 }}\" }, collect: \"[\(value("result"))]\", "
        + "until: m > 2 }, steps: [\(keys("m"))] }", output: "steps.p.collected"),
    Place(
      name: "retry",
      steps: "{ id: p, retry: { maxAttempts: 2, initial: 1ms, on: [conflict] }, steps: [\(keys("inputs.one")), "
        + "{ uses: http.put, with: { url: /flaky } }] }", output: value("steps.p")),
    Place(name: "timeout", steps: "{ id: p, timeout: 1h, steps: [\(keys("inputs.one"))] }", output: value("steps.p")),
    Place(
      name: "onError", steps: "{ id: p, onError: continue, steps: [\(keys("inputs.one"))] }",
      output: "has(steps.p) ? \(value("steps.p")) : 0"),
    Place(
      name: "the handler of onError",
      steps: "{ id: p, onError: { steps: [\(keys("inputs.one"))], value: { o: \"${{ \(value("steps")) }}\" } }, "
        + "steps: [{ if: inputs.one == 1, fail: no }], outputs: { o: 0 } }", output: "steps.p.o"),
    Place(name: "finally", steps: write("p", "first", "1"), rest: "finally: [\(keys("1"))]\n"),
    Place(
      name: "an optional number", steps: "{ id: p, steps: [\(keys("inputs.o.?x.orValue(1)"))] }",
      output: value("steps.p")),
    Place(
      name: "a nested optional number", steps: "{ id: p, steps: [\(keys("inputs.o.deep.?y.orValue(1)"))] }",
      output: value("steps.p")),
    Place(
      name: "call", steps: "{ id: p, call: sub.yaml, with: { n: 1 } }", output: "steps.p.o", isOutside: true),
  ]

  @Test(arguments: places)
  func `each command has an answer for each key`(_ place: Place) async throws {
    let program = try await Program()
    let flaky = Mutex(true)
    let server = try HTTPServer { request in
      if request.path == "/flaky",
        flaky.withLock({ isFirst in
          defer { isFirst = false }
          return isFirst
        })
      {
        return .text("{}", status: 409)
      }
      let number = (try? JSON.parse(request.body))?["v"]?.int ?? 0
      return .text("{\"v\":\(number),\"at\":\"2026-11-22\",\"word\":\"on\"}", type: "application/json")
    }
    try program.write(
      "connections: { http: { baseURL: \"\(server.baseURL)\", limits: { maxParallel: 2, requests: 500, per: 1s } } }\n",
      to: "errand.yaml")
    try program.write(
      """
      recipe: sub
      inputs: { n: int }
      steps: [\(Self.keys("inputs.n"))]
      outputs: { o: "${{ \(Self.value("steps")) }}" }
      """, to: "sub.yaml")
    try program.write(
      """
      recipe: matrix
      inputs:
        one: { type: int, default: 1 }
        o: { type: { x: "int?", deep: { y: "int?" } }, default: { deep: {} } }
      steps: [\(place.steps)]
      \(place.rest)outputs: { o: "${{ \(place.output) }}" }
      """, to: "matrix.yaml")
    func answer(_ arguments: String...) async throws -> Program.Outcome {
      let outcome = try await program.call(arguments)
      #expect(outcome.code == 0, "\(arguments): \(outcome.out)\(outcome.error)")
      #expect(!outcome.error.contains("internal"), "\(outcome.error)")
      return outcome
    }

    _ = try await answer("check", "matrix.yaml", "sub.yaml")
    let plan = try await answer("plan", "matrix.yaml")
    let run = try await answer("run", "matrix.yaml", "--record", "recorded.json", "--json")
    let outputs = try JSON.text(run.json["outputs"] ?? .null)
    let id = run.json["run"]?.string ?? ""
    let replay = try await answer("run", "matrix.yaml", "--replay", "recorded.json", "--json")
    #expect(try JSON.text(replay.json["outputs"] ?? .null) == outputs)
    try program.write(
      """
      recipe: matrix.yaml
      replay: recorded.json
      cases: [{ case: as recorded, do: [{ run: {}, expect: { status: succeeded, outputs: \(outputs) } }] }]
      """, to: "matrix.test.yaml")
    _ = try await answer("test", "matrix.test.yaml")
    let displayed = try await answer("runs", "show", id)
    let drawn = try await answer("graph", "matrix.yaml")
    _ = try await answer("graph", id)
    #expect(try await answer("why", id).out.contains("matrix"))
    for step in 1...5 {
      #expect(displayed.out.contains("k\(step)"), "\(displayed.out)")
      #expect(place.isOutside || drawn.out.contains("k\(step)"), "\(drawn.out)")
      #expect(plan.out.contains("k\(step)") || plan.out.contains("b\(step)"), "\(plan.out)")
    }
    await server.stop()
    await program.remove()
  }
}
