import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes
import RunState
import Runs
import SharedState

/// `errand state`: writes the whole state to one file, and reads it back; makes the tables of one in a database.
struct StateCommand: DispatchedCommand {
  let dispatch: Dispatch
  private let workspace: Workspace

  init(_ dispatch: Dispatch) throws(RuntimeError) {
    self.dispatch = dispatch
    workspace = try dispatch.workspace()
  }

  private var archive: StateArchive { StateArchive(workspace.stateFolder, program: version) }
  private var file: String { parsed["file"].text ?? "-" }
  private var isMoving: Bool { parsed["move"].isGiven }

  func run() async throws(RuntimeError) -> ExitCode {
    let command = parsed.command.last ?? ""
    if ["init", "migrate"].contains(command) { return try await migrate(makesNew: command == "init") }
    let report: StateArchive.Report
    switch command {
    case "import":
      report = try await takeIn()
    default:
      report = try await export()
      console.say("\(report.summary) are in \(file == "-" ? "the archive" : file) now")
      if isMoving {
        console.say("the state in \(workspace.stateName) is closed: the runs continue where the archive is imported")
      }
    }
    for notice in report.notices { note(notice) }
    return .done
  }

  private func note(_ notice: String) {
    console.error("\(Style.yellow.applied(to: "note", console.colourError)): \(notice.safeText())")
  }

  private func migrate(makesNew: Bool) async throws(RuntimeError) -> ExitCode {
    guard let database = workspace.database else {
      throw RuntimeError(
        .usage,
        "the state is in the folder \(workspace.stateFolder), which is made and brought up to date when it is used; for "
          + "one in PostgreSQL, write to errand.yaml: state: postgres://USER@HOST/DATABASE")
    }
    let servers = try await workspace.servers(of: database, secrets: workspace.secretSources())
    let worker = makesNew ? parsed["worker"].text : nil
    let done: PostgresDatabase.Migration
    do throws(DatabaseError) {
      done = try await PostgresDatabase.migrate(servers, makesNew: makesNew, granting: worker)
    } catch {
      throw RuntimeError(error)
    }
    let name = workspace.stateName
    let change = "from step \(done.before.steps) to step \(done.after.steps)"
    switch (done.before.steps, done.after.steps) {
    case (0, _): console.say("the state in \(name) is made")
    case (let before, let after) where before < after: console.say("the tables in \(name) are brought \(change)")
    case _ where makesNew: console.say("there is a state in \(name) already")
    default: console.say("the tables in \(name) are up to date")
    }
    if let worker { console.say("the role '\(worker)' can work on it") }
    return .done
  }

  private func export() async throws(RuntimeError) -> StateArchive.Report {
    if workspace.database == nil, !Files.exists(workspace.stateFolder) {
      throw RuntimeError(.noInput, "there is no state in \(workspace.stateFolder)")
    }
    let isHeld = isMoving && workspace.database == nil
    let lock = isHeld ? try FolderLock.held(by: "errand \(version)", workspace.stateFolder) : nil
    defer { lock?.release() }
    if file == "-" {
      if isMoving {
        throw RuntimeError(.usage, "--move closes the state once its archive is kept; name a file in place of -")
      }
      let output = dup(STDOUT_FILENO)
      defer { close(output) }
      let result = try await export { bytes throws(FileError) in
        try Descriptor(owning: dup(output)).write(bytes, "standard output")
      } finish: { () throws(StateError) in
      }
      do throws(StateError) { return try result.get() } catch { throw refusal(error) }
    }
    try refuseTarget()
    // Written beside the target, so that the file with the target's name is always whole; another export to the same
    // file may be under way. It gets that name once the state is closed, so that no open state has an archive that says
    // it was moved.
    let temporary = "\(file).\([UInt8].random(6).hexadecimal).new"
    let disk = DiskFileSystem()
    for left in try leftovers() {
      note(
        "'\(left.safe)' is of an export that is under way or was interrupted; if the state is closed since, that is its "
          + "archive, which you can rename; if it isn't, remove it")
    }
    let output = try RuntimeError.creating { () throws(FileError) in
      try disk.remove(temporary)
      return try disk.openForAppending(temporary)
    }
    let result: Result<StateArchive.Report, StateError>
    var isWhole = false
    do throws(RuntimeError) {
      result = try await export { bytes throws(FileError) in
        try output.append(bytes)
      } finish: { () throws(StateError) in
        do throws(FileError) {
          try output.sync()
          try Files.syncFolder(of: temporary)
          isWhole = true
        } catch {
          throw StateError(.unavailable, error.description)
        }
      }
    } catch {
      try? disk.remove(temporary)
      throw error
    }
    let report: StateArchive.Report
    do throws(StateError) { report = try result.get() } catch {
      var refused = refusal(error)
      if isWhole, isMoving {
        refused.message +=
          "; if errand doctor says that the state was moved all the same, '\(temporary.safe)' is its archive, and if it "
          + "wasn't, remove that file"
      } else {
        try? disk.remove(temporary)
      }
      throw refused
    }
    do throws(FileError) {
      try disk.rename(temporary, to: file)
      try Files.syncFolder(of: file)
    } catch {
      throw RuntimeError(.cannotCreate, "\(error); the whole archive is '\(temporary.safe)'")
    }
    return report
  }

