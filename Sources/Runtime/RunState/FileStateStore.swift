package import Basics
import Synchronization
package import Threads

/// The state in a folder of files, which only the holder of the folder's lock may open.
///
/// `StateFolder` defines the files, `Journal`, `Snapshot`, `MonthlyLog` and `Blobs` their content, `JournalQueue` and
/// `JournalWriter` when something is durable, and `Maintenance` what is forgotten.
package final class FileStateStore: LocalStateStore {
  /// Sentences for the user about data that was dropped or recovered when the state was opened.
  package let notices: [String]
  package let secrets = SecretRegistry()
  private let published: PublishedState
  private let logs: StateLogs
  private let blobs: Blobs
  private let printed: RunLogs
  private let links: LinkKeyFile
  private let sizes: StateSize
  private let maintenance: Maintenance
  private let journal: JournalQueue
  /// For slow work that need not wait for the journal.
  private let files: WorkQueue<@Sendable () -> Void>
  /// For work that no caller waits for.
  private let chores: WorkQueue<@Sendable () -> Void>
  /// For the logs of runs, which nothing waits for, so that the reader of a log has what was written before.
  private let printing: WorkQueue<@Sendable () -> Void>
  private let trouble: Trouble

  /// Why the last maintenance failed, and who observes it.
  private final class Trouble: Sendable {
    struct Content {
      var error: StateError?
      var observer: (@Sendable (StateError) -> Void)?
    }
    let content = Mutex(Content())

    /// Does maintenance, and notes why it failed, or that it did not.
    func note(_ body: () throws(StateError) -> Void) {
      do throws(StateError) {
        try body()
        set(nil)
      } catch {
        set(error)
      }
    }

    private func set(_ error: StateError?) {
      let observer = content.withLock { content in
        content.error = error
        return content.observer
      }
      if let error { observer?(error) }
    }
  }

  private init(
    _ shared: (published: PublishedState, notices: [String]), _ logs: StateLogs, _ blobs: Blobs, _ printed: RunLogs,
    _ links: LinkKeyFile, _ sizes: StateSize, _ maintenance: Maintenance, _ journal: JournalQueue,
    _ chores: WorkQueue<@Sendable () -> Void>, _ trouble: Trouble, _ workers: Workers
  ) {
    notices = shared.notices
    published = shared.published
    self.logs = logs
    self.journal = journal
    self.blobs = blobs
    self.printed = printed
    self.links = links
    self.sizes = sizes
    self.maintenance = maintenance
    self.chores = chores
    self.trouble = trouble
    files = WorkQueue()
    printing = WorkQueue()
    for queue in [files, chores, printing] {
      // Ends when the queue is closed, which the store does when it is released.
      workers.attend(queue) { for job in $0 { job() } }
    }
  }

  deinit {
    journal.close()
    files.close()
    maintenance.close()
    chores.close()
    printing.close()
  }

  /// Reads the state of a folder, which is created if it is missing, and repairs what a crash left.
  ///
  /// With a retention, records beyond it are forgotten after snapshots, at most once an hour; without one, nothing is
  /// forgotten unless `maintain` is called.
  ///
  /// - Parameter workers: Makes the blocking calls; a test may do so itself, and then opens the state itself too.
  package static func open(
    _ path: String, program: String, fileSystem: any FileSystem = DiskFileSystem(),
    compaction: CompactionRule = CompactionRule(), keeping retention: Retention? = nil,
    time: any TimeSource = SystemTime(), workers: Workers = .threads
  ) async throws(StateError) -> FileStateStore {
    let folder = StateFolder(path: path, fileSystem: fileSystem, program: program)
    let logs = StateLogs(path, fileSystem)
    let blobs = Blobs(folder: "\(path)/blobs", fileSystem: fileSystem)
    let printed = RunLogs(folder: "\(path)/logs", fileSystem: fileSystem)
    let maintenance = Maintenance(folder, logs, blobs, printed, retention ?? .everything, time)
    let chores = WorkQueue<@Sendable () -> Void>()
    let trouble = Trouble()
    let writer = try JournalWriter(folder, logs: logs, rule: compaction) {
      if retention == nil { return }
      _ = chores.put { trouble.note { () throws(StateError) in try maintenance.runIfDue() } }
    }
    let shared = writer.shared
    maintenance.look { [published = shared.published] id in
      published.state.withLock { state in state.runs[id] != nil || state.ended.contains { $0.id == id } }
    }
    let links = LinkKeyFile(folder: path, fileSystem: fileSystem)
    let store = FileStateStore(
      shared, logs, blobs, printed, links, StateSize(path, fileSystem, time), maintenance,
      JournalQueue(writer, workers: workers), chores, trouble, workers)
    // One that can't be read is refused when it is needed.
    if let key = try? links.key { store.secrets.learn(key) }
    store.secrets.askLinkKey { [weak store] in try? await store?.linkKey() }
    // Finishes deletions that a crash interrupted.
    for deletion in try maintenance.deletions() { try await store.finish(deletion) }
    return store
  }

  // MARK: - The open state

  package func look<Answer: Sendable>(_ body: (State) -> Answer) -> Answer { published.state.withLock { body($0) } }

  package func version(of part: StatePart) async -> String? {
    let version = published.versions.withLock { versions in
      versions.version(of: part) { run in published.state.withLock { $0.runs[run] != nil } }
    }
    guard part == .everything else { return version }
    return version.map { "\($0) \(maintenance.changes.load(ordering: .sequentiallyConsistent))" }
  }

  package func append(_ events: [StateEvent]) async throws(StateError) {
    if events.isEmpty { return }
    let events = try events.map { event throws(StateError) in try event.withoutSecrets(secrets) }
    let lines = try JournalLines(events)
    try await request { .append(events, lines, $0) }
  }

  package func compact() async throws(StateError) { try await request { .compact($0) } }

  package func close() async throws(StateError) {
    let result = await outcome { .close($0) }
    journal.close()
    files.close()
    // Work under way ends, because another process may take the folder as soon as this returns.
    maintenance.close()
    if chores.isUsed { _ = await on(chores) { () throws(StateError) in } }
    chores.close()
    if printing.isUsed { _ = await on(printing) { () throws(StateError) in } }
    printing.close()
    try result.get()
  }

  package func deleteRun(_ id: String) async throws(StateError) -> Bool {
    guard try await finishedRun(id) != nil else { return false }
    // Into the history, if it ended since the last snapshot; and it isn't missed there after a crash.
    try await request { .compactAgain(without: id, $0) }
    let noted = try await on(chores) { [maintenance] () throws(StateError) in try maintenance.noteDeletion(id) }.get()
    guard let noted else { return false }
    try await finish(noted)
    return true
  }

  /// Removes what is kept of a run whose deletion is noted.
  private func finish(_ deletion: RunDeletion) async throws(StateError) {
    try await on(chores) { [maintenance] () throws(StateError) in try maintenance.removeRun(deletion) }.get()
    // Until then the generation before holds what led to its end.
    try await request { .compactAgain(without: deletion.run, $0) }
    try await removeLog(ofRun: deletion.run)
    try await on(chores) { [maintenance] () throws(StateError) in try maintenance.removeBlobs(of: deletion) }.get()
  }

  /// Forgets old records if an hour has passed since the last time; for an agent that has nothing else to do.
  package func maintainIfDue() {
    _ = chores.put { [maintenance, trouble] in
      trouble.note { () throws(StateError) in try maintenance.runIfDue() }
    }
  }

  private func request(_ make: (Answer) -> JournalWriter.Request) async throws(StateError) {
    try await outcome(make).get()
  }

  private func outcome(_ make: (Answer) -> JournalWriter.Request) async -> Answer.Outcome {
    let answer = Answer()
    guard journal.put(make(answer)) else { return .failure(.closed) }
    return await answer.outcome
  }

  // MARK: - Content of files

  package func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary] {
    guard query.limit > 0 else { return [] }
    // Before the files are read, so that a run which moves to them meanwhile is seen twice rather than not at all.
    let recent = published.state.withLock { $0.endedRuns(query) }
    let older = try await onFilesThread { [logs] () throws(StateError) in try logs.history.runs(query) }
    let known = Set(recent.map(\.id))
    return Array((recent + older.filter { !known.contains($0.id) }).prefix(query.limit))
  }

  package func finishedRun(_ id: String) async throws(StateError) -> RunRecord? {
    if let run = published.state.withLock({ $0.endedRun(id) }) { return run }
    return try await onFilesThread { [logs] () throws(StateError) in try logs.history.entry(id) }
  }

  package func finishedRunText(
    _ cursor: LogCursor, most: Int
  ) async throws(StateError) -> (bytes: [UInt8], next: LogCursor)? {
    try await onFilesThread { [logs] () throws(StateError) in
      var cursor = cursor
      return try logs.history.piece(&cursor, most: most).map { ($0, cursor) }
    }
  }

  package func runSums(_ query: RunSumQuery) async throws(StateError) -> [RunSum] {
    try await withSums(from: RunSum.start(ofDay: query.firstDay)) { RunSums.sums(query, in: $0) }
  }

  package func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(StateError) -> [String: [RunResult]] {
    try await withSums(from: instant) { RunSums.latest(of: recipes, from: instant, in: $0) }
  }

  package func failures(from instant: Timestamp) async throws(StateError) -> [FailureGroup] {
    try await withSums(from: instant) { RunSums.failures(from: instant, in: $0) }
  }

  private func withSums<Outcome: Sendable>(
    from instant: Timestamp, _ body: @escaping @Sendable ([RunSums]) -> Outcome
  ) async throws(StateError) -> Outcome {
    try await onFilesThread { [logs, published] () throws(StateError) in
      try logs.history.withSums(from: instant) {
        // Summed up without the lock, because the journal waits for it.
        published.state.withLock { $0.ended }.map { RunSummary($0) }
      } _: {
        body($0)
      }
    }
  }

  package func slots(_ query: SlotQuery) async throws(StateError) -> [SlotRecord] {
    guard query.limit > 0 else { return [] }
    let recent = published.state.withLock { $0.slots }.reversed().filter(query.matches)
    if recent.count >= query.limit { return Array(recent.prefix(query.limit)) }
    let older = try await onFilesThread { [logs] () throws(StateError) in try logs.slots.slots(query) }
    let known = Set(recent.map(\.summary.id))
    return Array((recent + older.filter { !known.contains($0.summary.id) }).prefix(query.limit))
  }

  package func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference {
    try await onFilesThread { [blobs] () throws(StateError) in try blobs.put(bytes) }
  }

  package func putBlob(of value: Value) async throws(StateError) -> BlobReference {
    try await onFilesThread { [blobs] () throws(StateError) in try blobs.put(value) }
  }

  package func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8] {
    try await onFilesThread { [blobs] () throws(StateError) in try blobs.get(reference) }
  }

  package func blob(_ reference: BlobReference, from offset: Int, most: Int) async throws(StateError) -> [UInt8] {
    try await onFilesThread { [blobs] () throws(StateError) in try blobs.get(reference, from: offset, most: most) }
  }

  package func linkKey(renewed isRenewed: Bool) async throws(StateError) -> LinkKey {
    let key = try await onFilesThread { [links] () throws(StateError) in try links.key(renewed: isRenewed) }
    secrets.learn(key)
    return key
  }

  package func keepPrinted(
    _ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void
  ) {
    _ = printing.put { [printed] in
      do throws(StateError) { try printed.add(lines, to: id) } catch { fail(error) }
    }
    published.versions.withLock { $0.notePrinted(by: id) }
  }

  package func printed(ofRun id: String, at point: PrintedPoint) async throws(StateError) -> PrintedChunk {
    try await on(printing) { [printed] () throws(StateError) in try printed.chunk(of: id, at: point) }.get()
  }

  package func removeLog(ofRun id: String) async throws(StateError) {
    try await on(printing) { [printed] () throws(StateError) in try printed.remove(id) }.get()
  }

  /// Forgets records beyond the retention, and removes unreferenced blobs, now.
  package func maintain() async throws(StateError) -> MaintenanceReport {
    try await on(chores) { [maintenance] () throws(StateError) in try maintenance.run(isForced: true) }.get()
  }

  package func size() async -> Int? {
    if let known = sizes.known { return known }
    return try? await on(chores) { [sizes] () throws(StateError) in try sizes.measure() }.get()
  }

  /// Why the maintenance after the last snapshot failed, if it did; only space is lost by that.
  package var maintenanceTrouble: StateError? { trouble.content.withLock { $0.error } }

  /// Calls an observer whenever the maintenance after a snapshot fails, and at once if the last one did.
  package func observeMaintenance(_ observer: @escaping @Sendable (StateError) -> Void) {
    let error = trouble.content.withLock { content in
      content.observer = observer
      return content.error
    }
    if let error { observer(error) }
  }

  /// Makes the observer hear of every commit from now on.
  package func observeCommits(_ observer: @escaping CommitObserver) {
    published.observer.withLock { $0 = PublishedState.Observer(tell: observer) }
  }

  private func onFilesThread<Outcome: Sendable>(
    _ body: @escaping @Sendable () throws(StateError) -> Outcome
  ) async throws(StateError) -> Outcome {
    try await on(files, body).get()
  }

  private func on<Outcome: Sendable>(
    _ queue: WorkQueue<@Sendable () -> Void>, _ body: @escaping @Sendable () throws(StateError) -> Outcome
  ) async -> Result<Outcome, StateError> {
    await withCheckedContinuation { continuation in
      let isTaken = queue.put { continuation.resume(returning: Result { () throws(StateError) in try body() }) }
      if !isTaken { continuation.resume(returning: .failure(.closed)) }
    }
  }
}
