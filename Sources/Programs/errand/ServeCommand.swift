import Agent
import Operations
import AgentServer
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import HTTPServer
import LocalFiles
import PluginLocks
import Recipes
import RunState
import Runs
import SecretSources
import SharedState
import Synchronization

/// `errand serve`: the permanent agent.
///
/// It holds the folder, resumes all open runs, fires the schedules and watches the recipes, until it is told to end.
/// SIGTERM and SIGINT shut it down cleanly: nothing new begins, what is in flight finishes, and the exit code is 0,
/// which a service manager takes for a clean end. A second signal ends it at once, which loses no state. SIGHUP reads
/// `errand.yaml`, the secrets and the recipes again, and so do locks of plugins that change; a faulty `errand.yaml`
/// changes nothing. Only the SIGHUP of a terminal that is closed ends it like SIGTERM.
struct ServeCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let isSandbox = parsed["sandbox"].isGiven
    if isSandbox, let other = ["state", "systemd-unit"].first(where: { parsed[$0].isGiven }) {
      throw RuntimeError(.usage, "--sandbox has a state that is thrown away; leave out --\(other)")
    }
    if parsed["systemd-unit"].isGiven {
      if let other = ["queue", "capacity"].first(where: { parsed[$0].isGiven }) {
        throw RuntimeError(.usage, "leave out --\(other): the unit goes by 'worker' in errand.yaml")
      }
      console.out(systemdUnit(for: try dispatch.workspace(), isUsers: parsed["user"].isGiven))
      return .done
    }
    if parsed["user"].isGiven { throw RuntimeError(.usage, "--user belongs to --systemd-unit") }
    guard isSandbox else { return try await serve(try dispatch.workspace()) }
    let sandboxes = try ServedSandboxes(time: SystemTime())
    let result: Result<ExitCode, RuntimeError>
    do throws(RuntimeError) {
      result = .success(
        try await serve(try dispatch.workspace(inState: sandboxes.state).inSandbox, in: sandboxes))
    } catch {
      result = .failure(error)
    }
    await sandboxes.stop()
    return try result.get()
  }

  private func serve(
    _ workspace: Workspace, in sandboxes: ServedSandboxes? = nil
  ) async throws(RuntimeError) -> ExitCode {
    let time = SystemTime()
    let secrets = sandboxes == nil ? try await workspace.soundSecretSources() : workspace.secretSources()
    var factory = RunFactory(workspace: workspace, secrets: secrets, pool: ServicePool(time: time), time: time)
    factory.sandboxes = sandboxes
    factory.copy = try sandboxes?.copy(of: workspace)
    let current = Current(factory)
    var session = RunSession(workspace, secrets, console, time: time)
    try read(into: &session.access)
    session.access.editor = editorParts
    let log = ServeLog(
      console, format: parsed["log-format"].text.flatMap(ProgressDisplay.Format.init(rawValue:)) ?? .text, time: time,
      zone: LocalZone(of: workspace))
    // Read first, so that no child inherits the variables.
    let handed = SystemdNotice.sockets
    let settings = ServeCommand.settings(of: workspace, besides: handed)
    let pages = AgentAccess.ServedPages(settings) { log.clock }
    let connection = try await session.access.serve(pages) { current.value }
    guard let agent = connection.agent, let schedules = agent.schedules, let api = connection.socket?.api else {
      return .unavailable
    }
    let service = Service(
      dispatch: dispatch, access: session.access, current: current, connection: connection, agent: agent, log: log,
      time: time, schedules: schedules, settings: settings, api: api, handed: handed)
    do throws(RuntimeError) { return try await service.run() } catch {
      // The state is closed, and the socket is gone, if an address can't be listened on, for example.
      await connection.leave()
      throw error
    }
  }
}

extension ServeCommand {
  /// The settings of the API and the pages; addresses that systemd opened must meet the same conditions as errand.yaml's.
  private static func settings(of workspace: Workspace, besides handed: [Int32]) -> ServerSettings {
    var settings = workspace.configuration.server
    if !handed.isEmpty {
      settings.listen = handed.compactMap { SocketName(of: $0) }.filter { !$0.isLocal }
        .map { ServerSettings.Address(host: $0.host, port: $0.port) }
    }
    return settings
  }

