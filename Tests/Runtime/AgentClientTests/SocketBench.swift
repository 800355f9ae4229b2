import ActionKit
import ActionTestKit
import AgentClient
import AgentServer
import Basics
import Calendars
import Glibc
import Operations
import ProcessTestKit
import Recipes
import RunState
import Runs
import Testing

@testable import Agent

/// An agent on a state in a temporary folder, behind its socket, with a clock that a test moves.
final class SocketBench: Sendable {
  static let identity = AgentIdentity(program: "errand 0.1", configuration: "/school/errand.yaml")

  let folder: TemporaryFolder
  let store: FileStateStore
  let time: TestTime
  let agent: LocalAgent
  let socket: AgentSocket
  private let lock: FolderLock

  /// - Parameters:
  ///   - folder: The folder of the state; a new one if nil.
  ///   - recipes: The texts of the recipes that it serves, by name.
  init(
    _ folder: TemporaryFolder? = nil, isServing: Bool = true, recipes: [String: String] = [:],
    plan: ServedRecipes.Planner? = nil
  ) async throws {
    let folder = try folder ?? TemporaryFolder()
    let time = TestTime()
    let lock = try FolderLock.acquire(folder.path, program: SocketBench.identity.program)
    let store = try await FileStateStore.open(folder.path, program: SocketBench.identity.program, time: time)
    try Files.makeFolder("\(folder.path)/recipes")
    for (name, text) in recipes { try Files.write(Array(text.utf8), to: "\(folder.path)/recipes/\(name).yaml") }
    var served = LocalAgent.Served(["\(folder.path)/recipes"], in: SocketBench.environment)
    served.plan = plan
    let status = AgentStatus(
      pid: Int(getpid()), version: "0.1", isServing: isServing, since: time.now(), folder: folder.path)
    let agent = LocalAgent(status, on: store, time: time, serving: served) { record throws(RunRefusedError) in
      try await SocketBench.prepared(record, from: store, time: time)
    }
    socket = try AgentSocket(in: folder.path, holding: lock) {
      APIServer(
        agent.service, settings: ServerSettings(), identity: SocketBench.identity, time: time,
        clock: { WallClock(.utc, now: time.now()) })
    }
    (self.folder, self.store, self.time, self.agent, self.lock) = (folder, store, time, agent, lock)
  }

  private static let catalog = ActionCatalog([])
  private static let environment = RecipeEnvironment(catalog: catalog, zone: "UTC") { path throws(FileError) in
    Source(name: path, bytes: try Files.read(path))
  }

  private static func prepared(
    _ record: RunRecord, from store: FileStateStore, time: TestTime
  ) async throws(RunRefusedError) -> PreparedRun {
    let file = record.origin.file
    guard let texts = try? await store.restored(record.origin.texts, as: "the recipe"), let text = texts[file]?.string
    else {
      throw RunRefusedError("there is no text")
    }
    var environment = SocketBench.environment
    environment.language = record.origin.language
    environment.passesOverTriggers = true
    let checked = Recipe.check(Source(name: file, text: text), in: environment)
    guard let recipe = checked.recipe else {
      throw RunRefusedError(Diagnostics(checked.diagnostics).rendered())
    }
    let services = Services(catalog: catalog, connections: [:], redactor: Redactor([]), time: time)
    return PreparedRun(recipe: recipe, secrets: Secrets(environment: [:]), services: services, folder: "/tmp")
  }

  /// A client of the agent.
  ///
  /// - Parameter time: The client's clock; the agent's if nil.
  func client(
    as identity: AgentIdentity = SocketBench.identity, person: String? = nil, time: (any TimeSource)? = nil
  ) throws -> FolderAgent {
    try #require(
      try FolderAgent.find(
        folder.path, identity: identity, person: person, patience: WirePatience(time: time ?? self.time)))
  }

  /// The request that submits a run of a recipe.
  func submission(of id: String, _ text: String, recipe: String = "r") -> SubmitRun {
    SubmitRun.with {
      $0.run = Stored(
        RunCreated(
          run: id, at: time.now(), recipe: recipe, file: "r.yaml", texts: .inline(.object(["r.yaml": .string(text)])),
          inputs: .object([:]), program: "test", language: LanguageVersion.current))
    }
  }

  /// Submits a run through the socket, and waits until it has the status.
  func submit(_ id: String, _ text: String, recipe: String = "r", until status: RunStatus = .waiting) async throws {
    let accepted = try await client().answer(to: submission(of: id, text, recipe: recipe))
    #expect(accepted?.run == id && accepted?.isServing == true && accepted?.known == nil)
    await until { (store.run(id) ?? store.endedRun(id))?.status == status }
  }

  /// Waits until something holds.
  func until(_ isTrue: () async -> Bool) async {
    while await !isTrue(), !Task.isCancelled { await Task.yield() }
  }

  /// Ends the agent as a command does that leaves.
  ///
  /// - Parameter isPatient: Whether a stream is open whose client doesn't read its end, so that it is waited for.
  func stop(isPatient: Bool = false) async throws {
    await agent.stop()
    async let stopped: Void = socket.stop()
    if isPatient {
      await until { time.untilNextSleeper.map { $0 <= .seconds(1) } ?? false }
      time.advance(by: .seconds(1))
    }
    await stopped
    try await store.close()
    lock.release()
  }
}

extension RunHost {
  /// Whether a client follows a run.
  func isFollowed(_ id: String) -> Bool { followers.isFollowed(id) }

  /// Tells the followers of a run of progress.
  func report(_ progress: Progress, of id: String) { followers.send(.progress(progress), to: id) }
}
