import ActionKit
import ActionTestKit
import Basics
import Recipes
import RunState
import Synchronization
import Testing

@testable import Runs

/// A clock on which short sleeps end at once and take their time, and long ones last until they are cancelled.
///
/// So retries take no time, each action's default time limit never strikes, and one that a recipe sets (it is shorter)
/// strikes as soon as the call that is to hang has come.
final class QuickTime: TimeSource {
  private let clock = TestTime()
  private let slept = Mutex<[TimeSpan]>([])
  /// Whether short sleeps last a little longer.
  let isHeld = Mutex<@Sendable () -> Bool>({ false })
  /// What is as long as this is long.
  let long = Mutex(TimeSpan.seconds(200))

  func now() -> Timestamp { clock.now() }
  func elapsed() -> TimeSpan { clock.elapsed() }
  /// The short sleeps so far.
  var sleeps: [TimeSpan] { slept.withLock { $0 } }

  func sleep(for span: TimeSpan) async throws {
    if span >= long.withLock({ $0 }) { return try await clock.sleep(for: span) }
    let isHeld = isHeld.withLock { $0 }
    while isHeld(), !Task.isCancelled { await Task.yield() }
    try Task.checkCancellation()
    slept.withLock { $0.append(span) }
    clock.setWallClock(to: clock.now().advanced(by: span) ?? .latest)
  }

  func advance(by span: TimeSpan) { clock.setWallClock(to: clock.now().advanced(by: span) ?? .latest) }
}

/// A recipe on a service that a test scripts, and the state that its run leaves.
final class Bench: Sendable {
  let service = BenchService()
  let time = QuickTime()
  let recipe: Recipe
  let secrets: Secrets
  private let chance: Double
  private let inputs: ValueMap
  private let services: Services
  private let current: Mutex<CrashingStore>
  private let reports = Mutex<[Progress]>([])

  struct Unchecked: Error, CustomStringConvertible { var description: String }

  init(
    _ text: String, calling files: [String: String] = [:], inputs: ValueMap = ValueMap(),
    secrets: [String: String] = [:], chance: Double = 0, dyingAt point: CrashingStore.Point? = nil
  ) throws {
    let catalog = ActionCatalog([BenchPlugin.self])
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      guard let text = files[path] else { throw FileError(.read, path, .system(2)) }
      return Source(name: path, text: text)
    }
    let checked = Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
    guard let recipe = checked.recipe else {
      throw Unchecked(description: Diagnostics(checked.diagnostics).rendered())
    }
    self.recipe = recipe
    self.inputs = inputs
    self.chance = chance
    self.secrets = Secrets(environment: secrets)
    let settings = Value.object(["service": .string(BenchPlugin.register(service))])
    services = Services(
      catalog: catalog,
      connections: ["bench": Services.Connection(plugin: PluginDescriptor(BenchPlugin.self), settings: settings)],
      redactor: Redactor(recipe.allSecrets.compactMap { secrets[$0.name] }), time: time)
    current = Mutex(CrashingStore(dyingAt: point))
    time.isHeld.withLock { $0 = { [service] in service.awaitsHang } }
  }

  var store: CrashingStore { current.withLock { $0 } }
  var progress: [Progress] { reports.withLock { $0 } }
  var record: RunRecord { get throws { try #require(store.run("r1")) } }

  func create() async throws {
    try await store.memory.append([
      .runCreated(
        RunCreated(
          run: "r1", at: time.now(), recipe: recipe.name, file: "test.yaml", texts: .inline(.map(ValueMap())),
          inputs: .map(inputs), program: "test"))
    ])
  }

  /// Carries the run on, in a new program.
  func engine() throws -> RunEngine {
    let store = store
    service.crash.withLock { $0 = { isSoon in isSoon ? store.dieNext() : store.die() } }
    return RunEngine(
      try record, of: recipe, secrets: secrets, services: services,
      in: RunSurroundings(
        store: store, time: time, folder: "/tmp",
        report: { [self] event in
          reports.withLock { $0.append(event) }
        }, chance: { [chance] in chance }))
  }

  func run() async throws -> RunRecord {
    try await create()
    return try await engine().run()
  }

  /// Runs until the store dies.
  func runUntilDeath() async throws {
    await #expect(throws: CrashingStore.death) { try await run() }
  }

  /// The machine is on again, with what was kept.
  func restart(dyingAt point: CrashingStore.Point? = nil) {
    let memory = store.memory
    current.withLock { $0 = CrashingStore(memory, dyingAt: point) }
  }

  func resume(dyingAt point: CrashingStore.Point? = nil) async throws -> RunRecord {
    restart(dyingAt: point)
    return try await engine().run()
  }

  func resolve(_ path: StepPath, as resolution: Resolution) async throws -> RunRecord {
    try await record.resolve(path, as: resolution, of: recipe, in: store, at: time.now())
  }
}

extension RunRecord {
  /// The outputs as JSON.
  var outputText: String {
    guard case .inline(let value)? = outputs else { return "none" }
    return (try? JSON.text(value)) ?? "not JSON"
  }

  /// Each step with how it ended, in the order in which they began.
  var story: [String] { stepsInOrder.map { "\($0.path) \($0.status.rawValue)" } }
}
