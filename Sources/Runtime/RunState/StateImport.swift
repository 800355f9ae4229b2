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
      [Snapshot.name, Snapshot.previousName, Snapshot.damagedName, "history", "slots", "blobs", "logs"].contains($0)
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
    let header = try input.line()
    guard let version = header["archive"]?.int else { throw input.damage("it does not begin as an archive of a state") }
    if version > StateArchive.version {
      throw StateError(
        .newer,
        "the archive has format \(version), which \(header["program"]?.string ?? "a newer version") wrote; this version reads format \(StateArchive.version) and older. Use that version, or a newer one."
      )
    }
    try input.checkSum("the archive's header")
    var parts = 0
    while true {
      let line = try input.line()
      if let count = line["end"]?.int {
        guard count == parts else { throw input.damage("it ends after \(parts) files of \(count)") }
        try input.checkSum("the archive's end")
        try input.expectEnd()
        break
      }
      guard let name = line["file"]?.string, let size = line["size"]?.int, size >= 0 else {
        throw input.damage("a file's name and size should be here")
      }
      guard isName(name), parts > 0 || name.hasSameScalars(as: Snapshot.name) else {
        throw input.damage("'\(name.prefix(80))' isn't a file of a state")
      }
      try receive(name, size, &input)
      if name.hasPrefix("blobs/") {
        report.blobs += 1
      } else if name.hasPrefix("logs/") {
        report.logs += 1
      } else if parts > 0 {
        report.months += 1
      }
      parts += 1
    }
    report.bytes = input.offset
    report.openRuns = try settle()
    return report
  }

  /// Whether an archive may hold a file with that name, which becomes a path.
  private func isName(_ name: String) -> Bool {
    let parts = name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    switch parts.count {
    case 1: return name.hasSameScalars(as: Snapshot.name)
    case 2: return ["history", "slots"].contains(parts[0]) && LogMonth(folder: "", ofFile: parts[1]) != nil
    case 3 where parts[0] == "logs": return RunLogs.run(ofFile: parts[2], in: parts[1]) != nil
    case 3: return parts[0] == "blobs" && BlobNames.isName(parts[2].utf8) && parts[2].prefix(2) == parts[1]
    default: return false
    }
  }

  private func receive(_ name: String, _ size: Int, _ input: inout ArchiveInput) throws(StateError) {
    let file = "\(staging)/\(name)"
    let folder = StateArchive.parent(of: file)
    let output = try onDisk { () throws(FileError) in
      try fileSystem.makeFolder(folder)
      return try fileSystem.size(file) == nil ? fileSystem.openForAppending(file) : nil
    }
    guard let output else { throw input.damage("'\(name)' is in it twice") }
    var left = size
    while left > 0 {
      let bytes = try input.bytes(atMost: min(left, 1 << 20))
      try onDisk { () throws(FileError) in try output.append(bytes) }
      left -= bytes.count
    }
    guard try input.bytes(atMost: 1) == [ASCII.newline] else {
      throw input.damage("'\(name)' does not end where it should")
    }
    try input.checkSum("'\(name)'")
    try onDisk { () throws(FileError) in
      try output.sync()
      try fileSystem.syncFolder(folder)
    }
    if name.hasPrefix("blobs/") {
      let bytes = try onDisk { () throws(FileError) in try fileSystem.read(file) } ?? []
      guard try name.hasSuffix(sha256(bytes)) else { throw input.damage("'\(name)' does not match its name") }
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

/// The bytes of an archive, counted and summed.
private struct ArchiveInput {
  let read: (Int) throws(FileError) -> [UInt8]
  private var buffer: [UInt8] = []
  private var start = 0
  private var sum = Checksum()
  /// How many bytes were read.
  private(set) var offset = 0

  init(read: @escaping (Int) throws(FileError) -> [UInt8]) { self.read = read }

  func damage(_ reason: String) -> StateError {
    StateError(.damaged, "the archive is damaged at byte \(offset): \(reason); nothing was changed")
  }

  /// Reads on; false at the end.
  private mutating func fill() throws(StateError) -> Bool {
    buffer.removeFirst(start)
    start = 0
    let more = try onDisk { () throws(FileError) in try read(1 << 20) }
    buffer += more
    return !more.isEmpty
  }

  /// Some of the next bytes, at least one.
  mutating func bytes(atMost count: Int) throws(StateError) -> [UInt8] {
    if start == buffer.count, try !fill() { throw damage("it ends early") }
    let taken = Array(buffer[start...].prefix(count))
    start += taken.count
    offset += taken.count
    sum.update(taken)
    return taken
  }

  /// The next line, which must be an object.
  mutating func line() throws(StateError) -> Value {
    while buffer[start...].firstPlace(of: ASCII.newline) == nil {
      guard buffer.count - start < 1 << 16 else { throw damage("a line of it has no end") }
      if try !fill() { throw damage("it ends early") }
    }
    let end = (buffer[start...].firstPlace(of: ASCII.newline) ?? start) + 1
    let line = Array(buffer[start..<end])
    guard let value = try? JSON.parse(Array(line.dropLast())), value.map != nil else {
      throw damage("the line isn't a JSON object")
    }
    start = end
    offset += line.count
    sum.update(line)
    return value
  }

  /// Reads the line with the sum of everything before it.
  mutating func checkSum(_ what: String) throws(StateError) {
    let sum = sum.text
    let place = offset
    guard try line()["sum"]?.string?.hasSameScalars(as: sum) == true else {
      throw StateError(
        .damaged, "the archive is damaged before byte \(place): the sum after \(what) is wrong; nothing was changed")
    }
  }

  mutating func expectEnd() throws(StateError) {
    if start == buffer.count, try !fill() { return }
    throw damage("something follows its end")
  }
}
