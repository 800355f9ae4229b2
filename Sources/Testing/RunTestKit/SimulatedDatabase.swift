package import Basics
package import RunState
package import SharedState
import Synchronization

/// A database in memory, which does to those who share it what a real one may do.
///
/// Transactions read what is committed (READ COMMITTED), wait for the locks of others, and find a key taken by one that
/// is not over yet: a commit whose answer was lost may still be under way, and comes to pass before anybody else gets at
/// its keys or its locks. Of transactions that wait for each other one is refused. Each program has a connection of its
/// own (`SimulatedConnection`), which may fail as `setFaults` says; every statement lets other tasks run before it is done, and
/// before its answer comes.
package final class SimulatedDatabase: Sendable {
  /// What becomes of a statement.
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
    /// What was done without an answer is not recognized, and so done again.
    case forgetsOwn
    /// The row of a run changes although its entry is refused.
    case changesRowsAnyway
    /// What a scheduler decided is kept whatever else has changed the schedules.
    case ignoresVersion
    /// What a scheduler decides begins no version.
    case keepsVersion
    /// A claim is no entry of the log.
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
    var leader = Leader()
    /// The calls on connections, in the order of their coming.
    var calls: [(id: String, connection: String, worker: Int)] = []
    var requests: [(id: String, text: String, answer: String?, takenBy: Int?)] = []
  }

  struct Content {
    var tables = Tables()
    /// Commits whose answers were lost, and which are still to come; each keeps the locks of its transaction until then.
    var late: [(transaction: Int?, changes: DatabaseChanges)] = []
    /// Who holds each lock, and who waits for it, in the order of their coming.
    var holders: [String: Int] = [:]
    var waiting: [String: [(transaction: Int, waiter: CheckedContinuation<Bool, Never>)]] = [:]
    /// Who has a lock now, or can't have it.
    var woken: [(waiter: CheckedContinuation<Bool, Never>, isGranted: Bool)] = []
    var transactions = 0
    /// What a standby that is behind has, and the last transaction of the server that it takes over from.
    var standby: Tables?
    var lastLost = 0
    var timeline = 1
    let flaw: Flaw?
  }

  private let content: Mutex<Content>
  let flaw: Flaw?
  private let faults = Mutex(Faults())

  /// Its clock, by which leases end and runs are due.
  package let time: any TimeSource
  private let listeners = Mutex<[AsyncStream<Void>.Continuation]>([])
  private let losesHints = Mutex(false)

  /// Has all hints be lost from now on.
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
  package var openRuns: [String] { content.withLock { $0.tables.open.keys.sorted { $0.precedesByScalars($1) } } }
  /// Whether somebody wrote to a run that another holds, or an event came that it waits for.
  package func hasNews(_ run: String) -> Bool { content.withLock { $0.tables.open[run]?.hasNews ?? false } }

  /// Sets what becomes of each statement from now on; nil for nothing bad.
  package func setFaults(_ next: @escaping @Sendable () -> Fault?) { faults.withLock { $0.next = next } }

  /// The row by which an open run is found.
  package func row(of run: String) -> OpenRunRow? { content.withLock { $0.tables.open[run]?.row } }
  /// The ids of all runs with a log.
  package var loggedRuns: [String] { content.withLock { $0.tables.logs.keys.sorted { $0.precedesByScalars($1) } } }

  /// Has a standby be behind from now on.
  package func holdBack() { content.withLock { $0.standby = $0.tables } }

  /// Has the standby take over: what was committed since `holdBack` is lost, and transactions under way fail.
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

  /// What becomes of a statement that reads.
  func failReading() throws(DatabaseError) {
    switch faults.withLock({ $0 }).next() {
    case .none: break
    case .unsent: throw .unavailable("the connection was lost")
    case .undone, .unanswered, .late: throw .unknown("the connection was lost")
    }
  }

  /// Does what `changes` say as a whole, or with an answer that is lost.
  func commit(_ changes: DatabaseChanges, of transaction: Int) throws(DatabaseError) {
    let fault = faults.withLock { $0 }.next()
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
    let fault = faults.withLock { $0 }.next()
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
          // What is still to come, comes at once.
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
      && workers.values.contains { !$0.isDraining && run.canRun($0.terms) }
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
  fileprivate func canRun(_ terms: WorkerTerms) -> Bool {
    terms.queues.contains(row.queue) && terms.offers.isSuperset(of: row.needs)
      && (row.home ?? terms.home) == terms.home
  }
}

