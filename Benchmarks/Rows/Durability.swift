import ActionKit
import Basics
import CBaselines
import Foundation
import Recipes
import RunState
import Runs

/// Runs and their state on disk, against a loop in C that appends a line and syncs it.
struct Durability {
  private let folder: WorkFolder
  private static let time = SystemTime()
  private static let catalog = ActionCatalog([Trivial.self])

  init(_ folder: WorkFolder) { self.folder = folder }

  // MARK: Runs

  func chain(in name: String = "chain", _ what: String = "durable chain of 1,000 steps") async throws -> [Row] {
    let steps = 1000
    let recipe = try Self.recipe(steps: steps)
    let store = try await FileStateStore.open(folder.path(name), program: "benchmark")
    let before = try syncsPerSecond(steps)
    let spent = try await spent { try await Self.run(recipe, in: store) }
    let rate = Double(steps) / spent.wall
    // Before and after the measurement, because disks are moody.
    let floor = (before + (try syncsPerSecond(steps))) / 2
    try await store.close()
    return [
      Row(
        what, rate / floor, "×",
        .atLeast(0.75).missed(at: 0.56, because: "a step computes for longer than it waits for its sync"),
        of: "\(displayed(rate)) steps/s",
        beside: "\(displayed(floor))/s: C append + fdatasync"),
      .processor(
        "\(what): processor", spent.processor,
        .atMost(110).missed(at: 148, because: "a quarter is the kernel's part of the syncs, and the rest is spread")),
    ]
  }

