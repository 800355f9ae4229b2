// Operations that steer schedules, where several programs share the state.
//
// They may come to any program, and the leader has to do them, so the program hands them to the leader through the state:
// name, inputs and caller there, the answer in its exact form back. The program that leads at that moment takes each
// request once, before it does it. Where no program leads, a request is done where it came in, as a command without an
// agent does it.
package import Agent
package import Basics
package import RunState

extension ScheduleHost {
  /// The leader's answer to an operation; nil if it is to be done here.
  func carried<Asked: Operation>(
    _ operation: Asked, from caller: AgentCaller
  ) async throws(RequestRefusedError) -> Asked.Answer? {
    guard isElsewhere, let sharing else { return nil }
    let leader: String
    let outcome: CarriedOutcome
    do throws(StateError) {
      guard let name = try await sharing.leaderName() else { return nil }
      leader = name
      outcome = try await sharing.carry(
        CarriedRequest(
          id: newID(time.now()), line: try store.secrets.masked(operation.line), name: caller.name,
          account: caller.account, recipes: caller.recipes))
    } catch {
      throw RequestRefusedError(error)
    }
    switch outcome {
    case .answered(let answer):
      let refusal: RequestRefusedError
      do throws(RecordError) {
        // A leader of 0.5.0 calls it otherwise.
        guard let refused = answer["failed"] ?? answer["refused"] else { return try Asked.Answer(reading: answer) }
        refusal = try RequestRefusedError(reading: refused)
      } catch {
        throw RequestRefusedError(.state, "the answer of the worker '\(leader)' can't be read: \(error.message)")
      }
      throw refusal
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
  package static func answer(_ request: CarriedRequest, by schedules: ScheduleHost) async -> Value {
    var caller = AgentCaller(name: request.name, account: request.account)
    caller.recipes = request.recipes
    let store = schedules.store
    do throws(RequestRefusedError) {
      let line: Value
      do throws(StateError) { line = try await store.secrets.restored(request.line, as: "the request") } catch {
        throw RequestRefusedError(error)
      }
      let agent = AgentParts(
        host: schedules.host, store: store, time: schedules.time,
        agent: AgentStatus(
          pid: 0, version: schedules.program, isServing: true, since: schedules.time.now(), folder: "",
          isSandbox: schedules.isSandbox),
        schedules: schedules, explain: nil, clock: nil, planner: nil, survey: nil,
        sessions: SessionTable(store))
      let operation = try OperationList.read(line)
      return store.secrets.displayed(try await agent.performed(operation, for: caller).exact())
    } catch {
      return store.secrets.displayed(ExactForm.refused(error))
    }
  }
}

// The form of an operation in the state: an object whose member `ask` names it; the others are its inputs in their exact
// form.
extension OperationList {
  /// Reads an operation from the state.
  package static func read(_ line: Value) throws(RequestRefusedError) -> any Operation {
    let word = line["ask"]?.string ?? ""
    guard var inputs = line.map, let type = named(word) else {
      throw RequestRefusedError(.request, "unknown request '\(word.shortened(to: 80))'")
    }
    inputs["ask"] = nil
    return try type.init(inputs: inputs, isExact: true)
  }
}

extension Operation {
  /// The operation as the state holds it.
  package var line: Value {
    var line = ValueMap([("ask", .string(Self.name))])
    for member in exactInputs.members { line[member.name ?? ""] = member.value }
    return .map(line)
  }
}
