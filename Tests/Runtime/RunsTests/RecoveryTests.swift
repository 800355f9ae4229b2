import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

/// A run that is resumed by a program with other actions than the one that began it.
@Suite struct RecoveryTests {
  /// A later version of the plugin, without any reads.
  enum LaterPlugin: Plugin {
    static let name = "bench"
    static let summary = "Does what a test's script says."
    static let actions: [any Action<BenchService>.Type] = [Put.self]
    typealias Configuration = BenchPlugin.Configuration

    static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> BenchService {
      try await BenchPlugin.connect(configuration, in: context)
    }
  }

  static let recipe = """
    steps:
      - { id: a, uses: bench.read, with: { name: a, value: 3 } }
      - { id: b, uses: bench.post, with: { name: b }, onError: continue }
      - id: each
        forEach: "[1, 2]"
        uses: bench.read
        with: { name: "each ${{ item }}", value: "${{ item }}" }
      - { id: sub, call: sub.yaml }
      - let: { n: "${{ steps.a.value + steps.sub.value }}" }
      - { id: skipped, if: n > 9, uses: bench.read, with: { name: never } }
      - id: fan
        parallel:
          left:
            - { id: l, uses: bench.read, with: { name: l, value: 1 } }
          right:
            - { wait: 1d }
            - id: block
              steps:
                - { id: r, uses: bench.put, with: { name: r, value: 2 } }
      - { id: c, uses: bench.put, with: { name: "c ${{ n + steps.fan.left.l.value }} ${{ has(steps.b) }} ${{ has(steps.skipped) }}", value: 4 } }
    outputs: { c: "${{ steps.c.value + steps.a.value }}", each: "${{ steps.each.map(e, e.value) }}" }
    """

  static let sub = """
    recipe: sub
    steps: [{ id: a, uses: bench.read, with: { name: sub, value: 5 } }]
    outputs: { value: "${{ steps.a.value }}" }
    """

  private func check(_ bench: Bench, _ record: RunRecord, _ text: String = recipe) -> CheckedRecipe {
    var environment = RecipeEnvironment(catalog: ActionCatalog([LaterPlugin.self])) { path throws(FileError) in
      Source(name: path, text: RecoveryTests.sub)
    }
    environment.isOver = { record.steps[$0]?.status.isEnded ?? false }
    return Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
  }

  @Test func `what is over need not fit any more, and the rest goes on with its values`() async throws {
    let bench = try Bench(RecoveryTests.recipe, calling: ["sub.yaml": RecoveryTests.sub])
    bench.service.script("b", .fail(WalkTests.refusal))
    let left = try await bench.run()
    #expect(left.status == .waiting)
    let checked = check(bench, left)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    bench.time.advance(by: .seconds(86_400))
    let run = try await RunEngine(
      left, of: recipe, secrets: bench.secrets, services: bench.services,
      in: RunSurroundings(store: bench.store, time: bench.time, folder: "/tmp")
    ).run()
    #expect(run.status == .succeeded, "\(run.error?.message ?? "")")
    #expect(run.outputText == #"{"c":7,"each":[1,2]}"#)
    #expect(bench.service.names.last == "c 9 false false")
  }

  @Test func `a fault in the remaining steps counts, wherever it is`() async throws {
    let bench = try Bench(
      RecoveryTests.recipe + "\nfinally: [{ uses: bench.read, with: { name: over } }]",
      calling: ["sub.yaml": RecoveryTests.sub])
    let left = try await bench.run()
    let checked = check(bench, left, RecoveryTests.recipe + "\nfinally: [{ uses: bench.read, with: { name: over } }]")
    #expect(checked.recipe == nil)
    let errors = checked.diagnostics.filter { $0.severity == .error && $0.location?.source.name == "test.yaml" }
    #expect(errors.map(\.message) == ["no action is named 'bench.read'; 'bench' has bench.put"])
  }

  @Test func `a run knows its slot and which attempt it is`() async throws {
    let bench = try Bench(
      "steps: [{ wait: 1s }]\noutputs: { slot: \"${{ has(run.slot) ? string(run.slot) : '' }}\", attempt: \"${{ run.attempt }}\" }"
    )
    let slot = try #require(Timestamp("2026-11-20T09:00:00Z"))
    try await bench.store.memory.append([
      .runCreated(
        RunCreated(
          run: "r1", at: bench.time.now(), recipe: "test", file: "test.yaml", texts: .inline(.map(ValueMap())),
          inputs: .map(ValueMap()), program: "test", cause: RunCause(.slot, slot: slot), attempt: 2))
    ])
    #expect(try await bench.resume().outputText == #"{"slot":"2026-11-20T09:00:00Z","attempt":2}"#)
  }

  @Test func `all that is uncertain in a loop is resolved at once, or item by item`() async throws {
    let recipe = """
      steps:
        - id: each
          forEach: "[0, 1, 2]"
          maxParallel: 3
          uses: bench.post
          with: { name: "${{ string(item) }}", value: "${{ item }}" }
      outputs: { each: "${{ steps.each.map(e, e.value) }}" }
      """
    func uncertain() async throws -> Bench {
      let bench = try Bench(recipe)
      let latch = Latch()
      for name in ["0", "1", "2"] { bench.service.script(name, .meet(3, latch)) }
      bench.restart(dyingAt: .init(append: 5, isAfter: false))
      try await bench.runUntilDeath()
      #expect(try await bench.resume().status == .uncertain)
      return bench
    }
    let all = try await uncertain()
    let count = try all.record.uncertainSteps.count
    #expect(count > 1)
    do {
      _ = try await all.resolve("each", as: .done(.object(["name": .string("0"), "value": .int(0)])))
      Issue.record("it was taken")
    } catch let fault as ResolutionError {
      #expect(fault.message.hasPrefix("'each' holds \(count) uncertain steps, and each has an output of its own;"))
    }
    #expect(try await all.resolve("each", as: .retry).status == .queued)
    #expect(try await all.resume().outputText == #"{"each":[0,1,2]}"#)

    let one = try await uncertain()
    let paths = try one.record.uncertainSteps.map(\.path).sorted()
    for path in paths {
      let index = try #require(path.dropLast().last?.wholeNumberValue)
      _ = try await one.resolve(path, as: .done(.object(["name": .string("x"), "value": .int(index * 10)])))
    }
    #expect(try await one.resume().status == .succeeded)
  }
}
