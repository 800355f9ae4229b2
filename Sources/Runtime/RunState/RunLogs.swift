// The output of the commands of runs.
//
// `logs/2026-11/<run>.jsonl` holds the lines that the programs of one run printed, in the order they came. The month is
// taken from the run's id (UTC), or is `other` for an id that has no time. Each line of the file is one printed line,
// without secrets:
//
//     {"step":"backup","attempt":1,"stream":"output","at":"2026-11-23T13:00:05.25Z","text":"12 files"}
//
// `stream` is `output`, `errors`, or `note` for a remark of Errand's own, such as that a limit is reached; a note
// without a step is about the whole run. A step's attempt has at most 1 MiB of the file, and a run 16 MiB; the note
// that says so is within the limit, and nothing follows it.
//
// Nothing is synced: a power failure may take the last lines, and damage costs only these. A crash may leave half a
// line, which readers leave out and the next writer cuts off. Damaged lines are left out as well. A log that can't be
// written is given up: the run continues without it.
//
// A log goes with its run: when the run is deleted, and, when it is older than an hour, once the run is neither open
// nor in the history. Archives hold logs; nothing else refers to them.
package import Basics
import Synchronization

/// A line that a program of a run printed; followers are told of several at once, with line feeds between them.
package struct PrintedLine: Record, Equatable {
  /// Where a line was printed.
  package enum Stream: String, Recordable, CaseIterable {
    case output, errors
    /// A remark of Errand's own.
    case note
  }

  package var step: StepPath
  package var attempt: Int
  package var stream: Stream
  package var at: Timestamp
  package var text: String

  package init(step: StepPath, attempt: Int, stream: Stream, at: Timestamp, text: String) {
    self.step = step
    self.attempt = attempt
    self.stream = stream
    self.at = at
    self.text = text
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    step = try member("step", record?.step)
    attempt = try member("attempt", record?.attempt)
    stream = try member("stream", record?.stream)
    at = try member("at", record?.at)
    text = try member("text", record?.text)
  }

  /// How many lines they are.
  package var lineCount: Int { text.utf8.count { $0 == ASCII.newline } + 1 }

  /// The lines one by one.
  package var lines: [PrintedLine] {
    text.utf8.split(separator: ASCII.newline, omittingEmptySubsequences: false).map { text in
      var line = self
      line.text = String(decoding: text, as: UTF8.self)
      return line
    }
  }

  /// The most bytes of the log that an attempt of a step may fill.
  package static let mostOfAttempt = 1 << 20
  /// The most bytes of a run's log.
  package static let mostOfRun = 16 << 20
  /// The bytes reserved for the note that a limit is reached.
  package static let roomForNote = 1 << 10

  /// The line of the file.
  package var bytes: [UInt8] { ((try? recordedBytes(of: self)) ?? []) + [ASCII.newline] }

  /// The lines that still fit into a log of that many bytes, and the note that it is full; then its size is the
  /// largest.
  package static func fitting(_ lines: [PrintedLine], after size: inout Int) -> [PrintedLine] {
    var fitting: [PrintedLine] = []
    for line in lines where size < mostOfRun {
      size += line.bytes.count
      let isFull = size > mostOfRun - roomForNote
      if isFull { size = .max }
      fitting.append(isFull ? .full(at: line.at) : line)
    }
    return fitting
  }

  /// The note that the log of a run is full.
  static func full(at instant: Timestamp) -> PrintedLine {
    PrintedLine(
      step: "", attempt: 0, stream: .note, at: instant,
      text: "the log of this run has reached \(mostOfRun >> 20) MiB; what is printed from here on isn't kept")
  }

  /// Whether a line of a run's log is the last.
  fileprivate var isEnd: Bool { stream == .note && step.isEmpty }

  /// Whether the line belongs to a step, or to one inside it.
  package func belongs(to path: StepPath) -> Bool {
    guard step.utf8.starts(with: path.utf8) else { return false }
    let rest = step.utf8.dropFirst(path.utf8.count)
    return rest.first.map { "/[!".utf8.contains($0) } ?? true
  }
}

/// Some lines of a run's log.
package struct PrintedPiece: Record, Equatable {
  package var lines: [PrintedLine]
  /// Where to read on.
  package var next: Int
  /// Whether there was nothing more when it was read.
  package var isLast: Bool

  package init(lines: [PrintedLine], next: Int, isLast: Bool) {
    self.lines = lines
    self.next = next
    self.isLast = isLast
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    next = try member("next", record?.next)
    isLast = try member("isLast", record?.isLast)
    lines = try member("lines", record?.lines)
  }

  /// The number of the line that a position means in a log that is counted in lines: a negative one counts from the
  /// end.
  package static func start(at position: Int, of count: Int) -> Int {
    min(position < 0 ? count - min(count, -max(position, -.max)) : position, count)
  }

  /// About how many bytes of a log are read at once.
  package static let size = 256 << 10
}

/// The logs of a state folder; all calls block.
final class RunLogs: Sendable {
  /// A log that this process writes.
  private struct Open {
    var size: Int
    /// Whether nothing more is written: it is full, or given up.
    var isOver: Bool
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

  // MARK: - Writing

