import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import PluginList
import PluginLocks
import Recipes
import RunState
import SecretSources
import SharedState

/// `errand doctor`: examines the state and its surroundings, and repairs it.
struct DoctorCommand: DispatchedCommand {
  let dispatch: Dispatch
  private let workspace: Workspace
  private let secrets = SecretRegistry()

  init(_ dispatch: Dispatch) throws(RuntimeError) {
    self.dispatch = dispatch
    workspace = try dispatch.workspace()
  }

  func run() async throws(RuntimeError) -> ExitCode {
    let unknown =
      await workspace.tellEverySecret(to: secrets).map {
        StateExamination.Finding(
          .warning, "the state is not searched for the secret '\($0)', which cannot be read; see: errand secrets check")
      }
      + workspace.secretSources().warnings().map { StateExamination.Finding(.warning, $0) }
    if let database = workspace.database { return try await examine(database, unknown) }
    let folder = workspace.stateFolder
    var repaired: [String] = []
    let keepsUntilDamage = parsed["keep-until-damage"].isGiven
    if keepsUntilDamage, !parsed["repair"].isGiven {
      throw RuntimeError(
        .usage, "--keep-until-damage changes the state; write: errand doctor --repair --keep-until-damage")
    }
    let lock = parsed["repair"].isGiven ? try FolderLock.held(by: "errand \(version)", folder) : nil
    var (examination, isHeld) = try examine(holdingIt: lock != nil)
    if lock != nil, keepsUntilDamage || examination.findings.contains(where: \.isRepairable) {
      repaired = try kept { () throws(StateError) in
        try doctor(isHeld: false).repair(keepingUntilDamage: keepsUntilDamage)
      }
      (examination, isHeld) = try examine(holdingIt: true)
    }
    lock?.release()
    let holder = isHeld ? FolderLock.holder(of: folder) : nil
    examination.findings += surroundings
    examination.findings += await failureFindings
    if let objection = FolderLock.objection(to: folder) { examination.findings.append(.init(.fault, objection)) }
    examination.findings += unknown
    if asJSON {
      showJSON(examination, holder, isHeld, repaired)
    } else {
      showText(examination, holder, isHeld, repaired)
    }
    return examination.hasFaults ? .failed : .done
  }

  /// Examines a state in a database, and this machine.
  private func examine(
    _ database: DatabaseSettings, _ unknown: [StateExamination.Finding]
  ) async throws(RuntimeError) -> ExitCode {
    if let name = ["repair", "keep-until-damage"].first(where: { parsed[$0].isGiven }) {
      throw RuntimeError(
        .usage,
        "--\(name) is for a state in a folder, and this one is in \(workspace.stateName); a database is repaired with "
          + "its own tools")
    }
    let servers = try await workspace.servers(of: database, secrets: workspace.secretSources())
    let found = await PostgresDatabase.examine(servers, secrets: secrets)
    var examination = found.state
    examination.findings += unknown + surroundings
    examination.findings += await failureFindings
    if let objection = FolderLock.objection(to: workspace.stateFolder) {
      examination.findings.append(.init(.fault, objection))
    }
    let isHeld = FolderLock.isHeld(workspace.stateFolder)
    let holder = isHeld ? FolderLock.holder(of: workspace.stateFolder) : nil
    if asJSON {
      showJSON(examination, holder, isHeld, [], servers: found.servers)
    } else {
      showText(examination, holder, isHeld, [], servers: found.servers)
    }
    return examination.hasFaults ? .failed : .done
  }

  private func doctor(isHeld: Bool) -> StateDoctor {
    StateDoctor(workspace.stateFolder, program: version, now: SystemTime().now(), isHeld: isHeld, secrets: secrets)
  }

  /// Examines the state, a second time if an agent started meanwhile, whose unfinished writes aren't faults.
  private func examine(holdingIt: Bool) throws(RuntimeError) -> (StateExamination, isHeld: Bool) {
    let folder = workspace.stateFolder
    if holdingIt {
      return (try kept { () throws(StateError) in try doctor(isHeld: false).examine() }, false)
    }
    let wasHeld = FolderLock.isHeld(folder)
    let examination = try kept { () throws(StateError) in try doctor(isHeld: wasHeld).examine() }
    if wasHeld || !FolderLock.isHeld(folder) { return (examination, wasHeld) }
    return (try kept { () throws(StateError) in try doctor(isHeld: true).examine() }, true)
  }

  private func kept<Outcome>(_ body: () throws(StateError) -> Outcome) throws(RuntimeError) -> Outcome {
    do throws(StateError) { return try body() } catch { throw RuntimeError(.unavailable, error.message) }
  }

