import ActionKit
package import Agent
import Basics
package import RunState

package struct IssueLink: Operation {
  package static let name = "issueLink"
  package static let summary = "Makes a link that logs a browser in, once and within a minute."
  package static let scopes = Scopes.own
  package static let command: String? = "open"
  package static let absences: [Absence] = [
    .route("The link logs a browser in as the account that asks for it, so only the agent's machine gives one."),
    .page("A browser that shows the pages is logged in already."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.notServing]

  package init() {}

  package var target: Void { () }

  /// The URL of the link.
  package struct Answer: Record, UnlimitedAnswer {
    package var link: String

    package init(_ link: String) { self.link = link }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      link = try member("link", record?.link)
    }
  }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let base = try agent.base()
    return Answer("\(base)/login?link=\(agent.sessions.makeLink(for: caller, at: agent.time.now()))")
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

extension AgentParts {
  /// The URL of the agent, where links begin.
  func base() throws(RequestRefusedError) -> String {
    if let base = sessions.base { return base }
    throw RequestRefusedError(
      .notServing,
      "the agent listens on no address; add to errand.yaml: server: { listen: 127.0.0.1:7373 }, then start errand serve again"
    )
  }
}
