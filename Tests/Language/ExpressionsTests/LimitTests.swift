import Basics
import Expressions
import Foundation
import Testing

@Suite struct LimitTests {
  /// Expressions of a depth, each nested in another way.
  private static let shapes: [(name: String, text: @Sendable (Int) -> String)] = [
    ("parentheses", { String(repeating: "(", count: $0) + "1" + String(repeating: ")", count: $0) }),
    ("lists", { String(repeating: "[", count: $0) + "1" + String(repeating: "]", count: $0) }),
    ("maps", { String(repeating: "{'a': ", count: $0) + "1" + String(repeating: "}", count: $0) }),
    ("calls", { String(repeating: "size([", count: $0 / 2) + "1" + String(repeating: "])", count: $0 / 2) }),
    ("conditions", { String(repeating: "true ? 1 : ", count: $0 - 1) + "1" }),
    ("sums", { String(repeating: "x + ", count: $0 - 1) + "x" }),
    ("negations", { String(repeating: "!", count: $0 - 1) + "true" }),
    ("selections", { "y" + String(repeating: ".a", count: $0 - 1) }),
    ("indexes", { String(repeating: "y[", count: $0 - 1) + "'a'" + String(repeating: "]", count: $0 - 1) }),
    ("loops", { String(repeating: "[1].map(z, ", count: $0 - 1) + "x" + String(repeating: ")", count: $0 - 1) }),
    (
      "bindings", { String(repeating: "cel.bind(z, x, ", count: $0 - 1) + "z" + String(repeating: ")", count: $0 - 1) }
    ),
    ("optionals", { "optional.of(x)" + String(repeating: ".optMap(z, z)", count: $0 - 2) }),
  ]

  private static let scope: ExpressionScope = {
    var scope = ExpressionScope()
    scope.declare("x", .int)
    scope.declare("y", .dyn)
    return scope
  }()

  /// Compiles and evaluates on a thread with a small stack.
  private static func run(_ text: String) -> String? {
    nonisolated(unsafe) var outcome: String?
    let thread = Thread {
      switch CompiledExpression.compile(text, in: scope) {
      case .failure(let faults): outcome = faults.list.first?.message
      case .success(let program):
        // A `y` that isn't nested deeply enough ends the evaluation at the innermost selection, after all the
        // recursion.
        _ = try? program.evaluate([.int(1), .map(ValueMap())])
      }
    }
    // Without optimisation frames are some six times as large.
    #if DEBUG
    thread.stackSize = 4 << 20
    #else
    thread.stackSize = 512 << 10
    #endif
    thread.start()
    while !thread.isFinished { usleep(200) }
    return outcome
  }

  @Test(arguments: shapes.map(\.name))
  func `the deepest expression fits the stack of a small thread, and a deeper one is refused`(_ name: String) throws {
    let shape = try #require(Self.shapes.first { $0.name == name })
    #expect(Self.run(shape.text(Parser.depthLimit - 1)) == nil)
    let message = "the expression is nested deeper than 128 levels; split it into several"
    #expect(Self.run(shape.text(Parser.depthLimit + 20)) == message)
    #expect(Self.run(shape.text(6000)) == message)
  }

  @Test(arguments: [
    ("[1, 2, 3].map(a, [1, 2, 3].map(b, a * b))", 12, 1 << 20, nil as String?),
    (
      "[1, 2, 3].map(a, [1, 2, 3].map(b, a * b))", 11, 1 << 20,
      "the expression takes more than 11 steps; go through fewer items, or split it over several steps"
    ),
    (
      "cel.bind(a, s + s, cel.bind(b, a + a, cel.bind(c, b + b, c + c))).size()", 100, 1 << 20,
      "the expression makes more than 1 MiB of texts, lists and maps on its way"
    ),
    (
      "l.exists(x, l.exists(y, false)) || true", 1000, 1 << 20,
      "the expression takes more than 1000 steps; go through fewer items, or split it over several steps"
    ),
    (
      "l.map(x, l).size()", 100_000, 1 << 20,
      nil
    ),
    (
      "l.map(x, l + l).size()", 100_000, 1 << 20,
      "the expression makes more than 1 MiB of texts, lists and maps on its way"
    ),
  ])
  func `an evaluation that takes too much ends with a clear error, which nothing absorbs`(
    _ text: String, _ steps: Int, _ bytes: Int, _ message: String?
  ) throws {
    var scope = ExpressionScope()
    scope.declare("s", .string)
    scope.declare("l", .list(.int))
    let program = try CompiledExpression.compile(text, in: scope).get()
    let values: [Value] = [
      .string(String(repeating: "x", count: 100_000)), .list((0..<200).map { .int($0) }),
    ]
    var found: String?
    do throws(EvaluationError) {
      _ = try program.evaluate(values, limits: EvaluationLimits(steps: steps, bytes: bytes))
    } catch {
      found = error.message
    }
    #expect(found == message)
  }

  @Test func `a text that is too long is refused before it is read`() {
    let text = String(repeating: "é", count: 100_001)
    guard case .failure(let faults) = CompiledExpression.compile(text, in: ExpressionScope()) else {
      Issue.record("compiled")
      return
    }
    #expect(faults.list.map(\.message) == ["the expression has 100001 characters; 100000 are the most"])
  }

  /// Forty nested bindings around an expression; each binding uses the previous one twice.
  private static func doubling(_ count: Int, _ left: String, _ right: String, around body: String) -> String {
    let bindings = (0..<count).map { index in
      let before = index == 0 ? "x" : "v\(index - 1)"
      return "cel.bind(v\(index), \(left)\(before), \(right)\(before)}, "
    }
    return bindings.joined() + body + String(repeating: ")", count: count)
  }

  @Test(.timeLimit(.minutes(20))) func `parts that are shared are not walked forever`() throws {
    let object = Self.doubling(40, "{'p': ", "'q': ", around: "v39 == v39")
    guard case .failure(let faults) = CompiledExpression.compile(object, in: Self.scope) else {
      Issue.record("a type of 2⁴⁰ parts was taken")
      return
    }
    #expect(faults.list.map(\.message).contains("this has too many parts; make it in several steps"))

    var scope = ExpressionScope(rules: .plain)
    scope.declare("x", .int)
    let map = Self.doubling(40, "{dyn('p'): ", "'q': ", around: "v39 == v39")
    let program = try CompiledExpression.compile(map, in: scope).get()
    let error = #expect(throws: EvaluationError.self) {
      try program.evaluate([.int(1)], limits: EvaluationLimits(steps: 1000))
    }
    #expect(
      error?.message
        == "the expression takes more than 1000 steps; go through fewer items, or split it over several steps")

    let empties = "[" + String(repeating: "[],", count: 5000) + "]"
    #expect(try CompiledExpression.compile(empties, in: scope).get().type == .list(.list(.dyn)))
  }

  @Test func `a search for a long text takes no longer than both are long`() throws {
    let expression = "text.padLeft('', 400000, 'a').contains(text.padLeft('b', 200000, 'a'))"
    let program = try CompiledExpression.compile(expression, in: ExpressionScope()).get()
    #expect(try program.evaluate([]) == .bool(false))
  }
}