  /// The findings about `onFailure` of errand.yaml.
  private var failureFindings: [StateExamination.Finding] {
    get async {
      let name: String
      switch workspace.failureRecipe {
      case nil: return []
      case .failure(let error)?: return [.init(.fault, workspace.failureRecipeFault(error).message)]
      case .success(let recipe)?: name = recipe.name
      }
      guard let store = await readStore, let last = try? await store.finishedRuns(HistoryQuery(limit: 1, recipe: name))
      else { return [] }
      let stuck = await store.openRuns(OpenRunQuery(recipe: name, statuses: [.uncertain, .paused])).first
      try? await store.close()
      if let stuck {
        return [
          .init(
            .warning,
            "a run of '\(name)', which onFailure names, is \(stuck.status.rawValue) and may hold up others; see: errand why \(stuck.id)"
          )
        ]
      }
      guard let last = last.first, last.status != .succeeded else { return [] }
      let reason = last.reason.map { ": \($0)" } ?? ""
      return [
        .init(
          .warning,
          "the last run of '\(name)', which onFailure names, is \(last.status.rawValue)\(reason); see: errand runs show \(last.id)"
        )
      ]
    }
  }

  /// The state, to be read only; nil if it can't be.
  private var readStore: (any StateStore)? {
    get async {
      if let database = workspace.database {
        let opened = try? await workspace.opened(database, secrets: workspace.secretSources())
        return opened.map { SharedStateStore($0) }
      }
      guard Files.exists(workspace.stateFolder) else { return nil }
      // Repairs that are made when the state is opened stay in memory.
      return try? await FileStateStore.open(
        workspace.stateFolder, program: version, fileSystem: OverlayFileSystem())
    }
  }

  /// Checks what else this machine needs.
  private var surroundings: [StateExamination.Finding] {
    let zones = String(environment: "TZDIR") ?? "/usr/share/zoneinfo"
    var findings: [StateExamination.Finding] = []
    if !Files.exists("\(zones)/Europe/Berlin") {
      findings.append(
        .init(.fault, "there are no zone files in \(zones); install the package tzdata, or point TZDIR at them"))
    }
    findings += workspace.foreignHolds.map { .init(.warning, "what is run here may be changed by others: \($0)") }
    let locks = LockFolder(workspace.root, kinds: everyLockKind)
    return findings + locks.names.compactMap { name in locks.examined(name).map { .init(.fault, $0) } }
  }

  // MARK: Showing

  private func showText(
    _ examination: StateExamination, _ holder: FolderLock.Holder?, _ isHeld: Bool, _ repaired: [String],
    servers: [PostgresExamination.Server] = []
  ) {
    var rows = [["state", workspace.stateName]]
    rows += servers.map { server in
      let role = server.isStandby ? "standby" : "takes writes"
      let encryption = server.encryption ?? "not encrypted, on this machine"
      return [
        "server", "\(server.name), \(role), PostgreSQL \(server.version), timeline \(server.timeline), \(encryption)",
      ]
    }
    if isHeld { rows.append(["held by", holder.map { "process \($0.pid) (\($0.program))" } ?? "another process"]) }
    rows += examination.counts.map { [$0.name, "\($0.count)"] }
    let width = rows.map { $0[0].count }.max() ?? 0
    for row in rows {
      console.out(row[0] + String(repeating: " ", count: width + 2 - row[0].count) + row[1])
    }
    for sentence in repaired {
      console.out("\(Style.green.applied(to: "repaired", console.colourOut)): \(sentence.safe)")
    }
    for finding in examination.findings {
      let colour: Style =
        switch finding.severity {
        case .fault: .red
        case .warning: .yellow
        case .note: .blue
        }
      console.out("\(colour.applied(to: finding.severity.rawValue, console.colourOut)): \(finding.message.safe)")
    }
    if examination.findings.contains(where: \.isRepairable) {
      console.say(
        isHeld
          ? "Stop the agent, then repair what can be repaired: errand doctor --repair"
          : "Repair what can be repaired: errand doctor --repair"
      )
    } else if !examination.hasFaults {
      console.out(Style.green.applied(to: "no faults", console.colourOut))
    }
  }

  private func showJSON(
    _ examination: StateExamination, _ holder: FolderLock.Holder?, _ isHeld: Bool, _ repaired: [String],
    servers: [PostgresExamination.Server] = []
  ) {
    var document = ValueMap()
    if let database = workspace.database {
      document["database"] = .string(database.url)
      document["servers"] = .list(
        servers.map {
          .object([
            "server": .string($0.name), "standby": .bool($0.isStandby), "version": .string($0.version),
            "timeline": .int($0.timeline), "encryption": $0.encryption.map { .string($0) } ?? .null,
          ])
        })
    }
    document["folder"] = .string(workspace.stateFolder)
    document["held"] = .bool(isHeld)
    document["holder"] = holder.map { .object(["pid": .int($0.pid), "program": .string($0.program)]) }
    document["counts"] = .map(ValueMap(examination.counts.map { ($0.name, .int($0.count)) }))
    document["repaired"] = .list(repaired.map { .string($0) })
    document["findings"] = .list(
      examination.findings.map {
        .object([
          "severity": .string($0.severity.rawValue), "message": .string($0.message),
          "repairable": .bool($0.isRepairable),
        ])
      })
    console.out(json: .map(document))
  }
}

extension FolderLock {
  /// Holds the lock of a folder for as long as a command needs it; nil if there is no such folder.
  static func held(by program: String, _ folder: String) throws(RuntimeError) -> FolderLock? {
    if !Files.exists(folder) { return nil }
    do throws(AgentError) { return try acquire(folder, program: program) } catch {
      throw RuntimeError(error.kind == .held ? .locked : .cannotCreate, error.message)
    }
  }
}
