package import ActionKit
package import Agent
package import Basics
import RunState

package struct ReadOutputs: Operation {
  package static let name = "outputs"
  package static let summary = "Gives the outputs of a run whole, also large ones, as a JSON object."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/outputs.json")
  package static let command: String? = "runs show"
  package static let page: String? = "/runs/{run}/outputs"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns
  package static let media = Media.value

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: MediaAnswer {
    package var run: RunReference
    /// The outputs as plain JSON; nil for a run that has none.
    package var value: Value?
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    Answer(run: run, value: try await agent.outputs(of: run))
  }

  package static func body(_ answer: Answer, for caller: AgentCaller) -> MediaBody? {
    MediaBody(type: "application/json", name: "\(answer.run.recipe) \(answer.run.id).json", isMasked: false) { send in
      try await send(Array((JSON.displayed(answer.value ?? .object([:]), .pretty) + "\n").utf8))
    }
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

extension AgentParts {
  /// The outputs of a run as plain JSON, without the secrets that are known now.
  func outputs(of run: RunReference) async throws(RequestRefusedError) -> Value? {
    guard let outputs = try await stored(run.id).record().outputs else { return nil }
    let value = try await kept { () async throws(StateError) in try await store.value(outputs) }
    return store.secrets.displayed(value.asPlainJSON)
  }
}
