/// Finished records, month by month: ended runs, and settled slots of schedules.
///
/// `2026-11.jsonl` holds the records of that month (UTC), in the order they were added, one a line, with the CRC-64/XZ
/// of the record's own JSON text:
///
///     {"sum":"51…","run":{…}}
///
/// Two files beside it make it quick to search and hold nothing of their own: `LogLine` documents `2026-11.index`,
/// `LogBlock` documents `2026-11.blocks`, and `LogIndexing` how both are built, checked and repaired. `MonthSums`
/// documents the sums of runs in `2026-11.sums`.
///
/// Only snapshots add to a log: first the records that were finished since the last one, synced, then the index, and
/// then the snapshot that no longer holds them. A crash in between lets the next snapshot add them again; as they are
/// then among the last lines, at most as many as there are to add, the index shows which are there. Half a line that a
/// crash left is cut off, because its record is still in the journal.
///
/// A search reads the blocks from the end, and of the index only those stretches that may match; so a million records
/// cost no memory and little time.
import Basics
import Synchronization

/// A record that a log keeps.
protocol LogRecord: Record, Equatable {
  associatedtype Summary: LogSummary
  /// The member of a line that holds it, and its name in messages.
  static var label: String { get }
  var summary: Summary { get }
}

/// The part of a record that lists show; its first member is its id.
protocol LogSummary: RecordObject {
  var id: String { get }
  /// The instant that decides the record's month.
  var instant: Timestamp { get }
  /// The instants that a query can match.
  var span: ClosedRange<Timestamp> { get }
  /// The texts that a query can match, besides the id and the span.
  var features: [String] { get }
  /// Whether the log has sums of its records (`MonthSums`).
  static var isCounted: Bool { get }
  func count(in sums: inout RunSums)
}

/// A search in a log.
struct LogQuery<Summary: LogSummary>: Sendable {
  var limit: Int
  /// Only records whose id begins with this.
  var idPrefix: String?
  /// Only the record with that id.
  var id: String?
  /// Only records that have one of these features.
  var features: [String]?
  /// Lists of texts; a matching line of the index contains a text of each list, so other lines are skipped quickly.
  var needles: [[String]] = []
  /// Texts in lowercase letters of ASCII, each of which a matching line contains in some case.
  var foldedNeedles: [String] = []
  /// Only records whose span ends at or after that instant.
  var from: Timestamp?
  /// Only records whose span begins before that instant.
  var before: Timestamp?
  /// Only months up to that instant's.
  var lastMonth: Timestamp?
  /// Only months from that instant's on.
  var firstMonth: Timestamp?
  /// The whole condition; the other members only save reading.
  var matches: @Sendable (Summary) -> Bool = { _ in true }

  init(limit: Int) { self.limit = limit }

  /// Finds the record with exactly that id.
  init(id: String) {
    limit = 1
    self.id = id
    needles = [["{\"id\":\(JSON.quoted(id)),"]]
    matches = { $0.id.hasSameScalars(as: id) }
  }
}

final class MonthlyLog<Entry: LogRecord>: Sendable {
  typealias Query = LogQuery<Entry.Summary>
  typealias Line = LogLine<Entry.Summary>

  let folder: String
  let fileSystem: any FileSystem
  /// The months whose index is known to be whole; locked while files are read or written.
  let whole = Mutex<Set<String>>([])
  /// The sums of months that were asked for last.
  let counted = Mutex<[String: MonthSums]>([:])
  /// The ids of the records that were added last; nil if that isn't known.
  let lastAdded = Mutex<Set<String>?>(nil)

  /// How many bytes of a month's index its file of sums may lack.
  let mostUnwritten: Int

  init(folder: String, fileSystem: any FileSystem, mostUnwritten: Int = MonthSums.mostUnwritten) {
    self.folder = folder
    self.fileSystem = fileSystem
    self.mostUnwritten = mostUnwritten
  }

  // MARK: - Adding

  /// Adds the records that are not there yet, in order, and returns once they are on the disk.
  func add(_ entries: [Entry]) throws(StateError) {
    if entries.isEmpty { return }
    try whole.withLock { whole throws(StateError) in
      lastAdded.withLock { $0 = nil }
      try onDisk { () throws(FileError) in try fileSystem.makeFolder(folder) }
      let months = Dictionary(grouping: entries) { LogMonth(folder: folder, of: $0.summary.instant) }
      for (month, entries) in months.sorted(by: { $0.key.name < $1.key.name }) {
        try add(entries, to: month, &whole)
      }
      try onDisk { () throws(FileError) in try fileSystem.syncFolder(folder) }
      if Entry.Summary.isCounted { lastAdded.withLock { $0 = Set(entries.map(\.summary.id)) } }
    }
  }

