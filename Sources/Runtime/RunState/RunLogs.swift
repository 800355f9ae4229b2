// The output of the commands of runs.
//
// `logs/2026-11/<run>.jsonl` holds what the programs of one run printed, in the order it came. The month is taken from
// the run's id (UTC), or is `other` for an id that has no time. Each line of the file is a record (`PrintedLine`) without
// secrets: one line that was printed, or several that came at once, which `lines` counts then:
//
//     {"step":"backup","attempt":1,"stream":"output","at":"2026-11-23T13:00:05.25Z","text":"12 files"}
//
// `stream` is `output`, `errors`, or `note` for a remark of Errand's own, such as that a limit is reached; a note
// without a step is about the whole run. Texts are as they were printed, with their control sequences. A step's attempt
// has at most 64 MiB of text in the log, and a run 256 MiB; a note says so, and nothing follows it.
//
// `logs/2026-11/<run>.index` says where lines are: entries of 32 bytes, the first after about 1,000 lines or 256 KiB, and
// so on. An entry has four little-endian numbers: how many lines come before the place, the byte where it is, how many
// bytes of text come before it, and FNV-1a of the three. What isn't in the index is counted; it is made anew if it
// doesn't fit the log.
//
// Nothing is synced: a power failure may take the last lines, and damage costs only these. A crash may leave half a
// line, which readers leave out and the next writer cuts off. Damaged lines are left out as well, but counted. A log that
// can't be written is given up: the run continues without it.
//
// A log goes with its run: when the run is deleted, and, when it is older than an hour, once the run is neither open
// nor in the history. Archives hold logs without their indexes; nothing else refers to them.
import Basics
import Synchronization

/// The logs of a state folder; all calls block.
final class RunLogs: Sendable {
  /// A log that this process knows.
  private struct Open {
    /// Where its whole lines end.
    var end = PrintedPlace.start
    /// How many bytes of text it has.
    var text = 0
    /// Whether nothing more is written: it is full, or given up.
    var isOver = false
    /// How many entries its index has, and where the last one is.
    var entryCount = 0
    var indexed = PrintedPlace.start

    /// Counts a record; returns the entry that the index gets after it.
    mutating func add(_ record: ArraySlice<UInt8>, textSize: Int) -> PrintedIndexEntry? {
      end.mark += record.count + 1
      end.line += PrintedChunk.lineCount(of: record)
      text += textSize
      guard end.line - indexed.line >= 1000 || end.mark - indexed.mark >= PrintedChunk.size else { return nil }
      indexed = end
      return PrintedIndexEntry(place: end, text: text)
    }
  }

  let folder: String
  let fileSystem: any FileSystem
  private let open = Mutex<[String: Open]>([:])

  init(folder: String, fileSystem: any FileSystem) {
    self.folder = folder
    self.fileSystem = fileSystem
  }

  // MARK: - Files

  /// The name of the folder and of the file of a run's log; nil for an id that can't be a file's name.
  static func place(of run: String) -> (month: String, file: String)? {
    guard !run.isEmpty, run.utf8.count <= 100, run.utf8.first != ASCII.dot,
      run.utf8.allSatisfy({ byte in
        0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte || "-_.".utf8.contains(byte)
      })
    else { return nil }
    return (UUID7(run)?.instant.map(LogMonth.name) ?? "other", "\(run).jsonl")
  }

  /// The run of a log, by the names of its folder and its file; nil if the names don't fit a log.
  static func run(ofFile file: String, in month: String) -> String? {
    guard file.hasSuffix(".jsonl") else { return nil }
    let run = String(file.dropLast(6))
    return place(of: run)?.month == month ? run : nil
  }

  private func path(of run: String) -> String? { RunLogs.place(of: run).map { "\(folder)/\($0.month)/\($0.file)" } }

  /// All logs, in order.
  func files() throws(StateError) -> [(run: String, path: String)] {
    try onDisk { () throws(FileError) in
      var found: [(run: String, path: String)] = []
      for month in try fileSystem.list(folder).sorted() {
        for file in try fileSystem.list("\(folder)/\(month)").sorted() {
          if let run = RunLogs.run(ofFile: file, in: month) { found.append((run, "\(folder)/\(month)/\(file)")) }
        }
      }
      return found
    }
  }

