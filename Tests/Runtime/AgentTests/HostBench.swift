import ActionKit
import ActionTestKit
import Basics
import Recipes
import RunState
import Runs
import Synchronization
import Testing

@testable import Agent
@testable import Operations

/// An agent in this process, on a state in memory, or one that it shares with others, and a clock that a test moves.
final class HostBench: Sendable {
  /// Empty if the agent shares a state.
  let store: MemoryStateStore
  let time: TestTime
  let host: RunHost
  let service: AgentParts
  let schedules: ScheduleHost
  let agent: LocalAgent
  private let news: AsyncStream<RunNews>
  private let decisions: AsyncStream<ScheduleNews>
  private let seen = Mutex<[String]>([])
  /// The prepared runs and the callers that are still alive.
  let census = Census()

  /// - Parameters:
  ///   - shared: The state that the agent shares with others.
  ///   - folder: Where the recipes are; each with an `on` is a schedule.
  init(
    _ store: MemoryStateStore = MemoryStateStore(), sharing shared: (any StateStore)? = nil,
    time: TestTime = TestTime(), isServing: Bool = true,
    folder: String = "/nowhere", watched: WatchedFolder? = nil, plan: ServedRecipes.Planner? = nil,
    editing: FolderEditing? = nil
  ) async {
    self.store = store
    self.time = time
    var served = LocalAgent.Served([folder], in: HostBench.environment)
    served.watched = watched
    served.plan = plan
    served.editing = editing
    served.findOutline = { run, texts in
      let source = Source(name: run.origin.file, text: texts[run.origin.file]?.string ?? "")
      return Recipe.check(source, in: HostBench.environment).recipe?.outline
    }
    served.refusal = { recipe, _ in recipe.summary.isEmpty ? nil : "not here: \(recipe.summary)" }
    let status = AgentStatus(pid: 1, version: "test", isServing: isServing, since: time.now(), folder: "/state")
    let kept = shared ?? store
    agent = LocalAgent(status, on: kept, time: time, serving: served) { [census] record throws(RunRefusedError) in
      let file = record.origin.file
      guard let texts = try? await kept.restored(record.origin.texts, as: "the recipe"),
        let text = texts[file]?.string
      else {
        throw RunRefusedError("there is no text")
      }
      var environment = HostBench.environment
      environment.language = record.origin.language
      environment.passesOverTriggers = true
      let checked = Recipe.check(Source(name: file, text: text), in: environment)
      guard let recipe = checked.recipe else {
        throw RunRefusedError(Diagnostics(checked.diagnostics).rendered())
      }
      let services = Services(
        catalog: HostBench.catalog, connections: [:], redactor: Redactor([]), time: time)
      var run = PreparedRun(recipe: recipe, secrets: Secrets(environment: [:]), services: services, folder: "/tmp")
      run.instants = { [member = census.member()] _ in
        _ = member
        return nil
      }
      return run
    }
    host = agent.host
    service = agent.service
    schedules =
      agent.schedules
      ?? ScheduleHost(
        agent.host, kept, time: time, program: "test", serving: LocalAgent.Served([], in: HostBench.environment),
        perform: { await ScheduleHost.answer($0, by: $1) })
    let (news, continuation) = AsyncStream.makeStream(of: RunNews.self)
    self.news = news
    await host.observe { continuation.yield($0) }
    let (decisions, decided) = AsyncStream.makeStream(of: ScheduleNews.self)
    self.decisions = decisions
    await schedules.observe { decided.yield($0) }
  }

  static let catalog = ActionCatalog([])
  static let environment = RecipeEnvironment(catalog: catalog, zone: "UTC") { path throws(FileError) in
    Source(name: path, bytes: try Files.read(path))
  }

  // MARK: Runs

  /// Accepts a run of a recipe and starts it.
  func start(_ id: String, _ text: String) async throws {
    try await accept(id, text)
    try await host.continueRun(id)
  }

  func accept(_ id: String, _ text: String) async throws {
    let checked = Recipe.check(Source(name: "r.yaml", text: text), in: HostBench.environment)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    try await host.create(
      RunCreated(
        run: id, at: time.now(), recipe: recipe.name, file: "r.yaml",
        texts: .inline(.object(["r.yaml": .string(text)])), inputs: .object([:]), program: "test",
        language: LanguageVersion.current, group: recipe.group))
  }

  /// Waits for events of runs, such as `r1 waits`, in any order; returns all events until then.
  @discardableResult
  func until(_ wanted: String...) async -> [String] {
    var left = Set(wanted)
    for await item in news {
      let text = HostBench.words(item)
      seen.withLock { $0.append(text) }
      left.remove(text)
      if left.isEmpty { break }
    }
    return seen.withLock { seen in
      defer { seen = [] }
      return seen
    }
  }

