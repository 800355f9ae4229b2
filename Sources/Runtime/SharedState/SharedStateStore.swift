// The state in a database that several machines share.
package import Basics
import Glibc
package import RunState
import Synchronization

/// The state in a database, which other programs read and change at the same time.
///
/// In memory this program has only the runs that it holds; it asks the database for everything else. Queries of open
/// state wait while the database is away; queries that may fail report an error.
package final class SharedStateStore: StateStore, StateSharing, ScheduleSharing {
  package let secrets = SecretRegistry()
  package let database: any SharedDatabase
  private let held: HeldRuns
  private let writer: SharedWriter
  private let printing: SharedPrinting
  private let time: any TimeSource
  private let isClosed = Atomic(false)
  private struct WaitObserver {
    var tell: @Sendable (StateError) -> Void
  }

  /// In a struct, because a function that is the whole content of a `Mutex` is wrapped once more by each access.
  private let observer = Mutex<WaitObserver?>(nil)
  /// News of the state for this program; ends with `close`.
  package let news: AsyncStream<SharedNews>
  private let telling: AsyncStream<SharedNews>.Continuation
  private let worker: SharedWorker?
  private let terms: WorkerTerms?
  package let leading: AsyncStream<Bool>
  package let scheduleHints: AsyncStream<Void>
  private let leader: SharedLeader

  /// - Parameters:
  ///   - terms: The terms that the program offers, if it is to hold runs once it has joined.
  ///   - clock: The program's clock, if it is to be put right by the database's; `time` then tells the same.
  ///   - chance: A number from 0 up to 1, which spreads the checks of several programs for due runs.
  ///   - holder: The worker that holds what this program creates, in tests without a lease.
  ///   - patience: How long the database may be away before appends are refused.
  ///   - newReceipt: Makes a text that identifies one transaction.
  package init(
    _ database: any SharedDatabase, terms: WorkerTerms? = nil, time: any TimeSource = SystemTime(),
    clock: CorrectedTime? = nil, holder: Int? = nil, patience: TimeSpan = .seconds(15),
    chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    newReceipt: @escaping @Sendable () -> String = SharedStateStore.receipt
  ) {
    let held = HeldRuns()
    self.database = database
    self.held = held
    self.time = time
    let (news, telling) = AsyncStream.makeStream(of: SharedNews.self)
    (self.news, self.telling) = (news, telling)
    let writer = SharedWriter(
      database, held, time: time, isWorker: terms != nil, patience: patience, newReceipt: newReceipt
    ) {
      telling.yield($0)
    }
    self.writer = writer
    worker = terms.map { terms in
      SharedWorker(terms, database, held, time: time, clock: clock, chance: chance) {
        telling.yield($0)
      } refresh: {
        await writer.look(at: $0)
      } verify: { () async throws(StateError) in
        try await writer.verify()
      }
    }
    self.terms = terms
    printing = SharedPrinting(database)
    leader = SharedLeader(database, held, time: time, clock: clock?.base ?? time)
    (leading, scheduleHints) = (leader.leading, leader.hints)
    if let holder { held.join(holder) }
    secrets.askLinkKey { [weak self] in try? await self?.linkKey() }
  }

  // MARK: Sharing

  package var home: String? { terms.flatMap { $0.sharesFolder ? nil : $0.home } }

  package var sharing: (any StateSharing)? { worker == nil ? nil : self }

  package func join(claiming: Bool) async throws(StateError) {
    guard let worker else { return }
    try await attempt { () async throws(DatabaseError) in try await worker.start(claiming: claiming) }
  }

  /// Changes this program's terms, if it is one that holds runs.
  package func work(on terms: WorkerTerms) async { await worker?.work(on: terms) }

  /// Puts the program's clock right by the database's, if it has one that can be.
  package func readClock() async { try? await worker?.readClock() }

  package func drain() async { await worker?.drain() }

  package func take(_ run: String, anyway: Bool = false) async throws(StateError) -> RunHolder {
    guard let worker else { return self.run(run) == nil ? .over : .here }
    try await join(claiming: false)
    return try await attempt { () async throws(DatabaseError) in try await worker.take(run, anyway: anyway) }
  }

  package func release(_ run: String) async -> Bool {
    guard await writer.release(run) else { return false }
    await worker?.look()
    return true
  }

  package func abandon(_ run: String) async { await writer.abandon(run) }

  package func isSure(of run: String) -> Bool { held[run] != nil && time.elapsed() < held.deadline }

  package func enter(_ run: RunRecord, in group: RunGroup) async throws(StateError) -> Bool {
    try await attempt { [database] () async throws(DatabaseError) in
      try await database.enter(run.id, in: group.name, limit: group.limit)
    }
  }

  package func queue(_ call: String, on connection: String) async throws(StateError) -> Int {
    guard let worker = held.worker else { throw StateError(.unavailable, "the lease on runs is over") }
    return try await attempt { [database] () async throws(DatabaseError) in
      try await database.queue(call, on: connection, of: WorkerIdentity(id: worker))
    }
  }

  package func endCall(_ call: String) async {
    held.noteOver(call)
    // Otherwise with the next renewal of the lease.
    if (try? await database.endCalls([call])) != nil { held.noteTold([call]) }
  }

  // Otherwise with one of the next renewals of the lease.
  package func wakeQueued() async { try? await database.wakeQueued() }

  package func place(of run: String) async throws(StateError) -> RunPlace? {
    try await attempt { [database] () async throws(DatabaseError) in
      try await database.places(of: [run], onlyParked: false)[run]
    }
  }

  package func unclaimable(among runs: [String]) async throws(StateError) -> [String: RunPlace] {
    try await attempt { [database] () async throws(DatabaseError) in
      try await database.places(of: runs, onlyParked: true)
    }
  }

  package func pulse() async throws(StateError) -> String {
    try await attempt { [database] () async throws(DatabaseError) in try await database.pulse() }
  }

  package func workers() async throws(StateError) -> [WorkerRecord] {
    try await attempt { [database] () async throws(DatabaseError) in try await database.workers() }
  }

  package func noteCrash() async throws(StateError) {
    guard let terms else { return }
    // Several programs of a folder share its mark. After a restart of a container this one may have the number.
    let dead = try await workers().filter { worker in
      guard worker.home == terms.home else { return false }
      return worker.pid == Int(getpid()) || kill(pid_t(clamping: worker.pid), 0) != 0 && errno == ESRCH
    }
    if dead.isEmpty { return }
    try await attempt { [database] () async throws(DatabaseError) in
      try await database.suspect(dead.map { WorkerIdentity(id: $0.id) })
    }
  }

  package func setDraining(_ isDraining: Bool, worker: Int) async throws(StateError) -> Bool {
    try await attempt { [database] () async throws(DatabaseError) in
      try await database.setDraining(isDraining, WorkerIdentity(id: worker))
    }
  }

  package func evict(worker: Int) async throws(StateError) {
    try await attempt { [database] () async throws(DatabaseError) in
      try await database.leave(WorkerIdentity(id: worker))
      // After that, so that the worker can't lead again.
      try await database.resign(WorkerIdentity(id: worker))
    }
  }

  package func passOn(_ run: String) async {
    // A run that is released with the next renewal of the lease is checked anyway.
    if held.unreleased[run] != nil { return }
    // If this fails, the run resumes when it is due.
    try? await database.tell(run)
  }

  /// Tells an observer, which must not wait, why a query waits.
  package func observeWaiting(_ observer: @escaping @Sendable (StateError) -> Void) {
    self.observer.withLock { $0 = WaitObserver(tell: observer) }
  }

  /// A text of 128 random bits.
  package static let receipt: @Sendable () -> String = {
    var random = SystemRandomNumberGenerator()
    return [UInt64.random(in: 0 ... .max, using: &random), UInt64.random(in: 0 ... .max, using: &random)]
      .map { String($0, radix: 16) }.joined(separator: "-")
  }

  package func append(_ events: [StateEvent]) async throws(StateError) { try await append(events, within: nil) }

  package func claim(of run: String) -> Int? { held[run]?.epoch }

  package func append(_ events: [StateEvent], of run: String, inClaim claim: Int) async throws(StateError) {
    try await append(events, within: nil, claim: claim)
  }

  private func append(
    _ events: [StateEvent], within term: ScheduleTerm?, claim: Int? = nil
  ) async throws(StateError) {
    if events.isEmpty { return }
    let events = try events.map { event throws(StateError) in
      let event = try event.withoutSecrets(secrets)
      try event.check()
      return event
    }
    try await writer.append(events, in: term, claim: claim).get()
  }

  /// The version of everything is the database's; the version of a run or its log is known for runs that this program holds,
  /// because only their holder adds to them.
  package func version(of part: StatePart) async -> String? {
    switch part {
    case .everything:
      do throws(DatabaseError) { return try await database.version() } catch { return nil }
    case .run(let id):
      guard let run = held[id], isSure(of: id) else { return nil }
      return "\(run.epoch) \(run.log.number) \(printing.size(ofRun: id))"
    case .log(let id):
      guard held[id] != nil, isSure(of: id) else { return nil }
      return "\(printing.size(ofRun: id))"
    case .workers:
      do throws(StateError) { return try await workers().map(\.version).joined(separator: "\n") } catch { return nil }
    }
  }

  package func run(_ id: String) -> RunRecord? { held[id]?.log.record }
  package func endedRun(_ id: String) -> RunRecord? { held.ended(id) }

  package func close() async throws(StateError) {
    isClosed.store(true, ordering: .relaxed)
    await writer.close()
    await printing.settle()
    await leader.stop()
    await worker?.stop()
    telling.finish()
    await database.close()
  }

  package func size() async -> Int? {
    do throws(DatabaseError) { return try await database.size() } catch { return nil }
  }

  /// Removes what need be kept no longer, and makes room for the weeks and months to come.
  package func tidy(_ retention: Retention) async {
    // Others do it, too, or the next time does.
    try? await database.tidy(retention)
  }

  /// Nothing, because the database keeps its own files.
  package func compact() async throws(StateError) {}

  // MARK: Open state

  package func openRun(_ id: String) async -> RunRecord? {
    if let run = run(id) { return run }
    var needs = StateNeeds()
    needs.runs = [id]
    return await read(needs).runs.first?.record
  }

  package func openRuns(_ query: OpenRunQuery) async -> [RunRecord] {
    let runs = await ask(or: ([], 0)) { [database] () async throws(DatabaseError) in
      try await database.openRuns(query, latest: nil)
    }.runs.map(\.record)
    return query.isOfColumns ? runs : runs.filter(query.matches)
  }

  package func latestOpenRuns(_ query: OpenRunQuery, limit: Int) async -> (runs: [RunRecord], count: Int) {
    guard query.isOfColumns else {
      let runs = await openRuns(query)
      return (runs.suffix(max(0, limit)), runs.count)
    }
    let (runs, count) = await ask(or: ([], 0)) { [database] () async throws(DatabaseError) in
      try await database.openRuns(query, latest: limit)
    }
    return (runs.map(\.record), count)
  }

  package func openRunCounts() async -> [RunStatus: Int] {
    let counts = await ask(or: [:]) { [database] () async throws(DatabaseError) in try await database.openRunCounts() }
    var known: [RunStatus: Int] = [:]
    for (status, count) in counts { if let status = RunStatus(rawValue: status) { known[status] = count } }
    return known
  }

  package func keyed(
    _ key: RunKey, of recipe: String, at instant: Timestamp
  ) async throws(StateError) -> KeyedRun? {
    var needs = StateNeeds()
    do throws(RecordError) { needs.items = [ItemName(.key, try key.digest(of: recipe))] } catch {
      throw StateError(.unavailable, error.message)
    }
    let rows = await read(needs)
    var slice = StateSlice()
    try slice.add(needs, items: rows.items, open: rows.open)
    return try slice.run(ofKey: key, of: recipe, at: instant)
  }

  package func connectionUse(of connection: String) async -> ConnectionUse? {
    await record(ItemName(.connection, connection))
  }

  package func tokens() async -> [TokenIssued] { await records(ItemQuery(.token)) }
  package func sessions() async -> [SessionBegan] { await records(ItemQuery(.session)) }
  package func session(_ sha256: String) async -> SessionBegan? { await record(ItemName(.session, sha256)) }
  package func dismissals() async -> [FailureDismissed] { await records(ItemQuery(.dismissal)) }
  package func linked(_ sha256: String) async -> LinkedQuestion? { await record(ItemName(.link, sha256)) }

  package func linkKey(renewed isRenewed: Bool) async throws(StateError) -> LinkKey {
    // Nearly always there is one, and reading it waits for no other program.
    let known = try await attempt { [database] () async throws(DatabaseError) in try await database.linkKey() }
    let new = LinkKey().text
    var text =
      if let known { known } else {
        try await attempt { [database] () async throws(DatabaseError) in
          try await database.linkKey(new, insteadOf: nil)
        }
      }
    if isRenewed, let renewed = LinkKey(text)?.renewed.text {
      let old = text
      text = try await attempt { [database] () async throws(DatabaseError) in
        try await database.linkKey(renewed, insteadOf: old)
      }
    }
    guard let key = LinkKey(text) else {
      throw StateError(
        .damaged,
        "the database doesn't hold the key of the links; with psql: delete from errand.meta where key = 'linkKey'")
    }
    secrets.learn(key)
    return key
  }

  package func event(_ id: String) async -> EventRecord? { await record(ItemName(.event, id)) }

  package func events(_ query: EventQuery) async -> [EventRecord] {
    var wanted = ItemQuery(.event)
    (wanted.reference, wanted.holder, wanted.isFree) = (query.name, query.consumer, query.isUnconsumed)
    wanted.since = query.since
    return query.answer(await records(wanted))
  }

  package func eventCount() async -> Int { await count(ItemQuery(.event)) }
  package func schedule(_ id: String) async -> ScheduleRecord? { await record(ItemName(.schedule, id)) }
  package func schedules() async -> [ScheduleRecord] { await records(ItemQuery(.schedule)) }
  package func value(named name: String) async -> StoredValue? { await record(ItemName(.value, name)) }
  package func valueCount() async -> Int { await count(ItemQuery(.value)) }

  package func valueNames() async -> [String] {
    await ask(or: []) { [database] () async throws(DatabaseError) in try await database.itemNames(.value) }
  }

  private func count(_ query: ItemQuery) async -> Int {
    await ask(or: 0) { [database] () async throws(DatabaseError) in try await database.itemCount(query) }
  }

  private func record<Kept: Recordable>(_ name: ItemName) async -> Kept? {
    var needs = StateNeeds()
    needs.items = [name]
    return await read(needs).items.first.flatMap { try? Kept(text: $0.text) }
  }

  private func records<Kept: Recordable>(_ query: ItemQuery) async -> [Kept] {
    await ask(or: []) { [database] () async throws(DatabaseError) in try await database.items(query) }
      .compactMap { try? Kept(text: $0.text) }
  }

  private func read(_ needs: StateNeeds) async -> DatabaseRows {
    await ask(or: DatabaseRows()) { [database] () async throws(DatabaseError) in try await database.read(needs) }
  }

  // MARK: The leader of the schedules

  package var scheduling: (any ScheduleSharing)? { self }
  @discardableResult package func seekLead(isWilling: Bool) async -> Bool { await leader.start(isWilling: isWilling) }

  package func append(_ events: [StateEvent], in term: ScheduleTerm) async throws(StateError) -> ScheduleTerm {
    if events.isEmpty { return term }
    try await append(events, within: term)
    return ScheduleTerm(version: term.version &+ 1, isLeading: term.isLeading)
  }

  package func term() async -> ScheduleTerm? {
    let row: LeaderRow? = await ask(or: nil) { [database] () async throws(DatabaseError) in
      try await database.leader()
    }
    return row.map { row in
      ScheduleTerm(version: row.version, isLeading: row.worker != nil && row.worker == held.worker)
    }
  }

  package func openRuns(among runs: Set<String>) async throws(StateError) -> Set<String> {
    try await attempt { [database] () async throws(DatabaseError) in try await database.openRuns(among: runs) }
  }

  package func schedules(following recipes: Set<String>) async throws(StateError) -> [ScheduleRecord] {
    var needs = StateNeeds()
    needs.followed = recipes
    let known = needs
    let items = try await attempt { [database] () async throws(DatabaseError) in try await database.read(known) }.items
    return items.compactMap { try? ScheduleRecord(text: $0.text) }.sorted { $0.id.precedesByScalars($1.id) }
  }

  package func freeEvents() async throws(StateError) -> [FreeEvent] {
    try await attempt { [database] () async throws(DatabaseError) in try await database.freeEvents() }
  }

  package func countFreeEvents(named name: String, since: Timestamp?) async -> Int {
    var wanted = ItemQuery(.event)
    (wanted.reference, wanted.isFree, wanted.since) = (name, true, since)
    return await count(wanted)
  }

  /// How long the leader has for a request, and how often its answer is asked for.
  private static let untilAnswered = TimeSpan.seconds(20)
  private static let answerPauses = (first: TimeSpan.milliseconds(20), last: TimeSpan.milliseconds(500))

  package func carry(_ request: CarriedRequest) async throws(StateError) -> CarriedOutcome {
    let (id, text) = (request.id, try request.storedText)
    let start = time.elapsed()
    var pause = SharedStateStore.answerPauses.first
    func answer() async throws(StateError) -> String? {
      try await attempt { [database] () async throws(DatabaseError) in try await database.answer(to: id) }
    }
    func forget() async throws(StateError) -> Bool {
      try await attempt { [database] () async throws(DatabaseError) in try await database.forgetRequest(id) }
    }
    try await attempt { [database] () async throws(DatabaseError) in try await database.ask(id, text) }
    while true {
      let answered: String?
      do throws(StateError) { answered = try await answer() } catch {
        // The database may be back in a moment.
        answered = nil
      }
      if let answered {
        _ = try? await forget()
        do throws(RecordError) { return .answered(try Value(text: answered)) } catch {
          throw StateError(.damaged, "the answer to the request \(id) can't be read: \(error.message)")
        }
      }
      if time.elapsed() - start >= SharedStateStore.untilAnswered { break }
      do { try await time.sleep(for: pause) } catch { break }
      pause = min(pause + pause, SharedStateStore.answerPauses.last)
    }
    do throws(StateError) { return try await forget() ? .unanswered : .untaken } catch { return .unanswered }
  }

  package func takeRequests() async throws(StateError) -> [CarriedRequest] {
    guard let worker = held.worker else { return [] }
    let texts = try await attempt { [database] () async throws(DatabaseError) in
      try await database.takeRequests(by: WorkerIdentity(id: worker))
    }
    return texts.compactMap { try? CarriedRequest(text: $0) }
  }

  package func answer(_ request: String, with answer: Value) async throws(StateError) {
    let text = try answer.storedText
    try await attempt { [database] () async throws(DatabaseError) in try await database.answer(request, text) }
  }

  package func leaderName() async throws(StateError) -> String? {
    try await attempt { [database] () async throws(DatabaseError) in try await database.leader().name }
  }

  // MARK: History

  package func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary] {
    if query.limit <= 0 { return [] }
    return try await attempt { [database] () async throws(DatabaseError) in try await database.finishedRuns(query) }
  }

  package func finishedRun(_ id: String) async throws(StateError) -> RunRecord? {
    let text = try await attempt { [database] () async throws(DatabaseError) in try await database.finishedRun(id) }
    guard let text else { return nil }
    do throws(RecordError) { return try RunRecord(text: text) } catch {
      throw StateError(.damaged, "the finished run \(id) can't be read: \(error.message)")
    }
  }

  package func runSums(_ query: RunSumQuery) async throws(StateError) -> [RunSum] {
    try await attempt { [database] () async throws(DatabaseError) in try await database.runSums(query) }
  }

  package func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(StateError) -> [String: [RunResult]] {
    if recipes.isEmpty { return [:] }
    return try await attempt { [database] () async throws(DatabaseError) in
      try await database.latestResults(of: recipes, from: instant)
    }
  }

  package func failures(from instant: Timestamp) async throws(StateError) -> [FailureGroup] {
    try await attempt { [database] () async throws(DatabaseError) in try await database.failures(from: instant) }
  }

  package func slots(_ query: SlotQuery) async throws(StateError) -> [SlotRecord] {
    if query.limit <= 0 { return [] }
    return try await attempt { [database] () async throws(DatabaseError) in try await database.slots(query) }
  }

  package func deleteRun(_ id: String) async throws(StateError) -> Bool {
    let isDeleted = try await attempt { [database] () async throws(DatabaseError) in
      try await database.removeFinishedRun(id)
    }
    if isDeleted { held.forget(id) }
    return isDeleted
  }

  // MARK: Large values

  package func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference {
    let reference = BlobReference(sha256: try sha256(bytes), size: bytes.count)
    try await attempt { [database] () async throws(DatabaseError) in try await database.putBlob(reference, bytes) }
    return reference
  }

  package func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8] {
    let bytes = try await attempt { [database] () async throws(DatabaseError) in try await database.blob(reference) }
    guard let bytes else { throw StateError(.damaged, "there is no blob \(reference.sha256)") }
    guard try sha256(bytes) == reference.sha256 else {
      throw StateError(.damaged, "the blob \(reference.sha256) isn't what was kept")
    }
    return bytes
  }

  // MARK: Program output

  package func keepPrinted(
    _ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void
  ) {
    printing.keep(lines, ofRun: id, orElse: fail)
  }

  package func printed(ofRun id: String, at point: PrintedPoint) async throws(StateError) -> PrintedChunk {
    await printing.settle()
    return try await attempt { [database] () async throws(DatabaseError) in
      try await database.lines(ofRun: id, at: point)
    }
  }

  package func removeLog(ofRun id: String) async throws(StateError) {
    await printing.settle()
    try await attempt { [database] () async throws(DatabaseError) in try await database.removeLines(ofRun: id) }
  }

  // MARK: Asking

  private static let pause = TimeSpan.seconds(1)
  /// How long a request waits for a database that is away.
  private static let longestReach = TimeSpan.seconds(10)

  /// Asks until the database answers, because the caller can't do without; nothing is found once the store is closed.
  private func ask<Answer: Sendable>(
    or nothing: Answer, _ body: @Sendable () async throws(DatabaseError) -> Answer
  ) async -> Answer {
    var isTold = false
    while !isClosed.load(ordering: .relaxed) {
      do throws(DatabaseError) { return try await body() } catch {
        if !isTold { observer.withLock { $0 }?.tell(StateError(error)) }
        isTold = true
        await time.pause(for: SharedStateStore.pause)
      }
    }
    return nothing
  }

  package func reach() async throws(StateError) {
    let start = time.elapsed()
    while true {
      do throws(DatabaseError) { return try await worker?.readClock() ?? () } catch {
        if case .unusable = error { throw StateError(error) }
        if time.elapsed() - start >= SharedStateStore.longestReach { throw StateError(error) }
        await time.pause(for: SharedStateStore.pause)
      }
    }
  }

  private func attempt<Answer: Sendable>(
    _ body: @Sendable () async throws(DatabaseError) -> Answer
  ) async throws(StateError) -> Answer {
    do throws(DatabaseError) { return try await body() } catch { throw StateError(error) }
  }
}