extension SlotRecord {
  /// Whether it is the row of the same slot.
  fileprivate func isRow(_ other: SlotRecord) -> Bool {
    schedule == other.schedule && slot == other.slot && cause == other.cause
  }
}

/// One program's way to the database.
package final class SimulatedConnection: SharedDatabase {
  private let database: SimulatedDatabase
  private let isClosed = Atomic(false)

  package let hints: AsyncStream<Void>
  private let hinting: AsyncStream<Void>.Continuation
  package let scheduleHints: AsyncStream<ScheduleHint>
  private let scheduleHinting: AsyncStream<ScheduleHint>.Continuation

  package init(_ database: SimulatedDatabase) {
    self.database = database
    (hints, hinting) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    database.listen(hinting)
    (scheduleHints, scheduleHinting) = AsyncStream.makeStream(
      of: ScheduleHint.self, bufferingPolicy: .bufferingNewest(64))
    database.listen(scheduleHinting)
  }

  package var timeline: Int { database.timeline }

  package func clock() async throws(DatabaseError) -> Timestamp {
    _ = try await tables()
    return database.time.now()
  }

  /// What is committed when a statement is done.
  private func tables(forWriting: Bool = false) async throws(DatabaseError) -> SimulatedDatabase.Tables {
    await database.pass()
    if isClosed.load(ordering: .relaxed) { throw .unavailable("the connection was closed") }
    if !forWriting { try database.failReading() }
    return database.look { $0 }
  }

  // MARK: Logs

  package func append(
    _ entries: [LogEntry], changing rows: [OpenRunRow]
  ) async throws(DatabaseError) -> Set<String> {
    _ = try await tables(forWriting: true)
    if database.flaw == .answersAtOnce {
      // Ends when the statement is done; it is not awaited, which is the error.
      Task { [database] in
        for _ in 0..<4 { await database.pass() }
        _ = try? database.append(entries, changing: rows)
      }
      return Set(entries.map(\.run))
    }
    let outcome = Result { () throws(DatabaseError) in try database.append(entries, changing: rows) }
    await database.pass()
    return try outcome.get()
  }

  package func entries(of run: String, after number: Int) async throws(DatabaseError) -> [LogEntry]? {
    let tables = try await tables()
    guard tables.open[run] != nil else { return nil }
    var entries = (tables.logs[run] ?? []).filter { $0.number > number }
    if database.flaw == .forgetsOwn { for place in entries.indices { entries[place].epoch += 1 } }
    return entries
  }

  package func fold(_ logs: [(run: String, log: FoldedLog)]) async throws(DatabaseError) {
    _ = try await tables()
    database.write { tables in for (run, log) in logs { tables.open[run]?.folded = log } }
  }

  package func transact<Outcome: Sendable>(
    _ body: @Sendable (any DatabaseTransaction) async throws(DatabaseError) -> Outcome
  ) async throws(DatabaseError) -> Outcome {
    _ = try await tables(forWriting: true)
    let transaction = SimulatedTransaction(database)
    defer { transaction.end() }
    return try await body(transaction)
  }

  // MARK: What is open

  package func read(_ needs: StateNeeds) async throws(DatabaseError) -> DatabaseRows { try await tables().rows(needs) }

  package func openRuns(
    _ query: OpenRunQuery, latest: Int?
  ) async throws(DatabaseError) -> (runs: [LoggedRun], count: Int) {
    let tables = try await tables()
    var found: [LoggedRun] = []
    for id in tables.open.keys.sorted(by: { $0.precedesByScalars($1) }) {
      if let run = try tables.run(id), query.matches(run.record) { found.append(run) }
    }
    return (Array(found.suffix(latest ?? found.count)), found.count)
  }

  package func openRunCounts() async throws(DatabaseError) -> [String: Int] {
    var counts: [String: Int] = [:]
    for run in try await tables().open.values { counts[run.row.status, default: 0] += 1 }
    return counts
  }

  package func items(_ query: ItemQuery) async throws(DatabaseError) -> [StoredItem] {
    try await tables().items.values.filter { item in
      item.name.kind == query.kind && (query.reference == nil || item.reference == query.reference)
        && (query.holder == nil || item.holder == query.holder) && (!query.isFree || item.holder == nil)
        && (query.since.map { item.at ?? .earliest >= $0 } ?? true)
    }.sorted { $0.name < $1.name }
  }

  package func itemNames(_ kind: ItemKind) async throws(DatabaseError) -> [String] {
    try await items(ItemQuery(kind)).map(\.name.name)
  }

  package func itemCount(_ kind: ItemKind) async throws(DatabaseError) -> Int { try await itemNames(kind).count }

  // MARK: What is over

  package func finishedRuns(_ query: HistoryQuery) async throws(DatabaseError) -> [RunSummary] {
    let found = try await tables().finished.reversed().map(\.summary).filter(query.matches)
    return Array(found.prefix(query.limit))
  }

  package func finishedRun(_ id: String) async throws(DatabaseError) -> String? {
    try await tables().finished.first { $0.summary.id == id }?.text
  }

  package func removeFinishedRun(_ id: String) async throws(DatabaseError) -> Bool {
    guard try await tables().finished.contains(where: { $0.summary.id == id }) else { return false }
    database.write { tables in
      tables.finished.removeAll { $0.summary.id == id }
      tables.logs[id] = nil
      tables.lines[id] = nil
    }
    return true
  }

  package func slots(_ query: SlotQuery) async throws(DatabaseError) -> [SlotRecord] {
    Array(try await tables().slots.reversed().filter(query.matches).prefix(query.limit))
  }

  // MARK: Large values, and what programs print

  package func putBlob(_ reference: BlobReference, _ bytes: [UInt8]) async throws(DatabaseError) {
    _ = try await tables()
    database.write { $0.blobs[reference.sha256] = bytes }
  }

  package func blob(_ reference: BlobReference) async throws(DatabaseError) -> [UInt8]? {
    try await tables().blobs[reference.sha256]
  }

  package func addLines(_ lines: [String], ofRun id: String) async throws(DatabaseError) {
    _ = try await tables()
    database.write { $0.lines[id, default: []] += lines }
  }

  package func lines(
    ofRun id: String, from position: Int, bytes: Int
  ) async throws(DatabaseError) -> (lines: [String], start: Int, isLast: Bool) {
    let lines = try await tables().lines[id] ?? []
    let start = PrintedPiece.start(at: position, of: lines.count)
    var (end, size) = (start, 0)
    while end < lines.count, size < bytes {
      size += lines[end].utf8.count
      end += 1
    }
    return (Array(lines[start..<end]), start, end == lines.count)
  }

  package func removeLines(ofRun id: String) async throws(DatabaseError) {
    _ = try await tables()
    database.write { $0.lines[id] = nil }
  }

  /// Nothing, because its tables have no parts.
  package func tidy(_ retention: Retention) async throws(DatabaseError) {}

  package func close() async {
    isClosed.store(true, ordering: .relaxed)
    hinting.finish()
    scheduleHinting.finish()
  }

  // MARK: Who decides on the schedules

  package func lead(
    _ worker: WorkerIdentity, lease: TimeSpan, clock: Timestamp, isWilling: Bool
  ) async throws(DatabaseError) -> Int? {
    _ = try await tables()
    let offset = clock.span(since: database.time.now()) ?? LeaderRow.mostOffset + .seconds(1)
    database.write { $0.workers[worker.id]?.clockOffset = offset }
    let isPunctual = offset <= LeaderRow.mostOffset && offset >= .zero - LeaderRow.mostOffset
    guard isWilling, isPunctual else { return nil }
    return try await changeLeader { [database] tables in
      let now = database.time.elapsed()
      guard let known = tables.workers[worker.id], known.leaseUntil > now, !known.isDraining,
        tables.leader.worker == worker.id || tables.leader.until < now
      else { return nil }
      if tables.leader.worker != worker.id {
        tables.leader.epoch += 1
        tables.leader.version += 1
      }
      (tables.leader.worker, tables.leader.until) = (worker.id, now + lease)
      return tables.leader.epoch
    }
  }

  package func resign(_ worker: WorkerIdentity) async throws(DatabaseError) {
    _ = try await tables()
    let isVacant = try await changeLeader { tables in
      guard tables.leader.worker == worker.id else { return false }
      (tables.leader.worker, tables.leader.until) = (nil, .zero - .seconds(1))
      return true
    }
    if isVacant { database.hint(.vacant) }
  }

  /// Waits for the transactions that rely on who leads.
  private func changeLeader<Answer>(
    _ body: (inout SimulatedDatabase.Tables) -> Answer
  ) async throws(DatabaseError) -> Answer {
    let transaction = database.begin()
    defer { database.end(transaction) }
    try await database.lock(["leader"], for: transaction)
    return database.update(body)
  }

  package func ask(_ id: String, _ text: String) async throws(DatabaseError) {
    _ = try await tables()
    database.write { tables in
      if !tables.requests.contains(where: { $0.id == id }) { tables.requests.append((id, text, nil, nil)) }
    }
    database.hint(.changed)
  }

  package func takeRequests(by worker: WorkerIdentity) async throws(DatabaseError) -> [String] {
    _ = try await tables()
    let now = database.time.elapsed()
    return database.update { [flaw = database.flaw] tables in
      guard tables.leader.worker == worker.id, tables.leader.until > now else { return [] }
      var texts: [String] = []
      for place in tables.requests.indices where tables.requests[place].takenBy == nil {
        if flaw != .takesRequestsAgain { tables.requests[place].takenBy = worker.id }
        texts.append(tables.requests[place].text)
      }
      return texts
    }
  }

  package func answer(_ id: String, _ text: String) async throws(DatabaseError) {
    _ = try await tables()
    database.write { tables in
      if let place = tables.requests.firstIndex(where: { $0.id == id }) { tables.requests[place].answer = text }
    }
  }

  package func answer(to id: String) async throws(DatabaseError) -> String? {
    try await tables().requests.first { $0.id == id }?.answer
  }

  package func forgetRequest(_ id: String) async throws(DatabaseError) -> Bool {
    _ = try await tables()
    return database.update { tables in
      guard let place = tables.requests.firstIndex(where: { $0.id == id }) else { return true }
      return tables.requests.remove(at: place).takenBy != nil
    }
  }

  package func openRuns(among runs: Set<String>) async throws(DatabaseError) -> Set<String> {
    let open = try await tables().open
    return runs.filter { open[$0] != nil }
  }

  package func freeEvents() async throws(DatabaseError) -> [String] {
    let tables = try await tables()
    let now = database.time.now()
    let (held, taken) = LeaderRow.untilLooked
    let free = tables.items.values.filter { item in
      guard item.name.kind == .event, item.holder == nil, let name = item.reference else { return false }
      return !tables.open.values.contains { run in
        run.row.waitsFor.contains(name)
          && (now.span(since: item.at ?? .earliest) ?? taken) < (run.hasNews ? taken : held)
      }
    }
    return free.sorted { ($0.at ?? .earliest, $0.name.name) < ($1.at ?? .earliest, $1.name.name) }.map(\.name.name)
  }

  package func leader() async throws(DatabaseError) -> LeaderRow {
    let tables = try await tables()
    let leader = tables.leader
    let name = leader.worker.flatMap { tables.workers[$0]?.terms.name }
    return LeaderRow(
      worker: leader.worker, name: leader.until > database.time.elapsed() ? name : nil, epoch: leader.epoch,
      version: leader.version)
  }

  // MARK: Workers

  package func register(_ terms: WorkerTerms, lease: TimeSpan) async throws(DatabaseError) -> WorkerIdentity {
    _ = try await tables(forWriting: true)
    let (until, since) = (database.time.elapsed() + lease, database.time.now())
    return database.update { tables in
      tables.lastWorker += 1
      tables.workers[tables.lastWorker] = SimulatedDatabase.Worker(terms: terms, leaseUntil: until, since: since)
      return WorkerIdentity(id: tables.lastWorker)
    }
  }

  package func change(_ worker: WorkerIdentity, to terms: WorkerTerms) async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    database.update { $0.workers[worker.id]?.terms = terms }
  }

  package func renew(_ worker: WorkerIdentity, lease: TimeSpan) async throws(DatabaseError) -> LeaseRenewal {
    _ = try await tables(forWriting: true)
    let now = database.time.elapsed()
    return database.update { tables in
      guard let known = tables.workers[worker.id], known.leaseUntil > now else { return .over }
      tables.workers[worker.id]?.leaseUntil = now + lease
      return .renewed(
        isDraining: known.isDraining, hasDead: tables.workers.values.contains { $0.leaseUntil < now })
    }
  }

  package func workers() async throws(DatabaseError) -> [WorkerRecord] {
    let tables = try await tables()
    let (now, instant) = (database.time.elapsed(), database.time.now())
    return tables.workers.map { id, worker in
      let terms = worker.terms
      return WorkerRecord(
        id: id, name: terms.name, host: terms.host, pid: terms.pid, program: terms.program, home: terms.home,
        queues: terms.queues.sorted { $0.precedesByScalars($1) },
        offers: terms.offers.sorted { $0.precedesByScalars($1) }, capacity: terms.capacity,
        runs: tables.open.values.count { $0.owner == id }, since: worker.since,
        until: instant.advanced(by: worker.leaseUntil - now) ?? .latest, isOver: worker.leaseUntil <= now,
        isDraining: worker.isDraining, isLeading: tables.leader.worker == id && tables.leader.until > now,
        clockOffset: worker.clockOffset)
    }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  package func setDraining(_ isDraining: Bool, _ worker: WorkerIdentity) async throws(DatabaseError) -> Bool {
    _ = try await tables(forWriting: true)
    return database.update { tables in
      tables.workers[worker.id]?.isDraining = isDraining
      return tables.workers[worker.id] != nil
    }
  }

  package func reap() async throws(DatabaseError) -> [String] {
    _ = try await tables(forWriting: true)
    let now = database.time.elapsed()
    let names = database.update { tables in
      let dead = tables.workers.filter { $0.value.leaseUntil < now }
      for id in dead.keys { tables.forget(id) }
      return dead.values.map(\.terms.name).sorted { $0.precedesByScalars($1) }
    }
    if !names.isEmpty { database.hint() }
    return names
  }

  package func held(by worker: WorkerIdentity) async throws(DatabaseError) -> [String] {
    try await tables().open.filter { $0.value.owner == worker.id }.map(\.key).sorted { $0.precedesByScalars($1) }
  }

  package func suspect(_ workers: [WorkerIdentity]) async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    let ids = Set(workers.map(\.id))
    database.write { tables in
      for (id, run) in tables.open where run.owner.map(ids.contains) == true { tables.open[id]?.isSuspect = true }
    }
  }

  package func leave(_ worker: WorkerIdentity) async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    database.write { $0.forget(worker.id) }
    database.hint()
  }

  package func claim(
    _ worker: WorkerIdentity, _ terms: WorkerTerms, most: Int, at instant: Timestamp
  ) async throws(DatabaseError) -> [ClaimedRun] {
    let tables = try await tables()
    guard let known = tables.workers[worker.id], known.leaseUntil > database.time.elapsed(), !known.isDraining else {
      return []
    }
    let now = database.time.now()
    let due = tables.open.values.filter { $0.owner == nil && $0.canRun(terms) && $0.dueAt.map { $0 <= now } == true }
      .sorted { ($0.dueAt ?? .latest, $0.row.id) < ($1.dueAt ?? .latest, $1.row.id) }
    var claimed: [ClaimedRun] = []
    for run in due.prefix(most) {
      if let run = try claim(run, in: tables, worker, terms, at: instant) { claimed.append(run) }
    }
    return claimed
  }

  /// Claims a run, unless another does meanwhile.
  private func claim(
    _ run: SimulatedDatabase.Open, in tables: SimulatedDatabase.Tables, _ worker: WorkerIdentity, _ terms: WorkerTerms,
    at instant: Timestamp
  ) throws(DatabaseError) -> ClaimedRun? {
    guard let log = try? tables.run(run.row.id), log.damage == nil else {
      // It waits for a person.
      database.write { tables in
        tables.open[run.row.id]?.hasNews = false
        tables.open[run.row.id]?.row.wakeAt = nil
      }
      return nil
    }
    let next: (run: LoggedRun, entry: LogEntry)
    do throws(StateError) {
      next = try log.claim(run.epoch + 1, by: terms.name, at: instant, isSuspect: run.isSuspect)
    } catch {
      throw .unusable(error.message)
    }
    let isTaken = database.update { tables in
      guard tables.open[run.row.id]?.owner == nil, tables.open[run.row.id]?.epoch == run.epoch,
        tables.logs[run.row.id]?.last?.number == log.number
      else { return false }
      if database.flaw != .claimsWithoutEntry { tables.logs[run.row.id, default: []].append(next.entry) }
      tables.open[run.row.id]?.owner = worker.id
      tables.open[run.row.id]?.epoch += 1
      tables.open[run.row.id]?.hasNews = false
      tables.open[run.row.id]?.isSuspect = false
      return true
    }
    let claimed = database.flaw == .claimsWithoutEntry ? log : next.run
    return isTaken ? ClaimedRun(log: claimed, epoch: run.epoch + 1) : nil
  }

  package func claim(
    _ run: String, _ worker: WorkerIdentity, _ terms: WorkerTerms, at instant: Timestamp
  ) async throws(DatabaseError) -> RunClaim {
    let tables = try await tables()
    guard let known = tables.workers[worker.id], known.leaseUntil > database.time.elapsed() else {
      throw .unavailable("the lease on runs is over")
    }
    if known.isDraining { return .draining }
    guard let open = tables.open[run] else { return .over }
    if let owner = open.owner { return .held(by: tables.workers[owner]?.terms.name ?? "", id: owner) }
    let isElsewhere = (open.row.home ?? terms.home) != terms.home
    let lacking =
      open.row.needs.filter { !terms.offers.contains($0) } + (isElsewhere ? [RunNeed.home(open.row.home ?? "")] : [])
    if !lacking.isEmpty { return .lacking(lacking) }
    if let damage = try tables.run(run)?.damage { throw .unusable(damage) }
    guard let claimed = try claim(open, in: tables, worker, terms, at: instant) else {
      throw .conflict("another program claimed the run \(run)")
    }
    return .claimed(claimed)
  }

  package func release(_ run: String, at number: Int, of worker: WorkerIdentity) async throws(DatabaseError) -> Bool {
    _ = try await tables(forWriting: true)
    let isReleased = database.update { tables in
      guard let open = tables.open[run], open.owner == worker.id, !open.hasNews,
        (tables.logs[run]?.last?.number ?? 0) <= number
      else { return false }
      tables.open[run]?.owner = nil
      return true
    }
    if isReleased { database.hint() }
    return isReleased
  }

  package func abandon(_ runs: [String], of worker: WorkerIdentity) async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    database.write { tables in
      for id in runs where tables.open[id]?.owner == worker.id { tables.free(id) }
    }
    database.hint()
  }

  package func enter(_ run: String, in group: String, limit: Int) async throws(DatabaseError) -> Bool {
    _ = try await tables(forWriting: true)
    return database.update { tables in
      let ahead = tables.open.values.filter { other in
        other.row.group == group && other.row.id != run
          && (other.hasPlace || other.row.id < run && tables.waitsForPlace(other))
      }
      guard tables.open[run]?.hasPlace == true || ahead.count < limit else { return false }
      tables.open[run]?.hasPlace = true
      return true
    }
  }

  package func wakeQueued() async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    database.write { tables in
      for (group, runs) in Dictionary(grouping: tables.open.values, by: \.row.group) where group != nil {
        let taken = runs.count(where: \.hasPlace)
        let waiting = runs.filter(tables.waitsForPlace).sorted { $0.row.id < $1.row.id }
        for (place, run) in waiting.enumerated() where place < (run.row.groupLimit ?? 0) - taken {
          tables.open[run.row.id]?.hasNews = true
        }
      }
    }
    database.hint()
  }

  package func place(of run: String) async throws(DatabaseError) -> RunPlace? {
    let tables = try await tables()
    guard let open = tables.open[run] else { return nil }
    let workers = tables.workers.values.filter { !$0.isDraining }.map(\.terms)
    return RunPlace(
      worker: open.owner.flatMap { tables.workers[$0]?.terms.name },
      missing: open.row.needs.filter { need in !workers.contains { $0.offers.contains(need) } }.sorted(),
      home: open.row.home.flatMap { home in workers.contains { $0.home == home } ? nil : home },
      hasWorker: workers.contains(where: open.canRun))
  }

  package func pulse() async throws(DatabaseError) -> String {
    let tables = try await tables()
    let open = tables.open.values.map { "\($0.row.id) \($0.row.status)" }.sorted()
    return "\(open) \(tables.finished.count)"
  }

  package func queue(
    _ call: String, on connection: String, of worker: WorkerIdentity
  ) async throws(DatabaseError) -> Int {
    _ = try await tables(forWriting: true)
    let before: Int? = database.update { tables in
      if tables.workers[worker.id] != nil, !tables.calls.contains(where: { $0.id == call }) {
        tables.calls.append((call, connection, worker.id))
      }
      let calls = tables.calls.filter { $0.connection == connection }
      return calls.firstIndex { $0.id == call }
    }
    guard let before else { throw .unavailable("the lease on runs is over") }
    return before
  }

  package func endCalls(_ calls: [String]) async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    database.write { tables in tables.calls.removeAll { calls.contains($0.id) } }
  }

  package func tell(_ run: String) async throws(DatabaseError) {
    _ = try await tables(forWriting: true)
    database.write { $0.open[run]?.hasNews = true }
    database.hint()
  }

  package func takeNews(of worker: WorkerIdentity) async throws(DatabaseError) -> [String] {
    _ = try await tables(forWriting: true)
    let told = database.update { tables in
      let told = tables.open.filter { $0.value.owner == worker.id && $0.value.hasNews }.keys
      for id in told { tables.open[id]?.hasNews = false }
      return told.sorted { $0.precedesByScalars($1) }
    }
    // It is done, and its answer may be lost.
    try database.failReading()
    return told
  }

  package func untilDue(_ terms: WorkerTerms) async throws(DatabaseError) -> TimeSpan? {
    let now = database.time.now()
    return try await tables().open.values.filter { $0.owner == nil && $0.canRun(terms) }.compactMap(\.dueAt).min()
      .map { max($0.span(since: now) ?? .zero, .zero) }
  }
}