  private func index(of path: String) -> String { "\(path.dropLast(".jsonl".count)).index" }

  // MARK: - Writing

  /// Adds lines to the log of a run; throws once if they can't be written, and then gives the log up.
  func add(_ lines: [PrintedLine], to run: String) throws(StateError) {
    guard let path = path(of: run), let month = RunLogs.place(of: run)?.month, let first = lines.first else { return }
    try open.withLock { open throws(StateError) in
      var log: Open
      do throws(FileError) {
        log = try known(run, path, &open)
        if log.end.mark == 0 { try fileSystem.makeFolder("\(folder)/\(month)") }
      } catch {
        open[run] = Open(isOver: true)
        throw StateError(error)
      }
      if log.isOver { return }
      let before = log
      var bytes: [UInt8] = []
      var entries: [PrintedIndexEntry] = []
      for line in lines {
        log.isOver = log.text + line.size > PrintedLine.mostOfRun
        let line = log.isOver ? PrintedLine.full(at: first.at) : line
        let record = line.bytes
        if let entry = log.add(record.dropLast(), textSize: line.size) { entries.append(entry) }
        bytes += record
        if log.isOver { break }
      }
      do throws(FileError) { try fileSystem.openForAppending(path).append(bytes) } catch {
        var given = before
        given.isOver = true
        open[run] = given
        // Frees the space of half a line; if not, the next writer cuts it off.
        try? fileSystem.truncate(path, to: before.end.mark)
        throw StateError(error)
      }
      extend(path, by: entries, &log, from: before.indexed)
      open[run] = log
    }
  }

  /// Adds entries to the index of a log; if they can't be written, the lines are counted again.
  private func extend(_ path: String, by entries: [PrintedIndexEntry], _ log: inout Open, from before: PrintedPlace) {
    if entries.isEmpty { return }
    do throws(FileError) {
      try fileSystem.openForAppending(index(of: path)).append(entries.flatMap(\.bytes))
      log.entryCount += entries.count
    } catch {
      log.indexed = before
      try? fileSystem.truncate(index(of: path), to: log.entryCount * PrintedIndexEntry.size)
    }
  }

  /// More than a line of a file can have, whose bytes may all be escaped.
  private static let longestLine = 1 << 20

  // MARK: - Opening

  /// The known facts of a log, which may have no file yet.
  private func known(_ run: String, _ path: String, _ open: inout [String: Open]) throws(FileError) -> Open {
    if let known = open[run] { return known }
    // Only what a process has just used need be known.
    if open.count > 256 { open = [:] }
    let log = try counted(path)
    open[run] = log
    return log
  }

  /// Counts a log from the last entry of its index that fits, completes the index, and cuts off half a line.
  private func counted(_ path: String) throws(FileError) -> Open {
    var log = Open()
    guard let size = try fileSystem.size(path) else { return log }
    let indexSize = try fileSystem.size(index(of: path)) ?? 0
    log.entryCount = indexSize / PrintedIndexEntry.size
    while log.entryCount > 0 {
      if let entry = try entry(log.entryCount - 1, of: path), entry.place.mark <= size,
        try fileSystem.part(of: path, from: entry.place.mark - 1, count: 1) == [ASCII.newline]
      {
        (log.end, log.indexed, log.text) = (entry.place, entry.place, entry.text)
        break
      }
      log.entryCount -= 1
    }
    if indexSize != log.entryCount * PrintedIndexEntry.size {
      try fileSystem.truncate(index(of: path), to: log.entryCount * PrintedIndexEntry.size)
    }
    let before = log.indexed
    var entries: [PrintedIndexEntry] = []
    var last: ArraySlice<UInt8> = []
    var rest: [UInt8] = []
    while log.end.mark + rest.count < size {
      let start = log.end.mark + rest.count
      rest += try fileSystem.part(of: path, from: start, count: min(PrintedChunk.size, size - start))
      var left = rest[...]
      while let end = left.firstPlace(of: ASCII.newline) {
        last = left[..<end]
        if let entry = log.add(last, textSize: RunLogs.textSize(of: last)) { entries.append(entry) }
        left = left[(end + 1)...]
      }
      rest = Array(left)
      // Not a log any more; it counts as one line, whose last byte may be missing.
      if rest.count >= RunLogs.longestLine, let entry = log.add(rest.dropLast(), textSize: rest.count) {
        entries.append(entry)
        rest = []
      }
    }
    if !rest.isEmpty { try fileSystem.truncate(path, to: log.end.mark) }
    log.isOver = RunLogs.line(last)?.isEnd ?? false
    extend(path, by: entries, &log, from: before)
    return log
  }

