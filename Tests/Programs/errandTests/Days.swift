import ActionKit
import ActionTestKit
import Agent
import Operations
import AgentRuntime
import Basics
import Calendars
import Foundation
import MarkbookPlugin
import PluginList
import RunState
import Runs
import SecretSources
import Testing

@testable import errand

/// The parts of `errand serve`, in this process and on a clock that a test moves: a folder with recipes of the
/// repository, the state in files, and the school's sandbox on a real port and on the same clock.
final class Days: @unchecked Sendable {
  // One test uses it, sequentially.
  let time: TestTime
  let folder: URL
  private let school: any RunningSandbox
  private let secrets: SecretSources
  private let news: AsyncStream<RunNews>
  private let teller: AsyncStream<RunNews>.Continuation
  private var connection: AgentConnection?
  var agent: LocalAgent? { connection?.agent }
  private var stateFolder: String
  private var crashes = 0

  init(_ recipes: String..., at start: String) async throws {
    time = TestTime(try #require(Timestamp(start)))
    folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
    stateFolder = folder.appending(path: "state").path
    (news, teller) = AsyncStream.makeStream()
    let school = try await MarkbookPlugin.startSandbox(SandboxOptions(time: time))
    self.school = school
    let settings = ["apiKey", "username", "password"].map { ($0, school.configuration[$0]?.string ?? "") }
    secrets = SecretSources(Dictionary(uniqueKeysWithValues: settings))
    try FileManager.default.createDirectory(at: folder.appending(path: "recipes"), withIntermediateDirectories: true)
    for recipe in recipes {
      try FileManager.default.copyItem(
        at: Program.root.appending(path: "recipes/\(recipe).yaml"),
        to: folder.appending(path: "recipes/\(recipe).yaml"))
    }
    let configuration = """
      zone: Australia/Sydney
      connections:
        markbook:
          baseURL: \(school.baseURL)
          apiKey: ${{ secrets.apiKey }}
          username: ${{ secrets.username }}
          password: ${{ secrets.password }}
      """
    try Data(configuration.utf8).write(to: folder.appending(path: "errand.yaml"))
    try await serve()
  }

  func remove() async {
    await stop()
    await school.stop()
    try? FileManager.default.removeItem(at: folder)
  }

  // MARK: The agent

  /// Starts the agent, which resumes open runs and fires slots.
  func serve() async throws {
    let console = Console(noColour: true, isQuiet: true, isVerbose: false)
    let workspace = try Workspace(
      catalog: ActionCatalog(everyPlugin), configurationPath: folder.appending(path: "errand.yaml").path,
      stateFolder: stateFolder, show: console.show)
    let factory = RunFactory(
      workspace: workspace, secrets: secrets, pool: ServicePool(time: time), time: time)
    let session = RunSession(workspace, secrets, console, time: time, person: "ana")
    let connection = try await session.access.serve { factory }
    self.connection = connection
    let agent = try #require(connection.agent)
    await agent.host.observe { [teller] news in teller.yield(news) }
    await agent.serve { news in #expect(news.allSatisfy { $0.isGood }) }
  }

  /// Ends the agent as SIGTERM does.
  func stop() async {
    await connection?.leave()
    connection = nil
  }

  /// Leaves the disk as after a power failure at this moment.
  func crash() async throws {
    crashes += 1
    let left = folder.appending(path: "state-\(crashes)")
    try FileManager.default.createDirectory(at: left, withIntermediateDirectories: true)
    for name in try FileManager.default.contentsOfDirectory(atPath: stateFolder) {
      // The lock and the socket belong to the process that has died.
      if name.hasPrefix("agent.") || name == SocketAddress.name { continue }
      try FileManager.default.copyItem(
        atPath: "\(stateFolder)/\(name)", toPath: left.appending(path: name).path)
    }
    await stop()
    stateFolder = left.path
  }

  // MARK: Time

  /// Moves the clock to an instant, once all tasks that wait for one sleep.
  func pass(to instant: Timestamp) async {
    if let agent {
      let runs = await agent.host.alarmCount > 0 ? 1 : 0
      let slots = await agent.schedules?.nextDue == nil ? 0 : 1
      await time.waitForSleepers(runs + slots)
    }
    if let span = instant.span(since: time.now()) { time.advance(by: span) }
  }

  func pass(to instant: String) async throws { await pass(to: try #require(Timestamp(instant))) }

  /// The next run that waits, is suspended or ends.
  func run() async throws -> RunRecord {
    for await item in news {
      switch item {
      case .waits(let run), .parked(let run), .ended(let run): return run
      case .failed(let error): throw error
      case .began, .event, .unreported, .shared, .refused: continue
      }
    }
    throw CancellationError()
  }

  /// Moves the clock to each instant when the run continues, until it ends; returns these instants.
  func runToItsEnd(from first: RunRecord? = nil) async throws -> (run: RunRecord, woke: [String]) {
    var woke: [String] = []
    var next = first
    while true {
      let run = if let next { next } else { try await run() }
      next = nil
      guard run.status == .waiting, let wakeAt = run.wakeAt else { return (run, woke) }
      woke.append(wakeAt.description)
      await pass(to: wakeAt)
    }
  }

  /// Moves the clock to a run's next attempt, so soon that the agent keeps the run in memory.
  func passToNextTry(of run: RunRecord) async throws {
    let store = try #require(agent?.store)
    var due: Timestamp?
    while due == nil {
      await Task.yield()
      due = store.run(run.id)?.steps.compactMap { $0.lastAttempt?.retryAt }.first { $0 > time.now() }
    }
    // The run's sleeper and the sleeper of the schedules.
    await time.waitForSleepers(2)
    if let span = due?.span(since: time.now()) { time.advance(by: span) }
  }

  // MARK: Asking

  /// Starts a recipe of the folder by hand.
  func start(_ name: String, inputs: Value = .object([:])) async throws {
    let path = folder.appending(path: "recipes/\(name).yaml").path
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let origin = RunCreated(
      run: "0199a000-0000-7000-8000-000000000001", at: time.now(), recipe: name, file: path,
      texts: .inline(.object([path: .string(text)])), inputs: inputs, program: version)
    let submit = SubmitRun.with { $0.run = Stored(origin) }
    _ = try #require(try await connection?.answer(to: submit))
  }

  /// Decides about a run as `errand runs approve|reject` does; returns the message of a refusal.
  func decide(_ run: RunRecord, approved: Bool, comment: String? = nil) async throws -> String? {
    let decision = DecideStep.with {
      $0.run = run.id
      $0.approved = approved
      $0.comment = comment
    }
    do {
      _ = try await connection?.answer(to: decision)
      return nil
    } catch let refusal as RequestRefusedError {
      return refusal.message
    }
  }

  /// The outputs of a run that has ended.
  func outputs(_ run: RunRecord) async throws -> Value {
    let store = try #require(agent?.store)
    return try await store.value(try #require(try await store.finishedRun(run.id)?.outputs))
  }

  /// The output of `errand why` for a run.
  func why(_ run: RunRecord) async throws -> String {
    let requests = AgentRequests(connection: try #require(connection))
    let (facts, _) = try await requests.facts(about: try await requests.displayed(run.id), hasValues: false)
    let clock = WallClock(try TimeZoneDatabase.system.rules(named: "Australia/Sydney"), now: time.now())
    return Explanation(of: facts, clock: clock, isServed: true).text
  }

  /// The ledger, the first slot first: `2026-11-22T05:00:00Z started`.
  func ledger() async throws -> [String] {
    let slots = try #require(try await agent?.store.slots(SlotQuery(limit: 1000)))
    return slots.reversed().map { slot in
      "\(slot.slot)\(slot.count > 1 ? " ×\(slot.count)" : "") \(slot.outcome.rawValue)"
        + (slot.lateBy.map { " late by \($0.nanoseconds / 1_000_000_000) s" } ?? "")
    }
  }

  // MARK: The school

  /// How often each item was written.
  func writes(_ action: String) async throws -> [String: Int] {
    try await school.writes(action)
  }

  func control(_ path: String) async throws { try await school.control(path) }

  /// Another program that uses the school's account.
  func somebodyElse() -> MarkbookClient {
    func setting(_ name: String) -> String { school.configuration[name]?.string ?? "" }
    return MarkbookClient(
      baseURL: school.baseURL, apiKey: setting("apiKey"), username: setting("username"),
      password: setting("password"), time: time)
  }

  /// The files of backups, by their names.
  func backups() -> [String] {
    let path = folder.appending(path: "backups").path
    return ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

extension RecipeRegistry.News {
  fileprivate var isGood: Bool { if case .broken = self { false } else { true } }
}
