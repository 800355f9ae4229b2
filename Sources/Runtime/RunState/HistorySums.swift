/// The sums of a month of the history: `2026-11.sums`, which holds nothing of its own.
///
/// It is one line: the sums of the runs (`RunSums`), how far they reach, and the CRC-64/XZ of the line up to there:
///
///     {"version":1,"data":81920,"index":4096,"last":3900,"sums":{…},"sum":"…"}
///
/// They reach to byte `data` of the runs and to byte `index` of the index, whose last line begins at byte `last`. Later
/// lines of the index are added when the sums are asked for, and the file is written again after some thousands, so
/// that a start reads no more than these. A file whose last line isn't there, or that can't be read, is made anew. Where
/// a month is rewritten, its sums are counted in passing; where its index is removed, they go with it.
import Basics
import Synchronization

/// The sums of a month, and how far they reach.
struct MonthSums: Record, Equatable {
  private var version = 1
  var sums = RunSums()
  /// Where the last run that is counted ends in the month's file, and its line in the index.
  private(set) var (data, index) = (0, 0)
  /// Where the last line of the index that is counted begins.
  private(set) var last = 0
  /// How far the file reaches in the index.
  var written = 0

  /// How many bytes of the index a file may lack: it is written seldom, and a start counts soon what it lacks.
  static let mostUnwritten = 1 << 20

  init() {}

  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    version = try member("version", record?.version)
    data = try member("data", record?.data)
    index = try member("index", record?.index)
    last = try member("last", record?.last)
    sums = try member("sums", record?.sums)
    written = index
  }

  /// Counts the next line of the index.
  mutating func add<Summary: LogSummary>(_ line: LogLine<Summary>, length: Int) {
    line.summary.count(in: &sums)
    data = line.end
    last = index
    index += length
  }

  /// Reads what `bytes` gave; nil if it is damaged, or another version wrote it.
  init?(_ bytes: [UInt8]) {
    guard LogLineEnd.isSound(bytes[...]),
      let value = try? JSON.parse(bytes.dropLast(LogLineEnd.count) + [ASCII.closeBrace], limits: StateFormat.limits),
      let sums = try? Self(reading: value), sums.version == 1, sums.last >= 0, sums.last <= sums.index, sums.data >= 0
    else { return nil }
    self = sums
  }

  func bytes() throws(StateError) -> [UInt8] {
    let members = try recordedBytes(of: self).dropLast()
    return members + LogLineEnd.bytes(after: members)
  }
}

extension LogSummary {
  static var isCounted: Bool { false }
  func count(in sums: inout RunSums) {}
}

extension RunSummary {
  static var isCounted: Bool { true }
  func count(in sums: inout RunSums) { sums.add(self) }
}

extension LogMonth {
  var sums: String { "\(folder)/\(name).sums" }
}

extension MonthlyLog {
  /// Forgets the sums of a month whose index goes.
  func removeSums(of month: LogMonth) throws(FileError) {
    guard Entry.Summary.isCounted else { return }
    counted.withLock { $0[month.name] = nil }
    try fileSystem.remove(month.sums)
  }

  /// Takes sums that were counted while a month was rewritten.
  func keepSums(_ sums: MonthSums, of month: LogMonth) {
    guard Entry.Summary.isCounted else { return }
    counted.withLock { $0[month.name] = sums }
  }
}

extension History {
  /// How many lines are counted before other callers have their turn.
  private static let mostAtOnce = 10_000

  /// Reads the sums of all runs of the months from an instant's on.
  ///
  /// - Parameters:
  ///   - recent: Gives the runs that ended and may not be in the history yet.
  ///   - body: Is given the sums in parts.
  func withSums<Answer>(
    from instant: Timestamp, besides recent: () -> [RunSummary], _ body: ([RunSums]) -> Answer
  ) throws(StateError) -> Answer {
    func wanted() throws(StateError) -> [LogMonth] {
      try months().filter { $0.name >= LogMonth.name(of: instant) }
    }
    // In pieces, because snapshots wait while the lock is held.
    for month in try wanted() {
      while try !whole.withLock({ whole throws(StateError) in try count(month, most: History.mostAtOnce, &whole) }) {}
    }
    return try whole.withLock { whole throws(StateError) in
      let months = try wanted()
      for month in months { _ = try count(month, most: .max, &whole) }
      let counted = self.counted.withLock { counted in
        // Nothing is asked about earlier months any more.
        counted = counted.filter { name, _ in months.contains { $0.name == name } }
        return months.compactMap { counted[$0.name]?.sums }
      }
      // Runs are in both while a snapshot is written, and after a crash.
      let recent = recent()
      let known = try added(among: recent, &whole)
      return body(counted + [RunSums(recent.filter { !known.contains($0.id) })])
    }
  }

  /// The runs that ended since the last snapshot and are in the history already.
  private func added(among recent: [RunSummary], _ whole: inout Set<String>) throws(StateError) -> Set<String> {
    if let known = lastAdded.withLock({ $0 }) { return known }
    if recent.isEmpty { return [] }
    var found: Set<String> = []
    // They would be among the last lines of their months.
    let months = Dictionary(grouping: recent) { LogMonth(folder: folder, of: $0.endedAt) }
    for (month, runs) in months {
      let last = try lines(of: month, Query(limit: runs.count), &whole).map(\.summary.id)
      found.formUnion(Set(last).intersection(runs.map(\.id)))
    }
    lastAdded.withLock { $0 = found }
    return found
  }

  /// Counts lines of the index that aren't counted yet; false if there are more.
  private func count(
    _ month: LogMonth, most: Int, isRebuilt: Bool = false, _ whole: inout Set<String>
  ) throws(StateError) -> Bool {
    try completeIndex(of: month, &whole)
    // Out of the table, so that it isn't copied when it changes.
    var known = counted.withLock { $0.removeValue(forKey: month.name) }
    if known == nil { known = try read(month) }
    var sums = known ?? MonthSums()
    let size = try onDisk { () throws(FileError) in try fileSystem.size(month.index) } ?? 0
    var (left, isDamaged) = (most, false)
    try fileSystem.forEachLine(of: month.index, sums.index..<max(sums.index, size)) { bytes, _ in
      guard left > 0 else { return false }
      guard let line = Line(bytes) else {
        isDamaged = true
        return false
      }
      sums.add(line, length: bytes.count)
      left -= 1
      return true
    }
    if isDamaged {
      guard !isRebuilt else {
        throw StateError(.damaged, "\(month.index) cannot be read back after it was rebuilt; the disk may be failing")
      }
      whole.remove(month.name)
      try removeIndex(of: month)
      return try count(month, most: most, isRebuilt: true, &whole)
    }
    if sums.index - sums.written > mostUnwritten {
      let bytes = try sums.bytes()
      try onDisk { () throws(FileError) in try fileSystem.write(bytes, to: month.sums) }
      sums.written = sums.index
    }
    counted.withLock { $0[month.name] = sums }
    return sums.index >= size
  }

  /// The sums that a month's file has, if its index has them too.
  private func read(_ month: LogMonth) throws(StateError) -> MonthSums? {
    let bytes = try onDisk { () throws(FileError) in try fileSystem.read(month.sums) }
    guard let bytes, let sums = MonthSums(bytes) else { return nil }
    let size = try onDisk { () throws(FileError) in try fileSystem.size(month.index) } ?? 0
    guard sums.index <= size else { return nil }
    let last = try onDisk { () throws(FileError) in
      try fileSystem.part(of: month.index, from: sums.last, count: sums.index - sums.last)
    }
    guard let line = Line(last[...]), line.end == sums.data else { return nil }
    return sums
  }
}