  /// Reads which runs of a shared state this process claims, and how many.
  private func read(into access: inout AgentAccess) throws(RuntimeError) {
    if access.workspace.database == nil,
      let name = ["queue", "capacity", "no-schedules"].first(where: { parsed[$0].isGiven })
    {
      throw RuntimeError(
        .usage,
        "--\(name) is for a state in PostgreSQL, and this one is in the folder \(access.workspace.stateFolder); leave it out"
      )
    }
    if let text = parsed["queue"].text {
      let names = text.split(separator: ",", omittingEmptySubsequences: false).map { String($0).trimmed }
      for name in names {
        if let fault = QueueName.fault(in: name) { throw RuntimeError(.usage, "--queue: '\(name)' \(fault)") }
      }
      access.queues = names
    }
    if let text = parsed["capacity"].text {
      let range = WorkerSettings.capacities
      guard let number = Int(text), range.contains(number) else {
        throw RuntimeError(
          .usage, "--capacity takes a number from \(range.lowerBound) to \(range.upperBound), but is '\(text)'")
      }
      access.capacity = number
    }
  }
}

/// The preparation of runs, which a reload replaces.
private final class Current: Sendable {
  private let factory: Mutex<RunFactory>

  init(_ factory: RunFactory) { self.factory = Mutex(factory) }

  var value: RunFactory {
    get { factory.withLock { $0 } }
    set { factory.withLock { $0 = newValue } }
  }
}

/// One life of the agent, from its start to its end.
private struct Service {
  let dispatch: Dispatch
  let access: AgentAccess
  let current: Current
  let connection: AgentConnection
  let agent: LocalAgent
  let log: ServeLog
  let time: any TimeSource
  let schedules: ScheduleHost
  let settings: ServerSettings
  let api: APIServer
  /// The sockets that systemd holds.
  let handed: [Int32]
  let notice = SystemdNotice()

  /// The events that the agent handles besides its runs.
  private enum ServiceEvent: Sendable {
    case end, reload, look
    case fail(StateError)
  }

  func run() async throws(RuntimeError) -> ExitCode {
    let (events, sink) = AsyncStream.makeStream(of: ServiceEvent.self)
    let (ends, ended) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    await agent.host.observe { [log] news in
      log.say(news)
      switch news {
      case .ended, .waits, .parked: ended.yield()
      case .failed(let error): sink.yield(.fail(error))
      default: break
      }
    }
    await schedules.observe { [log] in log.say($0) }
    await schedules.observeRecipes { tell($0) }
    let inbox = InboxWatch(current.value.folder ?? current.value.workspace.root, schedules)
    await schedules.observeFolders { [copy = current.value.copy] folders in
      // Copies the present files now, so that they don't count as new.
      for folder in folders { copy?.fill(folder) }
      inbox.watch(folders)
    }
    defer { inbox.stop() }
    (agent.store as? FileStateStore)?.observeMaintenance { [log] error in
      log.say(
        "maintenanceFailed", "old records could not be removed: \(error.message.safe); retrying in an hour",
        .warning)
    }
    // Cancelled when the service has ended.
    let signals = Signals.shared.hangUps()
    let hangUps = Task { for await _ in signals { sink.yield(.reload) } }
    // Ends with the signal; a signal that never comes is awaited for as long as the process lives.
    let end = Task {
      _ = await Signals.shared.next()
      sink.yield(.end)
    }
    let life = Task { await showLife() }
    let upkeep = Task { await maintain() }
    let giver = Task { await giveBackMemory(after: ends) }
    defer { for task in [hangUps, end, life, upkeep, giver] { task.cancel() } }

    try await listen()
    tellBase()
    let mayLead = !dispatch.parsed["no-schedules"].isGiven
    let left = await agent.serve(in: current.value.workspace.stateFolder, mayLead: mayLead) { tell($0) }
    // Who reads that it serves may ask at once.
    api.becomeReady()
    log.say("serving", "errand \(version) serves \(current.value.workspace.root): \(await summary())")
    if let url = current.value.workspace.database?.url { log.say("sharing", "its state is in \(url)") }
    await warnOfNamesake()
    if FileLimit.current < FileLimit.least {
      log.say(
        "fewFiles",
        "at most \(FileLimit.current) files and connections may be open at once; give it \(FileLimit.least) or more, with "
          + "ulimit -n or LimitNOFILE=, or runs that come together fail for want of them", .warning)
    }
    log.advise(
      Signals.shared.endsWithTerminal
        ? "Ctrl-C or closing this terminal ends it cleanly; to have it stay, see: errand serve --systemd-unit"
        : "SIGTERM ends it cleanly; SIGHUP reads errand.yaml again")
    for run in left { log.say(.parked(run)) }
    tellFaults()
    try takeSockets()
    if let sandboxes = current.value.sandboxes { tell(of: sandboxes) }
    notice.ready(await summary())
    Service.giveBackMemory()
    // Not before, because nothing would answer who waits if the start failed.
    agent.service.reloading.begin { sink.yield(.reload) }
    let failure = await attend(events, sink)

    notice.stopping()
    if failure == nil { log.say("stopping", "finishing what is in flight; a second signal ends at once") }
    // Who waits for a reload is answered, so that the server can stop.
    agent.service.reloading.end()
    await api.stop()
    await connection.leave()
    if let failure { throw RuntimeError(failure, isShared: agent.store.sharing != nil) }
    let after =
      if current.value.sandboxes != nil {
        "its state and its files are removed"
      } else if current.value.workspace.database != nil {
        "other workers resume the open runs, or errand serve does when it is started again"
      } else {
        "open runs resume when errand serve is started again"
      }
    log.say("stopped", "stopped; \(after)")
    return .done
  }

