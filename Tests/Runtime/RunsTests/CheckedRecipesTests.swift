import Basics
import RunState
import Testing

@testable import Runs

/// A recipe with only its important parts written, and its expected end.
struct CheckedCase: Sendable, CustomTestStringConvertible {
  /// The result of checking the recipe.
  enum End: Sendable {
    /// The check refuses it, saying this among other things.
    case refused(String)
    /// It checks and succeeds with these outputs.
    case runs(String)
  }

  let name: String
  let steps: String
  let end: End

  init(_ name: String, _ steps: String, _ end: End) {
    (self.name, self.steps, self.end) = (name, steps, end)
  }

  var testDescription: String { name }
}

/// If a recipe checks, it runs: the type that the checker gives a value is its type in the run.
@Suite struct CheckedRecipesTests {
  /// Checks the recipe, and runs it without and with the optional fields of `o`.
  private func expect(_ one: CheckedCase) async throws {
    let text = "inputs: { o: { type: { a: int, b: string?, n: int? } }, xs: list(int), s: string }\n" + one.steps
    let files = [
      "called.yaml": """
      recipe: called
      inputs: { o: { type: { b: string? } } }
      steps: [{ let: { nothing: 1 } }]
      outputs: { b: "${{ inputs.o.?b }}" }
      """
    ]
    for o in ["{}", #"{"b": "b", "n": 1}"#] {
      var object = try #require(try JSON.parse(o).map)
      object["a"] = .int(1)
      let inputs = ValueMap([("o", .map(object)), ("xs", .list([.int(3), .int(1), .int(2)])), ("s", .string("s"))])
      let bench: Bench
      do {
        bench = try Bench(text, calling: files, inputs: inputs)
      } catch let error as Bench.Unchecked {
        guard case .refused(let message) = one.end else {
          Issue.record("\(error.description)")
          return
        }
        #expect(error.description.contains(message), "\(error.description)")
        return
      }
      let record = try await bench.run()
      switch one.end {
      case .refused(let message):
        Issue.record("it checks, and should be refused: \(message); \(record.error?.message ?? record.outputText)")
        return
      case .runs(let outputs):
        let wanted = outputs.split(separator: "|").map { String($0) }
        #expect(wanted.contains(record.outputText), "\(record.error?.message ?? record.outputText)")
      }
    }
  }

