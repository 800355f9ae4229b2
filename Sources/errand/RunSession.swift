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
    let code = try await carryOn(origin, in: MemoryStateStore(), sandboxes: settings, asJSON: asJSON)
    for sandbox in running {
      for line in await sandbox.summaryLines() where !asJSON { console.say(Style.dim.applied(to: line, console.colourError)) }
      await sandbox.stop()
    }
    return code
  }

  // MARK: As the agent

  /// The state of the folder.
  func openStore() async throws(CommandFailure) -> FileStateStore {
    do throws(StateError) {
      let store = try await FileStateStore.open(workspace.stateFolder, program: version)
      for notice in store.notices { console.error("\(Style.yellow.applied(to: "note", console.colourError)): \(notice)") }
      return store
    } catch {
      throw CommandFailure(error)
    }
  }

  /// Accepts a run and carries it on until it is over, or until this program is told to end.
  func carryOn(
    _ origin: RunCreated, in store: some StateStore, sandboxes: [String: Value] = [:], asJSON: Bool
  ) async throws(CommandFailure) -> ExitCode {
    let host = host(store, sandboxes: sandboxes)
    do throws(StateError) {
      var origin = origin
      if case .inline(let texts) = origin.texts { origin.texts = try await store.keep(texts) }
      try await host.create(origin)
    } catch {
      throw CommandFailure(error)
    }
    return try await carryOn(origin.run, of: host, in: store, asJSON: asJSON)
  }

  /// Carries an open run on until it is over, or until this program is told to end.
  func carryOn(
    _ run: String, of host: RunHost, in store: some StateStore, asJSON: Bool
  ) async throws(CommandFailure) -> ExitCode {
    // Ends with the process, or here when the run is over.
    let signals = Task { () -> ExitCode? in
      let code = await Signals.shared.next()
      if Task.isCancelled { return nil }
      console.say("\nfinishing what is in flight; once more to end at once")
      await host.stop()
      return code
    }
    let animation = Task { await display.animate() }
    defer {
      signals.cancel()
      animation.cancel()
    }
    let record: RunRecord?
    do throws(NotRunnable) {
      record = try await host.run(run) { display.show($0) }
    } catch {
      throw CommandFailure(.configuration, error.message)
    }
    guard let record else { throw CommandFailure(await host.failure ?? StateError(.fatal, "the state was lost")) }
    let report = Report(record: record, outputs: try await value(record.outputs, in: store), console: console)
    if asJSON { report.showJSON() } else { report.showText() }
    if !record.status.isEnded, record.status == .running { return Signals.shared.received ?? report.exitCode }
    return report.exitCode
  }

  private func value(_ stored: StoredValue?, in store: some StateStore) async throws(CommandFailure) -> Value {
    guard let stored else { return .null }
    do throws(StateError) { return try await store.value(stored) } catch { throw CommandFailure(error) }
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