  /// Warns of a live worker elsewhere of the same name, which people couldn't tell from this one.
  private func warnOfNamesake() async {
    let workspace = current.value.workspace
    // Without an answer there is nothing to warn of; the state reports its own failures.
    guard let workers = try? await agent.store.sharing?.workers() else { return }
    let name = workspace.workerName
    let other = workers.first { worker in
      worker.name.hasSameScalars(as: name) && !worker.isOver && !worker.home.hasSameScalars(as: workspace.home)
    }
    guard let other else { return }
    log.say(
      "namesake",
      "another worker is called '\(name.safe)' too, in \(other.home.safe); give each a name in errand.yaml: "
        + "worker: { name: … }", .warning, [("worker", name)])
  }

  /// Listens on the addresses of errand.yaml, unless systemd holds some.
  private func listen() async throws(RuntimeError) {
    if let refusal = settings.refusal(hasTokens: !(await agent.store.tokens().isEmpty)) {
      throw RuntimeError(.configuration, refusal)
    }
    (agent.store as? FileStateStore)?.observeCommits { [metrics = api.metrics] in
      metrics.count($0, syncTime: $1, recipe: $2)
    }
    for address in handed.isEmpty ? settings.listen : [] {
      let port: Int
      do throws(HTTPServerError) { port = try listen(on: address) } catch {
        throw RuntimeError(.unavailable, error.message)
      }
      log.say("listening", "listens on http://\(ServerSettings.Address(host: address.host, port: port).text)")
    }
  }

  /// Tells new runs the agent's URL.
  ///
  /// A sandbox may have another port than errand.yaml names, and an open port ('0') is
  /// known only now.
  private func tellBase() {
    let server = current.value.workspace.configuration.server
    agent.host.setBase((current.value.sandboxes == nil ? server.base : nil) ?? agent.service.sessions.base)
  }

  /// Takes over the sockets that systemd holds, so that clients wait while the agent starts again, and none is refused.
  private func takeSockets() throws(RuntimeError) {
    guard !handed.isEmpty else { return }
    do throws(HTTPServerError) {
      for descriptor in handed { try api.listen(on: descriptor) }
    } catch {
      throw RuntimeError(.unavailable, error.message)
    }
    if let base = current.value.workspace.configuration.server.base { agent.service.sessions.setBase(base) }
    log.say("listening", "listens on \(counted(handed.count, "socket")) of systemd")
  }

  /// Listens on an address; in a sandbox on any free port, if the agent itself has that one.
  private func listen(on address: ServerSettings.Address) throws(HTTPServerError) -> Int {
    do throws(HTTPServerError) { return try api.listen(on: address) } catch {
      guard current.value.sandboxes != nil, address.port != 0 else { throw error }
      return try api.listen(on: ServerSettings.Address(host: address.host, port: 0))
    }
  }

  /// Says that everything is made up, and how to look at it.
  private func tell(of sandboxes: ServedSandboxes) {
    log.say(
      "sandbox",
      "everything is made up: the services, the state, and the files in \(sandboxes.folder), a copy of the folder's, which are removed at the end"
    )
    guard let base = agent.service.sessions.base else { return }
    let caller = AgentCaller(account: geteuid())
    let link = agent.service.sessions.makeLink(for: caller, at: time.now())
    let again = OpenCommand.again(current.value.workspace, inState: sandboxes.state)
    log.say("link", "open \(base)/login?link=\(link) (works once, within a minute; for another: \(again))")
  }