  /// About how many bytes of text a record has, its line ends included; the text is its last member.
  private static func textSize(of record: ArraySlice<UInt8>) -> Int {
    guard let start = record.place(of: Array(",\"text\":\"".utf8)) else { return record.count }
    // A line end within it has two bytes.
    return max(1, record.endIndex - start - 9 - PrintedChunk.lineCount(of: record))
  }

  private static func line(_ bytes: ArraySlice<UInt8>) -> PrintedLine? {
    guard let value = try? JSON.parse(Array(bytes)) else { return nil }
    return try? PrintedLine(reading: value)
  }

  /// An entry of the index; nil if it is damaged.
  private func entry(_ number: Int, of path: String) throws(FileError) -> PrintedIndexEntry? {
    PrintedIndexEntry(
      try fileSystem.part(of: index(of: path), from: number * PrintedIndexEntry.size, count: PrintedIndexEntry.size))
  }

  // MARK: - Reading

  /// A part of the log of a run.
  func chunk(of run: String, at point: PrintedPoint) throws(StateError) -> PrintedChunk {
    guard let path = path(of: run) else { return .nothing(at: .start) }
    return try open.withLock { open throws(StateError) in
      try onDisk { () throws(FileError) in
        let log = try known(run, path, &open)
        if log.end.mark == 0 { return .nothing(at: .start) }
        var start: PrintedPlace
        var line = Int.max
        var end = log.end.mark
        switch point {
        case .after(let place):
          // The log may have been removed, and begun again.
          return place.mark < end ? try chunk(of: path, from: place, to: end, log) : .nothing(at: log.end)
        case .line(let wanted):
          line = min(max(0, wanted), log.end.line - 1)
          start = try place(of: line, in: path, log)
        case .before(let place):
          end = min(end, place.mark)
          start = try self.place(of: max(0, place.line - 1), in: path, log)
          if start.mark >= end { start = .start }
        }
        while true {
          let chunk = try chunk(of: path, from: start, to: end, log)
          if chunk.end.line > line || chunk.end.mark >= end { return chunk }
          start = chunk.end
        }
      }
    }
  }

  /// The last place of the index that isn't after a line, or the beginning.
  private func place(of line: Int, in path: String, _ log: Open) throws(FileError) -> PrintedPlace {
    var (found, least, most) = (PrintedPlace.start, 0, log.entryCount)
    while least < most {
      let middle = (least + most) / 2
      guard let entry = try entry(middle, of: path), entry.place.mark <= log.end.mark else {
        // It is damaged, and the entries before it do as well.
        most = middle
        continue
      }
      if entry.place.line <= line { (found, least) = (entry.place, middle + 1) } else { most = middle }
    }
    return found
  }

