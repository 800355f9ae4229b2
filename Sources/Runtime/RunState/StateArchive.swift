/// A whole state in one file, to move it to another machine or folder.
///
/// Lines of JSON, some of them followed by the bytes of a file and a line end:
///
///     {"archive":1,"program":"errand 0.1","at":"2026-11-20T09:00:00Z","moved":true}
///     {"sum":"0f…"}
///     {"file":"state.json","size":5120}
///     …5120 bytes…
///     {"sum":"3b…"}
///     {"file":"history/2026-11.jsonl","size":81920}
///     …
///     {"end":3}
///     {"sum":"9c…"}
///
/// Each sum is the CRC-64/XZ of everything from the beginning of the archive to the line before it, so that a fault is
/// found at its file, and an archive that is cut off, or lacks a part, is never taken for whole. `state.json` comes
/// first and is a snapshot (`Snapshot`) of everything that is open; then come the history, the ledger, the blobs and
/// the logs of runs, as they are in a folder. Rebuildable files (indexes) and local ones (the lock, the socket, caches)
/// are left out, and so is the key of links, unless the state is moved. `moved` says that the state was closed with the archive (`MovedState`), so that it continues nowhere
/// else.
package import Basics

package struct StateArchive: Sendable {
  static let version = 1

  /// The content of an archive.
  package struct Report: Sendable, Equatable {
    package var openRuns = 0
    package var months = 0
    package var blobs = 0
    package var logs = 0
    package var bytes = 0
    /// Sentences about files that were left out, or the place of the earlier state.
    package var notices: [String] = []

    package init() {}
  }

  let path: String
  let program: String
  let fileSystem: any FileSystem
  let folder: StateFolder

  package init(_ path: String, program: String, fileSystem: any FileSystem = DiskFileSystem()) {
    self.path = path
    self.program = program
    self.fileSystem = fileSystem
    folder = StateFolder(path: path, fileSystem: fileSystem, program: program)
  }

  // MARK: - Writing

  /// Writes the archive of a folder, piece by piece, even while an agent holds it.
  ///
  /// - Parameter isMoved: Whether the folder will be closed, whose lock the caller holds.
  package func export(
    at now: Timestamp, isMoved: Bool = false, _ write: ([UInt8]) throws(FileError) -> Void
  ) throws(StateError) -> Report {
    try withoutActuallyEscaping(write) { write throws(StateError) in
      var report = Report()
      let logs = StateLogs(path, fileSystem)
      let (opened, sizes) = try settled(logs)
      report.openRuns = opened.state.runs.count
      var output = try ArchiveWriter(program: program, at: now, isMoved: isMoved, write)
      try output.put(
        Snapshot(
          generation: max(opened.generation, 1), position: opened.position, state: opened.state, newest: opened.newest,
          program: program))
      for (month, file, size) in sizes {
        try output.put(file, size: size) { output throws(StateError) in
          try copyLines(of: month, file, size, to: &output)
        }
        report.months += 1
      }
      report.blobs = try putBlobs(to: &output, &report.notices)
      report.logs = try putLogs(to: &output)
      if isMoved, let key = try LinkKeyFile(folder: path, fileSystem: fileSystem).key { try output.put(key) }
      report.bytes = try output.finish()
      return report
    }
  }

  /// The state, and the months with the size of their whole lines at the same time; none of it moved meanwhile.
  private func settled(
    _ logs: StateLogs
  ) throws(StateError) -> (StateFolder.Opened, [(month: LogMonth, file: ArchivedFile, size: Int)]) {
    var last: StateError?
    for _ in 0..<10 {
      let before = try journals()
      var sizes: [(month: LogMonth, file: ArchivedFile, size: Int)] = []
      for month in try logs.history.months() { sizes.append((month, .runs(month.name), try wholeLines(of: month))) }
      for month in try logs.slots.months() { sizes.append((month, .slots(month.name), try wholeLines(of: month))) }
      do throws(StateError) {
        let opened = try folder.read(evenMoved: true)
        // Finished records move only when a generation begins.
        if try journals() == before { return (opened, sizes.filter { $0.size > 0 }) }
      } catch {
        last = error
        if try journals() == before { break }
      }
    }
    throw last ?? StateError(.unavailable, "the state in '\(path)' changes too quickly to be exported; try again")
  }

  private func journals() throws(StateError) -> [String] {
    try onDisk { () throws(FileError) in try fileSystem.list(path) }
      .filter { Journal.generation(ofName: $0) != nil }.sorted()
  }

  private func wholeLines(of month: LogMonth) throws(StateError) -> Int {
    var end = try onDisk { () throws(FileError) in try fileSystem.size(month.data) } ?? 0
    while end > 0 {
      let start = max(0, end - (64 << 10))
      let bytes = try onDisk { () throws(FileError) in
        try fileSystem.read(month.data, from: start, count: end - start)
      }
      if let newline = bytes.lastIndex(of: ASCII.newline) { return start + newline + 1 }
      end = start
    }
    return 0
  }

  private func copyLines(
    of month: LogMonth, _ file: ArchivedFile, _ size: Int, to output: inout ArchiveWriter
  ) throws(StateError) {
    var piece: [UInt8] = []
    let end = try fileSystem.forEachLine(of: month.data, 0..<size) { bytes, offset throws(StateError) in
      let line = bytes.dropLast()
      guard file.text(inLine: line) != nil else {
        throw StateError(
          .damaged,
          "\(month.data) is damaged at byte \(offset); run 'errand doctor --repair', which puts that line aside, and try again"
        )
      }
      piece += bytes
      if piece.count > 1 << 20 {
        try output.put(piece)
        piece.removeAll(keepingCapacity: true)
      }
      return true
    }
    guard end == size else {
      throw StateError(.unavailable, "\(month.data) became shorter while it was read; try again")
    }
    try output.put(piece)
  }

  /// Puts the whole lines that the logs of runs have now.
  private func putLogs(to output: inout ArchiveWriter) throws(StateError) -> Int {
    var count = 0
    for (run, file) in try RunLogs(folder: "\(path)/logs", fileSystem: fileSystem).files() {
      // The run may be removed meanwhile.
      guard var bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file) }) else { continue }
      bytes.removeSubrange((bytes.lastIndex(of: ASCII.newline).map { $0 + 1 } ?? 0)...)
      if bytes.isEmpty { continue }
      try output.put(.log(run), bytes)
      count += 1
    }
    return count
  }

  private func putBlobs(to output: inout ArchiveWriter, _ notices: inout [String]) throws(StateError) -> Int {
    let blobs = Blobs(folder: "\(path)/blobs", fileSystem: fileSystem)
    var count = 0
    for part in try blobs.parts() {
      let names = try onDisk { () throws(FileError) in try fileSystem.list("\(blobs.folder)/\(part)") }
      for name in names.sorted(by: { $0.precedesByScalars($1) }) where BlobNames.isName(name.utf8) {
        let read = try onDisk { () throws(FileError) in try fileSystem.read(blobs.path(of: name)) }
        guard let bytes = read else { continue }
        guard try sha256(bytes).hasSameScalars(as: name) else {
          notices.append("\(blobs.path(of: name)) is damaged and was left out")
          continue
        }
        try output.put(.blob(name), bytes)
        count += 1
      }
    }
    return count
  }
}