  func crowd() async throws -> [Row] {
    let (runs, steps) = (64, 200)
    let spawner = Spawner(folder)
    let group = [Spawner.floors, "group", folder.path("group"), "\(runs)", "\(steps)"]
    let recipe = try Self.recipe(steps: steps)
    let store = try await FileStateStore.open(folder.path("crowd"), program: "benchmark")
    let before = try spawner.usage(of: group).seconds
    let spent = try await spent {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<runs { group.addTask { try await Self.run(recipe, in: store) } }
        try await group.waitForAll()
      }
    }
    let floor = (before + (try spawner.usage(of: group).seconds)) / 2
    try await store.close()
    return [
      Row(
        "64 runs of 200 steps at once, durable", floor / spent.wall, "×",
        .atLeast(1).missed(at: 0.38, because: "a step computes for longer than it waits for a shared sync"),
        of: "\(displayed(Double(runs * steps) / spent.wall)) steps/s",
        beside: "\(displayed(Double(runs * steps) / floor))/s: C group commit"),
      .processor(
        "64 runs of 200 steps at once, durable: processor", spent.processor,
        .atMost(600).missed(at: 722, because: "64 tasks on two threads wake each other for each batch of the journal")),
    ]
  }

  static func recipe(steps: Int) throws -> Recipe {
    try recipe("steps:\n" + (0..<steps).map { "  - { uses: trivial.count, with: { from: \($0) } }\n" }.joined())
  }

  static func recipe(_ text: String) throws -> Recipe {
    let checked = Recipe.check(Source(name: "chain.yaml", text: text), in: environment)
    guard let recipe = checked.recipe else { throw NotMeasured(Diagnostics(checked.diagnostics).rendered()) }
    return recipe
  }

  private static var environment: RecipeEnvironment {
    RecipeEnvironment(catalog: catalog) { path throws(FileError) in Source(name: path, bytes: try Files.read(path)) }
  }

  static func run(_ recipe: Recipe, in store: any StateStore) async throws {
    let id = newID()
    try await store.append(.runCreated(created(id, recipe.name)))
    try await walk(id, of: recipe, in: store, until: .succeeded)
  }

  static var now: Timestamp { time.now() }

  static func newID() -> String {
    var random = SystemRandomNumberGenerator()
    return UUID7(at: now, using: &random).description
  }

  /// Walks a run in the state until it is over or waits.
  static func walk(_ id: String, of recipe: Recipe, in store: any StateStore, until status: RunStatus) async throws {
    guard let record = store.run(id) else { throw NotMeasured("the run is not in the state") }
    let services = Services(catalog: catalog, connections: [:], redactor: Redactor([]), time: time)
    let engine = RunEngine(
      record, of: recipe, secrets: Secrets(environment: [:]), services: services,
      in: RunSurroundings(store: store, time: time, folder: WorkFolder.programs.path))
    let ended = try await engine.run()
    if ended.status != status {
      throw NotMeasured("the run ended as \(ended.status): \(ended.error?.message ?? "")")
    }
  }

  static func created(_ id: String, _ recipe: String) -> RunCreated {
    RunCreated(
      run: id, at: time.now(), recipe: recipe, file: "chain.yaml", texts: .inline(.map(ValueMap())),
      inputs: .map(ValueMap()), program: "benchmark")
  }

  /// How often in a second a line of the usual length can be appended and synced.
  func syncsPerSecond(_ count: Int) throws -> Double {
    let line = [UInt8](repeating: 0x2E, count: 400)
    let seconds = cbaselines_append_and_sync(folder.path("baseline"), line, line.count, Int32(count))
    if seconds <= 0 { throw NotMeasured("cannot append to \(folder.path("baseline"))") }
    return Double(count) / seconds
  }

  // MARK: Restart

  /// 250 runs of 500 steps; each step began and ended.
  func restart() async throws -> Row {
    let path = folder.path("restart")
    var store: FileStateStore? = try await FileStateStore.open(
      path, program: "benchmark", compaction: CompactionRule(smallest: .max))
    for run in 0..<250 {
      let id = "run\(run)"
      let now = Self.time.now()
      var events: [StateEvent] = [.runCreated(Self.created(id, "restart"))]
      for step in 0..<500 {
        let path = StepPath("#\(step)")
        events.append(.stepBegan(StepBegan(run: id, at: now, step: path, now: now)))
        let output = StoredValue.inline(.object(["value": .int(step)]))
        events.append(.stepEnded(StepEnded(run: id, at: now, step: path, status: .succeeded, output: output)))
      }
      try await store?.append(events)
    }
    // Dropped without closing, as by a crash: closing would write a snapshot and begin a new journal.
    store = nil
    let seconds = try reopened(path)
    return .processor(
      "restart with 250,000 journal lines: processor", seconds,
      .atMost(500).missed(at: 1206, because: "6 µs for each line, most of it to read its JSON into a record"))
  }

  /// The argument that makes this program open a state and print its processor time.
  static let openingWord = "open"

  static func open(_ path: String) async throws -> Never {
    let start = processorSeconds()
    let store = try await FileStateStore.open(path, program: "benchmark")
    print(processorSeconds() - start, store.state.openRuns.count)
    exit(0)
  }

  /// The processor time to open it in a new process, which has nothing of the old one to free.
  private func reopened(_ path: String) throws -> Double {
    let words = try ownOutput(Self.openingWord, path).split(separator: " ")
    guard words.count == 2, let seconds = Double(words[0]), words[1] == "250\n" else {
      throw NotMeasured("the 250 runs did not come back")
    }
    return seconds
  }
}

/// A plugin whose one action does next to nothing.
private enum Trivial: Plugin {
  static let name = "trivial"
  static let summary = "Counts."
  static let actions: [any Action<Counter>.Type] = [Count.self]

  struct Configuration: FieldSet {}

  static func connect(_ configuration: Configuration, in context: PluginContext) -> Counter { Counter() }
}

private struct Counter: Sendable {}

private enum Count: Action {
  static let name = "count"
  static let summary = "Adds one."
  static let effect = Effect.pure
  static let examples = [Example("One", "from: 0")]

  struct Input: FieldSet {
    @Field("Where to begin.") var from: Int
  }

  struct Output: FieldSet {
    @Field("The next number.") var next: Int
  }

  static func run(_ input: Input, on counter: Counter, in context: ActionContext) async throws -> Output {
    let next = input.from + 1
    return try Output { $0.next = next }
  }
}
