import ActionKit
import Agent
import Operations
import Basics
import Glibc
import HTTPClient
import HTTPTypes
import Recipes
import Recordings
import RunState
import Runs

/// An agent in this process, with sandboxes for services, on a clock that a case moves.
///
/// Nothing happens between two due instants, so the clock jumps from one to the next, and days pass in milliseconds. It
/// never moves while the agent is busy (`Activity`).
actor TestBench {
  private struct Agent {
    let host: RunHost
    let schedules: ScheduleHost
    let activity: Activity
  }

  let recipe: Recipe
  let time: ManualClock
  let store = MemoryStateStore()
  let ledger = RequestLedger()
  private let surroundings: TestSurroundings
  private let secrets: Secrets
  /// Answers instead of sandboxes.
  private let recording: Recording?
  /// A folder that is removed with the case.
  private let folder: String
  /// Where sandboxes keep files, and every path of a replay leads.
  private var files: String { "\(folder)/files" }
  /// The folder for relative paths of recipes; in a replay, the place inside of `files` where the recorded run had
  /// them.
  private var root: String { recording?.folder.map { "\(files)/\($0)" } ?? files }
  private var sandboxes: [String: any RunningSandbox] = [:]
  private var connections: [String: Services.Connection] = [:]
  /// The unused part of the recording, which outlives the agent.
  private var replay: Replay?
  private var agent: Agent?
  private var isServing = false
  private let ids = RepeatableIDs()
  private var eventCount = 0

  /// The made-up URL of the agent's pages.
  private static let base = "https://errand.example"

  /// An agent that is busy for that long, by the machine's clock, won't finish.
  private static let patience = TimeSpan.seconds(120)
  /// More rounds than this at one instant mean an endless loop.
  private static let mostRounds = 10_000

  init(_ test: RecipeTest, of recipe: Recipe, in surroundings: TestSurroundings) throws(TestError) {
    self.surroundings = surroundings
    recording = try test.replay.map { replay throws(TestError) in
      try TestBench.recording(at: replay.path, in: surroundings)
    }
    var environment = surroundings.environment
    environment.zone = recording?.zone ?? environment.zone
    // The recipe's times are in the zone of the recording.
    self.recipe =
      environment.zone == recipe.folderZone ? recipe : Recipe.check(recipe.source, in: environment).recipe ?? recipe
    time = ManualClock(test.start ?? recording?.at ?? TestBench.monday)
    do throws(FileError) { folder = try Files.makeTemporaryFolder("errand-test") } catch {
      throw TestError(message: "\(error)")
    }
    var values = test.secrets
    // A test may leave out settings that nothing reads.
    for (name, _) in recipe.allSecrets where values[name] == nil { values[name] = "made-up-\(name)" }
    secrets = Secrets(environment: values)
  }

  private static let monday = Timestamp("2026-01-05T09:00:00Z") ?? .earliest

  private static func recording(
    at path: String, in surroundings: TestSurroundings
  ) throws(TestError) -> Recording {
    do {
      return try Recording(reading: try surroundings.environment.read(path))
    } catch let error as Diagnostics {
      throw TestError(message: "the recording cannot be replayed: \(error.rendered())")
    } catch {
      throw TestError(message: "\(error)")
    }
  }

  // MARK: Services

  /// Starts the sandboxes of the recipe's services, and the agent.
  func start(_ test: RecipeTest) async throws(TestError) {
    for name in recipe.connectionNames {
      guard let plugin = surroundings.catalog.plugin(surroundings.environment.connections?[name] ?? name) else {
        continue
      }
      if plugin.isLocal {
        connections[name] = Services.Connection(plugin: plugin, settings: .object([:]))
        continue
      }
      if let recording {
        let settings = plugin.configuration.withNeededSecrets(recording.connections[name]?.map ?? ValueMap())
        connections[name] = Services.Connection(plugin: plugin, settings: .map(settings))
        continue
      }
      if sandboxes[plugin.name] == nil {
        do throws(ActionError) {
          sandboxes[plugin.name] = try await plugin.startSandbox(
            SandboxOptions(time: AutoAdvancingClock(clock: time), folder: files))
        } catch {
          throw TestError(message: "the sandbox of '\(plugin.name)' did not start: \(error.message)")
        }
      }
      // With settings of its own it would be the real service.
      guard let sandbox = sandboxes[plugin.name] else {
        throw TestError(
          message: "the plugin '\(plugin.name)' has no sandbox; 'errand run --record FILE' records a run of the "
            + "recipe, and 'replay: FILE' tests it with that")
      }
      connections[name] = Services.Connection(plugin: plugin, settings: sandbox.configuration)
    }
    begin()
  }

  /// Gives a sandbox a command.
  func tell(_ call: RecipeTest.SandboxCall) async throws(TestError) {
    guard let sandbox = sandboxes[call.plugin], let base = HTTPURL(sandbox.controlURL) else {
      throw TestError(message: "'\(call.plugin)' has no sandbox in this case")
    }
    let query = HTTPQuery(call.parameters.map { HTTPQuery.Item($0.name, $0.value) }).encoded
    let response: HTTPResponse
    do throws(HTTPError) {
      response = try await surroundings.http.send(
        HTTPRequest("GET", "\(base.origin)/sandbox/\(PercentEncoding.encode(call.command))?\(query)"))
    } catch {
      throw TestError(message: error.message)
    }
    guard response.isSuccess else {
      let text = String(decoding: response.body.prefix { $0 != ASCII.newline }, as: UTF8.self)
      throw TestError(
        message: response.status == 404
          ? "the sandbox of '\(call.plugin)' has no command '\(call.command)'"
          : "the sandbox of '\(call.plugin)' refuses '\(call.command)': \(text)")
    }
  }

  /// Ends everything.
  func end() async {
    await stop()
    for sandbox in sandboxes.values { await sandbox.stop() }
    Files.removeTree(folder)
  }

  // MARK: The agent's life

  private func begin() {
    let activity = Activity()
    let services = AutoAdvancingClock(clock: time)
    let pool = ServicePool(time: services, pace: CallPace())
    let limits = recording == nil ? surroundings.environment.limits : [:]
    let (recipe, connections, secrets, ledger) = (recipe, connections, secrets, ledger)
    let (catalog, folder, files) = (surroundings.catalog, folder, files)
    let known = recipe.allSecrets.compactMap { secret in secrets[secret.name].map { (name: secret.name, text: $0) } }
    let hidden = connections.values.flatMap { connection in
      connection.plugin.configuration.secrets(in: connection.settings.map ?? ValueMap())
    }
    if replay == nil { replay = recording.map { Replay($0, secrets: known.map(\.text) + hidden, folder: files) } }
    let replay = replay
    let (recording, time, store) = (recording, time, store)
    // Only the recipe itself is served, not the rest of its folder.
    let parts = recipe.source.name.split(separator: "/", omittingEmptySubsequences: false)
    let name = String(parts.last ?? "")
    var served = LocalAgent.Served(
      [parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."], in: surroundings.environment)
    served.files = RecipeFiles { _ in
      [name]
    } stamp: {
      RecipeFiles.disk.stamp($0)
    }
    served.watched = .disk(root)
    served.newID = { [ids] in ids.next(at: $0) }
    let status = AgentStatus(pid: 0, version: "test", isServing: true, since: time.now(), folder: folder)
    let local = LocalAgent(
      status, on: store, time: time, activity: activity,
      base: recording == nil ? TestBench.base : recording?.base, chance: { 0 }, serving: served
    ) {
      record throws(RunRefusedError) in
      let limiters = await pool.limiters(limits, keptIn: store)
      var run = PreparedRun(
        recipe: recipe, secrets: secrets,
        services: Services(
          catalog: catalog, connections: connections, redactor: Redactor(named: known), time: services,
          cacheFolder: "\(folder)/cache", folder: files, pool: pool, limiters: limiters,
          interceptor: { connection, network in
            ledger.transport(of: connection, over: replay?.transport(of: connection) ?? network)
          }, calls: replay),
        folder: recording?.folder ?? files)
      if let recording, record.createdAt == recording.at { run.instants = recording.instants(on: time) }
      return run
    }
    agent = local.schedules.map { Agent(host: local.host, schedules: $0, activity: activity) }
  }

  private func running() throws(TestError) -> Agent {
    guard let agent else { throw TestError(message: "no agent runs; 'restart' starts one") }
    return agent
  }

  /// Fires schedules from now on.
  func serve() async throws(TestError) {
    let agent = try running()
    guard !isServing else { return }
    isServing = true
    _ = await agent.schedules.look()
    await agent.schedules.serve()
    try await settle()
  }

  /// Ends the agent; what is in flight finishes.
  func stop() async {
    guard let agent else { return }
    self.agent = nil
    await agent.schedules.stop()
    await agent.host.stop()
  }

  /// Starts a new agent, which continues from the state, and serves if the one before did.
  func restart() async throws(TestError) {
    await stop()
    begin()
    let agent = try running()
    if isServing { _ = await agent.schedules.look() }
    _ = await agent.host.recover()
    if isServing { await agent.schedules.serve() }
    try await settle()
  }

  // MARK: Time

  /// Does everything that is due now, and its consequences.
  func settle() async throws(TestError) {
    guard let agent else { return }
    for _ in 0..<TestBench.mostRounds {
      try await idle(agent)
      let begun = agent.activity.begun
      guard let due = await next(agent), due <= time.now() else {
        // The alarm clock's sleeper may have taken what was due a moment before the look.
        if agent.activity.begun == begun, agent.activity.isIdle { return }
        continue
      }
      await agent.host.lookAtClock()
      await agent.schedules.lookAtClock()
    }
    throw TestError(message: "something is due again and again at \(time.now())")
  }

  private func next(_ agent: Agent) async -> Timestamp? {
    let alarms = [await agent.host.nextAlarm, await agent.schedules.nextAlarm]
    return alarms.compactMap { $0 }.min()
  }

  /// Waits until the agent is idle.
  private func idle(_ agent: Agent) async throws(TestError) {
    let clock = surroundings.clock
    let isIdle = await withTaskGroup(of: Bool.self) { group in
      group.addTask { await agent.activity.idle() }
      group.addTask {
        try? await clock.sleep(for: TestBench.patience)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
    if !isIdle { throw TestError(message: "the agent was still busy after \(TestBench.patience)") }
  }

  /// Lets time pass, with everything that becomes due on the way.
  func advance(by span: TimeSpan) async throws(TestError) {
    let end = time.elapsed() + span
    try await settle()
    while let agent, let due = await next(agent), let left = due.span(since: time.now()) {
      guard time.elapsed() + left <= end else { break }
      time.advance(by: max(left, .zero))
      try await settle()
    }
    let rest = end - time.elapsed()
    if rest > .zero { time.advance(by: rest) }
    try await settle()
  }

  func advance(to instant: Timestamp) async throws(TestError) {
    guard let span = instant.span(since: time.now()), span >= .zero else {
      throw TestError(message: "it is \(time.now()) already; 'setClock' sets the clock back")
    }
    try await advance(by: span)
  }

  /// Sets the wall clock, as people and time servers do.
  func setClock(to instant: Timestamp) async throws(TestError) {
    time.setWallClock(to: instant)
    try await settle()
  }

  // MARK: People's actions

  /// Starts the recipe.
  func run(_ inputs: ValueMap) async throws(TestError) {
    let agent = try running()
    let next = ids.next(at: time.now())
    // Requests of the recorded run may contain its id.
    let id = runs.isEmpty ? recording?.run ?? next : next
    try await kept { () async throws(StateError) in
      try await agent.host.create(
        RunCreated(
          run: id, at: time.now(), recipe: recipe.name, file: recipe.source.name, texts: .inline(.object([:])),
          inputs: .map(inputs), sandbox: true, program: "test", group: recipe.group, zone: recipe.folderZone))
    }
    do throws(RunRefusedError) { try await agent.host.continueRun(id) } catch {
      throw TestError(message: error.message)
    }
    try await settle()
  }

  func signal(_ name: String, id: String?, data: Value?) async throws(TestError) {
    let agent = try running()
    eventCount += 1
    let event = id ?? "event-\(eventCount)"
    try await kept { () async throws(StateError) in
      let stored = if let data { try await store.keep(data) } else { StoredValue?.none }
      _ = try await agent.host.receive(EventRecord(id: event, name: name, data: stored, receivedAt: time.now()))
    }
    try await settle()
  }

  /// Writes a file in the folder, or removes it.
  func file(_ path: String, _ bytes: [UInt8]?) async throws(TestError) {
    let place = "\(root)/\(path)"
    do throws(FileError) {
      if let bytes {
        try Files.makeFolder(([root] + path.split(separator: "/").dropLast().map(String.init)).joined(separator: "/"))
        try Files.write(bytes, to: place)
      } else {
        try Files.remove(place)
      }
    } catch {
      throw TestError(message: error.description)
    }
    // By the test's clock, so that what a run reads is the same each time.
    let at = time.now()
    var times = [timespec(tv_sec: at.seconds, tv_nsec: Int(at.nanoseconds))]
    times.append(times[0])
    _ = utimensat(AT_FDCWD, place, &times, 0)
    if let agent, isServing { await agent.schedules.lookForFiles() }
    try await settle()
  }

  /// Decides about a step of the last run that asks.
  func decide(_ step: String?, isApproved: Bool, by: String, comment: String?) async throws(TestError) {
    let decision = DecisionRecord(isApproved: isApproved, by: by, at: time.now(), comment: comment)
    try await react("a decision") { decisions, run throws(RequestRefusedError) in
      try await decisions.decide(run, step: step, decision)
    }
  }

  /// Answers a question of the last run that asks.
  func answer(_ step: String?, _ fields: ValueMap, by: String, comment: String?) async throws(TestError) {
    let answer = DecisionRecord(isApproved: true, by: by, at: time.now(), comment: comment)
    let source = Source(name: "fields", text: "")
    let given = fields.members.map { (name: $0.key.plainText, input: GivenInput.value($0.value, source)) }
    try await react("an answer") { decisions, run throws(RequestRefusedError) in
      try await decisions.answer(run, step: step, given, answer)
    }
  }

  private func react(
    _ what: String, _ react: (RunDecisions, _ run: String) async throws(RequestRefusedError) -> StepPath
  ) async throws(TestError) {
    let agent = try running()
    guard let run = runs.last(where: { !$0.askingSteps.isEmpty }) else {
      throw TestError(message: "no run asks for \(what)")
    }
    do throws(RequestRefusedError) { _ = try await react(agent.host.decisions, run.id) } catch {
      throw TestError(message: error.message)
    }
    try await settle()
  }

  /// Cancels the last open run.
  func cancel() async throws(TestError) {
    let agent = try running()
    guard let run = runs.last(where: { !$0.status.isEnded }) else { throw TestError(message: "no run is open") }
    try await kept { () async throws(StateError) in
      _ = try await agent.host.cancel(run.id, reason: "the test cancels it")
    }
    try await settle()
  }

  /// Makes a schedule start a run out of turn.
  func trigger(_ schedule: String?) async throws(TestError) {
    let agent = try running()
    let ids = store.state.schedules.keys.sorted { $0.precedesByScalars($1) }
    let id = schedule.map { "\(recipe.name)/\($0)" } ?? ids.first ?? recipe.name
    do throws(RequestRefusedError) { _ = try await agent.schedules.trigger(id, overlap: nil) } catch {
      throw TestError(message: error.message)
    }
    try await settle()
  }

  private func kept(_ body: () async throws(StateError) -> Void) async throws(TestError) {
    do throws(StateError) { try await body() } catch { throw TestError(message: error.message) }
  }

  // MARK: Results

  /// The parts of a recording that were requested and missing, or recorded and not requested.
  var strays: [String] {
    guard let replay else { return [] }
    if let mismatch = replay.mismatch { return [mismatch.message] }
    return replay.unplayed.map { "recorded, but not requested: \($0)" }
  }

  /// Every run, in the order of their beginning.
  var runs: [RunRecord] {
    let state = store.state
    let open = state.runs.values.sorted { $0.id < $1.id }
    // Runs of the same instant are ordered by their ends; a test's clock gives one instant to runs that follow each
    // other at once.
    return (state.ended + open).enumerated()
      .sorted { ($0.element.createdAt, $0.offset) < ($1.element.createdAt, $1.offset) }.map(\.element)
  }
}
