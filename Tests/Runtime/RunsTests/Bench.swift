import ActionKit
import ActionTestKit
import Basics
import Recipes
import RunState
import StorePlugin
import Synchronization
import Testing

@testable import Runs

/// A clock that skips short sleeps, and moves on by their length; long sleeps last until they are cancelled.
///
/// So retries take no time, and an action's default time limit never ends. A time limit of a recipe is shorter, and
/// ends as soon as the hanging call has begun.
final class QuickTime: TimeSource {
  private let clock = TestTime()
  private let slept = Mutex<[TimeSpan]>([])
  /// Whether short sleeps last a little longer.
  let isHeld = Mutex<@Sendable () -> Bool>({ false })
  /// A sleep of at least this length is long.
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

  /// The machine was off, or idle.
  func set(to now: Timestamp) { clock.setWallClock(to: now) }
  func advance(by span: TimeSpan) { clock.setWallClock(to: clock.now().advanced(by: span) ?? .latest) }
}

/// A clock that skips sleeps, and is set back in the first one.
final class SteppedTime: TimeSource {
  private let clock = TestTime()
  private let step: Mutex<TimeSpan>

  init(stepBack step: TimeSpan) { self.step = Mutex(step) }

  func now() -> Timestamp { clock.now() }
  func elapsed() -> TimeSpan { clock.elapsed() }
  func advance(by span: TimeSpan) { clock.advance(by: span) }

  func sleep(for span: TimeSpan) async throws {
    try Task.checkCancellation()
    clock.advance(by: span)
    let step = step.withLock { step in
      defer { step = .zero }
      return step
    }
    clock.setWallClock(to: clock.now().advanced(by: .zero - step) ?? .earliest)
  }
}

/// A recipe on a service that a test scripts, and the state that its run leaves.
final class Bench: Sendable {
  let service = BenchService()
  let time = QuickTime()
  let recipe: Recipe
  let secrets: Secrets
  private let chance: Double
  /// The URL of the agent's pages, if it has any.
  private let base: String?
  private let inputs: ValueMap
  let services: Services
  /// The recipe, read to be planned.
  let forPlan: Recipe?
  private let current: Mutex<CrashingStore>
  private let reports = Mutex<[Progress]>([])
  /// The engine of the run.
  let walks = Census()

  struct Unchecked: Error, CustomStringConvertible { var description: String }

  init(
    _ text: String, calling files: [String: String] = [:], inputs: ValueMap = ValueMap(),
    secrets: [String: String] = [:], chance: Double = 0, dyingAt point: CrashingStore.Point? = nil,
    limits: ConnectionLimits? = nil, base: String? = nil
  ) throws {
    self.base = base
    let catalog = ActionCatalog([BenchPlugin.self, StorePlugin.self])
    var environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      guard let text = files[path] else { throw FileError(.read, path, .system(2)) }
      return Source(name: path, text: text)
    }
    let checked = Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
    guard let recipe = checked.recipe else {
      throw Unchecked(description: Diagnostics(checked.diagnostics).rendered())
    }
    self.recipe = recipe
    environment.isForPlan = true
    forPlan = Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment).recipe
    self.inputs = inputs
    self.chance = chance
    self.secrets = Secrets(environment: secrets)
    let store = CrashingStore(dyingAt: point)
    current = Mutex(store)
    let limiter = limits.map { [time] limits in
      ConnectionLimiter("bench", limits, after: nil, time: time, pace: nil) { event throws(StateError) in
        try await store.memory.append(.connectionUsed(event))
      }
    }
    let settings = Value.object(["service": .string(BenchPlugin.register(service))])
    services = Services(
      catalog: catalog,
      connections: ["bench": Services.Connection(plugin: PluginDescriptor(BenchPlugin.self), settings: settings)],
      redactor: Redactor(named: secrets.map { ($0.key, $0.value) }), time: time,
      limiters: limiter.map { ["bench": $0] } ?? [:])
    time.isHeld.withLock { $0 = { [service] in service.awaitsHang } }
  }

  var store: CrashingStore { current.withLock { $0 } }
  var progress: [Progress] { reports.withLock { $0 } }
  var record: RunRecord { get throws { try #require(store.run("r1")) } }

  func create() async throws {
    var run = RunCreated(
      run: "r1", at: time.now(), recipe: recipe.name, file: "test.yaml", texts: .inline(.map(ValueMap())),
      inputs: .map(inputs), program: "test")
    run.base = base
    try await store.memory.append([.runCreated(run)])
  }

  /// Resumes the run in a new program.
  func engine(_ id: String = "r1") throws -> RunEngine {
    let store = store
    service.crash.withLock { $0 = { isSoon in isSoon ? store.dieNext() : store.die() } }
    return RunEngine(
      try #require(store.run(id)), of: recipe, secrets: secrets, services: services,
      in: RunSurroundings(
        store: store, time: time, folder: "/tmp",
        report: { [self, walk = walks.member()] event in
          _ = walk
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

  /// Plans the run.
  func plan(_ values: [String: Value] = [:]) async throws -> Plan {
    await Planner.plan(
      try #require(forPlan), inputs: .map(inputs), secrets: secrets, services: services, values: values, time: time,
      folder: "/tmp")
  }

  /// Starts the machine again, with the stored events.
  func restart(dyingAt point: CrashingStore.Point? = nil) {
    let memory = store.memory
    current.withLock { $0 = CrashingStore(memory, dyingAt: point) }
  }

  func resume(dyingAt point: CrashingStore.Point? = nil) async throws -> RunRecord {
    restart(dyingAt: point)
    return try await engine().run()
  }

  /// Resumes the run whenever it is due, each time in a new program, until it ends or only waits for a person.
  ///
  /// Gives also the instants when it woke, as time since the beginning.
  func driven() async throws -> (run: RunRecord, woke: [TimeSpan]) {
    let start = try (store.run("r1") ?? finished).createdAt
    var run = try await resume()
    var woke: [TimeSpan] = []
    while run.status == .waiting, let wakeAt = run.wakeAt {
      time.set(to: max(wakeAt, time.now()))
      woke.append(wakeAt.span(since: start) ?? .zero)
      run = try await resume()
    }
    return (run, woke)
  }

  /// Sends an event.
  func send(_ name: String, id: String, _ data: Value? = nil, to run: String? = nil) async throws {
    try await store.append(
      .eventReceived(
        EventRecord(id: id, name: name, data: data.map { .inline($0) }, run: run, receivedAt: time.now())))
  }

  /// Decides about a step.
  func decide(_ path: StepPath, _ isApproved: Bool, comment: String? = nil) async throws {
    try await store.append(
      .decisionGiven(
        DecisionGiven(
          run: "r1", step: path,
          decision: DecisionRecord(isApproved: isApproved, by: "ana", at: time.now(), comment: comment))))
  }

  func resolve(_ path: StepPath, as resolution: Resolution) async throws -> RunRecord {
    try await record.resolve(path, as: resolution, of: recipe, in: store, at: time.now())
  }
}

extension StepRecord {
  /// The output as JSON.
  var outputText: String? {
    guard case .inline(let value)? = output else { return nil }
    return try? JSON.text(value)
  }
}

extension RunRecord {
  /// The outputs as JSON.
  var outputText: String {
    guard case .inline(let value)? = outputs else { return "none" }
    return (try? JSON.text(value)) ?? "not JSON"
  }

  /// Each step with its final status, in the order of their starts.
  var story: [String] { stepsInOrder.map { "\($0.path) \($0.status.rawValue)" } }
}
