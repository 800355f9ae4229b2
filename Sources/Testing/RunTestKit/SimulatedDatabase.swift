package import Basics
package import RunState
package import SharedState
import Synchronization

/// A database in memory that treats its clients as a real one may.
///
/// Transactions read committed data (READ COMMITTED), wait for the locks of others, and find a key taken by a
/// transaction that is not over yet. A commit whose answer was lost may still be under way; it is done before any other
/// transaction gets its keys or locks. If transactions wait for each other, one is refused. Each program has a
/// connection of its own (`SimulatedConnection`), which may fail as `setFaults` says; every statement lets other tasks
/// run before it is done, and before its answer comes.
package final class SimulatedDatabase: Sendable {
  /// The fault of a statement.
  package enum Fault: Sendable, CaseIterable {
    /// The connection is lost before it is sent.
    case unsent
    /// It is done, and its answer is lost.
    case unanswered
    /// Its answer is lost, and it is done later.
    case late
    /// It is rolled back, and that answer is lost.
    case undone
  }

  /// An error that a test plants to see that it is found.
  package enum Flaw: Sendable, CaseIterable {
    /// Appends are acknowledged before they are done, so that two of a run are in flight.
    case answersAtOnce
    /// The name of an event is not locked.
    case locksNoEvent
    /// A lost answer counts as a commit.
    case trustsLostAnswers
    /// A write that was done without an answer is not recognized, and so done again.
    case forgetsOwn
    /// The row of a run changes although its entry is refused.
    case changesRowsAnyway
    /// A scheduler's decision is kept even if the schedules have changed since.
    case ignoresVersion
    /// A scheduler's decision begins no version.
    case keepsVersion
    /// A claim adds no entry to the log.
    case claimsWithoutEntry
    /// A request for the leader is taken by each look.
    case takesRequestsAgain
    /// An entry is taken although the one before it isn't there.
    case takesGaps
  }

  struct Open: Sendable {
    var row: OpenRunRow
    var hasNews = false
    var isSuspect = false
    /// Whether it has its place in its group.
    var hasPlace = false
    var owner: Int?
    var epoch = 0
    var folded: FoldedLog?

    /// When it is due; nil if never.
    var dueAt: Timestamp? { hasNews ? .earliest : row.wakeAt }
  }

  struct Worker: Sendable {
    var terms: WorkerTerms
    var leaseUntil: TimeSpan
    var since: Timestamp
    var isDraining = false
    var clockOffset: TimeSpan?
  }

  struct Leader: Sendable {
    var worker: Int?
    var epoch = 0
    var version = 0
    var until = TimeSpan.zero - .seconds(1)
  }

  struct Tables: Sendable {
    var open: [String: Open] = [:]
    var logs: [String: [LogEntry]] = [:]
    var items: [ItemName: StoredItem] = [:]
    var slots: [SlotRecord] = []
    var finished: [FinishedRow] = []
    var blobs: [String: [UInt8]] = [:]
    var lines: [String: [String]] = [:]
    var receipts: Set<String> = []
    var workers: [Int: Worker] = [:]
    var lastWorker = 0
    /// The names and homes of workers that are to drain, also after their leases.
    var draining: Set<String> = []
    var leader = Leader()
    /// The calls on connections, in the order of their coming.
    var calls: [(id: String, connection: String, worker: Int)] = []
    var requests: [(id: String, text: String, answer: String?, takenBy: Int?)] = []
    var linkKey: String?
  }

  struct Content {
    var tables = Tables()
    /// Commits whose answers were lost, and which are still to come; each keeps the locks of its transaction until then.
    var late: [(transaction: Int?, changes: DatabaseChanges)] = []
    /// The holder of each lock, and its waiters, in the order of their arrival.
    var holders: [String: Int] = [:]
    var waiting: [String: [(transaction: Int, waiter: CheckedContinuation<Bool, Never>)]] = [:]
    /// Who has a lock now, or can't have it.
    var woken: [(waiter: CheckedContinuation<Bool, Never>, isGranted: Bool)] = []
    var transactions = 0
    /// The data of a standby that is behind, and the last transaction of the server that it replaces.
    var standby: Tables?
    var lastLost = 0
    var timeline = 1
    /// The timeline that a program has noted, and since when.
    var noted = (timeline: 1, at: TimeSpan?.none)
    let flaw: Flaw?
  }

  private let content: Mutex<Content>
  let flaw: Flaw?
  private let faults = Mutex(Faults())

  /// Its clock decides when leases end and runs are due.
  package let time: any TimeSource
  private let listeners = Mutex<[AsyncStream<Void>.Continuation]>([])
  private let losesHints = Mutex(false)

  /// Loses all hints from now on.
  package func loseHints() { losesHints.withLock { $0 = true } }

  /// Tells everybody that there may be something to do.
  func hint() {
    if losesHints.withLock({ $0 }) { return }
    for listener in listeners.withLock({ $0 }) { listener.yield() }
  }

  func listen(_ tell: AsyncStream<Void>.Continuation) { listeners.withLock { $0.append(tell) } }

  private let scheduleListeners = Mutex<[AsyncStream<ScheduleHint>.Continuation]>([])

  func hint(_ hint: ScheduleHint) {
    if losesHints.withLock({ $0 }) { return }
    for listener in scheduleListeners.withLock({ $0 }) { listener.yield(hint) }
  }

  func listen(_ tell: AsyncStream<ScheduleHint>.Continuation) { scheduleListeners.withLock { $0.append(tell) } }

  /// How many requests to the leader are kept.
  package var requestCount: Int { content.withLock { $0.tables.requests.count } }

  /// The worker that holds a run.
  package func holder(of run: String) -> Int? { content.withLock { $0.tables.open[run]?.owner } }

  private struct Faults: Sendable {
    // Within a structure, because a mutex wraps a bare closure anew with every use.
    var next: @Sendable () -> Fault? = { nil }
  }

  package init(_ flaw: Flaw? = nil, time: any TimeSource = SystemTime()) {
    self.flaw = flaw
    self.time = time
    content = Mutex(Content(flaw: flaw))
  }

  /// The log of a run, as it is committed.
  package func log(of run: String) -> [LogEntry] { content.withLock { $0.tables.logs[run] ?? [] } }
  /// An open run as its log says.
  package func run(_ id: String) -> RunRecord? { (try? content.withLock { try $0.tables.run(id) })?.record }
  package var finishedRuns: [FinishedRow] { content.withLock { $0.tables.finished } }
  package var slots: [SlotRecord] { content.withLock { $0.tables.slots } }
  package var items: [StoredItem] { content.withLock { $0.tables.items.values.sorted { $0.name < $1.name } } }
  package var openRuns: [String] { content.withLock { $0.tables.open.keys.sorted { $0.precedesByScalars($1) } } }
  /// Whether a program wrote to a run that another holds, or an event came that it waits for.
  package func hasNews(_ run: String) -> Bool { content.withLock { $0.tables.open[run]?.hasNews ?? false } }

  /// Sets the function that gives each statement its fault from now on; nil for none.
  package func setFaults(_ next: @escaping @Sendable () -> Fault?) { faults.withLock { $0.next = next } }

  /// The row that the database uses to find an open run.
  package func row(of run: String) -> OpenRunRow? { content.withLock { $0.tables.open[run]?.row } }
  /// The ids of all runs with a log.
  package var loggedRuns: [String] { content.withLock { $0.tables.logs.keys.sorted { $0.precedesByScalars($1) } } }

  /// Makes a standby fall behind from now on.
  package func holdBack() { content.withLock { $0.standby = $0.tables } }

  /// Makes the standby take over: everything committed since `holdBack` is lost, and transactions under way fail.
  package func failOver() {
    change { content in
      guard let standby = content.standby else { return }
      let late = content.late
      content.late = []
      for case let (transaction?, _) in late { content.unlock(transaction) }
      content.tables = standby
      content.standby = nil
      content.timeline += 1
      content.lastLost = content.transactions
    }
    hint()
    hint(.changed)
  }

  var timeline: Int { content.withLock { $0.timeline } }

  func sinceTakeover() -> TimeSpan? {
    let now = time.elapsed()
    return content.withLock { content in
      if content.noted.timeline < content.timeline { content.noted = (content.timeline, now) }
      return content.noted.at.map { now - $0 }
    }
  }

  /// Does what is still to come.
  package func settle() { change { $0.finishLate { _, _ in true } } }

  // MARK: Statements

  /// Lets other tasks run.
  func pass() async {
    // Ends at once.
    await Task {}.value
  }

  func look<Answer>(_ body: (Tables) -> Answer) -> Answer { content.withLock { body($0.tables) } }

  func update<Answer>(_ body: (inout Tables) -> Answer) -> Answer { content.withLock { body(&$0.tables) } }

  /// Writes what has no conditions.
  func write(_ body: (inout Tables) -> Void) { content.withLock { body(&$0.tables) } }

  private func change<Answer>(_ body: (inout Content) -> Answer) -> Answer {
    let (answer, woken) = content.withLock { content in
      let answer = body(&content)
      defer { content.woken = [] }
      return (answer, content.woken)
    }
    for (waiter, isGranted) in woken { waiter.resume(returning: isGranted) }
    return answer
  }

  /// The fault of the next statement; nil for none.
  func nextFault() -> Fault? { faults.withLock { $0 }.next() }

  /// Throws the next fault for a statement that reads, if there is one.
  func failReading() throws(DatabaseError) {
    switch nextFault() {
    case .none: break
    case .unsent: throw .unavailable("the connection was lost")
    case .undone, .unanswered, .late: throw .unknown("the connection was lost")
    }
  }

  /// Does what `changes` say as a whole, or with an answer that is lost.
  func commit(_ changes: DatabaseChanges, of transaction: Int) throws(DatabaseError) {
    let fault = nextFault()
    if fault == .unsent { throw .unavailable("the connection was lost") }
    if fault == .undone { return try lose() }
    if content.withLock({ transaction <= $0.lastLost }) { throw .unavailable("the server was lost") }
    let conflict = change { content in
      content.finishLate(touching: changes)
      if fault == .late {
        content.late.append((transaction, changes))
        return DatabaseError?.none
      }
      return content.tables.apply(changes, flaw)
    }
    if conflict == nil, !changes.created.isEmpty || !changes.told.isEmpty || !changes.came.isEmpty { hint() }
    if conflict == nil, changes.concernsSchedules { hint(.changed) }
    if fault == .unanswered || fault == .late { return try lose() }
    if let conflict { throw conflict }
  }

  /// Writes entries each for itself.
  func append(_ entries: [LogEntry], changing rows: [OpenRunRow]) throws(DatabaseError) -> Set<String> {
    let fault = nextFault()
    if fault == .unsent { throw .unavailable("the connection was lost") }
    let kept = change { content in
      var kept: Set<String> = []
      for entry in entries where fault != .undone {
        var changes = DatabaseChanges(receipt: "")
        changes.entries = [entry]
        changes.changed = rows.filter { $0.id == entry.run }
        content.finishLate(touching: changes)
        if content.tables.open[entry.run] == nil { continue }
        if fault == .late {
          content.late.append((nil, changes))
        } else if content.tables.apply(changes, flaw) == nil {
          kept.insert(entry.run)
        }
      }
      return kept
    }
    if fault != nil {
      try lose()
      return Set(entries.map(\.run))
    }
    return kept
  }

  private func lose() throws(DatabaseError) {
    if flaw != .trustsLostAnswers { throw .unknown("the connection was lost") }
  }

  // MARK: Locks

  func begin() -> Int {
    content.withLock { content in
      content.transactions += 1
      return content.transactions
    }
  }

  func lock(_ names: [String], for transaction: Int) async throws(DatabaseError) {
    for name in names {
      let isGranted = await withCheckedContinuation { waiter in
        change { content in
          guard let holder = content.holders[name], holder != transaction else {
            content.holders[name] = transaction
            return content.woken.append((waiter, true))
          }
          if content.isAwaited(transaction, by: holder) { return content.woken.append((waiter, false)) }
          content.waiting[name, default: []].append((transaction, waiter))
          // Late commits of the holder are done at once.
          content.finishLate { late, _ in late == holder }
        }
      }
      if !isGranted { throw .conflict("two transactions waited for each other") }
    }
  }

  func end(_ transaction: Int) {
    change { content in
      if content.late.contains(where: { $0.transaction == transaction }) {
        let isAwaited = content.waiting.keys.contains { content.holders[$0] == transaction }
        return isAwaited ? content.finishLate { late, _ in late == transaction } : ()
      }
      content.unlock(transaction)
    }
  }
}

