/// Imports an archive, as a whole or not at all.
///
/// Everything is written to a folder beside the state's, `<folder>.import`, synced, and verified: every sum of the
/// archive, every line of the history and the ledger, and every blob against its name. Only then the two folders
/// exchange their names in one step. An earlier state is kept as `<folder>.replaced-<instant>`.
///
/// While the new folder is being made it holds a file `unfinished`; so a folder that a crash left is recognised and
/// removed the next time, while one without that file may be the old state after the exchange, and is kept.
package import Basics

extension StateArchive {
  private var staging: String { "\(path).import" }
  private var marker: String { "\(staging)/unfinished" }

  /// Reads an archive, piece by piece until there are no more bytes, and replaces the state with it.
  ///
  /// The caller holds the lock of the folder, if there is one.
  package func `import`(
    replacing: Bool, at now: Timestamp, _ read: (Int) throws(FileError) -> [UInt8]
  ) throws(StateError) -> Report {
    let isThere = try holdsState(path)
    if isThere, !replacing {
      throw StateError(
        .invalid, "there is a state in '\(path)' already; with --replace it is kept aside and this one put in its place"
      )
    }
    var notices: [String] = []
    try clearAway(at: now, &notices)
    try onDisk { () throws(FileError) in
      try fileSystem.makeFolder(staging)
      try fileSystem.write([], to: marker)
      try fileSystem.syncFolder(staging)
    }
    var report: Report
    do throws(StateError) {
      report = try withoutActuallyEscaping(read) { read throws(StateError) in
        var input = ArchiveInput(read: read)
        return try receive(&input)
      }
      try verify()
    } catch {
      // Frees the space of a full disk.
      try? fileSystem.removeAll(staging)
      throw error
    }
    report.notices = notices
    try exchange(at: now, keepingOld: isThere, &report.notices)
    return report
  }

  /// Whether a folder holds any part of a state.
  private func holdsState(_ folder: String) throws(StateError) -> Bool {
    let names = try onDisk { () throws(FileError) in try fileSystem.list(folder) }
    return names.contains {
      [
        Snapshot.name, Snapshot.previousName, Snapshot.damagedName, MovedState.name, "history", "slots", "blobs",
        "logs",
      ].contains($0)
        || Journal.generation(ofName: $0) != nil
    }
  }

  /// Removes what an interrupted import left, and keeps an old state that it left under another name.
  private func clearAway(at now: Timestamp, _ notices: inout [String]) throws(StateError) {
    let names = try onDisk { () throws(FileError) in try fileSystem.list(staging) }
    let isUnfinished = names.contains("unfinished")
    if !isUnfinished, try holdsState(staging) {
      try keep(staging, at: now, &notices)
    } else if try onDisk({ () throws(FileError) in try fileSystem.status(staging) }) != nil {
      // The marker last, so that an interrupted removal is recognised as well.
      try onDisk { () throws(FileError) in
        for name in names where name != "unfinished" {
          let path = "\(staging)/\(name)"
          if try fileSystem.status(path)?.isFolder == true {
            try fileSystem.removeAll(path)
          } else {
            try fileSystem.remove(path)
          }
        }
        try fileSystem.syncFolder(staging)
        try fileSystem.removeAll(staging)
      }
    }
  }

  private func keep(_ folder: String, at now: Timestamp, _ notices: inout [String]) throws(StateError) {
    let stem = "\(path).replaced-\(Timestamp(seconds: now.seconds) ?? now)"
    var name = stem
    var number = 2
    while try onDisk({ () throws(FileError) in try fileSystem.status(name) }) != nil {
      name = "\(stem)-\(number)"
      number += 1
    }
    try onDisk { () throws(FileError) in
      try fileSystem.rename(folder, to: name)
      try fileSystem.syncFolder(StateArchive.parent(of: path))
    }
    notices.append("the state that was in '\(path)' before is in '\(name)' now")
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: ASCII.slash) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  // MARK: - Reading

