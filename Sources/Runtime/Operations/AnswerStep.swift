package import ActionKit
package import Agent
package import Basics
import Recipes
import RunState

package struct AnswerStep: Operation {
  package static let name = "answer"
  package static let summary = "Records the caller's answer to a step that asks for values."
  package static let scopes = Scopes.token(.approve)
  package static let route: Route? = .post("/runs/{run}/answers")
  package static let command: String? = "runs answer"
  package static let page: String? = "/approvals/{run}/{step}"
  package static let refusals: Set<RequestRefusedError.Kind> =
    .ofRuns.union([.ended, .notAsked, .notAllowed, .inputs, .usedKey, .conflict])
  package static let repeats = Repeats.key

  @Field(RunName.summary) package var run: String
  @Field("The path of the step that asks. Needed only if several do.") package var step: String?
  @Field("The values, by the names of the fields.") package var fields: ValueMap?
  @Field("More values, as text that is read as the field's type.") package var texts: [String: String] = [:]
  @Field("A comment to record with the answer.") package var comment: String?
  @Field("The digest of the question that the caller saw. If it is given, another question isn't answered.")
  package var question: String?
  @Field("A key that the caller chooses. The same answer with the same key gets the same response.")
  package var key: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package typealias Answer = DecideStep.Answer

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    var answer = DecisionRecord(
      isApproved: true, by: caller.name, at: agent.time.now(), comment: comment, via: caller.way)
    let texts = texts.sorted { $0.key.precedesByScalars($1.key) }
    let given = agent.given(fields ?? ValueMap(), [:]) + agent.given(texts: self.texts)
    answer.key = try agent.decisionKey(
      key, of: caller, about: run.id,
      [
        .string("answer"), .string(step ?? ""), .map(fields ?? ValueMap()),
        .list(texts.flatMap { [.string($0.key), .string($0.value)] }), .string(comment ?? ""),
      ])
    let answered = try await agent.once(answer.key, in: run.id, \.decision?.key) {
      [answer] () async throws(RequestRefusedError) in
      do throws(RequestRefusedError) {
        let open = try await agent.openRun(run)
        return try await agent.host.decisions.answer(open, step: step, given, answer, seeing: question)
      } catch {
        throw try await agent.saying(error, of: run.id, step)
      }
    }
    return Answer(answered, of: run.id)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ChangedAnswer {
    DecideStep.view(answer, for: caller)
  }
}