extension SimulatedDatabase.Content {
  fileprivate init(flaw: SimulatedDatabase.Flaw?) { self.flaw = flaw }

  /// Whether a transaction waits, if only through others, for one.
  fileprivate func isAwaited(_ transaction: Int, by other: Int) -> Bool {
    var other = other
    while let lock = waiting.first(where: { $0.value.contains { $0.transaction == other } })?.key {
      guard let holder = holders[lock] else { return false }
      if holder == transaction { return true }
      other = holder
    }
    return false
  }

  fileprivate mutating func unlock(_ transaction: Int) {
    for name in holders.filter({ $0.value == transaction }).map(\.key).sorted() {
      guard var waiters = waiting[name], !waiters.isEmpty else {
        holders[name] = nil
        continue
      }
      let first = waiters.removeFirst()
      waiting[name] = waiters.isEmpty ? nil : waiters
      holders[name] = first.transaction
      woken.append((first.waiter, true))
    }
  }

  /// Does what was still to come and shares a key.
  fileprivate mutating func finishLate(touching changes: DatabaseChanges) {
    let keys = changes.keys
    finishLate { !$1.keys.isDisjoint(with: keys) }
  }

  fileprivate mutating func finishLate(_ isDue: (Int?, DatabaseChanges) -> Bool) {
    let due = late.filter(isDue)
    late.removeAll(where: isDue)
    for (transaction, changes) in due {
      _ = tables.apply(changes, flaw)
      if let transaction { unlock(transaction) }
    }
  }
}

