import Basics
import RunState
import Synchronization

/// Appends events to the logs in the database, in order.
///
/// Each run has at most one append in flight: otherwise a claim could make the database refuse the first of two appends
/// and then accept the second. Requests that wait meanwhile become the run's next entry, and the entries of all runs
/// are one statement. So the slower the database, the more each statement holds.
///
/// Most appends change the record of one run that is held here, and need nothing else. They are folded into the record
/// in memory, and the database refuses them by their entry number if another program wrote to the run meanwhile. All
/// other appends are transactions that read before they write.
///
/// A lost answer doesn't matter: the entry, or the receipt of the transaction, shows whether it was written. So the
/// same write is repeated until its outcome is known.
actor SharedWriter {
  private struct Request {
    enum Kind {
      /// With the scheduler's term, if a scheduler decided on the events.
      case append([StateEvent], ScheduleTerm?)
      /// Releases a run, if it is waiting or parked.
      case release
      /// Releases a run in any case.
      case abandonment
      /// Reading what others wrote to a run.
      case look
    }

    let kind: Kind
    let runs: Set<String>
    /// The epoch of the claim that has to hold the one run; nil for any.
    let claim: Int?
    let answer: CheckedContinuation<Result<Void, StateError>, Never>

    var events: [StateEvent] { if case .append(let events, _) = kind { events } else { [] } }
  }

  private let database: any SharedDatabase
  private let held: HeldRuns
  private let time: any TimeSource
  /// How long the database may be away before an append is given up.
  private let patience: TimeSpan
  private let newReceipt: @Sendable () -> String
  private let tell: @Sendable (SharedNews) -> Void
  /// Whether runs are worked on only by their holders.
  private let isWorker: Bool
  private var waiting: [Request] = []
  /// The runs with an append in flight.
  private var busy: Set<String> = []
  /// The runs whose last entry is unknown, because the database was away for too long.
  private var doubtful: Set<String> = []
  private var isAppending = false
  private var transactions = 0
  private var isClosed = false
  private var whenIdle: [CheckedContinuation<Void, Never>] = []

  /// The most concurrent transactions that read before they write.
  private static let mostTransactions = 2
  /// How often a batch waits for more requests.
  private static let mostRounds = 4
  /// The most log entries that the next holder of a run has to read one by one.
  private static let mostUnfolded = 500
  /// How often a write is repeated after a conflict with another program.
  private static let mostConflicts = 20
  private static let pause = TimeSpan.seconds(1)

  init(
    _ database: any SharedDatabase, _ held: HeldRuns, time: any TimeSource, isWorker: Bool, patience: TimeSpan,
    newReceipt: @escaping @Sendable () -> String, tell: @escaping @Sendable (SharedNews) -> Void
  ) {
    self.database = database
    self.held = held
    self.time = time
    self.isWorker = isWorker
    self.patience = patience
    self.newReceipt = newReceipt
    self.tell = tell
  }

  /// Records events, all or none; returns once they are stored.
  ///
  /// - Parameter term: The scheduler's term, if a scheduler decided on the events.
  /// - Parameter claim: The epoch of the claim that has to hold the events' run.
  func append(
    _ events: [StateEvent], in term: ScheduleTerm? = nil, claim: Int? = nil
  ) async -> Result<Void, StateError> {
    await ask(.append(events, term), of: Set(events.compactMap(\.changedRun)), claim: claim)
  }

  /// Releases a run if it is waiting or parked, after pending appends; false if it is still held.
  func release(_ run: String) async -> Bool {
    if case .success = await ask(.release, of: [run]) { true } else { false }
  }

  /// Releases a run whatever its state.
  func abandon(_ run: String) async { _ = await ask(.abandonment, of: [run]) }

  /// Reads what others wrote to a run that is held here; false if the database didn't say.
  @discardableResult func look(at run: String) async -> Bool {
    if case .failure(let error) = await ask(.look, of: [run]) { error.kind != .unavailable } else { true }
  }

  private func ask(
    _ kind: Request.Kind, of runs: Set<String>, claim: Int? = nil
  ) async -> Result<Void, StateError> {
    if isClosed { return .failure(.closed) }
    return await withCheckedContinuation { answer in
      waiting.append(Request(kind: kind, runs: runs, claim: claim, answer: answer))
      serve()
    }
  }

  /// Takes nothing more, and returns when what was taken is kept or refused.
  func close() async {
    isClosed = true
    if waiting.isEmpty, busy.isEmpty, transactions == 0, !isAppending { return }
    await withCheckedContinuation { whenIdle.append($0) }
  }

  // MARK: The next request

  private func serve() {
    var blocked = busy
    var hasPlain = false
    var rest: [Request] = []
    for request in waiting {
      if blocked.isDisjoint(with: request.runs) {
        if isPlain(request) {
          // Other requests for the same run may join it, and nothing overtakes it.
          hasPlain = true
        } else if transactions < SharedWriter.mostTransactions {
          transactions += 1
          busy.formUnion(request.runs)
          blocked.formUnion(request.runs)
          // Ends when the outcome is known.
          Task {
            let outcome = await self.outcome(of: request)
            self.transactions -= 1
            self.busy.subtract(request.runs)
            self.finish([request], outcome)
            self.serve()
          }
          continue
        }
      }
      blocked.formUnion(request.runs)
      rest.append(request)
    }
    waiting = rest
    if hasPlain, !isAppending {
      isAppending = true
      // Likewise.
      Task { await self.gather() }
    }
    guard waiting.isEmpty, busy.isEmpty, transactions == 0, !isAppending else { return }
    for waiter in whenIdle { waiter.resume() }
    whenIdle = []
  }

  /// Writes the waiting plain requests, together with others that follow at once.
  ///
  /// After a statement for many runs, their next requests come one after another.
  private func gather() async {
    var count = 0
    for _ in 0..<SharedWriter.mostRounds where waiting.count > count {
      count = waiting.count
      // Ends at once, after tasks that are ready to run.
      await Task {}.value
    }
    var blocked = busy
    var batch: [Request] = []
    var rest: [Request] = []
    for request in waiting {
      if blocked.isDisjoint(with: request.runs), isPlain(request) {
        batch.append(request)
      } else {
        blocked.formUnion(request.runs)
        rest.append(request)
      }
    }
    waiting = rest
    for request in batch { busy.formUnion(request.runs) }
    await write(batch)
  }

  /// Whether a request changes nothing but the record of one run that is held here.
  private func isPlain(_ request: Request) -> Bool {
    guard case .append(let events, nil) = request.kind, request.runs.count == 1, let id = request.runs.first,
      held[id] != nil
    else { return false }
    return events.allSatisfy(\.isPlain)
  }

  private func outcome(of request: Request) async -> Result<Void, StateError> {
    do throws(StateError) {
      switch request.kind {
      case .append(let events, let term): try await transact(events, in: term, request.runs, claim: request.claim)
      case .release: for id in request.runs { try await giveUp(id) }
      case .abandonment: for id in request.runs { await letGo(id) }
      case .look: for id in request.runs { if let run = held[id] { try await refresh(run) } }
      }
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  // MARK: Giving up

  private func giveUp(_ id: String) async throws(StateError) {
    try await settleDoubts([id])
    guard let run = held[id], let worker = held.worker else { return }
    guard run.log.record.rests else { throw .isNeeded(id) }
    // With news, so that the next holder looks for news that was missed here.
    if held.mayHaveMissed { return await letGo(id) }
    do throws(DatabaseError) {
      if try await database.release(id, at: run.log.number, of: WorkerIdentity(id: worker)) {
        return held.letGo(id, claim: run.epoch)
      }
    } catch {
      return held.leaveUnreleased(run)
    }
    // Something came for it.
    try await refresh(run)
    throw .isNeeded(id)
  }

  private func letGo(_ id: String) async {
    doubtful.remove(id)
    guard let run = held[id], let worker = held.worker else { return }
    held.leaveUnreleased(run)
    // An ended lease releases the run by itself; and while the database is away, each of many runs would wait for it.
    if isWorker, time.elapsed() >= held.deadline { return }
    let claims = [id: run.epoch]
    // Otherwise with the next renewal of the lease.
    if (try? await database.abandon(claims, of: WorkerIdentity(id: worker))) != nil { held.noteReleased(claims) }
  }

  // MARK: Entries

  /// The next entry of a run.
  private struct Draft {
    var run: HeldRuns.Run
    var requests: [Request]
    var refused: [(Request, StateError)] = []

    /// The run with its next entry; nil if every request was refused.
    mutating func next() throws(StateError) -> (run: HeldRuns.Run, entry: LogEntry)? {
      var record = run.log.record
      var events: [StateEvent] = []
      var fitting: [Request] = []
      for request in requests {
        do throws(StateError) {
          record = try record.folding(request.events)
          events += request.events
          fitting.append(request)
        } catch {
          refused.append((request, error))
        }
      }
      requests = fitting
      if events.isEmpty { return nil }
      var next = run
      let entry: LogEntry
      (next.log, entry) = try run.log.next(record, by: events, epoch: run.epoch)
      next.row = run.row.following(next.log.record, by: events)
      return (next, entry)
    }
  }

  private func write(_ requests: [Request]) async {
    var drafts: [String: Draft] = [:]
    for request in requests {
      do throws(StateError) { try await settleDoubts(request.runs) } catch {
        finish([request], .failure(error))
        continue
      }
      guard let id = request.runs.first, let run = held[id] else {
        // The run was released meanwhile, so the request needs a transaction.
        waiting.insert(request, at: 0)
        continue
      }
      if let claim = request.claim, run.epoch != claim {
        finish([request], .failure(.fenced(id)))
        continue
      }
      drafts[id, default: Draft(run: run, requests: [])].requests.append(request)
    }
    var conflicts = 0
    while !drafts.isEmpty {
      var next: [String: HeldRuns.Run] = [:]
      var entries: [LogEntry] = []
      var rows: [OpenRunRow] = []
      for id in drafts.keys.sorted(by: { $0.precedesByScalars($1) }) {
        do throws(StateError) {
          guard let (run, entry) = try drafts[id]?.next() else {
            settle(drafts.removeValue(forKey: id), .success(()))
            continue
          }
          next[id] = run
          entries.append(entry)
          if run.row != drafts[id]?.run.row { rows.append(run.row) }
        } catch {
          settle(drafts.removeValue(forKey: id), .failure(error))
        }
      }
      if entries.isEmpty { break }
      conflicts += 1
      if conflicts > SharedWriter.mostConflicts {
        for draft in drafts.values { settle(draft, .failure(.conflict)) }
        break
      }
      let kept: Set<String>
      let lost = Atomic(false)
      do throws(StateError) {
        // After the lease nothing is sent to services any more, so no attempt needs to be recorded as begun.
        let answer = try await unlessConflict(whileHeld: true) {
          [database, entries, rows] () async throws(DatabaseError) in
          do throws(DatabaseError) { return try await database.append(entries, changing: rows) } catch {
            if case .unknown = error { lost.store(true, ordering: .relaxed) }
            throw error
          }
        }
        // Two statements waited for each other's rows, and this one gave way.
        guard let answer else { continue }
        kept = answer
      } catch {
        doubtful.formUnion(drafts.keys)
        for draft in drafts.values { settle(draft, .failure(error)) }
        break
      }
      for entry in entries {
        guard let run = next[entry.run] else { continue }
        if kept.contains(entry.run) {
          held.update(run)
          foldIfLong(run)
          settle(drafts.removeValue(forKey: entry.run), .success(()))
        } else {
          await resolve(entry, run, wasLost: lost.load(ordering: .relaxed), &drafts)
        }
      }
    }
    isAppending = false
    busy.subtract(requests.flatMap(\.runs))
    serve()
  }

  /// Stores the folded state of a log that has become long.
  private func foldIfLong(_ run: HeldRuns.Run) {
    guard run.log.number - run.foldedAt >= SharedWriter.mostUnfolded, let folded = try? run.log.folded else { return }
    var run = run
    run.foldedAt = run.log.number
    held.update(run)
    // Nobody waits for it; what isn't kept now is with a later entry.
    Task { [database] in try? await database.fold([(run.log.record.id, folded)]) }
  }

  /// Finds out which program used the number of an entry: this one, if its answer was lost, or another.
  ///
  /// - Parameter wasLost: Whether an answer was lost.
  private func resolve(
    _ entry: LogEntry, _ next: HeldRuns.Run, wasLost: Bool, _ drafts: inout [String: Draft]
  ) async {
    guard let draft = drafts[entry.run] else { return }
    do throws(StateError) {
      let mark = HeldRuns.Mark(draft.run.log)
      guard let found = try await entries(after: mark, epoch: draft.run.epoch, isSure: wasLost) else {
        held.forget(entry.run)
        if wasLost { throw .endedMeanwhile(entry.run) }
        throw .notHeld(entry.run)
      }
      let isOwn = found.first.map { $0.sum == entry.sum && $0.epoch == entry.epoch } == true
      // A stored entry counts, even if another program took the run over afterwards.
      if isOwn { settle(drafts.removeValue(forKey: entry.run), .success(())) }
      let run = try noting(found.dropFirst(isOwn ? 1 : 0), of: isOwn ? next : draft.run)
      drafts[entry.run]?.run = run
    } catch {
      if error.kind != .fenced { doubtful.insert(entry.run) }
      guard var draft = drafts.removeValue(forKey: entry.run) else { return }
      if error.kind == .fenced {
        // Requests that any program may make are sent again, for the run's new holder.
        let others = draft.requests.filter { !$0.events.contains(where: \.isHolders) }
        draft.requests.removeAll { !$0.events.contains(where: \.isHolders) }
        waiting.insert(contentsOf: others, at: 0)
      }
      settle(draft, .failure(error))
    }
  }

  /// Adds entries of other programs to a run that is held here.
  private func noting(_ entries: ArraySlice<LogEntry>, of run: HeldRuns.Run) throws(StateError) -> HeldRuns.Run {
    var log = run.log
    for entry in entries {
      if entry.epoch > run.epoch { throw fence(log.record.id, claim: run.epoch) }
      try log.add(entry)
    }
    let run = HeldRuns.Run(log, epoch: run.epoch, foldedAt: run.foldedAt)
    held.update(run)
    return run
  }

  /// Lets a run go that another program has taken over.
  private func fence(_ run: String, claim: Int) -> StateError {
    // This program may have claimed it again meanwhile.
    if held[run].map({ $0.epoch > claim }) == true { return .fenced(run) }
    held.letGo(run, claim: claim)
    tell(.fenced(run))
    return .fenced(run)
  }

  private func settle(_ draft: Draft?, _ outcome: Result<Void, StateError>) {
    guard let draft else { return }
    finish(draft.requests, outcome)
    for (request, error) in draft.refused { finish([request], .failure(error)) }
  }

  private func finish(_ requests: [Request], _ outcome: Result<Void, StateError>) {
    for request in requests { request.answer.resume(returning: outcome) }
  }

  // MARK: Transactions

  private enum Outcome: Sendable {
    case refused(StateError)
    /// It was committed before, and its answer was lost.
    case wasDone
    case done(created: [HeldRuns.Run], changed: [HeldRuns.Run], ended: [RunRecord])
  }

  private func transact(
    _ events: [StateEvent], in term: ScheduleTerm?, _ ids: Set<String>, claim: Int?
  ) async throws(StateError) {
    let receipt = newReceipt()
    let created = Set(events.compactMap { if case .runCreated(let run) = $0 { run.run } else { nil } })
    held.create(created.count)
    defer { held.create(-created.count) }
    for _ in 0..<SharedWriter.mostConflicts {
      do throws(StateError) {
        try await settleDoubts(ids)
        if isWorker { try await checkHeld(events) }
        let runs = ids.compactMap { held[$0] }
        if let claim, let other = runs.first(where: { $0.epoch != claim }) { throw .fenced(other.log.record.id) }
        let worker = held.worker
        let outcome = try await unlessConflict { [database, held] () async throws(DatabaseError) -> Outcome in
          try await database.transact { transaction throws(DatabaseError) in
            try await SharedWriter.make(events, in: term, holding: runs, worker, receipt, transaction) {
              held.holds(created: $0, besides: $1)
            }
          }
        }
        guard let outcome else {
          for run in runs { try await refresh(run) }
          continue
        }
        switch outcome {
        case .refused(let error): throw error
        case .wasDone:
          for id in ids {
            if let run = held[id] {
              try await refresh(run)
            } else if created.contains(id), let worker {
              try await self.claim(id, by: worker)
            }
          }
        case .done(let new, let changed, let ended):
          if let worker { for run in new { held.take(run, by: worker) } }
          for run in changed {
            held.update(run)
            foldIfLong(run)
          }
          for run in ended { held.end(run) }
        }
        return
      } catch {
        if error.kind == .unavailable { doubtful.formUnion(ids) }
        throw error
      }
    }
    throw .conflict
  }

  /// Refuses events that only a run's holder may record, if another program holds the run or may hold it.
  private func checkHeld(_ events: [StateEvent]) async throws(StateError) {
    var created: Set<String> = []
    for event in events {
      guard let id = event.changedRun else { continue }
      if case .runCreated = event { created.insert(id) }
      guard event.isHolders, !created.contains(id), held[id] == nil else { continue }
      throw try await entries(of: id, after: .max) == nil ? .notHeld(id) : .fenced(id)
    }
  }

  /// Reads what events need, folds them, and writes what changed.
  private static func make(
    _ events: [StateEvent], in term: ScheduleTerm?, holding held: [HeldRuns.Run], _ worker: Int?, _ receipt: String,
    _ transaction: any DatabaseTransaction, holds: (OpenRunRow, Int) -> Bool
  ) async throws(DatabaseError) -> Outcome {
    var slice = StateSlice()
    var events = events
    var logs: [String: HeldRuns.Run] = [:]
    var free: Set<String> = []
    let changes: StateChanges
    do throws(StateError) {
      var known = StateNeeds()
      known.runs = Set(held.map(\.log.record.id))
      for run in held { logs[run.log.record.id] = run }
      try slice.add(known, runs: held.map(\.log.record))
    } catch { return .refused(error) }
    var isFirst = true
    while true {
      let missing: StateNeeds
      do throws(StateError) { missing = try slice.missing(for: events) } catch { return .refused(error) }
      if missing.isEmpty, !isFirst { break }
      isFirst = false
      let (rows, isDone) = try await transaction.read(missing, receipt: receipt)
      if isDone {
        // With another receipt, which is acknowledged only when the first is, too.
        try await transaction.commit(DatabaseChanges(receipt: "\(receipt) seen \(UInt64.random(in: 0 ... .max))"))
        return .wasDone
      }
      free.formUnion(rows.freeEvents)
      if let now = rows.now { events = events.map { $0.used(at: now) } }
      do throws(StateError) {
        try slice.add(
          missing, runs: rows.runs.map(\.record), items: rows.items, slots: rows.slots, open: rows.open)
      } catch { return .refused(error) }
      for run in rows.runs {
        logs[run.record.id] = HeldRuns.Run(run, epoch: 0)
      }
    }
    events += events.flatMap { event in logs[event.changedRun ?? ""]?.log.ends(by: event) ?? [] }
    do throws(StateError) { changes = try slice.fold(events) } catch { return .refused(error) }
    var writes = DatabaseChanges(receipt: receipt)
    writes.holder = worker
    (writes.items, writes.removed) = (changes.items, changes.removed)
    (writes.slots, writes.grown) = (changes.slots, changes.grown)
    (writes.came, writes.told) = (changes.came, changes.addressed)
    let own = Set(held.map(\.log.record.id))
    var (created, changed): ([HeldRuns.Run], [HeldRuns.Run]) = ([], [])
    var ended: [RunRecord] = []
    do throws(StateError) {
      for (record, events) in changes.runs {
        let isNew = changes.created.contains(record.id)
        // A worker that creates a run holds it, if it can.
        let isHeld = worker != nil && holds(OpenRunRow(record), created.count)
        let epoch = isNew ? isHeld ? 1 : 0 : logs[record.id]?.epoch ?? 0
        let log = logs[record.id]?.log ?? LoggedRun(new: record)
        if log.damage != nil, record.status.isEnded {
          // Its log ends where it can't be read.
          writes.ended.append(FinishedRow(summary: RunSummary(record), text: try record.storedText))
          continue
        }
        let (next, entry) = try log.next(record, by: events, epoch: epoch)
        writes.entries.append(entry)
        if record.status.isEnded {
          writes.ended.append(FinishedRow(summary: RunSummary(record), text: try record.storedText))
          if own.contains(record.id) || isNew { ended.append(record) }
        } else {
          let row = logs[record.id]?.row.following(next.record, by: events) ?? OpenRunRow(next.record)
          let run = HeldRuns.Run(next, epoch: epoch, row: row, foldedAt: logs[record.id]?.foldedAt)
          if isNew {
            writes.created.append(row)
            if isHeld { created.append(run) } else { writes.unheld.insert(record.id) }
          } else {
            if row != logs[record.id]?.row { writes.changed.append(row) }
            if own.contains(record.id) { changed.append(run) }
          }
        }
        let awaitsFree = events.contains { event in
          if case .stepWaits(let event) = event { event.wait.event.map(free.contains) == true } else { false }
        }
        if awaitsFree || !isNew && !own.contains(record.id) { writes.told.insert(record.id) }
      }
    } catch { return .refused(error) }
    if let term {
      guard try await transaction.begin(after: term.version) else { return .refused(.fencedScheduler) }
      writes.concernsSchedules = changes.concernsSchedules && !term.isLeading
    } else {
      (writes.isSteering, writes.concernsSchedules) = (changes.isSteering, changes.concernsSchedules)
    }
    try await transaction.commit(writes)
    return .done(created: created, changed: changed, ended: ended)
  }

  /// Reads what became of runs when the database was away.
  private func settleDoubts(_ runs: Set<String>) async throws(StateError) {
    for id in runs where doubtful.contains(id) {
      if let run = held[id] { try await refresh(run, isSure: true) }
      doubtful.remove(id)
    }
  }

  /// Reads what others wrote to a run that is held here.
  private func refresh(_ run: HeldRuns.Run, isSure: Bool = false) async throws(StateError) {
    guard let found = try await entries(after: HeldRuns.Mark(run.log), epoch: run.epoch, isSure: isSure) else {
      return held.forget(run.log.record.id)
    }
    _ = try noting(found, of: run)
  }

  /// Pauses each run that lost stored entries when another server took over, for a person to look at.
  func verify() async throws(StateError) {
    // An append that is under way to a held run is written before or after that.
    let marks = held.ids.compactMap { held[$0].map { HeldRuns.Mark($0.log) } } + held.former
    for id in held.ids { await look(at: id) }
    for mark in held.former where held[mark.run] == nil {
      do throws(StateError) { _ = try await entries(after: mark, epoch: 0) } catch {
        if error.kind != .fenced { throw error }
      }
    }
    try await tellGone(marks)
  }

  /// Reports runs that have no entry left, because they were created when the new server was already behind.
  ///
  /// Runs that were created long ago are left out: their entries may have been removed.
  private func tellGone(_ marks: [HeldRuns.Mark]) async throws(StateError) {
    let now = time.now()
    let recent = marks.filter { mark in now.span(since: mark.createdAt).map { $0 < SharedWriter.longestBehind } ?? false
    }
    if recent.isEmpty { return }
    let gone = try await untilKnown { [database] () async throws(DatabaseError) in
      try await database.gone(among: recent.map(\.run))
    }
    for mark in recent where gone.contains(mark.run) {
      held.forgetMark(of: mark.run)
      tell(.missing(mark.run, of: mark.recipe))
    }
  }

  private static let longestBehind = TimeSpan.seconds(3600)

  /// The entries of a run after the mark; nil if the run is over.
  ///
  /// - Throws: If the entry at the mark is gone; the run then waits for a person.
  private func entries(
    after mark: HeldRuns.Mark, epoch: Int, isSure: Bool = false
  ) async throws(StateError) -> ArraySlice<LogEntry>? {
    guard let found = try await entries(of: mark.run, after: mark.number - 1, isSure: isSure) else { return nil }
    guard let first = found.first, first.number == mark.number, first.sum == mark.sum else {
      throw try await pauseCut(mark, epoch: epoch)
    }
    return found.dropFirst()
  }

  /// Pauses a run for a person, because the end of its log was lost when a server that was behind took over.
  ///
  /// - Parameter epoch: The epoch of the claim that this program has of the run; 0 if it doesn't hold it.
  private func pauseCut(_ mark: HeldRuns.Mark, epoch: Int) async throws(StateError) -> StateError {
    for _ in 0..<SharedWriter.mostConflicts {
      let found = try await untilKnown { [database] () async throws(DatabaseError) in
        var needs = StateNeeds()
        needs.runs = [mark.run]
        return try await database.read(needs).runs.first
      }
      guard let found else { return .notHeld(mark.run) }
      // A log that can't be read is reported by its reader; or an earlier try has paused the run already.
      if found.damage != nil || found.record.reason?.hasPrefix(SharedWriter.cut) == true { break }
      let lost = mark.number - found.number
      let last = found.record.stepsInOrder.last.map { " after '\($0.path)' began" } ?? ""
      let entries =
        lost == 1
        ? "an entry of the run that was kept is" : "\(lost > 1 ? "\(lost) " : "")entries of the run that were kept are"
      let reason =
        "\(SharedWriter.cut), and \(entries) lost; look what was done\(last), then: errand runs resume \(mark.run)"
      let pause = StateEvent.runStatusChanged(
        RunStatusChanged(run: mark.run, at: time.now(), status: .paused, reason: reason))
      let record = try found.record.folding([pause])
      let (next, entry) = try found.next(record, by: [pause], epoch: epoch)
      let kept = try await untilKnown { [database] () async throws(DatabaseError) in
        try await database.append([entry], changing: [OpenRunRow(next.record)])
      }
      if kept.contains(mark.run) {
        tell(.cut(mark.run, reason: reason))
        break
      }
    }
    if let run = held[mark.run], run.epoch == epoch { await letGo(mark.run) }
    // The loss has been reported; if a person resumes the run, its log continues differently.
    held.forgetMark(of: mark.run)
    // Another program that works on the run meanwhile stops.
    try? await database.tell(mark.run)
    tell(.fenced(mark.run))
    return .fenced(mark.run)
  }

  private static let cut = "a database server took over that was behind"

  /// Holds a run that was created here, by a transaction whose answer was lost.
  private func claim(_ id: String, by worker: Int) async throws(StateError) {
    // Another worker may have claimed it meanwhile.
    guard let found = try await entries(of: id, after: 0), found.first?.epoch == 1,
      found.allSatisfy({ $0.epoch <= 1 })
    else { return }
    let log = try LoggedRun(id, folded: nil, entries: found)
    held.take(HeldRuns.Run(log, epoch: 1), by: worker)
  }

  private func entries(
    of id: String, after number: Int, isSure: Bool = false
  ) async throws(StateError) -> [LogEntry]? {
    try await untilKnown { [database] () async throws(DatabaseError) in
      try await database.entries(of: id, after: number, isSure: isSure)
    }
  }

  // MARK: Trying again

  /// Tries until the database says what became of it, or was away for too long.
  private func untilKnown<Answer: Sendable>(
    _ body: @Sendable () async throws(DatabaseError) -> Answer
  ) async throws(StateError) -> Answer {
    guard let answer = try await unlessConflict(body) else { throw .conflict }
    return answer
  }

  /// Likewise; nil if another transaction came between.
  ///
  /// - Parameter whileHeld: Whether it isn't tried again once the lease is over.
  private func unlessConflict<Answer: Sendable>(
    whileHeld: Bool = false, _ body: @Sendable () async throws(DatabaseError) -> Answer
  ) async throws(StateError) -> Answer? {
    let start = time.elapsed()
    while true {
      do throws(DatabaseError) { return try await body() } catch {
        switch error {
        case .conflict: return nil
        case .unusable(let message): throw StateError(.damaged, message)
        case .unavailable(let message), .unknown(let message):
          if time.elapsed() - start > patience { throw StateError(.unavailable, message) }
          await time.pause(for: SharedWriter.pause)
          if whileHeld, isWorker, time.elapsed() >= held.deadline { throw StateError(.unavailable, message) }
        }
      }
    }
  }
}

extension TimeSource {
  /// Waits, also in a task that was cancelled, which would else ask again and again without a pause.
  func pause(for span: TimeSpan) async { await Task { try? await sleep(for: span) }.value }
}

extension StateEvent {
  /// Whether it changes nothing but the record of its run.
  fileprivate var isPlain: Bool {
    switch self {
    case .runStatusChanged, .cancelRequested, .stepBegan, .attemptBegan, .attemptEnded, .stepEnded, .runNoted,
      .runPlaced, .decisionGiven, .answerGiven:
      true
    case .stepWaits(let event): event.wait.event == nil && event.wait.question?.links.isEmpty ?? true
    default: false
    }
  }
}

extension StateEvent {
  /// The use of a connection whose limits programs share, at an instant of their common clock; all else as it is.
  fileprivate func used(at now: Timestamp) -> StateEvent {
    guard case .connectionUsed(var event) = self, event.limit != nil else { return self }
    event.heldUntil = event.heldUntil.flatMap { $0.span(since: event.at) }.flatMap { now.advanced(by: $0) }
    event.at = now
    return .connectionUsed(event)
  }

  /// Whether only a run's holder may record this event; any program may record the others.
  fileprivate var isHolders: Bool {
    switch self {
    case .runStatusChanged(let event): event.status != .paused && event.status != .queued
    case .stepBegan, .attemptBegan, .attemptEnded, .stepEnded, .stepWaits, .runNoted, .runPlaced, .runEnded: true
    case .valueSet(let event): event.change != nil
    case .valueRemoved(let event): event.change != nil
    default: false
    }
  }
}

extension StateError {
  static func fenced(_ run: String) -> StateError {
    StateError(.fenced, "another program has taken the run \(run) over")
  }
  /// An event or news came for a run that was to be released.
  static func isNeeded(_ run: String) -> StateError { StateError(.invalid, "the run \(run) has something to do") }
  static func notHeld(_ run: String) -> StateError {
    StateError(.invalid, "the state cannot take the event: the run \(run) is not open")
  }
  static func endedMeanwhile(_ run: String) -> StateError {
    StateError(
      .unavailable, "the run \(run) ended while the database was away, so that it isn't known whether this was kept")
  }
  static var fencedScheduler: StateError {
    var error = StateError(.invalid, "another program changed the schedules, or decides on them now")
    error.isConflict = true
    return error
  }
  static var conflict: StateError {
    var error = StateError(.invalid, "other programs changed the same again and again; try it once more")
    error.isConflict = true
    return error
  }
}

extension LoggedRun {
  /// The events of a request to cancel the run if its log can't be read: the run ends at once.
  fileprivate func ends(by event: StateEvent) -> [StateEvent] {
    guard let damage, case .cancelRequested(let request) = event else { return [] }
    let error = RunError(.internal, "\(damage); it was cancelled as far as it could be read, without 'finally'")
    return [.runEnded(RunEnded(run: record.id, at: request.at, status: .cancelled, error: error))]
  }
}
