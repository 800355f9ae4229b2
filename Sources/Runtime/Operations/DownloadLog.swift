package import ActionKit
package import Agent
import RunState

package struct DownloadLog: Operation {
  package static let name = "logText"
  package static let summary = "Gives everything that the commands of a run printed, as text, without secrets."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/logs.txt")
  package static let page: String? = "/runs/{run}/logs"
  package static let absences: [Absence] = [.command("`errand runs logs RUN` prints the lines.")]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns
  package static let media = Media.text

  @Field(RunName.summary) package var run: String
  @Field("Only lines of this step and the steps inside it.") package var step: String?
  @Field("Only lines of this attempt.") package var attempt: Int?

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: MediaAnswer {
    fileprivate var run: RunReference
    fileprivate var step: String?
    fileprivate var attempt: Int?
    fileprivate var store: any StateStore
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { Answer(run: run, step: step, attempt: attempt, store: agent.store) }

  package static func body(_ answer: Answer, for caller: AgentCaller) -> MediaBody? {
    MediaBody(type: "text/plain; charset=utf-8", name: "\(answer.run.recipe) \(answer.run.id).txt") { send in
      try await answer.store.printedText(
        ofRun: answer.run.id, step: answer.step, attempt: answer.attempt, send)
    }
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