extension DatabaseChanges {
  /// The unique keys that it inserts.
  fileprivate var keys: Set<String> {
    var keys = Set(entries.map { "\($0.run) \($0.number)" } + created.map { "run \($0.id)" })
    if !receipt.isEmpty { keys.insert("receipt \(receipt)") }
    return keys
  }
}

extension ItemName {
  var lock: String { "\(kind.rawValue) \(name)" }
}

extension SimulatedDatabase.Tables {
  /// Does all of it, or says which key is taken.
  fileprivate mutating func apply(
    _ changes: DatabaseChanges, _ flaw: SimulatedDatabase.Flaw?
  ) -> DatabaseError? {
    if flaw == .changesRowsAnyway { for row in changes.changed { open[row.id]?.row = row } }
    if receipts.contains(changes.receipt) { return .conflict("the receipt is taken") }
    for row in changes.created where logs[row.id] != nil { return .conflict("the run \(row.id) is there") }
    for entry in changes.entries where logs[entry.run]?.contains(where: { $0.number == entry.number }) == true {
      return .conflict("entry \(entry.number) of the run \(entry.run) is there")
    }
    for entry in changes.entries where entry.number > 1 && flaw != .takesGaps {
      if logs[entry.run]?.last?.number != entry.number - 1 { return .conflict("entry \(entry.number - 1) isn't there") }
    }
    // A run that ended and was deleted has no entries that refuse one.
    let begun = Set(changes.entries.filter { $0.number == 1 }.map(\.run))
    for entry in changes.entries where open[entry.run] == nil && !begun.contains(entry.run) {
      return .conflict("the run \(entry.run) is not open")
    }
    if !changes.receipt.isEmpty, flaw != .forgetsOwn { receipts.insert(changes.receipt) }
    for entry in changes.entries { logs[entry.run, default: []].append(entry) }
    for row in changes.created {
      var run = SimulatedDatabase.Open(row: row)
      let holder = changes.holder(of: row.id)
      run.owner = holder.flatMap { workers[$0] == nil ? nil : $0 }
      run.epoch = holder == nil ? 0 : 1
      open[row.id] = run
    }
    for row in changes.changed { open[row.id]?.row = row }
    for row in changes.ended {
      open[row.summary.id] = nil
      finished.append(row)
    }
    for item in changes.items { items[item.name] = item }
    for name in changes.removed { items[name] = nil }
    slots += changes.slots
    for slot in changes.grown {
      if let place = slots.lastIndex(where: { $0.isRow(slot) }) { slots[place] = slot }
    }
    if changes.isSteering { leader.version += 1 }
    for id in changes.told { open[id]?.hasNews = true }
    for id in open.keys where open[id]?.row.waitsFor.contains(where: changes.came.contains) == true {
      open[id]?.hasNews = true
    }
    return nil
  }

