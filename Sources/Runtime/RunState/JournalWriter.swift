/// The writer of the journal and the snapshots; it serves one batch of requests after another.
///
/// A batch is written at once, synced once, then applied to the published state, then acknowledged. An append that does
/// not fit the state is refused alone, before anything of it is written; its caller hears of it after the batch was
/// acknowledged, so that the reason for the refusal is in the state that the caller sees. After the first failure of
/// the file system the writer leaves the files alone: after a failed sync the content of the disk is unknown (the
/// kernel may have dropped the pages), so only a new start, which reads the files, can tell. Any written part of the
/// failed batch is cut off, because the batch is refused: all callers that wait then, or come later, get that error.
///
/// While a program runs, an event is folded twice: into the run's own record, which is ahead by the events that are
/// held back (`RunJournal`), and into the state of the writer, which is ahead by the batch that is being written, so
/// that an event that does not fit is refused before it is on the disk. The published state, which power loss can't
/// take back, takes the runs that a batch changed from the writer's state, and shares the records of their steps with
/// it, as the run's own record shares the records of ended steps. The other members of both states are folded, because
/// a state that shared its dictionaries would have to copy them with the next change.
import Basics
import Synchronization
import Threads

/// The state that the journal's writer publishes to all callers.
final class PublishedState: Sendable {
  /// The state as of the last synced batch.
  let state: Mutex<State>
  /// The observer of commits.
  ///
  /// A struct, because a function that is the whole content of a `Mutex` is wrapped once more by each access: each
  /// commit would take longer than the one before, and keep more.
  struct Observer: Sendable {
    var tell: CommitObserver
  }

  /// How often it has changed.
  let versions = Mutex(StateVersions())
  /// Told of each commit from now on.
  let observer = Mutex<Observer?>(nil)

  init(_ state: State) { self.state = Mutex(state) }
}

/// Counts what became durable: the events of a batch, what the sync took, and how to find the recipe of a run.
///
/// Called on the thread that writes, so it must not wait.
package typealias CommitObserver =
  @Sendable (_ events: [StateEvent], _ syncTime: Duration, _ recipe: (_ run: String) -> String?) -> Void

/// When a journal has outgrown its snapshot, so that a new snapshot is written.
package struct CompactionRule: Sendable {
  /// The least bytes of a journal before a snapshot.
  ///
  /// All callers wait while a snapshot is written, so it must be rare; but runs that ended since the last one are held
  /// in memory, and a start has to read all of the journal.
  package var smallest: Int
  /// Also the least size of the journal as a multiple of the snapshot.
  package var timesSnapshot: Int
  /// The most ended runs and slots before a snapshot, which takes them out of memory and out of the journal.
  package var mostOver: Int
  /// The least bytes of a journal for a snapshot when the state is closed; if a run is open, a snapshot is written in
  /// any case.
  package var smallestAtEnd: Int

  package init(smallest: Int = 16 << 20, timesSnapshot: Int = 2, mostOver: Int? = nil, smallestAtEnd: Int = 0) {
    self.smallest = smallest
    self.timesSnapshot = timesSnapshot
    self.smallestAtEnd = smallestAtEnd
    // Without a smallest size there are no snapshots for this reason either.
    self.mostOver = mostOver ?? (smallest == .max ? .max : 2000)
  }

  func applies(to opened: StateFolder.Opened) -> Bool {
    let least = opened.state.ended.count + opened.state.slots.count > mostOver ? 0 : smallest
    return opened.journalSize > max(least, timesSnapshot * opened.snapshotSize)
  }

  func appliesAtEnd(to opened: StateFolder.Opened) -> Bool {
    opened.journalSize > smallestAtEnd || !opened.state.runs.isEmpty
  }
}

/// Writes the journal and the snapshots; for one caller at a time.
struct JournalWriter {
  enum Request: Sendable {
    case append([StateEvent], JournalLines, Answer)
    case compact(Answer)
    /// As `compact`, even if nothing happened since the last snapshot: the generation before it goes. The new one
    /// expects no finished run with that id in the history.
    case compactAgain(without: String, Answer)
    case close(Answer)
  }

  private let folder: StateFolder
  private let logs: StateLogs
  /// Called after each snapshot.
  private let didCompact: @Sendable () -> Void
  private let published: PublishedState
  private let rule: CompactionRule
  /// Its state is ahead of the published one by the batch that is being written.
  private var opened: StateFolder.Opened
  /// Nil until the first events of a new state.
  private var journal: (any AppendableFile)?
  private var failure: StateError?
  /// How long the last sync took.
  private(set) var syncTime = Duration.zero

  /// Continues where the folder's files end, after a snapshot if there should be one of this version and is not.
  init(
    _ folder: StateFolder, logs: StateLogs, rule: CompactionRule, didCompact: @escaping @Sendable () -> Void
  ) throws(StateError) {
    var opened = try folder.open()
    // A slot that was skipped grows into a row until a snapshot; one that is in the ledger already, after a crash, must
    // not grow.
    let hasRow = opened.state.slots.contains { $0.outcome == .skippedOverlap }
    if opened.generation == 0 {
      journal = nil
    } else if (opened.snapshotGeneration == nil && !opened.isFirst) || opened.isOld || hasRow {
      if opened.isOld { try logs.history.removeOldIndexes() }
      try logs.adopt(from: &opened)
      journal = try folder.compact(&opened)
    } else {
      let last = try folder.journal(of: opened.generation)
      // An earlier program may have failed to sync what is read now, and the next batches depend on it.
      try onDisk { () throws(FileError) in try last.sync() }
      journal = last
    }
    self.folder = folder
    self.logs = logs
    self.rule = rule
    self.didCompact = didCompact
    self.opened = opened
    published = PublishedState(opened.state)
  }