extension State {
  /// Reads the state of an archive.
  package init(archived bytes: [UInt8]) throws(StateError) {
    self = try Snapshot(reading: bytes, name: "state.json of the archive").state
  }
}

/// A file in an archive.
package enum ArchivedFile: Hashable, Sendable {
  /// The open state.
  case state
  /// The runs that ended in a month, such as `2026-11`.
  case runs(String)
  /// The slots that were settled in a month.
  case slots(String)
  /// A large value, by its SHA-256.
  case blob(String)
  /// The output of a run's programs.
  case log(String)
  /// The key of the links to questions, in the archive of a state that was moved.
  case linkKey

  /// Its path in a folder; nil for a run whose id no file can have.
  package var path: String? {
    switch self {
    case .state: Snapshot.name
    case .runs(let month): "history/\(month).jsonl"
    case .slots(let month): "slots/\(month).jsonl"
    case .blob(let name): "blobs/\(name.prefix(2))/\(name)"
    case .log(let run): RunLogs.place(of: run).map { "logs/\($0.month)/\($0.file)" }
    case .linkKey: LinkKey.file
    }
  }

  /// The file of a path; nil if no archive may hold it.
  init?(path: String) {
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    switch (parts.first, parts.count) {
    case (LinkKey.file, 1): self = .linkKey
    case (_, 1): self = .state
    case ("history", 2): self = .runs(String(parts[1].dropLast(6)))
    case ("slots", 2): self = .slots(String(parts[1].dropLast(6)))
    case ("blobs", 3) where BlobNames.isName(parts[2].utf8): self = .blob(parts[2])
    case ("logs", 3): self = .log(String(parts[2].dropLast(6)))
    default: return nil
    }
    guard self.path?.hasSameScalars(as: path) == true else { return nil }
    switch self {
    case .runs, .slots: if LogMonth(folder: "", ofFile: parts[1]) == nil { return nil }
    default: break
    }
  }
}

