import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import RunState
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

  func run() async throws(RuntimeError) -> ExitCode {
    let command = parsed.command.last ?? ""
    if ["init", "migrate"].contains(command) { return try await migrate(makesNew: command == "init") }
    if workspace.database != nil {
      throw RuntimeError(
        .usage,
        "'errand state \(command)' is for a state in a folder, and this one is in \(workspace.stateName); back the "
          + "database up with pg_dump")
    }
    let report: StateArchive.Report
    switch command {
    case "import":
      report = try takeIn()
      console.say("\(report.summary) are in \(workspace.stateFolder) now")
    default:
      report = try export()
      console.say("\(report.summary) are in \(file == "-" ? "the archive" : file) now")
    }
    for notice in report.notices {
      console.error("\(Style.yellow.applied(to: "note", console.colourError)): \(notice)")
    }
    return .done
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

  private func export() throws(RuntimeError) -> StateArchive.Report {
    guard Files.exists(workspace.stateFolder) else {
      throw RuntimeError(.noInput, "there is no state in \(workspace.stateFolder)")
    }
    if file == "-" {
      let output = Descriptor(owning: dup(STDOUT_FILENO))
      return try kept { () throws(StateError) in
        try archive.export(at: SystemTime().now()) { bytes throws(FileError) in
          try output.write(bytes, "standard output")
        }
      }
    }
    try refuseTarget()
    // Written beside the target, so that the file with the target's name is always whole.
    let temporary = "\(file).new"
    let disk = DiskFileSystem()
    let output = try RuntimeError.creating { () throws(FileError) in
      try disk.remove(temporary)
      return try disk.openForAppending(temporary)
    }
    do throws(RuntimeError) {
      let report = try kept { () throws(StateError) in
        try archive.export(at: SystemTime().now()) { bytes throws(FileError) in try output.append(bytes) }
      }
      try RuntimeError.creating { () throws(FileError) in
        try output.sync()
        try disk.rename(temporary, to: file)
        try Files.syncFolder(of: file)
      }
      return report
    } catch {
      try? disk.remove(temporary)
      throw error
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

  private func takeIn() throws(RuntimeError) -> StateArchive.Report {
    let folder = workspace.stateFolder
    let lock = try FolderLock.held(by: "errand \(version)", folder)
    defer { lock?.release() }
    let number = file == "-" ? dup(STDIN_FILENO) : open(file, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw RuntimeError(.noInput, "\(FileError(.read, file, .system(errno)))") }
    let input = Descriptor(owning: number)
    return try kept { () throws(StateError) in
      try archive.import(replacing: parsed["replace"].isGiven, at: SystemTime().now()) {
        count throws(FileError) in
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try input.retrying(.read, file == "-" ? "standard input" : file) {
          bytes.withUnsafeMutableBytes { Glibc.read(input.number, $0.baseAddress, $0.count) }
        }
        bytes.removeLast(count - read)
        return bytes
      }
    }
  }

  private func kept(
    _ body: () throws(StateError) -> StateArchive.Report
  ) throws(RuntimeError) -> StateArchive.Report {
    do throws(StateError) { return try body() } catch {
      let kind: RuntimeError.Kind =
        switch error.kind {
        case .invalid, .secret: .cannotCreate
        case .damaged, .newer: .invalid
        case .unavailable, .fatal, .closed, .deposed: .unavailable
        }
      throw RuntimeError(kind, error.message)
    }
  }
}

extension StateArchive.Report {
  fileprivate var summary: String {
    "\(openRuns) open runs, \(months) months of records, and \(blobs) large values (\(bytes) bytes)"
  }
}