  private static let nested: [CheckedCase] = [
    CheckedCase(
      "an optional that is named under a condition",
      """
      steps:
        - { if: inputs.o.a == 1, let: { z: "${{ inputs.o.?b }}" } }
        - { let: { y: "${{ z.orValue('x') + 'y' }}" } }
      """, .refused("write `z.orValue(optional.none()).orValue('x')`")),
    CheckedCase(
      "an optional of an optional is unwrapped twice",
      """
      steps: [{ if: inputs.o.a == 1, let: { z: "${{ inputs.o.?b }}" } }]
      outputs: { y: "${{ z.orValue(optional.none()).orValue('x') + 'y' }}" }
      """, .runs(#"{"y":"xy"}|{"y":"by"}"#)),
    CheckedCase(
      "an optional among the outputs of a block",
      """
      steps:
        - { id: block, if: inputs.o.a == 1, steps: [{ let: { q: 1 } }], outputs: { b: "${{ inputs.o.?b }}" } }
        - { let: { y: "${{ steps.?block.?b.orValue('x') + 'y' }}" } }
      """, .refused("write `steps.?block.?b.orValue(optional.none()).orValue('x')`")),
    CheckedCase(
      "an optional among the outputs of a called recipe",
      """
      steps:
        - { id: sub, if: inputs.o.a == 1, call: called.yaml, with: { o: { b: "${{ inputs.s }}" } } }
        - { let: { y: "${{ steps.?sub.b.orValue('x') + 'y' }}" } }
      """, .refused("write `steps.?sub.b.orValue(optional.none()).orValue('x')`")),
    CheckedCase(
      "an optional that is an item of a loop",
      """
      steps:
        - id: each
          forEach: "[inputs.o.?b]"
          steps: [{ if: inputs.o.a == 1, let: { z: "${{ item }}" } }, { let: { y: "${{ z.orValue('x') + 'y' }}" } }]
      """, .refused("write `z.orValue(optional.none()).orValue('x')`")),
    CheckedCase(
      "an optional that is an item of a list",
      """
      steps: [{ let: { y: "${{ [inputs.o.?b][?0].orValue('x') + 'y' }}" } }]
      """, .refused("write `[inputs.o.?b][?0].orValue(optional.none()).orValue('x')`")),
    CheckedCase(
      "an optional that is a field",
      """
      steps: [{ let: { y: "${{ {'k': inputs.o.?b}.?k.orValue('x') + 'y' }}" } }]
      """, .refused("write `{'k': inputs.o.?b}.?k.orValue(optional.none()).orValue('x')`")),
    CheckedCase(
      "a field of an optional that is in an optional",
      """
      steps: [{ if: inputs.o.a == 1, let: { z: "${{ optional.of(inputs.o) }}" } }]
      outputs: { a: "${{ z.?a.orValue(0) }}", b: "${{ z.b.orValue('x') }}", c: "${{ z['b'].orValue('x') }}" }
      """, .runs(#"{"a":1,"b":"x","c":"x"}|{"a":1,"b":"b","c":"b"}"#)),
    CheckedCase(
      "an optional in the steps of the end",
      """
      steps: [{ if: inputs.o.a == 1, let: { z: "${{ inputs.o.a }}" } }, { let: { w: "${{ inputs.o.?b }}" } }]
      finally: [{ let: { y: "${{ z.orValue(0) + 1 }}", x: "${{ w.orValue('x') + 'y' }}" } }]
      """, .runs("{}")),
    CheckedCase(
      "a null that an expression gives to a field of a map",
      """
      steps: [{ let: { m: { a: "${{ inputs.o.a == 1 ? null : 'a' }}", b: 1 } } }]
      outputs: { a: "${{ m.?a.orValue('x') }}" }
      """, .runs(#"{"a":"x"}"#)),
    CheckedCase(
      "a field that may be left out for a null",
      """
      steps: [{ let: { m: { a: "${{ inputs.o.a == 1 ? null : 'a' }}", b: 1 } } }]
      outputs: { a: "${{ m.a == null }}" }
      """, .refused("`a` may be absent")),
  ]

  private static let calls: [CheckedCase] = [
    CheckedCase(
      "value() of a field that may be absent",
      "steps: [{ let: { y: \"${{ inputs.o.?b.value() }}\" } }]", .refused("write `inputs.o.?b.orValue(…)`")),
    CheckedCase(
      "value() of a step that may be absent",
      """
      steps:
        - { id: s, if: inputs.o.a == 2, uses: bench.read, with: { name: s } }
        - { let: { y: "${{ steps.?s.value() }}" } }
      """, .refused("value() fails where `s` is absent")),
    CheckedCase(
      "value() of a name that may be absent",
      """
      steps: [{ if: inputs.o.a == 2, let: { z: 1 } }, { let: { y: "${{ z.value() }}" } }]
      """, .refused("ask first, as in `z.hasValue() && …`")),
    CheckedCase(
      "value() of one of two that may be absent",
      """
      steps: [{ let: { y: "${{ inputs.o.?b.or(inputs.o.?b).value() }}" } }]
      """, .refused("value() fails where")),
    CheckedCase(
      "value() of what is known to be there",
      """
      steps: [{ if: inputs.o.a == 1, let: { z: 1 } }, { if: "!z.hasValue()", fail: it is missing }]
      outputs:
        a: "${{ has(inputs.o.b) ? inputs.o.?b.value() : 'x' }}"
        b: "${{ inputs.o.?b.hasValue() ? inputs.o.?b.value() + inputs.o.b : 'x' }}"
        c: "${{ inputs.o.?b.hasValue() && inputs.o.?b.value() == 'b' }}"
        d: "${{ z.value() }}"
        e: "${{ optional.of(1).value() + inputs.xs[?0].value() }}"
      """, .runs(#"{"a":"x","b":"x","c":false,"d":1,"e":4}|{"a":"b","b":"bb","c":true,"d":1,"e":4}"#)),
    CheckedCase(
      "sort() of lists", "steps: [{ let: { y: \"${{ [inputs.xs, [1]].sort() }}\" } }]",
      .refused("sort() wants items that have an order")),
    CheckedCase(
      "sort() of maps", "steps: [{ let: { y: \"${{ [inputs.o, inputs.o].sort() }}\" } }]",
      .refused("sort() wants items that have an order")),
    CheckedCase(
      "sort() of items of two kinds", "steps: [{ let: { y: \"${{ [inputs.s, 1].sort() }}\" } }]",
      .refused("sort() wants items of one type")),
    CheckedCase(
      "sort() of what may be null", "steps: [{ let: { y: \"${{ [inputs.s, null].sort() }}\" } }]",
      .refused("sort() wants items that have an order")),
    CheckedCase(
      "a cell of a CSV that is a list", "steps: [{ let: { y: \"${{ csv.format([{'a': inputs.xs}]) }}\" } }]",
      .refused("csv.format() writes no list into a cell")),
    CheckedCase(
      "a cell of a CSV that is a map",
      "steps: [{ let: { y: \"${{ csv.format([{'a': {'b': inputs.s}}], ';') }}\" } }]",
      .refused("csv.format() writes no map into a cell")),
    CheckedCase(
      "a cell of a CSV that is an optional",
      "steps: [{ let: { q: 1 } }]\noutputs: { y: \"${{ csv.format([{'a': inputs.o.?b}]) }}\" }",
      .runs(#"{"y":"a\n\"\"\n"}|{"y":"a\nb\n"}"#)),
    CheckedCase(
      "an item of a list that holds no lists and is flattened",
      "steps: [{ let: { y: \"${{ [inputs.o.a].flatten()[0] + 'x' }}\" } }]", .refused("`+` does not take an int")),
    CheckedCase(
      "rows of a CSV out of a list that holds no lists and is flattened",
      "steps: [{ let: { y: \"${{ csv.format([now].flatten()) }}\" } }]", .refused("csv.format() wants a list(map")),
    CheckedCase(
      "an item of a list that is flattened as deep as the data says",
      "steps: [{ let: { y: \"${{ [[inputs.s]].flatten(inputs.o.a)[0] + 'x' }}\" } }]", .refused("`+` does not take")),
    CheckedCase(
      "items of lists that are flattened",
      """
      steps: [{ let: { q: 1 } }]
      outputs:
        a: "${{ [inputs.s].flatten()[0] + 'x' }}"
        b: "${{ [[[inputs.s]], [['b']]].flatten(2)[1] + 'x' }}"
        c: "${{ [inputs.o.?b].flatten()[0].orValue('c') + 'x' }}"
      """, .runs(#"{"a":"sx","b":"bx","c":"cx"}|{"a":"sx","b":"bx","c":"bx"}"#)),
    CheckedCase(
      "a number that is an optional", "steps: [{ let: { y: \"${{ '%d'.format([inputs.o.?n]) }}\" } }]",
      .refused("the clause '%d' takes an int, and an optional was given")),
    CheckedCase(
      "a number that may be null",
      "steps: [{ let: { y: \"${{ '%d'.format([inputs.s == 's' ? null : 1]) }}\" } }]",
      .refused("the clause '%d' takes an int, and null was given")),
  ]

  @Test(arguments: nested)
  func `an optional in an optional has the type of its value`(_ one: CheckedCase) async throws {
    try await expect(one)
  }

  @Test(arguments: calls)
  func `what a function refuses for its type is refused by the check`(_ one: CheckedCase) async throws {
    try await expect(one)
  }
}