extension ArchivedFile {
  /// The line of a record, with its end.
  package func line(of text: [UInt8]) -> [UInt8] {
    switch self {
    case .runs: RunRecord.line(ofText: text)
    case .slots: SlotRecord.line(ofText: text)
    case .state, .blob, .log, .linkKey: text + [ASCII.newline]
    }
  }

  /// How many bytes a line has besides the record's own text.
  package var lineOverhead: Int {
    switch self {
    case .runs: RunRecord.lineOverhead
    case .slots: SlotRecord.lineOverhead
    case .state, .blob, .log, .linkKey: 1
    }
  }

  /// The record's own text in a line without its end; nil if it is damaged.
  package func text(inLine line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    switch self {
    case .runs: RunRecord.text(inLine: line)
    case .slots: SlotRecord.text(inLine: line)
    case .state, .blob, .log, .linkKey: line
    }
  }
}

/// Writes an archive: the state first, then the other files, then its end.
package struct ArchiveWriter {
  private let write: ([UInt8]) throws(FileError) -> Void
  private let program: String
  private var sum = Checksum()
  private var count = 0
  private var files = 0

  package init(
    program: String, at now: Timestamp, isMoved: Bool, _ write: @escaping ([UInt8]) throws(FileError) -> Void
  ) throws(StateError) {
    self.write = write
    self.program = program
    let moved = isMoved ? ",\"moved\":true" : ""
    try put(
      Array(
        "{\"archive\":\(StateArchive.version),\"program\":\(JSON.quoted(program)),\"at\":\"\(now)\"\(moved)}\n".utf8))
    try endPart()
  }

  /// Adds bytes of the file that is being put.
  package mutating func put(_ bytes: [UInt8]) throws(StateError) {
    sum.update(bytes)
    count += bytes.count
    try onDisk { () throws(FileError) in try write(bytes) }
  }

  private mutating func endPart() throws(StateError) {
    try put(Array("{\"sum\":\"\(sum.text)\"}\n".utf8))
  }

  /// Begins a file; exactly `size` bytes must follow before `end`.
  package mutating func begin(_ file: ArchivedFile, size: Int) throws(StateError) {
    guard let path = file.path else { throw StateError(.invalid, "no file can be named after \(file)") }
    try put(Array("{\"file\":\(JSON.quoted(path)),\"size\":\(size)}\n".utf8))
  }

  /// Ends a file.
  package mutating func end() throws(StateError) {
    try put([ASCII.newline])
    try endPart()
    files += 1
  }

  /// Puts a file whose bytes are written by a body.
  mutating func put(
    _ file: ArchivedFile, size: Int, _ content: (inout ArchiveWriter) throws(StateError) -> Void
  ) throws(StateError) {
    try begin(file, size: size)
    try content(&self)
    try end()
  }

  package mutating func put(_ file: ArchivedFile, _ bytes: [UInt8]) throws(StateError) {
    try put(file, size: bytes.count) { output throws(StateError) in try output.put(bytes) }
  }

  package mutating func put(_ key: LinkKey) throws(StateError) { try put(.linkKey, Array(key.text.utf8)) }

  mutating func put(_ snapshot: Snapshot) throws(StateError) {
    // The size comes first.
    var bytes: [UInt8] = []
    try snapshot.write { bytes += $0 }
    try put(.state, bytes)
  }

  /// Puts what is open of a state that isn't in a folder.
  package mutating func put(_ state: State) throws(StateError) {
    try put(
      Snapshot(generation: 1, position: JournalPosition(), state: state, newest: NewestRecords(), program: program))
  }

  /// Ends the archive; gives how many bytes it has.
  package mutating func finish() throws(StateError) -> Int {
    try put(Array("{\"end\":\(files)}\n".utf8))
    try endPart()
    return count
  }
}