  /// The archives that other exports write, or left when they were interrupted.
  private func leftovers() throws(RuntimeError) -> [String] {
    let path = Workspace.absolute(file, in: Workspace.workingFolder)
    guard let slash = path.utf8.lastIndex(of: ASCII.slash) else { return [] }
    let (folder, name) = (String(path[..<slash]), path[path.utf8.index(after: slash)...])
    return try RuntimeError.creating { () throws(FileError) in
      try DiskFileSystem().list(folder).filter { left in
        left.hasPrefix("\(name).") && left.hasSuffix(".new")
          && left.dropFirst(name.count + 1).dropLast(4).utf8.allSatisfy { $0 != ASCII.dot }
      }.sorted { $0.precedesByScalars($1) }
    }
  }

  /// Writes the archive, and closes the state if it moves.
  ///
  /// - Parameter finish: Makes the archive durable, before the state is closed.
  private func export(
    _ write: @escaping ([UInt8]) throws(FileError) -> Void, finish: () throws(StateError) -> Void
  ) async throws(RuntimeError) -> Result<StateArchive.Report, StateError> {
    let now = SystemTime().now()
    let moved = isMoving ? MovedState(at: now, to: Workspace.absolute(file, in: Workspace.workingFolder)) : nil
    if let database = workspace.database {
      let servers = try await workspace.servers(of: database, secrets: workspace.secretSources())
      do throws(StateError) {
        return .success(
          try await PostgresDatabase.export(
            servers, moving: moved, at: now, program: version, write, finish: finish))
      } catch {
        return .failure(error)
      }
    }
    do throws(StateError) {
      if isMoving, let moved = try archive.moved() { throw .movedAlready(moved) }
      let report = try archive.export(at: now, isMoved: isMoving, write)
      try finish()
      if let moved { try archive.close(as: moved) }
      return .success(report)
    } catch {
      return .failure(error)
    }
  }

  /// Refuses a target that the archive must not replace: a device or a folder, and any file without `--force`.
  private func refuseTarget() throws(RuntimeError) {
    switch try RuntimeError.creating({ () throws(FileError) in try Files.kind(of: file) }) {
    case nil: return
    case .file where parsed["force"].isGiven: return
    case .file: throw RuntimeError(.cannotCreate, "'\(file)' already exists; --force replaces it")
    case .folder: throw RuntimeError(.cannotCreate, "'\(file)' is a folder; name a file in it")
    case .other:
      throw RuntimeError(.cannotCreate, "'\(file)' isn't a regular file; - writes to standard output")
    }
  }

