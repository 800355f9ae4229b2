import Basics
import RunState
import Synchronization

/// The runs that this program holds, as of the last entries of their logs that are known to be kept.
final class HeldRuns: Sendable {
  struct Run: Sendable {
    var log: LoggedRun
    /// Which claim of the run this program has.
    var epoch: Int
    var row: OpenRunRow
    /// The last entry that need not be read one by one, as far as this program knows.
    var foldedAt: Int

    init(_ log: LoggedRun, epoch: Int, row: OpenRunRow? = nil, foldedAt: Int? = nil) {
      self.log = log
      self.epoch = epoch
      self.foldedAt = foldedAt ?? log.number
      self.row = row ?? OpenRunRow(log.record)
    }
  }

  /// Up to where the log of a run was kept.
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
    /// How many are being created that may come to be held.
    var creating = 0
    /// Of the latest runs that are held no longer, the newest last.
    var former: [Mark] = []
    /// The worker that holds them; nil while this program is none.
    var worker: Int?
    /// What this program takes up; nil while it takes nothing up.
    var terms: WorkerTerms?
    /// Whether a person asked that it take nothing more up.
    var isDraining = false
    /// Until when, by the program's own clock, nobody else takes over what is held here.
    var deadline = TimeSpan.zero
    /// Whether an answer was lost that may have told of news, which the database won't tell again.
    var mayHaveMissed = false
    /// Runs that are held no longer, which the database couldn't be told, and by which claims they were.
    var unreleased: [String: Int] = [:]
    /// Calls on connections that are over, which the database couldn't be told.
    var endedCalls: Set<String> = []
    /// The latest runs that ended here, the newest last.
    var ended: [RunRecord] = []

    /// Holds a run no longer.
    mutating func remove(_ id: String) {
      guard let run = runs.removeValue(forKey: id) else { return }
      former.removeAll { $0.run == id }
      former.append(Mark(run.log))
      if former.count > HeldRuns.mostFormer { former.removeFirst() }
    }
  }

  /// The most ended runs that are remembered.
  private static let mostEnded = 64
  /// As many as a program may let go while a standby falls behind.
  private static let mostFormer = 1000

  private let content = Mutex(Content())
  /// Told when there is room again for others, after there was little.
  let room: AsyncStream<Void>
  private let hasRoom: AsyncStream<Void>.Continuation

  init() { (room, hasRoom) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1)) }

  /// Holds a run no longer, and tells if there is room again.
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

  /// Says what this program takes up; nil for nothing.
  func take(on terms: WorkerTerms?) { content.withLock { $0.terms = terms } }

  /// Whether a run that is created here is held here: a program that takes runs up leaves those to others that it
  /// couldn't take up or has no room for, and one that doesn't was asked for the run.
  ///
  /// - Parameter others: How many that are created with it are held here.
  func holds(created row: OpenRunRow, besides others: Int) -> Bool {
    content.withLock { content in
      if content.isDraining { return false }
      guard let terms = content.terms else { return true }
      return content.runs.count + others < terms.capacity && terms.take(row)
    }
  }

  /// Counts runs among those that take room while they are created: others may be taken up between the commit and its
  /// answer.
  func create(_ count: Int) { content.withLock { $0.creating += count } }

  /// For how many more runs there is room.
  func room(of capacity: Int) -> Int { content.withLock { max(0, capacity - $0.runs.count - $0.creating) } }

  var isDraining: Bool { content.withLock { $0.isDraining } }

  func drain(_ isDraining: Bool) { content.withLock { $0.isDraining = isDraining } }

  var mayHaveMissed: Bool {
    get { content.withLock { $0.mayHaveMissed } }
    set { content.withLock { $0.mayHaveMissed = newValue } }
  }

  /// Until when, by the program's own clock, nobody else takes over what is held here.
  var deadline: TimeSpan { content.withLock { $0.deadline } }

  func extend(to deadline: TimeSpan) { content.withLock { $0.deadline = deadline } }

  /// Holds what is created or taken up from now on.
  func join(_ worker: Int, until deadline: TimeSpan = .zero) {
    content.withLock { content in
      content.worker = worker
      content.deadline = deadline
    }
  }

  /// Lets everything go.
  func leave() {
    content.withLock { content in
      content.worker = nil
      for id in Array(content.runs.keys) { content.remove(id) }
      content.unreleased = [:]
      // They went with the lease.
      content.endedCalls = []
    }
  }

  /// The calls on connections of which the database doesn't know that they are over.
  var endedCalls: Set<String> { content.withLock { $0.endedCalls } }
  func noteOver(_ call: String) { content.withLock { _ = $0.endedCalls.insert(call) } }
  func noteTold(_ calls: Set<String>) { content.withLock { $0.endedCalls.subtract(calls) } }

  /// The runs of which the database doesn't know that they are held no longer, and by which claims they were.
  var unreleased: [String: Int] { content.withLock { $0.unreleased } }

  /// Holds a run no longer, which the database couldn't be told.
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

  /// Holds a run that was created or taken up, unless the lease of that worker has ended meanwhile.
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

  /// Holds a run no longer by a claim, which is still open.
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
