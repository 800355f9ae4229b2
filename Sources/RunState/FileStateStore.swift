import Basics
import Synchronization

/// The state in a folder of files, which only the holder of the folder's lock may open.
///
/// `StateFolder` says which files there are, `Journal`, `Snapshot`, `History` and `Blobs` what is in them, and
/// `JournalWriter` when something is durable.
package final class FileStateStore: StateStore {
  /// What was dropped or recovered when the state was opened, in sentences for the user.
  package let notices: [String]
  private let published: PublishedState
  private let history: History
  private let blobs: Blobs
  private let folder: StateFolder
  private let journal: WorkQueue<JournalWriter.Request>
  /// For what takes its time and need not wait for the journal.
  private let files: WorkQueue<@Sendable () -> Void>

  private init(
    _ shared: (published: PublishedState, notices: [String]), _ folder: StateFolder, _ history: History,
    _ journal: WorkQueue<JournalWriter.Request>
  ) throws(StateError) {
    notices = shared.notices
    published = shared.published
    self.history = history
    self.folder = folder
    self.journal = journal
    blobs = Blobs(folder: "\(folder.path)/blobs", fileSystem: folder.fileSystem)
    files = WorkQueue()
    let files = files
    // Ends when the queue is closed, which the store does when it goes.
    let isRunning = startThread { while let jobs = files.takeAll() { for job in jobs { job() } } }
    if !isRunning { throw .noThread }
  }

  deinit {
    journal.close()
    files.close()
  }

  /// Reads the state of a folder, which is made if it is not there, and mends what a crash left.
  package static func open(
    _ path: String, program: String, fileSystem: any FileSystem = DiskFileSystem(),
    compaction: CompactionRule = CompactionRule()
  ) async throws(StateError) -> FileStateStore {
    let folder = StateFolder(path: path, fileSystem: fileSystem, program: program)
    let history = History(folder: "\(path)/history", fileSystem: fileSystem)
    let requests = WorkQueue<JournalWriter.Request>()
    let opened: Result<FileStateStore, StateError> = await withCheckedContinuation { continuation in
      // Ends when the queue is closed, which the store does when it goes.
      let isRunning = startThread {
        var writer: JournalWriter
        do throws(StateError) {
          writer = try JournalWriter(folder, history: history, rule: compaction)
          continuation.resume(returning: .success(try FileStateStore(writer.shared, folder, history, requests)))
        } catch {
          continuation.resume(returning: .failure(error))
          return
        }
        writer.run(requests)
      }
      if !isRunning { continuation.resume(returning: .failure(.noThread)) }
    }
    return try opened.get()
  }

  // MARK: - The open state

  package var state: State { published.state.withLock { $0 } }
  package func run(_ id: String) -> RunRecord? { published.state.withLock { $0.runs[id] } }

  package func append(_ events: [StateEvent]) async throws(StateError) {
    if events.isEmpty { return }
    var objects: [[UInt8]] = []
    objects.reserveCapacity(events.count)
    for event in events {
      try event.check()
      objects.append(try encodedBytes(of: event.encoded()))
    }
    try await request { .append(events, objects, $0) }
  }

  package func compact() async throws(StateError) { try await request { .compact($0) } }

  package func close() async throws(StateError) {
    try await request { .close($0) }
    journal.close()
    files.close()
  }

  private func request(_ make: (JournalWriter.Reply) -> JournalWriter.Request) async throws(StateError) {
    let result = await withCheckedContinuation { reply in
      if !journal.put(make(reply)) { reply.resume(returning: .failure(.closed)) }
    }
    try result.get()
  }

  // MARK: - What lies in files

  package func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary] {
    guard query.limit > 0 else { return [] }
    // Before the files are read, so that a run which moves to them meanwhile is seen twice rather than not at all.
    let recent = published.state.withLock { $0.ended }.reversed().map(RunSummary.init).filter(query.matches)
    let older = try await onFilesThread { [history] () throws(StateError) in try history.runs(query) }
    let known = Set(recent.map(\.id))
    return Array((recent + older.filter { !known.contains($0.id) }).prefix(query.limit))
  }

  package func finishedRun(_ id: String) async throws(StateError) -> RunRecord? {
    if let run = published.state.withLock({ $0.ended.last { $0.id == id } }) { return run }
    return try await onFilesThread { [history] () throws(StateError) in try history.run(id) }
  }

  package func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference {
    try await onFilesThread { [blobs] () throws(StateError) in try blobs.put(bytes) }
  }

  package func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8] {
    try await onFilesThread { [blobs] () throws(StateError) in try blobs.get(reference) }
  }

  /// Removes the blobs that no kept generation and no history names, and gives their number.
  package func collectBlobs() async throws(StateError) -> Int {
    try await onFilesThread { [blobs, folder] () throws(StateError) in
      try blobs.collect(keeping: try folder.blobNames())
    }
  }

  private func onFilesThread<Outcome: Sendable>(
    _ body: @escaping @Sendable () throws(StateError) -> Outcome
  ) async throws(StateError) -> Outcome {
    let result: Result<Outcome, StateError> = await withCheckedContinuation { continuation in
      let isTaken = files.put { continuation.resume(returning: Result { () throws(StateError) in try body() }) }
      if !isTaken { continuation.resume(returning: .failure(.closed)) }
    }
    return try result.get()
  }
}
