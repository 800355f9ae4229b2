import ActionKit
import Agent
import AgentRuntime
import Basics
import Operations

extension DispatchedCommand {
  /// Prints the answer of an operation as JSON, as the API has it.
  ///
  /// The caller sees all data: an agent elsewhere demands the scope `data`, and leaves out what its token doesn't allow.
  func show<Asked: Operation>(_ answer: Asked.Answer, to _: Asked.Type) async throws(RuntimeError) {
    let view: Asked.View
    do throws(RequestRefusedError) { view = try await Asked.view(answer, for: AgentCaller(name: "")) } catch {
      throw RuntimeError(error, isStateElsewhere: false)
    }
    do throws(ValueError) { console.out(json: try view.encoded()) } catch {
      throw RuntimeError(.unavailable, "the answer can't be written as JSON: \(error.description)")
    }
  }
}

extension AgentRequests {
  /// Refuses what only an agent that serves can answer.
  ///
  /// - Parameters:
  ///   - what: The ability that only such an agent has, as a verb with its object.
  ///   - otherwise: The command that works without an agent.
  func refuseUnlessServed(_ what: String, otherwise: String) async throws(RuntimeError) {
    if try await isServed() { return }
    throw RuntimeError(
      .unavailable,
      "no agent is serving, and only an agent \(what); start one with: errand serve; without an agent: \(otherwise)")
  }
}