  /// The whole lines from a place on, about as many as are read at once.
  private func chunk(
    of path: String, from start: PrintedPlace, to end: Int, _ log: Open
  ) throws(FileError) -> PrintedChunk {
    var bytes: [UInt8] = []
    for most in [PrintedChunk.size, RunLogs.longestLine] {
      bytes = try fileSystem.part(of: path, from: start.mark, count: min(most, end - start.mark))
      if bytes.contains(ASCII.newline) || start.mark + bytes.count >= end { break }
    }
    // Damage without a line end counts as one line.
    if let last = bytes.lastIndex(of: ASCII.newline) { bytes.removeSubrange((last + 1)...) }
    var chunk = PrintedChunk(bytes: bytes, start: start, end: start, isLast: false)
    chunk.end.mark += max(1, bytes.count)
    if bytes.contains(ASCII.newline) {
      chunk.forEachRecord { record, line in
        chunk.end.line = line + PrintedChunk.lineCount(of: record)
        return true
      }
    } else {
      chunk.end.line += 1
    }
    chunk.isLast = chunk.end.mark >= log.end.mark
    return chunk
  }

  // MARK: - Removing

  /// Removes the index of a log whose text was changed; it is made anew.
  func removeIndex(of path: String) throws(FileError) {
    if try fileSystem.size(index(of: path)) != nil { try fileSystem.remove(index(of: path)) }
  }

  /// Removes the log of a run, if there is one; a run that still prints begins a new one.
  func remove(_ run: String) throws(StateError) {
    guard let path = path(of: run) else { return }
    try open.withLock { open throws(StateError) in
      open[run] = nil
      try onDisk { () throws(FileError) in
        for path in [index(of: path), path] where try fileSystem.size(path) != nil { try fileSystem.remove(path) }
      }
    }
  }

  /// How old a log must be to be removed with its run.
  static let grace = TimeSpan.seconds(3600)
  /// About how many logs a pass looks at.
  private static let most = 4096

  /// Removes old logs of runs that are gone; returns how many.
  ///
  /// A pass looks at some thousand logs, and the next one begins with others.
  ///
  /// - Parameters:
  ///   - turn: Changes from pass to pass.
  ///   - isThere: Whether a run is open or in the history.
  func removeOrphans(
    at now: Timestamp, turn: Int, _ isOver: () -> Bool, isThere: (String) throws(StateError) -> Bool
  ) throws(StateError) -> Int {
    let files = try files()
    if files.isEmpty { return 0 }
    let first = turn % ((files.count + RunLogs.most - 1) / RunLogs.most) * RunLogs.most
    var removed = 0
    for (run, path) in files.dropFirst(first).prefix(RunLogs.most) where !isOver() {
      let modified = try onDisk { () throws(FileError) in try fileSystem.status(path)?.modified }
      guard let modified, let age = now.span(since: modified), age > RunLogs.grace, try !isThere(run) else { continue }
      try remove(run)
      removed += 1
    }
    let current = "\(folder)/\(LogMonth.name(of: now))"
    for month in Set(files.map { String($0.path.dropLast($0.run.utf8.count + 7)) }) where removed > 0 {
      // An empty folder of the past goes; one that isn't empty can't be removed.
      if month != current { try? fileSystem.remove(month) }
    }
    return removed
  }
}

/// An entry of the index of a log.
private struct PrintedIndexEntry {
  static let size = 32
  let place: PrintedPlace
  /// How many bytes of text are before it.
  let text: Int

  init(place: PrintedPlace, text: Int) {
    self.place = place
    self.text = text
  }

  /// Nil if the bytes are damaged.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == PrintedIndexEntry.size else { return nil }
    let words = bytes.withUnsafeBytes { bytes in
      (0..<4).map { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) }
    }
    guard words[3] == PrintedIndexEntry.sum(of: words[..<3]), let line = Int(exactly: words[0]),
      let mark = Int(exactly: words[1]), let text = Int(exactly: words[2]), mark > 0, line <= mark, text < 1 << 48
    else { return nil }
    self.init(place: PrintedPlace(line: line, mark: mark), text: text)
  }

  var bytes: [UInt8] {
    let words = [place.line, place.mark, text].map { UInt64($0) }
    return (words + [PrintedIndexEntry.sum(of: words[...])]).flatMap { word in
      withUnsafeBytes(of: word.littleEndian) { Array($0) }
    }
  }

  private static func sum(of words: ArraySlice<UInt64>) -> UInt64 {
    words.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ $1) &* 0x0000_0100_0000_01B3 }
  }
}
