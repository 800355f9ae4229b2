/// A whole state in one file, to move it to another machine or folder.
///
/// Lines of JSON, some of them followed by the bytes of a file and a line end:
///
///     {"archive":1,"program":"errand 0.1","at":"2026-11-20T09:00:00Z"}
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
/// first and is a snapshot (`Snapshot`) of everything that is open; then come the history, the ledger, the blobs and the
/// logs of runs, as they are in the folder. Rebuildable files (indexes) and local ones (the lock, the socket, caches) are left out.
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
    /// Sentences about what was left out, or where the earlier state is.
    package var notices: [String] = []
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

  /// The destination of the bytes, which are counted and summed.
  private struct Output {
    let write: ([UInt8]) throws(FileError) -> Void
    var sum = Checksum()
    var count = 0

    mutating func put(_ bytes: [UInt8]) throws(StateError) {
      sum.update(bytes)
      count += bytes.count
      try onDisk { () throws(FileError) in try write(bytes) }
    }

    mutating func endPart() throws(StateError) {
      try put(Array("{\"sum\":\"\(sum.text)\"}\n".utf8))
    }
  }

  /// Writes the archive of a folder, piece by piece, even while an agent holds it.
  package func export(
    at now: Timestamp, _ write: ([UInt8]) throws(FileError) -> Void
  ) throws(StateError) -> Report {
    try withoutActuallyEscaping(write) { write throws(StateError) in
      var output = Output(write: write)
      var report = Report()
      let logs = StateLogs(path, fileSystem)
      let (opened, sizes) = try settled(logs)
      let snapshot = Snapshot(
        generation: max(opened.generation, 1), position: opened.position, state: opened.state, newest: opened.newest,
        program: program)
      report.openRuns = opened.state.runs.count
      try output.put(
        Array("{\"archive\":\(StateArchive.version),\"program\":\(JSON.quoted(program)),\"at\":\"\(now)\"}\n".utf8))
      try output.endPart()
      // The size comes first.
      var bytes: [UInt8] = []
      try snapshot.write { bytes += $0 }
      try put(Snapshot.name, size: bytes.count, to: &output) { output throws(StateError) in try output.put(bytes) }
      var parts = 1
      for (month, kind, size) in sizes {
        let name = "\(kind == .runs ? "history" : "slots")/\(month.name).jsonl"
        try put(name, size: size, to: &output) { output throws(StateError) in
          try copyLines(of: month, kind, size, to: &output)
        }
        report.months += 1
        parts += 1
      }
      report.blobs = try putBlobs(to: &output, &report.notices)
      parts += report.blobs
      report.logs = try putLogs(to: &output)
      parts += report.logs
      try output.put(Array("{\"end\":\(parts)}\n".utf8))
      try output.endPart()
      report.bytes = output.count
      return report
    }
  }

  private enum Kind { case runs, slots }

  /// The state, and the months with the size of their whole lines at the same time; none of it moved meanwhile.
  private func settled(
    _ logs: StateLogs
  ) throws(StateError) -> (StateFolder.Opened, [(month: LogMonth, kind: Kind, size: Int)]) {
    var last: StateError?
    for _ in 0..<10 {
      let before = try journals()
      var sizes: [(month: LogMonth, kind: Kind, size: Int)] = []
      for month in try logs.history.months() { sizes.append((month, .runs, try wholeLines(of: month))) }
      for month in try logs.slots.months() { sizes.append((month, .slots, try wholeLines(of: month))) }
      do throws(StateError) {
        let opened = try folder.read()
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

  private func put(
    _ name: String, size: Int, to output: inout Output, _ content: (inout Output) throws(StateError) -> Void
  ) throws(StateError) {
    try output.put(Array("{\"file\":\(JSON.quoted(name)),\"size\":\(size)}\n".utf8))
    try content(&output)
    try output.put([ASCII.newline])
    try output.endPart()
  }

  private func copyLines(
    of month: LogMonth, _ kind: Kind, _ size: Int, to output: inout Output
  ) throws(StateError) {
    var piece: [UInt8] = []
    let end = try fileSystem.forEachLine(of: month.data, 0..<size) { bytes, offset throws(StateError) in
      let line = bytes.dropLast()
      guard (kind == .runs ? RunRecord.text(inLine: line) : SlotRecord.text(inLine: line)) != nil else {
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
  private func putLogs(to output: inout Output) throws(StateError) -> Int {
    var count = 0
    for (_, file) in try RunLogs(folder: "\(path)/logs", fileSystem: fileSystem).files() {
      // The run may be removed meanwhile.
      guard var bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file) }) else { continue }
      bytes.removeSubrange((bytes.lastIndex(of: ASCII.newline).map { $0 + 1 } ?? 0)...)
      if bytes.isEmpty { continue }
      try put(String(file.dropFirst(path.count + 1)), size: bytes.count, to: &output) { output throws(StateError) in
        try output.put(bytes)
      }
      count += 1
    }
    return count
  }

  private func putBlobs(to output: inout Output, _ notices: inout [String]) throws(StateError) -> Int {
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
        try put("blobs/\(part)/\(name)", size: bytes.count, to: &output) { output throws(StateError) in
          try output.put(bytes)
        }
        count += 1
      }
    }
    return count
  }
}
