package import Basics
package import RunState
import Runs

/// What an agent does for whoever asks, in its own process or behind the socket.
///
/// A request is `{"ask": …}` with what it needs; the answers to it are
///
///     {"ask":"submit","run":{…},"secrets":[name, …],"detach":bool,"again":bool}
///                                                {"accepted":id,"isServing":bool}, then updates unless detached
///     {"ask":"resume"|"follow","run":id}         updates; of a run that is over, the end
///     {"ask":"cancel","run":id,"reason":…}       {"cancelled":id}
///     {"ask":"pause","run":id,"reason":…}        {"paused":id}; `resume` goes on
///     {"ask":"retry","run":id}                   {"accepted":new id}; `resume` follows it
///     {"ask":"resolve","run":id,"step":path,…}   {"resolved":id}
///     {"ask":"signal","event":{id?,name,data?,run?}}   {"received":id,"isNew":bool}
///     {"ask":"decide","run":id,"step":path?,"approved":bool,"by":…,"comment":…?}   {"decided":path,"run":id}
///     {"ask":"runs","limit":n,"recipe":…}        {"open":[record, as lists show it…],"finished":[summary…]}
///     {"ask":"show","run":prefix}                {"run":record,"outputs":…}
///     {"ask":"why","run":prefix}                 {"facts":facts,"holder":pid?}, which a run is explained from; the holder
///                                                carries it on, and will not be there for good
///     {"ask":"schedules"}                        {"schedules":[record with its texts…]}
///     {"ask":"slots","schedule":…?,"limit":n,"from":…?,"before":…?}   {"slots":[slot record…]}
///     {"ask":"pauseSchedule"|"resumeSchedule","id":…,"note":…?}   {"slots":[slot record…]}
///     {"ask":"resetSchedule","id":…}             {"slots":[the reset as a slot record]}
///     {"ask":"trigger","id":…,"overlap":…?}      {"slots":[slot record…]}
///     {"ask":"backfill","id":…,"from":…,"to":…,"overlap":…?,"dryRun":bool}
///                                                {"slots":[instant…],"hasMore":bool} if dry, else {"slots":[slot record…]}
///     {"ask":"status"}                           who the agent is and how much it has to do
///     {"ask":"yield"}                            {"yielded":true}; the agent finishes what is in flight, and ends
///
/// or `{"failed":{"kind":…,"message":…}}`. Updates are progress (`ProgressCoding`) and `{"waits":{"until":…?,
/// "status":…,"reason":…?}}` while nothing but the state holds the run, then `{"ended":record,"outputs":…}`. A record in
/// `ended` that is not over says that the run stands until a person does something, or that the agent ended first.
package struct RunService: Sendable {
  let host: RunHost
  let store: any StateStore
  let time: any TimeSource
  let agent: AgentStatus
  /// Nil where there are no schedules, as in a sandbox.
  let schedules: ScheduleHost?

  package init(
    _ host: RunHost, _ store: any StateStore, time: any TimeSource, agent: AgentStatus, schedules: ScheduleHost? = nil
  ) {
    self.schedules = schedules
    self.host = host
    self.store = store
    self.time = time
    self.agent = agent
  }

  /// Why a request was not done.
  struct Refusal: Error {
    var kind: String
    var message: String

    init(_ kind: String, _ message: String) {
      self.kind = kind
      self.message = message
    }

    init(_ error: StateError) { self.init("state", error.message) }
  }

  package func handle(_ request: Value, reply: @escaping @Sendable (Value) -> Void) async {
    do throws(Refusal) {
      switch request["ask"]?.string {
      case "submit": try await submit(request, reply)
      case "resume": try await resume(request, reply)
      case "follow": try await follow(request, reply)
      case "runs": try await list(request, reply)
      case "show": try await show(request, reply)
      case "why": reply(try await why(request))
      case "schedules": reply(try await schedules())
      case "slots": try await slots(request, reply)
      case "status": reply(await status())
      case "yield": try await yield(reply)
      case "cancel": reply(try await cancel(request))
      case "pause": reply(try await pause(request))
      case "retry": reply(try await retry(request))
      case "resolve": reply(try await resolve(request))
      case "signal": reply(try await signal(request))
      case "decide": reply(try await decide(request))
      case "pauseSchedule", "resumeSchedule", "resetSchedule", "trigger", "backfill":
        reply(try await steerSchedule(request))
      default: throw Refusal("request", "the agent does not know what '\(request["ask"]?.string ?? "")' asks for")
      }
    } catch {
      reply(.object(["failed": .object(["kind": .string(error.kind), "message": .string(error.message)])]))
    }
  }

  // MARK: Carrying on

  private func submit(_ request: Value, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let run: RunCreated
    do throws(RecordFault) { run = try RunCreated(reading: request["run"] ?? .null) } catch {
      throw Refusal("request", "the run cannot be read: \(error.message)")
    }
    let accepted = run
    try await kept { () async throws(StateError) in
      // The agent before this one may have accepted it and ended before it said so.
      if request["again"]?.bool == true {
        if store.run(accepted.run) != nil { return }
        if try await store.finishedRun(accepted.run) != nil { return }
      }
      var run = accepted
      // Nothing of the run is kept before what it must not hold is known.
      await store.secrets.learn(named: request["secrets"]?.list?.compactMap(\.string) ?? [])
      if case .inline(let texts) = run.texts { run.texts = try await store.keep(texts) }
      try await host.create(run)
    }
    reply(.object(["accepted": .string(run.run), "isServing": .bool(agent.isServing)]))
    let isDetached = request["detach"]?.bool == true
    if !isDetached, request["again"]?.bool == true {
      return try await resume(.object(["run": .string(run.run)]), reply)
    }
    if !isDetached { return try await carryOn(run.run, reply) }
    // An agent that serves has it from here on; another one leaves it in the state.
    guard agent.isServing, store.run(run.run) != nil else { return }
    do throws(NotRunnable) { try await host.carryOn(run.run) } catch {
      throw Refusal("configuration", error.message)
    }
  }

  private func carryOn(
    _ run: String, isAsked: Bool = false, _ reply: @escaping @Sendable (Value) -> Void
  ) async throws(Refusal) {
    let record: RunRecord?
    do throws(NotRunnable) { record = try await host.run(run, isAsked: isAsked) { reply($0.answer) } } catch {
      throw Refusal("configuration", error.message)
    }
    if let record { return try await left(record, reply) }
    if let failure = await host.failure { throw Refusal(failure) }
  }

  /// Carries a run on, or tells its end: it may have come since whoever asks last heard of the run.
  private func resume(_ request: Value, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let id = try await record(request["run"]?.string ?? "").id
    if store.run(id) != nil {
      do throws(Refusal) { return try await carryOn(id, isAsked: true, reply) } catch {
        if store.run(id) != nil { throw error }
      }
    }
    try await left(try await record(id), reply)
  }

  /// Follows a run to its end; of one that is over, the end is all there is to tell.
  private func follow(_ request: Value, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let id = try await record(request["run"]?.string ?? "").id
    if store.run(id) != nil {
      for await update in await host.follow(id) {
        if case .left = update { continue }
        reply(update.answer)
      }
      guard !Task.isCancelled else { return }
    }
    try await left(try await record(id), reply)
  }

  private func left(_ record: RunRecord, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    reply(.object(["ended": record.encoded(), "outputs": try await outputs(of: record)]))
  }

  /// Gives the folder up to `errand serve`; refused by one that serves already.
  private func yield(_ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    guard !agent.isServing else {
      throw Refusal("serving", "process \(agent.pid) serves '\(agent.folder)' already")
    }
    reply(.object(["yielded": .bool(true)]))
    await host.handOver()
  }

  // MARK: Looking

  private func list(_ request: Value, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    let recipe = request["recipe"]?.string
    let open = store.openRuns.filter { recipe == nil || $0.recipe == recipe }
    let query = HistoryQuery(limit: request["limit"]?.int ?? 20, recipe: recipe)
    let finished = try await kept { () async throws(StateError) in try await store.finishedRuns(query) }
    reply(.object(["open": .list(open.map { $0.listed.encoded() }), "finished": .list(finished.map { $0.encoded() })]))
  }

  private func show(_ request: Value, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    let record = try await record(request["run"]?.string ?? "")
    reply(.object(["run": record.encoded(), "outputs": try await outputs(of: record)]))
  }

  private func slots(_ request: Value, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    let query = SlotQuery(
      limit: request["limit"]?.int ?? 20, schedule: request["schedule"]?.string, from: try instant("from", of: request),
      before: try instant("before", of: request))
    let slots = try await kept { () async throws(StateError) in try await store.slots(query) }
    reply(.object(["slots": .list(slots.map { $0.encoded() })]))
  }

  /// A member of a request that is an instant, if it is there.
  func instant(_ name: String, of request: Value) throws(Refusal) -> Timestamp? {
    guard let value = request[name], !value.isNull else { return nil }
    guard let instant = value.timestamp ?? value.string.flatMap({ Timestamp($0) }) else {
      throw Refusal("request", "'\(name)' has to be an instant such as 2026-11-20T09:30:00Z")
    }
    return instant
  }

  private func outputs(of record: RunRecord) async throws(Refusal) -> Value {
    guard let outputs = record.outputs else { return .null }
    return try await kept { () async throws(StateError) in try await store.value(outputs).encoded() }
  }

  /// The one run whose id begins so, open or finished.
  func record(_ prefix: String) async throws(Refusal) -> RunRecord {
    let open = store.openRuns.filter { $0.id.utf8.starts(with: prefix.utf8) }
    if open.isEmpty, let record = try await kept({ () async throws(StateError) in try await store.finishedRun(prefix) })
    {
      return record
    }
    let finished = try await kept { () async throws(StateError) in
      try await store.finishedRuns(HistoryQuery(limit: 3, idPrefix: prefix))
    }
    // One that was open may have ended meanwhile.
    let ids = open.map { $0.id } + finished.map { $0.id }.filter { id in !open.contains { $0.id == id } }
    guard ids.count <= 1 else {
      throw Refusal("ambiguous", "several runs begin with '\(prefix)': \(ids.joined(separator: ", "))")
    }
    if let id = ids.first {
      if let record = store.run(id) { return record }
      if let record = try await kept({ () async throws(StateError) in try await store.finishedRun(id) }) {
        return record
      }
    }
    throw Refusal("notFound", "no run begins with '\(prefix)'; 'errand runs list' shows the latest")
  }

  /// What the store does, with its faults as refusals.
  func kept<Output>(_ body: () async throws(StateError) -> Output) async throws(Refusal) -> Output {
    do throws(StateError) { return try await body() } catch { throw Refusal(error) }
  }

  /// The id of the open run that a request names.
  func openRun(_ request: Value) async throws(Refusal) -> String {
    let record = try await record(request["run"]?.string ?? "")
    guard store.run(record.id) != nil else {
      throw Refusal("ended", "the run \(record.id) is over: \(record.status.rawValue)")
    }
    return record.id
  }
}

extension RunUpdate {
  /// The line for it.
  var answer: Value {
    switch self {
    case .progress(let progress): return progress.value
    case .waits(let record), .left(let record):
      var writer = RecordWriter()
      writer.set("until", record.wakeAt)
      writer.set("status", record.status)
      writer.set("reason", record.reason)
      return .object(["waits": .map(writer.map)])
    }
  }
}