  /// Handles the events until the end, and returns the failure that caused it.
  private func attend(_ events: AsyncStream<ServiceEvent>, _ sink: AsyncStream<ServiceEvent>.Continuation) async
    -> StateError?
  {
    // One look after another; the end waits for none of them, because the state may be away.
    let (looks, looking) = AsyncStream.makeStream(of: ServiceEvent.self)
    let looker = Task { await look(at: looks, sink) }
    defer {
      looking.finish()
      looker.cancel()
    }
    for await next in events {
      switch next {
      case .end: return nil
      case .fail(let error): return error
      case .look, .reload: looking.yield(next)
      }
    }
    return nil
  }

  private func look(
    at looks: AsyncStream<ServiceEvent>, _ sink: AsyncStream<ServiceEvent>.Continuation
  ) async {
    var watch = watch(sink)
    var locks = lockStamps()
    for await next in looks {
      let found = lockStamps()
      if case .look = next, found == locks {
        let news = await schedules.look()
        tell(news)
        if !news.isEmpty { Service.giveBackMemory() }
      } else {
        locks = found
        let answer = agent.service.reloading.take()
        notice.reloading()
        let failure = await reload()
        if failure == nil, !Task.isCancelled {
          let workspace = current.value.workspace
          tell(await schedules.use(workspace.recipeFolders, in: workspace.environment))
          watch?.stop()
          watch = self.watch(sink)
          let summary = await summary()
          answer(
            .success(
              .init(
                recipes: await schedules.recipes.count, schedules: await schedules.count,
                faults: await schedules.faults.count)))
          if Task.isCancelled { break }
          log.say("reloaded", "errand.yaml is read again: \(summary)")
          tellFaults()
          await agent.host.continueWithMissingDependencies()
        } else {
          let message = failure ?? "the agent is ending"
          answer(.failure(RequestRefusedError(.configuration, "errand.yaml is not reloaded: \(message)")))
        }
        let summary = await summary()
        if Task.isCancelled { break }
        notice.ready(summary)
        Service.giveBackMemory()
      }
      if await schedules.looksAgain {
        // Ends on its own, once; a file that was being replaced is back by then.
        Task {
          try? await time.sleep(for: .seconds(1))
          sink.yield(.look)
        }
      }
    }
    watch?.stop()
  }

  /// Returns to the system what runs needed, once none is under way: many at once need much, and the next may be days off.
  private func giveBackMemory(after ends: AsyncStream<Void>) async {
    for await _ in ends {
      try? await time.sleep(for: .milliseconds(200))
      if await agent.host.isWalking { continue }
      // Ended runs are in memory until a snapshot moves them to the history; the next write reports a failure of the
      // snapshot.
      if let store = agent.store as? FileStateStore, store.look({ $0.ended.count + $0.slots.count }) > 200 {
        try? await store.compact()
      }
      Service.giveBackMemory()
    }
  }