  /// The parts that other threads may use.
  var shared: (published: PublishedState, notices: [String]) { (published, opened.notices) }

  /// Serves requests that came together as one batch.
  mutating func serve(_ requests: [Request]) {
    begin(for: requests)
    var batch = JournalBatch(opened.position)
    var accepted: [StateEvent] = []
    var waiting: [Answer] = []
    var refused: [(Answer, StateError)] = []
    for request in requests {
      switch request {
      case .append(let events, let lines, let answer):
        if let failure {
          answer.give(.failure(failure))
        } else if let error = accept(events, after: accepted) {
          refused.append((answer, error))
        } else {
          batch.add(lines)
          accepted += events
          waiting.append(answer)
        }
      case .compact(let answer), .compactAgain(_, let answer), .close(let answer):
        commit(&batch, &accepted, &waiting)
        if failure == nil, isDue(request) {
          if case .compactAgain(let run, _) = request { compact(without: run) } else { compact() }
          // Later requests in the same batch continue from the new journal's header.
          batch = JournalBatch(opened.position)
        }
        if case .close = request, failure == nil, opened.isFirst {
          do throws(StateError) { try folder.markBegun() } catch { fail(error) }
        }
        answer.give(failure.map { .failure($0) } ?? .success(()))
        if case .close = request { failure = failure ?? .closed }
      }
    }
    commit(&batch, &accepted, &waiting)
    for (answer, error) in refused { answer.give(.failure(error)) }
    if failure == nil, rule.applies(to: opened) { compact() }
  }

  /// Begins the first journal of a new state, which leaves no files before there is something to keep.
  private mutating func begin(for requests: [Request]) {
    guard journal == nil, failure == nil else { return }
    let brings = requests.contains { if case .append = $0 { true } else { false } }
    if !brings { return }
    do throws(StateError) { journal = try folder.begin(&opened) } catch { fail(error) }
  }

  /// Whether a snapshot follows from a request for one, or from the end of the program.
  private func isDue(_ request: Request) -> Bool {
    let hasNews = opened.position.sequence > opened.snapshotSequence
    return switch request {
    case .append: false
    case .compact: hasNews
    case .compactAgain: journal != nil
    case .close: hasNews && rule.appliesAtEnd(to: opened)
    }
  }

  /// Applies all events, or none and returns why.
  private mutating func accept(_ events: [StateEvent], after accepted: [StateEvent]) -> StateError? {
    var folded = 0
    do throws(StateError) {
      for event in events {
        try opened.state.fold(event)
        folded += 1
      }
      return nil
    } catch {
      // An event that doesn't fit changes nothing. Restoring the state below copies all of its open records.
      if folded == 0 { return error }
      opened.state = published.state.withLock { $0 }
      // These were applied successfully before.
      for event in accepted { try? opened.state.fold(event) }
      return error
    }
  }

  private mutating func commit(_ batch: inout JournalBatch, _ accepted: inout [StateEvent], _ waiting: inout [Answer]) {
    if waiting.isEmpty { return }
    var position = opened.position
    let bytes = batch.finish(&position)
    var result: Result<Void, StateError> = .success(())
    do throws(FileError) {
      // It is there since the first events came.
      try journal?.append(bytes)
      let start = ContinuousClock.now
      try journal?.sync()
      syncTime = start.duration(to: .now)
      opened.position = position
      opened.journalSize += bytes.count
      let ahead = opened.state
      published.state.withLock { state in
        var run: String?
        for event in accepted {
          // A run is taken as it is in the end, however many of its steps follow each other.
          if event.isOfStep {
            if event.changedRun == run { continue }
            run = event.changedRun
          }
          // They fit, because they did before.
          try? state.apply(event, behind: ahead)
        }
      }
      published.versions.withLock { versions in for event in accepted { versions.note(event) } }
      if let observer = published.observer.withLock({ $0 }) {
        observer.tell(accepted, syncTime) { ahead.recipe(ofRun: $0) }
      }
    } catch {
      fail(StateError(error))
      result = .failure(refusal(StateError(error)))
    }
    for answer in waiting { answer.give(result) }
    batch = JournalBatch(opened.position)
    accepted = []
    waiting = []
  }

  /// - Parameter run: The id of a run that is about to be removed from the history.
  private mutating func compact(without run: String? = nil) {
    do throws(StateError) {
      try logs.adopt(from: &opened)
      if let run, opened.newest.run?.id == run {
        opened.newest.run = try logs.history.runs(HistoryQuery(limit: 2)).first { $0.id != run }.map { LogMark($0) }
      }
      journal = try folder.compact(&opened)
      published.state.withLock { $0.forgetOver() }
      didCompact()
    } catch {
      fail(error)
    }
  }

  private mutating func fail(_ error: StateError) { failure = broken(error, "") }

  private func broken(_ error: StateError, _ batch: String) -> StateError {
    StateError(
      .fatal,
      "the state in '\(folder.path)' can no longer be written: \(error.message). What was acknowledged before is safe\(batch). Fix the cause and start again."
    )
  }

  /// Cuts off a batch that could not be written, and returns the error for its callers.
  ///
  /// All or part of the batch may be in the file. Without the cut the next start would find refused events; if the cut
  /// fails, the error says so.
  private func refusal(_ error: StateError) -> StateError {
    do throws(StateError) { try folder.cut(opened.generation, to: opened.journalSize) } catch {
      return broken(
        error,
        "; what was refused just now may have been written anyway: check with errand runs list before you repeat it")
    }
    return broken(error, "")
  }
}
