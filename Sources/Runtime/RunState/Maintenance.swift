/// The maintenance of a folder now and then, after a snapshot: removes old records, unreferenced blobs, and the logs of
/// runs that are gone.
///
/// It has a thread of its own, so that no caller waits for it; the hour between two passes is measured across processes
/// by a file, `blobs/collected`, and within one by the monotonic clock.
package import Basics
import Synchronization

/// How long finished runs and settled slots are kept.
package struct Retention: Sendable, Equatable {
  /// About the most finished runs to keep; any number if absent.
  package var runs: Int?
  /// Finished runs of months that ended longer ago are forgotten; never if absent.
  package var runsFor: TimeSpan?
  /// The same for settled slots.
  package var slotsFor: TimeSpan?
  /// Finished runs that ended longer ago lose their data; never if absent.
  package var dataFor: TimeSpan?

  package init(runs: Int? = nil, runsFor: TimeSpan? = nil, slotsFor: TimeSpan? = nil, dataFor: TimeSpan? = nil) {
    self.dataFor = dataFor
    self.runs = runs
    self.runsFor = runsFor
    self.slotsFor = slotsFor
  }

  /// Keeps everything, for ever.
  package static let everything = Retention()
  /// The default: a year of runs, and three months of slots.
  package static let usual = Retention(runsFor: .seconds(365 * 86_400), slotsFor: .seconds(90 * 86_400))
}

final class Maintenance: Sendable {
  private let folder: StateFolder
  private let logs: StateLogs
  private let blobs: Blobs
  private let printed: RunLogs
  private let retention: Retention
  private let time: any TimeSource
  private let last = Mutex<TimeSpan?>(nil)
  /// How often something was removed from the files of finished records, or may have been.
  let changes = Atomic(0)
  /// Whether a run is in the open state; nil before that is known.
  private struct OpenRuns {
    var contain: @Sendable (String) -> Bool
  }

  /// A struct, as `PublishedState.Observer` is, for the same reason.
  private let openRuns = Mutex<OpenRuns?>(nil)
  /// When work under way has to end, once the store is being closed.
  private let deadline = Mutex<ContinuousClock.Instant?>(nil)

  /// The file with the time and cause of the last failure of maintenance, until it succeeds.
  static let failureName = "maintenance.failed"

  private static let interval = TimeSpan.seconds(3600)

  init(
    _ folder: StateFolder, _ logs: StateLogs, _ blobs: Blobs, _ printed: RunLogs, _ retention: Retention,
    _ time: any TimeSource
  ) {
    self.folder = folder
    self.logs = logs
    self.blobs = blobs
    self.printed = printed
    self.retention = retention
    self.time = time
  }

  /// Sets how to know whether a run is in the open state, which logs of runs depend on.
  func look(_ isOpen: @escaping @Sendable (String) -> Bool) { openRuns.withLock { $0 = OpenRuns(contain: isOpen) } }

  /// Ends work under way soon, so that closing need not wait for it.
  func close() { deadline.withLock { $0 = .now + .milliseconds(200) } }

  private var isOver: Bool { deadline.withLock { $0.map { $0 < .now } ?? false } }

  /// Whether a log lacks records, which is known when its index had more.
  private func examineLogs() throws(StateError) {
    let months = try logs.history.months() + logs.slots.months()
    for month in months {
      guard try onDisk({ () throws(FileError) in try folder.fileSystem.size(month.indexAhead) }) != nil else {
        continue
      }
      throw StateError(
        .damaged,
        "\(month.data) lacks records that its index knew of; put it back from a backup, or continue without them: errand doctor --repair"
      )
    }
  }

