/// The history: the runs that ended, month by month.
///
/// `history/2026-11.jsonl` holds the runs that ended in that month (UTC), in the order in which they ended, one a line,
/// with the CRC-64/XZ of the run's own JSON text:
///
///     {"sum":"51…","run":{…}}
///
/// `history/2026-11.index.jsonl` has a line for each of them, which is all that a list of runs needs:
///
///     {"id":"0199…","recipe":"…","status":"succeeded","createdAt":"…","endedAt":"…","offset":0,"length":5120,"sum":"…"}
///
/// Only snapshots add to them: first the runs that ended since the last one, synced, then the index, and then the
/// snapshot that no longer holds those runs. A crash in between lets the next snapshot add them again; as they are then
/// among the last lines, at most as many as there are to add, the index tells which are there. Half a line that a crash
/// left is cut off, because its run is still in the journal. The index holds nothing of its own: what it lacks of the
/// file is added from the file.
///
/// Lists are read from the end, so that a million runs cost nothing as long as nobody asks for them.
import Basics
import Synchronization

final class History: Sendable {
  private let folder: String
  private let fileSystem: any FileSystem
  /// The months whose index is known to be whole; locked while files are read or written.
  private let indexed = Mutex<Set<String>>([])

  init(folder: String, fileSystem: any FileSystem) {
    self.folder = folder
    self.fileSystem = fileSystem
  }

  // MARK: - Adding

  /// Adds the runs that are not there yet, in order, and returns once they are on the disk.
  func add(_ runs: [RunRecord]) throws(StateError) {
    if runs.isEmpty { return }
    try indexed.withLock { indexed throws(StateError) in
      try onDisk { () throws(FileError) in try fileSystem.makeFolder(folder) }
      let months = Dictionary(grouping: runs) { RunSummary($0).endedAt.description.prefix(7) }
      for (month, runs) in months.sorted(by: { $0.key < $1.key }) {
        try add(runs, to: String(month), &indexed)
      }
      try onDisk { () throws(FileError) in try fileSystem.syncFolder(folder) }
    }
  }

  private func add(_ runs: [RunRecord], to month: String, _ indexed: inout Set<String>) throws(StateError) {
    let known = Set(try lastEntries(of: month, limit: runs.count, &indexed).map(\.summary.id))
    var offset = try onDisk { () throws(FileError) in try fileSystem.size(path(month)) } ?? 0
    var lines: [UInt8] = []
    var entries: [UInt8] = []
    for run in runs where !known.contains(run.id) {
      let line = try History.line(of: run)
      lines += line
      entries += try Entry(RunSummary(run), offset: offset, length: line.count).line()
      offset += line.count
    }
    try onDisk { () throws(FileError) in
      let file = try fileSystem.openForAppending(path(month))
      try file.append(lines)
      try file.sync()
      let index = try fileSystem.openForAppending(indexPath(month))
      try index.append(entries)
    }
  }

  // MARK: - Reading

  /// The runs that match, latest end first.
  func runs(_ query: HistoryQuery) throws(StateError) -> [RunSummary] {
    try entries(query, idStart: query.idPrefix ?? "").map(\.entry.summary)
  }

  /// The run of exactly that id.
  func run(_ id: String) throws(StateError) -> RunRecord? {
    guard let found = try entries(HistoryQuery(limit: 1), idStart: id + "\"").first else { return nil }
    let (entry, path) = (found.entry, path(found.month))
    let line = try onDisk { () throws(FileError) in
      try fileSystem.read(path, from: entry.offset, count: entry.length)
    }
    guard let run = History.run(inLine: line.dropLast()), run.id == id else {
      throw StateError(
        .damaged,
        "\(path) is damaged at byte \(entry.offset), where the run \(id) should be; put a backup of that file in its place"
      )
    }
    return run
  }

