package import Basics
package import RunState
package import SharedState
import Synchronization

/// One program's way to the database.
package final class SimulatedConnection: SharedDatabase {
  private let database: SimulatedDatabase
  private let isClosed = Atomic(false)
  private let isCut = Atomic(false)

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

  /// Cuts the program off from the database, or lets it reach the database again.
  package func cut(_ isCut: Bool = true) { self.isCut.store(isCut, ordering: .relaxed) }

  package var timeline: Int { database.timeline }

  package func clock() async throws(DatabaseError) -> Timestamp {
    _ = try await tables()
    return database.time.now()
  }

  /// The committed tables at the moment a statement is done.
  private func tables(forWriting: Bool = false) async throws(DatabaseError) -> SimulatedDatabase.Tables {
    await database.pass()
    if isClosed.load(ordering: .relaxed) { throw .unavailable("the connection was closed") }
    if isCut.load(ordering: .relaxed) { throw .unavailable("the database can't be reached") }
    if !forWriting { try database.failReading() }
    return database.look { $0 }
  }

  /// A statement that changes something, with the possible faults: it isn't done, or its answer is lost.
  private func changing<Answer>(
    _ body: () async throws(DatabaseError) -> Answer
  ) async throws(DatabaseError) -> Answer {
    let fault = database.nextFault()
    if fault == .unsent { throw .unavailable("the connection was lost") }
    if fault == .undone { throw .unknown("the connection was lost") }
    let answer = try await body()
    if fault != nil { throw .unknown("the connection was lost") }
    return answer
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

  package func entries(of run: String, after number: Int, isSure: Bool) async throws(DatabaseError) -> [LogEntry]? {
    let tables = try await tables()
    guard tables.open[run] != nil else { return nil }
    var entries = (tables.logs[run] ?? []).filter { $0.number > number }
    if database.flaw == .forgetsOwn { for place in entries.indices { entries[place].epoch += 1 } }
    return entries
  }

  package func fold(_ logs: [(run: String, log: FoldedLog)]) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { tables in for (run, log) in logs { tables.open[run]?.folded = log } }
    }
  }

  package func transact<Outcome: Sendable>(
    _ body: @Sendable (any DatabaseTransaction) async throws(DatabaseError) -> Outcome
  ) async throws(DatabaseError) -> Outcome {
    _ = try await tables(forWriting: true)
    let transaction = SimulatedTransaction(database)
    let outcome: Result<Outcome, DatabaseError>
    do throws(DatabaseError) { outcome = .success(try await body(transaction)) } catch { outcome = .failure(error) }
    transaction.end()
    // Others may see what is committed before the answer comes.
    await database.pass()
    return try outcome.get()
  }

  // MARK: Open runs and items

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

  package func itemCount(_ query: ItemQuery) async throws(DatabaseError) -> Int { try await items(query).count }

  // MARK: Finished runs

  package func finishedRuns(_ query: HistoryQuery) async throws(DatabaseError) -> [RunSummary] {
    let found = try await tables().finished.reversed().map(\.summary).filter(query.matches)
    return Array(found.prefix(query.limit))
  }

  package func runSums(_ query: RunSumQuery) async throws(DatabaseError) -> [RunSum] {
    RunSums.sums(query, in: try await counted())
  }

  package func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(DatabaseError) -> [String: [RunResult]] {
    RunSums.latest(of: recipes, from: instant, in: try await counted())
  }

  package func failures(from instant: Timestamp) async throws(DatabaseError) -> [FailureGroup] {
    RunSums.failures(from: instant, in: try await counted())
  }

  private func counted() async throws(DatabaseError) -> [RunSums] {
    [RunSums(try await tables().finished.map(\.summary))]
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

  // MARK: Large values and logs

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

  package func lines(ofRun id: String, at point: PrintedPoint) async throws(DatabaseError) -> PrintedChunk {
    PrintedChunk(of: try await tables().lines[id] ?? [], at: point)
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
    try await changing { () async throws(DatabaseError) -> Int? in
      _ = try await tables(forWriting: true)
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
  }

  package func resign(_ worker: WorkerIdentity) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      let isVacant = try await changeLeader { tables in
        guard tables.leader.worker == worker.id else { return false }
        (tables.leader.worker, tables.leader.until) = (nil, .zero - .seconds(1))
        return true
      }
      if isVacant { database.hint(.vacant) }
    }
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
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { tables in
        if !tables.requests.contains(where: { $0.id == id }) { tables.requests.append((id, text, nil, nil)) }
      }
      database.hint(.changed)
    }
  }

  package func takeRequests(by worker: WorkerIdentity) async throws(DatabaseError) -> [String] {
    try await changing { () async throws(DatabaseError) -> [String] in
      _ = try await tables(forWriting: true)
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
  }

  package func answer(_ id: String, _ text: String) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { tables in
        if let place = tables.requests.firstIndex(where: { $0.id == id }) { tables.requests[place].answer = text }
      }
    }
  }

  package func answer(to id: String) async throws(DatabaseError) -> String? {
    try await tables().requests.first { $0.id == id }?.answer
  }

  package func forgetRequest(_ id: String) async throws(DatabaseError) -> Bool {
    try await changing { () async throws(DatabaseError) -> Bool in
      _ = try await tables(forWriting: true)
      return database.update { tables in
        guard let place = tables.requests.firstIndex(where: { $0.id == id }) else { return true }
        return tables.requests.remove(at: place).takenBy != nil
      }
    }
  }

  package func size() async throws(DatabaseError) -> Int {
    try await tables().logs.values.joined().reduce(0) { $0 + $1.events.utf8.count }
  }

  package func linkKey() async throws(DatabaseError) -> String? { try await tables().linkKey }

  package func linkKey(_ new: String, insteadOf old: String?) async throws(DatabaseError) -> String {
    try await changing { () async throws(DatabaseError) -> String in
      _ = try await tables(forWriting: true)
      return database.update { tables in
        let key = tables.linkKey.flatMap { $0 == old ? nil : $0 } ?? new
        tables.linkKey = key
        return key
      }
    }
  }

  package func openRuns(among runs: Set<String>) async throws(DatabaseError) -> Set<String> {
    let open = try await tables().open
    return runs.filter { open[$0] != nil }
  }

  package func freeEvents() async throws(DatabaseError) -> [FreeEvent] {
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
    return free.sorted { ($0.at ?? .earliest, $0.name.name) < ($1.at ?? .earliest, $1.name.name) }
      .map { FreeEvent($0.name.name, named: $0.reference ?? "") }
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

  package func sinceTakeover() async throws(DatabaseError) -> TimeSpan? {
    _ = try await tables()
    return database.sinceTakeover()
  }

  package func register(
    _ terms: WorkerTerms, lease: TimeSpan, isAgain: Bool
  ) async throws(DatabaseError) -> WorkerIdentity {
    try await changing { () async throws(DatabaseError) -> WorkerIdentity in
      _ = try await tables(forWriting: true)
      let (until, since) = (database.time.elapsed() + lease, database.time.now())
      return database.update { tables in
        tables.lastWorker += 1
        tables.workers[tables.lastWorker] = SimulatedDatabase.Worker(terms: terms, leaseUntil: until, since: since)
        if !isAgain { tables.draining.remove("\(terms.name) \(terms.home)") }
        tables.workers[tables.lastWorker]?.isDraining = tables.draining.contains("\(terms.name) \(terms.home)")
        return WorkerIdentity(id: tables.lastWorker)
      }
    }
  }

  package func change(_ worker: WorkerIdentity, to terms: WorkerTerms) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.update { $0.workers[worker.id]?.terms = terms }
    }
  }

  package func renew(_ worker: WorkerIdentity, lease: TimeSpan) async throws(DatabaseError) -> LeaseRenewal {
    try await changing { () async throws(DatabaseError) -> LeaseRenewal in
      _ = try await tables(forWriting: true)
      let now = database.time.elapsed()
      return database.update { tables in
        guard let known = tables.workers[worker.id], known.leaseUntil > now else { return .over }
        tables.workers[worker.id]?.leaseUntil = now + lease
        return .renewed(
          isDraining: known.isDraining, hasDead: tables.workers.values.contains { $0.leaseUntil < now },
          holding: tables.open.values.count { $0.owner == worker.id })
      }
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
    try await changing { () async throws(DatabaseError) -> Bool in
      _ = try await tables(forWriting: true)
      return database.update { tables in
        guard let terms = tables.workers[worker.id]?.terms else { return false }
        tables.workers[worker.id]?.isDraining = isDraining
        let key = "\(terms.name) \(terms.home)"
        if isDraining { tables.draining.insert(key) } else { tables.draining.remove(key) }
        return true
      }
    }
  }

  package func removeExpired(lease: TimeSpan) async throws(DatabaseError) -> [String] {
    try await changing { () async throws(DatabaseError) -> [String] in
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
  }

  package func gone(among runs: [String]) async throws(DatabaseError) -> Set<String> {
    let tables = try await tables()
    return Set(runs.filter { tables.logs[$0, default: []].isEmpty })
  }

  package func held(by worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int] {
    try await tables().open.filter { $0.value.owner == worker.id }.mapValues(\.epoch)
  }

  package func suspect(_ workers: [WorkerIdentity]) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      let ids = Set(workers.map(\.id))
      database.write { tables in
        for (id, run) in tables.open where run.owner.map(ids.contains) == true { tables.open[id]?.isSuspect = true }
      }
    }
  }

  package func leave(_ worker: WorkerIdentity) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { $0.forget(worker.id) }
      database.hint()
    }
  }

  package func claim(
    _ worker: WorkerIdentity, _ terms: WorkerTerms, most: Int, at instant: Timestamp
  ) async throws(DatabaseError) -> [ClaimedRun] {
    try await changing { () async throws(DatabaseError) -> [ClaimedRun] in
      let tables = try await tables(forWriting: true)
      guard let known = tables.workers[worker.id], known.leaseUntil > database.time.elapsed(), !known.isDraining else {
        return []
      }
      let now = min(database.time.now(), instant)
      let due = tables.open.values.filter { $0.owner == nil && $0.canRun(terms) && $0.dueAt.map { $0 <= now } == true }
        .sorted { ($0.dueAt ?? .latest, $0.row.id) < ($1.dueAt ?? .latest, $1.row.id) }
      var claimed: [ClaimedRun] = []
      for run in due.prefix(most) {
        if let run = try claim(run, in: tables, worker, terms, at: instant) { claimed.append(run) }
      }
      return claimed
    }
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
    _ run: String, _ worker: WorkerIdentity, _ terms: WorkerTerms, anyway: Bool, at instant: Timestamp
  ) async throws(DatabaseError) -> RunClaim {
    try await changing { () async throws(DatabaseError) -> RunClaim in
      let tables = try await tables(forWriting: true)
      guard let known = tables.workers[worker.id], known.leaseUntil > database.time.elapsed() else {
        throw .unavailable("the lease on runs is over")
      }
      if known.isDraining { return .draining }
      guard let open = tables.open[run] else { return .over }
      if let owner = open.owner { return .held(by: tables.workers[owner]?.terms.name ?? "", id: owner) }
      let isElsewhere = (open.row.home ?? terms.home) != terms.home
      let missing =
        open.row.needs.filter { !terms.offers.contains($0) } + (isElsewhere ? [RunNeed.home(open.row.home ?? "")] : [])
      if !anyway, !missing.isEmpty { return .missing(missing) }
      if let damage = try tables.run(run)?.damage { throw .unusable(damage) }
      guard let claimed = try claim(open, in: tables, worker, terms, at: instant) else {
        throw .conflict("another program claimed the run \(run)")
      }
      return .claimed(claimed)
    }
  }

  package func release(_ run: String, at number: Int, of worker: WorkerIdentity) async throws(DatabaseError) -> Bool {
    try await changing { () async throws(DatabaseError) -> Bool in
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
  }

  package func abandon(_ claims: [String: Int], of worker: WorkerIdentity) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { tables in
        for (id, epoch) in claims where tables.open[id]?.owner == worker.id && tables.open[id]?.epoch == epoch {
          tables.free(id)
        }
      }
      database.hint()
    }
  }

  package func enter(_ run: String, in group: String, limit: Int) async throws(DatabaseError) -> Bool {
    try await changing { () async throws(DatabaseError) -> Bool in
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
  }

  package func wakeQueued() async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
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
  }

  package func places(of runs: [String], onlyParked: Bool) async throws(DatabaseError) -> [String: RunPlace] {
    let tables = try await tables()
    let now = database.time.now()
    let workers = tables.workers.values.filter { !$0.isDraining }.map(\.terms)
    var places: [String: RunPlace] = [:]
    for run in runs {
      guard let open = tables.open[run] else { continue }
      let hasWorker = workers.contains(where: open.canRun)
      if onlyParked, open.owner != nil || hasWorker || open.dueAt.map({ $0 > now }) ?? true { continue }
      places[run] = RunPlace(
        worker: open.owner.flatMap { tables.workers[$0]?.terms.name },
        missing: open.row.needs.filter { need in !workers.contains { $0.offers.contains(need) } }.sorted(),
        home: open.row.home.flatMap { home in workers.contains { $0.home == home } ? nil : home },
        queue: workers.contains { $0.queues.contains(open.row.queue) } ? nil : open.row.queue,
        hasWorkers: !workers.isEmpty, hasWorker: hasWorker)
    }
    return places
  }

  package func pulse() async throws(DatabaseError) -> String {
    let tables = try await tables()
    let open = tables.open.values.map { "\($0.row.id) \($0.row.status)" }.sorted()
    return "\(open) \(tables.finished.count)"
  }

  package func version() async throws(DatabaseError) -> String? {
    let (tables, pulse) = (try await tables(), try await pulse())
    let entries = tables.logs.values.reduce(0) { $0 + $1.count }
    let lines = tables.lines.values.reduce(0) { $0 + $1.count }
    return "\(pulse) \(entries) \(tables.receipts.count) \(tables.slots.count) \(lines)"
  }

  package func queue(
    _ call: String, on connection: String, of worker: WorkerIdentity
  ) async throws(DatabaseError) -> Int {
    try await changing { () async throws(DatabaseError) -> Int in
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
  }

  package func endCalls(_ calls: [String]) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { tables in tables.calls.removeAll { calls.contains($0.id) } }
    }
  }

  package func tell(_ run: String) async throws(DatabaseError) {
    try await changing { () async throws(DatabaseError) -> Void in
      _ = try await tables(forWriting: true)
      database.write { $0.open[run]?.hasNews = true }
      database.hint()
    }
  }

  package func takeNews(of worker: WorkerIdentity) async throws(DatabaseError) -> [String: Int] {
    try await changing { () async throws(DatabaseError) -> [String: Int] in
      _ = try await tables(forWriting: true)
      let told = database.update { tables in
        let told = tables.open.filter { $0.value.owner == worker.id && $0.value.hasNews }
        for id in told.keys { tables.open[id]?.hasNews = false }
        return told.mapValues(\.epoch)
      }
      // It is done, and its answer may be lost.
      try database.failReading()
      return told
    }
  }

  package func untilDue(_ terms: WorkerTerms, at instant: Timestamp) async throws(DatabaseError) -> TimeSpan? {
    let now = min(database.time.now(), instant)
    return try await tables().open.values.filter { $0.owner == nil && $0.canRun(terms) }.compactMap(\.dueAt).min()
      .map { max($0.span(since: now) ?? .zero, .zero) }
  }
}

extension SharedDatabase {
  /// Makes a worker known that is new.
  package func register(_ terms: WorkerTerms, lease: TimeSpan) async throws(DatabaseError) -> WorkerIdentity {
    try await register(terms, lease: lease, isAgain: false)
  }

  /// Claims a run if the worker has what it needs.
  package func claim(
    _ run: String, _ worker: WorkerIdentity, _ terms: WorkerTerms, at instant: Timestamp
  ) async throws(DatabaseError) -> RunClaim {
    try await claim(run, worker, terms, anyway: false, at: instant)
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