  private func takeIn() async throws(RuntimeError) -> StateArchive.Report {
    if workspace.database != nil, parsed["replace"].isGiven {
      throw RuntimeError(
        .usage,
        "--replace is for a state in a folder, and this one is in \(workspace.stateName); an archive is imported into a "
          + "database without a state")
    }
    let number = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw RuntimeError(.noInput, "\(FileError(.read, file, .system(errno)))") }
    defer { close(number) }
    let name = file == "-" ? "standard input" : file
    func read(_ count: Int) throws(FileError) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      while true {
        let read = bytes.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
        if read < 0, errno == EINTR { continue }
        if read < 0 { throw FileError(.read, name, .system(errno)) }
        bytes.removeLast(count - read)
        return bytes
      }
    }
    if let database = workspace.database { return try await takeIn(to: database, read) }
    let folder = workspace.stateFolder
    let lock = try FolderLock.held(by: "errand \(version)", folder)
    defer { lock?.release() }
    do throws(StateError) {
      let report = try archive.import(replacing: parsed["replace"].isGiven, at: SystemTime().now(), read)
      console.say("\(report.summary) are in \(folder) now")
      try await pauseDisplaced()
      return report
    } catch {
      throw refusal(error)
    }
  }

  /// Pauses the open runs that worked with files of another machine or folder, so that a person resumes them.
  private func pauseDisplaced() async throws(StateError) {
    let store = try await FileStateStore.open(workspace.stateFolder, program: version)
    let here = workspace.home
    for run in await store.openRuns(OpenRunQuery()) {
      guard let home = run.home, !home.hasSameScalars(as: here) else { continue }
      let now = SystemTime().now()
      var events = [StateEvent.runPlaced(RunPlaced(run: run.id, at: now, home: here))]
      if run.status != .uncertain {
        let reason =
          "it worked with files in \(RunNeed.place(of: home)); see that they are in \(workspace.root.safe), then: "
          + "errand runs resume \(run.id)"
        events.append(.runStatusChanged(RunStatusChanged(run: run.id, at: now, status: .paused, reason: reason)))
      }
      try await store.append(events)
      note(
        "the run \(run.id) of \(run.origin.recipe.safe) is paused: it worked with files in \(RunNeed.place(of: home))")
    }
    try await store.close()
  }

  private func takeIn(
    to database: DatabaseSettings, _ read: @escaping (Int) throws(FileError) -> [UInt8]
  ) async throws(RuntimeError) -> StateArchive.Report {
    let secrets = workspace.secretSources()
    let servers = try await workspace.servers(of: database, secrets: secrets)
    let factory = RunFactory(
      workspace: workspace, secrets: secrets, pool: ServicePool(time: SystemTime()), time: SystemTime())
    do throws(StateError) {
      let taken = try await PostgresDatabase.import(
        servers, placing: { factory.place(&$0, withTexts: $1) }, read)
      if taken.wasThere {
        console.say("the archive was imported into \(workspace.stateName) before; nothing was changed")
        return StateArchive.Report()
      }
      console.say("\(taken.report.summary) are in \(workspace.stateName) now")
      if taken.isMoved {
        // Says in the folder where its state is, if it was in this one.
        if var moved = try archive.moved(), moved.at == taken.at {
          moved.to = workspace.stateName
          try archive.close(as: moved)
        }
      } else {
        note(
          "the state that the archive was made of wasn't closed; if an agent runs there as well, its runs are done twice: "
            + "stop it, or move it with: errand state export --move")
      }
      return taken.report
    } catch {
      throw refusal(error)
    }
  }

  private func refusal(_ error: StateError) -> RuntimeError {
    let kind: RuntimeError.Kind =
      switch error.kind {
      case .invalid, .secret: .cannotCreate
      case .damaged, .newer: .invalid
      case .unavailable, .fatal, .closed, .fenced: .unavailable
      }
    return RuntimeError(kind, error.message)
  }
}

extension StateArchive.Report {
  fileprivate var summary: String {
    "\(counted(openRuns, "open run")), \(counted(months, "month")) of records, and \(counted(blobs, "large value")) "
      + "(\(bytes) bytes)"
  }
}
