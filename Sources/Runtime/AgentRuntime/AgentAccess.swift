package import Agent
import AgentClient
import AgentServer
import Operations
package import Basics
import Glibc
package import RecipeEditing
package import Recipes
package import Recordings
package import RunState
import Runs
package import SecretSources
import SharedState
import Threads

/// Access to the agent of a workspace's state folder: this process, or the one that already holds the folder.
package struct AgentAccess: Sendable {
  package let workspace: Workspace
  package let secrets: SecretSources
  package let time: any TimeSource
  /// The same, where the state's database puts it right.
  private let clock: CorrectedTime?
  /// The program's version.
  package let version: String
  /// The person that decisions and resolutions are recorded for.
  package var person: String
  /// Records the exchanges of services.
  package var recorder: Recorder?
  /// The queues that this process claims runs from in a shared state; they replace the ones in errand.yaml.
  package var queues: [String]?
  package var capacity: Int?
  /// The parts of the program for people who edit files; nil where none are edited.
  package var editor: EditorParts?
  /// The agent elsewhere that is asked in place of the folder's.
  package var remote: RemoteAgent?
  private let tell: @Sendable (Notice) -> Void

  /// How an agent that serves is reached over HTTP.
  package struct ServedPages: Sendable {
    package var settings: ServerSettings
    /// The clock of the people who look at pages.
    package var clock: @Sendable () -> WallClock

    package init(_ settings: ServerSettings, clock: @escaping @Sendable () -> WallClock) {
      self.settings = settings
      self.clock = clock
    }
  }

  /// The parts of editing that only the whole program has.
  package struct EditorParts: Sendable {
    package var templates: @Sendable (Workspace) -> [FileTemplate]
    package var newFile: @Sendable (FileBeginning, Workspace) async throws(RequestRefusedError) -> NewText
    package var test: @Sendable (_ paths: [String], _ files: OpenFiles, Workspace) async -> [TestedFile]

    package init(
      templates: @escaping @Sendable (Workspace) -> [FileTemplate],
      newFile: @escaping @Sendable (FileBeginning, Workspace) async throws(RequestRefusedError) -> NewText,
      test: @escaping @Sendable (_ paths: [String], _ files: OpenFiles, Workspace) async -> [TestedFile]
    ) {
      self.templates = templates
      self.newFile = newFile
      self.test = test
    }
  }

  /// A remark for the user.
  package enum Notice: Sendable {
    /// Something about the state.
    case state(String)
    /// The process that holds the folder finishes what is in flight, and then hands the folder over.
    case waitsForFolder
    /// A reason why the user waits.
    case waits(String)
    /// Deliveries to a webhook are verified with a secret that was made up, in a sandbox.
    case madeUp(secret: String, text: String)
  }

  package init(
    workspace: Workspace, secrets: SecretSources, time: any TimeSource, version: String, person: String,
    tell: @escaping @Sendable (Notice) -> Void
  ) {
    self.workspace = workspace
    self.secrets = secrets
    clock = workspace.database == nil ? nil : CorrectedTime(time)
    self.time = clock ?? time
    self.version = version
    self.person = person
    self.tell = tell
  }

  package func factory(connectionOverrides: [String: Value] = [:]) -> RunFactory {
    var factory = RunFactory(workspace: workspace, secrets: secrets, pool: ServicePool(time: time), time: time)
    factory.connectionOverrides = connectionOverrides
    factory.recorder = recorder
    return factory
  }

  // MARK: On a state folder

  private var isShared: Bool { workspace.database != nil }

  /// The folder's agent: this process, or the one that already holds the folder.
  package func connection() async throws(RuntimeError) -> AgentConnection {
    if let remote { return .remote(remote) }
    let factory = factory()
    let folder = try madeFolder()
    // An agent that is starting or ending can't be reached for a moment.
    var patience = 100
    while true {
      var held: AgentError
      switch try lock(folder) {
      case .success(let lock): return try await agent(lock, isServing: false) { factory }
      case .failure(let error): held = error
      }
      do throws(AgentError) {
        if let client = try client(of: folder) {
          guard recorder != nil else { return .client(client, isShared: isShared) }
          held.message =
            "--record must run the recipe in this process, but another process is the agent of the state: \(held.message)"
          // A command that only asks something holds the folder briefly; an agent stays.
          patience = min(patience, 20)
        }
      } catch {
        throw RuntimeError(error)
      }
      patience -= 1
      if patience == 0 { throw RuntimeError(.locked, held.message) }
      try? await time.sleep(for: .milliseconds(50))
    }
  }

  /// A client of the agent that holds a folder; nil if it can't be reached at the moment.
  private func client(of folder: String) throws(AgentError) -> FolderAgent? {
    try FolderAgent.find(
      folder, identity: identity, person: person, patience: WirePatience(time: time) { [tell] in tell(.waits($0)) })
  }

  /// Puts the clock right by the state's database, if this process will be the agent of such a state, so that what it
  /// makes is dated as on the other machines; without an answer, whatever needs the database says so.
  package func readClock() async {
    guard let clock, let settings = workspace.database, !FolderLock.isHeld(workspace.stateFolder),
      let database = try? await workspace.opened(settings, secrets: secrets)
    else { return }
    let start = time.elapsed()
    if let there = try? await database.clock() { clock.note(there, took: time.elapsed() - start) }
    await database.close()
  }

  /// Connects for a few requests.
  ///
  /// - Parameter isReading: Whether the requests change nothing, so that a read-only disk is enough.
  package func asking<Output>(
    isReading: Bool = false, _ body: (AgentRequests) async throws(RuntimeError) -> Output
  ) async throws(RuntimeError) -> Output {
    let isReadOnly = remote == nil && isReading && access(workspace.stateFolder, W_OK) != 0 && errno == EROFS
    let connection = isReadOnly ? try await readingConnection() : try await self.connection()
    let result: Result<Output, RuntimeError>
    do throws(RuntimeError) {
      result = .success(try await body(AgentRequests(connection: connection, access: self)))
    } catch {
      result = .failure(error)
    }
    await connection.leave()
    return try result.get()
  }

  /// Asks what changes nothing, and leaves everything as it is: of the agent that holds the folder, or of this process,
  /// which doesn't become the folder's agent; nil if there is no state yet, or its agent isn't reached at once.
  package func looking<Output>(
    _ body: (AgentRequests) async throws(RuntimeError) -> Output
  ) async throws(RuntimeError) -> Output? {
    let connection: AgentConnection
    if FolderLock.isHeld(workspace.stateFolder) {
      guard let client = try? client(of: workspace.stateFolder) else { return nil }
      do throws(RuntimeError) {
        return try await body(AgentRequests(connection: .client(client, isShared: isShared)))
      } catch {
        // An agent of another version or configuration isn't asked.
        guard error.kind == .locked else { throw error }
        return nil
      }
    } else {
      guard workspace.database != nil || Files.exists(workspace.stateFolder) else { return nil }
      connection = try await readingConnection()
    }
    let result: Result<Output, RuntimeError>
    do throws(RuntimeError) {
      result = .success(try await body(AgentRequests(connection: connection, access: self)))
    } catch {
      result = .failure(error)
    }
    await connection.leave()
    return try result.get()
  }

  /// A connection for a command that only reads, on a read-only disk: writes stay in memory.
  private func readingConnection() async throws(RuntimeError) -> AgentConnection {
    let factory = factory()
    return try await agent(nil, isServing: false, on: OverlayFileSystem()) { factory }
  }

  /// Makes this process the folder's permanent agent; refused while another process is.
  ///
  /// A run in the foreground may hold the folder for days; it is asked to hand the folder over, and continues as a
  /// client of this process.
  ///
  /// - Parameter server: The settings of the API and the pages if they aren't those of errand.yaml, and the clock of the
  ///   people who look at pages.
  package func serve(
    _ server: ServedPages? = nil, factory: @escaping @Sendable () -> RunFactory
  ) async throws(RuntimeError) -> AgentConnection {
    let folder = try madeFolder()
    // A command that only asks something holds the folder briefly; a run hands it over on request.
    var patience = 100
    var isPromised = false
    while true {
      switch try lock(folder) {
      case .success(let lock): return try await agent(lock, isServing: true, serving: server, factory: factory)
      case .failure(let error):
        if try await asksForFolder(folder), !isPromised {
          isPromised = true
          tell(.waitsForFolder)
        }
        patience -= isPromised ? 0 : 1
        if patience == 0 { throw RuntimeError(.locked, error.message) }
        try? await time.sleep(for: .milliseconds(50))
      }
    }
  }

  /// Asks the folder's agent to hand the folder over; false if there is no agent.
  private func asksForFolder(_ folder: String) async throws(RuntimeError) -> Bool {
    guard let client = try? client(of: folder) else { return false }
    let requests = AgentRequests(connection: .client(client, isShared: isShared))
    do throws(RuntimeError) { _ = try await requests.ask(YieldFolder()) } catch {
      // An agent that ended has released the folder.
      guard error.kind == .locked else { return false }
      throw error
    }
    return true
  }

  /// Waits until the process that asked for the folder has it, or for a while if that process ended.
  package func awaitSuccessor() async {
    for _ in 0..<100 where !FolderLock.isHeld(workspace.stateFolder) { try? await time.sleep(for: .milliseconds(20)) }
  }

  /// The lock of the folder, unless another process holds it.
  private func lock(_ folder: String) throws(RuntimeError) -> Result<FolderLock, AgentError> {
    do throws(AgentError) { return .success(try FolderLock.acquire(folder, program: identity.program)) } catch {
      if error.kind == .held { return .failure(error) }
      throw RuntimeError(.cannotCreate, error.message)
    }
  }

  /// The state's folder, created if it is missing.
  private func madeFolder() throws(RuntimeError) -> String {
    try RuntimeError.creating { () throws(FileError) in try DiskFileSystem().makeFolder(workspace.stateFolder) }
    return workspace.stateFolder
  }

  package var identity: AgentIdentity {
    AgentIdentity(program: "errand \(version)", configuration: workspace.configurationPath ?? "no errand.yaml")
  }

  private var caller: AgentCaller { AgentCaller(name: person) }

  /// - Parameter sandboxes: What stands in for everything, if anything does.
  private func status(isServing: Bool, in sandboxes: ServedSandboxes? = nil) -> AgentStatus {
    AgentStatus(
      pid: Int(getpid()), version: version, isServing: isServing, since: time.now(), folder: workspace.stateFolder,
      database: workspace.database?.url, isSandbox: sandboxes != nil,
      paths: workspace.serverPaths(besides: sandboxes.map { [$0.folder, $0.root] } ?? []))
  }

  /// The terms of this process as a worker of a shared state.
  private func terms(_ workspace: Workspace, _ secrets: SecretSources) async -> WorkerTerms {
    var terms = await workspace.workerTerms(program: identity.program, secrets)
    if let queues { terms.queues = Set(queues) }
    if let capacity { terms.capacity = capacity }
    return terms
  }

  /// Updates this process's terms in a shared state after errand.yaml has changed.
  package func offer(_ workspace: Workspace, _ secrets: SecretSources, on store: any StateStore) async {
    guard let store = store as? SharedStateStore else { return }
    if let settings = workspace.database, let database = store.database as? PostgresDatabase,
      let servers = try? await workspace.servers(of: settings, secrets: secrets)
    {
      database.use(servers)
    }
    await store.work(on: await terms(workspace, secrets))
  }

  /// Opens the state: of the database that errand.yaml names, or of the folder.
  private func opened(
    isServing: Bool, isLocked: Bool, on fileSystem: any FileSystem
  ) async throws(RuntimeError) -> any StateStore {
    if let database = workspace.database {
      let terms = await terms(workspace, secrets)
      let database = try await workspace.opened(database, secrets: secrets)
      let store = SharedStateStore(database, terms: terms, time: time, clock: clock)
      await store.readClock()
      let tell = tell
      store.observeWaiting { tell(.state("waiting for the state's database: \($0.message)")) }
      return store
    }
    do throws(StateError) {
      let store = try await FileStateStore.open(
        workspace.stateFolder, program: version, fileSystem: fileSystem,
        // A short journal that a command leaves costs the next start no time.
        compaction: CompactionRule(smallestAtEnd: isServing ? 0 : 64 << 10),
        keeping: isLocked ? workspace.retention : nil, time: time)
      for notice in store.notices { tell(.state(notice)) }
      return store
    } catch {
      throw RuntimeError(.cannotCreate, error.message)
    }
  }

  /// Makes this process the agent of the folder whose lock it has; without a lock, it only reads and doesn't listen.
  private func agent(
    _ lock: FolderLock?, isServing: Bool, serving server: ServedPages? = nil,
    on fileSystem: any FileSystem = DiskFileSystem(), factory: @escaping @Sendable () -> RunFactory
  ) async throws(RuntimeError) -> AgentConnection {
    let store = try await opened(isServing: isServing, isLocked: lock != nil, on: fileSystem)
    CrashMark.arm(in: workspace.stateFolder)
    let workspace = workspace
    let sandboxes = factory().sandboxes
    let tell = tell
    let secret: SecretRegistry.Source = { name, isFresh in
      let current = factory()
      let sources = isFresh ? current.workspace.secretSources() : current.secrets
      return await current.workspace.secret(named: name, from: sources)
    }
    store.secrets.ask(renewed: { factory().workspace.isRenewed($0) }, secret)
    store.secrets.learn(await workspace.knownSecrets(secrets))
    var served = LocalAgent.Served(workspace.recipeFolders, in: workspace.environment)
    served.watched = .disk(sandboxes?.folder ?? workspace.root)
    served.root = workspace.root
    // Each asks for the workspace anew, so that it is the one after a reload.
    served.findInput = {
      let found = await factory().workspace.input(ofStep: $1, in: $0)
      return (found.input, found.place)
    }
    served.findNames = { factory().workspace.names(ofStepsAt: $2, of: $0, among: $1) }
    served.findOutline = { await factory().workspace.outline(of: $0, among: $1) }
    if sandboxes == nil {
      served.findFiles = { factory().workspace.files(of: $0, among: $1) }
      served.readFile = { file throws(RequestRefusedError) in try await factory().workspace.bytes(of: file) }
    }
    served.explain = {
      await factory().workspace.explanation(of: $0, in: $3, isServed: $1, holder: $2, tellsDistance: $4)
    }
    served.clock = { factory().workspace.wallClock($0) }
    served.plan = { run throws(RequestRefusedError) in try await factory().plan(run, keptIn: store) }
    served.survey = {
      let factory = factory()
      return await factory.workspace.survey(factory.secrets, store)
    }
    if isServing, let editor { served.editing = editing(editor, factory) }
    served.refusal = { await factory().refusal(of: $0, inputs: $1) }
    served.secret = { name, isFresh in
      if let text = await secret(name, isFresh) { return text }
      guard let text = sandboxes?.secret(named: name) else { return nil }
      tell(.madeUp(secret: name, text: text))
      return text
    }
    let agent = LocalAgent(
      status(isServing: isServing, in: sandboxes), on: store, time: time,
      walkers: isServing ? TaskThreads.walkers : nil, base: workspace.configuration.server.base,
      serving: served
    ) { record throws(RunRefusedError) in
      try await factory().prepared(record, from: store)
    }
    do throws(AgentError) {
      var socket: AgentSocket?
      if let lock { socket = try AgentSocket(in: workspace.stateFolder, holding: lock) { api(of: agent, server) } }
      return .agent(agent, caller: caller, lock: lock, socket: socket)
    } catch {
      throw RuntimeError(.cannotCreate, error.message)
    }
  }

  /// How files are edited, by the configuration of the moment.
  private func editing(
    _ parts: EditorParts, _ factory: @escaping @Sendable () -> RunFactory
  ) -> FolderEditing {
    let configuration = workspace.configurationPath
    let variables = Workspace.environmentVariables.filter { ["PATH", "HOME", "XDG_CONFIG_HOME"].contains($0.key) }
    var editing = FolderEditing(
      root: workspace.root, configuration: configuration, versions: "\(workspace.stateFolder)/versions",
      environment: variables, recipeFolders: { factory().workspace.recipeFolders },
      isAllowed: { factory().workspace.configuration.server.allowsEditing }
    ) { files in
      let workspace = factory().workspace
      guard let configuration, files.paths.contains(configuration) else { return workspace.editorFolder(files) }
      let edited = Workspace.edited(at: configuration, in: workspace.root, files, workspace.catalog).workspace
      return edited.editorFolder(files)
    }
    editing.machine = {
      let workspace = factory().workspace
      return workspace.database == nil ? nil : workspace.workerName
    }
    editing.templates = { parts.templates(factory().workspace) }
    editing.newFile = { beginning throws(RequestRefusedError) in
      try await parts.newFile(beginning, factory().workspace)
    }
    editing.test = { await parts.test($0, $1, factory().workspace) }
    return editing
  }

  /// The agent over HTTP; without settings of its own, those of errand.yaml.
  private func api(of agent: LocalAgent, _ server: ServedPages?) -> APIServer {
    let (workspace, time) = (workspace, time)
    let pages = server ?? ServedPages(workspace.configuration.server) { workspace.wallClock(time.now()) }
    return APIServer(agent.service, settings: pages.settings, identity: identity, time: time, clock: pages.clock)
  }

  // MARK: Apart from the state

  /// An agent for one run, with a state of its own that is discarded with the process.
  ///
  /// - Parameter clock: A stopped clock, for a run that waits for nothing.
  package func agentApart(_ factory: RunFactory, on clock: ManualClock? = nil) async -> AgentConnection {
    let store = MemoryStateStore()
    store.secrets.learn(await workspace.knownSecrets(secrets))
    let agent = LocalAgent(
      status(isServing: false), on: store, time: clock ?? time, activity: clock.map { _ in Activity() }
    ) { record throws(RunRefusedError) in
      try await factory.prepared(record, from: store)
    }
    return .agent(agent, caller: caller)
  }
}