  /// Returns to the system what reading recipes needed for a moment: nothing may happen for days.
  private static func giveBackMemory() {
    // Looked up by name, because its header is in no module.
    typealias Trim = @convention(c) (Int) -> Int32
    if let symbol = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(symbol, to: Trim.self)(0) }
  }

  /// Logs the parts of errand.yaml that have no effect.
  private func tellFaults() {
    if current.value.sandboxes != nil { return }
    if let fault = current.value.workspace.failureRecipeFault { log.show([fault]) }
  }

  private func watch(_ sink: AsyncStream<ServiceEvent>.Continuation) -> FolderWatch? {
    let workspace = current.value.workspace
    let folders = workspace.recipeFolders + [workspace.root, "\(workspace.root)/plugins"]
    return FolderWatch(folders, reportsStart: true) { sink.yield(.look) }
  }

  /// The locks of plugins as they are on the disk.
  private func lockStamps() -> [String: FileStamp] {
    let root = current.value.workspace.root
    return LockFolder(root, kinds: []).names.reduce(into: [:]) { $0[$1] = FileStamp(LockFolder.path(of: $1, in: root)) }
  }

  /// Reads `errand.yaml` and the secrets again; if they are faulty, the faults are logged and returned.
  private func reload() async -> String? {
    let old = current.value
    var faults = ""
    do throws(RuntimeError) {
      let sandboxes = old.sandboxes
      let found = try dispatch.workspace(inState: sandboxes?.state) { faults = $0.rendered() }
      let workspace = sandboxes == nil ? found : found.inSandbox
      guard workspace.stateFolder.hasSameScalars(as: old.workspace.stateFolder) else {
        throw RuntimeError(
          .configuration,
          "it names another state folder, '\(workspace.stateFolder)'; stop errand serve and start it again")
      }
      guard (workspace.database?.url ?? "").hasSameScalars(as: old.workspace.database?.url ?? "") else {
        throw RuntimeError(
          .configuration, "it names another state, \(workspace.stateName); stop errand serve and start it again")
      }
      var new = old
      new.workspace = workspace
      new.secrets = sandboxes == nil ? try await workspace.soundSecretSources() : workspace.secretSources()
      current.value = new
      tellBase()
      log.use(LocalZone(of: workspace))
      agent.store.secrets.learn(await workspace.knownSecrets(new.secrets))
      await access.offer(workspace, new.secrets, on: agent.store)
      return nil
    } catch {
      log.say("reloadFailed", "errand.yaml is not reloaded: \(error.message.safe)", .error)
      // Who asked from elsewhere sees paths from the folder of errand.yaml only.
      return (faults.isEmpty ? error.message : faults).replacing("\(old.workspace.root)/", with: "")
    }
  }

  private func summary() async -> String {
    let recipes = await schedules.recipes.count
    let count = await schedules.count
    let open = await agent.store.openRunCounts().values.reduce(0, +)
    // Where machines share a state, the leader makes the schedules and starts their runs.
    if current.value.workspace.database != nil { return "\(counted(recipes, "recipe")), \(counted(open, "open run"))" }
    let next = await schedules.nextDue.map { "; next slot \(log.clock.date($0))" } ?? ""
    return "\(counted(recipes, "recipe")), \(counted(count, "schedule")), \(counted(open, "open run"))\(next)"
  }

  private func tell(_ news: [RecipeRegistry.News]) {
    for item in news {
      switch item {
      case .added(let item, let warnings):
        log.show(warnings)
        say("recipeAdded", "recipe \(item.name) of \(item.file)", .info, item)
      case .changed(let item, let warnings):
        log.show(warnings)
        say("recipeChanged", "recipe \(item.name) is read again", .info, item)
      case .removed(let item):
        say("recipeRemoved", "recipe \(item.name) was removed with \(item.file)", .warning, item)
      case .broken(let file, let faults, let inForce):
        log.show(faults)
        let rest =
          inForce.map { "; the last valid version of '\($0.name)' is still used" } ?? "; no version of it is used"
        log.say("recipeBroken", "'\(file)' has \(Diagnostics(faults).tally)\(rest)", .warning, [("file", file)])
      case .unlisted(_, let error): log.say("folderUnlisted", error.description, .warning)
      }
    }
  }

  private func say(_ event: String, _ text: String, _ level: ServeLog.Level, _ item: RecipeRegistry.Item) {
    log.say(event, text, level, [("recipe", item.name), ("file", item.file)])
  }

  /// Removes old records and data while nothing else happens, and cleans up a database.
  private func maintain() async {
    while !Task.isCancelled {
      try? await time.sleep(for: .seconds(3600))
      (agent.store as? FileStateStore)?.maintainIfDue()
      await (agent.store as? SharedStateStore)?.tidy(current.value.workspace.retention)
    }
  }

  /// Notifies the watchdog that the agent is alive, which it checks each time.
  private func showLife() async {
    guard let interval = notice.watchdog else { return }
    while !Task.isCancelled {
      _ = await agent.host.alarmCount
      notice.alive()
      try? await time.sleep(for: interval)
    }
  }
}

/// Watches the folders whose files start runs; the list changes as folders come and go.
private final class InboxWatch: Sendable {
  private let root: String
  private let schedules: ScheduleHost
  private let content = Mutex<(folders: [String], watch: FolderWatch?)>(([], nil))

  /// Beyond these, changes are found with the look of each minute.
  private static let mostFolders = 1000

  init(_ root: String, _ schedules: ScheduleHost) {
    self.root = root
    self.schedules = schedules
  }

  func watch(_ folders: [String]) {
    content.withLock { content in
      guard content.folders != folders else { return }
      content.watch?.stop()
      content.folders = folders
      let paths = folders.prefix(InboxWatch.mostFolders).map { $0.isEmpty ? root : "\(root)/\($0)" }
      guard !paths.isEmpty else {
        content.watch = nil
        return
      }
      content.watch = FolderWatch(paths, reportsStart: true) { [schedules] in
        // Ends with the look, or at once if there is one already.
        Task { await schedules.lookForFiles() }
      }
    }
  }

  func stop() { watch([]) }
}

extension Workspace {
  /// The sources of secrets, refused if a fault of a source can be found beforehand.
  ///
  /// Password managers are not asked; they may be locked while the machine starts.
  fileprivate func soundSecretSources() async throws(RuntimeError) -> SecretSources {
    let sources = secretSources()
    let faults = await sources.faults()
    if !faults.isEmpty { throw RuntimeError(.configuration, faults.map(\.message).joined(separator: "\n")) }
    return sources
  }
}
