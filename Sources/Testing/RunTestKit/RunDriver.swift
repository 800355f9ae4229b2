package import ActionKit
package import ActionTestKit
package import Basics
package import Recipes
package import RunState
package import Runs
import Synchronization

/// A run of a recipe on a clock that moves only when nothing is left to do, so that days pass in milliseconds.
///
/// Each time the run wakes, it is resumed as by a program that has just started: with new connections, and nothing but
/// what the state holds.
///
///     try await withRun(of: recipe, plugins: [MarkbookPlugin.self]) { run in
///       let end = try await run.drive()
///       #expect(end.status == .succeeded)
///     }
package final class RunDriver: Sendable {
  /// The clock of the run and of the sandboxes.
  package let time: TestTime
  package let store: any StateStore
  package let recipe: Recipe
  /// The run's id.
  package let id: String
  private let catalog: ActionCatalog
  private let connections: [String: Services.Connection]
  private let secrets: Secrets
  private let folder: String
  private let reports = Mutex<[Progress]>([])
  private let instants = Mutex<[Timestamp]>([])

  package init(
    _ recipe: Recipe, catalog: ActionCatalog, connections: [String: Services.Connection] = [:],
    secrets: [String: String] = [:], store: any StateStore = MemoryStateStore(), time: TestTime = TestTime(),
    folder: String = "/tmp", id: String = "01900000-0000-7000-8000-000000000001"
  ) {
    self.recipe = recipe
    self.catalog = catalog
    self.connections = connections
    self.secrets = Secrets(environment: secrets)
    self.store = store
    self.time = time
    self.folder = folder
    self.id = id
  }

  /// The progress that was reported.
  package var progress: [Progress] { reports.withLock { $0 } }
  /// The instants of the run's wakes.
  package var woke: [Timestamp] { instants.withLock { $0 } }

  /// Accepts the run, unless that has been done.
  package func begin(inputs: ValueMap = ValueMap(), cause: RunCause = RunCause(.manual)) async throws {
    if store.run(id) != nil { return }
    try await store.append(
      .runCreated(
        RunCreated(
          run: id, at: time.now(), recipe: recipe.name, file: recipe.source.name, texts: .inline(.map(ValueMap())),
          inputs: .map(recipe.withDefaults(inputs)), program: "test", cause: cause)))
  }

  /// Runs the run until it ends, waits, or becomes uncertain.
  package func continueRun() async throws -> RunRecord {
    try await begin()
    let given = recipe.allSecrets.compactMap { secret in secrets[secret.name].map { (name: secret.name, text: $0) } }
    let services = Services(
      catalog: catalog, connections: connections, redactor: Redactor(named: given), time: time)
    var surroundings = RunSurroundings(
      store: store, time: time, folder: folder,
      report: { [self] event in reports.withLock { $0.append(event) } }, chance: { 0 })
    surroundings.skip = { [time] in time.advance(by: $0) }
    guard let record = store.run(id) else { throw RunIsOver() }
    return try await RunEngine(record, of: recipe, secrets: secrets, services: services, in: surroundings).run()
  }

  /// Runs the run, and whenever it waits moves the clock to its next work, until it ends, only waits for a person or an
  /// event, or would wake after an instant; then the clock shows that instant.
  @discardableResult package func drive(until end: Timestamp = .latest) async throws -> RunRecord {
    var run = try await continueRun()
    while run.status == .waiting, let wakeAt = run.wakeAt {
      guard wakeAt <= end else {
        move(to: end)
        break
      }
      instants.withLock { $0.append(wakeAt) }
      move(to: wakeAt)
      run = try await continueRun()
    }
    return run
  }

  private func move(to instant: Timestamp) {
    if let span = instant.span(since: time.now()), span > .zero { time.advance(by: span) }
  }

  /// Sends an event, now.
  package func send(_ name: String, id event: String, _ data: Value? = nil) async throws {
    let stored = if let data { try await store.keep(data) } else { StoredValue?.none }
    try await store.append(
      .eventReceived(EventRecord(id: event, name: name, data: stored, receivedAt: time.now())))
  }

  /// Decides about a step that asks, now.
  package func decide(
    _ step: StepPath, approved: Bool, by person: String = "ana", comment: String? = nil
  ) async throws {
    let decision = DecisionRecord(isApproved: approved, by: person, at: time.now(), comment: comment)
    try await store.append(.decisionGiven(DecisionGiven(run: id, step: step, decision: decision)))
  }

  /// The outputs of the run, once it has succeeded.
  package func outputs() async throws -> Value {
    guard let record = try await store.finishedRun(id), let outputs = record.outputs else { throw RunIsOver() }
    return try await store.restored(outputs, as: "the outputs")
  }
}

/// The run has ended, or has no outputs, where a test wants to continue with it.
package struct RunIsOver: Error {}

/// Runs a recipe against the sandboxes of the plugins that it uses, all on one clock.
package func withRun<Outcome>(
  of recipe: Recipe, plugins: [any Plugin.Type], sandboxes options: SandboxOptions? = nil,
  secrets: [String: String] = [:], store: any StateStore = MemoryStateStore(), time: TestTime = TestTime(),
  folder: String = "/tmp", _ body: (RunDriver) async throws -> Outcome
) async throws -> Outcome {
  let catalog = ActionCatalog(plugins)
  var running: [any RunningSandbox] = []
  // The sandboxes that keep files create it, and remove it with its contents.
  let options = options ?? SandboxOptions(time: time, folder: "/tmp/errand-sandbox-\(UInt64.random(in: 0 ... .max))")
  var connections: [String: Services.Connection] = [:]
  let result: Result<Outcome, any Error>
  do {
    for name in recipe.connectionNames {
      guard let plugin = catalog.plugin(name), plugin.hasSandbox,
        let sandbox = try await plugin.startSandbox(options)
      else { continue }
      running.append(sandbox)
      connections[name] = Services.Connection(plugin: plugin, settings: sandbox.configuration)
    }
    let driver = RunDriver(
      recipe, catalog: catalog, connections: connections, secrets: secrets, store: store, time: time, folder: folder)
    result = .success(try await body(driver))
  } catch {
    result = .failure(error)
  }
  for sandbox in running { await sandbox.stop() }
  return try result.get()
}