  /// Forgets a worker, and gives up what it holds.
  mutating func forget(_ worker: Int) {
    workers[worker] = nil
    calls.removeAll { $0.worker == worker }
    for id in open.keys where open[id]?.owner == worker { free(id) }
  }

  /// Whether a run waits for a place in its group, and some worker can run it.
  func waitsForPlace(_ run: SimulatedDatabase.Open) -> Bool {
    run.row.group != nil && run.row.status == RunStatus.queued.rawValue && !run.hasPlace
      && (run.owner != nil || workers.values.contains { !$0.isDraining && run.canRun($0.terms) })
  }

  /// Lets go of a run, which has to be looked at again.
  mutating func free(_ run: String) {
    open[run]?.owner = nil
    open[run]?.hasNews = true
  }

  func run(_ id: String) throws(DatabaseError) -> LoggedRun? {
    guard let open = open[id] else { return nil }
    let entries = (logs[id] ?? []).filter { $0.number > open.folded?.number ?? 0 }
    do throws(StateError) { return try LoggedRun(id, folded: open.folded, entries: entries) } catch {
      throw .unusable(error.message)
    }
  }

  func rows(_ needs: StateNeeds) throws(DatabaseError) -> DatabaseRows {
    var rows = DatabaseRows()
    for id in needs.runs { if let run = try run(id) { rows.runs.append(run) } }
    rows.items = items.values.filter { item in
      needs.items.contains(item.name)
        || item.name.kind == .schedule && item.reference.map(needs.followed.contains) == true
    }
    for ledger in needs.ledgers {
      if let slot = slots.last(where: { $0.schedule == ledger }) { rows.slots.append(slot) }
    }
    rows.open = Set(rows.items.filter { $0.name.kind == .key }.compactMap(\.holder).filter { open[$0] != nil })
    rows.freeEvents = Set(
      items.values.filter { $0.name.kind == .event && $0.holder == nil }.compactMap(\.reference)
        .filter(needs.eventNames.contains))
    return rows
  }
}

extension SimulatedDatabase.Open {
  func canRun(_ terms: WorkerTerms) -> Bool { terms.take(row) }
}

extension SlotRecord {
  /// Whether it is the row of the same slot.
  fileprivate func isRow(_ other: SlotRecord) -> Bool {
    schedule == other.schedule && slot == other.slot && cause == other.cause
  }
}