  private static func words(_ news: RunNews) -> String {
    switch news {
    case .began(let run): "\(run.id) begins"
    case .waits(let run): "\(run.id) waits"
    case .parked(let run): "\(run.id) \(run.status.rawValue)"
    case .ended(let run): "\(run.id) \(run.status.rawValue)"
    case .event(let id): "event \(id)"
    case .unreported(let run, let reason): "\(run.id) unreported: \(reason)"
    case .refused(let run, let reason): "\(run) refused: \(reason)"
    case .shared(let news): "\(news)"
    case .failed(let error): error.message
    }
  }

  /// The events of schedules until a given one, such as `tick 10:00:00 started`.
  @discardableResult
  func slots(until wanted: String) async -> [String] {
    var found: [String] = []
    for await item in decisions {
      switch item {
      case .decided(let slot):
        let rows = slot.count > 1 ? " ×\(slot.count)" : ""
        found.append("\(slot.schedule) \(slot.slot.description.dropFirst(11).dropLast())\(rows) \(slot.outcome)")
      case .refuses(let schedule, let reason): found.append("\(schedule) refuses: \(reason)")
      case .followsNone(let schedule, let reason): found.append("\(schedule): \(reason)")
      case .isAhead(let schedule, let until): found.append("\(schedule) starts nothing before \(until)")
      case .passedOver(let schedule, let count): found.append("\(schedule) passes over \(count)")
      case .seesNone(let schedule, let reason): found.append("\(schedule): \(reason)")
      case .unanswered(let schedule, let reason): found.append("\(schedule) unanswered: \(reason)")
      case .gathered(let event): found.append("\(event.schedule) gathers \(event.file?.path ?? event.id)")
      case .untaken(let event): found.append("\(event) untaken")
      case .lacks(let event, _): found.append("\(event) waits for a secret")
      case .madeAgain: found.append("made again")
      }
      if found.last == wanted { break }
    }
    return found
  }

  /// Starts to serve the recipes of the folder.
  func serve() async {
    _ = await schedules.look()
    _ = await host.recover()
    await schedules.serve()
  }

  /// Lets time pass, once a task sleeps.
  func pass(_ span: TimeSpan) async {
    await time.waitForSleepers()
    time.advance(by: span)
    // A task about to sleep has read the clock already, and would sleep from the new time on.
    await schedules.lookAtClock()
    await host.lookAtClock()
  }

  func ended(_ id: String) async throws -> RunRecord { try #require(try await agent.store.finishedRun(id)) }

  /// The outputs of a run that has ended, as JSON.
  func outputs(_ id: String) async throws -> String {
    guard case .inline(let value)? = try await ended(id).outputs else { return "none" }
    return try JSON.text(value)
  }

  // MARK: Asking

  /// All answers to an operation in the form of the state: its events if it follows runs, and its refusal.
  ///
  /// - Parameter isFollowed: Whether an operation that follows runs tells their events; otherwise it answers at once.
  func ask(_ request: String, as person: String = "ann", isFollowed: Bool = true) async throws -> [String] {
    let answers = Mutex<[Value]>([])
    try await ask(request, as: person, isFollowed: isFollowed) { answer in answers.withLock { $0.append(answer) } }
    return try answers.withLock { $0 }.map { try JSON.text($0) }
  }

  func ask(
    _ request: String, as person: String = "ann", isFollowed: Bool = true,
    receive: @escaping @Sendable (Value) -> Void
  ) async throws {
    let line = try JSON.parse(request)
    let (caller, secrets) = (AgentCaller(name: person), agent.store.secrets)
    let events = EncodedEvents(secrets: secrets, member: census.member(), receive: receive)
    do throws(RequestRefusedError) {
      let operation = try OperationList.read(line)
      if isFollowed, let operation = operation as? any StreamingOperation {
        try await service.perform(operation, for: caller, to: events)
      } else {
        let answer = try await service.performed(operation, for: caller)
        let value = try await answer.exact()
        // The caller makes its plans from the unmasked recipes.
        receive(answer is ListSchedules.Answer ? value : secrets.displayed(value))
      }
    } catch {
      receive(secrets.displayed(ExactForm.refused(error)))
    }
    withExtendedLifetime(events) {}
  }
}

/// Encodes events as they are sent to a client, with the whole records of runs.
private struct EncodedEvents: RunEvents {
  let secrets: SecretRegistry
  /// Counts the caller as long as anything holds its events.
  let member: Census.Member
  let receive: @Sendable (Value) -> Void

  var isBehind: Bool { false }

  func tell(_ event: RunEvent) { receive(secrets.displayed(event.encoded())) }

  func tellInTurn(_ event: RunEvent) async { tell(event) }

  func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    let record = try await run.record()
    tell(isEnd ? .ended(record) : .run(record))
  }
}

extension RunHost {
  /// The runs that are being walked.
  var active: [String] { lives.filter { $0.value.walk != nil }.map(\.key) }
}
