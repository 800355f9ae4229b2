/// The findings in a state folder, made without changing anything, even while an agent holds it.
///
/// Everything that has a checksum is checked: both snapshots with the journals that follow each, every line of the
/// history and of the ledger, and every blob. While an agent holds the folder, its unfinished writes aren't faults.
package import Basics

package struct StateExamination: Sendable {
  package struct Finding: Sendable, Equatable {
    package enum Severity: String, Sendable, CaseIterable {
      /// Something is lost, or may be.
      case fault
      /// Nothing is lost, but something should be done.
      case warning
      /// Only information.
      case note
    }

    package var severity: Severity
    /// The finding with its place, and the remedy unless it can be repaired.
    package var message: String
    /// Whether `repair` fixes it.
    package var isRepairable: Bool

    package init(_ severity: Severity, _ message: String, isRepairable: Bool = false) {
      self.severity = severity
      self.message = message
      self.isRepairable = isRepairable
    }
  }

  package var findings: [Finding] = []
  /// The numbers of examined items, by name, in order.
  package var counts: [(name: String, count: Int)] = []

  package init() {}

  package var hasFaults: Bool { findings.contains { $0.severity == .fault } }

  mutating func note(_ severity: Finding.Severity, _ message: String, isRepairable: Bool = false) {
    findings.append(Finding(severity, message, isRepairable: isRepairable))
  }
}

