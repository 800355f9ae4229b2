package import ActionKit
package import Agent
import Basics
package import RunState

package struct LinkStep: Operation {
  package static let name = "linkStep"
  package static let summary = "Makes a link that carries a person's right to answer a question, once."
  package static let scopes = Scopes.own
  package static let command: String? = "runs link"
  package static let absences: [Absence] = [
    .route("A link lends a person's right, so only the agent's machine gives one."),
    .page("A link lends a person's right, so only the agent's machine gives one."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> =
    .ofRuns.union([.ended, .notAsked, .notAllowed, .notServing])
  package static let repeats = Repeats.harmless("The link that a person has is given again.")

  @Field(RunName.summary) package var run: String
  @Field("The path of the step that asks. Needed only if several do.") package var step: String?
  @Field("The person whose right the link carries. Needed only if several are asked.") package var `for`: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The URL of the link.
    package var link: String

    package init(_ link: String) { self.link = link }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      link = try member("link", record?.link)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let record = try await agent.openRecord(run)
    let asking = try record.askingSteps.chosen(step, in: record.id)
    let base = if let known = record.origin.base { known } else { try agent.base() }
    let name = try person(asked: asking.wait?.by ?? [])
    let text = try await agent.kept { () async throws(StateError) in
      try await agent.host.decisions.link(to: asking, of: record.id, for: name)
    }
    return Answer(base + LinkKey.root + text)
  }

  /// The person that the link is for; empty where anyone may answer.
  private func person(asked people: [String]) throws(RequestRefusedError) -> String {
    let names = people.joined(separator: ", ")
    guard let given = `for` else {
      if people.count < 2 { return people.first ?? "" }
      throw RequestRefusedError(.ambiguous, "the question asks \(names); name one of them with --for")
    }
    if people.isEmpty {
      throw RequestRefusedError(.notAllowed, "the question asks anyone; leave out --for")
    }
    guard people.contains(where: given.hasSameScalars) else {
      throw RequestRefusedError(.notAllowed, "the question asks \(names), and not '\(given.safe)'")
    }
    return given
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
