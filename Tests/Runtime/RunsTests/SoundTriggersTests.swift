import ActionKit
import Basics
import Testing

@testable import Recipes

/// Entries of `on:` with computed inputs, made up like `SoundRecipeMaker`'s recipes.
///
/// If an entry checks, its inputs can be computed and fit the recipe's declarations, unless they fail for a reason that
/// only data decides.
@Suite struct SoundTriggersTests {
  private static let inputs: [(name: String, declared: String, type: ValueType)] = [
    ("line", "string", .string), ("number", "int", .int), ("measure", "double", .double), ("flag", "bool", .bool),
    ("at", "timestamp", .timestamp), ("long", "duration", .duration), ("texts", "list(string)", .list(.string)),
    ("counts", "\"map(string, int)\"", .map(.string, .int)),
    (
      "part", "{ type: { id: int, note: string? } }",
      .object(ObjectType(fields: [.init("id", .int), .init("note", .string, isOptional: true)]))
    ),
  ]

  /// The declaration of `typed`.
  private static let typed = EventForm(
    data: .object(
      ObjectSchema(fields: [
        FieldSchema("n", .int, ""), FieldSchema("b", .string, "", isOptional: true), FieldSchema("at", .timestamp, ""),
      ])))

  private enum Kind: CaseIterable {
    case timed, event, typed, ended, file

    var entry: String {
      switch self {
      case .timed: "every: 1h, zone: UTC"
      case .event: "event: paid"
      case .typed: "event: { name: paid, type: { n: int, b: string?, at: timestamp } }"
      case .ended: "afterRecipe: other"
      case .file: "file: inbox/*.csv"
      }
    }

    func declare(in maker: inout SoundExpressionMaker) {
      maker.declare("now", .timestamp)
      var run = RecipeTypes.startingRun
      switch self {
      case .timed:
        run = ObjectType(
          run.name, fields: run.fields.map { $0.name == "slot" ? ObjectType.Field("slot", .timestamp) : $0 })
      case .event: maker.declare("event", EventForm().type)
      case .typed: maker.declare("event", SoundTriggersTests.typed.type)
      case .file: maker.declare("event", EventForm.file)
      case .ended: maker.declare("event", EventForm.ended(as: ["succeeded"], outputs: .dyn))
      }
      maker.declare("run", .object(run))
    }

    func start(at instant: Timestamp) -> StartingRun {
      let data = Value.object(["n": .int(1), "b": .string("b"), "at": .string("2026-11-20T09:30:00Z"), "x": .int(1)])
      var run = StartingRun(id: "01900000-0000-7000-8000-000000000001", recipe: "test", at: instant)
      switch self {
      case .timed: run.slot = instant
      case .event: run.event = try? EventForm().value(id: "e1", time: instant, name: "paid", data: data).get()
      case .typed:
        run.event = try? SoundTriggersTests.typed.value(id: "e1", time: instant, name: "paid", data: data).get()
      case .file:
        run.event = EventForm.file("inbox/a.csv", id: "file-1", time: instant, bytes: 7, modifiedAt: instant)
      case .ended:
        run.event = try? EventForm.ended(
          "01900000-0000-7000-8000-000000000000", of: "other", as: "succeeded", at: instant,
          outputs: .object(["n": .int(1)]), type: nil
        ).get()
      }
      return run
    }
  }

  @Test(arguments: 0..<2) func `inputs that check are computed, and fit`(_ part: Int) throws {
    let instant = try #require(Timestamp("2026-11-20T09:30:00Z"))
    let count = 500
    var checked = 0
    var computed = 0
    for number in 0..<count {
      let seed = UInt64(part) << 32 + UInt64(number)
      let kind = Kind.allCases[number % Kind.allCases.count]
      var maker = SoundExpressionMaker(seed: seed)
      kind.declare(in: &maker)
      let chosen = SoundTriggersTests.inputs.filter { _ in maker.one(in: 3) } + [SoundTriggersTests.inputs[0]]
      let names = Array(Dictionary(grouping: chosen, by: \.name).values.compactMap(\.first)).sorted {
        $0.name < $1.name
      }
      let declared = names.map { "\($0.name): \($0.declared)" }.joined(separator: ", ")
      let given = names.map { input in
        let isText = input.name == "line" && maker.one(in: 2)
        let expression = maker.expression(of: isText ? .int : input.type)
        return "\(input.name): \"\(isText ? "a " : "")${{ \(expression) }}\(isText ? " b" : "")\""
      }.joined(separator: ", ")
      let text = """
        inputs: { \(declared) }
        on: [{ \(kind.entry), inputs: { \(given) } }]
        steps: [{ let: { q: 1 } }]

        """
      let (recipe, faults) = SoundnessTests.check(text)
      guard let recipe, let trigger = recipe.triggers.first else {
        Issue.record("seed \(seed)\n\(faults)\n\(text)")
        continue
      }
      checked += 1
      // Expressions that read nothing are computed as well.
      let inputs = StartingInputs(trigger, of: recipe)
      switch inputs.values(for: kind.start(at: instant)) {
      case .success(let values):
        computed += 1
        for input in names {
          let misfit = input.type.misfit(values[input.name] ?? .null, at: input.name)
          #expect(misfit == nil, "seed \(seed)\n\(text)")
        }
      case .failure(let faults):
        let isData = faults.list.allSatisfy { fault in
          SoundnessTests.decidedByData.contains { fault.message.contains($0) }
        }
        #expect(isData || maker.meetsAnything, "seed \(seed): \(faults.rendered())\n\(text)")
      }
    }
    #expect(checked > count * 9 / 10)
    #expect(computed > count / 2)
  }
}
