package import Basics
package import RunState
import Runs
import Synchronization

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
///     {"ask":"find","run":prefix}                {"run":gist,"open":record?}, the record as lists show it
///     {"ask":"show","run":prefix}                {"run":record}
///     {"ask":"value","blob":reference}           {"value":…}, which a record names and does not hold
///     {"ask":"why","about":question}             {"facts":…,"others":[…],"events":[…],"holder":pid?}, which a run is
///                                                explained from besides its record (`RunFacts`); the holder carries it
///                                                on, and will not be there for good
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
/// "status":…,"reason":…?}}` while nothing but the state holds the run, then `{"ended":record}`. A record in
/// `ended` that is not over says that the run stands until a person does something, or that the agent ended first.
/// What may be large comes in parts (`AnswerParts`).
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
  struct RequestError: Error {
    var kind: String
    var message: String

    init(_ kind: String, _ message: String) {
      self.kind = kind
      self.message = message
    }

    init(_ error: StateError) { self.init("state", error.message) }
  }

  /// Serves a request of this process, whose answers come whole.
  package func handle(_ request: Value, reply: @escaping @Sendable (Value) -> Void) async {
    let answers = Mutex(AnswerAssembler())
    await handle(
      AgentRequest(request) { line in
        if let answer = answers.withLock({ $0.receive(line) }) { reply(answer) }
        return true
      })
  }

  package func handle(_ asked: AgentRequest) async {
    let request = asked.value
    let reply: @Sendable (Value) -> Void = { asked.reply($0) }
    do throws(RequestError) {
      switch request["ask"]?.string {
      case "submit": try await submit(asked)
      case "resume": try await resume(asked)
      case "follow": try await follow(asked)
      case "runs": try await list(asked)
      case "find": reply(try await find(request))
      case "show": try await show(asked)
      case "value": try await value(asked)
      case "why": try await why(asked)
      case "schedules": try await schedules(asked)
      case "slots": try await slots(asked)
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
      default: throw RequestError("request", "the agent does not know what '\(request["ask"]?.string ?? "")' asks for")
      }
    } catch {
      reply(.object(["failed": .object(["kind": .string(error.kind), "message": .string(error.message)])]))
    }
  }

  // MARK: Carrying on

  private func submit(_ asked: AgentRequest) async throws(RequestError) {
    let request = asked.value
    let run: RunCreated
    do throws(RecordError) { run = try RunCreated(reading: request["run"] ?? .null) } catch {
      throw RequestError("request", "the run cannot be read: \(error.message)")
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
    asked.reply(.object(["accepted": .string(run.run), "isServing": .bool(agent.isServing)]))
    let isDetached = request["detach"]?.bool == true
    if !isDetached, request["again"]?.bool == true {
      return try await resume(run.run, asked)
    }
    if !isDetached { return try await carryOn(run.run, asked) }
    // An agent that serves has it from here on; another one leaves it in the state.
    guard agent.isServing, store.run(run.run) != nil else { return }
    do throws(RunRefusedError) { try await host.carryOn(run.run) } catch {
      throw RequestError("configuration", error.message)
    }
  }

  private func carryOn(_ run: String, isAsked: Bool = false, _ asked: AgentRequest) async throws(RequestError) {
    let isLeft: Bool
    do throws(RunRefusedError) {
      isLeft = try await host.run(run, isAsked: isAsked) { asked.reply($0.answer) } != nil
    } catch {
      throw RequestError("configuration", error.message)
    }
    if isLeft { return try await left(run, asked) }
    if let failure = await host.failure { throw RequestError(failure) }
  }

  private func resume(_ asked: AgentRequest) async throws(RequestError) {
    try await resume(try await gist(asked.value["run"]?.string ?? "").id, asked)
  }

  /// Carries a run on, or tells its end: it may have come since whoever asks last heard of the run.
  private func resume(_ id: String, _ asked: AgentRequest) async throws(RequestError) {
    if store.run(id) != nil {
      do throws(RequestError) { return try await carryOn(id, isAsked: true, asked) } catch {
        if store.run(id) != nil { throw error }
      }
    }
    try await left(id, asked)
  }

  /// Follows a run to its end; of one that is over, the end is all there is to tell.
  private func follow(_ asked: AgentRequest) async throws(RequestError) {
    let id = try await gist(asked.value["run"]?.string ?? "").id
    if store.run(id) != nil {
      for await update in await host.follow(id) {
        if case .left = update { continue }
        await asked.replyInTurn(update.answer)
      }
      guard !Task.isCancelled else { return }
    }
    try await left(id, asked)
  }

  private func left(_ id: String, _ asked: AgentRequest) async throws(RequestError) {
    var answer = PartedAnswer(to: asked, id: newID())
    var rest = ValueMap()
    try await send(id, as: "ended", of: &answer, &rest)
    await answer.end(rest)
  }

  /// Gives the folder up to `errand serve`; refused by one that serves already.
  private func yield(_ reply: @Sendable (Value) -> Void) async throws(RequestError) {
    guard !agent.isServing else {
      throw RequestError("serving", "process \(agent.pid) serves '\(agent.folder)' already")
    }
    reply(.object(["yielded": .bool(true)]))
    await host.handOver()
  }

  /// What the store does, with its faults as refusals.
  func kept<Output>(_ body: () async throws(StateError) -> Output) async throws(RequestError) -> Output {
    do throws(StateError) { return try await body() } catch { throw RequestError(error) }
  }

  /// The id of the open run that a request names.
  func openRun(_ request: Value) async throws(RequestError) -> String {
    let run = try await gist(request["run"]?.string ?? "")
    guard store.run(run.id) != nil else {
      throw RequestError("ended", "the run \(run.id) is over: \(run.status.rawValue)")
    }
    return run.id
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
