import Basics
import RunState
import Synchronization

/// The runs that this program holds, as of the last entries of their logs that are known to be stored.
final class HeldRuns: Sendable {
  struct Run: Sendable {
    var log: LoggedRun
    /// The number of this program's claim of the run.
    var epoch: Int
    var row: OpenRunRow
    /// The last entry that is part of the stored fold, as far as this program knows.
    var foldedAt: Int

    init(_ log: LoggedRun, epoch: Int, row: OpenRunRow? = nil, foldedAt: Int? = nil) {
      self.log = log
      self.epoch = epoch
      self.foldedAt = foldedAt ?? log.number
      self.row = row ?? OpenRunRow(log.record)
    }
  }

  /// The last stored position in the log of a run.
  struct Mark: Sendable {
    var run: String
    var recipe: String
    var createdAt: Timestamp
    var number: Int
    var sum: UInt64

    init(_ log: LoggedRun) {
      (run, recipe, createdAt) = (log.record.id, log.record.recipe, log.record.createdAt)
      (number, sum) = (log.number, log.sum)
    }
  }

  private struct Content {
    var runs: [String: Run] = [:]
    /// How many runs are being created that may be held afterwards.
    var creating = 0
    /// The latest runs that this program stopped holding, the newest last.
    var former: [Mark] = []
    /// The worker that holds the runs; nil while this program is no worker.
    var worker: Int?
    /// The terms by which this program claims runs; nil while it claims none.
    var terms: WorkerTerms?
    /// Whether a person asked that it claim no more runs.
    var isDraining = false
    /// The time, by the program's own clock, before which no other worker takes over these runs.
    var deadline = TimeSpan.zero
    /// Whether a lost answer may have held news, which the database won't send again.
    var mayHaveMissed = false
    /// Runs that this program stopped holding without being able to tell the database, with the epochs of their claims.
    var unreleased: [String: Int] = [:]
    /// Finished calls on connections that the database couldn't be told about.
    var endedCalls: Set<String> = []
    /// The latest runs that ended here, the newest last.
    var ended: [RunRecord] = []

    /// Stops holding a run.
    mutating func remove(_ id: String) {
      guard let run = runs.removeValue(forKey: id) else { return }
      former.removeAll { $0.run == id }
      former.append(Mark(run.log))
      if former.count > HeldRuns.mostFormer { former.removeFirst() }
    }
  }

  /// The most ended runs that are remembered.
  private static let mostEnded = 64
  /// The number of runs that a program may let go while a standby falls behind.
  private static let mostFormer = 1000

  private let content = Mutex(Content())
  /// Signals that there is room for other runs again, after there was little.
  let room: AsyncStream<Void>
  private let hasRoom: AsyncStream<Void>.Continuation