  /// Writes the content of the archive to the new folder.
  private func receive(_ input: inout ArchiveInput) throws(StateError) -> Report {
    var report = Report()
    try input.begin()
    while let (file, size) = try input.nextFile() {
      try receive(file, size, &input)
      switch file {
      case .state, .linkKey: break
      case .runs, .slots: report.months += 1
      case .blob: report.blobs += 1
      case .log: report.logs += 1
      }
    }
    report.bytes = input.offset
    report.openRuns = try settle()
    return report
  }

  private func receive(_ file: ArchivedFile, _ size: Int, _ input: inout ArchiveInput) throws(StateError) {
    let path = "\(staging)/\(file.path ?? "")"
    let folder = StateArchive.parent(of: path)
    let output = try onDisk { () throws(FileError) in
      try fileSystem.makeFolder(folder)
      return try fileSystem.openForAppending(path)
    }
    try input.read(size) { bytes throws(StateError) in
      try onDisk { () throws(FileError) in try output.append(bytes) }
    }
    try input.endFile(file)
    try onDisk { () throws(FileError) in
      try output.sync()
      try fileSystem.syncFolder(folder)
    }
    if case .blob(let name) = file {
      let bytes = try onDisk { () throws(FileError) in try fileSystem.read(path) } ?? []
      try input.check(bytes, ofBlob: name)
    }
  }

  /// Turns the imported files into a folder that can be opened; returns how many runs are open.
  private func settle() throws(StateError) -> Int {
    let name = "\(staging)/\(Snapshot.name)"
    let bytes = try onDisk { () throws(FileError) in try fileSystem.read(name) } ?? []
    let snapshot = try Snapshot(reading: bytes, name: "state.json of the archive")
    let logs = StateLogs(staging, fileSystem)
    for month in try logs.history.months() { try expectWhole(try logs.history.health(of: month), month) }
    for month in try logs.slots.months() { try expectWhole(try logs.slots.health(of: month), month) }
    // Continues where the archived state ended; the imported snapshot is rewritten with a journal.
    try onDisk { () throws(FileError) in try fileSystem.remove(name) }
    var opened = StateFolder.Opened()
    opened.state = snapshot.state
    opened.newest = snapshot.newest
    opened.position = snapshot.position
    opened.generation = snapshot.generation
    try logs.adopt(from: &opened)
    _ = try StateFolder(path: staging, fileSystem: fileSystem, program: program).compact(&opened)
    try logs.completeIndexes()
    return opened.state.runs.count
  }

  private func expectWhole(_ health: LogHealth, _ month: LogMonth) throws(StateError) {
    if health.damaged.isEmpty, !health.isTorn { return }
    let place = health.damaged.first.map { "at byte \($0)" } ?? "at its end"
    throw StateError(.damaged, "\(month.name) of the archive's records is damaged \(place); nothing was changed")
  }

  /// Reads the new folder as the next start will.
  private func verify() throws(StateError) {
    let opened = try StateFolder(path: staging, fileSystem: fileSystem, program: program).read()
    guard opened.notices.isEmpty, opened.snapshotGeneration != nil else {
      throw StateError(.damaged, "what was written to '\(staging)' cannot be read back; the disk may be failing")
    }
  }

  // MARK: - Taking effect

  private func exchange(at now: Timestamp, keepingOld: Bool, _ notices: inout [String]) throws(StateError) {
    let parent = StateArchive.parent(of: path)
    try onDisk { () throws(FileError) in
      for folder in ["history", "slots", "blobs", "logs"] where try fileSystem.status("\(staging)/\(folder)") != nil {
        try fileSystem.syncFolder("\(staging)/\(folder)")
      }
      try fileSystem.remove(marker)
      try fileSystem.syncFolder(staging)
      if try fileSystem.status(path) == nil {
        try fileSystem.rename(staging, to: path)
      } else {
        try fileSystem.exchange(staging, with: path)
      }
      try fileSystem.syncFolder(parent)
    }
    guard try onDisk({ () throws(FileError) in try fileSystem.status(staging) }) != nil else { return }
    if keepingOld {
      try keep(staging, at: now, &notices)
    } else {
      try onDisk { () throws(FileError) in try fileSystem.removeAll(staging) }
    }
  }
}