  private func add(_ entries: [Entry], to month: LogMonth, _ whole: inout Set<String>) throws(StateError) {
    let known = Set(try lines(of: month, Query(limit: entries.count), &whole).map(\.summary.id))
    var offset = try onDisk { () throws(FileError) in try fileSystem.size(month.data) } ?? 0
    let new = entries.filter { !known.contains($0.summary.id) }
    let file = try onDisk { () throws(FileError) in try fileSystem.openForAppending(month.data) }
    if new.isEmpty {
      // The program that added them may have failed to sync them.
      return try onDisk { () throws(FileError) in try file.sync() }
    }
    // Until the index is written too, it may be incomplete.
    whole.remove(month.name)
    var lines: [UInt8] = []
    var index: [UInt8] = []
    for entry in new {
      let (length, blobs) = try entry.writeLine { piece throws(FileError) in
        lines += piece
        if lines.count < 1 << 20 { return }
        try file.append(lines)
        lines = []
      }
      index += try Line(entry.summary, offset: offset, length: length, blobs: blobs).bytes()
      offset += length
    }
    try onDisk { () throws(FileError) in
      try file.append(lines)
      try file.sync()
      try fileSystem.openForAppending(month.index).append(index)
    }
    try makeBlocks(of: month)
    whole.insert(month.name)
  }

  // MARK: - Reading

  /// The summaries of the records that match, the last added first.
  func summaries(_ query: Query) throws(StateError) -> [Entry.Summary] { try lines(query).map(\.line.summary) }

  /// The record with exactly that id.
  func entry(_ id: String) throws(StateError) -> Entry? {
    try whole.withLock { whole throws(StateError) in
      // The record is read with the lock held, because pruning moves content inside a file.
      guard let (line, month) = try lines(Query(id: id), &whole).first else { return nil }
      let bytes = try onDisk { () throws(FileError) in
        try fileSystem.read(month.data, from: line.offset, count: line.length)
      }
      guard let entry = Entry(inLine: bytes.dropLast()), entry.summary.id.hasSameScalars(as: id) else {
        throw month.damage(at: line.offset, of: "\(Entry.label) \(id)")
      }
      return entry
    }
  }

  private func lines(_ query: Query) throws(StateError) -> [(line: Line, month: LogMonth)] {
    try whole.withLock { whole throws(StateError) in try lines(query, &whole) }
  }

  /// The lines of the index that match, last first.
  func lines(
    _ query: Query, _ whole: inout Set<String>
  ) throws(StateError) -> [(line: Line, month: LogMonth)] {
    var found: [(line: Line, month: LogMonth)] = []
    for month in try months().reversed() where found.count < query.limit {
      if let last = query.lastMonth, month.name > LogMonth.name(of: last) { continue }
      if let first = query.firstMonth, month.name < LogMonth.name(of: first) { break }
      var query = query
      query.limit -= found.count
      found += try lines(of: month, query, &whole).map { ($0, month) }
    }
    return found
  }

  /// The last lines of a month that match, last first; a damaged index is repaired from there on.
  func lines(
    of month: LogMonth, _ query: Query, _ whole: inout Set<String>
  ) throws(StateError) -> [Line] {
    var lowest = Int.max
    while true {
      try completeIndex(of: month, &whole)
      var search = LogSearch(query)
      guard let damaged = try search.run(in: month, fileSystem) else { return search.found }
      guard damaged < lowest else {
        throw StateError(
          .damaged, "\(month.index) cannot be read back after it was rebuilt; the disk may be failing")
      }
      lowest = damaged
      try cutIndex(of: month, toBlock: damaged)
      whole.remove(month.name)
    }
  }

  /// The months in the log, in order.
  func months() throws(StateError) -> [LogMonth] {
    try onDisk { () throws(FileError) in try fileSystem.list(folder) }.compactMap {
      LogMonth(folder: folder, ofFile: $0)
    }
    .sorted { $0.name < $1.name }
  }
}

/// The files of a month.
struct LogMonth: Hashable, Sendable {
  let folder: String
  /// Such as `2026-11`.
  let name: String
  /// The suffix of the files that will replace the month's.
  private var suffix = ""

  var data: String { "\(folder)/\(name).jsonl\(suffix)" }
  var index: String { "\(folder)/\(name).index\(suffix)" }
  var blocks: String { "\(folder)/\(name).blocks\(suffix)" }

  /// An index that knew of more records than there were when it was last used.
  var indexAhead: String { "\(folder)/\(name).ahead" }

  /// The files that will replace these.
  var next: LogMonth {
    var month = self
    month.suffix = ".new"
    return month
  }

