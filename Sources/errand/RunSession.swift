import ActionKit
import Agent
import Basics
import Glibc
import Recipes
import RunState
import Runs

/// Carrying runs on for one command: as the state folder's agent, as the client of the one there is, or in a sandbox.
struct RunSession: Sendable {
  let workspace: Workspace
  let secrets: Secrets
  let console: Console
  let time: SystemTime
  let display: ProgressDisplay

  // MARK: In a sandbox

  /// Runs against the plugins' sandboxes, in a state of its own that goes with the process.
  func runInSandbox(_ origin: RunCreated, of recipe: Recipe, asJSON: Bool) async throws(CommandFailure) -> ExitCode {
    var running: [any RunningSandbox] = []
    var settings: [String: Value] = [:]
    for name in recipe.connectionNames {
      let plugin = workspace.configuration.plugins[name] ?? name
      guard settings[plugin] == nil, let descriptor = workspace.catalog.plugin(plugin) else { continue }
      do throws(ActionError) {
        guard let sandbox = try await descriptor.startSandbox(SandboxOptions(time: time)) else {
          throw ActionError(.configuration, "there is none")
        }
        running.append(sandbox)
        settings[plugin] = sandbox.configuration
        console.say("\(Style.dim.applied(to: "sandbox of \(plugin) at \(sandbox.baseURL)", console.colourError))")
      } catch {
        throw CommandFailure(.unavailable, "the sandbox of '\(plugin)' did not start: \(error.message)")
      }
    }
    let store = MemoryStateStore()
    let host = host(store, sandboxes: settings)
    let service = RunService(host, store, time: time)
    let seat = Seat.agent(Seat.Agent(host: host, service: service, lock: nil, server: nil, store: store))
    let submit = Value.object(["ask": .string("submit"), "run": origin.encoded()])
    let following = try await following(seat, submit)
    await seat.leave()
    let code: ExitCode
    switch following {
    case .ended(let record, let outputs): code = report(record, outputs, asJSON: asJSON)
    case .interrupted(let signal): code = signal
    case .lost: throw CommandFailure(.unavailable, "the run was lost with its sandbox")
    }
    for sandbox in running {
      for line in await sandbox.summaryLines() where !asJSON {
        console.say(Style.dim.applied(to: line, console.colourError))
      }
      await sandbox.stop()
    }
    return code
  }

  // MARK: On a state folder

  /// The folder's agent: this process, or the one that holds the folder already.
  func seat(sandboxes: [String: Value] = [:]) async throws(CommandFailure) -> Seat {
    let folder = workspace.stateFolder
    do throws(FileError) { try Files.makeFolder(folder, mode: 0o700) } catch {
      throw CommandFailure(.cannotCreate, error.description)
    }
    let identity = AgentIdentity(
      program: "errand \(version)", configuration: workspace.configurationPath ?? "no errand.yaml")
    // An agent that starts or ends is not to be reached for a moment.
    var patience = 100
    while true {
      let held: AgentError
      do throws(AgentError) {
        return try await agent(try FolderLock.take(folder, program: identity.program), identity)
      } catch  where error.kind == .held {
        held = error
      } catch {
        throw CommandFailure(.cannotCreate, error.message)
      }
      do throws(AgentError) {
        if let client = try await AgentClient.connect(folder, identity: identity, clock: time) {
          return .client(client)
        }
      } catch  where error.kind == .held {
        throw CommandFailure(.locked, error.message)
      } catch  where error.kind == .unavailable {
        throw CommandFailure(.unavailable, error.message)
      } catch {
        // It ended while it was being asked who it is.
      }
      patience -= 1
      if patience == 0 { throw CommandFailure(.locked, held.message) }
      try? await time.sleep(for: .milliseconds(50))
    }
  }