  /// Adds lines to the log of a run; throws once if they can't be written, and then gives the log up.
  func add(_ lines: [PrintedLine], to run: String) throws(StateError) {
    guard let path = path(of: run), let month = RunLogs.place(of: run)?.month, let first = lines.first else { return }
    try open.withLock { open throws(StateError) in
      // Only what a process has just written need be known.
      if open.count > 256 { open = open.filter { $0.key.hasSameScalars(as: run) } }
      var log: Open
      do throws(FileError) {
        log = if let known = open[run] { known } else { try opened(path, in: "\(folder)/\(month)") }
      } catch {
        open[run] = Open(size: 0, isOver: true)
        throw StateError(error)
      }
      if log.isOver { return }
      var bytes: [UInt8] = []
      for line in lines {
        let line = line.bytes
        if log.size + bytes.count + line.count > PrintedLine.mostOfRun - PrintedLine.roomForNote {
          bytes += PrintedLine.full(at: first.at).bytes
          log.isOver = true
          break
        }
        bytes += line
      }
      do throws(FileError) { try fileSystem.openForAppending(path).append(bytes) } catch {
        open[run] = Open(size: log.size, isOver: true)
        // Frees the space of half a line; if not, the next writer cuts it off.
        try? fileSystem.truncate(path, to: log.size)
        throw StateError(error)
      }
      log.size += bytes.count
      open[run] = log
    }
  }

  /// A log that may be added to, without half a line at its end.
  private func opened(_ path: String, in folder: String) throws(FileError) -> Open {
    guard let size = try fileSystem.size(path) else {
      try fileSystem.makeFolder(folder)
      return Open(size: 0, isOver: false)
    }
    let start = max(0, size - RunLogs.longestLine)
    let tail = try fileSystem.part(of: path, from: start, count: size - start)
    guard let end = tail.lastIndex(of: ASCII.newline) else {
      try fileSystem.truncate(path, to: 0)
      return Open(size: 0, isOver: false)
    }
    if end + 1 < tail.count { try fileSystem.truncate(path, to: start + end + 1) }
    let last = tail[..<end].lastIndex(of: ASCII.newline).map { $0 + 1 } ?? 0
    return Open(size: start + end + 1, isOver: RunLogs.line(tail[last..<end])?.isEnd ?? false)
  }

  /// More than a line of a file can have, whose bytes may all be escaped.
  private static let longestLine = 1 << 20

  private static func line(_ bytes: ArraySlice<UInt8>) -> PrintedLine? {
    guard let value = try? JSON.parse(Array(bytes)) else { return nil }
    return try? PrintedLine(reading: value)
  }

  // MARK: - Reading

  /// Some lines of the log of a run, from a position on; a negative one counts lines from the end.
  func piece(of run: String, from position: Int) throws(StateError) -> PrintedPiece {
    guard let path = path(of: run) else { return PrintedPiece(lines: [], next: 0, isLast: true) }
    return try onDisk { () throws(FileError) in
      let start = max(0, position)
      let size = try fileSystem.size(path) ?? 0
      if position < 0 { return try end(of: path, size, count: Int(clamping: position.magnitude)) }
      guard start < size else { return PrintedPiece(lines: [], next: start, isLast: true) }
      var bytes = try fileSystem.part(of: path, from: start, count: min(PrintedPiece.size, size - start))
      if !bytes.contains(ASCII.newline), size - start > bytes.count {
        bytes = try fileSystem.part(of: path, from: start, count: min(RunLogs.longestLine, size - start))
      }
      guard let end = bytes.lastIndex(of: ASCII.newline) else {
        // Half a line whose other half may come, or a file that isn't a log.
        let isDamage = bytes.count == RunLogs.longestLine
        return PrintedPiece(lines: [], next: isDamage ? start + bytes.count : start, isLast: !isDamage)
      }
      let lines = bytes[..<end].split(separator: ASCII.newline).compactMap(RunLogs.line)
      let next = start + end + 1
      return PrintedPiece(lines: lines, next: next, isLast: next == size)
    }
  }

  /// The last lines of a log, of as much of it as is read at once.
  private func end(of path: String, _ size: Int, count: Int) throws(FileError) -> PrintedPiece {
    for most in [PrintedPiece.size, RunLogs.longestLine] {
      let start = max(0, size - most)
      let bytes = try fileSystem.part(of: path, from: start, count: size - start)
      guard let end = bytes.lastIndex(of: ASCII.newline) else { continue }
      var lines = bytes[..<end].split(separator: ASCII.newline)[...]
      // The first one may have begun before.
      if start > 0 { lines = lines.dropFirst() }
      if lines.isEmpty, start > 0 { continue }
      return PrintedPiece(
        lines: lines.suffix(count).compactMap(RunLogs.line), next: start + end + 1, isLast: true)
    }
    return PrintedPiece(lines: [], next: size, isLast: true)
  }

  // MARK: - Removing

  /// Removes the log of a run, if there is one; a run that still prints begins a new one.
  func remove(_ run: String) throws(StateError) {
    guard let path = path(of: run) else { return }
    try open.withLock { open throws(StateError) in
      open[run] = nil
      try onDisk { () throws(FileError) in
        if try fileSystem.size(path) != nil { try fileSystem.remove(path) }
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