  init(folder: String, of instant: Timestamp) {
    self.folder = folder
    name = LogMonth.name(of: instant)
  }

  /// The month whose records a file of that name holds.
  init?(folder: String, ofFile file: String) {
    guard file.hasSuffix(".jsonl") else { return nil }
    let name = String(file.dropLast(6))
    guard let date = Timestamp("\(name)-01T00:00:00Z"), LogMonth.name(of: date).hasSameScalars(as: name) else {
      return nil
    }
    self.folder = folder
    self.name = name
  }

  static func name(of instant: Timestamp) -> String { String(instant.description.prefix(7)) }

  /// The error for a record whose bytes are damaged.
  func damage(at offset: Int, of record: String) -> StateError {
    StateError(
      .damaged,
      "\(data) is damaged at byte \(offset), where the \(record) should be; put a backup of that file in its place")
  }

  /// Where the next month begins.
  var end: Timestamp {
    let start = Timestamp("\(name)-01T00:00:00Z") ?? .latest
    let date = CivilDate(daysSinceEpoch: start.seconds.flooredDivision(by: 86_400))
    let days = CivilDate.days(inMonth: date.month, of: date.year)
    return start.advanced(by: .seconds(days * 86_400)) ?? .latest
  }
}

extension LogRecord {
  private static var recordLabel: [UInt8] { Array("\",\"\(label)\":".utf8) }
  static var lineEnd: [UInt8] { [ASCII.closeBrace, ASCII.newline] }
  /// Where the record's own text begins in a line.
  static var textStart: Int { logSumLabel.count + 16 + recordLabel.count }

  /// Writes the line that holds the record, with its end, in pieces; gives its length, and the blobs that it may name.
  func writeLine(
    _ take: ([UInt8]) throws(FileError) -> Void
  ) throws(StateError) -> (length: Int, blobs: [String]) {
    var sum = Checksum()
    var blobs: Set<String> = []
    var (length, pieces) = (0, 0)
    var text: [UInt8] = []
    func note(_ piece: [UInt8]) {
      sum.update(piece)
      blobs.formUnion(BlobNames.all(in: piece[...]))
      length += piece.count
      pieces += 1
      text = pieces == 1 ? piece : []
    }
    try writeInPieces(.compact, note) { write(to: &$0) }
    let start = logSumLabel + Array(sum.text.utf8) + Self.recordLabel
    try onDisk { () throws(FileError) in try take(start) }
    // The sum comes first, so a text of many pieces is made twice rather than held.
    if pieces == 1 {
      try onDisk { () throws(FileError) in try take(text) }
    } else {
      try writeInPieces(.compact, take) { write(to: &$0) }
    }
    try onDisk { () throws(FileError) in try take(Self.lineEnd) }
    return (start.count + length + Self.lineEnd.count, blobs.sorted { $0.precedesByScalars($1) })
  }

  /// The line that holds the record, with its end.
  func line() throws(StateError) -> [UInt8] {
    var line: [UInt8] = []
    _ = try writeLine { line += $0 }
    return line
  }

  /// The record in a line without its end, or nil if the line is damaged.
  init?(inLine line: ArraySlice<UInt8>) {
    guard let text = Self.text(inLine: line), let value = try? JSON.parse(Array(text), limits: StateFormat.limits)
    else { return nil }
    guard let record = try? Self(reading: value) else { return nil }
    self = record
  }

  /// The line that holds a record's own text, with its end.
  static func line(ofText text: [UInt8]) -> [UInt8] {
    var sum = Checksum()
    sum.update(text)
    return logSumLabel + Array(sum.text.utf8) + recordLabel + text + lineEnd
  }

  /// How many bytes a line has besides the record's own text.
  static var lineOverhead: Int { textStart + lineEnd.count }

  /// The sum at the beginning of a line, or nil if that is damaged.
  static func sum(inLine line: ArraySlice<UInt8>) -> Checksum? {
    guard line.count >= textStart, line.starts(with: logSumLabel) else { return nil }
    let rest = line.dropFirst(logSumLabel.count)
    guard rest.dropFirst(16).starts(with: recordLabel) else { return nil }
    return Checksum(String(decoding: rest.prefix(16), as: UTF8.self))
  }

  /// The record's own text in a line without its end, or nil if it is damaged.
  static func text(inLine line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    guard let written = sum(inLine: line), line.last == ASCII.closeBrace else { return nil }
    let text = line.dropFirst(textStart).dropLast()
    var sum = Checksum()
    sum.update(text)
    return sum == written ? text : nil
  }
}

/// How every line begins.
private let logSumLabel = Array("{\"sum\":\"".utf8)