private final class SimulatedTransaction: DatabaseTransaction {
  private let database: SimulatedDatabase
  private let number: Int
  private let beginsVersion = Atomic(false)

  init(_ database: SimulatedDatabase) {
    self.database = database
    number = database.begin()
  }

  func read(
    _ needs: StateNeeds, receipt: String
  ) async throws(DatabaseError) -> (rows: DatabaseRows, isDone: Bool) {
    await database.pass()
    try database.failReading()
    var names = needs.items.sorted().map(\.lock)
    if database.flaw != .locksNoEvent {
      names += needs.eventNames.sorted { $0.precedesByScalars($1) }.map { "came \($0)" }
    }
    try await database.lock(names, for: number)
    // The followers are known only once they are read, and others may have come while they are locked.
    var locked: [ItemName] = []
    while true {
      let followers = database.look { tables in
        tables.items.values.filter { $0.name.kind == .schedule && $0.reference.map(needs.followed.contains) == true }
      }.map(\.name).sorted().filter { !locked.contains($0) }
      if followers.isEmpty { break }
      try await database.lock(followers.map(\.lock), for: number)
      locked += followers
    }
    let tables = database.look { $0 }
    let found = Result { () throws(DatabaseError) in
      (rows: try tables.rows(needs), isDone: tables.receipts.contains(receipt))
    }
    await database.pass()
    var answer = try found.get()
    if needs.items.contains(where: { $0.kind == .connection }) { answer.rows.now = database.time.now() }
    return answer
  }

  func begin(after version: Int) async throws(DatabaseError) -> Bool {
    await database.pass()
    try database.failReading()
    try await database.lock(["leader"], for: number)
    beginsVersion.store(database.flaw != .keepsVersion, ordering: .relaxed)
    return database.flaw == .ignoresVersion || database.look { $0.leader.version } == version
  }

  func commit(_ changes: DatabaseChanges) async throws(DatabaseError) {
    await database.pass()
    // Rows that were not read are locked when they are removed.
    try await database.lock(changes.removed.map(\.lock), for: number)
    var changes = changes
    changes.isSteering = changes.isSteering || beginsVersion.load(ordering: .relaxed)
    if changes.isSteering { try await database.lock(["leader"], for: number) }
    let outcome = Result { () throws(DatabaseError) in try database.commit(changes, of: number) }
    await database.pass()
    try outcome.get()
  }

  func end() { database.end(number) }
}
