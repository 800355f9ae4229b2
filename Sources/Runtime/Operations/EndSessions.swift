package import ActionKit
package import Agent
import Basics
package import RunState

package struct EndSessions: Operation {
  package static let name = "endSessions"
  package static let summary = "Ends the caller's logins in all browsers, or the logins of all people."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .delete("/sessions", status: 200)
  package static let command: String? = "open --log-out"
  package static let page: String? = "/state"
  package static let repeats = Repeats.harmless("a login that has ended stays ended")

  @Field("Whether to end the logins of all people, which needs the scope 'tokens'.") package var all = false

  package init() {}

  package var target: Void { () }
  package var moreScopes: Set<TokenScope> { all ? [.tokens] : [] }

  /// How many logins were ended.
  package struct Answer: Record, UnlimitedAnswer {
    package var count: Int

    package init(_ count: Int) { self.count = count }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      count = try member("count", record?.count)
    }
  }

  package func run(
    on _: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    if all, !caller.recipes.isEmpty {
      throw RequestRefusedError(.forbidden, "the token is limited to \(joined(caller.recipes)), and the logins aren't")
    }
    return Answer(
      try await agent.kept { () async throws(StateError) in
        try await agent.sessions.end(of: all ? nil : caller, at: agent.time.now())
      })
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> EndedSessionsAnswer {
    filled(EndedSessionsAnswer()) { $0.ended = answer.count }
  }
}

/// The logins that were ended.
package struct EndedSessionsAnswer: FieldSet {
  @Field("How many logins were ended.") package var ended: Int

  package init() {}
}
