import ActionKit
import Agent
import Basics
import Glibc
import Recipes
import Recordings
import RunState
import Runs
import SecretSources

/// Carrying runs on for one command: as the state folder's agent, as the client of the one there is, or in a sandbox.
struct RunSession: Sendable {
  let workspace: Workspace
  let secrets: SecretSources
  let console: Console
  let time: any TimeSource
  let display: ProgressDisplay
  /// What takes down the exchanges of services.
  var recorder: Recorder?
  /// What people and other programs did while a run that is played was recorded.
  var acts: [RecordedAct] = []

  func factory(standIns: [String: Value] = [:]) -> RunFactory {
    RunFactory(
      workspace: workspace, secrets: secrets, pool: ServicePool(time: time), time: time, standIns: standIns,
      recorder: recorder)
  }

  // MARK: In a sandbox

  /// What stands in for the services of a recipe, and for its folder.
  struct Sandboxes {
    /// The settings of each connection.
    var settings: [String: Value] = [:]
    /// Where paths start; it goes with the sandboxes, so that a rehearsal replaces no real file.
    var folder: String
  }

  /// Does something while the sandboxes of a recipe's plugins are up.
  ///
  /// - Parameter isTold: Whether it is said afterwards what the sandboxes were asked to do.
  func inSandboxes(
    of recipe: Recipe, isTold: Bool, _ body: (Sandboxes) async throws(CommandError) -> ExitCode
  ) async throws(CommandError) -> ExitCode {
    var running: [String: any RunningSandbox] = [:]
    let folder: String
    do throws(FileError) { folder = try Files.makeTemporaryFolder("errand-sandbox") } catch {
      throw CommandError(.cannotCreate, "\(error)")
    }
    defer { Files.removeTree(folder) }
    var sandboxes = Sandboxes(folder: "\(folder)/files")
    for name in recipe.connectionNames {
      let plugin = workspace.configuration.plugins[name] ?? name
      guard let descriptor = workspace.catalog.plugin(plugin) else { continue }
      if descriptor.isLocal {
        sandboxes.settings[name] = .map(ValueMap())
        continue
      }
      if let sandbox = running[plugin] {
        sandboxes.settings[name] = sandbox.configuration
        continue
      }
      do throws(ActionError) {
        guard let sandbox = try await descriptor.startSandbox(SandboxOptions(time: time, folder: sandboxes.folder))
        else {
          throw ActionError(.configuration, "there is none")
        }
        running[plugin] = sandbox
        sandboxes.settings[name] = sandbox.configuration
        console.say("\(Style.dim.applied(to: "sandbox of \(plugin) at \(sandbox.baseURL)", console.colourError))")
      } catch {
        throw CommandError(.unavailable, "the sandbox of '\(plugin)' did not start: \(error.message)")
      }
    }
    let result: Result<ExitCode, CommandError>
    do throws(CommandError) { result = .success(try await body(sandboxes)) } catch { result = .failure(error) }
    for (_, sandbox) in running.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      if isTold, case .success = result {
        for line in await sandbox.summaryLines() { console.say(Style.dim.applied(to: line, console.colourError)) }
      }
      await sandbox.stop()
    }
    return try result.get()
  }

  /// Runs against the plugins' sandboxes, in a state of its own that goes with the process.
  func run(
    _ origin: RunCreated, in sandboxes: Sandboxes, asJSON: Bool
  ) async throws(CommandError) -> ExitCode {
    var factory = factory(standIns: sandboxes.settings)
    factory.folder = sandboxes.folder
    return try await runApart(origin, factory, asJSON: asJSON)
  }

  /// Runs against a recording, in a state of its own that goes with the process, and at the time of the recording.
  ///
  /// Nothing is waited for: the clock stands still, and goes to the next instant at which something is due when nothing
  /// else can happen. Nothing outside is touched: what is no request is answered from the recording too, and the files
  /// that answers to requests are written to go with the run.
  func replay(
    _ recording: Recording, _ origin: RunCreated, of recipe: Recipe, asJSON: Bool
  ) async throws(CommandError) -> ExitCode {
    if recording.isPartial {
      console.say("the recording is of a run that was interrupted; what the run did after that isn't in it")
    }
    let clock = ManualClock(recording.at)
    let passing = AutoAdvancingClock(clock: clock)
    var factory = RunFactory(
      workspace: workspace, secrets: secrets, pool: ServicePool(time: passing), time: passing)
    factory.instants = { $0.createdAt == recording.at ? recording.instants(on: clock) : nil }
    var madeUp = await workspace.secretsApart(of: recipe, inputs: origin.inputs, from: secrets)
    for secret in workspace.neededSecrets(of: recipe, inputs: origin.inputs, isApart: true) {
      madeUp[secret.name] = madeUp[secret.name] ?? "made-up-\(secret.name)"
    }
    var hidden = Array(madeUp.values)
    for name in recipe.connectionNames {
      let plugin = workspace.configuration.plugins[name] ?? name
      guard let schema = workspace.catalog.plugin(plugin)?.configuration else { continue }
      let settings = schema.withNeededSecrets(recording.connections[name]?.map ?? ValueMap())
      factory.standIns[name] = .map(settings)
      hidden += schema.secrets(in: settings)
    }
    factory.secrets = SecretSources(madeUp)
    let folder: String
    do throws(FileError) { folder = try Files.makeTemporaryFolder("errand-replay") } catch {
      throw CommandError(.cannotCreate, error.description)
    }
    defer { Files.removeTree(folder) }
    let known = await workspace.knownSecrets(secrets).map(\.text)
    let replay = Replay(recording, secrets: hidden, known: known, folder: folder)
    factory.interceptor = { connection, _ in replay.transport(of: connection) }
    factory.calls = replay
    factory.folder = recording.folder
    var played = self
    played.acts = recording.acts
    let code = try await played.runApart(origin, factory, on: clock, asJSON: asJSON)
    for request in replay.unplayed { console.say("recorded, but not requested: \(request)") }
    return code
  }

  /// - Parameter clock: One that stands still, for a run that waits for nothing.
  private func runApart(
    _ origin: RunCreated, _ factory: RunFactory, on clock: ManualClock? = nil, asJSON: Bool
  ) async throws(CommandError) -> ExitCode {
    let store = MemoryStateStore()
    store.secrets.learn(await workspace.knownSecrets(secrets))
    let host = RunHost(store: store, time: clock ?? time, activity: clock.map { _ in Activity() }) {
      record throws(RunRefusedError) in
      try await factory.prepared(record, from: store)
    }
    let service = RunService(host, store, time: clock ?? time, agent: status(isServing: false))
    let connection = AgentConnection.agent(
      AgentConnection.Agent(host: host, service: service, schedules: nil, lock: nil, server: nil, store: store))
    // Cancelled when the run is over.
    var passing: Task<Void, Never>?
    if let clock {
      let (waits, wait) = AsyncStream.makeStream(of: Void.self)
      await host.observe { if case .waits = $0 { wait.yield() } }
      passing = Task {
        var acts = acts[...]
        for await _ in waits { await pass(clock, for: host, store, origin.run, &acts) }
      }
    }
    defer { passing?.cancel() }
    let submit = Value.object(["ask": .string("submit"), "run": origin.encoded()])
    let following = try await following(connection, submit)
    await connection.leave()
    switch following {
    case .ended(let record, let outputs): return report(record, outputs, asJSON: asJSON, isApart: true)
    case .interrupted(let signal): return signal
    case .lost: throw CommandError(.unavailable, "the run was lost with its services")
    }
  }

  /// Moves a clock that stands still to where a run that waits goes on.
  private func pass(
    _ clock: ManualClock, for host: RunHost, _ store: MemoryStateStore, _ run: String,
    _ acts: inout ArraySlice<RecordedAct>
  ) async {
    let due = await host.nextAlarm
    if let act = acts.first, due.map({ act.at <= $0 }) ?? true {
      acts.removeFirst()
      clock.advance(by: max(act.at.span(since: clock.now()) ?? .zero, .zero))
      return await repeatAct(act, for: host, store, run)
    }
    guard let due else {
      console.say("only somebody could end this wait, and a run that is played again meets nobody")
      return await host.stop()
    }
    clock.advance(by: max(due.span(since: clock.now()) ?? .zero, .zero))
    await host.lookAtClock()
  }

  /// Does once more what was done while a run was recorded.
  private func repeatAct(_ act: RecordedAct, for host: RunHost, _ store: MemoryStateStore, _ run: String) async {
    do {
      switch act.kind {
      case .decision(let step, let decision): _ = try await host.decide(run, step: step, decision)
      case .event(var event, let data):
        event.run = run
        event.consumedBy = nil
        event.data = if let data { try await store.keep(data) } else { nil }
        _ = try await host.receive(event)
      }
    } catch {
      console.error("recorded, and nothing waits for it: \(act.words)")
      await host.stop()
    }
  }

  // MARK: On a state folder

  /// The folder's agent: this process, or the one that holds the folder already.
  func connection() async throws(CommandError) -> AgentConnection {
    let factory = factory()
    let folder = try madeFolder()
    // An agent that starts or ends is not to be reached for a moment.
    var patience = 100
    while true {
      var held: AgentError
      do throws(AgentError) {
        let lock = try FolderLock.acquire(folder, program: identity.program)
        return .agent(try await agent(lock, identity, isServing: false) { factory })
      } catch  where error.kind == .held {
        held = error
      } catch {
        throw CommandError(.cannotCreate, error.message)
      }
      do throws(AgentError) {
        if let client = try await AgentClient.connect(folder, identity: identity, clock: time) {
          guard recorder != nil else { return .client(client) }
          await client.close()
          held.message =
            "--record has to carry the run on itself, and another process is the agent of the state: \(held.message)"
          // A command that only asks something holds the folder for a moment; an agent stays.
          patience = min(patience, 20)
        }
      } catch  where error.kind == .held {
        throw CommandError(.locked, error.message)
      } catch  where error.kind == .unavailable {
        throw CommandError(.unavailable, error.message)
      } catch {
        // It ended while it was being asked who it is.
      }
      patience -= 1
      if patience == 0 { throw CommandError(.locked, held.message) }
      try? await time.sleep(for: .milliseconds(50))
    }
  }

  /// A connection for a command that only reads, on a disk that takes no writes: what would be written is in memory alone.
  func readingConnection() async throws(CommandError) -> AgentConnection {
    let factory = factory()
    do throws(AgentError) {
      return .agent(
        try await agent(nil, identity, isServing: false, on: OverlayFileSystem()) { factory })
    } catch {
      throw CommandError(.cannotCreate, error.message)
    }
  }

  /// Makes this process the folder's agent for good; refused while another process is.
  ///
  /// A run in the foreground may hold the folder for days; it is asked for it, and goes on as a client of this process.
  func serve(factory: @escaping @Sendable () -> RunFactory) async throws(CommandError) -> AgentConnection.Agent {
    let folder = try madeFolder()
    // A command that only asks something holds the folder for a moment; a run gives it up when it is asked.
    var patience = 100
    var isPromised = false
    while true {
      do throws(AgentError) {
        let lock = try FolderLock.acquire(folder, program: identity.program)
        return try await agent(lock, identity, isServing: true, factory: factory)
      } catch {
        guard error.kind == .held else { throw CommandError(.cannotCreate, error.message) }
        if try await asksForFolder(folder), !isPromised {
          isPromised = true
          console.say("waiting for the run that holds the folder to finish what is in flight and hand it over")
        }
        patience -= isPromised ? 0 : 1
        if patience == 0 { throw CommandError(.locked, error.message) }
        try? await time.sleep(for: .milliseconds(50))
      }
    }
  }

  /// Asks the folder's agent to give the folder up; false if there is none to be asked.
  private func asksForFolder(_ folder: String) async throws(CommandError) -> Bool {
    let client: AgentClient
    do throws(AgentError) {
      guard let there = try await AgentClient.connect(folder, identity: identity, clock: time) else { return false }
      client = there
    } catch {
      guard error.kind == .held else { return false }
      throw CommandError(.locked, error.message)
    }
    let connection = AgentConnection.client(client)
    var isGiven = false
    do throws(CommandError) {
      isGiven = try await AgentRequests(connection: connection).ask("yield")["yielded"] != nil
    } catch {
      await connection.leave()
      // One that went away has given it up.
      guard error.code == .locked else { return false }
      throw error
    }
    await connection.leave()
    return isGiven
  }

  /// The state's folder, which is there afterwards.
  private func madeFolder() throws(CommandError) -> String {
    do throws(FileError) { try Files.makeFolder(workspace.stateFolder, mode: 0o700) } catch {
      throw CommandError(.cannotCreate, error.description)
    }
    return workspace.stateFolder
  }

  var identity: AgentIdentity {
    AgentIdentity(program: "errand \(version)", configuration: workspace.configurationPath ?? "no errand.yaml")
  }

  private func status(isServing: Bool) -> AgentStatus {
    AgentStatus(
      pid: Int(getpid()), version: version, isServing: isServing, since: time.now(), folder: workspace.stateFolder)
  }

  /// Makes this process the agent of the folder whose lock it has; without one, it only reads, and is not listening.
  func agent(
    _ lock: FolderLock?, _ identity: AgentIdentity, isServing: Bool, on fileSystem: any FileSystem = DiskFileSystem(),
    factory: @escaping @Sendable () -> RunFactory
  ) async throws(AgentError) -> AgentConnection.Agent {
    let store: FileStateStore
    do throws(StateError) {
      store = try await FileStateStore.open(
        workspace.stateFolder, program: version, fileSystem: fileSystem,
        keeping: lock == nil ? nil : workspace.retention, time: time)
    } catch {
      throw AgentError(.unavailable, error.message)
    }
    for notice in store.notices {
      console.error("\(Style.yellow.applied(to: "note", console.colourError)): \(notice)")
    }
    CrashMark.arm(in: workspace.stateFolder)
    let workspace = workspace
    store.secrets.ask { name, isFresh in
      await workspace.secret(named: name, from: isFresh ? workspace.secretSources() : factory().secrets)
    }
    store.secrets.learn(await workspace.knownSecrets(secrets))
    let host = host(store, factory: factory)
    let schedules = ScheduleHost(
      host, store, time: time, program: version, folders: workspace.recipeFolders, in: workspace.environment
    ) { await factory().refusal(of: $0, inputs: $1) }
    let service = RunService(
      host, store, time: time, agent: status(isServing: isServing), schedules: schedules)
    let server = try lock.map { lock throws(AgentError) in
      try AgentServer.start(in: workspace.stateFolder, lock: lock, identity: identity, clock: time) { request in
        await service.handle(request)
      }
    }
    return AgentConnection.Agent(
      host: host, service: service, schedules: schedules, lock: lock, server: server, store: store)
  }

  // MARK: Carrying on and following

  /// How following a run ended.
  private enum Following {
    case ended(RunRecord, outputs: Value)
    /// The agent went away before the run was over.
    case lost
    case interrupted(ExitCode)
  }

  /// Accepts a run, and carries it on or follows it until it is over.
  ///
  /// - Parameter secrets: The names of the secrets that it reads, of which nothing is kept.
  func run(
    _ origin: RunCreated, reading secrets: [String], asJSON: Bool
  ) async throws(CommandError) -> ExitCode {
    let submit = RunSession.submission(of: origin, reading: secrets)
    return try await follow(origin.run, asking: submit, asJSON: asJSON)
  }

  private static func submission(
    of origin: RunCreated, reading secrets: [String], isDetached: Bool = false
  ) -> Value {
    var request = ValueMap([("ask", .string("submit")), ("run", origin.encoded())])
    if !secrets.isEmpty { request["secrets"] = .list(secrets.map { .string($0) }) }
    if isDetached { request["detach"] = .bool(true) }
    return .map(request)
  }

  /// What continues a run that no agent has.
  static func whoGoesOn(with run: String) -> String {
    "'errand serve' goes on with it as soon as it is started, or: errand runs resume \(run)"
  }

  /// Hands a run to the folder's agent, and returns once it is on disk there.
  func detach(_ origin: RunCreated, reading secrets: [String]) async throws(CommandError) -> ExitCode {
    let run = origin.run
    var request = RunSession.submission(of: origin, reading: secrets, isDetached: true)
    var isServed: Bool?
    while isServed == nil {
      let connection = try await connection()
      do {
        for try await answer in try connection.ask(request) {
          if let failed = answer["failed"] { throw CommandError(refusal: failed) }
          guard answer["accepted"] != nil else { continue }
          isServed = answer["isServing"]?.bool ?? false
          break
        }
      } catch let error as CommandError {
        await connection.leave()
        throw error
      } catch {
        // The agent went away, and the next one knows whether it accepted the run.
      }
      await connection.leave()
      request = RunSession.again(request)
    }
    console.out(run)
    if isServed == true {
      console.say("the agent goes on with it; see it with: errand runs follow \(run)")
      return .done
    }
    console.error("The run is accepted, but nothing is running it yet. \(RunSession.whoGoesOn(with: run))")
    return .waiting
  }

  /// Goes on with an open run, and carries it on or follows it until it is over.
  ///
  /// - Parameter isOneOfAll: Whether this process, if it is the agent, carries on all other runs meanwhile.
  func resume(_ run: String, isOneOfAll: Bool = false, asJSON: Bool) async throws(CommandError) -> ExitCode {
    let request = Value.object(["ask": .string("resume"), "run": .string(run)])
    return try await follow(run, asking: request, isOneOfAll: isOneOfAll, asJSON: asJSON)
  }

  /// Follows a run that somebody carries on, and says so if nobody does; of a run that is over it shows the end.
  func follow(_ run: String, isOver: Bool) async throws(CommandError) -> ExitCode {
    let connection = try await connection()
    guard isOver || !connection.isAgent else {
      await connection.leave()
      throw CommandError(.waiting, "nothing is running that run; resume it: errand runs resume \(run)")
    }
    let following = try await following(connection, .object(["ask": .string("follow"), "run": .string(run)]))
    await connection.leave()
    switch following {
    case .ended(let record, let outputs): return report(record, outputs, asJSON: false)
    case .interrupted(let code): return code
    case .lost: throw CommandError(.waiting, "the agent ended; go on with the run: errand runs resume \(run)")
    }
  }

  /// Asks, and follows; when the agent that was asked ends before the run, this process takes its place.
  private func follow(
    _ run: String, asking request: Value, isOneOfAll: Bool = false, asJSON: Bool
  ) async throws(CommandError) -> ExitCode {
    var request = request
    while true {
      let connection = try await connection()
      if isOneOfAll, case .agent(let agent) = connection { _ = await agent.host.recover(in: workspace.stateFolder) }
      let following = try await following(connection, request)
      await connection.leave()
      switch following {
      case .interrupted(let code):
        if connection.isAgent {
          console.error("The run is not over. \(RunSession.whoGoesOn(with: run))")
        } else {
          console.error("The run goes on with the agent. See it with: errand runs follow \(run)")
        }
        return code
      case .ended(let record, let outputs):
        let isLeft = [.queued, .running, .waiting].contains(record.status)
        if isLeft, !connection.isAgent { break }
        guard isLeft, await connection.isHandedOver else { return report(record, outputs, asJSON: asJSON) }
        console.say("errand serve takes over, and goes on with the run")
        await awaitSuccessor()
        request = RunSession.again(request)
        continue
      case .lost: break
      }
      console.say("the agent ended; going on in its place")
      request = RunSession.again(request)
    }
  }

  /// A request that is made once more: whoever ended may have done what it asks for, or not.
  private static func again(_ request: Value) -> Value {
    var map = request.map ?? ValueMap()
    map["again"] = .bool(true)
    return .map(map)
  }

  /// Waits until the process that asked for the folder has it, or a while if it went away.
  private func awaitSuccessor() async {
    for _ in 0..<100 where !FolderLock.isHeld(workspace.stateFolder) { try? await time.sleep(for: .milliseconds(20)) }
  }

  private func following(_ connection: AgentConnection, _ request: Value) async throws(CommandError) -> Following {
    let answers: AsyncThrowingStream<Value, any Error>
    // An agent that went away between the connection and the question has answered nothing.
    do throws(AgentError) { answers = try connection.ask(request) } catch { return .lost }
    let animation = Task { await display.animate() }
    defer { animation.cancel() }
    // Whichever is first: the end of the run, or the wish of whoever sits at the terminal. The task ends with either.
    let reading = Task { () -> Result<Following, CommandError> in
      do throws(CommandError) { return .success(try await read(answers, connection)) } catch {
        return .failure(error)
      }
    }
    let interruption = Task { () -> ExitCode? in
      let code = await Signals.shared.next()
      if Task.isCancelled { return nil }
      if case .agent(let agent) = connection {
        console.say("\nfinishing what is in flight; once more to end at once")
        await agent.host.stop()
      }
      reading.cancel()
      return code
    }
    let result = await reading.value
    if let code = Signals.shared.received {
      if case .success(.ended(let record, _)) = result, record.status.isEnded {} else { return .interrupted(code) }
    }
    interruption.cancel()
    return try result.get()
  }

  /// Shows progress until a run ends or nothing more comes.
  private func read(
    _ answers: AsyncThrowingStream<Value, any Error>, _ connection: AgentConnection
  ) async throws(CommandError) -> Following {
    var accepted: String?
    do {
      for try await answer in answers {
        accepted = answer["accepted"]?.string ?? accepted
        if answer["progress"] != nil {
          display.show(try Progress(reading: answer))
        } else if let waits = answer["waits"] {
          display.wait(until: waits["until"]?.string.flatMap { Timestamp($0) }, for: waits["reason"]?.string)
        } else if let record = answer["ended"] {
          let record = try RunRecord(reading: record)
          display.show(.runEnded(record))
          if let recorder {
            recorder.note(steps: record.stepsInOrder.map { ($0.path, $0.now) })
            recorder.note(acts: try await acts(of: record, in: connection))
          }
          return .ended(record, outputs: try await AgentRequests(connection: connection).value(record.outputs))
        } else if let failed = answer["failed"] {
          var failure = CommandError(refusal: failed)
          if let accepted, failed["kind"]?.string == "state" {
            failure.message += " The run is not over. \(RunSession.whoGoesOn(with: accepted))"
          }
          throw failure
        }
      }
      return .lost
    } catch let error as CommandError {
      throw error
    } catch let error as RecordError {
      throw CommandError(.unavailable, "the agent's answer cannot be read: \(error.message)")
    } catch {
      return .lost
    }
  }

  /// What people and other programs did that a run went on by.
  private func acts(of record: RunRecord, in connection: AgentConnection) async throws -> [RecordedAct] {
    var acts = record.stepsInOrder.compactMap { step in
      step.decision.map { RecordedAct(.decision(step.path, $0)) }
    }
    guard case .agent(let agent) = connection else { return acts }
    for event in agent.store.state.events.values where event.consumedBy == record.id {
      // A recording holds no secret, and nothing that stands for one.
      let data = if let stored = event.data { try await agent.store.value(stored).shown } else { Value?.none }
      acts.append(RecordedAct(.event(event, data: data)))
    }
    return acts
  }

  private func report(_ record: RunRecord, _ outputs: Value, asJSON: Bool, isApart: Bool = false) -> ExitCode {
    let report = Report(record: record, outputs: outputs, console: console, isApart: isApart)
    if asJSON { report.showJSON() } else { report.showText() }
    return report.exitCode
  }

  /// The runs that this process carries on in a state.
  private func host(_ store: some StateStore, factory: @escaping @Sendable () -> RunFactory) -> RunHost {
    RunHost(store: store, time: time, walkers: WalkThreads.shared) { record throws(RunRefusedError) in
      try await factory().prepared(record, from: store)
    }
  }
}

extension CommandError {
  /// What an agent's refusal means for the shell.
  init(refusal: Value) {
    let code: ExitCode =
      switch refusal["kind"]?.string {
      case "notFound", "ambiguous", "notAsked": .noInput
      case "notAllowed": .failed
      case "request": .usage
      case "state": .cannotCreate
      case "configuration": .configuration
      case "ended": .failed
      case "serving": .locked
      default: .unavailable
      }
    self.init(code, refusal["message"]?.string ?? "the agent refused without a word")
  }

  /// What a fault of the state means for the shell.
  init(_ error: StateError) {
    let code: ExitCode =
      switch error.kind {
      case .invalid, .damaged, .newer, .secret: .configuration
      case .unavailable, .fatal, .closed: .cannotCreate
      }
    self.init(code, error.message)
  }
}