  private func agent(_ lock: FolderLock, _ identity: AgentIdentity) async throws(AgentError) -> Seat {
    let store: FileStateStore
    do throws(StateError) {
      store = try await FileStateStore.open(workspace.stateFolder, program: version)
    } catch {
      throw AgentError(.unavailable, error.message)
    }
    for notice in store.notices {
      console.error("\(Style.yellow.applied(to: "note", console.colourError)): \(notice)")
    }
    let host = host(store)
    let service = RunService(host, store, time: time)
    let server = try AgentServer.start(
      in: workspace.stateFolder, lock: lock, identity: identity, clock: time
    ) { request in
      await service.handle(request.value) { request.reply($0) }
    }
    return .agent(Seat.Agent(host: host, service: service, lock: lock, server: server, store: store))
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
  func run(_ origin: RunCreated, asJSON: Bool) async throws(CommandFailure) -> ExitCode {
    let submit = Value.object(["ask": .string("submit"), "run": origin.encoded()])
    return try await follow(origin.run, asking: submit, asJSON: asJSON)
  }

  /// Goes on with an open run, and carries it on or follows it until it is over.
  func resume(_ run: String, asJSON: Bool) async throws(CommandFailure) -> ExitCode {
    try await follow(run, asking: .object(["ask": .string("resume"), "run": .string(run)]), asJSON: asJSON)
  }

  /// Follows a run that somebody carries on, and says so if nobody does.
  func follow(_ run: String) async throws(CommandFailure) -> ExitCode {
    let seat = try await seat()
    guard !seat.isAgent else {
      await seat.leave()
      throw CommandFailure(.waiting, "nobody carries that run on; go on with it: errand runs resume \(run)")
    }
    let following = try await following(seat, .object(["ask": .string("follow"), "run": .string(run)]))
    await seat.leave()
    switch following {
    case .ended(let record, let outputs): return report(record, outputs, asJSON: false)
    case .interrupted(let code): return code
    case .lost: throw CommandFailure(.waiting, "the agent ended; go on with the run: errand runs resume \(run)")
    }
  }

  /// Asks, and follows; when the agent that was asked ends before the run, this process takes its place.
  private func follow(_ run: String, asking request: Value, asJSON: Bool) async throws(CommandFailure) -> ExitCode {
    var request = request
    while true {
      let seat = try await seat()
      let following = try await following(seat, request)
      await seat.leave()
      switch following {
      case .interrupted(let code):
        if seat.isAgent {
          console.error("The run is not over. Go on with: errand runs resume \(run)")
        } else {
          console.error("The run goes on with the agent. See it with: errand runs follow \(run)")
        }
        return code
      case .ended(let record, let outputs):
        if !record.status.isEnded, [.queued, .running].contains(record.status), !seat.isAgent { break }
        return report(record, outputs, asJSON: asJSON)
      case .lost: break
      }
      console.say("the agent ended; going on in its place")
      request = .object(["ask": .string("resume"), "run": .string(run)])
    }
  }

  private func following(_ seat: Seat, _ request: Value) async throws(CommandFailure) -> Following {
    let answers: AsyncThrowingStream<Value, any Error>
    // An agent that went away between the connection and the question has answered nothing.
    do throws(AgentError) { answers = try seat.ask(request) } catch { return .lost }
    let animation = Task { await display.animate() }
    defer { animation.cancel() }
    // Whichever is first: the end of the run, or the wish of whoever sits at the terminal. The task ends with either.
    let reading = Task { () -> Result<Following, CommandFailure> in
      do throws(CommandFailure) { return .success(try await read(answers)) } catch { return .failure(error) }
    }
    let interruption = Task { () -> ExitCode? in
      let code = await Signals.shared.next()
      if Task.isCancelled { return nil }
      if case .agent(let agent) = seat {
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
  private func read(_ answers: AsyncThrowingStream<Value, any Error>) async throws(CommandFailure) -> Following {
    do {
      for try await answer in answers {
        if answer["progress"] != nil {
          display.show(try Progress(reading: answer))
        } else if let record = answer["ended"] {
          return .ended(try RunRecord(reading: record), outputs: try restored(answer["outputs"]))
        } else if let failed = answer["failed"] {
          throw CommandFailure(refusal: failed)
        }
      }
      return .lost
    } catch let error as CommandFailure {
      throw error
    } catch let error as RecordFault {
      throw CommandFailure(.unavailable, "the agent's answer cannot be read: \(error.message)")
    } catch {
      return .lost
    }
  }

  private func report(_ record: RunRecord, _ outputs: Value, asJSON: Bool) -> ExitCode {
    let report = Report(record: record, outputs: outputs, console: console)
    if asJSON { report.showJSON() } else { report.showText() }
    return report.exitCode
  }

  /// The runs that this process carries on in a state.
  func host(_ store: some StateStore, sandboxes: [String: Value] = [:]) -> RunHost {
    RunHost(store: store, time: time) { record throws(NotRunnable) in
      try await prepared(record, from: store, sandboxes: sandboxes)
    }
  }

  /// Checks a run's recipe again, as it was when the run was accepted, against the actions of this program.
  private func prepared(
    _ record: RunRecord, from store: some StateStore, sandboxes: [String: Value]
  ) async throws(NotRunnable) -> PreparedRun {
    let texts: Value
    do throws(StateError) { texts = try await store.value(record.origin.texts) } catch {
      throw NotRunnable(error.message)
    }
    var environment = workspace.environment
    environment.read = { path throws(FileError) in
      guard let text = texts[path]?.string else { throw FileError(.read, path, .system(ENOENT)) }
      return Source(name: path, text: text)
    }
    let file = record.origin.file
    let checked = Recipe.check(Source(name: file, text: texts[file]?.string ?? ""), in: environment)
    guard let recipe = checked.recipe else {
      let faults = Diagnostics(checked.diagnostics.filter { $0.severity == .error })
      throw NotRunnable(
        "its recipe does not fit this version of errand any more:\n\(faults.rendered())")
    }
    do throws(CommandFailure) {
      if sandboxes.isEmpty { try workspace.requireSecrets(of: recipe, inputs: record.origin.inputs, in: secrets) }
      let services = try workspace.services(
        for: recipe, secrets: secrets, overrides: record.origin.overrides, sandboxes: sandboxes, time: time)
      return PreparedRun(recipe: recipe, secrets: secrets, services: services, folder: workspace.root)
    } catch {
      throw NotRunnable(error.message)
    }
  }
}

extension CommandFailure {
  /// What an agent's refusal means for the shell.
  init(refusal: Value) {
    let code: ExitCode =
      switch refusal["kind"]?.string {
      case "notFound", "ambiguous": .noInput
      case "state": .cannotCreate
      case "configuration": .configuration
      case "ended": .failed
      default: .unavailable
      }
    self.init(code, refusal["message"]?.string ?? "the agent refused without a word")
  }

  /// What a fault of the state means for the shell.
  init(_ error: StateError) {
    let code: ExitCode =
      switch error.kind {
      case .invalid, .damaged, .newer: .configuration
      case .unavailable, .fatal, .closed: .cannotCreate
      }
    self.init(code, error.message)
  }
}