/// Examines a state folder, and repairs it.
package struct StateDoctor: Sendable {
  let path: String
  let fileSystem: any FileSystem
  let program: String
  let now: Timestamp
  /// Whether an agent holds the folder.
  let isHeld: Bool
  /// The secrets that no file may hold.
  let secrets: SecretRegistry
  let folder: StateFolder
  let logs: StateLogs
  let blobs: Blobs
  let printed: RunLogs

  package init(
    _ path: String, program: String, now: Timestamp, isHeld: Bool, secrets: SecretRegistry = SecretRegistry(),
    fileSystem: any FileSystem = DiskFileSystem()
  ) {
    self.secrets = secrets
    self.path = path
    self.fileSystem = fileSystem
    self.program = program
    self.now = now
    self.isHeld = isHeld
    folder = StateFolder(path: path, fileSystem: fileSystem, program: program)
    logs = StateLogs(path, fileSystem)
    blobs = Blobs(folder: "\(path)/blobs", fileSystem: fileSystem)
    printed = RunLogs(folder: "\(path)/logs", fileSystem: fileSystem)
  }

  /// Examines everything.
  package func examine() throws(StateError) -> StateExamination {
    var result = StateExamination()
    guard try onDisk({ () throws(FileError) in try fileSystem.status(path) }) != nil else {
      result.note(.note, "there is no state in '\(path)' yet")
      return result
    }
    try examineModes(&result)
    try examineDisk(&result)
    try examineMaintenance(&result)
    let opened = try examineGenerations(&result)
    let (state, newest) = (opened?.state, opened?.newest ?? NewestRecords())
    let text = if let state { try recordedBytes(of: state) } else { [UInt8]() }
    var named = BlobNames.references(in: text[...])
    // The runs that ended since the last snapshot are in the journal.
    try examine(logs.history, "finished runs", state?.ended.count ?? 0, newest.run, &named, &result)
    try examine(logs.slots, "slots in the ledger", state?.slots.count ?? 0, newest.slot, &named, &result)
    try examineBlobs(named, &result)
    let logCount = try printed.files().count
    if logCount > 0 { result.counts.append(("logs of runs", logCount)) }
    if let state { examineClock(state, &result) }
    try examineSecrets(&result)
    return result
  }

  // MARK: - Files

  /// The files of interrupted replacements, in the folders of the state.
  func unfinishedFiles() throws(StateError) -> [String] {
    var folders = [path, logs.history.folder, logs.slots.folder]
    folders += try blobs.parts().map { "\(blobs.folder)/\($0)" }
    return try onDisk { () throws(FileError) in
      var found: [String] = []
      for folder in folders {
        found += try fileSystem.list(folder).filter { $0.hasSuffix(".new") }.map { "\(folder)/\($0)" }
      }
      return found.sorted { $0.precedesByScalars($1) }
    }
  }

  /// The files that users other than the owner may access: the folder, and the parts of the state in it.
  func openToOthers() throws(StateError) -> [(path: String, mode: UInt32)] {
    try onDisk { () throws(FileError) in
      var found: [(path: String, mode: UInt32)] = []
      let names = try fileSystem.list(path).filter { name in
        ["history", "slots", "blobs", "logs", "agent.crashed", "agent.lock", "agent.sock", "api.sock"].contains(name)
          || name.hasPrefix("state.")
          || name.hasPrefix("journal-")
      }
      for path in [path] + names.map({ "\(path)/\($0)" }) {
        if let status = try fileSystem.status(path), status.mode & 0o077 != 0 { found.append((path, status.mode)) }
      }
      return found
    }
  }

  private func examineModes(_ result: inout StateExamination) throws(StateError) {
    for (path, mode) in try openToOthers() {
      result.note(
        .fault, "\(path) has the mode \(String(mode, radix: 8)), so that users other than its owner may use it",
        isRepairable: true)
    }
    // An unrenamed snapshot is reported with the generations.
    let names = try onDisk { () throws(FileError) in try fileSystem.list(path) }.sorted { $0.precedesByScalars($1) }
    let isUnnamed = !names.contains(Snapshot.name) && names.contains { Journal.generation(ofName: $0) ?? 0 > 1 }
    for path in try unfinishedFiles() where !isUnnamed || path != "\(self.path)/\(Snapshot.newName)" {
      if isHeld {
        result.note(.note, "\(path) is being written")
      } else {
        result.note(.warning, "\(path) is left over from an interrupted write; nothing needs it", isRepairable: true)
      }
    }
    for name in names where name.hasSuffix(".damaged.jsonl") || name == Snapshot.damagedName {
      let kind = name == Snapshot.damagedName ? "snapshot" : "journal"
      result.note(.note, "\(path)/\(name) is a damaged \(kind) that was kept to be looked at; remove it when you have")
    }
  }

  private func examineMaintenance(_ result: inout StateExamination) throws(StateError) {
    let mark = "\(path)/\(Maintenance.failureName)"
    guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(mark) }) else { return }
    let line = String(decoding: bytes.prefix(4096).prefix { $0 != ASCII.newline }, as: UTF8.self)
    let parts = line.split(separator: " ", maxSplits: 1)
    result.note(
      .warning,
      "maintenance failed at \(parts.first ?? "an unknown time"): \(parts.count > 1 ? String(parts[1]) : "nothing says why"); runs, slots and blobs that are too old stay until it succeeds, an hour later at the earliest"
    )
  }

  private func examineDisk(_ result: inout StateExamination) throws(StateError) {
    guard let space = try onDisk({ () throws(FileError) in try fileSystem.space(of: path) }) else { return }
    let snapshot = try onDisk { () throws(FileError) in try fileSystem.size("\(path)/\(Snapshot.name)") } ?? 0
    // A journal grows until its snapshot is written beside it; finished records go to the logs meanwhile.
    let journal = max(CompactionRule().smallest, CompactionRule().timesSnapshot * snapshot)
    let need = 2 * journal + snapshot
    if space.free < need {
      result.note(
        .warning,
        "the disk of '\(path)' has \(space.free >> 20) MiB free of \(space.total >> 20), and this state may need \(need >> 20) until its next snapshot; make room, or runs will stop"
      )
    }
  }

  // MARK: - The open state

  /// Examines the state as the next start would find it.
  private func examineGenerations(_ result: inout StateExamination) throws(StateError) -> StateFolder.Opened? {
    let opened: StateFolder.Opened
    do throws(StateError) {
      opened = try readStill { () throws(StateError) in try folder.read() }
    } catch {
      result.note(.fault, error.message)
      return nil
    }
    result.counts.append(("generation", opened.generation))
    result.counts.append(("events", opened.position.sequence))
    result.counts.append(("open runs", opened.state.runs.count))
    result.counts.append(("schedules", opened.state.schedules.count))
    if opened.isOld {
      result.note(
        .note, "'\(path)' was written by an older version; the next start brings it to format \(StateFormat.version)")
    }
    if opened.isBetweenRenames {
      if !isHeld {
        result.note(
          .note, "a snapshot of '\(path)' was interrupted before it had its name; the next start writes it again",
          isRepairable: true)
      }
    } else if opened.snapshotGeneration == nil, !opened.isFirst {
      for notice in opened.notices { result.note(.fault, notice, isRepairable: true) }
    } else if opened.tornTail != nil, !isHeld {
      for notice in opened.notices {
        result.note(.warning, notice.replacing("were dropped", with: "are to be dropped"), isRepairable: true)
      }
    }
    try examineWayBack(opened, &result)
    return opened
  }

  /// Whether the previous generation leads to the same state, in case the snapshot is lost.
  func examineWayBack(_ opened: StateFolder.Opened, _ result: inout StateExamination) throws(StateError) {
    guard opened.snapshotGeneration != nil,
      try onDisk({ () throws(FileError) in try fileSystem.size("\(path)/\(Snapshot.previousName)") }) != nil
    else { return }
    do throws(StateError) {
      let before = try readStill { () throws(StateError) in try folder.read(fromPrevious: true) }
      if isHeld || before.previousGeneration != nil && before.position == opened.position { return }
      result.note(
        .warning,
        (before.notices.first ?? "\(path)/\(Snapshot.previousName) does not lead to the same state")
          + "; it would be needed only if state.json were lost", isRepairable: true)
    } catch {
      result.note(
        .warning, "the previous generation cannot be read, which matters only if state.json is lost: \(error.message)",
        isRepairable: true)
    }
  }

  /// Reads again what did not match, because a snapshot may have come in between.
  private func readStill(
    _ body: () throws(StateError) -> StateFolder.Opened
  ) throws(StateError) -> StateFolder.Opened {
    for _ in 0..<(isHeld ? 4 : 0) {
      if let opened = try? body() { return opened }
    }
    return try body()
  }

  private func examineClock(_ state: State, _ result: inout StateExamination) {
    var latest = Timestamp.earliest
    for run in state.runs.values {
      latest = max(latest, run.createdAt)
      for step in run.steps { latest = max(latest, step.startedAt, step.endedAt ?? step.startedAt) }
    }
    for event in state.events.values { latest = max(latest, event.receivedAt) }
    for schedule in state.schedules.values { latest = max(latest, schedule.createdAt) }
    if let ahead = latest.span(since: now), ahead > .seconds(60) {
      result.note(
        .warning,
        "the state knows of things at \(latest), but the clock says \(now); it was ahead then, or is behind now: set it, and schedules wait until it is there"
      )
    }
    for schedule in state.schedules.values.sorted(by: { $0.id.precedesByScalars($1.id) }) {
      guard let until = schedule.decidedAhead(of: now) else { continue }
      result.note(
        .warning,
        "the schedule '\(schedule.id)' starts no slot before \(until), because the clock was once ahead and its slots until then are decided; to go back to now: errand schedule reset \(schedule.id)"
      )
    }
    if now.seconds < 1_700_000_000 { result.note(.fault, "the clock says \(now), which can't be right: set it") }
  }

  // MARK: - Finished records

  /// The shortest time that records are kept; with a shorter retention none are expected.
  private static let surelyKept = TimeSpan.seconds(28 * 86_400)

  private func examine<Entry: LogRecord>(
    _ log: MonthlyLog<Entry>, _ name: String, _ unsaved: Int, _ newest: LogMark?, _ named: inout Set<String>,
    _ result: inout StateExamination
  ) throws(StateError) {
    var count = unsaved
    var isNewestThere = newest == nil
    for month in try log.months() {
      let isItsMonth = newest.map { LogMonth(folder: log.folder, of: $0.at) == month } ?? false
      let health = try log.health(of: month, lookingFor: isItsMonth ? newest?.id : nil)
      // A damaged record is reported on its own.
      if health.hasSought || isItsMonth && !health.damaged.isEmpty { isNewestThere = true }
      count += health.count
      named.formUnion(health.blobs)
      for offset in health.damaged {
        result.note(
          .fault, "\(month.data) is damaged at byte \(offset), where a \(Entry.label) should be; a backup may have it",
          isRepairable: true)
      }
      if health.isShort {
        result.note(
          .fault,
          "\(month.data) lacks records that its index knows of; put it back from a backup, or continue without them",
          isRepairable: true)
      }
      if health.isTorn, !isHeld {
        result.note(
          .warning, "\(month.data) ends in half a line, from an interrupted write or from lost records",
          isRepairable: true)
      }
      if !health.isIndexSound, !health.isShort, !isHeld {
        result.note(.warning, "\(month.index) is not that of \(month.data)", isRepairable: true)
      }
    }
    // Old records may have been forgotten since.
    if !isNewestThere, let newest, let age = now.span(since: newest.at), age < StateDoctor.surelyKept {
      result.note(
        .fault,
        "'\(log.folder)' lacks the \(Entry.label) '\(newest.id)', which was its newest: files of it are gone or cut short; put them back from a backup, or continue without them",
        isRepairable: true)
    }
    result.counts.append((name, count))
  }

  private func examineBlobs(_ named: Set<String>, _ result: inout StateExamination) throws(StateError) {
    var there: Set<String> = []
    for part in try blobs.parts() {
      let names = try onDisk { () throws(FileError) in try fileSystem.list("\(blobs.folder)/\(part)") }
      for name in names where BlobNames.isName(name.utf8) {
        there.insert(name)
        let bytes = try onDisk { () throws(FileError) in try fileSystem.read(blobs.path(of: name)) }
        if let bytes, try !sha256(bytes).hasSameScalars(as: name) {
          result.note(
            .fault,
            "\(blobs.path(of: name)) is damaged: its content does not match its name; put it back from a backup")
        }
      }
    }
    result.counts.append(("blobs", there.count))
    for name in named.subtracting(there).sorted(by: { $0.precedesByScalars($1) }) {
      result.note(
        .fault,
        "\(blobs.path(of: name)) is missing; put it back from a backup, or the runs that need it cannot resume")
    }
    let unnamed = try collection(isRemoving: false).unnamed(at: now, after: 0) { $0.subtract(named) }
    if !unnamed.isEmpty {
      result.note(.note, "\(unnamed.count) blobs are no longer referenced", isRepairable: true)
    }
  }

  func collection(isRemoving: Bool) -> BlobCollection {
    var collection = BlobCollection(blobs: blobs, folder: folder, history: logs.history)
    collection.most = .max
    collection.isRemoving = isRemoving
    return collection
  }
}