  /// Does the maintenance that is due, if an hour has passed since the last.
  func runIfDue() throws(StateError) {
    let elapsed = time.elapsed()
    let isDue = last.withLock { last in
      if let then = last, elapsed - then < Maintenance.interval { return false }
      last = elapsed
      return true
    }
    if !isDue { return }
    let mark = folder.path + "/" + Maintenance.failureName
    do throws(StateError) {
      _ = try run(isForced: false)
      try examineLogs()
    } catch {
      // The time ran out; the next agent continues.
      if error.kind == .closed { return }
      // For `errand doctor`; if not even this can be written, it finds the cause itself.
      try? folder.fileSystem.write(Array("\(time.now()) \(error.message)\n".utf8), to: mark)
      throw error
    }
    try onDisk { () throws(FileError) in
      if try folder.fileSystem.size(mark) != nil { try folder.fileSystem.remove(mark) }
    }
  }

  // MARK: - Deleting

  private static let deletionPrefix = "deleting-"

  private func path(of deletion: String) -> String {
    "\(folder.path)/\(Maintenance.deletionPrefix)\(deletion.percentEncoded)"
  }

  /// Notes in a file that a finished run is to be removed, so that it is after a crash too; nil if it isn't there.
  func noteDeletion(_ run: String) throws(StateError) -> RunDeletion? {
    guard try logs.history.entry(run) != nil else { return nil }
    let deletion = RunDeletion(run: run, blobs: try logs.history.blobs(of: run))
    let bytes = try recordedBytes(of: deletion)
    try onDisk { () throws(FileError) in
      try folder.fileSystem.replace(path(of: run), in: folder.path) { file throws(FileError) in try file.append(bytes) }
    }
    return deletion
  }

  /// The deletions that were noted and not finished.
  func deletions() throws(StateError) -> [RunDeletion] {
    let names = try onDisk { () throws(FileError) in try folder.fileSystem.list(folder.path) }
    var deletions: [RunDeletion] = []
    for name in names where name.hasPrefix(Maintenance.deletionPrefix) && !name.hasSuffix(".new") {
      let bytes = try onDisk { () throws(FileError) in try folder.fileSystem.read("\(folder.path)/\(name)") }
      guard let value = try? JSON.parse(bytes ?? []), let deletion = try? RunDeletion(reading: value) else { continue }
      deletions.append(deletion)
    }
    return deletions
  }

  /// Removes a run from the history.
  func removeRun(_ deletion: RunDeletion) throws(StateError) {
    defer { changes.add(1, ordering: .sequentiallyConsistent) }
    _ = try logs.history.replace(LogQuery(id: deletion.run), with: { _ in nil })
  }

  /// Removes the blobs of a deleted run that nothing else refers to, and the note.
  func removeBlobs(of deletion: RunDeletion) throws(StateError) {
    try removeBlobs(deletion.blobs)
    try onDisk { () throws(FileError) in try folder.fileSystem.remove(path(of: deletion.run)) }
  }

  private func removeBlobs(_ names: [String]) throws(StateError) {
    if names.isEmpty { return }
    _ = try BlobCollection(blobs: blobs, folder: folder, history: logs.history).remove(Set(names))
  }

  // MARK: - Erasing

