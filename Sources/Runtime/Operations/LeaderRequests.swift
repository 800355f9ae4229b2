// Requests that steer schedules, where several programs share the state.
//
// They may come to any program, and the leader has to do them, so the program hands them to the leader through the state.
// The program that leads at that moment takes each request once, before it does it. Where no program leads, a request is
// done where it came in, as a command without an agent does it.
import Agent
import Basics
import RunState
import Synchronization

extension AgentRequest {
  /// Whether only a program that decides on the schedules can do it as it should be.
  var isForLeader: Bool {
    switch self {
    case .pauseSchedule, .resumeSchedule, .resetSchedule, .trigger, .backfill: true
    default: false
    }
  }
}

extension ScheduleHost {
  /// The leader's answer to a request; nil if it is to be done here.
  func carried(_ request: AgentRequest, from caller: AgentCaller) async throws(RequestRefusedError) -> AgentReply? {
    guard isElsewhere, let sharing else { return nil }
    let (line, verb) = request.encoded()
    let leader: String
    let outcome: CarriedOutcome
    do throws(StateError) {
      guard let name = try await sharing.leaderName() else { return nil }
      leader = name
      outcome = try await sharing.carry(
        CarriedRequest(
          id: newID(time.now()), line: try store.secrets.masked(line), name: caller.name, account: caller.account,
          recipes: caller.recipes))
    } catch {
      throw RequestRefusedError(error)
    }
    switch outcome {
    case .answered(let answer):
      do throws(RecordError) { return try AgentReply(carrying: answer, to: verb) } catch {
        throw RequestRefusedError(.state, "the answer of the worker '\(leader)' can't be read: \(error.message)")
      }
    case .untaken:
      throw RequestRefusedError(
        .timeout, "no leader took the request in time, so nothing was done; try again, and see errand workers")
    case .unanswered:
      throw RequestRefusedError(
        .timeout,
        "the worker '\(leader)' didn't answer in time, so it isn't known whether it was done: see errand schedule log before you ask again"
      )
    }
  }

  /// Does what came to another program, as its leader, and gives the answer for it.
  static func answer(_ request: CarriedRequest, by schedules: ScheduleHost) async -> Value {
    var caller = AgentCaller(name: request.name, account: request.account)
    caller.recipes = request.recipes
    let store = schedules.store
    var answer: AgentReply
    do throws(RequestRefusedError) {
      let line: Value
      do throws(StateError) { line = try await store.secrets.restored(request.line, as: "the request") } catch {
        throw RequestRefusedError(error)
      }
      answer = await schedules.reply(to: try AgentRequest(reading: line), from: caller)
    } catch {
      answer = .refused(error)
    }
    let (newID, time) = (schedules.newID, schedules.time)
    return await answer.carried(hiding: store.secrets) { newID(time.now()) }
  }

  private func reply(to request: AgentRequest, from caller: AgentCaller) async -> AgentReply {
    let service = AgentParts(
      host: host, store: store, time: time,
      agent: AgentStatus(
        pid: 0, version: program, isServing: true, since: time.now(), folder: "", isSandbox: isSandbox),
      schedules: self, explain: nil, clock: nil, planner: nil, survey: nil)
    let given = Mutex<AgentReply?>(nil)
    await service.handle(request, from: caller, to: LocalReplies { reply in given.withLock { $0 = $0 ?? reply } })
    return given.withLock { $0 } ?? .refused(RequestRefusedError(.request, "the request has no answer"))
  }
}

extension AgentReply {
  /// The answer as one program hands it to another.
  fileprivate func carried(hiding secrets: SecretRegistry, newID: @escaping @Sendable () -> String) async -> Value {
    if case .refused(let refusal) = self {
      let faults = refusal.faults.map { fault -> Value in
        .object(["message": .string(fault.message), "pointer": .string(fault.pointer)])
      }
      return .object([
        "refused": .object([
          "kind": .string(refusal.kind.rawValue), "message": .string(refusal.message),
          "overHTTP": .string(refusal.overHTTP ?? refusal.message), "faults": .list(faults),
        ])
      ])
    }
    let lines = Mutex<[Value]>([])
    let line = RequestLine(.null, from: AgentCaller(name: "", account: "")) { line in
      lines.withLock { $0.append(line) }
      return true
    }
    await SocketReplies(to: line, hiding: secrets, newID: newID).giveInTurn(self)
    var assembler = AnswerAssembler()
    for line in lines.withLock({ $0 }) { if let whole = assembler.receive(line) { return whole } }
    return .null
  }

  /// Reads what `carried` gave.
  fileprivate init(carrying answer: Value, to verb: String) throws(RecordError) {
    guard let refused = answer["refused"] else {
      self = try AgentReply(reading: answer, to: verb)
      return
    }
    guard let kind = refused["kind"]?.string.flatMap(RequestRefusedError.Kind.init(rawValue:)),
      let message = refused["message"]?.string
    else { throw RecordError("a refusal of an unknown kind") }
    var refusal = RequestRefusedError(kind, message)
    refusal.overHTTP = refused["overHTTP"]?.string
    refusal.faults = (refused["faults"]?.list ?? []).map { fault in
      RequestRefusedError.Fault(message: fault["message"]?.string ?? "", pointer: fault["pointer"]?.string ?? "")
    }
    self = .refused(refusal)
  }
}
