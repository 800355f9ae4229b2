package import Agent
import Basics
import Recipes
import RunState
import Runs
import Synchronization

/// Serves an agent's callers, in its own process or on the socket.
///
/// `AgentVerb.all` documents each request. Everything that an answer reports about a run or a schedule is already on
/// disk.
package struct AgentParts: Sendable {
  let host: RunHost
  let store: any StateStore
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
  var findInput: ServedRecipes.InputFinder?
  /// The browsers that are logged in.
  package let sessions = SessionTable()

  /// Answers a request; all answers have been sent when this returns.
  package func handle(_ request: AgentRequest, from caller: AgentCaller, to replies: any AgentReplies) async {
    if let sharing = store.sharing {
      do throws(StateError) { try await sharing.reach() } catch {
        return replies.give(.refused(RequestRefusedError(.state, "the state's database is away: \(error.message)")))
      }
    }
    switch request {
    case .follow, .watch: await stream(request, to: replies)
    default: await answer(request, from: caller, to: replies)
    }
  }

  /// Answers a request whose answers come for long.
  ///
  /// Apart from the others, whose room together is 20 KB: as much would be held by each stream.
  private func stream(_ request: AgentRequest, to replies: any AgentReplies) async {
    switch request {
    case .follow(let run, let withSnapshot):
      do throws(RequestRefusedError) {
        try await follow(try await find(run).id, withSnapshot: withSnapshot, replies)
      } catch {
        replies.give(.refused(error))
      }
    case .watch: for await notice in host.watch() { await replies.giveInTurn(.notice(notice)) }
    default: break
    }
  }

  private func answer(_ request: AgentRequest, from caller: AgentCaller, to replies: any AgentReplies) async {
    do throws(RequestRefusedError) {
      if request.isForLeader, let answer = try await schedules?.carried(request, from: caller) {
        return await replies.giveInTurn(answer)
      }
      switch request {
      case .submit(var run, let secrets, let isDetached, let isAgain, let key):
        run.key = try runKey(key, of: caller)
        run.cause = caller.asking(run.cause)
        try await submit(run, secrets, isDetached: isDetached, isAgain: isAgain, replies)
      case .start(let recipe, let inputs, let texts, let key, let plan, let assistant):
        let cause = caller.asking(RunCause(.manual), through: assistant)
        replies.give(
          try await start(recipe, given(inputs, texts), try runKey(key, of: caller), cause, asPlanned: plan))
      case .plan(let recipe, let inputs, let texts, let plan):
        await replies.giveInTurn(.plan(try await self.plan(recipe, given(inputs, texts), likePlan: plan)))
      case .showPlan(let digest): await replies.giveInTurn(.plan(try planned(digest).plan))
      case .resume(let run, let isDetached):
        let id = try await find(run).id
        if isDetached { replies.give(try await resumeAlone(id)) } else { try await resume(id, replies) }
      // These are streams.
      case .follow, .watch: break
      case .pause(let run, let reason): replies.give(try await pause(run, reason, caller))
      case .cancel(let run, let reason, let key): replies.give(try await cancel(run, reason, key, caller))
      case .delete(let run): replies.give(try await delete(run))
      case .retry(let run, let step, let output, let key):
        replies.give(try await retry(run, step, output, key, caller))
      case .resolve(let run, let step, let resolution, let key):
        replies.give(try await resolve(run, step, resolution, key, caller))
      case .decide(let run, let step, let isApproved, let comment, let key):
        replies.give(try await decide(run, step, isApproved, comment, key, caller))
      case .signal(let event): replies.give(try await signal(event))
      case .runs(let query): await replies.giveInTurn(try await runs(query))
      case .approvals(let limit, let after): await replies.giveInTurn(await approvals(limit, after, for: caller))
      case .find(let run):
        let found = try await find(run)
        replies.give(.found(found, open: await store.openRun(found.id)?.listed))
      case .show(let run): try await replies.give(stored(try await find(run).id), isEnd: false)
      case .steps(let run, let limit, let from): replies.give(try await steps(run, limit, from))
      case .explain(let run, let isAlone): replies.give(try await explanation(of: run, isAlone))
      case .explainSchedule(let id, let at, let isAlone, let withData):
        replies.give(try await explanation(ofSchedule: id, at: at, isAlone: isAlone, withData: withData))
      case .recipes: await replies.giveInTurn(.recipes(try await steered().servedRecipes()))
      case .recipe(let name): await replies.giveInTurn(.recipe(try await steered().servedRecipe(named: name)))
      case .tools(let patterns):
        await replies.giveInTurn(.tools(try await steered().tools(patterns)))
      case .check(let text, let file): await replies.giveInTurn(.value(try await check(text, file)))
      case .actions: await replies.giveInTurn(.value(try await actions()))
      case .value(let blob): try await replies.give(blob, from: store)
      case .logs(let run, let step, let from): await replies.giveInTurn(try await logs(run, step, from))
      case .why(let question): await replies.giveInTurn(try await facts(question))
      case .schedules: await replies.giveInTurn(try await listSchedules())
      case .slots(let query):
        await replies.giveInTurn(.slots(try await slots(query)))
      case .upcoming(let query): replies.give(.upcoming(try await steered().upcoming(query)))
      case .pauseSchedule(let id, let note): replies.give(.slots(try await steered().pause(id, note: note)))
      case .resumeSchedule(let id): replies.give(.slots(try await steered().resume(id)))
      case .resetSchedule(let id): replies.give(.slots(try await steered().reset(id)))
      case .trigger(let id, let overlap, let inputs, let texts, let key):
        let given = given(inputs, texts)
        let named = texts.sorted { $0.key.precedesByScalars($1.key) }.map { ($0.key, Value.string($0.value)) }
        let key = try runKey(
          key, of: caller,
          for: [.string("trigger"), .string(id), .string(overlap?.rawValue ?? ""), .map(inputs), .map(ValueMap(named))])
        replies.give(
          .slots(
            try await steered().trigger(
              id, overlap: overlap, given: given, key: key, as: caller.asking(RunCause(.trigger)))))
      case .backfill(let id, let from, let to, let overlap, let isDry):
        await replies.giveInTurn(try await backfill(id, from, to, overlap, isDry: isDry, caller))
      case .issueToken(let token): replies.give(try await issue(token))
      case .revokeToken(let name): replies.give(try await revoke(tokenNamed: name))
      case .tokens: await replies.giveInTurn(.tokens(await store.tokens()))
      case .workers: await replies.giveInTurn(.workers(try await workers()))
      case .drainWorker(let name, let isUndone): replies.give(try await drain(name, isUndone: isUndone))
      case .evictWorker(let name, let isForced): replies.give(try await evict(name, isForced: isForced))
      case .issueLink:
        guard let base = sessions.base else {
          throw RequestRefusedError(
            .notServing,
            "the agent listens on no address; add to errand.yaml: server: { listen: 127.0.0.1:7373 }, then start errand serve again"
          )
        }
        replies.give(.link("\(base)/login?link=\(sessions.makeLink(for: .account(caller), at: time.now()))"))
      case .connections:
        let (connections, secrets) = await survey?() ?? ([], [])
        await replies.giveInTurn(.connections(connections, secrets: secrets))
      case .status: replies.give(.status(await report(for: caller)))
      case .yield: try await yield(replies)
      }
    } catch {
      replies.give(.refused(error.shown(to: caller)))
    }
  }

  // MARK: Running

  private func submit(
    _ run: RunCreated, _ secrets: [String], isDetached: Bool, isAgain: Bool, _ replies: any AgentReplies
  ) async throws(RequestRefusedError) {
    // The agent before this one may have accepted it and ended before it answered.
    let isKept = isAgain ? try await keptRun(run.run) != nil : false
    if !isKept, let known = try await accept(run, reading: secrets) {
      replies.give(.accepted(run: known.id, isServing: await isCarriedOn(known.id), known: known.status))
      if isDetached { return }
      if store.run(known.id) != nil { return try await carryOn(known.id, replies) }
      return try await follow(known.id, withSnapshot: false, replies)
    }
    replies.give(.accepted(run: run.run, isServing: await isCarriedOn(run.run)))
    if isDetached { return try await carryOnIfServing(run.run) }
    if isAgain { return try await resume(run.run, replies) }
    // Another program may have to run it.
    if store.run(run.run) == nil { return try await follow(run.run, withSnapshot: false, replies) }
    try await carryOn(run.run, replies)
  }

  /// The run with that id, if the state has it.
  private func keptRun(_ id: String) async throws(RequestRefusedError) -> RunRecord? {
    try await kept { () async throws(StateError) in try await store.keptRun(id) }
  }

  /// Records a run, after the secrets are known that the state must not hold; returns the run that has its key
  /// already, in which case nothing is recorded.
  private func accept(
    _ run: RunCreated, reading secrets: [String]
  ) async throws(RequestRefusedError) -> RunRecord? {
    var run = run
    if agent.isSandbox { run.sandbox = true }
    let now = time.now()
    // The clock of this machine may be off, by which a client has dated it.
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

  /// The key of a request other than a start, of which the key remembers what it asked for.
  func runKey(
    _ text: String?, of caller: AgentCaller, for request: [Value]
  ) throws(RequestRefusedError) -> RunKey? {
    guard var key = try runKey(text, of: caller) else { return nil }
    do throws(StateError) {
      key.request = SHA256.digest(of: Array(JSON.shown(try store.secrets.masked(.list(request))).utf8))
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
    let shown = store.secrets.finder.redact(key.key)
    guard let record = try await keptRun(id), record.erasedAt == nil else {
      throw RequestRefusedError(
        .ended,
        "the key '\(shown)' belongs to the run \(id), whose data was deleted; use another key for a new run")
    }
    try check(found, record.origin.key, against: key)
    let others =
      inputs.namesOfDifferences(to: record.origin.inputs)
      + overrides.namesOfDifferences(to: .map(ValueMap(record.origin.overrides.map { ($0.key, $0.value) })))
    guard others.isEmpty else {
      let names = others.map { "'\($0)'" }.joined(separator: ", ")
      throw RequestRefusedError(
        .usedKey,
        "the key '\(shown)' belongs to the run \(id), which has other values of \(names); use another key for a new run"
      )
    }
    return record
  }

  /// The run that has a key, whatever its inputs.
  func run(ofKey key: RunKey, of recipe: String) async throws(RequestRefusedError) -> RunRecord? {
    let keyed = try await kept { () async throws(StateError) in
      try await store.keyed(key, of: recipe, at: time.now())
    }
    guard let keyed else { return nil }
    return try await keptRun(keyed.run)
  }

  /// Whether an agent continues the run after its caller has left: this one, or another one that shares the state.
  package func isCarriedOn(_ run: String) async -> Bool {
    if agent.isServing { return true }
    guard let place = try? await store.sharing?.place(of: run) else { return false }
    return place.hasWorker
  }

  /// Continues a run whose caller left; an agent that does not serve leaves it in the state.
  private func carryOnIfServing(_ run: String) async throws(RequestRefusedError) {
    guard agent.isServing, store.run(run) != nil else { return }
    do throws(RunRefusedError) { try await host.carryOn(run) } catch {
      throw RequestRefusedError(error)
    }
  }

  /// The inputs of a request.
  private func given(_ inputs: ValueMap, _ texts: [String: String]) -> [(name: String, input: GivenInput)] {
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

  /// Starts a run of a recipe that is served.
  private func start(
    _ name: String, _ given: [(name: String, input: GivenInput)], _ key: RunKey?, _ cause: RunCause,
    asPlanned plan: String?
  ) async throws(RequestRefusedError) -> AgentReply {
    if let plan { return try await start(name, given, key, cause, asPlanned: plan) }
    var prepared = try await steered().startingRun(of: name, given: given, as: newID())
    prepared.run.key = key
    prepared.run.cause = cause
    return try await begin(prepared.run, reading: prepared.secrets)
  }

  /// Records a run and runs it.
  func begin(_ run: RunCreated, reading secrets: [String]) async throws(RequestRefusedError) -> AgentReply {
    if let known = try await accept(run, reading: secrets) {
      return .accepted(run: known.id, isServing: await isCarriedOn(known.id), known: known.status)
    }
    // The run is on disk; the reason why it cannot continue is recorded with it.
    do throws(RequestRefusedError) { try await carryOnIfServing(run.run) } catch {}
    return .accepted(run: run.run, isServing: await isCarriedOn(run.run))
  }

  private func carryOn(
    _ run: String, isAsked: Bool = false, _ replies: any AgentReplies
  ) async throws(RequestRefusedError) {
    let isLeft: Bool
    // A client that reads slowly isn't sent what the run's log has too.
    let missed = Mutex(0)
    do throws(RunRefusedError) {
      isLeft =
        try await host.run(run, isAsked: isAsked) { update in
          if case .progress(.printed(let printed)) = update, replies.isBehind {
            return missed.withLock { $0 += printed.lineCount }
          }
          let count = missed.withLock { missed in
            defer { missed = 0 }
            return missed
          }
          if count > 0 { replies.give(.progress(.missed(count))) }
          replies.give(update.reply)
        } != nil
    } catch {
      throw RequestRefusedError(error)
    }
    if isLeft { return try await replies.give(stored(run), isEnd: true) }
    if let failure = await host.failure { throw RequestRefusedError(failure) }
    // Another program has taken it over.
    if store.sharing != nil, await !host.isEnding { try await follow(run, withSnapshot: false, replies) }
  }

  /// Resumes an open run for a caller that doesn't follow it.
  private func resumeAlone(_ id: String) async throws(RequestRefusedError) -> AgentReply {
    guard await store.openRun(id) != nil else { throw RequestRefusedError(.ended, "the run \(id) has ended") }
    do throws(RunRefusedError) { try await host.resume(id) } catch {
      throw RequestRefusedError(error)
    }
    return .accepted(run: id, isServing: await isCarriedOn(id))
  }

  /// Resumes a run, or reports its end, which may have come since the caller last heard of the run.
  private func resume(_ id: String, _ replies: any AgentReplies) async throws(RequestRefusedError) {
    if await store.openRun(id) != nil {
      do throws(RequestRefusedError) {
        guard try await isTaken(id) else { return try await follow(id, withSnapshot: false, replies) }
        return try await carryOn(id, isAsked: true, replies)
      } catch {
        if await store.openRun(id) != nil { throw error }
      }
    }
    try await replies.give(stored(id), isEnd: true)
  }

  /// Claims an open run; false if it is running already.
  private func isTaken(_ id: String) async throws(RequestRefusedError) -> Bool {
    do throws(RunRefusedError) { return try await host.take(id) } catch {
      throw RequestRefusedError(error)
    }
  }

  /// Follows a run to its end; of a run that has ended, only the end is reported.
  private func follow(
    _ id: String, withSnapshot: Bool, _ replies: any AgentReplies
  ) async throws(RequestRefusedError) {
    var withSnapshot = withSnapshot
    while await store.openRun(id) != nil {
      let isHere = store.run(id) != nil
      let updates = isHere ? await host.follow(id) : .none
      // Taken after the following began, so that nothing is missed in between.
      if withSnapshot { try await replies.give(stored(id), isEnd: false) }
      withSnapshot = false
      if isHere {
        for await update in updates {
          if case .left = update { continue }
          await replies.giveInTurn(update.reply)
        }
      } else {
        var elsewhere = RunElsewhere(id, store, time: time)
        await elsewhere.follow { await replies.giveInTurn($0.reply) }
      }
      guard !Task.isCancelled else { return }
      // Another program may have taken it over, or this one.
      guard store.sharing != nil, let run = await store.openRun(id), !run.isParked, await !host.isEnding else { break }
    }
    try await replies.give(stored(id), isEnd: true)
  }

  /// Hands the folder over to `errand serve`; an agent that already serves refuses.
  private func yield(_ replies: any AgentReplies) async throws(RequestRefusedError) {
    guard !agent.isServing else {
      let stop = ServiceUnit.own?.stop ?? "kill \(agent.pid)"
      throw RequestRefusedError(
        .serving,
        "process \(agent.pid) serves '\(agent.folder)' already; see what it does with: errand runs; stop it with: \(stop)"
      )
    }
    replies.give(.yielded)
    await host.handOver()
  }

  // MARK: Tokens

  private func issue(_ token: TokenIssued) async throws(RequestRefusedError) -> AgentReply {
    if let fault = TokenIssued.fault(ofName: token.name) { throw RequestRefusedError(.request, fault) }
    do throws(StateError) { try await store.append(.tokenIssued(token)) } catch {
      guard error.isConflict else { throw RequestRefusedError(error) }
      throw RequestRefusedError(
        .conflict, "there is a token '\(token.name)' already; revoke it first: errand token revoke \(token.name)")
    }
    return .tokens(await store.tokens())
  }

  private func revoke(tokenNamed name: String) async throws(RequestRefusedError) -> AgentReply {
    do throws(StateError) { try await store.append(.tokenRevoked(TokenRevoked(at: time.now(), name: name))) } catch {
      guard error.isConflict else { throw RequestRefusedError(error) }
      throw RequestRefusedError(.notFound, "there is no token '\(name)'; see: errand token list")
    }
    return .tokens(await store.tokens())
  }

  // MARK: What the state has

  func stored(_ id: String) -> StoredRun { StoredRun(id: id, store: store) }

  /// Calls the store, and turns its errors into refusals.
  func kept<Output>(_ body: () async throws(StateError) -> Output) async throws(RequestRefusedError) -> Output {
    do throws(StateError) { return try await body() } catch { throw RequestRefusedError(error) }
  }

  /// The schedules, for a request that steers one.
  func steered() throws(RequestRefusedError) -> ScheduleHost {
    guard let schedules else { throw RequestRefusedError(.request, "there are no schedules here") }
    return schedules
  }

  private func backfill(
    _ id: String, _ from: Timestamp, _ to: Timestamp, _ overlap: Trigger.Overlap?, isDry: Bool, _ caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReply {
    guard from < to else {
      throw RequestRefusedError(.request, "a backfill needs an instant 'from' and a later one 'to'")
    }
    let schedules = try steered()
    let (slots, rest) = try await schedules.slotsToBackfill(id, from: from, to: to)
    if isDry { return .dueSlots(slots, hasMore: rest != nil) }
    if let rest {
      throw RequestRefusedError(
        .request,
        "'\(id)' has more than \(slots.count) slots without a run from \(from) until before \(to); backfill them in parts, this one with 'to' \(rest)"
      )
    }
    return .slots(
      try await schedules.backfill(id, slots, overlap: overlap, as: caller.asking(RunCause(.backfill))))
  }

  func newID() -> String {
    var random = SystemRandomNumberGenerator()
    return UUID7(at: time.now(), using: &random).description
  }

  /// Takes in what is posted to webhooks; nil where no recipes are served.
  package var webhooks: WebhookInbox? { schedules?.webhooks }

  /// Takes in a delivery to the address of a webhook, durably.
  package func receive(_ delivery: Delivery, at path: String) async -> WebhookInbox.Answer {
    await schedules?.receive(delivery, at: path) ?? .unknownPath
  }

  /// Whether a program decides on the schedules of a shared state, as far as that can be read.
  private var hasLeader: Bool? {
    get async {
      guard let sharing = store.scheduling else { return nil }
      if await schedules?.isLeading == true { return true }
      do throws(StateError) { return try await sharing.leaderName() != nil } catch { return nil }
    }
  }

  /// Whether a program decides when slots are due.
  var isDeciding: Bool { get async { await hasLeader ?? agent.isServing } }

  /// What the agent has to do, as far as the caller sees it.
  private func report(for caller: AgentCaller) async -> AgentReport {
    var runs: [String: Int] = [:]
    if caller.recipes.isEmpty {
      for (status, count) in await store.openRunCounts() { runs[status.rawValue] = count }
    } else {
      for recipe in caller.recipes {
        for run in await store.openRuns(OpenRunQuery(recipe: recipe)) { runs[run.status.rawValue, default: 0] += 1 }
      }
    }
    var report = AgentReport(of: agent, runs: runs)
    report.hasLeader = await hasLeader
    if !caller.recipes.isEmpty { (report.pid, report.folder, report.database) = (0, "", nil) }
    if let schedules, agent.isServing, caller.recipes.isEmpty {
      report.served = AgentReport.Served(
        recipes: await schedules.recipes.count, schedules: await schedules.count, nextSlot: await schedules.nextDue,
        faults: await schedules.faults.map { Diagnostics([$0]).rendered() } + schedules.webhooks.faults,
        zone: await schedules.zone)
    }
    return report
  }
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

extension AgentParts {
  /// Serves a request that is a line of JSON.
  package func handle(_ line: RequestLine) async {
    let replies = SocketReplies(to: line, hiding: store.secrets) { newID() }
    do throws(RequestRefusedError) {
      await handle(try AgentRequest(reading: line.value), from: line.caller, to: replies)
    } catch {
      replies.give(.refused(error))
    }
  }

  /// Serves a request that was read from a line.
  ///
  /// - Parameter sees: Whether the caller sees what belongs to a recipe, in lists of all.
  package func handle(
    _ request: AgentRequest, to line: RequestLine, sees: @escaping @Sendable (_ recipe: String) -> Bool
  ) async {
    await handle(
      request, from: line.caller,
      to: SocketReplies(to: line, sees: sees, hiding: store.secrets, isElsewhere: true) { newID() })
  }
}

extension RunUpdate {
  // Not inlined, so that no stream has room for a record as long as it lives.
  @inline(never)
  fileprivate var reply: AgentReply {
    switch self {
    case .progress(let progress): .progress(progress)
    case .waits(let record), .left(let record): .waits(RunWait(of: record))
    }
  }
}