  private func entries(_ query: HistoryQuery, idStart: String) throws(StateError) -> [(entry: Entry, month: String)] {
    let lastMonth = query.endedBefore?.description.prefix(7)
    var found: [(entry: Entry, month: String)] = []
    try indexed.withLock { indexed throws(StateError) in
      for month in try months().reversed() where found.count < query.limit {
        if let lastMonth, month > lastMonth { continue }
        let entries = try lastEntries(
          of: month, limit: query.limit - found.count, idStart: idStart, &indexed
        ) { query.matches($0.summary) }
        found += entries.map { ($0, month) }
      }
    }
    return found
  }

  // MARK: - Files

  private func path(_ month: String) -> String { "\(folder)/\(month).jsonl" }
  private func indexPath(_ month: String) -> String { "\(folder)/\(month).index.jsonl" }

  private func months() throws(StateError) -> [String] {
    let names = try onDisk { () throws(FileError) in try fileSystem.list(folder) }
    return names.filter { $0.hasSuffix(".jsonl") && !$0.hasSuffix(".index.jsonl") }.map { String($0.dropLast(6)) }
      .sorted()
  }

  private static let sumLabel = Array("{\"sum\":\"".utf8)
  private static let runLabel = Array("\",\"run\":".utf8)

  private static func line(of run: RunRecord) throws(StateError) -> [UInt8] {
    let text = try encodedBytes(of: run.encoded())
    var sum = Checksum()
    sum.update(text)
    return sumLabel + Array(sum.text.utf8) + runLabel + text + [UInt8(ascii: "}"), 0x0A]
  }

  /// The run in a line without its end, or nil if the line is damaged.
  private static func run(inLine line: ArraySlice<UInt8>) -> RunRecord? {
    guard line.starts(with: sumLabel), line.last == UInt8(ascii: "}") else { return nil }
    let rest = line.dropFirst(sumLabel.count)
    guard let written = Checksum(String(decoding: rest.prefix(16), as: UTF8.self)),
      rest.dropFirst(16).starts(with: runLabel)
    else { return nil }
    let text = rest.dropFirst(16 + runLabel.count).dropLast()
    var sum = Checksum()
    sum.update(text)
    guard sum == written, let value = try? JSON.parse(Array(text), limits: StateFormat.limits) else { return nil }
    return try? RunRecord(reading: value)
  }

  /// Brings a month's index up to its file, and cuts off half a line at the file's end.
  private func completeIndex(of month: String, _ indexed: inout Set<String>) throws(StateError) {
    if indexed.contains(month) { return }
    let path = path(month)
    let indexPath = indexPath(month)
    let size = try onDisk { () throws(FileError) in try fileSystem.size(path) } ?? 0
    // An index that cannot be read, or tells of more than there is, is made anew.
    let last = try readEntries(of: month, limit: 1, idStart: "") { _ in true }
    var covered = last?.first?.end ?? 0
    if last == nil || covered > size {
      try onDisk { () throws(FileError) in try fileSystem.remove(indexPath) }
      covered = 0
    }
    if covered < size {
      let bytes = try onDisk { () throws(FileError) in
        try fileSystem.read(path, from: covered, count: size - covered)
      }
      var entries: [UInt8] = []
      var start = 0
      while let newline = bytes[start...].firstIndex(of: 0x0A) {
        if let run = History.run(inLine: bytes[start..<newline]) {
          entries += try Entry(RunSummary(run), offset: covered + start, length: newline + 1 - start).line()
        }
        start = newline + 1
      }
      let end = covered + start
      try onDisk { () throws(FileError) in
        if end < size { try fileSystem.truncate(path, to: end) }
        try fileSystem.openForAppending(indexPath).append(entries)
      }
    }
    indexed.insert(month)
  }

