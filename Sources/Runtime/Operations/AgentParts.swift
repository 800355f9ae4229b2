package import Agent
import Basics
import Recipes
package import RunState
import Runs
import Synchronization

/// Serves an agent's callers, in its own process or on the socket.
///
/// `perform` runs its operations. Everything that an answer reports about a run or a schedule is already on
/// disk.
package struct AgentParts: Sendable {
  let host: RunHost
  package let store: any StateStore
  let time: any TimeSource
  package let agent: AgentStatus
  /// Nil where there are no schedules, as in a sandbox.
  let schedules: ScheduleHost?
  let explain: ServedRecipes.Explainer?
  /// The clock of the people who read explanations of schedules; UTC if nil.
  let clock: (@Sendable (Timestamp) -> WallClock)?
  /// Nil where no plans are made.
  let planner: ServedRecipes.Planner?
  let plans = PlanCache()
  /// Nil where there are no connections.
  let survey: ServedRecipes.Survey?
  /// Nil where recipes aren't read.
  var served: ServedRecipes?
  /// Nil where no files are edited.
  var editor: FileEditor?
  /// The browsers that are logged in.
  package let sessions: SessionTable
  /// The requests to read the configuration again.
  package let reloading = Reloading()
  /// Distinguishes what this agent answers from the answers of the agent before a restart, and can't be guessed.
  let nonce = [UInt8].random(16).hexadecimal

  /// Refuses while a shared state can't be reached.
  func reach() async throws(RequestRefusedError) {
    guard let sharing = store.sharing else { return }
    do throws(StateError) { try await sharing.reach() } catch {
      throw RequestRefusedError(.state, "the state's database is away: \(error.message)")
    }
  }

  // MARK: Running

  /// The run with that id, if the state has it.
  func keptRun(_ id: String) async throws(RequestRefusedError) -> RunRecord? {
    try await kept { () async throws(StateError) in try await store.keptRun(id) }
  }

  /// Records a run, after the secrets are known that the state must not hold; returns the run that has its key
  /// already, in which case nothing is recorded.
  func accept(
    _ run: RunCreated, reading secrets: [String]
  ) async throws(RequestRefusedError) -> RunRecord? {
    var run = run
    if agent.isSandbox { run.sandbox = true }
    let now = time.now()
    // A client dates a run by the clock of its own machine, which may be wrong.
    if store.sharing != nil, run.at.span(since: now).map({ $0.magnitude > CorrectedTime.mostApart }) ?? true {
      run.at = now
    }
    await store.secrets.learn(named: secrets)
    if let known = try await holder(ofKeyOf: run) { return known }
    do throws(StateError) {
      if case .inline(let texts) = run.texts { run.texts = try await store.keep(texts) }
      try await host.create(run)
      return nil
    } catch {
      // Another caller with the same key was faster.
      if error.isConflict, let known = try await holder(ofKeyOf: run) { return known }
      throw RequestRefusedError(error)
    }
  }

  // MARK: Keys

  func runKey(_ text: String?, of caller: AgentCaller) throws(RequestRefusedError) -> RunKey? {
    guard let text else { return nil }
    if let fault = RunKey.fault(of: text) { throw RequestRefusedError(.request, fault) }
    return RunKey(text, caller: caller.account)
  }

  /// The key of a request other than a start, with a digest of the request, to tell another one from it.
  func runKey(
    _ text: String?, of caller: AgentCaller, for request: [Value]
  ) throws(RequestRefusedError) -> RunKey? {
    guard var key = try runKey(text, of: caller) else { return nil }
    do throws(StateError) {
      key.request = SHA256.digest(of: Array(JSON.displayed(try store.secrets.masked(.list(request))).utf8))
    } catch {
      throw RequestRefusedError(error)
    }
    return key
  }

  /// The run that has the key of a request other than a start; refused unless that was the same request.
  func holder(of key: RunKey, recipe: String) async throws(RequestRefusedError) -> RunRecord? {
    let found = try await kept { () async throws(StateError) in
      try await store.keyed(key, of: recipe, at: time.now())
    }
    guard let found else { return nil }
    try check(found, nil, against: key)
    guard let record = try await keptRun(found.run), record.erasedAt == nil else {
      throw RequestRefusedError(
        .ended,
        "the key '\(store.secrets.finder.redact(key.key))' belongs to a run that waits or whose data was deleted; use another key"
      )
    }
    try check(found, record.origin.key, against: key)
    return record
  }

  /// Refuses a key that was used for another request.
  ///
  /// - Parameter known: The key as its run has it; nil if the run hasn't been looked at.
  private func check(_ keyed: KeyedRun, _ known: RunKey?, against key: RunKey) throws(RequestRefusedError) {
    guard keyed.settled != nil || known.map({ $0.request != key.request }) == true else { return }
    throw RequestRefusedError(.usedKey, keyed.isTaken(store.secrets.finder.redact(key.key)))
  }

  /// The run that has the key of a new run; refused unless both have the same inputs.
  func holder(ofKeyOf run: RunCreated) async throws(RequestRefusedError) -> RunRecord? {
    guard let key = run.key else { return nil }
    let (found, inputs, overrides) = try await kept { () async throws(StateError) in
      let keyed = try await store.keyed(key, of: run.recipe, at: time.now())
      return (
        keyed, try store.secrets.masked(run.inputs),
        try store.secrets.masked(.map(ValueMap(run.overrides.map { ($0.key, $0.value) })))
      )
    }
    guard let found else { return nil }
    try check(found, nil, against: key)
    let id = found.run
    let displayed = store.secrets.finder.redact(key.key)
    guard let record = try await keptRun(id), record.erasedAt == nil else {
      throw RequestRefusedError(
        .ended,
        "the key '\(displayed)' belongs to the run \(id), whose data was deleted; use another key for a new run")
    }
    try check(found, record.origin.key, against: key)
    let others =
      inputs.namesOfDifferences(to: record.origin.inputs)
      + overrides.namesOfDifferences(to: .map(ValueMap(record.origin.overrides.map { ($0.key, $0.value) })))
    guard others.isEmpty else {
      let names = others.map { "'\($0)'" }.joined(separator: ", ")
      throw RequestRefusedError(
        .usedKey,
        "the key '\(displayed)' belongs to the run \(id), which has other values of \(names); use another key for a new run"
      )
    }
    return record
  }

  /// The run that has a key; its inputs may differ from those of the request.
  func run(ofKey key: RunKey, of recipe: String) async throws(RequestRefusedError) -> RunRecord? {
    let keyed = try await kept { () async throws(StateError) in
      try await store.keyed(key, of: recipe, at: time.now())
    }
    guard let keyed else { return nil }
    return try await keptRun(keyed.run)
  }

  /// Whether an agent continues the run after its caller has left: this one, or another one that shares the state.
  package func isContinued(_ run: String) async -> Bool {
    if agent.isServing { return true }
    guard let place = try? await store.sharing?.place(of: run) else { return false }
    return place.hasWorker
  }

  /// Continues a run whose caller left; an agent that does not serve leaves it in the state.
  func continueIfServing(_ run: String) async throws(RequestRefusedError) {
    guard agent.isServing, store.run(run) != nil else { return }
    do throws(RunRefusedError) { try await host.continueRun(run) } catch {
      throw RequestRefusedError(error)
    }
  }

  /// The inputs of a request.
  func given(_ inputs: ValueMap, _ texts: [String: String]) -> [(name: String, input: GivenInput)] {
    let request = Source(name: "inputs", text: "")
    var given = inputs.members.compactMap { member in
      // A text that begins like the name of a secret is one only where a secret is wanted.
      member.name.map { (name: $0, input: GivenInput.value(member.value, request)) }
    }
    for (name, text) in texts.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      given.append((name, GivenInput(secretNamedBy: text) ?? .text(text)))
    }
    return given
  }

  /// Records a run and runs it.
  func begin(_ run: RunCreated, reading secrets: [String]) async throws(RequestRefusedError) -> AcceptedRun {
    if let known = try await accept(run, reading: secrets) {
      return AcceptedRun(run: known.id, isServing: await isContinued(known.id), known: known.status)
    }
    // The run is on disk; the reason why it cannot continue is recorded with it.
    do throws(RequestRefusedError) { try await continueIfServing(run.run) } catch {}
    return AcceptedRun(run: run.run, isServing: await isContinued(run.run))
  }

  func continueRun(
    _ run: String, isAsked: Bool = false, _ events: any RunEvents
  ) async throws(RequestRefusedError) {
    let isLeft: Bool
    // A client that reads slowly isn't sent what the run's log has too.
    let missed = Mutex(0)
    do throws(RunRefusedError) {
      isLeft =
        try await host.run(run, isAsked: isAsked) { update in
          if case .progress(.printed(let printed)) = update, events.isBehind {
            return missed.withLock { $0 += printed.lineCount }
          }
          let count = missed.withLock { missed in
            defer { missed = 0 }
            return missed
          }
          if count > 0 { events.tell(.progress(.missed(count))) }
          events.tell(update.event)
        } != nil
    } catch {
      throw RequestRefusedError(error)
    }
    if isLeft { return try await events.tell(stored(run), isEnd: true) }
    if let failure = await host.failure { throw RequestRefusedError(failure) }
    // Another program has taken it over.
    if store.sharing != nil, await !host.isEnding { try await follow(run, withSnapshot: false, events) }
  }

  /// Resumes an open run for a caller that doesn't follow it.
  func resumeAlone(_ id: String) async throws(RequestRefusedError) -> AcceptedRun {
    guard await store.openRun(id) != nil else { throw RequestRefusedError(.ended, "the run \(id) has ended") }
    do throws(RunRefusedError) { try await host.resume(id) } catch {
      throw RequestRefusedError(error)
    }
    return AcceptedRun(run: id, isServing: await isContinued(id))
  }

  /// Resumes a run, or reports its end, which may have come since the caller last heard of the run.
  func resume(_ id: String, _ events: any RunEvents) async throws(RequestRefusedError) {
    if await store.openRun(id) != nil {
      do throws(RequestRefusedError) {
        guard try await isTaken(id) else { return try await follow(id, withSnapshot: false, events) }
        return try await continueRun(id, isAsked: true, events)
      } catch {
        if await store.openRun(id) != nil { throw error }
      }
    }
    try await events.tell(stored(id), isEnd: true)
  }

  /// Claims an open run; false if it is running already.
  private func isTaken(_ id: String) async throws(RequestRefusedError) -> Bool {
    do throws(RunRefusedError) { return try await host.take(id) } catch {
      throw RequestRefusedError(error)
    }
  }

  /// Follows a run to its end; of a run that has ended, only the end is reported.
  func follow(
    _ id: String, withSnapshot: Bool, _ events: any RunEvents
  ) async throws(RequestRefusedError) {
    var withSnapshot = withSnapshot
    while await store.openRun(id) != nil {
      let isHere = store.run(id) != nil
      let updates = isHere ? await host.follow(id) : .none
      // Taken after the following began, so that nothing is missed in between.
      if withSnapshot { try await events.tell(stored(id), isEnd: false) }
      withSnapshot = false
      if isHere {
        for await update in updates {
          if case .left = update { continue }
          await events.tellInTurn(update.event)
        }
      } else {
        var elsewhere = RunElsewhere(id, store, time: time)
        await elsewhere.follow { await events.tellInTurn($0.event) }
      }
      guard !Task.isCancelled else { return }
      // Another program may have taken it over, or this one.
      guard store.sharing != nil, let run = await store.openRun(id), !run.isParked, await !host.isEnding else { break }
    }
    try await events.tell(stored(id), isEnd: true)
  }

  // MARK: What the state has

  func stored(_ id: String) -> StoredRun { StoredRun(id: id, store: store) }

  /// Calls the store, and turns its errors into refusals.
  func kept<Output>(_ body: () async throws(StateError) -> Output) async throws(RequestRefusedError) -> Output {
    do throws(StateError) { return try await body() } catch { throw RequestRefusedError(error) }
  }

  /// A large value that the state keeps in a file.
  func value(of blob: BlobReference) async throws(RequestRefusedError) -> Value {
    try await kept { () async throws(StateError) in try await store.value(.blob(blob)) }
  }

  /// The schedules, for a request that steers one.
  func steered() throws(RequestRefusedError) -> ScheduleHost {
    guard let schedules else { throw RequestRefusedError(.request, "there are no schedules here") }
    return schedules
  }

  func newID() -> String {
    var random = SystemRandomNumberGenerator()
    return UUID7(at: time.now(), using: &random).description
  }

  /// Takes in deliveries to webhooks; nil where no recipes are served.
  package var webhooks: WebhookInbox? { schedules?.webhooks }

  /// Takes in forms that are sent; nil where no recipes are served.
  package var forms: FormInbox? { schedules?.forms }

  /// Takes in a form that a person sent, durably.
  package func receive(_ sent: FormInbox.Sent, to entry: FormInbox.Entry) async -> FormInbox.Answer {
    await schedules?.receive(sent, to: entry) ?? .unavailable
  }

  /// Takes in a delivery to the address of a webhook, durably.
  package func receive(_ delivery: Delivery, at path: String) async -> WebhookInbox.Answer {
    await schedules?.receive(delivery, at: path) ?? .unknownPath
  }

  /// Whether a program decides on the schedules of a shared state, as far as that can be read.
  var hasLeader: Bool? {
    get async {
      guard let sharing = store.scheduling else { return nil }
      if await schedules?.isLeading == true { return true }
      do throws(StateError) { return try await sharing.leaderName() != nil } catch { return nil }
    }
  }

  /// Whether a program decides when slots are due.
  var isDeciding: Bool { get async { await hasLeader ?? agent.isServing } }
}

extension Value {
  /// The names of the members that the two maps don't share with the same value.
  func namesOfDifferences(to other: Value) -> [String] {
    var names: [String] = []
    for member in map?.members ?? [] {
      if let name = member.name, other[name] != member.value { names.append(name) }
    }
    for member in other.map?.members ?? [] {
      if let name = member.name, self[name] == nil { names.append(name) }
    }
    return names
  }
}

extension RunUpdate {
  // Not inlined, so that no stream has room for a record as long as it lives.
  @inline(never)
  fileprivate var event: RunEvent {
    switch self {
    case .progress(let progress): .progress(progress)
    case .waits(let record), .left(let record): .waits(RunWait(of: record))
    }
  }
}
