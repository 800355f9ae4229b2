import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// Undisturbed runs of recipes: the calls they make, in order, and their outputs.
@Suite struct WalkTests {
  struct Example: Sendable, CustomTestStringConvertible {
    var name: String
    var recipe: String
    var calls: [String]
    var outputs: String
    var testDescription: String { name }
  }

  static let examples: [Example] = [
    Example(
      name: "steps run in order and see those before them",
      recipe: """
        steps:
          - { id: a, uses: bench.read, with: { name: a, value: 1 } }
          - let: { twice: "${{ steps.a.value * 2 }}", more: "${{ twice + 1 }}" }
          - { id: b, uses: bench.put, with: { name: b, value: "${{ more }}" } }
        outputs: { a: "${{ steps.a.value }}", b: "${{ steps.b.value }}" }
        """,
      calls: ["a", "b"], outputs: #"{"a":1,"b":3}"#),
    Example(
      name: "a step whose 'if' does not hold is skipped and absent",
      recipe: """
        steps:
          - { id: a, if: 1 > 2, uses: bench.read, with: { name: a } }
          - { id: b, if: "!has(steps.a)", uses: bench.read, with: { name: b } }
          - { if: has(steps.a), let: { c: "${{ steps.a.value }}" } }
        outputs: { a: "${{ has(steps.a) }}", b: "${{ has(steps.b) }}", c: "${{ c.hasValue() }}" }
        """,
      calls: ["b"], outputs: #"{"a":false,"b":true,"c":false}"#),
    Example(
      name: "a loop gives the outputs in the order of its items, of those that 'where' lets in",
      recipe: """
        steps:
          - id: each
            forEach: "[10, 20, 30, 40]"
            as: n
            indexAs: i
            where: n != 20
            uses: bench.put
            with: { name: "n${{ i }}", value: "${{ n + i }}" }
        outputs: { values: "${{ steps.each.map(s, s.value) }}" }
        """,
      calls: ["n0", "n2", "n3"], outputs: #"{"values":[10,32,43]}"#),
    Example(
      name: "a block gives its outputs, and its names end with it",
      recipe: """
        steps:
          - id: block
            steps:
              - { id: inner, uses: bench.read, with: { name: inner, value: 5 } }
              - let: { x: "${{ steps.inner.value }}" }
            outputs: { five: "${{ x }}" }
          - let: { x: 6 }
        outputs: { five: "${{ steps.block.five }}", x: "${{ x }}" }
        """,
      calls: ["inner"], outputs: #"{"five":5,"x":6}"#),
    Example(
      name: "branches give an object of their blocks",
      recipe: """
        steps:
          - id: fan
            parallel:
              left: [{ id: l, uses: bench.read, with: { name: same, value: 1 } }]
              right: [{ id: r, uses: bench.read, with: { name: same, value: 2 } }]
        outputs: { sum: "${{ steps.fan.left.l.value + steps.fan.right.r.value }}" }
        """,
      calls: ["same", "same"], outputs: #"{"sum":3}"#),
    Example(
      name: "onError: continue leaves the step out; steps see the error",
      recipe: """
        steps:
          - { id: a, uses: bench.post, with: { name: refused }, onError: continue }
          - id: b
            uses: bench.post
            with: { name: refusedToo }
            onError:
              - { uses: bench.read, with: { name: "${{ error.kind }} ${{ error.status.orValue(0) }}" } }
        outputs: { a: "${{ has(steps.a) }}", b: "${{ has(steps.b) }}" }
        """.replacing("error.status.orValue(0)", with: "has(error.status) ? error.status : 0"),
      calls: ["refused", "refusedToo", "conflict 409"], outputs: #"{"a":false,"b":false}"#),
    Example(
      name: "a loop that continues lists how each item ended",
      recipe: """
        steps:
          - id: each
            forEach: "['ok', 'refused', 'also']"
            onItemError: continue
            uses: bench.post
            with: { name: "${{ item }}" }
        outputs: { story: "${{ steps.each.map(o, o.status) }}", bad: "${{ steps.each.filter(o, has(o.error))[0].index }}" }
        """,
      calls: ["ok", "refused", "also"], outputs: #"{"story":["succeeded","failed","succeeded"],"bad":1}"#),
    Example(
      name: "an empty loop gives an empty list",
      recipe: """
        steps:
          - { id: each, forEach: "[1].filter(n, n > 1)", uses: bench.post, with: { name: never } }
        outputs: { count: "${{ steps.each.size() }}" }
        """,
      calls: [], outputs: #"{"count":0}"#),
  ]

  static let refusal = ActionError(.conflict, "it is there already", status: 409)

  @Test(arguments: examples)
  func `a recipe makes its calls in order and gives its outputs`(example: Example) async throws {
    let bench = try Bench(example.recipe)
    for name in ["refused", "refusedToo"] { bench.service.script(name, .fail(WalkTests.refusal)) }
    let run = try await bench.run()
    #expect(run.status == .succeeded, "\(run.error?.message ?? "")")
    #expect(bench.service.names == example.calls)
    #expect(run.outputText == example.outputs)
  }

  // MARK: Calls of other recipes

  static let called = """
    recipe: called
    inputs:
      n: { type: int, max: 9 }
      m: { type: int, default: 7 }
    steps:
      - { id: inner, uses: bench.read, with: { name: inner, value: "${{ inputs.n * inputs.m }}" } }
      - { if: inputs.n == 4, fail: four is too many }
    outputs: { product: "${{ steps.inner.value }}" }
    onFailure:
      - { uses: bench.read, with: { name: "called failed: ${{ error.message }}" } }
    finally:
      - { uses: bench.read, with: { name: called is over } }
    """

  @Test func `a call has inputs with defaults, outputs, and handlers of its own`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: three, call: called.yaml, with: { n: 3 } }
        - { id: four, call: called.yaml, with: { n: 4 }, onError: continue }
      outputs: { product: "${{ steps.three.product }}", four: "${{ has(steps.four) }}" }
      """, calling: ["called.yaml": WalkTests.called])
    let run = try await bench.run()
    #expect(run.outputText == #"{"product":21,"four":false}"#)
    #expect(
      bench.service.names == [
        "inner", "called is over", "inner", "called failed: four is too many", "called is over",
      ])
    #expect(run.steps["four"]?.error?.message == "four is too many")
  }

  @Test func `what a call is given is checked against the called recipe's inputs`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: n, uses: bench.read, with: { name: n, value: 10 } }
        - { id: ten, call: called.yaml, with: { n: "${{ steps.n.value }}" } }
      """, calling: ["called.yaml": WalkTests.called])
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(run.error?.message == "the inputs of 'called': 'with.n' must be at most 9, but is 10")
    #expect(run.error?.kind == .validation)
    #expect(run.error?.line == 4)
  }

  // MARK: The end

  @Test func `fail ends the run with its message, place and handlers`() async throws {
    let bench = try Bench(
      """
      steps:
        - let: { n: 2 }
        - if: n > 1
          fail: "${{ n }} are too many"
        - { uses: bench.post, with: { name: never } }
      onFailure:
        - { uses: bench.read, with: { name: "because ${{ error.message }} (${{ n.orValue(0) }})" } }
      finally:
        - { uses: bench.read, with: { name: "over: ${{ error.hasValue() }}" } }
      """)
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(run.error?.message == "2 are too many")
    #expect(run.error?.file == "test.yaml")
    #expect(run.error?.line == 4)
    #expect(bench.service.names == ["because 2 are too many (2)", "over: true"])
  }

  @Test func `finally runs after success, and its failure is the run's`() async throws {
    let bench = try Bench(
      """
      steps:
        - { uses: bench.read, with: { name: a } }
      finally:
        - { uses: bench.post, with: { name: refused } }
      """)
    bench.service.script("refused", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(run.error?.message == "it is there already")
  }

  @Test func `a failure of onFailure hides neither the first error nor finally`() async throws {
    let bench = try Bench(
      """
      steps:
        - fail: first
      onFailure:
        - fail: second
      finally:
        - { uses: bench.read, with: { name: over } }
      """)
    let run = try await bench.run()
    #expect(run.error?.message == "first")
    #expect(bench.service.names == ["over"])
  }

  @Test func `outputs that cannot be computed are the run's failure, with its handlers`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: n, uses: bench.read, with: { name: n } }
      outputs: { all: "${{ 1 / steps.n.value }}" }
      onFailure:
        - { uses: bench.read, with: { name: "${{ error.kind }}" } }
      """)
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(bench.service.names == ["n", "expression"])
    #expect(run.error?.line == 4)
  }

  @Test func `a failed expression is caught like any other failure`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: n, uses: bench.read, with: { name: n } }
        - { id: bad, uses: bench.post, with: { name: never, value: "${{ 1 / steps.n.value }}" }, onError: continue }
        - { id: good, uses: bench.read, with: { name: good } }
      """)
    let run = try await bench.run()
    #expect(run.status == .succeeded)
    #expect(run.story == ["n succeeded", "bad failed", "good succeeded"])
    #expect(bench.service.names == ["n", "good"])
  }
}