  /// The last entries of a month that match, last first; an index that is damaged is made anew.
  private func lastEntries(
    of month: String, limit: Int, idStart: String = "", _ indexed: inout Set<String>,
    where matches: (Entry) -> Bool = { _ in true }
  ) throws(StateError) -> [Entry] {
    try completeIndex(of: month, &indexed)
    if let entries = try readEntries(of: month, limit: limit, idStart: idStart, where: matches) { return entries }
    try onDisk { () throws(FileError) in try fileSystem.remove(indexPath(month)) }
    indexed.remove(month)
    try completeIndex(of: month, &indexed)
    if let entries = try readEntries(of: month, limit: limit, idStart: idStart, where: matches) { return entries }
    throw StateError(
      .damaged, "\(indexPath(month)) cannot be read back after it was made anew; the disk may be failing")
  }

  /// The last entries that match, last first; nil if a line is damaged or unfinished.
  private func readEntries(
    of month: String, limit: Int, idStart: String, where matches: (Entry) -> Bool
  ) throws(StateError) -> [Entry]? {
    var found: [Entry] = []
    let path = indexPath(month)
    let start = Array("{\"id\":\"\(idStart)".utf8)
    var end = try onDisk { () throws(FileError) in try fileSystem.size(path) } ?? 0
    var chunkSize = 16 << 10
    // The end of a line whose beginning is further to the left.
    var rest: [UInt8] = []
    while end > 0 {
      let from = max(0, end - chunkSize)
      let chunk = try onDisk { () throws(FileError) in try fileSystem.read(path, from: from, count: end - from) } + rest
      var lineEnd = chunk.count
      while lineEnd > 0 {
        // A line begins after a line end, or where the file does.
        let newline = chunk[..<(lineEnd - 1)].lastIndex(of: 0x0A)
        guard let lineStart = newline.map({ $0 + 1 }) ?? (from == 0 ? 0 : nil) else { break }
        if chunk[lineEnd - 1] != 0x0A || !chunk[lineStart...].starts(with: start.prefix(Entry.labelCount)) {
          return nil
        }
        if chunk[lineStart...].starts(with: start) {
          guard let entry = Entry(inLine: chunk[lineStart..<lineEnd]) else { return nil }
          if matches(entry) { found.append(entry) }
          if found.count >= limit { return found }
        }
        lineEnd = lineStart
      }
      rest = Array(chunk[..<lineEnd])
      end = from
      chunkSize = min(chunkSize * 2, 4 << 20)
    }
    return found
  }
}

/// A line of the index, which ends in its own checksum.
private struct Entry: Record {
  var summary: RunSummary
  var offset: Int
  var length: Int

  /// Where the run's line ends.
  var end: Int { offset + length }

  init(_ summary: RunSummary, offset: Int, length: Int) {
    self.summary = summary
    self.offset = offset
    self.length = length
  }

  func write(to record: inout RecordWriter) {
    summary.write(to: &record)
    record.set("offset", offset)
    record.set("length", length)
  }

  init(from record: inout RecordReader) throws(RecordFault) {
    summary = try RunSummary(from: &record)
    offset = try record.take("offset")
    length = try record.take("length")
  }

  /// How many bytes every line begins with alike.
  static let labelCount = "{\"id\":\"".utf8.count
  private static let sumLabel = Array(",\"sum\":\"".utf8)
  private static let lineEnd = Array("\"}\n".utf8)

  func line() throws(StateError) -> [UInt8] {
    let members = try encodedBytes(of: encoded()).dropLast()
    var sum = Checksum()
    sum.update(members)
    return Array(members) + Entry.sumLabel + Array(sum.text.utf8) + Entry.lineEnd
  }

  /// Reads a line with its end; nil if it is not as it was written.
  init?(inLine line: ArraySlice<UInt8>) {
    let tail = Entry.sumLabel.count + 16 + Entry.lineEnd.count
    guard line.count > tail else { return nil }
    let members = line.dropLast(tail)
    var sum = Checksum()
    sum.update(members)
    guard line.suffix(tail).elementsEqual(Entry.sumLabel + Array(sum.text.utf8) + Entry.lineEnd),
      let value = try? JSON.parse(members + [UInt8(ascii: "}")]), let entry = try? Entry(reading: value)
    else { return nil }
    self = entry
  }
}
