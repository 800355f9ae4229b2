package import ActionKit
package import Agent
package import Basics
import Recipes
import RunState

package struct IssueFormLink: Operation {
  package static let name = "issueFormLink"
  package static let summary = "Makes a link that lets its owner send a form, for some time and so many times."
  package static let scopes = Scopes.own
  package static let command: String? = "form link"
  package static let absences: [Absence] = [
    .route("The link lends a right of the agent's account, so only the agent's machine gives one."),
    .page("The link lends a right of the agent's account, so only the agent's machine gives one."),
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound, .notServing]

  @Field("The schedule's id.") package var id: String
  @Field("How many times the form may be sent with it.", .range(1...FormInbox.mostUses)) package var uses = 1
  @Field("When it ends.") package var until: Timestamp?

  package init() {}

  package var target: String { id }

  /// How long a link is valid, by default and at most.
  package static let (lifetime, longest) = (TimeSpan.seconds(30 * 86_400), TimeSpan.seconds(90 * 86_400))

  package func run(
    on schedule: KnownScheduleID, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> IssueLink.Answer {
    guard let base = agent.sessions.base, let entry = agent.forms?.entry(of: schedule.id) else {
      throw RequestRefusedError(
        .notServing,
        "no form of '\(schedule.id)' is served: the entry needs a 'form', and errand.yaml 'server: { listen: … }' under errand serve"
      )
    }
    guard entry.form.access == .link else {
      throw RequestRefusedError(
        .request, "the form of '\(schedule.id)' needs no link: it is 'open: \(entry.form.access.rawValue)'")
    }
    let now = agent.time.now()
    // Requests of this process aren't checked against the limits of the fields.
    guard (1...FormInbox.mostUses).contains(uses), let end = until ?? now.advanced(by: IssueFormLink.lifetime),
      end > now, let latest = now.advanced(by: IssueFormLink.longest), end <= latest
    else {
      throw RequestRefusedError(
        .request, "a link ends within \(IssueFormLink.longest.written), and is for 1 to \(FormInbox.mostUses) uses")
    }
    let link = try await agent.kept { () async throws(StateError) in
      try await agent.forms?.newLink(to: entry.form, uses: uses, until: end) ?? ""
    }
    return IssueLink.Answer("\(base)\(entry.form.address)?link=\(link)")
  }

  package static func view(_ answer: IssueLink.Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}