  /// Erases the data of the finished runs that are old enough, at most once a day.
  ///
  /// A clock that is years ahead for a while must not erase everything: time has passed only as far as an earlier pass
  /// or the end of a run shows, and two days more.
  private func eraseData(at now: Timestamp) throws(StateError) -> Int {
    guard let age = retention.dataFor else { return 0 }
    let mark = "\(logs.history.folder)/erased"
    let day = TimeSpan.seconds(86_400)
    let text = try onDisk { () throws(FileError) in try folder.fileSystem.read(mark) }
    let words = String(decoding: text ?? [], as: UTF8.self).split(separator: " ").map { Timestamp(String($0)) }
    let (last, erased) = words.count == 2 ? (words[0], words[1]) : (nil, nil)
    if let last, let since = now.span(since: last), since < day, since >= .zero { return 0 }
    let newest = try logs.history.runs(HistoryQuery(limit: 1)).first?.endedAt
    guard let known = [last, newest].compactMap({ $0 }).max() else { return 0 }
    let present = min(now, known.advanced(by: .seconds(2 * 86_400)) ?? .latest)
    guard let before = present.advanced(by: TimeSpan(nanoseconds: -age.nanoseconds)) else { return 0 }
    var count = 0
    var blobNames: Set<String> = []
    if erased.map({ $0 < before }) ?? true {
      var query = LogQuery<RunSummary>(limit: .max)
      query.from = erased
      query.before = before
      query.lastMonth = before
      query.matches = { run in
        run.endedAt < before && erased.map { run.endedAt >= $0 } ?? true
      }
      count = try logs.history.replace(query) { run throws(StateError) in
        try printed.remove(run.id)
        if run.erasedAt != nil { return run }
        blobNames.formUnion(try run.writeLine({ _ in }).blobs)
        return run.erased(at: now)
      }
      try removeBlobs(Array(blobNames))
    }
    let end = max(before, erased ?? before)
    try onDisk { () throws(FileError) in try folder.fileSystem.write(Array("\(now) \(end)".utf8), to: mark) }
    return count
  }

  /// Removes old records and unreferenced blobs, unless that was done within the hour and isn't forced.
  func run(isForced: Bool) throws(StateError) -> MaintenanceReport {
    var report = MaintenanceReport()
    let now = time.now()
    defer { changes.add(1, ordering: .sequentiallyConsistent) }
    if isForced || !isOver {
      report.prunedRuns = try logs.history.prune(olderThan: retention.runsFor, at: now, keeping: retention.runs)
      report.erasedRuns = try eraseData(at: now)
      report.prunedSlots = try logs.slots.prune(olderThan: retention.slotsFor, at: now, keeping: nil)
    }
    try removeLogs(at: now, isForced: isForced, &report)
    let mark = "\(blobs.folder)/collected"
    guard try !blobs.parts().isEmpty else { return report }
    let done = try onDisk { () throws(FileError) in try folder.fileSystem.status(mark)?.modified }
    if !isForced, let done, let span = now.span(since: done), span < Maintenance.interval, span >= .zero {
      return report
    }
    var collection = BlobCollection(blobs: blobs, folder: folder, history: logs.history)
    if !isForced { collection.isOver = { self.isOver } }
    // Starts with another part each hour, so that all have their turn.
    report.removedBlobs = try collection.run(at: now, after: max(0, now.seconds) / 3600 % 256)
    try onDisk { () throws(FileError) in try folder.fileSystem.write([], to: mark) }
    return report
  }
}

extension Maintenance {
  /// Removes the logs of runs that are gone.
  private func removeLogs(at now: Timestamp, isForced: Bool, _ report: inout MaintenanceReport) throws(StateError) {
    guard let open = openRuns.withLock({ $0 }) else { return }
    report.removedLogs = try printed.removeOrphans(
      at: now, turn: max(0, now.seconds) / 3600, { !isForced && self.isOver }
    ) { run throws(StateError) in
      // The open state first, because a run moves from there to the history.
      if open.contain(run) { return true }
      var query = LogQuery<RunSummary>(id: run)
      query.from = UUID7(run)?.instant
      return try !logs.history.summaries(query).isEmpty
    }
  }
}

/// The results of a maintenance pass.
package struct MaintenanceReport: Sendable, Equatable {
  /// The months of the history that are gone or became shorter.
  package var prunedRuns: [String] = []
  /// The months of the ledger that are gone.
  package var prunedSlots: [String] = []
  package var removedBlobs = 0
  /// How many runs lost their data.
  package var erasedRuns = 0
  package var removedLogs = 0

  package init() {}
}

/// A run that is being deleted.
struct RunDeletion: Record, Equatable {
  var run: String
  /// The blobs that it named.
  var blobs: [String]

  init(run: String, blobs: [String]) {
    self.run = run
    self.blobs = blobs
  }

  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    blobs = try member("blobs", record?.blobs, default: [])
  }
}