  init() { (room, hasRoom) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

  /// Stops holding a run, and signals if there is room again.
  private func remove(_ id: String, from content: inout Content) {
    content.remove(id)
    if let capacity = content.terms?.capacity, content.runs.count == capacity * 3 / 4 { hasRoom.yield() }
  }

  subscript(id: String) -> Run? { content.withLock { $0.runs[id] } }

  func ended(_ id: String) -> RunRecord? { content.withLock { $0.ended.last { $0.id == id } } }

  var count: Int { content.withLock { $0.runs.count } }
  var ids: [String] { content.withLock { $0.runs.keys.sorted { $0.precedesByScalars($1) } } }
  var former: [Mark] { content.withLock { $0.former } }
  func forgetMark(of id: String) { content.withLock { $0.former.removeAll { $0.run == id } } }
  var worker: Int? { content.withLock { $0.worker } }

  /// Sets the terms by which this program claims runs; nil for none.
  func take(on terms: WorkerTerms?) { content.withLock { $0.terms = terms } }

  /// Whether this program holds a run that it creates.
  ///
  /// A worker leaves a run to others if it couldn't claim it or has no room for it. A program that claims no runs was
  /// asked for this one, and holds it.
  ///
  /// - Parameter others: How many runs that are created with it are held here.
  func holds(created row: OpenRunRow, besides others: Int) -> Bool {
    content.withLock { content in
      if content.isDraining { return false }
      guard let terms = content.terms else { return true }
      return content.runs.count + others < terms.capacity && terms.take(row)
    }
  }

  /// Reserves room for runs while they are created, because other runs may be claimed between the commit and its
  /// answer.
  func create(_ count: Int) { content.withLock { $0.creating += count } }

  /// The number of further runs that there is room for.
  func room(of capacity: Int) -> Int { content.withLock { max(0, capacity - $0.runs.count - $0.creating) } }

  var isDraining: Bool { content.withLock { $0.isDraining } }

  func drain(_ isDraining: Bool) { content.withLock { $0.isDraining = isDraining } }

  var mayHaveMissed: Bool {
    get { content.withLock { $0.mayHaveMissed } }
    set { content.withLock { $0.mayHaveMissed = newValue } }
  }

  /// The time, by the program's own clock, before which no other worker takes over these runs.
  var deadline: TimeSpan { content.withLock { $0.deadline } }

  func extend(to deadline: TimeSpan) { content.withLock { $0.deadline = deadline } }

  /// Holds runs that are created or claimed from now on.
  func join(_ worker: Int, until deadline: TimeSpan = .zero) {
    content.withLock { content in
      content.worker = worker
      content.deadline = deadline
    }
  }

  /// Lets all runs go.
  func leave() {
    content.withLock { content in
      content.worker = nil
      for id in Array(content.runs.keys) { content.remove(id) }
      content.unreleased = [:]
      // They went with the lease.
      content.endedCalls = []
    }
  }

  /// Finished calls on connections that the database still lists.
  var endedCalls: Set<String> { content.withLock { $0.endedCalls } }
  func noteOver(_ call: String) { content.withLock { _ = $0.endedCalls.insert(call) } }
  func noteTold(_ calls: Set<String>) { content.withLock { $0.endedCalls.subtract(calls) } }

  /// Runs that this program has stopped holding but that it holds according to the database, with the epochs of their
  /// claims.
  var unreleased: [String: Int] { content.withLock { $0.unreleased } }

  /// Stops holding a run without being able to tell the database.
  func leaveUnreleased(_ run: Run) {
    let id = run.log.record.id
    content.withLock { content in
      if content.runs[id]?.epoch == run.epoch { remove(id, from: &content) }
      if content.worker != nil { content.unreleased[id] = run.epoch }
    }
  }

  func noteReleased(_ claims: [String: Int]) {
    content.withLock { content in
      for (run, epoch) in claims where content.unreleased[run] == epoch { content.unreleased[run] = nil }
    }
  }

  /// Notes what is known of a run, if it is still held: the lease may have ended meanwhile.
  func update(_ run: Run) {
    content.withLock { content in
      if content.runs[run.log.record.id]?.epoch == run.epoch { content.runs[run.log.record.id] = run }
    }
  }

  /// Holds a run that was created or claimed, unless the worker's lease has ended meanwhile.
  func take(_ run: Run, by worker: Int) {
    content.withLock { content in
      if content.worker == worker { content.runs[run.log.record.id] = run }
    }
  }

  func end(_ run: RunRecord) {
    content.withLock { content in
      remove(run.id, from: &content)
      content.ended.append(run)
      if content.ended.count > HeldRuns.mostEnded { content.ended.removeFirst() }
    }
  }

  /// Stops holding an open run that was held by this claim.
  func letGo(_ id: String, claim: Int) {
    content.withLock { content in
      if content.runs[id]?.epoch == claim { remove(id, from: &content) }
    }
  }

  /// Forgets a run that is over.
  func forget(_ id: String) {
    content.withLock { content in
      content.runs[id] = nil
      content.ended.removeAll { $0.id == id }
    }
  }
}
